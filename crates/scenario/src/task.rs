//! `[[task]]`: what a task promises, what it is promised, and whether the policy can schedule it.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems};
use crate::isolation::{self, Owner, Wishes};
use crate::limits::{at_least, not_too_long};
use crate::tree::Table;
use crate::work::{self, Memory, Steps, Surroundings};
use solo_model::task::Release;
use solo_model::work::{Buffer, Step, Visit, Work, update_steps};
use solo_model::{BufferId, CoreId, Criterion, Duration, Platform, Policy, Scope, Task, TaskClass};
use std::collections::HashMap;
use std::ops::Range;

/// The most threads in a run.
pub(crate) const MOST_THREADS: u64 = 10_000;
/// The most steps that all tasks of a run have together.
pub(crate) const MOST_STEPS: u64 = 1_000_000;

/// A `[[task]]` as read: one task, or the pattern of many.
pub(crate) struct Pattern {
    task: Task,
    copies: Option<u64>,
    steps: Steps,
    wishes: Wishes,
    pub(crate) name_at: Range<usize>,
}

/// The policy that tasks must suit.
pub(crate) struct Policed<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) policy_at: &'p Range<usize>,
}

/// Reads and checks one `[[task]]`.
pub(crate) fn read(
    around: &mut Surroundings<'_, '_>,
    at: &At<&Table>,
    policed: Option<&Policed<'_>>,
    platform: Option<&Platform>,
) -> Option<Pattern> {
    let problems = around.problems;
    let mut fields = Fields::new(problems, at.value, at.span.clone(), "this task");
    let name = fields.required_string("name", "name = \"control\"");
    if let Some(name) = &name {
        fields.what = format!("task `{}`", clip(name.value));
    }
    let classes =
        [("hard", TaskClass::Hard), ("soft", TaskClass::Soft), ("best-effort", TaskClass::BestEffort)];
    let class = fields.word("class", &classes).map(|class| class.value);
    if !fields.has("class") {
        fields.missing("class", "class = \"hard\"");
    }
    // Read whatever the class, so that its keys count as known.
    let release = release(&fields, class.unwrap_or(TaskClass::BestEffort));
    let deadline = time(&fields, "deadline");
    let wcet = time(&fields, "wcet");
    let priority = fields.integer("priority", 0, u64::from(u32::MAX)).map(|p| p.value as u32);
    let most_core = platform.map_or(63, |platform| platform.cores.len() as u64 - 1);
    let core = core(&fields, most_core, platform);
    let copies = fields.integer("copies", 1, MOST_THREADS).map(|copies| copies.value);
    let wishes = isolation::wishes(&fields);
    let steps = match fields.list("work", "work = [{ compute = \"1ms\" }]") {
        Some(list) => work::read(around, list),
        None => {
            if !fields.has("work") {
                fields.missing("work", "work = [{ compute = \"1ms\" }]");
            }
            None
        }
    };
    let task = name.as_ref().zip(class).zip(release).map(|((name, class), release)| Task {
        name: name.value.to_owned(),
        class,
        release,
        deadline,
        wcet,
        priority,
        core,
        work: Work::default(),
    });
    if let Some(task) = &task {
        check_times(&fields, task, policed);
        if let Some(policed) = policed {
            check_policy(&fields, task, policed);
        }
    }
    fields.finish();
    Some(Pattern { task: task?, copies, steps: steps?, wishes, name_at: name?.span })
}

/// A time above zero and below the longest.
fn time(fields: &Fields<'_>, key: &'static str) -> Option<Duration> {
    let found = fields.positive::<Duration>(key)?;
    not_too_long(fields.problems, &found, key)
}

fn core(fields: &Fields<'_>, most: u64, platform: Option<&Platform>) -> Option<CoreId> {
    let found = fields.integer("core", 0, i64::MAX as u64)?;
    if found.value > most {
        let of =
            platform.map_or(String::new(), |platform| format!(": {} has cores 0 to {most}", platform.name));
        fields.problems.push(
            fields
                .problems
                .error(Code::NoSuchCore, format!("core {} does not exist{of}", found.value), &found.span)
                .label("no such core")
                .expected(format!("0 to {most}")),
        );
        return None;
    }
    Some(CoreId(found.value as u16))
}

/// When jobs are released: periodic where there is a period, else as `release` says; best-effort tasks never rest.
fn release(fields: &Fields<'_>, class: TaskClass) -> Option<Release> {
    #[derive(Clone, Copy, PartialEq)]
    enum Word {
        Periodic,
        Once,
        Continuous,
    }
    let problems = fields.problems;
    let period = fields.positive::<Duration>("period");
    let words = [("periodic", Word::Periodic), ("once", Word::Once), ("continuous", Word::Continuous)];
    let word = fields.word("release", &words);
    let offset = fields
        .quantity::<Duration>("offset")
        .map_or(Some(Duration::ZERO), |offset| not_too_long(problems, &offset, "offset"))?;
    if fields.has("release") && word.is_none() || fields.has("period") && period.is_none() {
        return None;
    }
    match (word.map(|word| word.value), period) {
        (None | Some(Word::Periodic), Some(period)) => {
            let _ = not_too_long(problems, &period, "period")?;
            let period = at_least(problems, Some(period), "period")?;
            Some(Release::Periodic { offset, period })
        }
        (Some(Word::Once), None) => Some(Release::Once { offset }),
        (Some(Word::Continuous), None) => Some(Release::Continuous { offset }),
        (None, None) if class == TaskClass::BestEffort => Some(Release::Continuous { offset }),
        (Some(Word::Periodic), None) => {
            fields.missing("period", "period = \"20ms\"");
            None
        }
        (None, None) => {
            problems.push(
                problems
                    .error(Code::MissingKey, format!("{} has no `period`", fields.what), &fields.span)
                    .label("when are its jobs released?")
                    .help("a hard or soft task needs `period = \"20ms\"`, or `release = \"once\"` with a deadline"),
            );
            None
        }
        (Some(_), Some(period)) => {
            problems.push(
                problems
                    .error(
                        Code::Both,
                        format!("{} has a period but is not periodic", fields.what),
                        &period.span,
                    )
                    .label("a period")
                    .also(fields.span_of("release"), "released otherwise")
                    .help("take out `release` or `period`"),
            );
            None
        }
    }
}

/// Declared times that contradict each other.
fn check_times(fields: &Fields<'_>, task: &Task, policed: Option<&Policed<'_>>) {
    let problems = fields.problems;
    if let (Some(wcet), Some(deadline)) = (task.wcet, task.relative_deadline())
        && wcet > deadline
    {
        let which = if fields.has("deadline") { "deadline" } else { "period" };
        problems.push(
            problems
                .error(
                    Code::Wcet,
                    format!("{} cannot meet its deadline: `wcet` {wcet} is longer", fields.what),
                    &fields.span_of("wcet"),
                )
                .label("longer than the deadline")
                .also(fields.span_of(which), format!("due after {deadline}"))
                .expected(format!("at most {deadline}")),
        );
    }
    let computed = longest_computation(&task.work);
    if let Some(wcet) = task.wcet.filter(|wcet| wcet.get() < computed) {
        problems.push(
            problems
                .error(
                    Code::Wcet,
                    format!("{} computes for longer than its `wcet` of {wcet}", fields.what),
                    &fields.span_of("wcet"),
                )
                .label("shorter than its own work")
                .also(fields.span_of("work"), format!("computes for up to {}", Duration::new(computed)))
                .help("`solo check` counts what the work computes; a run shows what an overrun does to the others")
                .into_warning(),
        );
    }
    // Policies that order by deadlines say so themselves.
    let by_deadline = policed.is_some_and(|policed| {
        matches!(policed.policy.criterion, Criterion::Edf | Criterion::Dm | Criterion::Llf)
    });
    if task.class != TaskClass::BestEffort
        && !by_deadline
        && task.relative_deadline().is_none()
        && matches!(task.release, Release::Once { .. } | Release::Continuous { .. })
        && !fields.has("deadline")
    {
        problems.push(
            problems
                .error(Code::MissingKey, format!("{} has no deadline", fields.what), &fields.span)
                .label("neither `deadline` nor `period`")
                .help("a hard or soft task is one that has a deadline; otherwise its class is best-effort"),
        );
    }
}

/// What a job computes at most, in nanoseconds at full speed, memory apart.
fn longest_computation(work: &Work) -> u64 {
    let mut rounds = vec![1_u64];
    let mut sum = 0_u64;
    for visit in work.walk() {
        let times = rounds.last().copied().unwrap_or(1);
        let length = match visit {
            Visit::Begin { times: more } => {
                rounds.push(times.saturating_mul(u64::from(more)));
                0
            }
            Visit::End { .. } => {
                rounds.pop();
                0
            }
            Visit::Step(Step::Compute(span)) => span.most.get(),
            Visit::Step(Step::Touch(touch)) => touch.think.get().saturating_mul(touch.accesses),
            Visit::Step(_) => 0,
        };
        sum = sum.saturating_add(length.saturating_mul(times));
    }
    sum
}

/// What the policy needs of a task.
fn check_policy(fields: &Fields<'_>, task: &Task, policed: &Policed<'_>) {
    let Policed { policy, policy_at } = policed;
    let problems = fields.problems;
    let need = |key: &str, example: &str, why: String| {
        if fields.has(key) {
            return;
        }
        problems.push(
            problems
                .error(
                    Code::PolicyNeeds,
                    format!("{policy} cannot schedule {} without `{key}`", fields.what),
                    &fields.span,
                )
                .label(format!("`{key}` is missing here"))
                .also((*policy_at).clone(), "the policy")
                .help(format!("{why}: add `{example}`, or choose another policy")),
        );
    };
    if policy.scope != Scope::Global || policy.criterion == Criterion::CpuAffinity {
        let why = match policy.scope {
            Scope::Clustered(_) => "a task of a clustered policy is assigned to a core of its cluster",
            _ => "a task of this policy is assigned to a core",
        };
        need("core", "core = 0", why.to_owned());
    }
    if task.class == TaskClass::BestEffort {
        return;
    }
    let orders = |by: &str| format!("{} orders jobs by {by}", policy.criterion.name());
    match policy.criterion {
        Criterion::Edf | Criterion::Dm if task.relative_deadline().is_none() => {
            need("deadline", "deadline = \"20ms\"", orders("their deadlines"));
        }
        Criterion::Rm if task.release.period().is_none() => {
            need("period", "period = \"20ms\"", orders("their periods"));
        }
        Criterion::Llf => {
            if task.relative_deadline().is_none() {
                need("deadline", "deadline = \"20ms\"", orders("their laxity"));
            }
            need("wcet", "wcet = \"5ms\"", orders("their laxity, which is what the deadline leaves"));
        }
        Criterion::Sjf => need("wcet", "wcet = \"5ms\"", orders("their declared execution times")),
        Criterion::StaticPriority | Criterion::CpuAffinity => {
            need("priority", "priority = 0", orders("the priorities of their tasks, 0 highest"));
        }
        _ => {}
    }
}

/// What became of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unfolding {
    /// Its tasks were added.
    Done,
    /// Something is wrong with it; others may still be added.
    Wrong,
    /// There is no room for it, nor for what follows.
    Full,
}

/// What patterns unfold into.
#[derive(Default)]
pub(crate) struct Unfolded {
    pub(crate) tasks: Vec<Task>,
    /// The patterns that the tasks come from.
    pub(crate) owners: Vec<Owner>,
    names: HashMap<String, Range<usize>>,
    steps: u64,
}

impl Unfolded {
    /// Adds the tasks of a pattern, each with its private memory, or says why it did not.
    pub(crate) fn add(
        &mut self,
        problems: &Problems,
        pattern: &Pattern,
        buffers: &mut Vec<Buffer>,
    ) -> Unfolding {
        let copies = pattern.copies.unwrap_or(1);
        self.steps += pattern.steps.count as u64 * copies;
        if self.tasks.len() as u64 + copies > MOST_THREADS {
            let headline = format!("more than {MOST_THREADS} tasks");
            problems.push(
                problems
                    .error(Code::TooManyTasks, headline, &pattern.name_at)
                    .label(format!("task {} and on", self.tasks.len() as u64 + copies))
                    .expected(format!("at most {MOST_THREADS} tasks, copies included")),
            );
            problems.refuse_size();
            return Unfolding::Full;
        }
        if self.steps > MOST_STEPS {
            problems.push(
                problems
                    .error(
                        Code::TooManySteps,
                        format!("more than {MOST_STEPS} steps in all tasks"),
                        &pattern.name_at,
                    )
                    .label("with the steps of this task")
                    .help("`repeat` says many times with one step"),
            );
            problems.refuse_size();
            return Unfolding::Wrong;
        }
        let first = self.tasks.len() as u32;
        self.owners.push(Owner {
            name: pattern.task.name.clone(),
            tasks: first..first + copies as u32,
            wishes: pattern.wishes.clone(),
        });
        for copy in 0..copies {
            let name = match pattern.copies {
                Some(_) => format!("{}-{copy}", pattern.task.name),
                None => pattern.task.name.clone(),
            };
            if let Some(first) = self.names.insert(name.clone(), pattern.name_at.clone()) {
                problems.push(
                    problems
                        .error(
                            Code::Duplicate,
                            format!("two tasks are named \"{}\"", clip(&name)),
                            &pattern.name_at,
                        )
                        .label("the second")
                        .also(first, "the first"),
                );
                return Unfolding::Wrong;
            }
            let work = instantiate(&name, &pattern.steps, buffers);
            self.tasks.push(Task { name, work, ..pattern.task.clone() });
        }
        Unfolding::Done
    }
}

/// The steps with memory of their own.
fn instantiate(task: &str, steps: &Steps, buffers: &mut Vec<Buffer>) -> Work {
    let ids: Vec<BufferId> = steps
        .memory
        .iter()
        .map(|memory| match memory {
            Memory::Shared(id) => *id,
            Memory::Private(size) | Memory::Recorded(_, size) => {
                let what = match memory {
                    Memory::Recorded(trace, _) => format!("trace {trace}"),
                    _ => crate::units::SIZE.print(size.get()),
                };
                buffers.push(Buffer { name: format!("{task}: {what}"), size: *size });
                BufferId(buffers.len() as u32 - 1)
            }
        })
        .collect();
    let mut work = Work { steps: steps.steps.clone() };
    update_steps(&mut work.steps, |step| match step {
        Step::Touch(touch) => touch.buffer = ids[touch.buffer.index()],
        Step::Replay(replay) => replay.buffer = ids[replay.buffer.index()],
        Step::Compute(_) | Step::Acquire(_) | Step::Release(_) | Step::Sleep(_) | Step::Repeat { .. } => {}
    });
    work
}

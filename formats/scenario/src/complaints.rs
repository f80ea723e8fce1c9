//! What a plan objects to and doubts, in words, at the places that it names.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, clip};
use crate::fields::Problems;
use crate::monitor;
use crate::nearest::nearest;
use solo_model::migration::Stays;
use solo_model::names::Explain;
use solo_model::partition::WindowError;
use solo_model::policy::{Parameter, Policy, Scope};
use solo_model::{Bandwidth, Bytes, Duration, Task, TaskId, TaskNames};
use solo_plan::{
    Advice, Apart, ColorError, Doubt, Doubtful, Fault, Full, IsolationRefusal, Needed, NoRoom, Objection,
    Part, TextRange, Ticks, Undivided, WayError,
};
use std::ops::Range;

/// Complains about what can't be had. `tasks`: those that objections name by number.
pub(crate) fn objections(problems: &Problems, objections: &[Objection], tasks: &[Task]) {
    let read = problems.errors() == 0;
    for Objection { at, fault } in objections {
        let at: Range<usize> = (*at).into();
        match fault {
            // Whoever could not read a part has said so.
            Fault::Incomplete { .. } if !read => continue,
            Fault::TooManyTasks { .. } | Fault::TooManySteps { .. } => problems.refuse_size(),
            _ => {}
        }
        problems.push(objection(problems, &at, fault, tasks));
    }
}

/// Warns of what is probably not meant. Of variants only the scenario as it stands is doubted.
pub(crate) fn doubts(problems: &Problems, doubts: &[Doubt], tasks: &[Task]) {
    for Doubt { at, what } in doubts {
        let at: Range<usize> = (*at).into();
        problems.push(doubt(problems, &at, what, tasks).into_warning());
    }
}

fn objection(problems: &Problems, at: &Range<usize>, fault: &Fault, tasks: &[Task]) -> Diagnostic {
    let error = |code, headline: String| problems.error(code, headline, at);
    match fault {
        Fault::Incomplete { part } => {
            error(Code::MissingKey, format!("the scenario has no {}", named(*part)))
        }
        Fault::PolicyNeeds { task, needed, policy, policy_at } => {
            policy_needs(problems, at, task, *needed, policy, *policy_at)
        }
        Fault::Stays { task, why, policy, policy_at } => {
            stays(problems, at, task, *why, (policy, *policy_at))
        }
        Fault::NoRelease { task } => no_release(problems, at, task),
        Fault::NoDeadline { task } => no_deadline(problems, at, task),
        Fault::Unsized { task } => unsized_task(problems, at, task),
        Fault::NoCapacity { policy } => no_capacity(problems, at, policy),
        Fault::Unplaced { task, tried } => unplaced(problems, at, task, tried, tasks),
        Fault::CoreAndPartition { task } => core_and_partition(problems, at, task),
        Fault::Colors { error: why, tasks: placed } => by_colors(problems, at, why, placed, tasks),
        Fault::WcetBeyondDeadline { task, wcet, due, due_at } => {
            let task = clip(task);
            error(Code::Wcet, format!("task `{task}` cannot meet its deadline: `wcet` {wcet} is longer"))
                .label("longer than the deadline")
                .also((*due_at).into(), format!("due after {due}"))
                .expected(format!("at most {due}"))
        }
        Fault::TooManyTasks { tasks, most } => too_many_tasks(problems, at, *tasks, *most),
        Fault::TooManySteps { most } => too_many_steps(problems, at, *most),
        Fault::TooBrief { task, about, least } => too_brief(problems, at, task, (*about, *least)),
        Fault::IdleSteps { task, steps, most } => idle_steps(problems, at, task, (*steps, *most)),
        Fault::Memory { needed, available, platform, largest } => {
            let headline = format!("the tasks touch {needed} of memory, {platform} has {available}");
            memory(error(Code::Memory, headline), largest.as_ref())
        }
        Fault::Duplicate { name, first } => {
            error(Code::Duplicate, format!("two tasks are named \"{}\"", clip(name)))
                .label("the second")
                .also((*first).into(), "the first")
        }
        Fault::JobsOfNone => {
            error(Code::Jobs, "`jobs` counts the jobs of periodic tasks, and there are none".to_owned())
                .label("nothing ends this run")
                .expected("a task with a period, or `duration = \"1s\"`")
        }
        Fault::RunTooLong { jobs, period, most } => {
            error(Code::TooLong, format!("{jobs} jobs of a task with period {period} take too long"))
                .label("beyond the machine's clock")
                .expected(format!("at most {most} jobs"))
        }
        Fault::NoSuchTask { name, known } => no_such_task(problems, at, name, known),
        Fault::Refused(refusal) => refused(problems, at, refusal, tasks),
        Fault::Ways { error, ways } => wrong_ways(problems, at, *error, *ways),
        Fault::Locking { error: why, capacity } => error(Code::Isolation, why.with(&tasks).to_string())
            .label("these pages can't be locked")
            .help(format!("the last level can hold {capacity} pages of all tasks")),
        Fault::TooManyPagesToRank { pages, most } => {
            let headline = format!("the task touches {pages} pages, too many to find the busiest of them");
            error(Code::Isolation, headline)
                .label("pages of this task are to be locked")
                .expected(format!("at most {most} pages"))
        }
        Fault::NotInPartition { task, partition, why } => {
            not_in_partition(problems, at, task, partition, *why)
        }
        Fault::Windows(why) => undivided(problems, at, why, tasks),
        Fault::Device(why) => crate::device_faults::device_fault(problems, at, why),
        Fault::Deaf(deaf) => monitor::deaf(problems, at, deaf),
        Fault::NoPartition { task } => no_partition(problems, at, tasks.task_name(*task).unwrap_or_default()),
    }
}

/// A task whose jobs follow one another so fast that a run would consist of kernel paths.
fn too_brief(
    problems: &Problems,
    at: &Range<usize>,
    task: &str,
    (about, least): (Duration, Duration),
) -> Diagnostic {
    let headline = format!("the jobs of `{}` follow one another and take about {about} each", clip(task));
    problems
        .error(Code::TooShort, headline, at)
        .label("shorter than a kernel path takes")
        .expected(format!("work of at least {least}, or a `period`"))
}

/// A job that does more at one instant than any machine gets done.
fn idle_steps(problems: &Problems, at: &Range<usize>, task: &str, (steps, most): (u64, u64)) -> Diagnostic {
    let headline = format!("a job of `{}` does {steps} steps in which no time passes", clip(task));
    problems
        .error(Code::OutOfRange, headline, at)
        .label("all of it at one instant")
        .expected(format!("at most {most} such steps, or a `compute` or `sleep` among them"))
}

/// A task without what its policy orders or assigns it by.
fn policy_needs(
    problems: &Problems,
    at: &Range<usize>,
    task: &str,
    needed: Needed,
    policy: &Policy,
    policy_at: TextRange,
) -> Diagnostic {
    let by: Vec<&str> =
        policy.criterion.facts().needs.iter().map(|&parameter| ordered_by(parameter)).collect();
    let orders = format!("{} orders jobs by {}", policy.criterion.name(), by.join(" and "));
    let (key, example, why) = match needed {
        Needed::Core => {
            let why = match policy.scope {
                Scope::Clustered(_) => "a task of a clustered policy is assigned to a core of its cluster",
                Scope::Partitioned | Scope::Global => "a task of this policy is assigned to a core",
            };
            ("core", "core = 0", why.to_owned())
        }
        Needed::Deadline => ("deadline", "deadline = \"20ms\"", orders),
        Needed::Period => ("period", "period = \"20ms\"", orders),
        Needed::Wcet => ("wcet", "wcet = \"5ms\"", orders),
        Needed::Priority => ("priority", "priority = 0", orders),
    };
    let headline = format!("{policy} cannot schedule task `{}` without `{key}`", clip(task));
    problems
        .error(Code::PolicyNeeds, headline, at)
        .label(format!("`{key}` is missing here"))
        .also(policy_at.into(), "the policy")
        .help(format!("{why}: add `{example}`, or choose another policy"))
}

/// A task that is to migrate and can't.
fn stays(
    problems: &Problems,
    at: &Range<usize>,
    task: &str,
    why: Stays,
    (policy, policy_at): (&Policy, TextRange),
) -> Diagnostic {
    let headline = format!("task `{}` can't migrate each period: {why}", clip(task));
    let problem = problems.error(Code::PolicyNeeds, headline, at).label("to another core at each release");
    problem.also(policy_at.into(), format!("under {policy}")).help(stays_because(why))
}

/// What to do about a task that can't migrate.
const fn stays_because(why: Stays) -> &'static str {
    match why {
        Stays::Unbound => {
            "write `policy = \"G-AFFINITY\"`, or take `migrate` out: other policies move jobs by themselves"
        }
        Stays::OneCore => {
            "write `policy = \"G-AFFINITY\"`, or `\"C-AFFINITY\"` with a cluster of several cores around this one"
        }
        Stays::NotPeriodic => "give it a `period`, or take `migrate` out",
        Stays::NoCore => "add `core = 0`: where its first job runs",
        Stays::Listener => "take `[scheduler.monitor]` or `migrate` out",
        Stays::Budgets => "take `[isolation.bandwidth]` or `migrate` out",
        Stays::Windows => "take the windows or `migrate` out",
        Stays::CacheParts => "take `ways` and locked pages or `migrate` out",
    }
}

/// What of a job, or of its task, a criterion looks at.
const fn ordered_by(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Deadline => "their deadlines",
        Parameter::Period => "their periods",
        Parameter::Wcet => "their declared execution times",
        Parameter::Priority => "the priorities of their tasks, 0 highest",
        Parameter::Core => "the cores of their tasks",
    }
}

fn named(part: Part) -> &'static str {
    match part {
        Part::Platform => "platform",
        Part::Scheduler => "scheduler",
        Part::Tasks => "task",
        Part::End => "end",
    }
}

fn no_such_task(problems: &Problems, at: &Range<usize>, name: &str, known: &[String]) -> Diagnostic {
    let label = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::from("no task of this name"),
    };
    let headline = format!("there is no task `{}` to isolate", clip(name));
    problems.error(Code::UnknownName, headline, at).label(label)
}

/// So many cores are told what failed on them.
const MOST_TOLD: usize = 8;

/// A task that no core takes, with what failed on each.
fn unplaced(
    problems: &Problems,
    at: &Range<usize>,
    task: &str,
    tried: &[NoRoom],
    tasks: &[Task],
) -> Diagnostic {
    let share = |millionths: u64| format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let why = |no_room: &NoRoom| {
        let NoRoom { core, full, late } = no_room;
        let late = late.and_then(|late| tasks.task_name(late)).map_or("a task", clip_to);
        match full {
            Full::Utilization { millionths } => {
                format!("{core}: the sum of wcet / period would be {} > 1", share(*millionths))
            }
            Full::Demand { millionths } => format!(
                "{core}: jobs due in some interval would need more than the interval, at a sum of wcet / period of {}",
                share(*millionths)
            ),
            Full::Response { deadline: Ticks(ns), .. } => {
                format!("{core}: `{late}` could respond after its deadline of {}", Duration::new(*ns))
            }
            Full::Undecided => format!("{core}: could not be decided"),
            Full::Behind => format!("{core}: next fit has left it behind"),
        }
    };
    let mut told: Vec<String> = tried.iter().take(MOST_TOLD).map(why).collect();
    if let Some(more) = tried.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
        told.push(format!("and {more} more cores"));
    }
    problems
        .error(Code::Partition, format!("no core takes task `{}`", clip(task)), at)
        .label("fits nowhere beside the tasks placed before it")
        .help(told.join("\n"))
}

fn unsized_task(problems: &Problems, at: &Range<usize>, task: &str) -> Diagnostic {
    let headline = format!("task `{}` is to be given a core, and nothing says how long it runs", clip(task));
    problems
        .error(Code::Partition, headline, at)
        .label("without `wcet`")
        .help("add `wcet = \"5ms\"`, or the `core` that it runs on")
}

fn no_capacity(problems: &Problems, at: &Range<usize>, policy: &Policy) -> Diagnostic {
    let headline = format!("no test says how many tasks a core can take under {policy}");
    problems
        .error(Code::Partition, headline, at)
        .label("tasks can't be given cores under this policy")
        .expected("EDF, RM, DM, FP or AFFINITY, or a `core` for each task")
}

fn core_and_partition(problems: &Problems, at: &Range<usize>, task: &str) -> Diagnostic {
    let headline = format!("task `{}` has a core, and groups are to be given cores", clip(task));
    problems
        .error(Code::Partition, headline, at)
        .label("a `core` of its own")
        .help("name the `core` of no task, or of every task and no `partition`")
}

/// Tasks that can't be given cores by their colors: the equation that fails, with its numbers.
fn by_colors(
    problems: &Problems,
    at: &Range<usize>,
    why: &ColorError,
    placed: &[TaskId],
    tasks: &[Task],
) -> Diagnostic {
    let share = |millionths: u64| format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let name = |at: &usize| placed.get(*at).and_then(|&task| tasks.task_name(task)).map_or("a task", clip_to);
    let names = |of: &[usize]| {
        let told: Vec<String> = of.iter().take(MOST_TOLD).map(|at| format!("`{}`", name(at))).collect();
        let more = of.len().saturating_sub(MOST_TOLD);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", told.join(", "))
    };
    let error = |headline: String| problems.error(Code::Partition, headline, at);
    match why {
        ColorError::BadColors { task, colors } => {
            error(format!("equation 2: the colors of task `{}` are not each one of {colors}", name(task)))
                .label("no such colors")
        }
        ColorError::Memory { needed, available } => error(format!(
            "equation 1: the tasks need {needed} bytes of memory, there are {}",
            available.get()
        ))
        .label("more memory than there is"),
        ColorError::Utilization { tasks, needs, has } => {
            error(format!("equation 3: a group of tasks that share colors needs {} of a core", share(*needs)))
                .label(format!("a core takes {}", share(*has)))
                .help(format!("the group: {}", names(tasks)))
        }
        ColorError::Partition { color, needed, size } => {
            error(format!("equation 4: the tasks that use color {color} need {needed} bytes of it"))
                .label(format!("a color has {size} bytes"))
        }
        ColorError::HardShares { task, with } => {
            error(format!("hard task `{}` shares a color with `{}`", name(task), name(with)))
                .label("under cap-gs hard tasks have colors of their own")
        }
        ColorError::HardUtilization { needs, has } => {
            error(format!("equation 4 of chapter 8: the hard tasks need {} of a core", share(*needs)))
                .label(format!("0.69 alpha is {}", share(*has)))
        }
        ColorError::NoRoom { tasks, needs, has, loads } => {
            let held = loads.iter().enumerate().take(MOST_TOLD);
            let told: Vec<String> = held
                .map(|(core, load)| {
                    format!("core {core}: {} + {} > {}", share(*load), share(*needs), share(*has))
                })
                .collect();
            error(format!("equation 3: no core has room for the group of {}", names(tasks)))
                .label(format!("it needs {} of a core", share(*needs)))
                .help(told.join("\n"))
        }
    }
}

fn clip_to(name: &str) -> &str {
    let end = name.char_indices().nth(60).map_or(name.len(), |(end, _)| end);
    name.get(..end).unwrap_or(name)
}

fn memory(problem: Diagnostic, largest: Option<&(String, Bytes)>) -> Diagnostic {
    let largest =
        largest.map_or(String::new(), |(name, size)| format!("the largest is `{}` with {size}", clip(name)));
    problem.label("too small for these tasks").help(largest)
}

fn not_in_partition(
    problems: &Problems,
    at: &Range<usize>,
    task: &str,
    partition: &str,
    why: Apart,
) -> Diagnostic {
    let headline = format!("`{}` can't be in partition `{}`", clip(task), clip(partition));
    problems.error(Code::Isolation, headline, at).label(match why {
        Apart::OtherCore => "a partition is on one core: its tasks need the same `core`",
        Apart::Twice => "a task is in one partition",
    })
}

fn no_partition(problems: &Problems, at: &Range<usize>, task: &str) -> Diagnostic {
    problems
        .error(Code::Isolation, format!("the task `{task}` is in no partition"), at)
        .label("locked when its partition begins")
        .help("name its partition in [isolation.partitions], or say another `when`")
}

/// Why time can't be divided into windows.
fn undivided(problems: &Problems, at: &Range<usize>, why: &Undivided, tasks: &[Task]) -> Diagnostic {
    let error = |headline: String| problems.error(Code::Windows, headline, at);
    match why {
        Undivided::Wrong(why) => wrong_windows(problems, at, why, tasks),
        Undivided::NoSuchPartition { name, known } => {
            let found = error(format!("no partition is called `{}`", clip(name))).label("no such partition");
            match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => found.help(format!("did you mean `{near}`?")),
                None => found.help("name it with its tasks in [isolation.partitions]"),
            }
        }
        Undivided::OtherCore { partition, core } => {
            error(format!("the tasks of partition `{}` are on {core}", clip(partition)))
                .label("a window on another core")
                .help("give the window to the cycle of that core")
        }
        Undivided::NoWindow { partition, core } => {
            error(format!("partition `{}` has no window", clip(partition)))
                .label("it would never run")
                .help(format!("time of {core} is divided: give the partition a window in its cycle"))
        }
        Undivided::SharedQueue { policy } => {
            error(format!("{policy} has one queue for several cores, and windows are those of one core"))
                .label("time can't be divided here")
                .help(format!(
                    "a partitioned policy has a queue a core, for example P-{}",
                    policy.criterion.name()
                ))
        }
        Undivided::Listener => {
            error("a scheduler that listens may move tasks out of their windows".to_owned())
                .label("windows beside [scheduler.monitor]")
                .help("leave one of both away")
        }
        Undivided::BetweenTicks { time, tick } => error(format!("{time} lies between two ticks of {tick}"))
            .label("windows begin and end at ticks")
            .expected(format!("a multiple of {tick}, or no `tick`")),
    }
}

/// Windows that are none.
fn wrong_windows(problems: &Problems, at: &Range<usize>, why: &WindowError, tasks: &[Task]) -> Diagnostic {
    let error = |headline: String| problems.error(Code::Windows, headline, at);
    match *why {
        WindowError::ZeroCycle { core } => {
            error(format!("the cycle of {core} has no length")).label("above zero")
        }
        WindowError::TwoCycles { core } => error(format!("{core} has two cycles")).label("the second"),
        WindowError::ZeroWindow { begin, .. } => {
            error(format!("the window at {begin} has no length")).label("above zero")
        }
        WindowError::BeyondCycle { begin, length, cycle, .. } => {
            error(format!("the window at {begin} is {length} long and ends behind its cycle of {cycle}"))
                .label("ends behind the cycle")
                .expected(format!("at most {}", cycle.saturating_sub(begin)))
        }
        WindowError::Overlap { first, until, second, .. } => {
            error(format!("the window at {second} begins before the one at {first} ends"))
                .label("two windows at a time")
                .expected(format!("{until} or later"))
        }
        WindowError::NoSuchPartition { partitions, .. } => {
            error(format!("a window is of a partition that is not there; there are {partitions}"))
        }
        WindowError::TwoCores { first, .. } => error("a partition has windows on two cores".to_owned())
            .label("the second core")
            .help(format!("its tasks run on one; it has windows on {first}")),
        WindowError::TwoPartitions { task, .. } => {
            let name = clip(tasks.task_name(task).unwrap_or_default());
            error(format!("task `{name}` is in two partitions")).label("the second")
        }
    }
}

fn no_release(problems: &Problems, at: &Range<usize>, task: &str) -> Diagnostic {
    problems
        .error(Code::MissingKey, format!("task `{}` has no `period`", clip(task)), at)
        .label("when are its jobs released?")
        .help("a hard or soft task needs `period = \"20ms\"`, or `release = \"once\"` with a deadline")
}

fn no_deadline(problems: &Problems, at: &Range<usize>, task: &str) -> Diagnostic {
    problems
        .error(Code::MissingKey, format!("task `{}` has no deadline", clip(task)), at)
        .label("neither `deadline` nor `period`")
        .help("a hard or soft task is one that has a deadline; otherwise its class is best-effort")
}

fn too_many_tasks(problems: &Problems, at: &Range<usize>, tasks: u64, most: u64) -> Diagnostic {
    problems
        .error(Code::TooManyTasks, format!("more than {most} tasks"), at)
        .label(format!("task {tasks} and on"))
        .expected(format!("at most {most} tasks, copies included"))
}

fn too_many_steps(problems: &Problems, at: &Range<usize>, most: u64) -> Diagnostic {
    problems
        .error(Code::TooManySteps, format!("more than {most} steps in all tasks"), at)
        .label("with the steps of this task")
        .help("`repeat` says many times with one step")
}

fn wrong_ways(problems: &Problems, at: &Range<usize>, error: WayError, ways: u16) -> Diagnostic {
    problems
        .error(Code::Ways, error.to_string(), at)
        .label("not a set of ways of the last-level cache")
        .expected(format!("neighbouring ways from 0 to {}, for example \"0-3\"", ways.saturating_sub(1)))
}

/// Isolation that can't be had on this platform.
fn refused(problems: &Problems, at: &Range<usize>, refusal: &IsolationRefusal, tasks: &[Task]) -> Diagnostic {
    let problem = problems.error(Code::Isolation, refusal.with(&tasks).to_string(), at);
    match refusal.itself() {
        IsolationRefusal::Overbooked { reserved, dma, guaranteed, transfers, each } => {
            let left = guaranteed.get().saturating_sub(dma.get());
            let countable = Bandwidth::new(left.checked_div(*transfers).unwrap_or(left)).beside(*reserved);
            let lower = match (left, each) {
                (0, _) => "lower `dma`, which leaves nothing to the cores".to_owned(),
                (_, true) => format!(
                    "lower the budgets of reads and of writes to {countable} together (where `writes` is not said, it is \
                     half of `cores`)"
                ),
                (_, false) => format!("lower the budgets to {countable} together"),
            };
            let count = if *transfers > 1 {
                "count what is written back by itself with `counts = \"reads-and-writes\"`, "
            } else {
                ""
            };
            problem.label("more than memory guarantees whatever the addresses").help(format!(
                "{lower}, {count}state what was measured as `guaranteed = \"...\"`, or give the guarantee up with \
                 `best-effort = \"yes\"`"
            ))
        }
        IsolationRefusal::NeverHappens { .. } => problem
            .label("nothing would ever be counted")
            .help("leave `counts` out for misses of the last level, or count `dram_reads`"),
        IsolationRefusal::SharedColor { .. } => problem.label("both evict each other's lines").help(
            "give each colors of its own, or say `shared = \"yes\"` in [isolation.memory] if it is meant",
        ),
        IsolationRefusal::NoPages { colors, banks, .. } if !colors.is_empty() && !banks.is_empty() => problem
            .label("too few pages are in both")
            .help("colors and banks share address bits on this chip: name more of either, or one of the two alone"),
        IsolationRefusal::NoPages { .. } => problem
            .label("too few pages are there")
            .help("name more colors or banks, or take smaller buffers"),
        IsolationRefusal::KernelColor { .. } => problem.label("leave it out, or give the kernel another"),
        _ => problem.label("this can't be had"),
    }
}

fn doubt(problems: &Problems, at: &Range<usize>, what: &Doubtful, tasks: &[Task]) -> Diagnostic {
    match what {
        Doubtful::ComputesBeyondWcet { task, wcet, computed, work_at } => {
            let headline = format!("task `{}` computes for longer than its `wcet` of {wcet}", clip(task));
            problems
                .error(Code::Wcet, headline, at)
                .label("shorter than its own work")
                .also((*work_at).into(), format!("computes for up to {computed}"))
                .help("`solo check` counts what the work computes; a run shows what an overrun does to the others")
        }
        Doubtful::UnusedPartition => problems
            .error(Code::UnusedKey, "`partition` has no effect under this policy", at)
            .label("only tasks of P- policies and of AFFINITY are given a core"),
        Doubtful::NobodyConcerned => problems
            .error(Code::Ineffective, "no task is of a class that the monitor may concern", at)
            .label("nobody")
            .help("name the class of a task, or say `action = \"report\"`"),
        Doubtful::Uncontrolled { device } => {
            let device = clip(device);
            problems
                .error(
                    Code::Ineffective,
                    format!("no bandwidth is reserved for device `{device}`: it takes what it gets"),
                    at,
                )
                .label("moves data beside the budgets of cores")
                .help(format!("reserve some, to which it is held: `dma = {{ {device} = \"100MB/s\" }}`"))
        }
        Doubtful::UnusedBudget => problems
            .error(Code::UnusedKey, "`budget` has no effect without [isolation.bandwidth]", at)
            .label("nobody counts")
            .help("add [isolation.bandwidth]; `cores` may stay empty"),
        Doubtful::Ineffective(warning) => {
            let Advice { headline, remedy } = warning.advice(&tasks);
            let problem = problems.error(Code::Ineffective, headline, at).label("here");
            match remedy {
                Some(remedy) => problem.help(remedy),
                None => problem,
            }
        }
    }
}

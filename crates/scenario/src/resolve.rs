//! From a scenario's tree to experiments: the scenario as it stands and each variant.

use crate::Scenario;
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Report, clip};
use crate::fields::{At, Fields, Problems};
use crate::files::Files;
use crate::isolation;
use crate::limits::{LONGEST, at_least, not_too_long};
use crate::overrides::Overrides;
use crate::platform::Platforms;
use crate::scheduler;
use crate::source::Source;
use crate::task::{self, Policed, Unfolded, Unfolding};
use crate::tree::{self, Node, Table, Value};
use crate::variant;
use crate::work::{self, Surroundings};
use solo_model::experiment::End;
use solo_model::work::{Buffer, Lock};
use solo_model::{BufferId, Bytes, Duration, Experiment, LockId, Platform};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// What the smallest scenario looks like.
const MINIMAL: &str = r#"name = "first steps"
platform = "xeon-w3530"
jobs = 100

[scheduler]
policy = "P-EDF"

[[task]]
name = "control"
class = "hard"
core = 0
period = "10ms"
work = [{ compute = "2ms" }]"#;

/// The most variants of a scenario.
const MOST_VARIANTS: usize = 100;
/// The most jobs of a task.
const MOST_JOBS: u64 = 1_000_000_000;
/// The interval of counter samples where the scenario names none.
const DEFAULT_SAMPLE: Duration = Duration::from_millis(1);

/// Reads and checks a scenario with its variants.
pub(crate) fn scenario(
    source: &Source,
    path: &Path,
    platforms: &Platforms,
    overrides: &Overrides,
) -> Result<Scenario, Report> {
    let mut tree = tree::read(source)?;
    if tree.entries.is_empty() {
        return Err(empty(source));
    }
    let problems = Problems::under(source, overrides.source());
    let laid = overrides.laid(problems.beyond());
    let mut files = Files::new(path.parent().unwrap_or(Path::new("")), platforms);
    let variants = take_variants(&problems, &mut tree);
    let mut stands = tree.clone();
    laid.over(&mut stands, "", !variants.is_empty());
    let base = experiment(&problems, &stands, String::new(), 0..0, &mut files);
    let mut resolved = Vec::new();
    // What is wrong with the scenario by its sheer size is wrong with every variant.
    let hopeless = problems.is_oversized();
    for (name, table) in variants.iter().filter(|_| !hopeless) {
        *problems.variant.borrow_mut() = Some(name.clone());
        let Value::Table(entries) = &table.value else { continue };
        let fields = Fields::new(&problems, entries, table.span.clone(), format!("variant `{name}`"));
        let Some(mut tree) = variant::apply(&problems, &tree, &fields) else { continue };
        laid.over(&mut tree, name, true);
        resolved.extend(experiment(&problems, &tree, name.clone(), table.span.clone(), &mut files));
    }
    let (errors, warnings) = problems.finish();
    match base {
        Some(base) if errors.is_empty() => Ok(Scenario {
            name: base.name.clone(),
            source: source.text().to_owned(),
            path: path.to_owned(),
            base,
            variants: resolved,
            recordings: files.into_recordings(),
            warnings,
        }),
        _ => Err(Report::new(errors)),
    }
}

fn empty(source: &Source) -> Report {
    let minimal: String = MINIMAL.lines().map(|line| format!("  {line}\n")).collect();
    Diagnostic::error(Code::Empty, "the scenario is empty", source, 0..0)
        .label("nothing stands here")
        .help(format!("the smallest scenario looks like this:\n\n{minimal}"))
        .into()
}

/// Takes `[[variant]]` out of the scenario: names, which are checked here, and their tables.
fn take_variants(problems: &Problems, tree: &mut Table) -> Vec<(String, Node)> {
    let Some(entry) = tree.remove("variant") else { return Vec::new() };
    let whole = Table { entries: vec![entry] };
    let fields = Fields::new(problems, &whole, 0..0, "the scenario");
    let mut variants: Vec<(String, Node)> = Vec::new();
    let mut names: HashMap<String, Range<usize>> = HashMap::new();
    for at in fields.tables("variant", "[[variant]]") {
        if variants.len() == MOST_VARIANTS {
            problems.push(
                problems
                    .error(Code::TooManyVariants, format!("more than {MOST_VARIANTS} variants"), &at.span)
                    .label("one too many"),
            );
            break;
        }
        let fields = Fields::new(problems, at.value, at.span.clone(), "this variant");
        let Some(name) = fields.required_string("name", "name = \"solo\"") else { continue };
        if let Some(first) = names.insert(name.value.to_owned(), name.span.clone()) {
            problems.push(
                problems
                    .error(
                        Code::Duplicate,
                        format!("two variants are named \"{}\"", clip(name.value)),
                        &name.span,
                    )
                    .label("the second")
                    .also(first, "the first"),
            );
            continue;
        }
        let node = Node { span: at.span.clone(), value: Value::Table(at.value.clone()) };
        variants.push((name.value.to_owned(), node));
    }
    variants
}

/// One experiment; `None` where something is wrong with it.
fn experiment(
    problems: &Problems,
    tree: &Table,
    variant: String,
    begins: Range<usize>,
    files: &mut Files<'_>,
) -> Option<Experiment> {
    let errors = problems.errors();
    let top = Fields::new(problems, tree, begins, "the scenario");
    let name = top.required_string("name", "name = \"my scenario\"");
    let platform = top
        .required_string("platform", "platform = \"xeon-w3530\"")
        .and_then(|name| files.platform(problems, &name));
    let platform = with_prefetcher(&top, platform);
    let seed = top.integer("seed", 0, i64::MAX as u64).map_or(1, |seed| seed.value);
    let jobs_per_replication = top.integer("jobs-per-replication", 1, MOST_JOBS).map(|jobs| jobs.value);
    let sample = match top.positive::<Duration>("sample") {
        Some(sample) => at_least(problems, Some(sample), "sample").unwrap_or(DEFAULT_SAMPLE),
        None => DEFAULT_SAMPLE,
    };
    let isolation = top.get("isolation");
    let scheduler =
        scheduler_fields(&top).and_then(|fields| scheduler::read(fields, platform.as_ref(), files));
    files.traces.clear();

    let named_buffers = declared(problems, &top, "buffer", "[[buffer]]", work::read_buffer, |b| &b.name);
    let named_locks = declared(problems, &top, "lock", "[[lock]]", work::read_lock, |l| &l.name);
    let mut buffers: Vec<Buffer> = named_buffers.0;
    let declared_buffers = buffers.clone();
    let buffer_names: HashMap<String, BufferId> =
        named_buffers.1.into_iter().map(|(name, index)| (name, BufferId(index as u32))).collect();
    let locks: Vec<Lock> = named_locks.0;
    let lock_names: HashMap<String, LockId> =
        named_locks.1.into_iter().map(|(name, index)| (name, LockId(index as u16))).collect();

    let tables = top.tables("task", "[[task]]");
    if tables.is_empty() && (!top.has("task") || problems.errors() == errors) {
        no_tasks(problems, &top);
    }
    let policed = scheduler.as_ref().map(|s| Policed { policy: &s.policy, policy_at: &s.policy_at });
    let mut unfolded = Unfolded::default();
    let mut around = Surroundings {
        problems,
        buffers: &declared_buffers,
        buffer_names: &buffer_names,
        locks: &locks,
        lock_names: &lock_names,
        files,
    };
    for at in &tables {
        let Some(pattern) = task::read(&mut around, at, policed.as_ref(), platform.as_ref()) else {
            continue;
        };
        if unfolded.add(problems, &pattern, &mut buffers) == Unfolding::Full {
            break;
        }
    }
    let (tasks, owners) = (unfolded.tasks, unfolded.owners);
    let end = end(&top, &tasks);
    // Before pages are ranked and colored: it takes memory for each.
    let fits = platform.as_ref().is_none_or(|platform| check_memory(problems, &top, &buffers, platform));
    let isolation = platform
        .as_ref()
        .filter(|_| fits)
        .map(|platform| {
            isolation::read(problems, isolation, &owners, &tasks, &buffers, platform, &files.recorded())
        })
        .unwrap_or_default();
    top.finish();
    if problems.errors() > errors {
        return None;
    }
    let scheduler = scheduler?;
    Some(Experiment {
        name: name?.value.to_owned(),
        variant,
        platform: platform?,
        policy: scheduler.policy,
        overheads: scheduler.overheads,
        tasks,
        buffers,
        locks,
        traces: files.traces.clone(),
        isolation,
        end: end?,
        sample_every: sample,
        seed,
        jobs_per_replication,
    })
}

fn scheduler_fields<'t>(top: &Fields<'t>) -> Option<Fields<'t>> {
    if !top.has("scheduler") {
        let _ = top.get("scheduler");
        top.problems.push(
            top.problems
                .error(Code::MissingKey, "the scenario has no [scheduler]", &top.span)
                .label("no [scheduler] in this file")
                .help("add\n\n  [scheduler]\n  policy = \"P-EDF\""),
        );
        return None;
    }
    let table = top.table("scheduler", "[scheduler]\npolicy = \"P-EDF\"")?;
    Some(Fields::new(top.problems, table.value, table.span, "[scheduler]"))
}

fn no_tasks(problems: &Problems, top: &Fields<'_>) {
    problems.push(
        problems
            .error(Code::NoTasks, "the scenario has no tasks", &top.span)
            .label("nothing to run")
            .help("add a task:\n\n  [[task]]\n  name = \"control\"\n  class = \"hard\"\n  core = 0\n  period = \"10ms\"\n  work = [{ compute = \"2ms\" }]"),
    );
}

/// Reads one table of a list: the item and the place of its name.
type Reader<T> = fn(&Problems, &At<&Table>) -> Option<(T, Range<usize>)>;

/// Reads the tables of `[[buffer]]` or `[[lock]]`: the items, and their positions by name.
fn declared<T>(
    problems: &Problems,
    top: &Fields<'_>,
    key: &'static str,
    example: &str,
    read: Reader<T>,
    name: fn(&T) -> &String,
) -> (Vec<T>, HashMap<String, usize>) {
    let mut items = Vec::new();
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut places: Vec<Range<usize>> = Vec::new();
    for at in top.tables(key, example) {
        let Some((item, name_at)) = read(problems, &at) else { continue };
        if items.len() == usize::from(u16::MAX) {
            problems.push(problems.error(
                Code::TooMany,
                format!("more than {} of [[{key}]]", u16::MAX),
                &at.span,
            ));
            break;
        }
        if let Some(&first) = names.get(name(&item)) {
            problems.push(
                problems
                    .error(
                        Code::Duplicate,
                        format!("two of [[{key}]] are named \"{}\"", clip(name(&item))),
                        &name_at,
                    )
                    .label("the second")
                    .also(places[first].clone(), "the first"),
            );
            continue;
        }
        names.insert(name(&item).clone(), items.len());
        items.push(item);
        places.push(name_at);
    }
    (items, names)
}

/// When the run ends: `jobs` or `duration`.
fn end(top: &Fields<'_>, tasks: &[solo_model::Task]) -> Option<End> {
    let problems = top.problems;
    let jobs = top.integer("jobs", 1, MOST_JOBS);
    let duration = top.positive::<Duration>("duration");
    match (top.has("jobs"), top.has("duration")) {
        (true, true) => {
            problems.push(
                problems
                    .error(
                        Code::Both,
                        "the scenario has both `jobs` and `duration`",
                        &top.span_of("duration"),
                    )
                    .label("one of the two ends the run")
                    .also(top.span_of("jobs"), "the other one"),
            );
            None
        }
        (false, false) => {
            problems.push(
                problems
                    .error(Code::MissingKey, "the scenario has no end", &top.span)
                    .label("neither `jobs` nor `duration` in this file")
                    .help("add a line such as `jobs = 100` or `duration = \"20s\"`"),
            );
            None
        }
        (false, true) => {
            if top.has("jobs-per-replication") {
                problems.push(
                    problems
                        .error(
                            Code::Jobs,
                            "`jobs-per-replication` divides `jobs`, and there are none",
                            &top.span_of("jobs-per-replication"),
                        )
                        .label("`duration` ends this run")
                        .expected("`jobs = 1000` instead of `duration`"),
                );
            }
            not_too_long(problems, &duration?, "duration").map(End::At)
        }
        (true, false) => end_by_jobs(problems, &jobs?, tasks),
    }
}

/// A run that ends when the periodic tasks have finished their jobs.
fn end_by_jobs(problems: &Problems, jobs: &At<u64>, tasks: &[solo_model::Task]) -> Option<End> {
    let Some(period) = tasks.iter().filter_map(|task| task.release.period()).max() else {
        if !tasks.is_empty() {
            problems.push(
                problems
                    .error(
                        Code::Jobs,
                        "`jobs` counts the jobs of periodic tasks, and there are none",
                        &jobs.span,
                    )
                    .label("nothing ends this run")
                    .expected("a task with a period, or `duration = \"1s\"`"),
            );
        }
        return None;
    };
    let end = End::Jobs(jobs.value);
    // The run may take twice as long as the releases do.
    let room = |task: &solo_model::Task| {
        let room = (LONGEST.get() / 2).saturating_sub(task.release.offset().get());
        Some(room / task.release.period()?.get().max(1))
    };
    let most = tasks.iter().filter_map(room).min().unwrap_or(0);
    if end.goal(tasks).latest.is_some_and(|latest| latest > LONGEST) {
        problems.push(
            problems
                .error(
                    Code::TooLong,
                    format!("{} jobs of a task with period {period} take too long", jobs.value),
                    &jobs.span,
                )
                .label("beyond the machine's clock")
                .expected(format!("at most {most} jobs")),
        );
        return None;
    }
    Some(end)
}

/// `prefetcher = "on"` or `"off"` instead of what the platform says.
fn with_prefetcher(top: &Fields<'_>, platform: Option<Platform>) -> Option<Platform> {
    let Some(on) = top.word("prefetcher", &[("on", true), ("off", false)]) else { return platform };
    let mut platform = platform?;
    match &mut platform.prefetcher {
        Some(prefetcher) => prefetcher.on = on.value,
        None if on.value => {
            let error = top.problems.error(
                Code::NoPrefetcher,
                format!("{} has no prefetcher", platform.name),
                &top.span_of("prefetcher"),
            );
            top.problems.push(
                error.label("nothing to switch on").help("a platform file describes one in [prefetcher]"),
            );
        }
        None => {}
    }
    Some(platform)
}

/// The memory of all tasks fits into the platform's.
fn check_memory(problems: &Problems, top: &Fields<'_>, buffers: &[Buffer], platform: &Platform) -> bool {
    let pages = |buffer: &Buffer| u128::from(buffer.size.in_pieces_of(platform.page));
    let needed: u128 = buffers.iter().map(pages).sum::<u128>() * u128::from(platform.page.get());
    if needed <= u128::from(platform.dram.size.get()) {
        return true;
    }
    let largest = buffers.iter().max_by_key(|buffer| buffer.size);
    let largest =
        largest.map_or(String::new(), |b| format!("the largest is `{}` with {}", clip(&b.name), b.size));
    let needed = Bytes::new(u64::try_from(needed).unwrap_or(u64::MAX));
    problems.push(
        problems
            .error(
                Code::Memory,
                format!("the tasks touch {needed} of memory, {} has {}", platform.name, platform.dram.size),
                &top.span_of("platform"),
            )
            .label("too small for these tasks")
            .help(largest),
    );
    false
}

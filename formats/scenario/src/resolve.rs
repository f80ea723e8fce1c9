//! From a scenario's tree to experiments: the scenario as it stands and each variant.

use crate::application;
use crate::clocks;
use crate::code::Code;
use crate::complaints;
use crate::devices;
use crate::diagnostic::{Diagnostic, Diagnostics, clip};
use crate::fields::{At, Fields, Problems};
use crate::files::Files;
use crate::isolation;
use crate::limits::{at_least, not_too_long};
use crate::overrides::Overrides;
use crate::phase;
use crate::platform::Platforms;
use crate::scheduler;
use crate::source::Source;
use crate::task;
use crate::tree::{self, Node, Table, Value};
use crate::variant;
use crate::work::{self, Surroundings};
use crate::{Refused, Scenario};
use solo_model::work::{Buffer, Lock, TraceSource};
use solo_model::{BufferId, Duration, Experiment, LockId, Platform};
use solo_plan::{Defaults, EndWish, Reason, Request, Said, plan};
use solo_workload::TraceImage;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

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

/// Reads and checks a scenario with its variants.
pub(crate) fn scenario(
    source: &Source,
    path: &Path,
    platforms: &Platforms,
    overrides: &Overrides,
) -> Result<Scenario, Diagnostics> {
    let mut planned = Vec::new();
    let read = each(source, path, platforms, overrides, |problems, request, whole| {
        // What was read in part is planned for what else is wrong with it, and run by nobody.
        planned.extend(experiment(problems, &request).filter(|_| whole));
    })?;
    let (experiments, rationales): (Vec<_>, _) = planned.into_iter().unzip();
    let mut experiments = experiments.into_iter();
    match experiments.next() {
        Some(base) => Ok(Scenario {
            name: base.name.clone(),
            source: source.text().to_owned(),
            path: path.to_owned(),
            base,
            variants: experiments.collect(),
            rationales,
            refused: read.refused.into_iter().map(refusal).collect(),
            recordings: read.recordings,
            warnings: read.warnings,
        }),
        // Whatever keeps a request from being planned has been complained about.
        None => Err(empty(source)),
    }
}

/// Reads what a scenario and each of its variants ask for.
pub(crate) fn requests(
    source: &Source,
    path: &Path,
    platforms: &Platforms,
    overrides: &Overrides,
) -> Result<Vec<Request>, Diagnostics> {
    let mut requests = Vec::new();
    let read = each(source, path, platforms, overrides, |_, request, whole| {
        requests.extend(whole.then_some(request))
    })?;
    let errors: Vec<Diagnostic> = read.refused.into_iter().flat_map(|(_, errors)| errors).collect();
    if errors.is_empty() { Ok(requests) } else { Err(Diagnostics::new(errors)) }
}

fn refusal((variant, errors): (String, Vec<Diagnostic>)) -> Refused {
    Refused { variant, report: Diagnostics::new(errors) }
}

/// What reading leaves beside requests.
struct Read {
    recordings: Vec<(TraceSource, Arc<TraceImage>)>,
    warnings: Vec<Diagnostic>,
    /// Variants that can't be had, each with why.
    refused: Vec<(String, Vec<Diagnostic>)>,
}

/// Hands on what the scenario as it stands asks for, then each variant, and whether all of it could be read: `with` may
/// complain as well.
fn each(
    source: &Source,
    path: &Path,
    platforms: &Platforms,
    overrides: &Overrides,
    mut with: impl FnMut(&Problems, Request, bool),
) -> Result<Read, Diagnostics> {
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
    let mut hand_on = |tree: &Table, name: &str, begins: Range<usize>| {
        let before = problems.errors();
        let request = request(&problems, tree, name.to_owned(), begins, &mut files);
        with(&problems, request, problems.errors() == before);
    };
    hand_on(&stands, "", 0..0);
    // What is wrong with the scenario by its sheer size is wrong with every variant.
    let hopeless = problems.is_oversized();
    for (name, table) in variants.iter().filter(|_| !hopeless) {
        *problems.variant.borrow_mut() = Some(name.clone());
        let Value::Table(entries) = &table.value else { continue };
        let fields = Fields::new(&problems, entries, table.span.clone(), format!("variant `{name}`"));
        let Some(mut tree) = variant::apply(&problems, &tree, &fields) else { continue };
        laid.over(&mut tree, name, true);
        hand_on(&tree, name, table.span.clone());
    }
    let refused = problems.take_refusals();
    let (errors, warnings) = problems.finish();
    match errors.is_empty() {
        true => Ok(Read { recordings: files.into_recordings(), refused, warnings }),
        false => Err(Diagnostics::new(errors)),
    }
}

fn empty(source: &Source) -> Diagnostics {
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

/// One experiment and why it is as it is; `None` where something is wrong with it.
fn experiment(problems: &Problems, request: &Request) -> Option<(Experiment, Vec<Reason>)> {
    match plan(request, &Defaults) {
        Ok(plan) => {
            complaints::doubts(problems, &plan.doubts, &plan.experiment.tasks);
            Some((plan.experiment, plan.rationale))
        }
        Err(refused) => {
            complaints::objections(problems, &refused.objections, &refused.tasks);
            complaints::doubts(problems, &refused.doubts, &refused.tasks);
            None
        }
    }
}

/// What the tree of a variant says, as far as it can be read.
fn request(
    problems: &Problems,
    tree: &Table,
    variant: String,
    begins: Range<usize>,
    files: &mut Files<'_>,
) -> Request {
    let errors = problems.errors();
    let at = begins.clone().into();
    let top = Fields::new(problems, tree, begins, "the scenario");
    let name = top.required_string("name", "name = \"my scenario\"");
    let platform =
        top.said("platform", clocks::with_clocks(&top, with_prefetcher(&top, platform(&top, files))));
    let chip = platform.value();
    let seed = top.said("seed", top.integer("seed", 0, i64::MAX as u64));
    let divided = top.integer("jobs-per-replication", 1, MOST_JOBS);
    let sample = at_least(problems, top.positive::<Duration>("sample"), "sample");
    let isolation = top.get("isolation");
    let scheduler =
        scheduler_fields(&top).map_or(Said::Unreadable, |fields| scheduler::read(fields, chip, files));
    files.traces.clear();
    let (buffers, buffer_names) = buffers(problems, &top);
    let (mut locks, mut lock_names) = locks(problems, &top);
    let phases = phase::read(problems, &top, chip);
    let heads = application::heads(problems, &top, chip, &mut locks, &mut lock_names);
    let tables = top.tables("task", "[[task]]");
    no_tasks(problems, &top, tables.is_empty() && (!top.has("task") || problems.errors() == errors));
    let (devices, devices_in_part) = in_part(problems, || devices::read(problems, &top, chip, &buffer_names));
    let mut around = Surroundings {
        problems,
        buffers: &buffers,
        buffer_names: &buffer_names,
        locks: &locks,
        lock_names: &lock_names,
        platform: chip,
        phases: &phases,
        files,
    };
    let ((tasks, applications), tasks_in_part) = in_part(problems, || {
        let mut tasks: Vec<_> = tables.iter().filter_map(|at| task::read(&mut around, at, chip)).collect();
        let applications = application::read(heads, &mut around, &mut tasks);
        (tasks, applications)
    });
    let end = end(&top);
    let isolation = isolation::read(problems, isolation, chip);
    let sample = top.said("sample", sample);
    let jobs_per_replication = top.said("jobs-per-replication", divided);
    top.finish();
    Request {
        name: name.map_or(String::new(), |name| name.value.to_owned()),
        variant,
        at,
        platform,
        scheduler,
        end,
        seed,
        sample,
        jobs_per_replication,
        buffers,
        locks,
        recordings: files.recordings(),
        tasks,
        applications,
        devices,
        devices_in_part,
        tasks_in_part,
        isolation,
    }
}

/// What is read, and whether something of it could not be.
fn in_part<T>(problems: &Problems, read: impl FnOnce() -> T) -> (T, bool) {
    let before = problems.errors();
    let read = read();
    (read, problems.errors() > before)
}

/// `[[buffer]]` and where each stands.
fn buffers(problems: &Problems, top: &Fields<'_>) -> (Vec<Buffer>, HashMap<String, BufferId>) {
    let (buffers, names) = declared(problems, top, "buffer", "[[buffer]]", work::read_buffer, |b| &b.name);
    (buffers, names.into_iter().map(|(name, index)| (name, BufferId(index as u32))).collect())
}

/// `[[lock]]` and where each stands.
fn locks(problems: &Problems, top: &Fields<'_>) -> (Vec<Lock>, HashMap<String, LockId>) {
    let (locks, names) = declared(problems, top, "lock", "[[lock]]", work::read_lock, |l| &l.name);
    (locks, names.into_iter().map(|(name, index)| (name, LockId(index as u16))).collect())
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

/// Misses tasks, where there are neither tasks nor applications.
fn no_tasks(problems: &Problems, top: &Fields<'_>, none: bool) {
    if !none || top.has("application") {
        return;
    }
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
                    .also(places.get(first).cloned().unwrap_or_default(), "the first"),
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
fn end(top: &Fields<'_>) -> Said<EndWish> {
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
            Said::Unreadable
        }
        (false, false) => {
            problems.push(
                problems
                    .error(Code::MissingKey, "the scenario has no end", &top.span)
                    .label("neither `jobs` nor `duration` in this file")
                    .help("add a line such as `jobs = 100` or `duration = \"20s\"`"),
            );
            Said::Unreadable
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
            let duration = duration.and_then(|found| not_too_long(problems, found, "duration"));
            top.said(
                "duration",
                duration.map(|found| At { value: EndWish::At(found.value), span: found.span }),
            )
        }
        (true, false) => {
            top.said("jobs", jobs.map(|found| At { value: EndWish::Jobs(found.value), span: found.span }))
        }
    }
}

/// The chip that the scenario names.
fn platform(top: &Fields<'_>, files: &mut Files<'_>) -> Option<At<Platform>> {
    let name = top.required_string("platform", "platform = \"xeon-w3530\"")?;
    let value = files.platform(top.problems, &name)?;
    Some(At { value, span: name.span })
}

/// `prefetcher = "on"` or `"off"` instead of what the platform says.
fn with_prefetcher(top: &Fields<'_>, platform: Option<At<Platform>>) -> Option<At<Platform>> {
    let Some(on) = top.word("prefetcher", &[("on", true), ("off", false)]) else { return platform };
    let mut platform = platform?;
    match &mut platform.value.prefetcher {
        Some(prefetcher) => prefetcher.on = on.value,
        None if on.value => {
            let error = top.problems.error(
                Code::NoPrefetcher,
                format!("{} has no prefetcher", platform.value.name),
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

//! `solo plan`: cores, colors of the cache and bandwidth budgets for tasks that have none, judged as `solo check` does.

mod io;
mod lack;
mod text;
mod windows;

use super::check::Judgement;
use crate::cli::PlanArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use serde_json::{Value, to_value};
use solo_model::text::Printable;
use solo_model::{CoreId, Duration, Events, Experiment, TaskClass};
use solo_plan::{
    Aims, DividedPartition, Division, Ending, NoPlan, Planned, Search, Slack, WindowChoice, search_for,
};
use solo_prove::system::{Overall, System};
use solo_scenario::{Enforcer, Platforms, export_plan, load_requests, parse, write_plan};
use solo_store::Output;
use std::path::Path;

/// Plans the scenario as it stands; its variants follow it.
pub(crate) fn run(options: &PlanArgs) -> Result<Exit, Failure> {
    let exports = options.export.iter().map(|word| Export::of(word)).collect::<Result<Vec<_>, _>>()?;
    places(options, &exports)?;
    let platforms = Platforms::builtin();
    let wrong = |report| Failure::Scenario(Box::new(report));
    let (source, requests) = load_requests(&options.scenario, &platforms).map_err(wrong)?;
    let request =
        requests.first().ok_or_else(|| Failure::Usage("the scenario asks for nothing".to_owned()))?;
    let search = search_for(request, Aims { banks: options.banks });
    let unwritable = |why| Failure::Usage(format!("{}: {why}", Printable(options.scenario.display())));
    let written = write_plan(&source, &search.choices).map_err(unwritable)?;
    let planned = match &search.ending {
        Ending::Planned(planned) => Some(planned),
        Ending::Impossible(_) => None,
        Ending::Refused(_) => {
            // The reader of scenarios says what is wrong, and where it is written.
            let found = parse(&written, &options.scenario, &platforms);
            return Err(found.err().map_or_else(|| Failure::Usage("the plan is refused".to_owned()), wrong));
        }
    };
    let judged = planned.map(|planned| Judgement::of(&planned.plan.experiment));
    if let (Some(planned), Some(path)) = (planned, options.write.as_deref()) {
        same(&written, &options.scenario, &planned.plan.experiment)?;
        same(&written, path, &planned.plan.experiment)?;
    }
    // All that is to be written is made before any of it is.
    let texts = match planned {
        Some(planned) => exports
            .iter()
            .map(|export| export.text(&planned.plan.experiment))
            .collect::<Result<Vec<_>, _>>()?,
        None => Vec::new(),
    };
    if let (Some(_), Some(path)) = (planned, options.write.as_deref()) {
        Output::write(path, written.as_bytes())?;
    }
    let mut shown = false;
    for (export, text) in exports.iter().zip(&texts) {
        match export.file {
            Some(path) => drop(Output::write(path, text.as_bytes())?),
            None => {
                output::text(text)?;
                shown = true;
            }
        }
    }
    if shown {
        return Ok(exit(&search, judged.as_ref()));
    }
    let answer = Answer::of(&request.name, &search, judged.as_ref());
    if options.show.json {
        output::json(Document::Plan, &answer)?;
    } else {
        output::text(&text::plan(&answer, &search, judged.as_ref(), options.explain, output::style()))?;
        if let (Some(_), Some(path), false) = (planned, &options.write, options.show.quiet) {
            eprintln!("the plan is in {}", Printable(path.display()));
        }
    }
    Ok(exit(&search, judged.as_ref()))
}

/// That nothing is replaced unasked, and that no file is to hold two things.
fn places(options: &PlanArgs, exports: &[Export<'_>]) -> Result<(), Failure> {
    let files: Vec<&Path> =
        options.write.as_deref().into_iter().chain(exports.iter().filter_map(|export| export.file)).collect();
    if let Some(path) = files.iter().find(|path| !options.force && Output::replaces(path)) {
        return Err(Failure::Usage(format!(
            "{} is there already; choose another name, or replace it with --force",
            Printable(path.display())
        )));
    }
    if let Some(path) = twice(&files) {
        return Err(Failure::Usage(format!(
            "{} is named twice: the plan and each export need a file of their own",
            Printable(path.display())
        )));
    }
    Ok(())
}

/// A file of which one would replace another. What is no regular file may take several.
fn twice<'p>(files: &[&'p Path]) -> Option<&'p Path> {
    let place = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let again = |at: usize| files[..at].iter().any(|other| place(other) == place(files[at]));
    let whole = |path: &Path| !path.exists() || Output::replaces(path);
    (0..files.len()).find(|&at| again(at) && whole(files[at])).map(|at| files[at])
}

/// That of the judgement; without a plan whether the scenario says too little for one, or asks for too much.
fn exit(search: &Search, judged: Option<&Judgement>) -> Exit {
    match (judged, &search.ending) {
        (Some(judged), _) => judged.exit(),
        (None, Ending::Impossible(NoPlan::Unsized(_))) => Exit::BadInput,
        (None, _) => Exit::NotHeld,
    }
}

/// What `--export` asks for.
struct Export<'w> {
    name: &'w str,
    target: Enforcer,
    file: Option<&'w Path>,
}

impl<'w> Export<'w> {
    fn of(word: &'w str) -> Result<Self, Failure> {
        let (name, file) = word.split_once('=').map_or((word, None), |(name, file)| (name, Some(file)));
        let unknown = || Failure::Unknown {
            what: "export target",
            found: name.to_owned(),
            known: Enforcer::ALL.iter().map(|(known, _)| (*known).to_owned()).collect(),
        };
        let target = Enforcer::named(name).ok_or_else(unknown)?;
        Ok(Self { name, target, file: file.map(Path::new) })
    }

    fn text(&self, experiment: &Experiment) -> Result<String, Failure> {
        export_plan(self.target, experiment)
            .map_err(|why| Failure::Usage(format!("--export {} can't have this plan: {why}", self.name)))
    }
}

/// That what is written is what was planned, as seen from the folder of `path`.
fn same(written: &str, path: &Path, planned: &Experiment) -> Result<(), Failure> {
    let found =
        parse(written, path, &Platforms::builtin()).map_err(|report| Failure::Scenario(Box::new(report)))?;
    if found.base == *planned {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the plan would read otherwise as {}: a file that the scenario names is another one there",
        Printable(path.display())
    )))
}

/// All of it as JSON.
#[derive(Serialize)]
struct Answer {
    scenario: String,
    planned: bool,
    /// What stood in the way of the nearest attempt, where there is no plan.
    lack: Option<LackRow>,
    tasks: Vec<TaskRow>,
    budgets: Vec<BudgetRow>,
    /// The regulation period, where budgets were chosen.
    period_ns: Option<Duration>,
    /// What budgets were before best effort got the rest, where it got anything.
    budgets_before_rest: Vec<BudgetRow>,
    /// What that cost: the slack of each core's tightest task before and after it.
    slack: Vec<SlackRow>,
    /// Windows of partitions, where they were chosen.
    cycles: Vec<CycleRow>,
    /// The I/O core and the slots of its devices, where they were chosen.
    io: Option<io::IoRow>,
    /// What the verdict supposes where it is conditional.
    conditions: Vec<ConditionRow>,
    /// What was tried before.
    rounds: Vec<RoundRow>,
    /// What `solo check` says of the plan.
    check: Option<Value>,
}

/// A task, and what was chosen for it.
#[derive(Serialize)]
struct TaskRow {
    name: String,
    class: Option<TaskClass>,
    core: Option<CoreId>,
    /// `plan` where it was chosen, `scenario` where it is written.
    core_from: &'static str,
    /// Chosen colors.
    colors: Option<Vec<u16>>,
    /// Chosen DRAM banks.
    banks: Option<Vec<u16>>,
    /// Pages that are locked in the windows of its partition, where they were chosen.
    locked_pages: Option<u64>,
    /// When the first job is released, where that was chosen.
    offset_ns: Option<Duration>,
}

/// A budget that was chosen.
#[derive(Serialize)]
struct BudgetRow {
    core: CoreId,
    /// Misses in a regulation period.
    misses: u64,
    /// The same as the rate of the lines that are read, in bytes a second.
    bytes_per_second: u64,
}

/// The slack of a core's tightest task, in parts of a million of its deadline.
#[derive(Serialize)]
struct SlackRow {
    core: CoreId,
    before: i64,
    after: i64,
}

/// A task whose execution time was measured alone, and who may evict its lines.
#[derive(Serialize)]
struct ConditionRow {
    task: String,
    core: Option<CoreId>,
    beside: Vec<String>,
}

/// The windows of a core.
#[derive(Serialize)]
struct CycleRow {
    core: CoreId,
    length_ns: Duration,
    /// What of it is nobody's.
    idle_ns: Duration,
    /// How the periods of its partitions were chosen.
    rule: String,
    partitions: Vec<PartitionRow>,
    windows: Vec<WindowRow>,
    /// What was tried before.
    tried: Vec<TriedRow>,
}

/// A partition of a core.
#[derive(Serialize)]
struct PartitionRow {
    partition: String,
    /// From one window to the next; absent for one without deadlines, which gets what is left.
    period_ns: Option<Duration>,
    /// The shortest window with which its deadlines are proved.
    least_ns: Option<Duration>,
}

/// A window.
#[derive(Serialize)]
struct WindowRow {
    partition: String,
    begin_ns: Duration,
    length_ns: Duration,
}

/// An attempt to divide a core that came to nothing.
#[derive(Serialize)]
struct TriedRow {
    rule: String,
    lack: LackRow,
}

/// An attempt that came to nothing.
#[derive(Serialize)]
struct RoundRow {
    cores: String,
    budgets: Option<String>,
    lack: LackRow,
}

/// What lacked.
#[derive(Serialize, Clone)]
struct LackRow {
    /// `processors`, `colors`, `banks`, `bandwidth`, `room`, `time`, `windows`, `io`, `partition`, `common-memory`, `lock`, `execution-time`,
    /// `refused` or `rounds`.
    resource: &'static str,
    /// What is asked for and what there is, in `unit`: `ppm` (millionths of a core's or device's time), `colors`, `banks`, `bytes`,
    /// `bytes_per_second` or `ns`.
    needed: Option<u64>,
    there: Option<u64>,
    unit: Option<&'static str>,
    task: Option<String>,
    core: Option<CoreId>,
    partition: Option<String>,
    text: String,
}

impl Answer {
    fn of(scenario: &str, search: &Search, judged: Option<&Judgement>) -> Self {
        let planned = match &search.ending {
            Ending::Planned(planned) => Some(planned),
            _ => None,
        };
        let experiment = planned.map(|planned| &planned.plan.experiment);
        let lack = match &search.ending {
            Ending::Impossible(lack) => Some(lack_row(lack)),
            _ => None,
        };
        let regulation = experiment.and_then(|experiment| experiment.isolation.bandwidth.as_ref());
        let line = experiment.map_or(1, |experiment| experiment.platform.line().get());
        let row = |&(core, events): &(CoreId, Events)| {
            let period = regulation.map_or(1, |regulation| regulation.period.get().max(1));
            let rate = u128::from(events.get()) * u128::from(line) * 1_000_000_000 / u128::from(period);
            BudgetRow {
                core,
                misses: events.get(),
                bytes_per_second: u64::try_from(rate).unwrap_or(u64::MAX),
            }
        };
        let budgets = search.choices.budgets.iter().map(row);
        let spare = planned.and_then(|planned| planned.spare.as_ref());
        Self {
            scenario: scenario.to_owned(),
            planned: planned.is_some(),
            lack,
            tasks: rows(search, experiment),
            budgets: budgets.filter(|_| planned.is_some()).collect(),
            period_ns: regulation.filter(|_| !search.choices.budgets.is_empty()).map(|one| one.period),
            budgets_before_rest: spare.map_or_else(Vec::new, |spare| spare.before.iter().map(row).collect()),
            slack: spare.map_or_else(Vec::new, |spare| spare.slack.iter().map(slack).collect()),
            conditions: planned.map_or_else(Vec::new, |planned| conditions(planned)),
            cycles: planned.map_or_else(Vec::new, |planned| planned.divisions.iter().map(cycle).collect()),
            io: planned.and_then(|planned| io::row(planned)),
            rounds: search.rounds.iter().map(round).collect(),
            check: judged.and_then(|judged| to_value(judged.json()).ok()),
        }
    }
}

/// By task of the plan; without one, by wish of the nearest attempt.
fn rows(search: &Search, experiment: Option<&Experiment>) -> Vec<TaskRow> {
    let choice_of = |name: &str| {
        let pattern = |choice: &&solo_plan::WishChoice| {
            let copy = name.strip_prefix(choice.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
            copy.is_some_and(|copy| copy.parse::<u64>().is_ok())
        };
        let choices = &search.choices.tasks;
        choices.iter().find(|choice| choice.name == name).or_else(|| choices.iter().find(pattern))
    };
    let locked = |name: &str| {
        let pages = search.choices.pages.iter().find(|choice| choice.task == name);
        pages.map(|choice| choice.pages)
    };
    let from = |chosen: bool| if chosen { "plan" } else { "scenario" };
    match experiment {
        Some(experiment) => experiment
            .tasks
            .iter()
            .map(|task| {
                let choice = choice_of(&task.name);
                TaskRow {
                    name: task.name.clone(),
                    class: Some(task.class),
                    core: task.core,
                    core_from: from(choice.is_some_and(|choice| choice.core.is_some())),
                    colors: choice.and_then(|choice| choice.colors.clone()),
                    banks: choice.and_then(|choice| choice.banks.clone()),
                    locked_pages: locked(&task.name),
                    offset_ns: choice.and_then(|choice| choice.offset),
                }
            })
            .collect(),
        None => search
            .choices
            .tasks
            .iter()
            .map(|choice| TaskRow {
                name: choice.name.clone(),
                class: None,
                core: choice.core,
                core_from: from(choice.core.is_some()),
                colors: choice.colors.clone(),
                banks: choice.banks.clone(),
                locked_pages: locked(&choice.name),
                offset_ns: choice.offset,
            })
            .collect(),
    }
}

const fn slack(one: &Slack) -> SlackRow {
    SlackRow { core: one.core, before: one.before, after: one.after }
}

/// By task measured alone, the others that use memory: all of them, or where cores are kept apart those of its core.
fn conditions(planned: &Planned) -> Vec<ConditionRow> {
    let (experiment, judged) = (&planned.plan.experiment, &planned.judged);
    if planned.overall != Overall::Conditional {
        return Vec::new();
    }
    let system = System::of(experiment);
    let row = |&task: &usize| ConditionRow {
        task: experiment.tasks[task].name.clone(),
        core: experiment.tasks[task].core,
        beside: system.disturbers(task).map(|other| experiment.tasks[other].name.clone()).collect(),
    };
    judged.measured_alone.iter().map(row).collect()
}

fn cycle(division: &Division) -> CycleRow {
    let partition = |one: &DividedPartition| PartitionRow {
        partition: one.name.clone(),
        period_ns: one.period,
        least_ns: one.least,
    };
    let window = |one: &WindowChoice| WindowRow {
        partition: one.partition.clone(),
        begin_ns: one.begin,
        length_ns: one.length,
    };
    CycleRow {
        core: division.core,
        length_ns: division.cycle.length,
        idle_ns: division.idle,
        rule: windows::rule(division.rule),
        partitions: division.partitions.iter().map(partition).collect(),
        windows: division.cycle.windows.iter().map(window).collect(),
        tried: division
            .tried
            .iter()
            .map(|(rule, lack)| TriedRow { rule: windows::rule(*rule), lack: lack_row(lack) })
            .collect(),
    }
}

fn round(round: &solo_plan::Round) -> RoundRow {
    RoundRow {
        cores: text::cores(round.cores, round.charged),
        budgets: round.budgets.map(|rule| text::budgets(rule, round.period)),
        lack: lack_row(&round.lack),
    }
}

fn lack_row(why: &NoPlan) -> LackRow {
    let shortage = why.shortage();
    LackRow {
        resource: shortage.scarce.name(),
        needed: shortage.gauge.map(|gauge| gauge.needed),
        there: shortage.gauge.map(|gauge| gauge.there),
        unit: shortage.gauge.map(|gauge| gauge.unit.name()),
        task: shortage.task.map(str::to_owned),
        core: shortage.core,
        partition: shortage.partition.map(str::to_owned),
        text: lack::lack(why),
    }
}

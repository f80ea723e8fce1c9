//! `solo check`: do the deadlines hold on paper, by how much, and if not, what would mend it.

mod text;

use super::run::{load, refusals, variant};
use crate::cli::Check;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_model::{Duration, Experiment};
use solo_prove::Effort;
use solo_prove::system::{
    Change, Declared, Judged, Open, Overall, Overload, Part, System, TaskFinding, Whose, mends,
};
use solo_report::RefusedVariant;
use solo_scenario::Overrides;

/// Work for the verdicts of one variant: seconds at most.
const STEPS: u64 = 1 << 28;
/// Work for finding mends of one task.
const MEND_STEPS: u64 = 1 << 27;
/// Mends are looked for of so many tasks.
const MENDED: usize = 3;
/// So many parts of a bound are told.
const PARTS: usize = 5;

/// Judges the scenario's variants, or the scenario where it has none.
pub(crate) fn run(options: &Check) -> Result<Exit, Failure> {
    let scenario = load(&options.scenario, &Overrides::default(), options.show.quiet)?;
    let experiments: Vec<&Experiment> = if !options.variants.is_empty() {
        options.variants.iter().map(|name| variant(&scenario, name)).collect::<Result<_, _>>()?
    } else if scenario.variants.is_empty() && scenario.refused.is_empty() {
        vec![&scenario.base]
    } else {
        scenario.variants.iter().collect()
    };
    let checked: Vec<Checked> = experiments.into_iter().map(check).collect();
    let exit =
        checked.iter().map(|one| exit_of(one.verdict, options.wcet_holds)).max_by_key(|exit| weight(*exit));
    let refused = if options.variants.is_empty() { refusals(&scenario) } else { Vec::new() };
    let nothing = refused.is_empty();
    if options.show.json {
        output::json(Document::Check, &Answer { variants: checked, refused })?;
    } else {
        let parts = checked.iter().map(|one| text::checked(one, output::style()));
        let refused = refused.iter().map(|one| {
            let sentence = format!("{}: refused: {}", one.variant, one.reason);
            solo_report::table::sentence(&sentence, output::style())
        });
        output::text(&parts.chain(refused).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(if nothing { exit.unwrap_or(Exit::Held) } else { Exit::BadInput })
}

/// The verdict on one experiment: for JSON, for people, and as an exit code.
pub(super) struct Judgement(Checked);

impl Judgement {
    /// Judges an experiment.
    pub(super) fn of(experiment: &Experiment) -> Self {
        Self(check(experiment))
    }

    /// The exit code, as that of `solo check`.
    pub(super) fn exit(&self) -> Exit {
        exit_of(self.0.verdict, false)
    }

    /// As `solo check` shows it.
    pub(super) fn text(&self) -> String {
        text::checked(&self.0, output::style())
    }

    /// As it stands in JSON.
    pub(super) fn json(&self) -> &impl Serialize {
        &self.0
    }
}

/// All of it as JSON.
#[derive(Serialize)]
struct Answer {
    variants: Vec<Checked>,
    refused: Vec<RefusedVariant>,
}

/// What one variant comes to.
#[derive(Serialize)]
struct Checked {
    scenario: String,
    variant: String,
    policy: String,
    platform: String,
    overheads: String,
    /// `proved`, `conditional`, `not-proved`, `incomplete`, `no-analysis` or `nothing-asked`.
    verdict: Verdict,
    /// Tasks whose declared execution times hold only as measured alone, for their work uses memory that other tasks use
    /// too. Where there are any, `proved` becomes `conditional`.
    measured_alone: Vec<String>,
    /// The kernel's own paths touch caches.
    #[serde(skip)]
    kernel_touches: bool,
    /// Devices that move data by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<String>,
    /// Cores whose tasks ask for more time than there is.
    overloads: Vec<OverloadRow>,
    tasks: Vec<TaskRow>,
}

/// [`Overall`] in files.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Proved,
    Conditional,
    NotProved,
    Incomplete,
    NoAnalysis,
    NothingAsked,
}

/// One task.
#[derive(Serialize)]
struct TaskRow {
    name: String,
    class: solo_model::TaskClass,
    core: Option<solo_model::CoreId>,
    wcet_ns: Option<Duration>,
    /// `declared`, or `work` where the work itself says.
    wcet_from: Option<&'static str>,
    /// What is declared, where the work shows that it takes longer: then `wcet_ns` is what the work shows.
    understated_ns: Option<Duration>,
    /// Misses of the last-level cache of a job at most, where budgets make them matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    misses: Option<u64>,
    /// The execution time with kernel paths of the job, and with what its misses wait for under budgets.
    counted_ns: Option<Duration>,
    deadline_ns: Option<Duration>,
    /// The proved bound on response times.
    bound_ns: Option<Duration>,
    /// Deadline minus bound, or minus what is needed: below zero where it isn't proved.
    slack_ns: Option<i64>,
    /// Where it isn't proved: what a job may need.
    needs_ns: Option<Duration>,
    /// True where a job can be late, false where it may be in time all the same.
    refuted: Option<bool>,
    by: Option<&'static str>,
    /// The largest parts of the bound or of what is needed.
    parts: Vec<PartRow>,
    /// Why there is no verdict.
    open: Option<String>,
    /// Changes that make it hold, any one of which is enough.
    mends: Vec<MendRow>,
}

/// One change that mends: the exact numbers beside the words.
#[derive(Serialize)]
struct MendRow {
    /// `wcet`, `period`, `deadline` or `move`.
    change: &'static str,
    task: String,
    from_ns: Option<Duration>,
    to_ns: Option<Duration>,
    to_core: Option<solo_model::CoreId>,
    text: String,
}

/// Cores whose tasks ask for more time than there is.
#[derive(Serialize)]
struct OverloadRow {
    cores: Vec<solo_model::CoreId>,
    asked_per_mille: u64,
}

/// One part of a bound.
#[derive(Serialize)]
struct PartRow {
    whose: String,
    amount_ns: Duration,
}

fn check(experiment: &Experiment) -> Checked {
    let system = System::of(experiment);
    let judged = system.judge(&mut Effort::steps(STEPS));
    let refused = (0..judged.tasks.len())
        .filter(|&task| matches!(judged.tasks[task].outcome, TaskFinding::NotProved(_)))
        .take(MENDED)
        .collect::<Vec<_>>();
    let tasks = (0..judged.tasks.len())
        .map(|task| {
            let mends = match refused.contains(&task) {
                true => mends(experiment, task, &mut Effort::steps(MEND_STEPS)),
                false => Vec::new(),
            };
            let mends = mends.iter().map(|change| mend(experiment, change)).collect();
            row(experiment, &judged, task, mends)
        })
        .collect();
    Checked {
        scenario: experiment.name.clone(),
        variant: experiment.variant.clone(),
        policy: experiment.policy.to_string(),
        platform: experiment.platform.name.clone(),
        overheads: experiment.overheads.source.clone(),
        verdict: match judged.overall() {
            Overall::Proved => Verdict::Proved,
            Overall::Conditional => Verdict::Conditional,
            Overall::NotProved => Verdict::NotProved,
            Overall::Incomplete => Verdict::Incomplete,
            Overall::NoAnalysis => Verdict::NoAnalysis,
            Overall::NothingAsked => Verdict::NothingAsked,
        },
        measured_alone: judged
            .measured_alone
            .iter()
            .map(|&task| experiment.tasks[task].name.clone())
            .collect(),
        kernel_touches: experiment
            .isolation
            .memory
            .as_ref()
            .is_some_and(|memory| memory.kernel_data.is_some()),
        devices: experiment.devices.iter().map(|device| device.name.clone()).collect(),
        overloads: judged.overloads.iter().map(|overload| overloaded(experiment, overload)).collect(),
        tasks,
    }
}

fn overloaded(experiment: &Experiment, overload: &Overload) -> OverloadRow {
    let domains = experiment.policy.domains(experiment.platform.cores.len());
    let cores = domains.get(overload.domain).map(|domain| domain.iter().collect()).unwrap_or_default();
    OverloadRow { cores, asked_per_mille: overload.asked_per_mille }
}

fn mend(experiment: &Experiment, change: &Change) -> MendRow {
    let (kind, task, times, to_core) = match *change {
        Change::Wcet { task, from, to } => ("wcet", task, Some((from, to)), None),
        Change::Period { task, from, to } => ("period", task, Some((from, to)), None),
        Change::Deadline { task, from, to } => ("deadline", task, Some((from, to)), None),
        Change::Move { task, to } => {
            let domains = experiment.policy.domains(experiment.platform.cores.len());
            ("move", task, None, domains.get(to).and_then(|domain| domain.lowest()))
        }
    };
    MendRow {
        change: kind,
        task: experiment.tasks[task].name.clone(),
        from_ns: times.map(|(from, _)| from),
        to_ns: times.map(|(_, to)| to),
        to_core,
        text: text::change(experiment, change),
    }
}

fn row(experiment: &Experiment, judged: &Judged, task: usize, mends: Vec<MendRow>) -> TaskRow {
    let (judgement, of) = (&judged.tasks[task], &experiment.tasks[task]);
    let mut row = TaskRow {
        name: of.name.clone(),
        class: of.class,
        core: of.core,
        wcet_ns: judgement.wcet.map(Declared::time),
        wcet_from: judgement.wcet.map(|wcet| match wcet {
            Declared::Wcet(_) => "declared",
            Declared::Work(_) => "work",
        }),
        understated_ns: judgement.understated,
        misses: experiment.isolation.bandwidth.as_ref().and(of.misses),
        counted_ns: judgement.counted,
        deadline_ns: judgement.deadline,
        bound_ns: None,
        slack_ns: None,
        needs_ns: None,
        refuted: None,
        by: None,
        parts: Vec::new(),
        open: None,
        mends,
    };
    let parts = |parts: &[Part]| -> Vec<PartRow> {
        let shown = parts.iter().take(PARTS);
        shown.map(|part| PartRow { whose: whose(experiment, part.whose), amount_ns: part.amount }).collect()
    };
    let slack = |needs: Duration| Some(judgement.deadline?.get() as i64 - needs.get() as i64);
    match &judgement.outcome {
        TaskFinding::Proved(proof) => {
            row.bound_ns = Some(proof.bound);
            row.slack_ns = slack(proof.bound);
            row.by = Some(proof.by);
            row.parts = parts(&proof.parts);
        }
        TaskFinding::NotProved(gap) => {
            row.needs_ns = Some(gap.needs);
            row.slack_ns = slack(gap.needs);
            row.refuted = Some(gap.exact);
            row.by = Some(gap.by);
            row.parts = parts(&gap.parts);
        }
        TaskFinding::Open(open) => row.open = Some(text::open(experiment, task, open)),
    }
    row
}

fn whose(experiment: &Experiment, whose: Whose) -> String {
    match whose {
        Whose::Own => "its own work".into(),
        Whose::Task(task) => experiment.tasks[task].name.clone(),
        Whose::Blocking => "waiting for less urgent tasks (their locks, their access under way)".into(),
        Whose::Sleep => "its own sleep".into(),
        Whose::Kernel => "kernel paths".into(),
        Whose::Tick => "waiting for a tick".into(),
        Whose::Window => "waiting for a window of its partition".into(),
        Whose::Memory => "budgets used up, and memory that serves other cores".into(),
    }
}

fn exit_of(verdict: Verdict, wcet_holds: bool) -> Exit {
    match verdict {
        Verdict::Conditional if wcet_holds => Exit::Held,
        Verdict::Proved | Verdict::NothingAsked => Exit::Held,
        Verdict::NotProved => Exit::NotHeld,
        Verdict::Incomplete => Exit::BadInput,
        Verdict::NoAnalysis | Verdict::Conditional => Exit::Cannot,
    }
}

/// Of several variants the gravest counts: a bound that does not hold, then what could not be judged.
fn weight(exit: Exit) -> u8 {
    match exit {
        Exit::NotHeld => 3,
        Exit::BadInput => 2,
        Exit::Cannot => 1,
        Exit::Held | Exit::Interrupted | Exit::Program(_) => 0,
    }
}

/// True for what was never to be proved.
fn unasked(open: &Open) -> bool {
    matches!(open, Open::BestEffort | Open::NoDeadline)
}

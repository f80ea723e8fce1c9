//! `solo check`: do the deadlines hold on paper, by how much, and if not, what would mend it.

mod text;

use super::run::{load, variant};
use crate::cli::Check;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_model::{Duration, Experiment};
use solo_prove::Budget;
use solo_prove::system::{Declared, Judged, Open, Outcome, Overall, Part, System, Whose, mends};

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
    let scenario = load(&options.scenario, options.show.quiet)?;
    let experiments: Vec<&Experiment> = if !options.variants.is_empty() {
        options.variants.iter().map(|name| variant(&scenario, name)).collect::<Result<_, _>>()?
    } else if scenario.variants.is_empty() {
        vec![&scenario.base]
    } else {
        scenario.variants.iter().collect()
    };
    let checked: Vec<Checked> = experiments.into_iter().map(check).collect();
    let exit = checked.iter().map(|one| exit_of(one.verdict)).max_by_key(|exit| weight(*exit));
    if options.show.json {
        output::json(&checked)?;
    } else {
        let parts: Vec<String> = checked.iter().map(|one| text::checked(one, output::style())).collect();
        output::text(&parts.join("\n"))?;
    }
    Ok(exit.unwrap_or(Exit::Held))
}

/// What one variant comes to.
#[derive(Serialize)]
struct Checked {
    scenario: String,
    variant: String,
    policy: String,
    platform: String,
    overheads: String,
    /// `proved`, `not-proved`, `incomplete`, `no-analysis` or `nothing-asked`.
    verdict: Verdict,
    tasks: Vec<TaskRow>,
}

/// [`Overall`] in files.
#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Proved,
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
    /// The execution time with kernel paths of the job.
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
    mends: Vec<String>,
}

/// One part of a bound.
#[derive(Serialize)]
struct PartRow {
    whose: String,
    amount_ns: Duration,
}

fn check(experiment: &Experiment) -> Checked {
    let system = System::of(experiment);
    let judged = system.judge(&mut Budget::steps(STEPS));
    let refused = (0..judged.tasks.len())
        .filter(|&task| matches!(judged.tasks[task].outcome, Outcome::NotProved(_)))
        .take(MENDED)
        .collect::<Vec<_>>();
    let tasks = (0..judged.tasks.len())
        .map(|task| {
            let mends = match refused.contains(&task) {
                true => mends(&system, task, &mut Budget::steps(MEND_STEPS)),
                false => Vec::new(),
            };
            let mends = mends.iter().map(|change| text::change(experiment, change)).collect();
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
            Overall::NotProved => Verdict::NotProved,
            Overall::Incomplete => Verdict::Incomplete,
            Overall::NoAnalysis => Verdict::NoAnalysis,
            Overall::NothingAsked => Verdict::NothingAsked,
        },
        tasks,
    }
}

fn row(experiment: &Experiment, judged: &Judged, task: usize, mends: Vec<String>) -> TaskRow {
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
        Outcome::Proved(proof) => {
            row.bound_ns = Some(proof.bound);
            row.slack_ns = slack(proof.bound);
            row.by = Some(proof.by);
            row.parts = parts(&proof.parts);
        }
        Outcome::NotProved(gap) => {
            row.needs_ns = Some(gap.needs);
            row.slack_ns = slack(gap.needs);
            row.refuted = Some(gap.exact);
            row.by = Some(gap.by);
            row.parts = parts(&gap.parts);
        }
        Outcome::Open(open) => row.open = Some(text::open(experiment, task, open)),
    }
    row
}

fn whose(experiment: &Experiment, whose: Whose) -> String {
    match whose {
        Whose::Own => "its own work".into(),
        Whose::Task(task) => experiment.tasks[task].name.clone(),
        Whose::Blocking => "waiting for a lock".into(),
        Whose::Kernel => "kernel paths".into(),
        Whose::Tick => "waiting for a tick".into(),
    }
}

fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Proved | Verdict::NothingAsked => Exit::Held,
        Verdict::NotProved => Exit::NotHeld,
        Verdict::Incomplete => Exit::BadInput,
        Verdict::NoAnalysis => Exit::Cannot,
    }
}

/// Of several variants the gravest counts: a bound that does not hold, then what could not be judged.
fn weight(exit: Exit) -> u8 {
    match exit {
        Exit::NotHeld => 3,
        Exit::BadInput => 2,
        Exit::Cannot => 1,
        Exit::Held | Exit::Interrupted => 0,
    }
}

/// True for what was never to be proved.
fn unasked(open: &Open) -> bool {
    matches!(open, Open::BestEffort | Open::NoDeadline)
}

//! Tasks that cannot go on, and releases that pile up: what no part of a response time tells.

use crate::report::{Report, TaskReport};
use crate::text::{self, counted};
use solo_model::TaskClass;

/// So many tasks are named in a sentence.
const NAMED: usize = 3;

/// Sentences about deadlocks, overloaded cores and jobs that were given up, the gravest first.
pub(super) fn told(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report.tasks.iter().filter_map(deadlock).take(NAMED).collect();
    lines.extend(forever(report));
    lines.extend(overload(report));
    lines.extend(backlog(report));
    lines
}

fn deadlock(task: &TaskReport) -> Option<String> {
    let circle = task.deadlock.as_ref()?;
    let at = text::time(circle.at.since(solo_model::Instant::ZERO));
    Some(format!(
        "Deadlock at {at}: {} waits for the lock {}, whose holder waits, directly or over others, for {0}. None of them \
         goes on.",
        task.name, circle.name
    ))
}

/// Tasks that wait for a lock that never comes free, in a circle or behind one.
fn forever(report: &Report) -> Option<String> {
    let mut names: Vec<String> =
        report.tasks.iter().filter(|task| task.stuck).map(|task| task.name.clone()).collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(counted(more as u64, "more task"));
    }
    let (verb, whose) = if names.len() == 1 { ("waits", "its") } else { ("wait", "their") };
    let who = text::enumeration(&names);
    (!names.is_empty()).then(|| {
        format!("{who} {verb} for a lock that never comes free: of {whose} jobs from then on no deadline is judged before it has passed.")
    })
}

/// Cores whose hard and soft tasks execute for more time than there is, period after period, where deadlines are missed.
fn overload(report: &Report) -> Option<String> {
    let asking = |task: &&TaskReport| task.class != TaskClass::BestEffort && task.period.is_some();
    let asked = |tasks: &mut dyn Iterator<Item = &TaskReport>| tasks.map(per_mille).sum::<u64>();
    let bound = report.policy.starts_with("P-") || report.policy.ends_with("-AFFINITY");
    let said = |whose: String, asked: u64, cores: usize| {
        let there = if cores == 1 { "is one core".to_owned() } else { format!("are {cores} cores") };
        format!(
            "Overload: the tasks{whose} ask for {}.{} % of one core, and there {there}. Jobs fall behind whatever the order.",
            asked / 10,
            asked % 10
        )
    };
    if report.tasks.iter().all(|task| task.misses == 0) {
        return None;
    }
    if bound {
        return report.cores.iter().find_map(|core| {
            let here = |task: &&TaskReport| asking(task) && task.core == Some(core.core);
            let asked = asked(&mut report.tasks.iter().filter(here));
            (asked > 1000).then(|| said(format!(" of {}", core.core), asked, 1))
        });
    }
    let asked = asked(&mut report.tasks.iter().filter(asking));
    let cores = report.cores.len();
    (cores > 0 && asked > 1000 * cores as u64).then(|| said(String::new(), asked, cores))
}

/// What a task occupies of a core in the long run, in thousandths, rounded down: an average job of each period; of a task
/// that has finished none, its longest so far.
fn per_mille(task: &TaskReport) -> u64 {
    let mean = task.executed.get().checked_div(task.jobs).unwrap_or(task.executed_max.get());
    let period = task.period.map_or(1, |period| period.get().max(1));
    u64::try_from(u128::from(mean) * 1000 / u128::from(period)).unwrap_or(u64::MAX)
}

/// Jobs that never ran since too many were waiting.
fn backlog(report: &Report) -> Option<String> {
    let behind: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.skipped > 0).collect();
    if behind.is_empty() {
        return None;
    }
    let mut names: Vec<String> = behind
        .iter()
        .take(NAMED)
        .map(|task| format!("{} of {}", counted(task.skipped, "job"), task.name))
        .collect();
    if behind.len() > NAMED {
        names.push(format!("those of {}", counted((behind.len() - NAMED) as u64, "more task")));
    }
    Some(format!(
        "{} never ran: the kernel keeps {} waiting releases of a task and gives the oldest up. Each counts as a miss.",
        text::enumeration(&names),
        solo_model::task::BACKLOG_LIMIT,
    ))
}

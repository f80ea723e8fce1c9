//! Tasks that cannot go on, and releases that pile up: what no part of a response time tells.

use crate::report::{Report, TaskReport};
use crate::text::{self, counted};

/// So many tasks are named in a sentence.
const NAMED: usize = 3;

/// Sentences about deadlocks, overloaded cores and jobs that were given up, the gravest first.
pub(super) fn told(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report.tasks.iter().filter_map(deadlock).take(NAMED).collect();
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

//! What a scheduler that listens has done, and to whom.

use crate::listening::ListeningReport;
use crate::report::{Report, TaskReport};
use crate::text;
use solo_model::TaskClass;
use solo_model::listening::Reaction;

pub(crate) const HEADER: [&str; 7] =
    ["listened to", "class", "kept off", "in all", "of the run", "moved", "jobs"];

/// How often a task was moved by the scheduler.
const fn moves(listening: &ListeningReport, task: &TaskReport) -> u64 {
    if matches!(listening.action, Reaction::Migrate) { task.migrations } else { 0 }
}

/// The tasks that were kept off their core or moved, in the order of the scenario.
fn concerned<'r>(
    listening: &'r ListeningReport,
    report: &'r Report,
) -> impl Iterator<Item = &'r TaskReport> + 'r {
    report.tasks.iter().filter(|task| task.held_times > 0 || moves(listening, task) > 0)
}

/// One row for each of them; `class` tells a class.
pub(crate) fn rows(
    listening: &ListeningReport,
    report: &Report,
    class: fn(TaskClass) -> &'static str,
) -> Vec<Vec<String>> {
    let row = |task: &TaskReport| {
        let share = u128::from(task.held.get()) * 1000 / u128::from(report.end.get().max(1));
        vec![
            task.name.clone(),
            class(task.class).to_owned(),
            task.held_times.to_string(),
            text::time(task.held),
            format!("{}.{} %", share / 10, share % 10),
            moves(listening, task).to_string(),
            task.jobs.to_string(),
        ]
    };
    concerned(listening, report).map(row).collect()
}

/// What it did, in a sentence.
pub(crate) fn sentence(listening: &ListeningReport, report: &Report) -> String {
    let looked =
        format!("The scheduler looked at each core's counters every {}", text::time(listening.period));
    let action = listening.action.name();
    if listening.action == Reaction::Report {
        format!("{looked} and did nothing about them, as asked.")
    } else if concerned(listening, report).next().is_none() {
        format!("{looked}; `{action}` had nothing to do.")
    } else {
        format!(
            "{looked}; above the threshold it did `{action}`. Of the run: what a task lost while it was kept off its core."
        )
    }
}

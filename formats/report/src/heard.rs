//! What a scheduler that listens has done, and to whom.

use crate::listening::ListeningReport;
use crate::report::{Report, TaskReport};
use crate::text;
use solo_model::TaskClass;
use solo_model::listening::CoreHeard;

pub(crate) const HEADER: [&str; 7] =
    ["listened to", "class", "kept off", "in all", "of the run", "moved", "jobs"];

pub(crate) const CORES: [&str; 7] = ["core", "samples", "counted", "held", "moved", "untold", "told falsely"];

/// One row for each core: what was heard of it and done there.
pub(crate) fn cores(listening: &ListeningReport) -> Vec<Vec<String>> {
    let row = |(core, heard): (usize, &CoreHeard)| {
        let CoreHeard { samples, counted, held, moved, lost_overflows, false_overflows } = *heard;
        let numbers = [samples, counted, held, moved, lost_overflows, false_overflows];
        [format!("core{core}")].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    };
    listening.cores.iter().enumerate().map(row).collect()
}

/// What interrupts did not tell, or told falsely; nothing where all was told.
fn untold(listening: &ListeningReport) -> String {
    let all = listening.cores.iter().fold(CoreHeard::default(), |mut sum, core| {
        sum += *core;
        sum
    });
    if (all.lost_overflows, all.false_overflows) == (0, 0) {
        return String::new();
    }
    format!(
        " {} passed without the interrupt that should have told of an overflow, and {} told of none: the first were not acted \
         on before their end, the second not at all.",
        text::counted(all.lost_overflows, if listening.action.facts().windows { "window" } else { "period" }),
        text::counted(all.false_overflows, "interrupt"),
    )
}

/// How often a task was moved by the scheduler.
const fn moves(listening: &ListeningReport, task: &TaskReport) -> u64 {
    if listening.action.facts().moves { task.migrations } else { 0 }
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
    let (action, untold) = (listening.action.name(), untold(listening));
    let facts = listening.action.facts();
    if !facts.acts {
        format!("{looked} and did nothing about them, as asked.")
    } else if facts.divides || facts.slows {
        format!("{looked} for `{action}`, which holds and moves nobody.{untold}")
    } else if concerned(listening, report).next().is_none() {
        format!("{looked}; `{action}` had nothing to do.{untold}")
    } else {
        format!(
            "{looked}; above the threshold it did `{action}`. Of the run: what a task lost while it was kept off its core.{untold}"
        )
    }
}

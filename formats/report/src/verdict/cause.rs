//! Which parts of a task's response time made it late.

use super::evidence;
use crate::report::{Report, TaskReport};
use crate::text;
use crate::timeparts::{TimePart, TimeSplit};
use solo_model::Duration;
use std::cmp::Reverse;

/// How many causes a sentence names.
const NAMED: usize = 3;
/// Parts below this share of the whole, in per cent, are not named.
const NAMED_FROM: u64 = 5;

/// What late jobs are held against.
enum Reference<'a> {
    /// The jobs of a baseline run.
    Baseline(&'a Report, &'a TaskReport),
    /// The task's own jobs that were in time.
    InTime(TimeSplit),
    /// Nothing.
    None,
}

/// What a baseline is called in sentences.
pub(super) fn baseline_name(baseline: &Report) -> &str {
    if baseline.variant.is_empty() { "the baseline" } else { &baseline.variant }
}

/// Why a task missed deadlines, in sentences.
pub(super) fn explain(report: &Report, baseline: Option<&Report>, index: usize) -> Vec<String> {
    let task = &report.tasks[index];
    let late = if task.time_late.jobs > 0 { &task.time_late } else { &task.time };
    if late.jobs == 0 {
        return evidence::starved(report, index).into_iter().collect();
    }
    let reference = reference(task, baseline);
    let (mut parts, mut total) = ranked(late, &reference);
    if total.is_zero() {
        return vec!["No part of its response time grew: its deadline leaves no room even so.".into()];
    }
    // Waiting for earlier jobs of its own is what lateness leads to, not what it comes from: what made a single job longer
    // comes first, where anything did.
    let backlog = parts.iter().find(|(part, _)| *part == TimePart::Backlog).map(|&(_, time)| time);
    let backlog = backlog.filter(|&time| time < total);
    if let Some(time) = backlog {
        parts.retain(|(part, _)| *part != TimePart::Backlog);
        total -= time;
    }
    let named: Vec<(TimePart, Duration)> =
        parts.iter().copied().filter(|&(_, time)| worth_a_name(time, total)).take(NAMED).collect();
    let causes: Vec<String> = named
        .iter()
        .enumerate()
        .map(|(i, (part, time))| {
            let is = if i == 0 { " is" } else { "" };
            format!("{}{is} {}", text::whole_percent(*time, total), phrase(*part, report))
        })
        .collect();
    let jobs = if task.time_late.jobs > 0 { "late job" } else { "job" };
    let opening = opening(jobs, &reference, total);
    let mut lines = vec![format!("{opening} {}.", text::enumeration(&causes))];
    if let Some(time) = backlog.filter(|&time| worth_a_name(time, total + time)) {
        lines.push(format!(
            "Jobs that are late delay the next ones: an average {jobs} waits another {} for its own predecessors.",
            text::time(time)
        ));
    }
    for (part, _) in named.iter().take(2) {
        let base = match &reference {
            Reference::Baseline(_, base) => Some(*base),
            Reference::InTime(_) | Reference::None => None,
        };
        let line = evidence::of(report, index, base, *part);
        lines.extend(line.filter(|line| !lines.contains(line)));
    }
    lines
}

/// A part in a sentence. What keeps a task off its core is its own budget, or a scheduler that listens where there is one.
fn phrase(part: TimePart, report: &Report) -> &'static str {
    if part == TimePart::Held && report.listening.is_some() {
        return "kept off its core by the scheduler, which listens";
    }
    part.phrase()
}

fn worth_a_name(time: Duration, of: Duration) -> bool {
    u128::from(time.get()) * 100 >= u128::from(of.get()) * u128::from(NAMED_FROM)
}

fn reference<'a>(task: &TaskReport, baseline: Option<&'a Report>) -> Reference<'a> {
    if let Some(baseline) = baseline {
        let same = baseline.tasks.iter().find(|base| base.name == task.name && base.time.jobs > 0);
        if let Some(base) = same {
            return Reference::Baseline(baseline, base);
        }
    }
    let in_time = task.time.without(&task.time_late);
    if in_time.jobs > 0 && task.time_late.jobs > 0 { Reference::InTime(in_time) } else { Reference::None }
}

/// The parts by their growth, the largest first, and the sum of all growth.
fn ranked(late: &TimeSplit, reference: &Reference<'_>) -> (Vec<(TimePart, Duration)>, Duration) {
    let before = |part| match reference {
        Reference::Baseline(_, base) => base.time.mean(part),
        Reference::InTime(in_time) => in_time.mean(part),
        Reference::None => Duration::ZERO,
    };
    let growth = TimePart::ALL.map(|part| (part, late.mean(part).saturating_sub(before(part))));
    let total = growth.iter().map(|(_, time)| *time).fold(Duration::ZERO, Duration::saturating_add);
    let mut parts: Vec<_> = growth.into_iter().filter(|(_, time)| !time.is_zero()).collect();
    parts.sort_by_key(|&(part, time)| (Reverse(time), part));
    (parts, total)
}

fn opening(jobs: &str, reference: &Reference<'_>, total: Duration) -> String {
    let total = text::time(total);
    match reference {
        Reference::Baseline(report, _) => {
            format!("Of the {total} added to an average {jobs} since {},", baseline_name(report))
        }
        Reference::InTime(_) => format!("Of the {total} that a {jobs} took longer than one in time,"),
        Reference::None => format!("Of the {total} of an average {jobs},"),
    }
}

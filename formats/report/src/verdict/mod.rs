//! The first lines of a report: who missed what, and why.
//!
//! Every sentence is computed. The causes of a task's misses are the parts of its response time, ranked by
//! how much they grew: against the same task's jobs in a baseline run where there is one, else against its own
//! jobs that were in time, else by their size. Means are compared, because the parts of a mean add up to it.

mod bounds;
mod cause;
mod evidence;
mod stuck;

use crate::devices::DeviceReport;
use crate::outcome::{Early, EndedTask, Shortfalls, StopOn};
use crate::report::{CoreRegulation, Report, TaskReport};
use crate::text::{self, counted};
use serde::Serialize;
use solo_model::text::Printable;
use solo_model::{Duration, Instant, TaskClass, TaskId};
use std::cmp::Reverse;

/// How many tasks that miss deadlines are explained in full.
const EXPLAINED: usize = 3;

/// Whether deadlines held, and why not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verdict {
    /// True where no deadline was missed, no proved bound was exceeded, each core of a hard task got the memory bandwidth that it has
    /// reserved, cores together used no more than is reserved, devices moved all of their data in slots of their own, and no hard or soft
    /// task ended before its time or waits for a lock that never comes free.
    pub held: bool,
    /// True where no hard deadline was missed, and no hard task ended before its time or waits for a lock that never comes free.
    pub hard_held: bool,
    /// Jobs of which it is known whether they met their deadline. A verdict over none proves nothing.
    pub judged: u64,
    /// Missed deadlines.
    pub misses: u64,
    /// Tasks of which a job took longer than was proved.
    pub broken_bounds: u64,
    /// Regulation periods in which the core of a hard task did not get what it has reserved.
    pub unmet_periods: u64,
    /// Regulation periods in which cores together used more than is reserved.
    #[serde(skip_serializing_if = "is_zero")]
    pub overdrawn_periods: u64,
    /// Hard and soft tasks that ended before their time.
    #[serde(skip_serializing_if = "is_zero")]
    pub ended_tasks: u64,
    /// Hard and soft tasks that wait for a lock that never comes free.
    #[serde(skip_serializing_if = "is_zero")]
    pub stuck_tasks: u64,
    /// Devices of which a slot was over before all was moved, or began in that of another device of the same core.
    #[serde(skip_serializing_if = "is_zero")]
    pub broken_slots: u64,
    /// What to tell the reader, the most important first.
    pub lines: Vec<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The verdict on a run, explained against `baseline` (usually the solo variant) where there is one.
pub fn verdict(report: &Report, baseline: Option<&Report>) -> Verdict {
    let mut missers: Vec<(usize, &TaskReport)> =
        report.tasks.iter().enumerate().filter(|(_, task)| task.misses > 0).collect();
    missers.sort_by_key(|(index, task)| (task.class, Reverse(task.miss_per_mille()), *index));
    let judged = report.tasks.iter().map(|task| task.judged).sum();
    let misses = report.tasks.iter().map(|task| task.misses).sum();
    let ended: Vec<(&TaskReport, &EndedTask)> = ended(report);
    let mut lines: Vec<String> = ended.iter().map(|(task, end)| of_the_end(task, end)).collect();
    lines.extend(stuck::told(report));
    for &(index, task) in missers.iter().take(EXPLAINED) {
        lines.push(headline(task));
        lines.extend(cause::explain(report, baseline, index));
    }
    if let Some(rest) = missers.get(EXPLAINED..).filter(|rest| !rest.is_empty()) {
        lines.push(others(rest));
    }
    let bounds = bounds::broken(report);
    let broken_bounds = report.tasks.iter().filter(|task| task.breaks_bound()).count() as u64;
    let lacks = hard_lacks(report);
    let unmet_periods = lacks.iter().map(|core| core.unmet).sum();
    // The first line is what the run is remembered by.
    lines.extend(early(report));
    let (before, after) = if broken_bounds > 0 { (bounds, Vec::new()) } else { (Vec::new(), bounds) };
    lines.extend(before);
    let broken: Vec<&DeviceReport> = report.devices.iter().filter(|device| device.is_broken()).collect();
    lines.extend(broken.iter().flat_map(|device| device.broken()));
    let broken_slots = broken.len() as u64;
    let conservation = report.isolation.as_ref().and_then(|isolation| isolation.conservation);
    let overdrawn = conservation.filter(|conservation| conservation.violations > 0);
    lines.extend(overdrawn.map(|conservation| conservation.sentence()));
    if missers.is_empty() {
        lines.extend(lacks.iter().filter_map(|core| core.lack()));
        lines.push(held(report, judged));
        lines.extend(baseline.and_then(|baseline| changed(report, baseline)));
    }
    lines.extend(after);
    if !missers.is_empty() {
        lines.extend(lacks.iter().filter_map(|core| core.lack()));
    }
    lines.extend(doubt(report));
    let ended_tasks = ended.len() as u64;
    let stuck: Vec<&TaskReport> =
        report.tasks.iter().filter(|task| task.stuck && task.class != TaskClass::BestEffort).collect();
    let (stuck_tasks, overdrawn_periods) =
        (stuck.len() as u64, overdrawn.map_or(0, |conservation| conservation.violations));
    let gone = ended.iter().map(|(task, _)| *task).chain(stuck);
    let mut concerned = missers.iter().map(|(_, task)| *task).chain(gone);
    let hard_held = concerned.all(|task| task.class != TaskClass::Hard);
    let broken =
        [misses, broken_bounds, unmet_periods, overdrawn_periods, broken_slots, ended_tasks, stuck_tasks];
    let held = broken.iter().all(|&count| count == 0);
    Verdict {
        held,
        hard_held,
        judged,
        misses,
        broken_bounds,
        unmet_periods,
        overdrawn_periods,
        broken_slots,
        ended_tasks,
        stuck_tasks,
        lines,
    }
}

/// Hard and soft tasks that ended before their time.
fn ended(report: &Report) -> Vec<(&TaskReport, &EndedTask)> {
    let task = |end| {
        let end: &EndedTask = end;
        let task = report.tasks.get(end.task.index())?;
        (task.class != TaskClass::BestEffort).then_some((task, end))
    };
    report.ended.iter().filter_map(task).collect()
}

fn of_the_end(task: &TaskReport, end: &EndedTask) -> String {
    let at = text::time(end.at.since(Instant::ZERO));
    format!("{} ended at {at}, and none of its later jobs was released: {}.", task.name, Printable(&end.why))
}

/// The cores of hard tasks that did not get what they have reserved.
fn hard_lacks(report: &Report) -> Vec<&CoreRegulation> {
    let cores = report.isolation.iter().flat_map(|isolation| &isolation.cores);
    cores.filter(|core| core.hard && core.unmet > 0).collect()
}

fn headline(task: &TaskReport) -> String {
    let share = text::percent(task.misses, task.judged);
    let mut line =
        format!("{} misses {} of {} ({share})", task.name, task.misses, counted(task.judged, "deadline"));
    if let (Some(p99), Some(deadline)) = (task.response.p99(), task.deadline) {
        let unit = text::TimeUnit::for_longest(deadline);
        // Few misses lie beyond the 99th percentile: then the maximum is what shows them.
        let max = task.response.max().filter(|_| p99 <= deadline);
        let (name, worst) = max.map_or(("p99", p99), |max| ("max", max));
        line += &format!(": {name} {} against {}", unit.text(worst), unit.text(deadline));
    }
    if task.misses_unfinished > 0 {
        line +=
            &format!("; {} past the deadline at the end", counted(task.misses_unfinished, "unfinished job"));
    }
    line + "."
}

fn others(rest: &[(usize, &TaskReport)]) -> String {
    let named = |(_, task): &(usize, &TaskReport)| {
        format!("{} ({})", task.name, text::percent(task.misses, task.judged))
    };
    let mut names: Vec<String> = rest.iter().take(8).map(named).collect();
    if rest.len() > 8 {
        names.push(format!("{} more", rest.len() - 8));
    }
    let verb = if rest.len() == 1 { "task misses" } else { "tasks miss" };
    format!("{} more {verb} deadlines: {}.", rest.len(), text::enumeration(&names))
}

fn held(report: &Report, judged: u64) -> String {
    if judged == 0 {
        return match report.tasks.iter().any(|task| task.deadline.is_some()) {
            true => "No job with a deadline came to its end: the run shows nothing.".into(),
            false => "No task has a deadline: there is nothing to miss.".into(),
        };
    }
    let all = if judged == 1 { "The one deadline".into() } else { format!("All {judged} deadlines") };
    let closest = report
        .tasks
        .iter()
        .filter_map(|task| Some((task, task.response.max()?, task.deadline.filter(|d| !d.is_zero())?)))
        .max_by_key(|(_, max, deadline)| max.get() as u128 * 1_000_000 / u128::from(deadline.get()));
    let Some((task, max, deadline)) = closest else { return format!("{all} held.") };
    let unit = text::TimeUnit::for_longest(deadline);
    format!(
        "{all} held. Closest to its own came {}: {} of {} ({}).",
        task.name,
        unit.text(max),
        unit.text(deadline),
        text::whole_percent(max, deadline),
    )
}

/// The task with a deadline that a held run slowed down most against its baseline; where it slowed none down, the one that it
/// made faster most.
fn changed(report: &Report, baseline: &Report) -> Option<String> {
    let with_base = report.tasks.iter().filter_map(|task| {
        let base = baseline.tasks.iter().find(|base| base.name == task.name)?;
        let (now, before) = (task.response.p99()?, base.response.p99()?);
        (!before.is_zero() && task.deadline.is_some()).then_some((task, now, before))
    });
    let all: Vec<(&TaskReport, Duration, Duration)> = with_base.collect();
    let millionths = |(_, now, before): &&(&TaskReport, Duration, Duration)| {
        now.get() as u128 * 1_000_000 / u128::from(before.get())
    };
    let slowest = all.iter().max_by_key(millionths)?;
    let fastest = all.iter().min_by_key(millionths)?;
    let against = cause::baseline_name(baseline);
    let slower = Some(slowest).filter(|(_, now, before)| now > before);
    for (task, now, before) in slower.into_iter().chain([fastest]) {
        let unit = text::TimeUnit::for_longest(*now.max(before));
        // What reads the same has not changed by as much as is shown.
        if unit.text(*now) != unit.text(*before) {
            let factor = text::three_digits(now.get() as f64 / before.get() as f64);
            let [now, before] = [now, before].map(|time| unit.text(*time));
            let name = &task.name;
            return Some(format!(
                "Against {against}, {name} changed most: p99 {now} from {before} (factor {factor})."
            ));
        }
    }
    Some(format!("Against {against}, no p99 of a task with a deadline changed by as much as is shown."))
}

/// Why a run ended before its time.
fn early(report: &Report) -> Option<String> {
    let at =
        text::TimeUnit::for_longest(report.end.since(Instant::ZERO)).text(report.end.since(Instant::ZERO));
    let named = |task: TaskId| report.tasks.get(task.index()).map_or("a task", |task| task.name.as_str());
    Some(match report.early? {
        Early::CutOff => format!("Cut off at {at}: some task could not finish the jobs that were asked for."),
        Early::Stopped(StopOn::Miss) => format!("Stopped at {at}, after the first missed deadline."),
        Early::Stopped(StopOn::Throttle) => format!("Stopped at {at}, after a core was throttled."),
        Early::Stopped(StopOn::Response { task, above }) => {
            let above = text::TimeUnit::for_longest(above).text(above);
            format!("Stopped at {at}: a job of {} was not done {above} after its release.", named(task))
        }
    })
}

fn doubt(report: &Report) -> Option<String> {
    let doubts = &report.doubts;
    let mut parts = Vec::new();
    if doubts.dropped > 0 {
        parts.push(format!("{} lost, misses perhaps among them", counted_were(doubts.dropped, "record")));
    }
    if doubts.vanished > 0 {
        parts.push(format!("the end of {} never recorded", counted_were(doubts.vanished, "job")));
    }
    if doubts.out_of_order > 0 {
        parts.push(format!("{} out of order", counted_were(doubts.out_of_order, "record")));
    }
    if doubts.strangers > 0 {
        parts.push(format!("{} of unknown tasks or cores", counted_were(doubts.strangers, "record")));
    }
    let Shortfalls { unlocked_lines, refused_counters } = doubts.shortfalls;
    if unlocked_lines > 0 {
        let (lines, is) =
            (counted_were(unlocked_lines, "line"), if unlocked_lines == 1 { "is" } else { "are" });
        parts.push(format!("{lines} to be locked and {is} not, for want of room"));
    }
    if refused_counters > 0 {
        let (requests, were) =
            (counted(refused_counters, "request"), if refused_counters == 1 { "was" } else { "were" });
        parts.push(format!(
            "{requests} to performance counters {were} refused: budgets are not held as they say"
        ));
    }
    (!parts.is_empty()).then(|| format!("Doubt: {}.", text::enumeration(&parts)))
}

fn counted_were(count: u64, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "was" } else { "were" })
}

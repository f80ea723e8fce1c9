//! What the rest of the machine did meanwhile: the counters and schedules that bear out a cause.

use crate::report::{CoreReport, LockWait, Report, RunningTask, TaskReport};
use crate::text;
use crate::timeparts::TimePart;
use solo_model::{Bandwidth, CoreId, Duration, EventId};

/// A sentence that bears out `part` as a cause of the lateness of task `index`, where the records have one.
pub(super) fn of(report: &Report, index: usize, base: Option<&TaskReport>, part: TimePart) -> Option<String> {
    let task = &report.tasks[index];
    match part {
        TimePart::DramQueueOthers => neighbours_traffic(report, index),
        TimePart::Dram | TimePart::SharedCache => {
            let misses = more_per_job(task, base?, EventId::LLC_MISSES, "last-level cache misses");
            misses.or_else(|| neighbours_traffic(report, index))
        }
        TimePart::Coherence => more_per_job(task, base?, EventId::SNOOP_HITM, "modified lines fetched"),
        TimePart::PrivateCache => more_per_job(task, base?, EventId::L1_MISSES, "first-level cache misses"),
        TimePart::Throttled => stopped_by_budget(report, index),
        TimePart::Ready => stopped_by_budget(report, index).or_else(|| core_shared_with(report, index)),
        TimePart::Backlog => core_shared_with(report, index),
        TimePart::Held => stopped_by_own_budget(task, report),
        TimePart::Blocked => longest_lock(task),
        TimePart::Kernel => costliest_path(report),
        TimePart::Running => more_per_job(task, base?, EventId::LLC_MISSES, "last-level cache misses"),
        TimePart::Compute | TimePart::DramQueueOwn | TimePart::Asleep => None,
    }
}

/// How long the bandwidth budget of the task's core kept everybody off it.
fn stopped_by_budget(report: &Report, index: usize) -> Option<String> {
    let home = home(report, index)?;
    let core = report.isolation.as_ref()?.cores.iter().find(|core| core.core == home)?;
    (!core.throttled.is_zero()).then(|| {
        format!(
            "The bandwidth budget of {home}, {}, was used up in {} of {} and stopped it for {} in all.",
            text::asked_rate(core.budget),
            core.throttled_periods,
            text::counted(core.periods, "period"),
            text::time(core.throttled),
        )
    })
}

/// How often a scheduler that listens kept the task off its core, or a bandwidth budget of its own stopped it.
fn stopped_by_own_budget(task: &TaskReport, report: &Report) -> Option<String> {
    if let Some(listening) = &report.listening {
        return (task.held_times > 0).then(|| {
            format!(
                "The scheduler, which listens, kept {} off its core {} for {} in all (`action = \"{}\"`).",
                task.name,
                text::counted(task.held_times, "time"),
                text::time(task.held),
                listening.action.name(),
            )
        });
    }
    let period = report.isolation.as_ref()?.period;
    (task.held_times > 0).then(|| {
        format!(
            "The budget of {} itself (`budget`) was used up in {} of {} and stopped it for {} in all.",
            task.name,
            text::counted(task.held_times, "regulation period"),
            text::time(period),
            text::time(task.held),
        )
    })
}

/// Why a task finished no job at all.
pub(super) fn starved(report: &Report, index: usize) -> Option<String> {
    let task = &report.tasks[index];
    let ran = text::time(task.on_core);
    let whole = text::time(Duration::new(report.end.get()));
    let shared = core_shared_with(report, index).map(|line| format!(" {line}")).unwrap_or_default();
    Some(format!("It finished no job and ran {ran} of {whole}.{shared}"))
}

/// The core on which a task spent the most time, or to which it is assigned.
fn home(report: &Report, index: usize) -> Option<CoreId> {
    let time_on = |core: &CoreReport| {
        let own = core.occupants.iter().find(|occupant| occupant.task.index() == index);
        own.map_or(Duration::ZERO, |occupant| occupant.ran)
    };
    let most = report.cores.iter().max_by_key(|core| (time_on(core), std::cmp::Reverse(core.core)));
    most.filter(|core| !time_on(core).is_zero()).map(|core| core.core).or(report.tasks[index].core)
}

/// What other cores moved from and to DRAM.
fn neighbours_traffic(report: &Report, index: usize) -> Option<String> {
    let home = home(report, index)?;
    let mut others: Vec<(&CoreReport, Bandwidth)> = report
        .cores
        .iter()
        .filter(|core| core.core != home)
        .filter_map(|core| Some((core, core.bandwidth_mean()?)))
        .collect();
    let total = others.iter().map(|(_, rate)| rate.get()).fold(0, u64::saturating_add);
    // Cores that move less than a twentieth are not worth a name.
    others.retain(|(_, rate)| !rate.is_zero() && rate.get() >= total / 20);
    others.sort_by_key(|&(core, rate)| (std::cmp::Reverse(rate), core.core));
    let named: Vec<String> = others
        .iter()
        .take(3)
        .map(|(core, rate)| format!("{} moved {}", who_on(report, core), text::rate(*rate)))
        .collect();
    if named.is_empty() {
        return None;
    }
    let peak = text::rate(report.dram_peak);
    Some(format!("Meanwhile {} from and to DRAM, whose peak is {peak}.", text::enumeration(&named)))
}

/// `screen on core1`, or the core alone where no task stands out.
fn who_on(report: &Report, core: &CoreReport) -> String {
    let main = core.occupants.first().filter(|main| main.ran.get() >= core.busy.get() / 2);
    match main.and_then(|main| report.tasks.get(main.task.index())) {
        Some(task) => format!("{} on {}", task.name, core.core),
        None => core.core.to_string(),
    }
}

/// Who ran on the task's core, the task itself included: it may be its own earlier jobs that it waits for.
fn core_shared_with(report: &Report, index: usize) -> Option<String> {
    let home = home(report, index)?;
    let core = report.cores.iter().find(|core| core.core == home)?;
    let share = |occupant: &RunningTask| {
        let name = &report.tasks.get(occupant.task.index())?.name;
        Some(format!("{name} {}", text::percent(occupant.ran.get(), report.end.get())))
    };
    let named: Vec<String> = core.occupants.iter().take(4).filter_map(share).collect();
    let busy = text::percent(core.busy.get(), report.end.get());
    (!named.is_empty()).then(|| format!("{home} was busy {busy} of the time: {}.", text::enumeration(&named)))
}

fn longest_lock(task: &TaskReport) -> Option<String> {
    let LockWait { name, waited, .. } = task.lock_waits.first()?;
    Some(format!("It waited {} in all for the lock {name}.", text::time(*waited)))
}

fn costliest_path(report: &Report) -> Option<String> {
    let most = report.overheads.iter().max_by_key(|path| path.total)?;
    Some(format!(
        "The costliest kernel path is {}: {} in all, {} of up to {}.",
        most.overhead.name(),
        text::time(most.total),
        text::counted(most.count, "passage"),
        text::time(most.max),
    ))
}

/// How much more often an event came in an average job than in the baseline, where that is a twentieth more.
fn more_per_job(task: &TaskReport, base: &TaskReport, event: EventId, what: &str) -> Option<String> {
    let (counts, jobs) = if task.time_late.jobs > 0 {
        (&task.counts_late, task.time_late.jobs)
    } else {
        (&task.counts, task.jobs)
    };
    let now = counts.get(event)?.checked_div(jobs)?;
    let before = base.counts.get(event)?.checked_div(base.jobs)?;
    let grown = u128::from(now) * 20 > u128::from(before) * 21;
    grown.then(|| format!("Its {what} per job grew from {} to {}.", text::count(before), text::count(now)))
}

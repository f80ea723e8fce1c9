//! Tasks of partitions, which run in windows of a cycle only (SCE 2.4, Fig. 16).
//!
//! ```text
//!   |▒ nav ▒|  radio  |▒▒ nav ▒▒|  idle  |      nav: two gaps a cycle, each a task above all of its own
//! ```
//!
//! To the tasks of a partition the time between two of its windows is one more task that comes before all others: as long
//! as the gap, once a cycle. With several windows in a cycle the gaps are counted as if they could begin at the same
//! time; what is bounded so is bounded for every phase of windows and releases. With one window a cycle that is the
//! worst case itself, for a job that is released when the window has just ended; windows of one length at one distance are
//! one window of a shorter cycle.

use super::costs::Costs;
use super::one_core::{self, Between};
use super::{Open, System, TaskFinding};
use crate::effort::Effort;
use crate::task::{Task, Ticks};
use solo_model::partition::{MajorCycle, Partitions};
use solo_model::units::Duration;
use solo_model::{PartitionId, TaskId};

/// A core whose time is divided.
pub(super) struct Divided<'a> {
    partitions: &'a Partitions,
    cycle: &'a MajorCycle,
}

impl System {
    /// The same with the time of cores divided so.
    pub fn divide(&mut self, partitions: Partitions) {
        self.partitions = Some(partitions);
    }

    /// The windows of a domain, where it is a core that has some.
    pub(super) fn divided(&self, domain: usize) -> Option<Divided<'_>> {
        let partitions = self.partitions.as_ref()?;
        let cycle = partitions.cycle(self.domains[domain].core?)?;
        Some(Divided { partitions, cycle })
    }
}

impl Divided<'_> {
    /// Judges the tasks `here` of the core, partition by partition.
    pub(super) fn judge(
        &self,
        system: &System,
        here: &[usize],
        effort: &mut Effort<'_>,
    ) -> Vec<(TaskFinding, Duration)> {
        let of = |task: usize| self.partitions.of(TaskId(task as u32));
        let homes: Vec<Option<PartitionId>> = here.iter().map(|&task| of(task)).collect();
        let open = |open| (TaskFinding::Open(open), Duration::ZERO);
        let mut found: Vec<(TaskFinding, Duration)> = here
            .iter()
            .map(|&task| open(system.unasked(task).unwrap_or(Open::BesideWindows(task))))
            .collect();
        let free: Vec<usize> =
            here.iter().zip(&homes).filter(|(_, home)| home.is_none()).map(|(&task, _)| task).collect();
        for partition in (0..self.partitions.partitions().len()).map(|at| PartitionId(at as u16)) {
            let of_home = |home: fn(Option<PartitionId>, PartitionId) -> bool| -> Vec<usize> {
                here.iter()
                    .zip(&homes)
                    .filter(|(_, own)| home(**own, partition))
                    .map(|(&task, _)| task)
                    .collect()
            };
            let members = of_home(|own, this| own == Some(this));
            if members.is_empty() {
                continue;
            }
            let own = of_home(|own, this| own.is_none_or(|own| own == this));
            let judged = self.partition(system, here, &members, &own, partition, effort);
            for (at, &task) in here.iter().enumerate().filter(|(at, _)| homes[*at] == Some(partition)) {
                let beside =
                    free.iter().find(|&&other| system.tasks[other].class <= system.tasks[task].class);
                let place = own.iter().position(|&other| other == task);
                found[at] = match (&judged, system.unasked(task), beside, place) {
                    (_, Some(unasked), ..) => open(unasked),
                    (_, None, Some(&other), _) => open(Open::BesideWindows(other)),
                    (Err(why), ..) => open(why.clone()),
                    (Ok(judged), .., Some(place)) => judged[place].clone(),
                    (Ok(_), .., None) => open(Open::OutOfTime),
                };
            }
        }
        found
    }

    /// Judges `own`, the tasks of a partition and those that are in none.
    fn partition(
        &self,
        system: &System,
        here: &[usize],
        members: &[usize],
        own: &[usize],
        partition: PartitionId,
        effort: &mut Effort<'_>,
    ) -> Result<Vec<(TaskFinding, Duration)>, Open> {
        if let Some(lock) = shared_lock(system, here, members) {
            return Err(lock);
        }
        let costs = Costs::of(system, here);
        let gaps = self.gaps(system, here, own, partition, costs)?;
        let paths = costs.of_a_gap();
        Ok(one_core::judge(system, own, Some(Between { all: here.to_vec(), gaps, paths }), effort))
    }

    /// The times of a cycle in which a partition does not run, each as a task: with what may be under way when its window
    /// begins, an access of another partition and the kernel's own path.
    fn gaps(
        &self,
        system: &System,
        here: &[usize],
        own: &[usize],
        partition: PartitionId,
        costs: Costs,
    ) -> Result<Vec<Task>, Open> {
        let mut under_way = costs.of_a_gap();
        let others = here.iter().filter(|task| !own.contains(task));
        let mut step = 0;
        for &other in others {
            step = step.max(system.tasks[other].step.ok_or(Open::Step(other))?.get());
        }
        under_way += step;
        let cycle = self.cycle.length.get();
        let windows: Vec<(u64, u64)> = self
            .cycle
            .windows
            .iter()
            .filter(|window| window.partition == partition)
            .map(|window| (window.begin.get(), window.begin.get() + window.length.get()))
            .collect();
        let every = |period: u64, length: u64| {
            let [period, length] = [period, length].map(|time| time.min(Ticks::LIMIT.get()));
            Task::new(length, period, period)
        };
        let task = |length: u64| every(cycle, length);
        let Some((&first, &last)) = windows.first().zip(windows.last()) else {
            return Ok(vec![task(cycle)]);
        };
        // Windows of one length at one distance are one window of a shorter cycle.
        if let Some(period) = distance(&windows, cycle) {
            let gap = (period - (first.1 - first.0)).saturating_add(under_way);
            return Ok(if gap > 0 { vec![every(period, gap)] } else { Vec::new() });
        }
        let within = windows.windows(2).map(|pair| pair[1].0 - pair[0].1);
        let around = cycle - last.1 + first.0;
        // Where one window follows the other the core looks at its clock between them all the same.
        let gaps = within.chain([around]).map(|gap| gap.saturating_add(under_way));
        Ok(gaps.filter(|gap| *gap > 0).map(task).collect())
    }
}

/// The distance of windows, given as begin and end, that all have the same length and follow each other at the same distance.
fn distance(windows: &[(u64, u64)], cycle: u64) -> Option<u64> {
    let count = windows.len() as u64;
    let first = *windows.first()?;
    let period = cycle.checked_div(count).filter(|_| cycle.is_multiple_of(count))?;
    let due = (0..count).map(|at| (first.0 + at * period, first.1 + at * period));
    due.eq(windows.iter().copied()).then_some(period)
}

/// A lock that tasks of a partition share with others of the core. One that holds it may have to wait for its window, and while
/// it waits ceilings keep nobody from taking a second lock: each may wait for the other's for ever.
fn shared_lock(system: &System, here: &[usize], own: &[usize]) -> Option<Open> {
    let uses = |task: usize, lock: usize| {
        let member = &system.tasks[task];
        member.sections.iter().any(|section| section.locks.contains(&lock))
            || member.semaphores.contains(&lock)
            || member.kept.contains(&lock)
    };
    (0..system.locks.len()).find_map(|lock| {
        let inside = own.iter().any(|&task| uses(task, lock));
        let outside = here.iter().any(|&task| !own.contains(&task) && uses(task, lock));
        (inside && outside).then(|| Open::Lock {
            name: system.locks[lock].name.clone(),
            why: "tasks inside and outside a partition use it, and one that holds it may wait for its window",
        })
    })
}

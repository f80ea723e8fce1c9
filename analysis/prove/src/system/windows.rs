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
//! one window of a shorter cycle. Windows of a partition of which one begins as the other ends, also across the end of the cycle, are one:
//! between them the core looks at its clock, and nobody else executes.
//!
//! Where all jobs of a partition with deadlines are released when a window begins (SCE 5, Fig. 16a) and are done before it
//! ends, none ever meets a gap: what they leave undone is nothing, so that each window begins as the first did. Then only what is
//! under way at its begin delays them, and that is the bound where the analysis without gaps finds it within the window.

use super::costs::Costs;
use super::locking::Load;
use super::one_core::{self, Between};
use super::{Open, System, TaskFinding};
use crate::effort::Effort;
use crate::task::{Task, Ticks};
use solo_model::partition::{MajorCycle, Partitions};
use solo_model::units::Duration;
use solo_model::{PartitionId, TaskClass, TaskId};

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

    /// The same where nobody knows when jobs are released, and so not whether that is with a window.
    pub fn unphased(&mut self) {
        for task in &mut self.tasks {
            task.offset = None;
        }
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
                let lifted = || lifted(system, here, &members, &free, task);
                found[at] = match (&judged, system.unasked(task), beside, place) {
                    (_, Some(unasked), ..) => open(unasked),
                    (_, None, Some(&other), _) => open(Open::BesideWindows(other)),
                    (Err(why), ..) => open(why.clone()),
                    (Ok(judged), .., Some(place)) => lifted().map_or_else(|| judged[place].clone(), open),
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
        let load = load_of(system, members, partition)?;
        let lines = load.map_or(0, |load| load.lines);
        let loading = load.map_or(0, |load| load.time.get()).saturating_add(self.unlocking(system, here)?);
        let under_way = self.under_way(system, here, members, partition, costs)?.saturating_add(loading);
        let gaps = self.gaps(partition, under_way);
        let between = |gaps, once| Some(Between { all: here.to_vec(), gaps, paths: under_way, lines, once });
        let any = one_core::judge(system, own, between(gaps, loading), effort);
        let Some((distance, length)) = self.released_with(system, members, own, partition) else {
            return Ok(any);
        };
        // Nothing is under way only where kernel paths are free and no other partition uses memory.
        // Where two windows are one the core looks at its clock within it, once a cycle.
        let borders = self.windows(partition).borders;
        let every = |period: u64| {
            let [c, t] = [under_way, period].map(|time| time.min(Ticks::LIMIT.get()));
            (c > 0).then(|| Task::new(c, t, t))
        };
        let within_one = (0..borders).filter_map(|_| every(self.cycle.length.get()));
        let begins = every(distance).into_iter().chain(within_one).collect();
        let inside = one_core::judge(system, own, between(begins, 0), effort);
        Ok(within(system, own, any, inside, length))
    }

    /// From one window of a partition to the next and how long each is, where they are alike and all jobs of its tasks with deadlines
    /// are released when one begins, by the clock. Nobody sleeps or takes a lock, and nobody runs beside them who is in no partition.
    fn released_with(
        &self,
        system: &System,
        members: &[usize],
        own: &[usize],
        partition: PartitionId,
    ) -> Option<(u64, u64)> {
        let windows = self.windows(partition).joined;
        let distance = distance(&windows, self.cycle.length.get())?;
        let (first, end) = *windows.first()?;
        let alike = |&task: &usize| {
            let member = &system.tasks[task];
            let begins = |time: u64| (time + distance - first % distance).is_multiple_of(distance);
            let at_begins = || {
                let offset = member.offset.is_some_and(|offset| begins(offset.get() % distance));
                let period = member.period.is_some_and(|period| period.get().is_multiple_of(distance));
                offset && period && member.jitter.is_zero() && member.interrupts.is_empty()
            };
            let calm = member.sections.is_empty() && member.semaphores.is_empty() && member.kept.is_empty();
            calm && (member.class == TaskClass::BestEffort || member.sleeps == 0 && at_begins())
        };
        (own.len() == members.len() && own.iter().all(alike)).then_some((distance, end - first))
    }

    /// The windows of a partition in a cycle.
    fn windows(&self, partition: PartitionId) -> Windows {
        let own = self.cycle.windows.iter().filter(|window| window.partition == partition);
        let all = own.map(|window| (window.begin.get(), window.begin.get() + window.length.get()));
        Windows::joined(all, self.cycle.length.get())
    }

    /// What is loaded at the begin of windows of this core, by partition.
    fn loads(&self, system: &System, here: &[usize]) -> Result<Vec<(PartitionId, Load)>, Open> {
        let mut found = Vec::new();
        for (at, partition) in self.partitions.partitions().iter().enumerate() {
            let (id, members) = (PartitionId(at as u16), partition.tasks.iter());
            let members: Vec<usize> = members.map(|task| task.index()).collect();
            if members.first().is_some_and(|first| here.contains(first)) {
                found.extend(load_of(system, &members, id)?.map(|load| (id, load)));
            }
        }
        Ok(found)
    }

    /// What unlocking the pages of a window that is over takes whoever runs then.
    fn unlocking(&self, system: &System, here: &[usize]) -> Result<u64, Open> {
        let loads = self.loads(system, here)?;
        Ok(loads.iter().map(|(_, load)| load.unlocking.get()).max().unwrap_or(0))
    }

    /// What may be under way when a window begins: an access of another partition or of a task in none, and the kernel's own path.
    fn under_way(
        &self,
        system: &System,
        here: &[usize],
        members: &[usize],
        partition: PartitionId,
        costs: Costs,
    ) -> Result<u64, Open> {
        let mut step = 0;
        for (other, load) in self.loads(system, here)? {
            step = if other == partition { step } else { step.max(load.step.get()) };
        }
        for &other in here.iter().filter(|task| !members.contains(task)) {
            step = step.max(system.tasks[other].step.ok_or(Open::Step(other))?.get());
        }
        Ok(costs.of_a_gap().saturating_add(step))
    }

    /// The times of a cycle in which a partition does not run, each as a task: with what is `under_way` when its window begins, and what is
    /// loaded then.
    fn gaps(&self, partition: PartitionId, under_way: u64) -> Vec<Task> {
        let cycle = self.cycle.length.get();
        let Windows { joined: windows, borders } = self.windows(partition);
        let every = |period: u64, length: u64| {
            let [period, length] = [period, length].map(|time| time.min(Ticks::LIMIT.get()));
            Task::new(length, period, period)
        };
        let task = |length: u64| every(cycle, length);
        let Some((&first, &last)) = windows.first().zip(windows.last()) else {
            return vec![task(cycle)];
        };
        // Where one window follows the other the core looks at its clock between them all the same.
        let looks = (0..borders).map(|_| under_way).filter(|time| *time > 0).map(task);
        // Windows of one length at one distance are one window of a shorter cycle.
        if let Some(period) = distance(&windows, cycle) {
            let gap = (period - (first.1 - first.0)).saturating_add(under_way);
            return (gap > 0).then(|| every(period, gap)).into_iter().chain(looks).collect();
        }
        let within = windows.windows(2).map(|pair| pair[1].0 - pair[0].1);
        // The last one may reach into the next cycle, up to the first at most.
        let around = cycle + first.0 - last.1;
        let gaps = within.chain([around]).map(|gap| gap.saturating_add(under_way));
        gaps.filter(|gap| *gap > 0).map(task).chain(looks).collect()
    }
}

/// The windows of a partition in a cycle, those that follow each other at once as one.
struct Windows {
    /// As begin and end, the first begin first. The last one may end beyond the cycle, where it goes on at its begin.
    joined: Vec<(u64, u64)>,
    /// So often in a cycle one was written as two.
    borders: u64,
}

impl Windows {
    /// Windows given as begin and end, in their order.
    fn joined(windows: impl Iterator<Item = (u64, u64)>, cycle: u64) -> Self {
        let (mut joined, mut borders): (Vec<(u64, u64)>, u64) = (Vec::new(), 0);
        for window in windows {
            match joined.last_mut().filter(|last| last.1 == window.0) {
                Some(last) => {
                    last.1 = window.1;
                    borders += 1;
                }
                None => joined.push(window),
            }
        }
        // One that is alone goes on at the cycle's end only where it fills the cycle, and is then no shorter.
        if joined.len() > 1 && joined[0].0 == 0 && joined[joined.len() - 1].1 == cycle {
            let first = joined.remove(0);
            if let Some(last) = joined.last_mut() {
                last.1 += first.1;
            }
            borders += 1;
        }
        Self { joined, borders }
    }
}

/// What is loaded at the begin of each window of a partition.
fn load_of(system: &System, members: &[usize], partition: PartitionId) -> Result<Option<Load>, Open> {
    match system.loads.get(partition.index()).copied().flatten() {
        None => Ok(None),
        Some(Some(load)) => Ok(Some(load)),
        // There is a member where there are pages.
        Some(None) => Err(Open::Step(members.first().copied().unwrap_or(0))),
    }
}

/// The findings `inside` a window, where with them all jobs with deadlines end before it does; else those for `any` window.
fn within(
    system: &System,
    own: &[usize],
    any: Vec<(TaskFinding, Duration)>,
    inside: Vec<(TaskFinding, Duration)>,
    length: u64,
) -> Vec<(TaskFinding, Duration)> {
    let asked = |task: usize| system.tasks[task].class != TaskClass::BestEffort;
    let ends = |finding: &TaskFinding| match finding {
        TaskFinding::Proved(proof) => proof.bound.get() <= length,
        TaskFinding::NotProved(_) | TaskFinding::Open(_) => false,
    };
    let all = own.iter().zip(&inside).all(|(&task, (finding, _))| !asked(task) || ends(finding));
    let choose = |((&task, any), inside): ((&usize, (TaskFinding, Duration)), _)| {
        if all && asked(task) { inside } else { any }
    };
    own.iter().zip(any).zip(inside).map(choose).collect()
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
    (0..system.locks.len()).find_map(|lock| {
        let inside = own.iter().any(|&task| uses(system, task, lock));
        let outside = here.iter().any(|&task| !own.contains(&task) && uses(system, task, lock));
        (inside && outside).then(|| Open::Lock {
            name: system.locks[lock].name.clone(),
            why: "tasks inside and outside a partition use it, and one that holds it may wait for its window",
        })
    })
}

/// A lock that lifts a task in no partition above `task`: one that it shares with as urgent a class of another partition. It may hold
/// it whenever a window of `members` begins.
fn lifted(system: &System, here: &[usize], members: &[usize], free: &[usize], task: usize) -> Option<Open> {
    let urgent = |other: &usize| system.tasks[*other].class <= system.tasks[task].class;
    let elsewhere = |other: &usize| !members.contains(other) && !free.contains(other) && urgent(other);
    (0..system.locks.len()).find_map(|lock| {
        let held = free.iter().any(|&other| uses(system, other, lock));
        let lifts = here.iter().any(|other| elsewhere(other) && uses(system, *other, lock));
        (held && lifts).then(|| Open::Lock {
            name: system.locks[lock].name.clone(),
            why: "a task in no partition and one of another partition use it, and who holds it may run when a window begins",
        })
    })
}

fn uses(system: &System, task: usize, lock: usize) -> bool {
    let member = &system.tasks[task];
    member.sections.iter().any(|section| section.locks.contains(&lock))
        || member.semaphores.contains(&lock)
        || member.kept.contains(&lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_follow_each_other_at_once_are_one() {
        let of = |windows: &[(u64, u64)]| {
            let Windows { joined, borders } = Windows::joined(windows.iter().copied(), 24);
            (joined, borders)
        };
        assert_eq!(of(&[]), (vec![], 0));
        assert_eq!(of(&[(0, 2), (4, 6)]), (vec![(0, 2), (4, 6)], 0));
        assert_eq!(of(&[(0, 2), (2, 6)]), (vec![(0, 6)], 1));
        // Across the end of the cycle, where they are of one length at one distance then.
        assert_eq!(of(&[(0, 1), (7, 13), (19, 24)]), (vec![(7, 13), (19, 25)], 1));
        assert_eq!(distance(&[(7, 13), (19, 25)], 24), Some(12));
        // Those that fill the cycle begin with it.
        assert_eq!(of(&[(0, 12), (12, 24)]), (vec![(0, 24)], 1));
        assert_eq!(of(&[(0, 3), (3, 5), (20, 22), (22, 24)]), (vec![(20, 29)], 3));
    }
}

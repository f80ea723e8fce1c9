//! From an experiment to what the analysis needs of it: the one place where the work that a machine executes becomes
//! the numbers that a theorem takes.

use super::interference::Interference;
use super::locking::{loads, locks_by_clock};
use super::pace::Pace;
use super::step;
use super::walk::{Profile, Walk};
use super::{Domain, Listened, LockUse, Member, System};
use crate::global::uniform::Speeds;
use solo_isolate::heap::JobHeaps;
use solo_model::isolation::{LockTime, Reclaim, Regulation, Sharing};
use solo_model::policy::Timing;
use solo_model::task::{Release, Task};
use solo_model::units::Duration;
use solo_model::work::{Lock, LockProtocol};
use solo_model::{BufferId, Bytes, Color, CoreId, CoreSet, Experiment, TaskClass};

/// A longest execution time and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declared {
    /// The scenario says so: a promise of its writer.
    Wcet(Duration),
    /// The work computes for that long at most.
    Work(Duration),
}

impl Declared {
    /// The time.
    pub const fn time(self) -> Duration {
        match self {
            Self::Wcet(time) | Self::Work(time) => time,
        }
    }
}

/// A program that is not of best effort.
fn is_urgent_program(task: &Task) -> bool {
    task.class != TaskClass::BestEffort && task.work.command().is_some()
}

/// The system of an experiment.
pub(super) fn system(experiment: &Experiment) -> System {
    let sets: Vec<CoreSet> = experiment.policy.domains(experiment.platform.cores.len());
    let home =
        |task: &Task| task.core.and_then(|core| sets.iter().position(|set| set.contains(core))).unwrap_or(0);
    let homes: Vec<usize> = experiment.tasks.iter().map(home).collect();
    let protocols: Vec<LockProtocol> = experiment.locks.iter().map(|lock| lock.protocol).collect();
    let paces: Vec<Pace> = sets.iter().map(|&cores| Pace::of(&experiment.platform, cores)).collect();
    let profile = |(task, &home): (&Task, &usize)| Walk::of(&task.work.steps, &paces[home], &protocols);
    let mut profiles: Vec<Profile> = experiment.tasks.iter().zip(&homes).map(profile).collect();
    for (index, profile) in profiles.iter_mut().enumerate() {
        profile.touches |= loads_pages(experiment, index);
    }
    let used: CoreSet =
        homes.iter().filter_map(|&home| sets.get(home)).fold(CoreSet::EMPTY, |all, &set| all.or(set));
    let domain = |(index, &cores): (usize, &CoreSet)| Domain {
        core: cores.lowest().filter(|_| cores.len() == 1),
        cores: cores.len(),
        speed: slowest(experiment, cores, used),
        alike: paces[index].is_reference(),
        speeds: speeds(experiment, cores).filter(|_| slowest(experiment, cores, used) == 1000),
        moves_up: experiment.moves_up(cores),
        regulated: experiment.isolation.bandwidth.as_ref().is_some_and(|wanted| {
            let at_home = |task: usize| homes.get(task) == Some(&index);
            stops(wanted, cores, &at_home)
        }),
    };
    let domains: Vec<Domain> = sets.iter().enumerate().map(domain).collect();
    let steps = step::longest(experiment, &sets, &homes, &profiles);
    let kernel_misses = kernel_misses(experiment, &steps);
    let members = experiment.tasks.iter().zip(profiles).zip(homes).zip(steps);
    let mut tasks: Vec<Member> = members
        .map(|(((task, profile), home), step)| {
            let speed = domains.get(home).map_or(1000, |domain| domain.speed);
            member(experiment, task, profile, home, speed, step)
        })
        .collect();
    for (member, lacking) in tasks.iter_mut().zip(heaps_that_may_lack(experiment)) {
        member.may_end = lacking;
    }
    for device in &experiment.devices {
        if let Some(member) = device.releases.and_then(|task| tasks.get_mut(task.index())) {
            member.interrupts.push(device.period);
        }
    }
    let interference =
        experiment.isolation.bandwidth.as_ref().map(|wanted| Interference::of(experiment, wanted));
    System {
        policy: experiment.policy.clone(),
        overheads: experiment.overheads.clone(),
        kernel_misses,
        domains,
        tasks,
        locks: locks(experiment),
        regulation: experiment.isolation.bandwidth.as_ref().map(|wanted| wanted.period),
        loads: loads(experiment, used, matches!(interference, Some(Ok(_)))),
        flushes: experiment.tasks.iter().position(|task| task.work.flushes()),
        command: experiment.tasks.iter().position(is_urgent_program),
        migrates: experiment.tasks.iter().position(|task| task.migrate.is_some()),
        partitions: experiment.isolation.partitions.clone(),
        devices: !experiment.devices.is_empty(),
        kernel_data: experiment.isolation.memory.as_ref().is_some_and(|memory| memory.kernel_data.is_some()),
        interference,
        listening: experiment.listening.as_ref().map(|listening| Listened {
            period: listening.period,
            looks_every: listening.looks_every(),
            classes: if listening.reaction.facts().acts { listening.classes.clone() } else { Vec::new() },
            reaction: listening.reaction,
        }),
    }
}

fn member(
    experiment: &Experiment,
    task: &Task,
    profile: Profile,
    domain: usize,
    speed: u16,
    step: Option<Duration>,
) -> Member {
    let computed = stretched(profile.computed, speed);
    // The margin of rounding contradicts nobody.
    let exact = u128::from(profile.computed) * 1000;
    // Where memory takes time besides, a declaration of the computation alone is too short as well.
    let shown = task.wcet.is_none_or(|declared| {
        let declared = u128::from(declared.get()) * u128::from(speed);
        declared < exact || (declared == exact && profile.touches)
    });
    let aligned = |tick: Duration| {
        let offset = task.release.offset();
        // What is held back is released at the next tick, whenever the interrupt came.
        !matches!(task.release, Release::Sporadic { .. })
            && offset.get().is_multiple_of(tick.get())
            && task.release.period().is_none_or(|period| period.get().is_multiple_of(tick.get()))
    };
    // A job that wakes up waits for the tick, too.
    let late = if let Timing::Tick(tick) = experiment.policy.timing { tick.get() } else { 0 };
    Member {
        class: task.class,
        domain,
        // What the file itself shows outweighs what it declares.
        wcet: match task.wcet {
            Some(declared) if !shown => Some(Declared::Wcet(declared.max(computed))),
            // Memory takes time besides, and nobody has said how much.
            Some(_) if profile.touches => None,
            Some(_) => Some(Declared::Work(computed)),
            None => (!profile.touches).then_some(Declared::Work(computed)),
        },
        understated: task.wcet.filter(|_| shown),
        touches: profile.touches,
        scales: !profile.touches && !profile.phases && profile.sleeps == 0 && profile.operations == 0,
        misses: if profile.touches { task.misses } else { Some(0) },
        period: task.release.period(),
        offset: released_from(task),
        interrupts: Vec::new(),
        once: matches!(task.release, Release::Once { .. }),
        deadline: task.relative_deadline(),
        jitter: match experiment.policy.timing {
            Timing::Tick(tick) if !aligned(tick) => tick,
            _ => Duration::ZERO,
        },
        priority: task.priority,
        lock_operations: profile.operations,
        sleeps: profile.sleeps,
        asleep: Duration::new(profile.asleep.saturating_add(profile.sleeps.saturating_mul(late))),
        least: Duration::new(profile.least),
        sections: profile
            .sections
            .into_iter()
            .map(|mut section| {
                section.length = section.length.map(|length| stretched(length, speed).get());
                section
            })
            .collect(),
        semaphores: profile.semaphores,
        kept: profile.kept,
        step,
        affinity: affinity(experiment, task, profile.touches),
        may_end: None,
    }
}

/// By task, the color of a heap that may not have what it asks for; none where no task takes memory while it runs.
fn heaps_that_may_lack(experiment: &Experiment) -> Vec<Option<Color>> {
    let coloring = experiment.isolation.memory.clone().unwrap_or_default();
    let platform = &experiment.platform;
    let all = platform.last_level().map_or(1, |cache| cache.colors(platform.page));
    let colors = if coloring.groups == 0 { all } else { coloring.groups.min(all) };
    let sizes: Vec<Bytes> = experiment.buffers.iter().map(|buffer| buffer.size).collect();
    let heaps = JobHeaps::of(&coloring, colors, &experiment.tasks, sizes.len());
    heaps.map_or_else(Vec::new, |heaps| heaps.may_run_out(&experiment.tasks, &sizes))
}

fn locks(experiment: &Experiment) -> Vec<LockUse> {
    let lock = |lock: &Lock| LockUse { name: lock.name.clone(), protocol: lock.protocol };
    experiment.locks.iter().map(lock).collect()
}

/// What an entry of the kernel, a release and a switch miss at most, where cores wait for it; `steps` are the longest accesses.
fn kernel_misses(experiment: &Experiment, steps: &[Option<Duration>]) -> Option<[u64; 3]> {
    let lines = step::kernel_lines(experiment)?;
    // Where an access has no bound, no task has one.
    let longest = steps.iter().copied().flatten().max().unwrap_or(Duration::ZERO);
    // The last access of a path ends between two nanoseconds.
    // Sums of these stay within 64 bits, and no deadline is as long.
    Some(lines.map(|lines| lines.saturating_mul(longest.get()).saturating_add(1).min(1 << 48)))
}

/// What a job of a task loses with the caches when it is resumed: all the memory that it touches, where it touches any.
fn affinity(experiment: &Experiment, task: &Task, touches: bool) -> Duration {
    let threads = u32::try_from(experiment.tasks.len()).unwrap_or(u32::MAX);
    let sizes = (0u32..).zip(&experiment.buffers).filter(|(id, _)| task.work.touches(BufferId(*id)));
    let touched = sizes.fold(Bytes::ZERO, |sum, (_, buffer)| sum.saturating_add(buffer.size));
    // Pages that it loads to lock them are memory, too.
    let least = if touches { Bytes::new(1) } else { Bytes::ZERO };
    experiment.overheads.loss_of_affinity(touched.max(least), threads)
}

/// The release of the first job, where the clock alone releases all of them.
fn released_from(task: &Task) -> Option<Duration> {
    match task.release {
        Release::Periodic { offset, .. } => Some(offset),
        _ => None,
    }
}

/// True where jobs of a task load pages to lock them, or unlock those of another partition, before their first step:
/// whatever their steps are, they use memory.
fn loads_pages(experiment: &Experiment, task: usize) -> bool {
    let Some(lockdown) = &experiment.isolation.lockdown else { return false };
    match lockdown.when {
        LockTime::Boot => false,
        LockTime::Task | LockTime::Job => lockdown.pages.iter().any(|page| page.task.index() == task),
        // Where the clock begins windows, what is loaded is counted to the window.
        LockTime::Partition if locks_by_clock(experiment) => false,
        LockTime::Partition => lockdown.partitions.iter().flatten().any(|member| member.index() == task),
    }
}

/// True where a core of `cores`, or a task at home there, is stopped when a budget is used up; or where it can't be said
/// when regulation interrupts.
fn stops(wanted: &Regulation, cores: CoreSet, at_home: &dyn Fn(usize) -> bool) -> bool {
    let budgets = wanted.cores.iter().any(|budget| cores.contains(budget.core));
    let of_tasks =
        wanted.tasks.iter().enumerate().any(|(task, budget)| budget.budget.is_some() && at_home(task));
    budgets || of_tasks || wanted.sharing != Sharing::None || wanted.reclaim != Reclaim::Off
}

/// The speeds of cores that do not all compute equally fast.
fn speeds(experiment: &Experiment, cores: CoreSet) -> Option<Speeds> {
    let rate = |core: CoreId| experiment.platform.kind(core).rate();
    Speeds::of(cores.iter().map(rate)).filter(|speeds| !speeds.are_equal())
}

/// The speed, in thousandths, of the slowest of `cores` while its SMT siblings, where tasks run on them, compute too.
fn slowest(experiment: &Experiment, cores: CoreSet, used: CoreSet) -> u16 {
    let platform = &experiment.platform;
    let physical = |core: CoreId| platform.cores.get(core.index()).map(|core| core.physical);
    let has_sibling = |core: CoreId| {
        platform
            .core_set()
            .iter()
            .any(|other| other != core && physical(other) == physical(core) && used.contains(other))
    };
    let speed = |core: CoreId| {
        if has_sibling(core) { platform.kind(core).smt_speed.get().clamp(1, 1000) } else { 1000 }
    };
    cores.iter().map(speed).min().unwrap_or(1000)
}

/// A computation at that speed, rounded up; a nanosecond more at either end, for jobs begin and end between two.
fn stretched(nanoseconds: u64, speed_per_mille: u16) -> Duration {
    if speed_per_mille >= 1000 {
        return Duration::new(nanoseconds);
    }
    let slow = (u128::from(nanoseconds) * 1000).div_ceil(u128::from(speed_per_mille.max(1)));
    // Where it is interrupted, or the sibling begins or ends, a picosecond may be lost: a millionth, at one each microsecond.
    let slow = slow + slow / 1_000_000 + 2;
    Duration::new(u64::try_from(slow).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_computation_beside_a_sibling_is_rounded_up() {
        assert_eq!(stretched(600, 1000), Duration::new(600));
        assert_eq!(stretched(600, 600), Duration::new(1002));
        assert_eq!(stretched(601, 600), Duration::new(1004));
    }
}

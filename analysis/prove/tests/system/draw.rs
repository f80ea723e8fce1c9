//! Scenarios drawn from a seed: everything that a scenario without memory can say.

use solo_corpus::ideal_platform;
use solo_model::SplitMix64;
use solo_model::experiment::End;
use solo_model::isolation::{Budget, CoreBudget, Counted, Donation, Regulation, TaskBudget};
use solo_model::listening::{Listening, Observed, Reaction, ScriptedCount};
use solo_model::overhead::{Overhead, OverheadTable};
use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow};
use solo_model::platform::CoreKind;
use solo_model::policy::{Criterion, Policy, Scope, Timing};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::{Bandwidth, Duration, Events, Frequency, PerMille};
use solo_model::work::{Lock, LockProtocol, Span, Step, Work};
use solo_model::{CoreId, CoreSet, EventId, Experiment, Fixed, Instant, LockId, PartitionId, TaskId};

pub(crate) const CORES: u16 = 4;
/// The unit of the drawn times.
pub(crate) const UNIT: u64 = 100_000;
const LOCKS: u16 = 3;

/// Draws, more or less often, what a scenario may contain.
pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5010))
    }
    /// Below `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }
    /// True once in `n`.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }
}

/// What this scenario may contain; most have a few of these only, so that proofs are found.
struct Spice {
    sleeps: bool,
    locks: bool,
    all_protocols: bool,
    semaphores: bool,
    crowded: bool,
}

pub(crate) fn experiment(seed: u64) -> Experiment {
    let dice = &mut Dice::new(seed);
    let pair = |a: u16| CoreSet::only(CoreId(a)).or(CoreSet::only(CoreId(a + 1)));
    let lone = |a: u16| CoreSet::only(CoreId(a));
    let scope = match dice.below(5) {
        0 | 1 => Scope::Partitioned,
        2 => Scope::Global,
        3 => Scope::Clustered(vec![pair(0), pair(2)]),
        _ => Scope::Clustered(vec![pair(0), lone(2), lone(3)]),
    };
    let criterion = dice.pick(&Criterion::ALL);
    let timing = match dice.below(3) {
        0 => Timing::Tick(Duration::new(dice.pick(&[UNIT / 2, UNIT, 2 * UNIT, 3 * UNIT]))),
        _ => Timing::OneShot,
    };
    let quantum = Some(Duration::new(dice.between(1, 4) * UNIT));
    let spice = Spice {
        sleeps: dice.once_in(3),
        locks: dice.once_in(2),
        all_protocols: dice.once_in(6),
        semaphores: dice.once_in(12),
        crowded: dice.once_in(3),
    };
    let mut platform = ideal_platform(CORES.into());
    if dice.once_in(4) {
        for kind in &mut platform.kinds {
            kind.smt_speed = PerMille::new(dice.pick(&[500, 600, 641, 999])).expect("up to 1000");
        }
        for (index, core) in platform.cores.iter_mut().enumerate() {
            core.physical = (index / 2) as u16;
        }
    }
    let least = if spice.crowded { 3 } else { 1 };
    let count = dice.between(least, 9);
    let tasks = (0..count).map(|index| task(dice, index as usize, &spice)).collect();
    let policy = Policy { timing, quantum, ..Policy::new(scope, criterion) };
    let overheads = if dice.once_in(2) { overheads(dice) } else { OverheadTable::free() };
    let protocol = |dice: &mut Dice, index: u16| match (index + 1 == LOCKS, spice.all_protocols) {
        (true, _) => LockProtocol::Semaphore { units: dice.below(3) as u32 },
        (false, true) => dice.pick(&[LockProtocol::Plain, LockProtocol::Inheritance, LockProtocol::Ceiling]),
        (false, false) => LockProtocol::Ceiling,
    };
    let locks =
        (0..LOCKS).map(|index| Lock { name: format!("l{index}"), protocol: protocol(dice, index) }).collect();
    let mut experiment = Experiment {
        overheads,
        locks,
        seed,
        sample_every: Duration::new(UNIT * 1000),
        ..Experiment::new("drawn", platform, policy, tasks, End::At(Duration::new(700 * UNIT)))
    };
    if dice.once_in(8) {
        experiment.isolation.bandwidth = Some(budgets(dice, experiment.tasks.len()));
    }
    experiment
}

/// The same on cores whose time is divided among partitions, without budgets.
pub(crate) fn divided(seed: u64) -> Experiment {
    let mut experiment = experiment(seed);
    experiment.isolation.bandwidth = None;
    experiment.policy.scope = Scope::Partitioned;
    let dice = &mut Dice::new(seed ^ 0x0077_1d0e);
    let (mut partitions, mut cycles) = (Vec::new(), Vec::new());
    for core in (0..CORES).map(CoreId) {
        let here: Vec<TaskId> = (0..experiment.tasks.len() as u32)
            .map(TaskId)
            .filter(|task| experiment.tasks[task.index()].core == Some(core))
            .collect();
        if dice.once_in(5) {
            continue;
        }
        let first = partitions.len() as u64;
        let count = dice.between(1, 3);
        for _ in 0..count {
            partitions.push(Partition::default());
        }
        // All ticks that are drawn divide six units.
        let grain = if experiment.policy.timing == Timing::OneShot { UNIT } else { 6 * UNIT };
        let unit = |units: u64| Duration::new(grain * units);
        let (mut begin, mut windows) = (dice.below(2), Vec::new());
        for _ in 0..dice.between(1, 4) {
            let (length, partition) = (dice.between(1, 3), PartitionId((first + dice.below(count)) as u16));
            windows.push(TimeWindow { partition, begin: unit(begin), length: unit(length) });
            begin += length + dice.below(2);
        }
        cycles.push(MajorCycle { core, length: unit(begin + dice.below(2)), windows });
        for task in here {
            // One in no partition now and then: mostly of the least urgent class.
            if dice.once_in(8) {
                continue;
            }
            partitions[(first + dice.below(count)) as usize].tasks.push(task);
        }
    }
    experiment.isolation.partitions = Partitions::new(partitions, cycles).ok();
    experiment
}

/// The same where each partition has one window in a cycle and most of its tasks are released with it, some of them in every second or
/// third window only.
pub(crate) fn released_with_windows(seed: u64) -> Experiment {
    let mut experiment = experiment(seed);
    experiment.isolation.bandwidth = None;
    experiment.policy.scope = Scope::Partitioned;
    let dice = &mut Dice::new(seed ^ 0x0a11_64ed);
    if !dice.once_in(4) {
        experiment.policy.timing = Timing::OneShot;
    }
    let (mut partitions, mut cycles) = (Vec::new(), Vec::new());
    for core in (0..CORES).map(CoreId) {
        // All ticks that are drawn divide six units.
        let cycle = Duration::new(dice.pick(&[12, 18, 24, 36]) * UNIT);
        let count = dice.between(1, 3);
        let (first, mut begin) = (partitions.len() as u64, 6 * UNIT * dice.below(2));
        let mut windows = Vec::new();
        for at in 0..count {
            let length = ((cycle.get() - begin) / (count - at) / (6 * UNIT)).max(1) * 6 * UNIT;
            if begin + length > cycle.get() {
                break;
            }
            let (begins, partition) = (Duration::new(begin), PartitionId((first + at) as u16));
            windows.push(TimeWindow { partition, begin: begins, length: Duration::new(length) });
            begin += length;
        }
        let here = windows.len() as u64;
        // Now and then the cycle begins within a window, which is then cut in two.
        if dice.once_in(3) {
            let later = 6 * UNIT * dice.between(1, 3);
            for window in &mut windows {
                window.begin = Duration::new((window.begin.get() + later) % cycle.get());
            }
        }
        partitions.extend((0..here).map(|_| Partition::default()));
        let at_home = |task: &usize| experiment.tasks[*task].core == Some(core);
        let at_home: Vec<usize> = (0..experiment.tasks.len()).filter(at_home).collect();
        for task in at_home {
            if here == 0 || dice.once_in(12) {
                continue;
            }
            let window = &windows[dice.below(here) as usize];
            partitions[window.partition.index()].tasks.push(TaskId(task as u32));
            let member = &mut experiment.tasks[task];
            if !matches!(member.release, Release::Periodic { .. }) || dice.once_in(20) {
                continue;
            }
            let period = Duration::new(cycle.get() * dice.pick(&[1, 1, 2, 3]));
            let offset = window.begin + Duration::new(cycle.get() * dice.below(3));
            member.release = Release::Periodic { offset, period };
            member.deadline = member.deadline.map(|_| period);
            let most = window.length.get() * dice.between(2, 45) / 100;
            let least = if dice.once_in(2) { most } else { most / 2 };
            let span = Span { least: Duration::new(least), most: Duration::new(most.max(1)) };
            member.work = Work { steps: vec![Step::Compute(span)] };
            member.wcet = Some(span.most);
        }
        if !windows.is_empty() {
            cycles.push(MajorCycle { core, length: cycle, windows: cut(windows, cycle) });
        }
    }
    experiment.isolation.partitions = Partitions::new(partitions, cycles).ok();
    experiment
}

/// The windows in their order; one that reaches beyond the end of the cycle goes on at its begin.
fn cut(windows: Vec<TimeWindow>, cycle: Duration) -> Vec<TimeWindow> {
    let mut all = Vec::new();
    for window in windows {
        let now = window.length.min(cycle - window.begin);
        all.push(TimeWindow { length: now, ..window });
        if now < window.length {
            all.push(TimeWindow { begin: Duration::ZERO, length: window.length - now, ..window });
        }
    }
    all.sort_by_key(|window| window.begin);
    all
}

/// The same with a scheduler that listens to counts that are written down, and without budgets.
pub(crate) fn listening(seed: u64) -> Experiment {
    let mut experiment = experiment(seed);
    experiment.isolation.bandwidth = None;
    let dice = &mut Dice::new(seed ^ 0x0071_57e4);
    let event = EventId::SNOOP_HITM;
    let period = Duration::new(dice.between(5, 60) * UNIT / 2);
    // Counts that are written down interrupt nobody, and are no curves.
    let plain = |reaction: &Reaction| {
        let facts = reaction.facts();
        !facts.interrupts && !facts.kinds && facts.over.is_empty()
    };
    let reactions: Vec<_> = Reaction::ALL.into_iter().filter(plain).collect();
    let reaction = dice.pick(&reactions);
    let count = |dice: &mut Dice, half: u64| ScriptedCount {
        core: CoreId(dice.below(CORES.into()) as u16),
        event,
        at: Instant::new(half * UNIT * 5),
        count: dice.below(8),
    };
    let script = (0..120).map(|half| count(dice, half)).collect();
    let lowest = TaskClass::BestEffort;
    let classes =
        dice.pick(&[vec![lowest], vec![lowest], vec![TaskClass::Soft], vec![TaskClass::Soft, lowest]]);
    let threshold = Fixed::from(dice.below(6));
    experiment.listening = Some(Listening {
        threshold,
        classes,
        script,
        ..Listening::new(Observed::count_of(event), period, reaction)
    });
    experiment
}

fn overheads(dice: &mut Dice) -> OverheadTable {
    let most = dice.pick(&[300, 4000, 20_000]);
    let mut table = OverheadTable::free();
    for row in 0..Overhead::ALL.len() {
        table.steps[row] = vec![(0, Duration::new(dice.below(most)))];
    }
    table
}

/// One core is regulated; what nobody counts never stops it.
fn budgets(dice: &mut Dice, tasks: usize) -> Regulation {
    let core = CoreId(dice.below(CORES.into()) as u16);
    let task = |task| TaskBudget { task: TaskId(task), budget: None, donates: Donation::Nothing };
    Regulation {
        tasks: (0..tasks as u32).map(task).collect(),
        best_effort: true,
        ..Regulation::new(
            Duration::new(dice.between(5, 30) * UNIT / 10),
            Counted::One(EventId::LLC_MISSES),
            vec![CoreBudget {
                core,
                budget: Budget::Events(Events::new(dice.between(1, 1000))),
                writes: None,
            }],
            Bandwidth::new(1 << 40),
        )
    }
}

fn task(dice: &mut Dice, index: usize, spice: &Spice) -> Task {
    let class = dice.pick(&[TaskClass::Hard, TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort]);
    let best_effort = class == TaskClass::BestEffort;
    let period = dice.pick(&[5, 8, 10, 12, 15, 20, 25, 40, 60]) * UNIT;
    // Some periods fall on no tick.
    let period = if dice.once_in(4) { period + dice.below(UNIT) } else { period };
    let offset = Duration::new(if dice.once_in(3) { 0 } else { dice.below(20 * UNIT) });
    let share = dice.between(3, if spice.crowded { 30 } else { 55 });
    let c = (period * share / 100).max(1);
    let deadline = period * dice.pick(&[60, 80, 90, 100, 100, 100, 130]) / 100;
    let release = match dice.below(12) {
        0 if best_effort => Release::Continuous { offset },
        1 if best_effort => Release::Continuous { offset },
        2 => Release::Once { offset },
        _ => Release::Periodic { offset, period: Duration::new(period) },
    };
    // Some jobs have nothing to do; of a continuous task there would be one each nanosecond.
    let idle = dice.once_in(40) && !matches!(release, Release::Continuous { .. });
    let mut steps = if idle { Vec::new() } else { work(dice, c, period, spice) };
    if matches!(release, Release::Continuous { .. }) && dice.once_in(2) {
        // The most interrupts: sleep, and compute for a moment.
        let nap = Step::Sleep(Span {
            least: Duration::new(dice.between(1, 9) * UNIT / 4),
            most: Duration::new(3 * UNIT),
        });
        steps = vec![nap, compute(dice.between(1, 2000))];
    }
    let wcet = match dice.below(4) {
        0 => Some(Duration::new(c)),
        1 => Some(Duration::new((c * dice.between(50, 150) / 100).max(1))),
        _ => None,
    };
    Task {
        name: format!("t{index}"),
        class,
        release,
        deadline: (!best_effort || dice.once_in(3)).then_some(Duration::new(deadline.max(1))),
        // LLF and SJF order by it.
        wcet: wcet.or(Some(Duration::new(c)).filter(|_| dice.once_in(2))),
        misses: None,
        migrate: None,
        priority: Some(dice.below(6) as u32),
        core: Some(CoreId(if spice.crowded { 0 } else { dice.below(CORES.into()) as u16 })),
        work: Work { steps },
    }
}

fn compute(length: u64) -> Step {
    Step::Compute(Span::exactly(Duration::new(length)))
}

/// Computation of `c` in all, in pieces between which it locks and sleeps.
fn work(dice: &mut Dice, c: u64, period: u64, spice: &Spice) -> Vec<Step> {
    let pieces = dice.between(1, 5);
    let mut left = c;
    let mut steps = Vec::new();
    let mut held: Vec<LockId> = Vec::new();
    for piece in 0..pieces {
        let length = if piece + 1 == pieces { left } else { dice.below(left + 1) };
        left -= length;
        let least = if dice.once_in(4) { dice.below(length + 1) } else { length };
        steps.push(Step::Compute(Span { least: Duration::new(least), most: Duration::new(length) }));
        if spice.sleeps && dice.once_in(4) && (held.is_empty() || dice.once_in(10)) {
            let most = dice.below(period / 4 + 1);
            let least = if dice.once_in(2) { most } else { dice.below(most + 1) };
            steps.push(Step::Sleep(Span { least: Duration::new(least), most: Duration::new(most) }));
        }
        if spice.locks && dice.once_in(2) {
            let lock = LockId(dice.below(if spice.semaphores { LOCKS } else { LOCKS - 1 }.into()) as u16);
            if !held.contains(&lock) {
                steps.push(Step::Acquire(lock));
                held.push(lock);
            }
        } else if !held.is_empty() {
            // In the order of nesting, mostly.
            let at = if dice.once_in(3) { 0 } else { held.len() - 1 };
            steps.push(Step::Release(held.remove(at)));
        }
    }
    if !(spice.all_protocols && dice.once_in(10)) {
        steps.extend(held.into_iter().rev().map(Step::Release));
    }
    if dice.once_in(8) {
        let times = dice.between(1, 4) as u32;
        shorten(&mut steps, times);
        return vec![Step::Repeat { times, steps }];
    }
    steps
}

/// A part of each computation, so that as many rounds take as long as one did.
fn shorten(steps: &mut [Step], rounds: u32) {
    for step in steps {
        if let Step::Compute(span) | Step::Sleep(span) = step {
            let part = |length: Duration| Duration::new(length.get() / u64::from(rounds));
            *span = Span { least: part(span.least), most: part(span.most) };
        }
    }
}

/// The same on cores of up to three kinds, of which any may be the reference.
pub(crate) fn kinds(seed: u64) -> Experiment {
    let mut experiment = experiment(seed);
    let dice = &mut Dice::new(seed ^ 0x6B69_6E64);
    let platform = &mut experiment.platform;
    let first = platform.kinds[0].clone();
    platform.kinds = (0..dice.between(1, 3))
        .map(|_| CoreKind {
            clock: Frequency::new(dice.between(300, 1_700) * 1_000_000),
            instructions_per_kilocycle: dice.between(700, 1_500) as u32,
            ..first.clone()
        })
        .collect();
    let kinds = platform.kinds.len() as u64;
    platform.reference = dice.below(kinds) as u8;
    for core in &mut platform.cores {
        core.kind = dice.below(kinds) as u8;
    }
    experiment
}

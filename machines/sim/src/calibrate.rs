//! Calibrating counters: programs that cause a known number of events, run with a counter on them.
//!
//! | walk | program | causes |
//! |---|---|---|
//! | computation | 1 ms without memory | cycles of the core's clock, instructions by its rate |
//! | resident | passes over half of a first-level cache | a miss a line in the first pass, none later |
//! | chase | each line of four last levels once, in random order | a miss a line in every level, a read of DRAM a line |
//! | sweep | the same lines in order | the same, unless a prefetcher comes first: then what memory moves is not what is counted |
//! | written | each line of eight last levels modified once | a line written back for each that the last level does not keep |
//!
//! The counter is read as a regulator reads it: through the counting unit, with its width, once a period.

use crate::engine::{Observer, run_own};
use crate::outcome::SimError;
use solo_hal::Faults;
use solo_model::experiment::{End, Experiment};
use solo_model::isolation::{
    Budget, CoreBudget, Counted, Donation, Isolation, Regulation, TaskBudget, WrongDonation,
};
use solo_model::platform::{Cache, Contents};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Pattern, Span, Step, Touch, Work};
use solo_model::{
    Bandwidth, BufferId, Bytes, CoreId, Duration, EventId, Events, PerMille, Platform, Record, TaskId,
};
use std::ops::ControlFlow;

/// A program whose events are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Walk {
    /// Computation without memory.
    Computation,
    /// Passes over memory that a first-level cache holds.
    Resident,
    /// Lines that no cache holds, in random order.
    Chase,
    /// Lines that no cache holds, in order.
    Sweep,
    /// Lines that no cache holds, each modified.
    Written,
}

impl Walk {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Resident => "within the first level",
            Self::Chase => "chase past all caches",
            Self::Sweep => "sweep past all caches",
            Self::Written => "lines modified past all caches",
        }
    }
}

/// What a counter said of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Calibration {
    /// The event that the counter was asked for.
    pub event: EventId,
    /// The program.
    pub walk: Walk,
    /// How many events it causes.
    pub expected: Events,
    /// How many were counted.
    pub counted: Events,
}

/// Runs every walk with a counter of every event that it says something about; frames are drawn by `seed`.
///
/// # Errors
/// If the platform contradicts itself, or has no counters that interrupt.
pub fn calibrate(platform: &Platform, seed: u64, faults: Faults) -> Result<Vec<Calibration>, SimError> {
    let size = Sizes::of(platform);
    let walks: [(Walk, &[EventId]); 5] = [
        (Walk::Computation, &[EventId::CYCLES, EventId::INSTRUCTIONS]),
        (Walk::Resident, &[EventId::L1_MISSES]),
        (Walk::Chase, &[EventId::L1_MISSES, EventId::LLC_MISSES, EventId::DRAM_READS]),
        (Walk::Sweep, &[EventId::LLC_MISSES, EventId::DRAM_READS]),
        (Walk::Written, &[EventId::DRAM_WRITES]),
    ];
    let mut found = Vec::new();
    for (walk, events) in walks {
        for &event in events {
            let experiment = size.experiment(platform, walk, event, seed);
            let mut counted = Counter::default();
            run_own(&experiment, &[], &mut counted, faults)?;
            found.push(Calibration {
                event,
                walk,
                expected: size.expected(platform, walk, event),
                counted: Events::new(counted.sum),
            });
        }
    }
    Ok(found)
}

/// How far the walks go on a platform.
struct Sizes {
    line: Bytes,
    /// What the last level holds, in lines.
    last: u64,
    /// Half of its first level, in lines.
    resident: u64,
    chase: u64,
    written: u64,
}

/// Passes over memory that stays in the first level.
const PASSES: u64 = 16;

impl Sizes {
    fn of(platform: &Platform) -> Self {
        let own =
            |cache: &&Cache| cache.contents != Contents::Instructions && cache.cores.contains(CoreId(0));
        let caches = || platform.caches.iter().filter(own);
        let line = platform.line();
        let lines = |size: Bytes| size.get() / line.get().max(1);
        let last = platform.last_level_of(CoreId(0)).map_or(4096, |(_, cache)| lines(cache.size));
        let first = caches().min_by_key(|cache| cache.level).map_or(0, |cache| lines(cache.size));
        // Half of memory at most.
        let room = lines(platform.dram.size) / 2;
        Self {
            line,
            last,
            resident: (first / 2).max(1),
            chase: (last * 4).min(room).max(1),
            written: (last * 8).min(room).max(1),
        }
    }

    fn lines(&self, walk: Walk) -> u64 {
        match walk {
            Walk::Computation => 1,
            Walk::Resident => self.resident,
            Walk::Chase | Walk::Sweep => self.chase,
            Walk::Written => self.written,
        }
    }

    /// What the walk causes, in whole events.
    fn expected(&self, platform: &Platform, walk: Walk, event: EventId) -> Events {
        let kind = platform.kind(CoreId(0));
        let cycles = kind.clock.get() / 1000;
        let count = match (walk, event) {
            (Walk::Computation, EventId::INSTRUCTIONS) => {
                cycles * u64::from(kind.instructions_per_kilocycle) / 1000
            }
            (Walk::Computation, _) => cycles,
            // What the last level holds at the end has not been written back.
            (Walk::Written, _) => self.written.saturating_sub(self.last),
            _ => self.lines(walk),
        };
        Events::new(count)
    }

    fn experiment(&self, platform: &Platform, walk: Walk, event: EventId, seed: u64) -> Experiment {
        let lines = self.lines(walk);
        let touch = |pattern, passes, writes| {
            Step::Touch(Touch {
                pattern,
                buffer: BufferId(0),
                accesses: lines * passes,
                stride: self.line,
                writes: PerMille::new(writes).unwrap_or_default(),
                think: Duration::ZERO,
            })
        };
        let step = match walk {
            Walk::Computation => Step::Compute(Span::exactly(Duration::from_millis(1))),
            Walk::Resident => touch(Pattern::Sweep, PASSES, 0),
            Walk::Chase => touch(Pattern::Chase, 1, 0),
            Walk::Sweep => touch(Pattern::Sweep, 1, 0),
            Walk::Written => touch(Pattern::Sweep, 1, 1000),
        };
        let task = Task {
            core: Some(CoreId(0)),
            work: Work { steps: vec![step] },
            ..Task::new("walk", TaskClass::BestEffort, Release::Once { offset: Duration::ZERO })
        };
        let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
        let end = End::At(Duration::from_millis(100_000));
        Experiment {
            buffers: vec![Buffer { name: "walked".into(), size: self.line * lines }],
            isolation: Isolation { bandwidth: Some(watched(event)), ..Isolation::default() },
            seed,
            ..Experiment::new("calibration", platform.clone(), policy, vec![task], end)
        }
    }
}

/// A budget of `event` on core 0 that nothing exhausts.
fn watched(event: EventId) -> Regulation {
    let budget = Budget::Events(Events::new(1 << 40));
    Regulation {
        tasks: vec![TaskBudget { task: TaskId(0), budget: None, donates: Donation::Nothing }],
        wrong_donation: WrongDonation::Throttle,
        best_effort: true,
        ..Regulation::new(
            Duration::from_millis(1),
            Counted::One(event),
            vec![CoreBudget { core: CoreId(0), budget, writes: None }],
            Bandwidth::ZERO,
        )
    }
}

/// Adds up what a core's periods used, to the end of the one in which the walk ended.
#[derive(Default)]
struct Counter {
    sum: u64,
    done: bool,
}

impl Observer for Counter {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Job(_) => self.done = true,
            Record::Regulation(period) if period.core == CoreId(0) => {
                self.sum += period.used[0].get();
                if self.done {
                    return ControlFlow::Break(());
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

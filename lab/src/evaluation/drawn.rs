//! Tasks drawn by their utilization, whose jobs touch memory for as long as their execution time says.

use super::jobs::Jobs;
use super::{Machine, simulate, thousandths};
use crate::{Cancel, LabError};
use solo_model::experiment::Experiment;
use solo_model::isolation::{ColorOwner, Coloring, Isolation, KernelData};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{BufferId, Bytes, Color, CoreId, Duration, PerMille, TaskId};
use solo_workload::SplitMix64;
use std::ops::RangeInclusive;

/// A task as it was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Drawn {
    pub(super) period: Duration,
    pub(super) wcet: Duration,
    /// Of a core, in thousandths.
    pub(super) utilization: u64,
}

impl Drawn {
    /// One of the periods (ms), divided by `scale`, and a tenth to seven tenths of it (thesis 6.1, 7.3.1).
    pub(super) fn draw(random: &mut SplitMix64, periods: &[u64], scale: u64) -> Self {
        Self::draw_within(random, periods, 100..=700, scale)
    }

    /// One of the periods (ms), divided by `scale`, and a part of it within these thousandths.
    pub(super) fn draw_within(
        random: &mut SplitMix64,
        periods: &[u64],
        per_mille: RangeInclusive<u64>,
        scale: u64,
    ) -> Self {
        let at = random.below(periods.len() as u64) as usize;
        let period = Self::period(periods.get(at).copied().unwrap_or(1), scale);
        let parts = per_mille.end().saturating_sub(*per_mille.start()) + 1;
        let utilization = per_mille.start() + random.below(parts);
        let wcet = Duration::new(period.get() * utilization / 1000);
        Self { period, wcet, utilization }
    }

    /// A period of the thesis, in ms, divided by `scale`.
    pub(super) fn period(ms: u64, scale: u64) -> Duration {
        Duration::new(ms * 1_000_000 / scale.max(1))
    }

    /// A hard task that does this.
    pub(super) fn task(&self, at: usize, core: Option<CoreId>, steps: Vec<Step>) -> Task {
        Task {
            deadline: Some(self.period),
            core,
            work: Work { steps },
            ..Task::new(
                format!("T{at}"),
                TaskClass::Hard,
                Release::Periodic { offset: Duration::ZERO, period: self.period },
            )
        }
    }
}

/// What a task touches: the number of its array, and of its generator's line where that is written at each access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touched {
    pub(super) array: usize,
    pub(super) generator: Option<usize>,
}

/// Elements of four bytes at random, as in the thesis's Figs. 71 and 78.
pub(super) fn at_random(touched: Touched, accesses: u64, writes: PerMille) -> Vec<Step> {
    let touch = Touch {
        pattern: Pattern::Random,
        buffer: BufferId(touched.array as u32),
        accesses,
        stride: Bytes::new(4),
        writes,
        think: Duration::ZERO,
    };
    let Some(generator) = touched.generator else { return vec![Step::Touch(touch)] };
    let generator = Touch {
        pattern: Pattern::Sweep,
        buffer: BufferId(generator as u32),
        accesses: 1,
        writes: PerMille::ONE,
        ..touch.clone()
    };
    let steps = vec![Step::Touch(generator), Step::Touch(Touch { accesses: 1, ..touch })];
    vec![Step::Repeat { times: u32::try_from(accesses).unwrap_or(u32::MAX), steps }]
}

/// Picoseconds of a warm access and of a cold job's surplus, at worst, of tasks in colors of their own on all cores: the
/// thesis chose its repetitions so that no such task exceeded its execution time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pace {
    warm: u64,
    cold: u64,
}

impl Pace {
    /// Accesses of a job by which the pace is measured.
    const ACCESSES: u64 = 60_000;

    /// The pace of one task on each core, of which `experiment` makes three jobs each.
    pub(super) fn measure(
        machine: &Machine,
        experiment: impl FnOnce(&[Drawn], Self) -> Experiment,
    ) -> Result<Self, LabError> {
        let cores = machine.platform.cores.len();
        let wcet = Duration::new(Self::ACCESSES);
        let tasks = vec![Drawn { period: Duration::from_millis(20), wcet, utilization: 0 }; cores];
        // A nanosecond an access and nothing for cold starts: so many accesses.
        let jobs = simulate(&experiment(&tasks, Self { warm: 950, cold: 0 }), &Cancel::new())?;
        let (first, later) = jobs.finished.split_at(cores.min(jobs.finished.len()));
        let (cold, warm) = (Jobs::longest(first).get(), Jobs::longest(later).get());
        Ok(Self { warm: warm * 1000 / Self::ACCESSES, cold: cold.saturating_sub(warm) * 1000 })
    }

    /// Accesses that fill `wcet` with a reserve of a twentieth, for a job that finds its memory cold so many times.
    pub(super) fn accesses(self, wcet: Duration, colds: u64) -> u64 {
        let budget = (wcet.get() * 1000).saturating_sub(colds * self.cold) * 95 / 100;
        (budget / self.warm.max(1)).max(1)
    }
}

/// How much of its execution time a task's longest job is to fill where nobody disturbs it, in thousandths, and what is near enough.
const FILLED: u64 = 950;
const ENOUGH: RangeInclusive<u64> = 900..=1000;
/// At most so many sets of repetitions are tried.
const FITTINGS: usize = 4;

/// How often each task touches memory, so that none exceeds its execution time (thesis 6.1): from a first guess on until each
/// one's longest job in `run` has a reserve of about a twentieth.
pub(super) fn fitted(
    tasks: &[Drawn],
    first: Vec<u64>,
    mut run: impl FnMut(&[u64]) -> Result<Jobs, LabError>,
) -> Result<Vec<u64>, LabError> {
    let mut accesses = first;
    for _ in 0..FITTINGS {
        let jobs = run(&accesses)?;
        let filled = |(at, task): (usize, &Drawn)| {
            let own = jobs.finished.iter().filter(|job| job.task.index() == at);
            let longest = own.map(|job| job.executed.get()).max().unwrap_or(0);
            thousandths(longest, task.wcet.get()).max(1)
        };
        let filled: Vec<u64> = tasks.iter().enumerate().map(filled).collect();
        if filled.iter().all(|filled| ENOUGH.contains(filled)) {
            break;
        }
        for (accesses, filled) in accesses.iter_mut().zip(filled) {
            *accesses = (accesses.saturating_mul(FILLED) / filled).max(1);
        }
    }
    Ok(accesses)
}

/// A buffer of each size, by number.
pub(super) fn buffers(sizes: impl IntoIterator<Item = Bytes>) -> Vec<Buffer> {
    let numbered = sizes.into_iter().enumerate();
    numbered.map(|(at, size)| Buffer { name: format!("b{at}"), size }).collect()
}

/// A color for each task, of so many, and perhaps one for the kernel, whose accesses are simulated.
pub(super) fn coloring(
    groups: u16,
    kernel: Option<Color>,
    colors: impl IntoIterator<Item = u16>,
) -> Isolation {
    let owner =
        |(at, color)| ColorOwner { task: TaskId(at as u32), colors: vec![Color(color)], banks: Vec::new() };
    let owners = colors.into_iter().enumerate().map(owner).collect();
    let memory = Coloring {
        groups,
        kernel,
        owners,
        shared: true,
        kernel_data: Some(KernelData::default()),
        ..Coloring::default()
    };
    Isolation { memory: Some(memory), ..Isolation::default() }
}

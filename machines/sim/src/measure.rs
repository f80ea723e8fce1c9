//! Measuring what memory guarantees: the programs that MemGuard and SCE run on a chip, run on a simulated one.
//!
//! | pattern | program | what follows |
//! |---|---|---|
//! | one access at a time | every access opens another row of the same bank and waits for the last one | BW_min = line / L (SCE 3.2), the distribution of L |
//! | all cores, one bank | the same from every core at once, and streams of such accesses | r_min, the guaranteed bandwidth (case study 2.1) |
//! | all cores, one bank, writes | the same with every line modified | r_min where lines are written back |
//! | all cores, streams | whole pages one after the other in all banks | peak |
//!
//! Kernel paths are free here: what is measured is memory.

use crate::engine::{Observer, run_own};
use crate::outcome::SimError;
use solo_hal::Faults;
use solo_isolate::banks::guaranteed_by;
use solo_isolate::{IsolationRefusal, MemoryMap};
use solo_model::experiment::{End, Experiment};
use solo_model::isolation::{ColorOwner, Coloring, Isolation};
use solo_model::platform::FramePolicy;
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{
    Bandwidth, Bank, BufferId, Bytes, CoreId, Counts, Duration, EventId, PerMille, Platform, Record, TaskId,
};
use std::ops::ControlFlow;

/// The latency of single row misses, in the order of a distribution's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Accesses that were timed.
    pub accesses: u64,
    /// The average.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The longest: an access that waited for a refresh.
    pub max: Duration,
}

/// What a pattern moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// The pattern.
    pub pattern: Load,
    /// Cores that took part.
    pub cores: usize,
    /// Lines read from DRAM.
    pub reads: u64,
    /// Lines written to DRAM.
    pub writes: u64,
    /// Of both, how many had to close another row first.
    pub row_conflicts: u64,
    /// For how long was counted.
    pub span: Duration,
    /// The rate of both.
    pub rate: Bandwidth,
}

/// A load on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// Pointer chases through pages of one bank.
    Chase,
    /// Streams through pages of one bank.
    RowMisses,
    /// The same, each line modified and written back.
    RowMissesWritten,
    /// Streams through whole pages of all banks.
    Stream,
}

impl Load {
    /// All loads.
    pub const ALL: [Self; 4] = [Self::Chase, Self::RowMisses, Self::RowMissesWritten, Self::Stream];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chase => "chases in one bank",
            Self::RowMisses => "row misses in one bank",
            Self::RowMissesWritten => "the same, written back",
            Self::Stream => "streams in all banks",
        }
    }
}

/// What memory does at its worst and at its best.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryBandwidth {
    /// The size of a line.
    pub line: Bytes,
    /// How long one row miss takes, seen from a core that waits for it.
    pub latency: Latency,
    /// The bandwidth of one core that waits for each row miss: line / mean latency (SCE 3.2).
    pub one_core: Bandwidth,
    /// The least bandwidth that one access at a time is sure of: line / longest latency.
    pub least: Bandwidth,
    /// What all cores together moved under each load.
    pub moved: Vec<Moved>,
}

impl MemoryBandwidth {
    fn rate(&self, wanted: impl Fn(Load) -> bool) -> Bandwidth {
        let rates = self.moved.iter().filter(|moved| wanted(moved.pattern)).map(|moved| moved.rate);
        rates.min().unwrap_or(Bandwidth::ZERO)
    }
    /// The guaranteed bandwidth r_min: what saturated memory moves when every read opens a row of one bank.
    pub fn guaranteed(&self) -> Bandwidth {
        self.rate(|load| matches!(load, Load::Chase | Load::RowMisses))
    }
    /// The same where every line is written back as well.
    pub fn guaranteed_with_writes(&self) -> Bandwidth {
        self.rate(|load| load != Load::Stream)
    }
    /// What streams of all cores move.
    pub fn peak(&self) -> Bandwidth {
        self.rate(|load| load == Load::Stream)
    }
}

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Single accesses to time.
    pub accesses: u64,
    /// For how long each load is counted.
    pub span: Duration,
}

impl Default for Effort {
    /// 20,000 accesses and 2 ms: more than 250 refreshes each.
    fn default() -> Self {
        Self { accesses: 20_000, span: Duration::from_millis(2) }
    }
}

/// The memory that a program walks through: so many pages make every access miss every cache.
const PAGES: u64 = 16_384;
/// Before anything is counted: caches and queues fill.
const WARM_UP: Duration = Duration::from_micros(500);

/// Measures what memory does on `platform`; frames are drawn by `seed`.
///
/// # Errors
/// If the platform contradicts itself, or its page size leaves no single bank to choose.
pub fn bandwidth(platform: &Platform, effort: Effort, seed: u64) -> Result<MemoryBandwidth, SimError> {
    let line = platform.line();
    let latency = latency(platform, effort.accesses.max(100), seed)?;
    let mut all = Vec::with_capacity(Load::ALL.len());
    for load in Load::ALL {
        all.push(moved(platform, load, effort.span, line, seed)?);
    }
    Ok(MemoryBandwidth {
        line,
        latency,
        one_core: guaranteed_by(latency.mean, line),
        least: guaranteed_by(latency.max, line),
        moved: all,
    })
}

/// Times single row misses: jobs of one access each, each in another page.
fn latency(platform: &Platform, accesses: u64, seed: u64) -> Result<Latency, SimError> {
    let warm = PAGES;
    let step = touch(Pattern::Ring, platform, 0, 1, PerMille::default());
    let task = continuous(0, step);
    let longest = Duration::from_millis(1);
    let end = End::At(Duration::new(longest.get().saturating_mul(accesses + warm)));
    let experiment = experiment(platform, vec![task], end, true, seed)?;
    let mut times = Responses { skip: warm, wanted: accesses as usize, found: Vec::new() };
    run_own(&experiment, &[], &mut times, Faults::default())?;
    let mut found = times.found;
    found.sort_unstable();
    let at = |per_mille: usize| found.get((found.len().saturating_sub(1)) * per_mille / 1000).copied();
    let sum: u64 = found.iter().map(|time| time.get()).sum();
    Ok(Latency {
        accesses: found.len() as u64,
        mean: Duration::new(sum.checked_div(found.len() as u64).unwrap_or(0)),
        p50: at(500).unwrap_or_default(),
        p99: at(990).unwrap_or_default(),
        max: at(1000).unwrap_or_default(),
    })
}

/// Counts what all cores together move under a load.
fn moved(platform: &Platform, load: Load, span: Duration, line: Bytes, seed: u64) -> Result<Moved, SimError> {
    let writes = if load == Load::RowMissesWritten { 1000 } else { 0 };
    let writes = PerMille::new(writes).unwrap_or_default();
    let pattern = if load == Load::Chase { Pattern::Chase } else { Pattern::Stream };
    let one_bank = load != Load::Stream;
    let cores = platform.cores.len();
    let task = |core: usize| {
        let mut step = touch(pattern, platform, core as u32, PAGES, writes);
        if let (Step::Touch(touch), false) = (&mut step, one_bank) {
            touch.accesses = PAGES * (platform.page.get() / line.get());
            touch.stride = line;
        }
        continuous(core, step)
    };
    let end = End::At(WARM_UP + span + Duration::new(1));
    let tasks = (0..cores).map(task).collect();
    let mut experiment = experiment(platform, tasks, end, one_bank, seed)?;
    experiment.sample_every = WARM_UP;
    let mut counted = Counted::default();
    run_own(&experiment, &[], &mut counted, Faults::default())?;
    let lines = counted.of(EventId::DRAM_READS) + counted.of(EventId::DRAM_WRITES);
    Ok(Moved {
        pattern: load,
        cores,
        reads: counted.of(EventId::DRAM_READS),
        writes: counted.of(EventId::DRAM_WRITES),
        row_conflicts: counted.of(EventId::DRAM_ROW_CONFLICTS),
        span: counted.span,
        rate: Bandwidth::average(line * lines, counted.span),
    })
}

/// A pass over a buffer, a page from one access to the next.
fn touch(pattern: Pattern, platform: &Platform, buffer: u32, accesses: u64, writes: PerMille) -> Step {
    Step::Touch(Touch {
        pattern,
        buffer: BufferId(buffer),
        accesses,
        stride: platform.page,
        writes,
        think: Duration::ZERO,
    })
}

fn continuous(core: usize, step: Step) -> Task {
    Task {
        core: Some(CoreId(core as u16)),
        work: Work { steps: vec![step] },
        ..Task::new(
            format!("core {core}"),
            TaskClass::BestEffort,
            Release::Continuous { offset: Duration::ZERO },
        )
    }
}

/// One task on each core, each with memory of its own; all of it in one bank if `one_bank`.
fn experiment(
    platform: &Platform,
    tasks: Vec<Task>,
    end: End,
    one_bank: bool,
    seed: u64,
) -> Result<Experiment, SimError> {
    // Neighbouring pages must not share a row.
    let mut platform = Platform { frames: FramePolicy::Random, ..platform.clone() };
    if platform.caches.is_empty() {
        platform.pmu.overflow = false;
    }
    let map = MemoryMap::of(&platform).map_err(|error| SimError::Isolation(IsolationRefusal::Map(error)))?;
    let banks = u64::from(if one_bank { map.banks().count().max(1) } else { 1 });
    let room = platform.dram.size.get() / platform.page.get().max(1) / banks;
    let pages = PAGES.min(room / 2 / tasks.len().max(1) as u64).max(1);
    let owner = |at: usize| ColorOwner { task: TaskId(at as u32), colors: Vec::new(), banks: vec![Bank(0)] };
    let owners = if one_bank { (0..tasks.len()).map(owner).collect() } else { Vec::new() };
    let memory = one_bank.then(|| Coloring { owners, shared: true, ..Coloring::default() });
    let buffer = |at| Buffer { name: format!("memory of core {at}"), size: platform.page * pages };
    let buffers = (0..tasks.len()).map(buffer).collect();
    let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
    Ok(Experiment {
        buffers,
        isolation: Isolation { memory, ..Isolation::default() },
        sample_every: Duration::from_millis(100),
        seed,
        ..Experiment::new("memory bandwidth", platform, policy, tasks, end)
    })
}

/// Collects response times after the first jobs.
struct Responses {
    skip: u64,
    wanted: usize,
    found: Vec<Duration>,
}

impl Observer for Responses {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        let Record::Job(job) = record else { return ControlFlow::Continue(()) };
        match self.skip.checked_sub(1) {
            Some(left) => self.skip = left,
            None => self.found.push(job.response()),
        }
        if self.found.len() < self.wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Adds up what is counted after the warm-up.
#[derive(Default)]
struct Counted {
    sum: Counts,
    span: Duration,
}

impl Counted {
    /// How many of `event`, which the simulated machine counts; none before the first sample.
    fn of(&self, event: EventId) -> u64 {
        self.sum.get(event).unwrap_or(0)
    }
}

impl Observer for Counted {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Sample(sample) = record
            && sample.at.get() > WARM_UP.get()
        {
            self.sum.merge(&sample.counts);
            self.span += if sample.core() == Some(CoreId(0)) { sample.span } else { Duration::ZERO };
        }
        ControlFlow::Continue(())
    }
}

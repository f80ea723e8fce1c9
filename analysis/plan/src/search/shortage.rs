//! What lacks where there is no plan, as numbers: for those who compare searches and don't read sentences.

use super::lack::{IoLack, NoPlan};
use solo_ima::Impossible;
use solo_model::{CoreId, Duration};

/// What there is too little of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scarce {
    /// Time of all cores together.
    Processors,
    /// Colors of the last-level cache.
    Colors,
    /// DRAM banks, or memory in those of a core.
    Banks,
    /// Memory bandwidth.
    Bandwidth,
    /// A core for a task.
    Room,
    /// Time until a task's deadline.
    Time,
    /// Windows of partitions.
    Windows,
    /// Slots of devices.
    Io,
    /// A partition for a task.
    Partition,
    /// A core that two tasks could share: they use the same memory.
    CommonMemory,
    /// A core that all tasks which take a lock could share: there is no analysis otherwise.
    Lock,
    /// A declared execution time.
    ExecutionTime,
    /// What the scenario does not contradict.
    Refused,
    /// Something left to try.
    Rounds,
}

impl Scarce {
    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processors => "processors",
            Self::Colors => "colors",
            Self::Banks => "banks",
            Self::Bandwidth => "bandwidth",
            Self::Room => "room",
            Self::Time => "time",
            Self::Windows => "windows",
            Self::Io => "io",
            Self::Partition => "partition",
            Self::Lock => "lock",
            Self::CommonMemory => "common-memory",
            Self::ExecutionTime => "execution-time",
            Self::Refused => "refused",
            Self::Rounds => "rounds",
        }
    }
}

/// What the numbers of a shortage count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Millionths of a core's time, or of a device's.
    Millionths,
    /// Colors.
    Colors,
    /// Banks.
    Banks,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    /// The word in files: the ending that names of such numbers have.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Millionths => "ppm",
            Self::Colors => "colors",
            Self::Banks => "banks",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Nanoseconds => "ns",
        }
    }
}

/// How much is asked for, and how much there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gauge {
    /// What is asked for.
    pub needed: u64,
    /// What there is.
    pub there: u64,
    /// What both count.
    pub unit: Unit,
}

impl Gauge {
    const fn of(needed: u64, there: u64, unit: Unit) -> Option<Self> {
        Some(Self { needed, there, unit })
    }

    const fn times(needed: Duration, there: Duration) -> Option<Self> {
        Self::of(needed.get(), there.get(), Unit::Nanoseconds)
    }
}

/// What lacks, where and for whom; what is not about one task, core or partition names none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage<'a> {
    /// Of what.
    pub scarce: Scarce,
    /// How much, where it is counted.
    pub gauge: Option<Gauge>,
    /// The task's name.
    pub task: Option<&'a str>,
    /// The core.
    pub core: Option<CoreId>,
    /// The partition's name.
    pub partition: Option<&'a str>,
}

/// All of a core.
const WHOLE: u64 = 1_000_000;

impl NoPlan {
    /// What lacks.
    pub fn shortage(&self) -> Shortage<'_> {
        let (scarce, gauge) = self.measured();
        let (task, core, partition) = self.concerned();
        Shortage { scarce, gauge, task, core, partition }
    }

    fn measured(&self) -> (Scarce, Option<Gauge>) {
        match self {
            Self::Processors { asked, cores } => {
                (Scarce::Processors, Gauge::of(*asked, *cores as u64 * WHOLE, Unit::Millionths))
            }
            Self::Colors { needed, there } => {
                (Scarce::Colors, Gauge::of(*needed as u64, *there as u64, Unit::Colors))
            }
            Self::Banks { needed, there } => {
                (Scarce::Banks, Gauge::of(*needed as u64, *there as u64, Unit::Banks))
            }
            Self::BankMemory { needs, holds, .. } => {
                (Scarce::Banks, Gauge::of(needs.get(), holds.get(), Unit::Bytes))
            }
            Self::Bandwidth { needed, there } => {
                (Scarce::Bandwidth, Gauge::of(needed.get(), there.get(), Unit::BytesPerSecond))
            }
            // Nothing says how much time the tasks would ask for.
            Self::NoRoom { asked: 0, .. } => (Scarce::Room, None),
            Self::NoRoom { asked, .. } => (Scarce::Room, Gauge::of(*asked, WHOLE, Unit::Millionths)),
            Self::Late { needs, has, .. } => (Scarce::Time, Gauge::times(*needs, *has)),
            Self::Outlasts { needs, has, .. } => (Scarce::Io, Gauge::times(*needs, *has)),
            Self::Io(lack) => (Scarce::Io, lack.gauge()),
            Self::Windows { asked, .. } => (Scarce::Windows, Gauge::of(*asked, WHOLE, Unit::Millionths)),
            Self::Overload { cores, asked, .. } => {
                (Scarce::Room, Gauge::of(*asked, *cores as u64 * WHOLE, Unit::Millionths))
            }
            Self::Together(..) => (Scarce::CommonMemory, None),
            Self::Lock(_) => (Scarce::Lock, None),
            Self::NoTable { .. } | Self::NothingLeft { .. } => (Scarce::Windows, None),
            Self::Unpartitioned { .. } => (Scarce::Partition, None),
            Self::Unsized(_) => (Scarce::ExecutionTime, None),
            Self::Refused(_) => (Scarce::Refused, None),
            Self::Rounds => (Scarce::Rounds, None),
        }
    }

    /// The task, the core and the partition that it is about.
    fn concerned(&self) -> (Option<&str>, Option<CoreId>, Option<&str>) {
        match self {
            Self::NoRoom { task, .. } | Self::Unsized(task) => (Some(task), None, None),
            Self::Late { name, core, .. } => (Some(name), *core, None),
            Self::Outlasts { task, partition, .. } => (Some(task), None, Some(partition)),
            Self::Unpartitioned { task, core } => (Some(task), Some(*core), None),
            Self::BankMemory { core, .. } | Self::Windows { core, .. } | Self::Overload { core, .. } => {
                (None, Some(*core), None)
            }
            Self::NoTable { core, partition } | Self::NothingLeft { core, partition } => {
                (None, Some(*core), Some(partition))
            }
            Self::Io(lack) => lack.concerned(),
            Self::Processors { .. }
            | Self::Colors { .. }
            | Self::Banks { .. }
            | Self::Bandwidth { .. }
            | Self::Together(..)
            | Self::Lock(_)
            | Self::Refused(_)
            | Self::Rounds => (None, None, None),
        }
    }
}

impl IoLack {
    fn gauge(&self) -> Option<Gauge> {
        match self {
            Self::Never { why, .. } => match *why {
                Impossible::TooLong { takes, latency, .. } | Impossible::Waits { takes, latency, .. } => {
                    Gauge::times(takes, latency)
                }
                Impossible::Overload { utilization_ppm, .. } => {
                    Gauge::of(utilization_ppm, WHOLE, Unit::Millionths)
                }
                Impossible::Pair { together, modulus, .. } => Gauge::times(together, modulus),
                Impossible::Fixed { distance, least, .. } => Gauge::times(least, distance),
            },
            Self::Periods { input, output, .. } => Gauge::times(*input, *output),
            Self::TaskPeriod { period, devices, .. } => Gauge::times(*devices, *period),
            Self::TwoSides { .. }
            | Self::Released { .. }
            | Self::NoDeadline { .. }
            | Self::Written { .. }
            | Self::NoCore { .. }
            | Self::TooFine
            | Self::NoPlace { .. } => None,
        }
    }

    fn concerned(&self) -> (Option<&str>, Option<CoreId>, Option<&str>) {
        match self {
            Self::TaskPeriod { task, partition, .. } | Self::Released { task, partition } => {
                (Some(task), None, Some(partition))
            }
            Self::Written { partition, core } => (None, Some(*core), Some(partition)),
            Self::TwoSides { partition, .. }
            | Self::Periods { partition, .. }
            | Self::NoDeadline { partition }
            | Self::NoPlace { partition, .. } => (None, None, Some(partition)),
            Self::NoCore { .. } | Self::Never { .. } | Self::TooFine => (None, None, None),
        }
    }
}

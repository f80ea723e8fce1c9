//! Partitions in time: who may run on a core when, in windows of a cycle that repeats (ARINC 653; SCE 2.4, Fig. 16).
//!
//! ```text
//!   core0   |▒▒▒ nav ▒▒▒|  |▓▓ radio ▓▓|▒ nav ▒|      |▒▒▒ nav ▒▒▒|  |▓▓ ...
//!           0              windows             cycle  0
//! ```
//!
//! Each core has a cycle of its own length, or none, and then nothing is confined there. Between windows nobody runs who is in
//! a partition. A value of this module is whole: windows lie inside their cycle, do not overlap and belong to partitions that exist.

use crate::id::{CoreId, PartitionId, TaskId};
use crate::units::Duration;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Tasks that share windows.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
}

/// A time in which one partition runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TimeWindow {
    /// Whose.
    pub partition: PartitionId,
    /// When it begins, since the beginning of a cycle.
    pub begin: Duration,
    /// How long it is; above zero.
    pub length: Duration,
}

/// The windows of a core, over and over.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MajorCycle {
    /// The core.
    pub core: CoreId,
    /// After how long it repeats; above zero.
    pub length: Duration,
    /// Its windows.
    pub windows: Vec<TimeWindow>,
}

/// Why windows are none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowError {
    /// A cycle of no length.
    ZeroCycle {
        /// The core.
        core: CoreId,
    },
    /// A core has two cycles.
    TwoCycles {
        /// The core.
        core: CoreId,
    },
    /// A window of no length.
    ZeroWindow {
        /// The core.
        core: CoreId,
        /// When the window begins.
        begin: Duration,
    },
    /// A window that ends behind its cycle.
    BeyondCycle {
        /// The core.
        core: CoreId,
        /// When the window begins.
        begin: Duration,
        /// How long it is.
        length: Duration,
        /// The length of the cycle.
        cycle: Duration,
    },
    /// Two windows at one time.
    Overlap {
        /// The core.
        core: CoreId,
        /// When the earlier one begins.
        first: Duration,
        /// When it ends.
        until: Duration,
        /// When the later one begins, before that.
        second: Duration,
    },
    /// A window of a partition that there is not.
    NoSuchPartition {
        /// The core.
        core: CoreId,
        /// The partition.
        partition: PartitionId,
        /// How many there are.
        partitions: usize,
    },
    /// A partition has windows on two cores: its tasks are assigned to one.
    TwoCores {
        /// The partition.
        partition: PartitionId,
        /// One core.
        first: CoreId,
        /// The other.
        second: CoreId,
    },
    /// A task is in two partitions.
    TwoPartitions {
        /// The task.
        task: TaskId,
        /// One partition.
        first: PartitionId,
        /// The other.
        second: PartitionId,
    },
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ZeroCycle { core } => write!(f, "the cycle of {core} has no length"),
            Self::TwoCycles { core } => write!(f, "{core} has two cycles"),
            Self::ZeroWindow { core, begin } => write!(f, "the window of {core} at {begin} has no length"),
            Self::BeyondCycle { core, begin, length, cycle } => write!(
                f,
                "the window of {core} at {begin} is {length} long and so ends behind the cycle of {cycle}"
            ),
            Self::Overlap { core, first, until, second } => write!(
                f,
                "the window of {core} at {second} begins before the one at {first} ends, which is at {until}"
            ),
            Self::NoSuchPartition { core, partition, partitions } => {
                write!(f, "a window of {core} is of {partition}, and there are {partitions} partitions")
            }
            Self::TwoCores { partition, first, second } => {
                write!(f, "{partition} has windows on {first} and {second}, and its tasks run on one core")
            }
            Self::TwoPartitions { task, first, second } => {
                write!(f, "{task} is in {first} and in {second}")
            }
        }
    }
}

impl core::error::Error for WindowError {}

/// Partitions and their windows on all cores.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Unchecked", into = "Unchecked"))]
pub struct Partitions {
    partitions: Vec<Partition>,
    /// By core; windows by their begin.
    cycles: Vec<MajorCycle>,
}

/// Who runs at a time, and until when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The partition whose window it is; `None` between windows.
    pub partition: Option<PartitionId>,
    /// How long that stays so: above zero, and at most to the end of the cycle.
    pub left: Duration,
}

impl Partitions {
    /// Partitions with windows, in any order.
    ///
    /// # Errors
    /// The first thing that makes them none; cores in the order of their numbers, windows of each in the order of their begin.
    pub fn new(partitions: Vec<Partition>, mut cycles: Vec<MajorCycle>) -> Result<Self, WindowError> {
        let mut homes: BTreeMap<TaskId, PartitionId> = BTreeMap::new();
        for (at, partition) in partitions.iter().enumerate() {
            let second = PartitionId(u16::try_from(at).unwrap_or(u16::MAX));
            for &task in &partition.tasks {
                if let Some(first) = homes.insert(task, second) {
                    return Err(WindowError::TwoPartitions { task, first, second });
                }
            }
        }
        cycles.sort_by_key(|cycle| cycle.core);
        if let Some(pair) = cycles.windows(2).find(|pair| pair[0].core == pair[1].core) {
            return Err(WindowError::TwoCycles { core: pair[0].core });
        }
        let mut cores: BTreeMap<PartitionId, CoreId> = BTreeMap::new();
        for cycle in &mut cycles {
            cycle.windows.sort_by_key(|window| (window.begin, window.length));
            cycle.check(partitions.len())?;
            for window in &cycle.windows {
                let partition = window.partition;
                match cores.insert(partition, cycle.core) {
                    Some(first) if first != cycle.core => {
                        return Err(WindowError::TwoCores { partition, first, second: cycle.core });
                    }
                    _ => {}
                }
            }
        }
        Ok(Self { partitions, cycles })
    }

    /// The partitions; [`PartitionId`] is the position.
    pub fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// The cycles, by core; the windows of each by their begin.
    pub fn cycles(&self) -> &[MajorCycle] {
        &self.cycles
    }

    /// The partition of a task; `None` for one that is not confined.
    pub fn of(&self, task: TaskId) -> Option<PartitionId> {
        let at = self.partitions.iter().position(|partition| partition.tasks.contains(&task));
        at.map(|at| PartitionId(at as u16))
    }

    /// Gives tasks other numbers, and forgets those that get none.
    pub(crate) fn retain_tasks(&mut self, new: impl Fn(TaskId) -> Option<TaskId>) {
        for partition in &mut self.partitions {
            partition.tasks = partition.tasks.iter().filter_map(|&task| new(task)).collect();
        }
    }

    /// The core on which a partition has windows; `None` where it has none.
    pub fn core_of(&self, partition: PartitionId) -> Option<CoreId> {
        let has = |cycle: &&MajorCycle| cycle.windows.iter().any(|window| window.partition == partition);
        self.cycles.iter().find(has).map(|cycle| cycle.core)
    }

    /// The cycle of a core; `None` where nothing is confined.
    pub fn cycle(&self, core: CoreId) -> Option<&MajorCycle> {
        let at = self.cycles.binary_search_by_key(&core, |cycle| cycle.core).ok()?;
        self.cycles.get(at)
    }
}

impl MajorCycle {
    /// Checks windows that are in the order of their begin.
    fn check(&self, partitions: usize) -> Result<(), WindowError> {
        let (core, cycle) = (self.core, self.length);
        if cycle.is_zero() {
            return Err(WindowError::ZeroCycle { core });
        }
        let mut before: Option<(Duration, Duration)> = None;
        for &TimeWindow { partition, begin, length } in &self.windows {
            if length.is_zero() {
                return Err(WindowError::ZeroWindow { core, begin });
            }
            if partition.index() >= partitions {
                return Err(WindowError::NoSuchPartition { core, partition, partitions });
            }
            let end = begin.get().checked_add(length.get()).filter(|end| *end <= cycle.get());
            let Some(end) = end else {
                return Err(WindowError::BeyondCycle { core, begin, length, cycle });
            };
            if let Some((first, until)) = before.filter(|(_, until)| begin < *until) {
                return Err(WindowError::Overlap { core, first, until, second: begin });
            }
            before = Some((begin, Duration::new(end)));
        }
        Ok(())
    }

    /// Whose turn it is so long after the first cycle began.
    pub fn turn(&self, since: Duration) -> Turn {
        let now = Duration::new(since.get() % self.length.get().max(1));
        let behind = self.windows.partition_point(|window| window.begin <= now);
        let current = behind.checked_sub(1).and_then(|at| self.windows.get(at));
        if let Some(window) = current.filter(|window| now.get() - window.begin.get() < window.length.get()) {
            let left = window.length.get() - (now.get() - window.begin.get());
            return Turn { partition: Some(window.partition), left: Duration::new(left) };
        }
        let next = self.windows.get(behind).map_or(self.length, |window| window.begin);
        Turn { partition: None, left: Duration::new(next.get() - now.get()) }
    }
}

/// [`Partitions`] as they are stored: whoever reads them checks them.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Unchecked {
    partitions: Vec<Partition>,
    cycles: Vec<MajorCycle>,
}

impl TryFrom<Unchecked> for Partitions {
    type Error = WindowError;

    fn try_from(Unchecked { partitions, cycles }: Unchecked) -> Result<Self, WindowError> {
        Self::new(partitions, cycles)
    }
}

impl From<Partitions> for Unchecked {
    fn from(Partitions { partitions, cycles }: Partitions) -> Self {
        Self { partitions, cycles }
    }
}

//! What was counted in an interval, of whom, and why it was looked at: the same on every machine.

use crate::event::Counts;
use crate::id::{CoreId, TaskId};
use crate::units::{Duration, Instant};
use alloc::vec::Vec;

/// Whose counts a sample holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Subject {
    /// A thread of an operating system.
    Thread {
        /// Its process.
        process: u32,
        /// The thread itself.
        thread: u32,
    },
    /// A process with everything that came out of it.
    Tree {
        /// The process that was started or attached to.
        process: u32,
    },
    /// Everything that ran on a core.
    Core(CoreId),
    /// The whole machine: virtual counters, beside the sums over all other subjects of the same tick.
    Machine,
    /// A task of the experiment.
    Task(TaskId),
}

/// Why there is a sample (PMCTrack's event kinds).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Why {
    /// The sampling period was over.
    Tick,
    /// An event had been counted N times.
    Overflow,
    /// The thread ended.
    Exit,
    /// The observation ended.
    End,
    /// A region's end, marked by the program itself.
    Own,
    /// The thread went to another core.
    Migration,
    /// The core changed to another thread.
    Switch,
}

impl Why {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Tick, Self::Overflow, Self::Exit, Self::End, Self::Own, Self::Migration, Self::Switch];

    /// The word in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::Overflow => "ebs",
            Self::Exit => "exit",
            Self::End => "end",
            Self::Own => "self",
            Self::Migration => "migration",
            Self::Switch => "switch",
        }
    }
}

/// What was counted in an interval.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sample {
    /// The end of the interval.
    pub at: Instant,
    /// Its length.
    pub span: Duration,
    /// Whose counts these are.
    pub subject: Subject,
    /// Why there is a sample.
    pub why: Why,
    /// Which of the event sets that take turns was counted, from 0.
    pub set: u16,
    /// What was counted; events of other sets are absent.
    pub counts: Counts,
    /// The virtual counters of the monitoring modules, in the order of the observation; `None` for one without a value.
    pub virtuals: Vec<Option<i64>>,
}

impl Sample {
    /// The place among the virtual counters of a kernel's sample that has the bytes held of the last-level cache.
    pub const HELD: usize = 0;
    /// The one that has what the energy meters have gone on by, in femtojoules.
    pub const ENERGY: usize = 1;

    /// What a core counted, at the end of a sampling period, in the only set there is.
    pub const fn of_core(core: CoreId, at: Instant, span: Duration, counts: Counts) -> Self {
        Self { at, span, subject: Subject::Core(core), why: Why::Tick, set: 0, counts, virtuals: Vec::new() }
    }

    /// The core, where the counts are those of a core.
    pub const fn core(&self) -> Option<CoreId> {
        match self.subject {
            Subject::Core(core) => Some(core),
            _ => None,
        }
    }
}

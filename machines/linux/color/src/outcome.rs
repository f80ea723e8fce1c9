//! What became of a program, and where its pages were.

use std::collections::BTreeMap;

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By itself, with this status.
    Exited(u8),
    /// By a signal.
    Signalled(i32),
}

impl Ended {
    /// The status that a shell would pass on: 128 and the signal.
    pub fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(255),
        }
    }
}

/// The pages that a program had in memory when it ended.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Pages {
    /// In frames of the right kind.
    pub right: u64,
    /// In others, though they should not be.
    pub wrong: u64,
    /// Those that are never colored, by what they are: shared memory, the kernel's own, devices.
    pub not_colored: BTreeMap<String, u64>,
}

/// A program of those that ran: one from `exec` to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its process.
    pub process: u32,
    /// Its name, as the kernel has it: 15 bytes at most.
    pub name: String,
    /// Its pages at its end.
    pub pages: Pages,
    /// Pages that were placed while it ran, those included that it had given back by its end.
    pub placed: u64,
    /// Of these, pages that first came into a wrong frame.
    pub misplaced: u64,
}

/// What became of a program and of those that it started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// How the first one ended.
    pub ended: Ended,
    /// Every program, by the time of its end.
    pub programs: Vec<Program>,
    /// Pages for which no right frame could be found any more.
    pub without_frame: u64,
    /// Frames that were looked at for the pool, and how many of them were right.
    pub searched: (u64, u64),
}

impl Outcome {
    /// Whether every page that is to be colored was right at the end of its program.
    pub fn is_right(&self) -> bool {
        self.programs.iter().all(|program| program.pages.wrong == 0)
    }
}

//! What the image reports of where a run's memory lies, as its page tables have it.

use crate::geometry::Geometry;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use solo_model::{BufferId, Bytes, Color, TaskId};

/// Whose page colors the numbers of an experiment are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum ColorSource {
    /// The platform's of the experiment, its banks too.
    #[default]
    Platform,
    /// Those of the processor's last level as CPUID tells it ([`crate::geometry`]). Of banks it doesn't tell: there is one.
    Processor,
}

/// Who uses a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum MemoryUser {
    /// What jobs touch.
    Buffer(BufferId),
    /// The stack of a task's thread.
    Stack(TaskId),
    /// The heap of a group of owners: 0 for tasks without a wish, then in the order of the owners.
    Heap(u16),
    /// What the kernel has allocated for this run.
    Kernel,
    /// The page tables of all of these.
    Tables,
    /// The image itself, and the stacks of the cores.
    Image,
    /// The heap of a color, from which jobs take memory while they run.
    HeapOfColor(Color),
}

impl fmt::Display for MemoryUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer(buffer) => write!(f, "buffer {}", buffer.0),
            Self::Stack(task) => write!(f, "the stack of {task}"),
            Self::Heap(group) => write!(f, "the heap of group {group}"),
            Self::Kernel => write!(f, "the kernel's heap"),
            Self::HeapOfColor(color) => write!(f, "the heap of {color}"),
            Self::Tables => write!(f, "the page tables"),
            Self::Image => write!(f, "the image"),
        }
    }
}

/// The memory of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// The page colors that frames were told apart by, super colors where these were asked for.
    pub colors: u16,
    /// The banks.
    pub banks: u16,
    /// The last-level cache that the processor tells of.
    pub last_level: Option<Geometry>,
    /// What could be shared out.
    pub shared_out: Bytes,
    /// Pages that were taken from other colors or banks, because the fallback is to borrow.
    pub borrowed: u64,
    /// Requests to the kernel's heap between the first start of a core and the end of the run.
    pub allocations: u64,
}

/// The page frames behind a piece of memory, page after page, found by walking the page tables.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pages {
    /// Which piece.
    pub place: MemoryUser,
    /// The piece's page that the first frame holds; a large piece is told in several [`Pages`].
    pub first: u64,
    /// Numbers of frames: physical addresses divided by 4096.
    pub frames: Vec<u64>,
}

//! The simulated memory: caches, coherence and DRAM, answering one access at a time.
//!
//! [`Hierarchy`] is what a simulated machine asks; [`Dram`] stands alone too. Nothing here knows tasks or
//! schedulers: physical addresses go in, latencies and event counts come out.

mod ahead;
mod array;
mod bus;
pub mod coherence;
mod device;
pub mod dram;
mod error;
mod events;
#[doc(hidden)]
pub mod fixtures;
mod flush;
mod hierarchy;
mod index;
mod near;
mod owners;
mod pending;
mod prefetch;
mod set;
mod snoop;
mod tags;
mod topology;
mod walk;

pub(crate) use device::Transferred;
pub use dram::{Completion, Dram, DramCommands, DramCounts, Full, RequestId, RowOutcome};
pub use error::{DramError, HierarchyError, WayMaskError};
pub(crate) use flush::Flushed;
pub use hierarchy::{AccessKind, Answer, Hierarchy, Reached, Stalls};

use solo_model::CoreId;

/// Who asks memory for a line. The cores of the platform come first, each by its number; then its devices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Requester(pub u16);

impl Requester {
    /// Its place among all.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<CoreId> for Requester {
    fn from(core: CoreId) -> Self {
        Self(core.0)
    }
}

/// A physical address in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PhysicalAddress(pub u64);

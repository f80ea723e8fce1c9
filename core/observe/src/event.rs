//! A thing to count, and how a machine is told to count it.

use alloc::string::String;
use core::num::NonZeroU64;

/// What an operating system counts by itself, on every machine and exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Software {
    /// Nanoseconds of the CPU's clock.
    CpuClock,
    /// Nanoseconds that the thread ran.
    TaskClock,
    /// Page faults of both kinds.
    PageFaults,
    /// Changes from one thread to another.
    ContextSwitches,
    /// Moves of a thread to another CPU.
    CpuMigrations,
    /// Page faults that needed no input or output.
    MinorFaults,
    /// Page faults that waited for input or output.
    MajorFaults,
    /// Unaligned accesses that the kernel had to mend.
    AlignmentFaults,
    /// Instructions that the kernel had to emulate.
    EmulationFaults,
}

/// Hardware events that an operating system maps to the processor's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Generic {
    /// Core clock cycles while the core is not idle.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Accesses to the last-level cache, as the kernel maps them.
    CacheReferences,
    /// Misses of the last-level cache, as the kernel maps them.
    CacheMisses,
    /// Branches retired.
    Branches,
    /// Branches predicted wrongly.
    BranchMisses,
    /// Bus cycles.
    BusCycles,
    /// Cycles in which nothing was issued.
    StalledFrontend,
    /// Cycles in which nothing was retired.
    StalledBackend,
    /// Cycles of a clock that does not change with the core's frequency.
    ReferenceCycles,
}

/// A cache or translation buffer of the kernel's generic cache events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cache {
    /// First-level data cache.
    L1Data,
    /// First-level instruction cache.
    L1Instruction,
    /// Last-level cache.
    LastLevel,
    /// Data translation buffer.
    DataTlb,
    /// Instruction translation buffer.
    InstructionTlb,
    /// Branch prediction unit.
    Branch,
    /// Local memory node.
    Node,
}

/// What a cache access led to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CacheResult {
    /// Counted whatever it led to.
    Access,
    /// Counted when it missed.
    Miss,
}

/// The encoding of an event.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Code {
    /// Counted by the operating system.
    Software(Software),
    /// Mapped by the operating system.
    Generic(Generic),
    /// A generic cache event for loads (`write` false) or stores.
    Cache {
        /// Which cache.
        cache: Cache,
        /// Stores instead of loads.
        write: bool,
        /// Accesses or misses.
        result: CacheResult,
    },
    /// The processor's own code, as its manual gives it.
    Raw {
        /// The core PMU's configuration word.
        config: u64,
        /// Further configuration words.
        config1: u64,
        /// Further configuration words.
        config2: u64,
    },
    /// An event of a PMU that describes itself: `pmu/terms/`.
    Pmu {
        /// The PMU's name.
        pmu: String,
        /// A name or `key=value` terms, separated by commas.
        terms: String,
    },
    /// A tracepoint of the kernel.
    Tracepoint {
        /// Its group.
        group: String,
        /// Its name.
        name: String,
    },
}

/// Which modes of the processor count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Filter {
    /// Count in user mode.
    pub user: bool,
    /// Count in kernel mode.
    pub kernel: bool,
}

impl Filter {
    /// Both modes.
    pub const ALL: Self = Self { user: true, kernel: true };
    /// User mode only: what an unprivileged observer may count.
    pub const USER: Self = Self { user: true, kernel: false };
}

/// An event of a set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedEvent {
    /// The name of its column.
    pub name: String,
    /// How it is counted.
    pub code: Code,
    /// Where it is counted; `None` for the default of the observation.
    pub filter: Option<Filter>,
    /// Event-based sampling: a row each time this many have been counted.
    pub every: Option<NonZeroU64>,
    /// The counter that PMCTrack's strings ask for; a machine may refuse or overrule it, and says so.
    pub counter: Option<u8>,
    /// The core type that it is meant for, where there are several (PMCTrack's `coretype=`).
    pub core_type: Option<u8>,
}

impl CountedEvent {
    /// An event with nothing special asked for.
    pub fn new(name: impl Into<String>, code: Code) -> Self {
        Self { name: name.into(), code, filter: None, every: None, counter: None, core_type: None }
    }
}

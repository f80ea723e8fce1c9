//! Identities. Each is an index into a table that an [`Experiment`](crate::Experiment) or a platform holds.

use core::fmt;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident, $repr:ty, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(transparent))]
        pub struct $name(pub $repr);

        impl $name {
            /// The position in the table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

index!(
    /// A logical processor of a platform: with SMT each sibling is a core of its own.
    CoreId, u16, "core"
);
index!(
    /// A task of an experiment, in the order of the scenario file.
    TaskId, u32, "task"
);
index!(
    /// A thread of the kernel. Thread `i` runs task `i`; idle threads come after all tasks, one a core.
    ThreadId, u32, "thread"
);
index!(
    /// An application of an experiment: one or more tasks, its threads.
    ApplicationId, u16, "application"
);
index!(
    /// A kind of core, in the order of the platform's list of kinds.
    KindId, u8, "kind"
);
index!(
    /// A semaphore or mutex of an experiment.
    LockId, u16, "lock"
);
index!(
    /// A buffer of an experiment: memory that one or more tasks touch.
    BufferId, u32, "buffer"
);
index!(
    /// A device of an experiment that moves data by itself.
    DeviceId, u16, "device"
);
index!(
    /// A page color of the last-level cache: pages of different colors share no set.
    Color, u16, "color"
);
index!(
    /// A DRAM bank of the whole machine: bank, rank and channel together.
    Bank, u16, "bank"
);
index!(
    /// A partition in time of an experiment.
    PartitionId, u16, "partition"
);
index!(
    /// The position of a job among the jobs of its task, from 0.
    JobIndex, u64, "job"
);

/// A set of at most 64 cores.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct CoreSet(u64);

impl CoreSet {
    /// No core.
    pub const EMPTY: Self = Self(0);
    /// The most cores a set, and so a machine, can have.
    pub const CAPACITY: usize = 64;

    /// Cores 0 to `count` - 1.
    ///
    /// # Panics
    /// Above [`CoreSet::CAPACITY`].
    pub const fn first(count: usize) -> Self {
        assert!(count <= Self::CAPACITY);
        if count == 64 { Self(u64::MAX) } else { Self((1 << count) - 1) }
    }
    /// The one core.
    pub const fn only(core: CoreId) -> Self {
        Self(1 << core.0)
    }
    /// The set with `core` added.
    #[must_use]
    pub const fn with(self, core: CoreId) -> Self {
        Self(self.0 | 1 << core.0)
    }
    /// The set with `core` taken out.
    #[must_use]
    pub const fn without(self, core: CoreId) -> Self {
        Self(self.0 & !(1 << core.0))
    }
    /// True where `core` belongs to the set.
    pub const fn contains(self, core: CoreId) -> bool {
        core.0 < 64 && self.0 >> core.0 & 1 == 1
    }
    /// The number of cores.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }
    /// True without any core.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The cores in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// The cores in either set.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The bit per core, core 0 lowest.
    pub const fn bits(self) -> u64 {
        self.0
    }
    /// The set of the cores whose bits are set, core 0 lowest.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
    /// The core of lowest index.
    pub const fn lowest(self) -> Option<CoreId> {
        if self.0 == 0 { None } else { Some(CoreId(self.0.trailing_zeros() as u16)) }
    }
    /// The cores from the lowest index up.
    pub fn iter(self) -> impl Iterator<Item = CoreId> + Clone {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let core = CoreId(rest.trailing_zeros() as u16);
            rest &= rest - 1;
            Some(core)
        })
    }
}

impl FromIterator<CoreId> for CoreSet {
    fn from_iter<I: IntoIterator<Item = CoreId>>(cores: I) -> Self {
        cores.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Debug for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|core| core.0)).finish()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_set_lists_its_cores_from_the_lowest() {
        let set: CoreSet = [CoreId(3), CoreId(0), CoreId(63)].into_iter().collect();
        assert_eq!(set.iter().map(|core| core.0).collect::<Vec<_>>(), [0, 3, 63]);
        assert_eq!(set.len(), 3);
        assert_eq!(CoreSet::first(64).len(), 64);
        assert!(!CoreSet::first(2).contains(CoreId(200)));
    }
}

//! Counters of events, from within a program (thesis 4.1, Fig. 45): what is left of the mediator in its caller.

use crate::system;
use core::marker::PhantomData;

/// An event that a counter counts.
pub trait Event {
    #[doc(hidden)]
    type Code: system::Code;
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(());

        impl Event for $name {
            type Code = system::codes::$name;
        }
    )+ };
}

events! {
    /// Instructions that were executed to their end.
    Instructions;
    /// Clock cycles of the core.
    Cycles;
    /// Lines that the last level of caches did not have.
    LastLevelMisses;
}

/// A counter of `E`. On bare metal it is the core's own: it counts whoever runs there, the kernel included, and each event has a
/// counter of its own. As a process of Linux it counts the thread that asks, and costs a system call.
#[derive(Debug)]
pub struct PerfMon<E: Event> {
    counter: system::Counter<E::Code>,
    event: PhantomData<E>,
}

impl<E: Event> PerfMon<E> {
    /// The counter of this core, where it has one that counts: processors of Intel and of Arm. QEMU's x86 has none, its Arm counts
    /// instructions and cycles.
    pub fn find() -> Option<Self> {
        system::Counter::find().map(|counter| Self { counter, event: PhantomData })
    }

    /// Lets it count from now on. On bare metal these are the instructions of the mediator, in place: no call.
    #[inline(always)]
    pub fn start(&mut self) {
        self.counter.start();
    }

    /// What it has counted, as in [`start`](Self::start). Differences of two readings count; where it began is nothing to rely on.
    #[inline(always)]
    pub fn read(&mut self) -> u64 {
        self.counter.read()
    }
}

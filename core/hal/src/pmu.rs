//! The performance monitoring unit: a few counters, any of many events, an interrupt on overflow.
//!
//! The interface follows the PMU mediator family of thesis 4.1.2: configure, read, write, start, stop. A
//! write sets the counter's *value*; it never touches the event it counts (a published mirror of EPOS
//! confuses the two registers).

use core::fmt;
use solo_model::{CoreId, Energy, EventId, PowerDomain};

/// One counter of a core: programmable counters first, then fixed ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CounterId(pub u8);

/// In which mode of its core a counter counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Modes {
    /// Whatever happens.
    #[default]
    All,
    /// Only what threads cause.
    User,
    /// Only what the kernel causes.
    Kernel,
}

/// What a performance monitoring unit refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PmuError {
    /// The core has fewer counters.
    NoSuchCounter {
        /// The counter that was asked for.
        counter: CounterId,
        /// How many there are.
        counters: u8,
    },
    /// The counter can't count that event.
    NotCountable {
        /// The counter.
        counter: CounterId,
        /// The event.
        event: EventId,
    },
    /// The counters don't interrupt on this machine.
    NoOverflow,
    /// The counters of this machine know no modes.
    NoModes,
}

impl fmt::Display for PmuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCounter { counter, counters } => {
                write!(f, "counter {} does not exist: the core has {counters}", counter.0)
            }
            Self::NotCountable { counter, event } => {
                write!(f, "counter {} cannot count {event}", counter.0)
            }
            Self::NoOverflow => write!(f, "counters of this machine raise no overflow interrupt"),
            Self::NoModes => write!(f, "counters of this machine don't tell the kernel from its threads"),
        }
    }
}

impl core::error::Error for PmuError {}

/// A performance monitoring unit of each core. A machine without one keeps the bodies that stand here: they
/// refuse everything.
pub trait Pmu {
    /// Lets `counter` count `event` from zero, without interrupt, and starts it.
    ///
    /// # Errors
    /// If there is no such counter or it can't count the event.
    fn configure(&mut self, _core: CoreId, counter: CounterId, _event: EventId) -> Result<(), PmuError> {
        Err(PmuError::NoSuchCounter { counter, counters: 0 })
    }

    /// The counter's value, modulo its width.
    ///
    /// # Errors
    /// If there is no such counter.
    fn read(&self, _core: CoreId, counter: CounterId) -> Result<u64, PmuError> {
        Err(PmuError::NoSuchCounter { counter, counters: 0 })
    }

    /// Sets the counter's value; the event and the running state stay.
    ///
    /// # Errors
    /// If there is no such counter.
    fn write(&mut self, _core: CoreId, counter: CounterId, _value: u64) -> Result<(), PmuError> {
        Err(PmuError::NoSuchCounter { counter, counters: 0 })
    }

    /// Asks for one interrupt when `events` more have been counted, instead of what was asked for before;
    /// `u64::MAX` for none.
    ///
    /// # Errors
    /// If there is no such counter or the machine has no overflow interrupt.
    fn interrupt_after(&mut self, _core: CoreId, _counter: CounterId, _events: u64) -> Result<(), PmuError> {
        Err(PmuError::NoOverflow)
    }

    /// Lets the counter count only in these modes, from now on; [`configure`](Self::configure) goes back to all.
    ///
    /// # Errors
    /// If there is no such counter or the machine can't tell modes apart.
    fn count_in(&mut self, _core: CoreId, _counter: CounterId, _modes: Modes) -> Result<(), PmuError> {
        Err(PmuError::NoModes)
    }

    /// Where `on`, an overflow that interrupts holds all counters of the core at their values, as they stood at that
    /// event, until [`resume`](Self::resume).
    ///
    /// # Errors
    /// If the machine has no overflow interrupt.
    fn freeze_on_overflow(&mut self, _core: CoreId, _on: bool) -> Result<(), PmuError> {
        Err(PmuError::NoOverflow)
    }

    /// Lets all counters of a core go on that an overflow has frozen.
    fn resume(&mut self, _core: CoreId) {}

    /// What the energy register of a domain stands at (PMCTrack 4.2.1): it only goes up, and begins anew when it is full. `None`
    /// without such a meter.
    fn energy(&self, _of: PowerDomain) -> Option<Energy> {
        None
    }

    /// Lets the counter run.
    ///
    /// # Errors
    /// If there is no such counter.
    fn start(&mut self, _core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        Err(PmuError::NoSuchCounter { counter, counters: 0 })
    }

    /// Holds the counter at its value.
    ///
    /// # Errors
    /// If there is no such counter.
    fn stop(&mut self, _core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        Err(PmuError::NoSuchCounter { counter, counters: 0 })
    }
}

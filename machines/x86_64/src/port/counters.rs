//! The counters of the cores: the processor's own, or a model of them that the host asked for.
//!
//! Emulators announce counters that do not count: QEMU's translator calls itself an AMD processor, which has four since
//! the K7 without saying so, and some hypervisors drop what is written to them. So a unit counts only after it has counted.

use crate::pmu::describe::{Description, Kind};
use crate::pmu::model::Model;
use crate::pmu::registers::{Processor, Registers};
use crate::pmu::{Microarchitecture, Unit, events};
use crate::port::arch::{X86, apic, registers};
use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::caps::Counting;
use solo_bare::rtos::{self, counts_a_loop};
use solo_hal::{CounterId, PmuError};
use solo_model::event::ProcessorCode;
use solo_model::{EventId, EventTable};

/// Registers are touched that may not be there.
static TRYING: AtomicBool = AtomicBool::new(false);
/// One was not there.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// The model: a unit of version 5, as Sapphire Rapids has it.
const MODEL: Description = Description {
    kind: Kind::Intel(5),
    general: 8,
    width: 48,
    fixed: 0b111,
    fixed_width: 48,
    absent: 0,
    full_writes: true,
    microarchitecture: Some(Microarchitecture::SapphireRapids),
};

/// Where counts come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The processor.
    Processor(Description),
    /// A model of a processor's registers, to which the image tells what happens.
    Model,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.description().kind)
    }
}

impl rtos::Source for Source {
    type Counters = Counters;

    fn find(modelled: bool) -> Option<Self> {
        if modelled {
            return Some(Self::Model);
        }
        TRYING.store(true, Ordering::Relaxed);
        REFUSED.store(false, Ordering::Relaxed);
        // SAFETY: the image is in ring 0; a register that is not there is noticed while `TRYING`.
        let processor = unsafe { Processor::own() };
        let found = Description::detect(registers::cpuid, &processor).filter(|&found| counts(found));
        TRYING.store(false, Ordering::Relaxed);
        found.filter(|_| !REFUSED.load(Ordering::Relaxed)).map(Self::Processor)
    }

    fn is_model(&self) -> bool {
        *self == Self::Model
    }

    fn able(&self, table: &EventTable) -> Counting {
        let description = self.description();
        let events = table.iter().map(|(event, _)| event);
        Counting {
            general: description.general,
            // Those from the first on without a gap: instructions, cycles. One alone would be taken for one of cycles.
            fixed: match description.fixed.trailing_ones() {
                0 | 1 => 0,
                several => several as u8,
            },
            width: description.width,
            countable: events.filter(|&event| self.counts(event, table)).collect(),
        }
    }

    fn begin(&self) -> Counters {
        apic::let_counters_interrupt();
        match *self {
            // SAFETY: the image is in ring 0, and these registers have been tried.
            Self::Processor(found) => Counters::Processor(Unit::new(unsafe { Processor::own() }, found)),
            Self::Model => Counters::Model(Unit::new(Model::new(MODEL), MODEL)),
        }
    }

    fn silence() {
        apic::silence_counters();
    }

    fn held_by_first() -> u64 {
        // SAFETY: as in `find`; a counter has interrupted, so there is one.
        unsafe { Processor::own() }.counter(0)
    }
}

impl Source {
    /// What there is.
    const fn description(&self) -> &Description {
        match self {
            Self::Processor(description) => description,
            Self::Model => &MODEL,
        }
    }

    /// True where a general counter can count `event` of `table`.
    fn counts(&self, event: EventId, table: &EventTable) -> bool {
        match self {
            Self::Processor(description) => match own(event, table) {
                Some(code) => events::select_own(description, code).is_some(),
                None => events::select(description, event).is_some(),
            },
            // It is told of nothing else.
            Self::Model => event == EventId::LLC_MISSES,
        }
    }
}

/// The code of an event that the platform's file defines.
fn own(event: EventId, table: &EventTable) -> Option<&ProcessorCode> {
    table.get(event)?.code.as_ref()
}

/// The bytes of `rdmsr`, `wrmsr` and `rdpmc`.
pub const ACCESS_BYTES: u64 = 2;

/// A general protection fault, or an opcode that an emulator does not know: true where it was the access to a register that may not be there, which is to be passed over.
pub fn pass_over() -> bool {
    let trying = TRYING.load(Ordering::Relaxed);
    if trying {
        REFUSED.store(true, Ordering::Relaxed);
    }
    trying
}

/// True where counter 0 of this core counts the instructions of a loop.
fn counts(found: Description) -> bool {
    // SAFETY: as in `find`.
    let unit = Unit::new(unsafe { Processor::own() }, found);
    counts_a_loop::<X86>(&mut Counters::Processor(unit))
}

/// The counters of one core.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each core, in memory that is had before the run")]
pub enum Counters {
    /// The processor's.
    Processor(Unit<Processor>),
    /// A model's.
    Model(Unit<Model>),
}

/// Does the same to either kind of unit.
macro_rules! either {
    ($counters:expr, $unit:ident => $does:expr) => {
        match $counters {
            Counters::Processor($unit) => $does,
            Counters::Model($unit) => $does,
        }
    };
}

impl rtos::Counters for Counters {
    fn configure(&mut self, counter: CounterId, event: EventId, table: &EventTable) -> Result<(), PmuError> {
        match own(event, table) {
            Some(code) => either!(self, unit => unit.configure_own(counter, event, code)),
            None => either!(self, unit => unit.configure(counter, event)),
        }
    }

    #[inline]
    fn read(&self, counter: CounterId) -> Result<u64, PmuError> {
        either!(self, unit => unit.read(counter))
    }

    fn write(&mut self, counter: CounterId, value: u64) -> Result<(), PmuError> {
        either!(self, unit => unit.write(counter, value))
    }

    fn interrupt_after(&mut self, counter: CounterId, events: u64) -> Result<(), PmuError> {
        either!(self, unit => unit.interrupt_after(counter, events))
    }

    fn run(&mut self, counter: CounterId, runs: bool) -> Result<(), PmuError> {
        either!(self, unit => unit.run(counter, runs))
    }

    fn overflowed(&mut self) -> u32 {
        let reached = either!(self, unit => unit.overflowed());
        // Intel's controllers mask the line with each interrupt.
        apic::let_counters_interrupt();
        reached
    }

    fn happened(&mut self, event: EventId) -> bool {
        let Self::Model(unit) = self else { return false };
        let Some(select) = events::select(&MODEL, event) else { return false };
        let before = unit.registers().interrupts();
        unit.registers().count(select, 1, true);
        unit.registers().interrupts() > before
    }
}

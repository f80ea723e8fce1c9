//! The counters of the cores: the processor's own, or a model of them that the host asked for.
//!
//! Emulators announce counters that do not count: QEMU's translator calls itself an AMD processor, which has four since
//! the K7 without saying so, and some hypervisors drop what is written to them. So a unit counts only after it has counted.

use crate::arch::{apic, registers};
use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use solo_hal::{CounterId, PmuError};
use solo_model::event::ProcessorCode;
use solo_model::{EventId, EventTable};
use solo_x86_64::pmu::describe::{Description, Kind};
use solo_x86_64::pmu::model::Model;
use solo_x86_64::pmu::registers::{Processor, Registers};
use solo_x86_64::pmu::{Microarchitecture, Unit, events};

/// The rounds of the loop by which a unit is tried, of two instructions each.
pub const ROUNDS: u64 = 1000;

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

impl Source {
    /// What can be had: the model where the host asked for it, else what the processor has, which is tried.
    pub fn find(modelled: bool) -> Option<Self> {
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

    /// What there is.
    pub const fn description(&self) -> &Description {
        match self {
            Self::Processor(description) => description,
            Self::Model => &MODEL,
        }
    }

    /// True where a general counter can count `event` of `table`.
    pub fn counts(&self, event: EventId, table: &EventTable) -> bool {
        match self {
            Self::Processor(description) => match own(event, table) {
                Some(code) => events::select_own(description, code).is_some(),
                None => events::select(description, event).is_some(),
            },
            // It is told of nothing else.
            Self::Model => event == EventId::LLC_MISSES,
        }
    }

    /// The counters of the core that asks, stopped, with their interrupts let in.
    pub fn begin(&self) -> Counters {
        apic::let_counters_interrupt();
        match *self {
            // SAFETY: the image is in ring 0, and these registers have been tried.
            Self::Processor(found) => Counters::Processor(Unit::new(unsafe { Processor::own() }, found)),
            Self::Model => Counters::Model(Unit::new(Model::new(MODEL), MODEL)),
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
    let mut unit = Unit::new(unsafe { Processor::own() }, found);
    let counter = CounterId(0);
    let configured = unit.configure(counter, EventId::INSTRUCTIONS);
    turn(ROUNDS);
    let counted = unit.read(counter).unwrap_or_default();
    let _ = unit.stop(counter);
    configured.is_ok() && (2 * ROUNDS..20 * ROUNDS).contains(&counted)
}

/// What counter 0 has counted since it passed its end, when its interrupt was served without a kernel.
static LATE: AtomicU64 = AtomicU64::new(0);

/// An interrupt of counters that no kernel serves: notes how late it is.
pub fn note_how_late() {
    // SAFETY: as in `find`; a counter has interrupted, so there is one.
    LATE.store(unsafe { Processor::own() }.counter(0), Ordering::Relaxed);
}

/// What the last interrupt that no kernel served was late by, in events of counter 0.
pub fn how_late() -> u64 {
    LATE.load(Ordering::Relaxed)
}

/// Executes a loop of two instructions so often.
#[inline(never)]
pub fn turn(rounds: u64) {
    // SAFETY: counts a register down.
    unsafe { asm!("2:", "dec {r}", "jnz 2b", r = inout(reg) rounds.max(1) => _, options(nomem, nostack)) };
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

impl Counters {
    /// See [`solo_hal::Pmu::configure`].
    pub fn configure(
        &mut self,
        counter: CounterId,
        event: EventId,
        table: &EventTable,
    ) -> Result<(), PmuError> {
        match own(event, table) {
            Some(code) => either!(self, unit => unit.configure_own(counter, event, code)),
            None => either!(self, unit => unit.configure(counter, event)),
        }
    }

    /// See [`solo_hal::Pmu::read`].
    #[inline]
    pub fn read(&self, counter: CounterId) -> Result<u64, PmuError> {
        either!(self, unit => unit.read(counter))
    }

    /// See [`solo_hal::Pmu::write`].
    pub fn write(&mut self, counter: CounterId, value: u64) -> Result<(), PmuError> {
        either!(self, unit => unit.write(counter, value))
    }

    /// See [`solo_hal::Pmu::interrupt_after`].
    pub fn interrupt_after(&mut self, counter: CounterId, events: u64) -> Result<(), PmuError> {
        either!(self, unit => unit.interrupt_after(counter, events))
    }

    /// See [`solo_hal::Pmu::start`].
    pub fn start(&mut self, counter: CounterId) -> Result<(), PmuError> {
        either!(self, unit => unit.start(counter))
    }

    /// See [`solo_hal::Pmu::stop`].
    pub fn stop(&mut self, counter: CounterId) -> Result<(), PmuError> {
        either!(self, unit => unit.stop(counter))
    }

    /// An interrupt of this core's counters: acknowledges it and lets the next one in. The first of those that have counted
    /// what they were asked to.
    pub fn overflowed(&mut self) -> Option<CounterId> {
        let reached = either!(self, unit => unit.overflowed());
        // Intel's controllers mask the line with each interrupt.
        apic::let_counters_interrupt();
        (reached != 0).then(|| CounterId(reached.trailing_zeros() as u8))
    }

    /// Tells a model that `event` has happened once on its core. True where that interrupts; the processor's counters notice
    /// themselves.
    pub fn happened(&mut self, event: EventId) -> bool {
        let Self::Model(unit) = self else { return false };
        let Some(select) = events::select(&MODEL, event) else { return false };
        let before = unit.registers().interrupts();
        unit.registers().count(select, 1, true);
        unit.registers().interrupts() > before
    }
}

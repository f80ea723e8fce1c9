//! The counters of the cores: the processor's own. Under an emulator they count little, instructions only under its instruction
//! clock; what jobs touch they count where the image tells them (software increments), at the host's wish.

use crate::arch::{Arm64, registers};
use crate::pmu::registers::{Processor, Registers};
use crate::pmu::{Description, SOFTWARE, Unit};
use crate::read_register;
use core::arch::asm;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_bare::caps::Counting;
use solo_bare::isa::Isa;
use solo_bare::rtos::{self, LOOP_ROUNDS};
use solo_hal::{CounterId, PmuError};
use solo_model::{EventId, EventTable};

/// What counter 0 had counted beyond its end when an interrupt was served without a kernel.
static LATE: AtomicU64 = AtomicU64::new(0);

/// Where counts come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    description: Description,
    /// Lines that jobs touch are counted as misses of the last level: the image tells of them.
    told: bool,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Description { general, paired, .. } = self.description;
        let pairs = if paired { ", in pairs" } else { "" };
        write!(f, "PMUv3, {general} of {} bits{pairs}", Description::WIDTH)
    }
}

/// The code of `event`; where jobs' lines are told of, that of software increments.
fn code(description: &Description, event: EventId, told: bool) -> Option<u16> {
    if told && event == EventId::LLC_MISSES { Some(SOFTWARE) } else { description.code(event) }
}

impl Source {
    /// How many counters there are, and the common events that they count, a bit each.
    pub fn counts(&self) -> (u8, u64) {
        (self.description.general, self.description.common)
    }
}

impl rtos::Source for Source {
    type Counters = Counters;

    fn find(modelled: bool) -> Option<Self> {
        // The version is in the features for debuggers; 15 is one that is not Arm's.
        let version = read_register!("id_aa64dfr0_el1") >> 8 & 0xf;
        if !(1..15).contains(&version) {
            return None;
        }
        let general = (read_register!("pmcr_el0") >> 11 & 0x1f) as u8;
        let common = read_register!("pmceid0_el0") & 0xffff_ffff | read_register!("pmceid1_el0") << 32;
        let mut description = Description { general, common, paired: false };
        if general > 1 && !notices(description) {
            description = Description { general: general / 2, paired: true, ..description };
        }
        let source = Self { description, told: modelled };
        (general > 0 && (modelled || counts(description))).then_some(source)
    }

    fn is_model(&self) -> bool {
        self.told
    }

    fn able(&self, table: &EventTable) -> Counting {
        let events = table.iter().map(|(event, _)| event);
        let countable = events.filter(|&event| code(&self.description, event, self.told).is_some()).collect();
        Counting { general: self.description.general, fixed: 0, width: Description::WIDTH, countable }
    }

    fn begin(&self) -> Counters {
        Counters { unit: unit(self.description), told: self.told }
    }
}

/// The counters of the core that asks, all of them stopped.
fn unit(description: Description) -> Unit<Processor> {
    // SAFETY: the image is at level 1, and the processor has counters.
    Unit::new(unsafe { Processor::own() }, description)
}

/// True where counter 0 of this core counts the instructions of a loop.
fn counts(description: Description) -> bool {
    let (mut unit, counter) = (unit(description), CounterId(0));
    let Some(instructions) = description.code(EventId::INSTRUCTIONS) else { return false };
    let configured = unit.configure(counter, instructions);
    turn(LOOP_ROUNDS);
    let counted = unit.read(counter).unwrap_or_default();
    let _ = unit.stop(counter);
    configured.is_ok() && (2 * LOOP_ROUNDS..20 * LOOP_ROUNDS).contains(&counted)
}

/// True where an overflow of counter 0 comes to light by itself. Where instructions are not counted, nothing overflows.
fn notices(description: Description) -> bool {
    let (mut unit, counter) = (unit(description), CounterId(0));
    let Some(instructions) = description.code(EventId::INSTRUCTIONS) else { return true };
    let interrupts = Arm64::interrupts_enabled();
    Arm64::disable_interrupts();
    let asked =
        unit.configure(counter, instructions).and_then(|()| unit.interrupt_after(counter, LOOP_ROUNDS));
    turn(LOOP_ROUNDS);
    let noticed = unit.has_noticed();
    let counted = unit.read(counter).unwrap_or_default();
    let _ = unit.stop(counter).and_then(|()| unit.interrupt_after(counter, u64::MAX));
    if interrupts {
        Arm64::enable_interrupts();
    }
    noticed || asked.is_err() || counted < LOOP_ROUNDS
}

/// Keeps the interrupts of this core's counters out, until it asks for the next one.
pub fn silence() {
    // Where there are no counters the registers are not there.
    if read_register!("id_aa64dfr0_el1") >> 8 & 0xf != 0 {
        // SAFETY: as in `unit`.
        unsafe { Processor::own() }.silence(u32::MAX);
        registers::synchronize();
    }
}

/// An interrupt of counters that no kernel serves: notes how late it is.
pub fn note_how_late() {
    // SAFETY: a counter has interrupted, so there is one.
    LATE.store(unsafe { Processor::own() }.value(0), Ordering::Relaxed);
}

/// What the last interrupt that no kernel served was late by, in events of counter 0.
pub fn how_late() -> u64 {
    LATE.load(Ordering::Relaxed)
}

/// Executes a loop of two instructions so often.
#[inline(never)]
pub fn turn(rounds: u64) {
    // SAFETY: counts a register down.
    unsafe {
        asm!("2:", "subs {r}, {r}, #1", "b.ne 2b", r = inout(reg) rounds.max(1) => _, options(nomem, nostack))
    };
}

/// The counters of one core.
#[derive(Debug)]
pub struct Counters {
    unit: Unit<Processor>,
    told: bool,
}

impl rtos::Counters for Counters {
    fn configure(&mut self, counter: CounterId, event: EventId, _: &EventTable) -> Result<(), PmuError> {
        let code = code(self.unit.description(), event, self.told);
        self.unit.configure(counter, code.ok_or(PmuError::NotCountable { counter, event })?)
    }

    #[inline]
    fn read(&self, counter: CounterId) -> Result<u64, PmuError> {
        self.unit.read(counter)
    }

    fn write(&mut self, counter: CounterId, value: u64) -> Result<(), PmuError> {
        self.unit.write(counter, value)
    }

    fn interrupt_after(&mut self, counter: CounterId, events: u64) -> Result<(), PmuError> {
        self.unit.interrupt_after(counter, events)
    }

    fn start(&mut self, counter: CounterId) -> Result<(), PmuError> {
        self.unit.run(counter, true)
    }

    fn stop(&mut self, counter: CounterId) -> Result<(), PmuError> {
        self.unit.stop(counter)
    }

    fn overflowed(&mut self) -> Option<CounterId> {
        let reached = self.unit.overflowed();
        (reached != 0).then(|| CounterId(reached.trailing_zeros() as u8))
    }

    /// The processor notices by itself.
    fn happened(&mut self, event: EventId) -> bool {
        if self.told && event == EventId::LLC_MISSES {
            self.unit.software_increment();
        }
        false
    }
}

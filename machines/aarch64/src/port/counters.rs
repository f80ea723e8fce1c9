//! The counters of the cores: the processor's own. Under an emulator they count little, instructions only under its instruction
//! clock; what jobs touch they count where the image tells them (software increments), at the host's wish.

use crate::pmu::registers::{Processor, Registers};
use crate::pmu::{Description, Unit};
use crate::port::arch::{Arm64, registers};
use crate::read_register;
use core::fmt;
use solo_bare::caps::Counting;
use solo_bare::isa::Isa;
use solo_bare::rtos::{self, Counters, LOOP_ROUNDS, counts_a_loop};
use solo_hal::CounterId;
use solo_model::{EventId, EventTable};

/// Where counts come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source(Description);

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Description { general, paired, .. } = self.0;
        let pairs = if paired { ", in pairs" } else { "" };
        write!(f, "PMUv3, {general} of {} bits{pairs}", Description::WIDTH)
    }
}

impl Source {
    /// How many counters there are, and the common events that they count, a bit each.
    pub fn counts(&self) -> (u8, u64) {
        (self.0.general, self.0.common)
    }
}

impl rtos::Source for Source {
    type Counters = Unit<Processor>;

    fn find(modelled: bool) -> Option<Self> {
        // The version is in the features for debuggers; 15 is one that is not Arm's.
        let version = read_register!("id_aa64dfr0_el1") >> 8 & 0xf;
        if !(1..15).contains(&version) {
            return None;
        }
        let general = (read_register!("pmcr_el0") >> 11 & 0x1f) as u8;
        let common = read_register!("pmceid0_el0") & 0xffff_ffff | read_register!("pmceid1_el0") << 32;
        let mut description = Description { general, common, paired: false, told: modelled };
        if general > 1 && !notices(description) {
            description = Description { general: general / 2, paired: true, ..description };
        }
        let counts = || modelled || counts_a_loop::<Arm64>(&mut unit(description));
        (general > 0 && counts()).then_some(Self(description))
    }

    fn is_model(&self) -> bool {
        self.0.told
    }

    fn able(&self, table: &EventTable) -> Counting {
        let events = table.iter().map(|(event, _)| event);
        let countable = events.filter(|&event| self.0.code(event).is_some()).collect();
        Counting { general: self.0.general, fixed: 0, width: Description::WIDTH, countable }
    }

    fn begin(&self) -> Unit<Processor> {
        unit(self.0)
    }

    fn silence() {
        // Where there are no counters the registers are not there.
        if read_register!("id_aa64dfr0_el1") >> 8 & 0xf != 0 {
            // SAFETY: as in `unit`.
            unsafe { Processor::own() }.silence(u32::MAX);
            registers::synchronize();
        }
    }

    fn held_by_first() -> u64 {
        // SAFETY: as in `unit`.
        unsafe { Processor::own() }.value(0)
    }
}

/// The counters of the core that asks, all of them stopped.
fn unit(description: Description) -> Unit<Processor> {
    // SAFETY: the image is at level 1, and the processor has counters.
    Unit::new(unsafe { Processor::own() }, description)
}

/// True where an overflow of counter 0 comes to light by itself. Where instructions are not counted, nothing overflows.
fn notices(description: Description) -> bool {
    let (mut unit, counter) = (unit(description), CounterId(0));
    let Some(instructions) = description.code(EventId::INSTRUCTIONS) else { return true };
    let interrupts = Arm64::interrupts_enabled();
    Arm64::disable_interrupts();
    let asked = unit.program(counter, instructions).and_then(|()| unit.interrupt_after(counter, LOOP_ROUNDS));
    Arm64::turn(LOOP_ROUNDS);
    let noticed = unit.has_noticed();
    let counted = unit.read(counter).unwrap_or_default();
    let _ = unit.run(counter, false).and_then(|()| unit.interrupt_after(counter, u64::MAX));
    if interrupts {
        Arm64::enable_interrupts();
    }
    noticed || asked.is_err() || counted < LOOP_ROUNDS
}

//! The drivers of performance counters, on a model of their registers: what the drivers' own work costs. A process
//! may not touch the registers, and each access to a real one takes tens to hundreds of cycles more.

use crate::clock::stamp;
use crate::distribution::Distribution;
use solo_hal::CounterId;
use solo_model::EventId;
use solo_x86_64::pmu::model::Model;
use solo_x86_64::pmu::{Description, Kind, Microarchitecture, Unit, events};
use std::hint::black_box;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Letting a counter count an event from zero.
    pub program: Distribution,
    /// Reading its value.
    pub read: Distribution,
    /// Asking for an interrupt.
    pub ask: Distribution,
    /// Finding out which counter has overflowed, and acknowledging it.
    pub overflow: Distribution,
}

/// Times `rounds` of each on a unit of Intel's version 4, as Skylake has it.
pub fn run(rounds: u64) -> Counters {
    let unit = Description {
        kind: Kind::Intel(4),
        general: 8,
        width: 48,
        fixed: 0b111,
        fixed_width: 48,
        absent: 0,
        full_writes: true,
        microarchitecture: Some(Microarchitecture::Skylake),
    };
    let mut found = Counters::default();
    let Some(select) = events::select(&unit, EventId::LLC_MISSES) else { return found };
    let mut unit = Unit::new(Model::new(unit), unit);
    for round in 0..rounds {
        let counter = CounterId((round % 8) as u8);
        let begin = stamp();
        let _ = black_box(unit.configure(counter, EventId::LLC_MISSES));
        let programmed = stamp();
        let _ = black_box(unit.interrupt_after(counter, 1000));
        let asked = stamp();
        unit.registers().count(select, 1000, true);
        let before = stamp();
        black_box(unit.overflowed());
        let acknowledged = stamp();
        let _ = black_box(unit.read(counter));
        let read = stamp();
        found.program.add(programmed.saturating_sub(begin));
        found.ask.add(asked.saturating_sub(programmed));
        found.overflow.add(acknowledged.saturating_sub(before));
        found.read.add(read.saturating_sub(acknowledged));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_times_each_step_once() {
        let found = run(50);
        let counts = [&found.program, &found.read, &found.ask, &found.overflow].map(Distribution::count);
        assert_eq!(counts, [50; 4]);
    }
}

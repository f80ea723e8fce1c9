//! A unit in software, register by register, for tests on any machine.

use solo_aarch64::pmu::SOFTWARE;
use solo_aarch64::pmu::registers::Registers;

/// The counters of the model.
const COUNTERS: usize = 6;

/// A unit in software.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Model {
    values: [u32; COUNTERS],
    events: [u16; COUNTERS],
    running: u32,
    interrupting: u32,
    overflown: u32,
    on: bool,
    raised: u64,
}

impl Model {
    /// How often the line was raised that interrupts.
    pub const fn raised(&self) -> u64 {
        self.raised
    }

    /// True while the line is raised.
    pub const fn is_raised(&self) -> bool {
        self.on && self.overflown & self.interrupting != 0
    }

    /// The event of this number occurs `times` times.
    pub fn count(&mut self, event: u16, times: u32) {
        let before = self.is_raised();
        for at in (0..COUNTERS).filter(|&at| self.on && self.running >> at & 1 != 0) {
            if self.events[at] == event {
                let (value, over) = self.values[at].overflowing_add(times);
                self.values[at] = value;
                self.overflown |= u32::from(over) << at;
            }
        }
        self.raised += u64::from(!before && self.is_raised());
    }
}

impl Registers for Model {
    fn value(&self, counter: u8) -> u64 {
        self.values[usize::from(counter)].into()
    }
    fn set_value(&mut self, counter: u8, value: u64) {
        self.values[usize::from(counter)] = value as u32;
    }
    fn set_event(&mut self, counter: u8, event: u16) {
        self.events[usize::from(counter)] = event;
    }
    fn run(&mut self, mask: u32) {
        self.running |= mask;
    }
    fn stop(&mut self, mask: u32) {
        self.running &= !mask;
    }
    fn interrupt(&mut self, mask: u32) {
        let before = self.is_raised();
        self.interrupting |= mask;
        self.raised += u64::from(!before && self.is_raised());
    }
    fn silence(&mut self, mask: u32) {
        self.interrupting &= !mask;
    }
    fn overflows(&self) -> u32 {
        self.overflown
    }
    fn forget(&mut self, mask: u32) {
        self.overflown &= !mask;
    }
    fn increment(&mut self, mask: u32) {
        let running = self.running;
        self.running &= mask;
        self.count(SOFTWARE, 1);
        self.running = running;
    }
    fn begin(&mut self) {
        self.on = true;
    }
}

//! The counters of a core, as the kernel's mediator wants them.

use super::registers::Registers;
use core::cell::Cell;
use solo_bare::rtos::Counters;
use solo_hal::{CounterId, PmuError};
use solo_model::{EventId, EventTable};
use solo_observe::catalog;

/// The most counters that a unit can have, its cycle counter not counted.
const MOST: usize = 31;

/// The number of the event that only software causes.
pub const SOFTWARE: u16 = 0;

/// The largest value of a register.
const RANGE: u64 = u32::MAX as u64;
/// The bits of a register, before version 3.5.
const REGISTER_WIDTH: u8 = 32;

/// A unit, as its registers describe it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// Its counters that can be used, without the one for cycles alone (PMCR.N).
    pub general: u8,
    /// Each counter has another one beside it, so that its overflow is noticed in time: see [`Unit`].
    pub paired: bool,
    /// Which of the common events 0 to 63 it can count, a bit each (PMCEID).
    pub common: u64,
    /// Lines that jobs touch are counted as misses of the last level: software tells of them.
    pub told: bool,
}

impl Description {
    /// The bits of a counter: more than its register has, as long as it is read once in 2^32 events.
    pub const WIDTH: u8 = 48;

    /// The number of `event` here; `None` where it can't be counted.
    pub fn code(&self, event: EventId) -> Option<u16> {
        if self.told && event == EventId::LLC_MISSES {
            return Some(SOFTWARE);
        }
        let entry = catalog::ENTRIES.iter().find(|entry| entry.event == event);
        let number = entry.and_then(|entry| entry.arm64);
        number.filter(|&number| number < 64 && self.common >> number & 1 != 0)
    }
}

/// The counters of a core.
///
/// A counter interrupts when its register passes its end, so its register holds the distance to an interrupt and
/// not its value, which is kept here, up to the register that was seen last. An interrupt further away than half the range is
/// reached in laps.
///
/// QEMU 7.2 plans to look at a counter one event before it passes its end, and then plans nothing any more: the overflow comes to
/// light when something else happens to the counters. Where that is so, a second counter that is one event further away makes it
/// look once more, at the right moment: counter n is register 2n, its companion register 2n + 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit<R> {
    registers: R,
    description: Description,
    counters: [Counter; MOST],
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Counter {
    /// What it had counted when its register was last looked at, and what that held.
    value: Cell<u64>,
    seen: Cell<u64>,
    /// What must be counted after the next overflow until the interrupt that was asked for; `None` without any.
    after: Option<u64>,
    runs: bool,
    /// It counts what software tells of.
    is_told: bool,
}

impl<R: Registers> Unit<R> {
    /// The unit of a core, all its counters stopped.
    pub fn new(mut registers: R, description: Description) -> Self {
        registers.stop(u32::MAX);
        registers.silence(u32::MAX);
        registers.forget(u32::MAX);
        registers.begin();
        Self { registers, description, counters: core::array::from_fn(|_| Counter::default()) }
    }

    /// What it is.
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// The registers, for whoever plays the hardware.
    pub const fn registers(&mut self) -> &mut R {
        &mut self.registers
    }

    fn there(&self, counter: CounterId) -> Result<usize, PmuError> {
        let there = counter.0 < self.description.general && usize::from(counter.0) < MOST;
        let missing = PmuError::NoSuchCounter { counter, counters: self.description.general };
        if there { Ok(usize::from(counter.0)) } else { Err(missing) }
    }

    /// The register of a counter.
    #[inline(always)]
    const fn register(&self, counter: CounterId) -> u8 {
        counter.0 << self.description.paired as u8
    }

    /// The bit of a counter in the masks of registers.
    const fn bit(&self, counter: CounterId) -> u32 {
        1 << self.register(counter)
    }

    /// The bits of a counter and its companion.
    const fn both(&self, counter: CounterId) -> u32 {
        self.bit(counter) * if self.description.paired { 3 } else { 1 }
    }

    /// Lets `counter` count the event of number `code` from zero, without interrupt, and starts it.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn program(&mut self, counter: CounterId, code: u16) -> Result<(), PmuError> {
        let at = self.there(counter)?;
        let (register, both) = (self.register(counter), self.both(counter));
        self.registers.stop(both);
        self.registers.silence(both);
        self.registers.set_event(register, code);
        self.registers.set_value(register, 0);
        if self.description.paired {
            self.registers.set_event(register + 1, code);
        }
        self.registers.forget(both);
        self.counters[at] = Counter { runs: true, is_told: code == SOFTWARE, ..Counter::default() };
        self.go(counter);
        Ok(())
    }

    /// Lets the counter's register count, and its companion where it is to interrupt.
    fn go(&mut self, counter: CounterId) {
        let interrupts = self.counters[usize::from(counter.0)].after.is_some();
        self.registers.run(if interrupts { self.both(counter) } else { self.bit(counter) });
        // QEMU 7.2 plans for the overflow when it is asked for the value of a counter that runs, not when that begins to.
        self.registers.value(self.register(counter));
    }

    /// True where the overflow of counter 0, which has counted what it was asked to, was noticed without being asked.
    /// The interrupts of counters must be kept out by whoever asks.
    pub fn has_noticed(&self) -> bool {
        self.registers.overflows() & 1 != 0
    }

    /// What only software causes has happened once.
    pub fn software_increment(&mut self) {
        let told = (0..self.description.general).filter(|&at| self.counters[usize::from(at)].is_told);
        let mask = told.fold(0, |mask, at| mask | self.both(CounterId(at)));
        if mask != 0 {
            self.registers.increment(mask);
        }
    }

    /// Programs the register so that it overflows after `events`, or after as many as it reaches.
    fn begin_lap(&mut self, counter: CounterId, events: u64) {
        let lap = events.min(1 << (REGISTER_WIDTH - 1));
        let raw = 0_u64.wrapping_sub(lap) & RANGE;
        let register = self.register(counter);
        // What it has counted until here is kept.
        let _ = self.read(counter);
        self.registers.set_value(register, raw);
        if self.description.paired {
            self.registers.set_value(register + 1, raw.wrapping_sub(1) & RANGE);
        }
        let state = &mut self.counters[usize::from(counter.0)];
        state.seen.set(raw);
        state.after = Some(events - lap);
    }
}

impl<R: Registers> Counters for Unit<R> {
    fn configure(&mut self, counter: CounterId, event: EventId, _: &EventTable) -> Result<(), PmuError> {
        let code = self.description.code(event);
        self.program(counter, code.ok_or(PmuError::NotCountable { counter, event })?)
    }

    /// The counter's value, modulo its width.
    #[inline(always)]
    fn read(&self, counter: CounterId) -> Result<u64, PmuError> {
        let at = self.there(counter)?;
        let (raw, state) = (self.registers.value(self.register(counter)), &self.counters[at]);
        let value = state.value.get().wrapping_add(raw.wrapping_sub(state.seen.get()) & RANGE);
        state.value.set(value);
        state.seen.set(raw);
        Ok(value & (u64::MAX >> (64 - Description::WIDTH)))
    }

    /// Sets the counter's value. What it counts, whether it runs and when it interrupts stay.
    fn write(&mut self, counter: CounterId, value: u64) -> Result<(), PmuError> {
        let at = self.there(counter)?;
        self.counters[at].seen.set(self.registers.value(self.register(counter)));
        self.counters[at].value.set(value);
        Ok(())
    }

    /// Asks for one interrupt when `events` more have been counted; `u64::MAX` for none. The counter stands still
    /// while it is programmed.
    fn interrupt_after(&mut self, counter: CounterId, events: u64) -> Result<(), PmuError> {
        let at = self.there(counter)?;
        let both = self.both(counter);
        self.registers.stop(both);
        self.registers.silence(both);
        self.registers.forget(both);
        if events == u64::MAX {
            self.counters[at].after = None;
        } else {
            self.begin_lap(counter, events.max(1));
            self.registers.interrupt(self.bit(counter));
        }
        if self.counters[at].runs {
            self.go(counter);
        }
        Ok(())
    }

    /// Lets the counter run, or holds it at its value.
    fn run(&mut self, counter: CounterId, runs: bool) -> Result<(), PmuError> {
        let at = self.there(counter)?;
        self.counters[at].runs = runs;
        if runs {
            self.go(counter);
        } else {
            self.registers.stop(self.both(counter));
        }
        Ok(())
    }

    /// An overflow interrupt has come: which counters have counted what they were asked to, a bit each. Acknowledges
    /// those, begins the next lap of those that have not, and lets interrupts in again.
    fn overflowed(&mut self) -> u32 {
        let status = self.registers.overflows();
        self.registers.forget(status);
        let (mut reached, mut waiting) = (0, 0);
        for counter in (0..self.description.general).map(CounterId) {
            let Some(after) = self.counters[usize::from(counter.0)].after else { continue };
            if status & self.bit(counter) == 0 {
                waiting |= self.bit(counter);
                continue;
            }
            let passed = self.registers.value(self.register(counter));
            match after.checked_sub(passed).filter(|left| *left > 0) {
                Some(left) => {
                    // It goes on counting; what comes between its reading and its setting would be lost.
                    self.registers.stop(self.both(counter));
                    self.begin_lap(counter, left);
                    if self.counters[usize::from(counter.0)].runs {
                        self.go(counter);
                    }
                    waiting |= self.bit(counter);
                }
                None => {
                    reached |= 1 << counter.0;
                    self.counters[usize::from(counter.0)].after = None;
                    self.registers.silence(self.bit(counter));
                }
            }
        }
        self.registers.interrupt(waiting);
        reached
    }

    /// The processor notices by itself what overflows.
    fn happened(&mut self, event: EventId) -> bool {
        if self.description.told && event == EventId::LLC_MISSES {
            self.software_increment();
        }
        false
    }
}

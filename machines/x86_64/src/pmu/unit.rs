//! The counters of a core, as the kernel's mediator wants them.

use super::describe::{Description, Kind};
use super::diluted::{Amd, AmdExtended, Intel, IntelFull, Layout};
use super::events;
use super::registers::{
    AMD_CONTROL, AMD_STATUS, AMD_STATUS_CLEAR, FIXED, INTEL_CONTROL, INTEL_FIXED, INTEL_FIXED_CONTROL,
    INTEL_STATUS, INTEL_STATUS_CLEAR, Registers,
};
use super::select::Select;
use solo_hal::{CounterId, PmuError};
use solo_model::EventId;
use solo_model::event::ProcessorCode;

/// The most counters that a unit can have here, of both kinds together.
const MOST: usize = 32;

/// The counters of a core: general ones first, then the fixed ones that there are.
///
/// A counter interrupts when its register passes its end, so its register holds the distance to an interrupt and
/// not its value; the difference is kept here. A register that takes 32 bits reaches 2^31 events ahead and others
/// half their range, so an interrupt further away is reached in laps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit<R> {
    registers: R,
    description: Description,
    counters: [Counter; MOST],
    /// How many of them there are.
    len: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counter {
    /// Its number for `rdpmc`.
    number: u32,
    /// Its largest value; 0 where there is no such counter.
    range: u64,
    /// What a general counter counts; of a fixed one, whether it runs and interrupts.
    select: Select,
    /// What its register holds beyond its value.
    beyond: u64,
    /// What must be counted after the next overflow until the interrupt that was asked for; `None` without any.
    after: Option<u64>,
}

/// Which register a counter is.
#[derive(Clone, Copy)]
enum Which {
    General(u8),
    Fixed(u8),
}

impl<R: Registers> Unit<R> {
    /// The unit of a core, all its counters stopped at zero.
    pub fn new(registers: R, description: Description) -> Self {
        let idle = Counter { number: 0, range: 0, select: Select::new(0, 0), beyond: 0, after: None };
        let mut unit =
            Self { registers, description, counters: [idle; MOST], len: description.len().min(MOST as u8) };
        for counter in (0..unit.len()).map(CounterId) {
            if let Ok(which) = unit.which(counter) {
                let (number, range) = (which.number(), unit.range(which));
                unit.counters[usize::from(counter.0)] = Counter { number, range, ..idle };
                unit.set_select(which, idle.select);
                unit.set_raw(which, 0);
            }
        }
        let all = ((1 << description.general) - 1) | (u64::from(description.fixed) << 32);
        unit.clear(all);
        match description.kind {
            Kind::Intel(2..) => unit.registers.write(INTEL_CONTROL, all),
            Kind::AmdVersion2 => unit.registers.write(AMD_CONTROL, all),
            Kind::Intel(_) | Kind::Amd | Kind::AmdExtended => {}
        }
        unit
    }

    /// What it is.
    pub const fn description(&self) -> &Description {
        &self.description
    }

    /// The registers, for whoever plays the hardware.
    pub const fn registers(&mut self) -> &mut R {
        &mut self.registers
    }

    /// How many counters.
    pub const fn len(&self) -> u8 {
        self.len
    }

    /// True without any counter.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets `counter` count `event` from zero, without interrupt, and starts it.
    ///
    /// # Errors
    /// If there is no such counter or it can't count the event.
    pub fn configure(&mut self, counter: CounterId, event: EventId) -> Result<(), PmuError> {
        let which = self.which(counter)?;
        let select = match which {
            Which::General(_) => events::select(&self.description, event),
            Which::Fixed(at) => (events::of_fixed(at) == Some(event)).then(|| Select::new(0, 0)),
        };
        self.program(counter, which, select.ok_or(PmuError::NotCountable { counter, event })?);
        Ok(())
    }

    /// The same for an event of the platform's own, which its processor counts by `code`.
    ///
    /// # Errors
    /// If there is no such general counter, or this is another processor.
    pub fn configure_own(
        &mut self,
        counter: CounterId,
        event: EventId,
        code: &ProcessorCode,
    ) -> Result<(), PmuError> {
        let which = self.which(counter)?;
        let select = match which {
            Which::General(_) => events::select_own(&self.description, code),
            Which::Fixed(_) => None,
        };
        self.program(counter, which, select.ok_or(PmuError::NotCountable { counter, event })?);
        Ok(())
    }

    fn program(&mut self, counter: CounterId, which: Which, select: Select) {
        self.set_select(which, select);
        self.set_raw(which, 0);
        let state = &mut self.counters[usize::from(counter.0)];
        *state = Counter { select: select.enabled(), beyond: 0, after: None, ..*state };
        self.clear(which.status());
        self.set_select(which, select.enabled());
    }

    /// The counter's value, modulo its width.
    ///
    /// # Errors
    /// If there is no such counter.
    #[inline(always)]
    pub fn read(&self, counter: CounterId) -> Result<u64, PmuError> {
        match self.counters.get(usize::from(counter.0)) {
            Some(&Counter { number, range, beyond, .. }) if range != 0 => {
                Ok(self.registers.counter(number).wrapping_sub(beyond) & range)
            }
            _ => Err(PmuError::NoSuchCounter { counter, counters: self.len() }),
        }
    }

    /// Sets the counter's value. What it counts, whether it runs and when it interrupts stay.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn write(&mut self, counter: CounterId, value: u64) -> Result<(), PmuError> {
        let which = self.which(counter)?;
        self.counters[usize::from(counter.0)].beyond = self.raw(which).wrapping_sub(value);
        Ok(())
    }

    /// Asks for one interrupt when `events` more have been counted; `u64::MAX` for none. The counter stands still
    /// while it is programmed.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn interrupt_after(&mut self, counter: CounterId, events: u64) -> Result<(), PmuError> {
        let which = self.which(counter)?;
        let state = self.counters[usize::from(counter.0)];
        self.set_select(which, state.select.stopped());
        self.clear(which.status());
        let select = if events == u64::MAX {
            self.counters[usize::from(counter.0)].after = None;
            state.select.interrupting(false)
        } else {
            self.begin_lap(which, counter, events.max(1));
            state.select.interrupting(true)
        };
        self.counters[usize::from(counter.0)].select = select;
        self.set_select(which, select);
        Ok(())
    }

    /// An overflow interrupt has come: which counters have counted what they were asked to, a bit each. Acknowledges
    /// those that have, begins the next lap of those that have not. The machine lets the next interrupt in
    /// (LVTPC) afterwards.
    pub fn overflowed(&mut self) -> u32 {
        let status = self.status();
        let mut reached = 0;
        for counter in (0..self.len()).map(CounterId) {
            let Ok(which) = self.which(counter) else { continue };
            let Some(after) = self.counters[usize::from(counter.0)].after else { continue };
            let passed = self.raw(which);
            let over = match status {
                Some(status) => status & which.status() != 0,
                // The register began in its upper half; it has left it.
                None => passed <= self.range(which) >> 1,
            };
            if !over {
                continue;
            }
            match after.checked_sub(passed).filter(|left| *left > 0) {
                Some(left) => {
                    self.clear(which.status());
                    self.begin_lap(which, counter, left);
                }
                None => {
                    reached |= 1 << counter.0;
                    let state = &mut self.counters[usize::from(counter.0)];
                    state.after = None;
                    state.select = state.select.interrupting(false);
                    let select = state.select;
                    self.set_select(which, select);
                }
            }
        }
        if let Some(status) = status {
            self.clear(status);
        }
        reached
    }

    /// Programs the register so that it overflows after `events`, or after as many as it reaches.
    fn begin_lap(&mut self, which: Which, counter: CounterId, events: u64) {
        let range = self.range(which);
        let reach = match which {
            Which::General(_) if !self.description.full_writes => 1 << 31,
            _ => (range >> 1) + 1,
        };
        let lap = events.min(reach);
        let raw = 0_u64.wrapping_sub(lap) & range;
        let before = self.raw(which);
        self.set_raw(which, raw);
        let state = &mut self.counters[usize::from(counter.0)];
        state.beyond = state.beyond.wrapping_add(raw.wrapping_sub(before));
        state.after = Some(events - lap);
    }

    /// Lets the counter run, or holds it at its value.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn run(&mut self, counter: CounterId, runs: bool) -> Result<(), PmuError> {
        let which = self.which(counter)?;
        let state = &mut self.counters[usize::from(counter.0)];
        state.select = if runs { state.select.enabled() } else { state.select.stopped() };
        let select = state.select;
        self.set_select(which, select);
        Ok(())
    }

    fn which(&self, counter: CounterId) -> Result<Which, PmuError> {
        let CounterId(number) = counter;
        let general = self.description.general;
        if number >= self.len() {
            return Err(PmuError::NoSuchCounter { counter, counters: self.len() });
        }
        if number < general {
            return Ok(Which::General(number));
        }
        // The fixed counters may have gaps: the n-th bit that is set.
        let mut bits = self.description.fixed;
        (0..number - general).for_each(|_| bits &= bits - 1);
        Ok(Which::Fixed(bits.trailing_zeros() as u8))
    }

    /// The largest value of a counter.
    const fn range(&self, which: Which) -> u64 {
        let width = match which {
            Which::General(_) => self.description.width,
            Which::Fixed(_) => self.description.fixed_width,
        };
        u64::MAX >> (64 - width as u32)
    }

    fn raw(&self, which: Which) -> u64 {
        self.registers.counter(which.number())
    }

    fn set_raw(&mut self, which: Which, value: u64) {
        let register = match (which, self.description.kind, self.description.full_writes) {
            (Which::Fixed(at), ..) => INTEL_FIXED + u32::from(at),
            (Which::General(at), Kind::Intel(_), true) => IntelFull::value(at),
            (Which::General(at), Kind::Intel(_), false) => Intel::value(at),
            (Which::General(at), Kind::Amd, _) => Amd::value(at),
            (Which::General(at), Kind::AmdExtended | Kind::AmdVersion2, _) => AmdExtended::value(at),
        };
        self.registers.write(register, value);
    }

    fn set_select(&mut self, which: Which, select: Select) {
        let register = match (which, self.description.kind) {
            (Which::Fixed(at), _) => return self.set_fixed(at, select),
            (Which::General(at), Kind::Intel(_)) => Intel::select(at),
            (Which::General(at), Kind::Amd) => Amd::select(at),
            (Which::General(at), Kind::AmdExtended | Kind::AmdVersion2) => AmdExtended::select(at),
        };
        self.registers.write(register, select.bits());
    }

    /// All fixed counters share a control of four bits each: both kinds of rings, and the interrupt.
    fn set_fixed(&mut self, at: u8, select: Select) {
        let runs = if select == select.enabled() { 0b0011 } else { 0 };
        let interrupts = if select == select.interrupting(true) { 0b1000 } else { 0 };
        let others = self.registers.read(INTEL_FIXED_CONTROL) & !(0xf << (4 * at));
        self.registers.write(INTEL_FIXED_CONTROL, others | (runs | interrupts) << (4 * at));
    }

    fn status(&self) -> Option<u64> {
        match self.description.kind {
            Kind::Intel(2..) => Some(self.registers.read(INTEL_STATUS)),
            Kind::AmdVersion2 => Some(self.registers.read(AMD_STATUS)),
            Kind::Intel(_) | Kind::Amd | Kind::AmdExtended => None,
        }
    }

    fn clear(&mut self, status: u64) {
        match self.description.kind {
            Kind::Intel(2..) => self.registers.write(INTEL_STATUS_CLEAR, status),
            Kind::AmdVersion2 => self.registers.write(AMD_STATUS_CLEAR, status),
            Kind::Intel(_) | Kind::Amd | Kind::AmdExtended => {}
        }
    }
}

impl Which {
    /// Its number for `rdpmc`.
    const fn number(self) -> u32 {
        match self {
            Self::General(at) => at as u32,
            Self::Fixed(at) => FIXED | at as u32,
        }
    }

    /// Its bit in the status.
    const fn status(self) -> u64 {
        match self {
            Self::General(at) => 1 << at,
            Self::Fixed(at) => 1 << (32 + at),
        }
    }
}

//! The performance monitoring unit of the simulated machine.
//!
//! It watches a core's [`SignalCounts`] wherever they are kept: the engine shows them with
//! [`observe`](SimPmu::observe) before anything is read and whenever a counter might overflow. Counters don't
//! count by themselves; each remembers where its event stood when it was last written.
//!
//! Overflow is exact: after each of its steps the engine asks whether a counter [has reached](SimPmu::has_reached)
//! its number, shows the counts and collects the interrupts with [`poll`](SimPmu::poll). Where one step counts
//! several events at once (an access that evicts two modified lines), the interrupt comes after the step that
//! reached the number: that is the only skid. A computation is stopped at the very cycle or instruction.
//!
//! A counter counts while it is started, no overflow has frozen its core's counters, and the core is in a mode that it
//! is to count in. The kernel's mode lasts from its entry, before anything is charged for it, to its last charge.

use crate::wiring::Wiring;
use solo_hal::{CounterId, Modes, Pmu, PmuError};
use solo_model::{CoreId, Counts, EventId, Platform, Signal, SignalCounts};

/// One counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counter {
    /// The event it counts; what a fixed counter counts never changes.
    event: EventId,
    /// What that is in the hardware.
    signal: Signal,
    modes: Modes,
    /// The program lets it run.
    started: bool,
    /// It counts: it is started, not frozen, and its core is in one of its modes.
    running: bool,
    /// Its value when it was last set or stopped.
    value: u64,
    /// The event's count at that moment.
    since: u64,
    /// The event's count at which to interrupt while running; events that are left while stopped.
    interrupt: Option<u64>,
}

impl Counter {
    /// Lets it run, or not, from where its event stands at `seen`.
    fn set_running(&mut self, running: bool, seen: u64) {
        if running && !self.running {
            self.since = seen;
            self.interrupt = self.interrupt.map(|left| seen.saturating_add(left));
        } else if self.running && !running {
            self.value = self.value.wrapping_add(seen.wrapping_sub(self.since));
            self.interrupt = self.interrupt.map(|at| at.saturating_sub(seen));
        }
        self.running = running;
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Core {
    seen: SignalCounts,
    counters: Vec<Counter>,
    /// Counters whose interrupt is due, one bit each.
    due: u64,
    /// The core is in the kernel; some counter cares.
    in_kernel: bool,
    tells_modes: bool,
    /// An overflow freezes all counters, and has.
    freezes: bool,
    frozen: bool,
}

impl Core {
    /// Lets each counter run that is to.
    fn update(&mut self) {
        self.tells_modes = self.counters.iter().any(|counter| counter.modes != Modes::All);
        for counter in &mut self.counters {
            let mode = match counter.modes {
                Modes::All => true,
                Modes::User => !self.in_kernel,
                Modes::Kernel => self.in_kernel,
            };
            counter.set_running(counter.started && mode && !self.frozen, self.seen[counter.signal]);
        }
    }
}

/// Programmable counters first, then fixed ones bound to instructions and cycles, as the platform says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimPmu {
    programmable: u8,
    /// The bits of a counter.
    mask: u64,
    overflow: bool,
    wiring: Wiring,
    cores: Vec<Core>,
}

/// What fixed counters count: those beyond the second of several (Intel's) count cycles too, at the reference clock, which is the core's clock
/// here. There are three at most.
fn fixed(counters: u8) -> impl Iterator<Item = (EventId, Signal)> {
    let of = |event: EventId| match event {
        EventId::INSTRUCTIONS => (event, Signal::Instructions),
        _ => (EventId::CYCLES, Signal::Cycles),
    };
    let bound = solo_model::platform::Pmu::events_of_fixed(counters).iter().copied();
    bound.chain(core::iter::repeat(EventId::CYCLES)).take(usize::from(counters.min(3))).map(of)
}

impl SimPmu {
    /// The unit of each core, all counters stopped at zero.
    pub fn new(platform: &Platform) -> Self {
        let description = &platform.pmu;
        let programmable = description.programmable.min(64);
        let idle = |(event, signal)| Counter {
            event,
            signal,
            modes: Modes::All,
            started: false,
            running: false,
            value: 0,
            since: 0,
            interrupt: None,
        };
        let programmables = (0..programmable).map(|_| idle((EventId::INSTRUCTIONS, Signal::Instructions)));
        let fixed = fixed(description.fixed).map(idle);
        // A core's interrupts are bits of a word.
        let counters: Vec<_> = programmables.chain(fixed).take(64).collect();
        let seen = SignalCounts::ZERO;
        let core = Core {
            seen,
            counters,
            due: 0,
            in_kernel: false,
            tells_modes: false,
            freezes: false,
            frozen: false,
        };
        Self {
            programmable,
            mask: if description.width >= 64 { u64::MAX } else { (1 << description.width) - 1 },
            overflow: description.overflow,
            wiring: Wiring::new(&platform.events),
            cores: vec![core; platform.cores.len()],
        }
    }

    /// Shows what the hardware of `core` has counted so far; counts only grow.
    pub fn observe(&mut self, core: CoreId, counts: &SignalCounts) {
        let core = &mut self.cores[core.index()];
        core.seen = *counts;
        for (number, counter) in core.counters.iter_mut().enumerate() {
            if counter.running && counter.interrupt.is_some_and(|at| counts[counter.signal] >= at) {
                counter.interrupt = None;
                core.due |= 1 << number;
            }
        }
        if core.freezes && !core.frozen && core.due != 0 {
            core.frozen = true;
            core.update();
        }
    }

    /// Shows counts as they stand in records: events that were not counted stand still at zero.
    pub fn observe_counts(&mut self, core: CoreId, counts: &Counts) {
        let signals = self.wiring.signals(counts);
        self.observe(core, &signals);
    }

    /// True where some counter of `core` tells modes apart, so that it must be told when the kernel is entered and left.
    pub(crate) fn tells_modes(&self, core: CoreId) -> bool {
        self.cores[core.index()].tells_modes
    }

    /// The kernel is entered, or left, on `core`; what came before must have been [shown](Self::observe).
    pub fn set_kernel(&mut self, core: CoreId, in_kernel: bool) {
        let core = &mut self.cores[core.index()];
        core.in_kernel = in_kernel;
        if core.tells_modes {
            core.update();
        }
    }

    /// How many more of `signal` may happen on `core` before a counter interrupts; `None` without limit.
    pub fn distance(&self, core: CoreId, signal: Signal) -> Option<u64> {
        let seen = self.cores[core.index()].seen[signal];
        self.limit(core, signal).map(|at| at.saturating_sub(seen))
    }

    /// True where some running counter of `core` is going to interrupt.
    pub(crate) fn is_armed(&self, core: CoreId) -> bool {
        let counters = &self.cores[core.index()].counters;
        counters.iter().any(|counter| counter.running && counter.interrupt.is_some())
    }

    /// True where a counter of `core` is going to interrupt and its event has happened often enough; `count`
    /// tells how often.
    #[inline]
    pub(crate) fn has_reached(&self, core: CoreId, count: impl Fn(Signal) -> u64) -> bool {
        let reached = |counter: &Counter| counter.interrupt.is_some_and(|at| count(counter.signal) >= at);
        self.cores[core.index()].counters.iter().any(|counter| counter.running && reached(counter))
    }

    /// The count of `signal` at which a counter of `core` interrupts.
    pub fn limit(&self, core: CoreId, signal: Signal) -> Option<u64> {
        let core = &self.cores[core.index()];
        let counters = core.counters.iter().filter(|counter| counter.running && counter.signal == signal);
        counters.filter_map(|counter| counter.interrupt).min()
    }

    /// True where `core` has an interrupt that nobody has taken.
    pub fn is_due(&self, core: CoreId) -> bool {
        self.cores[core.index()].due != 0
    }

    /// Takes the interrupt of `core`'s lowest counter that has one due.
    pub fn poll(&mut self, core: CoreId) -> Option<CounterId> {
        let core = &mut self.cores[core.index()];
        if core.due == 0 {
            return None;
        }
        let number = core.due.trailing_zeros() as u8;
        core.due &= core.due - 1;
        Some(CounterId(number))
    }

    /// The event that a counter counts.
    ///
    /// # Errors
    /// If there is no such counter.
    pub fn event(&self, core: CoreId, counter: CounterId) -> Result<EventId, PmuError> {
        self.counter(core, counter).map(|(counter, _)| counter.event)
    }

    fn counter(&self, core: CoreId, counter: CounterId) -> Result<(&Counter, &SignalCounts), PmuError> {
        let counters = self.counters();
        let core = self.cores.get(core.index()).ok_or(PmuError::NoSuchCounter { counter, counters: 0 })?;
        let found = core.counters.get(usize::from(counter.0));
        found.map(|found| (found, &core.seen)).ok_or(PmuError::NoSuchCounter { counter, counters })
    }

    fn counter_mut(
        &mut self,
        core: CoreId,
        counter: CounterId,
    ) -> Result<(&mut Counter, &SignalCounts), PmuError> {
        let counters = self.counters();
        let core =
            self.cores.get_mut(core.index()).ok_or(PmuError::NoSuchCounter { counter, counters: 0 })?;
        let found = core.counters.get_mut(usize::from(counter.0));
        found.map(|found| (found, &core.seen)).ok_or(PmuError::NoSuchCounter { counter, counters })
    }

    fn counters(&self) -> u8 {
        self.cores.first().map_or(0, |core| core.counters.len() as u8)
    }
}

impl Pmu for SimPmu {
    fn configure(&mut self, core: CoreId, counter: CounterId, event: EventId) -> Result<(), PmuError> {
        let programmable = counter.0 < self.programmable;
        let signal = self.wiring.signal(event);
        let (found, seen) = self.counter_mut(core, counter)?;
        let signal = signal.filter(|_| programmable || found.event == event);
        let signal = signal.ok_or(PmuError::NotCountable { counter, event })?;
        let since = seen[signal];
        *found = Counter {
            event,
            signal,
            modes: Modes::All,
            started: true,
            running: true,
            value: 0,
            since,
            interrupt: None,
        };
        let core = &mut self.cores[core.index()];
        core.due &= !(1 << counter.0);
        core.update();
        Ok(())
    }

    fn read(&self, core: CoreId, counter: CounterId) -> Result<u64, PmuError> {
        let (counter, seen) = self.counter(core, counter)?;
        let counted = if counter.running { seen[counter.signal].wrapping_sub(counter.since) } else { 0 };
        Ok(counter.value.wrapping_add(counted) & self.mask)
    }

    fn write(&mut self, core: CoreId, counter: CounterId, value: u64) -> Result<(), PmuError> {
        let mask = self.mask;
        let (counter, seen) = self.counter_mut(core, counter)?;
        counter.value = value & mask;
        counter.since = seen[counter.signal];
        Ok(())
    }

    fn interrupt_after(&mut self, core_id: CoreId, counter: CounterId, events: u64) -> Result<(), PmuError> {
        let overflow = self.overflow;
        let (found, seen) = self.counter_mut(core_id, counter)?;
        if !overflow {
            return Err(PmuError::NoOverflow);
        }
        let base = if found.running { seen[found.signal] } else { 0 };
        found.interrupt = (events != u64::MAX).then(|| base.saturating_add(events));
        // Asking for none interrupts at once: the next look at the counts finds it.
        let core = &mut self.cores[core_id.index()];
        core.due &= !(1 << counter.0);
        let counts = core.seen;
        self.observe(core_id, &counts);
        Ok(())
    }

    fn count_in(&mut self, core: CoreId, counter: CounterId, modes: Modes) -> Result<(), PmuError> {
        self.counter_mut(core, counter)?.0.modes = modes;
        self.cores[core.index()].update();
        Ok(())
    }

    fn freeze_on_overflow(&mut self, core: CoreId, on: bool) -> Result<(), PmuError> {
        if !self.overflow {
            return Err(PmuError::NoOverflow);
        }
        self.cores[core.index()].freezes = on;
        Ok(())
    }

    fn resume(&mut self, core: CoreId) {
        let core = &mut self.cores[core.index()];
        core.frozen = false;
        core.update();
    }

    fn start(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        self.counter_mut(core, counter)?.0.started = true;
        self.cores[core.index()].update();
        Ok(())
    }

    fn stop(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        self.counter_mut(core, counter)?.0.started = false;
        self.cores[core.index()].update();
        Ok(())
    }
}

//! Wrappers that are machines themselves: they break or check another machine.

use crate::admission::Able;
use crate::cache::{CacheControl, PageGroup};
use crate::faults::Injected;
use crate::machine::Machine;
use crate::pmu::{CounterId, Modes, Pmu, PmuError};
use crate::timing::{Edge, InterruptController, Probe, Recorder, Timer};
use solo_model::{
    Bytes, Caps, CoreId, CoreSet, DutyCycle, Energy, EventId, Instant, Overhead, PowerDomain, Record, Rmid,
};

/// A machine that loses, delays or mistakes what it is told, as its faults say: for tests of what the kernel does on
/// hardware that misbehaves.
#[derive(Debug)]
pub struct Faulty<'m, M> {
    /// The machine underneath.
    pub machine: &'m mut M,
    /// What goes wrong; it outlives the wrapper, for faults may come now and then.
    pub faults: &'m mut Injected,
}

/// A machine that panics when the kernel breaks the rules of the contract: unbalanced or nested probes, a
/// core that doesn't exist, a reschedule request to oneself.
#[derive(Debug)]
pub struct Checked<'m, M> {
    /// The machine underneath.
    pub machine: &'m mut M,
    /// The cores there are.
    pub cores: CoreSet,
    /// The kernel path that is open now.
    pub open: Option<(CoreId, Overhead)>,
}

/// Hardware that misbehaves promises what it would do if it did not.
impl<M: Able> Able for Faulty<'_, M> {
    fn caps(&self) -> Caps {
        self.machine.caps()
    }
}

/// No more cores than it lets through.
impl<M: Able> Able for Checked<'_, M> {
    fn caps(&self) -> Caps {
        let caps = self.machine.caps();
        let here = Caps { cores: self.cores, ..caps.clone() };
        caps.lowered(&here)
    }
}

impl<M: Machine> Timer for Faulty<'_, M> {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.machine.arm(core, at + self.faults.delays_timer(core));
    }
    fn disarm(&mut self, core: CoreId) {
        self.machine.disarm(core);
    }
    fn slow(&mut self, core: CoreId, duty: DutyCycle) {
        self.machine.slow(core, duty);
    }
}

impl<M: Machine> InterruptController for Faulty<'_, M> {
    fn send_reschedule(&mut self, from: CoreId, to: CoreId, now: Instant) {
        if !self.faults.loses_request(to) {
            self.machine.send_reschedule(from, to, now);
        }
    }
}

impl<M: Machine> Probe for Faulty<'_, M> {
    fn probe(&mut self, core: CoreId, overhead: Overhead, edge: Edge) {
        self.machine.probe(core, overhead, edge);
    }
}

impl<M: Machine> Recorder for Faulty<'_, M> {
    fn record(&mut self, core: CoreId, record: Record) {
        self.machine.record(core, record);
    }
}

impl<M: Machine> Timer for Checked<'_, M> {
    fn arm(&mut self, core: CoreId, at: Instant) {
        assert!(self.cores.contains(core), "timer armed on {core}, which does not exist");
        self.machine.arm(core, at);
    }
    fn disarm(&mut self, core: CoreId) {
        assert!(self.cores.contains(core), "timer disarmed on {core}, which does not exist");
        self.machine.disarm(core);
    }
    fn slow(&mut self, core: CoreId, duty: DutyCycle) {
        assert!(self.cores.contains(core), "the clock of {core}, which does not exist");
        self.machine.slow(core, duty);
    }
}

impl<M: Machine> InterruptController for Checked<'_, M> {
    fn send_reschedule(&mut self, from: CoreId, to: CoreId, now: Instant) {
        assert!(self.cores.contains(to), "reschedule request to {to}, which does not exist");
        assert!(from != to, "reschedule request of {from} to itself");
        self.machine.send_reschedule(from, to, now);
    }
}

impl<M: Machine> Probe for Checked<'_, M> {
    fn probe(&mut self, core: CoreId, overhead: Overhead, edge: Edge) {
        match edge {
            Edge::Enter => {
                assert_eq!(self.open, None, "a kernel path begins inside another");
                self.open = Some((core, overhead));
            }
            Edge::Leave => {
                assert_eq!(self.open, Some((core, overhead)), "a kernel path ends that had not begun");
                self.open = None;
            }
        }
        self.machine.probe(core, overhead, edge);
    }
}

impl<M: Machine> Recorder for Checked<'_, M> {
    fn record(&mut self, core: CoreId, record: Record) {
        self.machine.record(core, record);
    }
}

impl<M: Machine> CacheControl for Faulty<'_, M> {
    fn fill_ways(&mut self, core: CoreId, mask: u64) {
        self.machine.fill_ways(core, mask);
    }
    fn fill_ways_now(&mut self, core: CoreId, mask: u64) {
        self.machine.fill_ways_now(core, mask);
    }
    fn tag_lines(&mut self, core: CoreId, rmid: Rmid) {
        self.machine.tag_lines(core, rmid);
    }
    fn occupancy(&self, core: CoreId, rmid: Rmid) -> Option<Bytes> {
        self.machine.occupancy(core, rmid)
    }
    fn lock_pages(&mut self, core: CoreId, group: PageGroup) {
        self.machine.lock_pages(core, group);
    }
    fn unlock_pages(&mut self, core: CoreId, group: PageGroup) {
        self.machine.unlock_pages(core, group);
    }
}

impl<M: Machine> CacheControl for Checked<'_, M> {
    fn fill_ways(&mut self, core: CoreId, mask: u64) {
        assert!(self.cores.contains(core), "ways of {core}, which does not exist");
        assert_ne!(mask, 0, "{core} is to fill no way");
        self.machine.fill_ways(core, mask);
    }
    fn fill_ways_now(&mut self, core: CoreId, mask: u64) {
        assert!(self.cores.contains(core), "ways of {core}, which does not exist");
        assert_ne!(mask, 0, "{core} is to fill no way");
        self.machine.fill_ways_now(core, mask);
    }
    fn tag_lines(&mut self, core: CoreId, rmid: Rmid) {
        assert!(self.cores.contains(core), "lines of {core}, which does not exist");
        self.machine.tag_lines(core, rmid);
    }
    fn occupancy(&self, core: CoreId, rmid: Rmid) -> Option<Bytes> {
        assert!(self.cores.contains(core), "lines of {core}, which does not exist");
        self.machine.occupancy(core, rmid)
    }
    fn lock_pages(&mut self, core: CoreId, group: PageGroup) {
        assert!(self.cores.contains(core), "pages locked by {core}, which does not exist");
        self.machine.lock_pages(core, group);
    }
    fn unlock_pages(&mut self, core: CoreId, group: PageGroup) {
        assert!(self.cores.contains(core), "pages unlocked by {core}, which does not exist");
        self.machine.unlock_pages(core, group);
    }
}

/// Hands the counters of the machine underneath on, but for those that do not answer, and for what a wrapper makes of events and
/// of how many of them.
macro_rules! passes_counters_on {
    ($($wrapper:ty, [$($generics:tt)*];)*) => {
        $(impl<$($generics)*> Pmu for $wrapper {
            fn configure(&mut self, core: CoreId, counter: CounterId, event: EventId) -> Result<(), PmuError> {
                self.machine.configure(core, counter, self.event(event))
            }
            fn read(&self, core: CoreId, counter: CounterId) -> Result<u64, PmuError> {
                self.answers(core, counter)?;
                self.machine.read(core, counter)
            }
            fn write(&mut self, core: CoreId, counter: CounterId, value: u64) -> Result<(), PmuError> {
                self.machine.write(core, counter, value)
            }
            fn interrupt_after(
                &mut self,
                core: CoreId,
                counter: CounterId,
                events: u64,
            ) -> Result<(), PmuError> {
                self.answers(core, counter)?;
                self.machine.interrupt_after(core, counter, self.events(core, events))
            }
            fn energy(&self, of: PowerDomain) -> Option<Energy> {
                self.machine.energy(of)
            }
            fn count_in(&mut self, core: CoreId, counter: CounterId, modes: Modes) -> Result<(), PmuError> {
                self.machine.count_in(core, counter, modes)
            }
            fn freeze_on_overflow(&mut self, core: CoreId, on: bool) -> Result<(), PmuError> {
                self.machine.freeze_on_overflow(core, on)
            }
            fn resume(&mut self, core: CoreId) {
                self.machine.resume(core);
            }
            fn start(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
                self.machine.start(core, counter)
            }
            fn stop(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
                self.machine.stop(core, counter)
            }
        })*
    };
}

passes_counters_on! {
    Faulty<'_, M>, [M: Machine];
    Checked<'_, M>, [M: Machine];
}

impl<M> Faulty<'_, M> {
    fn answers(&self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        match self.faults.silences(core) {
            true => Err(PmuError::NoSuchCounter { counter, counters: 0 }),
            false => Ok(()),
        }
    }

    fn event(&self, event: EventId) -> EventId {
        self.faults.counted(event)
    }

    fn events(&self, _core: CoreId, events: u64) -> u64 {
        events
    }
}

impl<M> Checked<'_, M> {
    fn answers(&self, _core: CoreId, _counter: CounterId) -> Result<(), PmuError> {
        Ok(())
    }

    fn event(&self, event: EventId) -> EventId {
        event
    }

    fn events(&self, core: CoreId, events: u64) -> u64 {
        assert!(self.cores.contains(core), "counter of {core}, which does not exist");
        assert_ne!(events, 0, "a counter of {core} is to interrupt after nothing");
        events
    }
}

//! The sum of what the kernel needs.

use crate::admission::Able;
use crate::cache::CacheControl;
use crate::pmu::Pmu;
use crate::timing::{Edge, InterruptController, Probe, Recorder, Timer};
use solo_model::{Caps, CoreId, CoreSet, Instant, Overhead, Record};

/// Everything the kernel asks of a machine. Implemented for every type that keeps the single contracts.
pub trait Machine: Timer + InterruptController + Probe + Recorder + Pmu + CacheControl {}

impl<T: Timer + InterruptController + Probe + Recorder + Pmu + CacheControl> Machine for T {}

/// A machine that does nothing: for tests of a policy's decisions alone.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Quiet;

impl Pmu for Quiet {}

impl CacheControl for Quiet {}

impl Able for Quiet {
    fn caps(&self) -> Caps {
        Caps::plain(CoreSet::CAPACITY)
    }
}

impl Timer for Quiet {
    fn arm(&mut self, _core: CoreId, _at: Instant) {}
    fn disarm(&mut self, _core: CoreId) {}
}

impl InterruptController for Quiet {
    fn send_reschedule(&mut self, _from: CoreId, _to: CoreId, _now: Instant) {}
}

impl Probe for Quiet {
    fn probe(&mut self, _core: CoreId, _overhead: Overhead, _edge: Edge) {}
}

impl Recorder for Quiet {
    fn record(&mut self, _core: CoreId, _record: Record) {}
}

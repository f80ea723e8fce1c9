//! Timers, reschedule requests, probes and the recorder.

use solo_model::{CoreId, DutyCycle, Instant, Overhead, Record};

/// The per-core timer.
pub trait Timer {
    /// Programs the timer of `core` to interrupt at `at`, replacing what was programmed before. A time that
    /// has passed interrupts at once. Where the machine's timer ticks periodically, the machine may
    /// interrupt earlier; it never interrupts later than its resolution.
    fn arm(&mut self, core: CoreId, at: Instant);

    /// Takes back what was programmed. An interrupt that is already on its way may still arrive; the kernel
    /// tolerates it.
    fn disarm(&mut self, core: CoreId);

    /// From now on the clock of `core` runs in so many of eight parts of the time and stands in the others, in which the core
    /// does nothing (duty-cycle modulation). A machine without it keeps this body, and its
    /// [`Caps`](solo_model::Caps) don't promise it.
    fn slow(&mut self, _core: CoreId, _duty: DutyCycle) {}
}

/// The interrupt controller.
pub trait InterruptController {
    /// Asks `to` to call [`ipi`](../solo_kernel/struct.Kernel.html) after the machine's latency. Requests
    /// to the same core that have not been served yet may be merged into one.
    fn send_reschedule(&mut self, from: CoreId, to: CoreId, now: Instant);
}

/// Which end of a kernel path a probe marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// The path begins.
    Enter,
    /// The path ends.
    Leave,
}

/// Named probe points around the overhead sources (thesis 2.5).
///
/// Bare metal stamps them with its clock; the simulated machine charges their cost to the core; a machine
/// that does neither leaves the method empty, and it compiles to nothing.
pub trait Probe {
    /// Marks one end of a kernel path on `core`. Paths don't nest, and both ends come from the same entry
    /// into the kernel.
    fn probe(&mut self, core: CoreId, overhead: Overhead, edge: Edge);
}

/// Takes the kernel's records.
pub trait Recorder {
    /// Keeps a record. The machine fills in what only it knows: event counts and stalls of a job.
    fn record(&mut self, core: CoreId, record: Record);
}

//! Sporadic tasks: a device interrupts, or a thread asks, and a job is released; none sooner than the least distance after the one before.
//!
//! ```text
//!   interrupt ──▶ distance has passed: a job is released at once
//!            ├──▶ it has not: held back; an alarm releases the job when it has
//!            └──▶ one is held back already: merged with it
//! ```

use crate::cores::Core;
use crate::kernel::{Kernel, Switch};
use crate::thread::{State, Thread};
use solo_hal::{Edge, Machine};
use solo_model::record::{Admitted, InterruptRecord, SwitchReason};
use solo_model::spacing::Requested;
use solo_model::{CoreId, CoreSet, DeviceId, Instant, Overhead, Record, TaskId, ThreadId};
use solo_schedule::Criterion;

/// An interrupt of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The device.
    pub device: DeviceId,
    /// The sporadic task that it releases.
    pub task: TaskId,
    /// When it was raised.
    pub raised: Instant,
}

impl<C: Criterion> Kernel<C> {
    /// A device interrupts `core`, to release a sporadic task: at once, or when its least distance has passed. An interrupt while
    /// another is held back releases nothing more. Handling it costs what handling a timer interrupt costs.
    ///
    /// The nominal release is when the interrupt was raised, or when the distance has passed.
    pub fn device<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, arrival: Arrival) -> Switch {
        if !self.own.contains(core) {
            return Switch::Idle;
        }
        self.account(core, now);
        m.probe(core, Overhead::Tick, Edge::Enter);
        m.probe(core, Overhead::Tick, Edge::Leave);
        let reason = self.attend_before(m, core, now);
        let Arrival { device, task, raised } = arrival;
        if let Some(admitted) = self.arrives(m, core, now, task, raised) {
            let record = InterruptRecord { at: now, raised, core, device, task, admitted };
            m.record(core, Record::Interrupt(record));
        }
        self.settle(m, core, now, reason)
    }

    /// The thread of `core` asks for a job of a sporadic task, at `at`: it is released then, or as soon as its least distance has passed
    /// ([`Spacing`](solo_model::spacing::Spacing)). Of other tasks nothing is.
    pub fn trigger<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        task: TaskId,
        at: Instant,
    ) -> Switch {
        if self.running(core).is_none() {
            return Switch::Idle;
        }
        self.account(core, now);
        let admitted = self.arrives(m, core, now, task, at);
        if let (Some(Admitted::Held), Some(alarm_core)) = (admitted, self.alarm_core(ThreadId(task.0)))
            && alarm_core != core
        {
            // Its timer has to be set anew.
            self.ask(m, core, now, CoreSet::only(alarm_core));
        }
        self.settle(m, core, now, SwitchReason::Preempted)
    }

    /// What becomes of an interrupt or a request; nothing where no sporadic task waits for it.
    fn arrives<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        task: TaskId,
        raised: Instant,
    ) -> Option<Admitted> {
        let thread = ThreadId(task.0);
        let state = self.threads.get_mut(thread.index()).filter(|state| state.state != State::Exited)?;
        match state.arrivals.as_mut()?.spacing.request(now, raised) {
            Requested::Merged => Some(Admitted::Merged),
            Requested::Kept => {
                set_alarm(&self.threads, &mut self.cores, thread);
                Some(Admitted::Held)
            }
            Requested::Released(due) => {
                m.probe(core, Overhead::Release, Edge::Enter);
                self.release_job(m, core, now, thread, due);
                m.probe(core, Overhead::Release, Edge::Leave);
                Some(Admitted::Released)
            }
        }
    }
}

/// A job of a sporadic task is released at its nominal time `due`, by an alarm or at once: the alarm of the next one is set. Nothing for other
/// tasks.
#[inline(never)] // once, not for each criterion, and out of the way of periodic tasks
pub(crate) fn await_next(threads: &mut [Thread], cores: &mut [Core], thread: ThreadId, due: Instant) {
    if let Some(arrivals) = &mut threads[thread.index()].arrivals {
        // Taken already where it was released at once.
        arrivals.spacing.take_due(due);
        set_alarm(threads, cores, thread);
    }
}

/// Sets the alarm of the next release of a sporadic task.
#[inline(never)] // once, not for each criterion
fn set_alarm(threads: &[Thread], cores: &mut [Core], thread: ThreadId) {
    let state = &threads[thread.index()];
    let Some(arrivals) = &state.arrivals else { return };
    let alarms = &mut cores[state.alarm_core.index()].alarms;
    match arrivals.spacing.due() {
        Some(due) => alarms.set_release(thread, due),
        None => alarms.cancel_release(thread),
    }
}

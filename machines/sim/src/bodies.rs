//! Threads whose work is code that runs elsewhere, in place of steps: a program of a user's whose process waits while time passes here.
//!
//! ```text
//!   core at its next operation ──now──▶ RemoteBody::next ──▶ the code runs, in no time of this machine
//!                              ◀─request─                    until it asks for something that takes time, or for the kernel
//! ```
//!
//! One body runs at a time, in the order of simulated time, ties by core: what they share they find as on one processor.

use crate::core::Activity;
use crate::engine::{Engine, Observer, admissible_bodies, dispatched};
use crate::outcome::{SimError, SimulationEnd};
use crate::source::{RemoteBody, Request, Source};
use crate::stand_ins::StandIns;
use solo_hal::Faults;
use solo_model::check::LONGEST;
use solo_model::{Experiment, ThreadId};
use solo_schedule::Criterion;

/// Runs an experiment whose tasks do `bodies`, in the order of the tasks, in place of their steps. The same answers to the same times
/// give the same records.
///
/// # Errors
/// As [`run`](crate::run); [`SimError::Bodies`] where there are more or fewer of them than tasks.
pub fn run_bodies(
    experiment: &Experiment,
    bodies: Vec<Box<dyn RemoteBody + '_>>,
    observer: &mut dyn Observer,
) -> Result<SimulationEnd, SimError> {
    admissible_bodies(experiment, bodies.len())?;
    dispatched(experiment, &[], Some(bodies), observer, (Faults::default(), StandIns::default()))
}

impl<C: Criterion> Engine<'_, C> {
    /// Lets the body of a thread go on to its next request. False when the kernel was called.
    #[inline(never)]
    pub(crate) fn ask_body(&mut self, index: usize, thread: ThreadId) -> bool {
        let now = self.now_of(index);
        let Source::Body { body, ends_job } = &mut self.threads[thread.index()].source else { return true };
        let request = if *ends_job { Request::WaitNext } else { body.next(now) };
        *ends_job = request == Request::WaitNext;
        match request {
            Request::Compute(length) => {
                self.begin_compute(index, length.min(LONGEST));
                return true;
            }
            Request::WaitNext => {
                let goes_on = self.end_job(index, thread);
                if let Source::Body { ends_job, .. } = &mut self.threads[thread.index()].source {
                    *ends_job = goes_on;
                }
                return goes_on;
            }
            Request::Acquire(lock) => self
                .enter_kernel(index, |kernel, hardware, core, now| kernel.acquire(hardware, core, now, lock)),
            Request::Release(lock) => self
                .enter_kernel(index, |kernel, hardware, core, now| kernel.release(hardware, core, now, lock)),
            Request::Sleep(length) => self.enter_kernel(index, |kernel, hardware, core, now| {
                kernel.sleep(hardware, core, now, length.min(LONGEST))
            }),
            Request::Trigger(task, after) => self.enter_kernel(index, |kernel, hardware, core, now| {
                kernel.trigger(hardware, core, now, task, now + after.min(LONGEST))
            }),
            Request::Exit => self.exit_thread(index, thread),
            Request::Abandon => {
                self.cores[index].activity = Activity::Idle;
                self.abandoned = true;
            }
        }
        false
    }
}

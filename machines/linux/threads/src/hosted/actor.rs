//! A task as a thread under a hosted kernel.

use super::entries::Hosted;
use crate::counted::{Counted, Meter};
use crate::steps::{Calls, Means};
use solo_kernel::Criterion;
use solo_model::{Duration, JobIndex, LockId, TaskId};
use solo_workload::Program;
use std::sync::atomic::{AtomicU64, Ordering};

/// One task's thread.
pub(super) struct Actor<'r, C> {
    pub(super) hosted: &'r Hosted<'r, C>,
    pub(super) task: TaskId,
    pub(super) means: Means<'r>,
    /// What is counted of each job.
    pub(super) counted: Option<&'r Counted>,
    /// Jobs of which not everything was counted all the time.
    pub(super) multiplexed: &'r AtomicU64,
}

impl<C: Criterion> Actor<'_, C> {
    /// Runs jobs until the run is over.
    pub(super) fn run(self, mut program: Program) {
        let Self { hosted, task, means, counted, multiplexed } = self;
        let mut meter = match counted.map(Meter::open).transpose() {
            Ok(meter) => meter,
            Err(error) => return hosted.fail("counters of a thread", error),
        };
        hosted.sit_down(task);
        let mut calls = OfKernel { hosted, task };
        let mut next = hosted.until_chosen(task);
        while let Some(index) = next {
            // What happened since the last job is nobody's.
            drop(meter.as_mut().map(Meter::take));
            program.begin_job(index);
            if !means.perform(&mut program, &mut calls) {
                break;
            }
            let counts = meter.as_mut().map(Meter::take).unwrap_or_default();
            next = hosted.ask(task, |kernel, desk, core, now| {
                desk.counts = counts;
                kernel.wait_next(desk, core, now)
            });
        }
        multiplexed.fetch_add(meter.map_or(0, |meter| meter.multiplexed), Ordering::AcqRel);
    }
}

/// What a job asks of the kernel.
struct OfKernel<'r, C> {
    hosted: &'r Hosted<'r, C>,
    task: TaskId,
}

impl<C: Criterion> Calls for OfKernel<'_, C> {
    fn acquire(&mut self, lock: LockId) -> bool {
        self.goes_on(
            self.hosted.ask(self.task, |kernel, desk, core, now| kernel.acquire(desk, core, now, lock)),
        )
    }

    fn release(&mut self, lock: LockId) -> bool {
        self.goes_on(
            self.hosted.ask(self.task, |kernel, desk, core, now| kernel.release(desk, core, now, lock)),
        )
    }

    fn sleep(&mut self, length: Duration) -> bool {
        self.goes_on(
            self.hosted.ask(self.task, |kernel, desk, core, now| kernel.sleep(desk, core, now, length)),
        )
    }
}

impl<C: Criterion> OfKernel<'_, C> {
    fn goes_on(&self, job: Option<JobIndex>) -> bool {
        job.is_some() && !self.hosted.is_over()
    }
}

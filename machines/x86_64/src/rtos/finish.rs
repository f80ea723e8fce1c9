//! When a run ends, and what is sent then.

use super::ground::last_level;
use super::{OVER, REQUESTS, Rtos, State, mediators};
use crate::arch::apic;
use crate::console::{leave, send};
use crate::memory::{self, RunMemory};
use crate::sync::Guard;
use crate::{cores, say};
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use solo_kernel::{Criterion, Kernel};
use solo_model::experiment::End as Until;
use solo_model::record::DroppedRecord;
use solo_model::task::Release;
use solo_model::{CoreId, Duration, Experiment, Instant, Record, TaskId, ThreadId};
use solo_x86_64::frame::{End, Frame, Killed};
use solo_x86_64::outcome::Outcome;
use solo_x86_64::placement::Memory;

/// A thread that made a mistake.
#[derive(Clone, Copy, Debug)]
pub struct Death {
    /// When it was noticed.
    pub at: Instant,
    /// Where.
    pub core: CoreId,
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub fault: &'static str,
    /// The instruction that did it; 0 where a request failed.
    pub instruction: u64,
    /// The address it could not reach.
    pub address: Option<u64>,
}

/// The jobs that end a run before its time.
#[derive(Clone, Debug)]
pub struct Goal(Vec<(TaskId, u64)>);

impl Goal {
    /// The goal of an experiment, and the end of its run in any case.
    ///
    /// Periodic tasks count; where there are none, all others do, a task that runs once with its one job.
    pub fn of(experiment: &Experiment) -> (Self, Instant) {
        let jobs = match experiment.end {
            Until::At(end) => return (Self(Vec::new()), Instant::ZERO + end),
            Until::Jobs(jobs) => jobs,
        };
        let ids = || (0..).map(TaskId).zip(&experiment.tasks);
        let mut goal: Vec<_> =
            ids().filter(|(_, task)| task.release.period().is_some()).map(|(id, _)| (id, jobs)).collect();
        if goal.is_empty() {
            let needed = |release| if matches!(release, Release::Once { .. }) { jobs.min(1) } else { jobs };
            goal = ids().map(|(id, task)| (id, needed(task.release))).collect();
        }
        let span = |release: Release| {
            let length = release.period().unwrap_or(Duration::ZERO).get().saturating_mul(jobs);
            release.offset().saturating_add(Duration::new(length))
        };
        let slowest = experiment.tasks.iter().filter(|task| task.release.period().is_some());
        let slowest = slowest.map(|task| span(task.release)).max();
        let end = slowest.map_or(u64::MAX / 4, |slowest| slowest.get().saturating_mul(2).min(u64::MAX / 4));
        (Self(goal), Instant::new(end))
    }

    /// True when the jobs are done.
    pub fn reached<C: Criterion>(&self, kernel: &Kernel<C>) -> bool {
        !self.0.is_empty() && self.0.iter().all(|&(task, jobs)| kernel.finished(task) >= jobs)
    }
}

impl<C: Criterion> Rtos<C> {
    /// Ends the run: stops the other cores, sends what was recorded, leaves.
    pub(super) fn finish(&self, mut guard: Guard<'_, State<C>>, now: Instant) -> ! {
        let allocations = memory::allocations() - REQUESTS.load(Ordering::Relaxed);
        OVER.store(true, Ordering::Release);
        apic::send_to_others(apic::REST_VECTOR);
        let state = &mut *guard;
        let at = now.min(state.machine.agenda.end());
        state.kernel.record_unfinished(&mut state.machine, at);
        let records = state.machine.take_records();
        let count = records.len() as u64;
        records.into_iter().for_each(|record| send(&Frame::Record(record)));
        if state.machine.dropped > 0 {
            send(&Frame::Record(Record::Dropped(DroppedRecord { at, count: state.machine.dropped })));
        }
        for death in self.deaths.lock().iter() {
            send(&Frame::Killed(Killed {
                at: death.at,
                core: death.core,
                task: TaskId(death.thread.0),
                fault: String::from(death.fault),
                instruction: death.instruction,
                address: death.address,
            }));
        }
        memory::with_run(|memory| tell_memory(memory, self.colored, allocations));
        let dropped = state.machine.dropped;
        send(&Frame::End(End { at, records: count, dropped, latest_settled_ns: state.latest.get() }));
        say!("{count} records in {at}, {dropped} dropped; the clock stood at {}", mediators::now());
        if crate::run::is_last() {
            leave(Outcome::Done)
        }
        let _ = guard.forget();
        // SAFETY: the guard was forgotten, and this core does nothing more with the kernel.
        unsafe { self.state.release_forgotten() };
        cores::rest()
    }
}

/// Where the run's memory lies; page by page where that was asked for.
#[inline(never)] // once, not for each criterion
fn tell_memory(memory: &RunMemory, colored: bool, allocations: u64) {
    if colored {
        memory.tell(|pages| send(&Frame::Pages(pages)));
    }
    let map = memory.colors();
    send(&Frame::Memory(Memory {
        colors: map.colors().count(),
        banks: map.banks().count(),
        last_level: last_level(),
        shared_out: memory.size(),
        borrowed: memory.borrowed(),
        allocations,
    }));
}

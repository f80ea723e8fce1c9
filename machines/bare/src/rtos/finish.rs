//! When a run ends, and what is sent then.

use super::clock::timebase;
use super::console::send;
use super::cores::Signal;
use super::mediators::{self, Mediators};
use super::port::Port;
use super::{EntryCounts, REQUESTS, REST, Rtos, State, rest, run_memory};
use crate::frame::{self, End, ImageMessage, Killed};
use crate::lock::Guard;
use crate::memory::RunMemory;
use crate::outcome::ImageExit;
use crate::placement::Memory;
use crate::say;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use solo_kernel::{Criterion, Kernel};
use solo_model::record::DroppedRecord;
use solo_model::{CoreId, Duration, Experiment, Instant, Record, TaskId, ThreadId};

/// A thread that made a mistake.
#[derive(Clone, Debug)]
pub struct Death {
    /// When it was noticed.
    pub at: Instant,
    /// Where.
    pub core: CoreId,
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub fault: Cow<'static, str>,
    /// The instruction that did it; 0 where a request failed.
    pub instruction: u64,
    /// The address it could not reach.
    pub address: Option<u64>,
}

/// The jobs that end a run before its time.
#[derive(Clone, Debug)]
pub struct Goal(Vec<(TaskId, u64)>);

/// The end of a run that only jobs end: far beyond what a machine is left on for, and sums with it don't overflow.
const LATEST: u64 = u64::MAX / 4;

impl Goal {
    /// The goal of an experiment, and the end of its run in any case.
    pub fn of(experiment: &Experiment) -> (Self, Instant) {
        let goal = experiment.end.goal(&experiment.tasks);
        let latest = goal.latest.map_or(LATEST, |latest| latest.get().min(LATEST));
        let wanted = (0..).map(TaskId).zip(goal.jobs).filter(|&(_, jobs)| jobs > 0);
        (Self(wanted.collect()), Instant::new(latest))
    }

    /// What `part` of the kernel has to do for it.
    pub(super) fn of_part<C: Criterion>(&self, part: &Kernel<C>) -> Self {
        let own = |&&(task, _): &&(TaskId, u64)| {
            part.alarm_core(ThreadId(task.0)).is_some_and(|core| part.own().contains(core))
        };
        Self(self.0.iter().filter(own).copied().collect())
    }

    /// True where it is not jobs that end the run, or not those of this part.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when the jobs are done.
    pub fn reached<C: Criterion>(&self, kernel: &Kernel<C>) -> bool {
        !self.0.is_empty() && self.0.iter().all(|&(task, jobs)| kernel.finished(task) >= jobs)
    }
}

impl<P: Port, C: Criterion> Rtos<P, C> {
    /// Ends the run: stops the other cores, sends what was recorded, leaves.
    pub(super) fn finish(&self, guard: Guard<'_, P, State<P, C>>, now: Instant) -> ! {
        let allocations = P::heaps().requests() - REQUESTS.load(Ordering::Relaxed);
        if !REST.end() {
            self.leave_for_ever(guard);
        }
        P::signal_others(Signal::Rest);
        let own = usize::from(self.part_of[P::current().index()]);
        let mut own_guard = Some(guard);
        let mut states: Vec<Guard<'_, P, State<P, C>>> = Vec::with_capacity(self.parts.len());
        for (index, part) in self.parts.iter().enumerate() {
            let taken = own_guard.take_if(|_| index == own);
            states.push(taken.unwrap_or_else(|| part.lock()));
        }
        self.report(&mut states, now, allocations);
        if self.common.is_last {
            P::leave(ImageExit::Done)
        }
        // Interrupts stay out: they were when this core entered.
        states.into_iter().for_each(|guard| {
            let part = guard.lock();
            let _ = guard.forget();
            // SAFETY: the guard was forgotten, and this core does nothing more with the kernel.
            unsafe { part.release_forgotten() };
        });
        rest::<P>()
    }

    /// Sends all that was recorded.
    fn report(&self, states: &mut [Guard<'_, P, State<P, C>>], now: Instant, allocations: u64) {
        let end = states[0].machine.agenda.end();
        // Other parts may have gone on for a moment.
        let last = states.iter().filter_map(|state| state.machine.last_at()).fold(now, Instant::max);
        let at = last.min(end);
        let mut machines = Vec::with_capacity(states.len());
        let (mut entries, mut latest) = (EntryCounts::default(), Duration::ZERO);
        for state in states.iter_mut() {
            let state = &mut **state;
            state.machine.silence_devices();
            state.kernel.record_unfinished(&mut state.machine, at);
            latest = latest.max(state.latest);
            entries.all += state.entries.all;
            entries.waited += state.entries.waited;
            entries.longest_ticks = entries.longest_ticks.max(state.entries.longest_ticks);
            machines.push(&mut state.machine);
        }
        let parts = machines.len() as u16;
        let (count, dropped) = send_records(machines, at);
        send_deaths::<P>(&self.common.deaths.lock());
        tell_notes::<P>();
        run_memory::with::<P, _>(|memory| tell_memory(memory, self.common.colored, allocations));
        send::<P>(&ImageMessage::Entries(frame::Entries {
            parts,
            entries: entries.all,
            waited: entries.waited,
            longest: timebase().span(entries.longest_ticks),
        }));
        send::<P>(&ImageMessage::End(End { at, records: count, dropped, latest_settled_ns: latest.get() }));
        say!(P, "{count} records in {at}, {dropped} dropped; the clock stood at {}", mediators::now::<P>());
    }
}

/// Tells the host what threads noted, where the image is a program.
#[inline(never)] // once, not for each criterion
fn tell_notes<P: Port>() {
    if let Some(hooks) = P::shared().hooks() {
        (hooks.tell)();
    }
}

/// Sends the records of all parts in the order of time. How many there were, and how many had been dropped.
#[inline(never)] // once, not for each criterion
fn send_records<P: Port>(machines: Vec<&mut Mediators<P>>, at: Instant) -> (u64, u64) {
    let (mut count, mut dropped) = (0, 0);
    let mut streams = Vec::with_capacity(machines.len());
    for machine in machines {
        dropped += machine.dropped;
        streams.push(machine.take_records().peekable());
    }
    loop {
        let first = streams.iter_mut().enumerate();
        let first = first.filter_map(|(index, stream)| Some((stream.peek()?.at(), index))).min();
        let Some(record) = first.and_then(|(_, index)| streams[index].next()) else { break };
        send::<P>(&ImageMessage::Record(record));
        count += 1;
    }
    if dropped > 0 {
        send::<P>(&ImageMessage::Record(Record::Dropped(DroppedRecord { at, count: dropped })));
    }
    (count, dropped)
}

#[inline(never)] // once, not for each criterion
fn send_deaths<P: Port>(deaths: &[Death]) {
    for death in deaths {
        send::<P>(&ImageMessage::Killed(Killed {
            at: death.at,
            core: death.core,
            task: TaskId(death.thread.0),
            fault: String::from(&*death.fault),
            instruction: death.instruction,
            address: death.address,
        }));
    }
}

/// Where the run's memory lies; page by page where that was asked for.
#[inline(never)] // once, not for each criterion
fn tell_memory<P: Port>(memory: &RunMemory<P>, colored: bool, allocations: u64) {
    if colored {
        memory.tell(|pages| send::<P>(&ImageMessage::Pages(pages)));
    }
    let map = memory.colors();
    send::<P>(&ImageMessage::Memory(Memory {
        colors: map.colors().count(),
        banks: map.banks().count(),
        last_level: P::last_level(),
        shared_out: memory.size(),
        borrowed: memory.borrowed(),
        allocations,
    }));
}

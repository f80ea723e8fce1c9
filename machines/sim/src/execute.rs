//! What the engine does with a core: operations one after the other, until something else happens.

use crate::again::Again;
use crate::agenda::Agent;
use crate::burst::Burst;
use crate::core::{Activity, Watch};
use crate::engine::Engine;
use crate::memory::{AccessKind, PhysicalAddress};
use crate::source::Source;
use solo_hal::PageGroup;
use solo_model::{BufferId, Bytes, Color, CoreId, Duration, JobIndex, Picoseconds, Signal, ThreadId};
use solo_schedule::Criterion;
use solo_workload::{Access, Op, Spread};

impl<C: Criterion> Engine<'_, C> {
    /// Lets a core perform its operations as long as nothing else happens before `horizon`.
    pub(crate) fn execute(&mut self, index: usize, horizon: Picoseconds) {
        self.agenda.touch(index);
        if let Activity::Computing { .. } = self.cores[index].activity {
            let due = self.cores[index].next_action();
            self.settle(index, due);
        }
        if self.overflows(index) {
            return;
        }
        loop {
            match self.cores[index].activity {
                Activity::Fetching => {
                    if !self.step(index) {
                        return;
                    }
                }
                Activity::Computing { .. } => {
                    let until = self.cores[index].next_action();
                    if until >= horizon {
                        return;
                    }
                    self.settle(index, until);
                }
                _ => return,
            }
            if self.overflows(index) {
                return;
            }
            let memory = self.memory.next_event().unwrap_or(Picoseconds::MAX);
            if self.cores[index].next_action() >= horizon.min(memory) {
                return;
            }
        }
    }

    /// Looks whether a counter of the core has reached its number: the core then has an interrupt to take.
    #[inline]
    fn overflows(&mut self, index: usize) -> bool {
        self.cores[index].watch.armed && self.raises_overflow(index)
    }

    #[inline(never)]
    fn raises_overflow(&mut self, index: usize) -> bool {
        let (core, counted) = (&self.cores[index], self.memory.counts(CoreId(index as u16)));
        if !self.hardware.pmu.has_reached(core.id, |event| core.count_of(event, counted)) {
            return false;
        }
        let (id, time, counts) = (core.id, core.time, self.counts(index));
        self.hardware.pmu.observe(id, &counts);
        self.hardware.lines[index].overflow.get_or_insert(time);
        self.watch_counters();
        true
    }

    /// Shows the kernel what all counters stand at.
    pub(crate) fn show_counts(&mut self) {
        for index in 0..self.cores.len() {
            let counts = self.counts(index);
            self.hardware.pmu.observe(CoreId(index as u16), &counts);
        }
    }

    /// Remembers what the kernel has programmed the counters to.
    pub(crate) fn watch_counters(&mut self) {
        self.agenda.touch_all();
        for (index, core) in self.cores.iter_mut().enumerate() {
            let pmu = &self.hardware.pmu;
            core.watch = Watch {
                armed: pmu.is_armed(core.id),
                cycles: pmu.limit(core.id, Signal::Cycles),
                instructions: pmu.limit(core.id, Signal::Instructions),
            };
            if pmu.is_due(core.id) {
                self.hardware.lines[index].overflow.get_or_insert(core.time);
            }
        }
    }

    /// Performs the next operation of the running thread. False when the kernel was called, after which
    /// anything may have changed.
    fn step(&mut self, index: usize) -> bool {
        let Some(thread) = self.cores[index].running else {
            self.cores[index].activity = Activity::Idle;
            return false;
        };
        let context = &mut self.threads[thread.index()];
        if context.at_boundary {
            context.at_boundary = false;
            context.moved = context.may_take_no_time;
            if let Source::Steps(program) = &mut context.source {
                program.begin_job(context.job);
            }
            if self.locks.is_some() {
                self.kernel.begin_job(&mut self.hardware, CoreId(index as u16));
                self.change_locks(index, thread);
            }
        }
        let context = &mut self.threads[thread.index()];
        if let Some(again) = context.again.take() {
            self.go_on(index, thread, again);
            return true;
        }
        if self.comes_first(index, thread) {
            return true;
        }
        let Source::Steps(program) = &mut self.threads[thread.index()].source else {
            return self.ask_body(index, thread);
        };
        match program.next() {
            Some(Op::Compute(length)) => {
                self.begin_compute(index, length);
                true
            }
            Some(Op::Execute { instructions, phase, .. }) => {
                self.compute(index, thread, phase, instructions);
                true
            }
            Some(Op::Access(access)) => {
                self.perform(index, thread, &access);
                true
            }
            Some(Op::Acquire(lock)) => {
                self.enter_kernel(index, |kernel, hardware, core, now| {
                    kernel.acquire(hardware, core, now, lock)
                });
                false
            }
            Some(Op::Release(lock)) => {
                self.enter_kernel(index, |kernel, hardware, core, now| {
                    kernel.release(hardware, core, now, lock)
                });
                false
            }
            Some(Op::Sleep(length)) => {
                self.enter_kernel(index, |kernel, hardware, core, now| {
                    kernel.sleep(hardware, core, now, length)
                });
                false
            }
            Some(Op::Allocate { buffer, size, color }) => self.allocate(index, thread, (buffer, size, color)),
            Some(Op::Free(buffer)) => {
                self.heaps.as_mut().map(|heaps| heaps.give_back(buffer));
                true
            }
            Some(Op::Flush(flush)) => self.begin_flush(index, thread, flush),
            None => self.end_job(index, thread),
        }
    }

    /// Does what comes before the next operation of the program.
    fn go_on(&mut self, index: usize, thread: ThreadId, again: Again) {
        match again {
            Again::Access(access) => self.perform(index, thread, &access),
            Again::Flush => self.go_on_with_flush(index, thread),
        }
    }

    /// Performs an access that comes before the next operation of the thread: what the kernel has yet to touch, pages that are to be locked.
    pub(crate) fn comes_first(&mut self, index: usize, thread: ThreadId) -> bool {
        if let Some(line) = self.kernel_memory.as_mut().and_then(|kernel| kernel.next(CoreId(index as u16))) {
            let access = Access { writes: u32::from(line.writes), ..waited_for(BufferId(0), Bytes::ZERO) };
            self.perform_at(index, thread, &access, line.address);
            return true;
        }
        if let Some((group, at)) = self.loading[index] {
            self.loading[index] = self.load_and_lock(index, thread, group, at);
            return true;
        }
        if let Some((group, at)) = self.threads[thread.index()].locking {
            self.threads[thread.index()].locking = self.load_and_lock(index, thread, group, at);
            return true;
        }
        false
    }

    /// Takes memory for a buffer, in no time; a thread whose heap has none ends.
    #[inline(never)]
    fn allocate(
        &mut self,
        index: usize,
        thread: ThreadId,
        (buffer, size, color): (BufferId, Bytes, Option<Color>),
    ) -> bool {
        let Some(heaps) = &mut self.heaps else { return true };
        match heaps.take(thread, buffer, size, color) {
            Ok(place) => {
                self.spaces.place(buffer, size, place);
                true
            }
            Err(error) => {
                self.exhaust(index, thread, error);
                false
            }
        }
    }

    /// Lets a core compute for so long on a core of the reference's speed.
    pub(crate) fn begin_compute(&mut self, index: usize, length: Duration) {
        let core = &mut self.cores[index];
        let left = core.speed.time(length.picoseconds());
        if !left.is_zero() {
            core.activity = Activity::Computing { left };
        }
    }

    /// Lets a core compute instructions of a phase of the program of `thread`.
    pub(crate) fn compute(&mut self, index: usize, thread: ThreadId, phase: u16, instructions: u64) {
        let (core, source) = (&mut self.cores[index], &self.threads[thread.index()].source);
        if let Some(of) = source.phase(phase) {
            core.begin(Burst::new(&self.experiment.platform, core.id, (phase, of), instructions));
        }
    }

    /// Does to the locked pages what the kernel has asked of a core: unlocks, an instruction a line, and lets `thread` load and
    /// lock before it goes on.
    #[inline(never)]
    fn change_locks(&mut self, index: usize, thread: ThreadId) {
        let Some(locks) = &mut self.locks else { return };
        let asked = &mut self.hardware.asked[index];
        let (unlock, lock) = (asked.unlock.take(), asked.lock.take());
        let lines = unlock.map_or(0, |group| locks.unlock(group, &self.spaces, &mut self.memory));
        self.threads[thread.index()].locking = lock.map(|group| (group, 0));
        let core = &mut self.cores[index];
        let unlocking = core.issue(lines);
        core.spend(unlocking);
    }

    /// A window has begun or ended: what was locked for the last one is unlocked at once. What is the new one's is loaded and locked
    /// before any of its threads goes on with its work, by whoever runs first; a thread that comes before it goes on with that.
    #[inline(never)]
    pub(crate) fn turn_locks(&mut self, index: usize, runs: bool) {
        let Some(locks) = &mut self.locks else { return };
        let asked = &mut self.hardware.asked[index];
        if let Some(group) = asked.unlock.take() {
            let lines = locks.unlock(group, &self.spaces, &mut self.memory);
            if self.loading[index].is_some_and(|(loading, _)| loading == group) {
                self.loading[index] = None;
            }
            let core = &mut self.cores[index];
            let unlocking = core.issue(if runs { lines } else { 0 });
            core.spend(unlocking);
        }
        if let Some(group) = asked.lock.take_if(|_| runs) {
            self.loading[index] = Some((group, 0));
        }
    }

    /// Locks the line that has just been loaded, and loads the next.
    #[inline(never)]
    fn load_and_lock(
        &mut self,
        index: usize,
        thread: ThreadId,
        group: PageGroup,
        at: usize,
    ) -> Option<(PageGroup, usize)> {
        let locks = self.locks.as_mut()?;
        if at > 0 {
            locks.lock(group, at - 1, &self.spaces, &mut self.memory);
        }
        let line = locks.line(group, at);
        if let Some(line) = line {
            // The load and the locking instruction.
            let load = Access { instructions: 2, ..waited_for(line.buffer, line.offset) };
            self.perform(index, thread, &load);
        }
        line.map(|_| (group, at + 1))
    }

    #[inline(never)]
    pub(crate) fn end_job(&mut self, index: usize, thread: ThreadId) -> bool {
        let core = &mut self.cores[index];
        if core.awaits_last(&mut self.hardware.accounts[thread.index()]) {
            return true;
        }
        let context = &mut self.threads[thread.index()];
        if !context.moved {
            // One nanosecond, once a job: the kernel's finest step.
            context.moved = true;
            core.activity = Activity::Computing { left: Picoseconds::new(1_000) };
            return true;
        }
        if let Some(heaps) = &mut self.heaps {
            heaps.end_job(thread);
        }
        if self.locks.is_some() {
            self.kernel.end_job(&mut self.hardware, CoreId(index as u16));
            self.change_locks(index, thread);
        }
        let context = &mut self.threads[thread.index()];
        context.job = JobIndex(context.job.0 + 1);
        context.at_boundary = true;
        self.enter_kernel(index, |kernel, hardware, core, now| kernel.wait_next(hardware, core, now));
        false
    }

    /// Performs the accesses of a group, which all lie in one line.
    fn perform(&mut self, index: usize, thread: ThreadId, access: &Access) {
        self.perform_at(index, thread, access, self.spaces.translate(access.buffer, access.offset));
    }

    /// The same, at the address of the first.
    fn perform_at(&mut self, index: usize, thread: ThreadId, access: &Access, address: PhysicalAddress) {
        let core = &mut self.cores[index];
        let account = &mut self.hardware.accounts[thread.index()];
        if !access.waits && !core.frees_register(account) {
            // The operation is performed again when a register has come free.
            self.threads[thread.index()].again = Some(Again::Access(*access));
            return;
        }
        self.accesses += 1;
        self.threads[thread.index()].moved = true;
        let kind = match access.kind {
            solo_workload::AccessKind::Fetch => AccessKind::Fetch,
            _ if access.writes > 0 => AccessKind::Write,
            _ => AccessKind::Read,
        };
        let answer = self.memory.access(core.id, core.time, address, kind);
        let burst = access.phase.and_then(|number| {
            let phase = self.threads[thread.index()].source.phase(number)?;
            let instructions = u64::from(access.instructions);
            Some(Burst::new(&self.experiment.platform, core.id, (number, phase), instructions))
        });
        core.accept(access, burst, answer, account);
    }
}

/// A load that the core waits for, outside of any program's steps.
const fn waited_for(buffer: BufferId, offset: Bytes) -> Access {
    Access {
        buffer,
        offset,
        kind: solo_workload::AccessKind::Read,
        count: 1,
        writes: 0,
        stride: Bytes::new(1),
        waits: true,
        pipelined: false,
        think: Duration::ZERO,
        instructions: 1,
        phase: None,
        spread: Spread::NONE,
    }
}

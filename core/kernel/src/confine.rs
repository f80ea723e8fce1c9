//! Windows of partitions inside the kernel: at each begin and end of one, threads leave the queue and come into it.

use crate::divide::page_group;
use crate::kernel::Kernel;
use crate::thread::State;
use solo_hal::Machine;
use solo_model::{CoreId, Instant, PartitionId, ThreadId};
use solo_schedule::Criterion;

impl<C: Criterion> Kernel<C> {
    /// Looks whether a window of `core` has begun or ended. True where the core has to decide anew.
    ///
    /// Looks at each thread once.
    #[inline(never)] // nobody else pays for it
    pub(crate) fn turn_window<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let Some(windows) = self.windows.as_deref_mut() else { return false };
        let Some(turned) = windows.turn(core, now) else { return false };
        self.turn_locks(m, core, turned.before, turned.now);
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            let of = |partition: Option<PartitionId>| {
                let windows = self.windows.as_deref();
                partition.is_some_and(|own| windows.is_some_and(|windows| windows.confines(thread, own)))
            };
            if of(turned.before) {
                self.shut_out(core, thread);
            } else if of(turned.now) {
                self.let_in(thread);
            }
        }
        let domain = self.cores[core.index()].domain;
        self.touched |= 1 << domain;
        true
    }

    /// Pages that were locked for the window that ends are unlocked, and those of the one that begins are locked.
    fn turn_locks<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        before: Option<PartitionId>,
        now: Option<PartitionId>,
    ) {
        let Some(locks) = self.caching.as_deref().and_then(|caching| caching.windows.as_ref()) else {
            return;
        };
        if let Some(group) = before.and_then(|partition| locks.group_of_partition(partition)) {
            m.unlock_pages(core, page_group(group));
        }
        if let Some(group) = now.and_then(|partition| locks.group_of_partition(partition)) {
            m.lock_pages(core, page_group(group));
        }
    }

    /// The window of `thread` is over.
    fn shut_out(&mut self, core: CoreId, thread: ThreadId) {
        let state = &mut self.threads[thread.index()];
        if !matches!(state.state, State::Ready | State::Running(_)) {
            return;
        }
        state.state = State::OutsideWindow;
        let domain = state.domain;
        let _ = self.domains[domain].remove(thread);
        if self.cores[core.index()].current == Some(thread)
            && let Some(job) = &mut self.threads[thread.index()].job
        {
            job.displaced = job.start.is_some();
        }
    }

    /// The window of `thread` begins: it keeps its place in line.
    fn let_in(&mut self, thread: ThreadId) {
        if self.threads[thread.index()].state != State::OutsideWindow {
            return;
        }
        let Some(rank) = self.rank(thread) else { return };
        let state = &mut self.threads[thread.index()];
        state.state = State::Ready;
        let domain = state.domain;
        self.domains[domain].insert(thread, rank);
    }
}

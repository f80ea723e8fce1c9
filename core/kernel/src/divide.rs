//! The last-level cache inside the kernel: policies say when, the machine carries it out.

use crate::kernel::Kernel;
use solo_hal::{Machine, PageGroup};
use solo_model::{CoreId, TaskId, ThreadId};
use solo_schedule::Criterion;

impl<C: Criterion> Kernel<C> {
    /// The thread of `core` is about to begin the work of a job: pages that are its own from here on are locked, those of the
    /// partition before it are not any more. A machine without locks need not call it.
    pub fn begin_job<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        let Some(thread) = self.running(core) else { return };
        let windows = self.caching.as_deref_mut().and_then(|caching| caching.windows.as_mut());
        let Some(begin) = windows.and_then(|windows| windows.begin(core, TaskId(thread.0))) else { return };
        if let Some(group) = begin.unlock {
            m.unlock_pages(core, page_group(group));
        }
        m.lock_pages(core, page_group(begin.lock));
    }

    /// The thread of `core` has done the work of its job, and [`wait_next`](Self::wait_next) follows: pages that were locked for
    /// the job are unlocked. A machine without locks need not call it.
    pub fn end_job<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        let Some(thread) = self.running(core) else { return };
        let windows = self.caching.as_deref().and_then(|caching| caching.windows.as_ref());
        if let Some(group) = windows.and_then(|windows| windows.end(TaskId(thread.0))) {
            m.unlock_pages(core, page_group(group));
        }
    }

    /// Another thread is on `core` than `before`: it fills its own ways.
    pub(crate) fn divide_ways<M: Machine>(&mut self, m: &mut M, core: CoreId, before: Option<ThreadId>) {
        let current = self.cores[core.index()].current;
        if current == before {
            return;
        }
        let listening = self.listening.as_deref();
        // What a policy has given goes before what was said in advance.
        let given = current.and_then(|thread| listening?.ways(core, thread));
        let masks = self.caching.as_deref().and_then(|caching| caching.masks.as_ref());
        let said = || masks.map(|masks| masks.of(core, current.map(|thread| TaskId(thread.0))));
        if let Some(mask) = given.or_else(said).or_else(|| listening?.all_ways(core)) {
            m.fill_ways(core, mask);
        }
    }
}

pub(crate) fn page_group(group: usize) -> PageGroup {
    PageGroup(group as u32)
}

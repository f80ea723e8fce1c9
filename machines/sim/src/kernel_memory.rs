//! What the kernel's own paths do to the caches (thesis 6.1: S1 and S2).
//!
//! The cost of a kernel path is in the cost file, accesses included: here they take no time of their own. They
//! bring the kernel's lines into the caches and push others out, and what misses is read from DRAM.
//!
//! ```text
//!   any entry       the core's state and stack
//!   release         the released thread
//!   scheduling      the queue of the core's domain
//!   switch          both threads
//! ```

use crate::hardware::Hardware;
use crate::memory::{AccessKind, Answer, Hierarchy, RequestId};
use crate::space::Spaces;
use solo_model::{Bytes, CoreId, Experiment, Picoseconds, Record};

/// Bytes of kernel state by kind: its own structures, a stack as deep as an entry takes it, and for each thread
/// of a queue a key and a position.
const THREAD: u64 = solo_kernel::THREAD_BYTES.get();
const CORE: u64 = solo_kernel::CORE_BYTES.get();
const STACK: u64 = 512;
const QUEUE_ENTRY: u64 = 32;

/// Where the kernel's data lies, and its requests under way.
pub(crate) struct KernelMemory {
    line: u64,
    threads: u64,
    requests: Vec<RequestId>,
    spaces: Box<[u64]>,
    page: u64,
}

impl KernelMemory {
    /// How much memory the kernel's data takes.
    pub(crate) fn size(experiment: &Experiment) -> Bytes {
        let (threads, cores) = (experiment.tasks.len() as u64, experiment.platform.cores.len() as u64);
        Bytes::new(threads * THREAD + cores * (CORE + STACK + threads * QUEUE_ENTRY))
    }

    /// `None` where the kernel touches nothing.
    pub(crate) fn new(experiment: &Experiment, spaces: &Spaces) -> Option<Self> {
        let wanted = experiment.isolation.memory.as_ref().is_some_and(|memory| memory.kernel_touches);
        let line = experiment.platform.line().get();
        wanted.then(|| Self {
            line,
            threads: experiment.tasks.len() as u64,
            requests: Vec::new(),
            spaces: spaces.kernel_frames().into(),
            page: experiment.platform.page.get(),
        })
    }

    /// Touches what an entry of `core` at `now` has touched, as its records tell.
    pub(crate) fn touch(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        hardware: &Hardware,
        memory: &mut Hierarchy,
    ) {
        let own = self.of_core(core);
        let mut touched = vec![(own, CORE + STACK)];
        for record in hardware.entered_records() {
            match record {
                Record::Release(release) => touched.push((self.of_thread(release.task.0), THREAD)),
                Record::Switch(switch) => {
                    // As deep as a heap of that many threads.
                    let depth = u64::from(u64::BITS - self.threads.leading_zeros());
                    touched.push((own + CORE + STACK, QUEUE_ENTRY * depth));
                    let both = [switch.from, switch.to].into_iter().flatten();
                    touched.extend(both.map(|task| (self.of_thread(task.0), THREAD)));
                }
                _ => {}
            }
        }
        for (from, length) in touched {
            for line in from / self.line..(from + length).div_ceil(self.line) {
                self.access(core, now, line * self.line, memory);
            }
        }
    }

    fn access(&mut self, core: CoreId, now: Picoseconds, offset: u64, memory: &mut Hierarchy) {
        let Some(frame) = self.spaces.get((offset / self.page) as usize) else { return };
        let address = crate::memory::PhysicalAddress(frame * self.page + offset % self.page);
        if let Answer::Miss { request, .. } = memory.access(core, now, address, AccessKind::Write) {
            self.requests.push(request);
        }
    }

    /// True for the answer to a request of the kernel: nobody waits for it.
    pub(crate) fn takes(&mut self, request: RequestId) -> bool {
        let own = self.requests.iter().position(|known| *known == request);
        own.map(|at| self.requests.swap_remove(at)).is_some()
    }

    fn of_thread(&self, task: u32) -> u64 {
        u64::from(task) * THREAD
    }

    fn of_core(&self, core: CoreId) -> u64 {
        let each = CORE + STACK + self.threads * QUEUE_ENTRY;
        self.threads * THREAD + u64::from(core.0) * each
    }
}

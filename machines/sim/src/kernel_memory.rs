//! What the kernel's own paths do to the caches (thesis 6.1: S1 and S2).
//!
//! What they touch is [`Footprint`]'s. It brings the kernel's lines into the caches and pushes others out, and what misses is read from
//! DRAM. Where the costs of kernel paths have misses in them, none of it takes time here. Where they were taken without
//! ([`OverheadTable::without_misses`](solo_model::OverheadTable::without_misses)), the core waits for one line after the other before
//! it goes on with a thread; who idles waits for nothing.

use crate::hardware::Hardware;
use crate::memory::{AccessKind, Answer, Hierarchy, PhysicalAddress, RequestId};
use crate::space::Spaces;
use solo_isolate::{Blocks, Footprint, Stretch};
use solo_kernel::{CORE_BYTES, THREAD_BYTES};
use solo_model::{Bytes, CoreId, Experiment, Picoseconds, Record};
use std::collections::{BTreeSet, VecDeque};

/// What the kernel keeps of a thread and of a core.
pub const KERNEL_BLOCKS: Blocks = Blocks { thread: THREAD_BYTES, core: CORE_BYTES };

/// An access of the kernel that its core waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) address: PhysicalAddress,
    pub(crate) writes: bool,
}

/// Where the kernel's data lies, and its requests under way.
pub(crate) struct KernelMemory {
    footprint: Footprint,
    requests: BTreeSet<RequestId>,
    frames: Box<[u64]>,
    page: u64,
    /// By core, what its kernel has yet to touch before a thread goes on; nothing where that takes no time.
    waiting: Option<Vec<VecDeque<Touch>>>,
}

impl KernelMemory {
    /// How much memory the kernel's data takes.
    pub(crate) fn size(experiment: &Experiment) -> Bytes {
        footprint(experiment).map_or(Bytes::ZERO, |footprint| footprint.size())
    }

    /// `None` where the kernel touches nothing.
    pub(crate) fn new(experiment: &Experiment, spaces: &Spaces) -> Option<Self> {
        let queues = || vec![VecDeque::new(); experiment.platform.cores.len()];
        Some(Self {
            footprint: footprint(experiment)?,
            requests: BTreeSet::new(),
            frames: spaces.kernel_frames().into(),
            page: experiment.platform.page.get(),
            waiting: experiment.overheads.without_misses.then(queues),
        })
    }

    /// Touches what an entry of `core` at `now` has touched, as its records tell; or lets the thread wait for it that goes on.
    pub(crate) fn touch(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        goes_on: bool,
        hardware: &Hardware,
        memory: &mut Hierarchy,
    ) {
        let mut touched: Vec<Stretch> = self.footprint.entry(core).into();
        for record in hardware.entered_records() {
            match record {
                Record::Release(release) => touched.extend(self.footprint.release(release.task)),
                Record::Switch(switch) => {
                    touched.extend(self.footprint.switch(core, [switch.from, switch.to]));
                }
                _ => {}
            }
        }
        let later = self.waiting.as_mut().filter(|_| goes_on).map(|waiting| &mut waiting[core.index()]);
        let mut lines: VecDeque<Touch> = VecDeque::new();
        for stretch in touched {
            for offset in self.footprint.lines_of(stretch) {
                let Some(frame) = self.frames.get((offset / self.page) as usize) else { continue };
                let address = PhysicalAddress(frame * self.page + offset % self.page);
                lines.push_back(Touch { address, writes: stretch.writes });
            }
        }
        match later {
            Some(later) => later.append(&mut lines),
            None => lines.into_iter().for_each(|line| self.access(core, now, line, memory)),
        }
    }

    /// The next line that `core` has to wait for before its thread goes on.
    pub(crate) fn next(&mut self, core: CoreId) -> Option<Touch> {
        self.waiting.as_mut()?.get_mut(core.index())?.pop_front()
    }

    fn access(&mut self, core: CoreId, now: Picoseconds, line: Touch, memory: &mut Hierarchy) {
        let kind = if line.writes { AccessKind::Write } else { AccessKind::Read };
        if let Answer::Miss { request, .. } = memory.access(core, now, line.address, kind) {
            self.requests.insert(request);
        }
    }

    /// True for the answer to a request of the kernel for which nobody waits.
    pub(crate) fn takes(&mut self, request: RequestId) -> bool {
        self.requests.remove(&request)
    }
}

fn footprint(experiment: &Experiment) -> Option<Footprint> {
    let data = experiment.isolation.memory.as_ref()?.kernel_data?;
    Some(Footprint::of(experiment, data, KERNEL_BLOCKS))
}

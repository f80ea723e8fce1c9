//! A scheduling domain: one ready queue and the cores it feeds.

use crate::criterion::Criterion;
use crate::places::{Head, Places, head_index};
use crate::queue::Queue;
use crate::rank::Rank;
use alloc::vec::Vec;
use core::marker::PhantomData;
use solo_model::{CoreId, CoreSet, ThreadId};

/// Where a thread was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whereabouts {
    /// In the ready queue.
    Ready,
    /// On this core.
    Running(CoreId),
    /// Nowhere in this domain.
    Absent,
}

/// What a core does after it has chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Choice {
    /// It goes on with what it ran, or stays idle.
    Keep,
    /// It takes this thread; the one it ran, if any, is back in the queue.
    Take(ThreadId),
    /// It takes none: the one it ran is back in the queue for a core that it suits better, and the one that suits this core has
    /// still to leave another.
    Leave,
}

/// A scheduling domain under criterion `C`: a ready queue and a head for each of its cores.
///
/// A thread is in one place at a time. It leaves a head only when its own core chooses or gives it up, so no
/// other core can take a thread that is still running: a core that must be preempted is named by
/// [`cores_to_ask`](Self::cores_to_ask), and the more urgent thread waits in the queue until that core has
/// chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scheduler<C> {
    cores: CoreSet,
    online: CoreSet,
    heads: Vec<Option<Head>>,
    ready: Queue<Rank>,
    /// Cores that are equally fast, the fastest first, where the most urgent threads are to have these; otherwise none.
    speeds: Vec<CoreSet>,
    criterion: PhantomData<C>,
}

impl<C: Criterion> Scheduler<C> {
    /// A domain of `cores` for threads 0 to `threads` - 1, with all cores offline.
    pub fn new(cores: CoreSet, threads: usize) -> Self {
        Self {
            cores,
            online: CoreSet::EMPTY,
            heads: alloc::vec![None; cores.len()],
            ready: Queue::for_threads(threads),
            speeds: Vec::new(),
            criterion: PhantomData,
        }
    }

    /// The most urgent threads are to have the cores of the first of these sets, those that follow those of the second, and so on; cores
    /// of other domains among them don't matter. Where the criterion does not preempt, or all cores are equal, nothing changes.
    pub fn fastest_first(&mut self, speeds: &[CoreSet]) {
        let own = speeds.iter().map(|equal| equal.and(self.cores)).filter(|equal| !equal.is_empty());
        let own: Vec<CoreSet> = own.collect();
        if C::PREEMPTIVE && own.len() > 1 {
            self.speeds = own;
        }
    }

    /// The cores of the domain.
    pub fn cores(&self) -> CoreSet {
        self.cores
    }

    /// From now on `core` takes threads. Until then it is never asked to.
    pub fn bring_online(&mut self, core: CoreId) {
        self.online = self.online.with(core);
    }

    /// From now on `core` takes no threads, until it is online again. What it runs stays its head: put it back
    /// first.
    pub fn take_offline(&mut self, core: CoreId) {
        self.online = self.online.without(core);
    }

    /// True where `core` takes threads.
    pub fn is_online(&self, core: CoreId) -> bool {
        self.online.contains(core)
    }

    /// What `core` runs; `None` for idle and for a core of another domain.
    pub fn running(&self, core: CoreId) -> Option<Head> {
        self.head_index(core).and_then(|at| self.heads[at])
    }

    /// How many threads wait in the queue.
    pub fn ready_len(&self) -> usize {
        self.ready.len()
    }

    /// The most urgent thread that waits.
    pub(crate) fn first_ready(&self) -> Option<Head> {
        self.ready.first().map(|(rank, thread)| Head { thread, rank })
    }

    /// True where threads move to faster cores when these become free.
    pub fn moves_up(&self) -> bool {
        !self.speeds.is_empty()
    }

    /// Who runs and who waits.
    pub(crate) fn places(&self) -> Places<'_> {
        let (heads, ready, speeds) = (&self.heads, &self.ready, &self.speeds);
        Places { cores: self.cores, heads, online: self.online, ready, speeds }
    }

    /// A thread that waits goes to `core`, which runs none.
    pub(crate) fn take(&mut self, core: CoreId, head: Head) {
        if let Some(at) = self.head_index(core) {
            self.ready.remove(head.thread);
            self.heads[at] = Some(head);
        }
    }

    /// Where `thread` is.
    pub fn place(&self, thread: ThreadId) -> Whereabouts {
        if self.ready.key(thread).is_some() {
            return Whereabouts::Ready;
        }
        self.core_of(thread).map_or(Whereabouts::Absent, Whereabouts::Running)
    }

    /// Puts a thread that became ready into the queue.
    ///
    /// # Panics
    /// If the domain was not built for that many threads.
    pub fn insert(&mut self, thread: ThreadId, rank: Rank) {
        debug_assert!(self.core_of(thread).is_none(), "{thread} becomes ready while it runs");
        self.ready.insert(thread, rank);
    }

    /// Takes `thread` out of the domain, wherever it is, and says where it was. A core that ran it has no
    /// head afterwards and must choose.
    pub fn remove(&mut self, thread: ThreadId) -> Whereabouts {
        if self.ready.remove(thread).is_some() {
            return Whereabouts::Ready;
        }
        match self.core_of(thread) {
            Some(core) => {
                self.vacate(core);
                Whereabouts::Running(core)
            }
            None => Whereabouts::Absent,
        }
    }

    /// Gives `thread` another rank, wherever it is.
    pub fn rerank(&mut self, thread: ThreadId, rank: Rank) {
        if self.ready.key(thread).is_some() {
            self.ready.insert(thread, rank);
        } else if let Some(head) = self.heads.iter_mut().flatten().find(|head| head.thread == thread) {
            head.rank = rank;
        }
    }

    /// Takes from `core` what it runs.
    pub fn vacate(&mut self, core: CoreId) -> Option<Head> {
        let at = self.head_index(core)?;
        self.heads[at].take()
    }

    /// Puts what `core` runs back into the queue with `rank`, so that all ready threads compete for the core.
    pub fn put_back(&mut self, core: CoreId, rank: Rank) {
        if let Some(head) = self.vacate(core) {
            self.ready.insert(head.thread, rank);
        }
    }

    /// The cores that must choose so that the most urgent threads run.
    ///
    /// With the waiting threads in order of urgency and the cores from the least urgent head (an idle core
    /// first), the `k`th core is asked as long as the `k`th waiting thread comes before its head. Among idle
    /// cores `caller` comes first, for it needs no request, then the lowest index. Where the criterion does
    /// not preempt, only idle cores are asked.
    ///
    /// Where threads [move up](Self::moves_up) this is for [`cores_to_change`](Self::cores_to_change) to say.
    pub fn cores_to_ask(&self, caller: CoreId) -> CoreSet {
        let mut asked = CoreSet::EMPTY;
        for (rank, _) in self.ready.in_order() {
            match self.least_urgent(CoreSet::from_bits(self.online.bits() & !asked.bits()), caller) {
                Some((core, None)) => asked = asked.with(core),
                Some((core, Some(head))) if C::PREEMPTIVE && rank < head.rank => asked = asked.with(core),
                _ => break,
            }
        }
        asked
    }

    /// Lets `core` choose: the most urgent waiting thread if that comes before what the core runs.
    /// Where threads [move up](Self::moves_up) this is [`choose_suited`](Self::choose_suited).
    pub fn choose(&mut self, core: CoreId) -> Choice {
        let Some(at) = self.head_index(core) else { return Choice::Keep };
        let Some(first) = self.first_ready() else { return Choice::Keep };
        match self.heads[at] {
            Some(head) if !C::PREEMPTIVE || head.rank <= first.rank => return Choice::Keep,
            Some(head) => self.ready.insert(head.thread, head.rank),
            None => {}
        }
        self.take(core, first);
        Choice::Take(first.thread)
    }

    /// The core of `among` that runs the least urgent thread; an idle one before all.
    fn least_urgent(&self, among: CoreSet, caller: CoreId) -> Option<(CoreId, Option<Head>)> {
        let urgency = |core: CoreId| self.running(core).map(|head| head.rank);
        let least = among.iter().reduce(|least, core| match (urgency(least), urgency(core)) {
            (None, None) if core == caller => core,
            (None, _) => least,
            (Some(_), None) => core,
            (Some(a), Some(b)) => {
                if b > a {
                    core
                } else {
                    least
                }
            }
        })?;
        Some((least, self.running(least)))
    }

    fn core_of(&self, thread: ThreadId) -> Option<CoreId> {
        let runs = |core: &CoreId| self.running(*core).is_some_and(|head| head.thread == thread);
        self.cores.iter().find(runs)
    }

    fn head_index(&self, core: CoreId) -> Option<usize> {
        head_index(self.cores, core)
    }
}

//! Who runs and who waits in a domain, and which cores suit whom where these are of several speeds. No part of any criterion: it stands once.

use crate::queue::Queue;
use crate::rank::Rank;
use solo_model::{CoreId, CoreSet, ThreadId};

/// The thread that a core runs: a *head* of the queue in EPOS's words (thesis 4.2), kept outside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The thread.
    pub thread: ThreadId,
    /// How urgent it is.
    pub rank: Rank,
}

/// Which of the heads of these cores is that of `core`.
#[inline]
pub(crate) fn head_index(cores: CoreSet, core: CoreId) -> Option<usize> {
    let below = CoreSet::first(core.index().min(CoreSet::CAPACITY));
    cores.contains(core).then(|| cores.and(below).len())
}

/// Who runs and who waits in a domain.
pub(crate) struct Places<'s> {
    /// Its cores, and the heads of each.
    pub(crate) cores: CoreSet,
    pub(crate) heads: &'s [Option<Head>],
    /// The cores that take threads.
    pub(crate) online: CoreSet,
    pub(crate) ready: &'s Queue<Rank>,
    /// Cores that are equally fast, the fastest first.
    pub(crate) speeds: &'s [CoreSet],
}

/// All threads that run or wait, the most urgent first.
struct ByUrgency<'s, R> {
    places: &'s Places<'s>,
    /// Cores whose threads have not come yet.
    left: CoreSet,
    ready: R,
    first: Option<Head>,
}

impl<R: Iterator<Item = Head>> Iterator for ByUrgency<'_, R> {
    /// A thread, and the core that it is on.
    type Item = (Head, Option<CoreId>);

    fn next(&mut self) -> Option<Self::Item> {
        let running = self.left.iter().filter_map(|core| Some((self.places.running(core)?, core)));
        let running = running.min_by_key(|(head, _)| head.rank);
        match (running, self.first) {
            (Some((head, core)), first) if first.is_none_or(|first| head.rank < first.rank) => {
                self.left = self.left.without(core);
                Some((head, Some(core)))
            }
            (_, first) => {
                self.first = self.ready.next();
                Some((first?, None))
            }
        }
    }
}

impl Places<'_> {
    fn running(&self, core: CoreId) -> Option<Head> {
        head_index(self.cores, core).and_then(|at| self.heads[at])
    }

    fn by_urgency(&self) -> impl Iterator<Item = (Head, Option<CoreId>)> + '_ {
        let mut ready = self.ready.in_order().map(|(rank, thread)| Head { thread, rank });
        let first = ready.next();
        ByUrgency { places: self, left: self.online, ready, first }
    }

    /// Calls `each` with every core that takes threads and the thread that suits it. Of cores that are equally fast each keeps its thread
    /// where that is one of those for these cores. As many steps as the square of the cores.
    fn suited(&self, each: &mut dyn FnMut(CoreId, Option<Head>)) {
        let mut before = 0;
        for equal in self.speeds {
            let equal = equal.and(self.online);
            let theirs = || self.by_urgency().skip(before).take(equal.len());
            let on = |core: &Option<CoreId>| core.filter(|&core| equal.contains(core));
            let stay = theirs().filter_map(|(_, core)| on(&core)).fold(CoreSet::EMPTY, CoreSet::with);
            stay.iter().for_each(|core| each(core, self.running(core)));
            let mut come = theirs().filter(|(_, core)| on(core).is_none()).map(|(head, _)| head);
            let free = CoreSet::from_bits(equal.bits() & !stay.bits());
            free.iter().for_each(|core| each(core, come.next()));
            before += equal.len();
        }
    }

    /// The cores that would choose something else than they run.
    #[inline(never)]
    pub(crate) fn changes(&self) -> CoreSet {
        let mut asked = CoreSet::EMPTY;
        self.suited(&mut |core, suits| {
            let runs = self.running(core);
            let leaves = runs.is_some() && runs.map(|head| head.thread) != suits.map(|head| head.thread);
            if leaves || suits.is_some_and(|head| self.waits(head)) {
                asked = asked.with(core);
            }
        });
        asked
    }

    /// The thread that suits a core.
    #[inline(never)]
    pub(crate) fn suits(&self, core: CoreId) -> Option<Head> {
        let mut suits = None;
        self.suited(&mut |of, head| {
            if of == core {
                suits = head;
            }
        });
        suits
    }

    pub(crate) fn waits(&self, head: Head) -> bool {
        self.ready.key(head.thread).is_some()
    }
}

//! Cores of several speeds: the most urgent threads have the fastest (Funk, Goossens & Baruah 2001).
//!
//! A thread leaves a core only when that core chooses. So two threads that change places do it in two steps: each core puts its own
//! back, and takes the one that suits it once that one waits.

use crate::criterion::Criterion;
use crate::scheduler::{Choice, Head, Scheduler, Whereabouts};
use solo_model::{CoreId, CoreSet};

/// All threads that run or wait, the most urgent first.
struct ByUrgency<'s, C, R> {
    domain: &'s Scheduler<C>,
    /// Cores whose threads have not come yet.
    left: CoreSet,
    ready: R,
    first: Option<Head>,
}

impl<C: Criterion, R: Iterator<Item = Head>> Iterator for ByUrgency<'_, C, R> {
    /// A thread, and the core that it is on.
    type Item = (Head, Option<CoreId>);

    fn next(&mut self) -> Option<Self::Item> {
        let running = self.left.iter().filter_map(|core| Some((self.domain.running(core)?, core)));
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

impl<C: Criterion> Scheduler<C> {
    fn by_urgency(&self) -> impl Iterator<Item = (Head, Option<CoreId>)> + '_ {
        let left = self.online_cores();
        let mut ready = self.ready_in_order();
        let first = ready.next();
        ByUrgency { domain: self, left, ready, first }
    }

    /// Calls `each` with every core that takes threads and the thread that suits it. Of cores that are equally fast each keeps its thread
    /// where that is one of those for these cores. As many steps as the square of the cores.
    fn suited(&self, mut each: impl FnMut(CoreId, Option<Head>)) {
        let mut before = 0;
        for equal in self.speeds() {
            let equal = equal.and(self.online_cores());
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
    pub(crate) fn cores_to_change(&self) -> CoreSet {
        let mut asked = CoreSet::EMPTY;
        self.suited(|core, suits| {
            let runs = self.running(core);
            let leaves = runs.is_some() && runs.map(|head| head.thread) != suits.map(|head| head.thread);
            if leaves || suits.is_some_and(|head| self.waits(head)) {
                asked = asked.with(core);
            }
        });
        asked
    }

    /// Lets `core` take what suits it, or nothing where that still runs elsewhere.
    pub(crate) fn choose_suited(&mut self, core: CoreId) -> Choice {
        if !self.is_online(core) {
            return Choice::Keep;
        }
        let (mut suits, runs) = (None, self.running(core));
        self.suited(|of, head| {
            if of == core {
                suits = head;
            }
        });
        if runs.map(|head| head.thread) == suits.map(|head| head.thread) {
            return Choice::Keep;
        }
        if let Some(head) = runs {
            self.put_back(core, head.rank);
        }
        match suits.filter(|&head| self.waits(head)) {
            Some(head) => {
                self.take(core, head);
                Choice::Take(head.thread)
            }
            None if runs.is_some() => Choice::Leave,
            None => Choice::Keep,
        }
    }

    fn waits(&self, head: Head) -> bool {
        self.place(head.thread) == Whereabouts::Ready
    }
}

//! Cores of several speeds: the most urgent threads have the fastest (Funk, Goossens & Baruah 2001).
//!
//! A thread leaves a core only when that core chooses. So two threads that change places do it in two steps: each core puts its own
//! back, and takes the one that suits it once that one waits. Who has equal cores pays one test for it: a kernel knows which of the two
//! it is.

use crate::criterion::Criterion;
use crate::scheduler::{Choice, Scheduler};
use solo_model::{CoreId, CoreSet};

impl<C: Criterion> Scheduler<C> {
    /// The cores that must choose where threads [move up](Scheduler::moves_up): those that run a thread which suits another core better, and
    /// those for which the one that suits them waits.
    #[cold]
    pub fn cores_to_change(&self) -> CoreSet {
        self.places().changes()
    }

    /// Lets `core` take what suits it, or nothing where that still runs elsewhere.
    #[cold]
    pub fn choose_suited(&mut self, core: CoreId) -> Choice {
        if !self.is_online(core) {
            return Choice::Keep;
        }
        let (suits, runs) = (self.places().suits(core), self.running(core));
        if runs.map(|head| head.thread) == suits.map(|head| head.thread) {
            return Choice::Keep;
        }
        if let Some(head) = runs {
            self.put_back(core, head.rank);
        }
        match suits.filter(|&head| self.places().waits(head)) {
            Some(head) => {
                self.take(core, head);
                Choice::Take(head.thread)
            }
            None if runs.is_some() => Choice::Leave,
            None => Choice::Keep,
        }
    }
}

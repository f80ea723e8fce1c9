//! What cores have in common while they are regulated: gifts, and who is exhausted.
//!
//! The pool is the one owner of all of that. A core keeps its own counters, limit and throttle, and reaches the pool by the
//! calls below only: it gives, it asks, it says that it has something to run or that it is throttled. Where nothing is
//! shared (see [`Config::joined`](super::Config::joined)) cores never need a pool in common, and each part of a kernel has its own.

use super::direction::{Direction, PerDirection};
use alloc::vec::Vec;
use solo_model::{CoreId, CoreSet, Events};

/// Gifts and exhausted cores of a period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pool {
    /// What was given to whoever needs it, and not taken yet.
    common: PerDirection<Events>,
    /// What each core offers its peers, and nobody has taken yet.
    offers: Vec<PerDirection<Events>>,
    /// Cores that have something to run.
    active: CoreSet,
    /// Cores that are throttled in this period.
    throttled: CoreSet,
    /// Nobody is regulated until the period ends.
    released: bool,
}

impl Pool {
    pub(super) fn new(cores: usize) -> Self {
        Self {
            common: PerDirection::default(),
            offers: alloc::vec![PerDirection::default(); cores],
            active: CoreSet::EMPTY,
            throttled: CoreSet::EMPTY,
            released: false,
        }
    }

    /// A period begins: gifts are void, for nothing carries over, and nobody is throttled.
    pub(super) fn open(&mut self) {
        self.common = PerDirection::default();
        self.offers.iter_mut().for_each(|offer| *offer = PerDirection::default());
        self.throttled = CoreSet::EMPTY;
        self.released = false;
    }

    /// A gift to whoever needs it.
    pub(super) fn give(&mut self, direction: Direction, gift: Events) {
        self.common[direction] += gift;
    }

    /// As much of `wanted` as there is.
    pub(super) fn ask(&mut self, direction: Direction, wanted: Events) -> Events {
        let granted = wanted.min(self.common[direction]);
        self.common[direction] -= granted;
        granted
    }

    /// A gift that peers may take whole.
    pub(super) fn offer(&mut self, core: CoreId, direction: Direction, gift: Events) {
        self.offers[core.index()][direction] = gift;
    }

    /// What `core` offered and nobody has taken.
    pub(super) fn take_back(&mut self, core: CoreId, direction: Direction) -> Events {
        core::mem::take(&mut self.offers[core.index()][direction])
    }

    /// The whole gift of one core after the other, until they are more than `enough`.
    pub(super) fn take_from_peers(&mut self, direction: Direction, enough: Events) -> Events {
        let mut taken = Events::ZERO;
        for offer in &mut self.offers {
            if taken > enough {
                break;
            }
            taken += core::mem::take(&mut offer[direction]);
        }
        taken
    }

    /// Gifts that nobody has taken yet.
    pub(super) fn unclaimed(&self, direction: Direction) -> Events {
        self.common[direction] + self.offers.iter().map(|offer| offer[direction]).sum::<Events>()
    }

    /// `core` has something to run, or nothing.
    pub(super) fn set_active(&mut self, core: CoreId, active: bool) {
        self.active = if active { self.active.with(core) } else { self.active.without(core) };
    }

    /// Cores that have something to run.
    pub(super) fn active(&self) -> CoreSet {
        self.active
    }

    /// `core` has used up what it may.
    pub(super) fn throttle(&mut self, core: CoreId) {
        self.throttled = self.throttled.with(core);
    }

    /// Cores that are throttled in this period.
    pub(super) fn throttled(&self) -> CoreSet {
        self.throttled
    }

    /// True where every core of `regulated` that has something to run is throttled, and there is one. Idle cores don't
    /// count: a module of 2022 counts them, so that its sharing hardly ever begins.
    pub(super) fn all_exhausted(&self, regulated: CoreSet) -> bool {
        let active = self.active.and(regulated);
        !active.is_empty() && active.and(self.throttled) == active
    }

    /// Nobody is regulated until the period ends.
    pub(super) fn release(&mut self) {
        self.released = true;
        self.throttled = CoreSet::EMPTY;
    }

    pub(super) fn is_released(&self) -> bool {
        self.released
    }
}

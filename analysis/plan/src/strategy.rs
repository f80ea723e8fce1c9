//! Who decides what a request leaves open.
//!
//! Every decision of a plan is a method here, and nowhere else. What a method answers by itself is the default of the program,
//! so that another strategy says only what it does otherwise.

use crate::rationale::Rule;
use solo_isolate::banks;
use solo_isolate::capacity::written_back;
use solo_model::isolation::{
    Counted, Donation, Fallback, LockTime, Prediction, Reclaim, Sharing, WrongDonation,
};
use solo_model::policy::Timing;
use solo_model::task::Release;
use solo_model::{Bandwidth, Criterion, Duration, EventId, Events, OverheadTable, Platform, TaskClass};

/// A decision and its rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Because<T> {
    /// What is decided.
    pub value: T,
    /// By which rule.
    pub rule: Rule,
}

impl<T> Because<T> {
    /// A decision by a rule.
    pub const fn new(value: T, rule: Rule) -> Self {
        Self { value, rule }
    }
}

const fn convention<T>(value: T) -> Because<T> {
    Because { value, rule: Rule::Convention }
}

/// Decides what a request leaves open.
pub trait Strategy {
    /// The source of all randomness.
    fn seed(&self) -> Because<u64> {
        convention(1)
    }

    /// The interval at which counters are sampled.
    fn sample(&self) -> Because<Duration> {
        convention(Duration::from_millis(1))
    }

    /// The quantum of a criterion; `None` for one that has none. Round robin after thesis 8.4; how often least laxity first
    /// compares laxities while nothing else happens is a convention.
    fn quantum(&self, criterion: Criterion) -> Option<Because<Duration>> {
        let (usual, source) = criterion.facts().quantum?;
        Some(Because::new(usual, source.map_or(Rule::Criterion(criterion), Rule::Published)))
    }

    /// How the kernel learns of time.
    fn timing(&self) -> Because<Timing> {
        convention(Timing::OneShot)
    }

    /// What kernel paths cost.
    fn overheads(&self) -> Because<OverheadTable> {
        convention(OverheadTable::free())
    }

    /// When jobs of a task of this class are released, first at `offset`, where nothing is said; `None` where it has to be said.
    fn release(&self, class: TaskClass, offset: Duration) -> Option<Because<Release>> {
        match class {
            TaskClass::BestEffort => {
                Some(Because::new(Release::Continuous { offset }, Rule::Class(TaskClass::BestEffort)))
            }
            TaskClass::Hard | TaskClass::Soft => None,
        }
    }

    /// What a task of this class gives away of its core's budget.
    fn donation(&self, class: TaskClass) -> Because<Donation> {
        let value = match class {
            TaskClass::Hard => Donation::Nothing,
            TaskClass::Soft | TaskClass::BestEffort => Donation::Surplus,
        };
        Because::new(value, Rule::Class(class))
    }

    /// The regulation period.
    fn regulation_period(&self) -> Because<Duration> {
        convention(Duration::from_millis(1))
    }

    /// What budgets count.
    fn counted(&self) -> Because<Counted> {
        convention(Counted::One(EventId::LLC_MISSES))
    }

    /// What memory guarantees of what is counted: what was measured of the chip, else what its timing promises.
    fn guaranteed(&self, platform: &Platform, counted: Counted) -> Because<Bandwidth> {
        let measured = match counted {
            Counted::ReadsAndWrites => platform.dram.guaranteed_with_writes,
            Counted::One(_) => platform.dram.guaranteed,
        };
        let computed = || match counted {
            Counted::ReadsAndWrites => written_back(platform),
            Counted::One(_) => banks::row_miss_rate(&platform.dram, 1, platform.line()),
        };
        match measured {
            Some(rate) => Because::new(rate, Rule::Measured),
            None => Because::new(computed(), Rule::RowMisses),
        }
    }

    /// What happens when all active cores are exhausted.
    fn sharing(&self) -> Because<Sharing> {
        convention(Sharing::None)
    }

    /// Who may use what is not used.
    fn reclaim(&self) -> Because<Reclaim> {
        convention(Reclaim::Off)
    }

    /// How use is predicted.
    fn prediction(&self) -> Because<Prediction> {
        convention(Prediction::EwmaHalf)
    }

    /// The least that a core asks for when it needs more than its budget.
    fn reclaim_quantum(&self) -> Because<Events> {
        convention(Events::new(1000))
    }

    /// What becomes of a core that gave too much away.
    fn wrong_donation(&self) -> Because<WrongDonation> {
        convention(WrongDonation::Overdraw)
    }

    /// What happens when the colors of a task are exhausted.
    fn fallback(&self) -> Because<Fallback> {
        convention(Fallback::Fail)
    }

    /// When pages are locked.
    fn lock_time(&self) -> Because<LockTime> {
        convention(LockTime::Boot)
    }
}

/// What the program does unless told otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Defaults;

impl Strategy for Defaults {}

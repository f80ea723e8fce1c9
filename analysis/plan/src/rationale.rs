//! Why an experiment is as it is: each decision that a request leaves open, as data.

use crate::request::Partitioner;
use core::fmt;
use solo_model::isolation::{
    Counted, Donation, Fallback, LockTime, Prediction, Reclaim, Sharing, WrongDonation,
};
use solo_model::names::{Explain, TaskNames, called};
use solo_model::policy::Timing;
use solo_model::task::Release;
use solo_model::text::counted;
use solo_model::{Bandwidth, CoreId, Criterion, Duration, Events, TaskClass, TaskId};

/// One decision.
#[derive(Clone, PartialEq, Debug)]
pub struct Reason {
    /// For whom.
    pub of: Of,
    /// What.
    pub what: Decided,
    /// Why.
    pub rule: Rule,
}

/// Whom a decision is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// The run.
    Run,
    /// The scheduler.
    Scheduler,
    /// Bandwidth regulation.
    Bandwidth,
    /// The memory of all tasks.
    Memory,
    /// Locked pages.
    Lockdown,
    /// So many tasks of one pattern.
    Tasks {
        /// The first.
        first: TaskId,
        /// How many.
        count: u32,
    },
}

/// What was decided.
#[derive(Clone, PartialEq, Debug)]
pub enum Decided {
    /// The seed.
    Seed(u64),
    /// The interval of counter samples.
    Sample(Duration),
    /// The time slice, or the interval at which laxities are compared.
    Quantum(Duration),
    /// Ticks, or a timer for each event.
    Timing(Timing),
    /// What kernel paths cost.
    Overheads {
        /// Nothing.
        free: bool,
    },
    /// When jobs are released.
    Release(Release),
    /// The core of a task.
    Core(CoreId),
    /// What a task gives away of its core's budget.
    Donation(Donation),
    /// The regulation period.
    RegulationPeriod(Duration),
    /// What is counted.
    Counted(Counted),
    /// What memory guarantees of what is counted.
    Guaranteed(Bandwidth),
    /// Who goes on when all are exhausted.
    Sharing(Sharing),
    /// Who may use what is not used.
    Reclaim(Reclaim),
    /// How use is predicted.
    Prediction(Prediction),
    /// The least that is asked for.
    ReclaimQuantum(Events),
    /// What becomes of a core that gave too much away.
    WrongDonation(WrongDonation),
    /// What happens when colors are exhausted.
    Fallback(Fallback),
    /// When pages are locked.
    LockTime(LockTime),
    /// Which pages of a task are locked: so many.
    LockedPages {
        /// How many.
        pages: u64,
    },
}

/// The rule that a decision follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// What this program does unless told otherwise; `docs/scenario.md` has the value.
    Convention,
    /// What was published: where.
    Published(&'static str),
    /// What tasks of this class do.
    Class(TaskClass),
    /// What this criterion needs.
    Criterion(Criterion),
    /// What was measured of the chip, as its platform file says.
    Measured,
    /// What the timing of the memory promises when each access opens a row.
    RowMisses,
    /// A heuristic of bin packing: of tasks, with the exact test of the policy as the size of a core, or of groups of tasks that
    /// share colors.
    Packed(Partitioner),
    /// The pages that are accessed most, each in the color that has most room.
    MostAccessed,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Convention => f.write_str("the default"),
            Self::Published(place) => write!(f, "the default, after {place}"),
            Self::Class(TaskClass::Hard) => f.write_str("the default of hard tasks"),
            Self::Class(TaskClass::Soft) => f.write_str("the default of soft tasks"),
            Self::Class(TaskClass::BestEffort) => f.write_str("the default of best-effort tasks"),
            Self::Criterion(criterion) => write!(f, "the default of {}", criterion.name()),
            Self::Measured => f.write_str("measured of the chip"),
            Self::RowMisses => f.write_str("by the memory's timing, if each access opens a row"),
            Self::Packed(partitioner) => write!(f, "by {}", partitioner.name()),
            Self::MostAccessed => {
                f.write_str("those accessed most, each in the color of the task with most room")
            }
        }
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed) => write!(f, "seed {seed}"),
            Self::Sample(every) => write!(f, "counters are sampled each {every}"),
            Self::Quantum(quantum) => write!(f, "quantum {quantum}"),
            Self::Timing(Timing::OneShot) => f.write_str("the timer is programmed for the next event"),
            Self::Timing(Timing::Tick(tick)) => write!(f, "the timer ticks each {tick}"),
            Self::Overheads { free: true } => f.write_str("kernel paths take no time"),
            Self::Overheads { free: false } => f.write_str("kernel paths take time"),
            Self::Release(Release::Continuous { .. }) => f.write_str("its next job follows when one is done"),
            Self::Release(Release::Once { .. }) => f.write_str("it has one job"),
            Self::Release(Release::Sporadic { distance }) => {
                write!(f, "a device releases its jobs, {distance} apart at least")
            }
            Self::Release(Release::Periodic { period, .. }) => write!(f, "it has a job each {period}"),
            Self::Core(core) => write!(f, "it runs on {core}"),
            Self::Donation(Donation::Nothing) => f.write_str("it gives nothing of its budget away"),
            Self::Donation(Donation::Surplus) => f.write_str("it gives the surplus of its budget away"),
            Self::Donation(Donation::Everything) => f.write_str("it gives its whole budget away"),
            Self::RegulationPeriod(period) => write!(f, "regulation period {period}"),
            Self::Counted(Counted::ReadsAndWrites) => f.write_str("reads and writes are counted"),
            Self::Counted(Counted::One(event)) => {
                write!(f, "{} are counted", event.canonical().map_or("events", |known| &known.name))
            }
            Self::Guaranteed(rate) => write!(f, "memory guarantees {rate}"),
            Self::Sharing(Sharing::None) => f.write_str("exhausted cores wait for the next period"),
            Self::Sharing(Sharing::Spare) => f.write_str("spare time is shared"),
            Self::Sharing(Sharing::Proportional) => f.write_str("spare time is divided like the budgets"),
            Self::Reclaim(Reclaim::Off) => f.write_str("unused budget is nobody's"),
            Self::Reclaim(Reclaim::Pool) => f.write_str("unused budget goes into a pool"),
            Self::Reclaim(Reclaim::Peers) => f.write_str("unused budget goes from core to core"),
            Self::Prediction(Prediction::EwmaHalf) => {
                f.write_str("use is predicted by a mean, half the last")
            }
            Self::Prediction(Prediction::EwmaQuarter) => {
                f.write_str("use is predicted by a mean, a quarter the last")
            }
            Self::Prediction(Prediction::Lms) => f.write_str("use is predicted by a filter of four periods"),
            Self::Prediction(Prediction::Oracle(_)) => f.write_str("use is known before"),
            Self::ReclaimQuantum(events) => {
                write!(f, "a core asks for at least {}", counted(events.get(), "event"))
            }
            Self::WrongDonation(WrongDonation::Overdraw) => {
                f.write_str("a core that gave too much away goes on")
            }
            Self::WrongDonation(WrongDonation::Throttle) => {
                f.write_str("a core that gave too much away is stopped")
            }
            Self::Fallback(Fallback::Fail) => f.write_str("where its colors are exhausted, a request fails"),
            Self::Fallback(Fallback::Borrow) => {
                f.write_str("where its colors are exhausted, a request borrows another page")
            }
            Self::LockTime(LockTime::Boot) => f.write_str("pages are locked before the run"),
            Self::LockTime(LockTime::Task) => f.write_str("pages are locked by a task's first job"),
            Self::LockTime(LockTime::Job) => f.write_str("pages are locked by each job"),
            Self::LockTime(LockTime::Partition) => f.write_str("pages are locked in a partition's windows"),
            Self::LockedPages { pages } => write!(f, "{pages} pages are locked"),
        }
    }
}

impl Explain for Reason {
    fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Of::Tasks { first, count: ..=1 } => write!(f, "{}: ", called(names, first))?,
            Of::Tasks { first, count } => write!(f, "{} and {} like it: ", called(names, first), count - 1)?,
            Of::Run | Of::Scheduler | Of::Bandwidth | Of::Memory | Of::Lockdown => {}
        }
        write!(f, "{} ({})", self.what, self.rule)
    }
}

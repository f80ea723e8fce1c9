//! What other cores and budgets add to the time of a job (single-core equivalence, SCE 3.2 and 4).
//!
//! ```text
//!   C, mu            measured alone: the execution time and the misses of a job
//!   Q, P             the misses that a core may cause in a regulation period
//!   L                what a miss occupies memory for at most, with the line that it pushes out
//!   O = sum (Q + f)  what other cores may cause in a period, with misses under way, and devices with theirs
//! ```
//!
//! Two bounds hold, and the smaller counts. A regulation period in which the core uses its budget up costs all of P, and takes Q
//! misses. In the other periods memory that serves others is not idle: in a window of w nanoseconds it serves them for
//! `(ceil(w / P) + 1) O L` at most, whatever the order of requests ([`View::Shared`]), and a miss that waits for nobody takes L. So each
//! miss is charged `max((P - O L) / Q, L)`, for what others take in the periods that the budget costs is counted already. Or a
//! request waits for what others may cause in two periods at most ([`View::Requests`]), `max(P / Q, (2 O + 1) L)`, which is less where a job misses
//! seldom. Charges are in proportion, so that a budget that several jobs use up together is covered.
//!
//! The paper's own equation 1 divides memory evenly among cores that are served in turn; controllers that let row hits overtake
//! don't serve in turn, and nothing of it is supposed here.

mod apart;

use super::costs::Costs;
use super::locking::locks_by_clock;
use crate::task::{Task, Ticks};
use crate::wcet::longest_transaction;
use apart::{apart, users};
use solo_isolate::capacity::{capacity, written_back};
use solo_isolate::regulator::{Allowance, Machine};
use solo_model::isolation::{Counted, LockTime, Regulation};
use solo_model::policy::Timing;
use solo_model::{CoreId, Device, EventId, Experiment, Picoseconds};

/// Why what budgets do to a task is not bounded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unbounded {
    /// By this key of the scenario a core may use more than its own budget, or at other times.
    Key(&'static str),
    /// What is counted is not misses of the last level.
    Counted,
    /// A prefetcher causes misses that no job has.
    Prefetcher,
    /// The kernel's own accesses use up budgets, and no job has them.
    KernelData,
    /// Pages are loaded and locked while jobs run.
    LockedLater,
    /// Releases and the ends of periods wait for ticks.
    Ticks,
    /// Several cores share a queue.
    Queue,
    /// Tasks run on the SMT sibling of the core.
    Sibling,
    /// This task is a program of the host's: which memory it uses is not known.
    Command(usize),
    /// Cores share a bus that is not the memory's.
    Bus,
    /// Tasks of this core use memory, and it has no budget.
    NoBudget(CoreId),
    /// This task uses memory and does not say how often it misses.
    NoMisses(usize),
    /// This task and that one, on another core, may evict each other's lines from a cache.
    Cache(usize, usize),
    /// The same, with ways of their own: what replaces lines there remembers whose line was used last in all ways together.
    Replacement(usize, usize),
    /// This task and that one, on another core, use the same buffer.
    Data(usize, usize),
    /// Nothing is reserved for this device, and so nothing holds it.
    Device(String),
    /// This device writes into a buffer that this task uses: its misses measured alone are not all.
    Input(String, usize),
}

/// What holds of a system whose cores keep to budgets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Interference {
    /// The regulation period in nanoseconds.
    period: u64,
    /// What one miss occupies memory for at most, in picoseconds.
    longest: u64,
    /// Misses that may be under way on a core.
    in_flight: u64,
    /// By core, the misses that it may cause in a period.
    budgets: Vec<Option<u64>>,
    /// Transactions of all devices in a period at most, with those under way.
    devices: u64,
}

/// Which of the two bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    /// Memory that serves others takes time from the whole core.
    Shared,
    /// Each miss waits for others.
    Requests,
}

/// What memory adds on one core, in one view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Added {
    period: u64,
    longest: u64,
    in_flight: u64,
    budget: u64,
    others: u64,
    view: View,
}

/// The longest time, in picoseconds, that memory takes for a transaction, reads and lines written back alike: `L_max = S_line / BW_min`
/// (SCE 3.2), by what the scenario says that memory guarantees, and no more than the platform's own.
pub fn longest(experiment: &Experiment, regulation: &Regulation) -> Picoseconds {
    let platform = &experiment.platform;
    let rate = capacity(regulation, &experiment.tasks).rate.min(written_back(platform));
    longest_transaction(platform.line(), rate).unwrap_or(Picoseconds::MAX)
}

/// Whether no core can have more than its own budget, and why not.
///
/// # Errors
/// What stands in the way.
pub fn strict(experiment: &Experiment, regulation: &Regulation) -> Result<(), Unbounded> {
    if let Some(key) = regulation.loosened_by() {
        return Err(Unbounded::Key(key));
    }
    if regulation.counted != Counted::One(EventId::LLC_MISSES) {
        return Err(Unbounded::Counted);
    }
    if experiment.platform.prefetcher.is_some_and(|prefetcher| prefetcher.on) {
        return Err(Unbounded::Prefetcher);
    }
    if experiment.isolation.memory.as_ref().is_some_and(|memory| memory.kernel_data.is_some()) {
        return Err(Unbounded::KernelData);
    }
    let lockdown = experiment.isolation.lockdown.as_ref();
    if lockdown.is_some_and(|lockdown| lockdown.when != LockTime::Boot) && !locks_by_clock(experiment) {
        return Err(Unbounded::LockedLater);
    }
    Ok(())
}

impl Interference {
    /// What holds of an experiment with budgets.
    ///
    /// # Errors
    /// Why nothing does.
    pub(super) fn of(experiment: &Experiment, regulation: &Regulation) -> Result<Self, Unbounded> {
        strict(experiment, regulation)?;
        if regulation.tasks.iter().any(|task| task.budget.is_some()) {
            return Err(Unbounded::Key("budget"));
        }
        if experiment.policy.timing != Timing::OneShot {
            return Err(Unbounded::Ticks);
        }
        if experiment.platform.bus.is_some() {
            return Err(Unbounded::Bus);
        }
        let users = users(experiment)?;
        let machine = Machine::of(&experiment.platform);
        let mut budgets = vec![None; machine.cores];
        for entry in &regulation.cores {
            let allowed = Allowance::of(entry.budget, regulation, machine.line);
            let Allowance::Fixed { events, .. } = allowed else { return Err(Unbounded::Key("weight")) };
            if let Some(place) = budgets.get_mut(entry.core.index()) {
                *place = Some(events.get());
            }
        }
        for &(_, core) in &users {
            if budgets.get(core.index()).copied().flatten().is_none() {
                return Err(Unbounded::NoBudget(core));
            }
        }
        apart(experiment, &users)?;
        let devices = of_devices(experiment, regulation, &users)?;
        // A line that is read may push a modified one out.
        let transfers = regulation.transfers(&experiment.tasks);
        let longest = longest(experiment, regulation).get().saturating_mul(transfers);
        Ok(Self {
            period: regulation.period.get().max(1),
            longest,
            in_flight: machine.in_flight.get(),
            budgets,
            devices,
        })
    }

    /// What it adds on a core; nothing on one without a budget: none of its tasks uses memory.
    pub(super) fn on(&self, core: CoreId, view: View) -> Option<Added> {
        let budget = self.budgets.get(core.index()).copied().flatten()?;
        let others = self.budgets.iter().enumerate().filter(|(at, _)| *at != core.index());
        // A part of an event that is left over may be one more.
        let each = |budget: u64| budget.saturating_add(self.in_flight).saturating_add(1);
        let others =
            others.filter_map(|(_, &budget)| budget).map(each).fold(self.devices, u64::saturating_add);
        let Self { period, longest, in_flight, .. } = *self;
        Some(Added { period, longest, in_flight, budget, others, view })
    }
}

/// What devices may cause in a regulation period, wherever it begins, each held to what is reserved for it.
fn of_devices(
    experiment: &Experiment,
    regulation: &Regulation,
    users: &[(usize, CoreId)],
) -> Result<u64, Unbounded> {
    let waiting = (Device::READS_UNDER_WAY as u64).max(u64::from(experiment.platform.dram.queue));
    let mut all: u64 = 0;
    for device in &experiment.devices {
        let name = || device.name.clone();
        let held = regulation.reserved_for(&device.name).is_some();
        let within = experiment.pace(device).within(regulation.period).filter(|_| held);
        let most = within.ok_or_else(|| Unbounded::Device(name()))?;
        let uses = |&&(task, _): &&(usize, CoreId)| experiment.tasks[task].work.touches(device.buffer);
        if let Some(&(task, _)) = users.iter().find(uses).filter(|_| device.writes()) {
            return Err(Unbounded::Input(name(), task));
        }
        all = all.saturating_add(most).saturating_add(waiting);
    }
    Ok(all)
}

impl Added {
    /// What is charged to jobs that miss so often, in nanoseconds rounded up.
    pub(super) fn charge(&self, misses: u64) -> u64 {
        let (misses, longest) = (u128::from(misses), u128::from(self.longest));
        let period = u128::from(self.period) * 1000;
        if misses == 0 {
            return 0;
        }
        if self.budget == 0 {
            return u64::MAX;
        }
        let others = u128::from(self.others).saturating_mul(longest);
        let (stopped, each) = match self.view {
            View::Shared => (period.saturating_sub(others), longest),
            View::Requests => (period, others.saturating_mul(2).saturating_add(longest)),
        };
        let stopped = misses.saturating_mul(stopped).div_ceil(u128::from(self.budget));
        nanoseconds(stopped.max(misses.saturating_mul(each)))
    }

    /// What delays each busy period once: a budget that was spent before, misses under way when it began, and what others may cause
    /// in one period more than the window has.
    pub(super) fn blocking(&self) -> u64 {
        self.spent().saturating_add(self.others().map_or(0, |task| task.c()))
    }

    /// What a budget costs that others of the core have spent, with the misses that they left under way.
    pub(super) fn spent(&self) -> u64 {
        self.period.saturating_add(self.charge(self.in_flight))
    }

    /// Memory that serves others, as a task that comes before all.
    pub(super) fn others(&self) -> Option<Task> {
        let time = nanoseconds(u128::from(self.others) * u128::from(self.longest));
        let limit = Ticks::LIMIT.get();
        let period = self.period.min(limit);
        (self.view == View::Shared && time > 0).then(|| Task::new(time.min(limit), period, period))
    }

    /// The kernel's own part in each period: the core is stopped, and goes on.
    pub(super) fn kernel(&self, costs: &Costs) -> Option<Task> {
        let (time, period) = (costs.of_a_stop(), self.period.min(Ticks::LIMIT.get()));
        (time > 0).then(|| Task::new(time, period, period))
    }
}

fn nanoseconds(picoseconds: u128) -> u64 {
    u64::try_from(picoseconds.div_ceil(1000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cores of 100 and 200 misses in 100 us; a miss takes 80 ns at most, and 8 may be under way.
    fn pair() -> Interference {
        Interference {
            period: 100_000,
            longest: 80_000,
            in_flight: 8,
            budgets: vec![Some(100), Some(200), None],
            devices: 0,
        }
    }

    #[test]
    fn misses_use_up_budgets_and_wait_for_memory_that_serves_others() {
        let shared = pair().on(CoreId(0), View::Shared).expect("core 0 has a budget");
        // A period for each 100 misses, of which 209 others at 80 ns take their part anyway.
        assert_eq!([0, 1, 100, 250].map(|misses| shared.charge(misses)), [0, 833, 83_280, 208_200]);
        let large = Interference { budgets: vec![Some(1_200), Some(200)], ..pair() };
        let large = large.on(CoreId(0), View::Shared).expect("core 0 has a budget");
        // Misses that use up little of a budget take 80 ns each.
        assert_eq!(large.charge(50), 4_000);
        // Core 1 causes 200, 8 that were under way and a part that was left over.
        let others = shared.others().expect("core 1 uses memory");
        assert_eq!((others.c(), others.t()), (209 * 80, 100_000));
        // A budget that is spent, 8 misses under way, one period of the others.
        assert_eq!(shared.blocking(), 100_000 + 6_663 + 209 * 80);
    }

    #[test]
    fn each_miss_waits_for_what_others_cause_in_two_periods() {
        let requests = pair().on(CoreId(1), View::Requests).expect("core 1 has a budget");
        // Two times the 109 of core 0, and its own 80 ns: more than its part of a period, 500 ns.
        assert_eq!(requests.charge(10), 10 * (2 * 109 * 80 + 80));
        assert_eq!(requests.others(), None);
        assert_eq!(requests.blocking(), 100_000 + 8 * (218 * 80 + 80));
        let small = Interference { budgets: vec![Some(100), Some(5)], ..pair() };
        let small = small.on(CoreId(1), View::Requests).expect("core 1 has a budget");
        assert_eq!(small.charge(10), 10 * 20_000);
    }

    #[test]
    fn numbers_without_end_are_charged_without_end() {
        assert_eq!(pair().on(CoreId(2), View::Shared), None);
        let none = Interference { budgets: vec![Some(0)], ..pair() };
        let none = none.on(CoreId(0), View::Shared).expect("a budget of nothing is one");
        assert_eq!([0, 1].map(|misses| none.charge(misses)), [0, u64::MAX]);
        let most = Interference { period: u64::MAX, longest: u64::MAX, in_flight: u64::MAX, ..pair() };
        let most = most.on(CoreId(0), View::Requests).expect("core 0 has a budget");
        assert_eq!((most.charge(u64::MAX), most.blocking()), (u64::MAX, u64::MAX));
    }
}

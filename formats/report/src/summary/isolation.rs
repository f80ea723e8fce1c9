//! What isolation did, from the records of periods and throttled spans.

use super::guarantee::Guarantees;
use crate::isolation::{CoreRegulation, IsolationReport, OwnedMemory};
use crate::series::Series;
use solo_model::isolation::{Budget, Regulation, WayOwner};
use solo_model::record::{BudgetRecord, ConservationRecord, RegulationRecord, ThrottleRecord, WaitRecord};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, Events, Experiment, Instant, TaskClass, TaskId};

/// Bins of a core's rate over time.
const BINS: usize = 512;

/// What is known so far.
pub(super) struct IsolationSummary {
    report: Option<IsolationReport>,
    line: Bytes,
    /// The regulation period.
    period: Duration,
    guarantees: Option<Guarantees>,
    /// What budgets are to become.
    later: Vec<(CoreId, Bandwidth)>,
}

impl IsolationSummary {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let line = experiment.platform.line();
        let isolation = &experiment.isolation;
        let report = (!isolation.is_off()).then(|| {
            let regulation = isolation.bandwidth.as_ref();
            IsolationReport {
                colors: isolation.memory.as_ref().map_or(0, |memory| colors(experiment, memory.groups)),
                banks: isolation.memory.as_ref().map_or(0, |_| banks(experiment)),
                kernel_color: isolation.memory.as_ref().and_then(|memory| memory.kernel).map(|color| color.0),
                owners: owners(experiment),
                period: regulation.map_or(Duration::ZERO, |regulation| regulation.period),
                guaranteed: regulation.map_or(Bandwidth::ZERO, |regulation| regulation.guaranteed),
                cores: cores(experiment, line),
                conservation: None,
            }
        });
        let period = report.as_ref().map_or(Duration::ZERO, |report: &IsolationReport| report.period);
        let guarantees = isolation.bandwidth.as_ref();
        let guarantees = guarantees.map(|regulation| Guarantees::new(experiment, regulation));
        let later = isolation.bandwidth.iter().flat_map(|regulation| {
            let steps: Vec<_> = regulation.steps().skip(1).map(|(_, step)| step).collect();
            let named = steps.iter().flat_map(|step| {
                step.cores.iter().map(|entry| (entry.core, rate_of(step, entry.budget, line)))
            });
            named.collect::<Vec<_>>()
        });
        let later = later.collect();
        Self { report, line, period, guarantees, later }
    }

    fn core(&mut self, core: CoreId) -> Option<&mut CoreRegulation> {
        self.report.as_mut()?.cores.iter_mut().find(|known| known.core == core)
    }

    /// `None` for a core that is not regulated.
    pub(super) fn throttle(&mut self, span: &ThrottleRecord) -> Option<()> {
        let core = self.core(span.core)?;
        core.throttled_max = core.throttled_max.max(span.at.since(span.since));
        if core.spans.len() < CoreRegulation::SPANS {
            core.spans.push((span.since, span.at));
        }
        Some(())
    }

    /// `None` for a core that does not exist; other cores may carry tasks with budgets of their own.
    pub(super) fn period(&mut self, period: &RegulationRecord) -> Option<()> {
        let line = self.line;
        let bytes = |events: [Events; 2]| {
            let sum = events[0].saturating_add(events[1]);
            Bytes::new(sum.get().saturating_mul(line.get()))
        };
        let whole = self.period;
        let lacking = self.guarantees.as_mut().map_or(Vec::new(), |guarantees| guarantees.period(period));
        for core in lacking {
            self.meanwhile(core, &[(period.core, bytes(period.used))]);
        }
        let Some(core) = self.core(period.core) else { return self.report.as_ref().map(|_| ()) };
        core.periods += 1;
        core.throttled_periods += u64::from(!period.throttled.is_zero());
        core.throttled = core.throttled.saturating_add(period.throttled);
        let used = bytes(period.used);
        core.used = core.used.saturating_add(used);
        core.donated = core.donated.saturating_add(bytes(period.donated));
        core.reclaimed = core.reclaimed.saturating_add(bytes(period.reclaimed));
        if period.shared {
            core.shared = core.shared.saturating_add(used);
        }
        let error = [0, 1].map(|at| Events::new(period.predicted[at].get().abs_diff(period.used[at].get())));
        if period.predicted != [Events::ZERO; 2] {
            core.prediction_error = core.prediction_error.saturating_add(bytes(error));
        }
        core.lost_overflows += u64::from(period.lost_overflow);
        let span = period.at.since(period.since);
        let late = span.saturating_sub(whole);
        if late > whole / CoreRegulation::GRACE {
            core.late_periods += 1;
            core.latest = core.latest.max(late);
        }
        if !span.is_zero() {
            let middle = Instant::new(period.at.get().saturating_sub(span.get() / 2));
            core.rate.add(middle, Bandwidth::average(used, span).get(), span.get());
        }
        Some(())
    }

    /// `None` for a core that is not regulated.
    pub(super) fn changed(&mut self, change: &BudgetRecord) -> Option<()> {
        let rate = |events: Events| {
            Bandwidth::average(Bytes::new(events.get().saturating_mul(self.line.get())), self.period)
        };
        let reserved = rate(change.reserved[0]);
        // As it was asked for, where that comes to as many events.
        let event = rate(Events::new(1));
        let fits = |budget: Bandwidth| budget.saturating_sub(reserved) < event && budget >= reserved;
        let asked = self.later.iter().find(|&&(core, budget)| core == change.core && fits(budget));
        let budget = asked.map_or(reserved, |&(_, budget)| budget);
        let core = self.core(change.core)?;
        if core.changes.len() < CoreRegulation::SPANS {
            core.changes.push((change.at, budget));
        }
        Some(())
    }

    /// `None` for a core that does not exist.
    pub(super) fn waited(&mut self, wait: &WaitRecord) -> Option<()> {
        let line = self.line.get();
        let bytes = |events: Events| Bytes::new(events.get().saturating_mul(line));
        let guarantees = self.guarantees.as_mut()?;
        let Some(lack) = guarantees.judge(wait) else { return Some(()) };
        let meanwhile: Vec<_> = match lack.is_zero() {
            true => Vec::new(),
            false => guarantees.meanwhile(wait.core),
        };
        let Some(core) = self.core(wait.core) else { return Some(()) };
        core.judged += 1;
        core.unmet += u64::from(!lack.is_zero());
        core.worst_lack = core.worst_lack.max(bytes(lack));
        let sum = |used: [Events; 2]| bytes(used[0].saturating_add(used[1]));
        let meanwhile: Vec<_> = meanwhile.into_iter().map(|(other, used)| (other, sum(used))).collect();
        self.meanwhile(wait.core, &meanwhile);
        Some(())
    }

    /// Others used so much in a period in which `core` lacked something.
    fn meanwhile(&mut self, core: CoreId, others: &[(CoreId, Bytes)]) {
        let Some(core) = self.core(core) else { return };
        for &(other, used) in others.iter().filter(|(_, used)| !used.is_zero()) {
            match core.meanwhile.iter_mut().find(|(known, _)| *known == other) {
                Some((_, sum)) => *sum = sum.saturating_add(used),
                None => core.meanwhile.push((other, used)),
            }
        }
    }

    /// `None` where nothing is isolated. Replications have a record each.
    pub(super) fn conserved(&mut self, record: &ConservationRecord) -> Option<()> {
        let line = self.line;
        let bytes = |events: Events| Bytes::new(events.get().saturating_mul(line.get()));
        let sum = self.report.as_mut()?.conservation.get_or_insert_default();
        let add = |own: &mut u64, more| *own = own.saturating_add(more);
        add(&mut sum.periods, record.periods);
        add(&mut sum.exempt, record.exempt);
        add(&mut sum.violations, record.violations);
        sum.worst_excess = sum.worst_excess.max(bytes(record.worst_excess));
        sum.overdraft = sum.overdraft.saturating_add(bytes(record.overdraft));
        Some(())
    }

    pub(super) fn into_report(self) -> Option<IsolationReport> {
        self.report
    }
}

fn cores(experiment: &Experiment, line: Bytes) -> Vec<CoreRegulation> {
    let Some(regulation) = &experiment.isolation.bandwidth else { return Vec::new() };
    // Where more is reserved than there is, nothing was promised to anybody.
    let hard = |core: CoreId| {
        let mut tasks = experiment.tasks.iter().filter(|task| task.core.is_none_or(|home| home == core));
        !regulation.best_effort && tasks.any(|task| task.class == TaskClass::Hard)
    };
    let core = |entry: &solo_model::isolation::CoreBudget| CoreRegulation {
        core: entry.core,
        budget: rate_of(regulation, entry.budget, line),
        changes: Vec::new(),
        periods: 0,
        throttled_periods: 0,
        throttled: Duration::ZERO,
        throttled_max: Duration::ZERO,
        used: Bytes::ZERO,
        donated: Bytes::ZERO,
        reclaimed: Bytes::ZERO,
        shared: Bytes::ZERO,
        prediction_error: Bytes::ZERO,
        lost_overflows: 0,
        late_periods: 0,
        latest: Duration::ZERO,
        judged: 0,
        unmet: 0,
        worst_lack: Bytes::ZERO,
        meanwhile: Vec::new(),
        hard: hard(entry.core),
        rate: Series::new(regulation.period, BINS),
        spans: Vec::new(),
    };
    regulation.cores.iter().map(core).collect()
}

/// A budget as a rate; by weight, with all who have weights.
fn rate_of(regulation: &Regulation, budget: Budget, line: Bytes) -> Bandwidth {
    let share = |part: u128, whole: u128| {
        let rate = u128::from(regulation.guaranteed.get()) * part / whole.max(1);
        Bandwidth::new(u64::try_from(rate).unwrap_or(u64::MAX))
    };
    let weight = |budget| if let Budget::Weight(weight) = budget { u128::from(weight) } else { 0 };
    match budget {
        Budget::Rate(rate) => rate,
        Budget::Events(events) => {
            Bandwidth::average(Bytes::new(events.get().saturating_mul(line.get())), regulation.period)
        }
        Budget::Share(per_mille) => share(per_mille.into(), 1000),
        Budget::Weight(own) => {
            share(own.into(), regulation.cores.iter().map(|entry| weight(entry.budget)).sum())
        }
    }
}

fn colors(experiment: &Experiment, groups: u16) -> u16 {
    let platform = &experiment.platform;
    let all = platform.last_level().map_or(1, |cache| cache.colors(platform.page));
    if groups == 0 { all } else { groups.min(all) }
}

fn banks(experiment: &Experiment) -> u16 {
    let dram = &experiment.platform.dram;
    let within = experiment.platform.page.get() - 1;
    let all = dram.bank_bits.iter().chain(&dram.rank_bits).chain(&dram.channel_bits);
    1 << all.filter(|function| function.0 & within == 0).count().min(15)
}

/// What each task owns; those that own nothing are left out.
fn owners(experiment: &Experiment) -> Vec<OwnedMemory> {
    let isolation = &experiment.isolation;
    let owner = |(at, task): (usize, &solo_model::Task)| {
        let id = TaskId(at as u32);
        let memory = isolation.memory.as_ref();
        let own = memory.and_then(|memory| memory.owners.iter().find(|owner| owner.task == id));
        let sorted = |mut numbers: Vec<u16>| {
            numbers.sort_unstable();
            numbers
        };
        let concerns = |owner: WayOwner| match owner {
            WayOwner::Task(of) => of == id,
            WayOwner::Core(core) => task.core == Some(core),
        };
        let pages = isolation
            .lockdown
            .as_ref()
            .map_or(0, |lockdown| lockdown.pages.iter().filter(|page| page.task == id).count() as u64);
        let owned = OwnedMemory {
            task: task.name.clone(),
            colors: sorted(own.map_or(Vec::new(), |own| own.colors.iter().map(|color| color.0).collect())),
            banks: sorted(own.map_or(Vec::new(), |own| own.banks.iter().map(|bank| bank.0).collect())),
            ways: isolation.ways.iter().find(|ways| concerns(ways.owner)).map_or(0, |ways| ways.mask),
            locked_pages: pages,
        };
        let anything = own.is_some() || owned.ways != 0 || pages > 0;
        anything.then_some(owned)
    };
    experiment.tasks.iter().enumerate().filter_map(owner).collect()
}

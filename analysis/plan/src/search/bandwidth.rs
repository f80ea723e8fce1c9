//! Budgets of memory bandwidth, within what memory guarantees.
//!
//! What can be reserved is what memory moves whatever the addresses, less DMA, less budgets that are written; half of it where misses may
//! push modified lines out (`solo_isolate::capacity`). It is divided among the cores whose tasks use memory.

use super::choices::Choices;
use super::colors::proportional;
use super::cores::Placement;
use super::lack::NoPlan;
use super::subject::Subject;
use crate::{Defaults, plan};
use alloc::boxed::Box;
use alloc::vec::Vec;
use solo_isolate::capacity::{Capacity, capacity, happens};
use solo_isolate::regulator::Allowance;
use solo_model::isolation::{Counted, Regulation};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Events};
use solo_prove::system::{Judged, TaskFinding};

/// What there is to divide.
pub(super) struct Pool {
    /// The cores that get a budget, ascending.
    cores: Vec<CoreId>,
    /// What they get together, as the rate of the lines that are read.
    rate: Bandwidth,
    /// The regulation period.
    pub(super) period: Duration,
    line: Bytes,
}

/// By core of the pool, the misses of its tasks in a second.
pub(super) struct Demand(Vec<u64>);

impl Subject {
    /// What there is to divide among which cores; nothing where no budgets are needed, or can't be had.
    pub(super) fn pool(&self, placement: &Placement, choices: &Choices) -> Result<Option<Pool>, NoPlan> {
        let (Some(_), users) = (self.mechanisms(), self.users(placement)) else { return Ok(None) };
        let (platform, wish) = (&self.probe.platform, self.bandwidth());
        let counted = wish.and_then(|wish| wish.counted).map(|said| said.value);
        if users.len() < 2 || counted.is_none() && !happens(EventId::LLC_MISSES, platform) {
            return Ok(None);
        }
        let written = wish.map_or(&[][..], |wish| wish.cores.as_slice());
        let cores: Vec<CoreId> =
            users.into_iter().filter(|core| !written.iter().any(|entry| entry.core == *core)).collect();
        if cores.is_empty() {
            return Ok(None);
        }
        let least = cores.iter().map(|&core| (core, Events::new(1))).collect();
        let trial = Choices { budgets: least, ..choices.clone() };
        let planned = plan(&self.request_with(&trial), &Defaults)
            .map_err(|refused| NoPlan::Refused(Box::new(refused)))?;
        let Some(regulation) = &planned.experiment.isolation.bandwidth else { return Ok(None) };
        let line = platform.line();
        let Some(rate) = left(regulation, &planned.experiment.tasks, &cores, line) else { return Ok(None) };
        let pool = Pool { cores, rate, period: regulation.period, line };
        let needed: u128 = self.demand(placement, &pool).0.iter().map(|&misses| u128::from(misses)).sum();
        let needed = needed * u128::from(line.get());
        if needed > u128::from(rate.get()) || pool.events() < pool.cores.len() as u64 {
            let needed = Bandwidth::new(u64::try_from(needed).unwrap_or(u64::MAX));
            return Err(NoPlan::Bandwidth { needed, there: rate });
        }
        Ok(Some(pool))
    }

    /// The misses that tasks declare, over their periods.
    pub(super) fn demand(&self, placement: &Placement, pool: &Pool) -> Demand {
        let of = |core: &CoreId| {
            let here = (0..placement.cores.len()).filter(|&task| placement.cores[task] == *core);
            let rates = here.filter_map(|task| {
                let task = &self.probe.tasks[task];
                let period = u128::from(task.release.period()?.get().max(1));
                Some((u128::from(task.misses?) * 1_000_000_000).div_ceil(period))
            });
            u64::try_from(rates.sum::<u128>()).unwrap_or(u64::MAX)
        };
        Demand(pool.cores.iter().map(of).collect())
    }

    /// What memory adds to a job at most where all cores have the same budget, in nanoseconds: `misses P / Q`.
    pub(super) fn charge(&self, task: usize) -> u64 {
        let Some(misses) = self.probe.tasks[task].misses else { return 0 };
        let (platform, tasks) = (&self.probe.platform, &self.probe.tasks);
        let writes = tasks.iter().any(|task| task.work.writes());
        let rate = platform.dram.guaranteed_with_writes.filter(|_| writes).or(platform.dram.guaranteed);
        let rate = rate.map_or(0, Bandwidth::get) / if writes { 2 } else { 1 };
        let users = tasks.iter().filter(|task| task.work.touches_memory()).count().min(platform.cores.len());
        let bytes = u128::from(misses) * u128::from(platform.line().get()) * users as u128;
        u64::try_from(bytes * 1_000_000_000 / u128::from(rate.max(1))).unwrap_or(u64::MAX)
    }

    /// By core: the least slack of its tasks in parts of a million of their deadlines, a million where nothing is asked.
    pub(super) fn strain(&self, judged: &Judged, placement: &Placement) -> Vec<(CoreId, i64)> {
        let mut cores: Vec<(CoreId, i64)> = Vec::new();
        for (task, judgement) in judged.tasks.iter().enumerate() {
            let needs = match &judgement.outcome {
                TaskFinding::Proved(proof) => proof.bound,
                TaskFinding::NotProved(gap) => gap.needs,
                TaskFinding::Open(_) => Duration::ZERO,
            };
            let deadline = judgement.deadline.map_or(1, |deadline| deadline.get().max(1));
            let slack = (i128::from(deadline) - i128::from(needs.get())) * 1_000_000 / i128::from(deadline);
            let slack = i64::try_from(slack).unwrap_or(i64::MIN);
            let core = placement.cores[task];
            match cores.iter_mut().find(|(known, _)| *known == core) {
                Some((_, least)) => *least = slack.min(*least),
                None => cores.push((core, slack)),
            }
        }
        cores
    }
}

/// What is left to reserve, as the rate of the lines that are read; `None` where weights divide all of it.
fn left(
    regulation: &Regulation,
    tasks: &[solo_model::Task],
    open: &[CoreId],
    line: Bytes,
) -> Option<Bandwidth> {
    let Capacity { rate, transfers } = capacity(regulation, tasks);
    let dma = regulation.dma.iter().map(|master| master.rate.get()).fold(0, u64::saturating_add);
    let mut left = rate.get().saturating_sub(dma) / transfers.max(1);
    for entry in regulation.cores.iter().filter(|entry| !open.contains(&entry.core)) {
        let Allowance::Fixed { events, .. } = Allowance::of(entry.budget, regulation, line) else {
            return None;
        };
        // A part of an event that a rate leaves over is one more.
        let bytes = u128::from(events.get().saturating_add(1)) * u128::from(line.get()) * 1_000_000_000;
        let taken = bytes.div_ceil(u128::from(regulation.period.get().max(1)));
        left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
    }
    // Writes have half as much again of their own.
    Some(Bandwidth::new(match regulation.counted {
        Counted::ReadsAndWrites => left / 3 * 2,
        Counted::One(_) => left,
    }))
}

impl Pool {
    /// The same over another regulation period.
    pub(super) fn over(&self, period: Option<Duration>) -> Self {
        Self { cores: self.cores.clone(), period: period.unwrap_or(self.period), ..*self }
    }

    /// The cores that get a budget, ascending.
    pub(super) fn cores(&self) -> &[CoreId] {
        &self.cores
    }

    /// What nobody has of what can be divided in a period, in misses.
    pub(super) fn unreserved(&self, budgets: &[(CoreId, Events)]) -> u64 {
        let reserved = budgets.iter().map(|(_, events)| events.get()).fold(0, u64::saturating_add);
        self.events().saturating_sub(reserved)
    }

    /// What can be divided in a period.
    fn events(&self) -> u64 {
        let bytes = u128::from(self.rate.get()) * u128::from(self.period.get()) / 1_000_000_000;
        u64::try_from(bytes / u128::from(self.line.get().max(1))).unwrap_or(u64::MAX)
    }

    /// So many percent of it, and at least one miss for each core.
    fn part(&self, percent: u64) -> u64 {
        let part = u128::from(self.events()) * u128::from(percent) / 100;
        u64::try_from(part).unwrap_or(u64::MAX).max(self.cores.len() as u64)
    }

    /// The same for each core.
    pub(super) fn even(&self, part: u64) -> Vec<(CoreId, Events)> {
        let each = Events::new((self.part(part) / self.cores.len().max(1) as u64).max(1));
        self.cores.iter().map(|&core| (core, each)).collect()
    }

    /// In proportion to what is declared; cores of which nothing is known count as an eighth of the mean.
    pub(super) fn by_need(&self, demand: &Demand, part: u64) -> Vec<(CoreId, Events)> {
        let mean =
            demand.0.iter().map(|&misses| u128::from(misses)).sum::<u128>() / self.cores.len().max(1) as u128;
        let unknown = u64::try_from(mean / 8).unwrap_or(u64::MAX).max(1);
        let weights: Vec<u64> =
            demand.0.iter().map(|&misses| if misses == 0 { unknown } else { misses }).collect();
        let parts = proportional(self.part(part), &weights);
        self.cores.iter().copied().zip(parts.into_iter().map(Events::new)).collect()
    }

    /// A quarter of the budget of the core with most slack goes to the one with least; nothing where that is the same or late, too.
    pub(super) fn shifted(
        &self,
        budgets: &[(CoreId, Events)],
        strain: &[(CoreId, i64)],
    ) -> Option<Vec<(CoreId, Events)>> {
        let slack = |core: CoreId| {
            strain.iter().find(|(known, _)| *known == core).map_or(1_000_000, |(_, slack)| *slack)
        };
        let from = self.cores.iter().copied().max_by_key(|&core| (slack(core), core::cmp::Reverse(core)))?;
        let to = self.cores.iter().copied().min_by_key(|&core| (slack(core), core))?;
        let moved = budgets.iter().find(|(core, _)| *core == from)?.1.get() / 4;
        if from == to || slack(from) <= 0 || slack(to) > 0 || moved == 0 {
            return None;
        }
        let change = |&(core, events): &(CoreId, Events)| {
            let events = events.get();
            let now = if core == from {
                events - moved
            } else if core == to {
                events + moved
            } else {
                events
            };
            (core, Events::new(now))
        };
        Some(budgets.iter().map(change).collect())
    }
}

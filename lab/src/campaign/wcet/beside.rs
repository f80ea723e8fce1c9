//! The experiments of a measurement: a task on its core, and hogs that do nothing but use memory on the others.

use super::Hog;
use super::isolated::Apart;
use solo_isolate::map::MemoryMap;
use solo_model::experiment::End;
use solo_model::isolation::{
    Budget, ColorOwner, Coloring, CoreBudget, Counted, Donation, Isolation, Lockdown, LockedPage, Regulation,
    TaskBudget, WayMask, WayOwner,
};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{
    Bank, BufferId, Bytes, Color, CoreId, Duration, EventId, Events, Experiment, OverheadTable, PerMille,
    TaskId,
};

/// The memory that a hog walks through.
const HOG: Bytes = Bytes::from_mib(8);
/// From one access of a hog to the next.
const STRIDE: Bytes = Bytes::new(256);
/// A run whose jobs come one after the other is given up after this time.
const LONGEST: Duration = Duration::from_secs(100);

/// How the cores are kept apart in one run.
#[derive(Clone, Debug)]
pub(in crate::campaign) struct Setting<'s> {
    /// The active cores, the task's first.
    pub(in crate::campaign) cores: &'s [CoreId],
    pub(in crate::campaign) hog: Hog,
    /// The task's part of the last level; `None` where nothing isolates.
    pub(in crate::campaign) apart: Option<&'s Apart>,
    /// Misses of each core in a regulation period, and the time from one job to the next: each finds its budget full.
    pub(in crate::campaign) budget: Option<(u64, Duration)>,
    /// Jobs that are wanted.
    pub(in crate::campaign) jobs: u64,
}

/// The experiment of a setting; its first task is the one that is measured. `None` where the hogs can't share its banks, for its
/// colors are banks of their own.
pub(in crate::campaign) fn beside(
    experiment: &Experiment,
    task: TaskId,
    setting: &Setting<'_>,
) -> Option<Experiment> {
    let measured = &experiment.tasks[task.index()];
    let release = match setting.budget {
        Some((_, period)) => Release::Periodic { offset: Duration::ZERO, period },
        None => continuous(),
    };
    let first = setting.cores.first().copied();
    let mut buffers = experiment.buffers.clone();
    let mut tasks = vec![Task { release, deadline: None, core: first, ..measured.clone() }];
    for (at, &core) in setting.cores.iter().enumerate().skip(1) {
        let buffer = BufferId(buffers.len() as u32);
        buffers.push(Buffer { name: format!("memory of hog {at}"), size: HOG });
        let work = Work { steps: vec![hogging(setting.hog, buffer)] };
        let hog = Task::new(format!("hog {at}"), TaskClass::BestEffort, continuous());
        tasks.push(Task { core: Some(core), work, ..hog });
    }
    let isolation = Isolation {
        partitions: None,
        bandwidth: setting.budget.and_then(|(budget, _)| budgets(experiment, &tasks, budget)),
        memory: coloring(experiment, task, setting, tasks.len())?,
        ways: ways(setting.apart, tasks.len()),
        lockdown: setting.apart.and_then(|_| lockdown(experiment, task)),
    };
    let end = match setting.budget {
        Some((_, period)) => Duration::new(period.get().saturating_mul(setting.jobs.saturating_add(1))),
        None => LONGEST,
    };
    Some(Experiment {
        buffers,
        tasks,
        isolation,
        policy: Policy::new(Scope::Partitioned, Criterion::Fcfs),
        overheads: OverheadTable::free(),
        listening: None,
        end: End::At(end),
        jobs_per_replication: None,
        ..experiment.clone()
    })
}

/// The same budget of misses for each active core.
fn budgets(experiment: &Experiment, tasks: &[Task], budget: u64) -> Option<Regulation> {
    let regulation = experiment.isolation.bandwidth.as_ref()?;
    let of = |task: &Task| {
        let budget = Budget::Events(Events::new(budget));
        CoreBudget { core: task.core.unwrap_or(CoreId(0)), budget, writes: None }
    };
    let own = |at: usize| TaskBudget { task: TaskId(at as u32), budget: None, donates: Donation::Nothing };
    Some(Regulation {
        counted: Counted::One(EventId::LLC_MISSES),
        cores: tasks.iter().map(of).collect(),
        tasks: (0..tasks.len()).map(own).collect(),
        best_effort: false,
        ..regulation.clone()
    })
}

/// Where pages come from: the task's colors are its own, and so are its banks unless hogs are to be in them.
fn coloring(
    experiment: &Experiment,
    task: TaskId,
    setting: &Setting<'_>,
    tasks: usize,
) -> Option<Option<Coloring>> {
    let memory = experiment.isolation.memory.as_ref();
    let known = memory.and_then(|memory| memory.owners.iter().find(|owner| owner.task == task));
    let (own, rest) = match setting.apart {
        Some(Apart::Colors { own, rest }) => (own.clone(), rest.clone()),
        _ => (Vec::new(), Vec::new()),
    };
    let mut banks = known.map_or(Vec::new(), |owner| owner.banks.clone());
    if setting.hog == Hog::SameBank && banks.is_empty() {
        banks = vec![common_bank(experiment, &own, &rest)?];
    }
    if own.is_empty() && banks.is_empty() {
        return Some(None);
    }
    let owner = |at: usize| ColorOwner {
        task: TaskId(at as u32),
        colors: if at == 0 { own.clone() } else { rest.clone() },
        banks: if at == 0 || setting.hog == Hog::SameBank { banks.clone() } else { Vec::new() },
    };
    let kept = memory.cloned().unwrap_or_default();
    Some(Some(Coloring { owners: (0..tasks).map(owner).collect(), shared: true, ..kept }))
}

/// A bank in which the task's colors and the hogs' have pages.
fn common_bank(experiment: &Experiment, own: &[Color], rest: &[Color]) -> Option<Bank> {
    let groups = experiment.isolation.memory.as_ref().map_or(0, |memory| memory.groups);
    let map = MemoryMap::of(&experiment.platform).ok()?.grouped(groups);
    let holds = |colors: &[Color], bank: Bank| colors.iter().all(|&color| map.exists(color, bank));
    (0..map.banks().count()).map(Bank).find(|&bank| holds(own, bank) && holds(rest, bank))
}

fn ways(apart: Option<&Apart>, tasks: usize) -> Vec<WayMask> {
    let Some(&Apart::Ways { own, rest }) = apart else { return Vec::new() };
    let mask = |at: usize| WayMask {
        owner: WayOwner::Task(TaskId(at as u32)),
        mask: if at == 0 { own } else { rest },
    };
    (0..tasks).map(mask).collect()
}

/// The task's own locked pages.
fn lockdown(experiment: &Experiment, task: TaskId) -> Option<Lockdown> {
    let lockdown = experiment.isolation.lockdown.as_ref()?;
    let own = lockdown.pages.iter().filter(|page| page.task == task);
    let pages: Vec<LockedPage> = own.map(|page| LockedPage { task: TaskId(0), ..*page }).collect();
    (!pages.is_empty()).then(|| Lockdown { pages, partitions: Vec::new(), ..lockdown.clone() })
}

fn continuous() -> Release {
    Release::Continuous { offset: Duration::ZERO }
}

fn hogging(hog: Hog, buffer: BufferId) -> Step {
    let writes = if hog == Hog::Reads { 0 } else { 1000 };
    Step::Touch(Touch {
        pattern: Pattern::Stream,
        buffer,
        accesses: HOG.get() / STRIDE.get(),
        stride: STRIDE,
        writes: PerMille::new(writes).unwrap_or_default(),
        think: Duration::ZERO,
    })
}

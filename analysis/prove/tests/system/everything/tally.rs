//! What was drawn, what of it has a bound and on what that stands, and how near observations came.

use super::isolated::keeps_nothing;
use crate::against;
use solo_model::record::Record;
use solo_model::units::PerMille;
use solo_model::{CoreId, Experiment, Instant, TaskClass, TaskId};
use solo_prove::system::{Judged, Open, Proof, TaskFinding, Unbounded};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Which tasks share a queue with this one.
fn beside(experiment: &Experiment, task: usize) -> Vec<usize> {
    let core = |task: usize| experiment.tasks[task].core.unwrap_or(CoreId(0));
    let domains = experiment.policy.domains(experiment.platform.cores.len());
    let own = domains.iter().find(|domain| domain.contains(core(task)));
    (0..experiment.tasks.len()).filter(|&other| own.is_some_and(|own| own.contains(core(other)))).collect()
}

/// The bounds that are held against the machine: those that stand on times which are known to hold beside the others of the core. What
/// was measured alone is a condition where others use the same caches, unless no line of that work is used twice.
pub(super) fn unconditional(experiment: &Experiment, judged: &Judged) -> Vec<Option<Proof>> {
    let doubtful =
        |task: &usize| judged.measured_alone.contains(task) && !keeps_nothing(&experiment.tasks[*task].name);
    let of = |task: usize| match &judged.tasks[task].outcome {
        TaskFinding::Proved(proof) if !beside(experiment, task).iter().any(doubtful) => Some(proof.clone()),
        _ => None,
    };
    (0..judged.tasks.len()).map(of).collect()
}

/// Compares each job with its bound, and keeps the longest of each task.
pub(super) struct Watching<'p> {
    proofs: &'p [Option<Proof>],
    /// By task, in nanoseconds.
    pub(super) longest: Vec<u64>,
    /// The first that took longer than its bound.
    pub(super) found: Option<String>,
}

impl<'p> Watching<'p> {
    pub(super) fn new(proofs: &'p [Option<Proof>]) -> Self {
        Self { proofs, longest: vec![0; proofs.len()], found: None }
    }
}

impl solo_sim::Observer for Watching<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        let job = match &record {
            Record::Job(job) => Some((job.task, job.response())),
            Record::Unfinished(job) => Some((job.task, job.at.since(job.release))),
            Record::Skipped(job) => Some((job.task, job.at.since(job.release))),
            _ => None,
        };
        if let Some((task, response)) = job {
            let longest = &mut self.longest[task.index()];
            *longest = (*longest).max(response.get());
        }
        self.found = against(self.proofs, &record);
        if self.found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Why there is no bound, in a word.
fn named(open: &Open) -> &'static str {
    match open {
        Open::BestEffort => "best effort",
        Open::NoDeadline => "no deadline",
        Open::NoWcet(_) => "no execution time",
        Open::NoPeriod(_) => "no period",
        Open::Criterion(_) => "criterion",
        Open::Lock { .. } => "lock",
        Open::Depends(_) => "depends on one that is not proved",
        Open::LongDeadline(_) => "long deadline",
        Open::MovesUp => "moves up",
        Open::Heap(_) => "a heap may run out",
        Open::Flushes(_) => "caches are emptied",
        Open::Command(_) => "a program",
        Open::Migrates(_) => "migrates each period",
        Open::Step(_) => "access without a bound",
        Open::Listening(_) => "listening",
        Open::BesideWindows(_) => "beside windows",
        Open::OutOfTime => "out of time",
        Open::TooLarge => "too large",
        Open::Regulated(unbounded) => match unbounded {
            Unbounded::Key(_) => "budgets: a key",
            Unbounded::Counted => "budgets: what is counted",
            Unbounded::Prefetcher => "budgets: prefetcher",
            Unbounded::KernelData => "budgets: the kernel's accesses",
            Unbounded::LockedLater => "budgets: pages locked later",
            Unbounded::Ticks => "budgets: ticks",
            Unbounded::Queue => "budgets: a shared queue",
            Unbounded::Command(_) => "budgets: a program",
            Unbounded::Sibling => "budgets: siblings",
            Unbounded::Bus => "budgets: bus",
            Unbounded::NoBudget(_) => "budgets: a core without",
            Unbounded::NoMisses(_) => "budgets: misses not declared",
            Unbounded::Cache(..) => "budgets: a shared cache",
            Unbounded::Replacement(..) => "budgets: replacement over all ways",
            Unbounded::Data(..) => "budgets: shared data",
            Unbounded::Device(_) => "budgets: a device without",
            Unbounded::Input(..) => "budgets: input into data in use",
        },
    }
}

/// Counts by name.
#[derive(Default)]
pub(super) struct Tally {
    counts: BTreeMap<String, u64>,
}

impl Tally {
    pub(super) fn one(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    pub(super) fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// How many different counts begin with this.
    pub(super) fn kinds(&self, prefix: &str) -> usize {
        self.counts.keys().filter(|key| key.starts_with(prefix)).count()
    }

    /// The lines that a soak adds up.
    pub(super) fn print(&self) {
        for (what, count) in &self.counts {
            println!("count: {what} = {count}");
        }
    }

    /// One scenario that was judged and, as far as it has bounds, run: `longest` by task.
    pub(super) fn add(
        &mut self,
        experiment: &Experiment,
        judged: &Judged,
        proofs: &[Option<Proof>],
        longest: Option<&[u64]>,
    ) {
        let mut used: Vec<_> = experiment.tasks.iter().filter_map(|task| task.core).collect();
        used.sort_unstable();
        used.dedup();
        self.one(format!("cores {}", used.len()));
        self.one(format!("policy {}", experiment.policy));
        for (task, judgement) in experiment.tasks.iter().zip(&judged.tasks) {
            match &judgement.outcome {
                TaskFinding::Proved(_) => self.one("task: proved"),
                TaskFinding::NotProved(_) => self.one("task: late on paper"),
                TaskFinding::Open(open) => {
                    // Whatever a task with a deadline is not given a bound for has a name that tells.
                    assert!(
                        task.class == TaskClass::BestEffort
                            || !matches!(open, Open::BestEffort | Open::NoDeadline),
                        "{}: {open:?}",
                        task.name
                    );
                    self.one(format!("task: no bound, {}", named(open)));
                }
            }
        }
        let bounded: Vec<usize> = (0..proofs.len()).filter(|&task| proofs[task].is_some()).collect();
        self.one(format!("case: {}", case(experiment, judged, &bounded)));
        for &task in &bounded {
            for ground in grounds(experiment, task) {
                self.one(format!("bound: {ground}"));
            }
            let (Some(proof), Some(longest)) = (&proofs[task], longest) else { continue };
            let tenth = (longest[task].saturating_sub(1) * 10 / proof.bound.get().max(1)).min(9);
            let of = if experiment.tasks[task].work.touches_memory() { "memory" } else { "computing" };
            self.one(format!("observed/bound, {of}: {:3} to {:3} %", tenth * 10, tenth * 10 + 10));
        }
    }
}

/// What the bounds of a scenario stand on, the strongest of them.
fn case(experiment: &Experiment, judged: &Judged, bounded: &[usize]) -> &'static str {
    let regulated = experiment.isolation.bandwidth.is_some();
    let uses = |&task: &usize| experiment.tasks[task].work.touches_memory();
    let proved = judged.tasks.iter().any(|task| matches!(task.outcome, TaskFinding::Proved(_)));
    match bounded {
        [] if proved => "bounds on a condition only",
        [] if judged.tasks.iter().any(|task| matches!(task.outcome, TaskFinding::NotProved(_))) => {
            "late on paper"
        }
        [] => "no bound, and why is named",
        some if regulated && some.iter().any(uses) => "bound: memory beside budgets",
        _ if regulated => "bound: computing beside budgets",
        some if some.iter().any(uses) => "bound: memory that nobody else uses",
        _ => "bound: computing, nothing regulated",
    }
}

/// All that a bound stands on.
fn grounds(experiment: &Experiment, task: usize) -> Vec<&'static str> {
    let isolation = &experiment.isolation;
    let Some(regulation) = &isolation.bandwidth else { return vec!["nothing regulated"] };
    let uses = experiment.tasks[task].work.touches_memory();
    let mut all = vec![if uses { "memory beside budgets" } else { "computing beside budgets" }];
    let mut add = |holds: bool, name| {
        if holds {
            all.push(name);
        }
    };
    let memory = isolation.memory.as_ref();
    let owner = |owner: &&solo_model::isolation::ColorOwner| owner.task == TaskId(task as u32);
    let own = memory.and_then(|memory| memory.owners.iter().find(owner));
    let budgets: Vec<_> = regulation.cores.iter().map(|core| core.budget).collect();
    add(budgets.windows(2).any(|pair| pair[0] != pair[1]), "uneven budgets");
    add(regulation.best_effort, "budgets beyond what is guaranteed");
    add(own.is_some_and(|own| !own.colors.is_empty()), "colors");
    add(own.is_some_and(|own| !own.banks.is_empty()), "banks");
    add(uses && !isolation.ways.is_empty(), "ways");
    add(!experiment.devices.is_empty(), "devices");
    let home = isolation.partitions.as_ref().and_then(|all| all.of(TaskId(task as u32)));
    add(home.is_some(), "windows");
    let locked = isolation.lockdown.iter().flat_map(|lockdown| &lockdown.pages);
    add(locked.map(|page| page.task.index()).any(|other| other == task), "locked pages");
    add(!beside(experiment, task).iter().all(|&other| other == task), "others of its core");
    all
}

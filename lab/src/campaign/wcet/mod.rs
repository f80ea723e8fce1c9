//! A task's execution time against the number of active cores: measured beside programs that do nothing but use memory, and as the
//! model of single-core equivalence bounds it (SCE 3.2, Figs. 1 and 10).
//!
//! ```text
//!   alone                 the task in its part of the cache -> C and its misses
//!   m active cores        an m-th of what memory guarantees as budget of each -> C_sce, the bound
//!   hogs on m - 1 of them reads, writes, writes in the task's banks -> the longest job of each
//!   the same, no isolation -> the legacy series of Fig. 1
//! ```
//!
//! Kernel paths take no time, and each job finds its budget full: what is measured is memory.

pub(super) mod beside;
pub(super) mod isolated;

use crate::once::{Heard, once};
use crate::{CampaignError, Control, LabError, Recordings};
use beside::{Setting, beside};
use isolated::Apart;
use rayon::prelude::*;
use solo_model::text::counted;
use solo_model::{CoreId, Duration, EventId, Experiment, Picoseconds, Record, TaskId};
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What other cores do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hog {
    /// They read lines, one after the other.
    Reads,
    /// They modify each line, which is then written back.
    Writes,
    /// The same, in the DRAM banks of the task.
    SameBank,
}

impl Hog {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reads, Self::Writes, Self::SameBank];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::SameBank => "same bank",
        }
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct WcetRequest {
    /// Whose execution time.
    pub task: TaskId,
    /// The numbers of active cores, its own included.
    pub cores: Vec<usize>,
    /// Jobs for each number and each kind of hog.
    pub jobs: u64,
    /// At most so many row hits of others overtake one miss.
    pub overtake: u64,
}

/// A number of active cores.
#[derive(Clone, Debug)]
pub struct WcetRow {
    /// The active cores.
    pub cores: usize,
    /// `Q`: the misses of each core in a regulation period.
    pub budget: u64,
    /// The longest time beside each kind of hog, in the order of [`Hog::ALL`]; `None` where they can't be.
    pub observed: Vec<Option<Duration>>,
    /// The longest time beside any hogs where nothing isolates.
    pub legacy: Duration,
    /// `C_sce`: what the model bounds.
    pub bound: Duration,
}

impl WcetRow {
    /// The longest beside hogs.
    pub fn worst(&self) -> Duration {
        self.observed.iter().flatten().copied().max().unwrap_or_default()
    }

    /// False where an observation is above the bound.
    pub fn holds(&self) -> bool {
        self.worst() <= self.bound
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct FoundWcet {
    /// The task's name.
    pub task: String,
    /// `C`: the longest time of a job alone in its part of the cache.
    pub alone: Duration,
    /// The most last-level misses of a job.
    pub misses: u64,
    /// `L_max`, both directions counted.
    pub longest: Picoseconds,
    /// The controller prefers row hits, so that the bound supposes that no more of them overtake than was said.
    pub prefers_hits: bool,
    /// By number of active cores.
    pub rows: Vec<WcetRow>,
}

/// A measurement that can begin: everything was checked that can be before a run.
pub struct WcetCampaign<'e> {
    experiment: &'e Experiment,
    images: Vec<Arc<TraceImage>>,
    request: WcetRequest,
    cores: Vec<CoreId>,
    apart: Apart,
    longest: Picoseconds,
    models: Vec<(usize, solo_prove::wcet::Regulation)>,
}

impl<'e> WcetCampaign<'e> {
    /// Prepares the measurement of one of the experiment's tasks.
    ///
    /// # Errors
    /// [`CampaignError::TooManyCores`]; [`CampaignError::Unbounded`] where nothing bounds the task's time; where a recording can't
    /// be read.
    pub fn new(
        experiment: &'e Experiment,
        recordings: &Recordings,
        request: WcetRequest,
    ) -> Result<Self, LabError> {
        let cores = isolated::cores(experiment, request.task);
        let wrong = |&asked: &usize| asked == 0 || asked > cores.len();
        if let Some(&asked) = request.cores.iter().find(|asked| wrong(asked)) {
            let platform = experiment.platform.name.clone();
            return Err(CampaignError::TooManyCores { asked, most: cores.len(), platform }.into());
        }
        let task = experiment.tasks[request.task.index()].name.clone();
        let refused = |why| CampaignError::Unbounded { task: task.clone(), why };
        let regulation = isolated::strict(experiment).map_err(refused)?;
        let most = request.cores.iter().copied().max().unwrap_or(1);
        let apart = isolated::apart(experiment, request.task, &cores[..most]).map_err(refused)?;
        let longest = solo_prove::system::longest(experiment, regulation);
        let model = |&cores: &usize| {
            isolated::model(regulation, cores, longest, request.overtake).map(|model| (cores, model))
        };
        let models = request.cores.iter().map(model).collect::<Result<_, _>>().map_err(refused)?;
        let images = recordings.of(experiment)?;
        Ok(Self { experiment, images, request, cores, apart, longest, models })
    }

    /// Measures and bounds, as many runs at once as the host has cores.
    ///
    /// # Errors
    /// [`CampaignError::NoJobEnds`]; where an experiment can't run.
    pub fn run(&self, control: &Control<'_>) -> Result<FoundWcet, LabError> {
        // In the banks of hogs the task may be slower by itself.
        let alone = Hog::ALL
            .par_iter()
            .map(|&hog| self.longest(1, hog, Some(&self.apart), None, control))
            .collect::<Result<Vec<_>, _>>()?;
        let time = alone.iter().flatten().map(|found| found.time).max().unwrap_or_default();
        let misses = alone.iter().flatten().map(|found| found.misses).max().unwrap_or(0);
        let rows = self
            .models
            .par_iter()
            .map(|(cores, model)| self.row(*cores, model, (time, misses), control))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(FoundWcet {
            task: self.task(),
            alone: time,
            misses,
            longest: self.longest,
            prefers_hits: isolated::prefers_hits(self.experiment),
            rows,
        })
    }

    fn task(&self) -> String {
        self.experiment.tasks[self.request.task.index()].name.clone()
    }

    fn row(
        &self,
        cores: usize,
        model: &solo_prove::wcet::Regulation,
        (alone, misses): (Duration, u64),
        control: &Control<'_>,
    ) -> Result<WcetRow, LabError> {
        let bound = alone.saturating_add(model.stall(0, misses).unwrap_or(Duration::MAX));
        let budget = Some((model.budget(0), isolated::distance(bound, model.period())));
        let of = |apart, budget| {
            let times = Hog::ALL.par_iter().map(|&hog| self.longest(cores, hog, apart, budget, control));
            times.map(|found| Ok(found?.map(|found| found.time))).collect::<Result<Vec<_>, LabError>>()
        };
        let observed = of(Some(&self.apart), budget)?;
        let legacy = of(None, None)?.into_iter().flatten().max().unwrap_or_default();
        Ok(WcetRow { cores, budget: model.budget(0), observed, legacy, bound })
    }

    /// The longest job of the task beside hogs on all but one of the active cores.
    fn longest(
        &self,
        cores: usize,
        hog: Hog,
        apart: Option<&Apart>,
        budget: Option<(u64, Duration)>,
        control: &Control<'_>,
    ) -> Result<Option<Longest>, LabError> {
        let jobs = self.request.jobs;
        let setting = Setting { cores: &self.cores[..cores], hog, apart, budget, jobs };
        let Some(experiment) = beside(self.experiment, self.request.task, &setting) else { return Ok(None) };
        let (mut found, mut seen) = (Longest::default(), 0);
        let mut take = |record: Record| {
            if let Record::Job(job) = record
                && job.task == TaskId(0)
            {
                found.time = found.time.max(job.response());
                found.misses = found.misses.max(job.counts.get(EventId::LLC_MISSES).unwrap_or(0));
                seen += 1;
            }
            if seen < jobs { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let isolated = if apart.is_some() { "" } else { ", not isolated" };
        let name = format!("{}, {}{isolated}", counted(cores, "core"), hog.name());
        let share = |now, done| control.progress.reached(&name, now, done);
        once(&experiment, &self.images, &mut Heard { take: &mut take, share: &share, control })?;
        control.progress.ended(&name);
        if control.cancel.requested() {
            return Err(LabError::Interrupted);
        }
        if seen < jobs {
            return Err(CampaignError::NoJobEnds { task: self.task(), wanted: jobs, seen }.into());
        }
        Ok(Some(found))
    }
}

#[derive(Clone, Copy, Default)]
struct Longest {
    time: Duration,
    misses: u64,
}

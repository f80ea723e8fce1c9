//! The progressive lockdown curve (SCE 2.3 and 4) of a task: its worst and best response against locked pages, and where it is asked
//! for, what the same points are beside hogs under equal budgets and what bounds them (SCE Figs. 11 and 12).

mod regulated;

use super::wcet::isolated;
use crate::error::Named;
use crate::once::{Heard, once};
use crate::{CampaignError, Control, LabError, MachineLack, Recordings};
use rayon::prelude::*;
use regulated::Regulated;
use solo_isolate::lockdown::{self, CurvePoint, LockRequest, LockableCache, LockdownCurve, RankedPage};
use solo_model::isolation::{Lockdown, LockedPage};
use solo_model::text::counted;
use solo_model::work::Buffer;
use solo_model::{BufferId, Color, Duration, EventId, Experiment, Platform, Record, TaskId};
use solo_report::html::{BoundedPoint, LockdownPage, LockedPoint};
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::sync::Arc;

/// How many steps a curve has that names none.
const STEPS: u64 = 10;

/// What is asked of a curve.
#[derive(Clone, Default, Debug)]
pub struct CurveRequest {
    /// Numbers of locked pages; without any, ten steps from none to all that can be locked.
    pub pages: Vec<u64>,
    /// Lock what is left of the last level with data of nobody, so that nothing but locked pages is kept in it.
    pub fill: bool,
    /// Measure each point beside hogs on other cores, too, so many cores in all, each with the same budget; and bound it. Needs `fill`.
    pub cores: Option<usize>,
}

/// A curve that can be measured: everything was checked that can be before a run.
pub struct CurveCampaign<'e> {
    experiment: &'e Experiment,
    images: Vec<Arc<TraceImage>>,
    task: TaskId,
    /// The pages of the task, the most accessed first.
    profile: Vec<RankedPage>,
    cache: LockableCache,
    colors: Vec<Color>,
    fill: bool,
    numbers: Vec<u64>,
    regulated: Option<Regulated>,
}

/// A point: how it is alone, of how many jobs, and beside others.
struct Point {
    alone: CurvePoint,
    jobs: u64,
    bounded: Option<BoundedPoint>,
}

/// A measured curve.
#[derive(Clone, Debug)]
pub struct FoundCurve {
    /// The curve.
    pub curve: LockdownCurve,
    /// The fewest jobs that a point is made of.
    pub jobs: u64,
    scenario: String,
    task: String,
    profile: Vec<RankedPage>,
    /// By points of the curve; empty where nobody asked.
    bounded: Vec<BoundedPoint>,
    /// Nothing locked and nothing filled.
    whole: Option<CurvePoint>,
    /// Bounds suppose that no row hits overtake, and the controller prefers them.
    hits_first: bool,
}

impl<'e> CurveCampaign<'e> {
    /// Prepares the curve of one of the experiment's tasks.
    ///
    /// # Errors
    /// [`LabError::Lacks`] where nothing can be locked in the platform's last level; [`CampaignError::TouchesNothing`] and
    /// [`CampaignError::TooManyPages`]; where a recording can't be read.
    pub fn new(
        experiment: &'e Experiment,
        recordings: &Recordings,
        task: TaskId,
        request: &CurveRequest,
    ) -> Result<Self, LabError> {
        let platform = &experiment.platform;
        if !solo_sim::caps(experiment).cache_lock {
            let lack = MachineLack::ExclusiveLastLevel { platform: platform.name.clone() };
            return Err(LabError::Lacks { scenario: experiment.name.clone(), lack });
        }
        let of = &experiment.tasks[task.index()];
        let images = recordings.of(experiment)?;
        let recorded: Vec<_> = images.iter().map(|image| image.accesses_by_page()).collect();
        let profile = lockdown::ranks(task, &of.work, &experiment.buffers, platform.page, &recorded);
        if profile.is_empty() {
            return Err(CampaignError::TouchesNothing { task: of.name.clone() }.into());
        }
        let memory = experiment.isolation.memory.as_ref();
        let owner = memory.and_then(|memory| memory.owners.iter().find(|owner| owner.task == task));
        let groups = memory.map_or(0, |memory| memory.groups);
        let colors = owner.map_or(Vec::new(), |owner| owner.colors.clone());
        let cache = lockable(platform, groups);
        let fill = request.fill;
        let numbers = Vec::new();
        let regulated = match request.cores {
            Some(cores) if fill => Some(Regulated::new(experiment, task, cores)?),
            _ => None,
        };
        let mut campaign =
            Self { experiment, images, task, profile, cache, colors, fill, numbers, regulated };
        campaign.numbers = campaign.numbers(&request.pages)?;
        Ok(campaign)
    }

    /// The numbers of pages that are asked for, or steps from none to all that can be locked.
    fn numbers(&self, asked: &[u64]) -> Result<Vec<u64>, CampaignError> {
        let colors =
            if self.colors.is_empty() { u64::from(self.cache.colors) } else { self.colors.len() as u64 };
        let profiled = self.profile.len() as u64;
        let most = profiled.min(self.cache.per_color() * colors);
        if asked.is_empty() {
            return Ok((0..=STEPS).map(|step| most * step / STEPS).collect());
        }
        match asked.iter().find(|&&pages| pages > most) {
            Some(&asked) => Err(CampaignError::TooManyPages { asked, profiled, most }),
            None => Ok(asked.to_vec()),
        }
    }

    /// Runs the experiment once for each number of locked pages, as many at once as the host has cores.
    ///
    /// # Errors
    /// Where a run comes to nothing, or a point has no job.
    pub fn run(&self, control: &Control<'_>) -> Result<FoundCurve, LabError> {
        let points = self
            .numbers
            .par_iter()
            .map(|&pages| self.point(pages, control))
            .collect::<Result<Vec<_>, LabError>>()?;
        let whole = match self.fill {
            true => Some(self.measured(&self.unlocked(), 0, "whole level", control)?.0),
            false => None,
        };
        let curve = LockdownCurve::new(&points.iter().map(|point| point.alone).collect::<Vec<_>>());
        // In the order of the curve, which sorts its points and keeps one of each number.
        let of = |at: &CurvePoint| points.iter().find(|point| point.alone.pages == at.pages)?.bounded;
        Ok(FoundCurve {
            jobs: points.iter().map(|point| point.jobs).min().unwrap_or(0),
            bounded: curve.points().iter().filter_map(of).collect(),
            whole,
            hits_first: self.regulated.is_some() && isolated::prefers_hits(self.experiment),
            curve,
            scenario: self.experiment.name.clone(),
            task: self.experiment.tasks[self.task.index()].name.clone(),
            profile: self.profile.clone(),
        })
    }

    /// The point of so many locked pages.
    fn point(&self, pages: u64, control: &Control<'_>) -> Result<Point, LabError> {
        let experiment = self.locked(pages)?;
        let name = counted(pages, "page").to_string();
        let (alone, jobs) = self.measured(&experiment, pages, &name, control)?;
        let beside =
            |regulated: &Regulated| regulated.point(&experiment, &self.images, &alone, jobs, control);
        let bounded = self.regulated.as_ref().map(beside).transpose()?;
        Ok(Point { alone, jobs, bounded })
    }

    /// Runs an experiment; the point, and how many jobs it is made of.
    fn measured(
        &self,
        experiment: &Experiment,
        pages: u64,
        name: &str,
        control: &Control<'_>,
    ) -> Result<(CurvePoint, u64), LabError> {
        // Response time and last-level misses of the task's jobs.
        let mut seen: Vec<(Duration, u64)> = Vec::new();
        let mut take = |record: Record| {
            if let Record::Job(job) = record
                && job.task == self.task
            {
                seen.push((job.response(), job.counts.get(EventId::LLC_MISSES).unwrap_or(0)));
            }
            ControlFlow::Continue(())
        };
        let share = |now, done| control.progress.reached(name, now, done);
        let outcome = once(experiment, &self.images, &mut Heard { take: &mut take, share: &share, control })?;
        control.progress.ended(name);
        if outcome.stop == solo_sim::Stop::Interrupted {
            return Err(LabError::Interrupted);
        }
        let times = || seen.iter().map(|(time, _)| *time);
        let (Some(worst), Some(best)) = (times().max(), times().min()) else {
            let task = self.experiment.tasks[self.task.index()].name.clone();
            return Err(CampaignError::NoJob { task, pages }.into());
        };
        let residual_misses = seen.iter().map(|(_, misses)| *misses).max().unwrap_or(0);
        Ok((CurvePoint { pages, worst, best, residual_misses }, seen.len() as u64))
    }

    /// The experiment with nothing locked. Where points are bounded, times alone are without budgets (SCE 2.3 d).
    fn unlocked(&self) -> Experiment {
        let mut experiment = self.experiment.clone();
        experiment.isolation.lockdown = None;
        if self.regulated.is_some() {
            experiment.isolation.bandwidth = None;
        }
        experiment
    }

    /// The experiment with so many of the task's pages locked.
    fn locked(&self, pages: u64) -> Result<Experiment, LabError> {
        let request = LockRequest { task: self.task, pages, colors: self.colors.clone(), window: None };
        let mut locked = lockdown::plan(true, self.cache, &self.profile, &[request])
            .map_err(|error| CampaignError::Lock(Named::new(error, self.experiment)))?;
        let mut experiment = self.unlocked();
        if self.fill {
            self.fill_rest(&mut locked, &mut experiment.buffers);
        }
        let lockdown = self.experiment.isolation.lockdown.clone().unwrap_or_default();
        if !locked.is_empty() {
            experiment.isolation.lockdown = Some(Lockdown { pages: locked, ..lockdown });
        }
        Ok(experiment)
    }

    /// Locks pages of a buffer that nobody touches wherever a page still fits: in all ways, for the paper leaves nothing of the level
    /// to memory that is not locked (SCE 4).
    fn fill_rest(&self, locked: &mut Vec<LockedPage>, buffers: &mut Vec<Buffer>) {
        let buffer = BufferId(buffers.len() as u32);
        let mut page = 0;
        for color in (0..self.cache.colors).map(Color) {
            let taken = locked.iter().filter(|locked| locked.color == color).count() as u64;
            for _ in taken..u64::from(self.cache.ways) {
                locked.push(LockedPage { task: self.task, buffer, page, color });
                page += 1;
            }
        }
        let size = self.experiment.platform.page * page;
        buffers.push(Buffer { name: "nobody's".into(), size });
    }
}

impl FoundCurve {
    /// The curve with what is to be read from it: the fewest pages that bring all but `knee_per_cent` of the gain, and the
    /// fewest pages with which every response stays within a time.
    pub fn page(&self, knee_per_cent: u64, within: Option<Duration>) -> LockdownPage {
        let point = |point: &CurvePoint| LockedPoint {
            pages: point.pages,
            worst: point.worst,
            best: point.best,
            residual_misses: point.residual_misses,
            uncovered: lockdown::uncovered(&self.profile, point.pages),
            bounded: None,
        };
        let bounded = self.bounded.iter().map(|point| Some(*point)).chain(std::iter::repeat(None));
        let points = self.curve.points().iter().zip(bounded);
        LockdownPage {
            scenario: self.scenario.clone(),
            task: self.task.clone(),
            jobs: self.jobs,
            points: points.map(|(of, bounded)| LockedPoint { bounded, ..point(of) }).collect(),
            whole: self.whole.as_ref().map(point),
            hits_first: self.hits_first,
            knee: self.curve.knee(knee_per_cent * 10).map(|point| (point.pages, knee_per_cent)),
            within: within.map(|time| (time, self.curve.pages_for(time).map(|point| point.pages))),
        }
    }
}

/// The last level, into whose ways pages are locked.
fn lockable(platform: &Platform, groups: u16) -> LockableCache {
    let last = platform.last_level();
    let colors = last.map_or(1, |cache| cache.colors(platform.page));
    let colors = if groups == 0 { colors } else { groups.min(colors) };
    LockableCache { colors, ways: last.map_or(1, |cache| cache.ways) }
}

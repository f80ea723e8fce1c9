//! A point of a lockdown curve beside other cores (SCE Fig. 12): the same pages locked, hogs that do nothing but write memory on all other
//! active cores, for each core an equal part of what memory guarantees, and what bounds the job then.

use super::super::wcet::Hog;
use super::super::wcet::beside::{Setting, beside};
use super::super::wcet::isolated::{self, Apart};
use crate::error::Unbounded;
use crate::once::{Heard, once};
use crate::{CampaignError, Control, LabError};
use solo_isolate::capacity::written_back;
use solo_isolate::lockdown::CurvePoint;
use solo_model::isolation::{Counted, Regulation};
use solo_model::text::counted;
use solo_model::{CoreId, Duration, EventId, Experiment, Record, TaskId};
use solo_report::html::BoundedPoint;
use solo_workload::TraceImage;
use std::ops::ControlFlow;
use std::sync::Arc;

/// MemGuard's period where a scenario names none.
const PERIOD: Duration = Duration::from_millis(1);

/// What the points of a curve have in common.
pub(super) struct Regulated {
    task: TaskId,
    /// The task's name.
    name: String,
    cores: Vec<CoreId>,
    regulation: Regulation,
    model: solo_prove::wcet::Regulation,
}

impl Regulated {
    /// For so many active cores.
    ///
    /// # Errors
    /// [`CampaignError::TooManyCores`], and [`CampaignError::Unbounded`] where others can do more than use their budgets.
    pub(super) fn new(experiment: &Experiment, task: TaskId, active: usize) -> Result<Self, LabError> {
        let platform = &experiment.platform;
        let mut cores = isolated::cores(experiment, task);
        if active == 0 || active > cores.len() {
            let (most, platform) = (cores.len(), platform.name.clone());
            return Err(CampaignError::TooManyCores { asked: active, most, platform }.into());
        }
        cores.truncate(active);
        let name = experiment.tasks[task.index()].name.clone();
        let refused = |why| CampaignError::Unbounded { task: name.clone(), why };
        let regulation = match &experiment.isolation.bandwidth {
            Some(_) => isolated::strict(experiment).map_err(refused)?.clone(),
            None => {
                let counted = Counted::One(EventId::LLC_MISSES);
                Regulation::new(PERIOD, counted, Vec::new(), written_back(platform))
            }
        };
        // The whole last level is locked: nobody evicts anything from it.
        match isolated::apart(experiment, task, &cores) {
            Ok(_) | Err(Unbounded::SharedCache) => {}
            Err(why) => return Err(refused(why).into()),
        }
        let longest = solo_prove::system::longest(experiment, &regulation);
        let model = isolated::model(&regulation, active, longest, 0).map_err(refused)?;
        Ok(Self { task, name, cores, regulation, model })
    }

    /// The point whose jobs alone are these.
    ///
    /// # Errors
    /// [`CampaignError::NoJobEnds`]; where the experiment can't run.
    pub(super) fn point(
        &self,
        locked: &Experiment,
        images: &[Arc<TraceImage>],
        alone: &CurvePoint,
        jobs: u64,
        control: &Control<'_>,
    ) -> Result<BoundedPoint, LabError> {
        let stall = self.model.stall(0, alone.residual_misses).unwrap_or(Duration::MAX);
        let bound = alone.worst.saturating_add(stall);
        let mut experiment = locked.clone();
        experiment.isolation.bandwidth = Some(self.regulation.clone());
        let budget = Some((self.model.budget(0), isolated::distance(bound, self.model.period())));
        let setting =
            Setting { cores: &self.cores, hog: Hog::Writes, apart: Some(&Apart::Whole), budget, jobs };
        let wanted = || CampaignError::NoJobEnds { task: self.name.clone(), wanted: jobs, seen: 0 };
        let experiment = beside(&experiment, self.task, &setting).ok_or_else(wanted)?;
        let mut times: Vec<Duration> = Vec::new();
        let mut take = |record: Record| {
            if let Record::Job(job) = record
                && job.task == TaskId(0)
            {
                times.push(job.response());
            }
            if (times.len() as u64) < jobs { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let name = format!("{} beside hogs", counted(alone.pages, "page"));
        let share = |now, done| control.progress.reached(&name, now, done);
        once(&experiment, images, &mut Heard { take: &mut take, share: &share, control })?;
        control.progress.ended(&name);
        if control.cancel.requested() {
            return Err(LabError::Interrupted);
        }
        let seen = times.len() as u64;
        match (times.iter().max(), times.iter().min()) {
            (Some(&worst), Some(&best)) if seen >= jobs => Ok(BoundedPoint { worst, best, bound }),
            _ => Err(CampaignError::NoJobEnds { task: self.name.clone(), wanted: jobs, seen }.into()),
        }
    }
}

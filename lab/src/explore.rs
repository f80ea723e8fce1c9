//! Policies that are tried out: values that nobody has registered, on the simulated machine.
//!
//! A criterion is a type without data, for the kernel is compiled once for each. One that is tried out is asked through a
//! [`Ranking`] instead, a function in a box: slower, and otherwise the same kernel. A placement or a monitor is a value
//! already and stands in for the one that the experiment names.

use crate::error::Named;
use crate::once::{Heard, Take};
use crate::simulate::outcome_of;
use crate::{Control, LabError, Recordings};
use solo_model::{Experiment, Record};
use solo_observe::monitor;
use solo_report::{Report, Summary};
use solo_schedule::{Criterion, JobView, Parameter, Placed, Rank, TaskParameters};
use solo_sim::{SimError, SimulationEnd, StandIns};
use std::cell::RefCell;
use std::ops::ControlFlow;

/// How urgent a job is: the lower, the more. Nothing for a job that is not ordered: it comes after all of its class that are.
///
/// It is asked at each release and, where the ranking [ages](When::Aging), at each decision. It must give the same answer to the
/// same job, or the schedule follows from nothing.
pub type Ranking = Box<dyn FnMut(&JobView<'_>) -> Option<i64>>;

/// When a ranking decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// A more urgent job takes the core of a less urgent one.
    Preemptive,
    /// A job runs until it finishes, blocks or yields.
    Cooperative,
    /// Preemptive, and ranks change while jobs execute: they are asked for anew at each decision and, where the experiment says a
    /// quantum, at the end of each.
    Aging,
}

/// Policies that are tried out on an experiment.
pub struct Exploration<'x> {
    /// What is to run. It is one machine that is switched on once, however many jobs there are.
    pub experiment: &'x Experiment,
    /// The recorded programs that it replays; what is missing is read from the files that the experiment names.
    pub recordings: &'x Recordings,
    /// Who hears of it and who may stop it.
    pub control: &'x Control<'x>,
    /// Orders jobs instead of the experiment's criterion.
    pub ranking: Option<(Ranking, When)>,
    /// Hears and answers instead of the experiment's placement.
    pub placement: Option<Placed>,
    /// Makes the metric instead of the experiment's monitor.
    pub monitor: Option<monitor::Heard>,
}

impl Exploration<'_> {
    /// Runs the experiment in memory, while `each` hears every record, in the order of their times.
    ///
    /// The report holds no bounds: nothing is proved of a policy that is tried out.
    ///
    /// # Errors
    /// Where the experiment can't run, a recording can't be read, or the caller asked to stop.
    pub fn report(self, mut each: impl FnMut(&Record)) -> Result<Report, LabError> {
        let (experiment, control) = (self.experiment, self.control);
        let images = self.recordings.of(experiment)?;
        let mut summary = Summary::new(experiment);
        let take: &mut Take<'_> = &mut |record: Record| {
            each(&record);
            summary.add(&record);
            ControlFlow::Continue(())
        };
        let share = |now, done| control.progress.reached(&experiment.name, now, done);
        let mut heard = Heard { take, share: &share, control };
        let instead = StandIns { placement: self.placement, monitor: self.monitor };
        let named = match self.ranking {
            None => solo_sim::run_instead(experiment, &images, &mut heard, instead),
            Some((ranking, when)) => {
                let asking = Asking::begin(ranking);
                let ended = match when {
                    When::Preemptive => solo_sim::run_under::<Asked<true, false>>,
                    When::Cooperative => solo_sim::run_under::<Asked<false, false>>,
                    When::Aging => solo_sim::run_under::<Asked<true, true>>,
                }(experiment, &images, &mut heard, instead);
                drop(asking);
                ended
            }
        };
        let failed = |error: SimError| LabError::Simulation(Named::new(error, experiment));
        let ended: SimulationEnd = named.map_err(failed)?;
        control.progress.ended(&experiment.name);
        let outcome = outcome_of(&ended, None)?;
        Ok(summary.finish(outcome.end).with_outcome(&outcome))
    }
}

thread_local! {
    /// Whom the run on this thread asks. A criterion has no data, and a run of the simulated machine stays on its thread.
    static RANKING: RefCell<Option<Ranking>> = const { RefCell::new(None) };
}

/// While it lives, the run on this thread asks its ranking; then the one before it, where a ranking itself runs something.
struct Asking(Option<Ranking>);

impl Asking {
    fn begin(ranking: Ranking) -> Self {
        Self(RANKING.replace(Some(ranking)))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        RANKING.set(self.0.take());
    }
}

/// Asks the ranking of the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Asked<const PREEMPTIVE: bool, const AGES: bool>;

impl<const PREEMPTIVE: bool, const AGES: bool> Criterion for Asked<PREEMPTIVE, AGES> {
    const NAME: &'static str = "TRIED-OUT";
    const DYNAMIC: bool = true;
    const PREEMPTIVE: bool = PREEMPTIVE;
    const AGES: bool = AGES;
    const TIMED: bool = AGES;

    fn rank(job: &JobView<'_>) -> Rank {
        // Out of its place while it is asked: it may run something that asks another one.
        let mut ranking = RANKING.take();
        let key = ranking.as_mut().and_then(|ranking| ranking(job));
        RANKING.set(ranking);
        key.map_or_else(|| Rank::unordered(job), |key| Rank::by_key(job, key))
    }

    /// It knows itself what it needs.
    fn missing(_: &TaskParameters) -> Option<Parameter> {
        None
    }
}

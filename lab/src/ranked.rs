//! Threads of this Linux by the ranks that the scenario's criterion gives their jobs. Under a scheduler in eBPF: it takes the threads of the lowest
//! ranks, and the criterion repeats each of its decisions outside the kernel. Or under SCHED_FIFO, with priorities that follow the ranks: after
//! the run the criterion repeats each change of them from the run's records.

use crate::error::Named;
use crate::{Control, LabError, MachineLack};
use solo_model::{Experiment, Instant, TaskId};
use solo_report::run::Repeated;
use solo_schedule::{Criterion, TaskParameters, Visitor, dispatch};
use solo_scx::{Ejected, Ranks, Replay, job, key_of};
use solo_threads::{
    Changes, Compared, Counted, Host, Options, Plane, PlaneDomains, Priorities, Raises, Ran, Ranking,
    ThreadsError, Under, plane_domains, repeat,
};
use std::path::Path;
use std::thread;

/// What came of a run.
pub(crate) struct Ranked {
    pub(crate) ran: Ran,
    /// What came of repeating each decision.
    pub(crate) repeated: Repeated,
    /// Why the kernel put its own scheduler back before the end, where it did.
    pub(crate) ejected: Option<Ejected>,
}

/// Runs the experiment's tasks as threads with ranks.
///
/// # Errors
/// [`LabError::Lacks`] where such threads can't do what the experiment needs, [`LabError::Scheduler`] where this kernel takes none,
/// [`LabError::Threads`], [`LabError::Interrupted`].
pub(crate) fn run(
    experiment: &Experiment,
    host: &Host,
    counted: Option<&Counted>,
    folder: &Path,
    control: &Control<'_>,
) -> Result<Ranked, LabError> {
    let wanted = Wanted::of(experiment, host, counted, folder, control, Raises::NONE)?;
    dispatch(experiment.policy.criterion, UnderRanks(wanted))
}

/// What came of a run under SCHED_FIFO.
pub(crate) struct Followed {
    pub(crate) ran: Ran,
    /// How long it took to change the order.
    pub(crate) changes: Changes,
    /// What came of deciding each change again.
    pub(crate) compared: Compared,
}

/// Runs the experiment's tasks as threads under SCHED_FIFO, whose priorities follow their ranks.
///
/// # Errors
/// As [`run`], without a scheduler that could be missing.
pub(crate) fn by_priority(
    experiment: &Experiment,
    host: &Host,
    counted: Option<&Counted>,
    folder: &Path,
    control: &Control<'_>,
) -> Result<Followed, LabError> {
    let wanted = Wanted::of(experiment, host, counted, folder, control, Priorities::RAISES)?;
    dispatch(experiment.policy.criterion, ByPriority(wanted))
}

/// An experiment that can't run here.
fn lacks(experiment: &Experiment, lack: MachineLack) -> LabError {
    LabError::Lacks { scenario: experiment.name.clone(), lack }
}

/// What threads said, as this crate's errors.
pub(crate) fn threads(experiment: &Experiment, error: ThreadsError) -> LabError {
    match error {
        ThreadsError::Lacks(lack) => lacks(experiment, MachineLack::Linux(lack)),
        ThreadsError::Policy(error) => LabError::Refused(Named::new(error, experiment)),
        ThreadsError::Interrupted => LabError::Interrupted,
        other => LabError::Threads(other),
    }
}

/// What is to be run, and where threads meet.
struct Wanted<'e> {
    experiment: &'e Experiment,
    host: &'e Host,
    counted: Option<&'e Counted>,
    /// Where programs work.
    folder: &'e Path,
    control: &'e Control<'e>,
    domains: PlaneDomains,
    tasks: Vec<TaskParameters>,
}

impl<'e> Wanted<'e> {
    /// For a plane that raises who holds locks so.
    fn of(
        experiment: &'e Experiment,
        host: &'e Host,
        counted: Option<&'e Counted>,
        folder: &'e Path,
        control: &'e Control<'e>,
        raises: Raises,
    ) -> Result<Self, LabError> {
        let domains = plane_domains(experiment, host, raises);
        let domains = domains.map_err(|lack| lacks(experiment, MachineLack::Linux(lack)))?;
        let tasks = experiment.tasks.iter().map(TaskParameters::from).collect();
        Ok(Self { experiment, host, counted, folder, control, domains, tasks })
    }

    /// Runs it on a plane, by the ranks of a criterion.
    fn run<C: Criterion>(&self, plane: &dyn Plane) -> Result<Ran, ThreadsError> {
        let key = |task: TaskId, deadline: Option<Instant>| {
            self.tasks.get(task.index()).map_or(u64::MAX, |own| key_of(C::rank(&job(task, own, deadline))))
        };
        let under = Under::Ranked(Ranking { plane, key: &key });
        let options = Options { under, counted: self.counted, folder: Some(self.folder) };
        solo_threads::run(self.experiment, self.host, options, &|| self.control.cancel.requested())
    }
}

struct ByPriority<'e>(Wanted<'e>);

impl Visitor for ByPriority<'_> {
    type Output = Result<Followed, LabError>;

    fn visit<C: Criterion>(self) -> Self::Output {
        let Self(wanted) = self;
        let failed = |error| threads(wanted.experiment, error);
        let plane = Priorities::new(wanted.experiment, &wanted.domains, wanted.host).map_err(failed)?;
        let ran = wanted.run::<C>(&plane).map_err(failed)?;
        let changes = plane.changes();
        let compared = repeat::<C>(&plane.into_logs(), wanted.experiment, &ran, key_of);
        Ok(Followed { ran, changes, compared })
    }
}

struct UnderRanks<'e>(Wanted<'e>);

impl Visitor for UnderRanks<'_> {
    type Output = Result<Ranked, LabError>;

    fn visit<C: Criterion>(self) -> Self::Output {
        let Self(wanted) = self;
        let (experiment, PlaneDomains { cpus, of_task }) = (wanted.experiment, &wanted.domains);
        let (ranks, told) = Ranks::attach(cpus, of_task)
            .map_err(|error| LabError::Scheduler { scenario: experiment.name.clone(), error })?;
        let (ran, ejected, replayed) = thread::scope(|scope| {
            // It ends when nobody is left who could tell something.
            let (tasks, of_task) = (wanted.tasks.clone(), of_task.clone());
            let repeating = scope.spawn(move || {
                let mut replay = Replay::<C>::new(tasks, of_task, cpus);
                told.into_iter().for_each(|told| replay.take(told));
                replay.finish()
            });
            let (ran, ejected) = {
                // Detached at the end of this block: then nobody tells anything any more.
                let ranks = ranks;
                (wanted.run::<C>(&ranks), ranks.ejected())
            };
            (ran, ejected, repeating.join())
        });
        let ran = ran.map_err(|error| threads(experiment, error))?;
        let replayed = replayed.unwrap_or_default();
        let repeated = Repeated {
            decisions: replayed.decisions,
            disagreements: replayed.disagreements,
            first: replayed.first,
            placed: replayed.placed,
            lost: replayed.lost,
        };
        Ok(Ranked { ran, repeated, ejected })
    }
}

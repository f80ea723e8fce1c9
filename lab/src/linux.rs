//! Running an experiment as threads of this Linux, into a run directory.

use crate::{Control, LabError, MachineLack, Origin, Step, simulate};
use solo_model::Experiment;
use solo_model::experiment::End;
use solo_model::text::Printable;
use solo_report::run::Tier;
use solo_report::{CoreReport, EndReason, FinishedRun, Manifest, Report, RunEnd, RunWriter, Shortfalls};
use solo_store::Folder;
use solo_threads::{Host, Ran, ThreadsError};

/// What threads of this Linux made of an experiment, before anything is written.
#[derive(Debug)]
pub struct LinuxRun {
    ran: Ran,
    host: Host,
}

impl LinuxRun {
    /// Runs the tasks of the experiment as threads. The platform of the scenario gives the number of cores; its caches and
    /// memory are those of this machine.
    ///
    /// # Errors
    /// [`LabError::Lacks`] where threads of Linux can't do what the experiment needs, [`LabError::Threads`] where Linux refuses
    /// something, [`LabError::Interrupted`].
    pub fn run(experiment: &Experiment, control: &Control<'_>) -> Result<Self, LabError> {
        let host = Host::look();
        control.progress.step(Step::Threads { count: experiment.tasks.len() });
        let ran = solo_threads::run(experiment, &host, &|| control.cancel.requested());
        let ran = ran.map_err(|error| match error {
            ThreadsError::Lacks(lack) => {
                LabError::Lacks { scenario: experiment.name.clone(), lack: MachineLack::Linux(lack) }
            }
            ThreadsError::Interrupted => LabError::Interrupted,
            other => LabError::Threads(other),
        })?;
        Ok(Self { ran, host })
    }

    /// Keeps the records in a folder that was taken for them.
    ///
    /// # Errors
    /// Where the folder can't be written.
    pub fn into_directory(
        self,
        experiment: &Experiment,
        origin: &Origin<'_>,
        folder: &Folder,
    ) -> Result<FinishedRun, LabError> {
        let cpus: Vec<String> =
            self.ran.cpus.iter().map(|(cpu, core)| format!("{core} on CPU {cpu}")).collect();
        let host = format!("threads, {}; {}", cpus.join(", "), simulate::host());
        let manifest =
            Manifest { host, machine: "linux".into(), tier: Tier::Native, ..origin.manifest(experiment) };
        let (no_switches, share) = (self.ran.no_switches, self.host.real_time_share);
        let mut writer = RunWriter::create_in(folder.clone(), manifest, experiment, origin.source)?
            .with_warnings(move |report| warnings(report, no_switches.as_deref(), share));
        self.ran.records.iter().try_for_each(|record| writer.write(record))?;
        let reason = match experiment.end {
            _ if self.ran.cut_off => EndReason::CutOff,
            End::At(_) => EndReason::TimeOver,
            End::Jobs(_) => EndReason::JobsDone,
        };
        let outcome = RunEnd {
            end: self.ran.end,
            reason,
            stop_on: None,
            shortfalls: Shortfalls::default(),
            heard: Vec::new(),
            curves: Vec::new(),
        };
        Ok(writer.finish(outcome)?)
    }
}

/// What a reader of a run of Linux has to know, with cause and remedy.
fn warnings(report: &Report, no_switches: Option<&str>, share: Option<(u64, u64)>) -> Vec<String> {
    let unknown = no_switches.map(|why| {
        format!(
            "Linux does not tell when threads are switched ({}): there is no schedule, and preemptions are what threads \
             know of themselves; as root, or with kernel.perf_event_paranoid at 1, it does",
            Printable(why)
        )
    });
    // In whole periods: who stays below the share in all of them together may still have been stopped in one.
    let full = share.and_then(|(runtime, period)| {
        let most = u128::from(report.end.get()) * u128::from(runtime);
        let full = |core: &&CoreReport| u128::from(core.busy.get()) * u128::from(period) >= most;
        let core = report.cores.iter().find(full).filter(|_| !report.end.is_zero())?;
        Some(format!(
            "{} was busy for as long as Linux lets real-time threads run, {runtime} of each {period} us: who needed more was \
             stopped for the rest; kernel.sched_rt_runtime_us sets it",
            core.core
        ))
    });
    unknown.into_iter().chain(full).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::fixtures::chip;
    use solo_model::record::{SwitchReason, SwitchRecord};
    use solo_model::task::Release;
    use solo_model::{CoreId, Criterion, Duration, Instant, Policy, Record, Scope, Task, TaskClass, TaskId};
    use solo_report::Summary;

    /// A run of a second in which core 0 runs a task until `busy`.
    fn report(busy: u64) -> Report {
        let task = Task::new("t", TaskClass::Hard, Release::Once { offset: Duration::ZERO });
        let policy = Policy::new(Scope::Partitioned, Criterion::StaticPriority);
        let end = End::At(Duration::from_secs(1));
        let mut summary = Summary::new(&Experiment::new("busy", chip(1), policy, vec![task], end));
        let task = Some(TaskId(0));
        let switch = |at, from, to| {
            let (core, reason) = (CoreId(0), SwitchReason::Idle);
            Record::Switch(SwitchRecord { at: Instant::new(at), core, from, to, reason })
        };
        summary.add(&switch(0, None, task));
        summary.add(&switch(busy, task, None));
        summary.finish(Instant::new(1_000_000_000))
    }

    #[test]
    fn what_linux_kept_from_threads_or_did_not_tell_stays_with_the_run() {
        let share = Some((950_000, 1_000_000));
        assert_eq!(warnings(&report(949_000_000), None, share), [""; 0]);
        assert!(warnings(&report(950_000_000), None, share)[0].contains("core0 was busy"));
        assert_eq!(warnings(&report(1_000_000_000), None, None), [""; 0]);
        assert!(warnings(&report(1), Some("refused"), None)[0].contains("(refused)"));
    }
}

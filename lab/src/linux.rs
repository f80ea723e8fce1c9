//! Running an experiment as threads of this Linux, into a run directory.

use crate::{Control, LabError, Lack, Origin, Step, simulate};
use solo_model::Experiment;
use solo_model::experiment::End;
use solo_report::run::Tier;
use solo_report::{EndReason, FinishedRun, Manifest, Outcome, RunWriter, Shortfalls};
use solo_store::Folder;
use solo_threads::{Host, Ran, ThreadsError};

/// What threads of this Linux made of an experiment, before anything is written.
#[derive(Debug)]
pub struct LinuxRun {
    ran: Ran,
    host: Host,
}

/// What a reader of a run of Linux has to know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// The kernel does not tell of switches, for this reason: there is no schedule, and preemptions are what the thread's own
    /// account says.
    NoSwitches(String),
    /// Linux keeps real-time threads from part of each period: microseconds that they may use, and the period.
    Share(u64, u64),
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
                LabError::Lacks { scenario: experiment.name.clone(), lack: Lack::Linux(lack) }
            }
            ThreadsError::Interrupted => LabError::Interrupted,
            other => LabError::Threads(other),
        })?;
        Ok(Self { ran, host })
    }

    /// What a reader has to know.
    pub fn doubts(&self) -> Vec<Doubt> {
        let switches = self.ran.no_switches.clone().map(Doubt::NoSwitches);
        let share = self.host.real_time_share.map(|(runtime, period)| Doubt::Share(runtime, period));
        switches.into_iter().chain(share).collect()
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
        let mut writer = RunWriter::create_in(folder.clone(), manifest, experiment, origin.source)?;
        self.ran.records.iter().try_for_each(|record| writer.write(record))?;
        let reason = match experiment.end {
            _ if self.ran.cut_off => EndReason::CutOff,
            End::At(_) => EndReason::TimeOver,
            End::Jobs(_) => EndReason::JobsDone,
        };
        let outcome = Outcome {
            end: self.ran.end,
            reason,
            stop_on: None,
            shortfalls: Shortfalls::default(),
            heard: Vec::new(),
        };
        Ok(writer.finish(outcome)?)
    }
}

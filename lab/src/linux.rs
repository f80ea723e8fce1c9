//! Running an experiment as threads of this Linux, into a run directory.

use crate::ranked::{self, Followed, Ranked};
use crate::{Control, LabError, Origin, Step, simulate};
use solo_model::experiment::End;
use solo_model::text::{Printable, counted};
use solo_model::{Duration, EventId, Experiment, TaskClass, TaskId};
use solo_report::run::{CarriedOut, Repeated, Tier};
use solo_report::{CoreReport, EndReason, FinishedRun, Manifest, Report, RunEnd, RunWriter, Shortfalls};
use solo_store::Folder;
use solo_threads::Failed;
use solo_threads::hosted;
use solo_threads::hosted::Carried;
use solo_threads::{Changes, Compared, Host, Options, Ran, Under};
pub use solo_threads::{Counted, path_in};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// What threads of this Linux made of an experiment, before anything is written.
#[derive(Debug)]
pub struct LinuxRun {
    ran: Ran,
    host: Host,
    /// What was counted of jobs.
    counted: Vec<EventId>,
    decided: Decided,
}

/// Who decided, and what is known of the decisions.
#[derive(Debug)]
enum Decided {
    /// Linux under SCHED_FIFO or SCHED_RR.
    Priorities,
    /// Linux under SCHED_DEADLINE.
    Deadline,
    /// The criterion outside the kernel: how often the order was changed and how long that took, and what came of repeating each change.
    Ranks(Changes, Compared),
    /// A kernel of this process: what Linux made of its decisions, or why it does not tell.
    Hosted(Result<Carried, String>),
    /// A scheduler in eBPF: what came of repeating it, and why the kernel put its own scheduler back before the end.
    SchedExt { repeated: Repeated, ejected: Option<String> },
}

impl Decided {
    /// How threads were scheduled.
    const fn class(&self) -> &'static str {
        match self {
            Self::Priorities | Self::SchedExt { .. } => "threads",
            Self::Deadline => "threads under SCHED_DEADLINE",
            Self::Ranks(..) => "threads whose priorities follow ranks",
            Self::Hosted(_) => "threads under a kernel of this process",
        }
    }

    /// How close the code that decided is to the criterion.
    const fn tier(&self) -> Tier {
        match self {
            Self::Priorities | Self::Deadline => Tier::Native,
            Self::Ranks(..) | Self::Hosted(_) => Tier::B,
            Self::SchedExt { .. } => Tier::C,
        }
    }

    /// Threads have real-time priorities, of which Linux keeps a share back.
    const fn has_share(&self) -> bool {
        match self {
            Self::Priorities | Self::Ranks(..) | Self::Hosted(_) => true,
            Self::Deadline | Self::SchedExt { .. } => false,
        }
    }
}

/// Who schedules the threads of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduler {
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_DEADLINE: Linux's own EDF over all CPUs, each thread with its worst execution time as a budget.
    Deadline,
    /// SCHED_FIFO, with priorities that follow the ranks of jobs: the criterion outside the kernel.
    Ranks,
    /// SCHED_FIFO, as the kernel of the other machines decides, in this process: any criterion.
    Hosted,
    /// A scheduler in eBPF (sched_ext), which schedules all ordinary threads of this machine meanwhile.
    SchedExt,
}

impl LinuxRun {
    /// Runs the tasks of the experiment as threads, under `scheduler`; of each job `counted` is counted. Programs work in `folder`. The platform of the scenario gives the number of cores; its caches and
    /// memory are those of this machine.
    ///
    /// # Errors
    /// [`LabError::Lacks`] where threads of Linux can't do what the experiment needs, [`LabError::Threads`] where Linux refuses
    /// something, [`LabError::Interrupted`].
    pub fn run(
        experiment: &Experiment,
        scheduler: Scheduler,
        counted: Option<&Counted>,
        folder: &Path,
        control: &Control<'_>,
    ) -> Result<Self, LabError> {
        let host = Host::look();
        control.progress.step(Step::Threads { count: experiment.tasks.len() });
        let ids = counted.map_or_else(Vec::new, |counted| counted.ids().to_vec());
        let plain = |under| {
            let options = Options { under, counted, folder: Some(folder) };
            let ran = solo_threads::run(experiment, &host, options, &|| control.cancel.requested());
            ran.map_err(|error| ranked::threads(experiment, error))
        };
        let (ran, decided) = match scheduler {
            Scheduler::Fifo => (plain(Under::Fifo)?, Decided::Priorities),
            Scheduler::Deadline => (plain(Under::Deadline)?, Decided::Deadline),
            Scheduler::Ranks => {
                let Followed { ran, changes, compared } =
                    ranked::by_priority(experiment, &host, counted, folder, control)?;
                (ran, Decided::Ranks(changes, compared))
            }
            Scheduler::Hosted => {
                let ran = hosted::run(experiment, &host, counted, &|| control.cancel.requested());
                let (ran, carried) = ran.map_err(|error| ranked::threads(experiment, error))?;
                (ran, Decided::Hosted(carried))
            }
            Scheduler::SchedExt => {
                let Ranked { ran, repeated, ejected } =
                    ranked::run(experiment, &host, counted, folder, control)?;
                let ejected = ejected.map(|ejected| ejected.to_string());
                (ran, Decided::SchedExt { repeated, ejected })
            }
        };
        Ok(Self { ran, host, counted: ids, decided })
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
        let host = format!("{}, {}; {}", self.decided.class(), cpus.join(", "), simulate::host());
        let mut told = experiment.clone();
        told.platform.events.count_also(self.counted);
        let experiment = &told;
        let tier = self.decided.tier();
        // Who has no real-time priority has no share of it.
        let share = self.host.real_time_share.filter(|_| self.decided.has_share());
        let (mut repeated, mut carried_out, mut not_as_told) = (None, None, None);
        let mut decided_otherwise = None;
        match self.decided {
            Decided::SchedExt { repeated: came_of_it, ejected } => {
                (repeated, not_as_told) = (Some(came_of_it), ejected.as_deref().map(thrown_out));
                decided_otherwise = otherwise(came_of_it);
            }
            Decided::Ranks(Changes { count: changes, p50: p50_ns, p99: p99_ns, max: max_ns }, compared) => {
                carried_out = Some(CarriedOut::Priorities { changes, p50_ns, p99_ns, max_ns });
                repeated = Some(of_changes(compared));
                decided_otherwise = ordered_otherwise(compared);
            }
            Decided::Hosted(Ok(carried)) => carried_out = Some(by_threads(carried)),
            Decided::Hosted(Err(why)) => not_as_told = Some(untold(&why)),
            Decided::Priorities | Decided::Deadline => {}
        }
        let machine = "linux".into();
        let manifest = Manifest { host, machine, tier, repeated, carried_out, ..origin.manifest(experiment) };
        let no_switches = self.ran.no_switches;
        let multiplexed = (self.ran.multiplexed > 0).then(|| {
            format!(
                "{}: an event was not on a counter all the time, and its count is too low; --count fewer events",
                counted(self.ran.multiplexed, "job")
            )
        });
        let failed: Vec<String> =
            self.ran.failed.iter().map(|failed| of_programs(experiment, failed)).collect();
        let mut writer = RunWriter::create_in(folder.clone(), manifest, experiment, origin.source)?
            .with_warnings(move |report| {
                let others = warnings(report, no_switches.as_deref(), share);
                let decisions = not_as_told.clone().into_iter().chain(decided_otherwise.clone());
                decisions.chain(multiplexed.clone()).chain(failed.clone()).chain(others).collect()
            });
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
            ended: Vec::new(),
            heard: Vec::new(),
            curves: Vec::new(),
        };
        Ok(writer.finish(outcome)?)
    }
}

/// What a reader has to know of programs that did not succeed.
fn of_programs(experiment: &Experiment, failed: &Failed) -> String {
    let name = experiment.tasks.get(failed.task.index()).map_or("", |task| task.name.as_str());
    let how = match (failed.how.code(), failed.how.signal()) {
        (Some(code), _) => format!("with status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "nobody knows how".to_owned(),
    };
    format!(
        "{} of {} of task {} failed, the first in job {}: it ended {how}",
        failed.failed,
        counted(failed.ended, "program"),
        Printable(name),
        failed.first.0
    )
}

/// What Linux made of the decisions of a kernel of this process.
fn by_threads(carried: Carried) -> CarriedOut {
    let Carried { chosen, taken_back, p50, p99, max, granted, missing, unchosen, lost } = carried;
    let [p50_ns, p99_ns, max_ns] = [p50, p99, max].map(Duration::get);
    let [granted_ns, missing_ns, unchosen_ns] = [granted, missing, unchosen].map(Duration::get);
    CarriedOut::Threads {
        chosen,
        taken_back,
        p50_ns,
        p99_ns,
        max_ns,
        granted_ns,
        missing_ns,
        unchosen_ns,
        lost,
    }
}

/// What a reader has to know of decisions of which nobody knows what became of them.
fn untold(why: &str) -> String {
    format!(
        "Linux does not tell what became of the decisions of the kernel in this process ({}): the schedule is what was decided, and \
         how late it was carried out is not known",
        Printable(why)
    )
}

/// What a reader has to know of a scheduler in eBPF that was thrown out.
fn thrown_out(why: &str) -> String {
    format!("{}: from then on Linux's own scheduler decided, which knows no deadlines", Printable(why))
}

/// What a reader has to know of a scheduler in eBPF of which the policy thinks otherwise.
fn otherwise(repeated: Repeated) -> Option<String> {
    if repeated.disagreements == 0 && repeated.lost == 0 {
        return None;
    }
    let first = repeated.first.map_or_else(String::new, |first| format!(", the first is number {first}"));
    Some(format!("{repeated}{first}: what the kernel decided is not shown to be what the policy decides"))
}

/// What came of repeating changes of an order of priorities: each is a decision.
fn of_changes(compared: Compared) -> Repeated {
    let Compared { changes: decisions, otherwise: disagreements, first, not_kept: lost, .. } = compared;
    Repeated { decisions, disagreements, first: first.map(|(number, _)| number), placed: 0, lost }
}

/// What a reader has to know of an order of priorities of which the criterion thinks otherwise.
fn ordered_otherwise(compared: Compared) -> Option<String> {
    let repeated = of_changes(compared);
    if repeated.disagreements == 0 && repeated.lost == 0 {
        return None;
    }
    let first = compared
        .first
        .map_or_else(String::new, |(number, what)| format!(", the first is change number {number} ({what})"));
    let lost = if repeated.lost > 0 {
        "; there was no room to keep all changes, and those after are not compared: a shorter run is compared to its end"
    } else {
        ""
    };
    Some(format!(
        "{repeated}{first}: priorities are not shown to have followed the ranks that the criterion gives{lost}"
    ))
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
        // Tasks of best effort are no real-time threads.
        let real_time = |task: TaskId| {
            report.tasks.get(task.index()).is_some_and(|task| task.class != TaskClass::BestEffort)
        };
        let used = |core: &CoreReport| {
            let own = core.occupants.iter().filter(|occupant| real_time(occupant.task));
            own.map(|occupant| occupant.ran.get()).sum::<u64>()
        };
        // Nobody is stopped before the share of the first period is used up.
        let least = runtime.saturating_mul(1000);
        let full = |core: &&CoreReport| {
            let used = used(core);
            used >= least && u128::from(used) * u128::from(period) >= most
        };
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
    use solo_model::{CoreId, Criterion, Duration, Instant, Policy, Record, Scope, Task};
    use solo_report::Summary;
    use solo_threads::Otherwise;

    /// A run of a second in which core 0 runs a task until `busy`.
    fn report(class: TaskClass, busy: u64) -> Report {
        report_until(1_000_000_000, class, busy)
    }

    fn report_until(end_ns: u64, class: TaskClass, busy: u64) -> Report {
        let task = Task::new("t", class, Release::Once { offset: Duration::ZERO });
        let policy = Policy::new(Scope::Partitioned, Criterion::StaticPriority);
        let end = End::At(Duration::new(end_ns));
        let mut summary = Summary::new(&Experiment::new("busy", chip(1), policy, vec![task], end));
        let task = Some(TaskId(0));
        let switch = |at, from, to| {
            let (core, reason) = (CoreId(0), SwitchReason::Idle);
            Record::Switch(SwitchRecord { at: Instant::new(at), core, from, to, reason })
        };
        summary.add(&switch(0, None, task));
        summary.add(&switch(busy, task, None));
        summary.finish(Instant::new(end_ns))
    }

    #[test]
    fn a_scheduler_that_was_thrown_out_or_disagrees_is_told() {
        let agreed = Repeated { decisions: 9, placed: 2, ..Repeated::default() };
        assert_eq!(otherwise(agreed), None);
        let told = otherwise(Repeated { disagreements: 1, first: Some(7), ..agreed }).unwrap_or_default();
        assert!(
            told.starts_with("9 decisions repeated, 1 answered otherwise, 2 threads placed")
                && told.contains("number 7"),
            "{told}"
        );
        assert!(otherwise(Repeated { lost: 3, ..agreed }).is_some_and(|told| told.contains("3 not told")));
        assert!(thrown_out("runnable task stall").starts_with("runnable task stall: from then on"));
        assert!(untold("no rights").contains("(no rights)"));
    }

    #[test]
    fn an_order_that_the_criterion_does_not_give_is_told() {
        let agreed = Compared { changes: 9, after_end: 2, ..Compared::default() };
        assert_eq!(ordered_otherwise(agreed), None);
        assert_eq!(of_changes(agreed), Repeated { decisions: 9, ..Repeated::default() });
        let first = Some((7, Otherwise::Key));
        let told = ordered_otherwise(Compared { otherwise: 2, first, ..agreed }).unwrap_or_default();
        assert!(
            told.starts_with(
                "9 decisions repeated, 2 answered otherwise, the first is change number 7 (its key is"
            ) && told.ends_with("the ranks that the criterion gives"),
            "{told}"
        );
        let told = ordered_otherwise(Compared { not_kept: 3, ..agreed }).unwrap_or_default();
        assert!(told.contains("3 not told: ") && told.contains("no room"), "{told}");
    }

    #[test]
    fn what_linux_kept_from_threads_or_did_not_tell_stays_with_the_run() {
        let share = Some((950_000, 1_000_000));
        assert_eq!(warnings(&report(TaskClass::Hard, 949_000_000), None, share), [""; 0]);
        assert!(warnings(&report(TaskClass::Hard, 950_000_000), None, share)[0].contains("core0 was busy"));
        let short = report_until(100_000_000, TaskClass::Hard, 100_000_000);
        assert_eq!(warnings(&short, None, share), [""; 0], "it was over before anybody was stopped");
        assert_eq!(
            warnings(&report(TaskClass::BestEffort, 1_000_000_000), None, share),
            [""; 0],
            "no real-time thread"
        );
        assert_eq!(warnings(&report(TaskClass::Hard, 1_000_000_000), None, None), [""; 0]);
        assert!(warnings(&report(TaskClass::Hard, 1), Some("refused"), None)[0].contains("(refused)"));
    }
}

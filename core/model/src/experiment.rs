//! A resolved scenario: everything a machine needs to run, in the words of this crate.
//!
//! The scenario file is for people; an experiment has every default filled in, every name resolved to an
//! index and nothing left to decide. It is serialised into the run directory and sent to the bare-metal
//! machine as its boot module.

use crate::application::Application;
use crate::device::{Device, Pace};
use crate::event::EventId;
use crate::id::CoreSet;
use crate::isolation::{Counted, Isolation};
use crate::listening::Listening;
use crate::overhead::OverheadTable;
use crate::platform::Platform;
use crate::policy::Policy;
use crate::task::{Release, Task};
use crate::units::Duration;
use crate::work::{Buffer, Lock, TraceSource};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// When a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum End {
    /// When each periodic task has finished this many jobs, or where there are no periodic tasks when all others have (a task
    /// that runs once with its one job). Periodic tasks that cannot finish them are cut off at twice the time at which
    /// the slowest would release one job more, by its offset and period.
    Jobs(u64),
    /// At this time.
    At(Duration),
}

/// What a run waits for, and until when: [`End`] for certain tasks. Every machine ends its runs by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Goal {
    /// By task, how many of its jobs have to finish; all zero where the end is a time.
    pub jobs: Vec<u64>,
    /// When the run ends in any case, since its beginning; `None` where only jobs end it.
    pub latest: Option<Duration>,
}

impl End {
    /// What a run of `tasks` waits for. Times that no clock reaches end at the latest time there is.
    pub fn goal(self, tasks: &[Task]) -> Goal {
        let jobs = match self {
            End::At(end) => return Goal { jobs: vec![0; tasks.len()], latest: Some(end) },
            End::Jobs(jobs) => jobs,
        };
        let last_release = |task: &Task| {
            let period = task.release.period().filter(|_| task.release.is_periodic())?;
            Some(task.release.offset().get().saturating_add(period.get().saturating_mul(jobs)))
        };
        let slowest = tasks.iter().filter_map(last_release).max();
        let wanted = |task: &Task| match (task.release, slowest) {
            (Release::Periodic { .. }, _) | (Release::Continuous { .. }, None) => jobs,
            (Release::Once { .. }, None) => jobs.min(1),
            // Nobody knows how often a device interrupts.
            (Release::Sporadic { .. }, _) => 0,
            (Release::Once { .. } | Release::Continuous { .. }, Some(_)) => 0,
        };
        Goal {
            jobs: tasks.iter().map(wanted).collect(),
            latest: if jobs == 0 {
                Some(Duration::ZERO)
            } else {
                slowest.map(|last| Duration::new(last.saturating_mul(2)))
            },
        }
    }
}

/// A resolved scenario.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Experiment {
    /// The scenario's name.
    pub name: String,
    /// The variant's name; empty for the scenario as it stands.
    pub variant: String,
    /// The chip.
    pub platform: Platform,
    /// The scheduling policy.
    pub policy: Policy,
    /// What kernel paths cost on the simulated machine; other machines measure.
    pub overheads: OverheadTable,
    /// The tasks, in the order of the file: `TaskId(i)` is `tasks[i]`.
    pub tasks: Vec<Task>,
    /// Which tasks are threads of one program, where some are.
    #[cfg_attr(feature = "serde", serde(default))]
    pub applications: Vec<Application>,
    /// Memory that tasks touch.
    pub buffers: Vec<Buffer>,
    /// Semaphores and mutexes.
    pub locks: Vec<Lock>,
    /// Recorded programs.
    pub traces: Vec<TraceSource>,
    /// Who owns which colors, banks, ways and locked pages, and how much bandwidth.
    #[cfg_attr(feature = "serde", serde(default))]
    pub isolation: Isolation,
    /// What the scheduler listens to beside its criterion, where it does.
    #[cfg_attr(feature = "serde", serde(default))]
    pub listening: Option<Listening>,
    /// Devices that move data between themselves and memory: `DeviceId(i)` is `devices[i]`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub devices: Vec<Device>,
    /// When the run ends.
    pub end: End,
    /// The interval at which each core's counters are sampled.
    pub sample_every: Duration,
    /// The source of all randomness.
    pub seed: u64,
    /// On the simulated machine, more jobs than this are spread over several independent runs; see
    /// [`replication`](crate::replication). At least 1.
    #[cfg_attr(feature = "serde", serde(default))]
    pub jobs_per_replication: Option<u64>,
}

impl Experiment {
    /// True where jobs move between cores of a domain because these compute at different speeds.
    pub fn moves_up(&self, domain: CoreSet) -> bool {
        let policy = &self.policy;
        policy.fastest_first && policy.criterion.facts().preemptive && self.platform.differ(domain)
    }

    /// An event that it names and its platform's table does not have: `None` for an experiment that was made and not
    /// forged.
    pub fn unknown_event(&self) -> Option<EventId> {
        let costs = self.platform.kinds.iter().flat_map(|kind| &kind.energy).map(|(event, _)| *event);
        let counted = self.isolation.bandwidth.iter().filter_map(|regulation| match regulation.counted {
            Counted::One(event) => Some(event),
            Counted::ReadsAndWrites => None,
        });
        let heard = self.listening.iter().flat_map(|listening| {
            listening.script.iter().map(|count| count.event).chain(listening.observed.events.iter().copied())
        });
        costs.chain(counted).chain(heard).find(|event| self.platform.events.get(*event).is_none())
    }

    /// How a device asks memory: with wait states where bandwidth is reserved in its name.
    pub fn pace(&self, device: &Device) -> Pace {
        let regulation = self.isolation.bandwidth.as_ref();
        let limit = regulation.and_then(|regulation| regulation.reserved_for(&device.name));
        device.pace(self.platform.line(), limit)
    }

    /// Tasks under a policy on a chip until `end`, and nothing else: no buffers, locks, recordings and isolation, kernel
    /// paths that cost nothing, seed 1. Counters are sampled at the end, or each millisecond where that is no time.
    pub fn new(name: &str, platform: Platform, policy: Policy, tasks: Vec<Task>, end: End) -> Self {
        Self {
            name: name.into(),
            variant: String::new(),
            platform,
            policy,
            overheads: OverheadTable::free(),
            tasks,
            applications: Vec::new(),
            buffers: Vec::new(),
            locks: Vec::new(),
            traces: Vec::new(),
            isolation: Isolation::default(),
            listening: None,
            devices: Vec::new(),
            end,
            sample_every: match end {
                End::At(time) => time,
                End::Jobs(_) => Duration::from_millis(1),
            },
            seed: 1,
            jobs_per_replication: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TaskClass;

    fn task(release: Release) -> Task {
        Task::new(String::new(), TaskClass::Soft, release)
    }

    fn periodic(offset: u64, period: u64) -> Task {
        task(Release::Periodic { offset: Duration::new(offset), period: Duration::new(period) })
    }

    #[test]
    fn periodic_tasks_end_a_run_and_the_slowest_says_when_patience_ends() {
        let once = task(Release::Once { offset: Duration::new(9_000) });
        let never_rests = task(Release::Continuous { offset: Duration::ZERO });
        let tasks = [periodic(0, 100), periodic(700, 50), once.clone(), never_rests.clone()];
        // 10 jobs: 1000 ns by the first, 700 + 500 ns by the second; the others don't count.
        assert_eq!(
            End::Jobs(10).goal(&tasks),
            Goal { jobs: vec![10, 10, 0, 0], latest: Some(Duration::new(2_400)) }
        );
        assert_eq!(End::Jobs(10).goal(&tasks[2..]), Goal { jobs: vec![1, 10], latest: None });
        assert_eq!(End::Jobs(0).goal(&[once]), Goal { jobs: vec![0], latest: Some(Duration::ZERO) });
        let at = End::At(Duration::new(5)).goal(&tasks);
        assert_eq!(at, Goal { jobs: vec![0; 4], latest: Some(Duration::new(5)) });
    }

    #[test]
    fn times_beyond_every_clock_saturate() {
        let goal = End::Jobs(u64::MAX).goal(&[periodic(1, u64::MAX / 2)]);
        assert_eq!(goal.latest, Some(Duration::new(u64::MAX)));
    }
}

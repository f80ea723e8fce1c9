//! What the evaluations of thesis chapters 6, 7 and 8 have in common: tasks drawn by their utilisation, jobs that touch memory
//! for as long as their execution time says, and memory of one color for each task.

use solo_model::experiment::Experiment;
use solo_model::isolation::{ColorOwner, Coloring, Isolation};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{
    BufferId, Bytes, Color, CoreId, Duration, Instant, OverheadTable, PerMille, Platform, Record, TaskId,
};
use solo_sim::Observer;
use solo_workload::SplitMix64;
use std::ops::ControlFlow;
use std::path::Path;

/// The size of an evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Task sets; the thesis has 10, in chapter 6 for each scheduler.
    pub(crate) sets: u64,
    /// Jobs of the task with the longest period; the thesis has 200, in chapter 7 in each of 50 runs.
    pub(crate) jobs: u64,
    /// By what periods are divided; the thesis's are 25 to 200 ms.
    pub(crate) scale: u64,
}

impl Size {
    /// The numbers of the command line, and others where it ends.
    pub(crate) fn of_command_line(sets: u64, jobs: u64, scale: u64) -> Self {
        let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
        let number = |at: usize, otherwise: u64| numbers.get(at).copied().unwrap_or(otherwise).max(1);
        Self { sets: number(0, sets), jobs: number(1, jobs), scale: number(2, scale) }
    }
}

/// A task as it was drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Drawn {
    pub(crate) period: Duration,
    pub(crate) wcet: Duration,
}

impl Drawn {
    /// A tenth to seven tenths of a core, in thousandths (thesis 6.1, 7.3.1).
    #[allow(dead_code, reason = "chapter 8 has other shares")]
    pub(crate) const SHARES: (u64, u64) = (100, 700);

    /// One of the periods (ms), divided by `scale`, and a share of it from the least to the most, in thousandths; how much.
    pub(crate) fn draw(
        random: &mut SplitMix64,
        periods: &[u64],
        (least, most): (u64, u64),
        scale: u64,
    ) -> (Self, u64) {
        let period = periods[random.below(periods.len() as u64) as usize] * 1_000_000 / scale.max(1);
        let utilization = least + random.below(most - least + 1);
        let wcet = Duration::new(period * utilization / 1000);
        (Self { period: Duration::new(period), wcet }, utilization)
    }

    /// A hard task that touches its own buffer.
    pub(crate) fn task(&self, at: usize, core: Option<CoreId>, pattern: Pattern, touching: Touching) -> Task {
        let step = Touch {
            pattern,
            buffer: BufferId(at as u32),
            accesses: touching.accesses,
            stride: touching.stride,
            writes: touching.writes,
            think: Duration::ZERO,
        };
        Task {
            deadline: Some(self.period),
            core,
            work: Work { steps: vec![Step::Touch(step)] },
            ..Task::new(
                format!("T{at}"),
                TaskClass::Hard,
                Release::Periodic { offset: Duration::ZERO, period: self.period },
            )
        }
    }
}

/// What a job does with its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touching {
    pub(crate) accesses: u64,
    pub(crate) stride: Bytes,
    pub(crate) writes: PerMille,
}

/// Picoseconds of a warm access and of a cold job's surplus, at worst, of tasks in colors of their own on all cores: the
/// thesis chose its repetitions so that no such task exceeded its execution time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    warm: u64,
    cold: u64,
}

impl Pace {
    /// Accesses of a job by which the pace is measured.
    const ACCESSES: u64 = 60_000;

    /// The pace of one task on each core, of which `experiment` makes three jobs each.
    pub(crate) fn measure(cores: usize, experiment: impl FnOnce(&[Drawn], Self) -> Experiment) -> Self {
        let wcet = Duration::new(Self::ACCESSES);
        let tasks = vec![Drawn { period: Duration::from_millis(20), wcet }; cores];
        // A nanosecond an access and nothing for cold starts: so many accesses.
        let jobs = Jobs::of(&experiment(&tasks, Self { warm: 950, cold: 0 }));
        let (first, later) = jobs.finished.split_at(cores.min(jobs.finished.len()));
        let longest = |jobs: &[(TaskId, u64)]| jobs.iter().map(|job| job.1).max().unwrap_or(0);
        let (cold, warm) = (longest(first), longest(later));
        Self { warm: warm * 1000 / Self::ACCESSES, cold: cold.saturating_sub(warm) * 1000 }
    }

    /// Accesses that fill `wcet` with a reserve of a twentieth, for a job that finds its memory cold so many times.
    pub(crate) fn accesses(self, wcet: Duration, colds: u64) -> u64 {
        let budget = (wcet.get() * 1000).saturating_sub(colds * self.cold) * 95 / 100;
        (budget / self.warm.max(1)).max(1)
    }
}

/// A buffer of each size, by task.
pub(crate) fn buffers(sizes: impl IntoIterator<Item = Bytes>) -> Vec<Buffer> {
    let numbered = sizes.into_iter().enumerate();
    numbered.map(|(at, size)| Buffer { name: format!("b{at}"), size }).collect()
}

/// A color for each task, of so many, and perhaps one for the kernel, whose accesses are simulated.
pub(crate) fn coloring(
    groups: u16,
    kernel: Option<Color>,
    colors: impl IntoIterator<Item = u16>,
) -> Isolation {
    let owner =
        |(at, color)| ColorOwner { task: TaskId(at as u32), colors: vec![Color(color)], banks: Vec::new() };
    let owners = colors.into_iter().enumerate().map(owner).collect();
    let memory =
        Coloring { groups, kernel, owners, shared: true, kernel_touches: true, ..Coloring::default() };
    Isolation { memory: Some(memory), ..Isolation::default() }
}

/// What jobs there were.
#[derive(Default)]
pub(crate) struct Jobs {
    /// Execution times in nanoseconds, in the order in which they were finished.
    pub(crate) finished: Vec<(TaskId, u64)>,
    /// Of each job that finished late or should have been finished before the end.
    pub(crate) late: Vec<TaskId>,
    /// Jobs that should have been finished before the end.
    pub(crate) overdue: u64,
    /// When it was over.
    pub(crate) end: Duration,
}

impl Jobs {
    /// Runs an experiment on the simulated machine.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let mut jobs = Self::default();
        let outcome = solo_sim::run(experiment, &[], &mut jobs).expect("the set can run");
        jobs.end = outcome.end.since(Instant::ZERO);
        jobs
    }
}

impl Observer for Jobs {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Job(job) => {
                self.finished.push((job.task, job.executed.get()));
                self.late.extend(job.missed().then_some(job.task));
            }
            Record::Unfinished(job) if job.deadline.is_some_and(|deadline| deadline <= job.at) => {
                self.late.push(job.task);
                self.overdue += 1;
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The thesis's processor and the costs of its kernel.
pub(crate) fn machine(root: &Path) -> (Platform, OverheadTable) {
    let file = root.join("scenarios/papers/thesis/chapter-6-32k.toml");
    let scenario = solo_scenario::load(&file, &solo_scenario::Platforms::builtin()).expect("it is sound");
    (scenario.base.platform, scenario.base.overheads)
}

//! The evaluation of thesis chapter 7: eight groups of tasks, each group of one color, partitioned with regard to colors
//! (CAP) and without (worst-fit decreasing).
//!
//! Periods and execution times are the thesis's divided by `scale`.

use solo_model::experiment::{End, Experiment};
use solo_model::isolation::{ColorOwner, Coloring, Isolation};
use solo_model::policy::{Criterion, Policy, Scope, Timing};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{
    BufferId, Bytes, Color, CoreId, Duration, OverheadTable, PerMille, Platform, Record, TaskId,
};
use solo_prove::color::cap::cap;
use solo_prove::color::{ColoredTask, Memory};
use solo_prove::pack::{Fit, Order, Share, pack};
use solo_sim::Observer;
use solo_workload::SplitMix64;
use std::ops::ControlFlow;
use std::path::Path;

/// Who decides which core a task is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Partitioning {
    /// Whole groups, by worst-fit decreasing.
    Cap,
    /// Single tasks, by worst-fit decreasing.
    Wfd,
}

/// The size of the evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Task sets; the thesis has 10.
    pub(crate) sets: u64,
    /// Jobs of the task with the longest period; the thesis has 50 runs of 200.
    pub(crate) jobs: u64,
    /// By what periods are divided; the thesis's are 25 to 200 ms.
    pub(crate) scale: u64,
}

/// What became of the deadlines of all sets.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Missed {
    /// Jobs that were finished, or should have been.
    pub(crate) jobs: u64,
    /// Of these, late ones.
    pub(crate) late: u64,
    /// Mean execution time of all jobs.
    pub(crate) mean: Duration,
}

/// A working set and the share of its accesses that write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touching {
    pub(crate) wss: Bytes,
    pub(crate) writes: PerMille,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Drawn {
    period: Duration,
    wcet: Duration,
    pub(crate) color: u16,
}

/// One color for each of this many groups.
const GROUPS: u16 = 8;
/// The colors that the thesis's kernel tells apart on this processor (6.2).
const COLORS: u16 = 32;

/// All sets under both partitionings.
pub(crate) fn evaluate(
    platform: &Platform,
    overheads: &OverheadTable,
    touching: Touching,
    size: Size,
) -> [Missed; 2] {
    let pace = pace(platform, overheads, touching);
    let mut sums = [Missed::default(); 2];
    for set in 0..size.sets {
        let (tasks, cores) = draw(set, size.scale);
        for (at, partitioning) in [Partitioning::Cap, Partitioning::Wfd].into_iter().enumerate() {
            let cores = cores(partitioning);
            let experiment = experiment(platform, overheads, &tasks, &cores, touching, pace, size.jobs);
            let mut jobs = Jobs::default();
            solo_sim::run(&experiment, &[], &mut jobs).expect("the set can run");
            let sum = &mut sums[at];
            sum.jobs += jobs.count;
            sum.late += jobs.late;
            sum.mean += Duration::new(jobs.executed / jobs.finished.max(1) / size.sets);
        }
    }
    sums
}

/// Draws a set of 23 to 30 tasks, groups of two to six that fill 0.9 to 1.0 of a core, which both heuristics can place
/// (thesis 7.3.1); and where they place it.
pub(crate) fn draw(set: u64, scale: u64) -> (Vec<Drawn>, impl Fn(Partitioning) -> Vec<usize>) {
    let mut random = SplitMix64::new(0x7_0000 + set);
    loop {
        let tasks: Vec<Drawn> = (0..GROUPS).flat_map(|color| group(&mut random, color, scale)).collect();
        let colored = |task: &Drawn| {
            let (c, t) = (task.wcet.get(), task.period.get());
            ColoredTask::new(c, t, TaskClass::Hard, Bytes::from_kib(32), &[task.color])
        };
        let colored: Vec<ColoredTask> = tasks.iter().map(colored).collect();
        let memory = Memory { total: Bytes::from_mib(1024), colors: GROUPS };
        let by_color = cap(&colored, &memory, GROUPS.into(), Share::cores(1), Fit::Worst);
        let shares: Vec<Share> = colored.iter().map(ColoredTask::share).collect();
        let alone = pack(&shares, GROUPS.into(), Share::cores(1), Fit::Worst, Order::Decreasing);
        if let (23..=30, Ok(by_color), Ok(alone)) = (tasks.len(), by_color, alone) {
            let count = tasks.len();
            return (tasks, move |partitioning| {
                let parts = if partitioning == Partitioning::Cap { &by_color } else { &alone };
                (0..count)
                    .map(|task| parts.iter().position(|part| part.contains(&task)).unwrap_or(0))
                    .collect()
            });
        }
    }
}

/// Tasks of a color until they fill their core; drawn anew where they overfill it or are too many.
fn group(random: &mut SplitMix64, color: u16, scale: u64) -> Vec<Drawn> {
    loop {
        let (mut tasks, mut sum) = (Vec::new(), 0);
        while sum < 900 {
            let period = [25_u64, 50, 75, 100, 150, 200][random.below(6) as usize] * 1_000_000 / scale.max(1);
            // Thousandths.
            let utilization = 100 + random.below(601);
            sum += utilization;
            let wcet = Duration::new(period * utilization / 1000);
            tasks.push(Drawn { period: Duration::new(period), wcet, color });
        }
        if sum <= 1000 && (2..=6).contains(&tasks.len()) {
            return tasks;
        }
    }
}

/// Picoseconds of a warm access and of a cold job's surplus, at worst, of one task on each core in colors of their own: the
/// thesis chose its repetitions so that tasks keep their execution times where colors are their own.
fn pace(platform: &Platform, overheads: &OverheadTable, touching: Touching) -> (u64, u64) {
    const ACCESSES: u64 = 60_000;
    let task = |color| Drawn { period: Duration::from_millis(20), wcet: Duration::new(ACCESSES), color };
    let tasks: Vec<Drawn> = (0..GROUPS).map(task).collect();
    let cores: Vec<usize> = (0..tasks.len()).collect();
    // A nanosecond an access and nothing for cold starts: so many accesses.
    let experiment = experiment(platform, overheads, &tasks, &cores, touching, (950, 0), 3);
    let mut jobs = Jobs::default();
    solo_sim::run(&experiment, &[], &mut jobs).expect("the tasks can run");
    let (first, later) = jobs.times.split_at(tasks.len().min(jobs.times.len()));
    let longest = |times: &[u64]| times.iter().copied().max().unwrap_or(0);
    let (cold, warm) = (longest(first), longest(later));
    (warm * 1000 / ACCESSES, cold.saturating_sub(warm) * 1000)
}

fn experiment(
    platform: &Platform,
    overheads: &OverheadTable,
    drawn: &[Drawn],
    cores: &[usize],
    touching: Touching,
    (warm, cold): (u64, u64),
    jobs: u64,
) -> Experiment {
    let task = |(at, drawn): (usize, &Drawn)| {
        // A job finds its memory evicted by the others of its color, and evicts that of a job which it preempts.
        let budget = (drawn.wcet.get() * 1000).saturating_sub(2 * cold) * 95 / 100;
        let step = Touch {
            pattern: Pattern::Random,
            buffer: BufferId(at as u32),
            accesses: (budget / warm.max(1)).max(1),
            stride: Bytes::new(4),
            writes: touching.writes,
            think: Duration::ZERO,
        };
        Task {
            name: format!("T{at}"),
            class: TaskClass::Hard,
            release: Release::Periodic { offset: Duration::ZERO, period: drawn.period },
            deadline: Some(drawn.period),
            wcet: None,
            priority: None,
            core: Some(CoreId(cores[at] as u16)),
            work: Work { steps: vec![Step::Touch(step)] },
        }
    };
    let owner = |(at, drawn): (usize, &Drawn)| ColorOwner {
        task: TaskId(at as u32),
        colors: vec![Color(drawn.color)],
        banks: Vec::new(),
    };
    let buffer = |at: usize| Buffer { name: format!("b{at}"), size: touching.wss };
    let longest = drawn.iter().map(|task| task.period.get()).max().unwrap_or(0);
    Experiment {
        name: "thesis chapter 7".into(),
        variant: String::new(),
        platform: platform.clone(),
        policy: Policy {
            scope: Scope::Partitioned,
            criterion: Criterion::Edf,
            timing: Timing::OneShot,
            quantum: None,
        },
        overheads: overheads.clone(),
        tasks: drawn.iter().enumerate().map(task).collect(),
        buffers: (0..drawn.len()).map(buffer).collect(),
        locks: Vec::new(),
        traces: Vec::new(),
        isolation: Isolation {
            memory: Some(Coloring {
                groups: COLORS,
                kernel: Some(Color(COLORS - 1)),
                owners: drawn.iter().enumerate().map(owner).collect(),
                shared: true,
                kernel_touches: true,
                ..Coloring::default()
            }),
            ..Isolation::default()
        },
        end: End::At(Duration::new(longest * jobs)),
        jobs_per_replication: None,
        sample_every: Duration::from_millis(1000),
        seed: 1,
    }
}

/// What jobs there were.
#[derive(Default)]
struct Jobs {
    count: u64,
    late: u64,
    finished: u64,
    executed: u64,
    /// Execution times in nanoseconds.
    times: Vec<u64>,
}

impl Observer for Jobs {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Job(job) => {
                self.count += 1;
                self.late += u64::from(job.missed());
                self.finished += 1;
                self.executed += job.executed.get();
                self.times.push(job.executed.get());
            }
            Record::Unfinished(job) if job.deadline.is_some_and(|deadline| deadline <= job.at) => {
                self.count += 1;
                self.late += 1;
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

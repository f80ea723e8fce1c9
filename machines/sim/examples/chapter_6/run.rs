//! The evaluation of thesis chapter 6: task sets drawn up to the bound of each scheduler, in three memory scenarios.
//!
//! Periods and execution times are the thesis's divided by `scale`: the relation between them, which decides about
//! the schedules, stays; what a migration costs weighs more.

use solo_model::experiment::{End, Experiment};
use solo_model::isolation::{ColorOwner, Coloring, Isolation};
use solo_model::policy::{Criterion, Policy, Scope, Timing};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{
    BufferId, Bytes, Color, CoreId, CoreSet, Duration, Instant, OverheadTable, PerMille, Platform, Record,
    TaskId,
};
use solo_sim::Observer;
use solo_workload::SplitMix64;
use std::ops::ControlFlow;
use std::path::Path;

/// How the cores share queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheduler {
    /// One queue a core; sets drawn until worst-fit decreasing fails.
    Partitioned,
    /// One queue for the two logical cores that share a second level; GFB in each.
    Clustered,
    /// One queue; sets drawn until GFB fails.
    Global,
}

impl Scheduler {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Partitioned, Self::Clustered, Self::Global];

    /// The name in the thesis.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Partitioned => "P-EDF",
            Self::Clustered => "C-EDF",
            Self::Global => "G-EDF",
        }
    }
}

/// Which memory tasks and kernel have (thesis 6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// A color for each task and one for the kernel.
    S1,
    /// A color for each task; the kernel's data lie anywhere.
    S2,
    /// The same color for all tasks, another for the kernel.
    S3,
}

/// The size of the evaluation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Task sets for each scheduler; the thesis has 10.
    pub(crate) sets: u64,
    /// Jobs of the task with the longest period; the thesis has 200.
    pub(crate) jobs: u64,
    /// By what periods are divided; the thesis's are 25 to 200 ms.
    pub(crate) scale: u64,
}

/// What the sets of a scheduler come to with a working set.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Row {
    /// Tasks of all sets.
    pub(crate) tasks: usize,
    /// Mean of worst execution time in S2 over that in S1, in thousandths.
    pub(crate) s2_worst: u64,
    /// The same of S3.
    pub(crate) s3_worst: u64,
    /// Mean of average execution time in S3 over that in S1, in thousandths.
    pub(crate) s3_average: u64,
    /// Tasks that missed a deadline in S1 and S3, in thousandths.
    pub(crate) missed: [u64; 2],
    /// The longest time until all jobs of a set were done, in S1 and S3.
    pub(crate) total: [Duration; 2],
}

#[derive(Clone, Copy, Debug)]
struct Drawn {
    period: Duration,
    wcet: Duration,
    core: usize,
}

/// Task sets of `scheduler` with a working set of `wss`, in all three scenarios.
pub(crate) fn evaluate(
    platform: &Platform,
    overheads: &OverheadTable,
    scheduler: Scheduler,
    wss: Bytes,
    size: Size,
) -> Row {
    let pace = pace(platform, overheads, wss);
    let mut row = Row::default();
    let (mut sums, mut missed) = ([0_u64; 3], [0_usize; 2]);
    for set in 0..size.sets {
        let tasks = draw(platform, scheduler, set, size.scale);
        let run = |memory| run(platform, overheads, scheduler, memory, &tasks, wss, pace, size.jobs);
        let [s1, s2, s3] = [Memory::S1, Memory::S2, Memory::S3].map(run);
        for task in 0..tasks.len() {
            let factor = |part: u64, whole: u64| part * 1000 / whole.max(1);
            sums[0] += factor(s2.worst[task], s1.worst[task]);
            sums[1] += factor(s3.worst[task], s1.worst[task]);
            sums[2] += factor(s3.mean[task], s1.mean[task]);
            missed[0] += usize::from(s1.missed[task]);
            missed[1] += usize::from(s3.missed[task]);
        }
        row.tasks += tasks.len();
        row.total = [row.total[0].max(s1.end), row.total[1].max(s3.end)];
    }
    let tasks = row.tasks.max(1) as u64;
    [row.s2_worst, row.s3_worst, row.s3_average] = sums.map(|sum| sum / tasks);
    row.missed = missed.map(|missed| missed as u64 * 1000 / tasks);
    row
}

/// Draws tasks until the next one would break the bound of the scheduler (thesis 6.1).
fn draw(platform: &Platform, scheduler: Scheduler, set: u64, scale: u64) -> Vec<Drawn> {
    let cores = platform.cores.len();
    let mut random = SplitMix64::new(0x6_0000 + set * 3 + scheduler as u64);
    let mut tasks: Vec<(Drawn, u64)> = Vec::new();
    loop {
        let period = [25_u64, 50, 100, 200][random.below(4) as usize] * 1_000_000 / scale.max(1);
        // Thousandths.
        let utilization = 100 + random.below(601);
        let wcet = Duration::new(period * utilization / 1000);
        let task = Drawn { period: Duration::new(period), wcet, core: 0 };
        let mut more = tasks.clone();
        more.push((task, utilization));
        // Worst fit decreasing: the largest first, each to the emptiest part.
        let parts = match scheduler {
            Scheduler::Partitioned => cores,
            Scheduler::Clustered => cores / 2,
            Scheduler::Global => 1,
        };
        let mut order: Vec<usize> = (0..more.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(more[at].1));
        let mut load = vec![(0_u64, 0_u64); parts];
        for at in order {
            let part = (0..parts).min_by_key(|&part| load[part].0).unwrap_or(0);
            load[part] = (load[part].0 + more[at].1, load[part].1.max(more[at].1));
            more[at].0.core = part * (cores / parts);
        }
        // GFB: U <= m - (m - 1) u_max in each part; one core has U <= 1.
        let m = (cores / parts) as u64;
        if load.iter().any(|&(sum, most)| sum > m * 1000 - (m - 1) * most) {
            return tasks.into_iter().map(|(task, _)| task).collect();
        }
        tasks = more;
    }
}

/// What a set came to; one entry for each task.
struct Seen {
    worst: Vec<u64>,
    mean: Vec<u64>,
    missed: Vec<bool>,
    end: Duration,
}

/// Picoseconds of a warm access and of a cold job's surplus, at worst, of tasks in colors of their own on all cores: the
/// thesis chose its repetitions so that no task exceeded its execution time in S1.
fn pace(platform: &Platform, overheads: &OverheadTable, wss: Bytes) -> (u64, u64) {
    const ACCESSES: u64 = 60_000;
    let wcet = Duration::new(ACCESSES);
    let on = |core: usize| Drawn { period: Duration::from_millis(20), wcet, core };
    let tasks: Vec<Drawn> = (0..platform.cores.len()).map(on).collect();
    // A nanosecond an access and nothing for the cold start: so many accesses.
    let fixed = (950, 0);
    let experiment =
        experiment(platform, overheads, Scheduler::Partitioned, Memory::S1, &tasks, wss, fixed, 3);
    let mut jobs = Jobs::default();
    solo_sim::run(&experiment, &[], &mut jobs).expect("the tasks can run");
    let (first, later) = jobs.all.split_at(tasks.len().min(jobs.all.len()));
    let longest = |jobs: &[(TaskId, u64)]| jobs.iter().map(|job| job.1).max().unwrap_or(0);
    let (cold, warm) = (longest(first), longest(later));
    (warm * 1000 / ACCESSES, cold.saturating_sub(warm) * 1000)
}

#[allow(clippy::too_many_arguments)]
fn run(
    platform: &Platform,
    overheads: &OverheadTable,
    scheduler: Scheduler,
    memory: Memory,
    tasks: &[Drawn],
    wss: Bytes,
    pace: (u64, u64),
    jobs: u64,
) -> Seen {
    let experiment = experiment(platform, overheads, scheduler, memory, tasks, wss, pace, jobs);
    let mut seen = Jobs::default();
    let outcome = solo_sim::run(&experiment, &[], &mut seen).expect("the set can run");
    let of = |task: usize| seen.all.iter().filter(move |job| job.0.index() == task).map(|job| job.1);
    let each = || 0..tasks.len();
    Seen {
        worst: each().map(|task| of(task).max().unwrap_or(0)).collect(),
        mean: each().map(|task| of(task).sum::<u64>() / of(task).count().max(1) as u64).collect(),
        missed: each().map(|task| seen.missed.contains(&TaskId(task as u32))).collect(),
        end: outcome.end.since(Instant::ZERO),
    }
}

#[allow(clippy::too_many_arguments)]
fn experiment(
    platform: &Platform,
    overheads: &OverheadTable,
    scheduler: Scheduler,
    memory: Memory,
    drawn: &[Drawn],
    wss: Bytes,
    (warm, cold): (u64, u64),
    jobs: u64,
) -> Experiment {
    // The task of the longest period stands for a server of best-effort work (thesis 6.1).
    let server = (0..drawn.len()).max_by_key(|&at| drawn[at].period).filter(|_| drawn.len() > 1);
    let task = |(at, drawn): (usize, &Drawn)| {
        let budget = (drawn.wcet.get() * 1000).saturating_sub(cold) * 95 / 100;
        let step = Touch {
            pattern: if Some(at) == server { Pattern::Sweep } else { Pattern::Random },
            buffer: BufferId(at as u32),
            accesses: (budget / warm.max(1)).max(1),
            stride: Bytes::new(if Some(at) == server { 64 } else { 4 }),
            writes: PerMille::new(200).expect("a fifth"),
            think: Duration::ZERO,
        };
        Task {
            name: format!("T{at}"),
            class: TaskClass::Hard,
            release: Release::Periodic { offset: Duration::ZERO, period: drawn.period },
            deadline: Some(drawn.period),
            wcet: None,
            priority: None,
            core: (scheduler != Scheduler::Global).then_some(CoreId(drawn.core as u16)),
            work: Work { steps: vec![Step::Touch(step)] },
        }
    };
    let colors = platform.caches.iter().map(|cache| cache.colors(platform.page)).max().unwrap_or(1);
    let groups = colors.min(32);
    let owner = |at: usize| {
        let color = if memory == Memory::S3 { 0 } else { at as u16 % (groups - 1) };
        ColorOwner { task: TaskId(at as u32), colors: vec![Color(color)], banks: Vec::new() }
    };
    let size = |at: usize| if Some(at) == server { Bytes::from_kib(512) } else { wss };
    Experiment {
        name: "thesis chapter 6".into(),
        variant: format!("{} {memory:?}", scheduler.name()),
        platform: platform.clone(),
        policy: Policy {
            scope: scope(platform, scheduler),
            criterion: Criterion::Edf,
            timing: Timing::OneShot,
            quantum: None,
        },
        overheads: overheads.clone(),
        tasks: drawn.iter().enumerate().map(task).collect(),
        buffers: (0..drawn.len()).map(|at| Buffer { name: format!("b{at}"), size: size(at) }).collect(),
        locks: Vec::new(),
        traces: Vec::new(),
        isolation: Isolation {
            memory: Some(Coloring {
                groups,
                kernel: (memory != Memory::S2).then_some(Color(groups - 1)),
                owners: (0..drawn.len()).map(owner).collect(),
                shared: true,
                kernel_touches: true,
                ..Coloring::default()
            }),
            ..Isolation::default()
        },
        end: End::Jobs(jobs),
        jobs_per_replication: None,
        sample_every: Duration::from_millis(1000),
        seed: 1,
    }
}

fn scope(platform: &Platform, scheduler: Scheduler) -> Scope {
    match scheduler {
        Scheduler::Partitioned => Scope::Partitioned,
        Scheduler::Global => Scope::Global,
        Scheduler::Clustered => {
            let pairs = platform.cores.chunks(2).enumerate().map(|(at, pair)| {
                assert!(
                    pair.iter().all(|core| core.physical == pair[0].physical),
                    "neighbours share a second level"
                );
                (0..pair.len()).map(|core| CoreId((2 * at + core) as u16)).collect::<CoreSet>()
            });
            Scope::Clustered(pairs.collect())
        }
    }
}

/// Execution times of all jobs in nanoseconds, and who missed a deadline.
#[derive(Default)]
struct Jobs {
    all: Vec<(TaskId, u64)>,
    missed: Vec<TaskId>,
}

impl Observer for Jobs {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Job(job) => {
                self.all.push((job.task, job.executed.get()));
                if job.missed() {
                    self.missed.push(job.task);
                }
            }
            Record::Unfinished(job) if job.deadline.is_some_and(|deadline| deadline < job.at) => {
                self.missed.push(job.task);
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

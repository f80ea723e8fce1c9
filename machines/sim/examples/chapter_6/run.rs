//! The evaluation of thesis chapter 6: task sets drawn up to the bound of each scheduler, in three memory scenarios.
//!
//! Periods and execution times are the thesis's divided by `scale`: the relation between them, which decides about
//! the schedules, stays; what a migration costs weighs more.

#[path = "../thesis/mod.rs"]
mod thesis;

use solo_model::experiment::{End, Experiment};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::work::Pattern;
use solo_model::{Bytes, Color, CoreId, CoreSet, Duration, OverheadTable, PerMille, Platform};
use solo_workload::SplitMix64;
use thesis::{Drawn, Jobs, Pace, Touching, buffers, coloring};
pub(crate) use thesis::{Size, machine};

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

/// A task, and the first of the cores that it may use.
#[derive(Clone, Copy, Debug)]
struct Placed {
    drawn: Drawn,
    core: usize,
}

/// What all sets of a row have in common.
#[derive(Clone, Copy)]
struct Setting<'a> {
    platform: &'a Platform,
    overheads: &'a OverheadTable,
    scheduler: Scheduler,
    wss: Bytes,
}

/// Task sets of `scheduler` with a working set of `wss`, in all three scenarios.
pub(crate) fn evaluate(
    platform: &Platform,
    overheads: &OverheadTable,
    scheduler: Scheduler,
    wss: Bytes,
    size: Size,
) -> Row {
    let setting = Setting { platform, overheads, scheduler, wss };
    let pace = setting.pace();
    let mut row = Row::default();
    let (mut sums, mut missed) = ([0_u64; 3], [0_usize; 2]);
    for set in 0..size.sets {
        let tasks = draw(platform, scheduler, set, size.scale);
        let seen = |memory| Seen::of(&setting.experiment(memory, &tasks, pace, size.jobs), tasks.len());
        let [s1, s2, s3] = [Memory::S1, Memory::S2, Memory::S3].map(seen);
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
fn draw(platform: &Platform, scheduler: Scheduler, set: u64, scale: u64) -> Vec<Placed> {
    let cores = platform.cores.len();
    let mut random = SplitMix64::new(0x6_0000 + set * 3 + scheduler as u64);
    let mut tasks: Vec<(Placed, u64)> = Vec::new();
    loop {
        let (drawn, utilization) = Drawn::draw(&mut random, &[25, 50, 100, 200], Drawn::SHARES, scale);
        let mut more = tasks.clone();
        more.push((Placed { drawn, core: 0 }, utilization));
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

impl Seen {
    fn of(experiment: &Experiment, tasks: usize) -> Self {
        let jobs = Jobs::of(experiment);
        let of = |task: usize| jobs.finished.iter().filter(move |job| job.0.index() == task).map(|job| job.1);
        let each = || 0..tasks;
        Self {
            worst: each().map(|task| of(task).max().unwrap_or(0)).collect(),
            mean: each().map(|task| of(task).sum::<u64>() / of(task).count().max(1) as u64).collect(),
            missed: each().map(|task| jobs.late.iter().any(|late| late.index() == task)).collect(),
            end: jobs.end,
        }
    }
}

impl Setting<'_> {
    /// The pace on cores that are scheduled apart, in S1.
    fn pace(&self) -> Pace {
        let apart = Self { scheduler: Scheduler::Partitioned, ..*self };
        Pace::measure(self.platform.cores.len(), |drawn, pace| {
            let placed = drawn.iter().enumerate().map(|(core, &drawn)| Placed { drawn, core });
            apart.experiment(Memory::S1, &placed.collect::<Vec<_>>(), pace, 3)
        })
    }

    fn experiment(&self, memory: Memory, placed: &[Placed], pace: Pace, jobs: u64) -> Experiment {
        let Setting { platform, overheads, scheduler, wss } = *self;
        // The task of the longest period stands for a server of best-effort work (thesis 6.1).
        let server = (0..placed.len()).max_by_key(|&at| placed[at].drawn.period).filter(|_| placed.len() > 1);
        let task = |(at, task): (usize, &Placed)| {
            let (pattern, stride) =
                if Some(at) == server { (Pattern::Sweep, 64) } else { (Pattern::Random, 4) };
            let touching = Touching {
                accesses: pace.accesses(task.drawn.wcet, 1),
                stride: Bytes::new(stride),
                writes: PerMille::new(200).expect("a fifth"),
            };
            let core = (scheduler != Scheduler::Global).then_some(CoreId(task.core as u16));
            task.drawn.task(at, core, pattern, touching)
        };
        let colors = platform.caches.iter().map(|cache| cache.colors(platform.page)).max().unwrap_or(1);
        let groups = colors.min(32);
        let color = |at: usize| if memory == Memory::S3 { 0 } else { at as u16 % (groups - 1) };
        let size = |at: usize| if Some(at) == server { Bytes::from_kib(512) } else { wss };
        let policy = Policy::new(scope(platform, scheduler), Criterion::Edf);
        let tasks = placed.iter().enumerate().map(task).collect();
        Experiment {
            variant: format!("{} {memory:?}", scheduler.name()),
            overheads: overheads.clone(),
            buffers: buffers((0..placed.len()).map(size)),
            isolation: coloring(
                groups,
                (memory != Memory::S2).then_some(Color(groups - 1)),
                (0..placed.len()).map(color),
            ),
            sample_every: Duration::from_millis(1000),
            ..Experiment::new("thesis chapter 6", platform.clone(), policy, tasks, End::Jobs(jobs))
        }
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

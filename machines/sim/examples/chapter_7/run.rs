//! The evaluation of thesis chapter 7: eight groups of tasks, each group of one color, partitioned with regard to colors
//! (CAP) and without (worst-fit decreasing).
//!
//! Periods and execution times are the thesis's divided by `scale`.

#[path = "../thesis/mod.rs"]
mod thesis;

use solo_model::experiment::{End, Experiment};
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::TaskClass;
use solo_model::work::Pattern;
use solo_model::{Bytes, Color, CoreId, Duration, OverheadTable, PerMille, Platform};
use solo_prove::color::cap::cap;
use solo_prove::color::{ColoredTask, Memory};
use solo_prove::pack::{Fit, Order, Share, pack};
use solo_workload::SplitMix64;
use thesis::{Drawn, Jobs, Pace, Touching, buffers, coloring};
pub(crate) use thesis::{Size, machine};

/// Who decides which core a task is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Partitioning {
    /// Whole groups, by worst-fit decreasing.
    Cap,
    /// Single tasks, by worst-fit decreasing.
    Wfd,
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

/// The working set of each task and the share of its accesses that write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memories {
    pub(crate) wss: Bytes,
    pub(crate) writes: PerMille,
}

/// A task of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Colored {
    drawn: Drawn,
    pub(crate) color: u16,
}

/// What all sets have in common.
#[derive(Clone, Copy)]
struct Setting<'a> {
    platform: &'a Platform,
    overheads: &'a OverheadTable,
    memories: Memories,
}

/// One color for each of this many groups.
const GROUPS: u16 = 8;
/// The colors that the thesis's kernel tells apart on this processor (6.2).
const COLORS: u16 = 32;

/// All sets under both partitionings.
pub(crate) fn evaluate(
    platform: &Platform,
    overheads: &OverheadTable,
    memories: Memories,
    size: Size,
) -> [Missed; 2] {
    let setting = Setting { platform, overheads, memories };
    let pace = setting.pace();
    let mut sums = [Missed::default(); 2];
    for set in 0..size.sets {
        let (tasks, cores) = draw(set, size.scale);
        for (at, partitioning) in [Partitioning::Cap, Partitioning::Wfd].into_iter().enumerate() {
            let jobs = Jobs::of(&setting.experiment(&tasks, &cores(partitioning), pace, size.jobs));
            let finished = jobs.finished.len() as u64;
            let executed: u64 = jobs.finished.iter().map(|job| job.1).sum();
            let sum = &mut sums[at];
            sum.jobs += finished + jobs.overdue;
            sum.late += jobs.late.len() as u64;
            sum.mean += Duration::new(executed / finished.max(1) / size.sets);
        }
    }
    sums
}

/// Draws a set of 23 to 30 tasks, groups of two to six that fill 0.9 to 1.0 of a core, which both heuristics can place
/// (thesis 7.3.1); and where they place it.
pub(crate) fn draw(set: u64, scale: u64) -> (Vec<Colored>, impl Fn(Partitioning) -> Vec<usize>) {
    let mut random = SplitMix64::new(0x7_0000 + set);
    loop {
        let tasks: Vec<Colored> = (0..GROUPS).flat_map(|color| group(&mut random, color, scale)).collect();
        let colored = |task: &Colored| {
            let (c, t) = (task.drawn.wcet.get(), task.drawn.period.get());
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
fn group(random: &mut SplitMix64, color: u16, scale: u64) -> Vec<Colored> {
    loop {
        let (mut tasks, mut sum) = (Vec::new(), 0);
        while sum < 900 {
            let (drawn, utilization) =
                Drawn::draw(random, &[25, 50, 75, 100, 150, 200], Drawn::SHARES, scale);
            sum += utilization;
            tasks.push(Colored { drawn, color });
        }
        if sum <= 1000 && (2..=6).contains(&tasks.len()) {
            return tasks;
        }
    }
}

impl Setting<'_> {
    /// The pace where each core has one task, of a color of its own.
    fn pace(&self) -> Pace {
        let cores: Vec<usize> = (0..GROUPS.into()).collect();
        Pace::measure(cores.len(), |drawn, pace| {
            let colored = drawn.iter().zip(0..).map(|(&drawn, color)| Colored { drawn, color });
            self.experiment(&colored.collect::<Vec<_>>(), &cores, pace, 3)
        })
    }

    fn experiment(&self, colored: &[Colored], cores: &[usize], pace: Pace, jobs: u64) -> Experiment {
        let Setting { platform, overheads, memories } = *self;
        let task = |(at, task): (usize, &Colored)| {
            let touching = Touching {
                // A job finds its memory evicted by the others of its color, and evicts that of a job which it preempts.
                accesses: pace.accesses(task.drawn.wcet, 2),
                stride: Bytes::new(4),
                writes: memories.writes,
            };
            task.drawn.task(at, Some(CoreId(cores[at] as u16)), Pattern::Random, touching)
        };
        let longest = colored.iter().map(|task| task.drawn.period.get()).max().unwrap_or(0);
        let end = End::At(Duration::new(longest * jobs));
        let policy = Policy::new(Scope::Partitioned, Criterion::Edf);
        let tasks = colored.iter().enumerate().map(task).collect();
        Experiment {
            overheads: overheads.clone(),
            buffers: buffers(colored.iter().map(|_| memories.wss)),
            isolation: coloring(COLORS, Some(Color(COLORS - 1)), colored.iter().map(|task| task.color)),
            sample_every: Duration::from_millis(1000),
            ..Experiment::new("thesis chapter 7", platform.clone(), policy, tasks, end)
        }
    }
}

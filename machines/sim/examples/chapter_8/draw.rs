//! Task sets as in thesis 8.3.1, and where two heuristics place them.

use super::thesis::Drawn;
use solo_model::task::TaskClass;
use solo_model::{Bytes, Duration};
use solo_prove::Task;
use solo_prove::color::{ColoredTask, Memory, Method, Rules, partition};
use solo_prove::pack::{Fit, Order, Share, pack};
use solo_workload::SplitMix64;

const CORES: usize = 8;
/// Milliseconds.
const PERIODS: [u64; 6] = [25, 50, 75, 100, 150, 200];
/// What rate-monotonic scheduling is sure of, in thousandths: the thesis takes it for what a core can carry.
const CAPACITY: u64 = 690;

/// A hard or soft task of a set.
pub(crate) struct Member {
    pub(crate) drawn: Drawn,
    pub(crate) class: TaskClass,
    /// Its buffer and the color of it: its own, or its group's.
    pub(crate) buffer: u16,
}

/// A set, and on which core each heuristic places each hard and soft task.
pub(crate) struct Set {
    pub(crate) tasks: Vec<Member>,
    pub(crate) bfd: Vec<usize>,
    pub(crate) cap_gs: Vec<usize>,
    /// The core of each group's best-effort task.
    guests: Vec<usize>,
    hard: u16,
}

impl Set {
    /// The buffer and the core of each best-effort task: one a group.
    pub(crate) fn best_effort(&self) -> impl Iterator<Item = (u16, usize)> + '_ {
        (self.hard..).zip(self.guests.iter().copied())
    }

    pub(crate) fn buffers(&self) -> usize {
        usize::from(self.hard) + self.guests.len()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.tasks.iter().map(|member| member.drawn.period).max().unwrap_or(Duration::ZERO)
    }
}

/// Draws a set that both heuristics can place.
pub(crate) fn draw(set: u64, scale: u64) -> Set {
    let mut random = SplitMix64::new(0x8_0000 + set);
    loop {
        let hard = fill(&mut random, scale, (200, 350), (2100, 2500));
        let sum: u64 = hard.iter().map(|(_, utilization)| utilization).sum();
        let groups = (CAPACITY * CORES as u64 - sum) / CAPACITY;
        let mut tasks = Vec::new();
        for (drawn, _) in hard {
            let buffer = tasks.len() as u16;
            tasks.push(Member { drawn, class: TaskClass::Hard, buffer });
        }
        let own = tasks.len() as u16;
        for buffer in (own..).take(groups as usize) {
            let group = fill(&mut random, scale, (100, 300), (600, 700));
            tasks.extend(group.into_iter().map(|(drawn, _)| Member {
                drawn,
                class: TaskClass::Soft,
                buffer,
            }));
        }
        let guests = (0..groups).map(|_| random.below(CORES as u64) as usize).collect();
        if let Some((bfd, cap_gs)) = placed(&tasks) {
            return Set { tasks, bfd, cap_gs, guests, hard: own };
        }
    }
}

/// Tasks of utilisations within `each` until their sum is within `all`, in thousandths; drawn anew where it passes.
fn fill(random: &mut SplitMix64, scale: u64, each: (u64, u64), all: (u64, u64)) -> Vec<(Drawn, u64)> {
    loop {
        let (mut tasks, mut sum) = (Vec::new(), 0);
        while sum < all.0 {
            let (drawn, utilization) = Drawn::draw(random, &PERIODS, each, scale);
            sum += utilization;
            tasks.push((drawn, utilization));
        }
        if sum <= all.1 {
            return tasks;
        }
    }
}

/// The core of each task by best-fit decreasing and by CAP-GS; `None` where one of them finds no room.
fn placed(tasks: &[Member]) -> Option<(Vec<usize>, Vec<usize>)> {
    let colored = |task: &Member| {
        let (c, t) = (task.drawn.wcet.get(), task.drawn.period.get());
        ColoredTask::new(c, t, task.class, Bytes::from_kib(32), &[task.buffer])
    };
    let colored: Vec<ColoredTask> = tasks.iter().map(colored).collect();
    let shares: Vec<Share> = colored.iter().map(ColoredTask::share).collect();
    let capacity = Share::of(&Task::implicit(CAPACITY, 1000));
    let bfd = pack(&shares, CORES, capacity, Fit::Best, Order::Decreasing).ok()?;
    let memory = Memory { total: Bytes::from_mib(1024), colors: 32 };
    let rules = Rules { capacity, hard_limit: None };
    let cap_gs = partition(Method::CapGs, &colored, &memory, CORES, rules).ok()?;
    let homes = |parts: &[Vec<usize>]| {
        let home = |task| parts.iter().position(|part| part.contains(&task));
        (0..tasks.len()).map(home).collect::<Option<Vec<usize>>>()
    };
    Some((homes(&bfd)?, homes(&cap_gs)?))
}

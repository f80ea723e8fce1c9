//! A small exact scheduler of jobs on identical cores, written apart from the kernel, and the sets and releases
//! that try it.
#![allow(dead_code)]

use proptest::prelude::*;
use solo_prove::{Task, TaskSet};

/// Which job goes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// Earliest deadline first; equal deadlines by task, the first one first.
    Edf,
    /// Earliest deadline first; equal deadlines by task, the last one first.
    EdfLastFirst,
    /// By the position of the task.
    Position,
}

/// One job of a run.
#[derive(Clone, Copy)]
struct Job {
    task: usize,
    deadline: u64,
    left: u64,
}

/// Runs jobs released at `releases[task]` (ascending), each for `lengths(task, index)`, and yields how late each
/// task's latest job was: completion minus deadline, at most 0 where every deadline held. Jobs of one task run
/// one after the other. Jobs still unfinished at `end` count as completing there at the earliest.
pub(crate) fn lateness(
    set: &TaskSet,
    releases: &[Vec<u64>],
    mut length: impl FnMut(usize, usize) -> u64,
    rule: Rule,
    end: u64,
) -> Vec<i64> {
    let mut late = vec![i64::MIN; set.tasks().len()];
    let mut next = vec![0usize; set.tasks().len()];
    let mut ready: Vec<Job> = Vec::new();
    let mut now = 0;
    while now < end {
        for (task, times) in releases.iter().enumerate() {
            while next[task] < times.len() && times[next[task]] <= now {
                let deadline = times[next[task]] + set.tasks()[task].d.get();
                ready.push(Job { task, deadline, left: length(task, next[task]) });
                next[task] += 1;
            }
        }
        let running = choose(set, &ready, rule);
        let release = releases.iter().zip(&next).filter_map(|(times, &next)| times.get(next).copied()).min();
        let finish = running.iter().map(|&job| now + ready[job].left).min();
        let Some(until) = release.into_iter().chain(finish).min() else {
            break;
        };
        for &job in &running {
            ready[job].left -= until - now;
        }
        now = until;
        ready.retain(|job| {
            if job.left == 0 {
                late[job.task] = late[job.task].max(now as i64 - job.deadline as i64);
            }
            job.left > 0
        });
    }
    for job in ready {
        late[job.task] = late[job.task].max(now as i64 - job.deadline as i64);
    }
    late
}

/// The jobs that run: the most urgent ones, at most one of each task.
fn choose(set: &TaskSet, ready: &[Job], rule: Rule) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ready.len()).collect();
    order.sort_by_key(|&index| {
        let job = &ready[index];
        match rule {
            Rule::Edf => (job.deadline, job.task, index),
            Rule::EdfLastFirst => (job.deadline, usize::MAX - job.task, index),
            Rule::Position => (job.task as u64, 0, index),
        }
    });
    let mut chosen: Vec<usize> = Vec::new();
    for index in order {
        let first_of_task = !ready[..index].iter().any(|earlier| earlier.task == ready[index].task);
        if first_of_task && chosen.len() < set.cores() as usize {
            chosen.push(index);
        }
    }
    chosen
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The least common multiple of the periods.
pub(crate) fn hyperperiod(set: &TaskSet) -> u64 {
    set.tasks().iter().map(|task| task.t.get()).fold(1, |all, t| all / gcd(all, t) * t)
}

/// Release times from `offset` on, every period, before `end`.
pub(crate) fn periodic(task: &Task, offset: u64, end: u64) -> Vec<u64> {
    (0..).map(|index| offset + index * task.t.get()).take_while(|&time| time < end).collect()
}

/// Numbers that look random and are the same each time.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// Ways to release jobs that have broken unsound tests: all at once; each task so that one deadline of all
/// falls together (the alignment of BCL's and RTA's proofs); one task late by a little; random offsets; random
/// gaps on top of periods.
pub(crate) fn patterns(set: &TaskSet, end: u64, seed: u64) -> Vec<Vec<Vec<u64>>> {
    let tasks = set.tasks();
    let mut draw = Draw(seed);
    let with_offsets = |offsets: Vec<u64>| -> Vec<Vec<u64>> {
        tasks.iter().zip(offsets).map(|(task, offset)| periodic(task, offset, end)).collect()
    };
    let mut all = vec![with_offsets(vec![0; tasks.len()])];
    let meeting: u64 = 2 * tasks.iter().map(|task| task.d.get().max(task.t.get())).max().unwrap_or(0);
    all.push(with_offsets(tasks.iter().map(|task| (meeting - task.d.get()) % task.t.get()).collect()));
    for late in 0..tasks.len().min(4) {
        let after = 1 + draw.below(tasks[late].t.get());
        all.push(with_offsets((0..tasks.len()).map(|task| if task == late { after } else { 0 }).collect()));
    }
    for _ in 0..2 {
        all.push(with_offsets(tasks.iter().map(|task| draw.below(task.t.get())).collect()));
    }
    for spread in [2, 6] {
        let mut sporadic = |task: &Task| {
            let mut times = Vec::new();
            let mut time = draw.below(task.t.get());
            while time < end {
                times.push(time);
                time += task.t.get() + if draw.below(2) == 0 { 0 } else { draw.below(spread) };
            }
            times
        };
        all.push(tasks.iter().map(&mut sporadic).collect());
    }
    all
}

/// Sets whose utilisation lies near the cores they run on, with small periods so that a run is short.
pub(crate) fn near_the_bounds(deadlines: Deadlines) -> impl Strategy<Value = TaskSet> {
    (1u32..5, any::<u64>()).prop_map(move |(cores, seed)| draw_set(cores, seed, deadlines))
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deadlines {
    Implicit,
    Constrained,
    Arbitrary,
}

/// A set drawn from `seed`.
pub(crate) fn draw_set(cores: u32, seed: u64, deadlines: Deadlines) -> TaskSet {
    const PERIODS: [u64; 10] = [2, 3, 4, 5, 6, 8, 10, 12, 15, 20];
    let mut draw = Draw(seed);
    let count = 1 + draw.below(2 * u64::from(cores) + 3);
    // In thousandths of a core, up to a little more than there is.
    let mut left = (300 + draw.below(750)) * u64::from(cores);
    let mut tasks = Vec::new();
    for index in 0..count {
        let t = PERIODS[draw.below(10) as usize] * (1 + draw.below(3));
        let share = (2 * left / (count - index)).min(1000);
        let c = (t * draw.below(share + 1) / 1000).clamp(1, t);
        left = left.saturating_sub(1000 * c / t);
        let d = match deadlines {
            Deadlines::Implicit => t,
            Deadlines::Constrained => c + draw.below(t - c + 1),
            Deadlines::Arbitrary => c + draw.below(2 * t),
        };
        tasks.push(Task::new(c, t, d));
    }
    TaskSet::new(cores, tasks).expect("drawn within the limits")
}

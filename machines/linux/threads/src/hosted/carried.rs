//! What Linux made of a hosted kernel's decisions.

use crate::timeline::Followed;
use solo_model::record::SwitchRecord;
use solo_model::{Duration, Instant, Record, Task, TaskClass, TaskId};
use solo_perf::switches::Turn;

/// What Linux made of the decisions about hard and soft tasks, as its own records of switches tell. (Tasks of best effort share what is left with all
/// others of the system.)
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Carried {
    /// How often a thread was chosen.
    pub chosen: u64,
    /// How often it had lost its core again before Linux ran it.
    pub taken_back: u64,
    /// From the decision until the thread was on a CPU: the middle.
    pub p50: Duration,
    /// What 99 % of them did not exceed.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
    /// For how long threads were chosen, all of them together.
    pub granted: Duration,
    /// Of this, for how long they were on no CPU.
    pub missing: Duration,
    /// For how long threads were on CPUs while they were not chosen.
    pub unchosen: Duration,
    /// Switches of which Linux did not tell: then figures are too low or too high.
    pub lost: u64,
}

/// From, until.
type Spans = Vec<(u64, u64)>;

impl Carried {
    /// Holds the switches of threads, by task, in the time of the run, against what was decided.
    pub(super) fn of(records: &[Record], tasks: &[Task], followed: &[Followed], end: Instant) -> Self {
        let mut carried = Self { lost: followed.iter().map(|own| own.lost).sum(), ..Self::default() };
        let mut lags = Vec::new();
        let all = (0..).map(TaskId).zip(followed).zip(tasks);
        for ((task, own), _) in all.filter(|(_, task)| task.class != TaskClass::BestEffort) {
            let (chosen, on) = (chosen(records, task, end), on_cpus(own, end));
            carried.chosen += chosen.len() as u64;
            for &(from, until) in &chosen {
                let first = on.partition_point(|&(_, left)| left <= from);
                match on.get(first).map(|&(came, _)| came.saturating_sub(from)) {
                    Some(lag) if from + lag < until => lags.push(lag),
                    _ => carried.taken_back += 1,
                }
            }
            let length = |spans: &Spans| spans.iter().map(|(from, until)| until - from).sum::<u64>();
            let both = common(&chosen, &on);
            carried.granted += Duration::new(length(&chosen));
            carried.missing += Duration::new(length(&chosen) - both);
            carried.unchosen += Duration::new(length(&on) - both);
        }
        lags.sort_unstable();
        let at =
            |per_mille: usize| lags.get((lags.len() * per_mille / 1000).min(lags.len().saturating_sub(1)));
        let [p50, p99, max] =
            [500, 990, 1000].map(|per_mille| Duration::new(at(per_mille).copied().unwrap_or(0)));
        Self { p50, p99, max, ..carried }
    }
}

/// When a task was chosen.
fn chosen(records: &[Record], task: TaskId, end: Instant) -> Spans {
    let mut spans = Spans::new();
    let mut since = None;
    for record in records {
        let Record::Switch(SwitchRecord { at, from, to, .. }) = record else { continue };
        if *from == Some(task) {
            spans.extend(since.take().map(|since| (since, at.get())));
        }
        if *to == Some(task) {
            since = Some(at.get());
        }
    }
    spans.extend(since.map(|since| (since, end.get())));
    spans
}

/// When a thread was on a CPU.
fn on_cpus(followed: &Followed, end: Instant) -> Spans {
    let mut spans = Spans::new();
    let mut since = None;
    for switch in followed.switches.iter().filter(|switch| switch.time <= end.get()) {
        match switch.turn {
            Turn::In => since = Some(switch.time),
            Turn::Out | Turn::Preempted => {
                spans.extend(since.take().map(|since| (since, switch.time.max(since))));
            }
        }
    }
    spans.extend(since.map(|since| (since, end.get().max(since))));
    spans
}

/// How long the spans of both have in common; those of each are in order and do not overlap.
fn common(one: &[(u64, u64)], other: &[(u64, u64)]) -> u64 {
    let (mut sum, mut a, mut b) = (0, 0, 0);
    while let (Some(&(from, until)), Some(&(came, left))) = (one.get(a), other.get(b)) {
        sum += until.min(left).saturating_sub(from.max(came));
        if until <= left { a += 1 } else { b += 1 }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::CoreId;
    use solo_model::record::SwitchReason;
    use solo_model::task::Release;
    use solo_perf::switches::Switch;

    /// By hand: chosen from 10 to 50, 60 to 65 and 80 to 100, on a CPU from 13 to 55 and from 80 to 90.
    #[test]
    fn decisions_are_held_against_what_linux_did() {
        let task = Some(TaskId(0));
        let record = |at, from, to| {
            let (core, reason) = (CoreId(0), SwitchReason::Idle);
            Record::Switch(SwitchRecord { at: Instant::new(at), core, from, to, reason })
        };
        let records = [
            record(10, None, task),
            record(50, task, Some(TaskId(1))),
            record(60, Some(TaskId(1)), task),
            record(65, task, None),
            record(80, None, task),
        ];
        let switch = |time, turn| Switch { time, cpu: 0, turn };
        let switches = vec![
            switch(13, Turn::In),
            switch(55, Turn::Preempted),
            switch(80, Turn::In),
            switch(90, Turn::Out),
            switch(200, Turn::In),
        ];
        let followed = [Followed { switches, lost: 0 }];
        let release = Release::Once { offset: Duration::ZERO };
        let tasks =
            [Task::new("t", TaskClass::Hard, release), Task::new("be", TaskClass::BestEffort, release)];
        let followed = [followed.clone(), followed].concat();
        let carried = Carried::of(&records, &tasks, &followed, Instant::new(100));
        assert_eq!((carried.chosen, carried.taken_back), (3, 1));
        assert_eq!((carried.p50.get(), carried.max.get()), (3, 3));
        let times = [carried.granted, carried.missing, carried.unchosen].map(Duration::get);
        assert_eq!(times, [65, 18, 5]);
    }
}

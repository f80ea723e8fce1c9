//! One stream of records from what threads wrote down and what the kernel told of their switches.

use crate::cpus::CpuCores;
use crate::journal::{Away, Journal};
use solo_model::record::{DroppedRecord, JobRecord, SwitchReason, SwitchRecord, UnfinishedRecord};
use solo_model::{CoreId, Duration, Instant, Record, TaskId};
use solo_perf::switches::{Switch, Turn};

/// A thread that follows another on a core within this time was switched to from it; the time between is the kernel's.
const SAME_SWITCH: Duration = Duration::from_micros(20);

/// The switches of a task's thread, on the monotonic clock.
#[derive(Clone, Default, Debug)]
pub(crate) struct Followed {
    pub(crate) switches: Vec<Switch>,
    pub(crate) lost: u64,
}

/// All records of a run that began at `began` and ended at `end`, in the order of time.
///
/// `followed` is by task, empty where the kernel tells nothing of switches.
pub(crate) fn records(
    journals: Vec<Journal>,
    followed: &[Followed],
    cores: &CpuCores,
    began: u64,
    end: Instant,
) -> Vec<Record> {
    let mut records = Vec::new();
    let mut turns = Vec::new();
    for (index, mut journal) in journals.into_iter().enumerate() {
        let task = TaskId(index as u32);
        if let Some(own) = followed.get(index).filter(|own| own.lost == 0) {
            count_switches(&mut journal, own, began);
        }
        for switch in followed.get(index).map_or(&[][..], |own| &own.switches) {
            let at = Instant::new(switch.time.saturating_sub(began));
            let why = match switch.turn {
                Turn::In => None,
                Turn::Preempted => Some(SwitchReason::Preempted),
                Turn::Out => Some(why_away(&journal.away, at)),
            };
            turns.push((at, why.is_none(), cores.core(switch.cpu), task, why));
        }
        records.append(&mut journal.records);
        records.extend(journal.jobs.into_iter().map(Record::Job));
    }
    // Who leaves at an instant leaves before the next one comes.
    turns.sort_by_key(|&(at, comes, core, task, _)| (at, comes, core, task));
    for &(_, core) in cores.pairs() {
        let own = turns.iter().filter(|turn| turn.2 == core);
        let own = own.map(|&(at, _, _, task, why)| Seen { at, task, why });
        records.extend(switches(core, own, end).into_iter().map(Record::Switch));
    }
    let mut records: Vec<_> = records.into_iter().filter_map(|record| within(record, end)).collect();
    let lost = followed.iter().map(|own| own.lost).sum();
    if lost > 0 {
        records.push(Record::Dropped(DroppedRecord { at: end, count: lost }));
    }
    // Stable: what a thread wrote down at one instant stays in its order. What was left unfinished comes last.
    records.sort_by_key(|record| (record.at(), matches!(record, Record::Unfinished(_))));
    records
}

/// A record as the end of the run leaves it. What a thread only came to after the end was released before it all the same.
fn within(mut record: Record, end: Instant) -> Option<Record> {
    match &mut record {
        Record::Release(release) if release.release < end => release.at = release.at.min(end),
        Record::Unfinished(job) if job.release < end => job.at = end,
        Record::Release(_) | Record::Unfinished(_) => return None,
        // It was done before another thread set an end that was earlier still.
        Record::Job(job) if job.finish > end && job.release < end => {
            let JobRecord { task, job, release, deadline, executed, finish, .. } = *job;
            let executed = executed.saturating_sub(finish.since(end));
            return Some(Record::Unfinished(UnfinishedRecord {
                at: end,
                task,
                job,
                release,
                deadline,
                executed,
            }));
        }
        Record::Switch(_)
        | Record::Job(_)
        | Record::Ipi(_)
        | Record::Lock(_)
        | Record::Sample(_)
        | Record::Overhead(_)
        | Record::Dropped(_)
        | Record::Throttle(_)
        | Record::Regulation(_)
        | Record::Sleep(_)
        | Record::Conservation(_)
        | Record::Skipped(_)
        | Record::Wait(_)
        | Record::Held(_)
        | Record::Budget(_)
        | Record::Transfer(_)
        | Record::Interrupt(_)
        | Record::Energy(_)
        | Record::Metric(_) => {}
    }
    (record.at() <= end).then_some(record)
}

/// What a core is seen to do: a task comes, or goes for a reason.
#[derive(Clone, Copy)]
struct Seen {
    at: Instant,
    task: TaskId,
    why: Option<SwitchReason>,
}

/// The switches of one core.
fn switches(core: CoreId, seen: impl Iterator<Item = Seen>, end: Instant) -> Vec<SwitchRecord> {
    let mut found: Vec<SwitchRecord> = Vec::new();
    let mut running: Option<TaskId> = None;
    // Who has left, and nobody came yet.
    let mut left: Option<Seen> = None;
    for seen in seen.filter(|seen| seen.at <= end) {
        match seen.why {
            None => {
                let before = left.take();
                if let Some(gone) = before.filter(|gone| seen.at.since(gone.at) > SAME_SWITCH) {
                    found.extend(switch(core, gone.at, Some(gone.task), None, gone.why));
                    found.extend(switch(core, seen.at, None, Some(seen.task), Some(SwitchReason::Idle)));
                } else {
                    let from = before.map(|gone| gone.task).or(running);
                    let why = before.map_or(Some(SwitchReason::Idle), |gone| gone.why);
                    found.extend(switch(core, seen.at, from, Some(seen.task), why));
                }
                running = Some(seen.task);
            }
            Some(_) if running == Some(seen.task) => {
                running = None;
                left = Some(seen);
            }
            // It left without having come: its coming was lost.
            Some(_) => {}
        }
    }
    if let Some(gone) = left {
        found.extend(switch(core, gone.at, Some(gone.task), None, gone.why));
    }
    found
}

fn switch(
    core: CoreId,
    at: Instant,
    from: Option<TaskId>,
    to: Option<TaskId>,
    why: Option<SwitchReason>,
) -> Option<SwitchRecord> {
    let reason = why.unwrap_or(SwitchReason::Yielded);
    (from != to).then_some(SwitchRecord { at, core, from, to, reason })
}

/// Why a thread gave its CPU away at this time, by what it wrote down. Without a word of its own it waited for the kernel: for a
/// page, say.
fn why_away(away: &[Away], at: Instant) -> SwitchReason {
    let next = away.partition_point(|away| away.to < at);
    let covers = |away: &&Away| away.from <= at && at <= away.to;
    away.get(next).filter(covers).map_or(SwitchReason::Yielded, |away| away.why)
}

/// Puts into jobs how often the kernel preempted and moved them while they ran.
fn count_switches(journal: &mut Journal, own: &Followed, began: u64) {
    let at = |switch: &Switch| Instant::new(switch.time.saturating_sub(began));
    for job in &mut journal.jobs {
        let first = own.switches.partition_point(|switch| at(switch) < job.start);
        let last = own.switches.partition_point(|switch| at(switch) <= job.finish);
        let inside = own.switches.get(first..last).unwrap_or_default();
        // Where it was when it began: its last coming before.
        let mut cpu = own.switches.get(..first).and_then(|before| before.last()).map(|switch| switch.cpu);
        let (mut preemptions, mut migrations) = (0_u32, 0_u32);
        for switch in inside {
            preemptions += u32::from(switch.turn == Turn::Preempted);
            migrations += u32::from(switch.turn == Turn::In && cpu.is_some_and(|cpu| cpu != switch.cpu));
            cpu = Some(switch.cpu);
        }
        (job.preemptions, job.migrations) = (preemptions, migrations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(0);
    const B: TaskId = TaskId(1);

    fn of(
        seen: &[(u64, TaskId, Option<SwitchReason>)],
    ) -> Vec<(u64, Option<TaskId>, Option<TaskId>, SwitchReason)> {
        let seen = seen.iter().map(|&(us, task, why)| Seen { at: Instant::new(us * 1000), task, why });
        let found = switches(CoreId(0), seen, Instant::new(1_000_000));
        found.into_iter().map(|s| (s.at.get() / 1000, s.from, s.to, s.reason)).collect()
    }

    #[test]
    fn one_thread_after_another_is_one_switch_and_a_gap_is_idle() {
        use SwitchReason::{Finished, Idle, Preempted};
        let seen = [
            (10, A, None),
            (30, A, Some(Preempted)),
            (32, B, None),
            (60, B, Some(Finished)),
            (61, A, None),
            (80, A, Some(Finished)),
            (500, B, None),
        ];
        let expected = [
            (10, None, Some(A), Idle),
            (32, Some(A), Some(B), Preempted),
            (61, Some(B), Some(A), Finished),
            (80, Some(A), None, Finished),
            (500, None, Some(B), Idle),
        ];
        assert_eq!(of(&seen), expected);
    }

    #[test]
    fn a_coming_or_a_going_that_was_lost_invents_nothing() {
        use SwitchReason::{Finished, Idle};
        assert_eq!(of(&[(10, A, Some(Finished))]), []);
        let twice = [(10, A, None), (20, B, None), (30, B, Some(Finished))];
        assert_eq!(
            of(&twice),
            [(10, None, Some(A), Idle), (20, Some(A), Some(B), Idle), (30, Some(B), None, Finished)]
        );
        let beyond = [(10, A, None), (5000, A, Some(Finished))];
        assert_eq!(of(&beyond), [(10, None, Some(A), Idle)]);
    }

    /// Two threads end their jobs at once, and the one that sets the end looked at the clock first.
    #[test]
    fn a_job_that_was_done_after_the_end_is_unfinished_and_not_lost() {
        let us = |us: u64| Instant::new(us * 1000);
        let done = JobRecord {
            task: A,
            job: solo_model::JobIndex(4),
            core: CoreId(0),
            release: us(70),
            start: us(80),
            finish: us(105),
            deadline: Some(us(170)),
            executed: Duration::from_micros(20),
            preemptions: 0,
            migrations: 0,
            backlog: 0,
            counts: solo_model::Counts::default(),
            stalls: None,
        };
        assert_eq!(within(Record::Job(done.clone()), us(105)), Some(Record::Job(done.clone())));
        let JobRecord { task, job, release, deadline, .. } = done.clone();
        let executed = Duration::from_micros(15);
        let unfinished = UnfinishedRecord { at: us(100), task, job, release, deadline, executed };
        assert_eq!(within(Record::Job(done.clone()), us(100)), Some(Record::Unfinished(unfinished)));
        assert_eq!(within(Record::Job(done.clone()), us(60)), None, "it was not released");
    }

    #[test]
    fn a_thread_that_says_nothing_of_why_waited_for_the_kernel() {
        let ms = |ms: u64| Instant::new(ms * 1_000_000);
        let away = [
            Away { from: ms(1), to: ms(2), why: SwitchReason::Asleep },
            Away { from: ms(4), to: ms(6), why: SwitchReason::Blocked },
        ];
        let why = |at| why_away(&away, ms(at));
        assert_eq!(why(1), SwitchReason::Asleep);
        assert_eq!(
            (why(3), why(5), why(9)),
            (SwitchReason::Yielded, SwitchReason::Blocked, SwitchReason::Yielded)
        );
    }
}

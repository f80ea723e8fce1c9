//! Steps that empty caches: what is written, what is lost, by whom, and what it takes.

mod common;

use common::{compute, experiment, jobs, ms, periodic, run, touch};
use solo_model::experiment::End;
use solo_model::platform::Inclusion;
use solo_model::record::Stalls;
use solo_model::units::*;
use solo_model::work::{Flush, Pattern, Step};
use solo_model::{BufferId, EventId, Experiment, JobRecord};

const SIZE: Bytes = Bytes::from_kib(8);
/// Of a buffer of that size.
const LINES: u64 = 128;

fn sweep(buffer: u32, writes: u16) -> Step {
    touch(Pattern::Sweep, buffer, SIZE, writes)
}

fn flush(buffer: u32) -> Step {
    Step::Flush(Flush::Buffer(BufferId(buffer)))
}

const ALL: Step = Step::Flush(Flush::All);

/// A job of each of these tasks, each on a core of its own and after the one before it, on two buffers.
fn one_after_the_other(works: Vec<Vec<Step>>) -> Experiment {
    let tasks = works.into_iter().enumerate().map(|(at, steps)| {
        let mut task = periodic(&format!("t{at}"), at as u16, ms(50), steps);
        task.release = solo_model::task::Release::Periodic { offset: ms(at as u64), period: ms(50) };
        task
    });
    let tasks: Vec<_> = tasks.collect();
    experiment(3, tasks, &[SIZE, SIZE], End::At(ms(50)))
}

fn done(experiment: &Experiment) -> Vec<JobRecord> {
    let records = run(experiment).0;
    (0..experiment.tasks.len()).map(|task| jobs(&records, task as u32)[0].clone()).collect()
}

fn count(job: &JobRecord, event: EventId) -> u64 {
    job.counts.get(event).expect("the simulated machine counts it")
}

/// The last level's misses of one job of these steps.
fn misses(steps: Vec<Step>) -> u64 {
    count(&done(&one_after_the_other(vec![steps]))[0], EventId::LLC_MISSES)
}

#[test]
fn what_is_flushed_is_read_from_memory_again() {
    assert_eq!(misses(vec![sweep(0, 0), sweep(0, 0)]), LINES);
    for step in [ALL, flush(0)] {
        assert_eq!(misses(vec![sweep(0, 0), step, sweep(0, 0)]), 2 * LINES);
    }
    // The other buffer stays where it is, unless all goes.
    let both = |step| misses(vec![sweep(0, 0), sweep(1, 0), step, sweep(1, 0)]);
    assert_eq!([both(flush(0)), both(flush(1)), both(ALL)], [2 * LINES, 3 * LINES, 3 * LINES]);
}

#[test]
fn only_changed_lines_are_written_and_the_one_who_flushes_is_charged() {
    let writes = |writes, step| {
        let job = done(&one_after_the_other(vec![vec![sweep(0, writes), step]]))[0].clone();
        count(&job, EventId::DRAM_WRITES)
    };
    for step in [ALL, flush(0)] {
        assert_eq!([0, 1000].map(|share| writes(share, step.clone())), [0, LINES], "{step:?}");
    }
    assert_eq!(writes(1000, flush(1)), 0);
    // A line that was written once is clean.
    let twice = done(&one_after_the_other(vec![vec![sweep(0, 1000), flush(0), sweep(0, 0), ALL]]))[0].clone();
    assert_eq!(count(&twice, EventId::DRAM_WRITES), LINES);
    // Another core has changed them.
    let other = done(&one_after_the_other(vec![vec![sweep(0, 1000)], vec![flush(0)]]));
    assert_eq!([0, 1].map(|task| count(&other[task], EventId::DRAM_WRITES)), [0, LINES]);
}

/// By address lines leave the private caches of other cores, too; with all lines only those behind an inclusive cache on the way.
#[test]
fn what_other_cores_lose_depends_on_what_is_flushed_and_on_inclusion() {
    let lost = |step: Step, inclusion| {
        let reader = vec![sweep(0, 0), compute(ms(5)), sweep(0, 0)];
        let mut experiment = one_after_the_other(vec![reader, vec![step]]);
        let last = experiment.platform.caches.iter_mut().filter(|cache| cache.level == 2);
        last.for_each(|cache| cache.inclusion = inclusion);
        let job = done(&experiment)[0].clone();
        [count(&job, EventId::LLC_MISSES) - LINES, count(&job, EventId::INVALIDATIONS)]
    };
    assert_eq!(lost(flush(0), Inclusion::Inclusive), [LINES, LINES]);
    assert_eq!(lost(flush(0), Inclusion::NonInclusive), [LINES, LINES]);
    assert_eq!(lost(flush(1), Inclusion::Inclusive), [0, 0]);
    assert_eq!(lost(ALL, Inclusion::Inclusive), [LINES, LINES]);
    assert_eq!(lost(ALL, Inclusion::NonInclusive), [0, 0], "its own first level has them");
}

#[test]
fn the_time_of_a_flush_is_that_of_its_lines_and_is_accounted_for() {
    let executed = |steps| done(&one_after_the_other(vec![steps]))[0].executed.get();
    let added = |writes, step| executed(vec![sweep(0, writes), step]) - executed(vec![sweep(0, writes)]);
    // At 2 GHz a line takes 30 cycles to the last level and an instruction; one more begins it.
    let clean = (LINES * 31).div_ceil(2);
    for step in [ALL, flush(0)] {
        assert!(added(0, step.clone()).abs_diff(clean) <= 1, "{}", added(0, step));
    }
    // What caches hold nothing of is looked for by address, and takes no time where all lines go.
    assert!(added(0, flush(1)).abs_diff(clean) <= 1);
    let nothing = executed(vec![ALL]);
    assert!(nothing <= 1, "{nothing}");
    // The queue of writes takes as many as memory writes: a burst of DDR3-1333 takes 6 ns.
    let changed = added(1000, ALL);
    let at_least = (LINES - 64) * 6;
    assert!(changed > clean && changed > at_least, "{changed}, {clean}, {at_least}");
    let job = done(&one_after_the_other(vec![vec![sweep(0, 1000), ALL, sweep(1, 500), flush(1)]]))[0].clone();
    let parts = sum(&job.stalls.expect("the simulated machine can tell"));
    assert!(parts.abs_diff(job.executed.get()) <= 10, "{parts}, {}", job.executed);
}

fn sum(stalls: &Stalls) -> u64 {
    let Stalls {
        compute,
        private_cache,
        shared_cache,
        coherence,
        dram,
        dram_queue_own,
        dram_queue_others,
        kernel,
    } = *stalls;
    let parts =
        [compute, private_cache, shared_cache, coherence, dram, dram_queue_own, dram_queue_others, kernel];
    parts.map(Duration::get).iter().sum()
}

/// An urgent task waits for a line, and not for the flush.
#[test]
fn interrupts_come_between_two_lines() {
    let large = Bytes::from_mib(4);
    let tasks = vec![
        periodic("urgent", 0, Duration::from_micros(50), vec![touch(Pattern::Sweep, 1, Bytes::new(64), 0)]),
        periodic("flushes", 0, ms(20), vec![flush(0)]),
    ];
    let experiment = experiment(1, tasks, &[large, Bytes::new(64)], End::At(ms(20)));
    let records = run(&experiment).0;
    let flushed = jobs(&records, 1)[0];
    assert!(flushed.preemptions >= 15, "{flushed:?}");
    // 65536 lines of 31 cycles at 2 GHz.
    assert!(flushed.executed.get().abs_diff(65_536 * 31 / 2) <= 1_000, "{}", flushed.executed);
    let slowest = jobs(&records, 0).iter().map(|job| job.finish.since(job.release).get()).max();
    assert!(slowest < Some(1_000), "{slowest:?}");
}

#[test]
fn a_bus_carries_what_is_written() {
    let mut experiment = one_after_the_other(vec![vec![sweep(0, 1000), ALL]]);
    let without = done(&experiment)[0].clone();
    experiment.platform.bus = Some(solo_model::platform::FrontSideBus {
        clock: Picoseconds::new(3000),
        address: 2,
        snoop: 2,
        reply: 2,
        data: 2,
        signal: 2,
        depth: 8,
    });
    let with = done(&experiment)[0].clone();
    assert_eq!(count(&with, EventId::DRAM_WRITES), LINES);
    // Each write-back takes 4 clocks of address and answer and 2 of data.
    let least = without.executed.get() + LINES * 4 * 3;
    assert!(with.executed.get() > least, "{} and {}", with.executed, without.executed);
}

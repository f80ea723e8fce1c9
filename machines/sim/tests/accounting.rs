//! Every nanosecond of a job has one cause, and every count has one owner.

mod common;

use common::*;
use solo_model::experiment::End;
use solo_model::record::Stalls;
use solo_model::task::TaskClass;
use solo_model::units::*;
use solo_model::work::Pattern;
use solo_model::{Counts, EventId, OverheadTable, Record};

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
    [compute, private_cache, shared_cache, coherence, dram, dram_queue_own, dram_queue_others, kernel]
        .iter()
        .map(|part| part.get())
        .sum()
}

fn neighbours() -> solo_model::Experiment {
    let buffers = [Bytes::from_kib(384), Bytes::from_kib(512), Bytes::from_kib(8)];
    let reader = vec![touch(Pattern::Sweep, 0, buffers[0], 100), compute(Duration::from_micros(50))];
    let hog = vec![touch(Pattern::Stream, 1, buffers[1], 500), compute(ms(2))];
    let small = vec![touch(Pattern::Random, 2, buffers[2], 330)];
    let tasks = vec![
        periodic("reader", 0, ms(10), reader),
        continuous("hog", 1, hog),
        periodic("small", 0, ms(2), small),
    ];
    let mut experiment = experiment(2, tasks, &buffers, End::Jobs(6));
    let costs = [800, 500, 300, 250, 300, 0];
    for (row, cost) in costs.into_iter().enumerate() {
        experiment.overheads.steps[row] = vec![(1, Duration::new(cost))];
    }
    experiment
}

#[test]
fn the_causes_of_a_jobs_time_add_up_to_the_time_it_occupied_a_core() {
    let (records, _) = run(&neighbours());
    let mut seen = 0;
    for record in &records {
        let Record::Job(job) = record else { continue };
        let stalls = job.stalls.expect("the simulated machine can tell");
        let parts = sum(&stalls);
        // Each part is rounded down to whole nanoseconds, and so is each of the kernel's time stamps.
        let slack = 8 + 2 * u64::from(job.preemptions + 1);
        let gap = parts.abs_diff(job.executed.get());
        assert!(gap <= slack, "{job:?}: parts {parts}, executed {}", job.executed);
        seen += 1;
    }
    assert!(seen > 20, "{seen} jobs");
}

#[test]
fn a_core_shares_its_counts_out_to_its_jobs_without_loss() {
    let experiment = neighbours();
    let (records, _) = run(&experiment);
    for core in 0..2 {
        let mut of_jobs = Counts::NONE;
        let mut sampled = Counts::NONE;
        for record in &records {
            match record {
                Record::Job(job) if job.core.0 == core => of_jobs.merge(&job.counts),
                Record::Sample(sample) if sample.core() == Some(solo_model::CoreId(core)) => {
                    sampled.merge(&sample.counts)
                }
                _ => {}
            }
        }
        // What samples have more is due to the jobs that the end of the run cut off.
        let of =
            |counts: &Counts, event| counts.get(event).unwrap_or_else(|| panic!("{event} was not counted"));
        for (event, _) in experiment.platform.events.simulated() {
            let (jobs, samples) = (of(&of_jobs, event), of(&sampled, event));
            assert!(jobs <= samples, "{event:?}: jobs {jobs}, samples {samples}");
        }
        let (jobs, samples) = (of(&of_jobs, EventId::L1_MISSES), of(&sampled, EventId::L1_MISSES));
        assert!(jobs > 0 && jobs * 2 > samples, "jobs {jobs}, samples {samples}");
    }
}

#[test]
fn a_neighbour_costs_waiting_for_dram_and_nothing_else_of_the_program() {
    let corun = neighbours();
    let mut solo = corun.clone();
    solo.retain_tasks(|task| task.name != "hog");
    let total = |records: &[Record]| {
        let jobs = jobs(records, 0);
        let others: u64 = jobs.iter().map(|job| job.stalls.unwrap().dram_queue_others.get()).sum();
        let response: u64 = jobs.iter().take(6).map(|job| job.response().get()).sum();
        (others, response)
    };
    let (alone_waits, alone) = total(&run(&solo).0);
    let (beside_waits, beside) = total(&run(&corun).0);
    assert_eq!(alone_waits, 0, "alone there are no others to wait for");
    assert!(beside_waits > 0 && beside > alone, "{beside} beside a neighbour, {alone} alone");
}

#[test]
fn kernel_paths_cost_what_the_file_says() {
    let tasks = vec![periodic("a", 0, ms(1), vec![compute(Duration::from_micros(100))])];
    let free = experiment(1, tasks, &[], End::Jobs(10));
    let mut charged = free.clone();
    charged.overheads = OverheadTable::free();
    charged.overheads.steps[0] = vec![(1, Duration::from_micros(2))];
    let response =
        |experiment| jobs(&run(experiment).0, 0).iter().map(|job| job.response().get()).collect::<Vec<_>>();
    assert!(response(&free).iter().all(|&time| time == 100_000), "{:?}", response(&free));
    // The context switch to the thread comes between its release and its first instruction.
    assert!(response(&charged).iter().all(|&time| time == 102_000), "{:?}", response(&charged));
}

#[test]
fn siblings_slow_each_other_down_only_while_both_run() {
    let steps = || vec![compute(ms(3))];
    let mut pair = experiment(
        2,
        vec![periodic("a", 0, ms(20), steps()), periodic("b", 1, ms(20), steps())],
        &[],
        End::Jobs(2),
    );
    pair.platform.cores[1].physical = 0;
    pair.tasks[1].class = TaskClass::Soft;
    let responses = |records: &[Record], task| jobs(records, task)[0].response();
    let (records, _) = run(&pair);
    // Both at 60 % speed: 3 ms of work take 5 ms.
    assert_eq!([responses(&records, 0), responses(&records, 1)], [ms(5), ms(5)]);
    pair.platform.cores[1].physical = 1;
    let (records, _) = run(&pair);
    assert_eq!([responses(&records, 0), responses(&records, 1)], [ms(3), ms(3)]);
}

#[test]
fn work_beside_a_busy_sibling_ends_whatever_its_share_leaves_over() {
    // 7 ns at 64 % of the speed are no whole number of picoseconds: what is left over must not stay for ever.
    let steps = || vec![compute(Duration::new(7)); 50];
    let tasks = vec![periodic("a", 0, ms(1), steps()), continuous("b", 1, steps())];
    let mut pair = experiment(2, tasks, &[], End::Jobs(3));
    pair.platform.cores[1].physical = 0;
    for kind in &mut pair.platform.kinds {
        kind.smt_speed = PerMille::new(641).unwrap();
    }
    let (records, _) = run(&pair);
    let response = jobs(&records, 0)[0].response();
    assert!((546..=550).contains(&response.get()), "{response:?}");
}

#[test]
fn a_program_that_waits_for_memory_again_and_again_is_preempted_between_two_waits() {
    let size = Bytes::from_mib(4);
    let tasks = vec![
        periodic("urgent", 0, ms(1), vec![compute(Duration::from_micros(100))]),
        continuous("chaser", 0, vec![touch(Pattern::Chase, 0, size, 0)]),
    ];
    let (records, _) = run(&experiment(1, tasks, &[size], End::Jobs(10)));
    let urgent = jobs(&records, 0);
    assert_eq!(urgent.len(), 10);
    for job in urgent {
        assert!(job.response() <= Duration::from_micros(101), "{:?}", job.response());
    }
}

//! Regulation on hardware that misbehaves, on the whole simulated machine: whatever gets lost or comes late, nothing
//! deadlocks, no core stays throttled for long, and the report says what happened.

mod common;

use common::{Keep, compute, continuous, experiment, ms, periodic, touch};
use solo_model::experiment::{End, Experiment};
use solo_model::isolation::*;
use solo_model::units::{Bandwidth, Bytes, Duration};
use solo_model::work::Pattern;
use solo_model::{CoreId, CoreSet, EventId, Events, Instant, Overhead, OverheadTable, Record, TaskId};
use solo_report::{IsolationReport, Summary};
use solo_sim::Faults;

const PERIOD: Duration = Duration::from_millis(1);
/// Misses that may be under way when a core is stopped.
const IN_FLIGHT: u64 = 2 * 4;

fn regulation(event: EventId, budgets: &[u64]) -> Regulation {
    let entry = |(core, &events): (usize, &u64)| CoreBudget {
        core: CoreId(core as u16),
        budget: Budget::Events(Events::new(events)),
        writes: None,
    };
    let task = |task| TaskBudget { task: TaskId(task as u32), budget: None, donates: Donation::Surplus };
    Regulation {
        tasks: (0..budgets.len()).map(task).collect(),
        quantum: Events::new(100),
        wrong_donation: WrongDonation::Throttle,
        best_effort: true,
        ..Regulation::new(
            PERIOD,
            Counted::One(event),
            budgets.iter().enumerate().map(entry).collect(),
            Bandwidth::new(1_000_000_000),
        )
    }
}

/// A stream on each core that would miss ten times what it may; a job is longer than a period.
fn streams(cores: u16) -> Experiment {
    let size = Bytes::from_mib(32);
    let task = |core: u16| continuous("stream", core, vec![touch(Pattern::Stream, core.into(), size, 0)]);
    let sizes = vec![size; cores.into()];
    let mut experiment = experiment(cores, (0..cores).map(task).collect(), &sizes, End::At(ms(16)));
    experiment.isolation.bandwidth = Some(regulation(EventId::LLC_MISSES, &vec![1000; cores.into()]));
    experiment
}

/// What a run recorded and what the report makes of it.
struct Seen {
    records: Vec<Record>,
    report: IsolationReport,
    text: String,
}

fn run(experiment: &Experiment, faults: Faults) -> Seen {
    let mut keep = Keep::default();
    let outcome =
        solo_sim::run_with_faults(experiment, &[], &mut keep, faults).expect("the experiment can run");
    let mut summary = Summary::new(experiment);
    keep.0.iter().for_each(|record| summary.add(record));
    let report = summary.finish(outcome.end).isolation.expect("there is isolation");
    let text = solo_report::table::isolation(&report, solo_report::table::Style::PLAIN);
    Seen { records: keep.0, report, text }
}

impl Seen {
    /// Events that a core used, period after period.
    fn used(&self, core: u16) -> Vec<u64> {
        let period = |record: &Record| match record {
            Record::Regulation(period) if period.core == CoreId(core) => Some(period.used[0].get()),
            _ => None,
        };
        self.records.iter().filter_map(period).collect()
    }

    /// From when to when a core was throttled, the last time until the end of the run too.
    fn throttled(&self, core: u16) -> Vec<(Instant, Instant)> {
        self.report.cores[usize::from(core)].spans.clone()
    }

    /// The longest time that any core was throttled.
    fn longest(&self) -> Duration {
        self.report.cores.iter().map(|core| core.throttled_max).max().expect("there are cores")
    }

    /// The last time that a core was given a period.
    fn last_period(&self, core: u16) -> Instant {
        let at = |record: &Record| match record {
            Record::Regulation(period) if period.core == CoreId(core) => Some(period.at),
            _ => None,
        };
        self.records.iter().filter_map(at).max().expect("it began periods")
    }

    fn violations(&self) -> u64 {
        self.report.conservation.as_ref().expect("it was regulated").violations
    }
}

#[test]
fn without_faults_nothing_is_reported() {
    let seen = run(&streams(2), Faults::default());
    assert_eq!(seen.violations(), 0);
    assert!(seen.longest() < PERIOD);
    for core in &seen.report.cores {
        assert_eq!((core.lost_overflows, core.late_periods), (0, 0));
    }
    assert!(!seen.text.contains("lost"), "{}", seen.text);
}

#[test]
fn a_lost_overflow_costs_one_period_and_is_reported() {
    let faults = Faults { lost_overflows: CoreSet::only(CoreId(1)), every: 2, ..Faults::default() };
    let seen = run(&streams(2), faults);
    let (good, bad) = (seen.used(0), seen.used(1));
    assert!(good.iter().all(|used| *used <= 1000 + IN_FLIGHT), "{good:?}");
    let (kept, broken): (Vec<u64>, Vec<u64>) = bad.iter().partition(|used| **used <= 1000 + IN_FLIGHT);
    // Every second one is lost, and the period after it is regulated as if nothing had happened.
    assert!(kept.len() >= 7 && broken.len() >= 7, "{bad:?}");
    assert!(broken.iter().all(|used| *used > 5000), "{bad:?}");
    assert!(seen.longest() < PERIOD, "nobody pays for it by being stopped longer");
    let core = &seen.report.cores[1];
    assert_eq!((seen.report.cores[0].lost_overflows, core.lost_overflows), (0, broken.len() as u64));
    assert_eq!(seen.violations(), broken.len() as u64);
    assert!(seen.text.contains("core1 used more than allowed in"), "{}", seen.text);
    assert!(seen.text.contains("interrupts were lost or late"), "{}", seen.text);
    assert!(seen.text.contains("was exceeded in"), "{}", seen.text);
}

#[test]
fn a_counter_that_never_interrupts_leaves_the_others_regulated() {
    let faults = Faults { lost_overflows: CoreSet::only(CoreId(0)), ..Faults::default() };
    let seen = run(&streams(3), faults);
    assert!(seen.used(0).iter().all(|used| *used > 3000), "{:?}", seen.used(0));
    for core in [1, 2] {
        assert!(seen.used(core).iter().all(|used| *used <= 1000 + IN_FLIGHT));
    }
    assert_eq!(seen.report.cores[0].lost_overflows, seen.report.cores[0].periods);
}

/// What cannot be counted cannot be regulated: the run says so, and the other cores are regulated as before.
#[test]
fn counters_that_answer_nobody_are_told() {
    let refused = |silent_counters| {
        let faults = Faults { silent_counters, ..Faults::default() };
        let outcome = solo_sim::run_with_faults(&streams(3), &[], &mut Keep::default(), faults);
        outcome.expect("the experiment can run").refused_counters
    };
    assert_eq!(refused(CoreSet::EMPTY), 0);
    let one = refused(CoreSet::only(CoreId(0)));
    assert!(one >= 16, "{one} requests refused in 16 periods");
    assert!(refused(CoreSet::first(3)) >= 2 * one);
    let seen = run(&streams(3), Faults { silent_counters: CoreSet::only(CoreId(0)), ..Faults::default() });
    for core in [1, 2] {
        assert!(seen.used(core).iter().all(|used| *used <= 1000 + IN_FLIGHT));
    }
}

/// A throttled core goes on in time, for the other one asks it; one that is not throttled has a longer period.
#[test]
fn a_late_timer_lengthens_at_most_its_own_cores_period() {
    let lateness = Duration::from_micros(300);
    let faults = Faults { late_timers: CoreSet::only(CoreId(1)), lateness, every: 3, ..Faults::default() };
    let seen = run(&streams(2), faults);
    assert!(seen.longest() < PERIOD);
    assert_eq!(seen.violations(), 0);
    assert!(seen.report.cores.iter().all(|core| core.late_periods == 0));

    let mut ample = streams(2);
    let wanted = ample.isolation.bandwidth.as_mut().expect("it is regulated");
    wanted.cores[1].budget = Budget::Events(Events::new(1_000_000));
    let seen = run(&ample, faults);
    assert!(seen.longest() < PERIOD);
    assert_eq!(seen.violations(), 0, "a late core has what it had, not more");
    // The others' periods stay in step with the first.
    let in_step = |record: &Record| match record {
        Record::Regulation(period) if period.core == CoreId(0) => {
            period.at.get().is_multiple_of(PERIOD.get())
        }
        _ => true,
    };
    assert!(seen.records.iter().all(in_step));
    let [first, second] = &seen.report.cores[..] else { panic!("two cores") };
    assert_eq!(first.late_periods, 0);
    assert!(second.late_periods >= 3 && second.latest <= lateness + Duration::from_micros(1), "{second:?}");
    assert!(seen.text.contains("timers were late or lost"), "{}", seen.text);
}

/// A timer that never comes in the run: whoever begins a period lets the throttled one go on.
#[test]
fn a_lost_timer_is_made_good_by_the_other_cores() {
    let faults = Faults { late_timers: CoreSet::only(CoreId(1)), lateness: ms(500), ..Faults::default() };
    let seen = run(&streams(2), faults);
    assert!(seen.longest() < PERIOD, "{}", seen.longest());
    assert!(seen.last_period(1) > Instant::ZERO + ms(13), "it went on to the end");
    assert_eq!(seen.violations(), 0);

    // The other one is never throttled, and asks at the ends of periods only.
    let mut quiet = streams(2);
    quiet.tasks[0].work.steps = vec![compute(ms(3))];
    let seen = run(&quiet, faults);
    assert!(seen.longest() < PERIOD, "{}", seen.longest());
    assert!(seen.last_period(1) > Instant::ZERO + ms(13));
}

/// All timers come three and a half periods late: missed periods are counted and their budgets are not given.
#[test]
fn periods_that_all_cores_overrun_are_not_given_later() {
    let lateness = Duration::from_micros(3500);
    let faults = Faults { late_timers: CoreSet::first(2), lateness, every: 1, ..Faults::default() };
    let seen = run(&streams(2), faults);
    for core in 0..2 {
        assert!(seen.used(core).iter().all(|used| *used <= 1000 + IN_FLIGHT), "one budget, not four");
        assert!(seen.throttled(core).len() >= 2 && seen.last_period(core) > Instant::ZERO + ms(11));
        let core = &seen.report.cores[usize::from(core)];
        assert_eq!(core.late_periods, core.periods, "{core:?}");
    }
    assert_eq!(seen.violations(), 0);
    assert!(seen.longest() <= PERIOD + lateness);
}

/// Counters of 12 bits wrap after four periods: nothing changes but the counters.
#[test]
fn counters_that_wrap_count_the_same() {
    let wide = streams(2);
    let mut narrow = streams(2);
    narrow.platform.pmu.width = 12;
    let periods = |experiment: &Experiment| {
        let records = run(experiment, Faults::default()).records;
        let keep = |record: &Record| matches!(record, Record::Regulation(_) | Record::Throttle(_));
        records.into_iter().filter(keep).collect::<Vec<_>>()
    };
    let periods = (periods(&wide), periods(&narrow));
    assert!(periods.0.len() > 30);
    assert_eq!(periods.0, periods.1);
}

/// Two cores that do the same at the same time: each gave, and wants its gift and the other's, in the same instant.
#[test]
fn donor_and_taker_ask_in_the_same_instant() {
    for reclaim in [Reclaim::Pool, Reclaim::Peers] {
        for wrong in [WrongDonation::Throttle, WrongDonation::Overdraw] {
            let task = |core| periodic("burst", core, ms(4), vec![compute(Duration::from_micros(600))]);
            let mut twins = experiment(2, vec![task(0), task(1)], &[], End::At(ms(40)));
            twins.platform.dram.guaranteed = None;
            let mut wanted = regulation(EventId::INSTRUCTIONS, &[1_000_000; 2]);
            (wanted.reclaim, wanted.wrong_donation) = (reclaim, wrong);
            twins.isolation.bandwidth = Some(wanted);
            let seen = run(&twins, Faults::default());
            for core in &seen.report.cores {
                assert!(core.donated > Bytes::ZERO && core.reclaimed > Bytes::ZERO, "{reclaim:?} {core:?}");
            }
            assert_eq!(seen.violations(), 0, "{reclaim:?} {wrong:?}: {}", seen.text);
            assert!(seen.longest() <= PERIOD);
            // Both finish every job.
            for core in 0..2 {
                assert_eq!(common::jobs(&seen.records, core).len(), 10, "{reclaim:?} {wrong:?}");
            }
        }
    }
}

#[test]
fn a_request_that_is_lost_delays_no_longer_than_the_period() {
    let mut sharing = streams(2);
    sharing.isolation.bandwidth.as_mut().expect("it is regulated").sharing = Sharing::Proportional;
    let faults = Faults { lost_requests: CoreSet::first(2), ..Faults::default() };
    let (sound, seen) = (run(&sharing, Faults::default()), run(&sharing, faults));
    assert!(seen.longest() <= PERIOD);
    let sum = |seen: &Seen| seen.used(0).iter().sum::<u64>() + seen.used(1).iter().sum::<u64>();
    // Whoever is exhausted last still goes on at once.
    assert!(sum(&seen) > 15 * 2000 && sum(&seen) <= sum(&sound), "{} of {}", sum(&seen), sum(&sound));
    assert_eq!(seen.violations(), 0);
}

/// Everything goes wrong now and then, under every kind of sharing and reclaiming: each core goes on to the end.
#[test]
fn all_faults_together_stop_nobody_for_good() {
    for sharing in [Sharing::None, Sharing::Spare, Sharing::Proportional] {
        for reclaim in [Reclaim::Off, Reclaim::Pool, Reclaim::Peers] {
            for every in [1, 3] {
                let mut bad = streams(3);
                let wanted = bad.isolation.bandwidth.as_mut().expect("it is regulated");
                (wanted.sharing, wanted.reclaim) = (sharing, reclaim);
                let faults = Faults {
                    lost_overflows: CoreSet::only(CoreId(0)),
                    late_timers: CoreSet::first(2),
                    lateness: Duration::from_micros(1700),
                    lost_requests: CoreSet::first(3),
                    every,
                    ..Faults::default()
                };
                let seen = run(&bad, faults);
                let what = format!("{sharing:?} {reclaim:?} every {every}");
                assert!(seen.longest() <= PERIOD + faults.lateness, "{what}: {}", seen.longest());
                for core in 0..3 {
                    assert!(seen.last_period(core) > Instant::ZERO + ms(12), "{what}: core {core}");
                }
            }
        }
    }
}

/// Computing tasks, budgets in instructions: three cores that use theirs up early, late and hardly ever, and a task of the
/// second that is released by its timer in the middle of periods.
fn mixed(sharing: Sharing, reclaim: Reclaim) -> Experiment {
    let busy = |name, core| continuous(name, core, vec![compute(Duration::from_micros(2300))]);
    let mut beat = periodic("beat", 1, Duration::from_micros(1700), vec![compute(Duration::from_micros(40))]);
    beat.deadline = Some(ms(4));
    let light = periodic("light", 2, ms(2), vec![compute(Duration::from_micros(300))]);
    let tasks = vec![busy("early", 0), busy("late", 1), beat, light];
    let mut mixed = experiment(3, tasks, &[], End::At(ms(7)));
    mixed.platform.dram.guaranteed = None;
    let mut wanted = regulation(EventId::INSTRUCTIONS, &[100_000, 700_000, 500_000]);
    (wanted.sharing, wanted.reclaim, wanted.quantum) = (sharing, reclaim, Events::new(50_000));
    mixed.isolation.bandwidth = Some(wanted);
    mixed
}

/// Requests take so long to arrive, and nothing else costs anything.
fn latency(request: Duration) -> OverheadTable {
    let mut table = OverheadTable::free();
    let row = Overhead::ALL.iter().position(|&overhead| overhead == Overhead::Ipi).expect("it has a row");
    table.steps[row] = vec![(0, request)];
    table
}

/// Runs `experiment` again and again, each time with another interrupt lost, and looks at what became of each run, until
/// losing one after the other changes nothing any more. How many runs felt it.
fn lose_each_interrupt(experiment: &Experiment, look: impl Fn(&Seen, &Seen, u32)) -> u32 {
    let sound = run(experiment, Faults::default());
    let (mut lost, mut felt, mut in_vain) = (0, 0, 0);
    while in_vain < 16 {
        let seen = run(experiment, Faults { lost_interrupt: Some(lost), ..Faults::default() });
        look(&sound, &seen, lost);
        let changed = seen.records != sound.records;
        (felt, in_vain) = if changed { (felt + 1, 0) } else { (felt, in_vain + 1) };
        lost += 1;
    }
    felt
}

/// Timers, requests and overflows of every core. What a core is throttled stays within a period, all go on to the end, and
/// tasks whose timers were lost run.
#[test]
fn no_single_lost_interrupt_keeps_a_core_throttled_beyond_a_period() {
    for sharing in [Sharing::None, Sharing::Spare, Sharing::Proportional] {
        for reclaim in [Reclaim::Off, Reclaim::Pool, Reclaim::Peers] {
            for request in [Duration::ZERO, Duration::from_micros(5)] {
                let mut mixed = mixed(sharing, reclaim);
                mixed.overheads = latency(request);
                let felt = lose_each_interrupt(&mixed, |sound, seen, lost| {
                    let what = format!("{sharing:?} {reclaim:?} {request}, interrupt {lost} lost");
                    assert!(seen.longest() <= PERIOD, "{what}: {}", seen.longest());
                    for core in 0..3 {
                        assert!(seen.last_period(core) >= Instant::ZERO + ms(5), "{what}: core {core}");
                    }
                    let beats = |seen: &Seen| common::jobs(&seen.records, 2).len();
                    assert!(beats(seen) + 1 >= beats(sound), "{what}: {} jobs", beats(seen));
                });
                assert!(felt >= 25, "{sharing:?} {reclaim:?} {request}: {felt}");
            }
        }
    }
}

/// The same beside memory: both cores wait for DRAM when they are stopped.
#[test]
fn no_single_lost_interrupt_keeps_a_stream_from_memory_beyond_a_period() {
    let mut streams = streams(2);
    streams.end = End::At(ms(5));
    let felt = lose_each_interrupt(&streams, |_, seen, lost| {
        assert!(seen.longest() <= PERIOD, "interrupt {lost}: {}", seen.longest());
        assert!((0..2).all(|core| seen.last_period(core) >= Instant::ZERO + ms(3)), "interrupt {lost}");
    });
    assert!(felt >= 12, "{felt}");
}

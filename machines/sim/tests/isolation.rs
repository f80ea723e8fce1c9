//! Colors, banks, ways and budgets on the simulated machine: what they keep apart, and what they leave alone.

mod common;

use common::*;
use solo_model::experiment::{End, Experiment};
use solo_model::isolation::*;
use solo_model::platform::{FramePolicy, XorBits};
use solo_model::units::*;
use solo_model::work::Pattern;
use solo_model::{Bank, Color, CoreId, EventId, Record, TaskId};
use solo_sim::SimError;

/// A task that reads 64 KiB of its own again and again, beside a neighbour that streams through 1 MiB: a last
/// level of 256 KiB holds the first alone.
fn corun() -> Experiment {
    let (own, others) = (Bytes::from_kib(64), Bytes::from_mib(1));
    let reader = periodic("reader", 0, ms(1), vec![touch(Pattern::Sweep, 0, own, 0)]);
    let hog = continuous("hog", 1, vec![touch(Pattern::Stream, 1, others, 0)]);
    let mut experiment = experiment(2, vec![reader, hog], &[own, others], End::At(ms(20)));
    // The system has run for a while: pages lie anywhere.
    experiment.platform.frames = FramePolicy::Random;
    experiment
}

fn owner(task: u32, colors: std::ops::Range<u16>, banks: std::ops::Range<u16>) -> ColorOwner {
    ColorOwner { task: TaskId(task), colors: colors.map(Color).collect(), banks: banks.map(Bank).collect() }
}

/// Misses of the last level and the worst response time of the reader, after its first jobs.
fn reader(experiment: &Experiment) -> (u64, Duration) {
    let (records, _) = run(experiment);
    let jobs = jobs(&records, 0);
    let warm = &jobs[4..];
    let misses = warm.iter().filter_map(|job| job.counts.get(EventId::LLC_MISSES)).sum();
    (misses, warm.iter().map(|job| job.response()).max().expect("there are jobs"))
}

fn alone(experiment: &Experiment) -> Experiment {
    let mut alone = experiment.clone();
    alone.retain_tasks(|task| task.name == "reader");
    alone
}

#[test]
fn colors_keep_the_neighbour_out_of_the_readers_sets() {
    let shared = corun();
    let mut colored = corun();
    // 256 KiB in 8 ways of 4 KiB pages are 8 colors: 4 for each.
    let owners = vec![owner(0, 0..4, 0..0), owner(1, 4..8, 0..0)];
    colored.isolation.memory = Some(Coloring { owners, ..Coloring::default() });
    let ((solo, _), (beside, slow), (apart, quick)) =
        (reader(&alone(&colored)), reader(&shared), reader(&colored));
    assert!(beside > 1000, "without colors the neighbour evicts: {beside}");
    assert_eq!((solo, apart), (0, 0), "with colors of its own the reader never misses");
    assert!(quick < slow, "{quick} against {slow}");
}

#[test]
fn ways_keep_the_neighbour_from_filling_the_readers_lines() {
    let shared = corun();
    let mut confined = corun();
    confined.isolation.ways = vec![
        WayMask { owner: WayOwner::Task(TaskId(0)), mask: 0b1111_1100 },
        WayMask { owner: WayOwner::Core(CoreId(1)), mask: 0b0000_0011 },
    ];
    let ((beside, slow), (apart, quick)) = (reader(&shared), reader(&confined));
    assert!(apart * 20 < beside, "{apart} against {beside}");
    assert!(quick < slow, "{quick} against {slow}");
}

/// SCE Fig. 2: in the same bank each access waits for the others' rows; in private banks it does not.
#[test]
fn private_banks_keep_the_neighbours_rows_away() {
    let size = Bytes::from_mib(4);
    let random = |buffer| vec![touch(Pattern::Random, buffer, Bytes::from_mib(1), 0)];
    let corun = |hogs: u16, private: bool| {
        let mut tasks = vec![periodic("reader", 0, ms(20), random(0))];
        tasks.extend((1..=hogs).map(|core| continuous("hog", core, random(core.into()))));
        let mut experiment = experiment(4, tasks, &[size; 4], End::At(ms(40)));
        // Bits 12 to 14 choose the color; these are above.
        experiment.platform.dram.bank_bits = [15, 16, 17].map(|bit| XorBits(1 << bit)).to_vec();
        experiment.platform.dram.row_shift = 18;
        let bank = |task: u16| if private { task } else { 0 };
        let owners = (0..=hogs).map(|task| owner(task.into(), 0..0, bank(task)..bank(task) + 1)).collect();
        experiment.isolation.memory = Some(Coloring { owners, ..Coloring::default() });
        let (records, _) = run(&experiment);
        jobs(&records, 0).iter().map(|job| job.response()).max().expect("there are jobs")
    };
    let solo = corun(0, false).get();
    let slowdown = |hogs, private| corun(hogs, private).get() * 100 / solo;
    let same = [1, 2, 3].map(|hogs| slowdown(hogs, false));
    let different = slowdown(3, true);
    println!("same bank {same:?} %, private banks {different} %");
    assert!(same.is_sorted() && same[2] > 140, "{same:?}");
    assert!(different < 110, "{different}");
}

fn budget(core: u16, events: u64) -> CoreBudget {
    CoreBudget { core: CoreId(core), budget: Budget::Events(solo_model::Events::new(events)), writes: None }
}

fn regulation(cores: Vec<CoreBudget>, sharing: Sharing) -> Regulation {
    Regulation {
        tasks: vec![
            TaskBudget { task: TaskId(0), budget: None, donates: Donation::Nothing },
            TaskBudget { task: TaskId(1), budget: None, donates: Donation::Surplus },
        ],
        sharing,
        quantum: solo_model::Events::new(100),
        ..Regulation::new(ms(1), Counted::One(EventId::LLC_MISSES), cores, Bandwidth::new(1_290_000_000))
    }
}

#[test]
fn a_budget_bounds_what_a_core_moves_in_every_period() {
    let mut experiment = corun();
    experiment.isolation.bandwidth = Some(regulation(vec![budget(0, 8000), budget(1, 500)], Sharing::None));
    let (records, _) = run(&experiment);
    let of = |core| {
        let period = move |record: &Record| match record {
            Record::Regulation(period) if period.core == CoreId(core) => Some(*period),
            _ => None,
        };
        records.iter().filter_map(period).collect::<Vec<_>>()
    };
    let hog = of(1);
    assert!(hog.len() >= 18, "{} periods", hog.len());
    // Four misses can be under way when the counter interrupts.
    assert!(hog.iter().all(|period| (500..=504).contains(&period.used[0].get())), "{hog:?}");
    assert!(hog.iter().all(|period| !period.throttled.is_zero() && !period.lost_overflow));
    assert!(of(0).iter().all(|period| period.throttled.is_zero()));
}

#[test]
fn a_throttled_neighbour_costs_next_to_nothing() {
    let shared = corun();
    let mut regulated = corun();
    regulated.isolation.bandwidth = Some(regulation(vec![budget(1, 200)], Sharing::None));
    let owners = vec![owner(0, 0..4, 0..0), owner(1, 4..8, 0..0)];
    regulated.isolation.memory = Some(Coloring { owners, ..Coloring::default() });
    let ((_, solo), (_, slow), (_, quick)) =
        (reader(&alone(&regulated)), reader(&shared), reader(&regulated));
    // Isolation quality: (corun - solo) / solo of the worst response time, at most 5 %.
    let quality = |corun: Duration| (corun.get() - solo.get()) * 1000 / solo.get();
    assert!(quality(quick) <= 50, "{} thousandths with isolation", quality(quick));
    assert!(quality(slow) > 500, "{} thousandths without", quality(slow));
}

/// SCE 2.3, Fig. 6: what is locked is never missed, whatever the neighbour streams through the cache.
#[test]
fn locked_pages_stay() {
    let shared = corun();
    let mut locked = corun();
    let page = |page: u64| LockedPage { color: Color((page % 8) as u16), ..locked_page(page) };
    let misses = |experiment: &Experiment| reader(experiment).0;
    let curve = [0, 4, 8, 12, 16].map(|pages| {
        locked.isolation.lockdown =
            Some(Lockdown { pages: (0..pages).map(page).collect(), ..Lockdown::default() });
        misses(&locked)
    });
    println!("misses with 0, 4, 8, 12, 16 of 16 pages locked: {curve:?}");
    assert!(curve.iter().rev().is_sorted() && curve[4] == 0, "{curve:?}");
    assert!(curve[0] > 1000 && curve[0] <= misses(&shared) * 11 / 10, "{curve:?}");
    // All eight ways of a color can be locked, and no page more.
    let mut full = |pages| {
        let pages = (0..pages).map(|page| LockedPage { color: Color(3), ..locked_page(page) });
        locked.isolation.lockdown = Some(Lockdown { pages: pages.collect(), ..Lockdown::default() });
        solo_sim::run(&locked, &[], &mut Keep::default())
    };
    assert_eq!(full(8).map(|end| end.unlocked_lines).ok(), Some(0));
    let error = full(9).expect_err("it does not fit");
    assert!(error.to_string().contains("which has 8 ways"), "{error}");
}

/// SCE 2.3, Fig. 16a: pages are loaded and locked when a task, or each window of a partition, begins; that takes
/// time, and what is unlocked can be evicted again.
#[test]
fn pages_are_loaded_and_locked_when_a_job_begins() {
    let pages: Vec<LockedPage> =
        (0..16).map(|page| LockedPage { color: Color((page % 8) as u16), ..locked_page(page) }).collect();
    let lock = |when| {
        let mut experiment = corun();
        experiment.isolation.lockdown = Some(Lockdown { pages: pages.clone(), when, ..Lockdown::default() });
        let (records, outcome) = run(&experiment);
        assert_eq!(outcome.unlocked_lines, 0, "{when:?}");
        let jobs = jobs(&records, 0);
        let misses: Vec<u64> = jobs.iter().filter_map(|job| job.counts.get(EventId::LLC_MISSES)).collect();
        let times: Vec<u64> = jobs.iter().map(|job| job.response().get()).collect();
        (misses, times)
    };
    let (at_boot, quick) = lock(LockTime::Boot);
    assert!(at_boot.iter().all(|misses| *misses == 0), "{at_boot:?}");
    // 16 pages of 64 lines: the first job loads them, and the others never miss.
    let (by_task, times) = lock(LockTime::Task);
    assert_eq!(by_task[0], 1024);
    assert!(by_task[1..].iter().all(|misses| *misses == 0), "{by_task:?}");
    // A load from DRAM takes at least 40 ns.
    assert!(times[0] > quick[0] + 1024 * 40 && times[1] < quick[1] * 101 / 100, "{times:?} {quick:?}");
    // Between two windows the neighbour evicts what is not locked; within one nothing is missed twice.
    let (by_job, _) = lock(LockTime::Job);
    assert!(by_job.iter().all(|misses| *misses <= 1024), "{by_job:?}");
    assert!(by_job[1..].iter().any(|misses| *misses > 100), "{by_job:?}");
}

/// SCE 2.4, Fig. 16a: when a window of an IMA partition begins, the pages of all its tasks are loaded and locked; the
/// other partition's are unlocked.
#[test]
fn pages_are_locked_when_a_partition_begins() {
    // Two partitions of core 0 by turns, each with 24 of the 28 pages that 4 colors hold; a stream beside them.
    let (own, others) = (Bytes::from_kib(48), Bytes::from_mib(1));
    let sweep = |buffer| vec![touch(Pattern::Sweep, buffer, own, 0)];
    let at = |offset: u64, task: solo_model::Task| solo_model::Task {
        release: solo_model::task::Release::Periodic { offset: ms(offset), period: ms(4) },
        ..task
    };
    let tasks = vec![
        at(0, periodic("attitude", 0, ms(4), sweep(0))),
        at(0, periodic("rates", 0, ms(4), sweep(1))),
        at(2, periodic("route", 0, ms(4), sweep(2))),
        at(2, periodic("map", 0, ms(4), sweep(3))),
        continuous("hog", 1, vec![touch(Pattern::Stream, 4, others, 0)]),
    ];
    let mut ima = experiment(2, tasks, &[own, own, own, own, others], End::At(ms(40)));
    ima.platform.frames = FramePolicy::Random;
    let page = |at: u32| LockedPage {
        task: TaskId(at / 12),
        buffer: solo_model::BufferId(at / 12),
        page: u64::from(at % 12),
        color: Color((at % 4) as u16),
    };
    let pages: Vec<LockedPage> = (0..48).map(page).collect();
    let partitions = vec![vec![TaskId(0), TaskId(1)], vec![TaskId(2), TaskId(3)]];
    ima.isolation.lockdown = Some(Lockdown { pages, when: LockTime::Partition, partitions });
    let (records, outcome) = run(&ima);
    assert_eq!(outcome.unlocked_lines, 0, "both partitions fit, one after the other");
    for (first, second) in [(0, 1), (2, 3)] {
        let misses = |task| {
            jobs(&records, task)
                .iter()
                .filter_map(|job| job.counts.get(EventId::LLC_MISSES))
                .collect::<Vec<_>>()
        };
        let (first, second) = (misses(first), misses(second));
        assert_eq!((first.len(), second.len()), (10, 10));
        // The first job of a window loads the pages of both tasks (2 x 12 x 64 lines); the second finds all its own.
        assert_eq!(first[0], 1536);
        assert!(
            first.iter().all(|misses| *misses <= 1536) && first.iter().any(|misses| *misses > 200),
            "{first:?}"
        );
        assert!(second.iter().all(|misses| *misses == 0), "{second:?}");
    }
    // What both lock at the same time fits no color.
    let mut at_once = ima.clone();
    at_once.isolation.lockdown.as_mut().expect("it locks").when = LockTime::Task;
    let refused = solo_sim::run(&at_once, &[], &mut Keep::default()).expect_err("12 of 8 pages a color");
    assert!(refused.to_string().contains("which has 8 ways"), "{refused}");
}

/// Fault of the public module: kernel-mode traffic is not counted (its events exclude the kernel). Here what the
/// kernel's paths miss is on the account of the core that they run on.
#[test]
fn what_the_kernel_misses_counts_against_the_cores_budget() {
    let used = |touches: bool| {
        let mut experiment = corun();
        // The task on core 0 only computes: what core 0 misses is the kernel's.
        experiment.tasks[0].work.steps = vec![compute(Duration::from_micros(100))];
        experiment.isolation.memory =
            Some(Coloring { kernel_data: touches.then(KernelData::default), ..Coloring::default() });
        experiment.isolation.bandwidth = Some(regulation(vec![budget(0, 8000)], Sharing::None));
        let (records, _) = run(&experiment);
        let period = |record: &Record| match record {
            Record::Regulation(period) if period.core == CoreId(0) => Some(period.used[0].get()),
            _ => None,
        };
        records.iter().filter_map(period).sum::<u64>()
    };
    assert_eq!(used(false), 0);
    assert!(used(true) > 20, "{}", used(true));
}

/// Thesis 6.2: the kernel's own lines, in its own color or anywhere, change a task's time by next to nothing.
#[test]
fn the_kernels_own_accesses_are_seen_and_cost_tasks_next_to_nothing() {
    let touched = |kernel: Option<Color>, touches: bool| {
        let mut experiment = corun();
        let owners = vec![owner(0, 0..4, 0..0), owner(1, 4..7, 0..0)];
        let memory = Coloring {
            owners,
            kernel,
            kernel_data: touches.then(KernelData::default),
            ..Coloring::default()
        };
        experiment.isolation.memory = Some(memory);
        let (records, _) = run(&experiment);
        let worst = jobs(&records, 0)[4..].iter().map(|job| job.response().get()).max();
        let written: u64 = records
            .iter()
            .filter_map(|record| match record {
                Record::Sample(sample) if sample.core() == Some(CoreId(0)) => {
                    sample.counts.get(EventId::L1_HITS)
                }
                _ => None,
            })
            .sum();
        (worst.expect("there are jobs"), written)
    };
    let (without, quiet) = touched(Some(Color(7)), false);
    let (s1, seen) = touched(Some(Color(7)), true);
    let (s2, _) = touched(None, true);
    println!("worst response without kernel accesses {without} ns, S1 {s1} ns, S2 {s2} ns");
    assert!(seen > quiet, "the kernel's accesses are counted: {seen} against {quiet}");
    for worst in [s1, s2] {
        assert!(worst.abs_diff(without) * 100 < without, "{worst} against {without}");
    }
}

fn locked_page(page: u64) -> LockedPage {
    LockedPage { task: TaskId(0), buffer: solo_model::BufferId(0), page, color: Color(0) }
}

#[test]
fn the_same_isolation_gives_the_same_records() {
    let mut experiment = corun();
    experiment.isolation.bandwidth =
        Some(regulation(vec![budget(0, 900), budget(1, 300)], Sharing::Proportional));
    experiment.isolation.memory = Some(Coloring { kernel: Some(Color(7)), ..Coloring::default() });
    assert_eq!(run(&experiment).0, run(&experiment).0);
}

#[test]
fn what_cannot_be_had_is_refused_before_the_start() {
    let refused = |experiment: &Experiment| {
        solo_sim::run(experiment, &[], &mut Keep::default()).expect_err("it can't run").to_string()
    };
    let mut overbooked = corun();
    overbooked.isolation.bandwidth = Some(regulation(vec![budget(0, 30_000)], Sharing::None));
    assert!(refused(&overbooked).contains("exceed the guaranteed bandwidth"), "{}", refused(&overbooked));
    let mut mute = corun();
    mute.platform.pmu.overflow = false;
    mute.isolation.bandwidth = Some(regulation(vec![budget(0, 100)], Sharing::None));
    assert!(refused(&mute).contains("budgets need counters that interrupt"), "{}", refused(&mute));
    let mut locked = corun();
    locked.platform.caches[2].inclusion = solo_model::platform::Inclusion::Exclusive;
    let page = LockedPage { task: TaskId(0), buffer: solo_model::BufferId(0), page: 0, color: Color(0) };
    locked.isolation.lockdown = Some(Lockdown { pages: vec![page], ..Lockdown::default() });
    assert!(refused(&locked).contains("pages can't be locked"), "{}", refused(&locked));
    let mut full = corun();
    full.buffers[0].size = Bytes::from_mib(600);
    let owners = vec![owner(0, 0..4, 0..0)];
    full.isolation.memory = Some(Coloring { owners, ..Coloring::default() });
    let error = solo_sim::run(&full, &[], &mut Keep::default()).expect_err("half of 1 GiB is 512 MiB");
    assert!(matches!(error, SimError::ColoredFrames { .. }), "{error}");
    // The same, borrowing: it runs.
    let coloring = full.isolation.memory.as_mut().expect("it is colored");
    coloring.fallback = Fallback::Borrow;
    full.end = End::At(Duration::from_micros(10));
    run(&full);
}

/// What is locked in a window is loaded before any task of its partition goes on: a task that comes while another loads goes on with
/// that first, so that it finds its own pages locked. A window in which nobody runs locks nothing, then or later.
#[test]
fn a_task_that_preempts_the_loading_of_its_partition_goes_on_with_it() {
    use solo_model::PartitionId;
    use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow};
    let own = Bytes::from_kib(48);
    let sweep = |buffer| vec![touch(Pattern::Sweep, buffer, own, 0)];
    let at = |offset: u64, period: u64, task: solo_model::Task| solo_model::Task {
        release: solo_model::task::Release::Periodic {
            offset: Duration::from_micros(offset),
            period: Duration::from_micros(period),
        },
        ..task
    };
    let tasks = vec![
        // The more urgent one comes 5 us after the window has begun, in the middle of the loading of 24 pages.
        at(5, 4_000, periodic("urgent", 0, ms(4), sweep(0))),
        at(0, 8_000, periodic("slow", 0, ms(8), sweep(1))),
        // Of another partition, and never ready in its first window.
        at(14_000, 16_000, periodic("other", 0, ms(16), sweep(2))),
    ];
    let mut ima = experiment(1, tasks, &[own, own, own], End::At(ms(32)));
    let page = |at: u32| LockedPage {
        task: TaskId(at / 12),
        buffer: solo_model::BufferId(at / 12),
        page: u64::from(at % 12),
        color: Color((at % 4) as u16),
    };
    let members = [vec![TaskId(0), TaskId(1)], vec![TaskId(2)]];
    let window = |partition: u16, begin: u64, length: u64| TimeWindow {
        partition: PartitionId(partition),
        begin: ms(begin),
        length: ms(length),
    };
    let windows = vec![window(0, 0, 2), window(1, 2, 1), window(0, 4, 2)];
    let cycle = MajorCycle { core: CoreId(0), length: ms(8), windows };
    let named = |tasks: &Vec<TaskId>| Partition { name: String::new(), tasks: tasks.clone() };
    ima.isolation.partitions = Partitions::new(members.iter().map(named).collect(), vec![cycle]).ok();
    ima.isolation.lockdown = Some(Lockdown {
        pages: (0..36).map(page).collect(),
        when: LockTime::Partition,
        partitions: members.into(),
    });
    let (records, outcome) = run(&ima);
    assert_eq!(outcome.unlocked_lines, 0);
    let misses = |task| {
        let jobs = jobs(&records, task);
        jobs.iter().filter_map(|job| job.counts.get(EventId::LLC_MISSES)).collect::<Vec<_>>()
    };
    let (urgent, slow) = (misses(0), misses(1));
    // 24 pages of 64 lines: what the slow one has not loaded, the urgent one has, before it did anything else.
    assert_eq!(urgent[0] + slow[0], 1536, "{urgent:?} {slow:?}");
    assert!(urgent[0] > 1200 && slow[0] < 300, "{urgent:?} {slow:?}");
    // In its first two windows nobody of the other partition ran: its pages were never loaded in anybody's place.
    let other = misses(2);
    assert_eq!(other.iter().sum::<u64>() % 768, 0, "{other:?}");
}

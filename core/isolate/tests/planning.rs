//! Plans and what is refused before anything changes: locked pages, banks, ways, admission, warnings.

mod platform;

use platform::{task, xeon};
use solo_isolate::diagnose::{self, Warning};
use solo_isolate::lockdown::{
    CurvePoint, LockError, LockRequest, LockableCache, LockdownCurve, RankedPage, Window, plan, ranks,
    uncovered,
};
use solo_isolate::regulator::Config;
use solo_isolate::regulator::budget::megabytes;
use solo_isolate::{Classes, IsolationRefusal, MemoryMap, banks, fits, ways};
use solo_model::isolation::*;
use solo_model::platform::XorBits;
use solo_model::work::{Pattern, Step, Touch, Work};
use solo_model::{
    Bandwidth, Bank, BufferId, Bytes, Color, CoreId, Duration, EventId, Events, PerMille, Platform, Task,
    TaskClass, TaskId,
};

fn page(task: u32, page: u64, accesses: u64) -> RankedPage {
    RankedPage { task: TaskId(task), buffer: BufferId(task), page, accesses }
}

fn request(task: u32, pages: u64, colors: &[u16]) -> LockRequest {
    LockRequest {
        task: TaskId(task),
        pages,
        colors: colors.iter().copied().map(Color).collect(),
        window: None,
    }
}

const SMALL: LockableCache = LockableCache { colors: 2, ways: 3 };

#[test]
fn the_hottest_pages_are_locked_first_and_spread_over_colors() {
    let profile = [page(0, 0, 5), page(0, 1, 50), page(0, 2, 20), page(1, 0, 30), page(1, 1, 1)];
    let locked = plan(true, SMALL, &profile, &[request(0, 2, &[]), request(1, 1, &[])]).unwrap();
    let order: Vec<(u32, u64)> = locked.iter().map(|page| (page.task.0, page.page)).collect();
    assert_eq!(order, [(0, 1), (1, 0), (0, 2)]);
    assert_eq!(locked.iter().map(|page| page.color.0).collect::<Vec<_>>(), [0, 1, 0]);
}

/// SCE 4, Fig. 16: what the tasks of one partition lock must fit; another partition on the same core has it all again.
#[test]
fn partitions_of_one_core_take_turns() {
    let profile: Vec<_> = (0..3_u32).flat_map(|task| (0..4).map(move |at| page(task, at, 9 - at))).collect();
    let of = |task, pages, core, partition| LockRequest {
        window: Some(Window { core: CoreId(core), partition }),
        ..request(task, pages, &[])
    };
    // Two colors of two pages each: four pages in each window of core 0.
    let locked = plan(true, SMALL, &profile, &[of(0, 4, 0, 0), of(1, 4, 0, 1)]).unwrap();
    assert_eq!(locked.len(), 8);
    for task in 0..2 {
        let mine = locked.iter().filter(|page| page.task.0 == task).map(|page| page.color.0);
        assert_eq!(mine.clone().filter(|color| *color == 0).count(), 2);
        assert_eq!(mine.count(), 4);
    }
    // One more task in the first partition does not fit, nor one on another core.
    for other in [of(2, 1, 0, 0), of(2, 1, 1, 2), request(2, 1, &[])] {
        let refused = plan(true, SMALL, &profile, &[of(0, 4, 0, 0), of(1, 4, 0, 1), other.clone()]);
        assert!(matches!(refused, Err(LockError::TooManyPages { .. })), "{other:?}: {refused:?}");
    }
    assert!(plan(true, SMALL, &profile, &[of(0, 2, 0, 0), of(1, 3, 0, 1), of(2, 1, 1, 2)]).is_ok());
}

/// A recording knows its pages' accesses; a part of it is taken as that part of each.
#[test]
fn pages_of_a_recording_are_ranked_by_what_was_recorded() {
    let replay = |accesses| solo_model::work::Replay { trace: 0, buffer: BufferId(0), accesses };
    let work =
        |accesses| solo_model::work::Work { steps: vec![solo_model::work::Step::Replay(replay(accesses))] };
    let buffers = [solo_model::work::Buffer { name: "recorded".into(), size: Bytes::from_kib(12) }];
    let recorded = [[100, 700, 200].map(Events::new).to_vec()];
    let ranked = |accesses, page, recorded: &[Vec<Events>]| {
        let all = ranks(TaskId(0), &work(accesses), &buffers, page, recorded);
        all.iter().map(|page| (page.page, page.accesses)).collect::<Vec<_>>()
    };
    let page = Bytes::from_kib(4);
    assert_eq!(ranked(None, page, &recorded), [(0, 100), (1, 700), (2, 200)]);
    assert_eq!(ranked(Some(10), page, &recorded), [(0, 1), (1, 7), (2, 2)]);
    assert_eq!(ranked(Some(3000), page, &[]), [(0, 1000), (1, 1000), (2, 1000)]);
    // Pages of 8 KiB hold two recorded ones.
    assert_eq!(ranked(None, Bytes::from_kib(8), &recorded), [(0, 800), (1, 200)]);
}

#[test]
fn a_confined_task_finds_its_colors_free() {
    let profile: Vec<_> = (0..3).map(|at| page(0, at, 100)).chain((0..2).map(|at| page(1, at, 1))).collect();
    // Task 1 may only have color 0; task 0 is hotter and has both: it must make room there.
    let requests = [request(0, 2, &[]), request(1, 2, &[0])];
    let locked = plan(true, SMALL, &profile, &requests).unwrap();
    let colors =
        |task| locked.iter().filter(|page| page.task.0 == task).map(|page| page.color.0).collect::<Vec<_>>();
    assert_eq!((colors(0), colors(1)), (vec![1, 1], vec![0, 0]));
}

#[test]
fn nothing_is_locked_where_it_cannot_be() {
    let profile: Vec<_> = (0..9).map(|at| page(0, at, at)).collect();
    let refused = |lock, requests: &[LockRequest]| plan(lock, SMALL, &profile, requests).unwrap_err();
    assert_eq!(refused(false, &[request(0, 1, &[])]), LockError::NoLocking);
    assert_eq!(
        refused(true, &[request(0, 5, &[])]),
        LockError::TooManyPages { task: TaskId(0), wanted: 5, capacity: 4 }
    );
    assert_eq!(
        refused(true, &[request(0, 3, &[1])]),
        LockError::TooManyPages { task: TaskId(0), wanted: 3, capacity: 2 }
    );
    assert_eq!(
        refused(true, &[request(0, 1, &[2])]),
        LockError::NoSuchColor { task: TaskId(0), color: Color(2), colors: 2 }
    );
    assert_eq!(
        refused(true, &[request(0, 10, &[])]),
        LockError::ShortProfile { task: TaskId(0), wanted: 10, profiled: 9 }
    );
}

#[test]
fn a_curve_tells_how_many_pages_a_time_needs() {
    let us = Duration::from_micros;
    let point = |pages, worst, best, misses| CurvePoint {
        pages,
        worst: us(worst),
        best: us(best),
        residual_misses: misses,
    };
    let curve = LockdownCurve::new(&[
        point(20, 410, 400, 10),
        point(0, 1000, 800, 500),
        point(10, 500, 480, 90),
        point(10, 520, 470, 80),
        point(30, 430, 400, 5),
    ]);
    assert_eq!(curve.points()[1], point(10, 520, 470, 90));
    // At 20 pages it is below 420, at 30 it is not: nothing may be promised.
    assert_eq!(curve.pages_for(us(420)), None);
    assert_eq!(curve.pages_for(us(430)), Some(point(20, 410, 400, 10)));
    assert_eq!(curve.pages_for(us(1000)), Some(point(0, 1000, 800, 500)));
    assert_eq!(curve.knee(200), Some(point(10, 520, 470, 90)));
    assert_eq!(curve.rises().count(), 1);
    let profile: Vec<_> = [7, 1, 4].into_iter().enumerate().map(|(at, n)| page(0, at as u64, n)).collect();
    assert_eq!([0, 1, 2, 3].map(|pages| uncovered(&profile, pages)), [12, 5, 1, 0]);
}

/// Case study 2.1: a tRC of 50 ns guarantees 64 B / 50 ns = 1280 MB/s; xeon-w3530's 49.5 ns a little more.
#[test]
fn one_bank_gives_the_guaranteed_bandwidth_and_more_banks_more() {
    let xeon = xeon();
    let line = Bytes::new(64);
    let rates: Vec<u64> =
        [1, 2, 4, 8].map(|n| banks::row_miss_rate(&xeon.dram, n, line).get() / 1_000_000).into();
    assert_eq!(rates, [1292, 2585, 5171, 8533]);
    assert_eq!(banks::guaranteed_by(Duration::new(50), line), Bandwidth::new(1_280_000_000));
    let map = MemoryMap::of(&xeon).unwrap();
    let plan = banks::divide(&map, &xeon.dram, &[Bytes::from_mib(64); 4]).unwrap();
    assert_eq!(plan.banks[1], [Bank(4), Bank(5), Bank(6), Bank(7)]);
    assert_eq!(plan.memory, Bytes::from_mib(1024));
    assert_eq!(
        banks::divide(&map, &xeon.dram, &[Bytes::ZERO; 17]).unwrap_err(),
        banks::BankError::TooFew { cores: 17, banks: 16 }
    );
    assert!(matches!(
        banks::divide(&map, &xeon.dram, &[Bytes::from_mib(3000), Bytes::ZERO]),
        Err(banks::BankError::TooSmall { core: CoreId(0), .. })
    ));
}

#[test]
fn ways_are_divided_into_neighbouring_runs() {
    let xeon = xeon();
    let l3 = xeon.caches.last().unwrap();
    let masks = ways::divide(l3, &[Bytes::from_mib(4), Bytes::from_kib(700), Bytes::from_kib(1)]).unwrap();
    assert_eq!(masks, [0x00ff, 0x0300, 0x0400]);
    assert_eq!(
        ways::divide(l3, &[Bytes::from_mib(8), Bytes::new(1)]),
        Err(ways::WayError::TooMany { wanted: 17, ways: 16 })
    );
}

fn regulation(budgets: &[u64]) -> Regulation {
    let entry = |(at, &mb): (usize, &u64)| CoreBudget {
        core: CoreId(at as u16),
        budget: Budget::Rate(megabytes(mb)),
        writes: None,
    };
    Regulation {
        quantum: Events::new(1000),
        ..Regulation::new(
            Duration::from_millis(1),
            Counted::One(EventId::LLC_MISSES),
            budgets.iter().enumerate().map(entry).collect(),
            megabytes(1200),
        )
    }
}

fn bandwidth(regulation: Regulation) -> Isolation {
    Isolation { bandwidth: Some(regulation), ..Isolation::default() }
}

/// A task that writes, as far as admission looks.
fn writer(name: &str, core: u16) -> Task {
    let touch = Touch {
        pattern: Pattern::Stream,
        buffer: BufferId(0),
        accesses: 1,
        stride: Bytes::new(64),
        writes: PerMille::new(1).expect("a share"),
        think: Duration::ZERO,
    };
    let inner = Step::Repeat { times: 2, steps: vec![Step::Touch(touch)] };
    Task { work: Work { steps: vec![inner] }, ..task(name, core) }
}

#[test]
fn misses_that_may_write_back_are_admitted_as_two_transfers() {
    let xeon = xeon();
    let (readers, writers) = ([task("a", 0), task("b", 1)], [task("a", 0), writer("b", 1)]);
    let judge = |regulation, tasks: &[Task]| fits(&bandwidth(regulation), &xeon, tasks);
    let with =
        |budgets: &[u64]| Regulation { guaranteed_with_writes: Some(megabytes(1100)), ..regulation(budgets) };
    assert_eq!(judge(with(&[900, 300]), &readers), Ok(()));
    assert_eq!(
        judge(with(&[400, 151]), &writers).map_err(|refusal| match refusal {
            IsolationRefusal::Overbooked { reserved, guaranteed, transfers, .. } =>
                (reserved.get() >> 20, guaranteed, transfers),
            other => panic!("{other}"),
        }),
        Err((551, megabytes(1100), 2))
    );
    assert_eq!(judge(with(&[400, 150]), &writers), Ok(()));
    // Where writes are counted by themselves, both budgets of a core count once.
    let both = |budgets: &[u64]| Regulation { counted: Counted::ReadsAndWrites, ..with(budgets) };
    assert_eq!(judge(both(&[400, 333]), &writers), Ok(()));
    assert!(matches!(
        judge(both(&[400, 335]), &writers),
        Err(IsolationRefusal::Overbooked { transfers: 1, .. })
    ));
    assert!(matches!(
        judge(both(&[900, 300]), &readers),
        Err(IsolationRefusal::Overbooked { transfers: 1, .. })
    ));
}

#[test]
fn weights_divide_what_fixed_reservations_leave_and_there_must_be_something() {
    let xeon = xeon();
    let tasks = [task("a", 0), task("b", 1)];
    let weighted = |fixed: u64| {
        let mut wanted = regulation(&[fixed, 1]);
        wanted.cores[1].budget = Budget::Weight(3);
        wanted
    };
    let left = |fixed| Config::new(&weighted(fixed), &xeon, &tasks).guaranteed.get();
    assert_eq!((left(200), left(1199)), (16384, 16));
    let judge = |regulation| fits(&bandwidth(regulation), &xeon, &tasks);
    assert_eq!(judge(weighted(1100)), Ok(()));
    assert!(matches!(judge(weighted(1200)), Err(IsolationRefusal::NothingToDivide { .. })));
}

#[test]
fn events_that_cannot_happen_are_refused_before_the_run() {
    let (mut xeon, tasks) = (xeon(), [task("a", 0)]);
    let judge = |platform: &Platform, event| {
        let wanted = Regulation { counted: Counted::One(event), ..regulation(&[100]) };
        fits(&bandwidth(wanted), platform, &tasks)
    };
    let never = |event| Err(IsolationRefusal::NeverHappens { event });
    for event in [EventId::L1_MISSES, EventId::L2_MISSES, EventId::LLC_MISSES, EventId::DRAM_READS] {
        assert_eq!(judge(&xeon, event), Ok(()), "{event:?}");
    }
    assert_eq!(judge(&xeon, EventId::PREFETCHES), never(EventId::PREFETCHES), "they are off");
    assert_eq!(judge(&xeon, EventId::PAGE_FAULTS), never(EventId::PAGE_FAULTS));
    xeon.caches.retain(|cache| cache.level == 1);
    assert_eq!(judge(&xeon, EventId::L2_MISSES), never(EventId::L2_MISSES));
    assert_eq!(judge(&xeon, EventId::LLC_MISSES), Ok(()), "the last level is the first");
}

#[test]
fn budgets_above_what_is_guaranteed_are_refused_with_the_numbers() {
    let (xeon, tasks) = (xeon(), [task("a", 0), task("b", 1)]);
    let judge = |regulation| fits(&bandwidth(regulation), &xeon, &tasks);
    assert_eq!(judge(regulation(&[900, 300])), Ok(()));
    let Err(IsolationRefusal::Overbooked { reserved, guaranteed, .. }) = judge(regulation(&[900, 400]))
    else {
        panic!("1300 of 1200 MB/s were admitted");
    };
    assert_eq!((reserved, guaranteed), (megabytes(1300), megabytes(1200)), "as they were asked for");
    assert_eq!(judge(Regulation { best_effort: true, ..regulation(&[900, 400]) }), Ok(()));
    // A DMA master has its part.
    let camera = DmaMaster { name: "camera".into(), rate: megabytes(100) };
    let with = |dma| Regulation { dma, ..regulation(&[900, 300]) };
    assert!(matches!(judge(with(vec![camera])), Err(IsolationRefusal::Overbooked { .. })));
    assert_eq!(
        judge(Regulation { period: Duration::ZERO, ..regulation(&[1]) }),
        Err(IsolationRefusal::ZeroPeriod)
    );
    assert_eq!(judge(regulation(&[600, 0])), Err(IsolationRefusal::ZeroBudget { core: CoreId(1) }));
    assert_eq!(judge(regulation(&[1; 5])), Err(IsolationRefusal::NoSuchCore { core: CoreId(4), cores: 4 }));
}

/// Budgets that change are judged as they will be, each time; what never holds together is not refused.
#[test]
fn every_change_of_budgets_is_admitted_before_the_run() {
    let (xeon, tasks) = (xeon(), [task("a", 0), task("b", 1)]);
    let change = |at: u64, budgets: &[(u16, u64)]| BudgetChange {
        at: Duration::from_millis(at),
        cores: budgets
            .iter()
            .map(|&(core, rate)| CoreBudget {
                core: CoreId(core),
                budget: Budget::Rate(megabytes(rate)),
                writes: None,
            })
            .collect(),
    };
    let judge = |changes| fits(&bandwidth(Regulation { changes, ..regulation(&[900, 300]) }), &xeon, &tasks);
    assert_eq!(judge(vec![change(5, &[(0, 300), (1, 900)]), change(9, &[(1, 100)])]), Ok(()));
    // 900 stays with core 0 as long as nothing else is said, and 900 + 900 is too much; so is what adds up over two changes.
    let sums =
        [vec![change(5, &[(1, 900)])], vec![change(5, &[(0, 100), (1, 1000)]), change(9, &[(0, 300)])]];
    for (changes, when) in sums.into_iter().zip([5, 9]) {
        let Err(IsolationRefusal::Later { at, refusal }) = judge(changes) else {
            panic!("too much from {when} ms on")
        };
        assert_eq!(at, Duration::from_millis(when));
        assert!(matches!(*refusal, IsolationRefusal::Overbooked { .. }), "{refusal:?}");
        assert!(
            IsolationRefusal::Later { at, refusal }
                .to_string()
                .contains(&format!("from {when}ms on: reservations of"))
        );
    }
    let zero = judge(vec![change(5, &[(1, 0)])]);
    let refusal = Box::new(IsolationRefusal::ZeroBudget { core: CoreId(1) });
    assert_eq!(zero, Err(IsolationRefusal::Later { at: Duration::from_millis(5), refusal }));
    assert_eq!(judge(vec![change(5, &[(2, 1)])]), Err(IsolationRefusal::NoBudget { core: CoreId(2) }));
    let reversed = judge(vec![change(5, &[(1, 1)]), change(4, &[(1, 2)])]);
    assert_eq!(reversed, Err(IsolationRefusal::OutOfOrder { at: Duration::from_millis(4) }));
    let unpromised =
        Regulation { best_effort: true, changes: vec![change(5, &[(1, 900)])], ..regulation(&[900, 300]) };
    assert_eq!(fits(&bandwidth(unpromised), &xeon, &tasks), Ok(()));
}

fn owner(task: u32, colors: &[u16], banks: &[u16]) -> ColorOwner {
    ColorOwner {
        task: TaskId(task),
        colors: colors.iter().copied().map(Color).collect(),
        banks: banks.iter().copied().map(Bank).collect(),
    }
}

#[test]
fn colors_that_contradict_each_other_are_refused() {
    let (xeon, tasks) = (xeon(), [task("a", 0), task("b", 1)]);
    let judge = |coloring| {
        let isolation = Isolation { memory: Some(coloring), ..Isolation::default() };
        fits(&isolation, &xeon, &tasks)
    };
    let of = |owners| Coloring { owners, ..Coloring::default() };
    assert_eq!(judge(of(vec![owner(0, &[0, 1], &[]), owner(1, &[2], &[])])), Ok(()));
    assert_eq!(
        judge(of(vec![owner(0, &[0, 7], &[]), owner(1, &[7], &[])])),
        Err(IsolationRefusal::SharedColor { first: TaskId(0), second: TaskId(1), color: Color(7) })
    );
    let shared = Coloring { shared: true, ..of(vec![owner(0, &[7], &[]), owner(1, &[7], &[])]) };
    assert_eq!(judge(shared), Ok(()));
    assert!(matches!(
        judge(of(vec![owner(1, &[128], &[])])),
        Err(IsolationRefusal::Memory { task: TaskId(1), .. })
    ));
    // Color 0 has address bits 12 and 13 zero, bank 1 has bit 12 set.
    assert!(matches!(
        judge(of(vec![owner(0, &[0], &[1])])),
        Err(IsolationRefusal::Memory { task: TaskId(0), .. })
    ));
    let kernel = Coloring { kernel: Some(Color(3)), ..of(vec![owner(0, &[3], &[])]) };
    assert_eq!(judge(kernel), Err(IsolationRefusal::KernelColor { task: TaskId(0), color: Color(3) }));
    // Best effort may share with anybody.
    let mut tasks = tasks;
    tasks[1].class = TaskClass::BestEffort;
    let isolation = Isolation {
        memory: Some(of(vec![owner(0, &[7], &[]), owner(1, &[7], &[])])),
        ..Isolation::default()
    };
    assert_eq!(fits(&isolation, &xeon, &tasks), Ok(()));
}

#[test]
fn locking_and_masks_are_checked_against_the_platform() {
    let (xeon, tasks) = (xeon(), [task("a", 0)]);
    let locked = |count| Isolation {
        lockdown: Some(Lockdown {
            pages: (0..count)
                .map(|page| LockedPage { task: TaskId(0), buffer: BufferId(0), page, color: Color(4) })
                .collect(),
            ..Lockdown::default()
        }),
        ..Isolation::default()
    };
    assert_eq!(fits(&locked(1), &xeon, &tasks), Ok(()));
    assert_eq!(fits(&locked(16), &xeon, &tasks), Ok(()));
    assert_eq!(
        fits(&locked(17), &xeon, &tasks),
        Err(IsolationRefusal::TooManyLocked { color: Color(4), pages: 17, capacity: 16 })
    );
    // Two ways of a mask and two locked pages: the mask may be all locked. One page leaves it one.
    let masked = |count| Isolation {
        ways: vec![WayMask { owner: WayOwner::Core(CoreId(1)), mask: 0b1100 }],
        ..locked(count)
    };
    assert_eq!(fits(&masked(1), &xeon, &tasks), Ok(()));
    let refusal = fits(&masked(2), &xeon, &tasks).expect_err("it clashes");
    let owner = WayOwner::Core(CoreId(1));
    assert_eq!(refusal, IsolationRefusal::MaskedAndLocked { owner, masked: 2, color: Color(4), locked: 2 });
    assert!(refusal.to_string().contains("may fill 2 ways, and 2 pages are locked"), "{refusal}");
    let mask = |mask| Isolation {
        ways: vec![WayMask { owner: WayOwner::Core(CoreId(1)), mask }],
        ..Isolation::default()
    };
    assert_eq!(fits(&mask(0xff00), &xeon, &tasks), Ok(()));
    assert!(matches!(fits(&mask(0x1_0000), &xeon, &tasks), Err(IsolationRefusal::Ways { .. })));
}

#[test]
fn what_would_silently_do_nothing_is_named() {
    assert_eq!(diagnose::budget_in_reach(CoreId(0), megabytes(600), megabytes(900)), None);
    let warning = diagnose::budget_in_reach(CoreId(0), megabytes(1000), megabytes(900)).unwrap();
    assert!(warning.to_string().contains("never throttled"));

    let xeon = xeon();
    let map = MemoryMap::of(&xeon).unwrap();
    assert_eq!(diagnose::coloring(&map, xeon.page, &[], false), []);
    let shared = diagnose::coloring(&map, xeon.page, &[], true);
    assert_eq!(shared, [Warning::ColorsFixBanks { shared: 0x3000 }]);
    let mut huge = xeon.clone();
    huge.page = Bytes::from_mib(2);
    let map = MemoryMap::of(&huge).unwrap();
    let found = diagnose::coloring(&map, xeon.page, &[XorBits(1 << 25)], true);
    assert!(matches!(found[..], [Warning::PageCoversColors { .. }, Warning::BanksSplitByPage { .. }]));
    let hash = [XorBits(1 << 13 | 1 << 30)];
    let map = MemoryMap::of(&xeon).unwrap();
    assert!(matches!(
        diagnose::coloring(&map, xeon.page, &hash, false)[..],
        [Warning::HashOverColors { .. }]
    ));

    let (expected, close) = (Events::new(8000), Events::new(7100));
    assert_eq!(diagnose::counter(EventId::LLC_MISSES, expected, close), None);
    assert!(diagnose::counter(EventId::LLC_MISSES, expected, Events::new(0)).is_some());
    assert!(diagnose::counter(EventId::LLC_MISSES, expected, Events::new(16_000)).is_some());
    assert_eq!(diagnose::coverage(expected, Events::new(7500), false), None);
    let text = diagnose::coverage(expected, Events::new(4000), true).unwrap().to_string();
    assert!(text.contains("writes are not counted"), "{text}");
}

#[test]
fn colors_that_spare_the_first_level_are_fewer() {
    let xeon = xeon();
    let (l3, l1) = (xeon.caches.last().unwrap(), xeon.caches.iter().find(|cache| cache.level == 1).unwrap());
    // 8 MiB / 16 ways / 4 KiB = 128; 32 KiB / 8 ways = one page, so nothing is merged.
    assert_eq!(Classes::of_cache(l3, xeon.page).count(), 128);
    assert_eq!(Classes::of_cache_sparing(l3, l1, xeon.page).count(), 128);
    let mut wide = l1.clone();
    wide.ways = 2;
    assert_eq!(Classes::of_cache_sparing(l3, &wide, xeon.page).count(), 32);
}

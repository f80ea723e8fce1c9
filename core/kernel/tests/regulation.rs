//! The kernel with a bandwidth regulator: cores that have used up their budgets run nothing.

mod common;

use common::meter::Meter;
use common::{experiment, ms, policy, task};
use solo_corpus::ideal::caps;
use solo_hal::{CounterId, Faults, Faulty, Injected};
use solo_kernel::{CounterWish, Kernel, KernelConfig, PolicyRefusal, State, Switch};
use solo_model::isolation::*;
use solo_model::record::{RegulationRecord, SwitchReason, ThrottleRecord};
use solo_model::task::Release;
use solo_model::{
    Bandwidth, Caps, CoreId, CoreSet, Criterion, Duration, EventId, Events, Instant, Record, Scope, Task,
    TaskId, ThreadId,
};
use solo_observe::plan::User;
use solo_schedule::criteria::Edf;

fn throttled(m: &Meter) -> Vec<ThrottleRecord> {
    m.records.iter().filter_map(|r| if let Record::Throttle(t) = r { Some(*t) } else { None }).collect()
}

fn periods(m: &Meter) -> Vec<RegulationRecord> {
    m.records.iter().filter_map(|r| if let Record::Regulation(t) = r { Some(*t) } else { None }).collect()
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn counting_caps(cores: usize) -> Caps {
    Caps { counters: 4, counter_overflow: true, ..caps(cores) }
}

/// Budgets of 1000 events a millisecond for each of `cores` cores.
fn regulation(cores: u16, sharing: Sharing) -> Regulation {
    let entry =
        |core| CoreBudget { core: CoreId(core), budget: Budget::Events(Events::new(1000)), writes: None };
    Regulation {
        sharing,
        quantum: Events::new(100),
        ..Regulation::new(
            ms(1),
            Counted::One(EventId::LLC_MISSES),
            (0..cores).map(entry).collect(),
            Bandwidth::new(1 << 30),
        )
    }
}

fn kernel(cores: usize, scope: Scope, tasks: Vec<Task>, regulation: Regulation) -> Kernel<Edf> {
    let mut experiment = experiment(cores, policy(scope, Criterion::Edf), tasks, 100);
    experiment.isolation.bandwidth = Some(regulation);
    let config = KernelConfig::from_experiment(&experiment).expect("sound");
    Kernel::new(config, &counting_caps(cores)).expect("admitted")
}

fn on(core: u16, task: Task) -> Task {
    Task { core: Some(CoreId(core)), ..task }
}

const A: CoreId = CoreId(0);
const B: CoreId = CoreId(1);
const COUNTER: CounterId = CounterId(0);

#[test]
fn a_core_without_budget_idles_until_the_next_period() {
    let mut kernel = kernel(1, Scope::Partitioned, vec![on(0, task(0, 20, 5))], regulation(1, Sharing::None));
    let m = &mut Meter::default();
    assert_eq!(kernel.start(m, A, us(0)), Switch::To(ThreadId(0)));
    assert_eq!(m.configured, [(A, EventId::LLC_MISSES)]);
    assert_eq!((m.armed[0], m.timers[0]), (Some(1000), Some(us(1000))));
    m.reach(0);
    assert_eq!(kernel.overflow(m, A, us(400), COUNTER), Switch::Idle);
    assert_eq!((kernel.running(A), kernel.state(ThreadId(0))), (None, Some(State::Ready)));
    assert_eq!((m.armed[0], m.timers[0]), (None, Some(us(1000))));
    assert_eq!(kernel.timer(m, A, us(1000)), Switch::To(ThreadId(0)));
    assert_eq!((m.armed[0], m.timers[0]), (Some(2000), Some(us(2000))));
    assert_eq!(throttled(m), [ThrottleRecord { at: us(1000), since: us(400), core: A }]);
    let period = periods(m)[0];
    assert_eq!((period.used[0].get(), period.throttled), (1000, Duration::from_micros(600)));
    // Throttled time is not execution time.
    assert_eq!(kernel.wait_next(m, A, us(1100)), Switch::Idle);
    let job = m.records.iter().find_map(|r| if let Record::Job(job) = r { Some(job.clone()) } else { None });
    assert_eq!(job.expect("it finished").executed, Duration::from_micros(500));
    let reasons: Vec<_> = m
        .records
        .iter()
        .filter_map(|r| if let Record::Switch(s) = r { Some(s.reason) } else { None })
        .collect();
    assert_eq!(reasons[..2], [SwitchReason::Start, SwitchReason::Throttled]);
}

#[test]
fn a_release_does_not_wake_a_throttled_core() {
    let tasks = vec![
        on(0, task(0, 20, 5)),
        Task {
            release: solo_model::task::Release::Periodic {
                offset: Duration::from_micros(500),
                period: ms(2),
            },
            ..on(0, task(1, 2, 1))
        },
    ];
    let mut kernel = kernel(1, Scope::Partitioned, tasks, regulation(1, Sharing::None));
    let m = &mut Meter::default();
    let _ = kernel.start(m, A, us(0));
    m.reach(0);
    assert_eq!(kernel.overflow(m, A, us(400), COUNTER), Switch::Idle);
    assert_eq!(kernel.timer(m, A, us(500)), Switch::Stay);
    assert_eq!(kernel.timer(m, A, us(1000)), Switch::To(ThreadId(1)), "the most urgent one, when it may");
}

#[test]
fn another_core_takes_the_thread_of_a_throttled_one_where_it_may() {
    let mut kernel = kernel(2, Scope::Global, vec![task(0, 20, 5)], regulation(2, Sharing::None));
    let m = &mut Meter::default();
    assert_eq!(kernel.start(m, A, us(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.start(m, B, us(0)), Switch::Idle);
    m.reach(0);
    assert_eq!(kernel.overflow(m, A, us(300), COUNTER), Switch::Idle);
    assert_eq!(m.asked, [B]);
    assert_eq!(kernel.ipi(m, B, us(301)), Switch::To(ThreadId(0)));
}

#[test]
fn the_last_active_core_begins_a_new_period_for_all() {
    let tasks = vec![on(0, task(0, 20, 5)), on(1, task(1, 20, 5))];
    let mut kernel = kernel(4, Scope::Partitioned, tasks, regulation(4, Sharing::Proportional));
    let m = &mut Meter::default();
    for core in 0..4 {
        let _ = kernel.start(m, CoreId(core), us(0));
    }
    m.reach(0);
    assert_eq!(kernel.overflow(m, A, us(300), COUNTER), Switch::Idle);
    m.reach(1);
    assert_eq!(kernel.overflow(m, B, us(500), COUNTER), Switch::Stay, "it goes on in the new period");
    assert_eq!(m.asked, [A]);
    assert_eq!(m.timers[1], Some(us(1500)));
    assert_eq!(kernel.ipi(m, A, us(502)), Switch::To(ThreadId(0)));
    // An idle core finds the new period when its old timer comes, and sets it to the new end.
    assert_eq!(kernel.timer(m, CoreId(2), us(1000)), Switch::Stay);
    assert_eq!(m.timers[2], Some(us(1500)));
}

#[test]
fn a_core_that_becomes_idle_lets_a_throttled_one_go_on() {
    let tasks = vec![on(0, task(0, 20, 5)), on(1, task(1, 20, 5))];
    let mut kernel = kernel(2, Scope::Partitioned, tasks, regulation(2, Sharing::Proportional));
    let m = &mut Meter::default();
    for core in 0..2 {
        let _ = kernel.start(m, CoreId(core), us(0));
    }
    m.reach(1);
    assert_eq!(kernel.overflow(m, B, us(300), COUNTER), Switch::Idle);
    assert_eq!(kernel.wait_next(m, A, us(400)), Switch::Idle);
    assert_eq!(m.asked, [B]);
    assert_eq!(kernel.ipi(m, B, us(402)), Switch::To(ThreadId(1)));
}

#[test]
fn a_task_with_a_budget_of_its_own_leaves_the_core_to_others() {
    let mut wanted = regulation(1, Sharing::None);
    let entry = TaskBudget {
        task: TaskId(0),
        budget: Some(Budget::Events(Events::new(100))),
        donates: Donation::Surplus,
    };
    wanted.tasks = vec![entry];
    let tasks = vec![on(0, task(0, 10, 5)), on(0, task(1, 20, 5))];
    let mut kernel = kernel(1, Scope::Partitioned, tasks, wanted);
    let m = &mut Meter::default();
    assert_eq!(kernel.start(m, A, us(0)), Switch::To(ThreadId(0)));
    assert_eq!(m.armed[0], Some(100));
    m.reach(0);
    assert_eq!(kernel.overflow(m, A, us(50), COUNTER), Switch::To(ThreadId(1)));
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Throttled));
    assert_eq!(m.armed[0], Some(1000));
    assert_eq!(kernel.timer(m, A, us(1000)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.state(ThreadId(1)), Some(State::Ready));
}

#[test]
fn a_late_timer_is_made_good_by_another_core() {
    let tasks = vec![on(0, task(0, 20, 5)), on(1, task(1, 20, 5))];
    let mut kernel = kernel(2, Scope::Partitioned, tasks, regulation(2, Sharing::None));
    let meter = &mut Meter::default();
    for core in 0..2 {
        let _ = kernel.start(meter, CoreId(core), us(0));
    }
    let faults = Faults { late_timers: CoreSet::only(B), lateness: ms(100), ..Faults::default() };
    let m = &mut Faulty { machine: meter, faults: &mut Injected::new(faults) };
    m.machine.reach(1);
    assert_eq!(kernel.overflow(m, B, us(300), COUNTER), Switch::Idle);
    assert_eq!(kernel.timer(m, A, us(1000)), Switch::Stay);
    assert_eq!(m.machine.asked, [B], "whoever begins the period asks who was throttled in the last");
    m.machine.reach(0);
    assert_eq!(kernel.overflow(m, A, us(1001), COUNTER), Switch::Idle);
    assert_eq!(m.machine.asked, [B], "once");
    assert_eq!(kernel.ipi(m, B, us(1002)), Switch::To(ThreadId(1)));
}

/// The timer and the request of one period are lost, and the core is not forgotten: it is asked in the next.
#[test]
fn a_core_that_missed_a_period_is_asked_again() {
    let tasks = vec![on(0, task(0, 20, 5)), on(1, task(1, 20, 5))];
    let mut kernel = kernel(2, Scope::Partitioned, tasks, regulation(2, Sharing::None));
    let m = &mut Meter::default();
    for core in 0..2 {
        let _ = kernel.start(m, CoreId(core), us(0));
    }
    m.reach(1);
    assert_eq!(kernel.overflow(m, B, us(300), COUNTER), Switch::Idle);
    for (at, asked) in [(1000, 1), (2000, 2), (3000, 3)] {
        assert_eq!(kernel.timer(m, A, us(at)), Switch::Stay);
        assert_eq!(m.asked.len(), asked);
    }
    assert_eq!(kernel.ipi(m, B, us(3001)), Switch::To(ThreadId(1)));
    assert_eq!(m.timers[1], Some(us(4000)));
}

/// A lost timer would have released a job: once anything else brings the core here it is programmed anew.
#[test]
fn a_timer_whose_time_is_over_is_programmed_again() {
    let tasks = vec![on(0, task(0, 20, 5)), on(1, Task { release: late(500), ..task(1, 20, 5) })];
    let mut kernel = kernel(2, Scope::Partitioned, tasks, regulation(2, Sharing::None));
    let m = &mut Meter::default();
    for core in 0..2 {
        let _ = kernel.start(m, CoreId(core), us(0));
    }
    assert_eq!(m.timers[1].take(), Some(us(500)));
    for at in [1000, 2000] {
        assert_eq!(kernel.timer(m, A, us(at)), Switch::Stay);
    }
    assert_eq!(m.asked, [B], "it is not throttled, and a whole period late");
    assert_eq!(kernel.ipi(m, B, us(2001)), Switch::Stay);
    assert_eq!(m.timers[1], Some(us(500)), "interrupts at once");
    assert_eq!(kernel.timer(m, B, us(2002)), Switch::To(ThreadId(1)));
}

fn late(offset: u64) -> Release {
    Release::Periodic { offset: Duration::from_micros(offset), period: ms(20) }
}

#[test]
fn a_mute_counter_is_reported() {
    let mut kernel = kernel(1, Scope::Partitioned, vec![on(0, task(0, 20, 5))], regulation(1, Sharing::None));
    let m = &mut Meter::default();
    let _ = kernel.start(m, A, us(0));
    // Far above the budget, and no interrupt has come.
    m.total[0] = 5000;
    assert_eq!(kernel.timer(m, A, us(1000)), Switch::Stay);
    assert!(periods(m)[0].lost_overflow);
    assert_eq!(kernel.regulator().expect("there is one").conservation().violations, 1);
}

#[test]
fn a_machine_without_overflow_interrupts_is_refused() {
    let mut experiment = experiment(1, policy(Scope::Global, Criterion::Edf), vec![task(0, 20, 5)], 100);
    experiment.isolation.bandwidth = Some(regulation(1, Sharing::None));
    let config = KernelConfig::from_experiment(&experiment).expect("sound");
    assert_eq!(Kernel::<Edf>::new(config, &caps(1)).err(), Some(PolicyRefusal::NoCounterOverflow));
}

#[test]
fn counters_have_one_user_each_and_overflows_reach_their_owner() {
    let tasks = vec![on(0, task(0, 20, 5))];
    let mut experiment = experiment(1, policy(Scope::Partitioned, Criterion::Edf), tasks, 100);
    experiment.isolation.bandwidth = Some(regulation(1, Sharing::None));
    let mut config = KernelConfig::from_experiment(&experiment).expect("sound");
    config.counting = vec![CounterWish {
        user: User::Monitor(0),
        sets: vec![vec![EventId::LLC_MISSES; 3]],
        interrupt: false,
    }];
    let mut kernel = Kernel::<Edf>::new(config.clone(), &counting_caps(1)).expect("four counters");
    let owners: Vec<_> = (0..5).map(|at| kernel.counters().owner(CounterId(at))).collect();
    let monitor = Some(User::Monitor(0));
    assert_eq!(owners, [Some(User::Regulator), monitor, monitor, monitor, None]);
    let m = &mut Meter::default();
    let _ = kernel.start(m, A, us(0));
    m.total[0] = 1000;
    assert_eq!(
        kernel.overflow(m, A, us(100), CounterId(2)),
        Switch::Stay,
        "a monitor's overflow is not the budget's"
    );
    assert_eq!(kernel.overflow(m, A, us(100), COUNTER), Switch::Idle);
    assert_eq!(kernel.overflows(A), 2);
    // One more, and the numbers say so before anything runs.
    config.counting[0].sets[0].push(EventId::LLC_MISSES);
    let refused = Kernel::<Edf>::new(config.clone(), &counting_caps(1)).err();
    assert_eq!(refused, Some(PolicyRefusal::TooFewCounters { needed: 4, taken: 1, counters: 4 }));
    config.counting[0].user = User::Regulator;
    let refused = Kernel::<Edf>::new(config, &counting_caps(1)).err();
    assert_eq!(refused, Some(PolicyRefusal::CountedTwice));
}

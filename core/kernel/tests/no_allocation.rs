//! The kernel never allocates after its construction, whatever it is told in whatever order.
#![allow(unsafe_code, reason = "an allocator is an unsafe trait; this one counts and passes on")]

mod common;

use common::{config, machine, ms, policy, task};
use solo_hal::{Checked, CounterId, Edge, InterruptController, Pmu, PmuError, Probe, Recorder, Timer};
use solo_isolate::regulator::Config;
use solo_kernel::{
    Criterion, Interrupts, Kernel, ListeningConfig, LockConfig, Switch, TaskParameters, Visitor, dispatch,
};
use solo_model::isolation::*;
use solo_model::listening::{Observed, Reaction};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::task::Release;
use solo_model::work::LockProtocol;
use solo_model::{
    Bandwidth, Bytes, Caps, CoreId, CoreSet, Duration, DutyCycle, EventId, EventSet, EventTable, Events,
    Fixed, Instant, LockId, MetricId, Overhead, Record, Recycling, Rmid, TaskClass, TaskId,
};
use solo_observe::RmidPool;
use solo_observe::expr::Expression;
use solo_observe::monitor::{Count, Followed, Heard, MissRateCurve, Multiplexed};
use solo_schedule::{Action, Actions, Hook, KindId, Placed, Placement, Situation, Whose};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Allocations of this thread: the test harness has its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, and the block came from the system.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const CORES: u16 = 4;

/// A machine without memory of its own: timers, requests, and how many records it saw.
#[derive(Default)]
struct Bare {
    timers: [Option<Instant>; CORES as usize],
    requested: CoreSet,
    records: u64,
    counted: u64,
}

impl solo_hal::CacheControl for Bare {
    fn occupancy(&self, _: CoreId, rmid: Rmid) -> Option<Bytes> {
        Some(Bytes::new(self.counted * u64::from(rmid.0) % (1 << 16)))
    }
}

/// Counters that count time as events.
impl Pmu for Bare {
    fn configure(&mut self, _: CoreId, _: CounterId, _: EventId) -> Result<(), PmuError> {
        Ok(())
    }
    fn read(&self, _: CoreId, _: CounterId) -> Result<u64, PmuError> {
        Ok(self.counted)
    }
    fn write(&mut self, _: CoreId, _: CounterId, _: u64) -> Result<(), PmuError> {
        Ok(())
    }
    fn interrupt_after(&mut self, _: CoreId, _: CounterId, _: u64) -> Result<(), PmuError> {
        Ok(())
    }
}

impl Timer for Bare {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.timers[core.index()] = Some(at);
    }
    fn disarm(&mut self, core: CoreId) {
        self.timers[core.index()] = None;
    }
}
impl InterruptController for Bare {
    fn send_reschedule(&mut self, _from: CoreId, to: CoreId, _now: Instant) {
        self.requested = self.requested.with(to);
    }
}
impl Probe for Bare {
    fn probe(&mut self, _core: CoreId, _overhead: Overhead, _edge: Edge) {}
}
impl Recorder for Bare {
    fn record(&mut self, _core: CoreId, _record: Record) {
        self.records += 1;
    }
}

/// A generator of Lehmer's kind: enough to press all keys in no order.
struct Monkey(u64);

impl Monkey {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

struct Press {
    policy: Policy,
    regulation: Option<Config>,
    listening: Option<ListeningConfig>,
    seed: u64,
}

impl Visitor for Press {
    /// Allocations while running, and records.
    type Output = (u64, u64);

    fn visit<C: Criterion>(self) -> Self::Output {
        let caps = Caps { counters: 4, counter_overflow: true, ways: 8, ..machine(usize::from(CORES)) };
        let config = solo_kernel::KernelConfig {
            regulation: self.regulation,
            listening: self.listening,
            caching: None,
            partitions: None,
            ..configuration(self.policy)
        };
        let mut kernel = Kernel::<C>::new(config, &caps).expect("admitted");
        let (mut bare, mut monkey) = (Bare::default(), Monkey(self.seed));
        let mut now = Instant::ZERO;
        let before = ALLOCATIONS.get();
        let mut m = Checked { machine: &mut bare, cores: CoreSet::first(usize::from(CORES)), open: None };
        for core in 0..CORES {
            let _ = kernel.start(&mut m, CoreId(core), now);
        }
        for _ in 0..20_000 {
            now += Duration::from_micros(monkey.below(900));
            m.machine.counted += monkey.below(400);
            let core = CoreId(monkey.below(u64::from(CORES)) as u16);
            let lock = LockId(monkey.below(5) as u16);
            let on = kernel.running(core);
            let switch = match monkey.below(16) {
                0..=4 => kernel.timer(&mut m, core, now),
                5..=6 => kernel.ipi(&mut m, core, now),
                7..=9 => kernel.wait_next(&mut m, core, now),
                10..=11 => kernel.acquire(&mut m, core, now, lock),
                12..=13 => kernel.release(&mut m, core, now, lock),
                14 => kernel.yield_now(&mut m, core, now),
                _ if monkey.below(500) == 0 => kernel.exit(&mut m, core, now),
                _ => kernel.overflow(&mut m, core, now, CounterId(0)),
            };
            match switch {
                Switch::Stay => assert_eq!(kernel.running(core), on),
                Switch::To(thread) => assert!(kernel.running(core) == Some(thread) && on != Some(thread)),
                Switch::Idle => assert_eq!(kernel.running(core), None),
            }
        }
        if let Some(account) = kernel.placement() {
            assert!(account.actions > 1000 && account.refused > 100, "it was restless: {account:?}");
        }
        (ALLOCATIONS.get() - before, bare.records)
    }
}

fn configuration(policy: Policy) -> solo_kernel::KernelConfig {
    let mut tasks: Vec<_> = (0..12).map(|i| task(i, 3 + i as u64, 1 + i as u64 / 3)).collect();
    for (index, task) in tasks.iter_mut().enumerate() {
        task.core = Some(CoreId(index as u16 % CORES));
        task.class = [TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort][index % 3];
    }
    tasks[11].release = Release::Continuous { offset: Duration::ZERO };
    tasks[8].release = Release::Once { offset: ms(5) };
    let protocols = [
        LockProtocol::Plain,
        LockProtocol::Inheritance,
        LockProtocol::Ceiling,
        LockProtocol::Semaphore { units: 2 },
    ];
    let users: Vec<_> = (0..12).map(TaskId).collect();
    let lock = |protocol| LockConfig { protocol, users: users.clone() };
    config(usize::from(CORES), policy, &tasks, protocols.map(lock).to_vec())
}

#[test]
fn nothing_is_allocated_after_the_construction() {
    let clusters = Scope::Clustered(vec![CoreSet::first(3), CoreSet::only(CoreId(3))]);
    for criterion in solo_model::Criterion::ALL {
        for scope in [Scope::Global, Scope::Partitioned, clusters.clone()] {
            for timing in [Timing::OneShot, Timing::Tick(ms(1))] {
                let policy = Policy { timing, ..policy(scope.clone(), criterion) };
                let name = policy.to_string();
                let (allocations, records) =
                    dispatch(criterion, Press { policy, regulation: None, listening: None, seed: 7 });
                assert_eq!(allocations, 0, "{name}");
                assert!(records > 1000, "{name} did something: {records}");
            }
        }
    }
}

#[test]
fn nothing_is_allocated_while_bandwidth_is_regulated() {
    for sharing in [Sharing::None, Sharing::Spare, Sharing::Proportional] {
        for reclaim in [Reclaim::Off, Reclaim::Pool, Reclaim::Peers] {
            for scope in [Scope::Global, Scope::Partitioned] {
                let policy = policy(scope, solo_model::Criterion::Edf);
                let regulation = Some(regulation(sharing, reclaim));
                let press = Press { policy, regulation, listening: None, seed: 3 };
                let (allocations, records) = dispatch(solo_model::Criterion::Edf, press);
                assert_eq!(allocations, 0, "{sharing:?}, {reclaim:?}");
                assert!(records > 10_000, "{sharing:?}, {reclaim:?}: {records}");
            }
        }
    }
}

/// A policy that answers every hook with something else, sensible or not.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Restless(u64);

impl Placement for Restless {
    fn name(&self) -> &'static str {
        "restless"
    }

    fn on(&mut self, now: Instant, _: Hook, _: &dyn Situation) -> Actions {
        let mut monkey = Monkey(self.0);
        let task = TaskId(monkey.below(13) as u32);
        let choice = monkey.below(8);
        let action = match choice {
            0..=1 => Action::Move { task, core: CoreId(monkey.below(5) as u16) },
            2 => Action::Hold { task, until: now + Duration::from_micros(monkey.below(3000)) },
            3 => Action::Weight { task, per_mille: monkey.below(3000) as u32 },
            4 => Action::Kind { task, kind: KindId(monkey.below(3) as u8) },
            5 => Action::Ways { task, mask: monkey.below(1 << 9) },
            6 => Action::Slow {
                core: CoreId(monkey.below(5) as u16),
                duty: DutyCycle::new(1 + monkey.below(8)).expect("one to eight"),
            },
            _ => {
                self.0 = monkey.0;
                return Actions::NONE;
            }
        };
        self.0 = monkey.0;
        Actions::one(action)
    }
}

/// Whatever a policy says about whomever and whenever: the kernel keeps its rules, and takes no memory.
#[test]
fn nothing_is_allocated_while_a_policy_listens() {
    let clusters = Scope::Clustered(vec![CoreSet::first(3), CoreSet::only(CoreId(3))]);
    let count = |metric, event| Heard::new(Count::new(MetricId(metric), event));
    for criterion in
        [solo_model::Criterion::Edf, solo_model::Criterion::Llf, solo_model::Criterion::RoundRobin]
    {
        for (seed, scope) in [Scope::Global, Scope::Partitioned, clusters.clone()].into_iter().enumerate() {
            let listening = ListeningConfig {
                monitors: vec![count(0, EventId::SNOOP_HITM), count(1, EventId::CYCLES), curves()],
                metrics: 2 + curves().0.metrics(),
                interrupts: Some(Interrupts::Once(Events::new(1000))),
                kinds: vec![KindId(0), KindId(1)],
                rmids: Some(RmidPool::new(8, Recycling::Random, 3, (0..13).map(|task| task / 2).collect())),
                ways: vec![0xff; usize::from(CORES)],
                recorded: Some(MetricId(0)),
                ..ListeningConfig::new(Placed::new(Restless(seed as u64)), ms(1))
            };
            let turning = ListeningConfig {
                monitors: vec![multiplexed(Followed::Tasks), multiplexed(Followed::Cores)],
                turn: Some(Duration::from_micros(300)),
                interrupts: None,
                ..listening.clone()
            };
            for (turns, listening) in [listening, turning].into_iter().enumerate() {
                let policy = policy(scope.clone(), criterion);
                let name = policy.to_string();
                let press = Press { policy, regulation: None, listening: Some(listening), seed: 11 };
                let (allocations, records) = dispatch(criterion, press);
                assert_eq!(allocations, 0, "{name}, {turns}");
                assert!(records > 1000, "{name}, {turns}: {records}");
            }
        }
    }
}

/// Anything may be true of anybody.
struct Anything<'t>(u64, &'t [TaskParameters]);

impl Anything<'_> {
    fn draw(&self, of: u64) -> u64 {
        Monkey(self.0 ^ of << 32).below(40)
    }
}

impl Situation for Anything<'_> {
    fn metric(&self, whose: Whose, metric: MetricId) -> Option<Fixed> {
        let of = match whose {
            Whose::Core(core) => 1000 + u64::from(core.0),
            Whose::Task(task) => u64::from(task.0),
        };
        Some(Fixed::from(self.draw(of + u64::from(metric.0)))).filter(|value| value.whole() > 2)
    }
    fn age(&self, _: Whose, _: MetricId) -> Option<Duration> {
        Some(Duration::ZERO)
    }
    fn running(&self, core: CoreId) -> Option<TaskId> {
        Some(TaskId(self.draw(2000 + u64::from(core.0)) as u32)).filter(|task| task.0 < 13)
    }
    fn parameters(&self, task: TaskId) -> Option<TaskParameters> {
        self.1.get(task.index()).copied()
    }
    fn is_ready(&self, task: TaskId) -> bool {
        self.draw(3000 + u64::from(task.0)) > 5
    }
    fn cores(&self) -> CoreSet {
        CoreSet::first(usize::from(CORES))
    }
    fn kind(&self, core: CoreId) -> Option<KindId> {
        Some(KindId(u8::from(core.0 > 1)))
    }
}

/// The policies themselves take no memory either once they know their tasks: their lists are as long as they were.
#[test]
fn nothing_is_allocated_by_any_policy_that_listens() {
    let mut platform = solo_corpus::ideal_platform(usize::from(CORES));
    platform.kinds.push(platform.kinds[0].clone());
    platform.kinds[1].instructions_per_kilocycle /= 2;
    platform.cores[2..].iter_mut().for_each(|core| core.kind = 1);
    for reaction in Reaction::ALL {
        let observed = Observed::count_of(EventId::SNOOP_HITM);
        let listening = solo_model::Listening::new(observed, ms(1), reaction);
        let mut placement = solo_schedule::placements::of(&listening, &platform);
        let parameters =
            |index| TaskParameters { core: Some(CoreId(0)), ..TaskParameters::from(&task(index, 10, 1)) };
        let tasks: Vec<TaskParameters> = (0..13).map(parameters).collect();
        placement.prepare(&tasks);
        let mut monkey = Monkey(5);
        let before = ALLOCATIONS.get();
        for at in 0..8000_u64 {
            let (core, task) = (CoreId((at % 4) as u16), TaskId(monkey.below(13) as u32));
            let (now, next) = (at_us(at * 250), at_us((at / 4 + 1) * 1000));
            let hook = match monkey.below(5) {
                0 => Hook::SwitchIn { task, core },
                1 => Hook::SwitchOut { task, core },
                2 if at > 7000 => Hook::Exit(task),
                _ => Hook::Tick { core, next },
            };
            let _ = placement.on(now, hook, &Anything(monkey.0, &tasks));
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{}", reaction.name());
    }
}

fn at_us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

/// Curves of a cache of 64 KiB.
fn curves() -> Heard {
    Heard::new(MissRateCurve::new(MetricId(2), Bytes::new(1 << 16)))
}

/// Two sets that take turns.
fn multiplexed(of: Followed) -> Heard {
    let sets = [EventId::SNOOP_HITM, EventId::LLC_MISSES].map(|event| EventSet::EMPTY.with(event));
    let expression = Expression::parse("snoop_hitm + llc_misses").expect("an expression");
    let metric = MetricId(of as u16);
    let table = EventTable::default();
    Heard::new(Multiplexed::new(metric, &expression, &sets, of, &table).expect("both are in a set"))
}

/// 500 events a millisecond for each core; every third task has a budget of its own.
fn regulation(sharing: Sharing, reclaim: Reclaim) -> Config {
    let budget = Budget::Events(Events::new(500));
    let core = |core| CoreBudget { core: CoreId(core), budget, writes: None };
    let of_task = |task: u32| TaskBudget {
        task: TaskId(task),
        budget: task.is_multiple_of(3).then_some(Budget::Events(Events::new(200))),
        donates: [Donation::Nothing, Donation::Surplus, Donation::Everything][task as usize % 3],
    };
    let wanted = Regulation {
        period: ms(1),
        counted: Counted::ReadsAndWrites,
        cores: (0..CORES).map(core).collect(),
        changes: (1..9).map(|at| BudgetChange { at: ms(at), cores: vec![core(at as u16 % CORES)] }).collect(),
        tasks: (0..12).map(of_task).collect(),
        sharing,
        reclaim,
        prediction: Prediction::Lms,
        quantum: Events::new(50),
        wrong_donation: WrongDonation::Overdraw,
        carry_over: true,
        charge_per_mille: 1000,
        guaranteed: Bandwidth::new(1 << 30),
        guaranteed_with_writes: None,
        best_effort: false,
        dma: Vec::new(),
    };
    let tasks: Vec<_> = (0..12).map(|index| task(index, 3, 1)).collect();
    Config::new(&wanted, &solo_corpus::ideal_platform(usize::from(CORES)), &tasks)
}

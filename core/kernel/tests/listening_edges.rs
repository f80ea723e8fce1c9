//! The other side of what the listening kernel promises: policies that say anything at any time, two that wish to stop the same
//! thread, holds past deadlines, moves to cores without a budget, periods longer than the run, counts as large as they can be.

mod common;

use common::{at, compute, config, experiment, machine, ms, policy, task};
use solo_corpus::ideal::{Ideal, IdealOptions, run};
use solo_hal::{CacheControl, CounterId, Edge, InterruptController, Pmu, PmuError, Probe, Recorder, Timer};
use solo_kernel::{Interrupts, Kernel, KernelConfig, ListeningConfig, State, Switch};
use solo_model::isolation::{Budget, CoreBudget, Counted, Donation, Regulation, Sharing, TaskBudget};
use solo_model::listening::{Listening, Observed, Reaction, ScriptedCount};
use solo_model::policy::Scope;
use solo_model::record::HeldRecord;
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Step};
use solo_model::{
    Bandwidth, Caps, CoreId, CoreSet, Criterion, Duration, EventId, Events, Experiment, Fixed, Instant,
    LockId, MetricId, Overhead, Record, SplitMix64, Task, TaskClass, TaskId, ThreadId,
};
use solo_observe::monitor::{Count, Heard};
use solo_schedule::criteria::{Edf, Rm, RoundRobin, StaticPriority};
use solo_schedule::{Action, Actions, Hook, KindId, Placed, Placement, Situation};
use std::sync::{Arc, Mutex};

const EVENT: EventId = EventId::SNOOP_HITM;
const METRIC: MetricId = MetricId(0);
const A: CoreId = CoreId(0);
const B: CoreId = CoreId(1);

fn listening(placement: Placed, period: Duration, interrupt_after: Option<Events>) -> ListeningConfig {
    ListeningConfig {
        monitors: vec![Heard::new(Count::new(METRIC, EVENT))],
        metrics: 1,
        interrupts: interrupt_after.map(Interrupts::Once),
        kinds: vec![KindId(0), KindId(1)],
        ..ListeningConfig::new(placement, period)
    }
}

/// What was said, and when.
type Said = Arc<Mutex<Vec<(Instant, Action)>>>;

/// Says anything at any time.
#[derive(Clone, Debug)]
struct Chaos {
    random: SplitMix64,
    tasks: u64,
    cores: u64,
    said: Said,
}

impl PartialEq for Chaos {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Placement for Chaos {
    fn name(&self) -> &'static str {
        "chaos"
    }

    fn on(&mut self, now: Instant, _: Hook, _: &dyn Situation) -> Actions {
        let mut actions = Actions::NONE;
        if self.random.below(4) > 0 {
            return actions;
        }
        for _ in 0..=self.random.below(3) {
            let random = &mut self.random;
            // One in so many is not there.
            let task = TaskId(random.below(self.tasks + 1) as u32);
            let action = match random.below(4) {
                0 => Action::Move { task, core: CoreId(random.below(self.cores + 1) as u16) },
                1 => Action::Hold { task, until: now + Duration::from_micros(500 * random.below(8)) },
                2 => Action::Weight { task, per_mille: 200 + random.below(3000) as u32 },
                _ => Action::Kind { task, kind: KindId(random.below(3) as u8) },
            };
            actions.push(action).expect("there is room for three");
            self.said.lock().expect("nobody panics with it").push((now, action));
        }
        actions
    }
}

/// A set of tasks that run, wait, sleep and lock, under any scope, and a request that takes its time.
fn drawn(random: &mut SplitMix64) -> (Experiment, IdealOptions, Said) {
    let cores = 1 + random.below(3) as usize;
    let criterion = [Criterion::StaticPriority, Criterion::Edf, Criterion::RoundRobin, Criterion::Rm]
        [random.below(4) as usize];
    let scope = match random.below(3) {
        0 => Scope::Partitioned,
        1 => Scope::Global,
        _ => {
            let first = CoreSet::first(cores.div_ceil(2));
            let rest = CoreSet::from_bits(CoreSet::first(cores).bits() & !first.bits());
            Scope::Clustered([first, rest].into_iter().filter(|cluster| !cluster.is_empty()).collect())
        }
    };
    let count = 2 + random.below(4) as usize;
    let tasks = (0..count)
        .map(|index| {
            let mut task = task(index, 4 + random.below(9), 1);
            task.core = Some(CoreId(random.below(cores as u64) as u16));
            task.class = [TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort][random.below(3) as usize];
            let length = 1 + random.below(3);
            task.work.steps = match random.below(4) {
                0 => vec![Step::Acquire(LockId(0)), compute(length), Step::Release(LockId(0))],
                1 => {
                    let nap = solo_model::work::Span::exactly(ms(1));
                    vec![compute(length), Step::Sleep(nap), compute(1)]
                }
                _ => vec![compute(length)],
            };
            // RM wants a period.
            if criterion != Criterion::Rm && random.below(4) == 0 {
                task.release = Release::Once { offset: ms(random.below(5)) };
                task.deadline = Some(ms(20));
            }
            task
        })
        .collect();
    let plain = experiment(cores, policy(scope, criterion), tasks, 40);
    let script = ScriptedCount { core: A, event: EVENT, at: at(1), count: 1 };
    let heard = Listening {
        script: vec![script],
        ..Listening::new(Observed::count_of(EVENT), ms(2), Reaction::Report)
    };
    let said = Said::default();
    let chaos = Chaos {
        random: SplitMix64::new(random.below(u64::MAX)),
        tasks: count as u64,
        cores: cores as u64,
        said: said.clone(),
    };
    let latencies = (0..random.below(4)).map(|_| Duration::from_micros(random.below(1500))).collect();
    let options = IdealOptions {
        listening: Some(listening(Placed::new(chaos), ms(1 + random.below(3)), None)),
        ipi_latencies: latencies,
        ..IdealOptions::default()
    };
    let lock = Lock { name: "R".to_owned(), protocol: LockProtocol::Inheritance };
    (Experiment { listening: Some(heard), locks: vec![lock], ..plain }, options, said)
}

/// How much of a core a job of the task takes.
fn demand(task: &Task) -> Duration {
    let of = |step: &Step| match step {
        Step::Compute(span) => span.most,
        _ => Duration::ZERO,
    };
    task.work.steps.iter().map(of).sum()
}

/// What must hold after each step, whatever was said: each thread is in one place, and who is held runs nowhere.
fn examine<C: solo_schedule::Criterion>(ideal: &Ideal<C>, tasks: usize, cores: usize) {
    let kernel = ideal.kernel();
    for thread in (0..tasks as u32).map(ThreadId) {
        let there: Vec<CoreId> =
            (0..cores as u16).map(CoreId).filter(|core| kernel.running(*core) == Some(thread)).collect();
        match kernel.state(thread).expect("it is there") {
            State::Running(core) => assert_eq!(there, [core], "{thread:?} at {}", ideal.now()),
            state => assert_eq!(there, [], "{thread:?} is {state:?} at {}", ideal.now()),
        }
    }
    // Nobody is idle beside a thread that waits for one of these cores, unless a request is under way.
    if ideal.has_requests() {
        return;
    }
    let domains: Vec<CoreSet> = kernel.domains().collect();
    for thread in (0..tasks as u32).map(ThreadId) {
        if kernel.state(thread) == Some(State::Ready) {
            let own = domains[kernel.domain_of(thread).expect("it is there")];
            let idle = own.iter().find(|core| kernel.running(*core).is_none());
            assert_eq!(idle, None, "{thread:?} waits at {}", ideal.now());
        }
    }
}

fn try_chaos<C: solo_schedule::Criterion>(
    experiment: &Experiment,
    options: &IdealOptions,
    said: &Said,
) -> u64 {
    let cores = experiment.platform.cores.len();
    let mut ideal = Ideal::<C>::new(experiment, options).expect("admitted");
    while ideal.step().expect("time passes") {
        examine(&ideal, experiment.tasks.len(), cores);
    }
    let said = said.lock().expect("the run is over");
    let account = ideal.kernel().placement().expect("somebody listens");
    let told = account.actions + account.refused;
    // What waits for a core whose request is still under way is neither.
    assert!(
        told <= said.len() as u64 && told + 2 * cores as u64 >= said.len() as u64,
        "{account:?}, {}",
        said.len()
    );
    let mut until = vec![Instant::ZERO; experiment.tasks.len()];
    for record in ideal.records() {
        match record {
            Record::Job(job) => {
                assert_eq!(job.executed, demand(&experiment.tasks[job.task.index()]), "{job:?}");
            }
            Record::Held(held) => {
                let wished = said.iter().any(|(when, action)| {
                    *when <= held.since && *action == Action::Hold { task: held.task, until: held.at }
                });
                assert!(wished && held.since < held.at, "{held:?}");
                let last = core::mem::replace(&mut until[held.task.index()], held.at);
                assert!(last <= held.since, "held twice at a time: {held:?}");
            }
            _ => {}
        }
    }
    let held: Vec<HeldRecord> = ideal
        .records()
        .iter()
        .filter_map(|record| if let Record::Held(held) = record { Some(*held) } else { None })
        .collect();
    for record in ideal.records() {
        if let Record::Switch(switch) = record {
            let asleep = held
                .iter()
                .find(|held| switch.to == Some(held.task) && held.since < switch.at && switch.at < held.at);
            assert_eq!(asleep, None, "{switch:?}");
        }
    }
    held.len() as u64
}

/// A policy that says anything at any time, of any task and core, in thousands of runs: nothing wedges, no thread is in two
/// places, no job does more or less than its work, nobody who is held runs, and each action is accounted for.
#[test]
fn whatever_a_policy_says_threads_and_accounts_stay_whole() {
    let mut random = SplitMix64::new(16);
    let mut held = 0;
    for _ in 0..3000 {
        let (experiment, options, said) = drawn(&mut random);
        held += match experiment.policy.criterion {
            Criterion::StaticPriority => try_chaos::<StaticPriority>(&experiment, &options, &said),
            Criterion::Edf => try_chaos::<Edf>(&experiment, &options, &said),
            Criterion::RoundRobin => try_chaos::<RoundRobin>(&experiment, &options, &said),
            _ => try_chaos::<Rm>(&experiment, &options, &said),
        };
    }
    assert!(held > 3000, "{held}");
}

/// At which hook, and what.
type Saying = (fn(&Hook) -> bool, Action);

/// Says certain things at certain hooks, once each.
#[derive(Clone, Debug)]
struct Script {
    says: Vec<Saying>,
}

impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        self.says.len() == other.says.len()
    }
}

impl Placement for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn on(&mut self, _: Instant, hook: Hook, _: &dyn Situation) -> Actions {
        let mut actions = Actions::NONE;
        while let Some(place) = self.says.iter().position(|(when, _)| when(&hook)) {
            actions.push(self.says.remove(place).1).expect("a few");
        }
        actions
    }
}

fn script(says: &[Saying]) -> Placed {
    Placed::new(Script { says: says.to_vec() })
}

fn tick(hook: &Hook) -> bool {
    matches!(hook, Hook::Tick { core: A, .. })
}

/// A machine of two cores with counters that a test turns by hand.
#[derive(Default)]
struct Bench {
    counted: [[u64; 2]; 2],
    /// Counters are not written to.
    silent: bool,
    requests: Vec<CoreId>,
    records: Vec<Record>,
}

impl Pmu for Bench {
    fn configure(&mut self, _: CoreId, _: CounterId, _: EventId) -> Result<(), PmuError> {
        Ok(())
    }
    fn read(&self, core: CoreId, counter: CounterId) -> Result<u64, PmuError> {
        Ok(self.counted[core.index()][usize::from(counter.0)])
    }
    fn write(&mut self, core: CoreId, counter: CounterId, value: u64) -> Result<(), PmuError> {
        if self.silent {
            return Err(PmuError::NoSuchCounter { counter, counters: 0 });
        }
        self.counted[core.index()][usize::from(counter.0)] = value;
        Ok(())
    }
    fn interrupt_after(&mut self, _: CoreId, _: CounterId, _: u64) -> Result<(), PmuError> {
        Ok(())
    }
}
impl CacheControl for Bench {}
impl Timer for Bench {
    fn arm(&mut self, _: CoreId, _: Instant) {}
    fn disarm(&mut self, _: CoreId) {}
}
impl InterruptController for Bench {
    fn send_reschedule(&mut self, _: CoreId, to: CoreId, _: Instant) {
        self.requests.push(to);
    }
}
impl Probe for Bench {
    fn probe(&mut self, _: CoreId, _: Overhead, _: Edge) {}
}
impl Recorder for Bench {
    fn record(&mut self, _: CoreId, record: Record) {
        self.records.push(record);
    }
}

impl Bench {
    fn held(&self) -> Vec<(u64, u64)> {
        let of = |record: &Record| match record {
            Record::Held(held) => Some((held.since.get() / 1_000_000, held.at.get() / 1_000_000)),
            _ => None,
        };
        self.records.iter().filter_map(of).collect()
    }

    fn finished(&self) -> Vec<(u32, u64, u64)> {
        let of = |record: &Record| match record {
            Record::Job(job) => {
                Some((job.task.0, job.finish.get() / 1_000_000, job.executed.get() / 1_000_000))
            }
            _ => None,
        };
        self.records.iter().filter_map(of).collect()
    }
}

/// Tasks on their cores, a period of 4 ms, and what a policy says.
fn kernel(tasks: &[Task], placement: Placed, regulation: Option<Regulation>) -> (Kernel<Rm>, Bench) {
    let mut experiment = experiment(2, policy(Scope::Partitioned, Criterion::Rm), tasks.to_vec(), 100);
    experiment.isolation.bandwidth = regulation;
    let plain = KernelConfig::from_experiment(&experiment).expect("sound");
    let config = KernelConfig {
        listening: Some(listening(placement, ms(4), None)),
        ..KernelConfig { regulation: plain.regulation, ..config(2, experiment.policy, tasks, Vec::new()) }
    };
    let caps = Caps { counters: 2, counter_overflow: true, ..machine(2) };
    let mut kernel = Kernel::new(config, &caps).expect("admitted");
    let mut m = Bench::default();
    for core in [A, B] {
        let _ = kernel.start(&mut m, core, at(0));
    }
    (kernel, m)
}

fn on(core: CoreId, task: Task) -> Task {
    Task { core: Some(core), ..task }
}

fn hold(task: u32, until: u64) -> Action {
    Action::Hold { task: TaskId(task), until: at(until) }
}

/// The tick and the end of a job come at the same instant. Whoever comes first, nothing is done twice: a job whose end the
/// kernel has not heard of is held with nothing left to do, and ends when it is back; one that has ended is not held.
#[test]
fn a_thread_that_finishes_at_the_very_tick_is_held_or_done_and_never_both() {
    let tasks = [on(A, task(0, 20, 4))];
    let (mut kernel, mut m) = kernel(&tasks, script(&[(tick, hold(0, 8))]), None);
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::Idle, "the tick is first");
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Held));
    assert_eq!(kernel.timer(&mut m, A, at(8)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.wait_next(&mut m, A, at(8)), Switch::Idle);
    assert_eq!((m.finished(), m.held()), (vec![(0, 8, 4)], vec![(4, 8)]));

    let (mut kernel, mut m) = self::kernel(&tasks, script(&[(tick, hold(0, 8))]), None);
    assert_eq!(kernel.wait_next(&mut m, A, at(4)), Switch::Idle, "the end is first");
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::Stay);
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Waiting));
    let account = kernel.placement().expect("somebody listens");
    assert_eq!((account.actions, account.refused), (0, 1));
    assert_eq!(kernel.timer(&mut m, A, at(20)), Switch::To(ThreadId(0)), "no alarm is left over");
    assert_eq!((m.finished(), m.held()), (vec![(0, 4, 4)], vec![]));
}

/// A task that is held past its deadline and its next release: the job is late, the release is counted and served after it.
#[test]
fn a_hold_past_a_deadline_loses_no_release() {
    let tasks = [Task { class: TaskClass::Soft, ..on(A, task(0, 6, 5)) }];
    let (mut kernel, mut m) = kernel(&tasks, script(&[(tick, hold(0, 16))]), None);
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::Idle);
    for release in [6, 12] {
        assert_eq!(kernel.timer(&mut m, A, at(release)), Switch::Stay, "it is held at {release}");
    }
    assert_eq!(kernel.timer(&mut m, A, at(16)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.wait_next(&mut m, A, at(17)), Switch::Stay, "the next job waits");
    let _ = kernel.timer(&mut m, A, at(18));
    assert_eq!(kernel.wait_next(&mut m, A, at(22)), Switch::Stay, "and one more");
    assert_eq!((m.finished(), m.held()), (vec![(0, 17, 5), (0, 22, 5)], vec![(4, 16)]));
    let account = kernel.account_of(TaskId(0)).expect("it is there");
    assert_eq!((account.released, account.missed, account.skipped), (4, 2, 0));
    assert_eq!(account.worst_tardiness, ms(11));
}

/// Budgets of so many events in each period: of both cores, and of the task on its own.
fn budgets(period: Duration, of_core: u64, task: Option<(u32, u64)>) -> Regulation {
    let budget = |events| Budget::Events(Events::new(events));
    let core = |core| CoreBudget { core, budget: budget(of_core), writes: None };
    let own = task.map(|(task, events)| TaskBudget {
        task: TaskId(task),
        budget: Some(budget(events)),
        donates: Donation::Nothing,
    });
    Regulation {
        sharing: Sharing::None,
        quantum: Events::new(100),
        tasks: own.into_iter().collect(),
        ..Regulation::new(
            period,
            Counted::One(EventId::LLC_MISSES),
            [A, B].map(core).to_vec(),
            Bandwidth::new(1 << 30),
        )
    }
}

/// Two wish to stop the same thread as it comes onto its core: a policy that holds it for long, and a budget of its own that is
/// used up until the next regulation period. It is away for as long as either says, and is never in two places.
#[test]
fn a_thread_that_is_held_and_out_of_budget_waits_for_both() {
    // T1 runs, uses up its budget without an interrupt that says so, and is preempted by T0 at 1 ms.
    let urgent = Release::Periodic { offset: ms(1), period: ms(40) };
    let tasks = [Task { release: urgent, ..on(A, task(0, 40, 1)) }, on(A, task(1, 50, 20))];
    let regulation = budgets(ms(10), 1000, Some((1, 100)));
    for (until, away) in [(3, vec![(2, 3), (3, 10)]), (10, vec![(2, 10)]), (17, vec![(2, 17)])] {
        let (mut kernel, mut m) =
            kernel(&tasks, script(&[(first_ends, hold(1, until))]), Some(regulation.clone()));
        assert_eq!(kernel.running(A), Some(ThreadId(1)));
        m.counted[0] = [100, 100];
        assert_eq!(kernel.timer(&mut m, A, at(1)), Switch::To(ThreadId(0)));
        // T1 comes back, is held by the policy and finds its budget used up.
        assert_eq!(kernel.wait_next(&mut m, A, at(2)), Switch::Idle);
        assert_eq!(kernel.state(ThreadId(1)), Some(State::Held));
        for now in 3..20 {
            let _ = kernel.timer(&mut m, A, at(now));
            let back = now >= until.max(10);
            assert_eq!(kernel.running(A) == Some(ThreadId(1)), back, "at {now}, until {until}");
        }
        assert_eq!(m.held(), away);
    }
}

fn first_ends(hook: &Hook) -> bool {
    matches!(hook, Hook::SwitchOut { task: TaskId(0), .. })
}

/// A task is moved to a core that has used up its budget: it waits there for the next regulation period like any other, and
/// one that is moved away from such a core runs at once.
#[test]
fn a_task_that_is_moved_to_a_core_without_budget_waits_there() {
    let tasks = [on(A, task(0, 40, 20)), on(B, task(1, 50, 20))];
    let to = |task, core| Action::Move { task: TaskId(task), core };
    let (mut kernel, mut m) = kernel(&tasks, script(&[(tick, to(0, B))]), Some(budgets(ms(2), 1000, None)));
    let counter = |kernel: &Kernel<Rm>| {
        let of_budgets = |assigned: &&solo_observe::plan::Assigned| assigned.event == EventId::LLC_MISSES;
        kernel.counters().assigned().iter().find(of_budgets).expect("budgets have one").counter
    };
    // Core 1 has used up its budget before 4 ms begin, and again right after.
    let _ = kernel.timer(&mut m, A, at(2));
    let _ = kernel.timer(&mut m, B, at(2));
    let own = counter(&kernel);
    let _ = kernel.timer(&mut m, B, at(4));
    m.counted[1][usize::from(own.0)] = 1000;
    assert_eq!(kernel.overflow(&mut m, B, at(4), own), Switch::Idle);
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::Idle, "it is moved away");
    assert_eq!(kernel.running(B), None, "nobody runs without a budget");
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Ready));
    let _ = kernel.timer(&mut m, A, at(6));
    assert_eq!(kernel.timer(&mut m, B, at(6)), Switch::To(ThreadId(0)), "by its priority");

    let (mut kernel, mut m) =
        self::kernel(&tasks, script(&[(tick, to(1, A))]), Some(budgets(ms(2), 1000, None)));
    let own = counter(&kernel);
    let _ = kernel.timer(&mut m, A, at(2));
    let _ = kernel.timer(&mut m, B, at(2));
    m.counted[1][usize::from(own.0)] = 1000;
    assert_eq!(kernel.overflow(&mut m, B, at(3), own), Switch::Idle);
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::Stay, "who is there is more urgent");
    assert_eq!(kernel.wait_next(&mut m, A, at(5)), Switch::To(ThreadId(1)));
}

/// A task on another core is to be moved and held: both are done when its core has heard of it, and of two wishes of the same
/// kind the later one. Those that are not carried out are counted.
#[test]
fn a_task_on_another_core_is_moved_and_held() {
    let to = |task, core| Action::Move { task: TaskId(task), core };
    let says: [Saying; 4] =
        [(tick, hold(1, 7)), (tick, to(1, A)), (tick, hold(1, 9)), (tick, to(1, CoreId(7)))];
    let tasks = [on(A, task(0, 40, 20)), on(B, task(1, 20, 10))];
    let (mut kernel, mut m) = kernel(&tasks, script(&says[..3]), None);
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::Stay);
    assert_eq!((m.requests.as_slice(), kernel.running(B)), (&[B][..], Some(ThreadId(1))));
    assert_eq!(kernel.ipi(&mut m, B, at(4)), Switch::Idle);
    assert_eq!(kernel.state(ThreadId(1)), Some(State::Held));
    let account = kernel.placement().expect("somebody listens");
    assert_eq!((account.actions, account.refused), (2, 1));
    assert_eq!(kernel.timer(&mut m, B, at(9)), Switch::Stay, "it is not core 1's any more");
    assert_eq!(kernel.ipi(&mut m, A, at(9)), Switch::To(ThreadId(1)));
    assert_eq!(m.held(), [(4, 9)]);
    // At whose word: that of the core which it left.
    assert_eq!(kernel.heard(B).map(|heard| (heard.moved, heard.held)), Some((1, 1)));

    let (mut kernel, mut m) = self::kernel(&tasks, script(&[says[1], says[3]]), None);
    let _ = kernel.timer(&mut m, A, at(4));
    // It ends its job before the request arrives, and moves all the same: it is not ready, but its home is another.
    assert_eq!(kernel.exit(&mut m, B, at(4)), Switch::Idle);
    let account = kernel.placement().expect("somebody listens");
    assert_eq!((account.actions, account.refused), (0, 2), "a task that has ended is moved nowhere");
}

/// The period is longer than the run: nobody is ever looked at, and nothing differs from a run in which nobody listens.
#[test]
fn a_period_longer_than_the_run_is_no_look_at_all() {
    let tasks = vec![Task { class: TaskClass::BestEffort, ..on(A, task(0, 7, 3)) }, on(A, task(1, 9, 2))];
    let counts = |reaction: &Reaction| {
        let facts = reaction.facts();
        !facts.interrupts && !facts.kinds && facts.over.is_empty()
    };
    for reaction in Reaction::ALL.into_iter().filter(counts) {
        let plain = experiment(2, policy(Scope::Partitioned, Criterion::Rm), tasks.clone(), 50);
        let script = vec![ScriptedCount { core: A, event: EVENT, at: at(1), count: u64::MAX }];
        let heard = Listening { script, ..Listening::new(Observed::count_of(EVENT), ms(51), reaction) };
        let listening = Experiment { listening: Some(heard), ..plain.clone() };
        let records = |experiment| run(experiment, &IdealOptions::default()).expect("admitted").records;
        assert_eq!(records(&plain), records(&listening), "{}", reaction.name());
        let mut ideal = Ideal::<Rm>::new(&listening, &IdealOptions::default()).expect("admitted");
        while ideal.step().expect("time passes") {}
        let heard = ideal.kernel().heard(A).expect("core 0 is there");
        assert_eq!((heard.samples, heard.held, heard.moved), (0, 0, 0));
    }
}

/// Counters that read the largest number there is, period after period: sums stay there, and the task is held as by any count
/// above the threshold.
#[test]
fn counts_saturate_and_are_above_every_threshold() {
    let tasks = [Task { class: TaskClass::BestEffort, ..on(A, task(0, 100, 60)) }];
    let most = Fixed::from(u64::MAX - 1);
    let listening =
        Listening { threshold: most, ..Listening::new(Observed::count_of(EVENT), ms(4), Reaction::Yield) };
    let placement = solo_schedule::placements::of(&listening, &solo_corpus::ideal_platform(2));
    let (mut kernel, mut m) = kernel(&tasks, placement, None);
    for begin in [0, 8, 16] {
        m.counted[0][0] = u64::MAX;
        assert_eq!(kernel.timer(&mut m, A, at(begin + 4)), Switch::Idle, "{begin}");
        let known = kernel.metric(solo_schedule::Whose::Core(A), METRIC);
        assert_eq!(known, Some(Fixed::from(u64::MAX)));
        assert_eq!(kernel.timer(&mut m, A, at(begin + 8)), Switch::To(ThreadId(0)));
        assert_eq!(kernel.heard(A).map(|heard| heard.counted), Some(u64::MAX));
    }
    assert_eq!(m.held(), [(4, 8), (12, 16), (20, 24)]);
}

/// A counter that is not read for once: what the others of the period have counted is no metric, and nobody is held for it.
#[test]
fn a_period_with_a_gap_has_no_metric() {
    let tasks = [Task { class: TaskClass::BestEffort, ..on(A, task(0, 100, 60)) }];
    let listening = Listening::new(Observed::count_of(EVENT), ms(4), Reaction::Yield);
    let placement = solo_schedule::placements::of(&listening, &solo_corpus::ideal_platform(2));
    let (mut kernel, mut m) = kernel(&tasks, placement, None);
    (m.counted[0][0], m.silent) = (9, true);
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::Stay, "nothing is known");
    assert_eq!(kernel.placement().map(|account| account.silent_counters), Some(1));
    m.silent = false;
    assert_eq!(kernel.timer(&mut m, A, at(8)), Switch::Idle, "and now it is");
}

/// A hold without end: the task is not ready again, nothing overflows, and the others go on.
#[test]
fn a_hold_without_end_is_one() {
    let forever = Action::Hold { task: TaskId(0), until: Instant::MAX };
    let tasks = [on(A, task(0, 6, 5)), on(A, task(1, 20, 5))];
    let (mut kernel, mut m) = kernel(&tasks, script(&[(tick, forever)]), None);
    assert_eq!(kernel.timer(&mut m, A, at(4)), Switch::To(ThreadId(1)));
    for now in [6, 8] {
        assert_eq!(kernel.timer(&mut m, A, at(now)), Switch::Stay);
    }
    assert_eq!(kernel.wait_next(&mut m, A, at(9)), Switch::Idle);
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Held));
}

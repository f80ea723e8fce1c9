//! Every order of events, for small machines: what the kernel's queues, alarms and reschedule requests do when
//! interrupts and requests come in any order and late.
//!
//! A machine enters the kernel with one core at a time (`solo_kernel`, "What a machine must keep"), so what
//! interleaves is entries: timers, requests, and what running jobs ask for. This explores all their orders on the real
//! kernel. Time may pass while events are pending, so often that each may come after others that were due later. The
//! lock that makes entries exclusive on bare metal is checked by itself (`solo_bare::ticket`).

mod common;

use common::{at, compute, experiment, ms, policy, task};
use solo_corpus::ideal::caps;
use solo_hal::{Checked, CounterId, Edge, InterruptController, Pmu, PmuError, Probe, Recorder, Timer};
use solo_kernel::{Criterion, Kernel, KernelConfig, State, Switch, Visitor, dispatch};
use solo_model::isolation::*;
use solo_model::record::LockAction;
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Step};
use solo_model::{
    Bandwidth, Caps, CoreId, CoreSet, Duration, Events, Experiment, Instant, LockId, Overhead, Record, Scope,
    Task, TaskClass, TaskId, ThreadId,
};
use solo_schedule::criteria::Edf;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// More states than any of the tests needs: beyond it a test has become too large and fails.
const MOST_STATES: usize = 400_000;

/// What may go wrong with the machine.
#[derive(Clone, Copy, Default)]
struct Slack {
    /// How often time may pass although something is pending.
    delays: u8,
    /// How many interrupts and requests may come that nobody asked for.
    spurious: u8,
    /// Requests to this core are lost: what the exploration must find.
    deaf: Option<CoreId>,
}

/// Timers, requests, and a counter for each core: computing counts an event each millisecond.
#[derive(Clone, PartialEq, Eq)]
struct Hardware {
    counts: Vec<u64>,
    /// The count at which each counter interrupts.
    limits: Vec<Option<u64>>,
    timers: Vec<Option<Instant>>,
    requests: CoreSet,
    deaf: Option<CoreId>,
    /// Who holds each mutex, by the records.
    holders: Vec<Option<TaskId>>,
    mutexes: Vec<bool>,
}

impl solo_hal::CacheControl for Hardware {}

impl Pmu for Hardware {
    fn configure(
        &mut self,
        core: CoreId,
        counter: CounterId,
        _event: solo_model::EventId,
    ) -> Result<(), PmuError> {
        assert_eq!(counter, CounterId(0));
        self.limits[core.index()] = None;
        Ok(())
    }
    fn read(&self, core: CoreId, _counter: CounterId) -> Result<u64, PmuError> {
        Ok(self.counts[core.index()])
    }
    fn interrupt_after(&mut self, core: CoreId, _counter: CounterId, events: u64) -> Result<(), PmuError> {
        self.limits[core.index()] = self.counts[core.index()].checked_add(events);
        Ok(())
    }
}

impl Timer for Hardware {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.timers[core.index()] = Some(at);
    }
    fn disarm(&mut self, core: CoreId) {
        self.timers[core.index()] = None;
    }
}

impl InterruptController for Hardware {
    fn send_reschedule(&mut self, _from: CoreId, to: CoreId, _now: Instant) {
        if self.deaf != Some(to) {
            self.requests = self.requests.with(to);
        }
    }
}

impl Probe for Hardware {
    fn probe(&mut self, _core: CoreId, _overhead: Overhead, _edge: Edge) {}
}

impl Recorder for Hardware {
    fn record(&mut self, _core: CoreId, record: Record) {
        let Record::Lock(lock) = record else { return };
        if !self.mutexes[lock.lock.index()] {
            return;
        }
        let holder = &mut self.holders[lock.lock.index()];
        match lock.action {
            LockAction::Acquired | LockAction::Granted => {
                assert_eq!(holder.replace(lock.task), None, "{lock:?}")
            }
            LockAction::Released => assert_eq!(holder.take(), Some(lock.task), "{lock:?}"),
            LockAction::Waits | LockAction::Deadlock => assert!(holder.is_some(), "{lock:?}"),
        }
    }
}

/// Something that can happen now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Start(CoreId),
    Progress(CoreId),
    Request(CoreId),
    Timer(CoreId),
    Overflow(CoreId),
    SpuriousRequest(CoreId),
    EarlyTimer(CoreId),
    /// Time goes on to the next instant at which something is due.
    Pass,
}

/// A job's position in its steps, and what is left of the computation that it is at.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Position {
    step: usize,
    left: Duration,
}

/// The machine with the kernel on it, at one moment.
#[derive(Clone, PartialEq, Eq)]
struct World<C> {
    kernel: Kernel<C>,
    /// The same kernel in parts, where it has several: it must do the same in every state.
    parts: Vec<Kernel<C>>,
    hardware: Hardware,
    positions: Vec<Position>,
    started: usize,
    now: Instant,
    delays: u8,
    spurious: u8,
}

/// All states that can be reached from the start, depth first.
struct Explorer<'e, C> {
    experiment: &'e Experiment,
    cores: usize,
    /// By a fingerprint, since equality is slow to look for and hashing is not what the kernel needs.
    seen: HashMap<Fingerprint, Vec<World<C>>>,
    states: usize,
    ends: usize,
}

type Fingerprint = (Instant, u64, Vec<Option<ThreadId>>, Vec<(usize, u64)>, Vec<Option<Instant>>);

impl<C: Criterion> World<C> {
    fn new(experiment: &Experiment, slack: Slack) -> Self {
        let cores = experiment.platform.cores.len();
        let config = KernelConfig::from_experiment(experiment).expect("sound");
        let mutex = |lock: &Lock| !matches!(lock.protocol, LockProtocol::Semaphore { .. });
        let caps = Caps { counters: 1, counter_overflow: true, ..caps(cores) };
        let mut parts = Kernel::in_parts(config.clone(), &caps).expect("admitted");
        parts.iter_mut().for_each(|part| part.count_from(Instant::ZERO));
        if parts.len() == 1 {
            parts.clear();
        }
        Self {
            kernel: Kernel::new(config, &caps).expect("admitted"),
            parts,
            hardware: Hardware {
                counts: vec![0; cores],
                limits: vec![None; cores],
                timers: vec![None; cores],
                requests: CoreSet::EMPTY,
                deaf: slack.deaf,
                holders: vec![None; experiment.locks.len()],
                mutexes: experiment.locks.iter().map(mutex).collect(),
            },
            positions: vec![Position { step: 0, left: Duration::ZERO }; experiment.tasks.len()],
            started: 0,
            now: Instant::ZERO,
            delays: slack.delays,
            spurious: slack.spurious,
        }
    }

    fn cores(&self) -> impl Iterator<Item = CoreId> + use<C> {
        (0..self.hardware.timers.len()).map(|core| CoreId(core as u16))
    }

    fn fingerprint(&self) -> Fingerprint {
        let slack = u64::from(self.delays) << 8 | u64::from(self.spurious);
        let running = self.cores().map(|core| self.kernel.running(core)).collect();
        let positions = self.positions.iter().map(|position| (position.step, position.left.get())).collect();
        (
            self.now,
            self.hardware.requests.bits() << 16 | slack,
            running,
            positions,
            self.hardware.timers.clone(),
        )
    }

    /// Everything that may happen next.
    fn events(&self) -> Vec<Event> {
        if self.started < self.hardware.timers.len() {
            // Cores start one after the other; requests to those that run may come in between.
            let mut events = vec![Event::Start(CoreId(self.started as u16))];
            let running = self.cores().take(self.started);
            events.extend(running.filter(|&core| self.hardware.requests.contains(core)).map(Event::Request));
            return events;
        }
        let mut events = Vec::new();
        for core in self.cores() {
            if self.kernel.running(core).is_some_and(|thread| self.positions[thread.index()].left.is_zero()) {
                events.push(Event::Progress(core));
            }
            if self.hardware.requests.contains(core) {
                events.push(Event::Request(core));
            }
            if self.hardware.timers[core.index()].is_some_and(|due| due <= self.now) {
                events.push(Event::Timer(core));
            }
            if self.hardware.limits[core.index()].is_some_and(|at| at <= self.hardware.counts[core.index()]) {
                events.push(Event::Overflow(core));
            }
        }
        let pending = !events.is_empty();
        if (!pending || self.delays > 0) && self.next_instant().is_some() {
            events.push(Event::Pass);
        }
        if self.spurious > 0 {
            events.extend(
                self.cores().flat_map(|core| [Event::SpuriousRequest(core), Event::EarlyTimer(core)]),
            );
        }
        events
    }

    /// The first instant after now at which a timer or a computation is due.
    fn next_instant(&self) -> Option<Instant> {
        let timers = self.hardware.timers.iter().flatten().copied();
        let running = self.cores().filter_map(|core| self.kernel.running(core));
        let ends = running.map(|thread| self.now + self.positions[thread.index()].left);
        let counting = self.cores().filter(|&core| self.counts(core));
        let room = |core: CoreId| {
            let limit = self.hardware.limits[core.index()]?;
            Some(self.now + ms(limit.saturating_sub(self.hardware.counts[core.index()])))
        };
        timers.chain(ends).chain(counting.filter_map(room)).filter(|&due| due > self.now).min()
    }

    /// True where something is computed on `core`, which counts.
    fn counts(&self, core: CoreId) -> bool {
        self.kernel.running(core).is_some_and(|thread| !self.positions[thread.index()].left.is_zero())
    }

    fn happen(&mut self, event: Event, tasks: &[Task]) {
        match event {
            Event::Start(core) => {
                self.started += 1;
                self.enter(core, |kernel, m, now| kernel.start(m, core, now));
            }
            Event::Request(core) => {
                self.hardware.requests = self.hardware.requests.without(core);
                self.enter(core, |kernel, m, now| kernel.ipi(m, core, now));
            }
            Event::Timer(core) => {
                self.hardware.timers[core.index()] = None;
                self.enter(core, |kernel, m, now| kernel.timer(m, core, now));
            }
            Event::Overflow(core) => {
                self.hardware.limits[core.index()] = None;
                self.enter(core, |kernel, m, now| kernel.overflow(m, core, now, CounterId(0)));
            }
            Event::SpuriousRequest(core) => {
                self.spurious -= 1;
                self.enter(core, |kernel, m, now| kernel.ipi(m, core, now));
            }
            Event::EarlyTimer(core) => {
                self.spurious -= 1;
                self.hardware.timers[core.index()] = None;
                self.enter(core, |kernel, m, now| kernel.timer(m, core, now));
            }
            Event::Progress(core) => self.progress(core, tasks),
            Event::Pass => self.pass(),
        }
    }

    fn pass(&mut self) {
        let Some(next) = self.next_instant() else { return };
        let pending = self
            .events()
            .iter()
            .any(|event| !matches!(event, Event::Pass | Event::SpuriousRequest(_) | Event::EarlyTimer(_)));
        self.delays -= u8::from(pending);
        let passed = next.since(self.now);
        self.now = next;
        for core in self.cores() {
            if self.counts(core) {
                self.hardware.counts[core.index()] += passed / ms(1);
            }
            if let Some(thread) = self.kernel.running(core) {
                let left = &mut self.positions[thread.index()].left;
                *left = left.saturating_sub(passed);
            }
        }
    }

    fn progress(&mut self, core: CoreId, tasks: &[Task]) {
        let Some(thread) = self.kernel.running(core) else { return };
        let position = &mut self.positions[thread.index()];
        let step = tasks[thread.index()].work.steps.get(position.step);
        position.step += 1;
        match step {
            Some(Step::Compute(span)) => position.left = span.most,
            Some(&Step::Acquire(lock)) => {
                self.enter(core, |kernel, m, now| kernel.acquire(m, core, now, lock))
            }
            Some(&Step::Release(lock)) => {
                self.enter(core, |kernel, m, now| kernel.release(m, core, now, lock))
            }
            Some(Step::Sleep(span)) => {
                self.enter(core, |kernel, m, now| kernel.sleep(m, core, now, span.most))
            }
            Some(other) => panic!("no such step here: {other:?}"),
            None => {
                position.step = 0;
                self.enter(core, |kernel, m, now| kernel.wait_next(m, core, now));
            }
        }
    }

    fn enter(
        &mut self,
        core: CoreId,
        call: impl Fn(&mut Kernel<C>, &mut Checked<'_, Hardware>, Instant) -> Switch,
    ) {
        let (cores, now) = (CoreSet::first(self.hardware.timers.len()), self.now);
        let enter = |kernel: &mut Kernel<C>, machine: &mut Hardware| {
            let mut checked = Checked { machine, cores, open: None };
            let switch = call(kernel, &mut checked, now);
            assert_eq!(checked.open, None, "a kernel path outlives its entry");
            switch
        };
        let before = (!self.parts.is_empty()).then(|| self.hardware.clone());
        let switch = enter(&mut self.kernel, &mut self.hardware);
        let Some(mut hardware) = before else { return };
        let part =
            self.parts.iter_mut().find(|part| part.own().contains(core)).expect("each core has a part");
        assert_eq!(enter(part, &mut hardware), switch, "{core} at {now}: its part decides something else");
        // Who begins a regulation period asks throttled cores to look in, as far as it knows of them: the whole asks more.
        let more = self.hardware.requests.bits() & !hardware.requests.bits();
        let more = CoreSet::from_bits(more);
        assert!(more.and(part.own()).is_empty(), "{core} at {now}: its part asks too little");
        hardware.requests = hardware.requests.or(more);
        assert!(hardware == self.hardware, "{core} at {now}: its part asks something else of the machine");
        for core in part.own().iter() {
            assert_eq!(part.running(core), self.kernel.running(core));
        }
        for thread in (0..self.positions.len() as u32).map(ThreadId) {
            if part.alarm_core(thread).is_some_and(|core| part.own().contains(core)) {
                assert_eq!(part.state(thread), self.kernel.state(thread), "{thread} at {now}");
            }
        }
    }

    fn all_finished(&self) -> bool {
        (0..self.positions.len() as u32).all(|task| self.kernel.finished(TaskId(task)) == 1)
    }

    /// What must hold in every state.
    fn check(&self) {
        for thread in (0..self.positions.len() as u32).map(ThreadId) {
            let on: Vec<_> = self.cores().filter(|&core| self.kernel.running(core) == Some(thread)).collect();
            match (on.as_slice(), self.kernel.state(thread)) {
                ([core], Some(State::Running(other))) => assert_eq!(*core, other),
                ([], Some(State::Running(core))) => panic!("{thread} is said to be on {core} and is not"),
                ([], _) => {}
                (cores, state) => panic!("{thread}, {state:?}, is on {cores:?}"),
            }
        }
    }

    /// What must hold when nothing is pending: no request was lost.
    fn check_at_rest(&self) {
        for (index, domain) in self.kernel.domains().enumerate() {
            let members = (0..self.positions.len() as u32).map(ThreadId);
            let members = members.filter(|&thread| self.kernel.domain_of(thread) == Some(index));
            let ready = members.filter(|&thread| self.kernel.state(thread) == Some(State::Ready));
            let Some(first) = ready.filter_map(|thread| self.kernel.rank_of(thread)).min() else { continue };
            let throttled = self.kernel.regulator().map_or(CoreSet::EMPTY, |regulator| regulator.throttled());
            for core in domain.iter().filter(|&core| !throttled.contains(core)) {
                let running = self.kernel.running(core);
                assert!(running.is_some(), "{core} is idle at {} while a thread waits", self.now);
                let rank = running.and_then(|thread| self.kernel.rank_of(thread));
                if C::PREEMPTIVE && !C::AGES {
                    assert!(rank <= Some(first), "{core} at {}: {rank:?} runs, {first:?} waits", self.now);
                }
            }
        }
    }
}

impl<C: Criterion> Explorer<'_, C> {
    fn explore(&mut self, first: World<C>) {
        let mut ahead = vec![first];
        while let Some(world) = ahead.pop() {
            let same = self.seen.entry(world.fingerprint()).or_default();
            if same.contains(&world) {
                continue;
            }
            same.push(world.clone());
            self.states += 1;
            assert!(self.states <= MOST_STATES, "too many states for a test");
            world.check();
            let events = world.events();
            if !events
                .iter()
                .any(|event| !matches!(event, Event::Pass | Event::SpuriousRequest(_) | Event::EarlyTimer(_)))
            {
                world.check_at_rest();
            }
            // Regulation periods go on for ever.
            let done = world.kernel.regulator().is_some() && world.all_finished();
            if events.is_empty() || done || world.now > at(1000) {
                self.end(&world);
                continue;
            }
            for event in events {
                let mut next = world.clone();
                next.happen(event, &self.experiment.tasks);
                ahead.push(next);
            }
        }
        assert_eq!(self.cores, self.experiment.platform.cores.len());
    }

    /// Nothing is left to happen: every job has come to its end.
    fn end(&mut self, world: &World<C>) {
        self.ends += 1;
        for task in (0..self.experiment.tasks.len() as u32).map(TaskId) {
            let account = world.kernel.account_of(task).expect("a task");
            assert_eq!((account.released, account.finished), (1, 1), "{task:?} at {}", world.now);
        }
        assert!(world.hardware.holders.iter().all(Option::is_none), "a mutex is held by nobody alive");
    }
}

/// Explores `experiment` under the criterion that it names; how many states and ends there were.
fn explore(experiment: &Experiment, slack: Slack) -> (usize, usize) {
    struct Run<'e>(&'e Experiment, Slack);
    impl Visitor for Run<'_> {
        type Output = (usize, usize);
        fn visit<C: Criterion>(self) -> Self::Output {
            let cores = self.0.platform.cores.len();
            let mut explorer =
                Explorer::<C> { experiment: self.0, cores, seen: HashMap::new(), states: 0, ends: 0 };
            explorer.explore(World::new(self.0, self.1));
            (explorer.states, explorer.ends)
        }
    }
    dispatch(experiment.policy.criterion, Run(experiment, slack))
}

/// A task that runs once, from `offset`, all in milliseconds.
fn once(index: usize, offset: u64, core: u16, steps: Vec<Step>) -> Task {
    let mut task = task(index, 20 + index as u64, 1);
    task.class = TaskClass::Hard;
    task.release = Release::Once { offset: ms(offset) };
    task.deadline = Some(ms(20 - 3 * index as u64));
    task.core = Some(CoreId(core));
    task.work.steps = steps;
    task
}

fn critical(lock: u16, length: u64) -> Vec<Step> {
    vec![Step::Acquire(LockId(lock)), compute(length), Step::Release(LockId(lock))]
}

fn with_lock(mut experiment: Experiment, protocol: LockProtocol) -> Experiment {
    experiment.locks = vec![Lock { name: "R".to_owned(), protocol }];
    experiment
}

/// Criteria whose decisions are not those of another one here: fixed and dynamic ranks, ageing, no preemption.
const CRITERIA: [solo_model::Criterion; 4] = [
    solo_model::Criterion::StaticPriority,
    solo_model::Criterion::Edf,
    solo_model::Criterion::Llf,
    solo_model::Criterion::Fcfs,
];

const SLACK: Slack = Slack { delays: 2, spurious: 1, deaf: None };

#[test]
fn timers_that_coincide_on_two_cores_of_a_global_queue() {
    for criterion in CRITERIA {
        let tasks = vec![
            once(0, 2, 0, vec![compute(2)]),
            once(1, 2, 0, vec![compute(1)]),
            once(2, 2, 0, vec![compute(1)]),
            once(3, 0, 0, vec![compute(3)]),
        ];
        let experiment = experiment(2, policy(Scope::Global, criterion), tasks, 100);
        // Slices make many more events.
        let slack =
            if criterion == solo_model::Criterion::Llf { Slack { spurious: 0, ..SLACK } } else { SLACK };
        let (states, ends) = explore(&experiment, slack);
        println!("{}: {states} states, {ends} ends", criterion.name());
        assert!(states > 500, "{states} states of {}", criterion.name());
    }
}

#[test]
fn requests_between_three_cores_of_a_global_queue() {
    for criterion in [solo_model::Criterion::StaticPriority, solo_model::Criterion::Edf] {
        let tasks = vec![
            once(0, 2, 0, vec![compute(1)]),
            once(1, 1, 0, vec![compute(2)]),
            once(2, 1, 0, vec![compute(1)]),
            once(3, 0, 0, vec![compute(2)]),
            once(4, 0, 0, vec![compute(3)]),
        ];
        let experiment = experiment(3, policy(Scope::Global, criterion), tasks, 100);
        let (states, ends) = explore(&experiment, Slack { spurious: 0, delays: 1, deaf: None });
        println!("{}: {states} states, {ends} ends", criterion.name());
        assert!(states > 500, "{states} states of {}", criterion.name());
    }
}

#[test]
fn a_mutex_between_clusters_and_within_one() {
    for protocol in [LockProtocol::Plain, LockProtocol::Inheritance, LockProtocol::Ceiling] {
        let scope = Scope::Clustered(vec![CoreSet::first(2), CoreSet::only(CoreId(2))]);
        let tasks = vec![
            once(0, 1, 0, critical(0, 1)),
            once(1, 1, 1, vec![compute(1)]),
            once(2, 0, 0, critical(0, 2)),
            once(3, 1, 2, critical(0, 1)),
        ];
        let experiment = experiment(3, policy(scope, solo_model::Criterion::StaticPriority), tasks, 100);
        let (states, ends) =
            explore(&with_lock(experiment, protocol), Slack { spurious: 0, delays: 1, deaf: None });
        println!("{protocol:?}: {states} states, {ends} ends");
        assert!(states > 500, "{states} states");
    }
}

#[test]
fn a_semaphore_and_sleepers_on_two_partitions() {
    let post = vec![compute(1), Step::Release(LockId(0)), compute(1)];
    let wait = vec![Step::Acquire(LockId(0)), compute(1)];
    let nap = vec![compute(1), Step::Sleep(solo_model::work::Span::exactly(ms(1))), compute(1)];
    let tasks =
        vec![once(0, 0, 0, wait), once(1, 1, 1, post), once(2, 0, 0, nap.clone()), once(3, 0, 1, nap)];
    let experiment = experiment(2, policy(Scope::Partitioned, solo_model::Criterion::Edf), tasks, 100);
    let (states, ends) =
        explore(&with_lock(experiment, LockProtocol::Semaphore { units: 0 }), Slack { delays: 1, ..SLACK });
    println!("{states} states, {ends} ends");
    assert!(states > 500, "{states} states");
}

/// Two clusters without a common lock are two parts, and a partition is one by itself: each decides what one kernel of all would, in
/// every order of events, whoever else is in another part meanwhile.
#[test]
fn parts_of_the_kernel_do_what_the_whole_does() {
    let clusters = Scope::Clustered(vec![CoreSet::first(2), CoreSet::only(CoreId(2))]);
    for (scope, cores) in [(clusters, 3), (Scope::Partitioned, 2)] {
        for criterion in [solo_model::Criterion::StaticPriority, solo_model::Criterion::Edf] {
            let other = cores - 1;
            let tasks = vec![
                once(0, 1, 0, critical(0, 1)),
                once(1, 1, other, vec![compute(1)]),
                once(2, 0, 0, critical(0, 2)),
                once(3, 0, other, vec![compute(2)]),
            ];
            let experiment = experiment(cores.into(), policy(scope.clone(), criterion), tasks, 100);
            let slack = Slack { spurious: 1, delays: 1, deaf: None };
            let (states, ends) = explore(&with_lock(experiment, LockProtocol::Ceiling), slack);
            println!("{cores} cores, {}: {states} states, {ends} ends", criterion.name());
            assert!(states > 500, "{states} states");
        }
    }
}

/// Budgets that nobody shares leave each partition a part by itself, which throttles its core and lets it go on when the whole does, in
/// every order of overflows, timers, ends of jobs and requests, also late ones.
#[test]
fn budgets_without_sharing_do_not_join_parts() {
    for criterion in [solo_model::Criterion::StaticPriority, solo_model::Criterion::Edf] {
        let tasks = vec![
            once(0, 1, 0, vec![compute(2), compute(1)]),
            once(1, 1, 1, vec![compute(3)]),
            once(2, 0, 0, vec![compute(2)]),
            once(3, 0, 1, vec![compute(1)]),
        ];
        let mut experiment = experiment(2, policy(Scope::Partitioned, criterion), tasks, 100);
        experiment.isolation.bandwidth = Some(budgets(&[2, 1], Sharing::None));
        let config = KernelConfig::from_experiment(&experiment).expect("sound");
        let caps = Caps { counters: 1, counter_overflow: true, ..caps(2) };
        let parts = Kernel::<Edf>::in_parts(config, &caps).expect("admitted");
        assert_eq!(parts.iter().map(|part| part.own().bits()).collect::<Vec<_>>(), [0b01, 0b10]);
        let slack = Slack { spurious: 1, delays: 1, deaf: None };
        let (states, ends) = explore(&experiment, slack);
        println!("{}: {states} states, {ends} ends", criterion.name());
        assert!(states > 500, "{states} states");
    }
}

/// Budgets of events in four milliseconds.
fn budgets(events: &[u64], sharing: Sharing) -> Regulation {
    let core = |(core, &events): (usize, &u64)| CoreBudget {
        core: CoreId(core as u16),
        budget: Budget::Events(Events::new(events)),
        writes: None,
    };
    Regulation {
        sharing,
        ..Regulation::new(
            ms(4),
            Counted::One(solo_model::EventId::LLC_MISSES),
            events.iter().enumerate().map(core).collect(),
            Bandwidth::new(1 << 30),
        )
    }
}

/// The exploration can fail: a machine that loses requests leaves a thread waiting beside an idle core.
#[test]
fn a_lost_request_is_found() {
    // Both tasks that begin at 2 ms are released by the timer of core 0, while both cores are idle.
    let tasks = vec![
        once(0, 2, 0, vec![compute(2)]),
        once(1, 0, 0, vec![compute(1)]),
        once(2, 2, 0, vec![compute(2)]),
    ];
    let experiment = experiment(2, policy(Scope::Global, solo_model::Criterion::StaticPriority), tasks, 100);
    let deaf = |core| Slack { deaf: Some(CoreId(core)), delays: 0, spurious: 0 };
    let sound = Slack { delays: 0, ..Slack::default() };
    explore(&experiment, sound);
    let found =
        (0..2).any(|core| catch_unwind(AssertUnwindSafe(|| explore(&experiment, deaf(core)))).is_err());
    assert!(found, "no order of events shows that requests are lost");
}

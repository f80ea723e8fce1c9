//! Policies that listen: what they hear and when, what is counted of whom, and what the kernel does at their word.

mod common;

use common::{at, compute, experiment, ms, policy, task};
use solo_corpus::Case;
use solo_corpus::ideal::{Ideal, IdealOptions, run};
use solo_kernel::ListeningConfig;
use solo_model::listening::{Listening, Observed, Reaction, ScriptedCount};
use solo_model::platform::Contents;
use solo_model::policy::Scope;
use solo_model::sample::Why;
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Step, Work};
use solo_model::{
    CoreId, CoreSet, Criterion, Duration, EventId, Experiment, Fixed, Instant, LockId, MetricId, Record,
    SplitMix64, Task, TaskClass, TaskId, fixtures,
};
use solo_observe::monitor::{Count, Heard};
use solo_schedule::criteria::{RoundRobin, StaticPriority};
use solo_schedule::{Action, Actions, Hook, KindId, Placed, Placement, Situation, Whose};
use std::sync::{Arc, Mutex};

const EVENT: EventId = EventId::SNOOP_HITM;
const METRIC: MetricId = MetricId(0);

/// Writes down what it hears, and says at certain times what it was told to say then.
#[derive(Clone, Debug)]
struct Journal {
    heard: Arc<Mutex<Vec<(u64, Hook)>>>,
    says: Vec<(Instant, Action)>,
}

impl PartialEq for Journal {
    fn eq(&self, other: &Self) -> bool {
        self.says == other.says
    }
}

impl Placement for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn on(&mut self, now: Instant, hook: Hook, _: &dyn Situation) -> Actions {
        self.heard.lock().expect("nobody panics with it").push((now.get() / 1_000_000, hook));
        let due = self.says.iter().position(|(at, _)| *at <= now);
        due.map_or(Actions::NONE, |place| Actions::one(self.says.remove(place).1))
    }
}

fn once(index: usize, core: u16, wcet: u64) -> Task {
    let release = Release::Once { offset: Duration::ZERO };
    Task { release, deadline: None, core: Some(CoreId(core)), ..task(index, 1, wcet) }
}

fn scripted(experiment: Experiment, script: &[(u16, u64, u64)]) -> Experiment {
    let count = |&(core, ms, count): &(u16, u64, u64)| ScriptedCount {
        core: CoreId(core),
        event: EVENT,
        at: at(ms),
        count,
    };
    let observed = Observed::count_of(EVENT);
    let listening = Listening {
        threshold: Fixed::from(4_u64),
        script: script.iter().map(count).collect(),
        ..Listening::new(observed, ms(4), Reaction::Report)
    };
    Experiment { listening: Some(listening), ..experiment }
}

type Log = Arc<Mutex<Vec<(u64, Hook)>>>;

fn journal(period: Duration, says: &[(Instant, Action)]) -> (Log, IdealOptions) {
    let heard = Log::default();
    let says = says.to_vec();
    let listening = ListeningConfig {
        monitors: vec![Heard::new(Count::new(METRIC, EVENT))],
        metrics: 1,
        kinds: vec![KindId(0), KindId(1)],
        ..ListeningConfig::new(Placed::new(Journal { heard: heard.clone(), says }), period)
    };
    (heard, IdealOptions { listening: Some(listening), ..IdealOptions::default() })
}

/// Who ran on each core, millisecond by millisecond; a dash for idle.
fn lines(records: &[Record], cores: usize, end: u64) -> Vec<String> {
    let mut rows = vec![vec!['-'; end as usize]; cores];
    for record in records {
        if let Record::Switch(switch) = record {
            let from = (switch.at.get() / 1_000_000) as usize;
            let letter = switch.to.map_or('-', |task| (b'a' + task.0 as u8) as char);
            rows[switch.core.index()][from..].fill(letter);
        }
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

/// Every hook of the kernel's, in its order: a call that is left out is missing here.
#[test]
fn a_policy_hears_everything_once_and_in_order() {
    // T0 runs 1 ms every 4, T1 in between and to its end at 5.
    let tasks = vec![Task { core: Some(CoreId(0)), ..task(0, 4, 1) }, once(1, 0, 3)];
    let by_priority = policy(Scope::Partitioned, Criterion::StaticPriority);
    let scenario = scripted(experiment(1, by_priority, tasks, 7), &[(0, 1, 1)]);
    let (heard, options) = journal(ms(2), &[]);
    run(&scenario, &options).expect("admitted");
    let (core, a, b) = (CoreId(0), TaskId(0), TaskId(1));
    let sample = |task, why| Hook::Sample { of: Whose::Task(task), core, why };
    let of_core = Hook::Sample { of: Whose::Core(core), core, why: Why::Tick };
    let came = |task| Hook::Migrate { task, from: None, to: core };
    let enters = |task| Hook::SwitchIn { task, core };
    let leaves = |task| Hook::SwitchOut { task, core };
    let expected = [
        (0, Hook::Enable),
        (0, Hook::Fork(a)),
        (0, Hook::Fork(b)),
        (0, enters(a)),
        (0, came(a)),
        (1, sample(a, Why::Switch)),
        (1, leaves(a)),
        (1, enters(b)),
        (1, came(b)),
        (2, sample(b, Why::Tick)),
        (2, of_core),
        (2, Hook::Tick { core, next: at(4) }),
        (4, sample(b, Why::Exit)),
        (4, leaves(b)),
        (4, Hook::Exit(b)),
        (4, of_core),
        (4, Hook::Tick { core, next: at(6) }),
        (4, enters(a)),
        (5, sample(a, Why::Switch)),
        (5, leaves(a)),
        (6, of_core),
        (6, Hook::Tick { core, next: at(8) }),
    ];
    assert_eq!(*heard.lock().expect("the run is over"), expected);
}

/// Two threads take turns on a core, and each is credited with what was counted while it was there.
#[test]
fn counts_of_threads_that_alternate_are_exact() {
    let tasks = vec![once(0, 0, 9), once(1, 0, 9)];
    // What is counted at the very instant of a switch belongs to who leaves.
    let counts: Vec<_> = (1..9).map(|ms| (0, ms, 1 << ms)).collect();
    let scenario =
        scripted(experiment(1, policy(Scope::Partitioned, Criterion::RoundRobin), tasks, 30), &counts);
    let (_, options) = journal(ms(8), &[]);
    let mut ideal = Ideal::<RoundRobin>::new(&scenario, &options).expect("admitted");
    while ideal.now() < at(8) && ideal.step().expect("time passes") {}
    let known = |whose| ideal.kernel().metric(whose, METRIC).map(|count| count.whole());
    // T1 is on the core at the tick: what T0 has counted waits for a tick of its own.
    assert_eq!(known(Whose::Task(TaskId(0))), None);
    assert_eq!(known(Whose::Task(TaskId(1))), Some(4 + 16 + 64 + 256));
    assert_eq!(known(Whose::Core(CoreId(0))), Some(510));
    assert_eq!(known(Whose::Core(CoreId(1))), None, "there is no such core");
    assert_eq!(known(Whose::Task(TaskId(7))), None, "there is no such task");
}

#[test]
fn a_task_is_moved_from_where_it_runs_waits_or_sleeps() {
    let partitioned = policy(Scope::Partitioned, Criterion::StaticPriority);
    let tasks = vec![once(0, 0, 4), once(1, 0, 4), once(2, 1, 2)];
    let scene = scripted(experiment(2, partitioned, tasks, 9), &[(0, 1, 1)]);
    let to = |task, core| Action::Move { task: TaskId(task), core: CoreId(core) };
    let moved = |says: &[(Instant, Action)]| {
        let (_, options) = journal(ms(1), says);
        lines(&run(&scene, &options).expect("admitted").records, 2, 9)
    };
    assert_eq!(moved(&[]), ["aaaabbbb-", "cc-------"]);
    // Core 0 hears its tick first: T1 waits there, T2 runs on core 1 and is asked to leave by a request.
    assert_eq!(moved(&[(at(3), to(1, 1))]), ["aaaa-----", "cc-bbbb--"]);
    assert_eq!(moved(&[(at(2), to(0, 1))]), ["aabbbb---", "ccaa-----"]);
    assert_eq!(moved(&[(at(1), to(2, 0))]), ["aaaabbbbc", "c--------"]);
    assert_eq!(moved(&[(at(1), to(0, 5))]), ["aaaabbbb-", "cc-------"], "there is no such core");
    let kind = Action::Kind { task: TaskId(1), kind: KindId(1) };
    assert_eq!(moved(&[(at(3), kind)]), ["aaaa-----", "cc-bbbb--"]);
}

#[test]
fn a_thread_that_moves_is_sampled_for_that_reason_and_told_where_it_came_from() {
    let partitioned = policy(Scope::Partitioned, Criterion::StaticPriority);
    let scene = scripted(experiment(2, partitioned, vec![once(0, 0, 4)], 6), &[(0, 1, 1)]);
    let (heard, options) = journal(ms(1), &[(at(2), Action::Move { task: TaskId(0), core: CoreId(1) })]);
    let mut ideal = Ideal::<StaticPriority>::new(&scene, &options).expect("admitted");
    while ideal.step().expect("time passes") {}
    let heard = heard.lock().expect("the run is over");
    let (task, of) = (TaskId(0), Whose::Task(TaskId(0)));
    for hook in [
        Hook::Sample { of, core: CoreId(0), why: Why::Migration },
        Hook::SwitchOut { task, core: CoreId(0) },
        Hook::SwitchIn { task, core: CoreId(1) },
        Hook::Migrate { task, from: Some(CoreId(0)), to: CoreId(1) },
    ] {
        assert_eq!(heard.iter().filter(|told| **told == (2, hook)).count(), 1, "{hook:?} in {heard:?}");
    }
    let account = ideal.kernel().placement().expect("somebody listens");
    assert_eq!((account.actions, account.refused, account.silent_counters), (1, 0, 0));
}

#[test]
fn whoever_holds_a_mutex_is_not_held_nor_who_has_no_job() {
    let step = Step::Acquire(LockId(0));
    let locked = |index| Task {
        work: Work { steps: vec![step.clone(), compute(3), Step::Release(LockId(0))] },
        ..once(index, 0, 3)
    };
    let lock = Lock { name: "R".to_owned(), protocol: LockProtocol::Inheritance };
    let partitioned = policy(Scope::Partitioned, Criterion::StaticPriority);
    let scene = scripted(experiment(1, partitioned, vec![locked(0), once(1, 0, 2)], 9), &[(0, 1, 1)]);
    let scene = Experiment { locks: vec![lock], ..scene };
    let hold = |task, until| Action::Hold { task: TaskId(task), until: at(until) };
    let (_, options) = journal(ms(1), &[(at(1), hold(0, 5)), (at(2), hold(1, 2)), (at(3), hold(1, 6))]);
    let mut ideal = Ideal::<StaticPriority>::new(&scene, &options).expect("admitted");
    while ideal.step().expect("time passes") {}
    assert_eq!(lines(ideal.records(), 1, 9), ["aaa---bb-"]);
    let account = ideal.kernel().placement().expect("somebody listens");
    assert_eq!((account.actions, account.refused), (1, 2), "{account:?}");
}

#[test]
fn a_weight_is_a_part_of_the_quantum() {
    let tasks = vec![once(0, 0, 6), once(1, 0, 2)];
    let scene =
        scripted(experiment(1, policy(Scope::Partitioned, Criterion::RoundRobin), tasks, 9), &[(0, 1, 1)]);
    let weight = Action::Weight { task: TaskId(0), per_mille: 3000 };
    let (_, options) = journal(ms(50), &[(Instant::ZERO, weight)]);
    assert_eq!(lines(&run(&scene, &options).expect("admitted").records, 1, 9), ["aaabaaab-"]);
}

/// Listening without consequences changes no decision of any case.
#[test]
fn a_policy_that_only_reports_changes_nothing() {
    let cases = solo_corpus::load_folder(&solo_corpus::folder()).unwrap_or_else(|error| panic!("{error}"));
    let mut listened = 0;
    // A policy that listens can't be had beside windows, nor beside tasks that migrate.
    let migrates = |case: &Case| case.experiment().tasks.iter().any(|task| task.migrate.is_some());
    let alone = |case: &&Case| {
        case.budgets.is_none() && case.listening.is_none() && case.partitions.is_none() && !migrates(case)
    };
    for case in cases.iter().filter(alone) {
        let alone = case.experiment();
        let mut heard = scripted(alone.clone(), &[(0, 1, u64::MAX)]);
        // Which core's timer comes first at one instant says who makes a release: these ticks coincide with nothing.
        heard.listening.as_mut().expect("it listens").period = Duration::new(777_777);
        let [alone, heard] = [alone, heard]
            .map(|experiment| run(&experiment, &IdealOptions::default()).expect("admitted").records);
        assert_eq!(alone, heard, "{}", case.name);
        listened += 1;
    }
    assert!(listened > 50, "only {listened} cases");
}

/// (4): the count begins anew in each period: three events in each of two periods are not six.
#[test]
fn what_was_counted_in_one_period_is_not_counted_in_the_next() {
    let video = || Task { class: TaskClass::BestEffort, ..once(0, 0, 20) };
    let held = |counts: &[(u16, u64, u64)]| {
        let by_priority = policy(Scope::Partitioned, Criterion::StaticPriority);
        let mut scenario = scripted(experiment(1, by_priority, vec![video()], 24), counts);
        scenario.listening.as_mut().expect("it listens").reaction = Reaction::Yield;
        let records = run(&scenario, &IdealOptions::default()).expect("admitted").records;
        records.iter().filter(|record| matches!(record, Record::Held(_))).count()
    };
    assert_eq!(held(&[(0, 2, 3), (0, 6, 3)]), 0, "three and three, in periods of 4 ms");
    assert_eq!(held(&[(0, 2, 4), (0, 6, 4), (0, 10, 4)]), 0, "the threshold itself has no consequences");
    assert_eq!(held(&[(0, 1, 3), (0, 3, 3)]), 1, "six in one period");
}

/// Tasks of all classes on four cores, and counts at random.
fn at_random(random: &mut SplitMix64) -> (Experiment, Vec<(u16, u64, u64)>) {
    let cores = 4_u16;
    let mut tasks: Vec<Task> = (0..3 + random.below(5) as usize)
        .map(|index| task(index, 4 + random.below(9), 1 + random.below(2)))
        .collect();
    for task in &mut tasks {
        task.core = Some(CoreId(random.below(u64::from(cores)) as u16));
        task.class = [TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort][random.below(3) as usize];
    }
    // Several cores count at the same time, so that two can be loud together.
    let script =
        (1..120).map(|at| (random.below(u64::from(cores)) as u16, at / 3, random.below(9))).collect();
    (experiment(usize::from(cores), policy(Scope::Partitioned, Criterion::Rm), tasks, 40), script)
}

/// Two pairs of cores behind a cache each, so that there is somewhere nearer to move to.
fn pairs(experiment: Experiment) -> Experiment {
    let mut platform = experiment.platform;
    for pair in [[0, 1], [2, 3]] {
        let cores = pair.into_iter().map(CoreId).fold(CoreSet::EMPTY, CoreSet::with);
        platform.caches.push(fixtures::cache(3, Contents::Unified, cores, 256, 8, 10));
    }
    Experiment { platform, ..experiment }
}

/// (3): a hard or soft task is never acted on, whatever is counted and whatever the action, in 10,000 random runs: it is not held,
/// and runs on no core but its own. In some of them a threshold that nothing reaches is tried, which changes nothing. An action
/// that comes with an interrupt is tried with as many plans in `overflow_faults`.
#[test]
fn only_the_classes_named_are_acted_on() {
    let plain = |reaction: &Reaction| {
        let facts = reaction.facts();
        !facts.interrupts && !facts.kinds && facts.over.is_empty()
    };
    let reactions: Vec<Reaction> = Reaction::ALL.into_iter().filter(plain).collect();
    let mut random = SplitMix64::new(5);
    let mut acted = vec![0; reactions.len()];
    for round in 0..10_000_u64 {
        let which = (round % reactions.len() as u64) as usize;
        let (plain, script) = at_random(&mut random);
        let plain = pairs(plain);
        let mut heard = scripted(plain.clone(), &script);
        let listening = heard.listening.as_mut().expect("it listens");
        listening.reaction = reactions[which];
        listening.period = ms(1 + random.below(3));
        let records =
            |experiment: &Experiment| run(experiment, &IdealOptions::default()).expect("admitted").records;
        for record in records(&heard) {
            let (task, own) = match record {
                Record::Held(held) => (held.task, false),
                Record::Switch(switch) => match switch.to {
                    Some(task) => (task, plain.tasks[task.index()].core == Some(switch.core)),
                    None => continue,
                },
                _ => continue,
            };
            if !own {
                assert_eq!(plain.tasks[task.index()].class, TaskClass::BestEffort, "{record:?}");
                acted[which] += 1;
            }
        }
        if round % 32 == 0 {
            heard.listening.as_mut().expect("it listens").threshold = Fixed::from(1_u64 << 40);
            assert_eq!(records(&plain), records(&heard));
        }
    }
    for (reaction, acted) in reactions.into_iter().zip(acted) {
        assert_eq!(acted > 100, reaction.facts().acts, "{}: {acted} times", reaction.name());
    }
}

/// Who is on each core just before an instant, by the records of what came before it; and how often the core switched in it.
fn before(records: &[Record], core: CoreId, at: Instant) -> (Option<TaskId>, usize) {
    let switches = || {
        records.iter().filter_map(|record| match record {
            Record::Switch(switch) if switch.core == core => Some(switch),
            _ => None,
        })
    };
    let last = switches().take_while(|switch| switch.at < at).last();
    (last.and_then(|switch| switch.to), switches().filter(|switch| switch.at == at).count())
}

/// `yield` written down from its definition (spec A, thesis 8.2.3), under every criterion and scope: at t = kQ whoever of the
/// classes is on a core that counted more than theta is off every core until (k + 1)Q, and nobody else is held.
#[test]
fn under_every_criterion_and_scope_whoever_is_loud_is_away_for_a_period() {
    // Ticks come at no instant at which anything else happens but the end of a hold.
    const Q: u64 = 777_777;
    let mut random = SplitMix64::new(42);
    for criterion in Criterion::ALL {
        let mut acted = [0; 3];
        for round in 0..150_u64 {
            let which = (round % 3) as usize;
            let scope = match which {
                0 => Scope::Partitioned,
                1 => Scope::Global,
                _ => Scope::Clustered(
                    [[0, 1], [2, 3]]
                        .map(|pair| pair.map(CoreId).into_iter().fold(CoreSet::EMPTY, CoreSet::with))
                        .to_vec(),
                ),
            };
            let (plain, script) = at_random(&mut random);
            let plain = Experiment { policy: policy(scope, criterion), ..plain };
            let mut heard = scripted(plain.clone(), &script);
            let listening = heard.listening.as_mut().expect("it listens");
            (listening.reaction, listening.period) = (Reaction::Yield, Duration::new(Q));
            let records = run(&heard, &IdealOptions::default()).expect("admitted").records;
            let held: Vec<_> = records
                .iter()
                .filter_map(|record| if let Record::Held(held) = record { Some(*held) } else { None })
                .collect();
            let loud = |core: CoreId, k: u64| {
                let counted = script.iter().filter(|(of, at, _)| {
                    let at = at * 1_000_000;
                    *of == core.0 && (k - 1) * Q < at && at <= k * Q
                });
                counted.map(|(.., count)| count).sum::<u64>() > 4
            };
            let class = |task: TaskId| plain.tasks[task.index()].class;
            for held in &held {
                let k = held.since.get() / Q;
                let (since, until) = (Instant::new(k * Q), Instant::new((k + 1) * Q));
                assert_eq!((held.since, held.at), (since, until), "{criterion:?}");
                assert_eq!(class(held.task), TaskClass::BestEffort);
                assert!((0..4).map(CoreId).any(|core| loud(core, k)), "{criterion:?}: {held:?}");
                acted[which] += 1;
            }
            for k in 1..40_000_000 / Q {
                for core in (0..4).map(CoreId).filter(|core| loud(*core, k)) {
                    let at = Instant::new(k * Q);
                    let (Some(task), switches) = before(&records, core, at) else { continue };
                    // Another core may have taken it off before this one looked.
                    if class(task) != TaskClass::BestEffort || switches > 1 {
                        continue;
                    }
                    let away = held.iter().any(|held| held.task == task && held.since == at);
                    let over = Instant::new((k + 1) * Q) >= Instant::ZERO + ms(40);
                    assert!(away || over, "{criterion:?}: {task} on {core} at {at}");
                }
            }
            for record in &records {
                if let Record::Switch(switch) = record
                    && let Some(task) = switch.to
                {
                    let away = |held: &&solo_model::record::HeldRecord| {
                        held.task == task && held.since < switch.at && switch.at < held.at
                    };
                    assert_eq!(held.iter().find(away), None, "{criterion:?}: {switch:?}");
                }
            }
        }
        assert!(acted.iter().all(|times| *times > 50), "{criterion:?}: {acted:?}");
    }
}

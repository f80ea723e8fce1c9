//! More events than counters: sets that take turns, on the ideal machine with counts that are written down.

mod common;

use common::{at, compute, experiment, ms, policy, task};
use solo_corpus::ideal::{Ideal, IdealOptions, Interrupts, ListeningConfig, run};
use solo_kernel::PolicyRefusal;
use solo_model::listening::{Listening, Observed, Reaction, ScriptedCount};
use solo_model::policy::Scope;
use solo_model::sample::{Sample, Subject, Why};
use solo_model::task::Release;
use solo_model::work::Work;
use solo_model::{
    CoreId, Criterion, Duration, EventId, EventSet, Events, Experiment, Fixed, Instant, MetricId, Record,
    Task, TaskClass, TaskId,
};
use solo_observe::monitor::{Derived, Followed, Heard, Monitor, Turns};
use solo_observe::rounds::{Round, Rounds};
use solo_schedule::criteria::StaticPriority;
use solo_schedule::{Actions, Hook, KindId, Placed, Placement, Situation, Whose};
use std::sync::{Arc, Mutex};

const METRIC: MetricId = MetricId(0);
const MISSES: [EventId; 3] = [EventId::L1_MISSES, EventId::LLC_MISSES, EventId::DRAM_READS];

/// What each turn was, in words.
type Log = Arc<Mutex<Vec<String>>>;

/// Three sets, each with instructions, cycles and a kind of miss; what it is told is written down.
#[derive(Clone, Debug)]
struct Listed {
    of: Followed,
    sets: [EventSet; 3],
    wants: EventSet,
    rounds: Rounds,
    told: Log,
}

impl PartialEq for Listed {
    fn eq(&self, other: &Self) -> bool {
        self.rounds == other.rounds
    }
}

impl Listed {
    fn new(of: Followed, told: &Log) -> Self {
        let both = EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES);
        let sets = MISSES.map(|event| both.with(event));
        let wants = sets.iter().flat_map(EventSet::iter).collect();
        Self { of, sets, wants, rounds: Rounds::new(&sets).expect("three sets"), told: told.clone() }
    }
}

impl Monitor for Listed {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn turns(&self) -> Option<Turns<'_>> {
        Some(Turns { of: self.of, sets: &self.sets, next: self.rounds.turn() })
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        let others = MISSES.iter().filter(|event| sample.counts.get(**event).is_some()).count();
        assert_eq!((others, sample.why), (1, Why::Tick), "events of other sets are absent");
        let count = |event| sample.counts.get(event).unwrap_or(u64::MAX);
        let whose = match sample.subject {
            Subject::Task(task) => format!("t{}", task.0),
            Subject::Core(core) => format!("c{}", core.0),
            other => panic!("{other:?}"),
        };
        let misses = count(MISSES[usize::from(sample.set)]);
        let (now, span) = (sample.at.get() / 1_000_000, sample.span.get() / 1_000_000);
        let ipc = count(EventId::INSTRUCTIONS) * 1000 / count(EventId::CYCLES).max(1);
        let mut line = format!("{now} {whose} set {}, {span} ms, ipc {ipc}: {misses}", sample.set);
        let mut derived = Derived::NONE;
        match self.rounds.take(sample) {
            Round::Going => {}
            Round::Spoiled { thrown } => line.push_str(&format!(", thrown away with {thrown}")),
            Round::Whole(sets) => {
                let found = sets.iter().zip(MISSES).filter_map(|(set, event)| set.get(event));
                let found: Vec<u64> = found.collect();
                line.push_str(&format!(", whole {found:?}"));
                derived = Derived::one(METRIC, Some(Fixed::from(found.iter().sum::<u64>())));
            }
        }
        self.told.lock().expect("nobody else").push(line);
        derived
    }
}

/// Says nothing; at each tick it writes down what it knows of task 0 and core 0, and how old that is in milliseconds.
#[derive(Clone, Debug)]
struct Asks(Log);

impl PartialEq for Asks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Placement for Asks {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if let Hook::Tick { core: CoreId(0), .. } = hook {
            let known = |whose| {
                let value = situation.metric(whose, METRIC)?;
                Some((value.whole(), situation.age(whose, METRIC).expect("it is known").get() / 1_000_000))
            };
            let (task, core) = (known(Whose::Task(TaskId(0))), known(Whose::Core(CoreId(0))));
            self.0.lock().expect("nobody else").push(format!("{} {task:?} {core:?}", now.get() / 1_000_000));
        }
        Actions::NONE
    }
}

fn once(index: usize, length: u64) -> Task {
    let release = Release::Once { offset: Duration::ZERO };
    let work = Work { steps: vec![compute(length)] };
    Task { release, deadline: None, core: Some(CoreId(0)), work, ..task(index, 1, length) }
}

/// In each millisecond 1000 cycles, as many instructions as `ipc` says in thousandths, and misses that say which millisecond it
/// was: m of the first level, 100 m of the last, 10000 m reads.
fn script(ipc: &[u64]) -> Vec<ScriptedCount> {
    let of = |(ms, ipc): (u64, &u64)| {
        let counts = [(EventId::CYCLES, 1000), (EventId::INSTRUCTIONS, *ipc)];
        let misses = MISSES.into_iter().zip([ms, 100 * ms, 10_000 * ms]);
        let count = move |(event, count)| ScriptedCount {
            core: CoreId(0),
            event,
            at: Instant::new(ms * 1_000_000 - 500_000),
            count,
        };
        counts.into_iter().chain(misses).map(count)
    };
    (1..).zip(ipc).flat_map(of).collect()
}

fn scripted(tasks: Vec<Task>, script: Vec<ScriptedCount>, end: u64) -> Experiment {
    let mut listening = Listening::new(Observed::count_of(EventId::CYCLES), ms(1), Reaction::Report);
    listening.script = script;
    let by_priority = policy(Scope::Partitioned, Criterion::StaticPriority);
    Experiment { listening: Some(listening), ..experiment(1, by_priority, tasks, end) }
}

fn config(
    of: Followed,
    told: &Log,
    asked: &Log,
    period: Duration,
    turn: Option<Duration>,
) -> ListeningConfig {
    ListeningConfig {
        monitors: vec![Heard::new(Listed::new(of, told))],
        metrics: 1,
        turn,
        kinds: vec![KindId(0)],
        ..ListeningConfig::new(Placed::new(Asks(asked.clone())), period)
    }
}

fn listed(experiment: &Experiment, config: ListeningConfig) {
    let options = IdealOptions { listening: Some(config), ..IdealOptions::default() };
    let mut ideal = Ideal::<StaticPriority>::new(experiment, &options).expect("admitted: four counters do");
    while ideal.step().expect("time passes") {}
    assert_eq!(ideal.kernel().placement().expect("somebody listens").silent_counters, 0);
}

fn lines(log: &Log) -> Vec<String> {
    log.lock().expect("the run is over").clone()
}

/// PMCTrack, Fig. 7, through the kernel: three sets of three events each, five in all where there are four counters. The
/// phase changes in the second set of the second round; the list is made by hand.
#[test]
fn three_sets_in_turn_with_a_transition_in_the_second_are_the_list_made_by_hand() {
    let (told, asked) = (Log::default(), Log::default());
    let ipc = [1000, 1040, 980, 1010, 2000, 1990, 2010, 2000, 1020];
    listed(
        &scripted(vec![once(0, 20)], script(&ipc), 10),
        config(Followed::Tasks, &told, &asked, ms(1), None),
    );
    let by_hand = [
        "1 t0 set 0, 1 ms, ipc 1000: 1",
        "2 t0 set 1, 1 ms, ipc 1040: 200",
        "3 t0 set 2, 1 ms, ipc 980: 30000, whole [1, 200, 30000]",
        "4 t0 set 0, 1 ms, ipc 1010: 4",
        "5 t0 set 1, 1 ms, ipc 2000: 500, thrown away with 1",
        "6 t0 set 0, 1 ms, ipc 1990: 6",
        "7 t0 set 1, 1 ms, ipc 2010: 700",
        "8 t0 set 2, 1 ms, ipc 2000: 80000, whole [6, 700, 80000]",
        "9 t0 set 0, 1 ms, ipc 1020: 9, thrown away with 0",
    ];
    assert_eq!(lines(&told), by_hand);
    // What is known of a task is the last whole round, and the policy knows how old that is; of the core nothing is told.
    let known = lines(&asked);
    assert_eq!(
        known[1..5],
        ["2 None None", "3 Some((30201, 0)) None", "4 Some((30201, 1)) None", "5 Some((30201, 2)) None"]
    );
    assert_eq!(known[7], "8 Some((80706, 0)) None");
}

/// Two tasks change places on a core in the middle of periods. Each goes on with its own set where it left it, and what was
/// counted while the other ran is the other's.
#[test]
fn a_turn_is_kept_while_its_task_is_off_the_core() {
    // T0 has the core from 0 to 2, 4 to 6, 8 to 10, T1 what is left; periods end at 3, 6, 9 and 12.
    let tasks = vec![Task { core: Some(CoreId(0)), ..task(0, 4, 2) }, once(1, 20)];
    let (told, asked) = (Log::default(), Log::default());
    listed(&scripted(tasks, script(&[1000; 12]), 13), config(Followed::Tasks, &told, &asked, ms(3), None));
    let by_hand = [
        // The third millisecond.
        "3 t1 set 0, 1 ms, ipc 1000: 3",
        // The fourth; the fifth and the sixth were T0's.
        "6 t1 set 1, 1 ms, ipc 1000: 400",
        // The first turn of T0 that ends while it is there: milliseconds 1, 2, 5, 6 and 9.
        "9 t0 set 0, 5 ms, ipc 1000: 23",
        // At 9 T1 was not there, and its turn went on: milliseconds 7, 8, 11 and 12.
        "12 t1 set 2, 4 ms, ipc 1000: 380000, whole [3, 400, 380000]",
    ];
    assert_eq!(lines(&told), by_hand);
}

/// What a core counts takes turns whoever is on it. A period has a turn of each set, and the policy is told once in it.
#[test]
fn the_turns_of_a_core_end_with_its_period() {
    let tasks = vec![Task { core: Some(CoreId(0)), ..task(0, 4, 1) }, once(1, 20)];
    let (told, asked) = (Log::default(), Log::default());
    listed(
        &scripted(tasks, script(&[1000; 8]), 9),
        config(Followed::Cores, &told, &asked, ms(4), Some(ms(1))),
    );
    let by_hand = [
        "1 c0 set 0, 1 ms, ipc 1000: 1",
        "2 c0 set 1, 1 ms, ipc 1000: 200",
        "3 c0 set 2, 1 ms, ipc 1000: 30000, whole [1, 200, 30000]",
        "4 c0 set 0, 1 ms, ipc 1000: 4",
        "5 c0 set 1, 1 ms, ipc 1000: 500",
        "6 c0 set 2, 1 ms, ipc 1000: 60000, whole [4, 500, 60000]",
        "7 c0 set 0, 1 ms, ipc 1000: 7",
        "8 c0 set 1, 1 ms, ipc 1000: 800",
    ];
    assert_eq!(lines(&told), by_hand);
    assert_eq!(lines(&asked), ["4 None Some((30201, 1))", "8 None Some((60504, 2))"]);
}

/// No whole round in a period and none in the one before: nothing is known of the core, and what was known is not held against
/// whoever is there now.
#[test]
fn what_comes_too_late_is_not_known() {
    let (told, asked) = (Log::default(), Log::default());
    // The phase changes in each period from the second on.
    let ipc = [1000, 1000, 1000, 3000, 1000, 3000, 1000, 3000, 1000, 3000, 1000, 3000, 3000, 3000, 3000];
    listed(
        &scripted(vec![once(0, 20)], script(&ipc), 16),
        config(Followed::Cores, &told, &asked, ms(3), Some(ms(1))),
    );
    assert_eq!(lines(&told)[2], "3 c0 set 2, 1 ms, ipc 1000: 30000, whole [1, 200, 30000]");
    let known = [
        "3 None Some((30201, 0))",
        "6 None None",
        "9 None None",
        "12 None None",
        "15 None Some((151413, 0))",
    ];
    assert_eq!(lines(&asked), known);
}

/// The other side: where no sets take turns more events than counters are refused, and so is a set that is too large; and a
/// counter that another set has for the next turn does not interrupt.
#[test]
fn more_events_than_counters_are_refused_where_nothing_takes_turns() {
    #[derive(Clone, PartialEq, Debug)]
    struct Greedy(EventSet, bool);
    impl Monitor for Greedy {
        fn wants(&self) -> &EventSet {
            &self.0
        }
        fn turns(&self) -> Option<Turns<'_>> {
            self.1.then(|| Turns { of: Followed::Tasks, sets: core::slice::from_ref(&self.0), next: 0 })
        }
        fn sample(&mut self, _: &Sample) -> Derived {
            Derived::NONE
        }
    }
    let scene = scripted(vec![once(0, 2)], script(&[1000]), 3);
    let (told, asked) = (Log::default(), Log::default());
    let five = Listed::new(Followed::Tasks, &told).wants;
    let refused = |monitor, interrupts| {
        let plain = config(Followed::Tasks, &told, &asked, ms(1), None);
        let listening = ListeningConfig { monitors: vec![monitor], interrupts, ..plain };
        run(&scene, &IdealOptions { listening: Some(listening), ..IdealOptions::default() }).err()
    };
    let too_few = PolicyRefusal::TooFewCounters { needed: 5, taken: 0, counters: 4 };
    for turns in [false, true] {
        let found = refused(Heard::new(Greedy(five, turns)), None);
        assert_eq!(found, Some(too_few.clone().into()), "turns: {turns}");
    }
    let listed = Heard::new(Listed::new(Followed::Tasks, &told));
    assert_eq!(refused(listed.clone(), None), None);
    assert_eq!(
        refused(listed, Some(Interrupts::Once(Events::new(9)))),
        Some(PolicyRefusal::NoCounterOverflow.into())
    );
}

/// What a scenario says: the expression over a round is above the threshold at the end of each period in which the sets were
/// counted, and the task is held.
#[test]
fn a_round_is_judged_at_the_end_of_its_period() {
    let both = EventSet::EMPTY.with(EventId::INSTRUCTIONS);
    let sets = vec![both.with(MISSES[0]), both.with(MISSES[1]), both.with(MISSES[2])];
    let expression = "l1_misses + llc_misses + dram_reads";
    let observed = solo_observe::monitor::observed(
        solo_model::listening::MonitorKind::Multiplexed,
        None,
        expression,
        &sets,
        &solo_model::EventTable::default(),
    );
    let held = |threshold: u64| {
        let mut scene =
            scripted(vec![Task { class: TaskClass::BestEffort, ..once(0, 9) }], script(&[1000; 6]), 7);
        let listening = scene.listening.as_mut().expect("it listens");
        let plain = Listening::new(observed.clone().expect("three sets"), ms(3), Reaction::Yield);
        *listening =
            Listening { script: listening.script.clone(), threshold: Fixed::from(threshold), ..plain };
        let records = run(&scene, &IdealOptions::default()).expect("two counters do").records;
        let held = records.iter().filter_map(|record| match record {
            Record::Held(held) => Some((held.since, held.at)),
            _ => None,
        });
        held.collect::<Vec<_>>()
    };
    // In the first period 1, 200 and 30000 in a third of it each: an estimate of 3 + 600 + 90000.
    assert_eq!(held(90_602), [(at(3), at(6))]);
    assert_eq!(held(90_603), []);
}

//! The very policy in a kernel and beside an operating system: told the same counts, it answers the same, action by action.

mod common;

use common::{Script, World};
use solo_corpus::ideal::{IdealOptions, ListeningConfig, run};
use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::listening::{MonitorKind, Observed, Reaction, ScriptedCount};
use solo_model::platform::{Contents, CoreKind};
use solo_model::task::Release;
use solo_model::work::{Span, Step, Work};
use solo_model::{
    CoreId, CoreSet, Criterion, Duration, EventId, Experiment, Fixed, Frequency, Instant, KindId, Listening,
    MetricId, Policy, Scope, SplitMix64, Task, TaskClass, fixtures,
};
use solo_observe::monitor::{self, observed_of_kinds};
use solo_place::{Agent, PlacedTask, Placing, record};
use solo_schedule::{Action, Actions, Hook, Placed, Placement, Situation, TaskParameters, placements};
use std::sync::{Arc, Mutex};

const EVENT: EventId = EventId::SNOOP_HITM;
const PERIOD: Duration = Duration::from_millis(1);
const CORES: usize = 4;

/// What a policy said, and when.
type Said = Mutex<Vec<(Instant, Action)>>;

/// A policy that keeps a list of what it answered.
#[derive(Clone, Debug)]
struct Spied {
    policy: Placed,
    said: Arc<Said>,
    /// When it was told something last.
    last: Instant,
}

impl PartialEq for Spied {
    fn eq(&self, other: &Self) -> bool {
        self.policy == other.policy
    }
}

impl Placement for Spied {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.policy.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        assert!(now >= self.last, "time runs backwards: {hook:?} at {now} after {}", self.last);
        self.last = now;
        let actions = self.policy.on(now, hook, situation);
        self.said.lock().unwrap().extend(actions.iter().map(|action| (now, action)));
        actions
    }
}

/// What a policy said, in the order of time; what it said at one time in any order.
fn sorted(said: &Said) -> Vec<String> {
    let mut said: Vec<String> =
        said.lock().unwrap().iter().map(|(at, action)| format!("{:>12} {action:?}", at.get())).collect();
    said.sort();
    said
}

/// The same on two fast and two slow cores: instructions and cycles of each core are drawn, and whoever is on it has counted them.
fn of_kinds(reaction: Reaction, seed: u64) -> Experiment {
    let mut experiment = experiment(reaction, seed);
    let mut random = SplitMix64::new(!seed);
    let big = experiment.platform.kinds[0].clone();
    experiment.platform.kinds.push(CoreKind {
        name: "small".to_owned(),
        clock: Frequency::new(big.clock.get() / 2),
        ..big
    });
    experiment.platform.cores[2].kind = 1;
    experiment.platform.cores[3].kind = 1;
    let asymmetry = experiment.platform.asymmetry(None).expect("two kinds");
    let events = &experiment.platform.events;
    // What is measured on both kinds, where the policy moves everybody; what says at once who deserves a big core, for those that don't.
    let observed = match seed % 2 {
        0 => observed_of_kinds(MonitorKind::IpcSampling, asymmetry, events),
        _ => monitor::observed(MonitorKind::Ipc, None, "", &[], events),
    };
    let script = (0..30 * CORES as u64).flat_map(|at| {
        let (core, at) =
            (CoreId((at % CORES as u64) as u16), Instant::new(200_000 + at / CORES as u64 * 1_000_000));
        let count = |event, count| ScriptedCount { core, event, at, count };
        let instructions = 20_000 + random.below(80_000);
        [count(EventId::INSTRUCTIONS, instructions), count(EventId::CYCLES, 100_000)]
    });
    let script = script.collect();
    let listening = Listening {
        script,
        classes: vec![TaskClass::BestEffort, TaskClass::Soft],
        ..Listening::new(observed.expect("two events"), PERIOD, reaction)
    };
    Experiment { listening: Some(listening), ..experiment }
}

/// Four cores in two pairs behind a cache each, a task that never ends on each, drawn counts.
fn experiment(reaction: Reaction, seed: u64) -> Experiment {
    let mut random = SplitMix64::new(seed);
    let classes = [TaskClass::BestEffort, TaskClass::BestEffort, TaskClass::Soft];
    let tasks = (0..CORES).map(|core| Task {
        core: Some(CoreId(core as u16)),
        priority: Some(core as u32),
        work: Work { steps: vec![Step::Compute(Span::exactly(Duration::from_millis(500)))] },
        ..Task::new(
            format!("t{core}"),
            classes[random.below(3) as usize],
            Release::Once { offset: Duration::ZERO },
        )
    });
    let tasks: Vec<Task> = tasks.collect();
    let script = (0..120).map(|at: u64| ScriptedCount {
        core: CoreId(random.below(CORES as u64) as u16),
        event: EVENT,
        at: Instant::new(200_000 + at * 250_000),
        count: random.below(6),
    });
    let script = script.collect();
    let listening = Listening {
        threshold: Fixed::from(4_u64),
        calm: (random.below(2) == 0).then(|| Fixed::from(2_u64)),
        script,
        ..Listening::new(Observed::count_of(EVENT), PERIOD, reaction)
    };
    let mut platform = ideal_platform(CORES);
    platform.caches.retain(|cache| cache.level == 1);
    for low in [0, 2] {
        let pair = CoreSet::only(CoreId(low)).with(CoreId(low + 1));
        platform.caches.push(fixtures::cache(2, Contents::Unified, pair, 256, 8, 10));
    }
    let policy = Policy::new(Scope::Partitioned, Criterion::StaticPriority);
    let end = End::At(Duration::from_micros(30_500));
    Experiment { listening: Some(listening), ..Experiment::new("alike", platform, policy, tasks, end) }
}

fn spied(experiment: &Experiment) -> (Spied, Arc<Said>) {
    let listening = experiment.listening.as_ref().expect("it listens");
    let said = Arc::default();
    let policy = placements::of(listening, &experiment.platform);
    (Spied { policy, said: Arc::clone(&said), last: Instant::ZERO }, said)
}

fn in_a_kernel(experiment: &Experiment) -> Vec<String> {
    let (policy, said) = spied(experiment);
    let observed = &experiment.listening.as_ref().expect("it listens").observed;
    let monitor = monitor::of(MetricId(0), observed, &experiment.platform.events).expect("a monitor");
    let config = ListeningConfig {
        monitors: vec![monitor],
        metrics: 1,
        kinds: experiment.platform.cores.iter().map(|core| KindId(core.kind)).collect(),
        ..ListeningConfig::new(Placed::new(policy), PERIOD)
    };
    // Requests between cores arrive after the ends of periods of the same instant: each core looks before it is asked. Who goes by kinds goes
    // by the times on them, too, of which they take nothing; it decides when all cores have looked.
    let by_kinds = experiment.listening.as_ref().is_some_and(|listening| listening.reaction.facts().kinds);
    let ipi_latencies = vec![if by_kinds { Duration::ZERO } else { Duration::from_micros(10) }];
    let options = IdealOptions { listening: Some(config), ipi_latencies, ..IdealOptions::default() };
    run(experiment, &options).expect("the machine can do it");
    sorted(&said)
}

fn placing(experiment: &Experiment) -> Placing {
    let task = |task: &Task| PlacedTask {
        name: task.name.clone(),
        class: task.class,
        core: task.core.expect("on a core"),
    };
    Placing {
        listening: experiment.listening.clone().expect("it listens"),
        platform: experiment.platform.clone(),
        tasks: experiment.tasks.iter().map(task).collect(),
    }
}

/// The agent over what a made-up Linux tells it, and what it decided, written down.
fn beside_linux(experiment: &Experiment) -> (Vec<String>, Vec<u8>) {
    let (policy, said) = spied(experiment);
    let placing = placing(experiment);
    let mut agent = Agent::with(&placing, Placed::new(policy)).expect("a monitor");
    let events = placing.listening.observed.events.iter().copied().collect();
    let script = Script { counts: placing.listening.script.clone(), events };
    let mut world = World::new(script, placing.tasks.len(), CORES);
    // Soft tasks come before best-effort ones, as in the kernel.
    world.first_served.sort_by_key(|task| (placing.tasks[task.index()].class, *task));
    let mut lines = record::Writer::begin(Vec::new(), &placing).unwrap();
    for period in 1..=30 {
        let seen = world.look(Instant::ZERO + PERIOD * period, PERIOD, &agent);
        let decided = agent.on(&seen);
        lines.add(&seen, &decided).unwrap();
    }
    (sorted(&said), lines.into_inner())
}

#[test]
fn every_placement_decides_alike_in_a_kernel_and_beside_linux() {
    for reaction in Reaction::ALL {
        let facts = reaction.facts();
        if facts.interrupts || facts.divides || facts.slows {
            // Told at once in a kernel, where an agent hears of it at the end of the period; or refused beside Linux; or about a cache
            // that the ideal machine does not have (`ways.rs` has one).
            continue;
        }
        let made = if facts.kinds { of_kinds } else { experiment };
        let mut decisions = 0;
        for seed in 0..400 {
            let experiment = made(reaction, seed);
            let (said, lines) = beside_linux(&experiment);
            assert_eq!(in_a_kernel(&experiment), said, "{} {seed}", reaction.name());
            decisions += said.len();
            let replayed = record::replay(lines.as_slice()).unwrap();
            assert_eq!((replayed.told, replayed.otherwise.len()), (30, 0), "{} {seed}", reaction.name());
        }
        assert_eq!(decisions > 100, facts.acts, "{}: {decisions}", reaction.name());
    }
}

#[test]
fn a_record_that_was_changed_anywhere_is_found_out() {
    let (_, lines) = beside_linux(&experiment(Reaction::Yield, 3));
    let text = String::from_utf8(lines).unwrap();
    let replay = |text: &str| record::replay(text.as_bytes());
    let lines: Vec<&str> = text.lines().collect();
    let with = lines.iter().rposition(|line| line.contains("{\"hold\"")).expect("somebody was held");
    // A decision that was left out, and one that was put in.
    let mut without = lines.clone();
    let cut = without[with].split("\"decided\":").next().unwrap().to_owned() + "\"decided\":[]}}";
    without[with] = &cut;
    let replayed = replay(&(without.join("\n") + "\n")).unwrap();
    assert_eq!(replayed.otherwise, [with as u64 + 1]);
    // A count that was changed: what was decided does not follow.
    let mut other = lines.clone();
    other.remove(with - 1);
    assert!(!replay(&(other.join("\n") + "\n")).unwrap().otherwise.is_empty(), "a line that is missing");
    // Cut off anywhere: what is whole before is told, and the cut said.
    let start = text.find('\n').unwrap() + 1;
    for cut in (start..text.len()).step_by(97) {
        let replayed = replay(&text[..cut]).unwrap();
        assert_eq!(replayed.told, text[..cut].matches('\n').count() as u64 - 1);
        assert_eq!((replayed.otherwise.len(), replayed.cut_off), (0, !text[..cut].ends_with('\n')));
    }
    for (strange, part) in [
        ("", "line 1"),
        ("{}\n", "line 1"),
        ("\u{0}\n", "line 1"),
        (&text[start..], "does not say what decides"),
        (&text.replacen("\"version\":3", "\"version\":9", 1), "version 9"),
        (&format!("{text}[]\n"), "line 32"),
        (&text.replacen("\"period\":1000000", "\"period\":0", 1), "period is empty"),
    ] {
        let error = replay(strange).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

//! Ways of the last level beside Linux: given by resctrl, by curves that are measured while programs run.

mod common;

use common::{Fake, affinity};
use solo_corpus::ideal_platform;
use solo_guard::{Fate, Group, Guard, Setting};
use solo_model::listening::{MonitorKind, Reaction};
use solo_model::platform::Contents;
use solo_model::{
    Bytes, CoreId, CoreSet, Counts, Duration, EventId, Instant, Listening, Platform, TaskClass, TaskId,
    fixtures,
};
use solo_observe::monitor;
use solo_perf::Fake as Files;
use solo_place::{
    Agent, CoreSeen, Decision, Division, Hands, Life, Observation, Outcome, PlacedTask, Placing, TaskSeen,
    record,
};

const PERIOD: Duration = Duration::from_millis(10);
const WAYS: u64 = 16;
const CAPACITY: Bytes = Bytes::from_kib(1024);
const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);

/// Two cores behind a cache of sixteen ways.
fn platform() -> Platform {
    let mut platform = ideal_platform(2);
    platform.caches.retain(|cache| cache.level == 1);
    let both = CoreSet::only(CoreId(0)).with(CoreId(1));
    platform.caches.push(fixtures::cache(3, Contents::Unified, both, 1024, WAYS as u16, 10));
    platform
}

fn placing(reaction: Reaction) -> Placing {
    let platform = platform();
    let observed = monitor::observed(MonitorKind::MissRateCurve, None, "", &[], &platform.events);
    let mut observed = observed.expect("it knows its events");
    observed.capacity = CAPACITY;
    let task = |name: &str, core| PlacedTask {
        name: name.to_owned(),
        class: TaskClass::BestEffort,
        core: CoreId(core),
    };
    let tasks = vec![task("a", 0), task("b", 1)];
    Placing { listening: Listening::new(observed, PERIOD, reaction), platform, tasks }
}

/// What a program misses in 1,000 instructions with so many ways.
type Curve = fn(u64) -> u64;

/// A last level in which everybody fills their ways at once.
struct Cache {
    masks: [u64; 2],
    curves: [Curve; 2],
}

impl Cache {
    fn look(&self, period: u64) -> Observation {
        let at = Instant::ZERO + PERIOD * period;
        let counts = |task: usize| -> Counts {
            let misses = (self.curves[task])(u64::from(self.masks[task].count_ones())) * 1000;
            [(EventId::INSTRUCTIONS, 1_000_000), (EventId::LLC_MISSES, misses)].into_iter().collect()
        };
        let task = |task: usize| TaskSeen {
            task: TaskId(task as u32),
            life: Life::Lives,
            core: CoreId(task as u16),
            ran: PERIOD,
            counts: counts(task),
            held: Some(Bytes::new(CAPACITY.get() * u64::from(self.masks[task].count_ones()) / WAYS)),
        };
        let core = |core: usize| CoreSeen {
            core: CoreId(core as u16),
            running: Some(TaskId(core as u32)),
            set: 0,
            counts: counts(core),
        };
        Observation {
            at,
            span: PERIOD,
            next: Some(at + PERIOD),
            cores: vec![core(0), core(1)],
            tasks: vec![task(0), task(1)],
        }
    }

    /// Does what is decided, and writes it down.
    fn work(&mut self, placing: &Placing, periods: u64) -> Vec<u8> {
        let mut agent = Agent::new(placing).expect("a monitor");
        let mut lines = record::Writer::begin(Vec::new(), placing).unwrap();
        for period in 1..=periods {
            let seen = self.look(period);
            let decided = agent.on(&seen);
            lines.add(&seen, &decided).unwrap();
            for decision in decided {
                let Decision::Ways { task, core, mask } = decision else { panic!("{decision:?}") };
                assert_eq!(core.0 as u32, task.0, "the cache is that of the task's core");
                self.masks[task.index()] = mask;
            }
        }
        assert_eq!(agent.refused(), 0);
        lines.into_inner()
    }
}

/// Falls until six ways.
fn knee(ways: u64) -> u64 {
    10 + 12 * 6_u64.saturating_sub(ways)
}

/// Falls a little with each way.
fn line(ways: u64) -> u64 {
    50 - 2 * ways
}

/// Gains nothing.
fn level(_: u64) -> u64 {
    90
}

#[test]
fn ways_go_to_who_misses_least_with_them() {
    for curves in
        [[knee as Curve, line], [line, knee], [line, level], [level, knee], [knee, knee], [line, line]]
    {
        let placing = placing(Reaction::Utility);
        let mut cache = Cache { masks: [0xffff; 2], curves };
        let lines = cache.work(&placing, 400);
        let [a, b] = cache.masks;
        assert_eq!((a & b, a | b), (0, 0xffff), "all ways are given, each once");
        // The reference: every division is tried.
        let sum = |own: u64| (curves[0])(own) + (curves[1])(WAYS - own);
        let best = (1..WAYS).map(sum).min().expect("divisions");
        let own = u64::from(a.count_ones());
        // Points of curves are means of ranges: a way more or less costs two misses at most where curves are straight.
        assert!(sum(own) <= best + 2, "{own} ways: {} misses, at best {best}", sum(own));
        let replayed = record::replay(lines.as_slice()).unwrap();
        assert_eq!((replayed.told, replayed.otherwise.len()), (400, 0));
    }
}

#[test]
fn a_sweep_gives_every_size_once() {
    let mut cache = Cache { masks: [0xffff; 2], curves: [line, line] };
    let lines = cache.work(&placing(Reaction::WaySweep), 200);
    let text = String::from_utf8(lines).unwrap();
    for ways in 1..WAYS {
        let mask = (1_u64 << ways) - 1;
        assert!(text.contains(&format!("\"mask\":{mask}}}")), "{ways} ways");
    }
}

fn group(name: &str) -> Group {
    Group::new(name).unwrap()
}

fn files() -> Files {
    let mut files = Files::new().with("/sys/devices/system/cpu/online", "0-1\n");
    for cpu in 0..2 {
        for (name, value) in [("level", "3"), ("type", "Unified"), ("id", "4"), ("size", "1024K")] {
            files.set(&format!("/sys/devices/system/cpu/cpu{cpu}/cache/index3/{name}"), Some(value));
        }
    }
    files
}

#[test]
fn ways_come_true_in_the_cache_of_the_core_and_are_put_back() {
    let schemata = Setting::Schemata { group: group("p") };
    let folder = Setting::CacheFolder { group: group("p") };
    let member = |thread| Setting::CacheMember { thread, group: group("p") };
    for (whole, given) in [
        ("L3:3=ffff;4=ffff\nMB:3=100;4=100", "L3:4=3f"),
        ("    L3DATA:4=ffff\n    L3CODE:4=ffff\n", "L3DATA:4=3f\nL3CODE:4=3f"),
    ] {
        let fake = Fake::with(&[
            (folder.clone(), Setting::ABSENT),
            (schemata.clone(), whole),
            (affinity(10, ""), "0-1"),
            (affinity(20, ""), "0-1"),
            (member(10), "/"),
            (member(20), "others"),
        ]);
        let before = fake.0.borrow().values.clone();
        let place = tempfile::tempdir().unwrap();
        let (guard, _) = Guard::start(place.path(), fake.clone()).unwrap();
        let platform = platform();
        let mut hands = Hands::new(guard, &platform).dividing(Division::of(&files(), &platform));
        let placing = placing(Reaction::Utility);
        for (task, thread) in placing.tasks.iter().zip([10, 20]) {
            hands.take(task, vec![thread], Group::default()).unwrap();
        }
        let ways = |task| Decision::Ways { task, core: CoreId(1), mask: 0x3f };
        assert!(matches!(hands.carry_out(ways(A)), Outcome::Refused(_)), "it has no group yet");
        hands.make_cache_group(&group("p")).unwrap();
        hands.enter_cache_group(A, group("p")).unwrap();
        hands.enter_cache_group(B, group("p")).unwrap();
        assert_eq!(fake.says(&member(20)).as_deref(), Some("p"));
        assert_eq!(hands.carry_out(ways(A)), Outcome::Done);
        assert_eq!(fake.says(&schemata).as_deref(), Some(given));
        assert_eq!(hands.tallies()[0].divided, 1);
        let restored = hands.undo();
        assert!(restored.settings.iter().all(|(_, fate)| *fate == Fate::PutBack), "{restored:?}");
        assert_eq!(fake.0.borrow().values, before, "threads are in the groups that they were in");
    }
}

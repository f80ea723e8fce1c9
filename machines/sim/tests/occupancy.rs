//! Whose the lines of the last level are: ids beside a model that looks at every line, and what scenarios tell by them.

mod common;

use common::run;
use solo_model::platform::{Cache, Contents, Inclusion, Replacement, StreamPrefetcher};
use solo_model::sample::Subject;
use solo_model::{CoreId, CoreSet, Experiment, Picoseconds, Platform, Record, Rmid, SplitMix64, TaskId};
use solo_sim::memory::fixtures::{bare, cache};
use solo_sim::memory::{AccessKind, Hierarchy, PhysicalAddress};
use std::collections::BTreeMap;
use std::path::Path;

/// Two cores with a level of their own and a common last one of 32 lines.
fn platform(inclusion: Inclusion, replacement: Replacement, ways: u16) -> Platform {
    let mut platform = bare(2);
    platform.caches = (0..2).map(|n| cache(1, Contents::Data, CoreSet::only(CoreId(n)), 1, 2, 1)).collect();
    let last = cache(2, Contents::Unified, CoreSet::first(2), 2, ways, 10);
    platform.caches.push(Cache { inclusion, replacement, ..last });
    platform
}

const RMIDS: u16 = 5;

/// Memory, and by line of its last level the id that a model says it carries.
struct Beside {
    memory: Hierarchy,
    last: usize,
    carried: BTreeMap<u64, Rmid>,
    register: [Rmid; 2],
    now: Picoseconds,
}

impl Beside {
    fn lines(&self) -> Vec<u64> {
        self.memory.lines(self.last).map(|(address, _)| address.0).collect()
    }

    /// One access. A line that is in the last level after it and was not before carries the id of the core.
    fn access(&mut self, core: u16, address: u64, kind: AccessKind) {
        self.now += Picoseconds::new(200_000);
        self.memory.advance(self.now, |_| {});
        self.memory.access(CoreId(core), self.now, PhysicalAddress(address), kind);
        let lines = self.lines();
        self.carried.retain(|line, _| lines.contains(line));
        for line in lines {
            self.carried.entry(line).or_insert(self.register[usize::from(core)]);
        }
    }

    /// Where lines are asked for ahead, or a core's own level gives back what the last one has just put out, a line may leave and
    /// come back in the same access (`twice`): all are somebody's, and of whose nothing is said.
    fn check(&self, twice: bool, what: &str) {
        let mut sum = 0;
        for rmid in (0..RMIDS).map(Rmid) {
            let counted = self.memory.lines_of(self.last, rmid).expect("lines carry ids");
            let carry = self.carried.values().filter(|carried| **carried == rmid).count() as u64;
            assert!(twice || counted == carry, "{rmid:?}: {counted}, {carry}; {what}");
            sum += counted;
        }
        assert_eq!(sum, self.lines().len() as u64, "every line is somebody's");
        assert_eq!(self.memory.lines_of(self.last, Rmid(RMIDS)), None);
    }
}

#[test]
fn every_line_is_counted_for_the_id_of_the_core_that_brought_it_in() {
    let mut random = SplitMix64::new(21);
    let mut ids = BTreeMap::<Rmid, u64>::new();
    for inclusion in [Inclusion::Inclusive, Inclusion::NonInclusive, Inclusion::Exclusive] {
        for (replacement, ways) in [
            (Replacement::Lru, 4),
            (Replacement::NotRecentlyUsed, 16),
            (Replacement::Random, 2),
            (Replacement::TreePlru, 32),
        ] {
            for prefetches in [false, true] {
                let mut platform = platform(inclusion, replacement, ways);
                if prefetches {
                    platform.prefetcher =
                        Some(StreamPrefetcher { on: true, streams: 2, after: 2, distance: 2 });
                }
                let last = platform.caches.len() - 1;
                let mut memory = Hierarchy::new(&platform, 1).expect("it can be built");
                // What is there already is nobody's.
                let mut now = Picoseconds::ZERO;
                for line in 0..8 {
                    now += Picoseconds::new(200_000);
                    memory.advance(now, |_| {});
                    memory.access(CoreId(0), now, PhysicalAddress(4096 + line * 64), AccessKind::Read);
                }
                memory.monitor_lines(last, RMIDS);
                let carried = memory.lines(last).map(|(line, _)| (line.0, Rmid::NOBODY)).collect();
                let mut beside = Beside { memory, last, carried, register: [Rmid::NOBODY; 2], now };
                for step in 0..3000 {
                    if random.below(20) == 0 {
                        let core = random.below(2) as u16;
                        let rmid = Rmid(random.below(u64::from(RMIDS)) as u16);
                        beside.memory.tag_lines(CoreId(core), rmid);
                        beside.register[usize::from(core)] = rmid;
                    }
                    if random.below(40) == 0 {
                        let mask = 1 + random.below(1 << ways.min(16)).min((1 << ways) - 2);
                        beside
                            .memory
                            .restrict_ways(CoreId(random.below(2) as u16), last, mask)
                            .expect("some way");
                    }
                    let kind = if random.below(3) == 0 { AccessKind::Write } else { AccessKind::Read };
                    let next = if step % 4 == 0 { random.below(80) } else { step % 80 };
                    beside.access(random.below(2) as u16, next * 64, kind);
                    let twice = prefetches || inclusion == Inclusion::NonInclusive;
                    beside.check(twice, &format!("{inclusion:?} {replacement:?} {ways} ways"));
                }
                for rmid in beside.carried.into_values() {
                    *ids.entry(rmid).or_default() += 1;
                }
            }
        }
    }
    assert_eq!(ids.len(), usize::from(RMIDS), "all ids are used: {ids:?}");
}

#[test]
fn ids_change_nothing_but_what_is_told() {
    let mut random = SplitMix64::new(22);
    for inclusion in [Inclusion::Inclusive, Inclusion::NonInclusive, Inclusion::Exclusive] {
        for replacement in [Replacement::Lru, Replacement::NotRecentlyUsed, Replacement::Random] {
            let platform = platform(inclusion, replacement, 4);
            let mut plain = Hierarchy::new(&platform, 1).expect("it can be built");
            let mut told = plain.clone();
            told.monitor_lines(2, RMIDS);
            told.tag_lines(CoreId(1), Rmid(3));
            let mut now = Picoseconds::ZERO;
            for _ in 0..5000 {
                now += Picoseconds::new(50_000);
                let (core, address) =
                    (CoreId(random.below(2) as u16), PhysicalAddress(random.below(80) * 64));
                let kind = if random.below(3) == 0 { AccessKind::Write } else { AccessKind::Read };
                plain.advance(now, |_| {});
                told.advance(now, |_| {});
                assert_eq!(plain.access(core, now, address, kind), told.access(core, now, address, kind));
            }
            let lines = |memory: &Hierarchy| memory.lines(2).collect::<Vec<_>>();
            assert_eq!(lines(&plain), lines(&told));
            assert!((0..2).all(|core| plain.counts(CoreId(core)) == told.counts(CoreId(core))));
        }
    }
}

fn parse(text: &str) -> Experiment {
    let scenario = solo_scenario::parse(text, Path::new("t.toml"), &solo_scenario::Platforms::builtin());
    scenario.unwrap_or_else(|report| panic!("{report}")).base
}

/// What each task's process held, sample by sample.
fn held(records: &[Record], task: u32) -> Vec<(u64, u64)> {
    let of = |record: &Record| match record {
        Record::Sample(sample) if sample.subject == Subject::Task(TaskId(task)) => {
            Some((sample.at.get(), sample.virtuals[0]? as u64))
        }
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

/// A fills a mebibyte and ends, others come and end, B uses 64 KiB at last.
fn recycled(recycling: &str, between: usize) -> Vec<(u64, u64)> {
    let once = |name: &str, offset: usize, work: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"best-effort\"\ncore = 0\nrelease = \"once\"\n\
             offset = \"{offset}us\"\nwork = [{work}]\n"
        )
    };
    let mut text = format!(
        "name = \"recycled\"\nplatform = \"xeon-e5-2695v3\"\nduration = \"{}us\"\nsample = \"100us\"\n\
         [scheduler]\npolicy = \"P-FCFS\"\n[scheduler.monitor]\nmonitor = \"occupancy\"\nperiod = \"100us\"\n\
         threshold = 0\nclasses = [\"best-effort\"]\naction = \"report\"\nrmids = \"{recycling}\"\n",
        6000 + 10 * between
    );
    text += &once("a", 0, "{ sweep = \"1MiB\", stride = \"64B\" }");
    for other in 0..between {
        text += &once(&format!("other-{other}"), 3000 + 10 * other, "{ compute = \"1us\" }");
    }
    text += &once("b", 3000 + 10 * between, "{ sweep = \"64KiB\", stride = \"64B\" }, { compute = \"1ms\" }");
    held(&run(&parse(&text)).0, between as u32 + 1)
}

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

/// PMCTrack 4.3: the id of a process that has just ended still stands on its lines.
#[test]
fn last_in_first_out_lays_the_lines_of_the_dead_to_the_living_and_first_in_first_out_does_not() {
    let lifo = recycled("lifo", 0);
    assert!(lifo[0].1 >= MIB, "{lifo:?}");
    let fifo = recycled("fifo", 0);
    assert!(!fifo.is_empty() && fifo.iter().all(|(_, held)| *held <= 64 * KIB), "{fifo:?}");
    // The id of A is the last of 55 in the line: the 55th that comes after A gets it.
    let unused = recycled("fifo", 53);
    assert!(!unused.is_empty() && unused.iter().all(|(_, held)| *held <= 64 * KIB), "{unused:?}");
    let used = recycled("fifo", 54);
    assert!(used[0].1 >= MIB, "{used:?}");
}

/// Three tasks on a small part of the chip, of which two are one process, and one that nobody monitors ends.
const TOGETHER: &str = r#"
name = "together"
platform = "xeon-e5-2695v3"
duration = "4ms"
sample = "100us"
[scheduler]
policy = "G-FCFS"
MONITOR
[[task]]
name = "two"
copies = 2
class = "best-effort"
release = "continuous"
work = [{ random = "2MiB", stride = "64B", accesses = 2000 }]
[[task]]
name = "one"
class = "best-effort"
release = "continuous"
work = [{ sweep = "3MiB", stride = "64B", writes = "50%" }]
"#;

#[test]
fn what_all_hold_is_never_more_than_there_is_and_a_process_is_told_as_one() {
    let monitor = "[scheduler.monitor]\nmonitor = \"occupancy\"\nperiod = \"100us\"\nthreshold = 0\n\
                   classes = [\"best-effort\"]\naction = \"report\"\nprocesses = [[\"two\"]]";
    let experiment = parse(&TOGETHER.replace("MONITOR", monitor));
    let (records, end) = run(&experiment);
    let [first, second, one] = [0, 1, 2].map(|task| held(&records, task));
    assert_eq!(first, second, "a process holds what it holds");
    assert!(first.len() >= 39 && first.len() == one.len(), "{} {}", first.len(), one.len());
    for (two, one) in first.iter().zip(&one) {
        assert!(two.1 + one.1 <= 35 * MIB);
    }
    let last = (first.last().expect("samples").1, one.last().expect("samples").1);
    assert!(last.0 > MIB && last.1 > MIB, "{last:?}");
    // Two tasks of 2 MiB each, and one of 3.
    assert!(last.0 <= 4 * MIB && last.1 <= 3 * MIB, "{last:?}");
    assert!(end.curves.is_empty(), "nobody makes curves");
    // Nothing of that costs time: the run is as if something else were listened to.
    let other = "[scheduler.monitor]\nevent = \"snoop_hitm\"\nperiod = \"100us\"\nthreshold = 0\n\
                 classes = [\"best-effort\"]\naction = \"report\"";
    let (mut plain, _) = run(&parse(&TOGETHER.replace("MONITOR", other)));
    let told = |record: &Record| !matches!(record, Record::Sample(sample) if sample.core().is_none());
    let records: Vec<Record> = records.into_iter().filter(told).collect();
    plain.retain(told);
    assert_eq!(records, plain);
}

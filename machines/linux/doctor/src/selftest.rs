//! Do the counters count what they are called after?
//!
//! A wrong event code counts something, too. So each event is counted over work whose effect on it is known, once
//! little and once much of it, and has to follow:
//!
//! | event | little | much | must grow at least |
//! |---|---|---|---|
//! | instructions, branches | a loop of 100 000 | of 10 000 000 | 50 times, to 10 000 000 |
//! | cycles | the same | the same | 20 times |
//! | page faults | 16 pages | 2048 | 64 times, to nine tenths: the allocator may hand out touched pages |
//! | misses of the last level | a walk over 16 KiB | over twice the last level | 10 times |

use crate::Probe;
use solo_observe::{CountedEvent, EventGroup, Filter, catalog};
use solo_perf::files::Files;
use solo_perf::group::{Group, Start, Whom, together};
use solo_perf::resolve::{Attr, CorePmu, Resolver};
use solo_threads::sched;
use std::hint::black_box;

/// How a test came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventHealth {
    /// It follows the work.
    Follows,
    /// It counts, but not what it should.
    Wrong,
    /// The kernel does not count it here; what it said.
    Absent(String),
}

/// One event and what was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tested {
    /// Its canonical name.
    pub event: &'static str,
    /// Counted over little work.
    pub little: u64,
    /// Counted over much work.
    pub much: u64,
    /// What follows from it.
    pub verdict: EventHealth,
}

/// What an event is tried with.
struct Trial {
    event: &'static str,
    work: fn(&Scale, bool),
    /// Much over little, at least.
    factor: u64,
    /// Much, at least.
    least: u64,
}

/// Sizes that depend on the machine.
struct Scale {
    /// Twice the last-level cache, in bytes.
    walk: usize,
}

const LOOPS: u64 = 10_000_000;
const PAGES: usize = 2048;

const TRIALS: [Trial; 5] = [
    Trial { event: "instructions", work: count, factor: 50, least: LOOPS },
    Trial { event: "cycles", work: count, factor: 20, least: 1 },
    Trial { event: "branches", work: count, factor: 50, least: LOOPS / 8 },
    Trial { event: "page_faults", work: touch, factor: 64, least: PAGES as u64 * 9 / 10 },
    Trial { event: "llc_misses", work: walk, factor: 10, least: 1000 },
];

fn count(_: &Scale, much: bool) {
    let loops = if much { LOOPS } else { LOOPS / 100 };
    for i in 0..loops {
        black_box(i);
    }
}

fn touch(_: &Scale, much: bool) {
    // Pieces too small for transparent huge pages, and kept, so that the allocator hands out no page twice.
    let pieces = if much { PAGES / 16 } else { 1 };
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for _ in 0..pieces {
        let mut piece = vec![0_u8; 16 * 4096];
        piece.chunks_mut(4096).for_each(|page| page[0] = 1);
        kept.push(piece);
    }
    black_box(&kept);
}

/// Reads lines in an order that no prefetcher guesses.
fn walk(scale: &Scale, much: bool) {
    let bytes = if much { scale.walk } else { 16 << 10 };
    let memory = vec![1_u8; bytes];
    let lines = bytes / 64;
    let (mut at, mut sum) = (0, 0_u64);
    for _ in 0..200_000 {
        // A full-period generator over the lines: the multiplier is 1 modulo 4, the increment odd.
        at = (at * 1_664_525 + 1_013_904_223) % lines;
        sum += u64::from(memory[at * 64]);
    }
    black_box(sum);
}

/// Tries every event on this thread, in user mode (page faults in the kernel, too, where allowed).
pub fn run(files: &dyn Files) -> Vec<Tested> {
    let resolver = Resolver::new(files);
    let scale = Scale { walk: (2 * last_level(files)).clamp(8 << 20, 256 << 20) };
    TRIALS.iter().map(|trial| try_one(trial, &resolver, &scale)).collect()
}

fn try_one(trial: &Trial, resolver: &Resolver<'_>, scale: &Scale) -> Tested {
    let counted = |much: bool| -> Result<u64, String> {
        let code = catalog::find(trial.event).and_then(catalog::perf).ok_or("not in the catalogue")?;
        let set = EventGroup { events: vec![CountedEvent::new(trial.event, code.into())] };
        let groups = resolver.groups(&set, Filter::USER).map_err(|error| error.to_string())?;
        let open = |members: &Vec<_>| Group::open(members, Whom::Thread(0), Start::Now);
        let mut open = groups
            .iter()
            .map(open)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|refused| refused.source.to_string())?;
        (trial.work)(scale, much);
        let mut sum = 0;
        for group in &mut open {
            let reading = group.advance().map_err(|error| error.to_string())?;
            sum += reading.counts.iter().sum::<u64>();
        }
        Ok(sum)
    };
    // Once for nothing: page tables, allocator and predictors settle.
    let _ = counted(false);
    let (little, much) = match (counted(false), counted(true)) {
        (Ok(little), Ok(much)) => (little, much),
        (Err(why), _) | (_, Err(why)) => {
            return Tested { event: trial.event, little: 0, much: 0, verdict: EventHealth::Absent(why) };
        }
    };
    Tested { event: trial.event, little, much, verdict: judge(little, much, trial.factor, trial.least) }
}

fn judge(little: u64, much: u64, factor: u64, least: u64) -> EventHealth {
    if much >= least && much / factor >= little { EventHealth::Follows } else { EventHealth::Wrong }
}

/// The size of the last-level cache in bytes.
fn last_level(files: &dyn Files) -> usize {
    let base = "/sys/devices/system/cpu/cpu0/cache";
    let size = |index: String| {
        let text = files.text(&format!("{base}/{index}/size"))?;
        let kib: usize = text.strip_suffix('K')?.parse().ok()?;
        Some(kib << 10)
    };
    files.list(base).into_iter().filter_map(size).max().unwrap_or(32 << 20)
}

/// Asks the kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelProbe;

impl Probe for KernelProbe {
    /// Opens branches, which every counter but the fixed ones can count, until a group is refused.
    fn counters(&self, pmu: &CorePmu) -> Option<usize> {
        // PERF_TYPE_HARDWARE, branch instructions; the upper half names the PMU.
        let config = 4 | if pmu.name == "cpu" { 0 } else { u64::from(pmu.kind) << 32 };
        together(&Attr { config: [config, 0, 0], exclude_kernel: true, ..Attr::default() })
    }

    /// A thread that ends at once tries.
    fn fifo(&self) -> Option<bool> {
        std::thread::spawn(|| sched::fifo(sched::priorities().1).is_ok()).join().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_must_follow_the_work_in_both_directions() {
        assert_eq!(judge(10, 1000, 50, 500), EventHealth::Follows);
        assert_eq!(judge(100, 1000, 50, 500), EventHealth::Wrong);
        assert_eq!(judge(0, 400, 50, 500), EventHealth::Wrong);
        assert_eq!(judge(0, 0, 50, 1), EventHealth::Wrong);
    }

    #[test]
    fn page_faults_follow_on_every_machine_that_counts_them() {
        let tested = run(&solo_perf::files::Host::new());
        let faults = tested.iter().find(|tested| tested.event == "page_faults").unwrap();
        if let EventHealth::Absent(why) = &faults.verdict {
            println!("skipped: self-test of page faults: {why}");
            return;
        }
        assert_eq!(faults.verdict, EventHealth::Follows, "{faults:?}");
    }
}

//! The stream prefetcher changes times, not answers: a sweep is faster with it, random accesses are as they were.

use solo_model::platform::StreamPrefetcher;
use solo_model::{CoreId, Picoseconds, Platform, Signal};
use solo_sim::memory::fixtures::xeon_w3530;
use solo_sim::memory::{AccessKind, Answer, Hierarchy, PhysicalAddress};

const CORE: CoreId = CoreId(1);

fn platform(on: bool) -> Platform {
    let mut platform = xeon_w3530();
    platform.prefetcher = Some(StreamPrefetcher { on, streams: 16, after: 2, distance: 8 });
    platform
}

/// Loads `lines` one after the other, each after the data of the one before.
fn load(on: bool, lines: impl Iterator<Item = u64>) -> (Picoseconds, Hierarchy) {
    let mut memory = Hierarchy::new(&platform(on), 1).unwrap();
    let mut now = Picoseconds::ZERO;
    for line in lines {
        let mut wanted = None;
        match memory.access(CORE, now, PhysicalAddress(line * 64), AccessKind::Read) {
            Answer::Hit { latency, .. } => now += latency,
            Answer::Miss { request, .. } => wanted = Some(request),
        }
        while let Some(request) = wanted {
            let next = memory.next_event().expect("memory works on it");
            memory.advance(next, |completion| {
                // Nobody is told of lines that nobody asked for.
                assert_eq!(completion.request, request);
                now = completion.at;
                wanted = None;
            });
        }
        // What was prefetched is decided by the time it is wanted.
        while memory.next_event().is_some_and(|next| next <= now) {
            memory.advance(now, |completion| panic!("{completion:?} for nobody"));
        }
    }
    (now, memory)
}

#[test]
fn a_sweep_is_at_least_twice_as_fast_and_reads_each_line_once() {
    let lines = 4096;
    let (slow, without) = load(false, 0..lines);
    let (fast, with) = load(true, 0..lines);
    println!("a line takes {} without, {} with the prefetcher", slow / lines, fast / lines);
    assert!(fast * 2 < slow, "{fast} against {slow}");
    let count = |memory: &Hierarchy, event| memory.counts(CORE)[event];
    assert_eq!(count(&without, Signal::DramRead), lines);
    assert_eq!((count(&without, Signal::Prefetch), count(&without, Signal::LlcMiss)), (0, lines));
    assert_eq!(count(&with, Signal::DramRead), lines);
    assert_eq!(count(&with, Signal::LlcMiss) + count(&with, Signal::Prefetch), lines);
    // Each page begins with three lines that nobody foresaw; few more come while the prefetcher waits for as many
    // lines as it can.
    let missed = count(&with, Signal::LlcMiss);
    println!("{missed} of {lines} lines missed");
    // Nobody foresees the first line of a page.
    assert!((lines / 64..lines / 32).contains(&missed), "{missed}");
}

#[test]
fn random_loads_are_not_touched() {
    let lines: Vec<u64> = (0..4000).map(|n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45).collect();
    let (slow, _) = load(false, lines.iter().copied());
    let (fast, with) = load(true, lines.iter().copied());
    assert_eq!(slow, fast);
    assert_eq!(with.counts(CORE)[Signal::Prefetch], 0);
}

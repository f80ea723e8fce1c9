//! The staircase of every shipped platform: a pointer chase shows the latency of each level to each kind of core,
//! and loads of lines never seen before show that of memory.

use solo_model::platform::Contents;
use solo_model::{CoreId, Picoseconds, Platform};
use solo_scenario::Platforms;
use solo_sim::memory::{AccessKind, Answer, Hierarchy, PhysicalAddress};
use std::path::Path;

/// The average time of a load that waits for the one before, over `rounds` rounds through `lines`, in that order, after
/// one round that is not measured unless it is the only one.
fn loads(platform: &Platform, core: CoreId, lines: &[u64], rounds: usize) -> Picoseconds {
    let mut memory = Hierarchy::new(platform, 1).expect("the platform can be built");
    let mut now = Picoseconds::ZERO;
    let (mut start, mut count) = (now, 0);
    for round in 0..rounds {
        if round == 1 {
            (start, count) = (now, 0);
        }
        for line in lines {
            count += 1;
            now = match memory.access(core, now, PhysicalAddress(line * 64), AccessKind::Read) {
                Answer::Hit { latency, .. } => now + latency,
                Answer::Miss { .. } => {
                    let mut back = None;
                    while back.is_none() {
                        let next = memory.next_event().expect("memory works on it");
                        memory.advance(next, |completion| back = Some(completion.at));
                    }
                    back.unwrap_or(now)
                }
            };
        }
    }
    (now - start) / count.max(1)
}

/// The numbers below `count` in random order.
fn shuffled(count: u64) -> Vec<u64> {
    let mut lines: Vec<u64> = (0..count).collect();
    let mut random = solo_workload::SplitMix64::new(7);
    for last in (1..lines.len()).rev() {
        lines.swap(last, random.below(last as u64 + 1) as usize);
    }
    lines
}

fn near(what: &str, actual: f64, expected: f64, share: f64) {
    println!("{what}: {actual:.1}, expected {expected:.1}");
    assert!((actual / expected - 1.0).abs() <= share, "{what}: {actual:.1} instead of {expected:.1}");
}

/// Checks one core of each kind: levels within 12 %, memory within a quarter of `memory_ns`, one for each kind.
fn staircase(name: &str, memory_ns: &[f64]) {
    let platform = Platforms::builtin().load(name, Path::new("")).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(platform.kinds.len(), memory_ns.len(), "kinds of {name}");
    for (number, (kind, memory)) in platform.kinds.iter().zip(memory_ns).enumerate() {
        let core =
            platform.cores.iter().position(|core| usize::from(core.kind) == number).expect("one of each");
        let core = CoreId(core as u16);
        let cycle = 1e12 / kind.clock.get() as f64;
        let mut nearer = 0;
        let path = platform.caches.iter().filter(|cache| cache.cores.contains(core));
        for cache in path.filter(|cache| cache.contents != Contents::Instructions) {
            let size = cache.size.get();
            let chased = if nearer == 0 { size / 2 } else { (size / 2).min(4 * nearer) };
            assert!(chased > nearer, "{name}: level {} is hardly larger than the one before", cache.level);
            let time = loads(&platform, core, &shuffled(chased / 64), 3).get() as f64 / cycle;
            let what = format!("{name}, {}, L{} in cycles", kind.name, cache.level);
            near(&what, time, cache.latency.get() as f64, 0.12);
            nearer += size;
        }
        // One line in each of 20,000 pages.
        let far: Vec<u64> = shuffled(20_000).iter().map(|page| page * 64 + page % 64).collect();
        let time = loads(&platform, core, &far, 1).get() as f64 / 1000.0;
        near(&format!("{name}, {}, memory in ns", kind.name), time, *memory, 0.25);
    }
}

#[test]
fn the_core_2_and_quickia_show_their_levels() {
    // 70 to 90 ns, and about 110 ns: guesses (research note, section 3).
    staircase("core2-q9550", &[80.0]);
    staircase("quickia", &[110.0, 110.0]);
}

#[test]
fn the_nehalem_and_the_sandy_bridge_show_their_levels() {
    // 60 to 81 ns (AnandTech's table and Intel's guide), and about 65 ns, a guess.
    staircase("xeon-w3530", &[70.0]);
    staircase("i7-2600", &[65.0]);
}

#[test]
fn juno_and_the_p4080_show_their_levels() {
    // About 140 and 180 ns, guesses; nobody has said what the P4080 has.
    staircase("juno", &[140.0, 180.0]);
    staircase("p4080", &[110.0]);
}

#[test]
fn the_opteron_and_the_haswell_show_their_levels() {
    // 113 ns (AnandTech, at 2.6 GHz; the slow cores take longer to look up their caches); about 90 ns, a guess.
    staircase("opteron-2425", &[113.0, 160.0]);
    staircase("xeon-e5-2695v3", &[90.0]);
}

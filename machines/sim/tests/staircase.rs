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

/// What is published, from the least to the most.
type Range = (f64, f64);

fn within(what: &str, actual: f64, (least, most): Range) {
    println!("{what}: {actual:.1}, published or guessed {least:.1} to {most:.1}");
    assert!((least..=most).contains(&actual), "{what}: {actual:.1} is not from {least} to {most}");
}

/// A figure of the research note (section 3) that has a source: a tenth more or less (its check T5).
fn sourced(figure: f64) -> Range {
    (figure * 0.9, figure * 1.1)
}

/// A guess of the note: a quarter more or less.
fn guessed(figure: f64) -> Range {
    (figure * 0.75, figure * 1.25)
}

/// Checks one core of each kind: cycles of each level, and nanoseconds of memory.
fn staircase(name: &str, kinds: &[(&[Range], Range)]) {
    let platform = Platforms::builtin().load(name, Path::new("")).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(platform.kinds.len(), kinds.len(), "kinds of {name}");
    for (number, (kind, (levels, memory))) in platform.kinds.iter().zip(kinds).enumerate() {
        let core =
            platform.cores.iter().position(|core| usize::from(core.kind) == number).expect("one of each");
        let core = CoreId(core as u16);
        let cycle = 1e12 / kind.clock.get() as f64;
        let mut nearer = 0;
        let path = platform.caches.iter().filter(|cache| cache.cores.contains(core));
        let path: Vec<_> = path.filter(|cache| cache.contents != Contents::Instructions).collect();
        assert_eq!(path.len(), levels.len(), "levels of {name}");
        for (cache, published) in path.into_iter().zip(*levels) {
            let size = cache.size.get();
            let chased = if nearer == 0 { size / 2 } else { (size / 2).min(4 * nearer) };
            assert!(chased > nearer, "{name}: level {} is hardly larger than the one before", cache.level);
            let time = loads(&platform, core, &shuffled(chased / 64), 3).get() as f64 / cycle;
            let what = format!("{name}, {}, L{} in cycles", kind.name, cache.level);
            within(&what, time, *published);
            // What the file says is what a program finds.
            assert!((time / cache.latency.get() as f64 - 1.0).abs() < 0.01, "{what}: {time}");
            nearer += size;
        }
        // One line in each of 20,000 pages.
        let far: Vec<u64> = shuffled(20_000).iter().map(|page| page * 64 + page % 64).collect();
        let time = loads(&platform, core, &far, 1).get() as f64 / 1000.0;
        within(&format!("{name}, {}, memory in ns", kind.name), time, *memory);
    }
}

#[test]
fn the_core_2_and_quickia_show_their_levels() {
    // Sniper's file and CPU-Z; 70 to 90 ns is a guess.
    let core_2: &[Range] = &[sourced(3.0), (12.0, 15.1)];
    staircase("core2-q9550", &[(core_2, (70.0 * 0.75, 90.0 * 1.25))]);
    let atom: &[Range] = &[guessed(3.0), guessed(16.0)];
    staircase("quickia", &[(core_2, guessed(110.0)), (atom, guessed(110.0))]);
}

#[test]
fn the_nehalem_and_the_sandy_bridge_show_their_levels() {
    // Sniper's 35 to AnandTech's 47 cycles; 60 to 81 ns (AnandTech's table and Intel's guide).
    staircase("xeon-w3530", &[(&[sourced(4.0), (8.9, 10.1), (35.0, 47.0)], (60.0, 81.0))]);
    // TechReport's 4, 12, 30; the thesis charges 31; 26 to 35 by slice. Memory is a guess.
    staircase("i7-2600", &[(&[sourced(4.0), sourced(12.0), (26.0, 35.0)], guessed(65.0))]);
}

#[test]
fn juno_and_the_p4080_show_their_levels() {
    let a57: &[Range] = &[guessed(4.0), (18.0, 22.0)];
    let a53: &[Range] = &[guessed(3.0), (13.0, 15.0)];
    staircase("juno", &[(a57, guessed(140.0)), (a53, guessed(180.0))]);
    // Nobody has said what the P4080's memory takes.
    staircase("p4080", &[(&[guessed(3.0), guessed(11.0), (40.0, 60.1)], guessed(110.0))]);
}

#[test]
fn the_opteron_and_the_haswell_show_their_levels() {
    // AnandTech's 3, 11 to 16, 56 cycles and 113 ns, all at 2.6 GHz. The slow cores take longer to look up their caches.
    let levels: &[Range] = &[sourced(3.0), (11.0, 16.0), sourced(56.0)];
    staircase("opteron-2425", &[(levels, sourced(113.0)), (levels, guessed(160.0))]);
    staircase("xeon-e5-2695v3", &[(&[sourced(4.0), sourced(12.0), (50.0, 60.0)], guessed(90.0))]);
}

//! The staircase of a pointer chase: each level of a platform shows its latency, and DRAM shows its own.

use solo_model::{CoreId, Picoseconds, Platform};
use solo_sim::memory::fixtures::{i7_2600, xeon_w3530};
use solo_sim::memory::{AccessKind, Answer, Hierarchy, PhysicalAddress};

/// The average time of a load in a chase along one random cycle through `kib` KiB, in cycles of the core.
fn chase(platform: &Platform, kib: u64) -> f64 {
    let lines = kib * 1024 / 64;
    // Sattolo's shuffle: one cycle through all lines.
    let mut next: Vec<u64> = (0..lines).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for last in (1..lines as usize).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        next.swap(last, (state % last as u64) as usize);
    }
    let mut memory = Hierarchy::new(platform, 1).unwrap();
    let (mut now, mut place) = (Picoseconds::ZERO, 0_usize);
    let measured = lines.max(20_000);
    let mut start = now;
    for step in 0..lines + measured {
        if step == lines {
            start = now;
        }
        let address = PhysicalAddress(place as u64 * 64);
        now = match memory.access(CoreId(0), now, address, AccessKind::Read) {
            Answer::Hit { latency, .. } => now + latency,
            Answer::Miss { .. } => {
                let mut back = None;
                while back.is_none() {
                    let next = memory.next_event().unwrap();
                    memory.advance(next, |completion| back = Some(completion.at));
                }
                back.unwrap()
            }
        };
        place = next[place] as usize;
    }
    let cycle = 1e12 / platform.kinds[0].clock.get() as f64;
    (now - start).get() as f64 / measured as f64 / cycle
}

fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual / expected - 1.0).abs() <= tolerance, "{actual:.1} cycles instead of {expected:.1}");
}

fn staircase(platform: &Platform, levels: [f64; 3]) {
    near(chase(platform, 16), levels[0], 0.001);
    near(chase(platform, 128), levels[1], 0.1);
    near(chase(platform, 2048), levels[2], 0.15);
}

#[test]
fn the_w3530_shows_its_levels() {
    let platform = xeon_w3530();
    staircase(&platform, [4.0, 10.0, 39.0]);
    // 60 to 81 ns from the core (AnandTech's table and Intel's guide, simulator notes section 3).
    let nanoseconds = chase(&platform, 32 * 1024) / 2.8;
    assert!((60.0..81.0).contains(&nanoseconds), "{nanoseconds} ns");
}

#[test]
fn the_i7_2600_shows_its_levels() {
    let platform = i7_2600();
    staircase(&platform, [4.0, 12.0, 29.0]);
    // About 65 ns in all, a guess (simulator notes section 3): 25 %.
    let nanoseconds = chase(&platform, 32 * 1024) / 3.4;
    assert!((49.0..82.0).contains(&nanoseconds), "{nanoseconds} ns");
}

//! Sets of tasks in no order.

use super::machine::{Does, Protocol, Set, Task};

/// Lehmer's generator.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// Lengths are multiples of this, and offsets are not: on several cores few things then happen at one instant.
const COARSE: u64 = 16;

/// On one core everything may fall together: then all lengths are small numbers.
pub(crate) fn drawn(seed: u64) -> Set {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    draw.below(2);
    let domains = match draw.below(10) {
        0..4 => vec![1; 1 + draw.below(3) as usize],
        4..7 => vec![1 + draw.below(2) as usize, 1 + draw.below(3) as usize],
        _ => vec![1 + draw.below(3) as usize],
    };
    let cores: usize = domains.iter().sum();
    let unit = if cores == 1 { 1 } else { COARSE };
    let locks = (0..draw.below(4)).map(|_| match draw.below(4) {
        0 => Protocol::Plain,
        1 => Protocol::Inheritance,
        2 => Protocol::Ceiling,
        _ => Protocol::Semaphore(1 + draw.below(2) as u32),
    });
    let locks: Vec<Protocol> = locks.collect();
    let count = 2 + draw.below(2 + 2 * cores as u64) as usize;
    let classes = draw.below(3) + 1;
    let tasks = (0..count).map(|index| {
        let period = unit * (6 + draw.below(26));
        // Each has a remainder of its own, which lengths leave as it is.
        let fine = if unit > 1 { 1 + index as u64 % (COARSE - 1) } else { 0 };
        Task {
            class: draw.below(classes) as u8,
            offset: fine + unit * if draw.one_in(2) { 0 } else { draw.below(12) },
            period,
            deadline: if draw.one_in(2) { period } else { unit * (2 + draw.below(40)) },
            priority: draw.below(6),
            domain: draw.below(domains.len() as u64) as usize,
            does: work(&mut draw, locks.len(), unit),
        }
    });
    let tasks: Vec<Task> = tasks.collect();
    Set { earliest_deadline: draw.one_in(2), domains, horizon: unit * 160 + 5, locks, tasks }
}

/// Computations with sections, nested and overlapping ones among them, and sleeps outside and, rarely, inside of them.
fn work(draw: &mut Draw, locks: usize, unit: u64) -> Vec<Does> {
    let compute = |draw: &mut Draw| Does::Compute(unit * (1 + draw.below(3)));
    let sleep = |draw: &mut Draw| Does::Sleep(unit * (1 + draw.below(8)));
    let mut does = vec![compute(draw)];
    for _ in 0..draw.below(4) {
        if locks == 0 || draw.one_in(3) {
            does.push(if draw.one_in(2) { sleep(draw) } else { compute(draw) });
            continue;
        }
        let outer = draw.below(locks as u64) as usize;
        let inner = draw.below(locks as u64) as usize;
        does.extend([Does::Take(outer), compute(draw)]);
        if draw.one_in(8) {
            does.push(sleep(draw));
        }
        if inner != outer && draw.one_in(2) {
            does.extend([Does::Take(inner), compute(draw)]);
            // The one taken last is given back first, or last.
            let order = if draw.one_in(4) { [outer, inner] } else { [inner, outer] };
            does.extend([Does::Give(order[0]), compute(draw), Does::Give(order[1])]);
        } else {
            does.push(Does::Give(outer));
        }
    }
    if draw.one_in(2) {
        does.push(compute(draw));
    }
    does
}

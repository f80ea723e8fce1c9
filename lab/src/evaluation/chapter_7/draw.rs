//! Task sets of chapter 7, and where two heuristics place them.

use super::Size;
use crate::evaluation::drawn::Drawn;
use solo_model::Bytes;
use solo_model::task::TaskClass;
use solo_prove::color::cap::cap;
use solo_prove::color::{ColoredTask, Memory};
use solo_prove::pack::{Fit, Order, Share, pack};
use solo_workload::SplitMix64;

/// One color for each of this many groups.
pub(super) const GROUPS: u16 = 8;
/// The colors that the thesis's kernel tells apart on this processor (6.2).
pub(super) const COLORS: u16 = 32;

/// A task of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Colored {
    pub(super) drawn: Drawn,
    pub(super) color: u16,
}

/// A set, and the core of each task by both heuristics.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub(super) tasks: Vec<Colored>,
    pub(super) cap: Vec<usize>,
    pub(super) wfd: Vec<usize>,
}

/// Draws a set of 23 to 30 tasks, groups of two to six that fill 0.9 to 1.0 of a core, which both heuristics can place
/// (thesis 7.3.1).
pub(super) fn draw(set: u64, size: Size) -> Set {
    let number = 0x7_0000_u64.wrapping_add(set);
    let mut random = SplitMix64::new(number.wrapping_add(size.seed.wrapping_sub(1) << 32));
    loop {
        let tasks: Vec<Colored> =
            (0..GROUPS).flat_map(|color| group(&mut random, color, size.scale)).collect();
        if !(23..=30).contains(&tasks.len()) {
            continue;
        }
        if let Some((cap, wfd)) = placed(&tasks) {
            return Set { tasks, cap, wfd };
        }
    }
}

/// The core of each task by CAP and by worst-fit decreasing; `None` where one of them finds no room.
fn placed(tasks: &[Colored]) -> Option<(Vec<usize>, Vec<usize>)> {
    let colored = |task: &Colored| {
        let (c, t) = (task.drawn.wcet.get(), task.drawn.period.get());
        ColoredTask::new(c, t, TaskClass::Hard, Bytes::from_kib(32), &[task.color])
    };
    let colored: Vec<ColoredTask> = tasks.iter().map(colored).collect();
    let memory = Memory { total: Bytes::from_mib(1024), colors: GROUPS };
    let by_color = cap(&colored, &memory, GROUPS.into(), Share::cores(1), Fit::Worst).ok()?;
    let shares: Vec<Share> = colored.iter().map(ColoredTask::share).collect();
    let alone = pack(&shares, GROUPS.into(), Share::cores(1), Fit::Worst, Order::Decreasing).ok()?;
    let homes = |parts: &[Vec<usize>]| {
        let home = |task| parts.iter().position(|part| part.contains(&task));
        (0..tasks.len()).map(home).collect::<Option<Vec<usize>>>()
    };
    Some((homes(&by_color)?, homes(&alone)?))
}

/// Tasks of a color until they fill their core; drawn anew where they overfill it or are too many.
fn group(random: &mut SplitMix64, color: u16, scale: u64) -> Vec<Colored> {
    loop {
        let (mut tasks, mut sum) = (Vec::new(), 0);
        while sum < 900 {
            let drawn = Drawn::draw(random, &[25, 50, 75, 100, 150, 200], scale);
            sum += drawn.utilization;
            tasks.push(Colored { drawn, color });
        }
        if sum <= 1000 && (2..=6).contains(&tasks.len()) {
            return tasks;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the thesis says of its sets (7.3.1), and what the heuristics make of them: CAP keeps a color on one core.
    #[test]
    fn sets_are_drawn_and_placed_as_the_thesis_says() {
        let mut torn = 0;
        for set in 0..10 {
            let Set { tasks, cap, wfd } = draw(set, Size { sets: 10, jobs: 1, scale: 1, seed: 1 });
            assert!((23..=30).contains(&tasks.len()));
            for color in 0..GROUPS {
                let homes = |cores: &[usize]| {
                    let own = tasks.iter().zip(cores).filter(|(task, _)| task.color == color);
                    let mut homes: Vec<usize> = own.map(|(_, core)| *core).collect();
                    assert!((2..=6).contains(&homes.len()));
                    homes.sort_unstable();
                    homes.dedup();
                    homes.len()
                };
                assert_eq!(homes(&cap), 1);
                torn += usize::from(homes(&wfd) > 1);
            }
        }
        assert!(torn >= 72, "of 80 groups, {torn}");
    }
}

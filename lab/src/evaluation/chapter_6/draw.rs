//! Task sets of chapter 6, and where they may run.

use super::{Scheduler, Size};
use crate::evaluation::drawn::Drawn;
use solo_model::policy::Scope;
use solo_model::{CoreId, CoreSet, Platform};
use solo_workload::SplitMix64;

/// A task, and the first of the cores that it may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) drawn: Drawn,
    pub(super) core: usize,
}

/// Draws tasks until the next one would break the bound of the scheduler (thesis 6.1); anew where none has the longest
/// period, which one of each set has (6.3).
pub(super) fn draw(platform: &Platform, scheduler: Scheduler, set: u64, size: Size) -> Vec<Placed> {
    let number = 0x6_0000_u64.wrapping_add(set * 3 + scheduler as u64);
    let mut random = SplitMix64::new(number.wrapping_add(size.seed.wrapping_sub(1) << 32));
    let longest = Drawn::period(200, size.scale);
    let mut tasks: Vec<Placed> = Vec::new();
    loop {
        let drawn = Drawn::draw(&mut random, &[25, 50, 100, 200], size.scale);
        let mut more = tasks.clone();
        more.push(Placed { drawn, core: 0 });
        if place(&mut more, scheduler, platform.cores.len()) {
            tasks = more;
        } else if tasks.iter().any(|task| task.drawn.period == longest) {
            return tasks;
        } else {
            tasks.clear();
        }
    }
}

/// Worst fit decreasing: the largest first, each to the emptiest part. False where some part breaks its bound.
fn place(tasks: &mut [Placed], scheduler: Scheduler, cores: usize) -> bool {
    let parts = match scheduler {
        Scheduler::Partitioned => cores,
        Scheduler::Clustered => (cores / 2).max(1),
        Scheduler::Global => 1,
    };
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(tasks[at].drawn.utilization));
    let mut load = vec![(0_u64, 0_u64); parts];
    for at in order {
        let part = (0..parts).min_by_key(|&part| load[part].0).unwrap_or(0);
        let utilization = tasks[at].drawn.utilization;
        load[part] = (load[part].0 + utilization, load[part].1.max(utilization));
        tasks[at].core = part * (cores / parts);
    }
    // GFB: U <= m - (m - 1) u_max in each part; one core has U <= 1.
    let m = (cores / parts) as u64;
    load.iter().all(|&(sum, most)| sum <= m * 1000 - (m - 1) * most)
}

/// The cores that share a queue.
pub(super) fn scope(platform: &Platform, scheduler: Scheduler) -> Scope {
    match scheduler {
        Scheduler::Partitioned => Scope::Partitioned,
        Scheduler::Global => Scope::Global,
        // Neighbors share a second level.
        Scheduler::Clustered => {
            let cores: Vec<CoreId> = (0..platform.cores.len()).map(|core| CoreId(core as u16)).collect();
            let pairs = cores.chunks(2).map(|pair| pair.iter().copied().collect::<CoreSet>());
            Scope::Clustered(pairs.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Machine;

    #[test]
    fn neighbors_of_the_modelled_processor_share_a_second_level() {
        let machine = Machine::of_the_thesis().expect("it is built in");
        for pair in machine.platform.cores.chunks(2) {
            assert!(pair.iter().all(|core| core.physical == pair[0].physical));
        }
    }

    #[test]
    fn a_set_is_within_the_bound_of_its_scheduler_and_one_more_task_is_not() {
        let machine = Machine::of_the_thesis().expect("it is built in");
        for scheduler in Scheduler::ALL {
            for set in 0..50 {
                let size = Size { sets: 50, jobs: 1, scale: 1, seed: 1 };
                let mut tasks = draw(&machine.platform, scheduler, set, size);
                assert!(tasks.len() >= 4, "{scheduler:?} {set}");
                assert!(place(&mut tasks, scheduler, 8));
                // The largest that can be drawn.
                for _ in 0..8 {
                    let drawn = Drawn { utilization: 700, ..tasks[0].drawn };
                    tasks.push(Placed { drawn, core: 0 });
                }
                assert!(!place(&mut tasks, scheduler, 8));
            }
        }
    }
}

//! Tasks are given the cores that the figures of the thesis give them, and every core stays schedulable.

use solo_prove::pack::{Capacity, Fit, Full, Order, Sizes, Unplaced, place, place_among};
use solo_prove::{Effort, Task, Ticks};

fn placed(
    tasks: &[Task],
    held: &[Option<usize>],
    cores: usize,
    fit: Fit,
    order: Order,
) -> Result<Vec<usize>, Unplaced> {
    place(tasks, held, cores, (fit, order), Capacity::Edf, &mut Effort::default())
}

fn tenths(sizes: &[u64]) -> Vec<Task> {
    sizes.iter().map(|&size| Task::implicit(size, 10)).collect()
}

const FREE: [Option<usize>; 8] = [None; 8];

/// Thesis 2.4.2.1, Figs. 22 to 25.
#[test]
fn figures_22_to_25() {
    let tasks = tenths(&[8, 5, 7, 6, 2, 4, 1]);
    let run = |fit, order| placed(&tasks, &FREE[..7], 4, fit, order).unwrap();
    assert_eq!(run(Fit::First, Order::Given), [0, 1, 2, 3, 0, 1, 1]);
    assert_eq!(run(Fit::Best, Order::Given), [0, 1, 2, 3, 0, 3, 2]);
    assert_eq!(run(Fit::Worst, Order::Given), [0, 1, 2, 3, 1, 3, 1]);
    assert_eq!(run(Fit::Worst, Order::Decreasing), [0, 3, 1, 2, 2, 3, 1]);
}

#[test]
fn tasks_that_have_a_core_stay_and_take_room() {
    let tasks = tenths(&[6, 5, 5, 4]);
    let held = [None, Some(0), None, None];
    assert_eq!(placed(&tasks, &held, 2, Fit::First, Order::Given), Ok(vec![1, 0, 0, 1]));
    // Nobody asks whether what was placed by hand fits.
    let held = [Some(1), Some(1), None, Some(1)];
    assert_eq!(placed(&tasks, &held, 2, Fit::First, Order::Given), Ok(vec![1, 1, 0, 1]));
    assert_eq!(placed(&tenths(&[6, 5, 9]), &FREE[..3], 2, Fit::Next, Order::Given).unwrap_err().task, 2);
    // The first core has room for the last one, and next fit does not go back.
    let behind = placed(&tenths(&[2, 9, 4]), &FREE[..3], 2, Fit::Next, Order::Given).unwrap_err().tried;
    assert_eq!(behind, [Full::Behind, Full::Utilization { millionths: 1_300_000 }]);
}

/// Three thousand small tasks under rate-monotonic priorities: their sum says at once that they fit, within the effort that `solo plan`
/// has for a placement; and what a placement has no effort for is not said to be late.
#[test]
fn thousands_of_small_tasks_are_placed_by_their_sum() {
    let tasks: Vec<Task> = (0..3000).map(|at| Task::implicit(1, 10_000 + at % 37)).collect();
    let keys: Vec<u64> = tasks.iter().map(|task| task.t.get()).collect();
    let held = vec![None; tasks.len()];
    let run = |tasks: &[Task], steps| {
        let how = (Fit::Worst, Order::Decreasing);
        place(tasks, &held, 8, how, Capacity::Fixed(&keys), &mut Effort::steps(steps))
    };
    let homes = run(&tasks, 1 << 24).unwrap();
    assert!((0..8).all(|core| homes.iter().filter(|&&home| home == core).count() == 375));
    // Deadlines below periods have no such sum.
    let urgent: Vec<Task> =
        tasks.iter().map(|task| Task::new(task.c.get(), task.t.get(), task.t.get() - 1)).collect();
    assert_eq!(run(&urgent, 1 << 12).unwrap_err().tried, vec![Full::Undecided; 8]);
}

#[test]
fn what_failed_is_named_on_each_core() {
    let halves = vec![Task::implicit(51, 100); 3];
    let utilization = Full::Utilization { millionths: 1_020_000 };
    assert_eq!(
        placed(&halves, &FREE[..3], 2, Fit::First, Order::Given),
        Err(Unplaced { task: 2, tried: vec![utilization; 2] })
    );
    // Half of a core each, and both due at once.
    let urgent = vec![Task::new(5, 10, 5); 2];
    let demand = Full::Demand { millionths: 1_000_000 };
    assert_eq!(
        placed(&urgent, &FREE[..2], 1, Fit::First, Order::Given),
        Err(Unplaced { task: 1, tried: vec![demand] })
    );
    // Rate-monotonic: 60 % of 10 and 40 % of 15 fit by utilisation and not by response times.
    let tasks = [Task::implicit(6, 10), Task::implicit(6, 15)];
    let keys = [10, 15];
    let fit = (Fit::First, Order::Given);
    let run = |capacity| place(&tasks, &FREE[..2], 1, fit, capacity, &mut Effort::default());
    let late = Full::Response { late: 1, deadline: Ticks(15) };
    assert_eq!(run(Capacity::Fixed(&keys)), Err(Unplaced { task: 1, tried: vec![late] }));
    assert_eq!(run(Capacity::Edf), Ok(vec![0, 0]));
}

#[test]
fn a_placement_is_schedulable_on_each_core_and_agrees_with_packing_by_utilisation() {
    let mut random = solo_model::SplitMix64::new(3);
    let (mut fitted, mut stuck) = (0, 0);
    for _ in 0..400 {
        let periods = [10, 12, 15, 20, 30];
        let count = 1 + random.below(8) as usize;
        let task = |random: &mut solo_model::SplitMix64| {
            let t = periods[random.below(5) as usize];
            Task::implicit(1 + random.below(t), t)
        };
        let tasks: Vec<Task> = (0..count).map(|_| task(&mut random)).collect();
        let cores = 1 + random.below(4) as usize;
        for fit in [Fit::First, Fit::Best, Fit::Worst, Fit::Next] {
            for order in [Order::Given, Order::Decreasing] {
                let shares: Vec<solo_prove::pack::Share> =
                    tasks.iter().map(solo_prove::pack::Share::of).collect();
                let packed =
                    solo_prove::pack::pack(&shares, cores, solo_prove::pack::Share::cores(1), fit, order);
                match placed(&tasks, &FREE[..count], cores, fit, order) {
                    Ok(homes) => {
                        fitted += 1;
                        let bins = packed.expect("packing finds the same");
                        for (bin, content) in bins.iter().enumerate() {
                            assert!(content.iter().all(|&task| homes[task] == bin), "{tasks:?} {fit:?}");
                            // In sixtieths, all sizes are whole.
                            let load: u64 = content
                                .iter()
                                .map(|&task| tasks[task].c.get() * (60 / tasks[task].t.get()))
                                .sum();
                            assert!(load <= 60);
                        }
                    }
                    Err(unplaced) => {
                        stuck += 1;
                        assert_eq!(packed, Err(unplaced.task));
                    }
                }
            }
        }
    }
    assert!(fitted > 100 && stuck > 100, "{fitted} fitted, {stuck} stuck");
}

/// First and worst fit on slow and fast cores, held against loops that know nothing of tasks: a task asks for `size` hundredths of a fast
/// core and `slow` times as many of a slow one.
#[test]
fn on_unequal_cores_a_task_asks_of_each_what_it_asks_for_there() {
    let (mut fitted, mut stuck, mut fast_only) = (0, 0, 0);
    let mut draw = solo_model::random::SplitMix64::new(5);
    for _ in 0..2000 {
        let (count, slow) = (1 + draw.below(5) as usize, 2 + draw.below(2));
        let kind_of: Vec<usize> = (0..1 + draw.below(4)).map(|_| draw.below(2) as usize).collect();
        let sizes: Vec<u64> = (0..count).map(|_| 5 + draw.below(60)).collect();
        let size_on = |task: usize, core: usize| sizes[task] * [slow, 1][kind_of[core]];
        let kinds = [slow, 1].map(|factor| -> Vec<Task> {
            sizes.iter().map(|size| Task::implicit(size * factor, 100)).collect()
        });
        for fit in [Fit::First, Fit::Worst] {
            let mut loads = vec![0; kind_of.len()];
            let mut expected = Vec::new();
            for (task, size) in sizes.iter().enumerate() {
                let mut cores: Vec<usize> = (0..loads.len()).collect();
                if fit == Fit::Worst {
                    cores.sort_by_key(|&core| (loads[core], core));
                }
                let home = cores.into_iter().find(|&core| loads[core] + size_on(task, core) <= 100);
                let Some(home) = home else { break };
                loads[home] += size_on(task, home);
                expected.push(home);
                fast_only += usize::from(size * slow > 100);
            }
            let sizes = Sizes { kinds: &kinds, kind_of: &kind_of };
            let how = (fit, Order::Given);
            match place_among(sizes, &FREE[..count], how, Capacity::Edf, &mut Effort::default()) {
                Ok(homes) => {
                    assert_eq!(homes, expected);
                    fitted += 1;
                }
                Err(unplaced) => {
                    assert_eq!(unplaced.task, expected.len(), "{kind_of:?}");
                    for (core, full) in unplaced.tried.iter().enumerate() {
                        let sum = (loads[core] + size_on(unplaced.task, core)) * 10_000;
                        assert_eq!(*full, Full::Utilization { millionths: sum });
                    }
                    stuck += 1;
                }
            }
        }
    }
    assert!(fitted > 500 && stuck > 500 && fast_only > 500, "{fitted} {stuck} {fast_only}");
}

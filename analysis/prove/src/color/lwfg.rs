//! LWFG: largest working set first, grouping (Lindsay 2012), as far as the thesis describes it (chapter 3).

use crate::color::groups::{Shares, groups};
use crate::color::{ColorError, ColoredTask, Partition};
use crate::pack::{Packer, Share};
use core::cmp::Reverse;

/// Packs groups of tasks that share colors by next fit, the group with the most memory first; a group that
/// finds no room loses the task that shares the fewest colors with its first (of equal ones the last), which
/// is placed on its own after the others. Only for soft tasks: groups are torn apart, and what a group is was
/// left open by its author; the thesis compares with it, so does this.
///
/// # Errors
/// The task that finds no core.
pub fn lwfg(tasks: &[ColoredTask], cores: usize, capacity: Share) -> Result<Partition, ColorError> {
    let mut waiting = groups(tasks);
    waiting.sort_by_key(|group| {
        Reverse(group.iter().map(|&task| u128::from(tasks[task].memory.get())).sum::<u128>())
    });
    let mut partition: Partition = vec![Vec::new(); cores];
    let (mut open, mut next) = (0, 0);
    while next < waiting.len() {
        match (open..cores).find(|&core| fits(tasks, &partition[core], &waiting[next], capacity)) {
            Some(core) => {
                partition[core].extend(waiting[next].iter().copied());
                open = core;
                next += 1;
            }
            None if waiting[next].len() == 1 => {
                return place_anywhere(tasks, &waiting[next..], partition, capacity);
            }
            None => {
                let split = split_most_distant(tasks, &mut waiting[next]);
                waiting.push(vec![split]);
            }
        }
    }
    Ok(partition)
}

fn fits(tasks: &[ColoredTask], core: &[usize], group: &[usize], capacity: Share) -> bool {
    let shares = Shares::of(tasks, &[[core, group].concat()]);
    Packer::new(&shares.items(), 1, capacity).fits(0, 0)
}

/// Once next fit has closed all cores, single tasks go to the first core that still has room.
fn place_anywhere(
    tasks: &[ColoredTask],
    groups: &[Vec<usize>],
    mut partition: Partition,
    capacity: Share,
) -> Result<Partition, ColorError> {
    for &task in groups.iter().flatten() {
        let room = partition.iter().position(|core| fits(tasks, core, &[task], capacity));
        let Some(core) = room else {
            return Err(ColorError::no_room(tasks, &[task], &partition, capacity));
        };
        partition[core].push(task);
    }
    Ok(partition)
}

fn split_most_distant(tasks: &[ColoredTask], group: &mut Vec<usize>) -> usize {
    let first = &tasks[group[0]];
    let shared = |task: usize| tasks[task].colors.iter().filter(|color| first.colors.contains(color)).count();
    let distant = (1..group.len()).min_by_key(|&at| (shared(group[at]), Reverse(at))).unwrap_or(0);
    group.remove(distant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::task::TaskClass::Soft;
    use solo_model::units::Bytes;

    #[test]
    fn groups_by_memory_and_splits_the_most_distant_task() {
        let task = |c, kib, colors: &[u16]| ColoredTask::new(c, 10, Soft, Bytes::from_kib(kib), colors);
        // The second group has the most memory but not all of its tasks fit one core.
        let tasks = [
            task(3, 10, &[0]),
            task(4, 90, &[1, 2]),
            task(4, 90, &[1, 2]),
            task(4, 90, &[2, 3]),
            task(2, 50, &[5]),
        ];
        let partition = lwfg(&tasks, 2, Share::cores(1));
        assert_eq!(partition, Ok(vec![vec![1, 2, 4], vec![0, 3]]));
        let (loads, has) = (vec![1_000_000], 1_000_000);
        let error = ColorError::NoRoom { tasks: vec![0], needs: 300_000, has, loads };
        assert_eq!(lwfg(&tasks, 1, Share::cores(1)), Err(error));
    }
}

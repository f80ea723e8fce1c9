//! CAP-GS: color-aware partitioning that splits groups (thesis 8.2.1).

use crate::color::groups::{Shares, groups};
use crate::color::{ColorError, ColoredTask, Memory, Partition, millionths};
use crate::effort::Effort;
use crate::pack::{Fit, Items, Packer, Share};
use core::cmp::Ordering;
use solo_model::task::TaskClass;

/// Which cores soft and best-effort tasks may go to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SoftCores {
    /// Cores with a hard task only where no other has room. This is how the thesis's example comes out: best
    /// fit over all cores would put its split-off task beside the hard ones (Fig. 83).
    AvoidHard,
    /// Any core, as Algorithm 5 reads literally.
    Any,
}

/// How CAP-GS partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// What fits onto a core: the utilisation bound of the scheduling policy.
    pub capacity: Share,
    /// At most so much utilisation of hard tasks, over all cores (equation 4 of chapter 8, `0.69 alpha`).
    pub hard_limit: Option<Share>,
    /// Which cores soft and best-effort tasks may go to.
    pub soft_cores: SoftCores,
}

/// Partitions hard tasks by first fit, then groups of soft and best-effort tasks that share colors by best
/// fit, both largest first; a group that finds no core loses its smallest task (of equal ones the last), which
/// becomes a group of its own and is placed after the others (thesis Algorithms 5 and 6).
///
/// # Errors
/// The equation that does not hold, a hard task that shares colors, or the task that finds no core.
pub(crate) fn cap_gs(
    tasks: &[ColoredTask],
    memory: &Memory,
    cores: usize,
    settings: &Settings,
) -> Result<Partition, ColorError> {
    memory.check(tasks)?;
    let groups = groups(tasks);
    let is_hard = |task: usize| tasks[task].class == TaskClass::Hard;
    for group in groups.iter().filter(|group| group.len() > 1) {
        if let Some(&task) = group.iter().find(|&&task| is_hard(task)) {
            return Err(hard_shares(tasks, task));
        }
    }
    let sorted = Shares::of(tasks, &groups).items().decreasing();
    let (hard, soft): (Vec<usize>, Vec<usize>) =
        sorted.into_iter().map(|group| group as usize).partition(|&group| is_hard(groups[group][0]));

    let shares: Vec<Share> = tasks.iter().map(ColoredTask::share).collect();
    let items = Items::single(&shares);
    let hard: Vec<usize> = hard.into_iter().map(|group| groups[group][0]).collect();
    check_hard_limit(tasks, &shares, &hard, settings)?;
    let mut packer = Packer::new(&items, cores, settings.capacity);
    for &task in &hard {
        // Without a limit packing stops for nothing but want of room.
        if packer.place(task, Fit::First, &mut Effort::unlimited()).is_err() {
            return Err(ColorError::no_room(tasks, &[task], &packer.contents(), settings.capacity));
        }
    }
    let mut cores: Partition = packer.contents();
    let hard_cores: Vec<bool> = cores.iter().map(|core| !core.is_empty()).collect();
    let soft = soft.into_iter().map(|group| groups[group].clone()).collect();
    place_soft(tasks, soft, &mut cores, &hard_cores, settings)?;
    Ok(cores)
}

fn hard_shares(tasks: &[ColoredTask], task: usize) -> ColorError {
    let with = (0..tasks.len()).find(|&other| other != task && tasks[task].shares_with(&tasks[other]));
    ColorError::HardShares { task, with: with.unwrap_or(task) }
}

fn check_hard_limit(
    tasks: &[ColoredTask],
    shares: &[Share],
    hard: &[usize],
    settings: &Settings,
) -> Result<(), ColorError> {
    let Some(limit) = settings.hard_limit else {
        return Ok(());
    };
    let parts: Vec<Share> = hard.iter().map(|&task| shares[task]).collect();
    let together = Items::grouped(&parts, &[parts.len()]);
    let (needs, has) = (millionths(tasks, hard), limit.millionths());
    match Packer::new(&together, 1, limit).fits(0, 0) {
        true => Ok(()),
        false => Err(ColorError::HardUtilization { needs, has }),
    }
}

fn place_soft(
    tasks: &[ColoredTask],
    mut waiting: Vec<Vec<usize>>,
    cores: &mut Partition,
    hard_cores: &[bool],
    settings: &Settings,
) -> Result<(), ColorError> {
    let mut next = 0;
    while next < waiting.len() {
        match best_core(tasks, &waiting[next], cores, hard_cores, settings) {
            Some(core) => {
                cores[core].extend(waiting[next].iter().copied());
                next += 1;
            }
            None if waiting[next].len() == 1 => {
                return Err(ColorError::no_room(tasks, &waiting[next], cores, settings.capacity));
            }
            None => {
                let split = split_smallest(tasks, &mut waiting[next]);
                waiting.push(vec![split]);
            }
        }
    }
    Ok(())
}

/// The fullest core that has room for the whole group.
fn best_core(
    tasks: &[ColoredTask],
    group: &[usize],
    cores: &[Vec<usize>],
    hard_cores: &[bool],
    settings: &Settings,
) -> Option<usize> {
    // Item 0 is the group, item 1 + i what core i holds.
    let lists: Vec<Vec<usize>> = core::iter::once(group.to_vec()).chain(cores.iter().cloned()).collect();
    let shares = Shares::of(tasks, &lists);
    let items = shares.items();
    let mut packer = Packer::new(&items, cores.len(), settings.capacity);
    for core in 0..cores.len() {
        packer.put(core, 1 + core);
    }
    let soft_only = (0..cores.len()).filter(|&core| !hard_cores[core]);
    // Without a limit the search always ends with an answer.
    let mut best_of =
        |bins: Vec<usize>| packer.best_of(bins.into_iter(), 0, &mut Effort::unlimited()).ok().flatten();
    let all = (0..cores.len()).collect();
    match settings.soft_cores {
        SoftCores::Any => best_of(all),
        SoftCores::AvoidHard => best_of(soft_only.collect()).or_else(|| best_of(all)),
    }
}

/// Takes the task of least utilisation out of the group, of equal ones the last.
fn split_smallest(tasks: &[ColoredTask], group: &mut Vec<usize>) -> usize {
    let shares: Vec<Share> = group.iter().map(|&task| tasks[task].share()).collect();
    let items = Items::single(&shares);
    let smallest = (1..group.len())
        .fold(0, |least, at| if items.size_cmp(at, least) == Ordering::Greater { least } else { at });
    group.remove(smallest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{Order, pack};
    use solo_model::task::TaskClass::{Hard, Soft};
    use solo_model::units::Bytes;

    /// Thesis Table 15, with T8's execution time taken from its utilisation: the table prints `e` = 3000, which
    /// of a period of 15000 is 0.2, beside `u` = 0.1, and the example calculates with 0.1.
    fn table_15() -> (Vec<ColoredTask>, Memory) {
        let task =
            |c, t, class, kib, colors: &[u16]| ColoredTask::new(c, t, class, Bytes::from_kib(kib), colors);
        let tasks = vec![
            task(2000, 10_000, Hard, 16, &[1, 4]),
            task(1500, 5000, Hard, 12, &[2, 3]),
            task(1000, 10_000, Hard, 8, &[0]),
            task(10_000, 50_000, Soft, 32, &[6, 7]),
            task(1500, 5000, Soft, 16, &[5, 8]),
            task(4800, 12_000, Soft, 64, &[7, 9]),
            task(1000, 10_000, Soft, 8, &[7, 11]),
            task(2000, 20_000, Soft, 4, &[8]),
            task(1500, 15_000, Soft, 20, &[7, 10]),
            ColoredTask::best_effort(Bytes::from_kib(64), &[8, 12]),
        ];
        (tasks, Memory { total: Bytes::from_mib(2), colors: 16 })
    }

    fn settings(soft_cores: SoftCores) -> Settings {
        Settings { capacity: Share::new(3, 4).unwrap(), hard_limit: None, soft_cores }
    }

    #[test]
    fn figure_83_cap_gs() {
        let (tasks, memory) = table_15();
        let partition = cap_gs(&tasks, &memory, 3, &settings(SoftCores::AvoidHard));
        assert_eq!(partition, Ok(vec![vec![1, 0, 2], vec![3, 5, 6], vec![4, 7, 9, 8]]));
    }

    #[test]
    fn read_literally_the_split_task_joins_the_hard_ones() {
        let (tasks, memory) = table_15();
        let partition = cap_gs(&tasks, &memory, 3, &settings(SoftCores::Any));
        assert_eq!(partition, Ok(vec![vec![1, 0, 2, 8], vec![3, 5, 6], vec![4, 7, 9]]));
    }

    #[test]
    fn figure_84_plain_bfd() {
        let (tasks, _) = table_15();
        let shares: Vec<Share> = tasks.iter().map(ColoredTask::share).collect();
        let partition = pack(&shares, 3, Share::new(3, 4).unwrap(), Fit::Best, Order::Decreasing);
        assert_eq!(partition, Ok(vec![vec![5, 1, 9], vec![4, 0, 3], vec![2, 6, 7, 8]]));
    }

    #[test]
    fn cap_cannot_partition_it() {
        let (tasks, memory) = table_15();
        let partition = crate::color::cap::cap(&tasks, &memory, 3, Share::new(3, 4).unwrap(), Fit::Best);
        assert_eq!(
            partition,
            Err(ColorError::Utilization { tasks: vec![3, 5, 6, 8], needs: 800_000, has: 750_000 })
        );
    }

    #[test]
    fn hard_tasks_keep_their_colors_and_their_part() {
        let (mut tasks, memory) = table_15();
        let limited = Settings { hard_limit: Share::new(59, 100), ..settings(SoftCores::AvoidHard) };
        let hard = ColorError::HardUtilization { needs: 600_000, has: 590_000 };
        assert_eq!(cap_gs(&tasks, &memory, 3, &limited), Err(hard));
        tasks[0].colors = vec![1, 7];
        let error = cap_gs(&tasks, &memory, 3, &settings(SoftCores::AvoidHard));
        assert_eq!(error, Err(ColorError::HardShares { task: 0, with: 3 }));
    }
}

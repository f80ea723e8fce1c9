//! CAP: color-aware task partitioning (thesis 7.2).

use crate::color::groups::{Shares, groups};
use crate::color::{ColorError, ColoredTask, Memory, Partition, millionths};
use crate::effort::Effort;
use crate::pack::{Fit, Packer, Share};

/// Packs groups of tasks that share colors, not tasks, onto `cores` cores of `capacity` (1 for EDF), by any
/// heuristic, largest group first (thesis Algorithm 1; equations 1 to 4 are checked, 3 against `capacity`).
/// Within a core the groups come in the order they were packed, their tasks ascending.
///
/// # Errors
/// The equation that does not hold, or the group that finds no core.
pub fn cap(
    tasks: &[ColoredTask],
    memory: &Memory,
    cores: usize,
    capacity: Share,
    fit: Fit,
) -> Result<Partition, ColorError> {
    memory.check(tasks)?;
    let groups = groups(tasks);
    let shares = Shares::of(tasks, &groups);
    let items = shares.items();
    let alone = Packer::new(&items, 1, capacity);
    if let Some(group) = (0..groups.len()).find(|&group| !alone.fits(0, group)) {
        let (needs, has) = (millionths(tasks, &groups[group]), capacity.millionths());
        return Err(ColorError::Utilization { tasks: groups[group].clone(), needs, has });
    }
    let mut packer = Packer::new(&items, cores, capacity);
    let flatten =
        |core: Vec<usize>| core.into_iter().flat_map(|group| groups[group].iter().copied()).collect();
    for group in items.decreasing() {
        // Without a limit packing stops for nothing but want of room.
        if packer.place(group as usize, fit, &mut Effort::unlimited()).is_err() {
            let held: Partition = packer.contents().into_iter().map(flatten).collect();
            return Err(ColorError::no_room(tasks, &groups[group as usize], &held, capacity));
        }
    }
    Ok(packer.contents().into_iter().map(flatten).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{Order, pack};
    use solo_model::task::TaskClass::Hard;
    use solo_model::units::Bytes;

    /// Thesis Table 14. Sixteen colors and 16 MiB: the memory only has to suffice.
    fn table_14() -> (Vec<ColoredTask>, Memory) {
        let task = |c, t, kib, colors: &[u16]| ColoredTask::new(c, t, Hard, Bytes::from_kib(kib), colors);
        let tasks = vec![
            task(900, 10_000, 1024, &[1, 3]),
            task(6000, 15_000, 64, &[1, 4]),
            task(1500, 5000, 4, &[0, 3]),
            task(500, 5000, 128, &[1, 5]),
            task(1900, 20_000, 32, &[5]),
            task(2600, 5000, 16, &[6]),
            task(2700, 5000, 512, &[7, 8, 9]),
            task(10_000, 50_000, 256, &[7, 10]),
        ];
        (tasks, Memory { total: Bytes::from_mib(16), colors: 16 })
    }

    #[test]
    fn figure_76_cap_wfd() {
        let (tasks, memory) = table_14();
        assert_eq!(groups(&tasks), [vec![0, 1, 2, 3, 4], vec![5], vec![6, 7]]);
        let partition = cap(&tasks, &memory, 3, Share::cores(1), Fit::Worst);
        assert_eq!(partition, Ok(vec![vec![0, 1, 2, 3, 4], vec![6, 7], vec![5]]));
    }

    #[test]
    fn figure_77_plain_wfd_tears_groups_apart() {
        let (tasks, _) = table_14();
        let shares: Vec<Share> = tasks.iter().map(ColoredTask::share).collect();
        let partition = pack(&shares, 3, Share::cores(1), Fit::Worst, Order::Decreasing);
        assert_eq!(partition, Ok(vec![vec![6, 3, 4], vec![5, 7], vec![1, 2, 0]]));
    }

    #[test]
    fn each_equation_is_checked() {
        let (mut tasks, memory) = table_14();
        let tight = Memory { total: Bytes::from_kib(2035), ..memory };
        assert!(matches!(
            cap(&tasks, &tight, 3, Share::cores(1), Fit::First),
            Err(ColorError::Memory { .. })
        ));
        let few = Memory { colors: 10, ..memory };
        let error = cap(&tasks, &few, 3, Share::cores(1), Fit::First);
        assert_eq!(error, Err(ColorError::BadColors { task: 7, colors: 10 }));
        // Color 1 holds 512 + 32 + 64 KiB, so a partition of 608 KiB suffices and one byte less does not.
        let exact = Memory { total: Bytes::from_kib(608 * 16), ..memory };
        assert!(cap(&tasks, &exact, 3, Share::cores(1), Fit::First).is_ok());
        let short = Memory { total: Bytes::new(exact.total.get() - 1), ..memory };
        let error = cap(&tasks, &short, 3, Share::cores(1), Fit::First);
        let needed = 608 * 1024;
        assert_eq!(error, Err(ColorError::Partition { color: 1, needed, size: needed - 1 }));
        tasks[4] = ColoredTask::new(2300, 20_000, Hard, Bytes::from_kib(32), &[5]);
        let error = cap(&tasks, &memory, 3, Share::cores(1), Fit::First);
        // 0.09 + 0.4 + 0.3 + 0.1 + 0.115.
        let (group, has) = (vec![0, 1, 2, 3, 4], 1_000_000);
        assert_eq!(error, Err(ColorError::Utilization { tasks: group, needs: 1_005_000, has }));
        let error = cap(&table_14().0, &memory, 2, Share::cores(1), Fit::First);
        let loads = vec![985_000, 740_000];
        assert_eq!(error, Err(ColorError::NoRoom { tasks: vec![5], needs: 520_000, has, loads }));
    }
}

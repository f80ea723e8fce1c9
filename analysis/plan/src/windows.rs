//! When partitions run: windows of a cycle on each core.

use crate::objection::Undivided;
use crate::place::TextRange;
use crate::request::{CycleWish, Mechanisms, WindowWish};
use crate::{Draft, Fault};
use alloc::vec::Vec;
use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow, WindowError};
use solo_model::policy::{Scope, Timing};
use solo_model::{CoreId, Duration, PartitionId, TaskId};

impl Draft<'_> {
    /// The windows that are wished, of partitions with these tasks.
    pub(crate) fn windows(&mut self, wished: &Mechanisms, members: &[Vec<TaskId>]) -> Option<Partitions> {
        let first = wished.cycles.first()?;
        let objections = self.objections.len();
        self.can_divide(first.at);
        let cycles: Vec<MajorCycle> =
            wished.cycles.iter().map(|cycle| self.cycle(cycle, wished, members)).collect();
        for (partition, tasks) in wished.partitions.iter().zip(members) {
            let Some(core) = self.core_of(tasks) else { continue };
            let divided = cycles.iter().any(|cycle| cycle.core == core);
            let has = |window: &WindowWish| window.partition.value == partition.name.value;
            if divided && !wished.cycles.iter().flat_map(|cycle| &cycle.windows).any(has) {
                let partition_name = partition.name.value.clone();
                self.undivided(partition.name.at, Undivided::NoWindow { partition: partition_name, core });
            }
        }
        if self.objections.len() > objections {
            return None;
        }
        let partitions = wished.partitions.iter().zip(members);
        let partitions = partitions
            .map(|(wish, tasks)| Partition { name: wish.name.value.clone(), tasks: tasks.clone() })
            .collect();
        match Partitions::new(partitions, cycles) {
            Ok(divided) => Some(divided),
            Err(error) => {
                self.undivided(place_of(wished, &error).unwrap_or(first.at), Undivided::Wrong(error));
                None
            }
        }
    }

    /// Objects to a policy under which windows can't be kept to.
    fn can_divide(&mut self, at: TextRange) {
        if let Some(policy) = self.policy.clone()
            && policy.scope != Scope::Partitioned
            && !policy.criterion.facts().bound
        {
            self.undivided(at, Undivided::SharedQueue { policy });
        }
        let listens = self.request.scheduler.value().is_some_and(|wish| wish.monitor.value().is_some());
        if listens {
            self.undivided(at, Undivided::Listener);
        }
    }

    fn cycle(&mut self, wish: &CycleWish, wished: &Mechanisms, members: &[Vec<TaskId>]) -> MajorCycle {
        let core = wish.core.value;
        self.on_ticks(wish.length.at, wish.length.value);
        let windows = wish.windows.iter().filter_map(|window| self.window(window, core, wished, members));
        MajorCycle { core, length: wish.length.value, windows: windows.collect() }
    }

    fn window(
        &mut self,
        wish: &WindowWish,
        core: CoreId,
        wished: &Mechanisms,
        members: &[Vec<TaskId>],
    ) -> Option<TimeWindow> {
        let name = &wish.partition.value;
        let Some(at) = wished.partitions.iter().position(|known| known.name.value == *name) else {
            let known = wished.partitions.iter().map(|known| known.name.value.clone()).collect();
            self.undivided(wish.partition.at, Undivided::NoSuchPartition { name: name.clone(), known });
            return None;
        };
        let home = members.get(at).and_then(|tasks| self.core_of(tasks));
        if let Some(home) = home.filter(|home| *home != core) {
            let error = Undivided::OtherCore { partition: name.clone(), core: home };
            self.undivided(wish.partition.at, error);
        }
        self.on_ticks(wish.at, wish.begin);
        self.on_ticks(wish.at, wish.length);
        let partition = PartitionId(u16::try_from(at).ok()?);
        Some(TimeWindow { partition, begin: wish.begin, length: wish.length })
    }

    fn on_ticks(&mut self, at: TextRange, time: Duration) {
        if let Some(Timing::Tick(tick)) = self.policy.as_ref().map(|policy| policy.timing)
            && !time.get().is_multiple_of(tick.get().max(1))
        {
            self.undivided(at, Undivided::BetweenTicks { time, tick });
        }
    }

    fn core_of(&self, tasks: &[TaskId]) -> Option<CoreId> {
        tasks.first().and_then(|task| self.tasks.get(task.index())).and_then(|task| task.core)
    }

    fn undivided(&mut self, at: TextRange, why: Undivided) {
        self.object(at, Fault::Windows(why));
    }
}

/// Where the mistake stands.
fn place_of(wished: &Mechanisms, error: &WindowError) -> Option<TextRange> {
    let cycle = |core: CoreId| wished.cycles.iter().rfind(|cycle| cycle.core.value == core);
    let window = |core, begin: Duration| {
        let of_core = wished.cycles.iter().filter(|cycle| cycle.core.value == core);
        of_core.flat_map(|cycle| &cycle.windows).rfind(|window| window.begin == begin).map(|window| window.at)
    };
    match *error {
        WindowError::ZeroCycle { core } | WindowError::NoSuchPartition { core, .. } => {
            cycle(core).map(|cycle| cycle.length.at)
        }
        WindowError::TwoCycles { core } => cycle(core).map(|cycle| cycle.core.at),
        WindowError::ZeroWindow { core, begin } | WindowError::BeyondCycle { core, begin, .. } => {
            window(core, begin)
        }
        WindowError::Overlap { core, second, .. } => window(core, second),
        WindowError::TwoCores { partition, second, .. } => {
            let name = &wished.partitions.get(partition.index())?.name.value;
            let windows = &cycle(second)?.windows;
            windows.iter().find(|window| window.partition.value == *name).map(|window| window.at)
        }
        WindowError::TwoPartitions { second, .. } => {
            wished.partitions.get(second.index()).map(|partition| partition.name.at)
        }
    }
}

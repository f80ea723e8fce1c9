//! An experiment with fewer tasks: what is measured alone, or beside some of its neighbors only.

use crate::experiment::Experiment;
use crate::id::TaskId;
use crate::isolation::{Isolation, WayOwner};
use crate::task::{Release, Task};
use crate::units::Duration;
use alloc::vec::Vec;

/// By a task's old number its new one; `None` for tasks that are gone.
struct Renumbering(Vec<Option<TaskId>>);

impl Renumbering {
    fn of(&self, task: TaskId) -> Option<TaskId> {
        self.0.get(task.index()).copied().flatten()
    }

    /// Keeps what belongs to a task that is still there, under its new number.
    fn retain<T>(&self, items: &mut Vec<T>, owner: impl Fn(&mut T) -> &mut TaskId) {
        items.retain_mut(|item| {
            let task = owner(item);
            self.of(*task).map(|new| *task = new).is_some()
        });
    }

    fn apply(&self, isolation: &mut Isolation) {
        if let Some(regulation) = &mut isolation.bandwidth {
            self.retain(&mut regulation.tasks, |budget| &mut budget.task);
        }
        if let Some(coloring) = &mut isolation.memory {
            self.retain(&mut coloring.owners, |owner| &mut owner.task);
        }
        isolation.ways.retain_mut(|mask| match &mut mask.owner {
            WayOwner::Core(_) => true,
            WayOwner::Task(task) => self.of(*task).map(|new| *task = new).is_some(),
        });
        if let Some(lockdown) = &mut isolation.lockdown {
            self.retain(&mut lockdown.pages, |page| &mut page.task);
            lockdown.partitions.iter_mut().for_each(|tasks| self.retain(tasks, |task| task));
        }
        if let Some(partitions) = &mut isolation.partitions {
            partitions.retain_tasks(|task| self.of(task));
        }
    }
}

impl Experiment {
    /// Leaves only the tasks of which `keep` is true, in their order, and of isolation what is theirs, their core's or
    /// nobody's: colors, banks, ways, locked pages, budgets, devices and what is reserved for those go with the others. A
    /// sporadic task of which no device is left is released as often as it may be.
    /// Cores keep their budgets and windows, and buffers, locks and recordings their numbers, also where nobody uses
    /// them any more.
    ///
    /// Tasks are numbered anew: [`TaskId`]s from before mean other tasks.
    pub fn retain_tasks(&mut self, mut keep: impl FnMut(&Task) -> bool) {
        let kept: Vec<bool> = self.tasks.iter().map(&mut keep).collect();
        let mut next = 0..;
        let new = |&kept: &bool| if kept { next.next().map(TaskId) } else { None };
        let renumbering = Renumbering(kept.iter().map(new).collect());
        let mut kept = kept.into_iter();
        self.tasks.retain(|_| kept.next().unwrap_or(false));
        renumbering.apply(&mut self.isolation);
        for application in &mut self.applications {
            renumbering.retain(&mut application.threads, |thread| thread);
        }
        self.applications.retain(|application| !application.threads.is_empty());
        for process in self.listening.iter_mut().flat_map(|listening| &mut listening.processes) {
            renumbering.retain(process, |task| task);
        }
        renumbering.retain(&mut self.devices, |device| &mut device.owner);
        for device in &mut self.devices {
            device.releases = device.releases.and_then(|task| renumbering.of(task));
        }
        for (at, task) in self.tasks.iter_mut().enumerate() {
            let mut releasing = self.devices.iter().filter_map(|device| device.releases);
            if let Release::Sporadic { distance } = task.release
                && !releasing.any(|released| released.index() == at)
            {
                task.release = Release::Periodic { offset: Duration::ZERO, period: distance };
            }
        }
        if let Some(regulation) = &mut self.isolation.bandwidth {
            let devices = &self.devices;
            regulation.dma.retain(|master| devices.iter().any(|device| device.name == master.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::application::Application;
    use crate::device::{Device, Direction};
    use crate::experiment::End;
    use crate::fixtures::chip;
    use crate::id::{BufferId, Color, CoreId, PartitionId};
    use crate::isolation::{
        Budget, ColorOwner, Coloring, CoreBudget, Counted, DmaMaster, Donation, Lockdown, LockedPage,
        Regulation, TaskBudget, WayMask,
    };
    use crate::partition::{MajorCycle, Partition, Partitions, TimeWindow};
    use crate::policy::{Criterion, Policy, Scope};
    use crate::task::{Release, TaskClass};
    use crate::units::{Bandwidth, Bytes, Duration, Events};
    use crate::work::Work;
    use alloc::string::String;
    use alloc::vec;

    fn task(name: &str) -> Task {
        Task {
            name: name.into(),
            class: TaskClass::BestEffort,
            release: Release::Continuous { offset: Duration::ZERO },
            deadline: None,
            wcet: None,
            misses: None,
            migrate: None,
            priority: None,
            core: None,
            work: Work { steps: vec![] },
        }
    }

    /// Four tasks, each of which owns something of every kind.
    fn whole() -> Experiment {
        let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
        let tasks = ["a", "b", "c", "d"].map(task).to_vec();
        let all = || (0..4).map(TaskId);
        let mut experiment =
            Experiment::new("whole", chip(2), policy, tasks, End::At(Duration::from_millis(1)));
        let isolation = &mut experiment.isolation;
        let core = CoreBudget { core: CoreId(1), budget: Budget::Events(Events::new(9)), writes: None };
        let limit = |task| TaskBudget { task, budget: None, donates: Donation::Nothing };
        let (period, speed) = (Duration::from_millis(1), Bandwidth::new(1 << 30));
        let regulation = Regulation::new(period, Counted::ReadsAndWrites, vec![core], speed);
        isolation.bandwidth = Some(Regulation { tasks: all().map(limit).collect(), ..regulation });
        let owner = |task: TaskId| ColorOwner { task, colors: vec![Color(task.0 as u16)], banks: vec![] };
        isolation.memory = Some(Coloring { owners: all().map(owner).collect(), ..Coloring::default() });
        let mask = |owner| WayMask { owner, mask: 1 };
        isolation.ways = all().map(|task| mask(WayOwner::Task(task))).collect();
        isolation.ways.push(mask(WayOwner::Core(CoreId(0))));
        let page =
            |task: TaskId| LockedPage { task, buffer: BufferId(0), page: task.0.into(), color: Color(0) };
        let lockdown = Lockdown { pages: all().map(page).collect(), ..Lockdown::default() };
        let partitions = vec![vec![TaskId(0), TaskId(3)], vec![TaskId(1)]];
        isolation.lockdown = Some(Lockdown { partitions, ..lockdown });
        let partition = |name: &str, tasks: &[u32]| Partition {
            name: name.into(),
            tasks: tasks.iter().copied().map(TaskId).collect(),
        };
        let window =
            TimeWindow { partition: PartitionId(1), begin: Duration::ZERO, length: Duration::from_micros(1) };
        let cycle = MajorCycle { core: CoreId(0), length: Duration::from_micros(2), windows: vec![window] };
        let partitions = vec![partition("first", &[0, 1]), partition("second", &[2, 3])];
        isolation.partitions = Some(Partitions::new(partitions, vec![cycle]).expect("they are sound"));
        let device = |owner: TaskId| Device {
            name: alloc::format!("device {}", owner.0),
            owner,
            releases: None,
            direction: Direction::Input,
            moves: Bytes::new(64),
            buffer: BufferId(owner.0),
            offset: Duration::ZERO,
            period,
            slot: period,
            core: None,
            rate: None,
            wait_every: Bytes::new(64),
        };
        experiment.devices = all().map(device).collect();
        let master = |device: &Device| DmaMaster { name: device.name.clone(), rate: Bandwidth::new(1 << 20) };
        let reserved = experiment.devices.iter().map(master).collect();
        experiment.isolation.bandwidth.as_mut().expect("budgets").dma = reserved;
        experiment
    }

    #[test]
    fn what_is_left_owns_what_it_owned() {
        let mut experiment = whole();
        let application = |name: &str, threads: &[u32]| Application {
            name: name.into(),
            weight: Application::WEIGHT,
            threads: threads.iter().copied().map(TaskId).collect(),
        };
        experiment.applications = vec![application("ac", &[0, 2]), application("dcb", &[3, 2, 1])];
        experiment.retain_tasks(|task| ["b", "d"].contains(&&*task.name));
        assert_eq!(experiment.applications, [application("dcb", &[1, 0])]);
        let names: Vec<String> = experiment.tasks.iter().map(|task| task.name.clone()).collect();
        assert_eq!(names, ["b", "d"]);
        let isolation = &experiment.isolation;
        let both = [TaskId(0), TaskId(1)];
        let regulation = isolation.bandwidth.as_ref().expect("budgets");
        assert_eq!(regulation.cores.len(), 1);
        assert_eq!(regulation.tasks.iter().map(|budget| budget.task).collect::<Vec<_>>(), both);
        let reserved: Vec<_> = regulation.dma.iter().map(|master| &*master.name).collect();
        assert_eq!(reserved, ["device 1", "device 3"]);
        let owners = &isolation.memory.as_ref().expect("colors").owners;
        let colors: Vec<_> = owners.iter().map(|owner| (owner.task, owner.colors[0])).collect();
        assert_eq!(colors, [(TaskId(0), Color(1)), (TaskId(1), Color(3))]);
        let ways: Vec<_> = isolation.ways.iter().map(|mask| mask.owner).collect();
        let expected = [WayOwner::Task(TaskId(0)), WayOwner::Task(TaskId(1)), WayOwner::Core(CoreId(0))];
        assert_eq!(ways, expected);
        let lockdown = isolation.lockdown.as_ref().expect("pages");
        let pages: Vec<_> = lockdown.pages.iter().map(|page| (page.task, page.page)).collect();
        assert_eq!(pages, [(TaskId(0), 1), (TaskId(1), 3)]);
        assert_eq!(lockdown.partitions, [vec![TaskId(1)], vec![TaskId(0)]]);
        let partitions = isolation.partitions.as_ref().expect("windows");
        let tasks: Vec<_> = partitions.partitions().iter().map(|partition| partition.tasks.clone()).collect();
        assert_eq!(tasks, [[TaskId(0)], [TaskId(1)]]);
        let devices: Vec<_> = experiment.devices.iter().map(|device| (device.owner, device.buffer)).collect();
        assert_eq!(devices, [(TaskId(0), BufferId(1)), (TaskId(1), BufferId(3))]);
        assert_eq!(partitions.cycles(), whole().isolation.partitions.expect("windows").cycles());
    }

    #[test]
    fn all_kept_is_as_it_was_and_none_kept_owns_nothing() {
        let mut experiment = whole();
        experiment.retain_tasks(|_| true);
        assert_eq!(experiment, whole());
        experiment.retain_tasks(|_| false);
        assert!(experiment.tasks.is_empty());
        assert_eq!(experiment.isolation.ways.len(), 1, "a core's");
    }
}

//! How the time of all cores is divided (SCE 3.1, steps 3 to 5): each core by itself, and those whose partitions exchange data with
//! devices together.

use super::choices::{Choices, Division};
use super::cores::Placement;
use super::home::Home;
use super::io::Exchange;
use super::lack::{IoLack, NoPlan};
use super::subject::Subject;
use super::table::{Slots, divide_together};
use super::windows::{Dividing, outlasts};
use crate::request::IsolationWish;
use alloc::vec::Vec;
use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow};
use solo_model::{CoreId, Duration, Experiment, PartitionId, TaskClass, TaskId};
use solo_prove::system::{Judged, System};

/// How the time of cores is divided, and the slots of devices between their windows.
#[derive(Default)]
pub(super) struct Divided {
    pub(super) divisions: Vec<Division>,
    pub(super) slots: Slots,
}

impl Subject {
    /// Divides the time of each core that has two partitions or more and no written cycle.
    ///
    /// # Errors
    /// What lacks on the first core for which there is no cycle.
    pub(super) fn divide(&self, experiment: &Experiment, placement: &Placement) -> Result<Divided, NoPlan> {
        let IsolationWish::By(wished) = &self.request.isolation else { return Ok(Divided::default()) };
        let homes = self.homes();
        let core_of = |home: &Home| home.tasks.first().map(|&task| placement.cores[task]);
        let mut cores: Vec<CoreId> = homes.iter().filter_map(core_of).collect();
        cores.sort_unstable();
        cores.dedup();
        let on = |core: CoreId| (0..homes.len()).filter(move |&home| core_of(&homes[home]) == Some(core));
        let exchanging = |core: CoreId| on(core).find(|&home| self.exchange(home).is_some());
        let written = |core: CoreId| wished.cycles.iter().any(|cycle| cycle.core.value == core);
        if let Some((core, home)) =
            cores.iter().filter(|core| written(**core)).find_map(|&core| Some((core, exchanging(core)?)))
        {
            return Err(NoPlan::Io(IoLack::Written { partition: homes[home].name.clone(), core }));
        }
        cores.retain(|&core| !written(core) && (on(core).count() > 1 || exchanging(core).is_some()));
        let system = System::of(experiment);
        let dividing = |core: CoreId| {
            let loose = (0..placement.cores.len()).find(|task| {
                placement.cores[*task] == core && !homes.iter().any(|home| home.tasks.contains(task))
            });
            if let Some(task) = loose {
                let task = experiment.tasks[task].name.clone();
                return Err(NoPlan::Unpartitioned { task, core });
            }
            let here = on(core).collect();
            Ok(Dividing::new(self, experiment, &system, core, here))
        };
        let all = cores.into_iter().map(dividing).collect::<Result<Vec<_>, _>>()?;
        let (together, alone): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|one| exchanging(one.core).is_some());
        let mut divisions = alone.iter().map(Dividing::divide).collect::<Result<Vec<_>, _>>()?;
        let slots = match self.open_io() {
            Some(io) if !together.is_empty() => {
                let (more, slots) = divide_together(io, &together)?;
                divisions.extend(more);
                slots
            }
            _ => Slots::default(),
        };
        divisions.sort_by_key(|division| division.core);
        Ok(Divided { divisions, slots })
    }

    /// A window for each partition, in any order and of any length.
    pub(super) fn some_windows(&self, placement: &Placement) -> Option<Partitions> {
        let homes = self.homes();
        let core_of = |home: &Home| home.tasks.first().map(|&task| placement.cores[task]);
        let mut cores: Vec<CoreId> = homes.iter().filter_map(core_of).collect();
        cores.sort_unstable();
        cores.dedup();
        let unit = Duration::from_millis(1);
        let cycle = |core: CoreId| {
            let here = (0..homes.len()).filter(|&home| core_of(&homes[home]) == Some(core));
            let window = |(at, home): (usize, usize)| TimeWindow {
                partition: PartitionId(home as u16),
                begin: Duration::new(unit.get() * at as u64),
                length: unit,
            };
            let windows: Vec<TimeWindow> = here.enumerate().map(window).collect();
            MajorCycle { core, length: Duration::new(unit.get() * windows.len() as u64), windows }
        };
        let partition = |home: &Home| Partition {
            name: home.name.clone(),
            tasks: home.tasks.iter().map(|&task| TaskId(task as u32)).collect(),
        };
        Partitions::new(homes.iter().map(partition).collect(), cores.into_iter().map(cycle).collect()).ok()
    }

    /// The task of a partition with devices that may end after its window, in the middle of the slot that moves what it answers.
    pub(super) fn outlasting(&self, choices: &Choices, judged: &Judged) -> Option<NoPlan> {
        let exchanges = self.open_io().map_or(&[][..], |io| io.exchanges.as_slice());
        let late = |exchange: &Exchange| {
            let home = &self.homes()[exchange.home];
            let mut windows = choices.cycles.iter().flat_map(|cycle| &cycle.windows);
            let has = windows.find(|window| window.partition == home.name)?.length;
            let tasks = &self.probe.tasks;
            let asked = home.tasks.iter().filter(|task| tasks[**task].class != TaskClass::BestEffort);
            let late = asked.filter_map(|&task| Some((outlasts(&judged.tasks[task].outcome, has)?, task)));
            let (needs, task) = late.max()?;
            let (task, partition) = (tasks[task].name.clone(), home.name.clone());
            Some(NoPlan::Outlasts { task, partition, needs, has })
        };
        exchanges.iter().find_map(late)
    }
}

//! What is planned: the request, and what stands fast in it.

use super::choices::{Aims, Choices, CoreRule, CycleChoice, PagesChoice, WindowChoice, WishChoice};
use super::home::{Home, homes};
use super::io::{Exchange, Io, io, open_cores};
use super::lack::{IoLack, NoPlan};
use super::unfold_patterns;
use crate::assign::{as_sporadic, is_partitioned};
use crate::place::{Said, TextRange, Wish};
use crate::request::{
    BandwidthWish, CycleWish, DeviceWish, Heuristic, IsolationWish, LockdownWish, Mechanisms, Named,
    Partitioner, Request, WindowWish,
};
use crate::{Defaults, Refused, plan};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use solo_model::isolation::{Budget, CoreBudget, LockTime};
use solo_model::{CoreId, Experiment};

/// How many orders are drawn after all heuristics have failed.
const DRAWN: u32 = 4;

pub(super) struct Subject {
    pub(super) aims: Aims,
    /// Patterns without a core are unfolded.
    pub(super) request: Request,
    unfolded: Vec<(alloc::string::String, u64)>,
    /// The tasks as they will be, on some cores.
    pub(super) probe: Experiment,
    /// By task: its wish.
    pub(super) wish_of: Vec<usize>,
    /// By task: the lowest task of those that share its core.
    group: Vec<usize>,
    /// By task: the core that it has to be on.
    pub(super) held: Vec<Option<CoreId>>,
    /// The partitions of the request that have tasks.
    homes: Vec<Home>,
    /// What is open of I/O.
    io: Result<Option<Io>, IoLack>,
}

impl Subject {
    pub(super) fn of(request: &Request, aims: Aims) -> Result<Self, Box<(Choices, Refused)>> {
        let (mut request, unfolded) = unfold_patterns(request);
        let mut wish_of = Vec::new();
        for (at, wish) in request.tasks.iter().enumerate() {
            let copies = usize::try_from(wish.copies.unwrap_or(1)).unwrap_or(usize::MAX);
            wish_of.extend(core::iter::repeat_n(at, copies.min(crate::MOST_TASKS as usize)));
        }
        let (held, group) = bound(&request, &wish_of);
        let homes = homes(&request, &wish_of);
        let io_cores = open_cores(&mut request, &homes, &wish_of);
        let mut choices = Choices { unfolded: unfolded.clone(), ..Choices::default() };
        let mut probed = request.clone();
        let anywhere = undivided_core(&request);
        let by_color = places_by_color(&request);
        for (at, wish) in probed.tasks.iter_mut().enumerate() {
            let mut choice = WishChoice { name: wish.name.value.clone(), ..WishChoice::default() };
            if wish.core.is_nothing() && !by_color {
                let task = wish_of.iter().position(|&of| of == at);
                let core = task.and_then(|task| held[group[task]].or(held[task])).unwrap_or(anywhere);
                wish.core = said(core);
                choice.core = Some(core);
            }
            choices.tasks.push(choice);
        }
        if let (Said::This(scheduler), false) = (&mut probed.scheduler, by_color) {
            scheduler.value.partition = Said::Nothing;
        }
        match plan(&probed, &Defaults) {
            Ok(planned) => {
                let probe = planned.experiment;
                let io = io((&request, &homes, &wish_of), &probe, &io_cores, &held);
                Ok(Self { aims, request, unfolded, probe, wish_of, group, held, homes, io })
            }
            Err(refused) => Err(Box::new((choices, refused))),
        }
    }

    /// Choices of nothing.
    pub(super) fn nothing(&self) -> Choices {
        let name = |name: &Wish<alloc::string::String>| WishChoice {
            name: name.value.clone(),
            ..WishChoice::default()
        };
        Choices {
            unfolded: self.unfolded.clone(),
            tasks: self.request.tasks.iter().map(|wish| name(&wish.name)).collect(),
            ..Choices::default()
        }
    }

    /// The partitions of the request that have tasks.
    pub(super) fn homes(&self) -> &[Home] {
        &self.homes
    }

    /// What of I/O no choice mends.
    pub(super) fn lacks_io(&self) -> Option<NoPlan> {
        self.io.as_ref().err().cloned().map(NoPlan::Io)
    }

    /// What is open of I/O.
    pub(super) fn open_io(&self) -> Option<&Io> {
        self.io.as_ref().ok()?.as_ref()
    }

    /// The cores that start devices: no task runs there.
    pub(super) fn starts_devices(&self, core: CoreId) -> bool {
        self.open_io().is_some_and(|io| io.core == core)
            || self.request.devices.iter().any(|device| device.core.is_some_and(|own| own.value == core))
    }

    /// The devices of a partition whose slots are open.
    pub(super) fn exchange(&self, home: usize) -> Option<&Exchange> {
        self.open_io()?.of_home(home)
    }

    /// True where the cores of tasks are open.
    pub(super) fn is_open(&self) -> bool {
        !places_by_color(&self.request)
            && is_partitioned(&self.probe.policy)
            && self.request.tasks.iter().any(|wish| wish.core.is_nothing())
    }

    /// How tasks are given cores, in the order in which that is tried; true where memory is counted into execution times.
    pub(super) fn core_rules(&self) -> Vec<(CoreRule, bool)> {
        if places_by_color(&self.request) {
            return vec![(CoreRule::ByColor, false)];
        }
        if !self.is_open() {
            return vec![(CoreRule::Written, false)];
        }
        let written = self.request.scheduler.value().and_then(|wish| wish.partition.value());
        let order = ["wfd", "ffd", "bfd", "nfd", "wf", "ff", "bf", "nf"];
        let known = |name| Heuristic::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, one)| one);
        let all: Vec<Heuristic> = match written {
            Some(Partitioner::Tasks(one)) => vec![*one],
            _ => order.into_iter().filter_map(known).collect(),
        };
        let packed = all.iter().map(|&one| (CoreRule::Packed(one), false));
        let charged = all.iter().map(|&one| (CoreRule::Packed(one), true));
        let drawn = (0..if written.is_some() { 0 } else { DRAWN }).map(|draw| (CoreRule::Drawn(draw), true));
        packed.chain(charged).chain(drawn).collect()
    }

    /// The same with cores of their own for tasks with deadlines that use memory; nothing where there are not cores enough for them.
    pub(super) fn apart_rules(&self) -> Vec<(CoreRule, bool)> {
        if !self.is_open() || self.alone().is_none() {
            return Vec::new();
        }
        let packed = self.core_rules().into_iter().filter_map(|(rule, charged)| match rule {
            CoreRule::Packed(heuristic) => Some((CoreRule::Apart(heuristic), charged)),
            _ => None,
        });
        packed.collect()
    }

    /// Puts two tasks on one core from now on; false where they are already.
    pub(super) fn join(&mut self, a: usize, b: usize) -> bool {
        let can = self.can_join(a, b);
        if can {
            let (low, high) = (self.group[a].min(self.group[b]), self.group[a].max(self.group[b]));
            for group in self.group.iter_mut().filter(|group| **group == high) {
                *group = low;
            }
        }
        can
    }

    /// Whether two tasks can be put on one core.
    pub(super) fn can_join(&self, a: usize, b: usize) -> bool {
        let held = |of: usize| {
            (0..self.group.len())
                .find_map(|task| self.held[task].filter(|_| self.group[task] == self.group[of]))
        };
        let meet = match (held(a), held(b)) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        self.is_open() && self.group[a] != self.group[b] && meet
    }

    /// The tasks that share a core with each.
    pub(super) fn group(&self, task: usize) -> usize {
        self.group[task]
    }

    /// What isolation may be decided about; `None` where it is switched off.
    pub(super) fn mechanisms(&self) -> Option<&Mechanisms> {
        match &self.request.isolation {
            IsolationWish::By(wished) => Some(wished),
            IsolationWish::Off => None,
        }
    }

    pub(super) fn bandwidth(&self) -> Option<&BandwidthWish> {
        self.mechanisms().and_then(|wished| wished.bandwidth.value())
    }

    /// True where the regulation period is written.
    pub(super) fn writes_period(&self) -> bool {
        self.bandwidth().is_some_and(|wish| wish.period.is_some())
    }

    /// True where all cores compute equally fast.
    pub(super) fn has_one_speed(&self) -> bool {
        self.probe.platform.speeds().len() == 1
    }

    /// More processor time is asked for than there is, whoever runs where.
    pub(super) fn lacks_processors(&self) -> Option<NoPlan> {
        let fastest = self.probe.platform.fastest(self.probe.platform.core_set());
        let share = |task: &solo_model::Task| {
            // On the fastest core: no more can be had.
            let task = as_sporadic(task, fastest).filter(|_| task.relative_deadline().is_some())?;
            Some(u128::from(task.c.get()) * 1_000_000_000 / u128::from(task.t.get().max(1)))
        };
        let asked = self.probe.tasks.iter().filter_map(share).sum::<u128>().div_ceil(1000);
        let asked = u64::try_from(asked).unwrap_or(u64::MAX);
        let cores = self.probe.platform.core_set().iter().filter(|&core| !self.starts_devices(core)).count();
        (asked > cores as u64 * 1_000_000).then_some(NoPlan::Processors { asked, cores })
    }

    /// The request with these choices.
    pub(super) fn request_with(&self, choices: &Choices) -> Request {
        let mut request = self.request.clone();
        for (wish, choice) in request.tasks.iter_mut().zip(&choices.tasks) {
            if let Some(core) = choice.core {
                wish.core = said(core);
            }
            if let Some(colors) = &choice.colors {
                wish.colors = Some(Wish::new(colors.clone(), TextRange::default()));
            }
            if let Some(banks) = &choice.banks {
                wish.banks = Some(Wish::new(banks.clone(), TextRange::default()));
            }
            if let Some(offset) = choice.offset {
                wish.offset = said(offset);
            }
        }
        if let (IsolationWish::By(wished), false) = (&mut request.isolation, choices.budgets.is_empty()) {
            if wished.bandwidth.is_nothing() {
                wished.bandwidth = said(BandwidthWish::default());
            }
            if let Said::This(bandwidth) = &mut wished.bandwidth {
                let planned = choices.budgets.iter().map(|&(core, events)| CoreBudget {
                    core,
                    budget: Budget::Events(events),
                    writes: None,
                });
                bandwidth.value.cores.extend(planned);
                bandwidth.value.cores.sort_by_key(|entry| entry.core);
                if let Some(period) = choices.period {
                    bandwidth.value.period = Some(Wish::new(period, TextRange::default()));
                }
            }
        }
        if let IsolationWish::By(wished) = &mut request.isolation {
            wished.cycles.extend(choices.cycles.iter().map(cycle));
            if !choices.pages.is_empty() {
                wished.lockdown = Some(lockdown(&choices.pages));
            }
        }
        for choice in &choices.devices {
            let of = |wish: &&mut DeviceWish| wish.name.value == choice.name;
            let Some(wish) = request.devices.iter_mut().find(of) else { continue };
            let here = |time| Some(Wish::new(time, TextRange::default()));
            wish.core = Some(Wish::new(choice.core, TextRange::default()));
            wish.offset = here(choice.offset);
            wish.physical_offset = choice.physical_offset.and_then(here);
        }
        request
    }
}

fn lockdown(choices: &[PagesChoice]) -> LockdownWish {
    let nowhere = TextRange::default();
    let named = |choice: &PagesChoice| Named {
        name: Wish::new(choice.task.clone(), nowhere),
        wish: Wish::new(choice.pages, nowhere),
    };
    LockdownWish {
        at: nowhere,
        when: Some(Wish::new(LockTime::Partition, nowhere)),
        pages: choices.iter().map(named).collect(),
    }
}

fn cycle(choice: &CycleChoice) -> CycleWish {
    let nowhere = TextRange::default();
    let window = |window: &WindowChoice| WindowWish {
        at: nowhere,
        partition: Wish::new(window.partition.clone(), nowhere),
        begin: window.begin,
        length: window.length,
    };
    CycleWish {
        at: nowhere,
        core: Wish::new(choice.core, nowhere),
        length: Wish::new(choice.length, nowhere),
        windows: choice.windows.iter().map(window).collect(),
    }
}

/// A core on which a task may be that is on none yet: the lowest that is not divided and starts no device.
fn undivided_core(request: &Request) -> CoreId {
    let divided = match &request.isolation {
        IsolationWish::By(wished) => wished.cycles.as_slice(),
        IsolationWish::Off => &[],
    };
    let taken = |core: CoreId| {
        divided.iter().any(|cycle| cycle.core.value == core)
            || request.devices.iter().any(|device| device.core.is_some_and(|own| own.value == core))
    };
    let count = request.platform.value().map_or(0, |platform| platform.cores.len() as u16);
    (0..count).map(CoreId).find(|&core| !taken(core)).unwrap_or(CoreId(0))
}

pub(super) fn said<T>(value: T) -> Said<T> {
    Said::This(Wish::new(value, TextRange::default()))
}

/// True where `partition` places groups by their colors: then that is what places them.
fn places_by_color(request: &Request) -> bool {
    let written = request.scheduler.value().and_then(|wish| wish.partition.value());
    matches!(written, Some(Partitioner::Colors(_)))
}

/// The cores that tasks have to be on, and which tasks share theirs: those of an IMA partition, where its windows are.
fn bound(request: &Request, wish_of: &[usize]) -> (Vec<Option<CoreId>>, Vec<usize>) {
    let mut held: Vec<Option<CoreId>> =
        wish_of.iter().map(|&wish| request.tasks[wish].core.value().copied()).collect();
    let mut group: Vec<usize> = (0..wish_of.len()).collect();
    let IsolationWish::By(wished) = &request.isolation else { return (held, group) };
    for partition in &wished.partitions {
        let is_member =
            |wish: usize| partition.tasks.iter().any(|name| name.value == request.tasks[wish].name.value);
        let members: Vec<usize> = (0..wish_of.len()).filter(|&task| is_member(wish_of[task])).collect();
        let Some(&first) = members.first() else { continue };
        let runs = |cycle: &&crate::CycleWish| {
            cycle.windows.iter().any(|window| window.partition.value == partition.name.value)
        };
        let core = wished.cycles.iter().find(runs).map(|cycle| cycle.core.value);
        for &member in &members {
            group[member] = group[first];
            held[member] = held[member].or(core);
        }
    }
    (held, group)
}

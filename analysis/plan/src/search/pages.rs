//! Pages that are locked in the windows of partitions (SCE 2.3 and 3.1, step 5): by the progressive lockdown curves of tasks, as many of each as
//! make the partition ask for least time.
//!
//! A page saves a task misses and costs each window of its partition the loading of its lines, both with what budgets and other cores add. Windows
//! of a core take turns, so each partition has all ways but one of its core's colors for itself.

use super::choices::{Choices, PagesChoice};
use super::cores::Placement;
use super::home::Home;
use super::subject::Subject;
use alloc::vec::Vec;
use solo_isolate::MemoryMap;
use solo_model::task::Release;
use solo_model::{CoreId, Duration, Experiment, TaskClass};
use solo_prove::system::{System, loading};
use solo_prove::wcet::{Curve, Lockable, Point, exact};

impl Subject {
    /// Whether there are pages to choose: curves, and nothing that is written about locked pages.
    pub(super) fn chooses_pages(&self) -> bool {
        self.mechanisms().is_some_and(|wished| wished.lockdown.is_none())
            && self.request.tasks.iter().any(|wish| wish.curve.is_some())
    }

    /// The pages of each partition's tasks under these choices; `experiment` has none locked.
    pub(super) fn pages_locked(
        &self,
        experiment: &Experiment,
        placement: &Placement,
        choices: &Choices,
    ) -> Vec<PagesChoice> {
        if !self.chooses_pages() {
            return Vec::new();
        }
        let system = System::of(experiment);
        let homes = self.homes().iter();
        let of = |home: &Home| {
            let core = home.tasks.first().map(|&task| placement.cores[task])?;
            let here = |other: &&Home| other.tasks.first().is_some_and(|&task| placement.cores[task] == core);
            let exchanges = |at: usize| here(&&self.homes()[at]) && self.exchange(at).is_some();
            // Where nobody else has windows, no time is divided.
            let divided =
                self.homes().iter().filter(here).count() > 1 || (0..self.homes().len()).any(exchanges);
            let room = self.room(core, placement, choices);
            divided.then(|| self.of_home(&system, experiment, home, (core, room)))
        };
        homes.filter_map(of).flatten().collect()
    }

    fn of_home(
        &self,
        system: &System,
        experiment: &Experiment,
        home: &Home,
        (core, room): (CoreId, usize),
    ) -> Vec<PagesChoice> {
        let curves: Vec<(usize, &Curve)> = home
            .tasks
            .iter()
            .filter_map(|&task| Some((task, &self.request.tasks[self.wish_of[task]].curve.as_ref()?.value)))
            .collect();
        let Some(window) = self.windows_every(experiment, home) else { return Vec::new() };
        let lockable = |&(task, curve): &(usize, &Curve)| {
            let period = match experiment.tasks[task].release {
                Release::Periodic { period, .. } | Release::Sporadic { distance: period } => period,
                _ => window,
            };
            let time = |point: &Point| {
                let own = point.alone.saturating_add(system.adds(core, point.reads)?);
                let load = loading(system, experiment, core, point.pages)?;
                // So many windows begin in a period of the task.
                let loads =
                    u128::from(load.get()) * u128::from(period.get()) / u128::from(window.get().max(1));
                let loads = Duration::new(u64::try_from(loads).unwrap_or(u64::MAX));
                Some((point.pages, own.saturating_add(loads)))
            };
            Some(Lockable { period, times: curve.points().iter().map(time).collect::<Option<_>>()? })
        };
        let Some(tasks) = curves.iter().map(lockable).collect::<Option<Vec<_>>>() else { return Vec::new() };
        let Some(chosen) = exact(&tasks, room) else { return Vec::new() };
        let choice = |((task, _), &pages): (&(usize, &Curve), &u64)| PagesChoice {
            task: self.request.tasks[self.wish_of[*task]].name.value.clone(),
            pages,
        };
        curves.iter().zip(&chosen.pages).map(choice).filter(|choice| choice.pages > 0).collect()
    }

    /// From one window of a partition to the next, as far as that is known before windows are chosen.
    fn windows_every(&self, experiment: &Experiment, home: &Home) -> Option<Duration> {
        let at = self.homes().iter().position(|other| other.name == home.name)?;
        if let Some(exchange) = self.exchange(at) {
            return Some(exchange.period);
        }
        let tasks = home.tasks.iter().map(|&task| &experiment.tasks[task]);
        let asked = tasks.filter(|task| task.class != TaskClass::BestEffort);
        asked.filter_map(|task| task.release.period()).min()
    }

    /// The pages that a core's part of the last level can hold locked, one way left to everything else.
    fn room(&self, core: CoreId, placement: &Placement, choices: &Choices) -> usize {
        let (Some(last), Ok(map)) = (self.probe.platform.last_level(), MemoryMap::of(&self.probe.platform))
        else {
            return 0;
        };
        let own = (0..placement.cores.len()).filter(|&task| placement.cores[task] == core);
        let chosen =
            own.filter_map(|task| choices.tasks[self.wish_of[task]].colors.as_ref()).map(Vec::len).max();
        let colors = chosen.unwrap_or_else(|| usize::from(map.colors().count()));
        colors * usize::from(last.ways.saturating_sub(1))
    }
}

//! Budgets of groups, from the beginning to the end.

use super::budgets::{GroupBudgets, stand_in};
use super::error::GroupError;
use super::warden::{GroupTally, Seat, Warden};
use crate::Actuator;
use crate::actuator::Machine;
use crate::claim;
use crate::guard::Guard;
use crate::occupier::{AHEAD, Decider, EACH, PRIORITY, Progress, Replayed, Replayer, SOON, Shared};
use crate::setting::{Group, Knob, Setting};
use solo_isolate::regulator::Conservation;
use solo_model::isolation::Budget;
use solo_model::{Duration, Instant};
use solo_perf::files::Host;
use solo_perf::now;
use solo_store::Dir;
use solo_threads::{NoFifo, sched};
use std::io;
use std::ops::ControlFlow;

/// What became of all budgets of groups.
#[derive(Debug)]
pub struct GroupsHeld {
    /// Of each group.
    pub groups: Vec<GroupTally>,
    /// Whether the answers were those of the enforcer.
    pub replayed: Replayed,
    /// What became of the sum of all budgets.
    pub conservation: Conservation,
    /// How long budgets were held.
    pub length: Duration,
}

/// Budgets of groups that are being held.
pub struct LiveGroups<'a> {
    shared: &'a Shared,
    budgets: &'a GroupBudgets,
    /// How long they have been held.
    pub since: Duration,
}

impl LiveGroups<'_> {
    /// How far the budget of each group has come, in their order.
    pub fn progress(&self) -> Vec<Progress> {
        let places = 0..self.budgets.groups.len();
        places.filter_map(|place| self.shared.progress(stand_in(place))).collect()
    }

    /// Gives a group another budget from its next period on; false where it has none.
    ///
    /// # Errors
    /// [`GroupError::Zero`], [`GroupError::Weight`]; then it has the one it had.
    pub fn allow(&self, group: &Group, budget: Budget) -> Result<bool, GroupError> {
        let Some(place) = self.budgets.groups.iter().position(|known| known == group) else {
            return Ok(false);
        };
        self.budgets.holds(place, budget)?;
        Ok(self.shared.decider().allow(stand_in(place), self.budgets.budgets.allowance(budget)))
    }
}

/// Holds budgets of groups until `attend` breaks. It is asked every few milliseconds, for the first time when all groups are in their
/// first period. `alive` is called by whoever freezes, at least ten times a second.
///
/// # Errors
/// See [`GroupError`]; then nothing was held.
pub fn hold(
    budgets: &GroupBudgets,
    guard: &mut Guard<Machine>,
    alive: &(dyn Fn() + Sync),
    attend: &mut dyn FnMut(&LiveGroups<'_>) -> ControlFlow<()>,
) -> Result<GroupsHeld, GroupError> {
    let config = budgets.config()?;
    let folders = folders(budgets, guard)?;
    let decider = Decider::new(config, Instant::ZERO);
    let mut replayer = Replayer::new(&decider);
    let shared = Shared::new(decider, folders.len()).map_err(GroupError::System)?;
    std::thread::scope(|scope| {
        let (ready, readiness) = std::sync::mpsc::channel();
        let shared = &shared;
        let work = move || {
            let (started, seats) = match started(budgets, &folders) {
                Ok(seats) => (Ok(()), Some(seats)),
                Err(error) => (Err(error), None),
            };
            let _ = ready.send(started);
            drop(ready);
            seats.map_or_else(Vec::new, |seats| Warden { seats, shared, alive }.run())
        };
        let builder = std::thread::Builder::new().name("warden".to_owned());
        let thread = builder.spawn_scoped(scope, work).map_err(GroupError::System)?;
        let started = readiness.recv().map_err(|_| GroupError::System(io::Error::other("the warden ended")));
        let promised = started.and_then(|started| started).and_then(|()| promise(budgets, guard));
        promised.inspect_err(|_| shared.end())?;
        sched::keep_in_memory();
        let origin = now() + AHEAD;
        shared.begin(origin);
        while shared.begun() == 0 && !thread.is_finished() {
            std::thread::sleep(SOON);
        }
        let mut check = || {
            let state = replayer.take(&mut shared.decider());
            replayer.replay(state);
        };
        let length = loop {
            let since = Duration::new(now().saturating_sub(origin));
            let live = LiveGroups { shared, budgets, since };
            if attend(&live).is_break() || thread.is_finished() {
                break since;
            }
            check();
            std::thread::sleep(EACH);
        };
        shared.end();
        let groups = thread.join().unwrap_or_default();
        check();
        let conservation = shared.decider().conservation();
        Ok(GroupsHeld { groups, replayed: replayer.replayed, conservation, length })
    })
}

/// The folder of each group, once it is sure that it can be frozen, by us alone.
fn folders(budgets: &GroupBudgets, guard: &Guard<Machine>) -> Result<Vec<Dir>, GroupError> {
    let own = guard.machine().group_of(std::process::id());
    let folder = |group: &Group| {
        if group.is_root() {
            return Err(GroupError::Root);
        }
        if own.as_ref().is_some_and(|own| group.holds(own)) {
            return Err(GroupError::Own { group: group.clone() });
        }
        let failed = |source| GroupError::Group { group: group.clone(), source };
        if guard.machine().look(&freeze(group)).map_err(failed)?.value != "0" {
            return Err(GroupError::Frozen { group: group.clone() });
        }
        let folder = guard.machine().folder(group).map_err(failed)?;
        match claim::take(&folder) {
            Ok(false) => Err(GroupError::Claimed { group: group.clone() }),
            _ => Ok(folder),
        }
    };
    budgets.groups.iter().map(folder).collect()
}

/// What a thread needs that is to freeze them.
fn started(budgets: &GroupBudgets, folders: &[Dir]) -> Result<Vec<Seat>, GroupError> {
    let named = budgets.groups.iter().zip(folders).enumerate();
    let seats = named.map(|(number, (group, folder))| Seat::open(budgets, number, group, folder));
    let seats = seats.collect::<Result<Vec<_>, _>>()?;
    // Above occupiers: on a machine of which each CPU is held nobody would be frozen.
    sched::fifo(PRIORITY + 1).map_err(|_| NoFifo::why(&Host::new(), PRIORITY + 1))?;
    Ok(seats)
}

/// Writes down that groups will be frozen, before the first one is.
fn promise(budgets: &GroupBudgets, guard: &mut Guard<Machine>) -> Result<(), GroupError> {
    budgets.groups.iter().try_for_each(|group| Ok(guard.promise(&freeze(group), &["1", "0"])?))
}

fn freeze(group: &Group) -> Setting {
    Setting::Cgroup { group: group.clone(), knob: Knob::Freeze }
}

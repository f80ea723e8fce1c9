//! Tasks that take each other's lines run one after the other.

use super::alert::Alert;
use crate::placement::{Action, Actions, Hook, Placement, Situation};
use solo_model::{CoreId, Instant, Listening, Platform, TaskId};

/// The most tasks that take turns; further ones are left alone.
const MOST: usize = 16;

/// Tasks of the classes on cores that counted more than the threshold in the same period take turns from then on: in each period
/// one of them runs, and the others are held (invalidation paper 4: not both at a time).
///
/// The turn goes on at the end of each period. Whoever has it and was on no core in its period has no need of it: then all turns
/// are over, and begin anew where lines go to and fro again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Serialize {
    alert: Alert,
    /// Who takes turns, in the order in which they were found; the first has the turn.
    line: [Option<TaskId>; MOST],
    /// The first was on a core since it has the turn.
    seen: bool,
    /// The end of the period.
    next: Instant,
    /// Who was found on a core that is loud at the end of the last period. By now another may be on that core.
    suspects: [Option<TaskId>; MOST],
}

impl Serialize {
    /// The policy over metric 0, what each core counted in a period.
    pub fn new(listening: &Listening, _: &Platform) -> Self {
        let nobody = [None; MOST];
        Self {
            alert: Alert::new(listening),
            line: nobody,
            seen: false,
            next: Instant::ZERO,
            suspects: nobody,
        }
    }

    /// True where `task` waits for its turn.
    fn waits(&self, task: TaskId) -> bool {
        self.line.iter().skip(1).flatten().any(|&known| known == task)
    }

    fn has_turn(&self, task: TaskId) -> bool {
        self.line.first() == Some(&Some(task))
    }

    fn leave(&mut self, task: TaskId) {
        let mut rest = self.line.into_iter().flatten().filter(|&known| known != task);
        self.line = core::array::from_fn(|_| rest.next());
        // Nobody takes turns with nobody.
        if self.line.iter().flatten().count() < 2 {
            self.line = [None; MOST];
        }
    }

    /// The first core at the end of a period: the turn goes on.
    fn turn(&mut self, next: Instant) {
        (self.next, self.suspects) = (next, [None; MOST]);
        if !core::mem::take(&mut self.seen) {
            self.line = [None; MOST];
        }
        let waiting = self.line.iter().flatten().count();
        self.line[..waiting].rotate_left(waiting.min(1));
    }

    /// The period of `core` is over: where tasks on two cores are loud they take turns from now on.
    fn tick(&mut self, core: CoreId, situation: &dyn Situation) -> Actions {
        let mut actions = Actions::NONE;
        if let Some(task) = self.alert.culprit(core, situation) {
            note(&mut self.suspects, task);
        }
        if self.suspects.iter().flatten().count() >= 2 {
            // The first of a new line is on its core, and may have been looked at before.
            self.seen |= self.line[0].is_none();
            for task in self.suspects.into_iter().flatten() {
                let new = note(&mut self.line, task);
                if new && !self.has_turn(task) {
                    // More than there is room for are held when they come onto a core again.
                    let _ = actions.push(Action::Hold { task, until: self.next });
                }
            }
        }
        if let Some(task) = situation.running(core) {
            self.seen |= self.has_turn(task);
            let told = actions.iter().any(|action| matches!(action, Action::Hold { task: known, .. } if known == task));
            if self.waits(task) && !told {
                let _ = actions.push(Action::Hold { task, until: self.next });
            }
        }
        actions
    }
}

/// Adds a task to a list; false where it stands there already, or nothing more fits in.
fn note(list: &mut [Option<TaskId>; MOST], task: TaskId) -> bool {
    let place = list.iter_mut().find(|place| place.is_none_or(|known| known == task));
    match place {
        Some(place) if place.is_none() => {
            *place = Some(task);
            true
        }
        _ => false,
    }
}

impl Placement for Serialize {
    fn name(&self) -> &'static str {
        "serialize"
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        match hook {
            Hook::Tick { core, next } => {
                if next != self.next {
                    self.turn(next);
                }
                return self.tick(core, situation);
            }
            Hook::SwitchIn { task, .. } if self.waits(task) && now < self.next => {
                return Actions::one(Action::Hold { task, until: self.next });
            }
            Hook::SwitchIn { task, .. } => self.seen |= self.has_turn(task),
            Hook::Exit(task) => self.leave(task),
            _ => {}
        }
        Actions::NONE
    }
}

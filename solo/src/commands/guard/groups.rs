//! Budgets of cgroups, held by a thread beside the one that attends to CPUs and whoever asks.

use super::minder::Minder;
use solo_guard::groups::{GroupBudgets, GroupError, GroupsHeld, LiveGroups, hold};
use solo_guard::occupier::Progress;
use solo_guard::{Group, Guard, Machine};
use solo_model::Events;
use solo_model::isolation::Budget;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long who asks for another budget waits for the thread that holds it.
const ANSWER: Duration = Duration::from_secs(1);

/// What the two threads tell each other.
pub(super) struct Desk {
    begun: AtomicBool,
    ended: AtomicBool,
    stop: AtomicBool,
    leave: AtomicBool,
    asked: Mutex<Receiver<Request>>,
    ask: Sender<Request>,
    progress: Mutex<Vec<Progress>>,
}

struct Request {
    group: Group,
    events: u64,
    answer: Sender<Result<(), String>>,
}

impl Desk {
    pub(super) fn new() -> Self {
        let (ask, asked) = channel();
        let flag = || AtomicBool::new(false);
        Self {
            begun: flag(),
            ended: flag(),
            stop: flag(),
            leave: flag(),
            asked: Mutex::new(asked),
            ask,
            progress: Mutex::default(),
        }
    }

    /// Holds budgets until it is told to stop.
    pub(super) fn work(
        &self,
        budgets: &GroupBudgets,
        guard: &mut Guard<Machine>,
        minder: &Minder,
    ) -> Result<GroupsHeld, GroupError> {
        let held = hold(budgets, guard, &|| minder.alive(), &mut |live| {
            self.begun.store(true, Ordering::Release);
            self.serve(live);
            *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = live.progress();
            match self.stop.load(Ordering::Acquire) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        self.ended.store(true, Ordering::Release);
        held
    }

    fn serve(&self, live: &LiveGroups<'_>) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(Request { group, events, answer }) = asked.try_recv() {
            let said = match live.allow(&group, Budget::Events(Events::new(events))) {
                Ok(true) => Ok(()),
                Ok(false) => Err(format!("/{} has no budget", String::from(group))),
                Err(refusal) => Err(refusal.to_string()),
            };
            let _ = answer.send(said);
        }
    }

    /// Waits until all groups are held; false where they will not be.
    pub(super) fn is_at_work(&self) -> bool {
        while !self.begun.load(Ordering::Acquire) {
            if self.ended.load(Ordering::Acquire) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    /// True where budgets are no longer held.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// How far the budget of each group has come, in their order.
    pub(super) fn progress(&self) -> Vec<Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// When this is dropped, whatever drops it, nobody is held any more, and what was changed is put back.
    pub(super) const fn leaving(&self) -> Leaving<'_> {
        Leaving(self)
    }

    /// Waits until it has.
    pub(super) fn wait_for_leave(&self) {
        while !self.leave.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Asks for another budget.
    pub(super) fn allow(&self, group: &Group, events: u64) -> Result<(), String> {
        let (answer, answered) = channel();
        let nobody = || "its budget is no longer held".to_owned();
        self.ask.send(Request { group: group.clone(), events, answer }).map_err(|_| nobody())?;
        answered.recv_timeout(ANSWER).map_err(|_| nobody())?
    }
}

/// Ends what a desk's thread does.
pub(super) struct Leaving<'d>(&'d Desk);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.stop();
        self.0.leave.store(true, Ordering::Release);
    }
}

//! Budgets of cgroups, held by a thread of its own beside the one that attends to the program and to whoever asks.
//!
//! ```text
//!   GroupHandle ──requests──▶ GroupWorker ──▶ the warden, which freezes
//!               ◀──progress──
//! ```
//! Each side learns from its channel that the other has ended.

use super::minder::Minder;
use solo_guard::groups::{GroupBudgets, GroupError, GroupsHeld, LiveGroups, hold};
use solo_guard::occupier::Progress;
use solo_guard::{Group, Guard, Machine};
use solo_model::Events;
use solo_model::isolation::Budget;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

/// How long who asks for another budget waits for the thread that holds it.
const ANSWER: Duration = Duration::from_secs(1);

/// How often the minder hears of a thread that holds no group any more.
const EACH: Duration = Duration::from_millis(100);

/// What the thread that holds groups is asked.
enum Request {
    /// Another budget for a group.
    Allow { group: Group, events: u64, answer: Sender<Result<(), String>> },
    /// To hold nobody any more.
    Stop,
}

/// The side of whoever attends. While it is there, the groups that were made stay.
pub(super) struct GroupHandle {
    requests: Sender<Request>,
    progress: Receiver<Vec<Progress>>,
    latest: Vec<Progress>,
}

/// The side of the thread that holds groups.
pub(super) struct GroupWorker {
    requests: Receiver<Request>,
    progress: Sender<Vec<Progress>>,
}

/// Both sides.
pub(super) fn sides() -> (GroupHandle, GroupWorker) {
    let ((ask, requests), (tell, progress)) = (channel(), channel());
    (GroupHandle { requests: ask, progress, latest: Vec::new() }, GroupWorker { requests, progress: tell })
}

impl GroupHandle {
    /// Waits until all groups are held; false where they will not be.
    pub(super) fn are_held(&self) -> bool {
        self.progress.recv().is_ok()
    }

    /// Takes in how far budgets have come; false where they are no longer held.
    pub(super) fn look(&mut self) -> bool {
        loop {
            match self.progress.try_recv() {
                Ok(progress) => self.latest = progress,
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// How far the budget of each group had come at the last look, in their order.
    pub(super) fn progress(&self) -> &[Progress] {
        &self.latest
    }

    /// Asks for another budget.
    pub(super) fn allow(&self, group: &Group, events: u64) -> Result<(), String> {
        let nobody = || "its budget is no longer held".to_owned();
        let (answer, answered) = channel();
        let request = Request::Allow { group: group.clone(), events, answer };
        self.requests.send(request).map_err(|_| nobody())?;
        answered.recv_timeout(ANSWER).map_err(|_| nobody())?
    }

    /// Nobody is held any more.
    pub(super) fn stop(&self) {
        let _ = self.requests.send(Request::Stop);
    }
}

impl GroupWorker {
    /// Holds budgets until it is told to stop, or the other side is gone; returns when it is gone.
    pub(super) fn work(
        self,
        budgets: &GroupBudgets,
        guard: &mut Guard<Machine>,
        minder: &Minder,
    ) -> Result<GroupsHeld, GroupError> {
        let Self { requests, progress } = self;
        let held = hold(budgets, guard, &|| minder.alive(), &mut |live| {
            let _ = progress.send(live.progress());
            serve(&requests, live)
        });
        drop(progress);
        // CPUs may be held for longer. Who asks meanwhile is not answered, and hears so at once.
        loop {
            match requests.recv_timeout(EACH) {
                Ok(request) => drop(request),
                Err(RecvTimeoutError::Timeout) => minder.alive(),
                Err(RecvTimeoutError::Disconnected) => return held,
            }
        }
    }
}

fn serve(requests: &Receiver<Request>, live: &LiveGroups<'_>) -> ControlFlow<()> {
    loop {
        match requests.try_recv() {
            Ok(Request::Allow { group, events, answer }) => {
                let said = match live.allow(&group, Budget::Events(Events::new(events))) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(format!("/{} has no budget", String::from(group))),
                    Err(refusal) => Err(refusal.to_string()),
                };
                let _ = answer.send(said);
            }
            Ok(Request::Stop) | Err(TryRecvError::Disconnected) => return ControlFlow::Break(()),
            Err(TryRecvError::Empty) => return ControlFlow::Continue(()),
        }
    }
}

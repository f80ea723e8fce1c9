//! All occupiers, from their start to their end.

use super::budgets::Budgets;
use super::decider::{Decider, Replayed, Replayer};
use super::error::{BudgetRefusal, OccupierError};
use super::gate::Gate;
use super::tally::{CoreTally, Progress};
use super::thread::{Occupier, Shared};
use super::watchdog::Watchdog;
use crate::claim;
use solo_isolate::regulator::Conservation;
use solo_model::isolation::Budget;
use solo_model::{CoreId, Duration, Instant};
use solo_perf::now;
use solo_threads::sched;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time;

/// How often who called is asked whether to go on.
pub(crate) const EACH: time::Duration = time::Duration::from_millis(20);
/// How often it is looked at whether all cores are held.
pub(crate) const SOON: time::Duration = time::Duration::from_micros(500);
/// The first period begins so many nanoseconds after all are ready.
pub(crate) const AHEAD: u64 = 2_000_000;

/// What became of all budgets.
#[derive(Debug)]
pub struct Held {
    /// Of each core that had one, ascending.
    pub cores: Vec<CoreTally>,
    /// Those of which another guard held a budget when this one began: each counts what the other's threads do.
    pub contested: Vec<CoreId>,
    /// Whether the answers were those of the enforcer.
    pub replayed: Replayed,
    /// What became of the sum of all budgets: what is given away and taken leaves it as it is.
    pub conservation: Conservation,
    /// How long budgets were held.
    pub length: Duration,
}

/// Budgets that are being held.
pub struct Live<'a> {
    shared: &'a Shared,
    budgets: &'a Budgets,
    /// How long they have been held.
    pub since: Duration,
}

impl Live<'_> {
    /// How far a core's budget has come; nothing where it has none.
    pub fn progress(&self, core: CoreId) -> Option<Progress> {
        self.shared.progress(core)
    }

    /// Gives a core another budget from its next period on; false where it has none.
    ///
    /// # Errors
    /// As [`Budgets::holds`]; then it has the one it had.
    pub fn allow(&self, core: CoreId, budget: Budget) -> Result<bool, BudgetRefusal> {
        self.budgets.holds(core, budget)?;
        Ok(self.shared.decider().allow(core, self.budgets.allowance(budget)))
    }
}

/// Holds budgets until `attend` breaks. It is asked every few milliseconds, for the first time when all cores are in their first
/// period: what is started then is held from its first instruction on. `settle` is
/// called by each thread of its own accord when it needs no right any more. A stopped CPU is kept by `gate`, where there is one, and by
/// computing where there is none.
///
/// # Errors
/// See [`OccupierError`]; then nothing was held.
pub fn hold(
    budgets: &Budgets,
    gate: Option<&dyn Gate>,
    settle: &(dyn Fn() + Sync),
    attend: &mut dyn FnMut(&Live<'_>) -> ControlFlow<()>,
) -> Result<Held, OccupierError> {
    let config = budgets.config(&sched::cpus())?;
    let (_claims, contested) = claim::cpus(&budgets.cores());
    let cores = config.cores.len();
    let decider = Decider::new(config, Instant::ZERO);
    let mut replayer = Replayer::new(&decider);
    let shared = Shared::new(decider, cores).map_err(OccupierError::System)?;
    std::thread::scope(|scope| {
        let started = start(scope, budgets, gate, settle, &shared);
        let threads = started.inspect_err(|_| shared.end())?;
        // A page that is looked up again would be counted against the budget.
        sched::keep_in_memory();
        let origin = now() + AHEAD;
        shared.begin(origin);
        settle();
        let length = attend_all(&shared, budgets, origin, &threads, &mut replayer, attend);
        shared.end();
        let cores =
            threads.into_iter().zip(budgets.cores()).map(|(thread, core)| joined(thread, core)).collect();
        check(&shared, &mut replayer);
        let conservation = shared.decider().conservation();
        Ok(Held { cores, contested, replayed: replayer.replayed, conservation, length })
    })
}

/// What an occupier has counted; one that panicked has let its core go, and says so.
fn joined(thread: Thread<'_>, core: CoreId) -> CoreTally {
    thread.join().unwrap_or_else(|_| CoreTally {
        failure: Some(io::Error::other("the occupier panicked")),
        ..CoreTally::new(core)
    })
}

type Thread<'scope> = ScopedJoinHandle<'scope, CoreTally>;

/// Starts all occupiers and waits until each has its core.
fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    budgets: &'env Budgets,
    gate: Option<&'env dyn Gate>,
    settle: &'env (dyn Fn() + Sync),
    shared: &'env Shared,
) -> Result<Vec<Thread<'scope>>, OccupierError> {
    let (ready, readiness) = channel();
    let mut threads = Vec::new();
    for core in budgets.cores() {
        let ready: Sender<Result<(), OccupierError>> = ready.clone();
        let work = move || match Occupier::start(core, &budgets.event, shared, gate) {
            Ok(occupier) => {
                settle();
                let _ = ready.send(Ok(()));
                drop(ready);
                occupier.run()
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                CoreTally::new(core)
            }
        };
        let builder = std::thread::Builder::new().name(format!("occupier {}", core.index()));
        threads.push(builder.spawn_scoped(scope, work).map_err(OccupierError::System)?);
    }
    drop(ready);
    readiness.into_iter().collect::<Result<(), _>>()?;
    Ok(threads)
}

/// Asks who called whether to go on, and checks what was decided, until it is over or no core is held any more.
fn attend_all(
    shared: &Shared,
    budgets: &Budgets,
    origin: u64,
    threads: &[Thread<'_>],
    replayer: &mut Replayer,
    attend: &mut dyn FnMut(&Live<'_>) -> ControlFlow<()>,
) -> Duration {
    let ended = || threads.iter().filter(|thread| thread.is_finished()).count();
    while shared.begun() + ended() < threads.len() {
        std::thread::sleep(SOON);
    }
    let mut watchdog = None;
    loop {
        let since = Duration::new(now().saturating_sub(origin));
        let live = Live { shared, budgets, since };
        if attend(&live).is_break() || ended() == threads.len() {
            return since;
        }
        // Not before who called has started what it starts: limits are inherited.
        watchdog.get_or_insert_with(|| Watchdog::set(budgets.regulation.period));
        check(shared, replayer);
        std::thread::sleep(EACH);
    }
}

fn check(shared: &Shared, replayer: &mut Replayer) {
    let state = replayer.take(&mut shared.decider());
    replayer.replay(state);
}

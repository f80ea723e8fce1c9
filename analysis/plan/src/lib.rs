//! From a [`Request`] (what somebody wishes, and where it is written) to an [`Experiment`] (nothing left to decide), and why.
//!
//! ```text
//!   text ──scenario──▶ Request ──plan──▶ Experiment        runs on every machine
//!                         ▲        │
//!               command line       ├──▶ Reason ...         what was decided, for whom, by which rule
//!                                  └──▶ Objection, Doubt   what can't be had, or is probably not meant, and where it is written
//! ```
//!
//! A request is only what is said. Whatever it leaves open is decided by a [`Strategy`]; [`Defaults`] is the one that `solo run`
//! uses. What is refused comes back as data with its place in the text, never as a sentence.
//!
//! Nothing here reads a file, a clock or a random number: the same request and strategy give the same plan.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod assign;
mod assign_colors;
mod budgets;
mod devices;
mod end;
mod isolation;
mod listen;
mod locks;
mod memory;
mod objection;
mod place;
mod rationale;
mod request;
mod search;
mod strategy;
mod suits;
mod tasks;
mod windows;

pub use listen::{Blind, Deaf, TooFewCounters};
pub use objection::{
    Apart, DeviceFault, Doubt, Doubtful, Fault, Needed, NoRoom, Objection, Part, ReleaseFault, Undivided,
};
pub use place::{Said, TextRange, Wish};
pub use rationale::{Decided, Of, Reason, Rule};
pub use request::{
    ApplicationWish, BandwidthWish, ColoringWish, CoreCapacity, CycleWish, DeviceWish, EndWish, Heuristic,
    IsolationWish, LockdownWish, Mechanisms, Memory, MemoryWish, MonitorWish, Named, PartitionWish,
    Partitioner, Recording, Region, ReleaseWish, Request, SchedulerWish, Steps, TaskWish, WindowWish,
};
pub use search::{
    Aims, BudgetRule, Choices, CoreRule, CycleChoice, DeviceChoice, DividedPartition, Division, Ending,
    Gauge, IoLack, IoTable, NoPlan, PagesChoice, Planned, Round, Scarce, Search, Shortage, Slack, Spare,
    Unit, WindowChoice, WindowRule, WishChoice, search, search_for,
};
pub use strategy::{Because, Defaults, Strategy};
pub use tasks::{MOST_STEPS, MOST_TASKS};
// What objections and doubts carry.
pub use solo_isolate::admission::IsolationRefusal;
pub use solo_isolate::diagnose::{Advice, Warning};
pub use solo_isolate::lockdown::LockError;
pub use solo_isolate::ways::WayError;
pub use solo_prove::Ticks;
pub use solo_prove::color::{ColorError, Method};
pub use solo_prove::pack::Full;
pub use solo_prove::wcet::{Curve, CurveError, Point};

use alloc::vec::Vec;
use solo_model::policy::Timing;
use solo_model::{Experiment, OverheadTable, Policy, Task};

/// What a request came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Ready for every machine.
    pub experiment: Experiment,
    /// What was decided that the request leaves open, in the order of the decisions.
    pub rationale: Vec<Reason>,
    /// What is probably not meant as it is written.
    pub doubts: Vec<Doubt>,
}

/// Why there is no plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Refused {
    /// What can't be had.
    pub objections: Vec<Objection>,
    /// What is probably not meant as it is written.
    pub doubts: Vec<Doubt>,
    /// The tasks so far, for objections name them by their numbers.
    pub tasks: Vec<Task>,
}

/// Plans a request.
///
/// # Errors
/// [`Refused`] where something is missing, contradicts the platform or can't be had; all that can be said of it at once.
pub fn plan(request: &Request, strategy: &dyn Strategy) -> Result<Plan, Refused> {
    let mut draft = Draft::new(request, strategy);
    draft.unfold();
    draft.assign();
    draft.end();
    draft.devices();
    // Before pages are ranked and colored: it takes memory for each.
    if draft.fits_into_memory() {
        draft.isolate();
        draft.check_pages();
        draft.check_devices();
    }
    draft.finish()
}

/// A plan while it is made.
struct Draft<'r> {
    request: &'r Request,
    strategy: &'r dyn Strategy,
    policy: Option<Policy>,
    tasks: Vec<Task>,
    /// By wish: the tasks that it became.
    owners: Vec<tasks::Owner<'r>>,
    buffers: Vec<solo_model::work::Buffer>,
    end: Option<solo_model::experiment::End>,
    isolation: solo_model::Isolation,
    devices: Vec<solo_model::Device>,
    objections: Vec<Objection>,
    doubts: Vec<Doubt>,
    rationale: Vec<Reason>,
}

/// More objections than this to one request are not kept.
const MOST_OBJECTIONS: usize = 200;

impl<'r> Draft<'r> {
    fn new(request: &'r Request, strategy: &'r dyn Strategy) -> Self {
        let mut draft = Self {
            request,
            strategy,
            policy: None,
            tasks: Vec::new(),
            owners: Vec::new(),
            buffers: request.buffers.clone(),
            end: None,
            isolation: solo_model::Isolation::default(),
            devices: Vec::new(),
            objections: Vec::new(),
            doubts: Vec::new(),
            rationale: Vec::new(),
        };
        draft.policy = request.scheduler.value().map(|wish| draft.policy_of(wish));
        draft
    }

    fn policy_of(&mut self, wish: &SchedulerWish) -> Policy {
        let criterion = wish.criterion.value;
        let quantum = match (wish.quantum.value(), self.strategy.quantum(criterion)) {
            (_, None) => None,
            (Some(said), Some(_)) => Some(*said),
            (None, Some(because)) => Some(self.decide(Of::Scheduler, because, Decided::Quantum)),
        };
        let timing = match wish.tick.value() {
            Some(tick) => Timing::Tick(*tick),
            None => self.decide(Of::Scheduler, self.strategy.timing(), Decided::Timing),
        };
        Policy { scope: wish.scope.clone(), criterion, timing, quantum, fastest_first: wish.fastest_first }
    }

    /// Takes a decision of the strategy and keeps its reason.
    fn decide<T: Clone>(&mut self, of: Of, because: Because<T>, what: fn(T) -> Decided) -> T {
        self.rationale.push(Reason { of, what: what(because.value.clone()), rule: because.rule });
        because.value
    }

    /// What is said, or what the strategy decides where nothing is.
    fn said_or<T: Clone>(
        &mut self,
        said: &Said<T>,
        of: Of,
        because: Because<T>,
        what: fn(T) -> Decided,
    ) -> T {
        match said.value() {
            Some(value) => value.clone(),
            None => self.decide(of, because, what),
        }
    }

    fn object(&mut self, at: TextRange, fault: Fault) {
        if self.objections.len() < MOST_OBJECTIONS {
            self.objections.push(Objection { at, fault });
        }
    }

    fn doubt(&mut self, at: TextRange, what: Doubtful) {
        if self.doubts.len() < MOST_OBJECTIONS {
            self.doubts.push(Doubt { at, what });
        }
    }

    fn finish(mut self) -> Result<Plan, Refused> {
        let request = self.request;
        let seed = self.said_or(&request.seed, Of::Run, self.strategy.seed(), Decided::Seed);
        let sample_every = self.said_or(&request.sample, Of::Run, self.strategy.sample(), Decided::Sample);
        let overheads = match request.scheduler.value().map(|wish| &wish.overheads) {
            Some(Said::This(wish)) => wish.value.clone(),
            _ => {
                let because = self.strategy.overheads();
                self.rationale.push(Reason {
                    of: Of::Scheduler,
                    what: Decided::Overheads { free: because.value == OverheadTable::free() },
                    rule: because.rule,
                });
                because.value
            }
        };
        for (part, said) in [
            (Part::Platform, request.platform.value().is_some()),
            (Part::Scheduler, self.policy.is_some()),
            (Part::Tasks, !self.tasks.is_empty()),
            (Part::End, self.end.is_some()),
        ] {
            // Where there is an objection already, the part may be missing because of it.
            if !said && self.objections.is_empty() {
                self.object(request.at, Fault::Incomplete { part });
            }
        }
        let listening = self.listen();
        let applications = self.applications();
        let experiment = match (request.platform.value(), self.policy, self.end) {
            (Some(platform), Some(policy), Some(end)) if self.objections.is_empty() => Experiment {
                name: request.name.clone(),
                variant: request.variant.clone(),
                platform: platform.clone(),
                policy,
                overheads,
                tasks: self.tasks,
                applications,
                buffers: self.buffers,
                locks: request.locks.clone(),
                traces: request.recordings.iter().map(|recording| recording.source.clone()).collect(),
                isolation: self.isolation,
                listening,
                devices: self.devices,
                end,
                sample_every,
                seed,
                jobs_per_replication: request.jobs_per_replication.value().copied(),
            },
            _ => {
                return Err(Refused { objections: self.objections, doubts: self.doubts, tasks: self.tasks });
            }
        };
        match stays(&experiment, request, &self.owners) {
            None => Ok(Plan { experiment, rationale: self.rationale, doubts: self.doubts }),
            Some(objection) => Err(Refused {
                objections: Vec::from([objection]),
                doubts: self.doubts,
                tasks: experiment.tasks,
            }),
        }
    }
}

/// The objection to the first task that is to migrate and can't.
fn stays(experiment: &Experiment, request: &Request, owners: &[tasks::Owner<'_>]) -> Option<Objection> {
    let (task, why) = experiment.cannot_migrate()?;
    let name = experiment.tasks.get(task.index())?.name.clone();
    let owner = owners.iter().find(|owner| owner.tasks.contains(&task.0));
    let at = owner.and_then(|owner| owner.wish.migrate.wish()).map_or(request.at, |wish| wish.at);
    let policy_at = request.scheduler.value().map_or(request.at, |scheduler| scheduler.criterion.at);
    Some(Objection {
        at,
        fault: Fault::Stays { task: name, why, policy: experiment.policy.clone(), policy_at },
    })
}

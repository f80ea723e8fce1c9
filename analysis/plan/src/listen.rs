//! What the scheduler listens to: whether the chip can count it, and whether what is to be done about it can have an effect.

use crate::place::{Said, TextRange};
use crate::request::{MonitorWish, SchedulerWish};
use crate::{Doubtful, Draft, Fault};
use alloc::string::String;
use alloc::vec::Vec;
use solo_model::isolation::{Counted, Isolation};
use solo_model::listening::{Listening, MonitorKind, Reaction, Takes};
use solo_model::platform::Pmu;
use solo_model::{CoreSet, Duration, EventId, Platform, Scope, TaskId};

/// More is to be counted than there are counters for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TooFewCounters {
    /// Programmable ones: an event each, or those of the largest set where sets take turns.
    pub needed: usize,
    /// Events that have counters of their own beside these.
    pub beside: Vec<String>,
    /// Sets take turns.
    pub turns: bool,
    /// Bandwidth budgets have so many.
    pub taken: usize,
    /// So many has each core.
    pub counters: u8,
}

/// Why a scheduler can't listen as wished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Deaf {
    /// No counter of the chip counts the event.
    Uncountable {
        /// The event.
        event: EventId,
        /// Its name.
        name: String,
        /// The chip.
        platform: String,
    },
    /// More counters than there are.
    TooFewCounters(TooFewCounters),
    /// The sets that take turns are not through when it is looked at: a metric of a round would come too late.
    Late {
        /// How many sets there are.
        sets: usize,
        /// How long each counts.
        turn: Duration,
        /// How often it is looked at.
        period: Duration,
    },
    /// A turn of each set in a period would be shorter than a machine looks at a core.
    Hasty {
        /// How many sets there are.
        sets: usize,
        /// The shortest turn.
        least: Duration,
    },
    /// It is to act when a counter overflows, and counters of the chip don't interrupt.
    NoInterrupt,
    /// It is to act when a counter overflows, and an expression has no counter.
    NoCounter,
    /// A counter overflows before it has counted that many.
    Beyond {
        /// The threshold.
        threshold: u64,
        /// The highest that can be told.
        most: u64,
    },
    /// What is to be done takes several cores.
    OneCore {
        /// What is to be done.
        reaction: Reaction,
    },
    /// A task is to move next to the data, and no core is nearer to any other than the rest.
    NothingNearer,
    /// Tasks are to be placed by kinds of cores, and all compute equally fast.
    OneKind {
        /// What is to be done.
        reaction: Reaction,
    },
    /// A task is to move, and all cores take tasks from the same queue.
    OneQueue,
    /// It listens to energy, and the chip has no meter.
    NoMeter {
        /// The chip.
        platform: String,
    },
    /// It is about the last level of the cache, and that can't be had.
    Cache(Blind),
}

/// Why a scheduler can't hear of what tasks hold of the last level of the cache, or act on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blind {
    /// It is to be told what tasks hold of the last level, and the chip can't tell.
    Untold {
        /// The chip.
        platform: String,
    },
    /// More processes than the chip tells apart.
    TooFewRmids {
        /// How many may be there together.
        needed: usize,
        /// How many ids there are for them.
        available: usize,
    },
    /// What is to be done is made of other metrics.
    OtherMetric {
        /// What is to be done.
        reaction: Reaction,
        /// What it is made of: one of these.
        over: &'static [MonitorKind],
    },
    /// Ways of the last level are to be given, and there are none to give.
    NoWays {
        /// What is to be done.
        reaction: Reaction,
    },
    /// A task is in two processes.
    TwoProcesses {
        /// Its name.
        task: String,
    },
}

impl Draft<'_> {
    /// What the scheduler listens to, where it does and can.
    pub(crate) fn listen(&mut self) -> Option<Listening> {
        let request = self.request;
        let scheduler = request.scheduler.value()?;
        let Said::This(wish) = &scheduler.monitor else { return None };
        let monitor = &wish.value;
        let platform = request.platform.value()?;
        let faults = [
            self.uncounted(monitor, platform).map(|deaf| (cause(monitor, &deaf), deaf)),
            untimely(monitor),
            unable(monitor, platform).map(|deaf| (monitor.reaction.at, deaf)),
            senseless(monitor, scheduler, platform).map(|deaf| (monitor.reaction.at, deaf)),
            unreachable(monitor, platform).map(|deaf| (monitor.threshold.at, deaf)),
            held(monitor, platform).map(|blind| (monitor.observed.at, Deaf::Cache(blind))),
            unmetered(monitor, platform).map(|deaf| (monitor.observed.at, deaf)),
            meaningless(monitor, platform).map(|blind| (monitor.reaction.at, Deaf::Cache(blind))),
        ];
        let mut refused = false;
        for (at, deaf) in faults.into_iter().flatten() {
            self.object(at, Fault::Deaf(deaf));
            refused = true;
        }
        let classes = &monitor.classes;
        let acts = monitor.reaction.value.facts().acts;
        if acts && !self.tasks.iter().any(|task| classes.value.contains(&task.class)) {
            self.doubt(classes.at, Doubtful::NobodyConcerned);
        }
        let processes = self.processes(monitor)?;
        let (threshold, calm) = monitor.threshold.value;
        let listening = Listening {
            threshold,
            calm,
            classes: classes.value.clone(),
            turn: monitor.turn.as_ref().map(|turn| turn.value),
            settings: monitor.settings.clone(),
            recycling: monitor.recycling,
            processes,
            recorded: monitor.recorded.unwrap_or(monitor.reaction.value.facts().kinds),
            ..Listening::new(monitor.observed.value.clone(), monitor.period.value, monitor.reaction.value)
        };
        if !refused && listening.observed.reads_occupancy() {
            let available = usize::from(platform.pmu.rmids).saturating_sub(1);
            let needed = listening.rmids_needed(&self.tasks);
            if needed > available {
                self.object(
                    monitor.observed.at,
                    Fault::Deaf(Deaf::Cache(Blind::TooFewRmids { needed, available })),
                );
                refused = true;
            }
        }
        (!refused).then_some(listening)
    }

    /// The tasks of each process that has several.
    fn processes(&mut self, monitor: &MonitorWish) -> Option<Vec<Vec<TaskId>>> {
        let mut all: Vec<Vec<TaskId>> = Vec::new();
        for names in &monitor.processes {
            let mut own = Vec::new();
            for name in names {
                // A variant may be without some of them.
                let called = self.tasks_called(name).unwrap_or_default();
                for task in called.map(TaskId) {
                    if all.iter().flatten().chain(&own).any(|known| *known == task) {
                        let task =
                            self.tasks.get(task.index()).map_or(String::new(), |task| task.name.clone());
                        self.object(name.at, Fault::Deaf(Deaf::Cache(Blind::TwoProcesses { task })));
                        return None;
                    }
                    own.push(task);
                }
            }
            all.push(own);
        }
        if monitor.observed.value.reads_occupancy() {
            self.add_applications(&mut all);
        }
        Some(all)
    }

    /// An application is one process, unless `processes` says otherwise of a thread of it.
    fn add_applications(&self, processes: &mut Vec<Vec<TaskId>>) {
        for application in self.applications() {
            let threads = application.threads;
            let named = |thread: &TaskId| processes.iter().flatten().any(|known| known == thread);
            if threads.len() > 1 && !threads.iter().any(named) {
                processes.push(threads);
            }
        }
    }

    /// Each event takes a counter of its own, a programmable one where none is bound to it, beside those of budgets.
    fn uncounted(&self, monitor: &MonitorWish, platform: &Platform) -> Option<Deaf> {
        let events = &monitor.observed.value.events;
        let countable = |event: &EventId| platform.events.simulated().any(|(known, _)| known == *event);
        if let Some(&event) = events.iter().find(|event| !countable(event)) {
            let name = platform.events.name(event).into();
            return Some(Deaf::Uncountable { event, name, platform: platform.name.clone() });
        }
        let observed = &monitor.observed.value;
        let fixed = Pmu::events_of_fixed(platform.pmu.fixed);
        let (needed, turns) = (observed.counters(fixed), !observed.sets.is_empty());
        let (taken, counters) = (budgets(&self.isolation), platform.pmu.programmable);
        if needed + taken <= usize::from(counters) {
            return None;
        }
        let bound = fixed.iter().filter(|event| observed.events.contains(event));
        let beside = bound.map(|event| platform.events.name(*event).into()).collect();
        Some(Deaf::TooFewCounters(TooFewCounters { needed, beside, turns, taken, counters }))
    }
}

/// Where it stands that too much is to be counted, or what can't be.
fn cause(monitor: &MonitorWish, deaf: &Deaf) -> TextRange {
    match (deaf, monitor.largest_set) {
        (Deaf::TooFewCounters(TooFewCounters { turns: true, .. }), Some(set)) => set,
        _ => monitor.observed.at,
    }
}

/// The counters that budgets take on each core.
fn budgets(isolation: &Isolation) -> usize {
    isolation.bandwidth.as_ref().map_or(0, |regulation| match regulation.counted {
        Counted::One(_) => 1,
        Counted::ReadsAndWrites => 2,
    })
}

/// A whole round of sets that take turns fits the period at whose end it is looked at.
fn untimely(monitor: &MonitorWish) -> Option<(TextRange, Deaf)> {
    let (sets, period) = (monitor.observed.value.sets.len(), monitor.period.value);
    let each = Duration::new(period.get().checked_div(sets as u64)?);
    let Some(turn) = &monitor.turn else {
        let least = solo_model::check::SHORTEST;
        return (each < least).then_some((monitor.period.at, Deaf::Hasty { sets, least }));
    };
    let late = Deaf::Late { sets, turn: turn.value, period };
    (turn.value > each).then_some((turn.at, late))
}

/// Lines tell whose they are only where the chip has ids for them.
fn held(monitor: &MonitorWish, platform: &Platform) -> Option<Blind> {
    let told = platform.pmu.rmids > 1 && platform.last_level().is_some();
    (monitor.observed.value.reads_occupancy() && !told)
        .then(|| Blind::Untold { platform: platform.name.clone() })
}

/// Energy is told only where the chip has a meter.
fn unmetered(monitor: &MonitorWish, platform: &Platform) -> Option<Deaf> {
    (monitor.observed.value.reads_energy() && platform.power.is_none())
        .then(|| Deaf::NoMeter { platform: platform.name.clone() })
}

/// The metrics are those that what is to be done is made of, and there is something to do it to.
fn meaningless(monitor: &MonitorWish, platform: &Platform) -> Option<Blind> {
    let reaction = monitor.reaction.value;
    let facts = reaction.facts();
    if !facts.over.is_empty() && !facts.over.contains(&monitor.observed.value.monitor) {
        return Some(Blind::OtherMetric { reaction, over: facts.over });
    }
    let ways = platform.last_level().map_or(0, |cache| cache.ways);
    (facts.divides && ways < 2).then_some(Blind::NoWays { reaction })
}

/// Acting at once takes one counter that interrupts.
fn unable(monitor: &MonitorWish, platform: &Platform) -> Option<Deaf> {
    if !monitor.reaction.value.facts().interrupts {
        None
    } else if monitor.observed.value.monitor.takes() != Takes::Event
        && !monitor.reaction.value.facts().windows
    {
        Some(Deaf::NoCounter)
    } else {
        (!platform.pmu.overflow).then_some(Deaf::NoInterrupt)
    }
}

/// The counter that is to interrupt after one more than the threshold must get there.
fn unreachable(monitor: &MonitorWish, platform: &Platform) -> Option<Deaf> {
    let full = 1_u64.checked_shl(u32::from(platform.pmu.width)).map_or(u64::MAX, |above| above - 1);
    let (threshold, _) = monitor.threshold.value;
    let window = monitor.settings.first().filter(|_| monitor.reaction.value.facts().windows);
    let threshold = window.copied().unwrap_or(u64::try_from(threshold.whole()).unwrap_or(0));
    let at_once = monitor.reaction.value.facts().interrupts;
    (at_once && threshold >= full).then_some(Deaf::Beyond { threshold, most: full - 1 })
}

/// Whatever is done about two cores takes two, and what moves must have somewhere to go.
fn senseless(monitor: &MonitorWish, scheduler: &SchedulerWish, platform: &Platform) -> Option<Deaf> {
    let reaction = monitor.reaction.value;
    if platform.cores.len() < reaction.facts().least_cores {
        return Some(Deaf::OneCore { reaction });
    }
    if !reaction.facts().moves {
        return None;
    }
    let near = platform.neighborhoods();
    if reaction.facts().kinds {
        if platform.big_and_small().is_none() {
            return Some(Deaf::OneKind { reaction });
        }
    } else if !reaction.facts().crowds && near.iter().all(|cores: &CoreSet| cores.len() < 2) {
        return Some(Deaf::NothingNearer);
    }
    let one_queue = match &scheduler.scope {
        Scope::Partitioned => false,
        Scope::Clustered(clusters) => clusters.len() < 2,
        Scope::Global => true,
    };
    one_queue.then_some(Deaf::OneQueue)
}

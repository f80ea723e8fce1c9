//! A placement at work, from beginning to end.

use crate::agent::{Agent, Decision, Placing};
use crate::caches;
use crate::counters::{Counters, resolved};
use crate::division::Division;
use crate::error::PlaceError;
use crate::hands::{Hands, Needs, TaskTally};
use crate::observation::{Life, Observation, Source, Where};
use crate::program::{Program, Subject};
use solo_guard::{Group, Guard, GuardError, Machine, Restored};
use solo_model::listening::CoreHeard;
use solo_model::text::Printable;
use solo_model::{CoreId, CoreSet, Duration, Instant, TaskId};
use solo_observe::Filter;
use solo_observe::set::Names;
use solo_perf::files::Files;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long at most nothing is looked at, in nanoseconds: programs end, and the user may have asked to stop.
const NAP: u64 = 50_000_000;

/// What is placed and how long.
pub struct Placement<'a> {
    /// What is listened to, and what is done about whom.
    pub placing: &'a Placing,
    /// The program of each task.
    pub subjects: Vec<Subject>,
    /// Names of events that this machine knows.
    pub names: &'a dyn Names,
    /// Its files.
    pub files: &'a dyn Files,
}

/// How long, and who is told.
pub struct Options<'a> {
    /// End after this time; the programs that were started end, too.
    pub time: Option<Duration>,
    /// The processor's modes that count.
    pub filter: Filter,
    /// Ends it when it is set.
    pub stop: &'a AtomicBool,
    /// Told once everybody is placed, before programs run; and of each observation with what was decided.
    pub told: &'a mut dyn FnMut(Told<'_>) -> io::Result<()>,
}

/// What is told while tasks are placed.
pub enum Told<'a> {
    /// Everybody is in place, and programs are about to run.
    Placed,
    /// What was seen and what was decided.
    Decided(&'a Observation, &'a [Decision]),
}

/// How it went.
#[derive(Debug)]
pub struct Ended {
    /// How long tasks were placed.
    pub elapsed: Duration,
    /// Observations.
    pub looks: u64,
    /// Ends of periods that were missed, because the one before came so late that they were due already.
    pub missed: u64,
    /// How long after its time an end of a period came at worst.
    pub latest: Duration,
    /// Decisions that were told again to a second agent, each with its observation.
    pub compared: u64,
    /// Observations of which the second agent decided otherwise.
    pub disagreements: u64,
    /// Actions of the policy that made no sense at that moment.
    pub senseless: u64,
    /// What was heard of each core.
    pub heard: Vec<CoreHeard>,
    /// What became of each task.
    pub tallies: Vec<TaskTally>,
    /// Whether each task has been found on other CPUs than it was given.
    pub strayed: Vec<bool>,
    /// Where each task was at the end; nothing for those that had ended.
    pub homes: Vec<Option<CoreId>>,
    /// The status of each program that was started here and has ended by itself.
    pub statuses: Vec<Option<u8>>,
    /// Readings in which an event had not been on a counter all the time.
    pub multiplexed: u64,
    /// What has to be said beside.
    pub notes: Vec<String>,
    /// What became of what was changed.
    pub restored: Restored,
}

/// Places tasks until they have ended, the time is over, or it is told to stop; then everything is put back, and the programs that
/// were started here are ended.
///
/// # Errors
/// [`PlaceError`]: nothing was changed, or it was put back.
pub fn place(
    placement: Placement<'_>,
    guard: Guard<Machine>,
    options: Options<'_>,
) -> Result<Ended, PlaceError> {
    let listening = &placement.placing.listening;
    if listening.reaction.facts().interrupts {
        return Err(PlaceError::AtOnce(listening.reaction.name()));
    }
    if listening.reaction.facts().kinds && placement.placing.platform.big_and_small().is_none() {
        return Err(PlaceError::OneKind(listening.reaction.name()));
    }
    if listening.observed.asymmetry.is_some() && !listening.observed.sets.is_empty() {
        return Err(PlaceError::InTurns(listening.observed.monitor.name()));
    }
    if listening.reaction.facts().slows {
        return Err(PlaceError::Slows(listening.reaction.name()));
    }
    caches::check(placement.placing, placement.files)?;
    let agent = Agent::new(placement.placing)?;
    let mut notes = Vec::new();
    let mut counters = open(&placement, options.filter, &mut notes)?;
    check_cores(placement.placing, counters.online())?;
    let platform = &placement.placing.platform;
    let mut hands = Hands::new(guard, platform).dividing(Division::of(placement.files, platform));
    take_all(placement.placing, &mut counters, &mut hands, &mut notes)?;
    counters.read_held(caches::share_out(placement.placing, &mut hands)?);
    let mut session = Session::new(placement.placing, agent, counters, hands);
    let worked = session.work(options);
    session.finish(worked, notes)
}

/// Every task's core is a CPU that is online.
fn check_cores(placing: &Placing, online: CoreSet) -> Result<(), PlaceError> {
    match placing.tasks.iter().find(|task| !online.contains(task.core)) {
        None => Ok(()),
        Some(task) => {
            let online = online.iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(", ");
            Err(PlaceError::NoCore { task: task.name.clone(), core: task.core, online })
        }
    }
}

/// Starts or finds the programs and opens their counters; in user mode only where the kernel may not be counted.
fn open<'f>(
    placement: &Placement<'f>,
    filter: Filter,
    notes: &mut Vec<String>,
) -> Result<Counters<'f>, PlaceError> {
    let Placement { placing, subjects, names, files } = placement;
    let sets = resolved(placing, *names, *files, filter)?;
    let programs = subjects.iter().map(Program::new).collect::<Result<Vec<_>, _>>()?;
    for (at, program) in programs.iter().enumerate() {
        if let Some(first) = programs[..at].iter().position(|other| other.process() == program.process()) {
            let name = |place: usize| placing.tasks[place].name.clone();
            return Err(PlaceError::Twice {
                process: program.process(),
                first: name(first),
                second: name(at),
            });
        }
    }
    match Counters::open(programs, sets, *files) {
        Ok(counters) => Ok(counters),
        Err((programs, PlaceError::Counter { .. })) if filter.kernel => {
            let sets = resolved(placing, *names, *files, Filter::USER)?;
            let counters = Counters::open(programs, sets, *files).map_err(|(_, error)| error)?;
            notes.push(
                "user mode only: counting in the kernel takes CAP_PERFMON or kernel.perf_event_paranoid below 2"
                    .to_owned(),
            );
            Ok(counters)
        }
        Err((_, error)) => Err(error),
    }
}

/// Everybody comes to the core that was said, into a group of their own where that can be.
fn take_all(
    placing: &Placing,
    counters: &mut Counters<'_>,
    hands: &mut Hands<Machine>,
    notes: &mut Vec<String>,
) -> Result<(), PlaceError> {
    let needs = Needs::of(placing.listening.reaction);
    let mut ungrouped = None;
    for (number, (task, program)) in placing.tasks.iter().zip(counters.programs()).enumerate() {
        let process = program.process();
        let group = match group_for(hands, process, number) {
            Ok(group) => group,
            Err(why) if needs.holds => {
                let policy = placing.listening.reaction.name();
                return Err(PlaceError::NoFreezer { policy, task: task.name.clone(), why });
            }
            Err(why) => {
                ungrouped.get_or_insert(why);
                Group::default()
            }
        };
        let threads = program.threads().map_err(|_| PlaceError::NoProcess(process))?;
        hands.take(task, threads, group).map_err(|error| match error {
            refused @ GuardError::Refused { .. } => PlaceError::Rights(refused),
            other => PlaceError::Guard(other),
        })?;
    }
    if let Some(why) = ungrouped {
        notes.push(format!(
            "no cgroup could be made for the programs ({}): processes whose parent has ended are not followed when tasks move",
            Printable(why)
        ));
    }
    Ok(())
}

/// A group for one task, in the one that its process is in.
fn group_for(hands: &mut Hands<Machine>, process: u32, number: usize) -> Result<Group, String> {
    let above = hands.machine().group_of(process).ok_or("there are no cgroups of version 2")?;
    let name = format!("solo-place-{}-{number}", std::process::id());
    let group = above.below(&name).map_err(|error| error.to_string())?;
    let reason = |error: GuardError| match error {
        GuardError::Refused { source, .. } => source.reason(),
        other => other.to_string(),
    };
    hands.make_group(&group).map_err(reason)?;
    hands.machine().enter(&group, process).map_err(|error| error.reason())?;
    Ok(group)
}

struct Session<'p, 'f> {
    placing: &'p Placing,
    agent: Agent,
    /// The second agent.
    twin: Agent,
    counters: Counters<'f>,
    hands: Hands<Machine>,
    origin: u64,
    looks: u64,
    missed: u64,
    latest: Duration,
    compared: u64,
    disagreements: u64,
    statuses: Vec<Option<u8>>,
}

impl<'p, 'f> Session<'p, 'f> {
    fn new(placing: &'p Placing, agent: Agent, counters: Counters<'f>, hands: Hands<Machine>) -> Self {
        Self {
            placing,
            twin: agent.clone(),
            agent,
            counters,
            hands,
            origin: solo_perf::now(),
            looks: 0,
            missed: 0,
            latest: Duration::ZERO,
            compared: 0,
            disagreements: 0,
            statuses: vec![None; placing.tasks.len()],
        }
    }

    fn now(&self) -> Instant {
        Instant::new(solo_perf::now().saturating_sub(self.origin))
    }

    /// Until everybody has ended, the time is over, or it is told to stop.
    fn work(&mut self, options: Options<'_>) -> Result<(), PlaceError> {
        (options.told)(Told::Placed).map_err(PlaceError::Record)?;
        self.origin = solo_perf::now();
        for program in self.counters.programs() {
            program.release()?;
        }
        let (period, turn) = (self.placing.listening.period, self.placing.listening.looks_every());
        let (mut end, mut due) = (Instant::ZERO + period, Instant::ZERO + turn);
        loop {
            let over = |now: Instant| options.time.is_some_and(|time| now.since(Instant::ZERO) >= time);
            if options.stop.load(Ordering::SeqCst) || over(self.now()) {
                return Ok(());
            }
            let left = due.since(self.now()).get();
            if left > 0 {
                let sleep = solo_watch::follow::Program::sleep(left.min(NAP));
                let (what, task) = ("wait", TaskId(0));
                sleep.map_err(|source| PlaceError::System { what, task, source })?;
                continue;
            }
            let now = self.now();
            let late = now.since(due);
            self.latest = self.latest.max(late);
            let whole = due >= end;
            if whole {
                let skipped = late / period;
                self.missed += skipped;
                end += period * (skipped + 1);
            }
            // The last turn ends with its period.
            due = if due + turn + turn > end { end } else { due + turn };
            let ended = self.look(now, whole.then_some(end), options.told)?;
            if ended {
                return Ok(());
            }
        }
    }

    /// Looks, decides, does it. True where everybody has ended.
    fn look(
        &mut self,
        now: Instant,
        next: Option<Instant>,
        told: &mut dyn FnMut(Told<'_>) -> io::Result<()>,
    ) -> Result<bool, PlaceError> {
        let mut seen = self.counters.look(now, next, &self.agent)?;
        self.looks += 1;
        for task in &mut seen.tasks {
            if let Some(elsewhere) = self.hands.look_after(task.task) {
                task.core = elsewhere;
            }
        }
        let decisions = self.agent.on(&seen);
        self.compared += 1;
        self.disagreements += u64::from(self.twin.on(&seen) != decisions);
        told(Told::Decided(&seen, &decisions)).map_err(PlaceError::Record)?;
        for decision in &decisions {
            self.hands.carry_out(*decision);
        }
        self.counters.turn(&self.agent);
        let ended: Vec<TaskId> =
            seen.tasks.iter().filter(|task| task.life == Life::Ended).map(|task| task.task).collect();
        for task in ended {
            let program = &mut self.counters.programs()[task.index()];
            if let Some(error) = program.failure() {
                return Err(error);
            }
            self.statuses[task.index()] = program.status();
        }
        Ok((0..self.placing.tasks.len() as u32).all(|task| self.agent.home(TaskId(task)).is_none()))
    }

    /// Everything is put back before programs are asked to end: who is frozen hears nothing.
    fn finish(mut self, worked: Result<(), PlaceError>, mut notes: Vec<String>) -> Result<Ended, PlaceError> {
        let elapsed = self.now().since(Instant::ZERO);
        let (tallies, strayed) = (self.hands.tallies(), self.hands.strayed());
        notes.extend(
            self.hands.reasons().iter().map(|reason| format!("Linux refused: {}", Printable(reason))),
        );
        let restored = self.hands.undo();
        self.counters.programs().iter_mut().for_each(Program::end);
        worked?;
        let homes = (0..self.placing.tasks.len() as u32).map(|task| self.agent.home(TaskId(task)));
        Ok(Ended {
            elapsed,
            looks: self.looks,
            missed: self.missed,
            latest: self.latest,
            compared: self.compared,
            disagreements: self.disagreements + u64::from(self.twin != self.agent),
            senseless: self.agent.refused(),
            heard: self.agent.heard().to_vec(),
            tallies,
            strayed,
            homes: homes.collect(),
            statuses: self.statuses,
            multiplexed: self.counters.multiplexed,
            notes,
            restored,
        })
    }
}

//! Decisions carried out on Linux: affinity, the freezer, weights, ways of the last-level cache. Whatever is changed is in the guard's journal before.

use crate::agent::{Decision, PlacedTask};
use crate::division::Division;
use solo_guard::{Actuator, Group, Guard, GuardError, Knob, Restored, Setting};
use solo_model::listening::Reaction;
use solo_model::{CoreId, Platform, TaskId};

/// What a policy may ask of Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Needs {
    /// It holds tasks.
    pub(crate) holds: bool,
}

impl Needs {
    /// What its registration says of it.
    pub(crate) const fn of(reaction: Reaction) -> Self {
        let facts = reaction.facts();
        Self { holds: facts.acts && !facts.moves && !facts.divides }
    }
}

/// What became of a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was carried out.
    Done,
    /// Its task had ended.
    Gone,
    /// Somebody else has changed what it is about, the program itself perhaps: it is theirs.
    Theirs,
    /// Linux refused, for this reason.
    Refused(String),
}

/// What became of a task.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TaskTally {
    /// How often it was moved.
    pub moved: u64,
    /// How often it was held.
    pub held: u64,
    /// How often it was given another share.
    pub weighed: u64,
    /// How often it was given other ways of the last level.
    pub divided: u64,
    /// Decisions that came after its end.
    pub gone: u64,
    /// Decisions that were not carried out because somebody else has changed its CPUs.
    pub theirs: u64,
    /// Decisions that Linux refused.
    pub refused: u64,
}

/// How a task is held on to.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Hand {
    name: String,
    /// Its threads when it was taken; those that came later follow the first.
    threads: Vec<u32>,
    /// Its own group; the root where there is none.
    group: Group,
    /// Its group of resctrl, where it has one.
    cache: Option<Group>,
    /// The CPUs that it was given last.
    cpus: Option<String>,
    /// It has been found on other CPUs than it was given.
    strayed: bool,
    tally: TaskTally,
}

/// Carries decisions out.
#[derive(Debug)]
pub struct Hands<A: Actuator> {
    guard: Guard<A>,
    tasks: Vec<Hand>,
    /// The kind of each core.
    kinds: Vec<u16>,
    /// The last-level caches.
    division: Division,
    /// What Linux refused first, of each task.
    reasons: Vec<String>,
}

impl<A: Actuator> Hands<A> {
    /// Hands with nobody in them.
    pub fn new(guard: Guard<A>, platform: &Platform) -> Self {
        let kinds = platform.cores.iter().map(|core| u16::from(core.kind)).collect();
        Self { guard, tasks: Vec::new(), kinds, division: Division::default(), reasons: Vec::new() }
    }

    /// The same, which know how the last level is divided.
    #[must_use]
    pub fn dividing(self, division: Division) -> Self {
        Self { division, ..self }
    }

    /// Makes a group of resctrl for a task.
    ///
    /// # Errors
    /// [`GuardError`]; then there is none.
    pub fn make_cache_group(&mut self, group: &Group) -> Result<(), GuardError> {
        self.guard.change(&Setting::CacheFolder { group: group.clone() }, Setting::THERE)
    }

    /// Puts all threads of a task that was [taken](Self::take) into a group of resctrl, and what will come out of them.
    ///
    /// # Errors
    /// [`GuardError`]. A thread that has ended meanwhile is no error.
    pub fn enter_cache_group(&mut self, task: TaskId, group: Group) -> Result<(), GuardError> {
        let Some(hand) = self.tasks.get_mut(task.index()) else { return Ok(()) };
        let name = String::from(group.clone());
        for thread in hand.threads.clone() {
            match self.guard.change(&Setting::CacheMember { thread, group: group.clone() }, &name) {
                Err(error) if !is_gone(&error) => return Err(error),
                _ => {}
            }
        }
        hand.cache = Some(group);
        Ok(())
    }

    /// Makes a cgroup for a task; what it is to be for, the caller says afterwards.
    ///
    /// # Errors
    /// [`GuardError`]; then there is none.
    pub fn make_group(&mut self, group: &Group) -> Result<(), GuardError> {
        self.guard.change(&Setting::Folder { group: group.clone() }, Setting::THERE)
    }

    /// The machine that is changed.
    pub fn machine(&self) -> &A {
        self.guard.machine()
    }

    /// Takes the next task: its threads, the first of them first, and its group, the root for none. It runs on its core from now on.
    ///
    /// # Errors
    /// [`GuardError`] where its CPUs can't be set. A thread that has ended meanwhile is no error.
    pub fn take(&mut self, task: &PlacedTask, threads: Vec<u32>, group: Group) -> Result<(), GuardError> {
        let (name, cpus) = (task.name.clone(), task.core.0.to_string());
        let tally = TaskTally::default();
        self.tasks.push(Hand { name, threads, group, cache: None, cpus: None, strayed: false, tally });
        let place = self.tasks.len() - 1;
        match self.set_cpus(place, &cpus) {
            Err(error) if is_gone(&error) => Ok(()),
            other => other,
        }
    }

    /// Carries a decision out.
    pub fn carry_out(&mut self, decision: Decision) -> Outcome {
        let place = decision.task().index();
        if place >= self.tasks.len() {
            return Outcome::Gone;
        }
        let done = match decision {
            Decision::Move { core, .. } => self.set_cpus(place, &core.0.to_string()),
            Decision::Kind { kind, .. } => {
                let of_kind = self.kinds.iter().enumerate().filter(|(_, own)| **own == u16::from(kind));
                let cpus: Vec<String> = of_kind.map(|(cpu, _)| cpu.to_string()).collect();
                self.set_cpus(place, &cpus.join(","))
            }
            Decision::Hold { .. } => self.set(place, Knob::Freeze, "1"),
            Decision::Go { .. } => self.set(place, Knob::Freeze, "0"),
            // The default weight is 100.
            Decision::Weight { per_mille, .. } => {
                self.set(place, Knob::CpuWeight, &(per_mille / 10).clamp(1, 10_000).to_string())
            }
            Decision::Ways { core, mask, .. } => match self.set_ways(place, core, mask) {
                Ok(true) => Ok(()),
                Ok(false) => {
                    return self.refuse(place, &format!("no ways of the last level of {core} can be given"));
                }
                Err(error) => Err(error),
            },
        };
        self.note(place, decision, done)
    }

    fn note(&mut self, place: usize, decision: Decision, done: Result<(), GuardError>) -> Outcome {
        let tally = &mut self.tasks[place].tally;
        match done {
            Ok(()) => {
                match decision {
                    Decision::Move { .. } | Decision::Kind { .. } => tally.moved += 1,
                    Decision::Hold { .. } => tally.held += 1,
                    Decision::Weight { .. } => tally.weighed += 1,
                    Decision::Ways { .. } => tally.divided += 1,
                    Decision::Go { .. } => {}
                }
                Outcome::Done
            }
            Err(error) if is_gone(&error) => {
                tally.gone += 1;
                Outcome::Gone
            }
            Err(GuardError::Contested { .. }) => {
                tally.theirs += 1;
                Outcome::Theirs
            }
            Err(error) => self.refuse(place, &error.to_string()),
        }
    }

    /// A decision is not carried out, for this reason.
    fn refuse(&mut self, place: usize, why: &str) -> Outcome {
        let task = &mut self.tasks[place];
        task.tally.refused += 1;
        let reason = format!("task {}: {why}", task.name);
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason.clone());
        }
        Outcome::Refused(reason)
    }

    fn set(&mut self, place: usize, knob: Knob, value: &str) -> Result<(), GuardError> {
        let group = self.tasks[place].group.clone();
        self.guard.change(&Setting::Cgroup { group, knob }, value)
    }

    /// Gives a task these ways of the last level behind `core`, with all tasks of its group; false where there are none to give.
    fn set_ways(&mut self, place: usize, core: CoreId, mask: u64) -> Result<bool, GuardError> {
        let Some(group) = self.tasks[place].cache.clone() else { return Ok(false) };
        let setting = Setting::Schemata { group };
        let looked = self.guard.machine().look(&setting);
        let said = looked.map_err(|source| GuardError::Refused { setting: setting.clone(), source })?.value;
        let Some(line) = self.division.schemata(&said, core, mask) else { return Ok(false) };
        self.guard.change(&setting, &line).map(|()| true)
    }

    /// Gives all threads of a task these CPUs. A thread that has ended is left out; the task has ended where all have.
    fn set_cpus(&mut self, place: usize, cpus: &str) -> Result<(), GuardError> {
        let mut gone = None;
        let mut set = 0;
        for at in 0..self.tasks[place].threads.len() {
            match self.guard.change(&self.tasks[place].affinity(at), cpus) {
                Ok(()) => set += 1,
                Err(error) if is_gone(&error) => gone = Some(error),
                Err(error) => return Err(error),
            }
        }
        self.tasks[place].cpus = Some(cpus.to_owned());
        let first = self.tasks[place].affinity(0);
        self.guard.lead(&first, cpus);
        match gone {
            Some(error) if set == 0 => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets what came out of a task since follow it, and says where it is where it is not where it was put: whoever has changed
    /// its CPUs, they are theirs.
    pub fn look_after(&mut self, task: TaskId) -> Option<CoreId> {
        let hand = self.tasks.get(task.index())?;
        let cpus = hand.cpus.clone()?;
        let first = hand.affinity(0);
        self.guard.lead(&first, &cpus);
        let seen = self.guard.machine().look(&first).ok()?;
        let stray = seen.value != cpus && !self.is_whole(&seen.value, &cpus);
        self.tasks[task.index()].strayed |= stray;
        let lowest = || seen.value.split(['-', ',']).next()?.parse().ok().map(CoreId);
        if stray { lowest() } else { None }
    }

    /// True where a list of several CPUs is one that we wrote: runs are written with `-`.
    fn is_whole(&self, said: &str, cpus: &str) -> bool {
        let numbers = |list: &str| solo_perf::cpus::cpu_list(list);
        cpus.contains([',', '-']) && numbers(said) == numbers(cpus)
    }

    /// What became of each task.
    pub fn tallies(&self) -> Vec<TaskTally> {
        self.tasks.iter().map(|task| task.tally).collect()
    }

    /// Whether each task has been found on other CPUs than it was given.
    pub fn strayed(&self) -> Vec<bool> {
        self.tasks.iter().map(|task| task.strayed).collect()
    }

    /// What Linux refused, each reason once.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Puts everything back.
    pub fn undo(self) -> Restored {
        self.guard.undo()
    }
}

impl Hand {
    /// The CPUs of one of its threads.
    fn affinity(&self, at: usize) -> Setting {
        Setting::Affinity { thread: self.threads.get(at).copied().unwrap_or(0), group: self.group.clone() }
    }
}

/// True where the task has ended meanwhile.
fn is_gone(error: &GuardError) -> bool {
    matches!(error, GuardError::Refused { source, .. } if source.is_not_found())
}

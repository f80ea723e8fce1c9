//! What is counted of programs, by `perf_event_open`.

use crate::agent::Placing;
use crate::division;
use crate::error::PlaceError;
use crate::observation::{CoreSeen, Life, Observation, Source, TaskSeen, Where};
use crate::program::{Program, last_cpu};
use solo_guard::Group;
use solo_model::text::Printable;
use solo_model::{CoreId, CoreSet, Counts, Duration, EventId, EventSet, Instant, TaskId};
use solo_observe::set::{EventGroup, Names};
use solo_observe::{Filter, parse_set};
use solo_perf::cpus;
use solo_perf::files::Files;
use solo_perf::group::{Group as Counter, Refused, Start, Whom};
use solo_perf::resolve::{Member, Resolver};

/// An event set as it is counted: the ids of its events, and its groups.
pub(crate) struct Counted {
    ids: Vec<EventId>,
    events: EventGroup,
    groups: Vec<Vec<Member>>,
}

/// How the events of a monitor are counted here: all of them at the same time, or each of its sets. [`PlaceError::Event`] for the
/// first that this machine does not know.
pub(crate) fn resolved(
    placing: &Placing,
    names: &dyn Names,
    files: &dyn Files,
    filter: Filter,
) -> Result<Vec<Counted>, PlaceError> {
    let observed = &placing.listening.observed;
    let all = || vec![observed.events.iter().copied().collect::<EventSet>()];
    let sets = if observed.sets.is_empty() { all() } else { observed.sets.clone() };
    let resolver = Resolver::new(files);
    let one = |set: &EventSet| {
        let ids: Vec<EventId> = set.iter().collect();
        let mut asked: Vec<&str> = ids.iter().map(|id| placing.platform.events.name(*id)).collect();
        if asked.is_empty() {
            // A counter also tells how long tasks ran; where no event is asked for, the kernel's clock of a thread is that counter.
            asked.push("task_clock");
        }
        let text = asked.join(",");
        let failed = |why: String| PlaceError::Event { event: text.clone(), why };
        let events = parse_set(&text, names, resolver.layout()).map_err(|error| failed(error.to_string()))?;
        let groups = resolver.groups(&events, filter).map_err(|error| failed(error.to_string()))?;
        Ok(Counted { ids, events, groups })
    };
    sets.iter().map(one).collect()
}

/// What is open for a task.
struct Open {
    /// For each set, its groups: of each thread that there was, and of each kind of core.
    sets: Vec<Vec<Counter>>,
    /// The set that counts.
    loaded: u16,
}

/// Programs and their counters.
pub(crate) struct Counters<'f> {
    programs: Vec<Program>,
    open: Vec<Open>,
    sets: Vec<Counted>,
    files: &'f dyn Files,
    /// The group of resctrl in which each task's lines are counted; none where they are not.
    caches: Vec<Group>,
    last: Instant,
    /// Readings in which an event had not been on a counter all the time.
    pub(crate) multiplexed: u64,
}

impl<'f> Counters<'f> {
    /// Opens the counters of these programs, which are tasks by their positions. Those that were started here count from their first
    /// instruction on.
    ///
    /// # Errors
    /// [`PlaceError::Counter`] where the kernel refuses one, with what mends it.
    pub(crate) fn open(
        programs: Vec<Program>,
        sets: Vec<Counted>,
        files: &'f dyn Files,
    ) -> Result<Self, (Vec<Program>, PlaceError)> {
        let mut open = Vec::new();
        for program in &programs {
            match open_all(program, &sets) {
                Ok(opened) => open.push(opened),
                Err(error) => return Err((programs, error)),
            }
        }
        Ok(Self { programs, open, sets, files, caches: Vec::new(), last: Instant::ZERO, multiplexed: 0 })
    }

    /// The programs.
    pub(crate) fn programs(&mut self) -> &mut Vec<Program> {
        &mut self.programs
    }

    /// Reads from now on what these groups hold, one a task.
    pub(crate) fn read_held(&mut self, caches: Vec<Group>) {
        self.caches = caches;
    }

    /// What a task has counted since the last call, and how long it ran.
    fn read(&mut self, task: usize) -> (Counts, Duration) {
        let Some(open) = self.open.get_mut(task) else { return (Counts::default(), Duration::ZERO) };
        let set = usize::from(open.loaded);
        let Some(counted) = self.sets.get(set) else { return (Counts::default(), Duration::ZERO) };
        let mut sums: Vec<Option<u64>> = vec![None; counted.ids.len()];
        let mut ran = 0;
        for group in open.sets.get_mut(set).into_iter().flatten() {
            // A thread that has ended can be read still; what can't be read has counted nothing.
            let Ok(growth) = group.advance() else { continue };
            ran += growth.enabled;
            self.multiplexed += u64::from(growth.running < growth.enabled - growth.enabled / 1000);
            for (event, count) in group.events.iter().zip(&growth.counts) {
                if let Some(sum) = sums.get_mut(*event) {
                    *sum.get_or_insert(0) += count;
                }
            }
        }
        let known = counted.ids.iter().zip(sums).filter_map(|(id, sum)| Some((*id, sum?)));
        (known.collect(), Duration::new(ran))
    }

    /// The task of a core: of those that are there, the one that ran longest; the first of equals.
    fn running(tasks: &[TaskSeen], core: CoreId, places: &dyn Where) -> Option<TaskId> {
        let there = tasks.iter().filter(|task| {
            task.core == core && task.life != Life::Ended && !task.ran.is_zero() && !places.is_held(task.task)
        });
        there.rev().max_by_key(|task| task.ran).map(|task| task.task)
    }
}

fn open_all(program: &Program, sets: &[Counted]) -> Result<Open, PlaceError> {
    let whom: Vec<(u32, Start)> = match program.is_ours() {
        true => vec![(program.process(), Start::OnExec)],
        false => {
            let threads = program.threads().map_err(|_| PlaceError::NoProcess(program.process()))?;
            threads.into_iter().map(|thread| (thread, Start::Now)).collect()
        }
    };
    let mut open = Open { sets: sets.iter().map(|_| Vec::new()).collect(), loaded: 0 };
    for (thread, start) in &whom {
        for (at, counted) in sets.iter().enumerate() {
            let start = if at == 0 { *start } else { Start::Stopped };
            for members in &counted.groups {
                match Counter::open(members, Whom::Tree(*thread), start) {
                    Ok(group) => open.sets[at].push(group),
                    // It ended while we looked.
                    Err(refused) if refused.is_gone() && whom.len() > 1 => {}
                    Err(refused) if refused.is_gone() => return Err(PlaceError::NoProcess(*thread)),
                    Err(refused) => return Err(counter(counted, &refused)),
                }
            }
        }
    }
    Ok(open)
}

/// What the kernel's refusal means.
fn counter(counted: &Counted, refused: &Refused) -> PlaceError {
    let event = counted.events.events.get(refused.event);
    let event = event.map_or_else(String::new, |event| Printable(&event.name).to_string());
    PlaceError::Counter { event, why: refused.why("let sets of them take turns: [scheduler.monitor] sets") }
}

impl Source for Counters<'_> {
    fn look(
        &mut self,
        at: Instant,
        next: Option<Instant>,
        places: &dyn Where,
    ) -> Result<Observation, PlaceError> {
        let span = at.since(self.last);
        self.last = at;
        let mut tasks = Vec::new();
        for place in 0..self.programs.len() {
            let task = TaskId(place as u32);
            let Some(life) = self.programs[place].life() else { continue };
            let (counts, ran) = self.read(place);
            let last = || last_cpu(self.programs[place].process()).map_or(CoreId(0), CoreId);
            let core = places.home(task).unwrap_or_else(last);
            let held = self.caches.get(place).and_then(|group| division::held(self.files, group));
            tasks.push(TaskSeen { task, life, core, ran, counts, held });
        }
        let cores = self.online().iter().map(|core| {
            let mut counts = Counts::default();
            tasks.iter().filter(|task| task.core == core).for_each(|task| counts.merge(&task.counts));
            // Nobody was there: what is counted of tasks was counted, and it was nothing.
            let set = places.set(core);
            if counts.is_none()
                && let Some(counted) = self.sets.get(usize::from(set))
            {
                counts = counted.ids.iter().map(|id| (*id, 0)).collect();
            }
            CoreSeen { core, running: Self::running(&tasks, core, places), set, counts }
        });
        let cores = cores.collect();
        Ok(Observation { at, span, next, cores, tasks })
    }

    fn turn(&mut self, places: &dyn Where) {
        if self.sets.len() < 2 {
            return;
        }
        for (place, open) in self.open.iter_mut().enumerate() {
            let Some(home) = places.home(TaskId(place as u32)) else { continue };
            let next = places.set(home);
            let before = std::mem::replace(&mut open.loaded, next);
            if before == next {
                continue;
            }
            // Errors show in the next reading, which says that nothing was counted.
            for group in open.sets.get(usize::from(before)).into_iter().flatten() {
                let _ = group.disable();
            }
            for group in open.sets.get_mut(usize::from(next)).into_iter().flatten() {
                let _ = group.enable();
            }
        }
    }

    fn online(&self) -> CoreSet {
        let online = cpus::online(self.files).into_iter().map(CoreId);
        online.filter(|core| core.index() < CoreSet::CAPACITY).collect()
    }
}

//! Tasks that share several cores: global and clustered scheduling.

use super::costs::Costs;
use super::{Gap, Open, Part, Proof, System, TaskFinding, Whose, ranked};
use crate::effort::Effort;
use crate::global::interference::{Interferer, edf_interference, response, workload};
use crate::global::{any, rta, uniform};
use crate::task::{Task, TaskSet};
use crate::verdict::{Stop, TestAnswer};
use solo_model::policy::Theory;
use solo_model::units::Duration;

/// Judges the tasks `here` of one domain: an outcome and the counted execution time for each, in their order.
pub(super) fn judge(
    system: &System,
    domain: usize,
    here: &[usize],
    effort: &mut Effort<'_>,
) -> Vec<(TaskFinding, Duration)> {
    let costs = Costs::of(system, here);
    let steps = here.iter().map(|&task| system.tasks[task].step.map(Duration::get).ok_or(task));
    let step = steps.reduce(|a, b| Ok(a?.max(b?))).unwrap_or(Ok(0));
    let jobs: Vec<Option<u64>> =
        here.iter().map(|&task| costs.of_a_global_job(system, here, task, step.unwrap_or(0))).collect();
    let counted = |task: usize| *jobs.get(here.binary_search(&task).ok()?)?;
    let cores = u32::try_from(system.domains[domain].cores).unwrap_or(u32::MAX).min(TaskSet::CORES_LIMIT);
    let mut domain = Domain { system, domain, cores, here, counted: &counted, step, outcomes: Vec::new() };
    domain.run(effort);
    here.iter()
        .map(|&task| {
            let found = domain.outcomes.iter().find(|(other, _)| *other == task);
            let outcome = match (system.unasked(task), found) {
                (Some(open), _) => TaskFinding::Open(open),
                (None, Some((_, outcome))) => outcome.clone(),
                (None, None) => TaskFinding::Open(Open::OutOfTime),
            };
            (outcome, Duration::new(counted(task).unwrap_or(0)))
        })
        .collect()
}

/// What [`Domain::within_deadlines`] calls the tests for cores of several speeds: whichever core a job has, and the most urgent one on
/// the fastest.
const UNIFORM: &str = "uniform";
const FASTEST_FIRST: &str = "fastest-first";

struct Domain<'a> {
    system: &'a System,
    /// Which of the system's.
    domain: usize,
    cores: u32,
    here: &'a [usize],
    counted: &'a dyn Fn(usize) -> Option<u64>,
    /// The longest access to memory of any task, or the task whose accesses have no bound.
    step: Result<u64, usize>,
    outcomes: Vec<(usize, TaskFinding)>,
}

/// A task and its parameters.
type Entry = (usize, Task);

impl Domain<'_> {
    fn run(&mut self, effort: &mut Effort<'_>) {
        let criterion = self.system.policy.criterion;
        let moves = (self.system.domains[self.domain].moves_up && !self.is_free()).then_some(Open::MovesUp);
        if let Some(open) = self.locks().or_else(|| self.step.err().map(Open::Step)).or(moves) {
            return self.all(&self.promised(), &open);
        }
        match criterion.facts().theory {
            Theory::Edf => self.dynamic(effort),
            Theory::Fixed(_) => self.fixed(effort),
            Theory::None => self.all(&self.promised(), &Open::Criterion(criterion)),
        }
    }

    /// The tasks that count: best effort without a deadline delays nobody above it.
    fn promised(&self) -> Vec<usize> {
        let asks = |task: usize| self.system.tasks[task].deadline.is_some();
        let rest = |task: usize| self.system.tasks[task].class == solo_model::TaskClass::BestEffort;
        // Under fixed priorities it may come before one of its class that has a deadline.
        let edf = self.system.policy.criterion.facts().theory == Theory::Edf;
        let all = !edf && self.here.iter().any(|&task| rest(task) && asks(task));
        self.here.iter().copied().filter(|&task| all || !rest(task) || asks(task)).collect()
    }

    fn all(&mut self, tasks: &[usize], open: &Open) {
        self.outcomes.extend(tasks.iter().map(|&task| (task, TaskFinding::Open(open.clone()))));
    }

    fn locks(&self) -> Option<Open> {
        let uses = self.here.iter().map(|&task| &self.system.tasks[task]);
        let mutexes =
            uses.clone().flat_map(|member| member.sections.iter().flat_map(|section| &section.locks));
        let others = uses.flat_map(|member| member.kept.iter().chain(&member.semaphores));
        let &lock = mutexes.chain(others).min()?;
        let name = self.system.locks.get(lock).map(|lock| lock.name.clone()).unwrap_or_default();
        Some(Open::Lock { name, why: "blocking where several cores share a queue is not analysed" })
    }

    /// The parameters of a task on several cores, sleep counted as execution (the theorems need deadlines up to periods).
    fn parameters(&self, task: usize) -> Result<Task, Open> {
        let wcet = self.system.tasks[task].wcet;
        let counted = (self.counted)(task);
        if wcet.is_some() && counted.is_none() {
            return Err(Open::TooLarge);
        }
        self.system.parameters(task, counted)
    }

    fn fixed(&mut self, effort: &mut Effort<'_>) {
        let mut urgent: Vec<Entry> = Vec::new();
        let mut bounds: Vec<Interferer> = Vec::new();
        let mut blocker: Option<Open> = None;
        for task in self.system.by_urgency(&self.promised()) {
            if let Some(open) = &blocker {
                self.outcomes.push((task, TaskFinding::Open(open.clone())));
                continue;
            }
            let peer = self.here.iter().find(|&&other| self.system.peers(task, other));
            let own = match (peer, self.parameters(task)) {
                (Some(&peer), Ok(_)) => Err(Open::Depends(peer)),
                (_, Ok(own)) if own.d() > own.t() => Err(Open::LongDeadline(task)),
                (_, other) => other,
            };
            let own = match own {
                Ok(own) => own,
                Err(open) => {
                    self.outcomes.push((task, TaskFinding::Open(open.clone())));
                    blocker = Some(open);
                    continue;
                }
            };
            let by = "response-time bound under global fixed priorities (Bertogna & Cirinei 2007)";
            let found = match own.c() > own.d() {
                true => Ok(None),
                false => response(&own, u64::from(self.cores), &mut bounds, effort),
            };
            let delay = |entry: &Entry, window: u64| workload(&entry.1, window + entry.1.d() - entry.1.c());
            match found {
                Err(stop) => {
                    blocker = Some(open(stop));
                    self.all(&[task], &open(stop));
                }
                Ok(Some(bound)) => {
                    let parts = self.parts((task, own), &urgent, bound, &delay);
                    bounds.push(Interferer::new(&own, bound - own.c(), u64::MAX));
                    urgent.push((task, own));
                    self.proved((task, own), bound, by, parts);
                }
                Ok(None) => {
                    let parts = self.parts((task, own), &urgent, own.d(), &delay);
                    self.not_proved((task, own), by, parts);
                    blocker = Some(Open::Depends(task));
                }
            }
        }
    }

    /// Class by class: the bounds of one are what delays the next.
    fn dynamic(&mut self, effort: &mut Effort<'_>) {
        let mut above: Vec<Entry> = Vec::new();
        let mut reaches: Vec<Interferer> = Vec::new();
        let mut blocker: Option<Open> = None;
        let order = self.system.by_urgency(&self.promised());
        for band in order.chunk_by(|&a, &b| self.system.tasks[a].class == self.system.tasks[b].class) {
            if blocker.is_none() {
                blocker = self.band(band, &mut above, &mut reaches, effort).err();
                let missing = band.iter().filter(|task| !self.outcomes.iter().any(|(done, _)| done == *task));
                let missing: Vec<usize> = missing.copied().collect();
                if let Some(open) = &blocker {
                    self.all(&missing, open);
                }
            } else if let Some(open) = &blocker {
                self.all(band, open);
            }
        }
    }

    fn band(
        &mut self,
        band: &[usize],
        above: &mut Vec<Entry>,
        reaches: &mut Vec<Interferer>,
        effort: &mut Effort<'_>,
    ) -> Result<(), Open> {
        let entries =
            band.iter().map(|&task| Ok((task, self.parameters(task)?))).collect::<Result<Vec<_>, _>>()?;
        let tasks: Vec<Task> = entries.iter().map(|&(_, task)| task).collect();
        let by = "response-time bound under global EDF (Bertogna & Cirinei 2007)";
        let delay = |entry: &Entry, window: u64| edf_interference(&entry.1, window, 0);
        if let Some(&longest) = entries.iter().find(|(_, task)| task.c() > task.d().min(task.t())) {
            let parts = self.parts(longest, &[], longest.1.d(), &delay);
            self.not_proved(longest, by, parts);
            return Err(Open::Depends(longest.0));
        }
        let set = TaskSet::part(self.cores, tasks);
        let long = entries.iter().find(|(_, task)| task.d() > task.t()).map(|&(task, _)| task);
        let reached = match long {
            None => rta::reach(&set, reaches, effort).map_err(open)?,
            Some(_) => Err(Vec::new()),
        };
        let failing = match reached {
            Ok(times) => {
                for (&entry, &time) in entries.iter().zip(&times) {
                    let others: Vec<Entry> =
                        above.iter().chain(&entries).copied().filter(|o| o.0 != entry.0).collect();
                    let parts = self
                        .parts(entry, &others, time, &|other, _| edf_interference(&other.1, entry.1.d(), 0));
                    self.proved(entry, time, by, parts);
                }
                reaches.extend(
                    entries
                        .iter()
                        .zip(&times)
                        .map(|((_, task), time)| Interferer::new(task, time - task.c(), u64::MAX)),
                );
                above.extend(entries);
                return Ok(());
            }
            Err(failing) => failing,
        };
        // The other tests speak of sets that nothing comes before and of jobs that don't sleep.
        let sleeps = self.here.iter().any(|&task| self.system.tasks[task].sleeps > 0);
        if above.is_empty() && !sleeps {
            match any::by(&set, effort) {
                (TestAnswer::Accepted, by) => return self.within_deadlines(entries, by, above, reaches),
                (TestAnswer::OutOfTime, _) => return Err(Open::OutOfTime),
                _ => {}
            }
            if long.is_none()
                && self.scales()
                && let Some(test) = self.in_time(&entries)
            {
                return self.within_deadlines(entries, Some(test), above, reaches);
            }
        }
        if let Some(task) = long {
            return Err(Open::LongDeadline(task));
        }
        for &index in &failing {
            let entry = entries[index];
            let others: Vec<Entry> =
                above.iter().chain(&entries).copied().filter(|o| o.0 != entry.0).collect();
            let parts = self.parts(entry, &others, entry.1.d(), &delay);
            self.not_proved(entry, by, parts);
        }
        Err(Open::Depends(entries[failing.first().copied().unwrap_or(0)].0))
    }

    /// Whether times on the slowest core say what there is to do on any: nobody does anything but compute, and the kernel takes no time.
    fn scales(&self) -> bool {
        self.is_free() && self.here.iter().all(|&task| self.system.tasks[task].scales)
    }

    /// Whether a job may move at no cost: the kernel takes no time, and nothing is left in a cache.
    fn is_free(&self) -> bool {
        self.here.iter().all(|&task| {
            let member = &self.system.tasks[task];
            let free = member.wcet.is_none_or(|wcet| (self.counted)(task) == Some(wcet.time().get()));
            free && !member.touches
        })
    }

    /// The test for cores of several speeds that holds, if one does; none where they are alike.
    fn in_time(&self, entries: &[Entry]) -> Option<&'static str> {
        let domain = &self.system.domains[self.domain];
        let speeds = domain.speeds?;
        let tasks: Vec<Task> = entries.iter().map(|&(_, task)| task).collect();
        if domain.moves_up && uniform::nobody_is_late_fastest_first(&tasks, &speeds) {
            return Some(FASTEST_FIRST);
        }
        uniform::nobody_is_late(&tasks, &speeds).then_some(UNIFORM)
    }

    /// All tasks are in time; how early is not known.
    fn within_deadlines(
        &mut self,
        entries: Vec<Entry>,
        by: Option<&'static str>,
        above: &mut Vec<Entry>,
        reaches: &mut Vec<Interferer>,
    ) -> Result<(), Open> {
        let by = match by {
            Some(UNIFORM) => {
                "capacity of cores of several kinds under global EDF (after Bertogna, Cirinei & Lipari 2005)"
            }
            Some(FASTEST_FIRST) => {
                "capacity of cores of several kinds, the fastest first (Funk, Goossens & Baruah 2001)"
            }
            Some("gfb") => "density under global EDF (Goossens, Funk & Baruah 2003)",
            Some("load") => "load under global EDF (Baker & Baruah 2009)",
            Some("ffdbf") => "forced-forward demand under global EDF (Baruah et al. 2009)",
            _ => "demand under global EDF (Baruah 2007)",
        };
        for entry in entries {
            self.proved(entry, entry.1.d(), by, self.own(entry).into());
            reaches.push(Interferer::new(&entry.1, entry.1.d() - entry.1.c(), u64::MAX));
            above.push(entry);
        }
        Ok(())
    }

    fn own(&self, (task, own): Entry) -> [Part; 2] {
        let asleep = self.system.tasks[task].asleep;
        let awake = Duration::new(own.c()).saturating_sub(asleep);
        [Part { whose: Whose::Own, amount: awake }, Part { whose: Whose::Sleep, amount: asleep }]
    }

    /// What delays a job within `window`, each task's work spread over all cores.
    fn parts(
        &self,
        entry: Entry,
        others: &[Entry],
        window: u64,
        delay: &dyn Fn(&Entry, u64) -> u64,
    ) -> Vec<Part> {
        let cap = window.saturating_sub(entry.1.c()).saturating_add(1);
        let share = |other: &Entry| Part {
            whose: Whose::Task(other.0),
            amount: Duration::new(delay(other, window).min(cap) / u64::from(self.cores)),
        };
        self.own(entry).into_iter().chain(others.iter().map(share)).collect()
    }

    fn proved(&mut self, (task, own): Entry, time: u64, by: &'static str, mut parts: Vec<Part>) {
        let jitter = self.system.tasks[task].jitter;
        parts.push(Part { whose: Whose::Tick, amount: jitter });
        let proof = Proof {
            bound: Duration::new(time).saturating_add(jitter),
            occupied: self.occupied(own, time),
            by,
            parts: ranked(parts),
        };
        self.outcomes.push((task, TaskFinding::Proved(proof)));
    }

    /// The most that a job is charged with: itself and the kernel paths of every job that may run meanwhile.
    fn occupied(&self, own: Task, window: u64) -> Duration {
        let paths = |&other: &usize| {
            let member = &self.system.tasks[other];
            let (wcet, counted) = (member.wcet?.time().get(), (self.counted)(other)?);
            let period = member.period?.get().max(1);
            let reach = window.saturating_add(member.deadline?.get());
            Some(reach.div_ceil(period).saturating_mul(counted.saturating_sub(wcet)))
        };
        let foreign = self.here.iter().filter_map(paths).fold(0, u64::saturating_add);
        let rounded = self.system.told_too_long(self.domain, window);
        Duration::new(own.c().saturating_add(foreign).saturating_add(rounded))
    }

    fn not_proved(&mut self, (task, own): Entry, by: &'static str, parts: Vec<Part>) {
        let sum = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.amount.get()));
        let gap = Gap {
            needs: Duration::new(sum.max(own.d() + 1)),
            has: self.system.tasks[task].deadline.unwrap_or_default(),
            exact: false,
            by,
            parts: ranked(parts),
        };
        self.outcomes.push((task, TaskFinding::NotProved(gap)));
    }
}

fn open(stop: Stop) -> Open {
    match stop {
        Stop::OutOfTime => Open::OutOfTime,
        Stop::Overflow => Open::TooLarge,
    }
}

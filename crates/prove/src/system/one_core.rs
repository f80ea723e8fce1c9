//! Tasks that share one core.

use super::costs::Costs;
use super::{Gap, Open, Outcome, Part, Proof, System, Whose, ranked};
use crate::budget::Budget;
use crate::task::{Task, Ticks};
use crate::uni::edf::Core;
use crate::uni::fp::{self, Response};
use crate::verdict::Stop;
use solo_model::policy::Criterion;
use solo_model::units::Duration;
use solo_model::work::LockProtocol;

/// Judges the tasks `here` of one core: an outcome and the counted execution time for each, in their order.
pub(super) fn judge(system: &System, here: &[usize], budget: &mut Budget<'_>) -> Vec<(Outcome, Duration)> {
    let costs = Costs::of(system);
    let counted = |task: usize| {
        let member = &system.tasks[task];
        costs.of_a_job(member.wcet?.time(), member.lock_operations)
    };
    let interrupts = costs.interrupts(system, here);
    let mut core = Analysis {
        system,
        costs,
        order: system.by_urgency(here),
        interrupts,
        locked: Ok(Vec::new()),
        counted: &counted,
    };
    core.locked = core.ceilings();
    here.iter()
        .map(|&task| {
            let outcome = match system.unasked(task) {
                Some(open) => Outcome::Open(open),
                None => core.outcome(task, budget),
            };
            (outcome, Duration::new(counted(task).unwrap_or(0)))
        })
        .collect()
}

struct Analysis<'a> {
    system: &'a System,
    costs: Costs,
    /// What comes before all tasks.
    interrupts: Vec<Task>,
    /// How long each task may wait for a less urgent one under fixed priorities, by rank.
    locked: Result<Vec<u64>, Open>,
    /// The most urgent first; of dynamic priorities, class by class.
    order: Vec<usize>,
    counted: &'a dyn Fn(usize) -> Option<u64>,
}

/// A task's response time and what it is made of.
struct Found {
    response: Response,
    /// What the job needs where it is late.
    needs: u64,
    parts: Vec<Part>,
}

impl Analysis<'_> {
    fn outcome(&self, task: usize, budget: &mut Budget<'_>) -> Outcome {
        let found = match self.system.policy.criterion {
            Criterion::Edf => self.dynamic(task, budget),
            Criterion::Rm | Criterion::Dm | Criterion::StaticPriority | Criterion::CpuAffinity => {
                self.fixed(task, budget)
            }
            other => Err(Open::Criterion(other)),
        };
        let member = &self.system.tasks[task];
        let has = member.deadline.unwrap_or(Duration::ZERO);
        let (edf, alone) = (self.system.policy.criterion == Criterion::Edf, self.lock_free());
        let by = match (edf, alone) {
            (true, true) => "response time under EDF (Spuri 1996)",
            (true, false) => {
                "response time under EDF with the stack resource policy (Spuri 1996, Baker 1991)"
            }
            (false, true) => "response time under fixed priorities (Joseph & Pandya 1986, Lehoczky 1990)",
            (false, false) => {
                "response time under fixed priorities with ceilings (Lehoczky 1990, Sha, Rajkumar & Lehoczky 1990)"
            }
        };
        match found {
            Err(open) => Outcome::Open(open),
            Ok(Found { response: Response::Within(time), parts, .. }) => {
                let bound = Duration::new(time.get()).saturating_add(member.jitter);
                let kernel = parts.iter().find(|part| part.whose == Whose::Kernel).map(|part| part.amount);
                let own = Duration::new((self.counted)(task).unwrap_or(0));
                let occupied = own.saturating_add(kernel.unwrap_or_default());
                Outcome::Proved(Proof { bound, occupied, by, parts: ranked(self.with_jitter(task, parts)) })
            }
            Ok(Found { response: Response::Late, needs, parts }) => Outcome::NotProved(Gap {
                needs: Duration::new(needs).saturating_add(member.jitter),
                has,
                exact: alone && member.jitter.is_zero() && self.interrupts.is_empty(),
                by,
                parts: ranked(self.with_jitter(task, parts)),
            }),
        }
    }

    /// True where no task of the core takes a lock.
    fn lock_free(&self) -> bool {
        self.order.iter().all(|&task| self.system.tasks[task].sections.is_empty())
    }

    fn with_jitter(&self, task: usize, mut parts: Vec<Part>) -> Vec<Part> {
        parts.push(Part { whose: Whose::Tick, amount: self.system.tasks[task].jitter });
        parts
    }

    fn parameters(&self, task: usize) -> Result<Task, Open> {
        self.system.parameters(task, (self.counted)(task))
    }

    fn fixed(&self, task: usize, budget: &mut Budget<'_>) -> Result<Found, Open> {
        budget.spend(self.order.len()).map_err(open)?;
        let rank = self.order.iter().position(|&other| other == task).unwrap_or(0);
        let urgent: Vec<usize> = self.order[..rank].to_vec();
        let own = self.parameters(task)?;
        let higher = urgent.iter().map(|&other| self.parameters(other)).collect::<Result<Vec<_>, _>>()?;
        let locked = self.locked.as_ref().map_err(Open::clone)?.get(rank).copied().unwrap_or(0);
        let under_way = self.costs.under_way();
        let all: Vec<Task> = self.interrupts.iter().chain(&higher).copied().collect();
        let response = fp::response(&own, &all, Ticks(locked + under_way), budget).map_err(open)?;
        // Where it is late the interference within the deadline does not fit before it.
        let window = match response {
            Response::Within(time) => time.get(),
            Response::Late => own.d(),
        };
        let within = |other: &Task| window.div_ceil(other.t()).saturating_mul(other.c());
        let jobs = if window > own.t() { window.div_ceil(own.t()) } else { 1 };
        let mut parts = vec![
            part(Whose::Own, own.c().saturating_mul(jobs)),
            part(Whose::Blocking, locked),
            part(Whose::Kernel, self.interrupts.iter().map(within).sum::<u64>() + under_way),
        ];
        parts.extend(urgent.iter().zip(&higher).map(|(&other, task)| part(Whose::Task(other), within(task))));
        let sum: u64 = parts.iter().fold(0, |sum, part| sum.saturating_add(part.amount.get()));
        Ok(Found { response, needs: sum.max(own.d() + 1), parts })
    }

    fn dynamic(&self, task: usize, budget: &mut Budget<'_>) -> Result<Found, Open> {
        budget.spend(self.order.len()).map_err(open)?;
        let class = self.system.tasks[task].class;
        let of = |wanted: fn(core::cmp::Ordering) -> bool| -> Vec<usize> {
            let classes = |&other: &usize| wanted(self.system.tasks[other].class.cmp(&class));
            self.order.iter().copied().filter(classes).collect()
        };
        let (band, urgent) = (of(core::cmp::Ordering::is_eq), of(core::cmp::Ordering::is_lt));
        let tasks = band.iter().map(|&other| self.parameters(other)).collect::<Result<Vec<_>, _>>()?;
        let higher = urgent.iter().map(|&other| self.parameters(other)).collect::<Result<Vec<_>, _>>()?;
        let above: Vec<Task> = self.interrupts.iter().chain(&higher).copied().collect();
        let under_way = self.costs.under_way();
        let delays = self.floors(task)?;
        let delay = |window: u64| {
            let locked = delays.iter().filter(|delay| delay.later > window && delay.floor <= window);
            locked.map(|delay| delay.length).max().unwrap_or(0) + under_way
        };
        let most = delays.iter().map(|delay| delay.length).max().unwrap_or(0) + under_way;
        let core = Core { tasks: &tasks, above: &above, blocking: &delay, blocking_most: most };
        let index = band.iter().position(|&other| other == task).unwrap_or(0);
        let worst = core.respond(index, budget).map_err(open)?;
        let own = tasks[index];
        let (release, due) = (worst.release, worst.release.saturating_add(own.d()));
        // The whole busy period up to the job; what came before its release is taken off again.
        let window = worst.finish.min(due);
        let mut parts = vec![
            part(Whose::Own, (release / own.t() + 1).saturating_mul(own.c())),
            part(Whose::Blocking, delay(due) - under_way),
            part(
                Whose::Kernel,
                self.interrupts.iter().map(|it| window.div_ceil(it.t()) * it.c()).sum::<u64>() + under_way,
            ),
        ];
        for (&other, task) in band.iter().zip(&tasks).filter(|&(&other, _)| other != task) {
            let jobs = due
                .checked_sub(task.d())
                .map_or(0, |room| (room / task.t() + 1).min(window.div_ceil(task.t())));
            parts.push(part(Whose::Task(other), jobs.saturating_mul(task.c())));
        }
        parts.extend(
            urgent
                .iter()
                .zip(&higher)
                .map(|(&other, it)| part(Whose::Task(other), window.div_ceil(it.t()).saturating_mul(it.c()))),
        );
        let sum: u64 = parts.iter().fold(0, |sum, part| sum.saturating_add(part.amount.get()));
        Ok(Found { response: worst.response, needs: sum.saturating_sub(release).max(own.d() + 1), parts })
    }

    /// How long each task, by rank, can be delayed by a less urgent one that holds a lock whose ceiling is at
    /// least its own key (Sha, Rajkumar & Lehoczky 1990): once, by the longest section. Tasks of equal keys are
    /// ordered by position, but a ceiling comes before all of its key.
    fn ceilings(&self) -> Result<Vec<u64>, Open> {
        let level = |task: usize| (self.system.tasks[task].class, self.system.fixed_key(task));
        let mut sections = Vec::new();
        for (rank, &task) in self.order.iter().enumerate() {
            for &(lock, length) in &self.system.tasks[task].sections {
                sections.push((rank, lock, self.length(task, lock, length)?));
            }
        }
        let ceiling = |lock: usize| {
            let users = sections.iter().filter(|&&(_, used, _)| used == lock);
            users.map(|&(rank, ..)| level(self.order[rank])).min()
        };
        let ceilings: Vec<_> = (0..self.system.locks.len()).map(ceiling).collect();
        let delay = |(rank, &task): (usize, &usize)| {
            let delaying = sections.iter().filter(|&&(holder, lock, _)| {
                holder > rank && ceilings[lock].is_some_and(|ceiling| ceiling <= level(task))
            });
            delaying.map(|&(.., length)| length).max().unwrap_or(0)
        };
        Ok(self.order.iter().enumerate().map(delay).collect())
    }

    /// How long the section may last: its computation, or the whole job where that isn't known.
    fn length(&self, task: usize, lock: usize, length: Option<Duration>) -> Result<u64, Open> {
        let system = self.system;
        let used_at = |member: &super::Member| member.sections.iter().any(|&(other, _)| other == lock);
        let shared = system.tasks.iter().filter(|member| used_at(member)).count() > 1;
        let home = system.tasks[task].domain;
        let abroad = system.tasks.iter().any(|member| member.domain != home && used_at(member));
        let why = match system.locks[lock].protocol {
            _ if abroad => Some("it is shared across cores"),
            LockProtocol::Ceiling => None,
            // Alone, nobody waits for it.
            LockProtocol::Plain | LockProtocol::Inheritance if !shared => None,
            LockProtocol::Plain => Some("without a protocol blocking has no bound"),
            LockProtocol::Inheritance => Some("blocking under priority inheritance is not analysed"),
            LockProtocol::Semaphore { .. } => Some("semaphores are not analysed"),
        };
        if let Some(why) = why {
            return Err(Open::Lock { name: system.locks[lock].name.clone(), why });
        }
        let whole = (self.counted)(task);
        let operations = self.costs.of_a_job(Duration::ZERO, 2).unwrap_or(0);
        let known = length.map(|length| length.get().saturating_add(operations));
        match (known, whole) {
            (Some(known), Some(whole)) => Ok(known.min(whole)),
            (known, whole) => known.or(whole).ok_or(Open::NoWcet(task)),
        }
    }

    /// The sections that may delay `task` under EDF, each with the deadlines between which it does.
    fn floors(&self, task: usize) -> Result<Vec<Delay>, Open> {
        let system = self.system;
        let class = system.tasks[task].class;
        // Deadlines as windows of this class: a class above is due at once, one below never.
        let window = |other: usize| match system.tasks[other].class.cmp(&class) {
            core::cmp::Ordering::Less => 0,
            core::cmp::Ordering::Greater => u64::MAX,
            core::cmp::Ordering::Equal => {
                let member = &system.tasks[other];
                member.deadline.map_or(u64::MAX, Duration::get).saturating_sub(member.jitter.get())
            }
        };
        let mut found = Vec::new();
        for &other in &self.order {
            for &(lock, length) in &system.tasks[other].sections {
                let uses =
                    |&user: &&usize| system.tasks[*user].sections.iter().any(|&(used, _)| used == lock);
                let floor =
                    self.order.iter().filter(uses).map(|&user| window(user)).min().unwrap_or(u64::MAX);
                let length = self.length(other, lock, length)?;
                found.push(Delay { later: window(other), floor, length });
            }
        }
        Ok(found)
    }
}

/// A section that delays jobs due within windows from `floor` up to, not with, `later`.
struct Delay {
    later: u64,
    floor: u64,
    length: u64,
}

fn part(whose: Whose, amount: u64) -> Part {
    Part { whose, amount: Duration::new(amount) }
}

fn open(stop: Stop) -> Open {
    match stop {
        Stop::OutOfTime => Open::OutOfTime,
        Stop::Overflow => Open::TooLarge,
    }
}

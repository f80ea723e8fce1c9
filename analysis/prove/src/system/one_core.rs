//! Tasks that share one core.

use super::costs::Costs;
use super::interference::{Added, Unbounded};
use super::{Gap, Open, Part, Proof, System, TaskFinding, Whose, ranked};
use crate::effort::Effort;
use crate::task::{Task, Ticks};
use crate::uni::edf::Core;
use crate::uni::fp::{Higher, Response, response_over};
use crate::verdict::Stop;
use solo_model::TaskClass;
use solo_model::policy::Theory;
use solo_model::units::Duration;

/// Judges the tasks `here` of one core: an outcome and the counted execution time for each, in their order. Between
/// windows of a partition other tasks of the core take time from them.
pub(super) fn judge(
    system: &System,
    here: &[usize],
    between: Option<Between>,
    effort: &mut Effort<'_>,
) -> Vec<(TaskFinding, Duration)> {
    let Some([shared, requests]) = system.added(here) else {
        return judge_beside(system, here, between, None, effort);
    };
    let wider = |memory: &Added| between.as_ref().map(|between| between.with_a_spent_budget(memory));
    let one = judge_beside(system, here, wider(&shared), Some(shared), effort);
    let other = judge_beside(system, here, wider(&requests), Some(requests), effort);
    one.into_iter()
        .zip(other)
        .map(|(one, other)| if better(&other.0, &one.0) { other } else { one })
        .collect()
}

/// True where the first says more than the second.
fn better(one: &TaskFinding, other: &TaskFinding) -> bool {
    match (one, other) {
        (TaskFinding::Proved(one), TaskFinding::Proved(other)) => one.bound < other.bound,
        (TaskFinding::Proved(_), _) => true,
        (_, TaskFinding::Proved(_)) => false,
        (TaskFinding::NotProved(one), TaskFinding::NotProved(other)) => one.needs < other.needs,
        _ => false,
    }
}

/// The same where memory and budgets add so much.
fn judge_beside(
    system: &System,
    here: &[usize],
    between: Option<Between>,
    memory: Option<Added>,
    effort: &mut Effort<'_>,
) -> Vec<(TaskFinding, Duration)> {
    let none = Between { all: here.to_vec(), gaps: Vec::new(), paths: 0, lines: 0, once: 0 };
    let Between { all, gaps, paths, lines, once } = &between.unwrap_or(none);
    let costs = Costs::of(system, all);
    let charged = |task: usize| match (&memory, system.tasks[task].misses) {
        (None, _) => Some(0),
        (Some(memory), Some(misses)) => Some(memory.charge(misses)),
        (Some(_), None) => None,
    };
    let counted = |task: usize| costs.of_a_job(&system.tasks[task])?.checked_add(charged(task)?);
    let of_memory =
        |memory: &Added| memory.others().into_iter().chain(memory.kernel(&costs)).collect::<Vec<_>>();
    let served = memory.as_ref().map_or_else(Vec::new, of_memory);
    let limit = Ticks::LIMIT.get();
    let late = once.saturating_add(memory.as_ref().map_or(0, |memory| memory.charge(*lines))).min(limit);
    let loaded = (*once > 0).then(|| Task::new(late, limit, limit));
    let mut core = Analysis {
        system,
        costs,
        order: system.by_urgency(here),
        gaps: gaps.len(),
        served: served.len(),
        memory: memory.as_ref(),
        paths_of_a_gap: *paths,
        interrupts: gaps
            .iter()
            .copied()
            .chain(served)
            .chain(costs.interrupts(system, all))
            .chain(loaded)
            .collect(),
        locked: Ok(Vec::new()),
        accesses: Vec::new(),
        delays: [const { None }; 3],
        bounds: vec![None; system.tasks.len()],
        counted: &counted,
    };
    core.locked = core.ceilings();
    core.accesses = core.accesses();
    let mut outcomes = vec![TaskFinding::Open(Open::NoDeadline); system.tasks.len()];
    // The most urgent first: of those that sleep, the bounds are what the others are delayed by.
    for task in core.order.clone() {
        outcomes[task] = match system.unasked(task) {
            Some(open) => TaskFinding::Open(open),
            None => match core.outcome(task, effort) {
                // It says how long, and not how often it misses.
                TaskFinding::Open(Open::NoWcet(other)) if system.tasks[other].wcet.is_some() => {
                    TaskFinding::Open(Open::Regulated(Unbounded::NoMisses(other)))
                }
                outcome => outcome,
            },
        };
        if let TaskFinding::Proved(proof) = &outcomes[task] {
            core.bounds[task] = Some(proof.bound.get());
        }
    }
    let found = |&task: &usize| {
        let outcome = core::mem::replace(&mut outcomes[task], TaskFinding::Open(Open::NoDeadline));
        // Where what memory adds is not known: without it.
        let counted = counted(task).or_else(|| core.costs.of_a_job(&system.tasks[task]));
        (outcome, Duration::new(counted.unwrap_or(0)))
    };
    here.iter().map(found).collect()
}

/// What lies between the windows of a partition.
pub(super) struct Between {
    /// The tasks of the core: their releases interrupt whoever runs.
    pub(super) all: Vec<usize>,
    /// Times in which the partition does not run, as tasks that come before all others.
    pub(super) gaps: Vec<Task>,
    /// So much of each is what is under way when it ends, kernel paths, loading: that may be charged to whom it interrupts.
    pub(super) paths: u64,
    /// Lines that are loaded and locked at the end of each.
    pub(super) lines: u64,
    /// What loading takes alone in a window in which nobody has run yet when a busy period begins: once more than there are gaps.
    pub(super) once: u64,
}

impl Between {
    /// The same where a window may begin with a budget that another partition has spent: the core is stopped until the regulation
    /// period ends, and misses of the other partition are under way. In the period in which a window ends its own misses are charged already.
    fn with_a_spent_budget(&self, memory: &Added) -> Self {
        let (limit, loading) = (Ticks::LIMIT.get(), memory.charge(self.lines));
        let longer = |gap: &Task| {
            let length = gap.c().saturating_add(memory.spent()).saturating_add(loading).min(limit);
            Task::new(length, gap.t(), gap.d())
        };
        let paths = self.paths.saturating_add(loading);
        Self {
            all: self.all.clone(),
            gaps: self.gaps.iter().map(longer).collect(),
            paths,
            lines: self.lines,
            once: self.once,
        }
    }
}

pub(super) struct Analysis<'a> {
    pub(super) system: &'a System,
    pub(super) costs: Costs,
    /// The most urgent first; of dynamic priorities, class by class.
    pub(super) order: Vec<usize>,
    pub(super) counted: &'a dyn Fn(usize) -> Option<u64>,
    /// What comes before all tasks.
    interrupts: Vec<Task>,
    /// So many of these, the first, are times between windows.
    gaps: usize,
    /// And so many that follow, what memory and budgets take from the core.
    served: usize,
    /// What memory and budgets add.
    memory: Option<&'a Added>,
    paths_of_a_gap: u64,
    /// By rank, how long each task may wait for a less urgent one's lock under fixed priorities.
    locked: Result<Vec<u64>, Open>,
    /// By rank, how long each may wait for a less urgent one's access to memory.
    accesses: Vec<Result<u64, usize>>,
    /// What delays the tasks of each class under EDF.
    delays: [Option<Result<Vec<Delay>, Open>>; 3],
    /// The bounds found so far, by task.
    bounds: Vec<Option<u64>>,
}

/// A stretch that delays jobs due within windows from `floor` up to, not with, `later`.
pub(super) struct Delay {
    pub(super) later: u64,
    pub(super) floor: u64,
    pub(super) length: u64,
}

/// A task's response time and what it is made of.
struct Found {
    response: Response,
    /// What the job needs where it is late.
    needs: u64,
    /// Kernel paths of other jobs, which may be charged to the job that they interrupt.
    foreign: u64,
    /// All tasks, this one too, release a job together when the busy period begins.
    together: bool,
    parts: Vec<Part>,
}

impl Analysis<'_> {
    fn outcome(&mut self, task: usize, effort: &mut Effort<'_>) -> TaskFinding {
        let criterion = self.system.policy.criterion;
        let found = match criterion.facts().theory {
            Theory::Edf => self.dynamic(task, effort),
            Theory::Fixed(_) => self.fixed(task, effort),
            Theory::None => Err(Open::Criterion(criterion)),
        };
        let member = &self.system.tasks[task];
        let by = self.theorem();
        match found {
            Err(open) => TaskFinding::Open(open),
            Ok(Found { response: Response::Within(time), parts, foreign, .. }) => {
                let bound = Duration::new(time.get()).saturating_add(member.jitter);
                let own = (self.counted)(task).unwrap_or(0);
                let rounded = self.system.told_too_long(member.domain, time.get());
                let foreign = foreign.saturating_add(self.interrupted_access(task));
                let occupied = Duration::new(own.saturating_add(foreign).saturating_add(rounded));
                TaskFinding::Proved(Proof {
                    bound,
                    occupied,
                    by,
                    parts: ranked(self.with_jitter(task, parts)),
                })
            }
            Ok(Found { response: Response::Late, needs, parts, together, .. }) => {
                TaskFinding::NotProved(Gap {
                    needs: Duration::new(needs).saturating_add(member.jitter),
                    has: member.deadline.unwrap_or(Duration::ZERO),
                    exact: together && self.is_exact(task),
                    by,
                    parts: ranked(self.with_jitter(task, parts)),
                })
            }
        }
    }

    /// What an access of whom it interrupts may still take when a job ends: the core waits for it then, and charges the job.
    fn interrupted_access(&self, task: usize) -> u64 {
        let own = self.system.tasks[task].class;
        let others = self.order.iter().filter(|&&other| other != task);
        let interrupted = others.map(|&other| &self.system.tasks[other]).filter(|other| other.class >= own);
        interrupted.filter_map(|other| other.step).map(Duration::get).max().unwrap_or(0)
    }

    /// True where nothing is counted that need not happen: then a job that is found late can be late.
    fn is_exact(&self, task: usize) -> bool {
        let simple = |&task: &usize| {
            let member = &self.system.tasks[task];
            member.sections.is_empty() && member.sleeps == 0 && member.step == Some(Duration::ZERO)
        };
        let peers = |&other: &usize| self.system.peers(task, other);
        // Where the clock never releases all of them at once the worst case need not happen.
        let first = self.system.tasks[task].offset;
        let delays = self.order.iter().filter(|&&other| self.delays_by_execution(other, task));
        let aligned =
            first.is_some() && delays.clone().all(|&other| self.system.tasks[other].offset == first);
        aligned
            && self.order.iter().all(simple)
            && !self.order.iter().any(peers)
            && self.system.tasks[task].jitter.is_zero()
            && self.interrupts.is_empty()
            && self.memory.is_none()
            && self.system.domains[self.system.tasks[task].domain].is_exact()
    }

    /// True where jobs of `other` may come before those of `task`.
    fn delays_by_execution(&self, other: usize, task: usize) -> bool {
        let rank = |task: usize| self.order.iter().position(|&at| at == task);
        match self.system.policy.criterion.facts().theory {
            Theory::Edf => self.system.tasks[other].class <= self.system.tasks[task].class,
            Theory::Fixed(_) | Theory::None => rank(other) <= rank(task),
        }
    }

    fn theorem(&self) -> &'static str {
        let any =
            |test: fn(&super::Member) -> bool| self.order.iter().any(|&task| test(&self.system.tasks[task]));
        let (locks, sleeps) = (any(|member| !member.sections.is_empty()), any(|member| member.sleeps > 0));
        match (self.system.policy.criterion.facts().theory == Theory::Edf, locks, sleeps) {
            (true, false, false) => "response time under EDF (Spuri 1996)",
            (true, true, false) => {
                "response time under EDF with the stack resource policy (Spuri 1996, Baker 1991)"
            }
            (true, _, true) => "response time under EDF, sleep counted as execution (Spuri 1996, Baker 1991)",
            (false, false, false) => {
                "response time under fixed priorities (Joseph & Pandya 1986, Lehoczky 1990)"
            }
            (false, true, false) => {
                "response time under fixed priorities with ceilings (Lehoczky 1990, Sha, Rajkumar & Lehoczky 1990)"
            }
            (false, _, true) => {
                "response time under fixed priorities with sleeping tasks (Bletsas et al. 2018, Lehoczky 1990)"
            }
        }
    }

    fn with_jitter(&self, task: usize, mut parts: Vec<Part>) -> Vec<Part> {
        parts.push(Part { whose: Whose::Tick, amount: self.system.tasks[task].jitter });
        parts
    }

    /// The parameters with sleep counted as execution, where each waking up may wait for `blocking` again; `None` as
    /// `counted` for a task without an execution time.
    fn parameters(&self, task: usize, blocking: u64) -> Result<Task, Open> {
        let member = &self.system.tasks[task];
        let asleep = member.sleeps.saturating_mul(blocking).saturating_add(member.asleep.get());
        let counted = (self.counted)(task).map(|counted| counted.saturating_add(asleep));
        self.system.parameters(task, counted)
    }

    /// What of a job is kernel paths, and so may be charged to whom it preempts.
    fn paths(&self, task: usize) -> u64 {
        let member = &self.system.tasks[task];
        let wcet = member.wcet.map_or(0, |wcet| wcet.time().get());
        self.costs.of_a_job(member).unwrap_or(0).saturating_sub(wcet)
    }

    /// What memory adds to one job of a task by its own misses.
    fn charge(&self, task: usize) -> u64 {
        let misses = self.system.tasks[task].misses.unwrap_or(0);
        self.memory.map_or(0, |memory| memory.charge(misses))
    }

    /// What memory delays each busy period once.
    fn late_memory(&self) -> u64 {
        self.memory.map_or(0, Added::blocking)
    }

    /// The more urgent tasks as they delay a job within a window, sleep counted as execution, or (where the bounds of all
    /// that sleep are known) as executing as late as their bounds allow: `ceil((w + R - C) / T) C` (Bletsas et al.,
    /// Leibniz Transactions on Embedded Systems 5(1), 2018).
    fn higher(&self, urgent: &[usize], blocking: u64) -> Result<[Option<Vec<Higher>>; 2], Open> {
        let mut asleep = Vec::with_capacity(urgent.len());
        let mut late = Some(Vec::with_capacity(urgent.len()));
        for &other in urgent {
            let task = self.parameters(other, blocking)?;
            let member = &self.system.tasks[other];
            asleep.push(Higher { task, lead: 0 });
            let with_lead = match (member.sleeps, self.bounds[other], member.period, member.wcet) {
                (0, ..) => Some(Higher { task, lead: 0 }),
                (_, Some(bound), Some(period), Some(wcet)) => {
                    let c = (self.counted)(other).ok_or(Open::NoWcet(other))?;
                    let limit = Ticks::LIMIT.get();
                    let task = Task::new(c.min(limit), period.get().min(limit), bound.clamp(1, limit));
                    // Beyond its period more jobs than one are carried in.
                    let last = if bound > period.get() { 0 } else { wcet.time().get() };
                    Some(Higher { task, lead: bound.saturating_sub(last) })
                }
                _ => None,
            };
            late = late.zip(with_lead).map(|(mut late, with_lead)| {
                late.push(with_lead);
                late
            });
        }
        let sleepers = urgent.iter().any(|&other| self.system.tasks[other].sleeps > 0);
        Ok([Some(asleep), late.filter(|_| sleepers)])
    }

    fn fixed(&self, task: usize, effort: &mut Effort<'_>) -> Result<Found, Open> {
        effort.spend(self.order.len()).map_err(open)?;
        let rank = self.order.iter().position(|&other| other == task).unwrap_or(0);
        // Whatever the order in which peers are served, none waits longer than if it were the last of them.
        let peers = self.order[rank..].iter().filter(|&&other| self.system.peers(task, other));
        let urgent: Vec<usize> = self.order[..rank].iter().chain(peers).copied().collect();
        let urgent = urgent.as_slice();
        let locked = self.locked.as_ref().map_err(Open::clone)?.get(rank).copied().unwrap_or(0);
        let access = self.accesses.get(rank).copied().unwrap_or(Ok(0)).map_err(Open::Step)?;
        let (under_way, waits) = (self.costs.under_way(), locked.max(access));
        let memory = self.late_memory();
        let blocking = waits.saturating_add(under_way).saturating_add(memory);
        let own = self.parameters(task, blocking)?;
        let mut best: Option<(Response, Vec<Higher>)> = None;
        for higher in self.higher(urgent, blocking)?.into_iter().flatten() {
            let all: Vec<Higher> = self
                .interrupts
                .iter()
                .map(|&task| Higher { task, lead: 0 })
                .chain(higher.iter().copied())
                .collect();
            let found = response_over(&own, &all, Ticks(blocking), effort).map_err(open)?;
            let better = match (&best, found) {
                (Some((Response::Within(before), _)), Response::Within(now)) => now < *before,
                (Some((Response::Within(_), _)), Response::Late) => false,
                _ => true,
            };
            if better {
                best = Some((found, higher));
            }
        }
        let (response, higher) = best.ok_or(Open::OutOfTime)?;
        // Where it is late the interference within the deadline does not fit before it.
        let window = match response {
            Response::Within(time) => time.get(),
            Response::Late => own.d(),
        };
        let jobs = if window > own.t() { window.div_ceil(own.t()) } else { 1 };
        let [shut, served, interrupted] = self.taken(window);
        let kernel = interrupted.saturating_add(under_way);
        let charged = kernel.saturating_add(self.paths_of_gaps(window)).saturating_add(served);
        let times = self.system.tasks[task].sleeps.saturating_mul(jobs).saturating_add(1);
        let served = served.saturating_add(memory.saturating_mul(times));
        let others = urgent.iter().zip(&higher).map(|(&other, it)| (other, it.within(window)));
        let parts = self.own_parts(task, jobs, waits, [shut, kernel, served]).into_iter();
        let parts: Vec<Part> =
            parts.chain(others.map(|(other, jobs)| part(Whose::Task(other), jobs.work))).collect();
        let foreign = urgent.iter().zip(&higher).map(|(&other, it)| {
            let jobs = it.within(window).jobs;
            jobs.saturating_mul(self.paths(other))
        });
        let foreign = foreign.fold(charged, u64::saturating_add);
        let sum: u64 = parts.iter().fold(0, |sum, part| sum.saturating_add(part.amount.get()));
        let needs = sum.max(own.d().saturating_add(1));
        Ok(Found { response, needs, foreign, together: true, parts })
    }

    /// What comes before all tasks within a window: times between windows of the partition, memory that serves others, interrupts.
    fn taken(&self, window: u64) -> [u64; 3] {
        let of = |sources: &[Task]| {
            let each = sources.iter().map(|it| window.div_ceil(it.t()).saturating_mul(it.c()));
            each.fold(0, u64::saturating_add)
        };
        let (gaps, interrupts) = self.interrupts.split_at(self.gaps.min(self.interrupts.len()));
        let (served, interrupts) = interrupts.split_at(self.served.min(interrupts.len()));
        [of(gaps), of(served), of(interrupts)]
    }

    /// Kernel paths of the times between windows.
    fn paths_of_gaps(&self, window: u64) -> u64 {
        let gaps = self.interrupts.iter().take(self.gaps);
        let times = gaps.map(|gap| window.div_ceil(gap.t())).fold(0, u64::saturating_add);
        times.saturating_mul(self.paths_of_a_gap)
    }

    /// What a task itself, less urgent ones and the kernel contribute.
    fn own_parts(&self, task: usize, jobs: u64, waits: u64, [shut, kernel, served]: [u64; 3]) -> Vec<Part> {
        let member = &self.system.tasks[task];
        let times = member.sleeps.saturating_mul(jobs);
        let again = times.saturating_mul(self.costs.under_way());
        vec![
            part(
                Whose::Own,
                (self.counted)(task).unwrap_or(0).saturating_sub(self.charge(task)).saturating_mul(jobs),
            ),
            part(Whose::Memory, self.charge(task).saturating_mul(jobs).saturating_add(served)),
            part(Whose::Sleep, member.asleep.get().saturating_mul(jobs)),
            part(Whose::Blocking, times.saturating_add(1).saturating_mul(waits)),
            part(Whose::Window, shut),
            part(Whose::Kernel, kernel.saturating_add(again)),
        ]
    }

    /// What delays tasks of a class under EDF, found once.
    fn delays(&mut self, class: TaskClass) -> Result<&[Delay], Open> {
        if self.delays[class as usize].is_none() {
            self.delays[class as usize] = Some(self.floors(class));
        }
        match &self.delays[class as usize] {
            Some(Ok(delays)) => Ok(delays),
            Some(Err(open)) => Err(open.clone()),
            None => Ok(&[]),
        }
    }

    fn dynamic(&mut self, task: usize, effort: &mut Effort<'_>) -> Result<Found, Open> {
        effort.spend(self.order.len()).map_err(open)?;
        let class = self.system.tasks[task].class;
        self.delays(class)?;
        let this = &*self;
        let Some(Some(Ok(delays))) = this.delays.get(class as usize) else { return Err(Open::OutOfTime) };
        let own_window = this.window(task, class);
        let endless = |&&other: &&usize| {
            other != task && this.system.tasks[other].step.is_none() && this.window(other, class) > own_window
        };
        if let Some(&other) = this.order.iter().find(endless) {
            return Err(Open::Step(other));
        }
        let memory = this.late_memory();
        let under_way = this.costs.under_way().saturating_add(memory);
        let longest = delays.iter().map(|delay| delay.length).max().unwrap_or(0);
        let most = longest.saturating_add(under_way);
        // Best effort without a deadline comes after all others of its class.
        let ordered = |other: usize| {
            let member = &this.system.tasks[other];
            member.class != TaskClass::BestEffort || member.deadline.is_some()
        };
        let of = |wanted: fn(core::cmp::Ordering) -> bool| -> Vec<usize> {
            let classes =
                |&other: &usize| ordered(other) && wanted(this.system.tasks[other].class.cmp(&class));
            this.order.iter().copied().filter(classes).collect()
        };
        let (band, urgent) = (of(core::cmp::Ordering::is_eq), of(core::cmp::Ordering::is_lt));
        let with = |&other: &usize| this.parameters(other, most);
        let tasks = band.iter().map(with).collect::<Result<Vec<_>, _>>()?;
        let higher = urgent.iter().map(with).collect::<Result<Vec<_>, _>>()?;
        let above: Vec<Task> = this.interrupts.iter().chain(&higher).copied().collect();
        let delay = |window: u64| {
            let locked = delays.iter().filter(|delay| delay.later > window && delay.floor <= window);
            locked.map(|delay| delay.length).max().unwrap_or(0).saturating_add(under_way)
        };
        let core = Core { tasks: &tasks, above: &above, blocking: &delay, blocking_most: most };
        let index = band.iter().position(|&other| other == task).unwrap_or(0);
        let worst = core.respond(index, effort).map_err(open)?;
        let own = tasks[index];
        let (release, due) = (worst.release, worst.release.saturating_add(own.d()));
        // The whole busy period up to the job; what came before its release is taken off again.
        let window = worst.finish.min(due);
        let [shut, served, interrupted] = this.taken(window);
        let kernel = interrupted.saturating_add(this.costs.under_way());
        let jobs = release / own.t() + 1;
        let mut foreign = kernel.saturating_add(this.paths_of_gaps(window)).saturating_add(served);
        let times = this.system.tasks[task].sleeps.saturating_mul(jobs).saturating_add(1);
        let served = served.saturating_add(memory.saturating_mul(times));
        let mut parts = this.own_parts(task, jobs, delay(due) - under_way, [shut, kernel, served]);
        let mut add = |other: usize, jobs: u64, c: u64| {
            parts.push(part(Whose::Task(other), jobs.saturating_mul(c)));
            foreign = foreign.saturating_add(jobs.saturating_mul(this.paths(other)));
        };
        for (&other, it) in band.iter().zip(&tasks).filter(|&(&other, _)| other != task) {
            let room = due.checked_sub(it.d());
            add(other, room.map_or(0, |room| (room / it.t() + 1).min(window.div_ceil(it.t()))), it.c());
        }
        for (&other, it) in urgent.iter().zip(&higher) {
            add(other, window.div_ceil(it.t()), it.c());
        }
        let sum: u64 = parts.iter().fold(0, |sum, part| sum.saturating_add(part.amount.get()));
        let needs = sum.saturating_sub(release).max(own.d().saturating_add(1));
        // Of jobs due at the same time any may come first.
        let ties = |&(&other, it): &(&usize, &Task)| {
            other != task && due.checked_sub(it.d()).is_some_and(|room| room.is_multiple_of(it.t()))
        };
        let together = release.is_multiple_of(own.t()) && !band.iter().zip(&tasks).any(|both| ties(&both));
        Ok(Found { response: worst.response, needs, foreign, together, parts })
    }
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

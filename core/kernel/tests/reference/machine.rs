//! A scheduler written from the definitions alone (docs/policies/README.md, docs/scenario.md, "Events of the same instant" in
//! corpus/README.md): at each tick every ready job is looked at and the most urgent ones run. No queue, no timer, no request, nothing
//! of the kernel.
//!
//! What the definitions leave open, on several cores, is the order in which jobs take locks at one instant. Such a set has no answer.

use std::collections::BTreeSet;

/// How a lock protects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    Semaphore(u32),
    Plain,
    Inheritance,
    Ceiling,
}

/// What a job does next; lengths in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Does {
    Compute(u64),
    Sleep(u64),
    Take(usize),
    Give(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// 0 hard, 1 soft, 2 best effort.
    pub(crate) class: u8,
    pub(crate) offset: u64,
    pub(crate) period: u64,
    pub(crate) deadline: u64,
    pub(crate) priority: u64,
    /// The position of the cores that it may run on.
    pub(crate) domain: usize,
    pub(crate) does: Vec<Does>,
}

#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) earliest_deadline: bool,
    /// How many cores each domain has.
    pub(crate) domains: Vec<usize>,
    pub(crate) locks: Vec<Protocol>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) horizon: u64,
}

/// A finished job: task, number, release, first run, end, deadline, ticks executed.
pub(crate) type Finished = (usize, u64, u64, u64, u64, u64, u64);

/// The lower, the more urgent: class, key, 0 for who holds a ceiling, index.
type Urgency = (u8, u64, u8, usize);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// No job is released.
    Resting,
    Ready,
    Sleeping {
        until: u64,
    },
    Waiting {
        lock: usize,
    },
}

/// A task on its way.
struct Way {
    state: State,
    /// The job at hand, or the next one.
    job: u64,
    /// How many jobs were released.
    released: u64,
    /// The next thing to do, and what is left of a computation.
    at: usize,
    left: u64,
    started: Option<u64>,
    executed: u64,
    /// Mutexes held, each with its ceiling's urgency where it has one.
    holds: Vec<(usize, Option<Urgency>)>,
}

pub(crate) struct Machine<'s> {
    set: &'s Set,
    ways: Vec<Way>,
    units: Vec<u32>,
    now: u64,
    running: BTreeSet<usize>,
    finished: Vec<Finished>,
}

/// Nobody says who is first.
#[derive(Debug)]
pub(crate) struct Open;

/// The jobs that finish before the horizon.
pub(crate) fn run(set: &Set) -> Result<Vec<Finished>, Open> {
    let way = |_: &Task| Way {
        state: State::Resting,
        job: 0,
        released: 0,
        at: 0,
        left: 0,
        started: None,
        executed: 0,
        holds: Vec::new(),
    };
    let units = set.locks.iter().map(|lock| if let Protocol::Semaphore(units) = lock { *units } else { 0 });
    let mut machine = Machine {
        set,
        ways: set.tasks.iter().map(way).collect(),
        units: units.collect(),
        now: 0,
        running: BTreeSet::new(),
        finished: Vec::new(),
    };
    while machine.now < set.horizon {
        machine.instant()?;
        machine.tick();
    }
    machine.finished.sort_unstable();
    Ok(machine.finished)
}

impl Machine<'_> {
    /// Lets a tick pass.
    fn tick(&mut self) {
        for &task in &self.running {
            let way = &mut self.ways[task];
            way.started = way.started.or(Some(self.now));
            way.left -= 1;
            way.executed += 1;
        }
        self.now += 1;
    }

    /// Everything of one instant: first the running jobs make progress, then time releases and wakes.
    fn instant(&mut self) -> Result<(), Open> {
        let mut timed = false;
        loop {
            self.compute();
            let due: Vec<usize> =
                self.running.iter().copied().filter(|&task| self.ways[task].left == 0).collect();
            if due.is_empty() {
                // Whoever had to give way to a job that was about to end does no longer.
                let before = self.running.clone();
                self.choose();
                if self.running != before {
                    continue;
                }
                if timed {
                    return Ok(());
                }
                timed = true;
                self.time();
                self.choose();
                continue;
            }
            let ends = due.iter().all(|&task| self.next(task).is_none());
            if due.len() > 1 && !ends {
                return Err(Open);
            }
            due.iter().for_each(|&task| self.act(task));
            if due.len() > 1 {
                self.fill();
            } else {
                self.choose();
            }
            // Who ended may have been followed by less urgent jobs than others that wait; whoever has nothing to do now is seen above.
            if self.running.iter().all(|&task| self.ways[task].left > 0) {
                self.choose();
            }
        }
    }

    fn next(&self, task: usize) -> Option<Does> {
        self.set.tasks[task].does.get(self.ways[task].at).copied()
    }

    /// Running jobs that have to compute next begin to.
    fn compute(&mut self) {
        for &task in &self.running {
            let way = &mut self.ways[task];
            while way.left == 0
                && let Some(Does::Compute(length)) = self.set.tasks[task].does.get(way.at)
            {
                way.left = *length;
                way.at += 1;
            }
        }
    }

    /// A running job takes, gives, sleeps or ends.
    fn act(&mut self, task: usize) {
        let next = self.next(task);
        self.ways[task].at += 1;
        match next {
            Some(Does::Compute(_)) => unreachable!("computations begin before"),
            Some(Does::Sleep(length)) => {
                self.ways[task].state = State::Sleeping { until: self.now + length };
            }
            Some(Does::Take(lock)) => self.take(task, lock),
            Some(Does::Give(lock)) => self.give(task, lock),
            None => self.end(task),
        }
    }

    fn end(&mut self, task: usize) {
        let of = &self.set.tasks[task];
        let way = &mut self.ways[task];
        let release = of.offset + way.job * of.period;
        let start = way.started.take().expect("it ran");
        let executed = std::mem::take(&mut way.executed);
        self.finished.push((task, way.job, release, start, self.now, release + of.deadline, executed));
        way.job += 1;
        way.at = 0;
        way.state = if way.job < way.released { State::Ready } else { State::Resting };
    }

    fn owner(&self, lock: usize) -> Option<usize> {
        self.ways.iter().position(|way| way.holds.iter().any(|held| held.0 == lock))
    }

    fn take(&mut self, task: usize, lock: usize) {
        match self.set.locks[lock] {
            Protocol::Semaphore(_) if self.units[lock] > 0 => self.units[lock] -= 1,
            Protocol::Semaphore(_) => self.ways[task].state = State::Waiting { lock },
            _ if self.owner(lock).is_some() => self.ways[task].state = State::Waiting { lock },
            _ => self.own(task, lock),
        }
    }

    fn own(&mut self, task: usize, lock: usize) {
        let ceiling = (self.set.locks[lock] == Protocol::Ceiling).then(|| {
            let users =
                (0..self.ways.len()).filter(|&user| self.set.tasks[user].does.contains(&Does::Take(lock)));
            let (class, key, ..) =
                users.map(|user| self.most_urgent_now(user, task)).min().expect("the holder uses it");
            (class, key, 0, task)
        });
        self.ways[task].holds.push((lock, ceiling));
    }

    /// The most urgent job that a user may come with while `holder` has the lock: the one at hand, or one that is released now. The holder
    /// itself does not come with the job that has it.
    fn most_urgent_now(&self, user: usize, holder: usize) -> Urgency {
        let of = &self.set.tasks[user];
        let released_now = (
            of.class,
            if self.set.earliest_deadline { self.now + of.deadline } else { of.priority },
            1,
            user,
        );
        match self.ways[user].state {
            _ if user == holder => released_now,
            State::Resting => released_now,
            _ => released_now.min(self.own_urgency(user)),
        }
    }

    fn give(&mut self, task: usize, lock: usize) {
        let waiters = (0..self.ways.len()).filter(|&other| self.ways[other].state == State::Waiting { lock });
        let first = waiters.min_by_key(|&waiter| self.urgency(waiter));
        if let Protocol::Semaphore(_) = self.set.locks[lock] {
            match first {
                Some(waiter) => self.ways[waiter].state = State::Ready,
                None => self.units[lock] += 1,
            }
            return;
        }
        let Some(position) = self.ways[task].holds.iter().position(|held| held.0 == lock) else { return };
        self.ways[task].holds.remove(position);
        if let Some(waiter) = first {
            self.ways[waiter].state = State::Ready;
            self.own(waiter, lock);
        }
    }

    /// By the criterion alone.
    fn own_urgency(&self, task: usize) -> Urgency {
        let of = &self.set.tasks[task];
        let due = of.offset + self.ways[task].job * of.period + of.deadline;
        (of.class, if self.set.earliest_deadline { due } else { of.priority }, 1, task)
    }

    /// With what its locks lend it: ceilings, and the urgency of whoever waits for it where locks inherit.
    fn urgency(&self, task: usize) -> Urgency {
        self.urgency_beside(task, &mut BTreeSet::from([task]))
    }

    fn urgency_beside(&self, task: usize, seen: &mut BTreeSet<usize>) -> Urgency {
        let mut most = self.own_urgency(task);
        for &(lock, ceiling) in &self.ways[task].holds {
            most = ceiling.map_or(most, |ceiling| most.min(ceiling));
            if self.set.locks[lock] == Protocol::Inheritance {
                for waiter in 0..self.ways.len() {
                    if self.ways[waiter].state == (State::Waiting { lock }) && seen.insert(waiter) {
                        most = most.min(self.urgency_beside(waiter, seen));
                    }
                }
            }
        }
        most
    }

    /// What time brings: releases, and the end of sleep.
    fn time(&mut self) {
        for (way, of) in self.ways.iter_mut().zip(&self.set.tasks) {
            if way.state == (State::Sleeping { until: self.now }) {
                way.state = State::Ready;
            }
            if self.now >= of.offset && (self.now - of.offset).is_multiple_of(of.period) {
                way.released += 1;
                if way.state == State::Resting {
                    way.state = State::Ready;
                }
            }
        }
    }

    /// Who is ready in a domain, the most urgent first.
    fn ready(&self, domain: usize) -> Vec<usize> {
        let here =
            |&task: &usize| self.set.tasks[task].domain == domain && self.ways[task].state == State::Ready;
        let mut ready: Vec<usize> = (0..self.ways.len()).filter(here).collect();
        ready.sort_by_key(|&task| self.urgency(task));
        ready
    }

    /// The most urgent ready jobs of each domain run, as many as it has cores.
    fn choose(&mut self) {
        let each = self.set.domains.iter().enumerate();
        self.running = each.flat_map(|(domain, &cores)| self.ready(domain).into_iter().take(cores)).collect();
    }

    /// Cores that nobody runs on are given to the most urgent ready jobs; nobody is preempted.
    fn fill(&mut self) {
        let goes_on = |task: &usize| self.ways[*task].state == State::Ready;
        let mut running: BTreeSet<usize> = self.running.iter().copied().filter(goes_on).collect();
        for (domain, &cores) in self.set.domains.iter().enumerate() {
            for task in self.ready(domain) {
                let busy = running.iter().filter(|&&other| self.set.tasks[other].domain == domain).count();
                if busy < cores {
                    running.insert(task);
                }
            }
        }
        self.running = running;
    }
}

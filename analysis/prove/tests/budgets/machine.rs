//! A core with a budget of transactions beside others, executed from event to event in picoseconds. It was written from what
//! regulation and memory do, not from the bounds: it is what they are held against.

use solo_model::random::SplitMix64;
use std::collections::VecDeque;

/// What other cores do while this one uses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Others {
    /// Nothing.
    Rest,
    /// Each asks in the same moment, and is served first.
    Together,
    /// Each asks for as much as its budget allows, all the time.
    Always,
    /// Some ask, now and then.
    Sometimes,
}

/// Memory that serves one transaction after the other, and the budgets of its users. Core 0 is the one that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) period: u64,
    pub(crate) budgets: Vec<u64>,
    pub(crate) longest: u64,
    pub(crate) shortest: u64,
    /// So many requests of others may be served out of turn before one of core 0.
    pub(crate) overtake: u64,
    /// Transactions are counted when they are asked for, not when they end.
    pub(crate) at_issue: bool,
}

/// Memory in the course of time.
struct Served<'m> {
    memory: &'m Memory,
    /// By core: a period and what was counted in it.
    used: Vec<(u64, u64)>,
    free: u64,
    last: usize,
}

impl<'m> Served<'m> {
    fn new(memory: &'m Memory) -> Self {
        Self { memory, used: vec![(0, 0); memory.budgets.len()], free: 0, last: 0 }
    }

    fn exhausted(&self, core: usize, at: u64) -> bool {
        let (period, count) = self.used[core];
        period == at / self.memory.period && count >= self.memory.budgets[core]
    }

    fn count(&mut self, core: usize, at: u64) {
        let now = at / self.memory.period;
        let (period, count) = self.used[core];
        self.used[core] = (now, if period == now { count + 1 } else { 1 });
    }

    /// The end of the period of `at`.
    fn border(&self, at: u64) -> u64 {
        (at / self.memory.period + 1) * self.memory.period
    }

    fn serve(&mut self, core: usize, takes: u64) {
        self.free += takes;
        self.count(core, self.free);
        self.last = core;
    }

    /// The next of the other cores that has something left of its budget, in turn.
    fn next_other(&self) -> Option<usize> {
        let cores = self.memory.budgets.len();
        (1..=cores)
            .map(|on| (self.last + on) % cores)
            .find(|&core| core != 0 && !self.exhausted(core, self.free))
    }

    /// A transaction of core 0, asked for at `at`: when it ends.
    fn transact(
        &mut self,
        at: u64,
        others: Others,
        (own, takes): (u64, &mut dyn FnMut() -> u64),
        coin: &mut dyn FnMut() -> bool,
    ) -> u64 {
        let mut under_way = None;
        while others == Others::Always && self.free < at {
            match self.next_other() {
                Some(core) => {
                    self.serve(core, takes());
                    under_way = (self.free > at).then_some(core);
                }
                None => self.free = self.border(self.free).min(at),
            }
        }
        self.free = self.free.max(at);
        for core in 1..self.memory.budgets.len() {
            let asks = match others {
                Others::Rest => false,
                Others::Together | Others::Always => true,
                Others::Sometimes => coin(),
            };
            // Whoever is being served already has had its turn.
            if asks && under_way != Some(core) && !self.exhausted(core, self.free) {
                self.serve(core, takes());
            }
        }
        let mut overtaken = 0;
        while others != Others::Rest && overtaken < self.memory.overtake {
            let Some(core) = self.next_other() else { break };
            self.serve(core, takes());
            overtaken += 1;
        }
        if self.memory.at_issue {
            self.count(0, at);
            self.free += own;
            self.last = 0;
        } else {
            self.serve(0, own);
        }
        self.free
    }
}

/// What a job does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Compute(u64),
    /// A transaction, and how long it takes where nobody else asks.
    Transact(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) steps: Vec<Step>,
    pub(crate) period: u64,
    pub(crate) deadline: u64,
    pub(crate) jitter: u64,
}

impl Work {
    pub(crate) fn alone(&self) -> u64 {
        self.steps
            .iter()
            .map(|step| match step {
                Step::Compute(time) | Step::Transact(time) => time,
            })
            .sum()
    }
}

/// How a run is arranged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// The first release of all tasks.
    pub(crate) start: u64,
    pub(crate) others: Others,
    /// Every transaction beside others takes as long as can be.
    pub(crate) slow: bool,
    /// What others do while the less urgent task runs, which transfers as fast as can be.
    pub(crate) others_before: Others,
    /// Transactions in a period of whatever runs where no task does.
    pub(crate) less: u64,
    /// Earliest deadline first instead of the order of the tasks.
    pub(crate) by_deadline: bool,
    /// Releases come later than they may.
    pub(crate) late: bool,
    /// So many jobs of each task.
    pub(crate) jobs: u64,
}

struct Job {
    task: usize,
    released: u64,
    ready: u64,
    due: u64,
    left: VecDeque<Step>,
}

/// Executes the tasks: the longest response of each.
pub(crate) fn execute(memory: &Memory, tasks: &[Work], course: Course, seed: u64) -> Vec<u64> {
    let mut core = Core {
        served: Served::new(memory),
        random: SplitMix64::new(seed),
        course,
        now: 0,
        less: (0, 0),
        next: vec![course.start; tasks.len()],
        released: vec![0; tasks.len()],
        jobs: Vec::new(),
        worst: vec![0; tasks.len()],
    };
    core.run(tasks);
    core.worst
}

struct Core<'m> {
    served: Served<'m>,
    random: SplitMix64,
    course: Course,
    now: u64,
    less: (u64, u64),
    next: Vec<u64>,
    released: Vec<u64>,
    jobs: Vec<Job>,
    worst: Vec<u64>,
}

impl Core<'_> {
    fn run(&mut self, tasks: &[Work]) {
        loop {
            self.release(tasks);
            if self.jobs.is_empty() && self.released.iter().all(|&jobs| jobs >= self.course.jobs) {
                return;
            }
            if self.served.exhausted(0, self.now) {
                self.now = self.served.border(self.now);
                continue;
            }
            let ready = (0..self.jobs.len()).filter(|&at| self.jobs[at].ready <= self.now);
            let by_deadline = self.course.by_deadline;
            let key = |job: &Job| {
                if by_deadline { (job.due, job.task, job.released) } else { (0, job.task, job.released) }
            };
            match ready.min_by_key(|&at| key(&self.jobs[at])) {
                Some(at) => self.step(at),
                None => self.rest(),
            }
        }
    }

    fn release(&mut self, tasks: &[Work]) {
        for (task, work) in tasks.iter().enumerate() {
            while self.released[task] < self.course.jobs && self.next[task] <= self.now {
                let released = self.next[task];
                let ready = released + if work.jitter == 0 { 0 } else { self.random.below(work.jitter + 1) };
                let left = work.steps.iter().copied().collect();
                self.jobs.push(Job { task, released, ready, due: released + work.deadline, left });
                let late = if self.course.late { self.random.below(work.period / 2 + 1) } else { 0 };
                self.next[task] = released + work.period + late;
                self.released[task] += 1;
            }
        }
    }

    /// When something that is not there now may be.
    fn soonest(&self) -> u64 {
        let wanted = self.released.iter().zip(&self.next).filter(|(jobs, _)| **jobs < self.course.jobs);
        let releases = wanted.map(|(_, &next)| next);
        let ready = self.jobs.iter().map(|job| job.ready);
        releases.chain(ready).filter(|&at| at > self.now).min().unwrap_or(u64::MAX)
    }

    /// One step of a job, up to the next release.
    fn step(&mut self, at: usize) {
        let soonest = self.soonest();
        match self.jobs[at].left.pop_front() {
            Some(Step::Compute(time)) => {
                let piece = time.min(soonest - self.now);
                self.now += piece;
                if time > piece {
                    self.jobs[at].left.push_front(Step::Compute(time - piece));
                }
            }
            Some(Step::Transact(alone)) => self.transact(self.course.others, alone),
            None => {}
        }
        if self.jobs[at].left.is_empty() {
            let job = self.jobs.remove(at);
            self.worst[job.task] = self.worst[job.task].max(self.now - job.released);
        }
    }

    fn transact(&mut self, others: Others, alone: u64) {
        let (shortest, longest) = (self.served.memory.shortest, self.served.memory.longest);
        let slow = self.course.slow;
        let mut seeds = [SplitMix64::new(self.random.next_u64()), SplitMix64::new(self.random.next_u64())];
        let [lengths, coins] = &mut seeds;
        let mut takes = || if slow { longest } else { shortest + lengths.below(longest - shortest + 1) };
        let own = if others == Others::Rest { alone } else { takes().max(alone) };
        let mut coin = || coins.below(2) == 0;
        self.now = self.served.transact(self.now, others, (own, &mut takes), &mut coin);
    }

    /// No job is ready: whatever is less urgent uses memory, or nothing happens.
    fn rest(&mut self) {
        // What happens long before the next release is nothing to it.
        let period = self.served.memory.period;
        self.now = self.now.max((self.soonest() / period).saturating_sub(2).saturating_mul(period));
        let now = self.now / self.served.memory.period;
        if self.less.0 != now {
            self.less = (now, 0);
        }
        if self.less.1 < self.course.less {
            let shortest = self.served.memory.shortest;
            self.transact(self.course.others_before, shortest);
            let ended = self.now / self.served.memory.period;
            self.less = (ended, if ended == self.less.0 { self.less.1 + 1 } else { 1 });
        } else {
            self.now = self.soonest().min(self.served.border(self.now));
        }
    }
}

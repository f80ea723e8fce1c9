//! Kernel paths, counted so that a bound holds on a machine that charges them.
//!
//! The kernel enters for a timer interrupt (`tck`), releases or wakes what is due (`rel`), chooses (`scd`), switches
//! (`cxs`), and asks other cores (`ipi`). A job starts after one switch; when it ends, and when it goes to sleep, the
//! kernel chooses and switches; each lock operation may choose and switch. Every release and every waking up of any task
//! of the domain, however little urgent, interrupts whoever runs.
//!
//! The loss of cache affinity (`cpd`) is what caches do to a job that is resumed after others, by the memory that its task touches. Each
//! job pays, each time it starts or wakes up, for the most that another task of the domain may lose by it. For itself it pays each time
//! it wakes up, and at each lock operation: it may wait for others there, or others for it. That it starts in cold caches is in its
//! execution time. Tasks that only compute lose nothing, in the analysis as on the machines.
//!
//! Where the costs were taken without cache misses and the kernel's data are simulated, what a path misses comes on top: the core waits
//! for one line after the other, each as long as any access may take.

use super::{Member, System};
use crate::task::{Task, Ticks};
use solo_model::overhead::Path;
use solo_model::policy::Timing;
use solo_model::units::Duration;

/// What kernel paths cost in one domain, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    cxs: u64,
    scd: u64,
    rel: u64,
    tck: u64,
    ipi: u64,
    /// The most that any task here loses when it is resumed, and the most without that one.
    cpd: u64,
    others: u64,
    /// What the releases of all threads at once miss, beside the one in `rel`.
    releases: u64,
    tick: Option<u64>,
    /// The regulation period, where bandwidth is regulated: at each the core looks in.
    regulation: Option<u64>,
    /// The period at whose end each core's counters are looked at, and what that costs with all that follows from it.
    listening: Option<(u64, u64)>,
}

impl Costs {
    /// The costs in the domain of the tasks `here`.
    pub(super) fn of(system: &System, here: &[usize]) -> Self {
        let threads = u32::try_from(system.tasks.len()).unwrap_or(u32::MAX);
        let cost = |path| system.overheads.cost_of_path(path, threads).get();
        let (scd, tck, rel, cxs) =
            (cost(Path::Decision), cost(Path::Tick), cost(Path::Release), cost(Path::Switch));
        let [entry, release, switch] = system.kernel_misses.unwrap_or_default();
        let (scd, tck) = (scd.saturating_add(entry), tck.saturating_add(entry));
        let (rel, cxs) = (rel.saturating_add(release), cxs.saturating_add(switch));
        let listening = system.listening.as_ref().map(|listening| {
            let look = tck + scd + cost(Path::Counters);
            // One at the end of each turn where sets take turns, and one interrupt more where a counter overflows.
            let ends = listening.period.get() / listening.looks_every.get().max(1);
            let overflows = u64::from(listening.reaction.facts().interrupts);
            let looks = look.saturating_mul(ends.saturating_add(overflows));
            let concerned =
                here.iter().filter(|&&task| listening.classes.contains(&system.tasks[task].class)).count()
                    as u64;
            // Each task that it acts on leaves the core and comes back once in a period.
            let held = concerned.saturating_mul(tck + rel + 2 * (scd + cxs));
            (listening.period.get().max(1), looks.saturating_add(held))
        });
        let mut losses: Vec<u64> = here.iter().map(|&task| system.tasks[task].affinity.get()).collect();
        losses.sort_unstable_by(|a, b| b.cmp(a));
        let loss = |rank: usize| losses.get(rank).copied().unwrap_or(0);
        Self {
            cxs,
            scd,
            rel,
            tck,
            ipi: cost(Path::Request),
            cpd: loss(0),
            others: loss(1),
            releases: release.saturating_mul((here.len() as u64).saturating_sub(1)),
            tick: match system.policy.timing {
                Timing::Tick(tick) => Some(tick.get()),
                Timing::OneShot => None,
            },
            regulation: system.regulation.map(Duration::get),
            listening,
        }
    }

    /// True where every path is free.
    pub(super) fn free(&self) -> bool {
        self.cxs + self.scd + self.rel + self.tck + self.ipi + self.cpd == 0
            && self.listening.is_none_or(|(_, cost)| cost == 0)
    }

    /// The longest path that can be under way when a job is released, with the request that starts a core.
    pub(super) fn under_way(&self) -> u64 {
        self.tck + self.rel + self.releases + 2 * self.scd + 2 * self.cxs + self.ipi
    }

    /// The most that another task here loses when this one has run.
    fn of_a_victim(&self, member: &Member) -> u64 {
        if member.affinity.get() == self.cpd { self.others } else { self.cpd }
    }

    /// What a time between two windows of a partition costs beside its length: the core leaves the one and enters the other,
    /// each at an interrupt, with a path under way, and whoever is resumed has lost its affinity.
    pub(super) fn of_a_gap(&self) -> u64 {
        self.tck + self.under_way() + self.cpd
    }

    /// What a core with a budget takes for it in a regulation period: an interrupt at its end and one where it is used up, the core
    /// stopped and going on, whoever is resumed without its affinity.
    pub(super) fn of_a_stop(&self) -> u64 {
        4 * (self.tck + self.scd) + 3 * self.cxs + self.cpd
    }

    /// What one job of a task costs the kernel, interrupts apart: it is switched to, and when it ends or sleeps the
    /// kernel chooses and switches.
    fn paths(&self, member: &Member) -> Option<u64> {
        let own = member.affinity.get();
        let locks = member.lock_operations.checked_mul((self.scd + self.cxs).checked_add(own)?)?;
        let times = member.sleeps.checked_add(1)?;
        let starts = times.checked_mul((self.scd + 2 * self.cxs).checked_add(self.of_a_victim(member))?)?;
        starts.checked_add(member.sleeps.checked_mul(own)?)?.checked_add(locks)
    }

    /// One job of a task without interrupts and without its sleep; `None` where the time is not known or beyond 64
    /// bits. A job that has nothing to do takes a moment: it waits for its turn like any other.
    pub(super) fn of_a_job(&self, member: &Member) -> Option<u64> {
        // Time that its core spends on memory ends between two nanoseconds.
        let rounding = u64::from(member.touches);
        let time = member.wcet?.time().get().checked_add(self.paths(member)?)?.checked_add(rounding)?;
        Some(time.max(1))
    }

    /// A section of so many lock operations, computation apart: a lock that is taken or given back within it may raise or lower the
    /// holder, and then the kernel chooses.
    pub(super) fn of_a_section(&self, operations: u64) -> u64 {
        operations.saturating_mul(self.scd.saturating_add(self.cxs))
    }

    /// What interrupts one core, as tasks that come before all others: the ticks, each release and each waking up of a
    /// task in `here`, and the core's part in the regulation of others.
    pub(super) fn interrupts(&self, system: &System, here: &[usize]) -> Vec<Task> {
        let at_release = match self.tick {
            Some(_) => self.rel + self.scd,
            None => self.tck + self.rel + self.scd,
        };
        self.sources(system, here, at_release)
    }

    /// Interrupts of which a release or waking up costs `at_release`.
    fn sources(&self, system: &System, here: &[usize], at_release: u64) -> Vec<Task> {
        let mut found = Vec::new();
        if self.free() {
            return found;
        }
        found.extend(self.tick.map(|tick| Task::new(self.tck, tick, tick)));
        let look_in = 2 * (self.tck + self.scd) + self.cxs;
        found.extend(self.regulation.map(|period| Task::new(look_in, period.max(1), period.max(1))));
        found.extend(self.listening.map(|(period, cost)| Task::new(cost, period, period)));
        for &task in here {
            let member = &system.tasks[task];
            // One that is released once interrupts once.
            let t = member.period.map_or(Ticks::LIMIT.get(), |period| {
                period.get().saturating_sub(member.jitter.get()).clamp(1, Ticks::LIMIT.get())
            });
            found.push(Task::new(at_release, t, t));
            // Whether it releases a job or comes too soon, an interrupt is taken; one more than there are periods, for a transfer may
            // end late in one slot and early in the next. What is held back, the timer releases.
            let at_interrupt = if self.tick.is_some() { self.tck + at_release } else { at_release };
            for period in &member.interrupts {
                let longest = Ticks::LIMIT.get();
                let t = period.get().clamp(1, longest);
                found.extend([t, longest].map(|t| Task::new(at_interrupt, t, t)));
            }
            if member.sleeps > 0 {
                // From one waking up to the same one of the next job a job passes at least.
                let t = member.least.get().clamp(1, Ticks::LIMIT.get());
                found.push(Task::new(at_release.saturating_mul(member.sleeps).min(Ticks::LIMIT.get()), t, t));
            }
        }
        found.retain(|task| task.c.get() > 0);
        found
    }

    /// One job on several cores, interrupts included, by preemption-centric accounting (Brandenburg 2011;
    /// thesis equations 2 and 3 with each task's releases counted singly): `(e + 2 (scd + cxs) + cpd) / (1 - u0)
    /// + 2 c_pre + ipi`. `None` where interrupts take all time or numbers leave 64 bits.
    ///
    /// A job that starts or wakes up may wait for the end of `step`, an access of another job; and may in turn let the
    /// job that it preempts wait, of which delay on `cores` cores the theorems count one part in as many.
    pub(super) fn of_a_global_job(
        &self,
        system: &System,
        here: &[usize],
        task: usize,
        step: u64,
    ) -> Option<u64> {
        let member = &system.tasks[task];
        let cores = system.domains[member.domain].cores as u64;
        let starts = member.sleeps.checked_add(1)?;
        let steps = step.checked_mul(cores + 1)?.checked_mul(starts)?;
        let asleep = member.asleep.get().checked_add(steps)?;
        if self.free() {
            return self.of_a_job(member)?.checked_add(asleep);
        }
        // A release interrupts one core and sends a request that interrupts another.
        let mut once = u128::from(self.under_way());
        let mut share = 0.0;
        let at_release = match self.tick {
            Some(_) => self.rel + 2 * self.scd,
            None => self.tck + self.rel + 2 * self.scd,
        };
        for source in self.sources(system, here, at_release) {
            once += u128::from(source.c());
            share += source.c() as f64 / source.t() as f64;
        }
        // Rounding of the sum is below one part in 2^40: rounded up to the safe side.
        let left = (1.0 - share) * (1.0 - f64::EPSILON * 4096.0) - f64::EPSILON * 4096.0;
        if left <= 0.0 {
            return None;
        }
        let own = self.of_a_job(member)?.checked_add(self.scd)?.checked_add(asleep)?;
        let stretched = (own as f64 + 2.0 * once as f64 * starts as f64) / left;
        let total = (stretched * (1.0 + 8.0 * f64::EPSILON)).ceil() + (self.ipi * starts) as f64 + 1.0;
        (total < 9.0e15).then_some(total as u64)
    }
}

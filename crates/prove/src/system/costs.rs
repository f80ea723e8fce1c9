//! Kernel paths, counted so that a bound holds on a machine that charges them.
//!
//! The kernel enters for a timer interrupt (`tck`), releases what is due (`rel`), chooses (`scd`), switches (`cxs`),
//! and asks other cores (`ipi`). A job starts after one switch; when it ends the kernel chooses and switches; each
//! lock operation may choose and switch. Every release of any task of the domain, however little urgent,
//! interrupts whoever runs.

use super::System;
use crate::task::Task;
use solo_model::overhead::Overhead;
use solo_model::policy::Timing;
use solo_model::units::Duration;

/// What kernel paths cost here, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    cxs: u64,
    scd: u64,
    rel: u64,
    tck: u64,
    ipi: u64,
    cpd: u64,
    tick: Option<u64>,
}

impl Costs {
    pub(super) fn of(system: &System) -> Self {
        let threads = u32::try_from(system.tasks.len()).unwrap_or(u32::MAX);
        let cost = |overhead| system.overheads.cost(overhead, threads).get();
        Self {
            cxs: cost(Overhead::ContextSwitch),
            scd: cost(Overhead::Scheduling),
            rel: cost(Overhead::Release),
            tck: cost(Overhead::Tick),
            ipi: cost(Overhead::Ipi),
            cpd: cost(Overhead::CacheAffinity),
            tick: match system.policy.timing {
                Timing::Tick(tick) => Some(tick.get()),
                Timing::OneShot => None,
            },
        }
    }

    /// True where every path is free.
    fn free(&self) -> bool {
        self.cxs + self.scd + self.rel + self.tck + self.ipi + self.cpd == 0
    }

    /// The longest path that can be under way when a job is released, with the request that starts a core.
    pub(super) fn under_way(&self) -> u64 {
        self.tck + self.rel + 2 * self.scd + 2 * self.cxs + self.ipi
    }

    /// One job of a task with so many lock operations, without interrupts: it is switched to, and when it ends
    /// the kernel chooses and switches.
    pub(super) fn of_a_job(&self, wcet: Duration, lock_operations: u64) -> Option<u64> {
        let locks = lock_operations.checked_mul(self.scd + self.cxs)?;
        wcet.get().checked_add(self.scd + 2 * self.cxs + self.cpd)?.checked_add(locks)
    }

    /// What interrupts one core, as tasks that come before all others: the ticks, and each release of a task
    /// in `here`.
    pub(super) fn interrupts(&self, system: &System, here: &[usize]) -> Vec<Task> {
        let mut found = Vec::new();
        if self.free() {
            return found;
        }
        let at_release = match self.tick {
            Some(tick) => {
                found.push(Task::new(self.tck, tick, tick));
                self.rel + self.scd
            }
            None => self.tck + self.rel + self.scd,
        };
        for &task in here {
            let member = &system.tasks[task];
            if let Some(period) = member.period {
                let t = period.get().saturating_sub(member.jitter.get()).max(1);
                found.push(Task::new(at_release, t, t));
            }
        }
        found.retain(|task| task.c.get() > 0);
        found
    }

    /// One job on several cores, interrupts included, by preemption-centric accounting (Brandenburg 2011;
    /// thesis equations 2 and 3 with each task's releases counted singly): `(e + 2 (scd + cxs) + cpd) / (1 - u0)
    /// + 2 c_pre + ipi`. `None` where interrupts take all time or numbers leave 64 bits.
    pub(super) fn of_a_global_job(
        &self,
        system: &System,
        here: &[usize],
        wcet: Duration,
        lock_operations: u64,
    ) -> Option<u64> {
        if self.free() {
            return Some(wcet.get());
        }
        // A release interrupts one core and sends a request that interrupts another.
        let mut once = u128::from(self.under_way());
        let mut share = 0.0;
        let mut interrupt = |c: u64, t: u64| {
            once += u128::from(c);
            share += c as f64 / t as f64;
        };
        let at_release = match self.tick {
            Some(tick) => {
                interrupt(self.tck, tick);
                self.rel + 2 * self.scd
            }
            None => self.tck + self.rel + 2 * self.scd,
        };
        for &task in here {
            let member = &system.tasks[task];
            if let Some(period) = member.period {
                interrupt(at_release, period.get().saturating_sub(member.jitter.get()).max(1));
            }
        }
        // Rounding of the sum is below one part in 2^40: rounded up to the safe side.
        let left = (1.0 - share) * (1.0 - f64::EPSILON * 4096.0) - f64::EPSILON * 4096.0;
        if left <= 0.0 {
            return None;
        }
        let own = self.of_a_job(wcet, lock_operations)?.checked_add(self.scd)?;
        let stretched = (own as f64 + 2.0 * once as f64) / left;
        let total = (stretched * (1.0 + 8.0 * f64::EPSILON)).ceil() + self.ipi as f64 + 1.0;
        (total < 9.0e15).then_some(total as u64)
    }
}

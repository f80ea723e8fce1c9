//! Execution times on a core of many, from those measured alone (single-core equivalence, SCE 3.2 and 4).
//!
//! ```text
//!   curve: pages locked -> C, mu        measured alone; mu counts lines read and lines written back
//!   memory: L_max, L_min, P, Q_i, m     what a transaction takes, what a core may transfer in a period
//!        ──▶ Stall ──▶ C_sce = C + Stall ──▶ response times under fixed priorities and EDF, with B_reg
//! ```
//!
//! `L_max = S_line / BW_min` is the time in which memory serves one transaction whatever the addresses and **however many cores
//! ask**, reads and write-backs alike: the guaranteed bandwidth with writes, not the latency of a core that asks alone.
//!
//! Equation 1 charges a job for its own transactions and leaves five things out, which are here:
//!
//! - a budget that somebody else of the core has spent ([`Regulation::blocking`]), and a transaction of a less urgent task under way
//!   ([`Regulation::under_way`]);
//! - budgets that jobs exhaust together and none alone ([`Regulation::charge`]);
//! - a transaction that takes `L_max` where it took `L_min` alone, and so is later by `m L_max - L_min`;
//! - a transaction that begins before a period and is counted in it: the period ends `m L_max` later for the job;
//! - requests that a memory controller lets overtake ([`Arbiter`]).

mod curve;
mod pages;
mod response;

pub use curve::{Curve, CurveError, Point};
pub use pages::{Chosen, Lockable, exact, greedy};
pub use response::{Less, Load, response_edf, response_fixed};

use solo_model::{Bandwidth, Bytes, Duration, Picoseconds};

/// In what order memory serves requests of several cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arbiter {
    /// Each core in turn: a request waits for one of each other core.
    RoundRobin,
    /// The same, but so many requests that hit an open row may overtake.
    HitsFirst {
        /// At most so many overtake one request.
        overtake: u64,
    },
    /// Any number may overtake: a request waits for all that the budgets of other cores allow.
    Unlimited,
}

/// Memory whose bandwidth is divided among cores by budgets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Regulation {
    period: Duration,
    budgets: Vec<u64>,
    longest: Picoseconds,
    shortest: Picoseconds,
    arbiter: Arbiter,
}

/// Why budgets guarantee nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegulationError {
    /// Nobody to divide among, a time of zero, or a shortest transaction above the longest.
    #[error("a period, a core and transaction times above zero are needed, the shortest at most the longest")]
    Nothing,
    /// The period is too short for one transaction of this core.
    #[error("core {core} has no transaction in a period")]
    NoBudget {
        /// The core.
        core: usize,
    },
    /// `sum Q_i L_max > P`.
    #[error("the budgets need {needs} ps of a period of {has} ps")]
    Overbooked {
        /// `sum Q_i L_max`.
        needs: u128,
        /// `P`.
        has: u128,
    },
}

/// `L_max = S_line / BW_min`, rounded up (SCE 3.2). `bandwidth`: what saturated memory is sure to move, reads and write-backs together.
/// `None` for no bandwidth.
pub fn longest_transaction(line: Bytes, bandwidth: Bandwidth) -> Option<Picoseconds> {
    let bandwidth = u128::from(bandwidth.get());
    let time = (bandwidth > 0).then(|| (u128::from(line.get()) * 1_000_000_000_000).div_ceil(bandwidth))?;
    u64::try_from(time).ok().map(Picoseconds::new)
}

/// Equation 1: `Stall = m mu S_line / BW_min = m mu L_max`, for `m` cores with equal budgets, in nanoseconds rounded up.
///
/// It bounds one job on a core of its own where one transaction across the border is a small part of a budget, `Q L_min >= 2 m L_max`.
/// [`Regulation::stall`] needs no such condition.
pub fn stall_even(cores: u64, transactions: u64, longest: Picoseconds) -> Duration {
    nanoseconds(u128::from(cores) * u128::from(transactions) * u128::from(longest.get()))
}

/// The transactions that [`stall_even`] charges so much for, to the nearest: what a printed `C_sce - C` says of mu. Zero cores or time: 0.
pub fn transactions_of(stall: Duration, cores: u64, longest: Picoseconds) -> u64 {
    let each = u128::from(cores) * u128::from(longest.get());
    let stall = u128::from(stall.get()) * 1000;
    u64::try_from((stall + each / 2).checked_div(each).unwrap_or(0)).unwrap_or(u64::MAX)
}

/// The transactions that bring pages into the cache, `pages page / S_line`: they belong to the job or the window that loads and locks.
pub fn loading(pages: u64, page: Bytes, line: Bytes) -> u64 {
    let bytes = u128::from(pages) * u128::from(page.get());
    u64::try_from(bytes.div_ceil(u128::from(line.get().max(1)))).unwrap_or(u64::MAX)
}

fn nanoseconds(picoseconds: u128) -> Duration {
    Duration::new(u64::try_from(picoseconds.div_ceil(1000)).unwrap_or(u64::MAX))
}

impl Regulation {
    /// Budgets in transactions a period, one a core.
    ///
    /// # Errors
    /// Where budgets guarantee nothing.
    pub fn new(
        period: Duration,
        budgets: &[u64],
        (shortest, longest): (Picoseconds, Picoseconds),
        arbiter: Arbiter,
    ) -> Result<Self, RegulationError> {
        if period.is_zero() || budgets.is_empty() || shortest.is_zero() || shortest > longest {
            return Err(RegulationError::Nothing);
        }
        if let Some(core) = budgets.iter().position(|&budget| budget == 0) {
            return Err(RegulationError::NoBudget { core });
        }
        let needs = budgets.iter().map(|&budget| u128::from(budget) * u128::from(longest.get())).sum();
        let has = u128::from(period.get()) * 1000;
        if needs > has {
            return Err(RegulationError::Overbooked { needs, has });
        }
        Ok(Self { period, budgets: budgets.to_vec(), longest, shortest, arbiter })
    }

    /// The same budget for each of `cores`: `Q = floor(P / (m L_max))`.
    ///
    /// # Errors
    /// Where a core would get none.
    pub fn even(
        period: Duration,
        cores: usize,
        (shortest, longest): (Picoseconds, Picoseconds),
        arbiter: Arbiter,
    ) -> Result<Self, RegulationError> {
        let share = u128::from(longest.get()) * cores as u128;
        let budget = (u128::from(period.get()) * 1000).checked_div(share).ok_or(RegulationError::Nothing)?;
        let budgets = vec![u64::try_from(budget).unwrap_or(u64::MAX); cores];
        Self::new(period, &budgets, (shortest, longest), arbiter)
    }

    /// The transactions that a core may make in a period, `Q_i`; 0 for a core that there is not.
    pub fn budget(&self, core: usize) -> u64 {
        self.budgets.get(core).copied().unwrap_or(0)
    }

    /// The longest from a request to its end, `m L_max` where each core has its turn, in picoseconds.
    fn turn(&self, core: usize) -> u128 {
        let others = self.budgets.len().saturating_sub(1) as u128;
        let requests = match self.arbiter {
            Arbiter::RoundRobin => others,
            // Overtaking needs somebody else.
            Arbiter::HitsFirst { overtake } if others > 0 => others + u128::from(overtake),
            Arbiter::HitsFirst { .. } => 0,
            // What is left of their budgets, and the next ones whole where the request waits across the border.
            Arbiter::Unlimited => {
                let all = self.budgets.iter().enumerate();
                2 * all.filter(|(at, _)| *at != core).map(|(_, &budget)| u128::from(budget)).sum::<u128>()
            }
        };
        (requests + 1) * u128::from(self.longest.get())
    }

    /// The longest that one transaction adds to a time measured alone, in picoseconds: alone it took `L_min` at least.
    fn later(&self, core: usize) -> u128 {
        self.turn(core) - u128::from(self.shortest.get())
    }

    /// `P - n L_min`: what is left of a period after so many transactions, in picoseconds.
    fn left(&self, transactions: u64) -> u128 {
        let used = u128::from(transactions) * u128::from(self.shortest.get());
        (u128::from(self.period.get()) * 1000).saturating_sub(used)
    }

    /// The longest that `Q_i` transactions with which a core exhausts its budget take more than alone, `P - Q_i L_min + m L_max`, in
    /// picoseconds: the first may have begun before the period.
    fn exhausting(&self, core: usize) -> u128 {
        self.left(self.budget(core)) + self.turn(core)
    }

    /// What budgets and other cores add to one job of so many transactions that finds a full budget and has the core to itself: the larger
    /// of no period exhausted and as many as it can exhaust, `e (P - Q_i L_min + m L_max) + (mu - e Q_i) (m L_max - L_min)`.
    /// `None` for a core that there is not.
    pub fn stall(&self, core: usize, transactions: u64) -> Option<Duration> {
        let budget = self.budgets.get(core)?;
        let exhausted = |periods: u64| {
            let rest = u128::from(transactions - periods * budget);
            u128::from(periods) * self.exhausting(core) + rest * self.later(core)
        };
        Some(nanoseconds(exhausted(0).max(exhausted(transactions / budget))))
    }

    /// What is charged to a job of so many transactions beside other tasks of its core, rounded up:
    /// `mu max((P - Q_i L_min + m L_max) / Q_i, m L_max - L_min)`.
    ///
    /// [`Self::stall`] must not be added up: two jobs that use up less than a budget each may exhaust it together. This charge is
    /// proportional to transactions, so that sums of it cover whatever jobs do together. `None` for a core that there is not.
    pub fn charge(&self, core: usize, transactions: u64) -> Option<Duration> {
        let budget = u128::from(*self.budgets.get(core)?);
        let mu = u128::from(transactions);
        let exhausted = mu.saturating_mul(self.exhausting(core)).div_ceil(budget);
        Some(nanoseconds(exhausted.max(mu.saturating_mul(self.later(core)))))
    }

    /// `B_reg`: the longest that a core is stopped because of what was spent of its budget before a busy period began, by less urgent
    /// tasks or by earlier jobs: `P - (Q_i - 1) L_min`, for one transaction may have been under way when the period began; nothing where
    /// the core makes fewer transactions than its budget in any `period`.
    ///
    /// The paper leaves it out: budgets are the core's, so that a task without a single miss can wait for a period.
    pub fn blocking(&self, core: usize, transactions: u64) -> Duration {
        let budget = self.budget(core);
        nanoseconds(if transactions >= budget { self.left(budget.saturating_sub(1)) } else { 0 })
    }

    /// The longest that a transaction of a less urgent task which is under way delays a busy period: until it ends, and by what it
    /// takes of the budget where it ends in the next period.
    pub fn under_way(&self, core: usize) -> Duration {
        let one = self.charge(core, 1).unwrap_or(Duration::MAX);
        one.saturating_add(nanoseconds(u128::from(self.shortest.get())))
    }

    /// The regulation period, `P`.
    pub fn period(&self) -> Duration {
        self.period
    }
}

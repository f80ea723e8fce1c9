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
//! Equation 1 charges a job for its own transactions. Three things it leaves out are here: a budget that a less urgent task of the core
//! has spent ([`Regulation::blocking`]), budgets that jobs exhaust together and none alone ([`Regulation::charge`]), and requests
//! that a memory controller lets overtake ([`Arbiter`]).

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

    /// The longest that one request waits for those of other cores, in picoseconds.
    fn wait(&self, core: usize) -> u128 {
        let others = self.budgets.len().saturating_sub(1) as u128;
        let requests = match self.arbiter {
            Arbiter::RoundRobin => others,
            // Overtaking needs somebody else.
            Arbiter::HitsFirst { overtake } if others > 0 => others + u128::from(overtake),
            Arbiter::HitsFirst { .. } => 0,
            Arbiter::Unlimited => {
                let all = self.budgets.iter().enumerate();
                all.filter(|(at, _)| *at != core).map(|(_, &budget)| u128::from(budget)).sum()
            }
        };
        requests * u128::from(self.longest.get())
    }

    /// The longest that a core is stopped in a period whose budget it exhausts, `P - Q_i L_min`, in picoseconds.
    fn stopped(&self, core: usize) -> u128 {
        let used = u128::from(self.budget(core)) * u128::from(self.shortest.get());
        (u128::from(self.period.get()) * 1000).saturating_sub(used)
    }

    /// What budgets and other cores add to one job of so many transactions that finds a full budget and has the core to itself: the larger
    /// of no period exhausted and as many as it can exhaust, `e (P - Q_i L_min) + (mu - e Q_i) w`, with `w = (m - 1) L_max` in turn.
    /// `None` for a core that there is not.
    pub fn stall(&self, core: usize, transactions: u64) -> Option<Duration> {
        let budget = self.budgets.get(core)?;
        let exhausted = |periods: u64| {
            let rest = u128::from(transactions - periods * budget);
            u128::from(periods) * self.stopped(core) + rest * self.wait(core)
        };
        Some(nanoseconds(exhausted(0).max(exhausted(transactions / budget))))
    }

    /// What is charged to a job of so many transactions beside other tasks of its core: `mu max((P - Q_i L_min) / Q_i, w)`, rounded up.
    ///
    /// [`Self::stall`] must not be added up: two jobs that use up less than a budget each may exhaust it together. This charge is
    /// proportional to transactions, so that sums of it cover whatever jobs do together. `None` for a core that there is not.
    pub fn charge(&self, core: usize, transactions: u64) -> Option<Duration> {
        let budget = u128::from(*self.budgets.get(core)?);
        let mu = u128::from(transactions);
        let exhausted = mu.saturating_mul(self.stopped(core)).div_ceil(budget);
        Some(nanoseconds(exhausted.max(mu.saturating_mul(self.wait(core)))))
    }

    /// `B_reg`: the longest that a core is stopped because of what was spent of its budget before a busy period began, by less urgent
    /// tasks or by earlier jobs: `P - Q_i L_min`, or nothing where the core makes fewer transactions than its budget in any `period`.
    ///
    /// The paper leaves it out: budgets are the core's, so that a task without a single miss can wait for a period.
    pub fn blocking(&self, core: usize, transactions: u64) -> Duration {
        nanoseconds(if transactions >= self.budget(core) { self.stopped(core) } else { 0 })
    }

    /// The regulation period, `P`.
    pub fn period(&self) -> Duration {
        self.period
    }
}

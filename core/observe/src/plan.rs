//! The counter plan: who has which programmable counter.
//!
//! Counters are few, and two users of one would each see the other's settings. So nobody takes a counter: the regulator, monitors
//! and sampling ask the plan, which hands each counter to one of them or refuses, before anything runs, with the numbers. The kernel
//! programs counters from the plan and sends an overflow to whose counter it was.

use alloc::vec::Vec;
use core::fmt;
use solo_hal::CounterId;
use solo_model::{Caps, EventId};

/// Who counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum User {
    /// Bandwidth budgets: a counter for each direction, which interrupts.
    Regulator,
    /// A monitor, by its number.
    Monitor(u8),
    /// Counts over intervals.
    Sampling,
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regulator => write!(f, "bandwidth budgets"),
            Self::Monitor(number) => write!(f, "monitor {number}"),
            Self::Sampling => write!(f, "sampling"),
        }
    }
}

/// A counter in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assigned {
    /// The counter, the same one on each core.
    pub counter: CounterId,
    /// Whose it is.
    pub user: User,
    /// What it counts.
    pub event: EventId,
}

/// Why a user gets no counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlanError {
    /// All users together need more counters than there are.
    TooFew {
        /// Who asked.
        user: User,
        /// How many it needs.
        needed: usize,
        /// How many others have.
        taken: usize,
        /// How many each core has.
        counters: u8,
    },
    /// A user needs counters that interrupt, and these don't.
    NoOverflow {
        /// Who asked.
        user: User,
    },
    /// A user has asked before: its counters are its own and stay as they are.
    Twice {
        /// Who asked.
        user: User,
    },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { user, needed, taken, counters } => write!(
                f,
                "{user}: {needed} programmable counters are needed beside {taken} in use; each core has {counters}"
            ),
            Self::NoOverflow { user } => {
                write!(f, "{user}: needs counters that interrupt, and these raise no interrupt")
            }
            Self::Twice { user } => write!(f, "{user}: has its counters already"),
        }
    }
}

impl core::error::Error for PlanError {}

/// Who has which counter. Counters are handed out in the order of the asking, from the lowest on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterPlan {
    counters: u8,
    overflow: bool,
    assigned: Vec<Assigned>,
}

impl CounterPlan {
    /// All counters of a machine, and nobody has one.
    pub fn new(caps: &Caps) -> Self {
        Self { counters: caps.counters, overflow: caps.counter_overflow, assigned: Vec::new() }
    }

    /// Gives `user` a counter for each of `events`, in their order, all or none.
    ///
    /// # Errors
    /// If there are too few, `interrupts` is asked and they don't, or the user has asked before.
    pub fn ask(&mut self, user: User, events: &[EventId], interrupts: bool) -> Result<(), PlanError> {
        if self.of(user).next().is_some() {
            return Err(PlanError::Twice { user });
        }
        if interrupts && !self.overflow && !events.is_empty() {
            return Err(PlanError::NoOverflow { user });
        }
        let (taken, counters) = (self.assigned.len(), self.counters);
        if taken + events.len() > usize::from(counters) {
            return Err(PlanError::TooFew { user, needed: events.len(), taken, counters });
        }
        let entry = |(at, &event)| Assigned { counter: CounterId((taken + at) as u8), user, event };
        self.assigned.extend(events.iter().enumerate().map(entry));
        Ok(())
    }

    /// All counters in use.
    pub fn assigned(&self) -> &[Assigned] {
        &self.assigned
    }

    /// The counters of `user`, in the order in which it named its events.
    pub fn of(&self, user: User) -> impl Iterator<Item = Assigned> + '_ {
        self.assigned.iter().copied().filter(move |assigned| assigned.user == user)
    }

    /// Whose a counter is; `None` where it is nobody's.
    pub fn owner(&self, counter: CounterId) -> Option<User> {
        self.assigned.iter().find(|assigned| assigned.counter == counter).map(|assigned| assigned.user)
    }

    /// How many counters nobody has.
    pub fn free(&self) -> usize {
        usize::from(self.counters).saturating_sub(self.assigned.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(counters: u8, overflow: bool) -> CounterPlan {
        CounterPlan::new(&Caps { counters, counter_overflow: overflow, ..Caps::plain(2) })
    }

    #[test]
    fn no_counter_has_two_users() {
        let mut plan = plan(4, true);
        plan.ask(User::Sampling, &[EventId::CYCLES], false).expect("one of four");
        plan.ask(User::Regulator, &[EventId::DRAM_READS, EventId::DRAM_WRITES], true).expect("three of four");
        plan.ask(User::Monitor(0), &[EventId::LLC_MISSES], false).expect("four of four");
        let mut counters: Vec<_> = plan.assigned().iter().map(|assigned| assigned.counter).collect();
        counters.dedup();
        assert_eq!(counters, [0, 1, 2, 3].map(CounterId));
        assert_eq!(plan.owner(CounterId(2)), Some(User::Regulator));
        assert_eq!((plan.owner(CounterId(4)), plan.free()), (None, 0));
    }

    #[test]
    fn too_many_users_are_refused_with_numbers_and_get_nothing() {
        let mut plan = plan(2, true);
        plan.ask(User::Monitor(1), &[EventId::CYCLES], false).expect("one of two");
        let before = plan.clone();
        let user = User::Regulator;
        let refused = plan.ask(user, &[EventId::DRAM_READS, EventId::DRAM_WRITES], true);
        assert_eq!(refused, Err(PlanError::TooFew { user, needed: 2, taken: 1, counters: 2 }));
        assert_eq!(plan, before);
        let text = alloc::format!("{}", refused.expect_err("refused"));
        assert!(text.contains('2') && text.contains('1'), "{text}");
        assert_eq!(
            plan.ask(User::Monitor(1), &[EventId::CYCLES], false),
            Err(PlanError::Twice { user: User::Monitor(1) })
        );
    }

    #[test]
    fn who_needs_interrupts_is_refused_where_there_are_none() {
        let mut plan = plan(2, false);
        assert_eq!(
            plan.ask(User::Regulator, &[EventId::LLC_MISSES], true),
            Err(PlanError::NoOverflow { user: User::Regulator })
        );
        plan.ask(User::Sampling, &[EventId::LLC_MISSES], false).expect("it only reads");
    }
}

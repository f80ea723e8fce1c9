//! The counter plan: who has which counter.
//!
//! Counters are few, and two users of one would each see the other's settings. So nobody takes a counter: the regulator, monitors
//! and sampling ask the plan, which hands each counter to one of them or refuses, before anything runs, with the numbers. The kernel
//! programs counters from the plan and sends an overflow to whose counter it was.
//!
//! Counters that are bound to instructions or cycles go to the first monitor that counts these, so that programmable ones are left for
//! what only they can count (PMCTrack 4.1.2). Budgets have programmable ones.

use alloc::vec::Vec;
use core::fmt;
use solo_hal::CounterId;
use solo_model::platform::Pmu;
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
    /// What it counts; of sets that take turns, the largest one's event.
    pub event: EventId,
    /// It counts this event only.
    pub fixed: bool,
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
    /// The programmable counters.
    counters: u8,
    /// What the counters behind them count that are bound to an event.
    fixed: &'static [EventId],
    overflow: bool,
    assigned: Vec<Assigned>,
}

impl CounterPlan {
    /// All counters of a machine, and nobody has one.
    pub fn new(caps: &Caps) -> Self {
        let fixed = Pmu::events_of_fixed(caps.fixed_counters);
        Self { counters: caps.counters, fixed, overflow: caps.counter_overflow, assigned: Vec::new() }
    }

    /// Gives `user` a counter for each of `events`, in their order, all or none.
    ///
    /// # Errors
    /// If there are too few, `interrupts` is asked and they don't, or the user has asked before.
    pub fn ask(&mut self, user: User, events: &[EventId], interrupts: bool) -> Result<(), PlanError> {
        self.ask_in_turns(user, &[events], interrupts)
    }

    /// Gives `user` the counters of sets of events that take turns, all or none: a counter that is bound to an event counts it in all of
    /// them, and so many programmable ones that each set has enough.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_in_turns(
        &mut self,
        user: User,
        sets: &[impl AsRef<[EventId]>],
        interrupts: bool,
    ) -> Result<(), PlanError> {
        if self.of(user).next().is_some() {
            return Err(PlanError::Twice { user });
        }
        let bound: Vec<Assigned> = self.bound(user, sets).collect();
        // A counter that is bound counts one of those that ask for its event.
        let others = |set: &[EventId]| {
            let counted = bound.iter().filter(|counter| set.contains(&counter.event)).count();
            set.len() - counted
        };
        let Some(largest) = sets.iter().rev().map(AsRef::as_ref).max_by_key(|set| others(set)) else {
            return Ok(());
        };
        if interrupts && !self.overflow && !largest.is_empty() {
            return Err(PlanError::NoOverflow { user });
        }
        let (taken, needed) = (self.taken(), others(largest));
        if taken + needed > usize::from(self.counters) {
            return Err(PlanError::TooFew { user, needed, taken, counters: self.counters });
        }
        let (mut bound, mut next) = (bound, taken as u8);
        for &event in largest {
            let own = bound.iter().position(|counter| counter.event == event);
            self.assigned.push(own.map_or_else(
                || {
                    next += 1;
                    Assigned { counter: CounterId(next - 1), user, event, fixed: false }
                },
                |at| bound.remove(at),
            ));
        }
        self.assigned.extend(bound);
        Ok(())
    }

    /// The counters that are free and bound to an event of `sets`.
    fn bound<'p>(
        &'p self,
        user: User,
        sets: &'p [impl AsRef<[EventId]>],
    ) -> impl Iterator<Item = Assigned> + 'p {
        let all = if user == User::Regulator { &[] } else { self.fixed };
        let asked = |event: &EventId| sets.iter().any(|set| set.as_ref().contains(event));
        let counters = (self.counters..).map(CounterId).zip(all.iter().copied());
        counters
            .filter(move |(counter, event)| self.owner(*counter).is_none() && asked(event))
            .map(move |(counter, event)| Assigned { counter, user, event, fixed: true })
    }

    /// How many programmable counters are in use.
    fn taken(&self) -> usize {
        self.assigned.iter().filter(|assigned| !assigned.fixed).count()
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

    /// How many programmable counters nobody has.
    pub fn free(&self) -> usize {
        usize::from(self.counters).saturating_sub(self.taken())
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
    fn counters_that_are_bound_to_an_event_are_used_before_others() {
        let mut plan = CounterPlan::new(&Caps { counters: 2, fixed_counters: 3, ..Caps::plain(2) });
        let (instructions, cycles) = (EventId::INSTRUCTIONS, EventId::CYCLES);
        // QuickIA, Table 1: two sets of two beside instructions and cycles; the second counts no cycles.
        let first = [instructions, cycles, EventId::L1_MISSES, EventId::LLC_MISSES];
        let second = [instructions, EventId::DRAM_READS, EventId::DRAM_WRITES];
        plan.ask_in_turns(User::Monitor(0), &[&first[..], &second[..]], true).expect_err("none interrupts");
        plan.ask_in_turns(User::Monitor(0), &[&first[..], &second[..]], false).expect("two of two");
        let found: Vec<_> = plan.of(User::Monitor(0)).map(|of| (of.counter.0, of.event, of.fixed)).collect();
        assert_eq!(
            found,
            [(2, instructions, true), (3, cycles, true), (0, first[2], false), (1, first[3], false)]
        );
        assert_eq!(plan.free(), 0);
        // Who comes later has none of them, whatever it counts.
        let refused = plan.ask(User::Monitor(1), &[cycles], false);
        assert_eq!(
            refused,
            Err(PlanError::TooFew { user: User::Monitor(1), needed: 1, taken: 2, counters: 2 })
        );
        // Asked for twice, an event takes a programmable counter too; budgets have those only.
        let caps = Caps { counters: 2, fixed_counters: 1, counter_overflow: true, ..Caps::plain(2) };
        let mut plan = CounterPlan::new(&caps);
        plan.ask(User::Regulator, &[cycles], true).expect("one of two");
        plan.ask(User::Sampling, &[cycles, cycles], false).expect("two of two, and one beside");
        let found: Vec<_> = plan.assigned().iter().map(|of| (of.counter.0, of.user, of.fixed)).collect();
        let sampling = User::Sampling;
        assert_eq!(found, [(0, User::Regulator, false), (2, sampling, true), (1, sampling, false)]);
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

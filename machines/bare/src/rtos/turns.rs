//! Cores that keep account of what they execute, where the emulator counts for all of them together.

use super::cores::Cores;
use super::port::Port;
use crate::agenda::MOST_CORES;
use crate::turns::Turns;
use solo_model::experiment::Experiment;
use solo_model::isolation::Counted;
use solo_model::{CoreId, EventId};

static TURNS: Turns<MOST_CORES> = Turns::new();

/// A run begins, of which other cores know nothing yet.
pub(super) fn begin(wanted: bool) {
    TURNS.begin(wanted);
}

/// True where `experiment` asks for the instructions of each of several cores.
pub(super) fn are_wanted(experiment: &Experiment) -> bool {
    let budgets = experiment.isolation.bandwidth.as_ref();
    let counted = budgets.is_some_and(|budgets| budgets.counted == Counted::One(EventId::INSTRUCTIONS));
    counted && experiment.platform.cores.len() > 1
}

/// True where cores keep account.
#[inline(always)]
pub fn are_kept<C: Cores>() -> bool {
    C::COUNT_TOGETHER && TURNS.are_kept()
}

/// What this core has executed so far. Its interrupts are kept out by the caller.
#[inline(never)]
pub(super) fn own<P: Port>(core: CoreId) -> u64 {
    TURNS.look(core, P::time_stamp)
}

/// The clock by which a thread on this core consumes its own time: of what this core executes, where that is known, else the clock of
/// all.
#[inline(always)]
pub(super) fn clock<P: Port>() -> u64 {
    if are_kept::<P>() { looked_up::<P>() } else { P::time_stamp() }
}

#[cold]
#[inline(never)]
fn looked_up<P: Port>() -> u64 {
    let interrupts = P::interrupts_enabled();
    P::disable_interrupts();
    let own = own::<P>(P::current());
    if interrupts {
        P::enable_interrupts();
    }
    own
}

/// Does what gives the turn of this core to others until it has it back, with interrupts kept out: they are let in afterwards where they
/// were before.
#[cold]
#[inline(never)]
pub fn away<C: Cores>(wait: impl FnOnce()) {
    let interrupts = C::interrupts_enabled();
    C::disable_interrupts();
    let core = C::current();
    TURNS.give(core, C::time_stamp);
    wait();
    TURNS.look(core, C::time_stamp);
    if interrupts {
        C::enable_interrupts();
    }
}

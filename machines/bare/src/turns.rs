//! Who executed what, where an emulator counts the instructions of all cores together.
//!
//! Under QEMU's instruction clock one core executes at a time, the others wait for their turns, and there is one count for all of
//! them: a tick of the clock is an instruction, whoever executed it. To have a count of its own, a core notes when it gives its turn
//! away (it waits for an interrupt, or lets others go on) and when it has it back. The emulator also takes turns away
//! without a word, whenever some core's timer is due; so each core looks at the clock now and then, and takes as its own only what
//! no other core has taken since it looked last:
//!
//! ```text
//!            looks        looks  gives                     comes     looks
//!   core 0 ────●────────────●──────●                          ●─────────●────▶
//!              │    mine    │ mine │  no part of it is mine   │  mine   │
//!   core 1                         ●────────────●─────────────●
//!                                comes        looks         gives
//! ```
//!
//! Every tick is taken once or never. One that is taken by the wrong core lies between the last look of a core before it lost its turn
//! without a word, and that moment: as far as looks are apart. Ticks that nobody takes are those in which all cores wait, and the few
//! instructions between a look and the change of turns that it announces or follows.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use solo_model::CoreId;

/// What the cores of a machine have executed. A core that asks keeps its interrupts out meanwhile.
#[derive(Debug)]
pub struct Turns<const CORES: usize> {
    on: AtomicBool,
    /// What all have taken together, in ticks.
    taken: AtomicU64,
    cores: [Turn; CORES],
}

/// One core.
#[derive(Debug)]
struct Turn {
    /// What it has executed.
    own: AtomicU64,
    /// What nobody had taken of the clock when it last had its turn back: what is beyond that when it looks is its own.
    mark: AtomicU64,
    /// It gave its turn away.
    away: AtomicBool,
}

impl<const CORES: usize> Turns<CORES> {
    /// Nobody keeps account.
    pub const fn new() -> Self {
        let cores =
            [const { Turn { own: AtomicU64::new(0), mark: AtomicU64::new(0), away: AtomicBool::new(true) } };
                CORES];
        Self { on: AtomicBool::new(false), taken: AtomicU64::new(0), cores }
    }

    /// All begin at nothing, and keep account from here on if `wanted`. No other core may be at work.
    pub fn begin(&self, wanted: bool) {
        self.taken.store(0, Ordering::Relaxed);
        for turn in &self.cores {
            turn.own.store(0, Ordering::Relaxed);
            turn.away.store(true, Ordering::Relaxed);
        }
        self.on.store(wanted, Ordering::Release);
    }

    /// True where cores keep account.
    #[inline(always)]
    pub fn are_kept(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// `core`, which asks, has the turn by this clock. What it has executed so far, in ticks.
    #[inline(always)] // what it takes after its last look at the clock, nobody takes
    pub fn look(&self, core: CoreId, clock: impl Fn() -> u64) -> u64 {
        let turn = &self.cores[core.index()];
        let free = self.free(clock);
        if turn.away.load(Ordering::Relaxed) {
            turn.away.store(false, Ordering::Relaxed);
            turn.mark.store(free, Ordering::Relaxed);
            return turn.own.load(Ordering::Relaxed);
        }
        self.take(turn, free)
    }

    /// `core`, which has the turn by this clock, gives it away.
    #[inline(always)]
    pub fn give(&self, core: CoreId, clock: impl Fn() -> u64) {
        let turn = &self.cores[core.index()];
        self.take(turn, self.free(clock));
        turn.away.store(true, Ordering::Relaxed);
    }

    /// `turn`'s core takes what is its own of what nobody has taken.
    #[inline(always)]
    fn take(&self, turn: &Turn, free: u64) -> u64 {
        // Below zero where another core took what this one had executed since it looked, before it lost its turn.
        let mine = free.wrapping_sub(turn.mark.load(Ordering::Relaxed)) as i64;
        let mine = mine.max(0) as u64;
        self.taken.fetch_add(mine, Ordering::Relaxed);
        // It alone writes this.
        let own = turn.own.load(Ordering::Relaxed) + mine;
        turn.own.store(own, Ordering::Relaxed);
        own
    }

    /// What nobody has taken of the clock. The turn may be lost between reading the one and the other.
    #[inline(always)]
    fn free(&self, clock: impl Fn() -> u64) -> u64 {
        loop {
            let taken = self.taken.load(Ordering::Relaxed);
            let tick = clock();
            if self.taken.load(Ordering::Relaxed) == taken {
                return tick.wrapping_sub(taken);
            }
        }
    }
}

impl<const CORES: usize> Default for Turns<CORES> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;
    use proptest::prelude::*;
    use solo_model::CoreId;

    const CORES: usize = 3;
    /// The most ticks between two looks of a core that has the turn.
    const APART: u64 = 50;

    /// What happens next on the machine.
    #[derive(Clone, Copy, Debug)]
    enum Next {
        /// The core that has the turn executes so much, then looks.
        Works(u64),
        /// It executes so much, then gives its turn to another one.
        Gives(u64, usize),
        /// It executes so much, then loses its turn to another one without a word.
        Loses(u64, usize),
        /// All wait for so long, then a core goes on: only where it gives its turn away.
        AllWait(u64, usize),
    }

    fn next() -> impl Strategy<Value = Next> {
        let (span, core) = (0..APART, 0..CORES);
        prop_oneof![
            4 => span.clone().prop_map(Next::Works),
            3 => (span.clone(), core.clone()).prop_map(|(span, core)| Next::Gives(span, core)),
            2 => (span, core.clone()).prop_map(|(span, core)| Next::Loses(span, core)),
            1 => (0u64..5000, core).prop_map(|(span, core)| Next::AllWait(span, core)),
        ]
    }

    /// A machine that knows who executed what.
    struct Machine {
        turns: Turns<CORES>,
        tick: u64,
        truth: [u64; CORES],
        /// Lost its turn without a word: it does not look when it has it back.
        torn: [bool; CORES],
        has: usize,
        losses: u64,
    }

    impl Machine {
        fn new() -> Self {
            let turns = Turns::new();
            turns.begin(true);
            turns.look(CoreId(0), || 1000);
            Self { turns, tick: 1000, truth: [0; CORES], torn: [false; CORES], has: 0, losses: 0 }
        }

        fn execute(&mut self, span: u64) {
            self.tick += span;
            self.truth[self.has] += span;
        }

        fn look(&self) -> u64 {
            self.turns.look(CoreId(self.has as u16), || self.tick)
        }

        /// `core` has the turn from here on.
        fn goes_on(&mut self, core: usize) {
            self.has = core;
            if !core::mem::take(&mut self.torn[core]) {
                self.look();
            }
        }

        fn step(&mut self, next: Next) {
            match next {
                Next::Works(span) => {
                    self.execute(span);
                    self.look();
                }
                Next::Gives(span, core) => {
                    self.execute(span);
                    self.turns.give(CoreId(self.has as u16), || self.tick);
                    self.goes_on(core);
                }
                Next::Loses(span, core) if core != self.has => {
                    self.execute(span);
                    self.torn[self.has] = true;
                    self.losses += 1;
                    self.goes_on(core);
                }
                Next::AllWait(span, core) if !self.torn.contains(&true) => {
                    self.turns.give(CoreId(self.has as u16), || self.tick);
                    self.tick += span;
                    self.goes_on(core);
                }
                Next::Loses(..) | Next::AllWait(..) => {}
            }
        }
    }

    proptest! {
        /// Each core's count is off by no more than what lies between looks, for each time that a turn was taken without a word;
        /// without that it is exact. All counts together never exceed what was executed.
        #[test]
        fn a_core_counts_what_it_executed(steps in prop::collection::vec(next(), 1..400)) {
            let mut machine = Machine::new();
            for step in steps {
                machine.step(step);
            }
            let mut sum = 0;
            for core in 0..CORES {
                // Those that were torn go on, and look.
                machine.has = core;
                let counted = machine.look();
                sum += counted;
                let off = counted.abs_diff(machine.truth[core]);
                prop_assert!(off <= APART * machine.losses, "core {core}: {counted} of {}", machine.truth[core]);
            }
            let executed: u64 = machine.truth.iter().sum();
            prop_assert!(sum <= executed, "{sum} of {executed}");
            prop_assert!(sum + APART * machine.losses >= executed, "{sum} of {executed}");
        }
    }

    /// Two that take turns fairly and lose them a thousand times without a word each keep half of the count: errors don't add up on
    /// one side.
    #[test]
    fn turns_that_are_taken_away_do_not_favour_one_core() {
        let mut machine = Machine::new();
        for round in 0..2000 {
            machine.step(Next::Works(APART - 1));
            machine.step(if round % 2 == 0 {
                Next::Gives(7, 1 - machine.has)
            } else {
                Next::Loses(30, 1 - machine.has)
            });
        }
        for core in 0..2 {
            machine.has = core;
            let (counted, truth) = (machine.look(), machine.truth[core]);
            assert!(counted.abs_diff(truth) < truth / 50, "core {core}: {counted} of {truth}");
        }
    }

    #[test]
    fn nobody_keeps_account_where_it_is_not_wanted() {
        let turns = Turns::<2>::new();
        assert!(!turns.are_kept());
        turns.begin(true);
        assert!(turns.are_kept());
        turns.begin(false);
        assert!(!turns.are_kept());
    }
}

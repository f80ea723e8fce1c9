//! Ledgers: what is counted against a budget of its own.

use core::ops::{Index, IndexMut};

/// The most ledgers: reads and writes.
pub const LEDGERS: usize = 2;

/// Something counted against a budget of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ledger {
    /// Lines read, or the one event that is counted.
    Reads,
    /// Lines written back.
    Writes,
}

impl Ledger {
    /// All ledgers.
    pub const ALL: [Self; LEDGERS] = [Self::Reads, Self::Writes];
}

/// A value for each ledger.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PerLedger<T>(pub [T; LEDGERS]);

impl<T> Index<Ledger> for PerLedger<T> {
    type Output = T;
    fn index(&self, ledger: Ledger) -> &T {
        &self.0[ledger as usize]
    }
}

impl<T> IndexMut<Ledger> for PerLedger<T> {
    fn index_mut(&mut self, ledger: Ledger) -> &mut T {
        &mut self.0[ledger as usize]
    }
}

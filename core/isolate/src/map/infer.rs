//! Finding the XOR functions of DRAM banks from timings of address pairs (the idea of DRAMA).
//!
//! Two addresses in different rows of one bank conflict: reading them by turns is slow. With bank functions
//! `f1..fk`, a pair conflicts exactly where every `f` agrees on both addresses, that is, is zero on the
//! difference `a ^ b`. So the differences of conflicting pairs span the space on which all functions vanish,
//! and the functions are its complement.
//!
//! Measured pairs contain errors (a refresh, an interrupt). One wrong conflict would enlarge the span and
//! destroy a function. Therefore bases are built from many random orders of the conflicts, and the one wins
//! whose functions contradict the fewest pairs, conflicting or not. What stays contradicted is reported.

use crate::gf2::{Basis, parity};
use alloc::vec::Vec;
use core::fmt;
use solo_model::platform::XorBits;
use solo_model::{Bytes, Cycles, SplitMix64};

/// Two physical addresses and whether reading them by turns was slow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// One address.
    pub a: u64,
    /// The other.
    pub b: u64,
    /// They conflicted.
    pub conflict: bool,
}

/// Two physical addresses and how long reading them by turns took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// One address.
    pub a: u64,
    /// The other.
    pub b: u64,
    /// The time of one access.
    pub time: Cycles,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inferred {
    /// The functions, those of few and low bits first. Any other independent combinations of them would do as
    /// well.
    pub functions: Vec<XorBits>,
    /// Pairs looked at.
    pub pairs: u64,
    /// Of these, conflicts.
    pub conflicts: u64,
    /// Conflicts that the functions say cannot be: noise.
    pub false_conflicts: u64,
    /// Pairs without conflict that the functions put into one bank: noise, or the same row.
    pub missing_conflicts: u64,
}

impl Inferred {
    /// Contradicted pairs per thousand.
    pub fn noise_per_mille(&self) -> u64 {
        (self.false_conflicts + self.missing_conflicts) * 1000 / self.pairs.max(1)
    }
}

/// Why nothing was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InferenceError {
    /// All pairs took the same time.
    Alike {
        /// How many there are.
        pairs: u64,
    },
    /// No pair conflicted, or none did not.
    OneSided {
        /// Pairs that conflicted.
        conflicts: u64,
        /// All pairs.
        pairs: u64,
    },
    /// The conflicts fit no functions better than chance.
    TooNoisy {
        /// Contradicted pairs per thousand under the best functions.
        noise_per_mille: u64,
    },
    /// More functions than any bank map has: too few conflicts were measured.
    Undetermined {
        /// Functions that all conflicts leave possible.
        functions: u64,
        /// Conflicts that were measured.
        conflicts: u64,
    },
}

impl fmt::Display for InferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alike { pairs } => {
                write!(f, "all {pairs} pairs took the same time: none can be told from the others")
            }
            Self::OneSided { conflicts, pairs } => {
                write!(f, "{conflicts} of {pairs} pairs conflict: some must and some must not")
            }
            Self::TooNoisy { noise_per_mille } => {
                write!(f, "{noise_per_mille} of 1000 pairs contradict the best functions found")
            }
            Self::Undetermined { functions, conflicts } => {
                write!(f, "{conflicts} conflicts leave {functions} functions possible: measure more pairs")
            }
        }
    }
}

impl core::error::Error for InferenceError {}

/// Random orders of the conflicts that are tried.
const TRIALS: usize = 200;
/// More noise than this is chance: with `k` functions one pair in `2^k` conflicts anyway.
const MOST_NOISE_PER_MILLE: u64 = 120;
/// So many conflicts must fit the functions beside those that they were found from.
const CONFIRMING: u64 = 8;
/// More functions than these are a lack of measurements.
const MOST_FUNCTIONS: usize = 12;

/// The time that parts conflicting from other pairs: halfway between the means of the two groups that differ
/// most (two-means clustering). `None` where all times are alike.
pub fn threshold(times: &[Cycles]) -> Option<Cycles> {
    let least = times.iter().min()?.get();
    let most = times.iter().max()?.get();
    let mut low = u128::from(least);
    let mut high = u128::from(most);
    for _ in 0..64 {
        let middle = (low + high) / 2;
        let mean = |of: &dyn Fn(u128) -> bool| {
            let group = || times.iter().map(|time| u128::from(time.get())).filter(|&time| of(time));
            let count = group().count() as u128;
            (count > 0).then(|| group().sum::<u128>() / count)
        };
        let next = (mean(&|time| time <= middle)?, mean(&|time| time > middle)?);
        if next == (low, high) {
            return Some(Cycles::new(middle as u64));
        }
        (low, high) = next;
    }
    Some(Cycles::new(((low + high) / 2) as u64))
}

/// The functions of address bits from `granule` (a cache line, or a page) to `memory` that explain `pairs`;
/// `seed` decides the order of trials.
///
/// # Errors
/// If the pairs do not determine the functions; see [`InferenceError`].
pub fn infer(pairs: &[Pair], granule: Bytes, memory: Bytes, seed: u64) -> Result<Inferred, InferenceError> {
    let universe = (memory.get().max(1).next_power_of_two() - 1) & !(granule.get().max(1) - 1);
    let difference = |pair: &Pair| (pair.a ^ pair.b) & universe;
    let part = |conflict: bool| -> Vec<u64> {
        pairs.iter().filter(|pair| pair.conflict == conflict).map(difference).filter(|&d| d != 0).collect()
    };
    let (mut conflicts, others) = (part(true), part(false));
    if conflicts.is_empty() || others.is_empty() {
        return Err(InferenceError::OneSided {
            conflicts: conflicts.len() as u64,
            pairs: pairs.len() as u64,
        });
    }
    let mut random = SplitMix64::new(seed);
    let mut best: Option<(u64, Vec<u64>)> = None;
    for _ in 0..TRIALS {
        if matches!(best, Some((0, _))) {
            break;
        }
        random.shuffle(&mut conflicts);
        let mut basis = Basis::default();
        for &vector in &conflicts {
            // A vector that the span holds already says nothing new.
            if basis.add(vector) {
                let functions = basis.complement(universe);
                if functions.len() > MOST_FUNCTIONS {
                    continue;
                }
                let errors = contradictions(&functions, &conflicts, &others);
                let cost = errors.0 + errors.1;
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, functions));
                }
            }
        }
    }
    let Some((_, functions)) = best else {
        let functions = Basis::of(conflicts.iter().copied()).complement(universe).len() as u64;
        return Err(InferenceError::Undetermined { functions, conflicts: conflicts.len() as u64 });
    };
    let (false_conflicts, missing_conflicts) = contradictions(&functions, &conflicts, &others);
    let found = Inferred {
        functions: simplest(&functions),
        pairs: (conflicts.len() + others.len()) as u64,
        conflicts: conflicts.len() as u64,
        false_conflicts,
        missing_conflicts,
    };
    // Any few vectors vanish under some functions: only those beyond the ones that determined them confirm anything.
    let rank = u64::from(universe.count_ones()) - functions.len() as u64;
    if found.conflicts - found.false_conflicts < rank + CONFIRMING {
        let (functions, conflicts) = (functions.len() as u64, found.conflicts);
        return Err(InferenceError::Undetermined { functions, conflicts });
    }
    // Functions must explain the conflicts far better than none at all.
    let unexplained = found.false_conflicts * 2 > found.conflicts;
    if functions.is_empty() || unexplained || found.noise_per_mille() > MOST_NOISE_PER_MILLE {
        return Err(InferenceError::TooNoisy { noise_per_mille: found.noise_per_mille() });
    }
    Ok(found)
}

/// Conflicts that cannot be, and pairs without conflict that should have one.
fn contradictions(functions: &[u64], conflicts: &[u64], others: &[u64]) -> (u64, u64) {
    let same_bank = |vector: &&u64| functions.iter().all(|&function| parity(function, **vector) == 0);
    let false_conflicts = conflicts.len() - conflicts.iter().filter(same_bank).count();
    (false_conflicts as u64, others.iter().filter(same_bank).count() as u64)
}

/// Independent combinations of `functions` with the fewest and lowest bits.
fn simplest(functions: &[u64]) -> Vec<XorBits> {
    let combine = |chosen: u64| {
        let picked = functions.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1);
        picked.fold(0, |sum, (_, function)| sum ^ function)
    };
    let mut all: Vec<u64> = (1..1_u64 << functions.len()).map(combine).collect();
    all.sort_unstable_by_key(|function| (function.count_ones(), *function));
    let mut span = Basis::default();
    let mut chosen: Vec<u64> = all.into_iter().filter(|&function| span.add(function)).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(XorBits).collect()
}

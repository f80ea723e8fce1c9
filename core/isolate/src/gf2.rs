//! Linear algebra over GF(2): a vector is a word, bit `n` for address bit `n`.

use alloc::vec::Vec;

/// A basis in reduced echelon form: each vector's highest bit occurs in no other vector.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Basis(Vec<u64>);

impl Basis {
    /// The span of `vectors`.
    pub(crate) fn of(vectors: impl IntoIterator<Item = u64>) -> Self {
        let mut basis = Self::default();
        for vector in vectors {
            basis.add(vector);
        }
        basis
    }

    /// Adds a vector; true where it was not in the span before.
    pub(crate) fn add(&mut self, vector: u64) -> bool {
        let rest = self.reduce(vector);
        if rest == 0 {
            return false;
        }
        let lead = 1 << (63 - rest.leading_zeros());
        for other in &mut self.0 {
            if *other & lead != 0 {
                *other ^= rest;
            }
        }
        self.0.push(rest);
        true
    }

    /// What is left of `vector` after the span is taken out; zero for a vector of the span.
    pub(crate) fn reduce(&self, vector: u64) -> u64 {
        let clear =
            |rest: u64, &of: &u64| if rest >> (63 - of.leading_zeros()) & 1 == 1 { rest ^ of } else { rest };
        self.0.iter().fold(vector, clear)
    }

    /// The number of independent vectors.
    pub(crate) fn rank(&self) -> usize {
        self.0.len()
    }

    /// A basis of all masks over the bits of `universe` whose parity with every vector of the span is even: the
    /// functions that are zero on the whole span.
    pub(crate) fn complement(&self, universe: u64) -> Vec<u64> {
        let lead = |vector: &u64| 1_u64 << (63 - vector.leading_zeros());
        let leads = self.0.iter().fold(0, |all, vector| all | lead(vector));
        let free = bits(universe & !leads);
        let function = |bit: u64| {
            let needs = self.0.iter().filter(|vector| *vector & bit != 0);
            needs.fold(bit, |function, vector| function | lead(vector))
        };
        free.map(function).collect()
    }
}

/// The bits of a word, one word each, lowest first.
pub(crate) fn bits(word: u64) -> impl Iterator<Item = u64> {
    (0..64).map(|at| 1_u64 << at).filter(move |bit| word & bit != 0)
}

/// Even (0) or odd (1) number of common bits.
pub(crate) fn parity(mask: u64, vector: u64) -> u32 {
    (mask & vector).count_ones() & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complement_is_zero_on_the_span_and_fills_the_universe() {
        let span = [0b1100_1010, 0b0110_0000, 0b1010_1010];
        let basis = Basis::of(span);
        let functions = basis.complement(0xff);
        assert_eq!(basis.rank() + functions.len(), 8);
        for function in &functions {
            assert!(span.iter().all(|&vector| parity(*function, vector) == 0));
        }
        assert_eq!(Basis::of(functions.iter().copied()).rank(), functions.len());
    }

    #[test]
    fn a_dependent_vector_adds_nothing() {
        let mut basis = Basis::of([0b011, 0b110]);
        assert!(!basis.add(0b101));
        assert_eq!(basis.rank(), 2);
        assert!(basis.add(0b001));
        assert_eq!(basis.reduce(0b111), 0);
    }
}

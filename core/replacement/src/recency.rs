//! In which order a few things were last used.

/// One in each of a word's sixteen fields of four bits.
const ONES: u64 = 0x1111_1111_1111_1111;

/// The order of the last uses of up to 16 things, the ways of a cache's set for one, in a word: field 0 names the one
/// used last, field 1 the one before it, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recency(u64);

impl Recency {
    /// The most things whose order a word holds.
    pub(crate) const MOST: usize = 16;

    /// An order of `count` things, 1 to 16, in which thing 0 is the oldest.
    pub(crate) const fn new(count: usize) -> Self {
        let (mut order, mut at) = (0, 0);
        // Fields beyond the last thing name themselves.
        while at < Self::MOST {
            let thing = if at < count { count - 1 - at } else { at };
            order |= (thing as u64) << (4 * at);
            at += 1;
        }
        Self(order)
    }

    /// The order that [`bits`](Self::bits) gave.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Thing `at` of the order, 0 for the one used last.
    #[inline]
    pub(crate) const fn nth(self, at: usize) -> usize {
        (self.0 >> (4 * at) & 15) as usize
    }

    /// `thing` is used.
    #[inline]
    pub(crate) const fn touch(&mut self, thing: usize) {
        let order = self.0;
        let at = self.field_of(thing);
        let newer = (1_u64 << at) - 1;
        self.0 = order & !(newer << 4 | 15) | (order & newer) << 4 | thing as u64;
    }

    /// The oldest of `count` things, which is now used.
    #[inline]
    pub(crate) const fn replace(&mut self, count: usize) -> usize {
        let order = self.0;
        let last = 4 * (count - 1);
        let thing = order >> last & 15;
        let newer = (1_u64 << last) - 1;
        self.0 = order & !(newer << 4 | 15) | (order & newer) << 4 | thing;
        thing as usize
    }

    /// The lowest bit of the field that names `thing`.
    #[inline]
    const fn field_of(self, thing: usize) -> u32 {
        // The lowest field that is zero after this is the thing's: its borrow sets the field's highest bit.
        let difference = self.0 ^ (ONES * thing as u64);
        let zeros = difference.wrapping_sub(ONES) & !difference & (ONES << 3);
        zeros.trailing_zeros() & !3
    }
}

/// Bit 0 of each byte of a word.
const COLUMN: u64 = 0x0101_0101_0101_0101;

/// Which of up to 8 things was used after which: a byte for each, in which a bit stands for each thing that was used
/// before it. The same as [`Recency`], in fewer steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecencyMatrix(u64);

impl RecencyMatrix {
    /// The most things whose matrix a word holds.
    pub(crate) const MOST: usize = 8;

    /// A matrix of `count` things, 1 to 8, in which thing 0 is the oldest. Rows of things that are not there are never
    /// empty.
    pub(crate) const fn new(count: usize) -> Self {
        let (mut matrix, mut thing) = (0, 0);
        while thing < Self::MOST {
            let row = if thing < count { (1 << thing) - 1 } else { 0xff };
            matrix |= row << (8 * thing);
            thing += 1;
        }
        Self(matrix)
    }

    /// The matrix that [`bits`](Self::bits) gave.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// A row with a bit for each of `count` things.
    #[inline(always)]
    pub(crate) const fn row(count: usize) -> u64 {
        (1 << count) - 1
    }

    /// `thing` is used; `row` is [that](Self::row) of all things.
    #[inline(always)]
    pub(crate) const fn touch(&mut self, thing: usize, row: u64) {
        self.0 = (self.0 | row << (8 * thing)) & !(COLUMN << thing);
    }

    /// The oldest thing, whose row is empty, and which is now used.
    #[inline(always)]
    pub(crate) const fn replace(&mut self, row: u64) -> usize {
        // The lowest byte that is zero: its borrow sets its highest bit.
        let empty = self.0.wrapping_sub(COLUMN) & !self.0 & (COLUMN << 7);
        let thing = (empty.trailing_zeros() / 8) as usize & 7;
        self.touch(thing, row);
        thing
    }

    /// How many of the things that `row` stands for were used before `thing`.
    #[inline]
    pub(crate) const fn older_than(self, thing: usize, row: u64) -> u32 {
        (self.0 >> (8 * thing) & row).count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_order_is_that_of_a_list() {
        for count in 1..=Recency::MOST {
            let (mut order, mut list) = (Recency::new(count), (0..count).rev().collect::<Vec<_>>());
            let mut random = 1_u64;
            for _ in 0..3000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let thing = (random >> 50) as usize % count;
                if random >> 40 & 1 == 0 {
                    list.retain(|other| *other != thing);
                    list.insert(0, thing);
                    order.touch(thing);
                } else {
                    let oldest = list.pop().unwrap();
                    assert_eq!(order.replace(count), oldest);
                    list.insert(0, oldest);
                }
                assert_eq!((0..count).map(|at| order.nth(at)).collect::<Vec<_>>(), list);
            }
        }
    }

    #[test]
    fn the_matrix_says_what_the_order_says() {
        for count in 1..=RecencyMatrix::MOST {
            let (mut order, mut matrix) = (Recency::new(count), RecencyMatrix::new(count));
            let row = RecencyMatrix::row(count);
            let mut random = 1_u64;
            for _ in 0..3000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let thing = (random >> 50) as usize % count;
                if random >> 40 & 1 == 0 {
                    order.touch(thing);
                    matrix.touch(thing, row);
                } else {
                    assert_eq!(matrix.replace(row), order.replace(count));
                }
                for at in 0..count {
                    assert_eq!(matrix.older_than(order.nth(at), row) as usize, count - 1 - at);
                }
            }
        }
    }
}

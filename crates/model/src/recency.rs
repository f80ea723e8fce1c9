//! In which order a few things were last used.

/// One in each of a word's sixteen fields of four bits.
const ONES: u64 = 0x1111_1111_1111_1111;

/// The order of the last uses of up to 16 things, the ways of a cache's set for one, in a word: field 0 names the one
/// used last, field 1 the one before it, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recency(u64);

impl Recency {
    /// The most things whose order a word holds.
    pub const MOST: usize = 16;

    /// An order of `count` things, 1 to 16, in which thing 0 is the oldest.
    pub const fn new(count: usize) -> Self {
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
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Thing `at` of the order, 0 for the one used last.
    #[inline]
    pub const fn nth(self, at: usize) -> usize {
        (self.0 >> (4 * at) & 15) as usize
    }

    /// `thing` is used.
    #[inline]
    pub const fn touch(&mut self, thing: usize) {
        let order = self.0;
        let at = self.field_of(thing);
        let newer = (1_u64 << at) - 1;
        self.0 = order & !(newer << 4 | 15) | (order & newer) << 4 | thing as u64;
    }

    /// The oldest of `count` things, which is now used.
    #[inline]
    pub const fn replace(&mut self, count: usize) -> usize {
        let order = self.0;
        let last = 4 * (count - 1);
        let thing = order >> last & 15;
        let newer = (1_u64 << last) - 1;
        self.0 = order & !(newer << 4 | 15) | (order & newer) << 4 | thing;
        thing as usize
    }

    /// `thing` counts from now on as the one not used for longest of `count` things.
    #[inline]
    pub const fn forget(&mut self, thing: usize, count: usize) {
        let order = self.0;
        let (at, last) = (self.field_of(thing), 4 * (count as u32 - 1));
        let newer = (1_u64 << at) - 1;
        let fields = u64::MAX >> (60 - last);
        // What was older moves up by one field; what is beyond the last thing stays.
        let older = order & fields & !(newer << 4 | 15);
        self.0 = order & !fields | (thing as u64) << last | older >> 4 | order & newer;
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
                list.retain(|other| *other != thing);
                match random >> 40 & 3 {
                    0 => {
                        order.forget(thing, count);
                        list.push(thing);
                    }
                    1 => {
                        list.insert(0, thing);
                        order.touch(thing);
                        let oldest = list.pop().unwrap();
                        assert_eq!(order.replace(count), oldest);
                        list.insert(0, oldest);
                    }
                    _ => {
                        order.touch(thing);
                        list.insert(0, thing);
                    }
                }
                assert_eq!((0..count).map(|at| order.nth(at)).collect::<Vec<_>>(), list);
            }
        }
    }
}

//! A quick answer to "does that line wait to be written?" that is mostly right when it says maybe, and always when it
//! says no.

/// Counts of lines by a hash of their numbers.
#[derive(Clone, Debug)]
pub(super) struct Presence {
    counts: Box<[u8]>,
    shift: u32,
}

impl Presence {
    /// For a queue of so many lines, none of them there yet.
    pub(super) fn new(lines: usize) -> Self {
        let bits = (lines * 16).next_power_of_two().trailing_zeros().clamp(6, 20);
        Self { counts: vec![0; 1 << bits].into(), shift: 32 - bits }
    }

    #[inline]
    fn bucket(&self, line: u64) -> usize {
        // Knuth's multiplicative hash: lines that lie together, or a power of two apart, spread evenly.
        ((line as u32).wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    #[inline]
    pub(super) fn add(&mut self, line: u64) {
        // A bucket that was ever full stays so: the answer is then "maybe" for ever, which is only slow.
        let count = &mut self.counts[self.bucket(line)];
        *count = count.saturating_add(1);
    }

    #[inline]
    pub(super) fn remove(&mut self, line: u64) {
        let count = &mut self.counts[self.bucket(line)];
        *count -= u8::from(*count != u8::MAX);
    }

    /// False where `line` is certainly not there.
    #[inline]
    pub(super) fn may_hold(&self, line: u64) -> bool {
        self.counts[self.bucket(line)] != 0
    }
}

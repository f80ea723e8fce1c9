//! Rows of arrays that are read and then written at their heads (hpc-invalidations, Fig. 4).

/// Where a pass over rows stands.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    row: u64,
    stride: u64,
    /// The size of an array, and how many follow each other.
    span: u64,
    arrays: u64,
    /// The first byte of the current row in the first array.
    head: u64,
    /// Elements of the row read so far in all arrays, then those of its writes that were made.
    done: u64,
    /// Whose turn it is.
    array: u64,
    writing: bool,
    /// A pass begins where the last one stopped.
    goes_on: bool,
}

impl Rows {
    /// Rows of `row` bytes with an element each `stride` bytes in `arrays` arrays that share a buffer of `size` bytes;
    /// none is zero, and a row is neither below the stride nor above an array.
    pub(crate) fn new(row: u64, stride: u64, size: u64, arrays: u64, goes_on: bool) -> Self {
        let span = size / arrays;
        Self { row, stride, span, arrays, head: 0, done: 0, array: 0, writing: false, goes_on }
    }

    /// A pass begins: at the first row, unless it goes on.
    pub(crate) fn begin(&mut self) {
        if self.goes_on {
            return;
        }
        (self.head, self.done, self.array, self.writing) = (0, 0, 0, false);
    }

    /// The next accesses to one line of `line` bytes, `most` at most: offset, number, and whether they write. The
    /// elements of a line are read together; writes come one by one, for another core may take the line in between.
    pub(crate) fn next(&mut self, line: u64, most: u64) -> (u64, u32, bool) {
        let elements = self.row / self.stride;
        let writes = self.writing;
        let fit = if writes { 1 } else { self.together(line).min(elements - self.done) };
        let offset = self.array * self.span + self.head + if writes { 0 } else { self.done * self.stride };
        self.array += 1;
        if self.array == self.arrays {
            self.array = 0;
            self.done += fit;
        }
        if self.done == elements {
            self.done = 0;
            if self.writing {
                let next = self.head + self.row;
                self.head = if next + self.row <= self.span { next } else { 0 };
            }
            self.writing = !self.writing;
        }
        (offset, fit.min(most).max(1) as u32, writes)
    }

    /// Instructions of an access: itself and, of a read, its addition to the sum; and its share of the step to the next
    /// elements and the branch back, which the arrays have in common.
    pub(crate) fn instructions(&self, writes: bool) -> u32 {
        let own = if writes { 1 } else { 2 };
        own + 2_u64.div_ceil(self.arrays) as u32
    }

    /// The elements that follow the current one in a line, in each of the arrays.
    fn together(&self, line: u64) -> u64 {
        let first = self.head + self.done * self.stride;
        let within = |array: u64| {
            let offset = array * self.span + first;
            ((offset | (line - 1)) + 1 - offset).div_ceil(self.stride)
        };
        (0..self.arrays).map(within).min().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The accesses of one pass over two rows of six elements in each array, one by one.
    fn singles(line: u64, arrays: u64) -> Vec<(u64, bool)> {
        let mut rows = Rows::new(24, 4, 48 * arrays, arrays, false);
        let (mut all, mut reads) = (Vec::new(), Vec::new());
        while all.len() + reads.len() < 24 * arrays as usize {
            let (offset, count, writes) = rows.next(line, u64::MAX);
            if writes {
                all.append(&mut reads);
                all.push((offset, true));
            } else {
                reads.extend((0..u64::from(count)).map(|i| (offset + 4 * i, false)));
            }
        }
        all
    }

    #[test]
    fn a_row_is_read_and_its_head_written_as_often() {
        let row =
            |head: u64| (0..6).map(move |i| (head + 4 * i, false)).chain((0..6).map(move |_| (head, true)));
        let expected: Vec<_> = row(0).chain(row(24)).collect();
        for line in [4, 8, 16, 64] {
            assert_eq!(singles(line, 1), expected, "lines of {line} bytes");
        }
    }

    /// Of Fig. 4's two arrays the heads are written in turn.
    #[test]
    fn arrays_take_turns() {
        for line in [4, 8, 16, 64] {
            let all = singles(line, 2);
            let writes = |from: usize| all[from..from + 12].iter().map(|access| access.0).collect::<Vec<_>>();
            assert_eq!((writes(12), writes(36)), ([0, 48].repeat(6), [24, 72].repeat(6)));
            let mut reads: Vec<_> = all[..12].iter().map(|access| access.0).collect();
            if line == 4 {
                assert_eq!(reads[..4], [0, 48, 4, 52]);
            }
            reads.sort_unstable();
            assert_eq!(reads, [0, 4, 8, 12, 16, 20, 48, 52, 56, 60, 64, 68]);
            assert!(all[12..24].iter().all(|access| access.1) && !all[24].1);
        }
    }
}

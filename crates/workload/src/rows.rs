//! Rows that are read and then written at their head (hpc-invalidations, Fig. 4).

/// Where a pass over rows stands.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    row: u64,
    stride: u64,
    size: u64,
    /// The first byte of the current row.
    head: u64,
    /// Elements of the row read so far, then those of its writes that were made.
    done: u64,
    writing: bool,
}

impl Rows {
    /// Rows of `row` bytes with an element each `stride` bytes, in a buffer of `size` bytes; none is zero, and a row
    /// is neither below the stride nor above the size.
    pub(crate) fn new(row: u64, stride: u64, size: u64) -> Self {
        Self { row, stride, size, head: 0, done: 0, writing: false }
    }

    /// Goes to the first row.
    pub(crate) fn restart(&mut self) {
        (self.head, self.done, self.writing) = (0, 0, false);
    }

    /// The next accesses to one line of `line` bytes, `most` at most: offset, number, and whether they write. As many
    /// writes as a line has elements come together.
    pub(crate) fn next(&mut self, line: u64, most: u64) -> (u64, u32, bool) {
        let elements = self.row.div_ceil(self.stride);
        let offset = if self.writing { self.head } else { self.head + self.done * self.stride };
        let within = if self.writing { line } else { (offset | (line - 1)) + 1 - offset };
        let fit = within.div_ceil(self.stride).min(elements - self.done).min(most).max(1);
        let writes = self.writing;
        self.done += fit;
        if self.done == elements {
            self.done = 0;
            if self.writing {
                let next = self.head + self.row;
                self.head = if next + self.row <= self.size { next } else { 0 };
            }
            self.writing = !self.writing;
        }
        (offset, fit as u32, writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The accesses of one pass over two rows of six elements, one by one.
    fn singles(line: u64) -> Vec<(u64, bool)> {
        let mut rows = Rows::new(24, 4, 48);
        let mut all = Vec::new();
        while all.len() < 24 {
            let (offset, count, writes) = rows.next(line, 24 - all.len() as u64);
            all.extend((0..u64::from(count)).map(|i| (offset + if writes { 0 } else { 4 * i }, writes)));
        }
        all
    }

    #[test]
    fn a_row_is_read_and_its_head_written_as_often() {
        let row =
            |head: u64| (0..6).map(move |i| (head + 4 * i, false)).chain((0..6).map(move |_| (head, true)));
        let expected: Vec<_> = row(0).chain(row(24)).collect();
        for line in [4, 8, 16, 64] {
            assert_eq!(singles(line), expected, "lines of {line} bytes");
        }
    }
}

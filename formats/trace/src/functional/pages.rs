//! Pages in the order of their first touch.

use std::collections::HashMap;

/// Gives dense numbers to sparse pages.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    numbers: HashMap<u64, u64>,
    /// The page looked up last, for instructions and for data.
    last: [Option<(u64, u64)>; 2],
}

impl Pages {
    /// The number of `page`, and whether this is its first touch.
    #[inline]
    pub(crate) fn number(&mut self, page: u64, fetch: bool) -> (u64, bool) {
        let last = &mut self.last[usize::from(fetch)];
        if let Some((known, number)) = *last
            && known == page
        {
            return (number, false);
        }
        let next = self.numbers.len() as u64;
        let number = *self.numbers.entry(page).or_insert(next);
        *last = Some((page, number));
        (number, number == next)
    }

    pub(crate) fn count(&self) -> u64 {
        self.numbers.len() as u64
    }
}

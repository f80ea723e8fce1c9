//! Sorting inside the kernel: without recursion, in place, in a number of steps that is known beforehand.

/// Sorts by a key, the least first. Entries of equal keys may change places.
///
/// A heap sort: at most `2 n (log2 n + 1)` comparisons whatever the order was, on a stack of one frame. The standard library's sort is
/// faster, but calls itself, so that its need of a stack can't be read off its code.
pub(crate) fn sort_by_key<T: Copy, K: Ord>(entries: &mut [T], key: impl Fn(&T) -> K) {
    for root in (0..entries.len() / 2).rev() {
        sink(entries, root, &key);
    }
    for end in (1..entries.len()).rev() {
        entries.swap(0, end);
        sink(&mut entries[..end], 0, &key);
    }
}

/// Lets the entry at `at` sink below those of greater keys, in a heap that is in order but for it.
fn sink<T: Copy, K: Ord>(heap: &mut [T], mut at: usize, key: &impl Fn(&T) -> K) {
    loop {
        let left = 2 * at + 1;
        let Some(mut greater) = heap.get(left).map(key) else { return };
        let mut child = left;
        if let Some(right) = heap.get(left + 1).map(key).filter(|right| *right > greater) {
            (child, greater) = (left + 1, right);
        }
        if greater <= key(&heap[at]) {
            return;
        }
        heap.swap(at, child);
        at = child;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::cell::Cell;
    use core::cmp::Ordering;
    use solo_model::SplitMix64;

    /// A number whose comparisons are counted.
    struct Counted<'c>(u64, &'c Cell<u64>);

    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }
    impl Eq for Counted<'_> {}
    impl PartialOrd for Counted<'_> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Counted<'_> {
        fn cmp(&self, other: &Self) -> Ordering {
            self.1.set(self.1.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    #[test]
    fn any_order_is_sorted_in_n_log_n_comparisons() {
        let mut random = SplitMix64::new(1);
        for len in 0..300_u64 {
            let mut orders: [Vec<u64>; 5] = [
                (0..len).collect(),
                (0..len).rev().collect(),
                (0..len).map(|at| at % 3).collect(),
                (0..len).map(|at| at.min(len - at)).collect(),
                (0..len).map(|_| random.below(len)).collect(),
            ];
            for order in &mut orders {
                let mut expected = order.clone();
                expected.sort();
                let comparisons = Cell::new(0);
                sort_by_key(order, |&number| Counted(number, &comparisons));
                assert_eq!(*order, expected);
                let most = 2 * len * (u64::from(len.max(1).ilog2()) + 1);
                assert!(
                    comparisons.get() <= most,
                    "{} comparisons of {len}: at most {most}",
                    comparisons.get()
                );
            }
        }
    }
}

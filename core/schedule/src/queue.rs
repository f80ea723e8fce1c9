//! A queue of threads in the order of a key, from which any thread can be taken.

use alloc::vec::Vec;
use solo_model::{CoreSet, ThreadId};

/// Marks a thread that is not in the queue.
const ABSENT: u32 = u32::MAX;

/// A binary heap that knows where each thread is: inserting, removing any thread and changing a key take
/// O(log n), looking at the least O(1). It holds each thread at most once and never allocates after its
/// construction.
///
/// The ready queues use it with [`Rank`](crate::Rank), the kernel's alarms with release times. Keys must
/// differ for the order to be determined; both kinds contain the thread's index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queue<K> {
    heap: Vec<(K, ThreadId)>,
    place: Vec<u32>,
}

impl<K: Ord + Copy> Queue<K> {
    /// An empty queue for threads 0 to `threads` - 1.
    pub fn for_threads(threads: usize) -> Self {
        Self { heap: Vec::with_capacity(threads), place: alloc::vec![ABSENT; threads] }
    }

    /// The number of threads in the queue.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The number of threads that it was built for.
    pub fn room(&self) -> usize {
        self.place.len()
    }

    /// True without any thread.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The key of `thread`, where it is in the queue.
    pub fn key(&self, thread: ThreadId) -> Option<K> {
        self.position(thread).map(|at| self.heap[at].0)
    }

    /// The thread of the least key.
    pub fn first(&self) -> Option<(K, ThreadId)> {
        self.heap.first().copied()
    }

    /// Puts `thread` into the queue, or gives it another key if it is there already.
    ///
    /// # Panics
    /// If the queue was not built for that many threads.
    pub fn insert(&mut self, thread: ThreadId, key: K) {
        let at = match self.position(thread) {
            Some(at) => {
                self.heap[at].0 = key;
                at
            }
            None => {
                assert!(thread.index() < self.place.len(), "{thread} in a queue for {}", self.place.len());
                self.heap.push((key, thread));
                self.heap.len() - 1
            }
        };
        self.settle(at);
    }

    /// Takes `thread` out, where it is in.
    pub fn remove(&mut self, thread: ThreadId) -> Option<K> {
        let at = self.position(thread)?;
        let (key, _) = self.heap.swap_remove(at);
        self.place[thread.index()] = ABSENT;
        if at < self.heap.len() {
            self.settle(at);
        }
        Some(key)
    }

    /// Takes the thread of the least key out.
    pub fn take_first(&mut self) -> Option<(K, ThreadId)> {
        let (key, thread) = self.first()?;
        self.remove(thread);
        Some((key, thread))
    }

    /// The threads in the order of their keys, at most as many as a machine has cores, without taking them
    /// out. The first costs O(1), the `k`th O(k).
    pub fn in_order(&self) -> InOrder<'_, K> {
        InOrder { heap: &self.heap, frontier: [0; FRONTIER], waiting: usize::from(!self.heap.is_empty()) }
    }

    fn position(&self, thread: ThreadId) -> Option<usize> {
        self.place.get(thread.index()).filter(|&&at| at != ABSENT).map(|&at| at as usize)
    }

    /// Moves the entry at `at` up or down to where it belongs.
    fn settle(&mut self, at: usize) {
        let entry = self.heap[at];
        let mut at = at;
        while at > 0 && entry.0 < self.heap[(at - 1) / 2].0 {
            self.put(at, self.heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        while let Some(child) = self.lesser_child(at).filter(|&child| self.heap[child].0 < entry.0) {
            self.put(at, self.heap[child]);
            at = child;
        }
        self.put(at, entry);
    }

    fn lesser_child(&self, at: usize) -> Option<usize> {
        let left = 2 * at + 1;
        let right = left + 1;
        if right < self.heap.len() && self.heap[right].0 < self.heap[left].0 {
            Some(right)
        } else {
            (left < self.heap.len()).then_some(left)
        }
    }

    fn put(&mut self, at: usize, entry: (K, ThreadId)) {
        self.heap[at] = entry;
        self.place[entry.1.index()] = at as u32;
    }
}

/// Entries that may be next while at most one a core is asked for: each one taken adds at most one.
const FRONTIER: usize = CoreSet::CAPACITY + 1;

/// The first threads of a [`Queue`] in the order of their keys.
#[derive(Clone, Debug)]
pub struct InOrder<'q, K> {
    heap: &'q [(K, ThreadId)],
    frontier: [usize; FRONTIER],
    waiting: usize,
}

impl<K: Ord + Copy> Iterator for InOrder<'_, K> {
    type Item = (K, ThreadId);

    fn next(&mut self) -> Option<Self::Item> {
        let least = (0..self.waiting).min_by_key(|&i| self.heap[self.frontier[i]].0)?;
        let at = self.frontier[least];
        self.waiting -= 1;
        self.frontier[least] = self.frontier[self.waiting];
        for child in [2 * at + 1, 2 * at + 2] {
            if child < self.heap.len() && self.waiting < FRONTIER {
                self.frontier[self.waiting] = child;
                self.waiting += 1;
            }
        }
        Some(self.heap[at])
    }
}

//! Ready queues compared: a sorted list, a balanced tree, a bitmap, and the heap that the kernel uses.
//!
//! ```text
//! cargo run --release -p solo-overheads --example queues
//! ```
//!
//! Each queue holds all threads but one. A round takes the most urgent thread out, puts it back with another key, and
//! gives a thread in the middle another key, as decisions, releases and mutexes do. Keys are absolute deadlines that
//! move on (EDF), or fixed priorities (RM), for which alone a bitmap will do. Nanoseconds; mean / 99th percentile.

use solo_model::ThreadId;
use solo_overheads::clock::stamp;
use solo_overheads::sets::{Draw, THREADS};
use solo_overheads::{Clock, Distribution, steady};
use solo_schedule::Queue;
use std::collections::{BTreeSet, VecDeque};

const ROUNDS: u64 = 200_000;

type Key = (u64, ThreadId);

/// What a ready queue must be able to do.
trait Ready {
    /// An empty queue for threads 0 to `threads` - 1.
    fn new(threads: usize) -> Self;
    /// Puts a thread in, or gives it another key.
    fn insert(&mut self, thread: ThreadId, key: Key);
    /// Takes the thread of the least key out.
    fn take_first(&mut self) -> Option<ThreadId>;
}

/// The kernel's: a binary heap that knows where each thread is. Everything O(log n).
struct Heap(Queue<Key>);

impl Ready for Heap {
    fn new(threads: usize) -> Self {
        Self(Queue::for_threads(threads))
    }
    fn insert(&mut self, thread: ThreadId, key: Key) {
        self.0.insert(thread, key);
    }
    fn take_first(&mut self) -> Option<ThreadId> {
        self.0.take_first().map(|(_, thread)| thread)
    }
}

/// As in EPOS: an ordered list. O(n) to put in, O(1) to take the first.
struct List(VecDeque<(Key, ThreadId)>);

impl Ready for List {
    fn new(threads: usize) -> Self {
        Self(VecDeque::with_capacity(threads))
    }
    fn insert(&mut self, thread: ThreadId, key: Key) {
        if let Some(at) = self.0.iter().position(|(_, known)| *known == thread) {
            self.0.remove(at);
        }
        let at = self.0.iter().position(|(other, _)| *other > key).unwrap_or(self.0.len());
        self.0.insert(at, (key, thread));
    }
    fn take_first(&mut self) -> Option<ThreadId> {
        self.0.pop_front().map(|(_, thread)| thread)
    }
}

/// A balanced tree. O(log n), but it allocates.
struct Tree {
    order: BTreeSet<(Key, ThreadId)>,
    keys: Vec<Option<Key>>,
}

impl Ready for Tree {
    fn new(threads: usize) -> Self {
        Self { order: BTreeSet::new(), keys: vec![None; threads] }
    }
    fn insert(&mut self, thread: ThreadId, key: Key) {
        if let Some(before) = self.keys[thread.index()].replace(key) {
            self.order.remove(&(before, thread));
        }
        self.order.insert((key, thread));
    }
    fn take_first(&mut self) -> Option<ThreadId> {
        let (_, thread) = self.order.pop_first()?;
        self.keys[thread.index()] = None;
        Some(thread)
    }
}

/// A bit for each priority, each the priority of one thread. O(n / 64).
struct Bitmap {
    words: Vec<u64>,
    thread: Vec<ThreadId>,
    level: Vec<Option<usize>>,
}

impl Ready for Bitmap {
    fn new(threads: usize) -> Self {
        let none = ThreadId(u32::MAX);
        Self { words: vec![0; threads.div_ceil(64)], thread: vec![none; threads], level: vec![None; threads] }
    }
    fn insert(&mut self, thread: ThreadId, (key, _): Key) {
        let level = key as usize % self.thread.len();
        if let Some(before) = self.level[thread.index()].replace(level) {
            self.words[before / 64] &= !(1 << (before % 64));
        }
        self.thread[level] = thread;
        self.words[level / 64] |= 1 << (level % 64);
    }
    fn take_first(&mut self) -> Option<ThreadId> {
        let at = self.words.iter().position(|word| *word != 0)?;
        let level = at * 64 + self.words[at].trailing_zeros() as usize;
        self.words[at] &= self.words[at] - 1;
        let thread = self.thread[level];
        self.level[thread.index()] = None;
        Some(thread)
    }
}

/// Where keys come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Deadlines,
    Priorities,
}

fn measure<R: Ready>(threads: u32, keys: Keys) -> [Distribution; 3] {
    let mut draw = Draw::new(3);
    let mut queue = R::new(threads as usize);
    let mut now = 0;
    // A fixed priority for each thread; deadlines move on.
    let mut key = |thread: ThreadId, now: u64| match keys {
        Keys::Priorities => (u64::from((thread.0 * 7 + 3) % threads), thread),
        Keys::Deadlines => (now + draw.below(33_000), thread),
    };
    (1..threads).map(ThreadId).for_each(|thread| queue.insert(thread, key(thread, 0)));
    let mut found = [(); 3].map(|()| Distribution::new());
    let mut waits = ThreadId(0);
    let mut other = Draw::new(5);
    for _ in 0..ROUNDS {
        now += 200;
        let next = key(waits, now);
        let begin = stamp();
        queue.insert(waits, next);
        let inserted = stamp();
        let middle = ThreadId(other.below(threads.into()) as u32);
        let next = key(middle, now);
        let before = stamp();
        queue.insert(middle, next);
        let changed = stamp();
        let first = queue.take_first();
        let taken = stamp();
        waits = first.unwrap_or_default();
        for (found, span) in found.iter_mut().zip([inserted - begin, taken - changed, changed - before]) {
            found.add(span);
        }
    }
    found
}

fn main() {
    let clock = Clock::calibrate();
    let cpu = steady::cpus().first().copied().unwrap_or(0);
    println!(
        "| keys | queue | threads | insert | take the first | change a key |\n|---|---|---:|---:|---:|---:|"
    );
    let row = |keys: &str, queue: &str, threads: u32, found: [Distribution; 3]| {
        let cells = found.map(|one| {
            let summary = one.summary(&clock, clock.empty_ticks, 1);
            summary.map_or_else(String::new, |s| format!("{:.1} / {:.0}", s.mean_ns, s.p99_ns))
        });
        println!("| {keys} | {queue} | {threads} | {} |", cells.join(" | "));
    };
    for threads in THREADS {
        let _ = steady::steadily(cpu, || {
            let keys = Keys::Deadlines;
            row("deadlines", "list", threads, measure::<List>(threads, keys));
            row("deadlines", "heap", threads, measure::<Heap>(threads, keys));
            row("deadlines", "tree", threads, measure::<Tree>(threads, keys));
            let keys = Keys::Priorities;
            row("priorities", "list", threads, measure::<List>(threads, keys));
            row("priorities", "heap", threads, measure::<Heap>(threads, keys));
            row("priorities", "tree", threads, measure::<Tree>(threads, keys));
            row("priorities", "bitmap", threads, measure::<Bitmap>(threads, keys));
        });
    }
}

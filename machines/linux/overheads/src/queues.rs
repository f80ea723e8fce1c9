//! Operations of the ready queue by themselves.

use crate::clock::stamp;
use crate::distribution::Distribution;
use crate::sets::Draw;
use solo_model::ThreadId;
use solo_schedule::Queue;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// Putting a thread in.
    pub insert: Distribution,
    /// Taking the first out.
    pub take_first: Distribution,
    /// Giving a thread that is in another key.
    pub rerank: Distribution,
}

/// Key and thread: keys as EDF makes them, absolute deadlines somewhat later than those that left.
type Key = (u64, ThreadId);

/// Times `rounds` of each operation on a queue that holds `threads` threads before and after each round.
pub fn run(threads: u32, rounds: u64) -> Operations {
    let mut draw = Draw::new(7);
    let mut queue: Queue<Key> = Queue::for_threads(threads as usize);
    let mut now = 0;
    for thread in (0..threads).map(ThreadId) {
        queue.insert(thread, (draw.below(33_000), thread));
    }
    let mut found = Operations::default();
    for _ in 0..rounds {
        let begin = stamp();
        let first = queue.take_first();
        let taken = stamp();
        let Some(((key, _), thread)) = first else { break };
        now = now.max(key);
        let key = (now + draw.below(33_000), thread);
        let middle = stamp();
        queue.insert(thread, key);
        let inserted = stamp();
        let other = ThreadId(draw.below(u64::from(threads)) as u32);
        let key = (now + draw.below(33_000), other);
        let before = stamp();
        queue.insert(other, key);
        let reranked = stamp();
        found.take_first.add(taken.saturating_sub(begin));
        found.insert.add(inserted.saturating_sub(middle));
        found.rerank.add(reranked.saturating_sub(before));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_times_each_operation_once() {
        for threads in [1, 5, 125] {
            let found = run(threads, 100);
            assert_eq!([&found.insert, &found.take_first, &found.rerank].map(Distribution::count), [100; 3]);
        }
        assert_eq!(run(0, 100).insert.count(), 0);
    }
}

//! The queue against a sorted list.

use proptest::prelude::*;
use solo_model::ThreadId;
use solo_schedule::Queue;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

const THREADS: u32 = 80;

#[derive(Clone, Debug)]
enum Action {
    Insert(u32, u64),
    Remove(u32),
    TakeFirst,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0..THREADS, 0..50_u64).prop_map(|(thread, key)| Action::Insert(thread, key)),
        1 => (0..THREADS).prop_map(Action::Remove),
        1 => Just(Action::TakeFirst),
    ]
}

proptest! {
    #[test]
    fn it_behaves_as_a_sorted_list(actions in prop::collection::vec(action(), 1..300)) {
        let mut queue = Queue::for_threads(THREADS as usize);
        let mut list: Vec<((u64, u32), ThreadId)> = Vec::new();
        for action in actions {
            match action {
                Action::Insert(thread, key) => {
                    list.retain(|(_, other)| other.0 != thread);
                    list.push(((key, thread), ThreadId(thread)));
                    list.sort_unstable();
                    queue.insert(ThreadId(thread), (key, thread));
                }
                Action::Remove(thread) => {
                    let expected = list.iter().position(|(_, other)| other.0 == thread).map(|at| list.remove(at).0);
                    prop_assert_eq!(queue.remove(ThreadId(thread)), expected);
                }
                Action::TakeFirst => {
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    prop_assert_eq!(queue.take_first(), expected);
                }
            }
            prop_assert_eq!(queue.len(), list.len());
            prop_assert_eq!(queue.first(), list.first().copied());
            let in_order: Vec<_> = queue.in_order().take(64).collect();
            prop_assert_eq!(&in_order[..], &list[..list.len().min(64)]);
            for thread in 0..THREADS {
                let key = list.iter().find(|(_, other)| other.0 == thread).map(|(key, _)| *key);
                prop_assert_eq!(queue.key(ThreadId(thread)), key);
            }
        }
    }
}

#[test]
fn an_unknown_thread_is_in_no_queue() {
    let mut queue = Queue::<u64>::for_threads(2);
    assert_eq!(queue.remove(ThreadId(7)), None);
    assert_eq!(queue.key(ThreadId(7)), None);
}

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// A key whose comparisons are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counted(u64);

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0.cmp(&other.0)
    }
}

/// The most comparisons of any way to put a thread in and to take one out, with so many threads in the queue.
fn most_comparisons(threads: u64) -> u64 {
    let mut most = 0;
    let mut look = |what: &mut dyn FnMut()| {
        COMPARISONS.set(0);
        what();
        most = COMPARISONS.get().max(most);
    };
    // The least or the greatest key moves through the whole heap; so does a key that changes from the one to the other.
    for descending in [false, true] {
        let mut queue = Queue::for_threads(threads as usize);
        let key = |thread: u64| Counted(if descending { 2 * threads - thread } else { threads + thread });
        for thread in 0..threads {
            look(&mut || queue.insert(ThreadId(thread as u32), key(thread)));
        }
        for thread in 0..threads {
            look(&mut || queue.insert(ThreadId(thread as u32), Counted(0)));
            look(&mut || queue.insert(ThreadId(thread as u32), Counted(u64::MAX - thread)));
        }
        for thread in (0..threads).step_by(3) {
            look(&mut || assert!(queue.remove(ThreadId(thread as u32)).is_some()));
        }
        while !queue.is_empty() {
            look(&mut || assert!(queue.take_first().is_some()));
        }
    }
    most
}

#[test]
fn a_thread_goes_in_and_out_in_as_many_steps_as_the_heap_is_high() {
    for threads in (1..=64_u64).chain([127, 128, 500, 1000, 1024]) {
        // On a step up one comparison, on a step down two; at the end of either one more.
        let height = u64::from(threads.ilog2()) + 1;
        let most = most_comparisons(threads);
        assert!(most <= 2 * height + 1, "{most} comparisons among {threads} threads");
    }
    assert!(most_comparisons(1024) > 10, "nothing was counted");
}

#[test]
fn the_threads_in_order_cost_as_many_steps_as_came_before() {
    let mut queue = Queue::for_threads(1000);
    (0..1000_u64).for_each(|thread| queue.insert(ThreadId(thread as u32), Counted(thread)));
    let mut in_order = queue.in_order();
    for taken in 0..64 {
        COMPARISONS.set(0);
        assert_eq!(in_order.next(), Some((Counted(taken), ThreadId(taken as u32))));
        assert!(COMPARISONS.get() <= taken, "{} comparisons for number {taken}", COMPARISONS.get());
    }
}

/// All states that any sequence of insertions, changes of keys and removals leads a small queue into, however long: none is left out. In
/// each it is what a sorted list is.
#[test]
fn every_state_of_a_small_queue_is_a_sorted_list() {
    const THREADS: u32 = 5;
    const KEYS: u32 = 3;
    type Listed = BTreeMap<(u32, u32), ThreadId>;
    let empty = Queue::<(u32, u32)>::for_threads(THREADS as usize);
    let mut known = HashSet::from([format!("{empty:?}")]);
    let mut open: Vec<(Queue<(u32, u32)>, Listed)> = vec![(empty, BTreeMap::new())];
    let mut steps = 0;
    while let Some((queue, list)) = open.pop() {
        let sorted: Vec<_> = list.iter().map(|(key, thread)| (*key, *thread)).collect();
        assert_eq!((queue.len(), queue.first()), (list.len(), sorted.first().copied()));
        assert_eq!(queue.in_order().collect::<Vec<_>>(), sorted);
        let mut next = Vec::new();
        for thread in (0..THREADS).map(ThreadId) {
            let had = list.iter().find(|(_, other)| **other == thread).map(|(key, _)| *key);
            assert_eq!(queue.key(thread), had);
            let (mut after, mut without) = (queue.clone(), list.clone());
            had.map(|key| without.remove(&key));
            assert_eq!(after.remove(thread), had);
            for key in 0..KEYS {
                let (mut after, mut list) = (queue.clone(), without.clone());
                after.insert(thread, (key, thread.0));
                list.insert((key, thread.0), thread);
                next.push((after, list));
            }
            next.push((after, without));
        }
        let (mut after, mut list) = (queue, list);
        assert_eq!(after.take_first(), list.pop_first());
        next.push((after, list));
        steps += next.len();
        open.extend(next.into_iter().filter(|(queue, _)| known.insert(format!("{queue:?}"))));
    }
    println!("{} states, {steps} steps", known.len());
    assert!(known.len() > 3_000, "{} states", known.len());
}

//! The queue against a sorted list.

use proptest::prelude::*;
use solo_model::ThreadId;
use solo_schedule::Queue;

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

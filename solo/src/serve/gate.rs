//! Which connections are held. There is room for so many; when it is full, whoever has waited longest without a whole
//! request makes room. So those that say nothing, or say it slowly, never keep out a reader that asks at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The connections of a server.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    most: usize,
    held: Arc<Mutex<Held>>,
}

#[derive(Default, Debug)]
struct Held {
    next: u64,
    /// Connections without a whole request, the oldest first; dropping its sender ends one.
    silent: BTreeMap<u64, oneshot::Sender<()>>,
    /// Those that are answered.
    heard: BTreeMap<u64, oneshot::Sender<()>>,
}

/// One connection's place.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    gate: Gate,
}

impl Gate {
    /// Room for `most` connections.
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), held: Arc::default() }
    }

    /// A place for one more, and what becomes ready when it has to go.
    pub(super) fn enter(&self) -> (Place, oneshot::Receiver<()>) {
        while self.held().count() >= self.most {
            self.make_room();
        }
        let (stay, gone) = oneshot::channel();
        let mut held = self.held();
        let number = held.next;
        held.next += 1;
        held.silent.insert(number, stay);
        (Place { number, gate: self.clone() }, gone)
    }

    /// Ends the connection that is silent for the longest, or where all are answered, the slowest reader.
    pub(super) fn make_room(&self) {
        let mut held = self.held();
        if held.silent.pop_first().is_none() {
            held.heard.pop_first();
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn count(&self) -> usize {
        self.silent.len() + self.heard.len()
    }
}

impl Place {
    /// A whole request has come.
    pub(super) fn hear(&self) {
        let mut held = self.gate.held();
        if let Some(stay) = held.silent.remove(&self.number) {
            held.heard.insert(self.number, stay);
        }
    }

    /// True once a whole request has come.
    pub(super) fn heard(&self) -> bool {
        self.gate.held().heard.contains_key(&self.number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.gate.held();
        held.silent.remove(&self.number);
        held.heard.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::error::TryRecvError;

    fn gone(receiver: &mut oneshot::Receiver<()>) -> bool {
        receiver.try_recv() == Err(TryRecvError::Closed)
    }

    #[test]
    fn the_silent_make_room_before_those_that_are_answered() {
        let gate = Gate::new(3);
        let (first, mut first_gone) = gate.enter();
        let (_second, mut second_gone) = gate.enter();
        let (third, mut third_gone) = gate.enter();
        first.hear();
        assert!(first.heard() && !third.heard());
        let (_fourth, mut fourth_gone) = gate.enter();
        assert!(gone(&mut second_gone), "the oldest silent one");
        assert!(!gone(&mut first_gone) && !gone(&mut third_gone));
        third.hear();
        let (_fifth, mut fifth_gone) = gate.enter();
        assert!(gone(&mut fourth_gone));
        drop(third);
        let (_sixth, _gone) = gate.enter();
        assert!(!gone(&mut fifth_gone), "there was room");
    }

    #[test]
    fn where_all_are_answered_the_slowest_reader_goes() {
        let gate = Gate::new(2);
        let (a, mut a_gone) = gate.enter();
        let (b, mut b_gone) = gate.enter();
        a.hear();
        b.hear();
        let (_c, _gone) = gate.enter();
        assert!(gone(&mut a_gone) && !gone(&mut b_gone));
    }
}

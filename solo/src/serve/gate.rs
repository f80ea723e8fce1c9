//! Which connections are held. There is room for so many; when it is full, whoever has waited longest without a whole
//! request makes room, but not before it has had its [`TURN`]. So those that say nothing, or say it slowly, only delay a
//! reader that asks at once, and a crowd that comes behind a reader does not push it out before it was heard.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long nobody has to make room: from the connection on, and again from the whole request on.
const TURN: Duration = Duration::from_secs(1);

/// The connections of a server.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    most: usize,
    held: Arc<Mutex<Held>>,
}

#[derive(Default, Debug)]
struct Held {
    next: u64,
    /// Connections without a whole request, the oldest first.
    silent: BTreeMap<u64, Stay>,
    /// Those that are answered.
    heard: BTreeMap<u64, Stay>,
}

/// A connection's leave to stay.
#[derive(Debug)]
struct Stay {
    /// Dropping it ends the connection.
    _leave: oneshot::Sender<()>,
    /// Until then it keeps its place.
    turn_ends: Instant,
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

    /// A place for one more, and what becomes ready when it has to go. Whoever is asked to make room first
    /// ([`Gate::turn_ends`], [`Gate::make_room`]) keeps the number of places.
    pub(super) fn enter(&self) -> (Place, oneshot::Receiver<()>) {
        let (leave, gone) = oneshot::channel();
        let mut held = self.held();
        let number = held.next;
        held.next += 1;
        held.silent.insert(number, Stay { _leave: leave, turn_ends: Instant::now() + TURN });
        (Place { number, gate: self.clone() }, gone)
    }

    /// True where one more would be too many.
    pub(super) fn is_full(&self) -> bool {
        self.held().count() >= self.most
    }

    /// When the turn of the one that has to go next is over.
    pub(super) fn turn_ends(&self) -> Option<Instant> {
        let held = self.held();
        let (_, next) = held.silent.first_key_value().or_else(|| held.heard.first_key_value())?;
        Some(next.turn_ends)
    }

    /// Ends the connection that is silent for the longest, or where all are answered, the slowest reader. Nobody goes
    /// whose turn is not over.
    pub(super) fn make_room(&self) {
        if self.turn_ends().is_none_or(|end| end > Instant::now()) {
            return;
        }
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
        if let Some(mut stay) = held.silent.remove(&self.number) {
            stay.turn_ends = Instant::now() + TURN;
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

    /// As the server does it, but without waiting.
    fn enter(gate: &Gate) -> (Place, oneshot::Receiver<()>) {
        if gate.is_full() {
            gate.make_room();
        }
        gate.enter()
    }

    #[tokio::test(start_paused = true)]
    async fn the_silent_make_room_before_those_that_are_answered() {
        let gate = Gate::new(3);
        let (first, mut first_gone) = enter(&gate);
        let (_second, mut second_gone) = enter(&gate);
        let (third, mut third_gone) = enter(&gate);
        first.hear();
        assert!(first.heard() && !third.heard());
        tokio::time::advance(TURN).await;
        let (_fourth, mut fourth_gone) = enter(&gate);
        assert!(gone(&mut second_gone), "the oldest silent one");
        assert!(!gone(&mut first_gone) && !gone(&mut third_gone));
        third.hear();
        tokio::time::advance(TURN).await;
        let (_fifth, mut fifth_gone) = enter(&gate);
        assert!(gone(&mut fourth_gone));
        drop(third);
        let (_sixth, _gone) = enter(&gate);
        assert!(!gone(&mut fifth_gone), "there was room");
    }

    #[tokio::test(start_paused = true)]
    async fn where_all_are_answered_the_slowest_reader_goes() {
        let gate = Gate::new(2);
        let (a, mut a_gone) = enter(&gate);
        let (b, mut b_gone) = enter(&gate);
        a.hear();
        b.hear();
        tokio::time::advance(TURN).await;
        let (_c, _gone) = enter(&gate);
        assert!(gone(&mut a_gone) && !gone(&mut b_gone));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_goes_before_the_end_of_its_turn() {
        let gate = Gate::new(1);
        let (place, mut end) = enter(&gate);
        assert!(gate.is_full());
        tokio::time::advance(TURN / 2).await;
        gate.make_room();
        assert!(!gone(&mut end), "half a turn");
        place.hear();
        tokio::time::advance(TURN * 3 / 4).await;
        gate.make_room();
        assert!(!gone(&mut end), "another turn for the answer");
        tokio::time::advance(TURN / 4).await;
        gate.make_room();
        assert!(gone(&mut end));
    }
}

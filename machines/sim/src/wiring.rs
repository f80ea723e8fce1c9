//! Which signals of the simulated hardware are which events of the platform's table.

use solo_model::{Counts, EventId, EventSet, EventTable, Signal, SignalCounts};

/// The events of a table that the simulated machine can count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wiring {
    set: EventSet,
    /// By id; `None` where nothing here counts it.
    signals: Vec<Option<Signal>>,
}

impl Wiring {
    /// The events of `table`.
    pub fn new(table: &EventTable) -> Self {
        let mut signals = vec![None; EventId::CAPACITY];
        table.simulated().for_each(|(event, signal)| signals[event.index()] = Some(signal));
        Self { set: table.simulated().map(|(event, _)| event).collect(), signals }
    }

    /// The signal of `event`; `None` where the machine has none for it.
    pub fn signal(&self, event: EventId) -> Option<Signal> {
        self.signals[event.index()]
    }

    /// What was counted of every event.
    pub fn counts(&self, signals: &SignalCounts) -> Counts {
        Counts::of(self.set, |event| self.signals[event.index()].map_or(0, |signal| signals[signal]))
    }

    /// The signals behind counts; those of no event, and of events that were not counted, are zero.
    pub fn signals(&self, counts: &Counts) -> SignalCounts {
        let mut signals = SignalCounts::ZERO;
        for (event, count) in counts.iter() {
            if let Some(signal) = self.signal(event) {
                signals[signal] = count;
            }
        }
        signals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::event::{Definition, Unit};

    #[test]
    fn signals_are_counted_under_the_names_that_the_table_gives_them() {
        let event = |name: &'static str, signal| Definition {
            name: name.into(),
            unit: Unit::Times,
            meaning: "Something.".into(),
            signal,
            code: None,
        };
        let own = [event("hitm_answers", Some(Signal::ExtSnoopHitm)), event("unknown_here", None)];
        let table = EventTable::with(own).expect("two names");
        let wiring = Wiring::new(&table);
        let id = |name| table.find(name).expect("it is defined");
        let mut signals = SignalCounts::ZERO;
        signals.add(Signal::ExtSnoopHitm, 3);
        signals.add(Signal::LlcMiss, 2);
        // No event of this table is it.
        signals.add(Signal::CmpSnoopShare, 9);
        let counts = wiring.counts(&signals);
        assert_eq!(counts.get(id("hitm_answers")), Some(3));
        assert_eq!(counts.get(EventId::LLC_MISSES), Some(2));
        assert_eq!(counts.get(EventId::CYCLES), Some(0), "counted, and zero");
        assert_eq!(counts.get(id("unknown_here")), None, "not counted");
        assert_eq!(counts.get(EventId::BRANCHES), None, "not counted");
        let back = wiring.signals(&counts);
        assert_eq!((back[Signal::ExtSnoopHitm], back[Signal::CmpSnoopShare]), (3, 0));
    }
}

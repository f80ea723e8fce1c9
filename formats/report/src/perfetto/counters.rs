//! Counter tracks of anything, for traces that are not runs of a scenario.

use super::{CounterDescriptor, Data, EventType, STATE_CLEARED, encode, group, track, track_event};
use solo_model::Instant;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The track of the first group; a group's counters follow it.
const FIRST: u64 = 1 << 8;

/// Writes counter tracks in named groups, each described when its first value comes.
pub struct CounterTrace<W> {
    out: W,
    groups: BTreeMap<String, u64>,
    counters: BTreeMap<(u64, String), u64>,
    next: u64,
    packet: Vec<u8>,
}

impl<W: Write> CounterTrace<W> {
    /// An empty trace.
    pub fn new(out: W) -> Self {
        Self { out, groups: BTreeMap::new(), counters: BTreeMap::new(), next: FIRST, packet: Vec::new() }
    }

    /// `counter` of `owner` has `value` from `from` on.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn value(
        &mut self,
        owner: &str,
        counter: &str,
        unit: &str,
        from: Instant,
        value: i64,
    ) -> io::Result<()> {
        let parent = match self.groups.get(owner) {
            Some(uuid) => *uuid,
            None => {
                let first = self.groups.is_empty().then_some(STATE_CLEARED);
                let uuid = self.fresh();
                self.groups.insert(owner.to_owned(), uuid);
                let descriptor = group(uuid, owner, i32::try_from(self.groups.len()).unwrap_or(i32::MAX));
                self.write(from, Data::TrackDescriptor(descriptor), first)?;
                uuid
            }
        };
        let key = (parent, counter.to_owned());
        let uuid = match self.counters.get(&key) {
            Some(uuid) => *uuid,
            None => {
                let uuid = self.fresh();
                let mut descriptor = track(uuid, counter, parent, self.counters.len());
                descriptor.counter = Some(CounterDescriptor { unit_name: Some(unit.into()) });
                self.write(from, Data::TrackDescriptor(descriptor), None)?;
                self.counters.insert(key, uuid);
                uuid
            }
        };
        let mut event = track_event(uuid, EventType::Counter, None);
        event.counter_value = Some(value);
        self.write(from, Data::TrackEvent(event), None)
    }

    /// Completes the trace.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn write(&mut self, at: Instant, data: Data, flags: Option<u32>) -> io::Result<()> {
        self.packet.clear();
        encode(at, data, flags, &mut self.packet);
        self.out.write_all(&self.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode;
    use super::*;

    #[test]
    fn tracks_are_described_once_before_their_first_value() {
        let mut trace = CounterTrace::new(Vec::new());
        for at in [0, 10] {
            trace.value("thread 7", "page_faults", "1", Instant::new(at), 3).unwrap();
            trace.value("thread 7", "cycles", "1", Instant::new(at), 4).unwrap();
        }
        let packets = decode(&trace.finish().unwrap()).unwrap();
        let descriptors = packets.iter().filter(|p| matches!(p.data, Some(Data::TrackDescriptor(_)))).count();
        assert_eq!((descriptors, packets.len()), (3, 7));
        assert_eq!(packets[0].sequence_flags, Some(STATE_CLEARED));
    }
}

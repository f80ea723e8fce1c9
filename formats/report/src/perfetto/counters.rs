//! Traces of what was sampled and not recorded event by event, such as a watch of Linux: the tracks of a run, as far as samples fill them.
//!
//! * `cores` has a track for each core and its counters, named as in the trace of a run (`core0 LLC misses`)
//! * `tasks` has a track for each thread or process: a slice for each stretch of samples in which it ran, and its counters
//!
//! Who ran between two samples, and in which order, is not known: a slice is as exact as the sampling period.

use super::{
    CORES, CounterDescriptor, Data, EventType, STATE_CLEARED, TASKS, TrackEvent, encode, group, track,
    track_event,
};
use solo_model::{CoreId, Instant};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The first track that is no group.
const FIRST: u64 = 1 << 8;

/// Whose samples they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Owner {
    /// A core.
    Core(CoreId),
    /// A thread, by the system's number.
    Thread(u32),
    /// A process with all its threads, by the system's number.
    Process(u32),
    /// Everything.
    Machine,
}

impl Owner {
    /// What it is called where nobody has told a name.
    fn unnamed(self) -> String {
        match self {
            Self::Core(core) => core.to_string(),
            Self::Thread(thread) => format!("thread {thread}"),
            Self::Process(process) => format!("process {process}"),
            Self::Machine => "machine".to_owned(),
        }
    }

    /// With the name that was told: numbers tell apart who is called alike.
    fn named(self, name: &str) -> String {
        match self {
            Self::Thread(number) | Self::Process(number) => format!("{name} {number}"),
            Self::Core(_) | Self::Machine => self.unnamed(),
        }
    }

    fn group(self) -> u64 {
        match self {
            Self::Core(_) | Self::Machine => CORES,
            Self::Thread(_) | Self::Process(_) => TASKS,
        }
    }

    /// True for who runs on a core, now and then.
    fn runs(self) -> bool {
        matches!(self, Self::Thread(_) | Self::Process(_))
    }
}

/// A track that was described.
struct Described {
    uuid: u64,
    name: String,
    /// The stretch under way in which it ran.
    ran: Option<(Instant, Instant)>,
}

/// Writes tracks of samples, each described before what is first on it.
pub struct SampledTrace<W> {
    out: W,
    names: BTreeMap<Owner, String>,
    owners: BTreeMap<Owner, Described>,
    counters: BTreeMap<(Owner, String), u64>,
    groups: Vec<u64>,
    next: u64,
    packet: Vec<u8>,
}

/// An event as traces of runs call it.
fn label(event: &str) -> &str {
    match event {
        "llc_misses" => "LLC misses",
        other => other,
    }
}

impl<W: Write> SampledTrace<W> {
    /// An empty trace.
    pub fn new(out: W) -> Self {
        Self {
            out,
            names: BTreeMap::new(),
            owners: BTreeMap::new(),
            counters: BTreeMap::new(),
            groups: Vec::new(),
            next: FIRST,
            packet: Vec::new(),
        }
    }

    /// What `owner` is called, from its first sample on.
    pub fn name(&mut self, owner: Owner, name: &str) {
        self.names.insert(owner, name.to_owned());
    }

    /// `counter` of `owner` has `value` from `from` on.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn value(
        &mut self,
        owner: Owner,
        counter: &str,
        unit: &str,
        from: Instant,
        value: i64,
    ) -> io::Result<()> {
        self.describe(owner, from)?;
        let key = (owner, counter.to_owned());
        let uuid = match self.counters.get(&key) {
            Some(uuid) => *uuid,
            None => {
                let uuid = self.fresh();
                let of = self.owners.get(&owner).map_or("", |described| described.name.as_str());
                let name = format!("{of} {}", label(counter));
                let mut descriptor = track(uuid, &name, owner.group(), self.next as usize);
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

    /// A thread or process ran between two samples. Stretches that meet are one slice.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn ran(&mut self, owner: Owner, from: Instant, to: Instant) -> io::Result<()> {
        if !owner.runs() || to <= from {
            return Ok(());
        }
        self.describe(owner, from)?;
        let Some(described) = self.owners.get_mut(&owner) else { return Ok(()) };
        match &mut described.ran {
            Some((begin, end)) if from <= *end => {
                (*begin, *end) = ((*begin).min(from), (*end).max(to));
                Ok(())
            }
            other => {
                let before = other.replace((from, to));
                let uuid = described.uuid;
                before.map_or(Ok(()), |stretch| self.slice(uuid, stretch))
            }
        }
    }

    /// A thread or process has ended.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn ended(&mut self, owner: Owner, at: Instant) -> io::Result<()> {
        let Some(described) = self.owners.get_mut(&owner) else { return Ok(()) };
        let (uuid, ran) = (described.uuid, described.ran.take());
        if let Some(stretch) = ran {
            self.slice(uuid, stretch)?;
        }
        self.write(
            at,
            Data::TrackEvent(track_event(uuid, EventType::Instant, Some("ended".to_owned()))),
            None,
        )
    }

    /// Completes the trace.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn finish(mut self) -> io::Result<W> {
        let under_way: Vec<(u64, (Instant, Instant))> =
            self.owners.values().filter_map(|described| Some((described.uuid, described.ran?))).collect();
        for (uuid, stretch) in under_way {
            self.slice(uuid, stretch)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn slice(&mut self, uuid: u64, (from, to): (Instant, Instant)) -> io::Result<()> {
        let event =
            |kind, name: Option<&str>| -> TrackEvent { track_event(uuid, kind, name.map(str::to_owned)) };
        self.write(from, Data::TrackEvent(event(EventType::SliceBegin, Some("ran"))), None)?;
        self.write(to, Data::TrackEvent(event(EventType::SliceEnd, None)), None)
    }

    /// Describes the owner's group and track, once.
    fn describe(&mut self, owner: Owner, at: Instant) -> io::Result<()> {
        if self.owners.contains_key(&owner) {
            return Ok(());
        }
        let above = owner.group();
        if !self.groups.contains(&above) {
            let first = self.groups.is_empty().then_some(STATE_CLEARED);
            self.groups.push(above);
            let (name, rank) = if above == CORES { ("cores", 0) } else { ("tasks", 1) };
            self.write(at, Data::TrackDescriptor(group(above, name, rank)), first)?;
        }
        let name = self.names.get(&owner).map_or_else(|| owner.unnamed(), |name| owner.named(name));
        let uuid = self.fresh();
        let descriptor = track(uuid, &name, above, self.next as usize);
        self.owners.insert(owner, Described { uuid, name, ran: None });
        self.write(at, Data::TrackDescriptor(descriptor), None)
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
    use super::super::{TracePacket, decode};
    use super::*;

    fn described(packets: &[TracePacket]) -> Vec<(u64, String)> {
        let of = |packet: &TracePacket| match &packet.data {
            Some(Data::TrackDescriptor(track)) => Some((track.uuid?, track.name.clone()?)),
            _ => None,
        };
        packets.iter().filter_map(of).collect()
    }

    #[test]
    fn tracks_are_described_once_before_their_first_value() {
        let mut trace = SampledTrace::new(Vec::new());
        let owner = Owner::Thread(7);
        for at in [0, 10] {
            trace.value(owner, "page_faults", "1/s", Instant::new(at), 3).unwrap();
            trace.value(owner, "cycles", "1/s", Instant::new(at), 4).unwrap();
        }
        let packets = decode(&trace.finish().unwrap()).unwrap();
        assert_eq!((described(&packets).len(), packets.len()), (4, 8));
        assert_eq!(packets[0].sequence_flags, Some(STATE_CLEARED));
    }

    #[test]
    fn tracks_are_called_as_in_the_trace_of_a_run() {
        let mut trace = SampledTrace::new(Vec::new());
        trace.value(Owner::Core(CoreId(3)), "llc_misses", "1/s", Instant::ZERO, 1).unwrap();
        trace.name(Owner::Thread(7), "sh");
        trace.ran(Owner::Thread(7), Instant::ZERO, Instant::new(1)).unwrap();
        trace.value(Owner::Thread(8), "cycles", "1/s", Instant::ZERO, 1).unwrap();
        let packets = decode(&trace.finish().unwrap()).unwrap();
        let names: Vec<String> = described(&packets).into_iter().map(|(_, name)| name).collect();
        assert_eq!(
            names,
            ["cores", "core3", "core3 LLC misses", "tasks", "sh 7", "thread 8", "thread 8 cycles"]
        );
    }

    #[test]
    fn stretches_that_meet_are_one_slice_and_gaps_stay() {
        let mut trace = SampledTrace::new(Vec::new());
        let owner = Owner::Thread(7);
        for (from, to) in [(0, 10), (10, 20), (35, 40), (40, 41), (50, 50)] {
            trace.ran(owner, Instant::new(from), Instant::new(to)).unwrap();
        }
        trace.ended(owner, Instant::new(41)).unwrap();
        trace.ran(Owner::Core(CoreId(0)), Instant::ZERO, Instant::new(9)).unwrap();
        let packets = decode(&trace.finish().unwrap()).unwrap();
        let events: Vec<(u64, EventType)> = packets
            .iter()
            .filter_map(|packet| match &packet.data {
                Some(Data::TrackEvent(event)) => Some((packet.timestamp?, event.r#type())),
                _ => None,
            })
            .collect();
        let (begin, end) = (EventType::SliceBegin, EventType::SliceEnd);
        assert_eq!(events, [(0, begin), (20, end), (35, begin), (41, end), (41, EventType::Instant)]);
    }
}

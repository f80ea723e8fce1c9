//! Perfetto traces, decoded again: what a viewer relies on.

use crate::fabricate::*;
use solo_model::*;
use solo_report::perfetto::*;
use std::collections::BTreeMap;

/// The records, the packets, and how many jobs were not drawn.
fn trace(what: &(Experiment, Vec<Load>), end: Duration) -> (Vec<Record>, Vec<TracePacket>, u64) {
    let records: Vec<Record> = Stream::new(what, 1).until(end).collect();
    let mut writer = TraceWriter::new(Vec::new(), &what.0).unwrap();
    records.iter().for_each(|record| writer.add(record).unwrap());
    let (bytes, not_drawn) = writer.finish(Instant::ZERO + end).unwrap();
    (records, decode(&bytes).unwrap(), not_drawn)
}

fn events(packets: &[TracePacket]) -> impl Iterator<Item = (u64, &TrackEvent)> {
    packets.iter().filter_map(|packet| match &packet.data {
        Some(Data::TrackEvent(event)) => Some((packet.timestamp.unwrap(), event)),
        _ => None,
    })
}

#[test]
fn slices_nest_and_time_never_goes_back_on_a_track() {
    let (_, packets, not_drawn) = trace(&mix(), Duration::from_millis(300));
    let mut known = BTreeMap::new();
    let mut depth: BTreeMap<u64, i32> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for packet in &packets {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        let at = packet.timestamp.unwrap();
        match packet.data.as_ref().unwrap() {
            Data::TrackDescriptor(track) => {
                if let Some(parent) = track.parent_uuid {
                    assert!(known.contains_key(&parent), "a parent is described before its children");
                }
                let fresh = known.insert(track.uuid.unwrap(), track.counter.is_some()).is_none();
                assert!(fresh, "a track is described once");
            }
            Data::TrackEvent(event) => {
                let uuid = event.track_uuid.unwrap();
                let is_counter = *known.get(&uuid).expect("a track is described before its events");
                let before = last.insert(uuid, at).unwrap_or(0);
                assert!(before <= at, "time goes back on track {uuid}");
                let depth = depth.entry(uuid).or_default();
                match event.r#type() {
                    EventType::SliceBegin => *depth += 1,
                    EventType::SliceEnd => *depth -= 1,
                    EventType::Counter => assert!(is_counter && event.counter_value.unwrap() >= 0),
                    EventType::Instant => {}
                    EventType::Unspecified => panic!("an event without a type"),
                }
                assert!((0..=1).contains(depth), "track {uuid} has depth {depth}");
            }
        }
    }
    assert!(depth.values().all(|depth| *depth == 0), "every slice ends");
    assert_eq!(packets[0].sequence_flags, Some(1));
    assert_eq!(not_drawn, 4, "jobs of the overloaded task beyond its eight lines");
}

#[test]
fn every_job_switch_miss_and_sample_is_in_the_trace() {
    let (records, packets, not_drawn) = trace(&corun(), Duration::from_secs(2));
    assert_eq!(not_drawn, 0);
    let count = |kind: EventType| events(&packets).filter(|(_, event)| event.r#type() == kind).count();
    let released = records.iter().filter(|record| matches!(record, Record::Release(_))).count();
    let dispatched =
        records.iter().filter(|record| matches!(record, Record::Switch(s) if s.to.is_some())).count();
    let missed = records.iter().filter(|record| matches!(record, Record::Job(job) if job.missed())).count();
    let samples = records.iter().filter(|record| matches!(record, Record::Sample(_))).count();
    assert!(missed > 5);
    assert_eq!(count(EventType::SliceBegin), released + dispatched);
    assert_eq!(count(EventType::SliceBegin), count(EventType::SliceEnd));
    assert_eq!(count(EventType::Instant), missed);
    assert_eq!(count(EventType::Counter), 2 * samples);
    let names: Vec<String> = packets
        .iter()
        .filter_map(|packet| match &packet.data {
            Some(Data::TrackDescriptor(track)) => track.name.clone(),
            _ => None,
        })
        .collect();
    for name in ["cores", "tasks", "core0", "core1 DRAM bandwidth", "core1 LLC misses", "frame", "screen"] {
        assert!(names.iter().any(|known| known == name), "no track {name}");
    }
}

#[test]
fn a_trace_that_is_cut_is_not_decoded() {
    let what = solo();
    let writer = TraceWriter::new(Vec::new(), &what.0).unwrap();
    let (bytes, _) = writer.finish(Instant::ZERO).unwrap();
    assert!(decode(&bytes).is_ok());
    assert!(decode(&bytes[..bytes.len() - 1]).is_err());
}

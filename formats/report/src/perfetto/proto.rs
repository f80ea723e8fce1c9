//! The few messages of Perfetto's trace format that a report needs, with their public field numbers
//! (perfetto/protos/perfetto/trace/...: `trace_packet`, `track_event`, `track_descriptor`).

use prost::{Message, Oneof};

/// One packet; a trace file is a sequence of them, each as field 1 of the root message.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// Nanoseconds on the trace's clock.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Which sequence the packet belongs to.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Bit 0: the sequence's interned state is clear from here on.
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// The content.
    #[prost(oneof = "Data", tags = "11, 60")]
    pub data: Option<Data>,
}

/// The content of a packet.
#[derive(Clone, PartialEq, Oneof)]
pub enum Data {
    /// Something that happened on a track.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// A track.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

/// Something that happened on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// Name and value pairs, shown beside the event.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// What kind of event.
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Categories to filter by.
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    /// The name of a slice or instant.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// The value of a counter.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
}

/// The kinds of track events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// None.
    Unspecified = 0,
    /// A slice begins.
    SliceBegin = 1,
    /// The innermost open slice of the track ends.
    SliceEnd = 2,
    /// A moment.
    Instant = 3,
    /// A counter's value from now on.
    Counter = 4,
}

/// A name and an unsigned value.
#[derive(Clone, PartialEq, Message)]
pub struct DebugAnnotation {
    /// An unsigned value.
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Identifies the track within the trace.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track it is shown under.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Present for counter tracks.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// How children are ordered: 1 by name, 2 by time, 3 by rank.
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// The place among its siblings, the lowest first.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// What a counter counts.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    /// The unit's name.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

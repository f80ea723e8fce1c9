//! Runs as Perfetto traces (<https://ui.perfetto.dev>): a track for each core, each task and each counter.
//!
//! * a core's track: a slice for each stretch in which a task ran
//! * a task's track: a slice for each job from release to finish, on a line of its own where jobs overlap; a
//!   missed deadline is an instant called `deadline missed` at the deadline
//! * a core's counter tracks: DRAM bandwidth and last-level cache misses; of a regulated core also what counted against its budget, and
//!   the budget
//! * a task's counter track: what the policy's monitor says of it, where that is recorded
//!
//! Packets are written as records come. Memory depends on the numbers of tasks, cores and unfinished jobs.

mod counters;
mod proto;

pub use counters::{Owner, SampledTrace};
pub use proto::*;

use prost::Message;
use solo_model::record::{JobRecord, MetricRecord, RegulationRecord, ReleaseRecord, SwitchRecord};
use solo_model::{
    Bandwidth, Bytes, CoreId, CoreSet, Duration, EventId, Events, Experiment, Instant, JobIndex, Record,
    Sample, TaskId,
};
use std::io::{self, Write};

/// The one sequence that all packets belong to.
const SEQUENCE: u32 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`.
const STATE_CLEARED: u32 = 1;
const ORDER_BY_RANK: i32 = 3;
/// Overlapping jobs of a task beyond this many share the last line's fate: they are counted, not drawn.
const LINES: usize = 8;

const CORES: u64 = 1;
const TASKS: u64 = 2;
const FIRST_CORE: u64 = 1 << 8;
const FIRST_TASK: u64 = 1 << 20;
const FIRST_METRIC: u64 = 1 << 40;
/// Tracks of a core: its own, and its counters.
const TRACKS: u64 = 5;

/// Writes a trace while records come.
pub struct TraceWriter<W> {
    out: W,
    task_names: Vec<String>,
    line_size: Bytes,
    /// The cores with budgets, and the period of these.
    regulated: CoreSet,
    period: Duration,
    /// The task that each core runs.
    running: Vec<Option<TaskId>>,
    /// The jobs on the lines of each task's track.
    open: Vec<[Option<JobIndex>; LINES]>,
    /// Which lines have a track already.
    described: Vec<usize>,
    /// What the policy's monitor makes, and of which tasks it has said something.
    metric: &'static str,
    told: Vec<bool>,
    now: Instant,
    not_drawn: u64,
    packet: Vec<u8>,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace: describes the tracks of all cores and tasks.
    ///
    /// # Errors
    /// When `out` refuses.
    pub fn new(out: W, experiment: &Experiment) -> io::Result<Self> {
        let cores = experiment.platform.cores.len();
        let regulation = experiment.isolation.bandwidth.as_ref();
        let mut writer = Self {
            out,
            task_names: experiment.tasks.iter().map(|task| task.name.clone()).collect(),
            line_size: experiment.platform.line(),
            regulated: regulation.iter().flat_map(|own| &own.cores).map(|entry| entry.core).collect(),
            period: regulation.map_or(Duration::ZERO, |regulation| regulation.period),
            running: vec![None; cores],
            open: vec![[None; LINES]; experiment.tasks.len()],
            described: vec![0; experiment.tasks.len()],
            metric: experiment.listening.as_ref().map_or("", |listening| listening.observed.metric()),
            told: vec![false; experiment.tasks.len()],
            now: Instant::ZERO,
            not_drawn: 0,
            packet: Vec::new(),
        };
        writer.describe(group(CORES, "cores", 0), Some(STATE_CLEARED))?;
        writer.describe(group(TASKS, "tasks", 1), None)?;
        for core in 0..cores {
            let (uuid, core_name) = (core_track(core), CoreId(core as u16).to_string());
            let rank = TRACKS as usize * core;
            writer.describe(track(uuid, &core_name, CORES, rank), None)?;
            let counters = [
                (1, "DRAM bandwidth", "B/s"),
                (2, "LLC misses", "1/s"),
                (3, "budget used", "B/s"),
                (4, "budget", "B/s"),
            ];
            let own = if writer.regulated.contains(CoreId(core as u16)) { 4 } else { 2 };
            for (offset, name, unit) in counters.into_iter().take(own) {
                let mut counter =
                    track(uuid + offset, &format!("{core_name} {name}"), CORES, rank + offset as usize);
                counter.counter = Some(CounterDescriptor { unit_name: Some(unit.into()) });
                writer.describe(counter, None)?;
            }
        }
        Ok(writer)
    }

    /// Takes in the next record; records come in the order of their times. Records of unknown tasks or cores
    /// and records from the past are left out.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        if record.at() < self.now {
            return Ok(());
        }
        self.now = record.at();
        match record {
            Record::Switch(switch) => self.switch(switch),
            Record::Release(release) => self.release(release),
            Record::Job(job) => self.finish_job(job),
            Record::Sample(sample) => self.sample(sample),
            Record::Metric(told) => self.metric(told),
            Record::Ipi(_)
            | Record::Lock(_)
            | Record::Overhead(_)
            | Record::Dropped(_)
            | Record::Unfinished(_)
            | Record::Skipped(_)
            | Record::Sleep(_)
            | Record::Wait(_)
            | Record::Held(_)
            | Record::Budget(_)
            | Record::Transfer(_)
            | Record::Interrupt(_)
            | Record::Energy(_)
            | Record::Conservation(_)
            | Record::Throttle(_) => Ok(()),
            Record::Regulation(period) => self.period(period),
        }
    }

    /// Ends all open slices at `end`; gives back the output and the number of jobs that were not drawn
    /// because too many of one task overlapped.
    ///
    /// # Errors
    /// When the output refuses.
    pub fn finish(mut self, end: Instant) -> io::Result<(W, u64)> {
        self.now = self.now.max(end);
        for core in 0..self.running.len() {
            if self.running[core].take().is_some() {
                self.event(core_track(core), EventType::SliceEnd, None)?;
            }
        }
        for task in 0..self.open.len() {
            for line in 0..LINES {
                if self.open[task][line].take().is_some() {
                    self.event(task_track(task, line), EventType::SliceEnd, None)?;
                }
            }
        }
        self.out.flush()?;
        Ok((self.out, self.not_drawn))
    }

    fn switch(&mut self, switch: &SwitchRecord) -> io::Result<()> {
        let core = switch.core.index();
        let Some(running) = self.running.get_mut(core) else { return Ok(()) };
        let before = std::mem::replace(running, switch.to);
        if before == switch.to {
            return Ok(());
        }
        if before.is_some() {
            self.event(core_track(core), EventType::SliceEnd, None)?;
        }
        match switch.to {
            Some(task) => {
                let name = self.task_names.get(task.index()).cloned().unwrap_or_else(|| task.to_string());
                self.event(core_track(core), EventType::SliceBegin, Some(name))
            }
            None => Ok(()),
        }
    }

    fn release(&mut self, release: &ReleaseRecord) -> io::Result<()> {
        let task = release.task.index();
        let Some(lines) = self.open.get_mut(task) else { return Ok(()) };
        let Some(line) = lines.iter().position(Option::is_none) else {
            self.not_drawn += 1;
            return Ok(());
        };
        lines[line] = Some(release.job);
        if self.described[task] <= line {
            self.described[task] = line + 1;
            let name = match line {
                0 => self.task_names[task].clone(),
                _ => format!("{} ({})", self.task_names[task], line + 1),
            };
            self.describe(track(task_track(task, line), &name, TASKS, task * LINES + line), None)?;
        }
        self.event(task_track(task, line), EventType::SliceBegin, Some(format!("job {}", release.job.0)))
    }

    fn finish_job(&mut self, job: &JobRecord) -> io::Result<()> {
        let task = job.task.index();
        let Some(lines) = self.open.get_mut(task) else { return Ok(()) };
        let Some(line) = lines.iter().position(|open| *open == Some(job.job)) else { return Ok(()) };
        lines[line] = None;
        let uuid = task_track(task, line);
        if job.missed() {
            let late = annotation("tardiness_ns", job.tardiness().get());
            let mut event = track_event(uuid, EventType::Instant, Some("deadline missed".into()));
            event.debug_annotations = vec![late];
            event.categories = vec!["miss".into()];
            self.write(self.now, Data::TrackEvent(event), None)?;
        }
        let mut event = track_event(uuid, EventType::SliceEnd, None);
        event.debug_annotations = vec![
            annotation("response_ns", job.response().get()),
            annotation("executed_ns", job.executed.get()),
            annotation("preemptions", u64::from(job.preemptions)),
        ];
        self.write(self.now, Data::TrackEvent(event), None)
    }

    fn sample(&mut self, sample: &Sample) -> io::Result<()> {
        let core = sample.core().map_or(usize::MAX, CoreId::index);
        if core >= self.running.len() || sample.span.is_zero() {
            return Ok(());
        }
        let bytes = crate::summary::dram_bytes(&sample.counts, self.line_size);
        let misses = sample.counts.get(EventId::LLC_MISSES).map(Bytes::new);
        // A counter's value holds from its time stamp on: it belongs at the beginning of the interval. So
        // packets are in the order of time on each track, but not across tracks; readers sort them.
        let from = Instant::new(sample.at.get().saturating_sub(sample.span.get()));
        for (offset, amount) in [(1, bytes), (2, misses)] {
            let Some(amount) = amount else { continue };
            let mut event = track_event(core_track(core) + offset, EventType::Counter, None);
            let rate = Bandwidth::average(amount, sample.span).get();
            event.counter_value = Some(i64::try_from(rate).unwrap_or(i64::MAX));
            self.write(from, Data::TrackEvent(event), None)?;
        }
        Ok(())
    }

    /// What a regulated core used and had reserved, from the beginning of the period on.
    fn period(&mut self, period: &RegulationRecord) -> io::Result<()> {
        let span = period.at.since(period.since);
        let core = period.core.index();
        if !self.regulated.contains(period.core) || span.is_zero() {
            return Ok(());
        }
        let line = self.line_size.get();
        let bytes = |events: [Events; 2]| {
            let sum = events
                .iter()
                .filter(|&&events| events != Events::MAX)
                .fold(Events::ZERO, |sum, &events| sum.saturating_add(events));
            Bytes::new(sum.get().saturating_mul(line))
        };
        let whole = self.period;
        for (offset, rate) in [
            (3, Bandwidth::average(bytes(period.used), span)),
            (4, Bandwidth::average(bytes(period.reserved), whole)),
        ] {
            let mut event = track_event(core_track(core) + offset, EventType::Counter, None);
            event.counter_value = Some(i64::try_from(rate.get()).unwrap_or(i64::MAX));
            self.write(period.since, Data::TrackEvent(event), None)?;
        }
        Ok(())
    }

    /// What the policy's monitor says of a task from here on.
    fn metric(&mut self, told: &MetricRecord) -> io::Result<()> {
        let (Some(value), Some(name)) = (told.value, self.task_names.get(told.task.index())) else {
            return Ok(());
        };
        let uuid = FIRST_METRIC + told.task.index() as u64;
        if !std::mem::replace(&mut self.told[told.task.index()], true) {
            let rank = self.open.len() * LINES + told.task.index();
            let mut counter = track(uuid, &format!("{name} {}", self.metric), TASKS, rank);
            counter.counter = Some(CounterDescriptor { unit_name: Some("thousandths".into()) });
            self.describe(counter, None)?;
        }
        let mut event = track_event(uuid, EventType::Counter, None);
        event.counter_value = Some(value.thousandths().clamp(i64::MIN.into(), i64::MAX.into()) as i64);
        self.write(told.at, Data::TrackEvent(event), None)
    }

    fn event(&mut self, uuid: u64, kind: EventType, name: Option<String>) -> io::Result<()> {
        self.write(self.now, Data::TrackEvent(track_event(uuid, kind, name)), None)
    }

    fn describe(&mut self, track: TrackDescriptor, flags: Option<u32>) -> io::Result<()> {
        self.write(self.now, Data::TrackDescriptor(track), flags)
    }

    fn write(&mut self, at: Instant, data: Data, sequence_flags: Option<u32>) -> io::Result<()> {
        self.packet.clear();
        encode(at, data, sequence_flags, &mut self.packet);
        self.out.write_all(&self.packet)
    }
}

/// Appends one packet as a field of the root message.
fn encode(at: Instant, data: Data, sequence_flags: Option<u32>, bytes: &mut Vec<u8>) {
    let packet = TracePacket {
        timestamp: Some(at.get()),
        trusted_packet_sequence_id: Some(SEQUENCE),
        sequence_flags,
        data: Some(data),
    };
    prost::encoding::message::encode(1, &packet, bytes);
}

/// Reads a trace back, packet by packet: for tests and for other tools of this house.
///
/// # Errors
/// When `trace` is not a sequence of packets.
pub fn decode(trace: &[u8]) -> Result<Vec<TracePacket>, prost::DecodeError> {
    /// The root message.
    #[derive(Clone, PartialEq, Message)]
    struct Trace {
        #[prost(message, repeated, tag = "1")]
        packet: Vec<TracePacket>,
    }
    Trace::decode(trace).map(|trace| trace.packet)
}

fn core_track(core: usize) -> u64 {
    FIRST_CORE + TRACKS * core as u64
}

fn task_track(task: usize, line: usize) -> u64 {
    FIRST_TASK + (task * LINES + line) as u64
}

fn group(uuid: u64, name: &str, rank: i32) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name.into()),
        child_ordering: Some(ORDER_BY_RANK),
        sibling_order_rank: Some(rank),
        ..TrackDescriptor::default()
    }
}

fn track(uuid: u64, name: &str, parent: u64, rank: usize) -> TrackDescriptor {
    TrackDescriptor {
        uuid: Some(uuid),
        name: Some(name.into()),
        parent_uuid: Some(parent),
        sibling_order_rank: Some(i32::try_from(rank).unwrap_or(i32::MAX)),
        ..TrackDescriptor::default()
    }
}

fn track_event(uuid: u64, kind: EventType, name: Option<String>) -> TrackEvent {
    TrackEvent { r#type: Some(kind as i32), track_uuid: Some(uuid), name, ..TrackEvent::default() }
}

fn annotation(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { uint_value: Some(value), name: Some(name.into()) }
}

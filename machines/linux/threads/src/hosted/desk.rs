//! The machine under a hosted kernel: what it asks for is kept until its entry is over, and then carried out.

use solo_hal::{CacheControl, Edge, InterruptController, Pmu, Probe, Recorder, Timer};
use solo_model::{CoreId, CoreSet, Counts, Instant, Overhead, Record};

/// Records for which there is room from the beginning, so that a thread seldom asks for memory while it decides.
const ROOM: usize = 1 << 16;

/// Timers, requests between cores and records.
#[derive(Debug)]
pub(super) struct Desk {
    /// When the timer of each core is due.
    timers: Vec<Option<Instant>>,
    /// Cores that are asked to decide anew.
    asked: CoreSet,
    pub(super) records: Vec<Record>,
    /// What was counted of the job that is about to end.
    pub(super) counts: Counts,
}

impl Desk {
    pub(super) fn new(cores: usize) -> Self {
        let records = Vec::with_capacity(ROOM);
        Self { timers: vec![None; cores], asked: CoreSet::EMPTY, records, counts: Counts::default() }
    }

    /// A core that is asked to decide anew, no longer from now on.
    pub(super) fn next_asked(&mut self) -> Option<CoreId> {
        let core = self.asked.lowest()?;
        self.asked = self.asked.without(core);
        Some(core)
    }

    /// A core whose timer is due, no longer from now on.
    pub(super) fn next_due(&mut self, now: Instant) -> Option<CoreId> {
        let core = self.timers.iter().position(|at| at.is_some_and(|at| at <= now))?;
        self.timers[core] = None;
        Some(CoreId(core as u16))
    }

    /// When the first timer is due.
    pub(super) fn first(&self) -> Option<Instant> {
        self.timers.iter().flatten().min().copied()
    }
}

impl Timer for Desk {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.timers[core.index()] = Some(at);
    }

    fn disarm(&mut self, core: CoreId) {
        self.timers[core.index()] = None;
    }
}

impl InterruptController for Desk {
    fn send_reschedule(&mut self, _from: CoreId, to: CoreId, _now: Instant) {
        self.asked = self.asked.with(to);
    }
}

impl Probe for Desk {
    fn probe(&mut self, _core: CoreId, _overhead: Overhead, _edge: Edge) {}
}

impl Recorder for Desk {
    fn record(&mut self, _core: CoreId, mut record: Record) {
        if let Record::Job(job) = &mut record {
            job.counts = std::mem::take(&mut self.counts);
        }
        self.records.push(record);
    }
}

impl Pmu for Desk {}

impl CacheControl for Desk {}

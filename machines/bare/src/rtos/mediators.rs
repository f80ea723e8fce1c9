//! The hardware mediators on bare metal: what the kernel asks of this machine.

use super::clock::timebase;
use super::cores::Signal;
use super::devices::{self, Engine};
use super::port::{Counters, Port, Source};
use super::run_memory;
use super::shares::Shares;
use crate::agenda::{Agenda, MOST_CORES};
use crate::caps::Found;
use crate::lock::SpinLock;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_hal::{
    Able, CounterId, Edge, InterruptController, PmuError, Probe, Recorder, ScriptedCounters, Timer,
};
use solo_model::overhead::Path;
use solo_model::record::OverheadRecord;
use solo_model::{Caps, CoreId, CoreSet, Duration, EventId, EventTable, Instant, Overhead, Record};

/// The longest that an interrupt is put off while another core has to act first.
const LITTLE: Duration = Duration::from_micros(2);

/// The most records that are kept until the end of a run.
pub(super) const MOST_RECORDS: usize = 200_000;

/// The tick at which the machine's time is zero. Under the settled clock it moves.
static ZERO: AtomicU64 = AtomicU64::new(0);

/// The machine's time.
#[inline]
pub fn now<P: Port>() -> Instant {
    let ticks = P::time_stamp().saturating_sub(ZERO.load(Ordering::Acquire));
    Instant::new(timebase().span(ticks).get())
}

/// Makes it `instant` now.
pub(super) fn set_now<P: Port>(instant: Instant) {
    let passed = timebase().ticks(Duration::new(instant.get()));
    ZERO.store(P::time_stamp().wrapping_sub(passed), Ordering::Release);
}

/// The counters of a core of a port.
type CountersOf<P> = <<P as Port>::Source as super::port::Source>::Counters;

/// The machine as the kernel sees it. It is reached under the kernel's lock only.
#[derive(Debug)]
pub struct Mediators<P: Port> {
    /// What is programmed and requested, core by core.
    pub agenda: Agenda,
    /// Whether interrupts are programmed at the end of an entry, when the settled time is known.
    pub settled: bool,
    /// Records that fill their piece of memory, in order, and those after them.
    full: Vec<Vec<Record>>,
    records: Vec<Record>,
    space: RecordSpace<P>,
    /// Records that found no place.
    pub dropped: u64,
    probes: Option<Probes>,
    source: Option<P::Source>,
    /// What the ids of events mean.
    events: EventTable,
    /// The counters of each core that has begun.
    counters: Vec<Option<CountersOf<P>>>,
    /// What counters of instructions count of their own core's, where the emulator has one count for all: core by core.
    shares: Vec<Shares>,
    /// What the kernel reads instead, where the experiment says so.
    script: Option<Script>,
    /// The devices that its cores start, and when each core has to look at its own.
    engines: Vec<Engine>,
    looks: [Instant; MOST_CORES],
}

/// Where counts come from.
#[derive(Debug)]
pub struct CountsFrom<S> {
    /// Counters that count.
    pub source: Option<S>,
    /// What the ids of events mean.
    pub events: EventTable,
    /// Counts that are written down.
    pub script: Option<ScriptedCounters>,
    /// Counters of instructions count those of all cores.
    pub is_shared: bool,
}

/// Counters by a script, and the time of the entry that asks them.
#[derive(Debug)]
struct Script {
    counters: ScriptedCounters,
    now: Instant,
}

/// Memory for records, in pieces: parts of the kernel take one after the other, as they need them. Its lock is the innermost of all.
#[derive(Debug)]
pub struct RecordSpace<P: Port> {
    pieces: Arc<SpinLock<P, Vec<Vec<Record>>>>,
    most: usize,
}

impl<P: Port> Clone for RecordSpace<P> {
    fn clone(&self) -> Self {
        Self { pieces: self.pieces.clone(), most: self.most }
    }
}

impl<P: Port> RecordSpace<P> {
    /// The records of a piece.
    const PIECE: usize = 1000;

    /// Room for `records` records; `None` if there is no memory for them.
    #[inline(never)] // once, not for each criterion
    pub fn new(records: usize) -> Option<Self> {
        let most = records.div_ceil(Self::PIECE);
        let mut pieces = Vec::with_capacity(most);
        for _ in 0..most {
            let mut piece = Vec::new();
            piece.try_reserve_exact(Self::PIECE).ok()?;
            pieces.push(piece);
        }
        Some(Self { pieces: Arc::new(SpinLock::new(pieces)), most })
    }

    fn piece(&self) -> Option<Vec<Record>> {
        self.pieces.lock().pop()
    }
}

/// When the kernel paths that are under way began, in ticks.
#[derive(Clone, Copy, Debug)]
struct Probes {
    /// What an empty path measures: the price of looking.
    empty: u64,
    path: [u64; MOST_CORES],
    /// When a core was last asked to reschedule.
    asked: [u64; MOST_CORES],
    /// When a core last began to change stacks.
    switching: [u64; MOST_CORES],
}

impl<P: Port> Mediators<P> {
    /// A machine that keeps records in `space`, and counts where `source` does.
    #[inline(never)] // once, not for each criterion
    pub fn new(
        agenda: Agenda,
        settled: bool,
        probes: bool,
        space: RecordSpace<P>,
        counting: CountsFrom<P::Source>,
    ) -> Self {
        let CountsFrom { source, events, script, is_shared } = counting;
        let fresh =
            Probes { empty: 0, path: [0; MOST_CORES], asked: [0; MOST_CORES], switching: [0; MOST_CORES] };
        let (full, records) = (Vec::with_capacity(space.most), Vec::new());
        let probes = probes.then_some(fresh);
        let counters = (0..if source.is_some() { MOST_CORES } else { 0 }).map(|_| None).collect();
        let shares = if is_shared { alloc::vec![Shares::default(); MOST_CORES] } else { Vec::new() };
        let script = script.map(|counters| Script { counters, now: Instant::ZERO });
        let mut machine = Self {
            agenda,
            settled,
            full,
            records,
            space,
            dropped: 0,
            probes,
            source,
            events,
            counters,
            shares,
            script,
            engines: Vec::new(),
            looks: [Instant::MAX; MOST_CORES],
        };
        machine.measure_empty_path();
        machine
    }

    /// Its cores start the devices of `engines`.
    #[inline(never)] // once, not for each criterion
    pub(super) fn give_devices(&mut self, engines: Vec<Engine>, cores: CoreSet) {
        self.engines = engines;
        for core in cores.iter() {
            self.looks[core.index()] = devices::next(&self.engines, core);
        }
    }

    /// Looks at the devices of `core` whose time has come at `now`.
    #[inline(never)] // once, not for each criterion
    pub(super) fn serve_devices(&mut self, core: CoreId, now: Instant) {
        let mut engines = core::mem::take(&mut self.engines);
        devices::serve(&mut engines, core, now, |record, interrupted| {
            self.keep(move || Record::Transfer(record));
            interrupted.into_iter().for_each(devices::raise::<P>);
        });
        self.looks[core.index()] = devices::next(&engines, core);
        self.engines = engines;
    }

    /// When `core` has to look at its devices; the end of time where it starts none.
    #[inline]
    pub(super) fn looks_at_devices(&self, core: CoreId) -> Instant {
        if P::HAS_DEVICES { self.looks[core.index()] } else { Instant::MAX }
    }

    /// Its devices touch no memory any more.
    pub(super) fn silence_devices(&mut self) {
        if P::HAS_DEVICES {
            self.engines.iter_mut().for_each(Engine::quiet);
        }
    }

    /// The kernel is entered at `now`.
    #[inline]
    pub fn enter(&mut self, now: Instant) {
        if let Some(script) = &mut self.script {
            script.now = now;
        }
    }

    /// What the machine is able to do.
    pub fn caps(count: usize, settled: bool, source: Option<P::Source>, table: &EventTable) -> Caps {
        let placed =
            run_memory::with::<P, _>(|run| (run.colors().colors().count(), run.colors().banks().count()));
        // Where no map is laid yet, laying it says what can't be had.
        let (colors, banks) = placed.unwrap_or((1, 1));
        let found = Found {
            cores: count,
            timer_resolution: Duration::new(1_000_000_000u64.div_ceil(timebase().rate().get())),
            counting: source.map(|source| source.able(table)),
            settled,
            devices: P::HAS_DEVICES && !P::virtio().is_empty(),
            flushes_lines: P::flushed_line().is_some(),
            flushes_all: P::FLUSHES_ALL,
            colors,
            banks,
        };
        found.caps()
    }

    /// The records so far; they are given away.
    pub(super) fn take_records(&mut self) -> impl Iterator<Item = Record> + use<P> {
        let last = core::mem::take(&mut self.records);
        core::mem::take(&mut self.full).into_iter().chain(core::iter::once(last)).flatten()
    }

    /// The time of the last record.
    pub(super) fn last_at(&self) -> Option<Instant> {
        self.records.last().or_else(|| self.full.last()?.last()).map(Record::at)
    }

    /// Programs the interrupt that `core` needs next. Under the settled clock that is none while the job on the
    /// core has something to do before: whoever changes that programs anew. (An interrupt that came again and
    /// again would keep the job from doing it.)
    pub fn program(&self, core: CoreId) {
        let own = self.agenda.interrupt_at(core);
        let look = self.looks_at_devices(core);
        let first = if look < Instant::MAX { Some(own.map_or(look, |own| own.min(look))) } else { own };
        let Some(at) = first else { return P::stop_timer() };
        if self.settled {
            // Zero moves, and however long this takes on a busy host, the job gets a little from here on.
            return P::interrupt_after(at.since(now::<P>()).max(LITTLE));
        }
        let passed = timebase().ticks(Duration::new(at.get()));
        P::interrupt_at(ZERO.load(Ordering::Acquire).saturating_add(passed));
    }

    /// A reschedule request has arrived at `core`: its way is over.
    pub fn arrived(&mut self, core: CoreId, at: Instant) {
        let stamp = P::time_stamp();
        if let Some(probes) = &mut self.probes {
            let begin = core::mem::take(&mut probes.asked[core.index()]);
            if begin != 0 {
                self.keep_overhead(core, Overhead::Ipi, at, stamp - begin);
            }
        }
    }

    /// `core` begins to change stacks.
    #[inline]
    pub(super) fn begin_switch(&mut self, core: CoreId) {
        if let Some(probes) = &mut self.probes {
            probes.switching[core.index()] = P::time_stamp();
        }
    }

    /// `core` has changed stacks, at tick `stamp`.
    #[inline]
    pub(super) fn end_switch(&mut self, core: CoreId, stamp: u64) {
        if let Some(probes) = &mut self.probes {
            let begin = core::mem::take(&mut probes.switching[core.index()]);
            if begin != 0 {
                self.keep_overhead(core, Overhead::ContextSwitch, now::<P>(), stamp - begin);
            }
        }
    }

    fn measure_empty_path(&mut self) {
        let core = CoreId(0);
        for _ in 0..3 {
            self.probe(core, Overhead::Tick, Edge::Enter);
            self.probe(core, Overhead::Tick, Edge::Leave);
        }
        let empty = match self.records.last() {
            Some(Record::Overhead(record)) => timebase().ticks(record.cost),
            _ => 0,
        };
        self.records.clear();
        if let Some(probes) = &mut self.probes {
            probes.empty = empty;
        }
    }

    fn keep_overhead(&mut self, core: CoreId, overhead: Overhead, at: Instant, ticks: u64) {
        let empty = self.probes.as_ref().map_or(0, |probes| probes.empty);
        let cost = timebase().span(ticks.saturating_sub(empty));
        self.keep(move || Record::Overhead(OverheadRecord { at, core, overhead, cost }));
    }

    /// Keeps what `record` makes. It is made where it stays: passed on whole, each would be copied with all the room that the
    /// largest record needs.
    #[inline(never)] // once for each kind of record, not for each criterion
    fn keep(&mut self, record: impl FnOnce() -> Record) {
        if self.records.len() == self.records.capacity() && !self.next_piece() {
            self.dropped += 1;
            return;
        }
        let kept = self.records.len();
        if let Some(place) = self.records.spare_capacity_mut().first_mut() {
            // A push would carry the record over the stack once more, since it asks for room itself.
            place.write(record());
            // SAFETY: the place behind the last record has just been written.
            unsafe { self.records.set_len(kept + 1) };
        }
    }

    /// Goes on with an empty piece of memory, if there is one.
    #[cold]
    #[inline(never)]
    fn next_piece(&mut self) -> bool {
        let Some(piece) = self.space.piece() else { return false };
        let full = core::mem::replace(&mut self.records, piece);
        if !full.is_empty() {
            self.full.push(full);
        }
        true
    }
}

impl<P: Port> Mediators<P> {
    /// `core`, which asks, begins: its counters are there from now on, where there are any.
    pub(super) fn begin_counters(&mut self, core: CoreId) {
        if let (Some(counters), Some(source)) = (self.counters.get_mut(core.index()), self.source) {
            *counters = Some(source.begin());
        }
    }

    /// Tells the counters of `core`, where they are a model, that `event` has happened; true where that interrupts.
    pub fn happened(&mut self, core: CoreId, event: EventId) -> bool {
        let counters = self.counters.get_mut(core.index()).and_then(Option::as_mut);
        counters.is_some_and(|counters| counters.happened(event))
    }

    /// An interrupt of counters on `core`, which asks: the first that has counted what it was asked to.
    pub fn overflowed(&mut self, core: CoreId) -> Option<CounterId> {
        let counters = self.counters.get_mut(core.index())?.as_mut()?;
        let mut reached = counters.overflowed();
        if let Some(shares) = self.shares.get(core.index()) {
            reached &= !shares.go_on::<P>(core, counters, reached);
        }
        (reached != 0).then(|| CounterId(reached.trailing_zeros() as u8))
    }

    /// The counters of a core: the kernel asks for those of the calling core only, the only one that reaches them.
    fn counters(&mut self, core: CoreId, counter: CounterId) -> Result<&mut CountersOf<P>, PmuError> {
        debug_assert_eq!(core, P::current(), "another core's counters");
        let counters = self.counters.get_mut(core.index()).and_then(Option::as_mut);
        counters.ok_or(PmuError::NoSuchCounter { counter, counters: 0 })
    }
}

impl<P: Port> solo_hal::CacheControl for Mediators<P> {}

impl<P: Port> solo_hal::Pmu for Mediators<P> {
    fn configure(&mut self, core: CoreId, counter: CounterId, event: EventId) -> Result<(), PmuError> {
        debug_assert_eq!(core, P::current(), "another core's counters");
        if let Some(script) = &mut self.script {
            return script.counters.configure(core, counter, event, script.now);
        }
        let counters = self.counters.get_mut(core.index()).and_then(Option::as_mut);
        let counters = counters.ok_or(PmuError::NoSuchCounter { counter, counters: 0 })?;
        if let Some(shares) = self.shares.get_mut(core.index()) {
            shares.configure::<P>(core, counter, event);
        }
        counters.configure(counter, event, &self.events)
    }

    fn read(&self, core: CoreId, counter: CounterId) -> Result<u64, PmuError> {
        if let Some(script) = &self.script {
            return script.counters.read(core, counter, script.now);
        }
        let counters = self.counters.get(core.index()).and_then(Option::as_ref);
        let all = counters.ok_or(PmuError::NoSuchCounter { counter, counters: 0 })?.read(counter)?;
        let own = self.shares.get(core.index()).and_then(|shares| shares.value::<P>(core, counter));
        Ok(own.unwrap_or(all))
    }

    fn write(&mut self, core: CoreId, counter: CounterId, value: u64) -> Result<(), PmuError> {
        if let Some(script) = &mut self.script {
            return script.counters.write(core, counter, value, script.now);
        }
        if let Some(shares) = self.shares.get_mut(core.index()) {
            shares.write::<P>(core, counter, value);
        }
        self.counters(core, counter)?.write(counter, value)
    }

    fn interrupt_after(&mut self, core: CoreId, counter: CounterId, events: u64) -> Result<(), PmuError> {
        if let Some(shares) = self.shares.get_mut(core.index()) {
            shares.interrupt_after::<P>(core, counter, events);
        }
        self.counters(core, counter)?.interrupt_after(counter, events)
    }

    fn start(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        self.counters(core, counter)?.run(counter, true)
    }

    fn stop(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        self.counters(core, counter)?.run(counter, false)
    }
}

impl<P: Port> Timer for Mediators<P> {
    /// The local APIC is reached by its own core only, and the kernel arms the timer of the calling core only.
    fn arm(&mut self, core: CoreId, at: Instant) {
        debug_assert_eq!(core, P::current(), "another core's timer");
        self.agenda.ahead(core).timer = Some(at);
        if !self.settled {
            self.program(core);
        }
    }

    fn disarm(&mut self, core: CoreId) {
        self.agenda.ahead(core).timer = None;
        if !self.settled {
            self.program(core);
        }
    }
}

impl<P: Port> InterruptController for Mediators<P> {
    fn send_reschedule(&mut self, _from: CoreId, to: CoreId, now: Instant) {
        if let Some(probes) = &mut self.probes {
            probes.asked[to.index()] = P::time_stamp();
        }
        if self.settled {
            self.agenda.ahead(to).request.get_or_insert(now);
        }
        P::signal(to, Signal::Reschedule);
    }
}

impl<P: Port> Probe for Mediators<P> {
    /// Paths that end where they begin are measured elsewhere: a switch where the stacks change, a request where
    /// it arrives. A loss of cache affinity is not measured.
    #[inline]
    fn probe(&mut self, core: CoreId, overhead: Overhead, edge: Edge) {
        let Some(probes) = &mut self.probes else { return };
        if matches!(overhead.path(), Path::Switch | Path::Request | Path::Affinity) {
            return;
        }
        match edge {
            Edge::Leave => {
                let stamp = P::time_stamp();
                let begin = probes.path[core.index()];
                self.keep_overhead(core, overhead, now::<P>(), stamp - begin);
            }
            Edge::Enter => probes.path[core.index()] = P::time_stamp(),
        }
    }
}

impl<P: Port> Recorder for Mediators<P> {
    /// The kernel knows which kind it tells where it tells it, so that one arm is left there.
    #[inline(always)]
    fn record(&mut self, _core: CoreId, record: Record) {
        match record {
            Record::Release(release) => self.keep(move || Record::Release(release)),
            Record::Switch(switch) => self.keep(move || Record::Switch(switch)),
            rare => self.keep(move || rare),
        }
    }
}

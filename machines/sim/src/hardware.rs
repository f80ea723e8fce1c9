//! Timers, reschedule requests, probes and the recorder: the mediators that the kernel calls.

use crate::account::JobAccount;
use crate::caps::caps;
use crate::meter::Meter;
use crate::occupancy::Held;
use crate::pmu::SimPmu;
use crate::wiring::Wiring;
use solo_hal::{
    Able, CacheControl, CounterId, Edge, InterruptController, Modes, PageGroup, Pmu, PmuError, Probe,
    Recorder, ScriptedCounters, Timer,
};
use solo_kernel::Arrival;
use solo_model::overhead::Path;
use solo_model::record::{OverheadRecord, WaitRecord};
use solo_model::{
    Bytes, Caps, CoreId, DutyCycle, Energy, EventId, Events, Experiment, Instant, Overhead, Picoseconds,
    PowerDomain, Record, Rmid,
};
use std::collections::VecDeque;

/// The interrupts that are programmed or on their way to a core.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Lines {
    pub(crate) timer: Option<Picoseconds>,
    pub(crate) ipi: Option<Picoseconds>,
    /// A counter has overflowed; which one, the unit knows.
    pub(crate) overflow: Option<Picoseconds>,
    /// A device asks for a release; which one, its queue knows.
    pub(crate) device: Option<Picoseconds>,
}

/// Which interrupt a core takes, in the order in which interrupts of the same time are served.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Interrupt {
    Overflow,
    Ipi,
    Timer,
    Device,
}

impl Interrupt {
    /// None, then all in their order.
    pub(crate) const IN_ORDER: [Option<Self>; 5] =
        [None, Some(Self::Overflow), Some(Self::Ipi), Some(Self::Timer), Some(Self::Device)];
}

impl Lines {
    /// The earliest interrupt; of equal times an overflow goes before a request, that before a timer, that before a device.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Picoseconds, Interrupt)> {
        let at = |time: Option<Picoseconds>, interrupt| (time.unwrap_or(Picoseconds::MAX), interrupt);
        let first = at(self.overflow, Interrupt::Overflow)
            .min(at(self.ipi, Interrupt::Ipi))
            .min(at(self.timer, Interrupt::Timer))
            .min(at(self.device, Interrupt::Device));
        (!self.is_quiet()).then_some(first)
    }

    /// True where no interrupt is programmed or on its way.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.timer.is_none() && self.ipi.is_none() && self.overflow.is_none() && self.device.is_none()
    }

    /// Takes an interrupt off its line.
    pub(crate) fn acknowledge(&mut self, interrupt: Interrupt) {
        match interrupt {
            Interrupt::Timer => self.timer = None,
            Interrupt::Ipi => self.ipi = None,
            Interrupt::Overflow => self.overflow = None,
            Interrupt::Device => self.device = None,
        }
    }
}

/// What the kernel has asked of a core's last-level cache.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Asked {
    /// How the cache is filled from the next switch on.
    pub(crate) fill: Option<Filling>,
    /// Pages that the core unlocks.
    pub(crate) unlock: Option<PageGroup>,
    /// Pages that the thread on the core loads and locks, after that.
    pub(crate) lock: Option<PageGroup>,
}

/// How a core fills its last-level cache.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Filling {
    /// The ways, where that changes.
    pub(crate) ways: Option<u64>,
    /// The id that its lines carry, where that changes.
    pub(crate) rmid: Option<Rmid>,
}

/// What the kernel has asked for that takes effect at once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// A core fills these ways.
    Ways(CoreId, u64),
    /// The clock of a core runs for part of the time.
    Duty(CoreId, DutyCycle),
}

/// The simulated machine as the kernel sees it.
pub(crate) struct Hardware {
    pub(crate) lines: Vec<Lines>,
    /// By core, the interrupts of devices that it has yet to take, and when they were raised.
    arrivals: Vec<VecDeque<(Picoseconds, Arrival)>>,
    /// Records that wait for the observer.
    pub(crate) records: VecDeque<Record>,
    /// The account of each thread's current job.
    pub(crate) accounts: Vec<JobAccount>,
    /// What it is able to do.
    caps: Caps,
    pub(crate) pmu: SimPmu,
    /// What the kernel has asked of each core's last-level cache and the core has yet to do.
    pub(crate) asked: Vec<Asked>,
    /// What it has asked for that takes effect at once.
    pub(crate) orders: Vec<Order>,
    /// What is held of the last levels, where the kernel reads it.
    pub(crate) held: Option<Held>,
    /// What the machine draws, where the platform says so.
    pub(crate) meter: Option<Meter>,
    /// What the kernel reads instead, where the experiment says so.
    script: Option<ScriptedCounters>,
    /// What its records name the counts of the hardware.
    pub(crate) wiring: Wiring,
    /// How long each core has waited for memory, and of that behind others, when it last entered the kernel; and what of it was told.
    pub(crate) waited: Vec<[Picoseconds; 2]>,
    told: Vec<[Picoseconds; 2]>,
    /// What each kernel path costs, by `Overhead as usize`.
    costs: [Picoseconds; Overhead::COUNT],
    /// The start of the kernel entry under way, and what its paths have cost so far.
    entered: Picoseconds,
    spent: Picoseconds,
    /// How many records were waiting then.
    before: usize,
}

impl Able for Hardware {
    fn caps(&self) -> Caps {
        self.caps.clone()
    }
}

impl Hardware {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let threads = experiment.tasks.len();
        let mut costs = [Picoseconds::ZERO; Overhead::COUNT];
        for overhead in Overhead::ALL {
            let cost = experiment.overheads.cost(overhead, u32::try_from(threads).unwrap_or(u32::MAX));
            costs[overhead as usize] = cost.picoseconds();
        }
        Self {
            lines: vec![Lines::default(); experiment.platform.cores.len()],
            arrivals: vec![VecDeque::new(); experiment.platform.cores.len()],
            records: VecDeque::new(),
            accounts: vec![JobAccount::default(); threads],
            caps: ScriptedCounters::lend(experiment, caps(experiment)),
            pmu: SimPmu::new(&experiment.platform),
            asked: vec![Asked::default(); experiment.platform.cores.len()],
            orders: Vec::new(),
            held: None,
            meter: Meter::of(experiment),
            script: ScriptedCounters::of(experiment),
            wiring: Wiring::new(&experiment.platform.events),
            waited: vec![[Picoseconds::ZERO; 2]; experiment.platform.cores.len()],
            told: vec![[Picoseconds::ZERO; 2]; experiment.platform.cores.len()],
            costs,
            entered: Picoseconds::ZERO,
            spent: Picoseconds::ZERO,
            before: 0,
        }
    }

    /// A device interrupts `core`.
    pub(crate) fn raise(&mut self, core: CoreId, at: Picoseconds, arrival: Arrival) {
        self.lines[core.index()].device.get_or_insert(at);
        self.arrivals[core.index()].push_back((at, arrival));
    }

    /// The core takes the oldest interrupt of a device off its line, where one waits.
    pub(crate) fn take_arrival(&mut self, core: CoreId) -> Option<Arrival> {
        let (_, arrival) = self.arrivals[core.index()].pop_front()?;
        self.lines[core.index()].device = self.arrivals[core.index()].front().map(|(at, _)| *at);
        Some(arrival)
    }

    /// Begins a kernel entry at `now`.
    pub(crate) fn enter(&mut self, now: Picoseconds) {
        self.entered = now;
        self.spent = Picoseconds::ZERO;
        self.before = self.records.len();
    }

    /// What the kernel has recorded since it was entered.
    pub(crate) fn entered_records(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().skip(self.before)
    }

    /// Ends the kernel entry: the time that its paths cost.
    pub(crate) fn leave(&mut self) -> Picoseconds {
        core::mem::take(&mut self.spent)
    }
}

/// The last whole nanosecond: what the kernel sees of a point in machine time.
pub(crate) fn instant(time: Picoseconds) -> Instant {
    Instant::new(time.nanoseconds().get())
}

impl Pmu for Hardware {
    fn configure(&mut self, core: CoreId, counter: CounterId, event: EventId) -> Result<(), PmuError> {
        match &mut self.script {
            Some(script) => script.configure(core, counter, event, instant(self.entered)),
            None => self.pmu.configure(core, counter, event),
        }
    }

    fn read(&self, core: CoreId, counter: CounterId) -> Result<u64, PmuError> {
        match &self.script {
            Some(script) => script.read(core, counter, instant(self.entered)),
            None => self.pmu.read(core, counter),
        }
    }

    fn write(&mut self, core: CoreId, counter: CounterId, value: u64) -> Result<(), PmuError> {
        match &mut self.script {
            Some(script) => script.write(core, counter, value, instant(self.entered)),
            None => self.pmu.write(core, counter, value),
        }
    }

    fn interrupt_after(&mut self, core: CoreId, counter: CounterId, events: u64) -> Result<(), PmuError> {
        self.pmu.interrupt_after(core, counter, events)
    }

    fn energy(&self, of: PowerDomain) -> Option<Energy> {
        self.meter.as_ref()?.stands(of)
    }

    fn count_in(&mut self, core: CoreId, counter: CounterId, modes: Modes) -> Result<(), PmuError> {
        self.pmu.count_in(core, counter, modes)
    }

    fn freeze_on_overflow(&mut self, core: CoreId, on: bool) -> Result<(), PmuError> {
        self.pmu.freeze_on_overflow(core, on)
    }

    fn resume(&mut self, core: CoreId) {
        self.pmu.resume(core);
    }

    fn start(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        self.pmu.start(core, counter)
    }

    fn stop(&mut self, core: CoreId, counter: CounterId) -> Result<(), PmuError> {
        self.pmu.stop(core, counter)
    }
}

impl CacheControl for Hardware {
    fn fill_ways(&mut self, core: CoreId, mask: u64) {
        self.asked[core.index()].fill.get_or_insert_default().ways = Some(mask);
    }

    fn fill_ways_now(&mut self, core: CoreId, mask: u64) {
        self.orders.push(Order::Ways(core, mask));
    }

    fn tag_lines(&mut self, core: CoreId, rmid: Rmid) {
        self.asked[core.index()].fill.get_or_insert_default().rmid = Some(rmid);
    }

    fn occupancy(&self, core: CoreId, rmid: Rmid) -> Option<Bytes> {
        self.held.as_ref()?.of(core, rmid)
    }

    fn lock_pages(&mut self, core: CoreId, group: PageGroup) {
        self.asked[core.index()].lock = Some(group);
    }

    fn unlock_pages(&mut self, core: CoreId, group: PageGroup) {
        let asked = &mut self.asked[core.index()];
        asked.unlock = Some(group);
        // In a window in which nobody ran nothing was loaded, and nothing is any more.
        asked.lock = asked.lock.filter(|pending| *pending != group);
    }
}

impl Timer for Hardware {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.lines[core.index()].timer = Some(Picoseconds::new(at.get().saturating_mul(1_000)));
    }

    fn disarm(&mut self, core: CoreId) {
        self.lines[core.index()].timer = None;
    }

    fn slow(&mut self, core: CoreId, duty: DutyCycle) {
        self.orders.push(Order::Duty(core, duty));
    }
}

impl InterruptController for Hardware {
    fn send_reschedule(&mut self, _from: CoreId, to: CoreId, _now: Instant) {
        let arrival = self.entered + self.spent + self.costs[Overhead::Ipi as usize];
        let line = &mut self.lines[to.index()].ipi;
        *line = Some(line.map_or(arrival, |earlier| earlier.min(arrival)));
    }
}

impl Probe for Hardware {
    fn probe(&mut self, core: CoreId, overhead: Overhead, edge: Edge) {
        // The request's latency passes on its way to the other core, and the loss of cache affinity in the
        // caches: neither is time of this kernel path.
        if edge == Edge::Leave || matches!(overhead.path(), Path::Request | Path::Affinity) {
            return;
        }
        let cost = self.costs[overhead as usize];
        if !cost.is_zero() {
            let at = instant(self.entered);
            self.spent += cost;
            let cost = cost.nanoseconds();
            self.records.push_back(Record::Overhead(OverheadRecord { at, core, overhead, cost }));
        }
    }
}

impl Recorder for Hardware {
    fn record(&mut self, core: CoreId, mut record: Record) {
        if let Record::Job(job) = &mut record {
            let account = core::mem::take(&mut self.accounts[job.task.index()]);
            job.counts = self.wiring.counts(&account.counts);
            job.stalls = Some(account.stalls.stalls());
        }
        if let Record::Metric(told) = &mut record
            && told.job.is_some()
        {
            // Of the job alone: between jobs nobody runs.
            let account = &self.accounts[told.task.index()];
            told.retired = self.wiring.counts(&account.counts).get(EventId::INSTRUCTIONS).map(Events::new);
        }
        let ended = if let Record::Regulation(period) = &record { Some(period.at) } else { None };
        let over = match &record {
            Record::Job(job) => Some((job.task, job.job, job.finish)),
            Record::Unfinished(job) => Some((job.task, job.job, job.at)),
            _ => None,
        };
        self.records.push_back(record);
        if let (Some(meter), Some((task, job, at))) = (&mut self.meter, over) {
            self.records.extend(meter.take((task, job), at).map(Record::Energy));
        }
        if let Some(at) = ended {
            let before = core::mem::replace(&mut self.told[core.index()], self.waited[core.index()]);
            let span = |which: usize| (self.waited[core.index()][which] - before[which]).nanoseconds();
            let (waited, behind_others) = (span(0), span(1));
            self.records.push_back(Record::Wait(WaitRecord { at, core, waited, behind_others }));
        }
    }
}

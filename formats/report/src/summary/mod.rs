//! From records to a report, one record at a time and in constant memory.
//!
//! Memory depends on the numbers of tasks and cores, not on the length of the run: response times go into
//! histograms, counters into series of a fixed number of bins, the schedule into a ring that is copied
//! whenever a job comes off worse than all before it.

mod circles;
mod core;
mod energy;
pub(crate) mod guarantee;
mod isolation;
mod schedule;
mod task;
mod window;

use self::circles::Circles;
use self::core::CoreSummary;
use self::energy::EnergySummary;
use self::isolation::IsolationSummary;
use self::schedule::ScheduleKeeper;
use self::task::TaskSummary;
use self::window::WindowKeeper;
use crate::counted::Counted;
use crate::devices::DeviceReport;
use crate::held::HeldSummary;
use crate::kinds::KindsSummary;
use crate::listening::ListeningReport;
use crate::report::{Doubts, OverheadReport, REPORT_SCHEMA, Report};
use solo_model::platform::is_guess;
use solo_model::record::{InterruptRecord, JobRecord, TransferRecord, UnfinishedRecord};
use solo_model::{
    Bytes, CoreId, Counts, Duration, EventId, Experiment, Instant, Overhead, Platform, Record, Sample, TaskId,
};

/// Summarises a stream of records.
pub struct Summary {
    report: Report,
    tasks: Vec<TaskSummary>,
    cores: Vec<CoreSummary>,
    overheads: [Option<OverheadReport>; Overhead::ALL.len()],
    window: WindowKeeper,
    schedule: ScheduleKeeper,
    lock_names: Vec<String>,
    circles: Circles,
    isolation: IsolationSummary,
    platform: Platform,
    energy: EnergySummary,
    kinds: KindsSummary,
    held: HeldSummary,
    doubts: Doubts,
    now: Instant,
}

impl Summary {
    /// A summary of no records.
    pub fn new(experiment: &Experiment) -> Self {
        let platform = &experiment.platform;
        let line = platform.line();
        let cores = platform.cores.len();
        let detail = Detail::for_tasks(experiment.tasks.len());
        let sample_every = experiment.sample_every;
        let recorded = experiment.listening.as_ref().filter(|listening| listening.recorded);
        let counted = Counted::new(&platform.events);
        Self {
            tasks: experiment
                .tasks
                .iter()
                .map(|task| TaskSummary::new(task, detail, counted.clone()))
                .collect(),
            cores: (0..cores)
                .map(|i| CoreSummary::new(CoreId(i as u16), sample_every, counted.clone()))
                .collect(),
            overheads: Default::default(),
            window: WindowKeeper::new(),
            schedule: ScheduleKeeper::new(Instant::ZERO, Instant::MAX),
            circles: Circles::default(),
            lock_names: experiment.locks.iter().map(|lock| lock.name.clone()).collect(),
            isolation: IsolationSummary::new(experiment),
            platform: platform.clone(),
            energy: EnergySummary::new(experiment, detail.bins),
            kinds: KindsSummary::new(
                platform,
                (experiment.tasks.len(), detail.bins),
                recorded.map(|listening| listening.observed.metric()),
            ),
            held: HeldSummary::default(),
            doubts: Doubts {
                guessed_platform: platform.sources.iter().any(|(_, source)| is_guess(source)),
                ..Doubts::default()
            },
            now: Instant::ZERO,
            report: Report {
                schema: REPORT_SCHEMA,
                scenario: experiment.name.clone(),
                variant: experiment.variant.clone(),
                policy: experiment.policy.to_string(),
                platform: platform.name.clone(),
                seed: experiment.seed,
                replications: experiment.replications(),
                end: Instant::ZERO,
                early: None,
                dram_peak: platform.dram.peak(),
                line,
                tasks: Vec::new(),
                cores: Vec::new(),
                overheads: Vec::new(),
                worst: None,
                schedule: Vec::new(),
                schedule_to: Instant::ZERO,
                isolation: None,
                devices: DeviceReport::all(experiment),
                listening: experiment.listening.as_ref().map(ListeningReport::new),
                energy: None,
                kinds: None,
                warnings: Vec::new(),
                ended: Vec::new(),
                doubts: Doubts::default(),
            },
        }
    }

    /// Keeps the schedule between these times for the page, instead of its beginning.
    pub(crate) fn with_schedule(mut self, from: Instant, to: Instant) -> Self {
        self.schedule = ScheduleKeeper::new(from, to);
        self
    }

    /// Takes in the next record; records come in the order of their times.
    ///
    /// A record of a task or core that the experiment lacks is counted as a doubt and otherwise ignored.
    pub fn add(&mut self, record: &Record) {
        self.doubts.records += 1;
        if record.at() < self.now {
            self.doubts.out_of_order += 1;
        }
        self.now = self.now.max(record.at());
        if self.take(record).is_none() {
            self.doubts.strangers += 1;
        }
    }

    /// `None` for a record of an unknown task or core.
    fn take(&mut self, record: &Record) -> Option<()> {
        match record {
            Record::Release(release) => self.tasks.get_mut(release.task.index())?.release(release.release),
            Record::Job(job) => self.job(job)?,
            Record::Unfinished(job) => self.unfinished(job)?,
            Record::Skipped(job) => self.tasks.get_mut(job.task.index())?.skipped(job),
            Record::Switch(switch) => {
                self.known(switch.from)?;
                self.known(switch.to)?;
                let core = self.cores.get_mut(switch.core.index())?;
                let (task, since) = core.switch(switch.at, switch.to);
                self.window.ran(switch.core, task, since, switch.at);
                self.schedule.ran(switch.core, task, since, switch.at);
                self.kinds.ran(switch.core, task, since, switch.at);
            }
            Record::Ipi(ipi) => {
                self.cores.get(ipi.to.index())?;
                self.cores.get_mut(ipi.from.index())?.report.ipis_sent += 1;
                self.cores.get_mut(ipi.to.index())?.report.ipis_received += 1;
            }
            Record::Lock(lock) => {
                self.lock_names.get(lock.lock.index())?;
                self.tasks.get_mut(lock.task.index())?.lock(lock);
                self.circles.lock(lock);
            }
            Record::Sample(sample) => self.sample(sample)?,
            Record::Overhead(record) => {
                let core = &mut self.cores.get_mut(record.core.index())?.report;
                core.kernel = core.kernel.saturating_add(record.cost);
                self.overhead(record.overhead, record.cost);
            }
            Record::Dropped(dropped) => {
                self.doubts.dropped = self.doubts.dropped.saturating_add(dropped.count);
            }
            Record::Sleep(sleep) => {
                self.tasks.get_mut(sleep.task.index())?.slept(sleep.at.since(sleep.since));
            }
            Record::Held(held) => self.tasks.get_mut(held.task.index())?.held(held.at.since(held.since)),
            Record::Wait(wait) => self.isolation.waited(wait)?,
            Record::Conservation(record) => self.isolation.conserved(record)?,
            Record::Throttle(throttle) => {
                self.isolation.throttle(throttle)?;
                let on_it = |task: &&mut TaskSummary| task.report.core == Some(throttle.core);
                let waiting = self.tasks.iter_mut().filter(on_it);
                waiting.for_each(|task| task.throttled(throttle.since, throttle.at));
            }
            Record::Regulation(period) => self.isolation.period(period)?,
            Record::Budget(change) => self.isolation.changed(change)?,
            Record::Transfer(transfer) => self.transfer(transfer)?,
            Record::Interrupt(interrupt) => self.interrupt(interrupt)?,
            Record::Energy(used) => self.energy.used(used)?,
            Record::Metric(told) => {
                self.known(Some(told.task))?;
                self.cores.get(told.core.index())?;
                self.kinds.told(told);
            }
        }
        self.window.advance(record.at(), &self.cores);
        Some(())
    }

    fn known(&self, task: Option<TaskId>) -> Option<()> {
        task.is_none_or(|task| task.index() < self.tasks.len()).then_some(())
    }

    fn job(&mut self, job: &JobRecord) -> Option<()> {
        self.cores.get(job.core.index())?;
        let task = self.tasks.get_mut(job.task.index())?;
        task.finish(job);
        self.energy.job(&self.platform, job);
        if job.stalls.is_none() {
            self.doubts.jobs_without_stalls += 1;
        }
        let relative = task.report.deadline;
        self.window.consider(job, task.report.class, relative);
        Some(())
    }

    fn unfinished(&mut self, job: &UnfinishedRecord) -> Option<()> {
        self.tasks.get_mut(job.task.index())?.unfinished(job);
        self.doubts.unfinished += 1;
        Some(())
    }

    /// `None` for a device that the experiment lacks.
    fn transfer(&mut self, transfer: &TransferRecord) -> Option<()> {
        let devices = &mut self.report.devices;
        let with = match transfer.overlaps {
            None => None,
            Some(other) => Some(devices.get(other.index())?.name.clone()),
        };
        devices.get_mut(transfer.device.index())?.add(transfer, with);
        Some(())
    }

    /// `None` for a device that the experiment lacks.
    fn interrupt(&mut self, interrupt: &InterruptRecord) -> Option<()> {
        self.known(Some(interrupt.task))?;
        self.cores.get(interrupt.core.index())?;
        self.report.devices.get_mut(interrupt.device.index())?.interrupted(interrupt);
        Some(())
    }

    fn sample(&mut self, sample: &Sample) -> Option<()> {
        let line = self.report.line;
        let Some(core) = sample.core() else {
            // Of a thread or a task, whose counts no core's row holds.
            if self.held.sample(sample, self.tasks.len()) {
                return Some(());
            }
            self.doubts.samples += 1;
            return Some(());
        };
        self.cores.get_mut(core.index())?.sample(sample, line);
        self.energy.sample(&self.platform, sample);
        self.doubts.samples += 1;
        Some(())
    }

    fn overhead(&mut self, overhead: Overhead, cost: Duration) {
        let Some(row) = Overhead::ALL.iter().position(|&o| o == overhead) else { return };
        let none = OverheadReport { overhead, count: 0, total: Duration::ZERO, max: Duration::ZERO };
        let sum = self.overheads[row].get_or_insert(none);
        sum.count += 1;
        sum.total = sum.total.saturating_add(cost);
        sum.max = sum.max.max(cost);
    }

    /// The report of a run that ended at `end`.
    pub fn finish(mut self, end: Instant) -> Report {
        let end = end.max(self.now);
        for core in &mut self.cores {
            let (task, since) = core.switch_off(end);
            self.window.ran(core.report.core, task, since, end);
            self.schedule.ran(core.report.core, task, since, end);
            self.kinds.ran(core.report.core, task, since, end);
        }
        self.window.advance(Instant::MAX, &self.cores);
        let mut on_core = vec![Duration::ZERO; self.tasks.len()];
        for (task, time) in self.cores.iter().flat_map(CoreSummary::occupants) {
            on_core[task.index()] = on_core[task.index()].saturating_add(time);
        }
        let names = &self.lock_names;
        let tasks = self.tasks.into_iter().zip(on_core);
        let mut tasks: Vec<_> = tasks.map(|(task, on_core)| task.into_report(on_core, names)).collect();
        for task in self.circles.stuck() {
            tasks[task.index()].stuck = true;
        }
        self.doubts.vanished = tasks
            .iter()
            .map(|task| task.released.saturating_sub(task.jobs + task.unfinished + task.skipped))
            .sum();
        let (schedule, schedule_to) = self.schedule.finish(end);
        if let Some(listening) = &mut self.report.listening {
            listening.held = self.held.finish();
        }
        Report {
            end,
            tasks,
            schedule,
            schedule_to,
            cores: self.cores.into_iter().filter_map(CoreSummary::into_report).collect(),
            overheads: self.overheads.into_iter().flatten().collect(),
            worst: self.window.into_worst(end),
            isolation: self.isolation.into_report(),
            energy: self.energy.into_report(),
            kinds: self.kinds.into_report(),
            doubts: self.doubts,
            ..self.report
        }
    }
}

/// How finely tasks are kept, so that many tasks don't take all memory.
#[derive(Clone, Copy)]
struct Detail {
    /// Significant decimal digits of response times.
    digits: u8,
    /// Bins of the response times over time.
    bins: usize,
}

impl Detail {
    fn for_tasks(tasks: usize) -> Self {
        match tasks {
            0..=256 => Self { digits: 3, bins: 512 },
            257..=4096 => Self { digits: 2, bins: 64 },
            _ => Self { digits: 2, bins: 2 },
        }
    }
}

/// Completion minus deadline in nanoseconds, at the ends of its type where damaged records hold anything.
pub(crate) fn lateness_ns(job: &JobRecord) -> Option<i64> {
    let deadline = job.deadline?;
    let lateness = i128::from(job.finish.get()) - i128::from(deadline.get());
    Some(lateness.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
}

/// What a core moved from and to DRAM; `None` where either was not counted.
pub(crate) fn dram_bytes(counts: &Counts, line: Bytes) -> Option<Bytes> {
    let lines = counts.get(EventId::DRAM_READS)?.saturating_add(counts.get(EventId::DRAM_WRITES)?);
    Some(Bytes::new(lines.saturating_mul(line.get())))
}

//! Streams of records as a machine would emit them, from a small deterministic scheduler.
//!
//! Fixed priority (the order of the tasks), partitioned, preemptive. What jobs cost is drawn from a seed;
//! what neighbours add is put down to waiting for DRAM behind other cores.

use solo_model::fixtures::{cache, chip};
use solo_model::platform::*;
use solo_model::record::*;
use solo_model::task::Release;
use solo_model::work::{Span, Step, Work};
use solo_model::*;
use std::collections::VecDeque;

/// A task of the fabricated machine.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) class: TaskClass,
    pub(crate) core: u16,
    pub(crate) period_us: Option<u64>,
    pub(crate) deadline_us: Option<u64>,
    /// What a job costs alone, and how much more at random.
    pub(crate) cost_us: u64,
    pub(crate) jitter_us: u64,
    /// How much neighbours add to a job at most.
    pub(crate) interference_us: u64,
    /// What it moves from and to DRAM while it runs.
    pub(crate) bytes_per_us: u64,
}

pub(crate) const FRAME: Load = Load {
    name: "frame",
    class: TaskClass::Hard,
    core: 0,
    period_us: Some(20_000),
    deadline_us: Some(13_000),
    cost_us: 9_900,
    jitter_us: 350,
    interference_us: 0,
    bytes_per_us: 810,
};

pub(crate) const SCREEN: Load = Load {
    name: "screen",
    class: TaskClass::BestEffort,
    core: 1,
    period_us: None,
    deadline_us: None,
    cost_us: 2_600,
    jitter_us: 900,
    interference_us: 0,
    bytes_per_us: 1_400,
};

pub(crate) fn solo() -> (Experiment, Vec<Load>) {
    let loads = vec![FRAME];
    (experiment("solo", 4, &loads), loads)
}

pub(crate) fn corun() -> (Experiment, Vec<Load>) {
    let loads = vec![Load { interference_us: 4_600, ..FRAME }, SCREEN];
    (experiment("corun", 4, &loads), loads)
}

pub(crate) fn isolated() -> (Experiment, Vec<Load>) {
    let loads = vec![Load { interference_us: 700, ..FRAME }, Load { bytes_per_us: 300, ..SCREEN }];
    (experiment("isolated", 4, &loads), loads)
}

/// Hard, soft and best-effort tasks on eight cores, some of which miss deadlines by preemption alone.
pub(crate) fn mix() -> (Experiment, Vec<Load>) {
    let names = [
        ("control", 5_000, 800),
        ("servo", 10_000, 2_500),
        ("lidar", 40_000, 9_000),
        ("camera", 33_000, 12_000),
        ("fusion", 20_000, 6_000),
        ("planner", 100_000, 38_000),
        ("radar", 25_000, 7_000),
        ("logger", 50_000, 4_000),
        ("voice", 20_000, 5_500),
        ("display", 16_667, 7_000),
        ("network", 2_000, 500),
        ("map", 200_000, 60_000),
    ];
    let loads: Vec<Load> = (0..12)
        .map(|i| {
            let (name, period, cost) = names[i];
            Load {
                name,
                class: if i < 6 { TaskClass::Hard } else { TaskClass::Soft },
                core: (i * 3 % 8) as u16,
                period_us: Some(period),
                deadline_us: None,
                cost_us: cost,
                jitter_us: cost / 8,
                interference_us: cost,
                bytes_per_us: 60 + 50 * i as u64,
            }
        })
        .chain([Load { name: "update", core: 5, bytes_per_us: 900, ..SCREEN }])
        .collect();
    (experiment("corun", 8, &loads), loads)
}

pub(crate) fn experiment(variant: &str, cores: usize, loads: &[Load]) -> Experiment {
    let micros = |value: Option<u64>| value.map(Duration::from_micros);
    let task = |load: &Load| Task {
        deadline: micros(load.deadline_us),
        core: Some(CoreId(load.core)),
        work: Work { steps: vec![Step::Compute(Span::exactly(Duration::from_micros(load.cost_us)))] },
        ..Task::new(
            load.name,
            load.class,
            match micros(load.period_us) {
                Some(period) => Release::Periodic { offset: Duration::ZERO, period },
                None => Release::Continuous { offset: Duration::ZERO },
            },
        )
    };
    let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
    let tasks = loads.iter().map(task).collect();
    let end = experiment::End::At(Duration::from_secs(20));
    Experiment {
        variant: variant.into(),
        sample_every: Duration::from_millis(1),
        ..Experiment::new("video and screen", platform(cores), policy, tasks, end)
    }
}

fn platform(cores: usize) -> Platform {
    let last = cache(3, Contents::Unified, CoreSet::first(cores), 8192, 16, 39);
    let mut platform = chip(cores);
    platform.name = "xeon-w3530".into();
    platform.kinds[0].clock = Frequency::new(2_800_000_000);
    platform.kinds[0].outstanding_misses = 10;
    platform.caches = vec![Cache { inclusion: Inclusion::Inclusive, ..last }];
    platform.coherence = Coherence {
        protocol: Protocol::Mesif,
        snoop_clean: Cycles::new(26),
        snoop_modified: Cycles::new(36),
        upgrade: Cycles::new(30),
    };
    platform.dram =
        Dram { size: Bytes::from_mib(4096), bank_bits: Vec::new(), row_shift: 17, ..platform.dram };
    platform
}

/// A generator of 64-bit numbers.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.next_u64() % bound }
    }
}

struct Job {
    task: usize,
    index: u64,
    release: Instant,
    start: Option<Instant>,
    left: Duration,
    cost: Duration,
    interference: Duration,
    preemptions: u32,
}

#[derive(Default)]
struct CoreState {
    ready: Vec<Job>,
    running: bool,
    counts: Counts,
}

/// An endless stream of records; `take` what is needed.
pub(crate) struct Stream {
    loads: Vec<Load>,
    cores: Vec<CoreState>,
    next_release: Vec<Option<Instant>>,
    jobs: Vec<u64>,
    now: Instant,
    next_sample: Instant,
    out: VecDeque<Record>,
    random: Random,
    /// The end of the run, after which unfinished jobs are reported and the stream ends.
    end: Option<Instant>,
    over: bool,
}

const STEP: Duration = Duration::from_millis(1);
const COST: Duration = Duration::new(1_400);

impl Stream {
    pub(crate) fn new((experiment, loads): &(Experiment, Vec<Load>), seed: u64) -> Self {
        Self {
            loads: loads.clone(),
            cores: experiment.platform.cores.iter().map(|_| CoreState::default()).collect(),
            next_release: vec![Some(Instant::ZERO); loads.len()],
            jobs: vec![0; loads.len()],
            now: Instant::ZERO,
            next_sample: Instant::ZERO + STEP,
            out: VecDeque::new(),
            random: Random(SplitMix64::new(seed)),
            end: None,
            over: false,
        }
    }

    pub(crate) fn until(self, end: Duration) -> Self {
        Self { end: Some(Instant::ZERO + end), ..self }
    }

    /// Advances to the next release, completion or sample.
    fn advance(&mut self) {
        let releases = self.next_release.iter().flatten().copied();
        let completions =
            self.cores.iter().filter(|core| core.running).map(|core| self.now + core.ready[0].left);
        let next = releases.chain(completions).chain([self.next_sample]).min().unwrap();
        if self.end.is_some_and(|end| next > end) {
            return self.stop();
        }
        let passed = next.since(self.now);
        for core in self.cores.iter_mut().filter(|core| core.running) {
            let job = &mut core.ready[0];
            job.left = job.left.saturating_sub(passed);
            count(&mut core.counts, &self.loads[job.task], passed);
        }
        self.now = next;
        self.complete();
        self.release();
        if next == self.next_sample {
            self.sample();
        }
        self.dispatch();
    }

    fn complete(&mut self) {
        for index in 0..self.cores.len() {
            let core = &mut self.cores[index];
            if !core.running || !core.ready[0].left.is_zero() {
                continue;
            }
            let job = core.ready.remove(0);
            core.running = false;
            let task = TaskId(job.task as u32);
            let load = &self.loads[job.task];
            self.out.push_back(Record::Job(finished(&job, load, CoreId(index as u16), self.now)));
            if load.period_us.is_none() {
                self.next_release[job.task] = Some(self.now);
            }
            self.switch(index, Some(task), None, SwitchReason::Finished);
        }
    }

    fn release(&mut self) {
        for task in 0..self.loads.len() {
            if self.next_release[task] != Some(self.now) {
                continue;
            }
            let load = self.loads[task].clone();
            self.next_release[task] = load.period_us.map(|period| self.now + Duration::from_micros(period));
            let (index, core) = (self.jobs[task], CoreId(load.core));
            self.jobs[task] += 1;
            let deadline = deadline(&load, self.now);
            let (at, id, job) = (self.now, TaskId(task as u32), JobIndex(index));
            self.out.push_back(Record::Release(ReleaseRecord {
                at,
                core,
                task: id,
                job,
                release: at,
                deadline,
            }));
            let jitter = self.random.below(load.jitter_us * 1000 + 1);
            // Twice a uniform draw makes a bell with a tail.
            let half = load.interference_us * 500;
            let interference = self.random.below(half + 1) + self.random.below(half + 1);
            let (cost, interference) = (load.cost_us * 1000 + jitter, Duration::new(interference));
            let cost = Duration::new(cost) + interference;
            let job =
                Job { task, index, release: at, start: None, left: cost, cost, interference, preemptions: 0 };
            self.enqueue(usize::from(load.core), job);
        }
    }

    fn enqueue(&mut self, index: usize, job: Job) {
        let core = &mut self.cores[index];
        let position = core.ready.iter().position(|other| other.task > job.task).unwrap_or(core.ready.len());
        let preempted = (position == 0 && core.running).then(|| core.ready[0].task);
        if preempted.is_some() {
            core.ready[0].preemptions += 1;
            core.running = false;
        }
        core.ready.insert(position, job);
        if let Some(task) = preempted {
            self.switch(index, Some(TaskId(task as u32)), None, SwitchReason::Preempted);
        }
    }

    fn dispatch(&mut self) {
        for index in 0..self.cores.len() {
            let core = &mut self.cores[index];
            if core.running || core.ready.is_empty() {
                continue;
            }
            core.running = true;
            core.ready[0].start.get_or_insert(self.now);
            let task = TaskId(core.ready[0].task as u32);
            self.switch(index, None, Some(task), SwitchReason::Idle);
        }
    }

    fn switch(&mut self, core: usize, from: Option<TaskId>, to: Option<TaskId>, reason: SwitchReason) {
        let (at, core) = (self.now, CoreId(core as u16));
        self.out.push_back(Record::Switch(SwitchRecord { at, core, from, to, reason }));
        let cost = COST + Duration::new(self.random.below(400));
        let overhead = Overhead::ContextSwitch;
        self.out.push_back(Record::Overhead(OverheadRecord { at, core, overhead, cost }));
    }

    fn sample(&mut self) {
        for (index, core) in self.cores.iter_mut().enumerate() {
            let mut counts = nothing();
            counts.merge(&std::mem::take(&mut core.counts));
            let (at, core) = (self.now, CoreId(index as u16));
            self.out.push_back(Record::Sample(Sample::of_core(core, at, STEP, counts)));
        }
        self.next_sample += STEP;
    }

    fn stop(&mut self) {
        self.over = true;
        let Some(at) = self.end else { return };
        for job in self.cores.iter().flat_map(|core| &core.ready) {
            self.out.push_back(Record::Unfinished(UnfinishedRecord {
                at,
                task: TaskId(job.task as u32),
                job: JobIndex(job.index),
                release: job.release,
                deadline: deadline(&self.loads[job.task], job.release),
                executed: job.cost - job.left,
            }));
        }
    }
}

impl Iterator for Stream {
    type Item = Record;
    fn next(&mut self) -> Option<Record> {
        while self.out.is_empty() && !self.over {
            self.advance();
        }
        self.out.pop_front()
    }
}

fn deadline(load: &Load, release: Instant) -> Option<Instant> {
    let relative = load.deadline_us.or(load.period_us);
    relative.map(|deadline| release + Duration::from_micros(deadline))
}

/// Every event of the simulated machine, none of which has happened.
fn nothing() -> Counts {
    let events = solo_model::EventTable::default();
    Counts::of(events.simulated().map(|(event, _)| event).collect(), |_| 0)
}

fn count(counts: &mut Counts, load: &Load, span: Duration) {
    let lines = load.bytes_per_us * span.get() / 64_000;
    counts.add(EventId::CYCLES, span.get() * 28 / 10);
    counts.add(EventId::INSTRUCTIONS, span.get());
    counts.add(EventId::LLC_MISSES, lines);
    counts.add(EventId::DRAM_READS, lines);
}

fn finished(job: &Job, load: &Load, core: CoreId, finish: Instant) -> JobRecord {
    let alone = job.cost - job.interference;
    let mut counts = nothing();
    count(&mut counts, load, alone);
    JobRecord {
        task: TaskId(job.task as u32),
        job: JobIndex(job.index),
        core,
        release: job.release,
        start: job.start.unwrap_or(finish),
        finish,
        deadline: deadline(load, job.release),
        executed: job.cost,
        preemptions: job.preemptions,
        migrations: 0,
        backlog: 0,
        counts,
        stalls: Some(Stalls {
            compute: alone / 4,
            private_cache: alone / 20,
            shared_cache: alone / 10,
            dram: alone / 2,
            dram_queue_own: alone / 20,
            dram_queue_others: job.interference * 9 / 10,
            coherence: job.interference / 20,
            kernel: COST,
        }),
    }
}

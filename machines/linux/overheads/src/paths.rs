//! The kernel's paths on virtual time.
//!
//! Cores, timers and requests are a small event loop; the kernel under it is the real one, and every entry into
//! it is timed on the host's clock. Between two entries nothing is executed: caches are *warm*, as after a job
//! that touched little. For *swept* caches a buffer is read before each entry, as after a job that touched much.

use crate::clock::stamp;
use crate::distribution::Distribution;
use solo_hal::{Edge, InterruptController, Pmu, Probe, Recorder, Timer};
use solo_kernel::{Criterion, Kernel, KernelConfig, PolicyRefusal, Switch, Visitor, dispatch};
use solo_model::overhead::Path;
use solo_model::{Bytes, Caps, CoreId, Duration, Instant, Overhead, Policy, Record, ThreadId};
use solo_schedule::TaskParameters;
use std::hint::black_box;

/// How long a reschedule request is under way in virtual time.
const REQUEST: Duration = Duration::from_micros(1);
/// Records that are kept before the first ones are written over, as many as fit into a second-level cache.
const RECORDS: usize = 4096;

/// Who runs what.
#[derive(Clone, Debug)]
pub struct Load<'l> {
    /// The policy.
    pub policy: &'l Policy,
    /// The tasks, each with a period and an execution time.
    pub tasks: &'l [TaskParameters],
    /// How many cores.
    pub cores: u16,
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looking {
    /// The paths that probes bracket, with records kept.
    AtPaths,
    /// Whole entries, without probes, with records kept.
    AtEntries,
    /// Whole entries, without probes and records.
    AtBareEntries,
}

/// For how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Entries that are timed.
    pub entries: u64,
    /// Entries before, which are not.
    pub warm_up: u64,
    /// What is read before each entry, if anything.
    pub sweep: Bytes,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The entry of a timer interrupt up to the question whether anything is due.
    pub tick: Distribution,
    /// All releases of an interrupt.
    pub release: Distribution,
    /// A decision with its queue operations.
    pub scheduling: Distribution,
    /// Asking another core to decide: the kernel's part, without the interrupt controller.
    pub ask: Distribution,
    /// A whole timer interrupt that released something.
    pub timer_entry: Distribution,
    /// The whole end of a job.
    pub job_end: Distribution,
    /// A whole reschedule request.
    pub request: Distribution,
    /// Switches that the kernel decided on.
    pub switches: u64,
}

/// Runs `load` and times what `looking` says.
///
/// # Errors
/// If the kernel refuses the policy or the tasks.
pub fn run(load: &Load<'_>, looking: Looking, extent: Extent) -> Result<Paths, PolicyRefusal> {
    let criterion = load.policy.criterion;
    match looking {
        Looking::AtPaths => dispatch(criterion, Run::<true, true> { load, extent }),
        Looking::AtEntries => dispatch(criterion, Run::<false, true> { load, extent }),
        Looking::AtBareEntries => dispatch(criterion, Run::<false, false> { load, extent }),
    }
}

struct Run<'l, const PROBES: bool, const RECORD: bool> {
    load: &'l Load<'l>,
    extent: Extent,
}

impl<const PROBES: bool, const RECORD: bool> Visitor for Run<'_, PROBES, RECORD> {
    type Output = Result<Paths, PolicyRefusal>;

    fn visit<C: Criterion>(self) -> Self::Output {
        let cores = usize::from(self.load.cores);
        let config = KernelConfig {
            cores,
            policy: self.load.policy.clone(),
            speeds: Vec::new(),
            tasks: self.load.tasks.to_vec(),
            locks: Vec::new(),
            backlog_limit: 1,
            regulation: None,
            counting: Vec::new(),
            listening: None,
            caching: None,
            partitions: None,
        };
        let kernel = Kernel::<C>::new(config, &caps(cores))?;
        let machine = Machine::<PROBES, RECORD>::new(cores);
        let sweep = vec![1_u8; self.extent.sweep.get() as usize];
        let mut world = World { kernel, machine, jobs: Jobs::new(self.load), paths: Paths::default(), sweep };
        Ok(world.run(self.extent))
    }
}

fn caps(cores: usize) -> Caps {
    Caps::plain(cores)
}

/// The mediators: what bare metal writes into registers is kept in memory.
struct Machine<const PROBES: bool, const RECORD: bool> {
    timers: Vec<Option<Instant>>,
    requests: Vec<Option<Instant>>,
    begun: u64,
    paths: [Distribution; Overhead::COUNT],
    records: Vec<Record>,
    next: usize,
}

impl<const PROBES: bool, const RECORD: bool> Machine<PROBES, RECORD> {
    fn new(cores: usize) -> Self {
        Self {
            timers: vec![None; cores],
            requests: vec![None; cores],
            begun: 0,
            paths: std::array::from_fn(|_| Distribution::new()),
            records: Vec::with_capacity(RECORDS),
            next: 0,
        }
    }
}

impl<const PROBES: bool, const RECORD: bool> Pmu for Machine<PROBES, RECORD> {}

impl<const PROBES: bool, const RECORD: bool> solo_hal::CacheControl for Machine<PROBES, RECORD> {}

impl<const PROBES: bool, const RECORD: bool> Timer for Machine<PROBES, RECORD> {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.timers[core.index()] = Some(at);
    }
    fn disarm(&mut self, core: CoreId) {
        self.timers[core.index()] = None;
    }
}

impl<const PROBES: bool, const RECORD: bool> InterruptController for Machine<PROBES, RECORD> {
    fn send_reschedule(&mut self, _from: CoreId, to: CoreId, now: Instant) {
        self.requests[to.index()].get_or_insert(now + REQUEST);
    }
}

impl<const PROBES: bool, const RECORD: bool> Probe for Machine<PROBES, RECORD> {
    #[inline(always)]
    fn probe(&mut self, _core: CoreId, overhead: Overhead, edge: Edge) {
        if !PROBES || matches!(overhead.path(), Path::Switch | Path::Affinity) {
            return;
        }
        match edge {
            Edge::Leave => {
                let span = stamp().saturating_sub(self.begun);
                self.paths[overhead as usize].add(span);
            }
            Edge::Enter => self.begun = stamp(),
        }
    }
}

impl<const PROBES: bool, const RECORD: bool> Recorder for Machine<PROBES, RECORD> {
    /// Kept as bare metal keeps them, but in a ring.
    #[inline(always)]
    fn record(&mut self, _core: CoreId, record: Record) {
        if !RECORD {
            return;
        }
        if self.records.len() < RECORDS {
            self.records.push(record);
        } else {
            self.records[self.next % RECORDS] = record;
        }
        self.next += 1;
    }
}

/// What threads have left to execute, and since when cores execute.
struct Jobs {
    length: Vec<Duration>,
    left: Vec<Duration>,
    running: Vec<Option<ThreadId>>,
    since: Vec<Instant>,
}

impl Jobs {
    fn new(load: &Load<'_>) -> Self {
        let length: Vec<Duration> =
            load.tasks.iter().map(|task| task.wcet.unwrap_or(Duration::new(200))).collect();
        let cores = usize::from(load.cores);
        Self { left: length.clone(), length, running: vec![None; cores], since: vec![Instant::ZERO; cores] }
    }

    fn ends(&self, core: usize) -> Option<Instant> {
        self.running[core].map(|thread| self.since[core] + self.left[thread.index()])
    }

    fn account(&mut self, core: usize, now: Instant) {
        if let Some(thread) = self.running[core] {
            let left = &mut self.left[thread.index()];
            *left = left.saturating_sub(now.since(self.since[core]));
        }
        self.since[core] = now;
    }

    /// Carries a decision out; true for a switch.
    fn obey(&mut self, core: usize, switch: Switch) -> bool {
        match switch {
            Switch::Stay => return false,
            Switch::To(thread) => self.running[core] = Some(thread),
            Switch::Idle => self.running[core] = None,
        }
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Timer,
    Request,
    JobEnd,
}

struct World<C, const PROBES: bool, const RECORD: bool> {
    kernel: Kernel<C>,
    machine: Machine<PROBES, RECORD>,
    jobs: Jobs,
    paths: Paths,
    sweep: Vec<u8>,
}

impl<C: Criterion, const PROBES: bool, const RECORD: bool> World<C, PROBES, RECORD> {
    fn run(&mut self, extent: Extent) -> Paths {
        for core in 0..self.jobs.running.len() {
            let switch = self.kernel.start(&mut self.machine, CoreId(core as u16), Instant::ZERO);
            self.jobs.obey(core, switch);
        }
        for entry in 0..extent.warm_up + extent.entries {
            if entry == extent.warm_up {
                self.paths = Paths::default();
                self.machine.paths = std::array::from_fn(|_| Distribution::new());
            }
            let Some((now, what, core)) = self.next() else { break };
            self.enter(now, what, core);
        }
        let taken = |overhead: Overhead| self.machine.paths[overhead as usize].clone();
        Paths {
            tick: taken(Overhead::Tick),
            release: taken(Overhead::Release),
            scheduling: taken(Overhead::Scheduling),
            ask: taken(Overhead::Ipi),
            ..std::mem::take(&mut self.paths)
        }
    }

    /// What happens next, where; the lowest core first among equals.
    fn next(&self) -> Option<(Instant, Happening, usize)> {
        let of_core = |core: usize| {
            let timer = self.machine.timers[core].map(|at| (at, Happening::Timer, core));
            let request = self.machine.requests[core].map(|at| (at, Happening::Request, core));
            let end = self.jobs.ends(core).map(|at| (at, Happening::JobEnd, core));
            [timer, request, end].into_iter().flatten()
        };
        (0..self.jobs.running.len()).flat_map(of_core).min()
    }

    fn enter(&mut self, now: Instant, what: Happening, core: usize) {
        self.jobs.account(core, now);
        black_box(self.sweep.iter().step_by(64).fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
        let (kernel, machine, id) = (&mut self.kernel, &mut self.machine, CoreId(core as u16));
        let finished = self.jobs.running[core];
        let due = machine.timers[core].is_some_and(|at| at <= now);
        let begin = stamp();
        let (switch, into) = match what {
            Happening::Timer => {
                machine.timers[core] = None;
                (kernel.timer(machine, id, now), &mut self.paths.timer_entry)
            }
            Happening::Request => {
                machine.requests[core] = None;
                (kernel.ipi(machine, id, now), &mut self.paths.request)
            }
            Happening::JobEnd => (kernel.wait_next(machine, id, now), &mut self.paths.job_end),
        };
        let span = stamp().saturating_sub(begin);
        if what != Happening::Timer || due {
            into.add(span);
        }
        if what == Happening::JobEnd
            && let Some(thread) = finished
        {
            self.jobs.left[thread.index()] = self.jobs.length[thread.index()];
        }
        self.paths.switches += u64::from(self.jobs.obey(core, switch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::{CORES, draw, policies};

    const BRIEF: Extent = Extent { entries: 4000, warm_up: 500, sweep: Bytes::ZERO };

    #[test]
    fn every_path_is_seen_under_every_policy_and_twice_as_often() {
        let tasks = draw(50, CORES, 1);
        for policy in &policies(CORES) {
            let load = Load { policy, tasks: &tasks, cores: CORES };
            let counts = |paths: &Paths| {
                [&paths.tick, &paths.release, &paths.scheduling, &paths.ask, &paths.request, &paths.job_end]
                    .map(Distribution::count)
            };
            let [first, second] = [(); 2].map(|()| run(&load, Looking::AtPaths, BRIEF).unwrap());
            assert_eq!(counts(&first), counts(&second), "{policy}: virtual time does not depend on the host");
            let [tick, release, scheduling, ask, request, job_end] = counts(&first);
            assert!(tick >= release && release > 500 && scheduling > 2000 && job_end > 1000, "{policy}");
            let shared = policy.scope.domains(CORES.into()).len() < CORES.into();
            assert_eq!(ask > 0, shared, "{policy}: who shares a queue must ask");
            assert_eq!(request > 0, shared, "{policy}");
            let entries = run(&load, Looking::AtBareEntries, BRIEF).unwrap();
            assert_eq!(entries.tick.count(), 0, "no probe was looked at");
            assert_eq!(entries.job_end.count(), job_end, "{policy}: looking changes no schedule");
            assert_eq!(entries.switches, first.switches);
        }
    }

    #[test]
    fn a_swept_run_follows_the_same_schedule() {
        let tasks = draw(5, CORES, 1);
        let policy = &policies(CORES)[2];
        let load = Load { policy, tasks: &tasks, cores: CORES };
        let swept = Extent { entries: 300, sweep: Bytes::from_kib(64), ..BRIEF };
        let warm = run(&load, Looking::AtPaths, Extent { entries: 300, ..BRIEF }).unwrap();
        assert_eq!(run(&load, Looking::AtPaths, swept).unwrap().switches, warm.switches);
    }
}

//! Sporadic tasks: a device interrupts, a job is released, and never two within the least distance.

mod common;

use common::{CORE, at, config, machine, ms, policy, task};
use solo_hal::{Edge, InterruptController, Probe, Recorder, Timer};
use solo_kernel::{Arrival, Kernel, Switch};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::random::SplitMix64;
use solo_model::record::Admitted;
use solo_model::task::Release;
use solo_model::{CoreId, Criterion, DeviceId, Duration, Instant, JobRecord, Overhead, Record, Task, TaskId};
use solo_schedule::criteria::Rm;

/// Remembers what the kernel asks of it.
#[derive(Default)]
struct Notebook {
    timer: Option<Instant>,
    records: Vec<Record>,
}

impl solo_hal::Pmu for Notebook {}
impl solo_hal::CacheControl for Notebook {}
impl Timer for Notebook {
    fn arm(&mut self, _core: CoreId, at: Instant) {
        self.timer = Some(at);
    }
    fn disarm(&mut self, _core: CoreId) {
        self.timer = None;
    }
}
impl InterruptController for Notebook {
    fn send_reschedule(&mut self, _from: CoreId, _to: CoreId, _now: Instant) {}
}
impl Probe for Notebook {
    fn probe(&mut self, _core: CoreId, _overhead: Overhead, _edge: Edge) {}
}
impl Recorder for Notebook {
    fn record(&mut self, _core: CoreId, record: Record) {
        self.records.push(record);
    }
}

/// What the records tell.
#[derive(Default, Debug)]
struct Told {
    /// Nominal releases, and when the kernel made them.
    releases: Vec<(Instant, Instant)>,
    jobs: Vec<JobRecord>,
    held: usize,
    merged: usize,
    interrupts: usize,
    skipped: Vec<Instant>,
}

fn told(records: &[Record]) -> Told {
    let mut told = Told::default();
    for record in records {
        match record {
            Record::Release(r) => told.releases.push((r.release, r.at)),
            Record::Job(job) => told.jobs.push(job.clone()),
            Record::Skipped(skipped) => told.skipped.push(skipped.release),
            Record::Interrupt(r) => {
                told.interrupts += 1;
                told.held += usize::from(r.admitted == Admitted::Held);
                told.merged += usize::from(r.admitted == Admitted::Merged);
            }
            _ => {}
        }
    }
    told
}

fn sporadic(distance: Duration) -> Task {
    Task { release: Release::Sporadic { distance }, ..task(0, 1, 1) }
}

/// Runs one sporadic task until nothing is left to come; `lengths` are those of its jobs, in turn.
fn run(distance: Duration, arrivals: &[Instant], lengths: &[Duration], timing: Timing) -> Told {
    let policy = Policy { timing, ..policy(Scope::Global, Criterion::Rm) };
    let tasks = [sporadic(distance)];
    let mut kernel: Kernel<Rm> =
        Kernel::new(config(1, policy, &tasks, Vec::new()), &machine(1)).expect("admitted");
    let (mut m, mut arrivals, mut lengths) =
        (Notebook::default(), arrivals.iter().peekable(), lengths.iter());
    let mut ends: Option<Instant> = None;
    assert_eq!(kernel.start(&mut m, CORE, Instant::ZERO), Switch::Idle);
    let last = arrivals.clone().next_back().copied().unwrap_or_default() + distance * 4;
    let mut take = |kernel: &mut Kernel<Rm>, m: &mut Notebook, now| {
        let mut length = || now + lengths.next().copied().unwrap_or(Duration::MAX / 2);
        let (ended, timer) = (ends == Some(now), m.timer == Some(now));
        let switch = if ended {
            kernel.wait_next(m, CORE, now)
        } else if timer {
            m.timer = None;
            kernel.timer(m, CORE, now)
        } else {
            let arrival = Arrival { device: DeviceId(0), task: TaskId(0), raised: now };
            kernel.device(m, CORE, now, arrival)
        };
        ends = match switch {
            Switch::To(_) => Some(length()),
            Switch::Stay if ended => Some(length()),
            Switch::Stay => ends,
            Switch::Idle => None,
        };
        (ended || timer, ends)
    };
    let mut ends_at = None;
    loop {
        // A job that ends goes first, then the timer, then the device.
        let own = [ends_at, m.timer].into_iter().flatten().min();
        let next = [own, arrivals.peek().map(|at| **at)].into_iter().flatten().min();
        let Some(now) = next.filter(|at| *at <= last) else { break };
        let (own, ends) = take(&mut kernel, &mut m, now);
        if !own {
            arrivals.next();
        }
        ends_at = ends;
    }
    told(&m.records)
}

/// The releases by definition: at the interrupt, or when the least distance has passed since the last one; what comes while one is
/// held back asks for nothing more.
fn reference(distance: Duration, arrivals: &[Instant]) -> Vec<Instant> {
    let mut releases: Vec<Instant> = Vec::new();
    for &arrival in arrivals {
        match releases.last() {
            Some(last) if *last > arrival => {}
            Some(last) => releases.push(arrival.max(*last + distance)),
            None => releases.push(arrival),
        }
    }
    releases
}

#[test]
fn releases_are_those_of_a_list_by_hand() {
    let arrivals = [5, 6, 7, 30, 34, 39, 40, 41, 100].map(at);
    let found = run(ms(10), &arrivals, &[ms(1); 9], Timing::OneShot);
    // 6 waits for 15 and 7 with it; 34 waits for 40 and 39 with it; 40 comes just after that and waits for 50, 41 with it.
    let releases = [5, 15, 30, 40, 50, 100].map(at);
    assert_eq!(found.releases, releases.map(|at| (at, at)));
    assert_eq!((found.interrupts, found.held, found.merged), (9, 3, 3));
    let jobs: Vec<_> = found.jobs.iter().map(|job| (job.release, job.finish, job.deadline)).collect();
    assert_eq!(jobs, releases.map(|at| (at, at + ms(1), Some(at + ms(10)))));
}

#[test]
fn a_thousand_random_arrivals_never_come_within_the_least_distance() {
    let mut dice = SplitMix64::new(0x5b0_4ad1c);
    let (mut held, mut merged, mut late) = (0, 0, 0);
    for _ in 0..20 {
        let distance = Duration::new(1_000 + dice.below(9_000));
        let mut now = Instant::ZERO;
        let arrivals: Vec<Instant> = (0..1_000)
            .map(|_| {
                // Bursts and pauses.
                let most = if dice.below(4) == 0 { 30_000 } else { 3_000 };
                now += Duration::new(dice.below(most) + 1);
                now
            })
            .collect();
        // Jobs that now and then take longer than to the next release, so that some wait.
        let lengths: Vec<Duration> =
            (0..1_000).map(|_| Duration::new(1 + dice.below(distance.get() * 2))).collect();
        let found = run(distance, &arrivals, &lengths, Timing::OneShot);
        let nominal: Vec<Instant> = found.releases.iter().map(|(nominal, _)| *nominal).collect();
        assert_eq!(nominal, reference(distance, &arrivals));
        for (one, next) in nominal.iter().zip(nominal.iter().skip(1)) {
            assert!(next.since(*one) >= distance, "{one} {next} {distance}");
        }
        assert!(found.releases.iter().all(|(nominal, at)| nominal == at), "nothing delays the kernel here");
        // Jobs are begun in the order of their releases, each with its own.
        for (at, job) in found.jobs.iter().enumerate() {
            assert_eq!((job.job.0, job.release), (at as u64, nominal[at]));
            assert_eq!(job.deadline, Some(nominal[at] + distance));
        }
        assert_eq!(found.interrupts, 1_000);
        assert_eq!(found.releases.len() + found.merged, 1_000, "each releases a job or is merged");
        held += found.held;
        merged += found.merged;
        late += found.jobs.iter().filter(|job| job.start > job.release).count();
    }
    assert!(held > 1_000 && merged > 1_000 && late > 1_000, "{held} {merged} {late}");
}

#[test]
fn under_a_tick_what_is_held_back_waits_for_it_and_counts_from_its_own_time() {
    let arrivals = [Duration::new(1_500_000), Duration::new(1_700_000), Duration::new(9_000_000)];
    let arrivals = arrivals.map(|after| Instant::ZERO + after);
    let found = run(Duration::new(2_300_000), &arrivals, &[Duration::new(10); 3], Timing::Tick(ms(1)));
    let [first, second, third] = [1_500_000, 3_800_000, 9_000_000].map(Instant::new);
    assert_eq!(found.releases, [(first, first), (second, at(4)), (third, third)]);
}

#[test]
fn the_oldest_of_too_many_that_wait_is_given_up() {
    let arrivals: Vec<Instant> = (1..=1_100).map(at).collect();
    let found = run(ms(1), &arrivals, &[], Timing::OneShot);
    // One runs on without end; 1,024 of the 1,099 behind it wait.
    assert_eq!(found.skipped, arrivals[1..=75]);
    assert!(found.jobs.is_empty());
}

#[test]
fn a_task_that_no_device_releases_hears_of_none() {
    let policy = policy(Scope::Global, Criterion::Rm);
    let mut kernel: Kernel<Rm> =
        Kernel::new(config(1, policy, &[task(0, 10, 1)], Vec::new()), &machine(1)).expect("admitted");
    let mut m = Notebook::default();
    let _ = kernel.start(&mut m, CORE, Instant::ZERO);
    let _ = kernel.wait_next(&mut m, CORE, at(1));
    for task in [0, 7] {
        let arrival = Arrival { device: DeviceId(0), task: TaskId(task), raised: at(2) };
        assert_eq!(kernel.device(&mut m, CORE, at(2), arrival), Switch::Stay);
    }
    assert_eq!(told(&m.records).releases.len(), 1);
    assert_eq!(told(&m.records).interrupts, 0);
}

/// By hand: thread 0 of core 0 asks for task 1, which belongs to core 1, with a distance of 10. The first job is released at once; the second
/// is held back until 10 after it, and core 1 is asked to set its timer; a third asks for nothing more. Ahead of time is as said.
#[test]
fn a_thread_asks_for_jobs_of_a_task_on_another_core() {
    #[derive(Default)]
    struct Two(Notebook, Vec<(CoreId, CoreId)>, [Option<Instant>; 2]);
    impl solo_hal::Pmu for Two {}
    impl solo_hal::CacheControl for Two {}
    impl Timer for Two {
        fn arm(&mut self, core: CoreId, at: Instant) {
            self.2[core.index()] = Some(at);
        }
        fn disarm(&mut self, core: CoreId) {
            self.2[core.index()] = None;
        }
    }
    impl InterruptController for Two {
        fn send_reschedule(&mut self, from: CoreId, to: CoreId, _: Instant) {
            self.1.push((from, to));
        }
    }
    impl Probe for Two {
        fn probe(&mut self, _: CoreId, _: Overhead, _: Edge) {}
    }
    impl Recorder for Two {
        fn record(&mut self, core: CoreId, record: Record) {
            self.0.record(core, record);
        }
    }
    let asks = Task { core: Some(CoreId(0)), ..task(0, 1000, 1) };
    let tasks = [asks, Task { core: Some(CoreId(1)), ..sporadic(ms(10)) }];
    let config = config(2, policy(Scope::Partitioned, Criterion::Rm), &tasks, Vec::new());
    let mut kernel: Kernel<Rm> = Kernel::new(config, &machine(2)).expect("admitted");
    let (mut m, other, asked) = (Two::default(), CoreId(1), TaskId(1));
    let _ = kernel.start(&mut m, CORE, Instant::ZERO);
    let _ = kernel.start(&mut m, other, Instant::ZERO);
    let fire = |kernel: &mut Kernel<Rm>, m: &mut Two, now, at| {
        let _ = kernel.trigger(m, CORE, now, asked, at);
    };
    fire(&mut kernel, &mut m, at(3), at(3));
    assert_eq!(m.1, [(CORE, other)], "somebody is ready there");
    assert!(matches!(kernel.ipi(&mut m, other, at(3)), Switch::To(_)));
    fire(&mut kernel, &mut m, at(5), at(5));
    assert_eq!(m.1.len(), 2, "its timer has to be set");
    let _ = kernel.ipi(&mut m, other, at(5));
    assert_eq!(m.2[1], Some(at(13)));
    fire(&mut kernel, &mut m, at(6), at(6));
    assert_eq!(kernel.wait_next(&mut m, other, at(7)), Switch::Idle);
    assert!(matches!(kernel.timer(&mut m, other, at(13)), Switch::To(_)));
    assert_eq!(kernel.wait_next(&mut m, other, at(14)), Switch::Idle);
    // Ahead, beyond the distance: as said, and who asks before that does not wait for it.
    fire(&mut kernel, &mut m, at(15), at(40));
    let _ = kernel.ipi(&mut m, other, at(15));
    assert_eq!(m.2[1], Some(at(40)));
    fire(&mut kernel, &mut m, at(25), at(25));
    assert!(matches!(kernel.ipi(&mut m, other, at(25)), Switch::To(_)));
    assert_eq!(kernel.wait_next(&mut m, other, at(26)), Switch::Idle);
    assert_eq!(m.2[1], Some(at(40)));
    // One that comes sooner than what is kept is asked of the timer instead.
    fire(&mut kernel, &mut m, at(27), at(27));
    let _ = kernel.ipi(&mut m, other, at(27));
    assert_eq!(m.2[1], Some(at(35)));
    assert!(matches!(kernel.timer(&mut m, other, at(35)), Switch::To(_)));
    assert_eq!(kernel.wait_next(&mut m, other, at(36)), Switch::Idle);
    assert_eq!(m.2[1], Some(at(45)), "what was kept for 40 is held back");
    assert!(matches!(kernel.timer(&mut m, other, at(45)), Switch::To(_)));
    let releases: Vec<Instant> = told(&m.0.records).releases.iter().map(|(due, _)| *due).collect();
    assert_eq!(releases, [0, 3, 13, 25, 35, 45].map(at), "the first is of who asks");
    // Of a task that is not sporadic, and of none, nothing is released.
    let before = m.0.records.len();
    let _ = kernel.trigger(&mut m, CORE, at(46), TaskId(0), at(46));
    let _ = kernel.trigger(&mut m, CORE, at(46), TaskId(9), at(46));
    assert_eq!(m.0.records.len(), before);
}

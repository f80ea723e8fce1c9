//! How much one entry of the kernel does at most: what it records and asks for, whatever came before.

mod common;

use common::{CORE, at, config, machine, ms, policy, task};
use proptest::prelude::*;
use solo_hal::{
    CacheControl, CounterId, Edge, InterruptController, Pmu, PmuError, Probe, Quiet, Recorder, Timer,
};
use solo_kernel::{Criterion, Kernel, LockConfig, Visitor, dispatch};
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::work::LockProtocol;
use solo_model::{CoreId, Duration, EventId, Instant, LockId, Overhead, Record, SplitMix64, Task, TaskId};
use solo_schedule::criteria::Rm;

/// What an entry did.
#[derive(Clone, Copy, Default, Debug)]
struct Did {
    releases: usize,
    requests: usize,
    switches: usize,
    arms: usize,
    others: usize,
}

/// A machine that counts what it is asked for.
#[derive(Default)]
struct Tally(Did);

impl CacheControl for Tally {}

impl Pmu for Tally {
    fn configure(&mut self, _: CoreId, _: CounterId, _: EventId) -> Result<(), PmuError> {
        Ok(())
    }
    fn read(&self, _: CoreId, _: CounterId) -> Result<u64, PmuError> {
        Ok(0)
    }
    fn write(&mut self, _: CoreId, _: CounterId, _: u64) -> Result<(), PmuError> {
        Ok(())
    }
    fn interrupt_after(&mut self, _: CoreId, _: CounterId, _: u64) -> Result<(), PmuError> {
        Ok(())
    }
}

impl Timer for Tally {
    fn arm(&mut self, _: CoreId, _: Instant) {
        self.0.arms += 1;
    }
    fn disarm(&mut self, _: CoreId) {
        self.0.arms += 1;
    }
}

impl InterruptController for Tally {
    fn send_reschedule(&mut self, _: CoreId, _: CoreId, _: Instant) {
        self.0.requests += 1;
    }
}

impl Probe for Tally {
    fn probe(&mut self, _: CoreId, _: Overhead, _: Edge) {}
}

impl Recorder for Tally {
    fn record(&mut self, _: CoreId, record: Record) {
        match record {
            Record::Release(_) => self.0.releases += 1,
            Record::Switch(_) => self.0.switches += 1,
            // Each request is told of.
            Record::Ipi(_) => {}
            _ => self.0.others += 1,
        }
    }
}

fn periodic(index: usize, offset: u64, period: u64) -> Task {
    let release = Release::Periodic { offset: ms(offset), period: ms(period) };
    Task { release, ..task(index, period, 1) }
}

#[test]
fn a_late_timer_releases_what_is_due_and_nothing_else() {
    let mut random = SplitMix64::new(4);
    for threads in [1, 2, 7, 64] {
        let tasks: Vec<Task> =
            (0..threads).map(|index| periodic(index, random.below(20), 1 + random.below(30))).collect();
        let config = config(1, policy(Scope::Global, solo_model::Criterion::Rm), &tasks, Vec::new());
        let mut kernel = Kernel::<Rm>::new(config, &machine(1)).expect("admitted");
        let _ = kernel.start(&mut Quiet, CORE, at(0));
        let mut before = at(0);
        for late in [0, 1, 5, 100] {
            let now = before + ms(1 + late);
            let due = |upto: Instant| -> u64 {
                let of = |task: &Task| match task.release {
                    Release::Periodic { offset, period } => upto
                        .since(Instant::ZERO)
                        .get()
                        .checked_sub(offset.get())
                        .map_or(0, |past| 1 + past / period.get()),
                    _ => 0,
                };
                tasks.iter().map(of).sum()
            };
            let mut m = Tally::default();
            let _ = kernel.timer(&mut m, CORE, now);
            assert_eq!(m.0.releases as u64, due(now) - due(before), "{threads} threads, {late} ms late");
            // One of each thread, and one more for each of its periods, of 1 ms at least, that the timer is late by.
            assert!(m.0.releases as u64 <= threads as u64 * (2 + late), "{:?}", m.0);
            before = now;
        }
    }
}

/// Any entries in any order.
struct Press {
    seed: u64,
    cores: u16,
    threads: u32,
    locks: u16,
    criterion: solo_model::Criterion,
}

impl Visitor for Press {
    /// How many switches there were.
    type Output = usize;

    fn visit<C: Criterion>(self) -> usize {
        let (cores, threads) = (usize::from(self.cores), self.threads as usize);
        let mut random = SplitMix64::new(self.seed);
        let drawn = |index: usize| Task {
            core: Some(CoreId((index % cores) as u16)),
            ..periodic(index, random.below(9), 5 + random.below(20))
        };
        let tasks: Vec<Task> = (0..threads).map(drawn).collect();
        let protocols = [LockProtocol::Plain, LockProtocol::Inheritance, LockProtocol::Ceiling];
        let users: Vec<TaskId> = (0..self.threads).map(TaskId).collect();
        let lock =
            |number: u16| LockConfig { protocol: protocols[usize::from(number % 3)], users: users.clone() };
        let locks = (0..self.locks).map(lock).collect();
        let config = config(cores, policy(Scope::Global, self.criterion), &tasks, locks);
        let mut kernel = Kernel::<C>::new(config, &machine(cores)).expect("admitted");
        for core in 0..self.cores {
            let _ = kernel.start(&mut Quiet, CoreId(core), at(0));
        }
        let (mut now, mut switches) = (at(0), 0);
        for _ in 0..400 {
            let step = Duration::from_micros(random.below(900));
            now += step;
            let core = CoreId(random.below(cores as u64) as u16);
            let lock = LockId(random.below(u64::from(self.locks)) as u16);
            let mut m = Tally::default();
            let ends = random.below(60) == 0;
            let _ = match random.below(8) {
                0 => kernel.timer(&mut m, core, now),
                1 => kernel.ipi(&mut m, core, now),
                2 => kernel.wait_next(&mut m, core, now),
                3 => kernel.release(&mut m, core, now, lock),
                4 => kernel.sleep(&mut m, core, now, step),
                5 => kernel.yield_now(&mut m, core, now),
                6 if ends => kernel.exit(&mut m, core, now),
                _ => kernel.acquire(&mut m, core, now, lock),
            };
            let did = m.0;
            switches += did.switches;
            assert!(did.requests < cores && did.switches <= 1 && did.arms <= 1, "{did:?} on {cores} cores");
            // Each thread may wake up, each release may skip one, each mutex may go to somebody else, and a job ends.
            let most = threads + did.releases + 2 * usize::from(self.locks) + 2;
            assert!(did.others <= most, "{did:?} of {threads} threads, {} locks", self.locks);
        }
        switches
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn an_entry_asks_each_other_core_once_and_tells_of_each_thread_and_lock_once(
        seed: u64,
        cores in 1..=16_u16,
        threads in 1..=40_u32,
        locks in 1..=24_u16,
        criterion in prop::sample::select(&solo_model::Criterion::ALL[..]),
    ) {
        let switches = dispatch(criterion, Press { seed, cores, threads, locks, criterion });
        prop_assert!(switches > 0, "nothing happened");
    }
}

/// Threads that each run on a core of their own, hold a mutex each, and then wait for each other's, in a chain or in a circle, in any
/// order: every loop of the lock table stays within its bound, which it asserts.
fn wait_for_each_other(order: &[u16], circle: bool) -> Kernel<Rm> {
    let threads = order.len();
    let tasks: Vec<Task> = (0..threads).map(|index| periodic(index, 0, 100 + index as u64)).collect();
    let users: Vec<TaskId> = (0..threads as u32).map(TaskId).collect();
    let lock = |_| LockConfig { protocol: LockProtocol::Inheritance, users: users.clone() };
    let locks = (0..threads).map(lock).collect();
    let config = config(threads, policy(Scope::Global, solo_model::Criterion::Rm), &tasks, locks);
    let mut kernel = Kernel::<Rm>::new(config, &machine(threads)).expect("admitted");
    for core in 0..threads as u16 {
        let _ = kernel.start(&mut Quiet, CoreId(core), at(0));
    }
    // Whichever core each came onto, its number is that of its mutex.
    for core in (0..threads as u16).map(CoreId) {
        let own = kernel.running(core).expect("a core for each");
        let _ = kernel.acquire(&mut Quiet, core, at(1), LockId(own.0 as u16));
    }
    for &thread in order {
        let next = (usize::from(thread) + 1) % threads;
        if next != 0 || circle {
            let on = |core: &CoreId| kernel.running(*core).is_some_and(|own| own.0 == u32::from(thread));
            let core = (0..threads as u16).map(CoreId).find(on).expect("it runs");
            let _ = kernel.acquire(&mut Quiet, core, at(2), LockId(next as u16));
        }
    }
    kernel
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_chain_or_circle_of_waiters_is_gone_around_once_at_most(
        order in (1..=16_u16).prop_flat_map(|threads| Just((0..threads).collect::<Vec<_>>()).prop_shuffle()),
        circle: bool,
    ) {
        let kernel = wait_for_each_other(&order, circle);
        prop_assert_eq!(kernel.lock_faults().count(), u64::from(circle), "a circle is told once");
    }
}

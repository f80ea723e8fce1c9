//! When the kernel asks a machine to divide its last-level cache anew.

mod common;

use common::{CORE, at, config, machine, policy, task};
use solo_hal::{CacheControl, Edge, InterruptController, PageGroup, Probe, Recorder, Timer};
use solo_isolate::windows::{FillMasks, LockWindows};
use solo_kernel::{Caching, Kernel, PolicyRefusal, Switch};
use solo_model::isolation::{LockTime, Lockdown, LockedPage, WayMask, WayOwner};
use solo_model::policy::Scope;
use solo_model::{
    BufferId, Caps, Color, CoreId, Criterion, Instant, Overhead, Record, Task, TaskId, ThreadId, fixtures,
};
use solo_schedule::criteria::Rm;

/// What the kernel has asked of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Fill(u16, u64),
    Lock(u32),
    Unlock(u32),
}

#[derive(Default)]
struct Cache(Vec<Asked>);

impl CacheControl for Cache {
    fn fill_ways(&mut self, core: CoreId, mask: u64) {
        self.0.push(Asked::Fill(core.0, mask));
    }
    fn lock_pages(&mut self, _: CoreId, group: PageGroup) {
        self.0.push(Asked::Lock(group.0));
    }
    fn unlock_pages(&mut self, _: CoreId, group: PageGroup) {
        self.0.push(Asked::Unlock(group.0));
    }
}
impl solo_hal::Pmu for Cache {}
impl Timer for Cache {
    fn arm(&mut self, _: CoreId, _: Instant) {}
    fn disarm(&mut self, _: CoreId) {}
}
impl InterruptController for Cache {
    fn send_reschedule(&mut self, _: CoreId, _: CoreId, _: Instant) {}
}
impl Probe for Cache {
    fn probe(&mut self, _: CoreId, _: Overhead, _: Edge) {}
}
impl Recorder for Cache {
    fn record(&mut self, _: CoreId, _: Record) {}
}

/// T0 runs 1 ms every 4, T1 2 ms every 8; T0 has ways of its own.
fn kernel(caching: Caching, caps: &Caps) -> Result<Kernel<Rm>, PolicyRefusal> {
    let tasks: Vec<Task> = vec![task(0, 4, 1), task(1, 8, 2)];
    let plain = config(1, policy(Scope::Global, Criterion::Rm), &tasks, Vec::new());
    Kernel::new(solo_kernel::KernelConfig { caching: Some(caching), ..plain }, caps)
}

fn able() -> Caps {
    Caps { ways: 8, cache_lock: true, ..machine(1) }
}

fn masks() -> Option<FillMasks> {
    let masks = [(WayOwner::Core(CORE), 0b11), (WayOwner::Task(TaskId(0)), 0b1100)];
    let masks = masks.map(|(owner, mask)| WayMask { owner, mask });
    FillMasks::new(&masks, &fixtures::chip(1), 2)
}

fn windows(when: LockTime) -> Option<LockWindows> {
    let page = |task| LockedPage { task: TaskId(task), buffer: BufferId(0), page: 0, color: Color(0) };
    let partitions = vec![vec![TaskId(0)], vec![TaskId(1)]];
    LockWindows::new(&Lockdown { pages: vec![page(0), page(1)], when, partitions }, 2, 1)
}

#[test]
fn ways_are_given_at_each_switch_and_only_there() {
    let mut kernel = kernel(Caching { masks: masks(), windows: None }, &able()).expect("admitted");
    let mut m = Cache::default();
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.timer(&mut m, CORE, at(0)), Switch::Stay);
    assert_eq!(kernel.wait_next(&mut m, CORE, at(1)), Switch::To(ThreadId(1)));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(3)), Switch::Idle);
    assert_eq!(kernel.timer(&mut m, CORE, at(4)), Switch::To(ThreadId(0)));
    let fills = [0b1100, 0b11, 0b11, 0b1100].map(|mask| Asked::Fill(0, mask));
    assert_eq!(m.0, fills);
}

#[test]
fn pages_are_locked_at_begins_and_unlocked_at_ends() {
    let asked = |when| {
        let mut kernel = kernel(Caching { masks: None, windows: windows(when) }, &able()).expect("admitted");
        let mut m = Cache::default();
        let _ = kernel.start(&mut m, CORE, at(0));
        for end in [1, 3] {
            kernel.begin_job(&mut m, CORE);
            kernel.end_job(&mut m, CORE);
            let _ = kernel.wait_next(&mut m, CORE, at(end));
        }
        // Nobody is on the core.
        kernel.begin_job(&mut m, CORE);
        kernel.end_job(&mut m, CORE);
        let _ = kernel.timer(&mut m, CORE, at(4));
        kernel.begin_job(&mut m, CORE);
        m.0
    };
    use Asked::{Lock, Unlock};
    assert_eq!(asked(LockTime::Task), [Lock(0), Lock(1)]);
    assert_eq!(asked(LockTime::Job), [Lock(0), Unlock(0), Lock(1), Unlock(1), Lock(0)]);
    assert_eq!(asked(LockTime::Partition), [Lock(2), Unlock(2), Lock(3), Unlock(3), Lock(2)]);
}

#[test]
fn a_machine_without_control_of_its_cache_is_refused() {
    let ways = Caching { masks: masks(), windows: None };
    let locks = Caching { masks: None, windows: windows(LockTime::Job) };
    let refused = |caching: &Caching, caps| kernel(caching.clone(), &caps).err();
    assert_eq!(refused(&ways, Caps { ways: 0, ..able() }), Some(PolicyRefusal::NoCacheControl));
    assert_eq!(refused(&locks, Caps { cache_lock: false, ..able() }), Some(PolicyRefusal::NoCacheControl));
    assert_eq!((refused(&ways, Caps { cache_lock: false, ..able() }), refused(&locks, able())), (None, None));
}

//! Wrong uses of locks: each is counted, says who did what, and stops nothing.

mod common;

use common::{CORE, at, config, machine, policy, task};
use solo_hal::Quiet;
use solo_kernel::{Kernel, LockConfig, LockFault, State, Switch};
use solo_model::policy::Scope;
use solo_model::work::LockProtocol;
use solo_model::{Caps, CoreId, Criterion, LockId, TaskId, ThreadId};
use solo_schedule::PolicyRefusal;
use solo_schedule::criteria::{Rm, StaticPriority};

const LOW: ThreadId = ThreadId(1);
const HIGH: ThreadId = ThreadId(0);

fn locks(protocols: &[LockProtocol]) -> Vec<LockConfig> {
    let lock = |&protocol| LockConfig { protocol, users: vec![TaskId(0), TaskId(1)] };
    protocols.iter().map(lock).collect()
}

/// Two threads on one core; the less urgent one runs, the other is released at 10 ms.
fn two(protocols: &[LockProtocol]) -> Kernel<Rm> {
    let mut tasks = [task(0, 50, 1), task(1, 100, 1)];
    tasks[0].release = solo_model::task::Release::Periodic { offset: common::ms(10), period: common::ms(50) };
    let config = config(1, policy(Scope::Global, Criterion::Rm), &tasks, locks(protocols));
    let mut kernel = Kernel::new(config, &machine(1)).expect("admitted");
    assert_eq!(kernel.start(&mut Quiet, CORE, at(0)), Switch::To(LOW));
    kernel
}

#[test]
fn taking_a_mutex_twice_counts_once() {
    for protocol in [LockProtocol::Plain, LockProtocol::Inheritance, LockProtocol::Ceiling] {
        let mut kernel = two(&[protocol]);
        let lock = LockId(0);
        assert_eq!(kernel.acquire(&mut Quiet, CORE, at(1), lock), Switch::Stay);
        assert_eq!(kernel.acquire(&mut Quiet, CORE, at(2), lock), Switch::Stay);
        assert_eq!(kernel.lock_faults().last(), Some(LockFault::Relocked { thread: LOW, lock }));
        assert_eq!(kernel.release(&mut Quiet, CORE, at(3), lock), Switch::Stay);
        assert_eq!(kernel.release(&mut Quiet, CORE, at(4), lock), Switch::Stay);
        let not_owner = LockFault::NotOwner { thread: LOW, lock, owner: None };
        assert_eq!((kernel.lock_faults().count(), kernel.lock_faults().last()), (2, Some(not_owner)));
    }
}

#[test]
fn a_mutex_is_given_back_by_its_holder_only() {
    let mut kernel = two(&[LockProtocol::Plain]);
    let lock = LockId(0);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(1), lock), Switch::Stay);
    assert_eq!(kernel.timer(&mut Quiet, CORE, at(10)), Switch::To(HIGH));
    assert_eq!(kernel.release(&mut Quiet, CORE, at(11), lock), Switch::Stay);
    let fault = LockFault::NotOwner { thread: HIGH, lock, owner: Some(LOW) };
    assert_eq!(kernel.lock_faults().first(), Some(fault));
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(12), lock), Switch::To(LOW), "still held");
}

#[test]
fn a_thread_that_ends_leaves_its_mutexes_to_those_who_wait() {
    let mut kernel = two(&[LockProtocol::Inheritance, LockProtocol::Ceiling]);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(1), LockId(0)), Switch::Stay);
    assert_eq!(kernel.timer(&mut Quiet, CORE, at(10)), Switch::To(HIGH));
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(11), LockId(0)), Switch::To(LOW));
    assert_eq!(kernel.state(HIGH), Some(State::Blocked(LockId(0))));
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(12), LockId(1)), Switch::Stay);
    assert_eq!(kernel.exit(&mut Quiet, CORE, at(13)), Switch::To(HIGH));
    assert_eq!(kernel.lock_faults().count(), 2);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(14), LockId(1)), Switch::Stay);
    assert_eq!(kernel.release(&mut Quiet, CORE, at(15), LockId(0)), Switch::Stay);
    assert_eq!(kernel.lock_faults().count(), 2, "both mutexes were handed over or freed");
}

#[test]
fn a_circle_of_waiters_is_told() {
    let mut kernel = two(&[LockProtocol::Inheritance, LockProtocol::Inheritance]);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(1), LockId(0)), Switch::Stay);
    assert_eq!(kernel.timer(&mut Quiet, CORE, at(10)), Switch::To(HIGH));
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(11), LockId(1)), Switch::Stay);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(12), LockId(0)), Switch::To(LOW));
    assert_eq!(kernel.lock_faults().count(), 0);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(13), LockId(1)), Switch::Idle);
    let deadlock = LockFault::Deadlock { thread: LOW, lock: LockId(1) };
    assert_eq!(kernel.lock_faults().last(), Some(deadlock));
}

#[test]
fn a_semaphore_has_an_upper_end_and_a_lock_must_exist() {
    let mut kernel = two(&[LockProtocol::Semaphore { units: u32::MAX }]);
    assert_eq!(kernel.release(&mut Quiet, CORE, at(1), LockId(0)), Switch::Stay);
    assert_eq!(kernel.lock_faults().last(), Some(LockFault::Overflow { lock: LockId(0) }));
    let lock = LockId(7);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(2), lock), Switch::Stay);
    assert_eq!(kernel.release(&mut Quiet, CORE, at(3), lock), Switch::Stay);
    assert_eq!(kernel.lock_faults().last(), Some(LockFault::NoSuchLock { thread: LOW, lock }));
    assert_eq!(kernel.lock_faults().count(), 3);
}

/// The ranks that a holder inherits or is raised to are gone when the last mutex is.
#[test]
fn ranks_fall_back_step_by_step() {
    let mut kernel = two(&[LockProtocol::Ceiling, LockProtocol::Ceiling]);
    let own = kernel.rank_of(LOW);
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(1), LockId(0)), Switch::Stay);
    let raised = kernel.rank_of(LOW);
    assert!(raised < own, "{raised:?} before {own:?}");
    assert_eq!(kernel.acquire(&mut Quiet, CORE, at(2), LockId(1)), Switch::Stay);
    assert_eq!(
        kernel.release(&mut Quiet, CORE, at(3), LockId(0)),
        Switch::Stay,
        "not in the order of a stack"
    );
    assert_eq!(kernel.rank_of(LOW), raised);
    assert_eq!(kernel.timer(&mut Quiet, CORE, at(10)), Switch::Stay, "the ceiling holds the other back");
    assert_eq!(kernel.release(&mut Quiet, CORE, at(11), LockId(1)), Switch::To(HIGH));
    assert_eq!(kernel.rank_of(LOW), own);
}

#[test]
fn locks_across_queues_need_reschedule_requests() {
    let mut tasks = [task(0, 50, 1), task(1, 100, 1)];
    for (core, task) in tasks.iter_mut().enumerate() {
        task.core = Some(CoreId(core as u16));
    }
    let deaf = Caps { reschedule_ipi: false, ..machine(2) };
    let p_fp = policy(Scope::Partitioned, Criterion::StaticPriority);
    let new = |locks| Kernel::<StaticPriority>::new(config(2, p_fp.clone(), &tasks, locks), &deaf);
    assert!(new(Vec::new()).is_ok());
    assert_eq!(new(locks(&[LockProtocol::Plain])).err(), Some(PolicyRefusal::NoRescheduleRequests));
}

//! What is read from an experiment, and what is refused.

mod common;

use common::{compute, experiment, policy, task};
use solo_kernel::{Kernel, KernelConfig, PolicyRefusal};
use solo_model::policy::Scope;
use solo_model::work::{Lock, LockProtocol, Step};
use solo_model::{CoreId, Criterion, Experiment, LockId, TaskId};
use solo_schedule::criteria::Rm;

/// Task 0 uses lock 1 twice, task 1 none, task 2 both, deep inside repetitions.
fn with_locks() -> Experiment {
    let mut tasks: Vec<_> = (0..3).map(|i| task(i, 10, 1)).collect();
    let section = |lock| vec![Step::Acquire(LockId(lock)), compute(1), Step::Release(LockId(lock))];
    tasks[0].work.steps = [section(1), section(1)].concat();
    let inner = Step::Repeat { times: 2, steps: section(1) };
    tasks[2].work.steps = vec![Step::Repeat { times: 3, steps: [section(0), vec![inner]].concat() }];
    let mut experiment = experiment(1, policy(Scope::Global, Criterion::Rm), tasks, 10);
    let lock = |name: &str| Lock { name: name.to_owned(), protocol: LockProtocol::Ceiling };
    experiment.locks = vec![lock("a"), lock("b")];
    experiment
}

#[test]
fn the_users_of_a_lock_are_found_in_nested_repetitions() {
    let config = KernelConfig::from_experiment(&with_locks()).expect("consistent");
    assert_eq!(config.locks[0].users, [TaskId(2)]);
    assert_eq!(config.locks[1].users, [TaskId(0), TaskId(2)]);
    assert_eq!(config.cores, 1);
}

#[test]
fn a_step_with_a_lock_that_does_not_exist_is_refused() {
    let mut experiment = with_locks();
    experiment.locks.pop();
    let expected = PolicyRefusal::NoSuchLock { task: TaskId(0), lock: LockId(1) };
    assert_eq!(expected.task(), Some(TaskId(0)));
    assert_eq!(KernelConfig::from_experiment(&experiment), Err(expected));
}

#[test]
fn a_kernel_is_not_built_for_what_the_machine_lacks() {
    let config = KernelConfig::from_experiment(&with_locks()).expect("consistent");
    let large = KernelConfig { cores: 65, ..config };
    let refusal = Kernel::<Rm>::new(large, &common::machine(64)).err();
    assert_eq!(refusal, Some(PolicyRefusal::NoSuchCore { task: None, core: CoreId(64) }));
}

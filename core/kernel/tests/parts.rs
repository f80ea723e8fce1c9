//! Which domains have to do with each other, and when a part of the kernel begins.

mod common;

use common::{at, config, machine, ms, policy, task};
use solo_isolate::regulator::Config;
use solo_kernel::{Kernel, KernelConfig, LockConfig};
use solo_model::isolation::*;
use solo_model::task::Release;
use solo_model::work::LockProtocol;
use solo_model::{
    Bandwidth, Caps, CoreId, CoreSet, Criterion, EventId, Events, Instant, Scope, Task, TaskId, ThreadId,
};
use solo_schedule::criteria::Edf;

/// A task of `core`.
fn on(index: usize, core: u16) -> Task {
    Task { core: Some(CoreId(core)), ..task(index, 10, 1) }
}

fn lock(users: &[u32]) -> LockConfig {
    LockConfig { protocol: LockProtocol::Plain, users: users.iter().copied().map(TaskId).collect() }
}

/// The cores of each part, with tasks 0 to 3 on cores 0 to 3.
fn parts(scope: Scope, locks: Vec<LockConfig>) -> Vec<u64> {
    let tasks: Vec<Task> = (0..4).map(|index| on(index, index as u16)).collect();
    let config = config(4, policy(scope, Criterion::Edf), &tasks, locks);
    let parts = Kernel::<Edf>::in_parts(config, &machine(4)).expect("admitted");
    parts.iter().map(|part| part.own().bits()).collect()
}

#[test]
fn domains_are_in_one_part_where_their_tasks_use_a_lock() {
    assert_eq!(parts(Scope::Partitioned, vec![]), [0b0001, 0b0010, 0b0100, 0b1000]);
    assert_eq!(parts(Scope::Partitioned, vec![lock(&[2]), lock(&[])]), [0b0001, 0b0010, 0b0100, 0b1000]);
    assert_eq!(parts(Scope::Partitioned, vec![lock(&[1, 3])]), [0b0001, 0b1010, 0b0100]);
    assert_eq!(parts(Scope::Partitioned, vec![lock(&[1, 3]), lock(&[0, 2]), lock(&[2, 3])]), [0b1111]);
    let clusters = Scope::Clustered([0b0101, 0b1010].map(CoreSet::from_bits).to_vec());
    assert_eq!(parts(clusters.clone(), vec![lock(&[0, 2])]), [0b0101, 0b1010]);
    assert_eq!(parts(clusters, vec![lock(&[2, 3])]), [0b1111]);
    assert_eq!(parts(Scope::Global, vec![]), [0b1111]);
}

/// Any thread may ask for a job of a sporadic task.
#[test]
fn where_a_task_is_sporadic_all_are_in_one_part() {
    let mut tasks: Vec<Task> = (0..4).map(|index| on(index, index as u16)).collect();
    tasks[2].release = Release::Sporadic { distance: ms(10) };
    let config = config(4, policy(Scope::Partitioned, Criterion::Edf), &tasks, vec![]);
    let parts = Kernel::<Edf>::in_parts(config, &machine(4)).expect("admitted");
    assert_eq!(parts.iter().map(|part| part.own().bits()).collect::<Vec<_>>(), [0b1111]);
}

/// Budgets on the first three of four cores.
fn parts_with_budgets(change: impl FnOnce(&mut Regulation)) -> Vec<u64> {
    let tasks: Vec<Task> = (0..4).map(|index| on(index, index as u16)).collect();
    let core = |core| CoreBudget { core: CoreId(core), budget: Budget::Share(100), writes: None };
    let mut wanted = Regulation {
        quantum: Events::new(100),
        ..Regulation::new(
            ms(1),
            Counted::One(EventId::LLC_MISSES),
            (0..3).map(core).collect(),
            Bandwidth::new(1 << 30),
        )
    };
    change(&mut wanted);
    let regulation = Some(Config::new(&wanted, &solo_corpus::ideal_platform(4), &tasks));
    let policy = policy(Scope::Partitioned, Criterion::Edf);
    let config = KernelConfig { regulation, ..config(4, policy, &tasks, vec![]) };
    let caps = Caps { counters: 1, counter_overflow: true, ..machine(4) };
    let parts = Kernel::<Edf>::in_parts(config, &caps).expect("admitted");
    parts.iter().map(|part| part.own().bits()).collect()
}

#[test]
fn budgets_join_cores_only_where_they_depend_on_one_another() {
    let apart = vec![0b0001, 0b0010, 0b0100, 0b1000];
    let joined = vec![0b0111, 0b1000];
    assert_eq!(parts_with_budgets(|_| {}), apart);
    assert_eq!(parts_with_budgets(|wanted| wanted.carry_over = true), apart);
    assert_eq!(parts_with_budgets(|wanted| wanted.sharing = Sharing::Spare), joined);
    assert_eq!(parts_with_budgets(|wanted| wanted.sharing = Sharing::Proportional), joined);
    assert_eq!(parts_with_budgets(|wanted| wanted.reclaim = Reclaim::Pool), joined);
    assert_eq!(parts_with_budgets(|wanted| wanted.reclaim = Reclaim::Peers), joined);
    assert_eq!(parts_with_budgets(|wanted| wanted.cores[1].budget = Budget::Weight(2)), joined);
}

#[test]
fn a_part_that_starts_late_counts_from_the_common_epoch() {
    let tasks: Vec<Task> = (0..2)
        .map(|index| Task {
            release: Release::Periodic { offset: ms(0), period: ms(10) },
            ..on(index, index as u16)
        })
        .collect();
    let config = config(2, policy(Scope::Partitioned, Criterion::Edf), &tasks, vec![]);
    let mut parts = Kernel::<Edf>::in_parts(config, &machine(2)).expect("admitted");
    parts.iter_mut().for_each(|part| part.count_from(Instant::ZERO));
    let late = &mut parts[1];
    let m = &mut solo_hal::Quiet;
    assert_eq!(late.start(m, CoreId(0), at(0)), solo_kernel::Switch::Idle, "core 0 is another part's");
    assert_eq!(late.start(m, CoreId(1), at(13)), solo_kernel::Switch::To(ThreadId(1)));
    let account = late.account_of(TaskId(1)).expect("its task");
    assert_eq!(account.released, 2, "the release at 10 ms is made up for");
    assert_eq!(late.account_of(TaskId(0)).expect("a task").released, 0, "another part's task");
}

//! What is refused, and that the refusal says what is wrong.

mod common;

use common::{caps, complete_task, policy};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::task::Release;
use solo_model::{Caps, CoreId, CoreSet, Criterion, Duration, TaskClass, TaskId};
use solo_schedule::{Parameter, PolicyRefusal, TaskParameters, Visitor, admit, dispatch};

struct Admit<'a>(&'a Policy, &'a [TaskParameters], usize, &'a Caps);

impl Visitor for Admit<'_> {
    type Output = Result<Vec<CoreSet>, PolicyRefusal>;
    fn visit<C: solo_schedule::Criterion>(self) -> Self::Output {
        admit::<C>(self.0, self.1, self.2, self.3)
    }
}

fn judge(
    policy: &Policy,
    tasks: &[TaskParameters],
    cores: usize,
    caps: &Caps,
) -> Result<Vec<CoreSet>, PolicyRefusal> {
    dispatch(policy.criterion, Admit(policy, tasks, cores, caps))
}

fn set(cores: &[u16]) -> CoreSet {
    cores.iter().map(|&core| CoreId(core)).collect()
}

#[test]
fn each_criterion_works_in_each_scope() {
    for criterion in Criterion::ALL {
        for scope in [Scope::Partitioned, Scope::Clustered(vec![set(&[0, 1, 2]), set(&[3])]), Scope::Global] {
            let tasks = [TaskParameters { core: Some(CoreId(1)), ..complete_task() }];
            let domains = judge(&policy(scope.clone(), criterion), &tasks, 4, &caps(4)).expect("complete");
            let bound = criterion == Criterion::CpuAffinity;
            let expected = if bound { Scope::Partitioned } else { scope }.domains(4);
            assert_eq!(domains, expected, "{}", criterion.name());
        }
    }
}

#[test]
fn a_criterion_says_what_a_task_lacks() {
    let once = Release::Once { offset: Duration::ZERO };
    let bare =
        TaskParameters { release: once, deadline: None, wcet: None, priority: None, ..complete_task() };
    let dated = TaskParameters { deadline: Some(Duration::from_millis(5)), ..bare };
    let on_core = TaskParameters { core: Some(CoreId(0)), ..bare };
    let lacking = [
        (Criterion::Edf, bare, Some(Parameter::Deadline)),
        (Criterion::Dm, bare, Some(Parameter::Deadline)),
        (Criterion::Rm, dated, Some(Parameter::Period)),
        (Criterion::Llf, bare, Some(Parameter::Deadline)),
        (Criterion::Llf, dated, Some(Parameter::Wcet)),
        (Criterion::Sjf, dated, Some(Parameter::Wcet)),
        (Criterion::StaticPriority, dated, Some(Parameter::Priority)),
        (Criterion::CpuAffinity, bare, Some(Parameter::Core)),
        (Criterion::CpuAffinity, on_core, Some(Parameter::Priority)),
        (Criterion::Fcfs, bare, None),
        (Criterion::RoundRobin, bare, None),
    ];
    for (criterion, task, parameter) in lacking {
        let policy = policy(Scope::Global, criterion);
        let tasks = [TaskParameters { core: Some(CoreId(0)), ..complete_task() }, task];
        let expected = parameter.map(|parameter| PolicyRefusal::Missing {
            task: TaskId(1),
            parameter,
            criterion: criterion.name(),
        });
        assert_eq!(judge(&policy, &tasks, 1, &caps(1)).err(), expected, "{}", criterion.name());
        let lenient = TaskParameters { class: TaskClass::BestEffort, core: Some(CoreId(0)), ..task };
        assert!(judge(&policy, &[lenient], 1, &caps(1)).is_ok(), "best effort may lack anything");
    }
}

#[test]
fn the_machine_must_be_able_to() {
    let task = complete_task();
    let edf = policy(Scope::Global, Criterion::Edf);
    let fcfs = policy(Scope::Global, Criterion::Fcfs);
    let refusal = |policy: &Policy, cores, caps: &Caps| judge(policy, &[task], cores, caps).err();
    assert_eq!(refusal(&edf, 0, &caps(1)), Some(PolicyRefusal::NoCores));
    assert_eq!(refusal(&edf, 3, &caps(2)), Some(PolicyRefusal::NoSuchCore { task: None, core: CoreId(2) }));
    let clumsy = Caps { preemption: false, ..caps(1) };
    assert_eq!(refusal(&edf, 1, &clumsy), Some(PolicyRefusal::NoPreemption { criterion: "EDF" }));
    assert_eq!(refusal(&fcfs, 1, &clumsy), None);
    let deaf = Caps { reschedule_ipi: false, ..caps(2) };
    assert_eq!(refusal(&edf, 2, &deaf), Some(PolicyRefusal::NoRescheduleRequests));
    assert_eq!(refusal(&edf, 1, &deaf), None, "one core needs none");
    let ticking = Caps { one_shot_timer: false, ..caps(1) };
    assert_eq!(refusal(&edf, 1, &ticking), Some(PolicyRefusal::NoOneShotTimer));
    let tick = |ns| Policy { timing: Timing::Tick(Duration::new(ns)), ..edf.clone() };
    assert_eq!(refusal(&tick(100), 1, &ticking), None);
    for ns in [0, 99] {
        let expected = PolicyRefusal::TickTooFine { tick: Duration::new(ns), finest: Duration::new(100) };
        assert_eq!(refusal(&tick(ns), 1, &ticking), Some(expected));
    }
    let many = [task; 9];
    assert_eq!(
        judge(&edf, &many, 1, &caps(1)).err(),
        Some(PolicyRefusal::TooManyThreads { threads: 9, most: 8 })
    );
}

#[test]
fn clusters_must_be_a_partition_of_the_cores() {
    let refusal = |clusters: &[&[u16]]| {
        let scope = Scope::Clustered(clusters.iter().map(|cores| set(cores)).collect());
        let task = TaskParameters { core: Some(CoreId(0)), ..complete_task() };
        judge(&policy(scope, Criterion::Edf), &[task], 4, &caps(4)).err()
    };
    assert_eq!(refusal(&[&[0, 1], &[2, 3]]), None);
    assert_eq!(refusal(&[&[3, 0], &[2], &[1]]), None, "any size, any order");
    assert_eq!(refusal(&[&[0, 1], &[1, 2, 3]]), Some(PolicyRefusal::ClustersOverlap { core: CoreId(1) }));
    assert_eq!(refusal(&[&[0, 1], &[3]]), Some(PolicyRefusal::Unclustered { core: CoreId(2) }));
    assert_eq!(refusal(&[&[0, 1, 2, 3], &[]]), Some(PolicyRefusal::EmptyCluster { cluster: 1 }));
    assert_eq!(refusal(&[&[0, 1, 2, 3, 4]]), Some(PolicyRefusal::NoSuchCore { task: None, core: CoreId(4) }));
}

#[test]
fn tasks_must_have_a_place_and_sensible_times() {
    let p_edf = policy(Scope::Partitioned, Criterion::Edf);
    let refusal = |task: TaskParameters| judge(&p_edf, &[task], 2, &caps(2)).err();
    let task = TaskParameters { core: Some(CoreId(1)), ..complete_task() };
    assert_eq!(refusal(task), None);
    assert_eq!(
        refusal(TaskParameters { core: None, ..task }),
        Some(PolicyRefusal::Unassigned { task: TaskId(0) })
    );
    for core in [CoreId(2), CoreId(64), CoreId(u16::MAX)] {
        let expected = PolicyRefusal::NoSuchCore { task: Some(TaskId(0)), core };
        assert_eq!(refusal(TaskParameters { core: Some(core), ..task }), Some(expected));
    }
    let zero_period = Release::Periodic { offset: Duration::ZERO, period: Duration::ZERO };
    let expected = PolicyRefusal::Zero { task: TaskId(0), parameter: Parameter::Period };
    assert_eq!(refusal(TaskParameters { release: zero_period, ..task }), Some(expected));
    let fine = Release::Periodic { offset: Duration::ZERO, period: Duration::new(99) };
    let expected = PolicyRefusal::TooFine { task: Some(TaskId(0)), finest: Duration::new(100) };
    assert_eq!(refusal(TaskParameters { release: fine, ..task }), Some(expected));
    let expected = PolicyRefusal::Zero { task: TaskId(0), parameter: Parameter::Deadline };
    assert_eq!(refusal(TaskParameters { deadline: Some(Duration::ZERO), ..task }), Some(expected));
    let endless = TaskParameters { deadline: Some(Duration::MAX), ..task };
    assert_eq!(refusal(endless), Some(PolicyRefusal::TooLong { task: Some(TaskId(0)) }));
}

#[test]
fn round_robin_needs_a_quantum_and_llf_may_have_one() {
    let with = |criterion, quantum| {
        let policy = Policy { quantum, ..policy(Scope::Global, criterion) };
        judge(&policy, &[complete_task()], 1, &caps(1)).err()
    };
    let refused = |criterion| Some(PolicyRefusal::NoQuantum { criterion });
    assert_eq!(with(Criterion::RoundRobin, None), refused("RR"));
    assert_eq!(with(Criterion::RoundRobin, Some(Duration::ZERO)), refused("RR"));
    assert_eq!(with(Criterion::Llf, Some(Duration::ZERO)), refused("LLF"));
    let too_fine = PolicyRefusal::TooFine { task: None, finest: Duration::new(100) };
    assert_eq!(with(Criterion::Llf, Some(Duration::new(99))), Some(too_fine));
    assert_eq!(with(Criterion::Llf, None), None);
    assert_eq!(with(Criterion::Edf, None), None);
    assert_eq!(with(Criterion::RoundRobin, Some(Duration::MAX)), Some(PolicyRefusal::TooLong { task: None }));
}

#[test]
fn a_refusal_reads_as_a_sentence() {
    let missing = PolicyRefusal::Missing { task: TaskId(3), parameter: Parameter::Wcet, criterion: "LLF" };
    assert_eq!(missing.to_string(), "LLF orders by wcet, and task3 has none");
    let absent = PolicyRefusal::NoSuchCore { task: Some(TaskId(0)), core: CoreId(9) };
    assert_eq!(absent.to_string(), "task0 is assigned to core9, which does not exist");
}

//! What a request becomes, what is decided about it and why, and what can't be had.

use solo_model::fixtures::{cache, chip};
use solo_model::platform::Contents;
use solo_model::policy::{Scope, Timing};
use solo_model::work::{Buffer, Span, Step, TraceSource};
use solo_model::{Bytes, CoreId, Criterion, Duration, TaskClass, TaskId};
use solo_plan::{
    Apart, BandwidthWish, Because, Decided, Defaults, Doubtful, EndWish, Fault, Full, Heuristic,
    IsolationWish, Mechanisms, Memory, Named, Needed, Objection, Of, Part, PartitionWish, Partitioner, Plan,
    Recording, Region, ReleaseWish, Request, Rule, Said, SchedulerWish, Steps, Strategy, TaskWish, TextRange,
    Ticks, Wish, plan,
};

fn wish<T>(value: T) -> Wish<T> {
    Wish::new(value, 0..0)
}

fn said<T>(value: T) -> Said<T> {
    Said::This(wish(value))
}

fn scheduler(scope: Scope, criterion: Criterion) -> SchedulerWish {
    SchedulerWish {
        scope,
        criterion: Wish::new(criterion, 7..9),
        quantum: Said::Nothing,
        monitor: Said::Nothing,
        tick: Said::Nothing,
        fastest_first: false,
        overheads: Said::Nothing,
        partition: Said::Nothing,
        capacity: Said::Nothing,
        alpha: Said::Nothing,
    }
}

fn task(name: &str, class: TaskClass) -> TaskWish {
    TaskWish {
        name: wish(name.to_owned()),
        at: (100..200).into(),
        class,
        release: Some(ReleaseWish::Periodic(wish(Duration::from_millis(10)))),
        offset: Said::Nothing,
        deadline: Said::Nothing,
        wcet: Said::Nothing,
        misses: Said::Nothing,
        curve: None,
        priority: Said::Nothing,
        core: said(CoreId(0)),
        migrate: Said::Nothing,
        copies: None,
        work: said(Steps::default()),
        colors: None,
        banks: None,
        ways: None,
        budget: None,
        donates: None,
    }
}

/// Work of so many microseconds.
fn computing(us: u64) -> Steps {
    let steps = vec![Step::Compute(Span::exactly(Duration::from_micros(us)))];
    Steps { steps, regions: Vec::new(), count: 1 }
}

/// As little as can be said: one hard task.
fn least() -> Request {
    Request {
        name: "least".to_owned(),
        platform: said(chip(2)),
        scheduler: said(scheduler(Scope::Partitioned, Criterion::Edf)),
        end: said(EndWish::Jobs(5)),
        tasks: vec![task("control", TaskClass::Hard)],
        ..Request::default()
    }
}

fn faults(request: &Request) -> Vec<Fault> {
    let refused = plan(request, &Defaults).expect_err("it can't be had");
    refused.objections.into_iter().map(|objection| objection.fault).collect()
}

fn decided(plan: &Plan) -> Vec<&Decided> {
    plan.rationale.iter().map(|reason| &reason.what).collect()
}

#[test]
fn what_is_left_open_is_decided_by_the_defaults_and_each_decision_has_a_reason() {
    let plan = plan(&least(), &Defaults).expect("it is whole");
    assert_eq!((plan.experiment.seed, plan.experiment.sample_every), (1, Duration::from_millis(1)));
    assert_eq!(plan.experiment.policy.timing, Timing::OneShot);
    assert_eq!(
        decided(&plan),
        [
            &Decided::Timing(Timing::OneShot),
            &Decided::Seed(1),
            &Decided::Sample(Duration::from_millis(1)),
            &Decided::Overheads { free: true },
        ]
    );
    assert!(plan.rationale.iter().all(|reason| reason.rule == Rule::Convention));
    assert_eq!(plan, self::plan(&least(), &Defaults).expect("the same again"));
}

#[test]
fn what_is_said_is_not_decided() {
    let mut request = least();
    request.seed = said(9);
    request.sample = said(Duration::from_micros(7));
    let mut scheduler = scheduler(Scope::Global, Criterion::RoundRobin);
    scheduler.quantum = said(Duration::from_micros(3));
    scheduler.tick = said(Duration::from_micros(5));
    scheduler.overheads = said(solo_model::OverheadTable::free());
    request.scheduler = said(scheduler);
    let plan = plan(&request, &Defaults).expect("it is whole");
    assert_eq!(plan.rationale, []);
    assert_eq!((plan.experiment.seed, plan.experiment.sample_every), (9, Duration::from_micros(7)));
    assert_eq!(plan.experiment.policy.quantum, Some(Duration::from_micros(3)));
    assert_eq!(plan.experiment.policy.timing, Timing::Tick(Duration::from_micros(5)));
}

#[test]
fn a_quantum_is_a_matter_of_criteria_that_have_one() {
    let quantum = |criterion, said| {
        let mut request = least();
        let mut scheduler = scheduler(Scope::Global, criterion);
        scheduler.quantum = said;
        request.scheduler = Said::This(wish(scheduler));
        request.tasks[0].wcet = self::said(Duration::from_millis(1));
        request.tasks[0].priority = self::said(0);
        plan(&request, &Defaults).expect("it is whole").experiment.policy.quantum
    };
    for criterion in Criterion::ALL {
        let default = match criterion {
            Criterion::RoundRobin => Some(Duration::from_millis(10)),
            Criterion::Llf => Some(Duration::from_millis(1)),
            _ => None,
        };
        assert_eq!(quantum(criterion, Said::Nothing), default, "{criterion:?}");
        let other = Duration::from_millis(77);
        assert_eq!(quantum(criterion, said(other)), default.map(|_| other), "{criterion:?}");
    }
}

struct Otherwise;

impl Strategy for Otherwise {
    fn seed(&self) -> Because<u64> {
        Because::new(42, Rule::Published("the answer"))
    }
    fn release(&self, _: TaskClass, offset: Duration) -> Option<Because<solo_model::task::Release>> {
        Some(Because::new(solo_model::task::Release::Once { offset }, Rule::Measured))
    }
}

#[test]
fn another_strategy_decides_otherwise_and_the_rest_stays() {
    let mut request = least();
    let work = said(computing(100));
    request.tasks.push(TaskWish { release: None, work, ..task("stream", TaskClass::BestEffort) });
    let usual = plan(&request, &Defaults).expect("it is whole");
    let mut other = plan(&request, &Otherwise).expect("it is whole");
    assert_eq!(other.experiment.seed, 42);
    let release = |plan: &Plan| plan.experiment.tasks[1].release;
    assert_eq!(release(&usual), solo_model::task::Release::Continuous { offset: Duration::ZERO });
    assert_eq!(release(&other), solo_model::task::Release::Once { offset: Duration::ZERO });
    let of = Of::Tasks { first: TaskId(1), count: 1 };
    assert!(other.rationale.iter().any(|reason| (reason.of, reason.rule) == (of, Rule::Measured)));
    other.experiment.seed = 1;
    other.experiment.tasks[1].release = release(&usual);
    assert_eq!(other.experiment, usual.experiment);
}

#[test]
fn what_is_missing_altogether_is_named() {
    let incomplete = |change: fn(&mut Request)| {
        let mut request = least();
        change(&mut request);
        faults(&request)
    };
    let only = |part| vec![Fault::Incomplete { part }];
    assert_eq!(incomplete(|request| request.platform = Said::Nothing), only(Part::Platform));
    assert_eq!(incomplete(|request| request.scheduler = Said::Nothing), only(Part::Scheduler));
    assert_eq!(incomplete(|request| request.end = Said::Nothing), only(Part::End));
    assert_eq!(incomplete(|request| request.tasks.clear()), only(Part::Tasks));
    let nothing = plan(&Request::default(), &Defaults).expect_err("nothing is said");
    assert_eq!(nothing.objections.len(), 1, "the first is enough: {nothing:?}");
}

#[test]
fn what_can_t_be_read_is_not_called_missing() {
    let mut request = least();
    request.scheduler = said(scheduler(Scope::Partitioned, Criterion::StaticPriority));
    assert_eq!(faults(&request).len(), 1, "no priority");
    request.tasks[0].priority = Said::Unreadable;
    request.tasks[0].core = Said::Unreadable;
    // Who read it has complained; whoever plans it gets a plan that the reader throws away.
    assert_eq!(plan(&request, &Defaults).map(|plan| plan.experiment.tasks[0].core), Ok(None));
}

#[test]
fn a_policy_says_what_it_needs_of_a_task() {
    let needs = |scope: Scope, criterion, class, release| {
        let mut request = least();
        request.end = said(EndWish::At(Duration::from_secs(1)));
        request.scheduler = said(scheduler(scope, criterion));
        request.tasks = vec![TaskWish { release: Some(release), core: Said::Nothing, ..task("t", class) }];
        let of = |fault| match fault {
            Fault::PolicyNeeds { needed, policy_at, .. } => {
                assert_eq!(policy_at, TextRange { begin: 7, end: 9 });
                Some(needed)
            }
            _ => None,
        };
        let refused = plan(&request, &Defaults).err();
        let objections = refused.map_or(Vec::new(), |refused| refused.objections);
        objections.into_iter().filter_map(|objection| of(objection.fault)).collect::<Vec<_>>()
    };
    use Needed::{Core, Deadline, Period, Priority, Wcet};
    let table = [
        (Criterion::Edf, vec![Deadline]),
        (Criterion::Rm, vec![Period]),
        (Criterion::Dm, vec![Deadline]),
        (Criterion::Llf, vec![Deadline, Wcet]),
        (Criterion::Sjf, vec![Wcet]),
        (Criterion::Fcfs, vec![]),
        (Criterion::RoundRobin, vec![]),
        (Criterion::StaticPriority, vec![Priority]),
        (Criterion::CpuAffinity, vec![Core, Priority]),
    ];
    for (criterion, needed) in table {
        assert_eq!(
            needs(Scope::Global, criterion, TaskClass::Hard, ReleaseWish::Once),
            needed,
            "{criterion:?}"
        );
        let mut bound = needed;
        if bound.first() != Some(&Core) {
            bound.insert(0, Core);
        }
        let found = needs(Scope::Partitioned, criterion, TaskClass::Hard, ReleaseWish::Once);
        assert_eq!(found, bound, "{criterion:?}");
        let free = needs(Scope::Global, criterion, TaskClass::BestEffort, ReleaseWish::Continuous);
        assert!(free.iter().all(|needed| *needed == Core), "{criterion:?}: {free:?}");
    }
}

#[test]
fn declared_times_are_held_against_each_other_and_against_the_work() {
    let mut request = least();
    let compute = |ns| Step::Compute(Span::exactly(Duration::new(ns)));
    let nested = Step::Repeat { times: 3, steps: vec![compute(10), compute(5)] };
    let steps = Steps { steps: vec![compute(100), nested], regions: Vec::new(), count: 4 };
    request.tasks[0].work = Said::This(Wish::new(steps, 60..70));
    request.tasks[0].wcet = Said::This(Wish::new(Duration::new(144), 50..55));
    let doubts = plan(&request, &Defaults).expect("a doubt is no objection").doubts;
    let [doubt] = doubts.as_slice() else { panic!("{doubts:?}") };
    assert_eq!(doubt.at, TextRange { begin: 50, end: 55 });
    let Doubtful::ComputesBeyondWcet { computed, work_at, .. } = &doubt.what else { panic!("{doubt:?}") };
    assert_eq!((*computed, *work_at), (Duration::new(145), TextRange { begin: 60, end: 70 }));
    request.tasks[0].wcet = said(Duration::new(145));
    assert_eq!(plan(&request, &Defaults).expect("exactly").doubts, []);
    request.tasks[0].wcet = said(Duration::new(10_000_001));
    let due = Duration::from_millis(10);
    assert!(matches!(faults(&request)[..], [Fault::WcetBeyondDeadline { due: found, .. }] if found == due));
}

#[test]
fn copies_are_tasks_with_memory_of_their_own_and_limits_count_them() {
    let mut request = least();
    request.buffers = vec![Buffer { name: "shared".to_owned(), size: Bytes::new(64) }];
    request.recordings =
        vec![Recording { source: TraceSource { path: "t".into(), hash: "h".into() }, pages: Vec::new() }];
    let region = |memory, name: &str| Region { memory, name: name.to_owned() };
    let regions = vec![
        region(Memory::Private(Bytes::new(128)), "128B"),
        region(Memory::Shared(solo_model::BufferId(0)), ""),
        region(Memory::Recorded(0, Bytes::new(4096)), "trace 0"),
    ];
    request.tasks[0].work = said(Steps { steps: Vec::new(), regions, count: 500 });
    request.tasks[0].copies = Some(2);
    let made = plan(&request, &Defaults).expect("it is whole").experiment;
    let names: Vec<&str> = made.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
    let own = ["control-0: 128B", "control-0: trace 0", "control-1: 128B", "control-1: trace 0"];
    assert_eq!(names, [&["shared"], &own[..]].concat());
    request.tasks[0].copies = Some(2_001);
    assert_eq!(faults(&request)[..], [Fault::TooManySteps { most: 1_000_000 }]);
    request.tasks[0].copies = Some(10_001);
    assert_eq!(faults(&request)[..], [Fault::TooManyTasks { tasks: 10_001, most: 10_000 }]);
    request.tasks[0].copies = Some(u64::MAX);
    request.tasks.push(request.tasks[0].clone());
    assert_eq!(faults(&request).len(), 1, "no sum overflows, and what follows is not counted");
}

#[test]
fn two_tasks_of_a_name_are_told_with_both_places() {
    let mut request = least();
    request.tasks[0].copies = Some(2);
    request.tasks[0].name = Wish::new("t".to_owned(), 1..2);
    request.tasks.push(TaskWish { name: Wish::new("t-1".to_owned(), 5..8), ..task("", TaskClass::Soft) });
    let refused = plan(&request, &Defaults).expect_err("two");
    let first = TextRange { begin: 1, end: 2 };
    let at = TextRange { begin: 5, end: 8 };
    let fault = Fault::Duplicate { name: "t-1".to_owned(), first };
    assert_eq!(refused.objections, [Objection { at, fault }]);
}

#[test]
fn ten_thousand_objections_are_not_kept() {
    let mut request = least();
    let coreless = |at| TaskWish { core: Said::Nothing, ..task(&format!("t{at}"), TaskClass::Hard) };
    request.tasks = (0..10_000).map(coreless).collect();
    assert_eq!(faults(&request).len(), 200);
}

#[test]
fn jobs_end_a_run_only_where_they_can() {
    let mut request = least();
    request.end = Said::This(Wish::new(EndWish::Jobs(432_000_001), 3..4));
    let most = 432_000_000;
    let period = Duration::from_millis(10);
    assert_eq!(faults(&request), [Fault::RunTooLong { jobs: most + 1, period, most }]);
    request.end = said(EndWish::Jobs(most));
    assert!(plan(&request, &Defaults).is_ok());
    request.tasks[0].release = Some(ReleaseWish::Continuous);
    request.tasks[0].class = TaskClass::BestEffort;
    request.tasks[0].work = said(computing(100));
    assert_eq!(faults(&request), [Fault::JobsOfNone]);
    // A task that could not be read may have been the one.
    request.tasks_in_part = true;
    assert_eq!(faults(&request), [Fault::Incomplete { part: Part::End }]);
}

fn isolated(mechanisms: Mechanisms) -> Request {
    Request { isolation: IsolationWish::By(Box::new(mechanisms)), ..least() }
}

#[test]
fn names_are_looked_up_in_the_scenario_and_forgiven_in_a_variant() {
    let name = Wish::new("contrl".to_owned(), 30..36);
    let mut request =
        isolated(Mechanisms { ways: vec![Named { name, wish: wish(1) }], ..Mechanisms::default() });
    let refused = plan(&request, &Defaults).expect_err("no such task");
    let fault = Fault::NoSuchTask { name: "contrl".to_owned(), known: vec!["control".to_owned()] };
    assert_eq!(refused.objections, [Objection { at: TextRange { begin: 30, end: 36 }, fault }]);
    request.variant = "without".to_owned();
    assert_eq!(plan(&request, &Defaults).expect("left out").experiment.isolation.ways, []);
}

#[test]
fn partitions_are_of_one_core_and_tasks_of_one_partition() {
    let partition = |name: &str, tasks: &[&str]| PartitionWish {
        name: wish(name.to_owned()),
        tasks: tasks.iter().map(|task| wish((*task).to_owned())).collect(),
    };
    let why = |partitions| {
        let mut request = isolated(Mechanisms { partitions, ..Mechanisms::default() });
        request.tasks.push(task("beside", TaskClass::Hard));
        request.tasks.push(TaskWish { core: said(CoreId(1)), ..task("elsewhere", TaskClass::Hard) });
        let refused = plan(&request, &Defaults).err();
        let objections = refused.map_or(Vec::new(), |refused| refused.objections);
        let why = |objection: Objection| match objection.fault {
            Fault::NotInPartition { task, why, .. } => (task, why),
            other => panic!("{other:?}"),
        };
        objections.into_iter().map(why).collect::<Vec<_>>()
    };
    assert_eq!(why(vec![partition("a", &["control", "beside"]), partition("b", &["elsewhere"])]), []);
    assert_eq!(
        why(vec![partition("a", &["control", "elsewhere"])]),
        [("elsewhere".to_owned(), Apart::OtherCore)]
    );
    assert_eq!(
        why(vec![partition("a", &["control"]), partition("b", &["beside", "control"])]),
        [("control".to_owned(), Apart::Twice)]
    );
}

#[test]
fn each_part_of_a_regulation_that_is_not_said_has_a_reason() {
    let plan_of = |bandwidth: BandwidthWish| {
        let mut request = isolated(Mechanisms { bandwidth: said(bandwidth), ..Mechanisms::default() });
        let mut cached = chip(2);
        cached.caches = vec![cache(2, Contents::Unified, cached.core_set(), 256, 8, 10)];
        request.platform = said(cached);
        plan(&request, &Defaults).expect("it is whole")
    };
    let open = plan_of(BandwidthWish::default());
    let of_bandwidth = |plan: &Plan| {
        plan.rationale
            .iter()
            .filter(|reason| reason.of == Of::Bandwidth)
            .map(|reason| reason.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(of_bandwidth(&open).len(), 8, "{:?}", open.rationale);
    let regulation = open.experiment.isolation.bandwidth.clone().expect("wished");
    let closed = plan_of(BandwidthWish {
        period: Some(wish(regulation.period)),
        counted: Some(wish(regulation.counted)),
        sharing: Some(wish(regulation.sharing)),
        reclaim: Some(wish(regulation.reclaim)),
        prediction: Some(wish(regulation.prediction.clone())),
        quantum: Some(wish(regulation.quantum.get())),
        wrong_donation: Some(wish(regulation.wrong_donation)),
        guaranteed: Some(wish(regulation.guaranteed)),
        ..BandwidthWish::default()
    });
    assert_eq!(of_bandwidth(&closed), []);
    let mut stated = closed.experiment.isolation.bandwidth.expect("wished");
    assert_eq!(stated.guaranteed_with_writes, None, "what is stated holds for both");
    stated.guaranteed_with_writes = regulation.guaranteed_with_writes;
    assert_eq!(stated, regulation);
}

fn packed(criterion: Criterion, heuristic: &str, tasks: Vec<TaskWish>) -> Request {
    let known = Heuristic::ALL.iter().find(|(name, _)| *name == heuristic).expect("it is known");
    let mut wish = scheduler(Scope::Partitioned, criterion);
    wish.partition = said(Partitioner::Tasks(known.1));
    Request { tasks, scheduler: said(wish), ..least() }
}

fn sized(name: &str, ms: u64, period_ms: u64, core: Option<u16>) -> TaskWish {
    TaskWish {
        wcet: said(Duration::from_millis(ms)),
        core: core.map_or(Said::Nothing, |core| said(CoreId(core))),
        release: Some(ReleaseWish::Periodic(wish(Duration::from_millis(period_ms)))),
        ..task(name, TaskClass::Hard)
    }
}

#[test]
fn tasks_without_a_core_are_given_one_and_the_others_stay() {
    let tasks = vec![sized("a", 6, 10, None), sized("b", 5, 10, Some(0)), sized("c", 5, 10, None)];
    let plan = plan(&packed(Criterion::Edf, "ff", tasks), &Defaults).expect("they fit");
    let cores: Vec<_> = plan.experiment.tasks.iter().map(|task| task.core.map(|core| core.0)).collect();
    assert_eq!(cores, [Some(1), Some(0), Some(0)]);
    let assigned: Vec<_> =
        plan.rationale.iter().filter(|reason| matches!(reason.what, Decided::Core(_))).collect();
    assert_eq!(assigned.len(), 2, "{assigned:?}");
    let rule = Rule::Packed(Partitioner::Tasks(Heuristic::ALL[0].1));
    assert!(assigned.iter().all(|reason| reason.rule == rule));
}

#[test]
fn the_same_tasks_fit_by_demand_and_not_by_response_times() {
    let tasks = || vec![sized("a", 6, 10, Some(0)), sized("b", 9, 10, Some(1)), sized("c", 6, 15, None)];
    assert!(plan(&packed(Criterion::Edf, "ffd", tasks()), &Defaults).is_ok());
    let faults = faults(&packed(Criterion::Rm, "ffd", tasks()));
    let [Fault::Unplaced { task, tried }] = faults.as_slice() else { panic!("{faults:?}") };
    assert_eq!((task.as_str(), tried.len()), ("c", 2));
    let deadline = Duration::from_millis(15).get();
    assert_eq!(tried[0].full, Full::Response { late: 2, deadline: Ticks(deadline) });
    assert_eq!(tried[0].late, Some(TaskId(2)));
    assert_eq!(tried[1].full, Full::Utilization { millionths: 1_300_000 });
}

#[test]
fn what_can_t_be_sized_or_has_no_capacity_is_said() {
    let mut sweeps = sized("sweeps", 1, 10, None);
    sweeps.wcet = Said::Nothing;
    let sleep = Step::Sleep(Span::exactly(Duration::from_millis(1)));
    sweeps.work = said(Steps { steps: vec![sleep], regions: Vec::new(), count: 1 });
    let task = "sweeps".to_owned();
    assert_eq!(faults(&packed(Criterion::Edf, "bf", vec![sweeps])), [Fault::Unsized { task }]);
    let fcfs = packed(Criterion::Fcfs, "bf", vec![sized("t", 1, 10, None)]);
    assert!(matches!(faults(&fcfs)[..], [Fault::NoCapacity { .. }]));
    let mut global = packed(Criterion::Edf, "bf", vec![sized("t", 1, 10, None)]);
    let Said::This(wish) = &mut global.scheduler else { panic!("it is said") };
    wish.value.scope = Scope::Global;
    let doubts = plan(&global, &Defaults).expect("a doubt is no objection").doubts;
    assert!(matches!(doubts[..], [solo_plan::Doubt { what: Doubtful::UnusedPartition, .. }]));
    // What is not periodic has no share of a core: it has to name one.
    let once = TaskWish {
        release: Some(ReleaseWish::Once),
        deadline: said(Duration::from_millis(1)),
        ..sized("o", 1, 10, None)
    };
    let mut request = packed(Criterion::Edf, "bf", vec![once]);
    request.end = said(EndWish::At(Duration::from_secs(1)));
    assert!(matches!(faults(&request)[..], [Fault::PolicyNeeds { needed: Needed::Core, .. }]));
}

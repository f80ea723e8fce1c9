//! Budgets of instructions executed by the kernel on 64-bit Arm, whose emulated counters count them and interrupt when they overflow.
//! QEMU keeps one count of instructions for all cores of a machine. What is exact here is so on one core; of several, each takes
//! from the count what it has executed itself.
//!
//! `./x soak counters` tries more than the periods of every test run: `SOLO_BUDGET_PERIODS` of them.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::isolation::{Budget, CoreBudget, Counted, Donation, Regulation, Sharing, TaskBudget};
use solo_model::record::{JobRecord, RegulationRecord};
use solo_model::task::Release;
use solo_model::units::{Bandwidth, Events};
use solo_model::work::{Span, Step, Work};
use solo_model::{
    CoreId, Criterion, Duration, EventId, Experiment, Isolation, Policy, Record, Scope, Task, TaskClass,
    TaskId,
};
use solo_qemu::{BootReport, Image, InstructionSet, Machine};
use std::process::ExitCode;
use std::time::Duration as HostDuration;

/// Periods of every test run.
const PERIODS: u64 = 1000;
const PERIOD: Duration = Duration::from_millis(1);
/// Instructions of a period, of which an emulated core executes a million.
const BUDGET: u64 = 300_000;
/// What a core may execute beyond its budget: the kernel's paths from the overflow to the stop, and from the end of the period to the
/// next one's budget. The counter counts them, too; so the kernel says of each such period that its overflow came late.
const LATENCY: u64 = 5_000;

fn said(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn main() -> ExitCode {
    common::run_everywhere("budgets of instructions on bare metal", |set| {
        let test = |name: &str, test: fn(&Image) -> Result<(), Failed>| -> (String, Test) {
            (name.to_owned(), Box::new(test))
        };
        match set {
            InstructionSet::X86_64 => {
                println!("skipped: budgets of instructions on x86-64: QEMU emulates no counters there");
                Vec::new()
            }
            InstructionSet::Arm64 => vec![
                test("a_core_executes_its_budget_and_what_its_interrupt_takes", exact),
                test("a_task_is_stopped_at_its_own_budget_wherever_it_stands", of_a_task),
                test("two_runs_with_budgets_are_equal_record_by_record", repeatable),
                test(
                    "each_of_several_cores_executes_its_own_budget_out_of_one_count",
                    each_of_several_cores_executes_its_own_budget_out_of_one_count,
                ),
                test("cores_that_have_what_they_ask_for_are_not_stopped_by_what_others_execute", not_stopped),
                test("budgets_order_the_columns_of_the_case_study_as_the_paper_does", case_study),
            ],
        }
    })
}

fn machine() -> Machine {
    let limit = HostDuration::from_secs(600);
    Machine { limit, ..Machine::of(InstructionSet::Arm64) }
}

fn computing(name: &str, period: Duration, span: Duration) -> Task {
    let release = Release::Periodic { offset: Duration::ZERO, period };
    let work = Work { steps: vec![Step::Compute(Span::exactly(span))] };
    Task { core: Some(CoreId(0)), work, ..Task::new(name, TaskClass::BestEffort, release) }
}

/// `tasks` on one core with a budget of instructions, for `periods`.
fn experiment(tasks: Vec<Task>, budget: u64, periods: u64) -> Experiment {
    let core = CoreBudget { core: CoreId(0), budget: Budget::Events(Events::new(budget)), writes: None };
    let counted = Counted::One(EventId::INSTRUCTIONS);
    let none = |task| TaskBudget { task: TaskId(task), budget: None, donates: Donation::Nothing };
    let regulation = Regulation {
        tasks: (0..tasks.len() as u32).map(none).collect(),
        best_effort: true,
        ..Regulation::new(PERIOD, counted, vec![core], Bandwidth::new(1 << 40))
    };
    let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
    let end = End::At(PERIOD * periods);
    Experiment {
        isolation: Isolation { bandwidth: Some(regulation), ..Isolation::default() },
        ..Experiment::new("budgets", ideal_platform(1), policy, tasks, end)
    }
}

fn periods(report: &BootReport) -> Vec<RegulationRecord> {
    let period = |record: &Record| match record {
        Record::Regulation(period) => Some(*period),
        _ => None,
    };
    report.records.iter().filter_map(period).collect()
}

/// A thread that would use all of a core gets exactly the instructions that its core has reserved, period by period, and then what
/// it takes to notice.
fn exact(image: &Image) -> Result<(), Failed> {
    let count = said("SOLO_BUDGET_PERIODS").unwrap_or(PERIODS);
    let greedy = computing("greedy", PERIOD * 10 * count, PERIOD * 9 * count);
    let report = machine().run(image, &experiment(vec![greedy], BUDGET, count))?;
    let periods = periods(&report);
    assert!(periods.len() as u64 + 1 >= count, "{} periods of {count}", periods.len());
    let over: Vec<u64> = periods.iter().map(|period| period.used[0].get().saturating_sub(BUDGET)).collect();
    let (least, most) = (over.iter().min().copied().unwrap_or(0), over.iter().max().copied().unwrap_or(0));
    println!("{} periods: {least} to {most} instructions beyond {BUDGET}", periods.len());
    assert!(most - least < LATENCY / 10, "the same path each time: {least} to {most}");
    for period in &periods {
        let used = period.used[0].get();
        assert!((BUDGET..=BUDGET + LATENCY).contains(&used), "{period:?}");
        assert_eq!(period.reserved[0], Events::new(BUDGET), "{period:?}");
        assert!(period.throttled.get() > PERIOD.get() / 2, "{period:?}");
        // Nothing runs on a core that has been stopped.
        assert!(period.throttled.get() + used >= PERIOD.get() - 2 * LATENCY, "{period:?}");
    }
    Ok(())
}

/// The core has enough for all; one of its two tasks has a budget of its own, and the other one gets the rest of the core.
fn of_a_task(image: &Image) -> Result<(), Failed> {
    let tasks = vec![
        computing("limited", Duration::from_millis(4), Duration::from_millis(3)),
        computing("free", Duration::from_millis(8), Duration::from_millis(2)),
    ];
    let mut experiment = experiment(tasks, 2_000_000, 200);
    if let Some(regulation) = &mut experiment.isolation.bandwidth {
        regulation.tasks[0].budget = Some(Budget::Events(Events::new(200_000)));
    }
    let report = machine().run(image, &experiment)?;
    let jobs = |task: u32| {
        let of = |record: &&Record| matches!(record, Record::Job(job) if job.task == TaskId(task));
        report.records.iter().filter(of).count()
    };
    // 3 ms of work at 200 us a period take 15 periods: the jobs of 200 ms are 13. The other one has its core at once.
    assert!((11..=13).contains(&jobs(0)), "{} jobs\n{}", jobs(0), report.console);
    assert!(jobs(1) >= 24, "{} jobs\n{}", jobs(1), report.console);
    Ok(())
}

fn repeatable(image: &Image) -> Result<(), Failed> {
    let tasks = vec![
        computing("a", Duration::from_millis(3), Duration::from_micros(800)),
        computing("b", Duration::from_millis(5), Duration::from_millis(2)),
    ];
    let experiment = experiment(tasks, BUDGET, 100);
    let (first, second) = (machine().run(image, &experiment)?, machine().run(image, &experiment)?);
    assert!(!periods(&first).is_empty(), "{}", first.console);
    assert_eq!(first.digest, second.digest);
    Ok(())
}

/// Tasks on cores of their own with budgets of instructions, until `end`.
fn side_by_side(tasks: Vec<Task>, budgets: &[u64], sharing: Sharing, end: Duration) -> Experiment {
    let core = |(core, budget): (usize, &u64)| CoreBudget {
        core: CoreId(core as u16),
        budget: Budget::Events(Events::new(*budget)),
        writes: None,
    };
    let cores = budgets.iter().enumerate().map(core).collect();
    let none = |task| TaskBudget { task: TaskId(task), budget: None, donates: Donation::Nothing };
    let counted = Counted::One(EventId::INSTRUCTIONS);
    let regulation = Regulation {
        tasks: (0..tasks.len() as u32).map(none).collect(),
        best_effort: true,
        sharing,
        ..Regulation::new(PERIOD, counted, cores, Bandwidth::new(1 << 40))
    };
    let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
    Experiment {
        isolation: Isolation { bandwidth: Some(regulation), ..Isolation::default() },
        ..Experiment::new("budgets", ideal_platform(budgets.len()), policy, tasks, End::At(end))
    }
}

/// A task that computes on `core` all the time.
fn busy(core: u16, span: Duration) -> Task {
    let work = Work { steps: vec![Step::Compute(Span::exactly(span))] };
    let release = Release::Continuous { offset: Duration::ZERO };
    Task { core: Some(CoreId(core)), work, ..Task::new("busy", TaskClass::BestEffort, release) }
}

/// What a core used in each of its whole periods.
fn used(report: &BootReport, core: u16) -> Vec<u64> {
    let own = periods(report).into_iter().filter(|period| period.core == CoreId(core));
    let whole = own.filter(|period| period.at.since(period.since) > PERIOD - PERIOD / 10);
    whole.map(|period| period.used[0].get()).collect()
}

/// What two and four cores use is what each may use, although one count holds what all execute. It is the same budget, one after the
/// other, on whichever core.
fn each_of_several_cores_executes_its_own_budget_out_of_one_count(image: &Image) -> Result<(), Failed> {
    for budgets in [&[200_000, 600_000][..], &[600_000, 200_000], &[100_000, 300_000, 150_000, 250_000]] {
        let tasks = (0..budgets.len() as u16).map(|core| busy(core, Duration::from_millis(3))).collect();
        let experiment = side_by_side(tasks, budgets, Sharing::None, PERIOD * 100);
        let report = machine().with_cores(budgets.len() as u8).run(image, &experiment)?;
        for (core, &budget) in budgets.iter().enumerate() {
            let used = used(&report, core as u16);
            let (least, most) = (used.iter().min().copied(), used.iter().max().copied());
            println!("core {core} of {budgets:?}: {least:?} to {most:?} in {} periods", used.len());
            assert!(used.len() >= 95, "{} periods", used.len());
            let bounds = budget..=budget + 2 * LATENCY;
            assert!(used.iter().all(|used| bounds.contains(used)), "{used:?} of {budget}");
        }
    }
    Ok(())
}

/// One core asks for little and has more; the other is stopped. Where counters counted what all execute, both would be stopped.
fn not_stopped(image: &Image) -> Result<(), Failed> {
    let modest = computing("modest", Duration::from_millis(1), Duration::from_micros(150));
    let tasks = vec![modest, busy(1, Duration::from_millis(3))];
    let experiment = side_by_side(tasks, &[250_000, 500_000], Sharing::None, PERIOD * 100);
    let report = machine().with_cores(2).run(image, &experiment)?;
    let stopped = |core| {
        let own = periods(&report).into_iter().filter(move |period| period.core == CoreId(core));
        own.filter(|period| !period.throttled.is_zero()).count()
    };
    assert_eq!(stopped(0), 0, "{}", report.console);
    assert!(stopped(1) >= 95, "{} periods\n{}", stopped(1), report.console);
    assert!(used(&report, 0).iter().all(|used| (150_000..180_000).contains(used)), "{:?}", used(&report, 0));
    Ok(())
}

/// A column of the case study.
struct Column {
    p99: Duration,
    misses: usize,
    jobs: usize,
    /// What the neighbours executed of what their cores could, per mille.
    neighbours: u64,
}

/// `scenarios/papers/memguard/case-study-instructions.toml` with fewer jobs: a frame task, and a screen on two cores.
fn column(image: &Image, budgets: [u64; 3], sharing: Sharing, alone: bool) -> Result<Column, Failed> {
    const JOBS: u64 = 30;
    let (period, end) = (Duration::from_millis(20), Duration::from_millis(20) * JOBS);
    let release = Release::Periodic { offset: Duration::ZERO, period };
    let exactly = |micros| Span::exactly(Duration::from_micros(micros));
    let work = Work { steps: vec![Step::Compute(exactly(5550))] };
    let deadline = Some(Duration::from_millis(13));
    let frame =
        Task { core: Some(CoreId(0)), work, deadline, ..Task::new("frame", TaskClass::Hard, release) };
    let screen = |core| {
        let pause = Span { least: Duration::from_micros(1200), most: Duration::from_micros(3200) };
        let work = Work { steps: vec![Step::Sleep(pause), Step::Compute(exactly(7800))] };
        Task { work, ..busy(core, Duration::ZERO) }
    };
    let tasks = if alone { vec![frame] } else { vec![frame, screen(1), screen(2)] };
    let experiment = side_by_side(tasks, &budgets, sharing, end);
    let report = machine().with_cores(3).run(image, &experiment)?;
    let of_frame = |record: &Record| match record {
        Record::Job(job) if job.task == TaskId(0) => Some(job.clone()),
        _ => None,
    };
    let jobs: Vec<JobRecord> = report.records.iter().filter_map(of_frame).collect();
    let mut responses: Vec<Duration> = jobs.iter().map(JobRecord::response).collect();
    responses.sort_unstable();
    let executed: u64 = periods(&report)
        .iter()
        .filter(|period| period.core != CoreId(0))
        .map(|period| period.used[0].get())
        .sum();
    let column = Column {
        p99: *responses.last().ok_or("no job")?,
        misses: jobs.iter().filter(|job| job.missed()).count(),
        jobs: jobs.len(),
        neighbours: executed * 1000 / (2 * end.get()),
    };
    println!(
        "{budgets:?} {sharing:?}: longest {}, {} of {} missed; neighbours {} per mille",
        column.p99, column.misses, column.jobs, column.neighbours
    );
    Ok(column)
}

/// Tables 1 and 2 of the MemGuard case study: who misses, who is slower than whom, and what the neighbours have left.
fn case_study(image: &Image) -> Result<(), Failed> {
    let whole = [1_000_000; 3];
    let (even, uneven) = ([400_000, 200_000, 200_000], [600_000, 100_000, 100_000]);
    let solo = column(image, whole, Sharing::None, true)?;
    let corun = column(image, whole, Sharing::None, false)?;
    let budgets = column(image, even, Sharing::None, false)?;
    let shared = column(image, even, Sharing::Proportional, false)?;
    let more = column(image, uneven, Sharing::None, false)?;
    let more_shared = column(image, uneven, Sharing::Proportional, false)?;
    assert!([&solo, &shared, &more, &more_shared].iter().all(|column| column.misses == 0));
    assert!(corun.misses > 0 && corun.misses < corun.jobs, "{} of {}", corun.misses, corun.jobs);
    assert_eq!(budgets.misses, budgets.jobs);
    let falling = [&corun, &budgets, &shared, &more, &more_shared, &solo];
    assert!(falling.windows(2).all(|pair| pair[0].p99 >= pair[1].p99));
    // Which of the two that share leaves more differs by less than a seed does.
    assert!([&shared, &more_shared].iter().all(|column| column.neighbours < corun.neighbours));
    assert!([&shared, &more_shared].iter().all(|column| column.neighbours > budgets.neighbours * 3 / 2));
    assert!(budgets.neighbours > more.neighbours * 3 / 2);
    Ok(())
}

//! Budgets of instructions executed by the kernel on 64-bit Arm, whose emulated counters count them and interrupt when they overflow.
//! QEMU keeps one count of instructions for all cores of a machine, so that what is exact here is so on one core.
//!
//! `./x soak counters` tries more than the periods of every test run: `SOLO_BUDGET_PERIODS` of them.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::isolation::{Budget, CoreBudget, Counted, Donation, Regulation, TaskBudget};
use solo_model::record::RegulationRecord;
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

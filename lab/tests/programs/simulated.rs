//! Programs in simulated time: beside the same work as steps, beside the kernels, and what can't be simulated.

use crate::{METAL, jobs, program, run};
use solo_lab::program::{ProgramError, ProgramMachine, ProgramRun, Timeless};
use solo_lab::{Cancel, Control, LabError, Recordings, Simulation};
use solo_model::work::{Span, Step};
use solo_model::{Duration, LockId, Record};
use solo_report::Report;
use std::path::Path;

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// Two threads on one core and one on another one, which share a mutex and all compute.
const CONTROL: &str = r#"#![cfg_attr(target_os = "none", no_std, no_main)]
use solo_app::{Criterion, Mutex, Periodic, Program, Protocol, Scope, compute, ms, us, wait_next};
solo_app::program!(control);

fn control(program: &mut Program) {
    program.policy(Scope::Partitioned, Criterion::CRITERION);
    program.jobs(10);
    let state = program.mutex("state", Protocol::Inheritance);
    let periodic = |period, priority| Periodic::new(ms(period)).priority(priority).uses(state);
    program.thread("fast", periodic(5, 0), move || job(state, 290, 370));
    program.thread("slow", periodic(12, 2), move || job(state, 2_100, 1_500));
    program.thread("other", periodic(8, 1).core(1), move || job(state, 500, 900));
}

fn job(state: Mutex, alone: u64, inside: u64) {
    loop {
        compute(us(alone));
        let held = state.lock();
        compute(us(inside));
        drop(held);
        solo_app::sleep(us(200));
        compute(us(100));
        wait_next();
    }
}
"#;

/// What the threads of `CONTROL` do, as steps.
fn steps(alone: u64, inside: u64) -> Vec<Step> {
    let compute = |n| Step::Compute(Span::exactly(us(n)));
    vec![
        compute(alone),
        Step::Acquire(LockId(0)),
        compute(inside),
        Step::Release(LockId(0)),
        Step::Sleep(Span::exactly(us(200))),
        compute(100),
    ]
}

/// The order in which jobs are released and done, and locks change hands, of tasks on one core.
fn order(run: &ProgramRun, tasks: &[u32]) -> Vec<String> {
    let of = |record: &Record| match record {
        Record::Release(release) => Some((release.task, format!("release {}", release.job.0))),
        Record::Job(job) => Some((job.task, format!("done {}", job.job.0))),
        _ => None,
    };
    let told = run.records().iter().filter_map(of).filter(|(task, _)| tasks.contains(&task.0));
    told.map(|(task, what)| format!("{task}: {what}")).collect()
}

#[test]
fn a_program_is_recorded_as_the_same_work_in_steps() {
    let place = tempfile::tempdir().unwrap();
    for criterion in ["Dm", "Edf", "StaticPriority", "Rm"] {
        let folder = program(place.path(), "control", &CONTROL.replace("CRITERION", criterion));
        let Some(run) = run(&folder, ProgramMachine::Simulated) else { return };
        let mut experiment = run.experiment().clone();
        for (task, (alone, inside)) in [(290, 370), (2_100, 1_500), (500, 900)].into_iter().enumerate() {
            experiment.tasks[task].work.steps = steps(alone, inside);
        }
        let (recordings, control) = (Recordings::default(), Control::silent());
        let steps = Simulation {
            experiment: &experiment,
            recordings: &recordings,
            name: "steps",
            control: &control,
            stop_on: None,
        };
        let mut expected = Vec::new();
        let _: Report = steps.report_of(|record| expected.push(record.clone())).unwrap();
        assert!(expected.len() > 100);
        assert_eq!(run.records(), expected, "{criterion}");
    }
}

#[test]
fn a_program_that_computes_does_so_in_one_order_on_the_kernels_and_in_simulated_time() {
    let place = tempfile::tempdir().unwrap();
    let folder = program(place.path(), "control-everywhere", &CONTROL.replace("CRITERION", "Dm"));
    let Some(simulated) = run(&folder, ProgramMachine::Simulated) else { return };
    for set in METAL {
        let Some(metal) = run(&folder, ProgramMachine::Metal(set)) else { continue };
        for tasks in [&[0, 1][..], &[2]] {
            let (expected, found) = (order(&simulated, tasks), order(&metal, tasks));
            // Where the run ends depends on the time that the kernel takes.
            let common = expected.len().min(found.len());
            assert!(common > 35 || tasks == [2], "{set}: {common}");
            assert_eq!(expected[..common], found[..common], "{set}");
        }
        for thread in ["fast", "slow", "other"] {
            let longest = |run: &ProgramRun| jobs(run, thread).iter().map(|job| job.executed).max().unwrap();
            let (here, there) = (longest(&simulated), longest(&metal));
            println!("{set}, {thread}: {there} executed at most, {here} in simulated time");
            assert!(here <= there && there < here + us(60), "{set}, {thread}: {there} beside {here}");
        }
    }
}

/// Runs what can't be simulated; why not.
fn refused(place: &Path, name: &str, body: &str) -> ProgramError {
    let main = format!(
        "#![cfg_attr(target_os = \"none\", no_std, no_main)]\n\
         #[allow(unused)] use solo_app::{{Mutex, Periodic, Program, Protocol, Sporadic, Thread, compute, ms, now, pause, simulated_cost, us, wait_next}};\n\
         solo_app::program!(tried);\n\
         fn tried(program: &mut Program) {{\n    {body}\n}}\n"
    );
    let folder = program(place, name, &main);
    let control = Control { progress: &(), cancel: Cancel::new() };
    match ProgramRun::run(&folder, ProgramMachine::Simulated, &control) {
        Err(LabError::Program(error)) => error,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn threads_in_which_no_time_passes_are_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let timeless = |name: &str, body: &str| match refused(place.path(), name, body) {
        error @ ProgramError::Timeless { .. } => {
            let text = error.to_string();
            println!("{text}");
            let ProgramError::Timeless { thread, at, why } = error else { unreachable!() };
            assert!(text.contains(&thread) && text.contains(&at.to_string()), "{text}");
            (thread, at.get() / 1000, why)
        }
        other => panic!("{name}: {other}"),
    };
    let untold =
        "program.thread(\"told\", Periodic::new(ms(1)), || loop { simulated_cost(us(0)); wait_next() });
        program.thread(\"not told\", Periodic::new(ms(7)).offset(ms(2)).core(1), || for job in 0.. {
            if job < 3 { compute(us(5)); }
            wait_next();
        });";
    assert_eq!(timeless("untold", untold), ("not told".to_owned(), 23_000, Timeless::Untold));
    let looks = "program.thread(\"looks\", Periodic::new(ms(1)), || {
            compute(us(40));
            let end = now() + us(10);
            while now() < end {}
        });";
    assert_eq!(timeless("looks", looks), ("looks".to_owned(), 40, Timeless::Looks));
    let asks = "let s = program.semaphore(\"s\", 0);
        program.thread(\"asks\", Periodic::new(ms(1)).uses(s), move || loop { s.release() });";
    let (thread, at, why) = timeless("asks", asks);
    assert_eq!((thread.as_str(), at), ("asks", 0));
    assert!(matches!(why, Timeless::Requests(_)));
    let silent = "program.thread(\"silent\", Periodic::new(ms(1)), || loop { core::hint::black_box(()); });";
    let (thread, at, why) = timeless("silent", silent);
    assert_eq!((thread.as_str(), at), ("silent", 0));
    assert!(matches!(why, Timeless::Silent(_)));
}

#[test]
fn a_process_that_ends_while_it_is_simulated_is_told_with_what_it_said() {
    let place = tempfile::tempdir().unwrap();
    for (name, body, expected) in [
        (
            "exits",
            "program.thread(\"exits\", Periodic::new(ms(1)), || { println!(\"enough\"); std::process::exit(3) });",
            "exit status: 3; what it said:\nenough",
        ),
        ("aborts", "program.thread(\"aborts\", Periodic::new(ms(1)), || std::process::abort());", "signal 6"),
        ("leaves", "let _ = program; std::process::exit(0)", "exit status: 0"),
    ] {
        let error = refused(place.path(), name, body);
        assert!(matches!(error, ProgramError::Ended { .. }), "{name}: {error}");
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
}

const STUCK: &str = r#"#![cfg_attr(target_os = "none", no_std, no_main)]
use solo_app::{Mutex, Periodic, Program, Protocol, Thread, compute, ms, pause, us, wait_next};
use core::sync::atomic::{AtomicBool, Ordering};
solo_app::program!(stuck);

static READY: AtomicBool = AtomicBool::new(false);

fn stuck(program: &mut Program) {
    program.run_for(ms(100));
    let (a, b) = (program.mutex("a", Protocol::Plain), program.mutex("b", Protocol::Plain));
    let both = |core| Periodic::new(ms(20)).core(core).uses(a).uses(b);
    program.thread("ab", both(0), move || take(a, b));
    program.thread("ba", both(1), move || take(b, a));
    program.thread("waits", Thread::new().core(2), || {
        while !READY.load(Ordering::Acquire) {
            pause();
        }
        solo_app::record("ready", solo_app::now().get());
    });
    program.thread("readies", Periodic::new(ms(30)).offset(ms(3)).core(3), || {
        compute(us(10));
        READY.store(true, Ordering::Release);
    });
}

fn take(first: Mutex, second: Mutex) {
    loop {
        compute(us(10));
        let _first = first.lock();
        compute(us(10));
        let _second = second.lock();
        wait_next();
    }
}
"#;

/// Jobs that wait for each other for ever are unfinished at the end; who waits in a loop with pauses sees what others write.
#[test]
fn threads_wait_for_each_other_in_simulated_time() {
    let place = tempfile::tempdir().unwrap();
    let folder = program(place.path(), "stuck", STUCK);
    let Some(run) = run(&folder, ProgramMachine::Simulated) else { return };
    assert_eq!((jobs(&run, "ab").len(), jobs(&run, "ba").len()), (0, 0));
    let unfinished = run.records().iter().filter(|record| matches!(record, Record::Unfinished(_)));
    assert!(unfinished.count() >= 2);
    let notes = run.notes();
    let ready = notes.iter().find(|note| note.name == "ready").unwrap().least;
    assert!((3_010_000..=3_010_100).contains(&ready), "{ready}");
}

#[test]
fn who_cancels_a_simulated_program_ends_its_process() {
    let place = tempfile::tempdir().unwrap();
    let main = "#![cfg_attr(target_os = \"none\", no_std, no_main)]\n\
        use solo_app::{Periodic, Program, ms};\n\
        solo_app::program!(sleeps);\n\
        fn sleeps(program: &mut Program) {\n\
            program.thread(\"sleeps\", Periodic::new(ms(1)), || std::thread::sleep(std::time::Duration::from_secs(9)));\n\
        }\n";
    let folder = program(place.path(), "cancelled", main);
    let cancel = Cancel::new();
    let control = Control { progress: &(), cancel: cancel.clone() };
    cancel.request();
    let ended = ProgramRun::run(&folder, ProgramMachine::Simulated, &control);
    assert!(matches!(ended, Err(LabError::Interrupted)), "{ended:?}");
}

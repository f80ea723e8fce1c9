//! What becomes of programs that make mistakes with locks, their process and what it starts.

use super::{machines, program, run};
use solo_lab::program::{ProgramError, ProgramMachine, ProgramRun, Timeless};
use solo_lab::{Cancel, Control, LabError};
use std::path::Path;

/// A program of one thread on core 0 that does `body` after 5 us, and of one that makes no mistake.
fn source(body: &str) -> String {
    format!(
        "#![cfg_attr(target_os = \"none\", no_std, no_main)]\n\
         #[allow(unused)] use solo_app::{{Mutex, Periodic, Program, Protocol, compute, ms, us, wait_next}};\n\
         solo_app::program!(wrong);\n\
         fn wrong(program: &mut Program) {{\n\
         program.jobs(3);\n\
         let m = program.mutex(\"m\", Protocol::Ceiling);\n\
         program.thread(\"bad\", Periodic::new(ms(10)).uses(m), move || bad(m));\n\
         program.thread(\"good\", Periodic::new(ms(20)).uses(m), move || loop {{ compute(us(5)); drop(m.lock()); wait_next(); }});\n\
         }}\n\
         #[allow(unused, unreachable_code)] fn bad(m: Mutex) {{ loop {{ compute(us(5)); {body} wait_next(); }} }}\n"
    )
}

/// Why there is no run.
fn refused(place: &Path, name: &str, body: &str, machine: ProgramMachine) -> Option<ProgramError> {
    let folder = program(place, name, &source(body));
    match ProgramRun::run(&folder, machine, &Control { progress: &(), cancel: Cancel::new() }) {
        Err(LabError::Program(error @ (ProgramError::NoCargo | ProgramError::Lacks(_)))) => {
            println!("skipped: a program on {machine:?}: {error}");
            None
        }
        Err(LabError::Program(error)) => Some(error),
        other => panic!("{name}: {other:?}"),
    }
}

/// A second guard gives the mutex back before the first goes: what is done between is not protected by anything.
#[test]
fn a_mutex_that_is_taken_twice_or_given_back_unheld_ends_the_thread_everywhere() {
    let place = tempfile::tempdir().unwrap();
    let twice =
        ("twice", "let _first = m.lock(); let _second = m.lock();", "it takes a mutex that it holds already");
    let forgotten = ("forgotten", "core::mem::forget(m.lock());", "it takes a mutex that it holds already");
    let unheld = ("unheld", "m.unlock();", "it gives back a mutex that it does not hold");
    for (name, body, why) in [twice, forgotten, unheld] {
        let folder = program(place.path(), name, &source(body));
        for machine in machines() {
            let Some(run) = run(&folder, machine) else { continue };
            let told: Vec<String> = run.ended.iter().map(ToString::to_string).collect();
            assert!(
                told.len() == 1 && told[0].starts_with("thread bad ended at "),
                "{name}, {machine:?}: {told:?}"
            );
            assert!(told[0].contains(why), "{name}, {machine:?}: {told:?}");
        }
    }
}

#[test]
fn a_process_that_closes_its_sockets_is_waited_for_no_longer_than_one_that_is_silent() {
    let place = tempfile::tempdir().unwrap();
    let body = "for fd in 3..64 { drop(unsafe { <std::os::fd::OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) }); }";
    // Closing a number that is not open aborts a program with the checks of its debug build; here it does nothing.
    let Some(error) = refused(place.path(), "closes", body, ProgramMachine::Simulated) else { return };
    let text = error.to_string();
    let ProgramError::Timeless { thread, at, why: Timeless::HungUp(_) } = error else { panic!("{text}") };
    assert_eq!((thread.as_str(), at.get()), ("bad", 5_000), "{text}");
}

#[test]
fn a_panic_while_another_unwinds_is_told_with_both_places() {
    let place = tempfile::tempdir().unwrap();
    let body = "struct Late; impl Drop for Late { fn drop(&mut self) { panic!(\"late\") } } let _late = Late; panic!(\"early\");";
    for machine in [ProgramMachine::Simulated, ProgramMachine::Linux] {
        let Some(error) = refused(place.path(), "panics", body, machine) else { continue };
        let text = error.to_string();
        for part in ["signal 6", "src/main.rs:", ": early; then panic at src/main.rs:", ": late"] {
            assert!(text.contains(part), "{machine:?}: no {part} in {text}");
        }
    }
}

#[test]
fn a_process_that_leaves_with_success_has_no_run() {
    let place = tempfile::tempdir().unwrap();
    for machine in [ProgramMachine::Simulated, ProgramMachine::Linux] {
        let Some(error) = refused(place.path(), "leaves", "std::process::exit(0);", machine) else {
            continue;
        };
        assert_eq!(error.to_string(), "the program ended early, exit status: 0", "{machine:?}");
    }
}

#[test]
fn what_a_program_has_started_ends_with_its_run() {
    let place = tempfile::tempdir().unwrap();
    let noted = place.path().join("started");
    let body = format!(
        "let child = std::process::Command::new(\"sleep\").arg(\"600\").spawn().unwrap();\
         std::fs::write({noted:?}, child.id().to_string()).unwrap(); core::mem::forget(child); loop {{ compute(us(5)); wait_next(); }}"
    );
    let folder = program(place.path(), "starts", &source(&body));
    for machine in [ProgramMachine::Simulated, ProgramMachine::Linux] {
        if run(&folder, machine).is_none() {
            continue;
        }
        let id = std::fs::read_to_string(&noted).unwrap();
        // Who adopts it takes a moment to ask how it ended.
        let state = || std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let gone = |state: &str| state.is_empty() || state.contains(") Z ") || state.contains(") X ");
        let wait = || std::thread::sleep(std::time::Duration::from_millis(10));
        assert!(
            (0..200).any(|_| gone(&state()) || {
                wait();
                false
            }),
            "{machine:?}: {}",
            state()
        );
    }
}

//! Programs in C: the same threads as in Rust, the same mistakes, the same schedule. Without clang these tests are skipped.

use crate::{BRAKE, ROBOT, check, jobs, machines, program, run};
use solo_lab::program::{ProgramError, ProgramMachine, ProgramRun};
use solo_lab::{Cancel, Control, LabError};
use solo_model::Record;
use std::path::{Path, PathBuf};
use std::process::Command;

const C_ROBOT: &str = include_str!("../../../apps/program-c/examples/robot.c");
const C_BRAKE: &str = include_str!("../../../apps/program-c/examples/brake.c");
const C_FAULTS: &str = include_str!("../../../apps/program-c/examples/faults.c");

/// A folder with a program in C, as `solo new --language c` makes it; nothing where nobody compiles it.
fn in_c(place: &Path, name: &str, source: &str) -> Option<PathBuf> {
    if !Command::new("clang").arg("--version").output().is_ok_and(|said| said.status.success()) {
        println!("skipped: a program in C: no clang");
        return None;
    }
    let folder = program(place, name, include_str!("../../../apps/program-c/template/main.rs"));
    let manifest = folder.join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let text = text.replace("solo-app = ", "solo-app-c = ").replace("apps/program\"", "apps/program-c\"");
    std::fs::write(manifest, text).unwrap();
    let build = include_str!("../../../apps/program-c/template/build.rs");
    std::fs::write(folder.join("build.rs"), build).unwrap();
    std::fs::write(folder.join("src/program.c"), source).unwrap();
    Some(folder)
}

/// Who was released and who finished, in the order of time.
fn schedule(run: &ProgramRun) -> Vec<(bool, u32, u64)> {
    let step = |record: &Record| match record {
        Record::Release(release) => Some((true, release.task.0, release.job.0)),
        Record::Job(job) => Some((false, job.task.0, job.job.0)),
        _ => None,
    };
    run.records().iter().filter_map(step).collect()
}

#[test]
fn the_robot_in_c_does_what_the_robot_in_rust_does() {
    let place = tempfile::tempdir().unwrap();
    let Some(folder) = in_c(place.path(), "robot-in-c", C_ROBOT) else { return };
    let rust = program(place.path(), "robot-in-rust", ROBOT);
    for machine in machines() {
        let Some(c) = run(&folder, machine) else { continue };
        assert_eq!(c.ended, [], "{machine:?}");
        let notes = c.notes();
        let steered = notes.iter().find(|note| note.name == "steered").unwrap();
        assert_eq!((steered.thread.as_str(), steered.least), ("steer", 0), "{machine:?}");
        assert!(steered.count >= 20 && steered.greatest == steered.count - 1, "{machine:?}: {steered:?}");
        if machine == ProgramMachine::Linux {
            continue;
        }
        let Some(rust) = run(&rust, machine) else { continue };
        let (tasks, others) = (&c.experiment().tasks, &rust.experiment().tasks);
        assert_eq!(tasks, others, "{machine:?}: what is declared");
        assert_eq!(schedule(&c), schedule(&rust), "{machine:?}");
        let counted = |run: &ProgramRun| {
            run.notes().iter().find(|note| note.name == "instructions").map(|note| note.count)
        };
        assert_eq!(counted(&c), counted(&rust), "{machine:?}: a counter counts for both or for none");
    }
}

#[test]
fn sporadic_threads_in_c_are_released_as_in_rust() {
    let place = tempfile::tempdir().unwrap();
    let Some(folder) = in_c(place.path(), "brake-in-c", C_BRAKE) else { return };
    let rust = program(place.path(), "brake-in-rust", BRAKE);
    for machine in machines().filter(|machine| *machine != ProgramMachine::Linux) {
        let (Some(c), Some(rust)) = (run(&folder, machine), run(&rust, machine)) else { continue };
        assert_eq!(c.experiment().tasks, rust.experiment().tasks, "{machine:?}");
        assert!(jobs(&c, "brake").len() >= 58, "{machine:?}");
        assert_eq!(schedule(&c), schedule(&rust), "{machine:?}");
    }
}

/// What ends a thread wherever it is.
const ENDED: [(&str, &str, &str); 6] = [
    ("frees twice", "memory that it does not have", ""),
    ("frees what it had not", "memory that it does not have", ""),
    ("takes what it did not declare", "not declared to use", ""),
    ("gives null", "the semaphore that it uses is NULL", ""),
    ("reads without a counter", "a counter that was not found", ""),
    ("dies with a mutex", "the semaphore that it uses is NULL", ""),
];

#[test]
fn a_mistake_in_c_ends_its_thread_alone() {
    let place = tempfile::tempdir().unwrap();
    let Some(folder) = in_c(place.path(), "faults-in-c", C_FAULTS) else { return };
    for machine in machines() {
        let Some(run) = run(&folder, machine) else { continue };
        let mut expected = ENDED.to_vec();
        if let ProgramMachine::Metal(_) = machine {
            expected.extend([
                ("overruns its stack", "stack overflow", "recurse"),
                ("jumps to null", "jump to nowhere", "jump_to_null"),
                ("writes to null", "", "write_to_null"),
                ("traps", "", "trap"),
            ]);
        }
        check(&run.ended, &expected, &format!("{machine:?}"));
        for note in
            run.notes().iter().filter(|note| ["no such color", "too much", "aligned"].contains(&&*note.name))
        {
            assert_eq!((note.least, note.count), (1, 1), "{machine:?}: {}", note.name);
        }
        for thread in ["steady", "prompt"] {
            let jobs = jobs(&run, thread);
            assert!(jobs.len() > 1, "{machine:?}: {thread}");
            if machine != ProgramMachine::Linux {
                let late = jobs.iter().find(|job| job.finish > job.deadline.unwrap());
                assert_eq!((jobs.len(), late), (20, None), "{machine:?}: {thread}");
            }
        }
    }
}

#[test]
fn what_c_declares_that_cannot_be_is_refused_in_words() {
    let place = tempfile::tempdir().unwrap();
    let source = r#"#include "solo_app.h"
        static void nothing(void *argument) { (void)argument; }
        void solo_declare(solo_program *program) {
            solo_policy(program, SOLO_GLOBAL, "EDX");
            solo_policy(program, 7, "EDF");
            solo_new_mutex(program, "m", 9);
            solo_parameters *once = solo_once();
            solo_offset(once, SOLO_MS(1));
            solo_soft(once);
            solo_uses_mutex(once, NULL);
            solo_thread(program, "once", once, nothing, NULL);
            solo_thread(program, "asked", solo_sporadic(SOLO_MS(1)), nothing, NULL);
            solo_sporadic_thread(program, "not asked", solo_periodic(SOLO_MS(1)), nothing, NULL);
            solo_sporadic_thread(program, "always", solo_sporadic(0), nothing, NULL);
            solo_thread(program, "no parameters", NULL, nothing, NULL);
            solo_thread(program, "no body", solo_periodic(SOLO_MS(10)), NULL, NULL);
            solo_thread(program, "a", solo_periodic(0), nothing, NULL);
            solo_parameters *far = solo_periodic(SOLO_MS(10));
            solo_core(far, 99);
            solo_thread(program, "a", far, nothing, NULL);
        }"#;
    let Some(folder) = in_c(place.path(), "wrong-in-c", source) else { return };
    let words = [
        "no criterion `EDX`: there are ",
        "the scope is neither SOLO_PARTITIONED nor SOLO_GLOBAL",
        "mutex `m`: no protocol 9",
        "thread `once`: solo_offset is for threads of solo_periodic",
        "solo_soft is for threads of solo_periodic",
        "the mutex is NULL",
        "thread `asked`: nobody can ask for it; use solo_sporadic_thread",
        "thread `not asked`: its parameters are not of solo_sporadic",
        "thread `always` has a least distance of zero",
        "thread `no parameters`: its parameters or its body are NULL",
        "thread `no body`: its parameters or its body are NULL",
        "two threads are called `a`",
        "has a period of zero",
        "core 99",
    ];
    let control = Control { progress: &(), cancel: Cancel::new() };
    for machine in machines() {
        match ProgramRun::run(&folder, machine, &control) {
            Err(LabError::Program(ProgramError::Declared(reason))) => {
                words
                    .iter()
                    .for_each(|words| assert!(reason.contains(words), "{machine:?}: {words}: {reason}"));
            }
            Err(LabError::Metal(solo_qemu::QemuError::Missing(missing))) => {
                println!("skipped: a program on {machine:?}: {missing}");
            }
            other => panic!("{machine:?}: {other:?}"),
        }
    }
}

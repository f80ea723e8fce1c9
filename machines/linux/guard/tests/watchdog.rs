//! A real-time thread that computes for ever is ended by the kernel.

use solo_guard::occupier::Watchdog;
use solo_model::Duration;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

const MODE: &str = "SOLO_WATCHDOG";

/// Not a test: the process that the test below starts.
#[test]
fn child() {
    if std::env::var_os(MODE).is_none() {
        return;
    }
    let _watchdog = Watchdog::set(Duration::from_millis(1));
    if solo_threads::sched::fifo(1).is_err() {
        std::process::exit(3);
    }
    loop {
        std::hint::spin_loop();
    }
}

#[test]
fn who_never_waits_is_killed() {
    let program = std::env::current_exe().expect("a test program has a path");
    let mut child = Command::new(program);
    let status = child.args(["--exact", "child"]).env(MODE, "1").status().expect("this program starts again");
    if status.code() == Some(3) {
        println!("skipped: this process may not use SCHED_FIFO");
        return;
    }
    assert_eq!(status.signal(), Some(9), "{status}");
}

//! A neighbour that causes as many page faults as it can.
#![allow(dead_code, reason = "not all tests ask for all of it")]

use solo_model::CoreId;
use std::process::{Child, Command};

/// It is killed when it is dropped.
pub(crate) struct Hog(Child);

/// Starts one on a CPU.
pub(crate) fn on(cpu: CoreId) -> Hog {
    let start = move || {
        solo_threads::sched::keep_on(cpu.index()).expect("this process may use it");
        let script = "while :; do for i in 1 2 3 4 5 6 7 8; do x=$(echo $i); done; done";
        Command::new("sh").args(["-c", script]).spawn().expect("a shell")
    };
    // The shell inherits the thread's CPU, and this process keeps its own.
    Hog(std::thread::spawn(start).join().expect("it starts"))
}

impl Hog {
    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! What a program of real-time threads links with.
//!
//! A program declares its threads, semaphores and colors in one function; from there on each thread is a function that runs until
//! it returns. The same source
//!
//! * boots on x86-64 and on 64-bit Arm, linked with Solocore's kernel: `solo run FOLDER --on rtos`, `--on rtos-arm64`
//! * runs as a process: `solo run FOLDER --on linux`, or plain `cargo run`
//! * runs on the simulated machine, where its jobs tell what they cost: `solo run FOLDER`
//!
//! ```no_run
//! use solo_app::{Periodic, Program, ms, record, wait_next};
//!
//! fn control() {
//!     for job in 0.. {
//!         record("job", job);
//!         wait_next();
//!     }
//! }
//!
//! fn declare(program: &mut Program) {
//!     program.jobs(200);
//!     program.thread("control", Periodic::new(ms(10)), control);
//! }
//! # fn main() {}
//! ```
//!
//! and, at the end, `solo_app::program!(declare);`. `solo new` writes a whole one.
//!
//! The kernel's policies decide who runs, and what happens is recorded as of any scenario: `solo report` shows it. A thread that
//! makes a mistake ends alone; the report names it, what it did and where.
#![cfg_attr(target_os = "none", no_std)]

extern crate alloc;

mod counters;
mod declare;
mod limits;
mod locks;
mod memory;
mod system;

pub use counters::{Cycles, Event, Instructions, LastLevelMisses, PerfMon};
pub use declare::{Parameters, Periodic, Program, Sporadic, Thread, Trigger};
pub use locks::{Guard, Lock, Mutex, Protocol, Semaphore};
pub use memory::{AllocationError, Block, alloc, alloc_in};
use solo_model::check::LONGEST;
pub use solo_model::{Color, CoreId, Criterion, Duration, Instant, Scope};

#[doc(hidden)]
pub mod internal {
    //! What [`program!`](crate::program) stands on.
    pub use crate::system::start;
}

/// Makes a program of the function that declares it: what the loader of an image calls, and `main` of a process. In the root of
/// the program's crate, whose first line is `#![cfg_attr(target_os = "none", no_std, no_main)]`.
#[macro_export]
macro_rules! program {
    ($declare:path) => {
        #[cfg(target_os = "none")]
        #[unsafe(no_mangle)]
        fn solo_main(module: ::core::option::Option<&'static [u8]>, heap_bytes: u64) -> ! {
            $crate::internal::start(module, heap_bytes, |cores| {
                $crate::Program::declared(env!("CARGO_PKG_NAME"), cores, $declare)
            })
        }

        #[cfg(not(target_os = "none"))]
        fn main() -> ::std::process::ExitCode {
            $crate::internal::start(|cores| {
                $crate::Program::declared(env!("CARGO_PKG_NAME"), cores, $declare)
            })
        }
    };
}

/// So many milliseconds.
pub const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// So many microseconds.
pub const fn us(microseconds: u64) -> Duration {
    Duration::from_micros(microseconds)
}

/// The job at hand is done. Returns when the next one of this thread is released, at its absolute time: periods do not drift,
/// however late this one was. What a plain [`Thread`] does not come back from.
#[inline]
pub fn wait_next() {
    system::wait_next();
}

/// Lets an emulator go on with other cores; a hint to a processor. QEMU's instruction clock executes one core until its next
/// interrupt is due unless that core pauses, and all cores have one time: a long loop without a pause delays the others there. On the
/// simulated machine a pause takes 50 ns, and no time passes in a loop without one.
#[inline]
pub fn pause() {
    system::pause();
}

/// Leaves the core for so long, at most 100 days; the job goes on afterwards.
#[inline]
pub fn sleep(length: Duration) {
    system::sleep(length.min(LONGEST));
}

/// Computes until the thread has used so much more of a core, at most 100 days: the step `compute` of scenarios, on every machine.
pub fn compute(length: Duration) {
    system::compute(length.min(LONGEST));
}

/// Tells the simulated machine, which does not see instructions, what the thread's own code costs there since it last asked for
/// something; a time of zero tells that it costs nothing. Each job tells it, or [computes](compute), or it is refused there. On other
/// machines this does nothing: the code takes its time.
#[inline]
pub fn simulated_cost(cost: Duration) {
    system::simulated_cost(cost.min(LONGEST));
}

/// The time since the beginning of the run.
#[inline]
pub fn now() -> Instant {
    system::now()
}

/// Keeps a number for the report, with the time and the thread; at most 16,384 of them, further ones are counted. It takes no
/// memory and prints nothing.
pub fn record(name: &'static str, value: u64) {
    system::record(name, value);
}

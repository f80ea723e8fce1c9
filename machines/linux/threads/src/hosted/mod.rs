//! The kernel of the other machines, hosted by a process of Linux: it decides who runs, SCHED_FIFO's priorities carry it out.
//!
//! Whoever does something that the kernel has to know of enters it, under a lock: a thread that ends a job, takes a lock or sleeps, and a
//! clock, the most urgent of all threads, whenever a timer of a core is due. Each core is a CPU. Who is chosen there is put under SCHED_FIFO
//! on it; who loses its core in the middle of a computation is put below all who are chosen; who waits does so on a semaphore of its own until
//! it is chosen. So any criterion runs here, with the protocols of its locks, its quanta and ticks.
//!
//! A decision takes effect some microseconds after it was taken: [`Carried`] tells how many, and for how long threads ran that were not chosen.

mod actor;
mod carried;
mod clock;
mod desk;
mod entries;
mod seats;

pub use carried::Carried;

use crate::admit::admit_hosted;
use crate::compute::Pace;
use crate::coordinate::{Ran, ThreadsError, program};
use crate::counted::Counted;
use crate::cpus::CpuCores;
use crate::host::Host;
use crate::memory::Memory;
use crate::priorities;
use crate::sched;
use crate::steps::Means;
use actor::Actor;
use clock::Clock;
use entries::{Ended, Hosted};
use solo_kernel::{Criterion, Kernel, KernelConfig, Visitor, dispatch};
use solo_model::{Experiment, TaskId};
use solo_workload::Program;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What came of a run, whose records are the kernel's own, and what Linux made of its decisions, or why it does not tell.
pub type Hosting = (Ran, Result<Carried, String>);

/// Runs the tasks of an experiment as threads under a kernel of this process, until their jobs are done, its time is over or the caller asks to
/// stop.
///
/// # Errors
/// See [`ThreadsError`]. Whatever comes, no thread lives on.
pub fn run(
    experiment: &Experiment,
    host: &Host,
    counted: Option<&Counted>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Hosting, ThreadsError> {
    struct Under<'e> {
        experiment: &'e Experiment,
        host: &'e Host,
        counted: Option<&'e Counted>,
        cancelled: &'e (dyn Fn() -> bool + Sync),
    }
    impl Visitor for Under<'_> {
        type Output = Result<Hosting, ThreadsError>;
        fn visit<C: Criterion>(self) -> Self::Output {
            let Self { experiment, host, counted, cancelled } = self;
            let caps = admit_hosted(experiment, host)?;
            let tasks = 0..experiment.tasks.len() as u32;
            let programs = tasks.map(|task| program(experiment, TaskId(task))).collect::<Result<_, _>>()?;
            let kernel = Kernel::<C>::new(KernelConfig::from_experiment(experiment)?, &caps)?;
            play(kernel, programs, experiment, host, counted, cancelled)
        }
    }
    dispatch(experiment.policy.criterion, Under { experiment, host, counted, cancelled })
}

fn play<C: Criterion>(
    kernel: Kernel<C>,
    programs: Vec<Program>,
    experiment: &Experiment,
    host: &Host,
    counted: Option<&Counted>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Hosting, ThreadsError> {
    let cores = CpuCores::new(priorities::used_cores(experiment), &host.cpus);
    let refused = |what| move |error| ThreadsError::Refused { what, error };
    let clock = Clock::new().map_err(refused("a timer"))?;
    let hosted = Hosted::new(kernel, experiment, host, &cores, &clock).map_err(refused("a lock"))?;
    let memory = Memory::new(&experiment.buffers);
    let means = Means { pace: Pace::look(), memory: &memory, over: hosted.over() };
    let multiplexed = AtomicU64::new(0);
    // From here on no page goes away under a thread.
    sched::keep_in_memory();
    let watched = thread::scope(|scope| {
        for (index, program) in programs.into_iter().enumerate() {
            let (hosted, multiplexed) = (&hosted, &multiplexed);
            let actor = Actor { hosted, task: TaskId(index as u32), means, counted, multiplexed };
            let thread = thread::Builder::new().name(format!("solo-{index}"));
            if let Err(error) = thread.spawn_scoped(scope, move || actor.run(program)) {
                hosted.fail("a thread", error);
                break;
            }
        }
        while !hosted.everyone_is_there() && !hosted.is_over() {
            if cancelled() {
                hosted.interrupt();
            }
            thread::sleep(Duration::from_millis(1));
        }
        // The most urgent of all: a thread of its own, so that the caller's is left as it was.
        let clock = scope.spawn(|| hosted.keep_time(host.priorities.1, cancelled));
        clock.join()
    });
    sched::release_memory();
    let Ended { records, end, cut_off } = hosted.into_ended()?;
    let carried = watched.unwrap_or_else(|_| Err("the clock ended early".to_owned()));
    let carried = carried.map(|switches| Carried::of(&records, &experiment.tasks, &switches, end));
    let (cpus, multiplexed) = (cores.pairs().to_vec(), multiplexed.load(Ordering::Acquire));
    // The schedule is what was decided, whatever Linux tells.
    Ok((
        Ran { records, began: 0, end, cut_off, cpus, no_switches: None, multiplexed, failed: Vec::new() },
        carried,
    ))
}

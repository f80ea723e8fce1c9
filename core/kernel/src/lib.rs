//! The real-time kernel: threads, periodic release, alarms, locks; generic over the machine.
//!
//! The kernel never blocks and never waits: it decides. Each entry point takes the calling core and the time
//! and returns a [`Switch`], which the machine carries out: on bare metal by exchanging stacks, on the
//! simulated machine by exchanging access streams.
//!
//! ```text
//!   timer interrupt --> Kernel::timer      --+
//!   reschedule IPI  --> Kernel::ipi          |
//!   PMU overflow    --> Kernel::overflow     +--> account -> release, queue, locks -> decide --> Switch
//!   job finished    --> Kernel::wait_next    |                                          |
//!   lock operations --> acquire, release   --+                                          +--> IPIs to other cores
//! ```
//!
//! # What a machine must keep
//!
//! * It calls [`Kernel::start`] once on each core, core 0 first, and enters the kernel with one core at a time. Where it takes the
//!   kernel in parts ([`Kernel::in_parts`]), that holds for each part by itself.
//! * On bare metal this exclusion lasts until the old thread's registers have been saved: from the return of
//!   an entry point on, another core may be told to run the thread that has just been switched out.
//! * Interrupts may be early, late, merged or spurious. They may not be lost, but the next entry of the core
//!   makes good for one that was.
//!
//! # How a machine uses it
//!
//! The criterion is a type, so that each kernel is compiled for one; [`dispatch`] picks the type by its name at
//! run time, once.
//!
//! ```
//! use solo_kernel::{Criterion, Kernel, KernelConfig, PolicyRefusal, Switch, Visitor, dispatch};
//! use solo_model::{Caps, CoreId, Experiment, Instant};
//!
//! struct Boot<'e>(&'e Experiment, &'e Caps);
//!
//! impl Visitor for Boot<'_> {
//!     type Output = Result<Switch, PolicyRefusal>;
//!     fn visit<C: Criterion>(self) -> Self::Output {
//!         let mut kernel = Kernel::<C>::new(KernelConfig::from_experiment(self.0)?, self.1)?;
//!         let machine = &mut solo_hal::Quiet; // timers, requests, probes and records come here
//!         Ok(kernel.start(machine, CoreId(0), Instant::ZERO))
//!     }
//! }
//!
//! # let case = solo_corpus::Case::load(&solo_corpus::folder().join("rm-thesis-fig20.toml")).unwrap();
//! # let (experiment, caps) = (case.experiment(), solo_corpus::ideal::caps(1));
//! let switch = dispatch(experiment.policy.criterion, Boot(&experiment, &caps))?;
//! assert_eq!(switch, Switch::To(solo_model::ThreadId(0)));
//! # Ok::<(), PolicyRefusal>(())
//! ```
//!
//! # Where things are
//!
//! [`KernelConfig`] is what a kernel is built from. What the kernel keeps has an owner each, who keeps it to itself: `cores`
//! the time and the timer of a core, `alarm` its alarms, `thread` a thread and its jobs, `arrivals` what was asked for of a sporadic one, `lock` who owns what, `budget` the
//! enforcer and its counters, `listen` a policy that listens with its monitors and metrics, `caching` when the last-level cache is divided anew; a domain is a [`Scheduler`](solo_schedule::Scheduler). What the kernel does stands beside them:
//! `entry` is called by the machine, `release` makes jobs ready, `sporadic` those that devices ask for, `regulate` carries out what the enforcer says, `place` what a policy that listens says, `divide` what the policies of the cache say, `decide`
//! turns all that into switches and IPIs.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod alarm;
mod arrivals;
mod budget;
mod caching;
mod config;
mod confine;
mod cores;
mod decide;
mod divide;
mod entry;
mod kernel;
mod listen;
mod lock;
mod place;
mod regulate;
mod release;
mod sporadic;
mod steps;
mod thread;
mod turns;
mod windows;

pub use caching::Caching;
pub use config::{CounterWish, KernelConfig, LockConfig};
pub use cores::CORE_BYTES;
pub use kernel::{Kernel, Switch};
pub use listen::{Interrupts, ListeningConfig, PlacementAccount};
pub use lock::{LockFault, LockFaults};
pub use solo_schedule::{Criterion, PolicyRefusal, TaskParameters, Visitor, WindowRefusal, dispatch};
pub use sporadic::Arrival;
pub use thread::{State, THREAD_BYTES, TaskAccount};

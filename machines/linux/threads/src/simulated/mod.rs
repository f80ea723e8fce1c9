//! A program in simulated time: its threads are threads of this process, of which a simulator outside lets one go on at a time.
//!
//! A thread runs until it asks for something that takes time, or for the kernel; it says so and waits until the simulator has come to
//! where that is done. What it does between two requests takes no simulated time unless it says what it costs.
//!
//! ```text
//!   process ──Program──▶ simulator        one socket of the process, one of each thread
//!   thread  ──Thread───▶
//!           ◀──GoOn────  it is this thread's turn, at this time
//!           ──Compute, Acquire, WaitNext ...──▶
//! ```

mod wire;

pub use wire::{CALLS_VARIABLE, GoOn, Said, Wire, WireError};

use solo_model::{Instant, TaskId};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// The most times that a thread looks at one and the same time.
const MOST_LOOKS: u64 = 1_000_000;

/// The place of a thread in a simulated run.
pub(crate) struct Seat {
    wire: Wire<GoOn>,
    pub(crate) task: TaskId,
    pub(crate) now: Instant,
    /// How often it has looked at the clock since the last request.
    looks: u64,
}

impl Seat {
    /// Takes a socket of the simulator and waits there for the thread's turn; nothing where the simulator is gone.
    pub(crate) fn take(path: &Path, task: TaskId) -> Option<Self> {
        let wire = Wire::new(UnixStream::connect(path).ok()?);
        let mut seat = Self { wire, task, now: Instant::ZERO, looks: 0 };
        seat.ask(&Said::Thread(task)).then_some(seat)
    }

    /// Asks, and waits until it is done; false where the run is over.
    pub(crate) fn ask(&mut self, request: &Said) -> bool {
        self.looks = 0;
        match self.tell(request).then(|| self.wire.receive(|| true)) {
            Some(Ok(GoOn { at })) => {
                self.now = at;
                true
            }
            _ => false,
        }
    }

    /// Says what is not answered; false where nobody hears it.
    pub(crate) fn tell(&mut self, what: &Said) -> bool {
        self.wire.send(what).is_ok()
    }

    /// The time, which passes only where the thread asks for something: who looks at it for ever is told to the simulator.
    pub(crate) fn look(&mut self) -> Instant {
        self.looks += 1;
        if self.looks == MOST_LOOKS {
            self.tell(&Said::Spins);
        }
        self.now
    }
}

//! Another way to take a CPU away: nobody is let in while it idles.

use solo_model::CoreId;
use std::io;

/// A scheduler that can keep everybody away from a CPU, except real-time threads and the kernel's own.
///
/// Where an occupier has one, it sleeps while its CPU is stopped. The CPU idles then, no real-time thread takes it from anybody,
/// and Linux's fair server has nobody to protect.
pub trait Gate: Sync {
    /// From the moment at which the real-time thread that calls this on the CPU sleeps, nobody runs there.
    ///
    /// # Errors
    /// Where the system refuses; everybody may still run.
    fn close(&self, core: CoreId) -> io::Result<()>;

    /// Everybody may run on the CPU again.
    ///
    /// # Errors
    /// Where the system refuses; they may still be kept away.
    fn open(&self, core: CoreId) -> io::Result<()>;
}

//! This program, to be started once more beside itself.

use std::io;
use std::path::PathBuf;

/// Where it was started from, so that lists of processes name it; its image in memory where that is no longer there, because another build
/// has replaced it.
///
/// # Errors
/// What the system says.
pub(crate) fn path() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    Ok(if path.exists() { path } else { PathBuf::from("/proc/self/exe") })
}

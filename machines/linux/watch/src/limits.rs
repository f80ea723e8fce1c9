//! Signals by which Linux ends a process at a limit, or keeps from it how its children end.
#![allow(unsafe_code)]

use std::io;

/// What a handler does that is there so that the call which met the limit returns with an error.
extern "C" fn nothing(_: libc::c_int) {}

/// Makes a file that would outgrow the limit of this process (RLIMIT_FSIZE) an error of whoever writes it. By itself Linux
/// ends the process, at any place. Programs that are started from here are ended as ever.
///
/// # Errors
/// What the system says.
pub fn full_files_are_errors() -> io::Result<()> {
    // SAFETY: the structure is whole, and the handler does nothing. Unlike an ignored signal, a handler is not
    // inherited by programs.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets this process hear how its children end. Who started it may have told Linux to forget that (SIGCHLD ignored, which programs inherit): then nobody
/// could wait for a program.
///
/// # Errors
/// What the system says.
pub fn children_are_waited_for() -> io::Result<()> {
    // SAFETY: no handler is given, and none is taken away: this is for the beginning of a process.
    let before = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

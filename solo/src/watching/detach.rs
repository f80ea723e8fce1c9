//! Standard streams of a watch that is read by a program.
//!
//! The rows have standard output for themselves, so what the watched program prints goes to standard error; and
//! standard input is the reader's: when it is closed, nobody wants the watch any more.

use crate::{interrupt, rights};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// Puts the streams in order; gives where rows go.
pub(super) fn streams() -> io::Result<File> {
    let rows = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut reader = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    dup2_stdout(io::stderr())?;
    dup2_stdin(File::open("/dev/null")?)?;
    let stop = interrupt::flag();
    let thread = std::thread::Builder::new().name("reader's end".to_owned());
    thread.spawn(move || {
        rights::give_up();
        let mut some = [0; 64];
        while matches!(reader.read(&mut some), Ok(1..)) {}
        stop.store(true, Ordering::SeqCst);
    })?;
    Ok(rows)
}

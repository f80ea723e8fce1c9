//! What the commands share: reading a trace of requests, and offering it.

use std::error::Error;
use std::path::PathBuf;

/// What a peer is asked.
pub struct Asked {
    /// Addresses in bytes, and whether each is written.
    pub requests: Vec<(u64, bool)>,
    /// Refreshes are left out.
    pub no_refresh: bool,
    /// The places of the queues of each bank's commands, for simulators that have such.
    pub bank_queue: u32,
}

/// Reads `TRACE [--no-refresh] [--bank-queue=N]` from the command line, and the trace: lines of `0xADDRESS READ|WRITE CLOCK`, whose clock
/// is ignored.
///
/// # Errors
/// Where there is no trace or a line is no request.
pub fn asked() -> Result<Asked, Box<dyn Error>> {
    let (options, files): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let [file] = &files[..] else { return Err("usage: PEER TRACE [--no-refresh] [--bank-queue=N]".into()) };
    let (mut no_refresh, mut bank_queue) = (false, 8);
    for option in &options {
        match option.split_once('=') {
            None if option == "--no-refresh" => no_refresh = true,
            Some(("--bank-queue", places)) => bank_queue = places.parse()?,
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let requests = text.lines().enumerate().map(|(number, line)| {
        request(line).ok_or_else(|| format!("line {}: no request: {line}", number + 1))
    });
    Ok(Asked { requests: requests.collect::<Result<_, _>>()?, no_refresh, bank_queue })
}

fn request(line: &str) -> Option<(u64, bool)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    match words.next()? {
        "READ" => Some((address, false)),
        "WRITE" => Some((address, true)),
        _ => None,
    }
}

/// A memory that is clocked.
pub trait Clocked {
    /// Whether it takes this request at this clock.
    fn takes(&mut self, address: u64, write: bool) -> bool;
    /// Gives it a request that it takes.
    fn give(&mut self, address: u64, write: bool);
    /// Moves on by a clock; the number of reads whose data have arrived.
    fn tick(&mut self) -> u64;
}

/// Gives the requests to a memory, in order, at most one a clock, as fast as it takes them, and returns the clock at which
/// the last one was taken and all data of reads had arrived. Writes that still wait in its buffer then are not waited
/// for: neither simulator tells when they are done.
pub fn offer(memory: &mut impl Clocked, requests: &[(u64, bool)]) -> u64 {
    let (mut clock, mut waiting, mut next) = (0, 0_u64, requests.iter().peekable());
    while next.peek().is_some() || waiting > 0 {
        if let Some((address, write)) = next.next_if(|(address, write)| memory.takes(*address, *write)) {
            memory.give(*address, *write);
            waiting += u64::from(!write);
        }
        waiting = waiting.saturating_sub(memory.tick());
        clock += 1;
    }
    clock
}

/// A folder for a simulator's files, which goes when this goes.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Makes it.
    ///
    /// # Errors
    /// Where the system does not.
    pub fn new() -> std::io::Result<Self> {
        let path = std::env::temp_dir().join(format!("solo-peer-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

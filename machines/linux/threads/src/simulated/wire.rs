//! What a program's process and the simulator say to each other, over a socket for each thread and one for the process.
//!
//! ```text
//!  offset  size
//!  0       4     length of the payload, little endian, at most 1 MiB
//!  4       n     the payload: `Said` or `GoOn` in postcard's encoding
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use solo_model::text::Unnumbered;
use solo_model::{Duration, Experiment, Instant, LockId, TaskId};
use std::io::{ErrorKind, Read, Write};
use std::marker::PhantomData;
use std::os::unix::net::UnixStream;

/// Names the socket at which a simulator listens, for the process of a program that it has started.
pub const CALLS_VARIABLE: &str = "SOLO_PROGRAM_CALLS";

/// The longest payload.
const LONGEST: usize = 1 << 20;
/// Bytes in front of it.
const HEADER: usize = 4;

/// What a process says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Said {
    /// What it declares; the first thing on the process's own socket.
    Program(Box<Experiment>),
    /// It declares what can't be, and why.
    Refused(String),
    /// Whose socket this is; the first thing on a thread's.
    Thread(TaskId),
    /// The thread computes for so long, or has done what costs so long.
    Compute(Duration),
    /// It waits in a loop.
    Pause,
    /// It wants a lock.
    Acquire(LockId),
    /// It gives a lock back.
    Release(LockId),
    /// It leaves its core for so long.
    Sleep(Duration),
    /// It wants a job of a sporadic task, after so long.
    Trigger(TaskId, Duration),
    /// Its job is done.
    WaitNext,
    /// Its function has returned.
    Returned,
    /// It made a mistake and ends, and what it says of that.
    Mistake(String),
    /// It notes a number. Nothing is answered.
    Note(String, u64),
    /// It looks at the clock again and again and asks for nothing.
    Spins,
}

/// The simulator lets a thread go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GoOn {
    /// The simulated time that it has come to.
    pub at: Instant,
}

/// Why nothing more is said.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other side has hung up.
    #[error("the other side has hung up")]
    Closed,
    /// Whoever waits wants to no longer.
    #[error("nothing was said in time")]
    GivenUp,
    /// The socket fails.
    #[error("{}", Unnumbered(.0))]
    Socket(#[from] std::io::Error),
    /// A payload above the longest.
    #[error("a message of {0} bytes, where {LONGEST} are the most")]
    Length(usize),
    /// It is not what is said here.
    #[error("a message that cannot be decoded: {0}")]
    Payload(postcard::Error),
}

/// One end of a socket, on which `Heard` comes in.
#[derive(Debug)]
pub struct Wire<Heard> {
    socket: UnixStream,
    bytes: Vec<u8>,
    heard: PhantomData<fn() -> Heard>,
}

impl<Heard: DeserializeOwned> Wire<Heard> {
    /// Over a socket. Where it has a time limit for reads, that is how often [`receive`](Self::receive) asks whether to wait on.
    pub const fn new(socket: UnixStream) -> Self {
        Self { socket, bytes: Vec::new(), heard: PhantomData }
    }

    /// Says something.
    ///
    /// # Errors
    /// Where it is too long, or nobody hears it.
    pub fn send(&mut self, message: &impl Serialize) -> Result<(), WireError> {
        let mut bytes = vec![0; HEADER];
        bytes.extend(postcard::to_allocvec(message).map_err(WireError::Payload)?);
        let length = bytes.len() - HEADER;
        if length > LONGEST {
            return Err(WireError::Length(length));
        }
        bytes[..HEADER].copy_from_slice(&(length as u32).to_le_bytes());
        self.socket.write_all(&bytes).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => WireError::Closed,
            _ => error.into(),
        })
    }

    /// Waits for what is said next, as long as `waits` says so.
    ///
    /// # Errors
    /// Where it does not come, or is nothing that is said here.
    pub fn receive(&mut self, mut waits: impl FnMut() -> bool) -> Result<Heard, WireError> {
        loop {
            if let Some(message) = self.taken()? {
                return Ok(message);
            }
            let mut more = [0; 4096];
            match self.socket.read(&mut more) {
                Ok(0) => return Err(WireError::Closed),
                Ok(count) => self.bytes.extend_from_slice(&more[..count]),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut if waits() => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(WireError::GivenUp),
                    ErrorKind::ConnectionReset => return Err(WireError::Closed),
                    _ => return Err(error.into()),
                },
            }
        }
    }

    /// Takes the first message out of what has come, where all of it has.
    fn taken(&mut self) -> Result<Option<Heard>, WireError> {
        let Some(header) = self.bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        if length > LONGEST {
            return Err(WireError::Length(length));
        }
        let Some(payload) = self.bytes.get(HEADER..HEADER + length) else { return Ok(None) };
        let message = postcard::from_bytes(payload).map_err(WireError::Payload)?;
        self.bytes.drain(..HEADER + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Wire<Said>, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
        (Wire::new(here), there)
    }

    #[test]
    fn what_is_said_is_heard_however_it_is_cut() {
        let (mut wire, mut there) = pair();
        let (mut other, near) = (Vec::new(), UnixStream::pair().unwrap());
        let said = [Said::Compute(Duration::new(7)), Said::Note("n".repeat(5000), 3), Said::WaitNext];
        let mut sender = Wire::<GoOn>::new(near.0);
        said.iter().for_each(|message| sender.send(message).unwrap());
        drop(sender);
        (&near.1).read_to_end(&mut other).unwrap();
        let writer = std::thread::spawn(move || {
            for byte in other {
                there.write_all(&[byte]).unwrap();
            }
        });
        for message in said {
            assert_eq!(wire.receive(|| true).unwrap(), message);
        }
        writer.join().unwrap();
        assert!(matches!(wire.receive(|| true), Err(WireError::Closed)));
    }

    #[test]
    fn who_says_nothing_too_much_or_rubbish_is_told() {
        let (mut wire, mut there) = pair();
        let mut left = 3;
        let patience = || {
            left -= 1;
            left > 0
        };
        assert!(matches!(wire.receive(patience), Err(WireError::GivenUp)));
        there.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert!(matches!(wire.receive(|| true), Err(WireError::Length(_))));
        let (mut wire, mut there) = pair();
        there.write_all(&[1, 0, 0, 0, 0xff]).unwrap();
        assert!(matches!(wire.receive(|| true), Err(WireError::Payload(_))));
        let mut sender = Wire::<GoOn>::new(there);
        let long = Said::Mistake("m".repeat(LONGEST + 1));
        assert!(matches!(sender.send(&long), Err(WireError::Length(_))));
    }
}

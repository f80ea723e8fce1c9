//! The frames in which the image reports back over a byte stream.
//!
//! ```text
//!  offset  size
//!  0       4     length of the payload, little endian
//!  4       4     CRC-32 (IEEE 802.3) of the payload, little endian
//!  8       n     the payload: a `ImageMessage` in postcard's encoding
//! ```

use crate::placement::{Memory, Pages};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use solo_model::{CoreId, Duration, Experiment, Frequency, Instant, Record, TaskId};

/// The longest payload that is believed: longer ones are noise.
pub const LONGEST: usize = 1 << 16;

/// The bytes in front of the payload.
const HEADER: usize = 8;

/// One message of the image.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum ImageMessage {
    /// The machine is up.
    Hello(Hello),
    /// A record of the run.
    Record(Record),
    /// A thread was ended because of a fault.
    Killed(Killed),
    /// The last frame of a run that went to its end.
    End(End),
    /// The memory of a run, before its end.
    Memory(Memory),
    /// How often cores were in the kernel, before its end.
    Entries(Entries),
    /// Where a piece of it lies, where pages are placed by color or bank.
    Pages(Pages),
    /// What an image that is a program runs, before its run.
    Program(Box<Experiment>),
    /// What a thread of a program noted, before the end of the run.
    Note(Note),
    /// So many notes found no place.
    NotesDropped(u64),
    /// A program has no run.
    Refused(Refusal),
}

/// Why a program has no run, in words for people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// It declares what can't be.
    Declared(String),
    /// The machine can't do what it declares.
    Lacks(String),
}

/// Names the file into which a program that runs as a process writes these messages, for who started it.
pub const REPORT_VARIABLE: &str = "SOLO_PROGRAM_REPORT";

/// A number that a thread of a program noted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Note {
    /// When.
    pub at: Instant,
    /// Whose thread.
    pub task: TaskId,
    /// What it is, in the program's words.
    pub name: String,
    /// The number.
    pub value: u64,
}

/// What the image found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The image's version.
    pub version: String,
    /// The checksum (CRC-32, IEEE 802.3) of the boot modules that it found: what these runs are runs of.
    pub module: u32,
    /// What it runs on.
    pub hardware: Hardware,
    /// The bytes of memory that the image can hand out.
    pub heap_bytes: u64,
}

/// The instruction set of an image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub enum InstructionSet {
    /// x86-64: PCs.
    #[default]
    X86_64,
    /// AArch64, the 64-bit state of Arm's architecture from version 8 on.
    Arm64,
}

impl InstructionSet {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Arm64];

    /// Its name in files and commands.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::Arm64 => "arm64",
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How interrupts come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Controller {
    /// By a local APIC of each core.
    LocalApic {
        /// It is an x2APIC, reached by model-specific registers.
        x2apic: bool,
        /// Its timer compares the time stamp counter.
        tsc_deadline: bool,
    },
    /// By a Generic Interrupt Controller of version 3.
    Gic3,
    /// By one of version 2.
    Gic2,
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LocalApic { x2apic: true, .. } => "x2APIC",
            Self::LocalApic { x2apic: false, .. } => "local APIC",
            Self::Gic3 => "GICv3",
            Self::Gic2 => "GICv2",
        })
    }
}

/// The machine around the cores.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Hardware {
    /// What its cores execute.
    pub instruction_set: InstructionSet,
    /// What interrupts them.
    pub controller: Controller,
    /// The hardware's number of each core, in the order of [`CoreId`]: its local APIC's identity, or the affinity in MPIDR.
    pub identities: Vec<u64>,
    /// The rate of the clock: time stamp counter or generic timer.
    pub clock: Frequency,
    /// The rate of the timer that interrupts; that of the clock where it compares it.
    pub timer: Frequency,
}

/// A thread that is no more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Killed {
    /// When.
    pub at: Instant,
    /// Where.
    pub core: CoreId,
    /// Whose thread.
    pub task: TaskId,
    /// The processor's name for the fault.
    pub fault: String,
    /// The instruction that did it; 0 where a request failed.
    pub instruction: u64,
    /// The address it could not reach, for page faults.
    pub address: Option<u64>,
}

/// How often cores entered the kernel in a run, and waited for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entries {
    /// The parts of the kernel, each with a lock of its own.
    pub parts: u16,
    /// Entries of all cores.
    pub entries: u64,
    /// Those that found another core in their part.
    pub waited: u64,
    /// The longest such wait.
    pub longest: Duration,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// The end of the run.
    pub at: Instant,
    /// How many records came before.
    pub records: u64,
    /// How many records found no place.
    pub dropped: u64,
    /// The latest that an event was noticed after its instant, in nanoseconds (settled clock only).
    pub latest_settled_ns: u64,
}

/// What is wrong with a stream of frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// The stream ends inside a frame.
    Cut {
        /// The bytes that are left over.
        rest: usize,
    },
    /// A length above [`LONGEST`].
    Length(usize),
    /// The payload is not what was sent.
    Checksum {
        /// The checksum in the header.
        expected: u32,
        /// The checksum of the payload.
        found: u32,
    },
    /// The payload doesn't decode.
    Payload(String),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { rest } => write!(f, "the record stream ends inside a frame ({rest} bytes left over)"),
            Self::Length(length) => write!(f, "a frame of {length} bytes is no frame"),
            Self::Checksum { expected, found } => {
                write!(f, "frame corrupt: checksum {found:#010x}, expected {expected:#010x}")
            }
            Self::Payload(reason) => write!(f, "frame cannot be decoded: {reason}"),
        }
    }
}

impl core::error::Error for FrameError {}

impl ImageMessage {
    /// Appends the frame's bytes to `stream`.
    ///
    /// # Errors
    /// If the payload is longer than [`LONGEST`].
    pub fn append_to(&self, stream: &mut Vec<u8>) -> Result<(), FrameError> {
        let describe = |error: postcard::Error| FrameError::Payload(alloc::format!("{error}"));
        let payload = postcard::to_allocvec(self).map_err(describe)?;
        if payload.len() > LONGEST {
            return Err(FrameError::Length(payload.len()));
        }
        stream.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        stream.extend_from_slice(&crc32fast::hash(&payload).to_le_bytes());
        stream.extend_from_slice(&payload);
        Ok(())
    }
}

/// Takes a byte stream apart, in pieces of any size.
#[derive(Clone, Default, Debug)]
pub struct Decoder {
    pending: Vec<u8>,
    read: usize,
}

impl Decoder {
    /// Adds what has arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.read == self.pending.len() {
            self.pending.clear();
            self.read = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole frame, or `None` until more has arrived.
    ///
    /// # Errors
    /// If the stream is damaged; there is no way on from there.
    pub fn next_frame(&mut self) -> Result<Option<ImageMessage>, FrameError> {
        let bytes = &self.pending[self.read..];
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
        let [l0, l1, l2, l3, c0, c1, c2, c3] = *header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > LONGEST {
            return Err(FrameError::Length(length));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let (expected, found) = (u32::from_le_bytes([c0, c1, c2, c3]), crc32fast::hash(payload));
        if expected != found {
            return Err(FrameError::Checksum { expected, found });
        }
        let frame =
            postcard::from_bytes(payload).map_err(|error| FrameError::Payload(alloc::format!("{error}")))?;
        self.read += HEADER + length;
        Ok(Some(frame))
    }

    /// The bytes of the frames that have been taken out since the last call of [`Decoder::feed`] found none left.
    pub fn taken(&self) -> usize {
        self.read
    }

    /// Confirms that nothing is left over.
    ///
    /// # Errors
    /// [`FrameError::Cut`] if the stream ended inside a frame.
    pub fn finish(&self) -> Result<(), FrameError> {
        match self.pending.len() - self.read {
            0 => Ok(()),
            rest => Err(FrameError::Cut { rest }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> Vec<ImageMessage> {
        let end = End { at: Instant::new(u64::MAX), records: 3, dropped: 0, latest_settled_ns: 120 };
        let killed = Killed {
            at: Instant::new(7),
            core: CoreId(1),
            task: TaskId(4),
            fault: String::from("page fault"),
            instruction: 0x10_0000,
            address: Some(0),
        };
        alloc::vec![ImageMessage::Killed(killed), ImageMessage::End(end.clone()), ImageMessage::End(end)]
    }

    fn stream() -> Vec<u8> {
        let mut bytes = Vec::new();
        frames().iter().for_each(|frame| frame.append_to(&mut bytes).unwrap());
        bytes
    }

    proptest! {
        #[test]
        fn frames_survive_any_cut_into_pieces(size in 1usize..40) {
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            for piece in stream().chunks(size) {
                decoder.feed(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    out.push(frame);
                }
            }
            prop_assert_eq!(out, frames());
            prop_assert_eq!(decoder.finish(), Ok(()));
        }

        #[test]
        fn a_changed_byte_never_yields_the_same_frames(at in 0usize..200, change in 1u8..) {
            let mut bytes = stream();
            let at = at % bytes.len();
            bytes[at] ^= change;
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            decoder.feed(&bytes);
            while let Ok(Some(frame)) = decoder.next_frame() {
                out.push(frame);
            }
            prop_assert!(out.len() < frames().len());
            prop_assert!(decoder.finish().is_err());
        }
    }

    #[test]
    fn an_absurd_length_is_refused_at_once() {
        let mut decoder = Decoder::default();
        decoder.feed(&[0xff; 8]);
        assert_eq!(decoder.next_frame(), Err(FrameError::Length(0xffff_ffff)));
    }
}

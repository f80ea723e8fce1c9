//! The boot module: what the host hands the image to run, so that no experiment needs a rebuild.
//!
//! ```text
//!  offset  size
//!  0       8     MAGIC
//!  8       4     length of the body, little endian
//!  12      4     CRC-32 (IEEE 802.3) of the body, little endian
//!  16      n     the body: a `Module` in postcard's encoding
//! ```

use crate::placement::ColorSource;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};
use solo_model::{Experiment, TaskId};

/// The first bytes of a boot module; the last one is the format's version.
pub const MAGIC: [u8; 8] = *b"SOLOMOD\x05";

/// The bytes of a thread's stack that are its own.
pub const STACK_BYTES: u64 = 16 << 10;

/// The bytes of a thread's stack that are kept for the kernel: it is entered on the stack of the thread that an
/// interrupt finds, and must not run out of it. A thread that has gone this far has overflowed its stack.
pub const STACK_RESERVE: u64 = 8 << 10;

/// The bytes in front of the body.
const HEADER: usize = 16;

/// What the image is to do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Module {
    /// How to run.
    pub options: BootOptions,
    /// What to run. `None` boots, tests the machine's parts and stops.
    pub experiment: Option<Experiment>,
}

/// How the image runs an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct BootOptions {
    /// The host promises that one tick of the time stamp counter is one instruction and one nanosecond
    /// (QEMU's `-icount shift=0`). The image checks the promise against the programmable interval timer.
    pub instruction_clock: bool,
    /// Which clock the kernel lives by.
    pub clock: Clock,
    /// Counters are a model of a processor's registers that is told of each line that a job touches, in place of those that
    /// the processor has: emulators have none. What follows an overflow is real.
    pub modelled_counters: bool,
    /// Report the length of every kernel path as an overhead record.
    pub probes: bool,
    /// Keep the kernel in one part, behind one lock: to be compared with.
    pub one_lock: bool,
    /// Break something on purpose, for tests of what happens then.
    pub provoke: Option<Provocation>,
    /// Where the experiment places pages by color: whose colors these are.
    pub colors: ColorSource,
}

/// The clock that the kernel lives by.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum Clock {
    /// The time stamp counter as it runs: kernel paths take the time they take.
    #[default]
    Running,
    /// Time as the ideal machine of schedulability theory has it: kernel paths are free, and cores act in the
    /// order of their instants ([`crate::agenda`]), so that a schedule can be compared instant by instant. The
    /// time stamp counter paces the run and decides nothing.
    Settled,
}

/// What to break.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Provocation {
    /// The thread of `task` does `fault` at the beginning of its job `job`.
    Thread {
        /// Whose thread.
        task: TaskId,
        /// In which of its jobs, from 0.
        job: u64,
        /// What it does.
        fault: Fault,
    },
    /// The boot core does `fault` in the kernel before the experiment starts.
    Kernel(Fault),
    /// The frame of this number, from 0, is damaged on its way.
    Frame(u64),
}

/// A mistake that the processor notices, or nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Fault {
    /// Reads through a null pointer.
    PageFault,
    /// Divides by zero.
    DivideError,
    /// Executes an undefined instruction.
    InvalidOpcode,
    /// Recurses until the stack is used up.
    StackOverflow,
    /// Uses all of the stack but this many bytes, and computes for 3 ms down there, where interrupts find it.
    StackLeaves(u16),
    /// Loses its stack: the pointer leads nowhere.
    StackLost,
    /// Asks the heap of its colors for this many bytes, writes all of them and gives them back.
    Demand(u32),
    /// Reads from an address that is none.
    GeneralProtection,
    /// Loses the stack and takes an exception.
    DoubleFault,
    /// Loses the interrupt table and takes an exception: the machine resets.
    TripleFault,
    /// Spins with interrupts disabled for ever.
    Hang,
    /// Panics.
    Panic,
}

/// Why a boot module was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModuleError {
    /// Fewer bytes than a header has, or than the header announces.
    Short {
        /// How many are needed.
        needed: usize,
        /// How many there are.
        present: usize,
    },
    /// The first bytes are not [`MAGIC`].
    Magic,
    /// The body is not the body that was packed.
    Checksum {
        /// The checksum in the header.
        expected: u32,
        /// The checksum of the body.
        found: u32,
    },
    /// The body doesn't decode: another version packed it.
    Body(String),
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { needed, present } => {
                write!(f, "boot module too short: {present} bytes of {needed}")
            }
            Self::Magic => write!(f, "boot module of an unknown kind or version"),
            Self::Checksum { expected, found } => {
                write!(f, "boot module corrupt: checksum {found:#010x}, expected {expected:#010x}")
            }
            Self::Body(reason) => write!(f, "boot module cannot be decoded: {reason}"),
        }
    }
}

impl core::error::Error for ModuleError {}

/// The checksum of packed modules, by which the image says what it runs.
pub fn checksum(packed: &[u8]) -> u32 {
    crc32fast::hash(packed)
}

impl Module {
    /// The module as bytes.
    ///
    /// # Errors
    /// [`ModuleError::Body`] if the module doesn't fit 4 GiB.
    pub fn pack(&self) -> Result<Vec<u8>, ModuleError> {
        let describe = |error: postcard::Error| ModuleError::Body(alloc::format!("{error}"));
        let body = postcard::to_allocvec(self).map_err(describe)?;
        let length = u32::try_from(body.len())
            .map_err(|_| ModuleError::Body(alloc::format!("{} bytes are too many", body.len())))?;
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// The module that `bytes` hold; bytes after its end are padding.
    ///
    /// # Errors
    /// If the bytes are not a whole, unchanged module of this version.
    pub fn unpack(bytes: &[u8]) -> Result<Self, ModuleError> {
        Self::unpack_first(bytes).map(|(module, _)| module)
    }

    /// All modules that `bytes` hold, one behind the other: they are run in this order. At least one.
    ///
    /// # Errors
    /// If the bytes do not begin with a module, or one of them is not whole and unchanged. What does not begin like a
    /// module, behind the first, is padding.
    pub fn unpack_all(bytes: &[u8]) -> Result<Vec<Self>, ModuleError> {
        let (first, mut rest) = Self::unpack_first(bytes)?;
        let mut all = alloc::vec![first];
        while rest.starts_with(&MAGIC) {
            let (module, behind) = Self::unpack_first(rest)?;
            all.push(module);
            rest = behind;
        }
        Ok(all)
    }

    fn unpack_first(bytes: &[u8]) -> Result<(Self, &[u8]), ModuleError> {
        let short = |needed| ModuleError::Short { needed, present: bytes.len() };
        let (magic, rest) = bytes.split_first_chunk::<8>().ok_or_else(|| short(HEADER))?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(|| short(HEADER))?;
        let (expected, rest) = rest.split_first_chunk::<4>().ok_or_else(|| short(HEADER))?;
        if *magic != MAGIC {
            return Err(ModuleError::Magic);
        }
        let length = u32::from_le_bytes(*length) as usize;
        let (body, behind) =
            rest.split_at_checked(length).ok_or_else(|| short(HEADER.saturating_add(length)))?;
        let (expected, found) = (u32::from_le_bytes(*expected), crc32fast::hash(body));
        if expected != found {
            return Err(ModuleError::Checksum { expected, found });
        }
        let module =
            postcard::from_bytes(body).map_err(|error| ModuleError::Body(alloc::format!("{error}")))?;
        Ok((module, behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn module() -> Module {
        let provoke = Some(Provocation::Thread { task: TaskId(3), job: 2, fault: Fault::PageFault });
        Module {
            options: BootOptions {
                instruction_clock: true,
                clock: Clock::Settled,
                probes: true,
                modelled_counters: true,
                provoke,
                ..BootOptions::default()
            },
            experiment: None,
        }
    }

    #[test]
    fn a_module_survives_packing_and_padding() {
        let mut bytes = module().pack().unwrap();
        assert_eq!(Module::unpack(&bytes), Ok(module()));
        bytes.extend_from_slice(&[0; 7]);
        assert_eq!(Module::unpack(&bytes), Ok(module()));
    }

    #[test]
    fn modules_follow_each_other_and_a_damaged_one_damages_all() {
        let second = Module { options: BootOptions::default(), ..module() };
        let mut bytes = [module().pack().unwrap(), second.pack().unwrap(), alloc::vec![0; 5]].concat();
        assert_eq!(Module::unpack_all(&bytes), Ok(alloc::vec![module(), second]));
        let at = bytes.len() - 6;
        bytes[at] ^= 1;
        assert!(matches!(Module::unpack_all(&bytes), Err(ModuleError::Checksum { .. })));
    }

    #[test]
    fn refusals_name_their_reason() {
        let bytes = module().pack().unwrap();
        let whole = bytes.len();
        assert_eq!(Module::unpack(&[]), Err(ModuleError::Short { needed: 16, present: 0 }));
        assert_eq!(
            Module::unpack(&bytes[..whole - 1]),
            Err(ModuleError::Short { needed: whole, present: whole - 1 })
        );
        let mut other = bytes.clone();
        other[7] = 9;
        assert_eq!(Module::unpack(&other), Err(ModuleError::Magic));
        let empty = [MAGIC.as_slice(), &[0; 8]].concat();
        assert!(matches!(Module::unpack(&empty), Err(ModuleError::Body(_))));
    }

    proptest! {
        #[test]
        fn one_changed_byte_is_noticed(at in 0usize..64, change in 1u8..) {
            let mut bytes = module().pack().unwrap();
            let at = at % bytes.len();
            bytes[at] ^= change;
            prop_assert!(Module::unpack(&bytes).is_err());
        }

        #[test]
        fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
            let framed = [MAGIC.to_vec(), (bytes.len() as u32).to_le_bytes().to_vec(),
                crc32fast::hash(&bytes).to_le_bytes().to_vec(), bytes.clone()].concat();
            let _ = Module::unpack(&framed);
            prop_assert!(Module::unpack(&bytes).is_err() || bytes.starts_with(&MAGIC));
        }
    }

    #[test]
    fn a_wrong_length_is_no_reason_to_read_beyond_the_end() {
        let mut bytes = module().pack().unwrap();
        bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(Module::unpack(&bytes), Err(ModuleError::Short { .. })));
    }
}

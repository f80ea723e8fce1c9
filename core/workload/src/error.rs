//! Why a description of work can't become a program.

use core::fmt;
use solo_model::{BufferId, Bytes};

/// The largest buffer: 2^48 bytes.
pub(crate) const BUFFER_MAX: Bytes = Bytes::new(1 << 48);

/// What is wrong with a description of work.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WorkError {
    /// A step names a buffer that is not in the table.
    NoSuchBuffer {
        /// The buffer.
        buffer: BufferId,
        /// How many there are.
        buffers: usize,
    },
    /// A buffer has no bytes.
    EmptyBuffer {
        /// The buffer.
        buffer: BufferId,
    },
    /// A buffer is larger than [`Program::BUFFER_MAX`](BUFFER_MAX).
    BufferTooLarge {
        /// The buffer.
        buffer: BufferId,
        /// Its size.
        size: Bytes,
    },
    /// Neighbouring elements are no distance apart.
    ZeroStride {
        /// The buffer of the step.
        buffer: BufferId,
    },
    /// The shortest computation is longer than the longest.
    EmptySpan,
    /// A program of the host's, which has no operations.
    Command,
    /// A task goes through more than 65,535 phases.
    TooManyPhases,
    /// The cache line is not a power of two from 1 to 4096.
    BadLine {
        /// What was given.
        line: Bytes,
    },
    /// A step names a recorded program that is not in the table.
    NoSuchTrace {
        /// The position asked for.
        trace: u32,
        /// How many there are.
        traces: usize,
    },
    /// A recorded program without any access can't be replayed.
    EmptyTrace {
        /// The position of the trace.
        trace: u32,
    },
    /// A recorded program touches more memory than its buffer has.
    TraceTooLarge {
        /// The position of the trace.
        trace: u32,
        /// The memory that the program touches.
        needs: Bytes,
        /// The size of the buffer.
        has: Bytes,
    },
    /// `repeat` inside `repeat`, more than [`Program::DEPTH_MAX`](crate::Program::DEPTH_MAX) deep.
    TooDeep,
}

impl fmt::Display for WorkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchBuffer { buffer, buffers } => {
                write!(f, "{buffer} does not exist: there are {buffers} buffers")
            }
            Self::EmptyBuffer { buffer } => write!(f, "{buffer} has no bytes"),
            Self::BufferTooLarge { buffer, size } => {
                write!(f, "{buffer} has {size}; at most {} are possible", BUFFER_MAX)
            }
            Self::ZeroStride { buffer } => write!(f, "a pass over {buffer} has a stride of zero"),
            Self::TooManyPhases => f.write_str("a task goes through more than 65,535 phases"),
            Self::Command => write!(f, "it is a program (`command`), which has no steps"),
            Self::EmptySpan => write!(f, "the shortest computation is longer than the longest"),
            Self::BadLine { line } => {
                write!(f, "a cache line of {line} is not a power of two from 1B to 4KiB")
            }
            Self::NoSuchTrace { trace, traces } => {
                write!(f, "trace {trace} does not exist: there are {traces} traces")
            }
            Self::EmptyTrace { trace } => write!(f, "trace {trace} holds no access to replay"),
            Self::TraceTooLarge { trace, needs, has } => {
                write!(f, "trace {trace} touches {needs} of memory, its buffer has {has}")
            }
            Self::TooDeep => {
                write!(f, "steps repeat inside each other more than {} deep", crate::Program::DEPTH_MAX)
            }
        }
    }
}

impl core::error::Error for WorkError {}

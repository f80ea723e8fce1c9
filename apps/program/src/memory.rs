//! Memory of a color, had and given back while the program runs, in bounded time (thesis 4.3.3).

use crate::limits::COLORS;
use crate::system;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU16, Ordering};
use solo_model::{Bytes, Color};

/// The group whose heap has pages of each color; 0 for none.
static GROUPS: [AtomicU16; COLORS as usize] = [const { AtomicU16::new(0) }; COLORS as usize];

/// The heap of this group has pages of `color`. The first counts.
pub(crate) fn open(color: Color, group: u16) {
    if let Some(own) = GROUPS.get(usize::from(color.0)) {
        let _ = own.compare_exchange(0, group, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Why there is no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllocationError {
    /// No thread of the program has this color, so that no page of it is here.
    NoSuchColor {
        /// What was asked for.
        color: Color,
    },
    /// Nothing of this size is left in one piece.
    Exhausted {
        /// What was asked for, in bytes.
        wanted: u64,
        /// What is left in pieces, in bytes.
        free: u64,
    },
}

impl fmt::Display for AllocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchColor { color } => {
                write!(f, "no thread of this program has color {}: .color({}) gives it one", color.0, color.0)
            }
            Self::Exhausted { wanted, free } => {
                write!(f, "no {wanted} bytes in one piece are left of this color; {free} are free")
            }
        }
    }
}

impl core::error::Error for AllocationError {}

/// Bytes that are the owner's until this goes; zeros at the beginning.
#[derive(Debug)]
pub struct Block(system::Memory);

impl Block {
    pub(crate) fn new(memory: system::Memory) -> Self {
        Self(memory)
    }
}

impl Deref for Block {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

/// Memory of a color that the caller names (user-centric, thesis 4.3.2): 0 to 31, of which a thread of the program has to have
/// it. A color's heap has 64 KiB. As a process of Linux there are no colors, and this is any memory.
///
/// # Errors
/// Where no page here has the color, or none of this size are left.
pub fn alloc_in(color: Color, bytes: usize) -> Result<Block, AllocationError> {
    let group = GROUPS.get(usize::from(color.0)).map_or(0, |group| group.load(Ordering::Acquire));
    if group == 0 {
        return Err(AllocationError::NoSuchColor { color });
    }
    system::allocate(Some(group), Bytes::new(bytes as u64)).map(Block::new)
}

/// Memory of the color of the thread that asks (system-centric, thesis 4.3.2).
///
/// # Errors
/// Where nothing of this size is left.
pub fn alloc(bytes: usize) -> Result<Block, AllocationError> {
    system::allocate(None, Bytes::new(bytes as u64)).map(Block::new)
}

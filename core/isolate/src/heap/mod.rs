//! A heap for each color (thesis 4.3.3, 4.3.4), with bounded time for both operations.
//!
//! The heaps lie one after the other in one range of virtual addresses; a machine maps the pages of heap `i` to
//! frames of color `i`. So an address alone says which heap it belongs to: `release` needs no color beside the
//! data (EPOS keeps it in front of each allocation, where an overrun can change it).

mod jobs;
mod tlsf;

use alloc::vec::Vec;
use core::fmt;
use solo_model::{Bytes, Color, ThreadId};
use tlsf::{GRANULE, Tlsf};

pub use jobs::{HeapPlace, JobHeaps};

/// Who decides about colors (thesis 4.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The program names a color with each allocation; color 0 where it names none.
    UserCentric,
    /// The color follows from the thread: its number modulo the number of colors, the kernel's left out.
    OsCentric,
}

/// Why memory could not be given or taken back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeapError {
    /// No heap of this color.
    NoSuchColor {
        /// The color.
        color: Color,
        /// How many heaps there are.
        colors: u16,
    },
    /// The color belongs to the kernel.
    KernelColor {
        /// The color.
        color: Color,
    },
    /// The heap has no block that is large enough.
    Exhausted {
        /// The heap's color.
        color: Color,
        /// What was asked for.
        wanted: Bytes,
        /// What is free, in pieces.
        free: Bytes,
    },
    /// No block begins at this offset.
    NotABlock {
        /// The offset in the range of all heaps.
        offset: Bytes,
    },
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchColor { color, colors } => {
                write!(f, "no heap of {color}: there are colors 0 to {}", colors.saturating_sub(1))
            }
            Self::KernelColor { color } => write!(f, "{color} belongs to the kernel"),
            Self::Exhausted { color, wanted, free } => {
                write!(f, "the heap of {color} has no {wanted} in one piece; {free} are free")
            }
            Self::NotABlock { offset } => write!(f, "no allocated block begins at {offset}"),
        }
    }
}

impl core::error::Error for HeapError {}

/// Colored heaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColoredHeaps {
    heaps: Vec<Tlsf>,
    /// Granules of each heap.
    granules: u32,
    kernel: Option<Color>,
    mode: Mode,
}

impl ColoredHeaps {
    /// `colors` heaps of `size` bytes each (rounded down to 64), at most 2^31 granules of 64 bytes; `kernel`'s
    /// serves the kernel only: system objects, stacks, page tables.
    pub fn new(colors: u16, size: Bytes, kernel: Option<Color>, mode: Mode) -> Self {
        let granules = (size.get() / GRANULE).min(1 << 31) as u32;
        let heaps = (0..colors).map(|_| Tlsf::new(granules)).collect();
        Self { heaps, granules, kernel, mode }
    }

    /// Memory for `thread`, of the color it names or is assigned, as the mode says. The offset is into the
    /// range of all heaps and a multiple of 64.
    ///
    /// # Errors
    /// If there is no such color, it is the kernel's, or its heap has no such block.
    pub fn allocate(
        &mut self,
        thread: ThreadId,
        named: Option<Color>,
        size: Bytes,
    ) -> Result<Bytes, HeapError> {
        let color = self.color_for(thread, named);
        if self.kernel == Some(color) {
            return Err(HeapError::KernelColor { color });
        }
        self.take(color, size)
    }

    /// The color of what `thread` asks for: the one that it names, or that it is assigned.
    pub(crate) fn color_for(&self, thread: ThreadId, named: Option<Color>) -> Color {
        match self.mode {
            Mode::UserCentric => named.unwrap_or_default(),
            Mode::OsCentric => self.color_of(thread),
        }
    }

    /// What each heap has from its beginning to that of the next.
    pub(crate) const fn size_of_each(&self) -> Bytes {
        Bytes::new(self.granules as u64 * GRANULE)
    }

    /// Memory for the kernel itself: of its own color where it has one, else of color 0.
    ///
    /// # Errors
    /// If the heap has no such block.
    pub fn allocate_kernel(&mut self, size: Bytes) -> Result<Bytes, HeapError> {
        self.take(self.kernel.unwrap_or_default(), size)
    }

    /// The color of a thread's allocations under [`Mode::OsCentric`].
    pub(crate) fn color_of(&self, thread: ThreadId) -> Color {
        let colors = self.heaps.len() as u32;
        match self.kernel {
            None => Color((thread.0 % colors.max(1)) as u16),
            Some(kernel) => {
                let at = (thread.0 % colors.saturating_sub(1).max(1)) as u16;
                Color(at + u16::from(at >= kernel.0))
            }
        }
    }

    /// Gives memory back to the heap it came from; the heap's color and the bytes.
    ///
    /// # Errors
    /// If no allocated block begins at `offset`; nothing changes then.
    pub fn release(&mut self, offset: Bytes) -> Result<(Color, Bytes), HeapError> {
        let wrong = HeapError::NotABlock { offset };
        let granule = offset.get() / GRANULE;
        let color = granule.checked_div(u64::from(self.granules)).ok_or(wrong)?;
        let heap = usize::try_from(color).ok().and_then(|at| self.heaps.get_mut(at)).ok_or(wrong)?;
        if !offset.get().is_multiple_of(GRANULE) {
            return Err(wrong);
        }
        let granules = heap.release((granule % u64::from(self.granules)) as u32).ok_or(wrong)?;
        Ok((Color(color as u16), Bytes::new(u64::from(granules) * GRANULE)))
    }

    /// What is free in the heap of `color`, in pieces.
    pub fn free(&self, color: Color) -> Option<Bytes> {
        self.heaps.get(usize::from(color.0)).map(|heap| Bytes::new(heap.free_granules() * GRANULE))
    }

    /// The heap that an offset lies in.
    pub fn color_at(&self, offset: Bytes) -> Option<Color> {
        let color = (offset.get() / GRANULE).checked_div(u64::from(self.granules))?;
        u16::try_from(color).ok().filter(|&color| usize::from(color) < self.heaps.len()).map(Color)
    }

    fn take(&mut self, color: Color, size: Bytes) -> Result<Bytes, HeapError> {
        let colors = self.heaps.len() as u16;
        let heap =
            self.heaps.get_mut(usize::from(color.0)).ok_or(HeapError::NoSuchColor { color, colors })?;
        let free = Bytes::new(heap.free_granules() * GRANULE);
        let wanted = u32::try_from(size.get().div_ceil(GRANULE)).ok();
        let granule = wanted.and_then(|wanted| heap.allocate(wanted)).ok_or(HeapError::Exhausted {
            color,
            wanted: size,
            free,
        })?;
        let first = u64::from(color.0) * u64::from(self.granules);
        Ok(Bytes::new((first + u64::from(granule)) * GRANULE))
    }
}

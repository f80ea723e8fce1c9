//! Physical memory: frames and who hands them out.

use core::fmt;
use solo_model::Color;

/// A physical page frame: its number is the physical address divided by the page size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Frame(pub u64);

/// Why no frame could be handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameError {
    /// No frame is left that satisfies the request.
    Exhausted {
        /// The color that was asked for, if any.
        color: Option<Color>,
    },
    /// The machine has no such color.
    NoSuchColor {
        /// The color that was asked for.
        color: Color,
        /// How many there are.
        colors: u16,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted { color: None } => write!(f, "no free frame is left"),
            Self::Exhausted { color: Some(color) } => write!(f, "no free frame of color {} is left", color.0),
            Self::NoSuchColor { color, colors } => {
                write!(f, "color {} does not exist: the machine has colors 0 to {}", color.0, colors - 1)
            }
        }
    }
}

impl core::error::Error for FrameError {}

/// Hands out physical frames, so that physical addresses decide cache sets and DRAM banks.
pub trait FrameAllocator {
    /// A frame that nobody else holds, of `color` where one is asked for.
    fn allocate(&mut self, color: Option<Color>) -> Result<Frame, FrameError>;
}

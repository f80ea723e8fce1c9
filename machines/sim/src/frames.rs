//! Physical page frames of the simulated machine.
//!
//! Every allocation takes a frame from the pool of one page color, so that a request for a color and a
//! request for any frame never collide. Time and memory grow with the frames handed out, never with those
//! that exist.

use solo_isolate::frames::FrameNumber;
use solo_model::platform::FramePolicy;
use solo_model::{Color, Platform, SplitMix64};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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

impl std::error::Error for FrameError {}

/// The free frames of one color, in the order of a shuffle that happens as frames are drawn (Fisher and
/// Yates; only positions that were moved are remembered).
#[derive(Clone, Debug)]
struct Pool {
    /// Free frames.
    left: u64,
    /// Positions below `left` that no longer hold their own number.
    moved: BTreeMap<u64, u64>,
}

impl Pool {
    /// Takes the frame at `position` out: the last free one moves there.
    fn take(&mut self, position: u64) -> u64 {
        self.left -= 1;
        let last = self.moved.remove(&self.left).unwrap_or(self.left);
        if position == self.left {
            return last;
        }
        self.moved.insert(position, last).unwrap_or(position)
    }
}

/// How the next frame is chosen.
#[derive(Clone, Debug)]
enum Order {
    /// The lowest free frame. Holds the lowest free frame of each color that has one.
    Sequential(BTreeSet<u64>),
    /// A free frame drawn by a generator: SplitMix64.
    Random { random: SplitMix64, pools: Vec<Pool>, left: u64 },
}

/// The page frames of a machine.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Frames that exist.
    count: u64,
    colors: u16,
    order: Order,
}

impl Frames {
    /// All frames of `platform`'s memory, by its policy; `seed` decides a random order.
    pub fn new(platform: &Platform, seed: u64) -> Self {
        let page = platform.page.get().max(1);
        let colors = platform.last_level().map_or(1, |cache| cache.colors(platform.page));
        Self::with(platform.frames, platform.dram.size.get() / page, colors, seed)
    }

    /// `count` frames of `colors` page colors, at least one: frame `f` has color `f % colors`.
    pub fn with(policy: FramePolicy, count: u64, colors: u16, seed: u64) -> Self {
        let colors = colors.max(1);
        let order = match policy {
            FramePolicy::Sequential => Order::Sequential((0..count.min(colors.into())).collect()),
            FramePolicy::Random => {
                let size = |color: u16| (count + u64::from(colors - 1 - color)) / u64::from(colors);
                let pools = (0..colors).map(|color| Pool { left: size(color), moved: BTreeMap::new() });
                Order::Random { random: SplitMix64::new(seed), pools: pools.collect(), left: count }
            }
        };
        Self { count, colors, order }
    }

    /// The number of page colors.
    pub fn colors(&self) -> u16 {
        self.colors
    }

    /// The color of a frame.
    pub fn color(&self, frame: FrameNumber) -> Color {
        Color((frame.0 % u64::from(self.colors)) as u16)
    }

    /// A frame that nobody else holds, of `color` where one is asked for.
    ///
    /// # Errors
    /// If no such frame is left, or the machine has no such color.
    pub fn allocate(&mut self, color: Option<Color>) -> Result<FrameNumber, FrameError> {
        let colors = self.colors;
        if let Some(color) = color.filter(|color| color.0 >= colors) {
            return Err(FrameError::NoSuchColor { color, colors });
        }
        let exhausted = FrameError::Exhausted { color };
        match &mut self.order {
            Order::Sequential(lowest) => {
                let wanted =
                    |frame: &u64| color.is_none_or(|color| frame % u64::from(colors) == u64::from(color.0));
                let frame = lowest.iter().copied().find(wanted).ok_or(exhausted)?;
                lowest.remove(&frame);
                let next = frame + u64::from(colors);
                if next < self.count {
                    lowest.insert(next);
                }
                Ok(FrameNumber(frame))
            }
            Order::Random { random, pools, left } => {
                let free = color.map_or(*left, |color| pools[usize::from(color.0)].left);
                let mut position = random.below(free);
                if free == 0 {
                    return Err(exhausted);
                }
                let mut pool = color.map_or(0, |color| usize::from(color.0));
                while position >= pools[pool].left {
                    position -= pools[pool].left;
                    pool += 1;
                }
                *left -= 1;
                Ok(FrameNumber(pools[pool].take(position) * u64::from(colors) + pool as u64))
            }
        }
    }
}

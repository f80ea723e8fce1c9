//! Which page frames are right.

use crate::error::ColorError;
use solo_isolate::map::MemoryMap;
use solo_model::{Bank, Color};
use std::collections::BTreeSet;

/// The page frames that a program may have: those of some colors and, where banks are named too, of those banks.
#[derive(Clone, Debug)]
pub struct Wish {
    map: MemoryMap,
    colors: BTreeSet<Color>,
    banks: BTreeSet<Bank>,
}

impl Wish {
    /// Frames of these colors in these banks; an empty set means any.
    ///
    /// # Errors
    /// If a color or bank does not exist in the map, if no frame is of one of these colors and in one of these banks, or if
    /// the map is for pages of another size than this machine's.
    pub fn new(map: MemoryMap, colors: BTreeSet<Color>, banks: BTreeSet<Bank>) -> Result<Self, ColorError> {
        let page = crate::sys::page();
        if map.page().get() != page {
            return Err(ColorError::PageSize { map: map.page().get(), machine: page });
        }
        let count = map.colors().count();
        if let Some(color) = colors.iter().find(|color| color.0 >= count) {
            return Err(ColorError::NoSuchColor { color: *color, colors: count });
        }
        let count = map.banks().count();
        if let Some(bank) = banks.iter().find(|bank| bank.0 >= count) {
            return Err(ColorError::NoSuchBank { bank: *bank, banks: count });
        }
        let both = !colors.is_empty() && !banks.is_empty();
        if both && !colors.iter().any(|color| banks.iter().any(|bank| map.exists(*color, *bank))) {
            return Err(ColorError::NoSuchFrames);
        }
        Ok(Self { map, colors, banks })
    }

    /// Whether the frame of this number is right.
    pub fn accepts(&self, frame: u64) -> bool {
        (self.colors.is_empty() || self.colors.contains(&self.map.color(frame)))
            && (self.banks.is_empty() || self.banks.contains(&self.map.bank(frame)))
    }

    /// The colors; empty means any.
    pub fn colors(&self) -> &BTreeSet<Color> {
        &self.colors
    }

    /// The banks; empty means any.
    pub fn banks(&self) -> &BTreeSet<Bank> {
        &self.banks
    }

    /// The map that says which frame has which color.
    pub fn map(&self) -> &MemoryMap {
        &self.map
    }
}

//! Page frames of the right kind, kept until somebody wants them.

use crate::error::ColorError;
use crate::sys::{Pagemap, Region, page};
use crate::wish::Wish;
use std::collections::BTreeMap;

/// What the kernel keeps for one purpose: 2 MiB where pages have 4 KiB (`pageblock_order` 9).
const FRAMES_IN_A_BLOCK: u64 = 1 << 9;

/// Frames of the right kind, as pages of this process.
///
/// [`Pool::give`] hands one to the kernel, which hands it to whoever asks next on this CPU: the caller, at once. That does not hold
/// for all frames. The kernel keeps memory in blocks, some for data of its own that it can not move; a frame of such a
/// block goes back to those. Therefore one frame of each block is tried first, and blocks that fail are left alone.
pub struct Pool {
    wish: Wish,
    pagemap: Pagemap,
    page: usize,
    regions: Vec<Region>,
    /// The right pages: the region's position, and the offset in it.
    right: Vec<(usize, usize)>,
    searched: u64,
    found: u64,
}

impl Pool {
    /// So many bytes are taken from the kernel at a time.
    const STEP: usize = 16 << 20;

    /// An empty pool.
    ///
    /// # Errors
    /// If this process may not see page frames.
    pub fn new(wish: Wish) -> Result<Self, ColorError> {
        let refused = ColorError::refused("/proc/self/pagemap");
        let pagemap = Pagemap::of("self").map_err(refused)?;
        let page = page() as usize;
        Ok(Self { wish, pagemap, page, regions: Vec::new(), right: Vec::new(), searched: 0, found: 0 })
    }

    /// What is right.
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Frames at hand.
    pub fn len(&self) -> usize {
        self.right.len()
    }

    /// Whether none is at hand.
    pub fn is_empty(&self) -> bool {
        self.right.is_empty()
    }

    /// Searches free memory until so many right frames are at hand. What is wrong is kept meanwhile, so that the
    /// kernel does not hand it out again, and then given back.
    ///
    /// # Errors
    /// If half of the memory that is free holds too few, or the kernel does not say which frames they are.
    pub fn reserve(&mut self, wanted: usize) -> Result<(), ColorError> {
        let most = free_bytes() / 2;
        let mut taken = 0;
        let mut first_new = self.regions.len();
        while self.right.len() < wanted {
            taken += Self::STEP as u64;
            if taken > most {
                break;
            }
            self.search()?;
        }
        while let Some(region) = self.regions.get(first_new) {
            self.give_wrong_back(first_new, region)?;
            first_new += 1;
        }
        let (found, searched) = (self.right.len() as u64, taken / self.page as u64);
        let wanted = wanted as u64;
        if found < wanted { Err(ColorError::TooFewFrames { found, wanted, searched }) } else { Ok(()) }
    }

    /// Takes a region from the kernel and notes its right pages.
    fn search(&mut self) -> Result<(), ColorError> {
        let refused = || ColorError::refused("memory for a pool of page frames");
        let region = Region::new(Self::STEP).map_err(refused())?;
        region.populate().map_err(refused())?;
        let pages = Self::STEP / self.page;
        let places = self.pagemap.from(region.base() as u64, pages);
        let places = places.map_err(ColorError::refused("/proc/self/pagemap"))?;
        if places.iter().all(|place| place.frame() == 0) {
            return Err(ColorError::FramesHidden);
        }
        let right = places.iter().enumerate().filter(|(_, place)| self.wish.accepts(place.frame()));
        let right: Vec<(usize, u64)> =
            right.map(|(index, place)| (index * self.page, place.frame())).collect();
        self.searched += pages as u64;
        self.found += right.len() as u64;
        let at = self.regions.len();
        let mut blocks = BTreeMap::new();
        for (offset, frame) in right {
            let block = frame / FRAMES_IN_A_BLOCK;
            let tried = blocks.entry(block).or_insert_with(|| self.comes_back(&region, offset, frame));
            if *tried {
                self.right.push((at, offset));
            }
        }
        self.regions.push(region);
        Ok(())
    }

    /// Whether a frame that is given to the kernel is the next that it hands out.
    fn comes_back(&self, region: &Region, offset: usize, frame: u64) -> bool {
        if region.give_back(offset, self.page).is_err() || region.bring_in(offset, self.page).is_err() {
            return false;
        }
        let place = self.pagemap.at((region.base() + offset) as u64);
        place.is_ok_and(|place| place.is_present() && place.frame() == frame)
    }

    /// A frame did not come back: others of its block will not either.
    pub(crate) fn leave_alone(&mut self, frame: u64) {
        let Self { right, regions, pagemap, .. } = self;
        right.retain(|(at, offset)| {
            let address = regions.get(*at).map(|region| (region.base() + offset) as u64);
            let there = address.and_then(|address| pagemap.at(address).ok());
            there.is_some_and(|place| place.frame() / FRAMES_IN_A_BLOCK != frame / FRAMES_IN_A_BLOCK)
        });
    }

    fn give_wrong_back(&self, at: usize, region: &Region) -> Result<(), ColorError> {
        let mut from = 0;
        let ours = self.right.iter().filter(|(of, _)| *of == at).map(|(_, offset)| *offset);
        for offset in ours.chain([region.bytes()]) {
            if offset > from {
                let given = region.give_back(from, offset - from);
                given.map_err(ColorError::refused("giving memory back"))?;
            }
            from = offset + self.page;
        }
        Ok(())
    }

    /// Hands a right frame to the kernel, and returns its number. The next page that this thread makes the kernel bring
    /// in is in it, unless somebody came between. `None` when none is at hand.
    pub fn give(&mut self) -> Option<u64> {
        while let Some((at, offset)) = self.right.pop() {
            let Some(region) = self.regions.get(at) else { continue };
            // The kernel may have moved the page since.
            let place = self.pagemap.at((region.base() + offset) as u64);
            let frame = place.map(|place| place.frame()).unwrap_or_default();
            // Once for a trial: where this CPU's list of free frames overflows, the kernel empties it, and this is when.
            let safe = self.wish.accepts(frame) && self.comes_back(region, offset, frame);
            if region.give_back(offset, self.page).is_ok() && safe {
                return Some(frame);
            }
        }
        self.regions.clear();
        None
    }

    /// Of the frames looked at so far, how many were right.
    pub fn share(&self) -> (u64, u64) {
        (self.found, self.searched)
    }
}

/// What the kernel could hand out without taking it from anybody, in bytes.
fn free_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kibibytes: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kibibytes.unwrap_or_default() * 1024
}

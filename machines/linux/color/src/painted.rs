//! Memory of this process in frames of the right kind.

use crate::error::ColorError;
use crate::pool::Pool;
use crate::sys::{Cpus, Pagemap, Region, page};

/// Memory in frames of chosen colors and banks, zeroed; every page was looked up.
///
/// For programs that know what they want colored (thesis 4.3.3, user-centric page coloring, on stock Linux). The kernel may
/// move pages later (compaction): lock them, or look again with [`Painted::wrong_pages`].
pub struct Painted {
    region: Region,
    pagemap: Pagemap,
    wish: crate::Wish,
}

impl Painted {
    /// How often a page is tried before it is given up.
    const TRIES: usize = 16;

    /// So many bytes, rounded up to whole pages, from a pool.
    ///
    /// # Errors
    /// If too few frames are right, or the kernel hands out others again and again.
    pub fn new(pool: &mut Pool, bytes: usize) -> Result<Self, ColorError> {
        let page = page() as usize;
        let pages = bytes.div_ceil(page).max(1);
        let refused = || ColorError::refused("memory in chosen page frames");
        pool.reserve(pages)?;
        let region = Region::new(pages * page).map_err(refused())?;
        let pagemap = Pagemap::of("self").map_err(refused())?;
        let mut painted = Self { region, pagemap, wish: pool.wish().clone() };
        let before = Cpus::of_this_thread().map_err(refused())?;
        Cpus::current().keep().map_err(refused())?;
        let done = (0..pages).try_for_each(|index| painted.paint(pool, index * page));
        before.keep().map_err(refused())?;
        done.map(|()| painted)
    }

    fn paint(&mut self, pool: &mut Pool, offset: usize) -> Result<(), ColorError> {
        let refused = || ColorError::refused("memory in chosen page frames");
        for _ in 0..Self::TRIES {
            if pool.is_empty() {
                pool.reserve(1)?;
            }
            pool.give();
            if let Some(byte) = self.region.as_mut_slice().get_mut(offset) {
                *byte = 0;
            }
            let address = (self.region.base() + offset) as u64;
            let place = self.pagemap.at(address).map_err(refused())?;
            if place.is_present() && self.wish.accepts(place.frame()) {
                return Ok(());
            }
            self.region.give_back(offset, page() as usize).map_err(refused())?;
        }
        Err(ColorError::TooFewFrames { found: 0, wanted: 1, searched: Self::TRIES as u64 })
    }

    /// The memory.
    pub fn as_slice(&self) -> &[u8] {
        self.region.as_slice()
    }

    /// The memory, to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.region.as_mut_slice()
    }

    /// How many of its pages are in frames that are not right by now.
    ///
    /// # Errors
    /// If the kernel does not say where they are.
    pub fn wrong_pages(&self) -> Result<u64, ColorError> {
        let pages = self.region.bytes() / page() as usize;
        let places = self.pagemap.from(self.region.base() as u64, pages);
        let places = places.map_err(ColorError::refused("/proc/self/pagemap"))?;
        let wrong = |place: &&crate::sys::Place| !place.is_present() || !self.wish.accepts(place.frame());
        Ok(places.iter().filter(wrong).count() as u64)
    }
}

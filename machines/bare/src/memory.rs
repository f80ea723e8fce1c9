//! The memory of a run: page frames by color and bank, and what is mapped to them.

use crate::paging::{PAGE, Paging};
use crate::placement::{MemoryUser, Pages};
use crate::window::{self, Window};
use alloc::alloc::{Layout, alloc, dealloc};
use alloc::string::String;
use alloc::vec::Vec;
use core::ptr;
use solo_isolate::frames::{FrameNumber, FramesError, Group, GroupId, Order};
use solo_isolate::{ColoredFrames, MemoryMap};
use solo_model::Bytes;

/// The page frames of one [`Pages`], so that it fits a frame of the stream.
const MOST_PAGES: usize = 4096;
/// By how much a request for all memory shrinks until it is granted.
const STEP: u64 = 2 << 20;

/// How much of the general heap a run needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// So many pages in so many pieces, whatever their colors.
    Pages {
        /// Pages.
        pages: u64,
        /// Pieces.
        pieces: u64,
    },
    /// All but this much: what colors hold is not known before.
    AllBut(Bytes),
}

/// Page frames by color and bank, lent by the general heap, and the window in which they are mapped.
#[derive(Debug)]
pub struct RunMemory<P: Paging> {
    window: Window<P>,
    frames: ColoredFrames,
    /// Whose pages hold page tables and the system heap.
    kernel: GroupId,
    groups: u16,
    base: u64,
    layout: Layout,
    tables: Vec<u64>,
    places: Vec<(MemoryUser, u64, u64)>,
    /// Where the frames that the image has left are mapped.
    attic: Option<u64>,
}

impl<P: Paging> RunMemory<P> {
    /// Memory for these groups.
    ///
    /// # Errors
    /// If there is not as much, or the groups' colors or banks do not exist: a sentence.
    pub fn new(
        map: MemoryMap,
        groups: &[Group],
        kernel: GroupId,
        order: Order,
        need: Need,
    ) -> Result<Self, String> {
        let (base, layout) = lend::<P>(need)?;
        let (first, count) = (FrameNumber(base / PAGE), layout.size() as u64 / PAGE);
        let frames = ColoredFrames::in_range(map, first, count, groups, order).map_err(|error| {
            // SAFETY: `lend` allocated it with this layout, and nobody has used it.
            unsafe { dealloc(ptr::with_exposed_provenance_mut(base as usize), layout) };
            alloc::format!("{error}")
        })?;
        let (window, tables, places) = (Window::new(), Vec::new(), Vec::new());
        let groups = groups.len() as u16;
        Ok(Self { window, frames, kernel, groups, base, layout, tables, places, attic: None })
    }

    /// Maps `pages` pages of `group` in a row, above a hole, and returns the address of the first. All or nothing.
    ///
    /// # Errors
    /// If the group's colors have not as many, or the kernel's none for the page tables.
    pub fn map(&mut self, place: MemoryUser, group: GroupId, pages: u64) -> Result<u64, FramesError> {
        let first = self.window.reserve(pages);
        for page in 0..pages {
            if let Err(error) = self.map_one(first + page * PAGE, group) {
                (0..page).for_each(|page| self.unmap_one(first + page * PAGE));
                return Err(error);
            }
        }
        self.places.push((place, first, pages));
        Ok(first)
    }

    /// A piece of so many bytes that will be somewhere else in what is mapped.
    pub fn expect(&mut self, place: MemoryUser) {
        self.places.push((place, 0, 0));
    }

    /// Where it was found first.
    pub fn found(&mut self, place: MemoryUser, address: u64, bytes: u64) {
        let expected = self.places.iter_mut().find(|(known, address, _)| *known == place && *address == 0);
        if let Some((_, first, pages)) = expected {
            *first = address / PAGE * PAGE;
            *pages = (address % PAGE + bytes).div_ceil(PAGE);
        }
    }

    fn map_one(&mut self, address: u64, group: GroupId) -> Result<(), FramesError> {
        let frame = self.frames.allocate(group)?.frame;
        self.map_frame(address, frame.0 * PAGE).inspect_err(|_| {
            let freed = self.frames.free(frame);
            debug_assert!(freed.is_ok(), "it was just handed out");
        })
    }

    /// Maps a page to the frame at `physical`, which is this run's; tables come from the kernel's group.
    fn map_frame(&mut self, address: u64, physical: u64) -> Result<(), FramesError> {
        let Self { frames, kernel, tables, .. } = self;
        let table = || {
            let table = frames.allocate(*kernel)?.frame.0 * PAGE;
            tables.push(table);
            Ok(table)
        };
        // SAFETY: the frames were lent by the general heap, or have been left by the image, and are mapped once; other cores
        // rest while a run is prepared.
        unsafe { window::map::<P, _>(address, physical, table) }
    }

    fn unmap_one(&mut self, address: u64) {
        if let Some(physical) = window::translate::<P>(address) {
            let freed = self.frames.free(FrameNumber(physical / PAGE));
            debug_assert!(freed.is_ok(), "mapped frames are taken");
            // SAFETY: it was mapped a moment ago, and nobody knows of it yet.
            unsafe { window::unmap::<P>(address) };
        }
    }

    /// Moves the image to pages of the kernel's group, until the run is over.
    ///
    /// # Errors
    /// If the group has not as many; the image stays then.
    pub fn move_image(&mut self) -> Result<(), FramesError> {
        let count = window::image_pages::<P>().count() as u64;
        let attic = self.window.reserve(count);
        for (number, page) in window::image_pages::<P>().enumerate() {
            self.map_frame(attic + number as u64 * PAGE, page)?;
        }
        let frames = (0..count).map(|_| Ok(self.frames.allocate(self.kernel)?.frame.0 * PAGE));
        let frames = frames.collect::<Result<Vec<_>, FramesError>>()?;
        // SAFETY: the frames were just handed out; a run is prepared by the boot core while the others rest.
        unsafe { window::move_image::<P>(&frames) };
        self.attic = Some(attic);
        let places =
            P::image().map(|piece| (MemoryUser::Image, piece.start, (piece.end - piece.start) / PAGE));
        self.places.extend(places);
        Ok(())
    }

    /// Opens a system heap on all pages that are left to the kernel's group, at most `most` bytes.
    pub(crate) fn open_system_heap(&mut self, most: Bytes) {
        let left = self.frames.available(self.kernel);
        let left = left.saturating_sub(window::most_tables(left)).min(most.get() / PAGE);
        // There are as many: they were counted.
        if let Ok(first) = self.map(MemoryUser::Kernel, self.kernel, left) {
            // SAFETY: mapped for this purpose, and used until the run is over, when nothing of it is in use any more.
            unsafe { P::heaps().open_system(first..first + left * PAGE) };
        }
    }

    /// What could be shared out.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.layout.size() as u64)
    }

    /// The map of colors and banks.
    pub fn colors(&self) -> &MemoryMap {
        self.frames.map()
    }

    /// Pages that were borrowed from other colors or banks.
    pub fn borrowed(&self) -> u64 {
        (0..self.groups).filter_map(|group| self.frames.held(GroupId(group))).map(|held| held.1).sum()
    }

    /// Tells where everything lies, by walking the page tables.
    pub fn tell(&self, mut tell: impl FnMut(Pages)) {
        for &(place, address, pages) in &self.places {
            let frame =
                |page| window::translate::<P>(address + page * PAGE).map_or(0, |physical| physical / PAGE);
            for first in (0..pages).step_by(MOST_PAGES) {
                let last = pages.min(first + MOST_PAGES as u64);
                tell(Pages { place, first, frames: (first..last).map(frame).collect() });
            }
        }
        let tables = self.tables.iter().map(|table| table / PAGE).collect();
        tell(Pages { place: MemoryUser::Tables, first: 0, frames: tables });
    }
}

impl<P: Paging> Drop for RunMemory<P> {
    fn drop(&mut self) {
        if let Some(attic) = self.attic.take() {
            // SAFETY: the frames of before are mapped there; a run is cleared away by the boot core while the others rest.
            unsafe { window::return_image::<P>(attic) };
        }
        // The window goes before the frames, on which its tables lie.
        self.window = Window::new();
        // SAFETY: `lend` allocated it with this layout; nothing is mapped to it any more.
        unsafe { dealloc(ptr::with_exposed_provenance_mut(self.base as usize), self.layout) };
    }
}

/// A piece of the general heap.
fn lend<P: Paging>(need: Need) -> Result<(u64, Layout), String> {
    let (mut size, least) = match need {
        Need::Pages { pages, pieces } => {
            let size = (pages + window::most_tables(pages + pieces)) * PAGE;
            (size, size)
        }
        Need::AllBut(rest) => (P::heaps().general_bytes().saturating_sub(rest.get()) / STEP * STEP, STEP),
    };
    while size >= least {
        let layout = usize::try_from(size).ok();
        let layout = layout.and_then(|size| Layout::from_size_align(size, PAGE as usize).ok());
        let Some(layout) = layout else { break };
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc(layout) };
        if !base.is_null() {
            return Ok((base.expose_provenance() as u64, layout));
        }
        size = size.saturating_sub(STEP);
    }
    Err(alloc::format!("no {} of memory in one piece", Bytes::new(least)))
}

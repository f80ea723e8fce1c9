//! The memory of a process that is colored, and who answers its page faults.

use crate::error::ColorError;
use crate::maps::{self, Mapping};
use crate::outcome::Pages;
use crate::pool::Pool;
use crate::sys::{Bell, Faults, Pagemap, wait_for};
use crate::tracee;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One of the memories that are colored. A process that forks or executes another program gets a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SpaceId(pub(crate) u32);

/// What a missing page holds: part of a file. Without one it holds zeros.
#[derive(Clone)]
pub(crate) struct Backing {
    pub(crate) range: Range<u64>,
    pub(crate) file: Arc<File>,
    pub(crate) offset: u64,
}

/// The memory of a process.
pub(crate) struct Space {
    /// Who lives in it.
    pub(crate) process: i32,
    pub(crate) faults: Faults,
    pub(crate) pagemap: Pagemap,
    pub(crate) backings: Vec<Backing>,
    pub(crate) placed: u64,
    pub(crate) misplaced: u64,
    /// Pages that came into a wrong frame and are there still.
    pub(crate) to_mend: Vec<u64>,
}

impl Space {
    /// What lies in this range is no longer part of a file.
    pub(crate) fn forget(&mut self, range: &Range<u64>) {
        let mut kept = Vec::new();
        for old in self.backings.drain(..) {
            let before = old.range.start..old.range.end.min(range.start);
            let after = old.range.start.max(range.end)..old.range.end;
            for part in [before, after] {
                if part.start < part.end {
                    let offset = old.offset + (part.start - old.range.start);
                    kept.push(Backing { range: part, file: Arc::clone(&old.file), offset });
                }
            }
        }
        self.backings = kept;
    }

    /// What lay in one range lies in another now, as much of it as has room.
    pub(crate) fn moved(&mut self, from: &Range<u64>, to: &Range<u64>) {
        let mut shifted = Vec::new();
        for old in &self.backings {
            let part = old.range.start.max(from.start)..old.range.end.min(from.end);
            if part.start < part.end {
                let offset = old.offset + (part.start - old.range.start);
                let start = to.start + (part.start - from.start);
                let range = start..(start + (part.end - part.start)).min(to.end);
                shifted.push(Backing { range, file: Arc::clone(&old.file), offset });
            }
        }
        self.forget(from);
        self.forget(to);
        self.backings.extend(shifted.into_iter().filter(|backing| !backing.range.is_empty()));
    }

    /// The content of a missing page.
    fn content(&self, address: u64, content: &mut [u8]) {
        content.fill(0);
        let Some(backing) = self.backings.iter().find(|backing| backing.range.contains(&address)) else {
            return;
        };
        let mut at = backing.offset + (address - backing.range.start);
        let mut rest = content;
        // A file may end within the page.
        while !rest.is_empty() {
            match backing.file.read_at(rest, at) {
                Ok(0) => return,
                Ok(got) => {
                    at += got as u64;
                    rest = rest.get_mut(got..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// Pool and memories. Two threads share it, both on one CPU: who answers faults, and who follows the program.
pub(crate) struct Painter {
    pool: Pool,
    spaces: BTreeMap<SpaceId, Space>,
    page: u64,
    content: Vec<u8>,
    at_hand: usize,
    without_frame: u64,
}

impl Painter {
    /// Frames that are searched for at first; twice as many each time they are used up.
    const AT_HAND: usize = 256;
    /// And no more than these at a time: 64 MiB.
    const MOST_AT_HAND: usize = 1 << 14;

    pub(crate) fn new(mut pool: Pool) -> Result<Self, ColorError> {
        pool.reserve(Self::AT_HAND)?;
        let page = crate::sys::page();
        let content = vec![0; page as usize];
        Ok(Self { pool, spaces: BTreeMap::new(), page, content, at_hand: Self::AT_HAND, without_frame: 0 })
    }

    pub(crate) fn adopt(&mut self, id: SpaceId, space: Space) {
        self.spaces.insert(id, space);
    }

    pub(crate) fn space(&mut self, id: SpaceId) -> Option<&mut Space> {
        self.spaces.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: SpaceId) -> Option<Space> {
        self.spaces.remove(&id)
    }

    pub(crate) fn without_frame(&self) -> u64 {
        self.without_frame
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Puts a page with this content into a right frame.
    pub(crate) fn place(&mut self, id: SpaceId, address: u64, content: &[u8]) -> io::Result<()> {
        if self.pool.is_empty() {
            self.at_hand = (2 * self.at_hand).min(Self::MOST_AT_HAND);
            // What was found before the memory ended is used.
            if self.pool.reserve(self.at_hand).is_err() && self.pool.is_empty() {
                self.without_frame += 1;
            }
        }
        let Some(space) = self.spaces.get_mut(&id) else { return Ok(()) };
        let meant = self.pool.give();
        match space.faults.place(address, content) {
            // Somebody else was faster.
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {
                return space.faults.wake(address, self.page);
            }
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        space.placed += 1;
        let place = space.pagemap.at(address)?;
        if place.is_present() && !self.pool.wish().accepts(place.frame()) {
            space.misplaced += 1;
            space.to_mend.push(address);
            if let Some(frame) = meant {
                self.pool.leave_alone(frame);
            }
        }
        Ok(())
    }

    /// Answers what faults there are.
    fn answer(&mut self) {
        let ids: Vec<SpaceId> = self.spaces.keys().copied().collect();
        for id in ids {
            while let Some(address) =
                self.spaces.get(&id).and_then(|space| space.faults.next().ok().flatten())
            {
                let address = address - address % self.page;
                let mut content = std::mem::take(&mut self.content);
                if let Some(space) = self.spaces.get(&id) {
                    space.content(address, &mut content);
                }
                // A process that is gone needs no page.
                let _ = self.place(id, address, &content);
                self.content = content;
                if let Some(space) = self.spaces.get(&id).filter(|space| !space.to_mend.is_empty()) {
                    tracee::knock(space.process);
                }
            }
        }
    }

    /// Where the pages of a process are.
    pub(crate) fn survey(&self, thread: i32, pagemap: &Pagemap) -> io::Result<Pages> {
        let mut pages = Pages::default();
        for mapping in maps::of(thread)? {
            for address in present(pagemap, &mapping, self.page)? {
                if !is_colored(&mapping) {
                    *pages.not_colored.entry(mapping.called().to_owned()).or_default() += 1;
                } else if self.pool.wish().accepts(pagemap.at(address)?.frame()) {
                    pages.right += 1;
                } else {
                    pages.wrong += 1;
                }
            }
        }
        Ok(pages)
    }
}

/// Whether a mapping's pages are to be in right frames.
pub(crate) fn is_colored(mapping: &Mapping) -> bool {
    mapping.is_private
        && !mapping.is_the_kernels()
        && !mapping.name.starts_with("/anon_hugepage")
        && !mapping.name.starts_with("/dev/")
}

/// The addresses of a mapping's pages that are in memory.
pub(crate) fn present(pagemap: &Pagemap, mapping: &Mapping, page: u64) -> io::Result<Vec<u64>> {
    /// Pages that are looked at in one go: 256 KiB of the kernel's answer.
    const STEP: u64 = 1 << 15;
    let mut all = Vec::new();
    // Reserved, not used: such ranges may be terabytes long.
    if mapping.protection == 0 {
        return Ok(all);
    }
    let mut at = mapping.range.start;
    while at < mapping.range.end {
        let pages = ((mapping.range.end - at) / page).min(STEP);
        let places = match pagemap.from(at, pages as usize) {
            Ok(places) => places,
            // The gate of system calls lies above what the file tells of.
            Err(_) if mapping.is_the_kernels() => return Ok(all),
            Err(error) => return Err(error),
        };
        let there = places.iter().zip(0_u64..).filter(|(place, _)| place.is_present());
        all.extend(there.map(|(_, index)| at + index * page));
        at += pages * page;
    }
    Ok(all)
}

/// The painter, whoever holds it.
pub(crate) struct Shared {
    painter: Mutex<Painter>,
    bell: Bell,
}

impl Shared {
    pub(crate) fn new(painter: Painter) -> Result<Self, ColorError> {
        let bell = Bell::new().map_err(ColorError::refused("an event descriptor"))?;
        Ok(Self { painter: Mutex::new(painter), bell })
    }

    /// Makes who answers faults look around: there is another memory, or an end.
    pub(crate) fn ring(&self) {
        self.bell.ring();
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Painter> {
        // Who panicked with it left it as whole as it found it: every change is one call.
        self.painter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers faults until `attend`, asked every now and then, breaks.
    pub(crate) fn answer_faults(&self, attend: &mut dyn FnMut() -> ControlFlow<()>) {
        /// How long nobody is asked where nothing happens, in milliseconds.
        const NAP: i32 = 100;
        while attend().is_continue() {
            let descriptors: Vec<_> = {
                let mut painter = self.lock();
                painter.answer();
                let faults = painter.spaces.values().map(|space| space.faults.descriptor());
                faults.chain([self.bell.descriptor()]).collect()
            };
            if wait_for(&descriptors, NAP).is_err() {
                std::thread::yield_now();
            }
            self.bell.hush();
        }
    }
}

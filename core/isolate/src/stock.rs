//! Whether the page frames are there that an experiment asks for: counted by color and bank before anything is placed.
//!
//! Colors and banks may share address bits, so that a bank has frames of some colors only. What is counted is what
//! [`ColoredFrames`](crate::ColoredFrames) hands out, frame by frame and in the same order.

use crate::MemoryMap;
use crate::admission::{IsolationRefusal, group_of, groups, holder_of, of_owner};
use crate::frames::{Bins, FramesError, Group, GroupId};
use crate::heap::JobHeaps;
use crate::map::MemoryClass;
use alloc::vec::Vec;
use solo_model::isolation::{Coloring, Fallback, LockedPage};
use solo_model::work::Buffer;
use solo_model::{BufferId, Color, Device, Platform, Task, TaskId};

/// Free frames by class, and the groups that take them.
struct Stock {
    map: MemoryMap,
    left: Vec<u64>,
    groups: Vec<Bins>,
}

impl Stock {
    /// `frames` page frames from number 0, for these groups.
    fn new(map: MemoryMap, frames: u64, groups: &[Group]) -> Result<Self, FramesError> {
        Ok(Self { groups: Bins::of(&map, groups)?, left: map.frames_by_class(frames), map })
    }

    /// Free frames of a group, or of one color of it.
    fn free(&self, group: GroupId, color: Option<Color>) -> u64 {
        let classes = self.groups.get(usize::from(group.0)).map_or(&[][..], |bins| &bins.classes);
        let counted =
            classes.iter().filter(|class| color.is_none_or(|color| self.map.unpair(**class).0 == color));
        counted.filter_map(|class| self.left.get(class.0 as usize)).sum()
    }

    /// Takes `pages` frames for a group, from its classes by turns; false where there are fewer.
    fn take(&mut self, group: GroupId, pages: u64) -> bool {
        let Some(bins) = self.groups.get_mut(usize::from(group.0)) else { return false };
        let left = &mut self.left;
        let free = |left: &[u64], class: MemoryClass| left.get(class.0 as usize).copied().unwrap_or(0);
        let mut pages = pages;
        // Whole rounds at once: after one, the next class to be asked is the same.
        while pages > bins.classes.len() as u64 {
            let live: Vec<MemoryClass> =
                bins.classes.iter().copied().filter(|class| free(left, *class) > 0).collect();
            let Some(least) = live.iter().map(|class| free(left, *class)).min() else { return false };
            let rounds = least.min(pages / live.len() as u64);
            live.iter().for_each(|class| left[class.0 as usize] -= rounds);
            pages -= rounds * live.len() as u64;
        }
        (0..pages).all(|_| match bins.next(|class| free(left, class) > 0) {
            Some(class) => {
                left[class.0 as usize] -= 1;
                true
            }
            None => false,
        })
    }

    /// Takes a frame of exactly this color; false where there is none.
    fn take_color(&mut self, group: GroupId, color: Color) -> bool {
        let Some(bins) = self.groups.get(usize::from(group.0)) else { return false };
        let has = |class: MemoryClass| self.left.get(class.0 as usize).is_some_and(|&left| left > 0);
        match bins.of_color(&self.map, color, has) {
            Some(class) => {
                self.left[class.0 as usize] -= 1;
                true
            }
            None => false,
        }
    }
}

/// What asks for page frames.
#[derive(Clone, Copy, Debug)]
pub struct Owners<'e> {
    /// The tasks, whose memory a buffer is by the first that touches it.
    pub tasks: &'e [Task],
    /// The devices, whose buffers are their owners' where no task touches them.
    pub devices: &'e [Device],
    /// All memory, in the order in which it is placed.
    pub buffers: &'e [Buffer],
}

/// Checks that there are frames for each page of each buffer, in its owner's colors and banks; locked pages in the very color that they are
/// locked in. The kernel's own pages, of which only a machine knows how many there are, are not counted. With
/// [`Fallback::Borrow`] all is well as long as memory lasts.
///
/// # Errors
/// [`IsolationRefusal::NoPages`] for the first buffer that has too few, or what else is wrong with colors and banks.
pub fn pages_fit(
    coloring: Option<&Coloring>,
    locked: &[LockedPage],
    platform: &Platform,
    owners: Owners<'_>,
) -> Result<(), IsolationRefusal> {
    let default = Coloring::default();
    let borrows = coloring.is_some_and(|coloring| coloring.fallback == Fallback::Borrow);
    if borrows || coloring.is_none() && locked.is_empty() {
        return Ok(());
    }
    let coloring = coloring.unwrap_or(&default);
    let map = MemoryMap::of(platform).map_err(IsolationRefusal::Map)?.grouped(coloring.groups);
    let frames = platform.dram.size.get() / platform.page.get().max(1);
    let all = groups(coloring, &map);
    let mut stock = Stock::new(map, frames, &all).map_err(|error| of_owner(coloring, error))?;
    for (at, buffer) in owners.buffers.iter().enumerate() {
        let id = BufferId(at as u32);
        let owner = holder_of(owners.tasks, owners.devices, id);
        let group = group_of(coloring, owner);
        // What jobs take while they run comes from heaps.
        if owners.tasks.iter().any(|task| task.work.allocates(id)) {
            continue;
        }
        let pages = buffer.size.in_pieces_of(platform.page);
        let mut own: Vec<&LockedPage> =
            locked.iter().filter(|page| page.buffer == id && page.page < pages).collect();
        own.sort_by_key(|page| page.page);
        own.dedup_by_key(|page| page.page);
        let before = stock.free(group, None);
        let refused = |asked, free, color: Option<Color>| {
            let bins = all.get(usize::from(group.0));
            let colors = color.map_or_else(
                || bins.map_or(Vec::new(), |bins| bins.colors.clone()),
                |color| alloc::vec![color],
            );
            let banks = bins.map_or(Vec::new(), |bins| bins.banks.clone());
            Err(IsolationRefusal::NoPages { task: owner, buffer: id, asked, free, colors, banks })
        };
        let mut done = 0;
        for page in own {
            if !stock.take(group, page.page - done) {
                return refused(pages, before, None);
            }
            if !stock.take_color(group, page.color) {
                return refused(1, 0, Some(page.color));
            }
            done = page.page + 1;
        }
        if !stock.take(group, pages - done) {
            return refused(pages, before, None);
        }
    }
    heaps_fit(coloring, &mut stock, platform, owners)
}

/// The same of the heaps from which jobs take memory while they run, which come after all buffers.
fn heaps_fit(
    coloring: &Coloring,
    stock: &mut Stock,
    platform: &Platform,
    owners: Owners<'_>,
) -> Result<(), IsolationRefusal> {
    let Some(jobs) = JobHeaps::of(coloring, stock.map.colors().count(), owners.tasks, 0) else {
        return Ok(());
    };
    for &color in jobs.colors_in_use() {
        let (asked, free) = (jobs.size().in_pieces_of(platform.page), stock.free(GroupId(0), Some(color)));
        if !(0..asked).all(|_| stock.take_color(GroupId(0), color)) {
            let user = |(task, of): (TaskId, &Task)| Some((task, of.work.allocations().next()?.0));
            let first = (0..).map(TaskId).zip(owners.tasks).find_map(user);
            let (task, buffer) = first.map_or((None, BufferId(0)), |(task, buffer)| (Some(task), buffer));
            let colors = alloc::vec![color];
            return Err(IsolationRefusal::NoPages { task, buffer, asked, free, colors, banks: Vec::new() });
        }
    }
    Ok(())
}

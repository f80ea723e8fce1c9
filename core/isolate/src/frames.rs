//! Page frames by color and bank: lists from which groups of owners take what belongs to them.
//!
//! ```text
//!              give to group              free
//!   Free(class list) ───────▶ Taken(group) ────▶ Free(the same list)
//! ```
//!
//! A frame is in exactly one place: in the free list of its class, or taken by one group. Both operations take
//! a time bounded by the number of classes of a group, whatever happened before, and allocate nothing. Formal
//! verification found frames handed out twice in a shipping hypervisor's colored allocator (Bao, issue 199);
//! the properties in `tests/frames.rs` hold here under any sequence of requests.

use crate::map::{MemoryClass, MemoryMap};
use alloc::vec::Vec;
use core::fmt;
use solo_model::isolation::Fallback;
use solo_model::{Bank, Color, SplitMix64};

/// A physical page frame: the physical address divided by the page size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameNumber(pub u64);

/// A group of owners with the same colors and banks (PALLOC's cgroup).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct GroupId(pub u16);

/// The bins of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its colors; empty for all.
    pub colors: Vec<Color>,
    /// Its banks; empty for all.
    pub banks: Vec<Bank>,
    /// When these are exhausted.
    pub fallback: Fallback,
}

/// Why frames could not be set up or handed out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FramesError {
    /// A group names a color that does not exist.
    NoSuchColor {
        /// The group.
        group: GroupId,
        /// The color.
        color: Color,
        /// How many there are.
        colors: u16,
    },
    /// A group names a bank that does not exist.
    NoSuchBank {
        /// The group.
        group: GroupId,
        /// The bank.
        bank: Bank,
        /// How many there are.
        banks: u16,
    },
    /// No frame has both a color and a bank of the group: they share address bits.
    Disjoint {
        /// The group.
        group: GroupId,
    },
    /// There is no such group.
    NoSuchGroup {
        /// The group.
        group: GroupId,
    },
    /// No frame of the group's is left.
    Exhausted {
        /// The group.
        group: GroupId,
    },
    /// There is no such frame, or it is beyond the managed memory.
    NoSuchFrame {
        /// The frame.
        frame: FrameNumber,
    },
    /// The frame is free already.
    NotTaken {
        /// The frame.
        frame: FrameNumber,
    },
    /// More frames or groups than the tables can name.
    TooMany,
}

impl fmt::Display for FramesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchColor { color, colors, .. } => {
                write!(f, "{color} does not exist: there are colors 0 to {}", colors.saturating_sub(1))
            }
            Self::NoSuchBank { bank, banks, .. } => {
                write!(f, "{bank} does not exist: there are banks 0 to {}", banks.saturating_sub(1))
            }
            Self::Disjoint { .. } => {
                write!(f, "no page has both one of the colors and one of the banks: they share address bits")
            }
            Self::NoSuchGroup { group } => write!(f, "there is no group {}", group.0),
            Self::Exhausted { group } => write!(f, "no free page of group {} is left", group.0),
            Self::NoSuchFrame { frame } => write!(f, "there is no page frame {}", frame.0),
            Self::NotTaken { frame } => write!(f, "page frame {} is free already", frame.0),
            Self::TooMany => write!(f, "more page frames or groups than the tables can name"),
        }
    }
}

impl core::error::Error for FramesError {}

/// A frame that was handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// The frame.
    pub frame: FrameNumber,
    /// It does not belong to the group's bins: the group's fallback is to borrow.
    pub borrowed: bool,
}

/// In which order the frames of a class are handed out first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Lowest first: a freshly booted machine.
    Ascending,
    /// At random, from this seed: a machine that has run for a while.
    Shuffled(u64),
}

/// No frame: the end of a list.
const END: u32 = u32::MAX;
/// The owner of a free frame.
const FREE: u16 = u16::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct List {
    head: u32,
    length: u32,
}

/// The classes of a group, and what it has taken from them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bins {
    /// The classes of the group that exist, ascending.
    pub(crate) classes: Vec<MemoryClass>,
    pub(crate) fallback: Fallback,
    /// Where the next search begins, so that classes are used evenly.
    turn: usize,
    taken: u64,
    borrowed: u64,
}

impl Bins {
    /// The classes of each group.
    ///
    /// # Errors
    /// If a group names what does not exist, or no frame has both a color and a bank of it.
    pub(crate) fn of(map: &MemoryMap, groups: &[Group]) -> Result<Vec<Self>, FramesError> {
        if groups.len() >= usize::from(FREE) {
            return Err(FramesError::TooMany);
        }
        let mut existing: Vec<(Color, Bank)> = map.representatives().collect();
        existing.sort_unstable();
        existing.dedup();
        let bins = |(at, group): (usize, &Group)| bins_of(map, &existing, GroupId(at as u16), group);
        groups.iter().enumerate().map(bins).collect()
    }

    /// The class of the next frame, by turns among those that have one, which is then the last to be asked again.
    pub(crate) fn next(&mut self, has: impl Fn(MemoryClass) -> bool) -> Option<MemoryClass> {
        let count = self.classes.len();
        let mut turns = (0..count).map(|step| (self.turn + step) % count);
        let at = turns.find(|&at| self.classes.get(at).is_some_and(|class| has(*class)))?;
        self.turn = at + 1;
        self.classes.get(at).copied()
    }

    /// The first class of this color that has a frame.
    pub(crate) fn of_color(
        &self,
        map: &MemoryMap,
        color: Color,
        has: impl Fn(MemoryClass) -> bool,
    ) -> Option<MemoryClass> {
        self.classes.iter().copied().filter(|class| map.unpair(*class).0 == color).find(|class| has(*class))
    }
}

/// All page frames of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColoredFrames {
    map: MemoryMap,
    /// The number of the first frame.
    first: u64,
    lists: Vec<List>,
    /// For a free frame the next one of its list.
    next: Vec<u32>,
    /// For a taken frame its group.
    owner: Vec<u16>,
    groups: Vec<Bins>,
    free: u64,
}

impl ColoredFrames {
    /// `frames` page frames from number 0, for these groups.
    ///
    /// # Errors
    /// If a group names what does not exist, or there are more frames than 2^32 - 1.
    pub fn new(map: MemoryMap, frames: u64, groups: &[Group], order: Order) -> Result<Self, FramesError> {
        Self::in_range(map, FrameNumber(0), frames, groups, order)
    }

    /// `frames` page frames from number `first`, for these groups: a machine that has given the others away.
    ///
    /// # Errors
    /// As for [`ColoredFrames::new`].
    pub fn in_range(
        map: MemoryMap,
        first: FrameNumber,
        frames: u64,
        groups: &[Group],
        order: Order,
    ) -> Result<Self, FramesError> {
        let count = u32::try_from(frames).ok().filter(|&count| count < END).ok_or(FramesError::TooMany)?;
        let groups = Bins::of(&map, groups)?;
        let classes = map.classes() as usize;
        let mut all = Self {
            lists: alloc::vec![List { head: END, length: 0 }; classes],
            next: alloc::vec![END; count as usize],
            owner: alloc::vec![FREE; count as usize],
            groups,
            map,
            first: first.0,
            free: frames,
        };
        match order {
            Order::Ascending => (0..count).rev().for_each(|frame| all.push(frame)),
            Order::Shuffled(seed) => {
                let mut shuffled: Vec<u32> = (0..count).collect();
                SplitMix64::new(seed).shuffle(&mut shuffled);
                shuffled.into_iter().for_each(|frame| all.push(frame));
            }
        }
        Ok(all)
    }

    /// The map of colors and banks.
    pub fn map(&self) -> &MemoryMap {
        &self.map
    }

    /// Frames that nobody holds.
    pub fn free_frames(&self) -> u64 {
        self.free
    }

    /// Frames that `group` holds, and how many of these are borrowed.
    pub fn held(&self, group: GroupId) -> Option<(u64, u64)> {
        self.groups.get(usize::from(group.0)).map(|bins| (bins.taken, bins.borrowed))
    }

    /// Free frames of `group`'s colors and banks; 0 where there is no such group. Groups that share colors share these.
    pub fn available(&self, group: GroupId) -> u64 {
        let classes = self.groups.get(usize::from(group.0)).map_or(&[][..], |bins| &bins.classes);
        classes.iter().map(|class| u64::from(self.lists[class.0 as usize].length)).sum()
    }

    /// A frame for `group`, from its classes by turns.
    ///
    /// # Errors
    /// If there is no such group or nothing is left for it.
    pub fn allocate(&mut self, group: GroupId) -> Result<Taken, FramesError> {
        let bins = self.groups.get_mut(usize::from(group.0)).ok_or(FramesError::NoSuchGroup { group })?;
        let lists = &self.lists;
        let own = bins.next(|class| lists[class.0 as usize].head != END);
        let borrows = bins.fallback == Fallback::Borrow;
        let class = match own {
            Some(class) => class,
            None if borrows => {
                let most = (0..self.lists.len()).max_by_key(|&at| self.lists[at].length);
                most.map(|at| MemoryClass(at as u32))
                    .filter(|class| self.has_free(*class))
                    .ok_or(FramesError::Exhausted { group })?
            }
            None => return Err(FramesError::Exhausted { group }),
        };
        Ok(self.take(class, group, own.is_none()))
    }

    /// A frame of exactly this color for `group`, in any of its banks, as lockdown asks for.
    ///
    /// # Errors
    /// If there is no such group or nothing of the color is left for it; a fallback does not apply.
    pub fn allocate_color(&mut self, group: GroupId, color: Color) -> Result<Taken, FramesError> {
        let bins = self.groups.get(usize::from(group.0)).ok_or(FramesError::NoSuchGroup { group })?;
        let class = bins.of_color(&self.map, color, |class| self.has_free(class));
        let class = class.ok_or(FramesError::Exhausted { group })?;
        Ok(self.take(class, group, false))
    }

    /// Gives a frame back to the list of its class, and says who had held it.
    ///
    /// # Errors
    /// If there is no such frame or nobody holds it; nothing changes then.
    pub fn free(&mut self, frame: FrameNumber) -> Result<GroupId, FramesError> {
        let at = self.position(frame).ok_or(FramesError::NoSuchFrame { frame })?;
        let group = self.owner[at];
        if group == FREE {
            return Err(FramesError::NotTaken { frame });
        }
        let class = self.map.class(frame.0);
        let bins = &mut self.groups[usize::from(group)];
        bins.taken -= 1;
        bins.borrowed -= u64::from(bins.classes.binary_search(&class).is_err());
        self.owner[at] = FREE;
        self.free += 1;
        self.push(at as u32);
        Ok(GroupId(group))
    }

    /// Who holds a frame.
    pub fn owner(&self, frame: FrameNumber) -> Option<GroupId> {
        let owner = self.owner[self.position(frame)?];
        (owner != FREE).then_some(GroupId(owner))
    }

    /// Where a frame stands in the tables.
    fn position(&self, frame: FrameNumber) -> Option<usize> {
        let at = usize::try_from(frame.0.checked_sub(self.first)?).ok()?;
        (at < self.owner.len()).then_some(at)
    }

    fn has_free(&self, class: MemoryClass) -> bool {
        self.lists[class.0 as usize].head != END
    }

    fn push(&mut self, frame: u32) {
        let class = self.map.class(self.first + u64::from(frame));
        let list = &mut self.lists[class.0 as usize];
        self.next[frame as usize] = list.head;
        *list = List { head: frame, length: list.length + 1 };
    }

    /// Takes the first frame of a list that is not empty.
    fn take(&mut self, class: MemoryClass, group: GroupId, borrowed: bool) -> Taken {
        let list = &mut self.lists[class.0 as usize];
        let frame = list.head;
        *list = List { head: self.next[frame as usize], length: list.length - 1 };
        self.owner[frame as usize] = group.0;
        self.free -= 1;
        let bins = &mut self.groups[usize::from(group.0)];
        bins.taken += 1;
        bins.borrowed += u64::from(borrowed);
        Taken { frame: FrameNumber(self.first + u64::from(frame)), borrowed }
    }
}

/// The classes that a group may take from, of the pairs that exist.
fn bins_of(
    map: &MemoryMap,
    existing: &[(Color, Bank)],
    id: GroupId,
    group: &Group,
) -> Result<Bins, FramesError> {
    let (colors, banks) = (map.colors().count(), map.banks().count());
    if let Some(&color) = group.colors.iter().find(|color| color.0 >= colors) {
        return Err(FramesError::NoSuchColor { group: id, color, colors });
    }
    if let Some(&bank) = group.banks.iter().find(|bank| bank.0 >= banks) {
        return Err(FramesError::NoSuchBank { group: id, bank, banks });
    }
    let wants = |&&(color, bank): &&(Color, Bank)| {
        let color = group.colors.is_empty() || group.colors.contains(&color);
        color && (group.banks.is_empty() || group.banks.contains(&bank))
    };
    let mut classes: Vec<_> =
        existing.iter().filter(wants).map(|&(color, bank)| map.pair(color, bank)).collect();
    classes.sort_unstable();
    if classes.is_empty() {
        return Err(FramesError::Disjoint { group: id });
    }
    Ok(Bins { classes, fallback: group.fallback, turn: 0, taken: 0, borrowed: 0 })
}

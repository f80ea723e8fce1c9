//! The tag array of one cache: which lines it holds, in which state, and which one goes next.

use crate::geometry::{Geometry, Replacement};
use solo_workload::SplitMix64;

/// A way without a line.
const EMPTY: u64 = u64::MAX;
/// Bits of an entry that hold the line's state. Numbers of lines of 16 bytes and more have at most 60 bits, so
/// that no line looks like an empty way.
const STATE_BITS: u32 = 3;
const STATE_MASK: u64 = (1 << STATE_BITS) - 1;

/// A set-associative array of lines, each with a state below 7.
///
/// The ways of a set lie side by side. LRU and FIFO keep them in the order of recency or arrival, the next
/// victim last and empty ways behind all lines: which physical way a line occupies makes no difference to
/// them. The other policies keep lines where they are and fill the lowest empty way first.
#[derive(Debug)]
pub(crate) struct Array {
    entries: Vec<u64>,
    sets: u64,
    /// Set numbers are the low bits of line numbers; otherwise the remainder.
    set_mask: Option<u64>,
    ways: usize,
    replacement: Replacement,
    /// Tree-PLRU: per set the nodes of the tree, root first, each the side that is older. NRU: per way,
    /// whether it was referenced.
    marks: Vec<u8>,
    marks_per_set: usize,
    random: SplitMix64,
}

/// Where a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    /// The first entry of the set.
    base: usize,
    way: usize,
}

impl Array {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let (sets, ways) = (geometry.sets(), geometry.ways() as usize);
        let marks_per_set = match geometry.replacement() {
            Replacement::TreePlru => ways.next_power_of_two() - 1,
            Replacement::Nru => ways,
            Replacement::Lru | Replacement::Fifo | Replacement::Random => 0,
        };
        Self {
            entries: vec![EMPTY; sets as usize * ways],
            sets,
            set_mask: sets.is_power_of_two().then(|| sets - 1),
            ways,
            replacement: geometry.replacement(),
            marks: vec![0; sets as usize * marks_per_set],
            marks_per_set,
            random: SplitMix64::new(0),
        }
    }

    #[inline]
    fn base(&self, line: u64) -> usize {
        let set = match self.set_mask {
            Some(mask) => line & mask,
            None => line % self.sets,
        };
        set as usize * self.ways
    }

    /// Where `line` is, if the array holds it.
    #[inline]
    pub(crate) fn find(&self, line: u64) -> Option<Slot> {
        let base = self.base(line);
        let set = &self.entries[base..base + self.ways];
        set.iter().position(|entry| entry >> STATE_BITS == line).map(|way| Slot { base, way })
    }

    /// The state of the line in `slot`.
    #[inline]
    pub(crate) fn state(&self, slot: Slot) -> u8 {
        (self.entries[slot.base + slot.way] & STATE_MASK) as u8
    }

    #[inline]
    pub(crate) fn set_state(&mut self, slot: Slot, state: u8) {
        let entry = &mut self.entries[slot.base + slot.way];
        *entry = *entry & !STATE_MASK | u64::from(state);
    }

    /// Takes note that the line in `slot` is used. The slot is no longer valid.
    #[inline]
    pub(crate) fn touch(&mut self, slot: Slot) {
        let Slot { base, way } = slot;
        match self.replacement {
            Replacement::Lru => {
                let entry = self.entries[base + way];
                push_front(&mut self.entries[base..=base + way], entry);
            }
            Replacement::Fifo | Replacement::Random => {}
            Replacement::TreePlru | Replacement::Nru => self.mark(base / self.ways, way),
        }
    }

    /// Puts `line`, which is not there, in place of the next victim, and returns the victim and its state if
    /// there was one.
    #[inline]
    pub(crate) fn insert(&mut self, line: u64, state: u8) -> Option<(u64, u8)> {
        let base = self.base(line);
        let entry = line << STATE_BITS | u64::from(state);
        let victim = match self.replacement {
            Replacement::Lru | Replacement::Fifo => {
                push_front(&mut self.entries[base..base + self.ways], entry)
            }
            Replacement::TreePlru | Replacement::Nru | Replacement::Random => {
                let way = self.victim(base);
                if self.replacement != Replacement::Random {
                    self.mark(base / self.ways, way);
                }
                std::mem::replace(&mut self.entries[base + way], entry)
            }
        };
        (victim != EMPTY).then_some((victim >> STATE_BITS, (victim & STATE_MASK) as u8))
    }

    /// Drops the line in `slot`.
    pub(crate) fn invalidate(&mut self, slot: Slot) {
        let Slot { base, way } = slot;
        self.entries[base + way] = EMPTY;
        if matches!(self.replacement, Replacement::Lru | Replacement::Fifo) {
            self.entries[base + way..base + self.ways].rotate_left(1);
        }
    }

    /// The way to fill: the lowest empty one, else the policy's choice. For policies that keep lines in place.
    fn victim(&mut self, base: usize) -> usize {
        let set = &self.entries[base..base + self.ways];
        if let Some(empty) = set.iter().position(|&entry| entry == EMPTY) {
            return empty;
        }
        let first = base / self.ways * self.marks_per_set;
        match self.replacement {
            Replacement::Random => self.random.below(self.ways as u64) as usize,
            Replacement::Nru => {
                let referenced = &self.marks[first..first + self.ways];
                referenced.iter().position(|&mark| mark == 0).unwrap_or(0)
            }
            _ => self.older_leaf(first),
        }
    }

    /// Follows the tree whose root is at `first` to the way it points at.
    fn older_leaf(&self, first: usize) -> usize {
        let (mut node, mut way, mut half) = (0, 0, self.ways.next_power_of_two() / 2);
        while half > 0 {
            // The right branch is taken only if it has a way.
            let right = self.marks[first + node] == 1 && way + half < self.ways;
            node = 2 * node + 1 + usize::from(right);
            way += if right { half } else { 0 };
            half /= 2;
        }
        way
    }

    /// Marks `way` of `set` as used.
    fn mark(&mut self, set: usize, way: usize) {
        let first = set * self.marks_per_set;
        if self.replacement == Replacement::Nru {
            let referenced = &mut self.marks[first..first + self.ways];
            referenced[way] = 1;
            if referenced.iter().all(|&mark| mark == 1) {
                referenced.fill(0);
                referenced[way] = 1;
            }
            return;
        }
        let (mut node, mut half) = (0, self.ways.next_power_of_two() / 2);
        while half > 0 {
            let right = way & half != 0;
            self.marks[first + node] = u8::from(!right);
            node = 2 * node + 1 + usize::from(right);
            half /= 2;
        }
    }
}

/// Puts `entry` first and moves the others back by one; returns the last. A plain loop: sets are too small for
/// a call of `memmove` to pay.
#[inline]
fn push_front(set: &mut [u64], entry: u64) -> u64 {
    set.iter_mut().fold(entry, |carried, place| std::mem::replace(place, carried))
}

//! The tag array of one cache: which lines it holds, in which state, and which one goes next.

use crate::geometry::{Geometry, Replacement};
use solo_model::{Recency, RecencyMatrix};
use solo_workload::SplitMix64;
use wide::{CmpEq, i32x8};

/// A way without a line.
const EMPTY: u64 = u64::MAX;
/// Bits of an entry that hold the line's state. Numbers of lines of 16 bytes and more have at most 60 bits, so
/// that no line looks like an empty way.
const STATE_BITS: u32 = 3;
const STATE_MASK: u64 = (1 << STATE_BITS) - 1;
/// Ways are compared so many at once.
const CHUNK: usize = 8;

/// A set-associative array of lines, each with a state below 7.
///
/// The ways of a set lie side by side. FIFO, and LRU of many ways, keep them in the order of arrival or recency, the
/// next victim last and empty ways behind all lines: which physical way a line occupies makes no difference to
/// them. LRU of few ways remembers their order beside them. The other policies keep lines where they are and fill the
/// lowest empty way first.
#[derive(Debug)]
pub(crate) struct Array {
    entries: Vec<u64>,
    /// The low bits of the lines' numbers, to be compared several at once; empty where lines move or where the ways
    /// of a set do not fill [`CHUNK`]s.
    hints: Vec<i32>,
    sets: u64,
    /// Set numbers are the low bits of line numbers; otherwise the remainder.
    set_mask: Option<u64>,
    ways: usize,
    replacement: Replacement,
    /// Tree-PLRU: per set the nodes of the tree, root first, each the side that is older. NRU: per way,
    /// whether it was referenced.
    marks: Vec<u8>,
    marks_per_set: usize,
    /// By set, for LRU of up to 8 ways, and the row of all ways; else empty.
    matrices: Vec<RecencyMatrix>,
    row: u64,
    /// By set, for LRU of up to 16; else empty.
    orders: Vec<Recency>,
    random: SplitMix64,
}

/// Where a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot {
    set: usize,
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
        let moves = matches!(geometry.replacement(), Replacement::Lru | Replacement::Fifo);
        let ordered = geometry.replacement() == Replacement::Lru && ways <= Recency::MOST;
        let few = ways <= RecencyMatrix::MOST;
        Self {
            entries: vec![EMPTY; sets as usize * ways],
            hints: if ways.is_multiple_of(CHUNK) && (ordered || !moves) {
                vec![0; sets as usize * ways]
            } else {
                Vec::new()
            },
            sets,
            set_mask: sets.is_power_of_two().then(|| sets - 1),
            ways,
            replacement: geometry.replacement(),
            marks: vec![0; sets as usize * marks_per_set],
            marks_per_set,
            matrices: if ordered && few { vec![RecencyMatrix::new(ways); sets as usize] } else { Vec::new() },
            row: if few { RecencyMatrix::row(ways) } else { 0 },
            orders: if ordered && !few { vec![Recency::new(ways); sets as usize] } else { Vec::new() },
            random: SplitMix64::new(0),
        }
    }

    #[inline]
    fn set_of(&self, line: u64) -> usize {
        match self.set_mask {
            Some(mask) => (line & mask) as usize,
            None => (line % self.sets) as usize,
        }
    }

    #[inline]
    fn ways_of(&mut self, set: usize) -> &mut [u64] {
        &mut self.entries[set * self.ways..][..self.ways]
    }

    #[inline]
    fn entry(&mut self, slot: Slot) -> &mut u64 {
        &mut self.entries[slot.set * self.ways + slot.way]
    }

    /// Puts a line in place of another, whose entry is returned.
    #[inline]
    fn put(&mut self, slot: Slot, line: u64, entry: u64) -> u64 {
        if let Some(hint) = self.hints.get_mut(slot.set * self.ways + slot.way) {
            *hint = line as i32;
        }
        std::mem::replace(self.entry(slot), entry)
    }

    /// Where `line` is, if the array holds it.
    #[inline]
    pub(crate) fn find(&self, line: u64) -> Option<Slot> {
        let set = self.set_of(line);
        if self.hints.is_empty() {
            let ways = &self.entries[set * self.ways..][..self.ways];
            let way = ways.iter().position(|entry| entry >> STATE_BITS == line)?;
            return Some(Slot { set, way });
        }
        if self.ways == CHUNK {
            let (hints, ways) = (&self.hints.as_chunks().0[set], &self.entries.as_chunks().0[set]);
            return find_in_chunk(hints, ways, line).map(|way| Slot { set, way });
        }
        let hints = self.hints[set * self.ways..][..self.ways].as_chunks().0;
        let ways = self.entries[set * self.ways..][..self.ways].as_chunks().0;
        let found = |(number, (hints, ways))| {
            find_in_chunk(hints, ways, line).map(|way| Slot { set, way: number * CHUNK + way })
        };
        hints.iter().zip(ways).enumerate().find_map(found)
    }

    /// The state of the line in `slot`.
    #[inline]
    pub(crate) fn state(&self, slot: Slot) -> u8 {
        (self.entries[slot.set * self.ways + slot.way] & STATE_MASK) as u8
    }

    #[inline]
    pub(crate) fn set_state(&mut self, slot: Slot, state: u8) {
        let entry = self.entry(slot);
        *entry = *entry & !STATE_MASK | u64::from(state);
    }

    /// Takes note that the line in `slot` is used. The slot is no longer valid.
    #[inline]
    pub(crate) fn touch(&mut self, slot: Slot) {
        let Slot { set, way } = slot;
        match self.replacement {
            Replacement::Lru => {
                if let Some(matrix) = self.matrices.get_mut(set) {
                    matrix.touch(way, self.row);
                } else if let Some(order) = self.orders.get_mut(set) {
                    order.touch(way);
                } else {
                    let entry = *self.entry(slot);
                    push_front(&mut self.ways_of(set)[..=way], entry);
                }
            }
            Replacement::Fifo | Replacement::Random => {}
            Replacement::TreePlru | Replacement::Nru => self.mark(set, way),
        }
    }

    /// Puts `line`, which is not there, in place of the next victim, and returns the victim and its state if
    /// there was one.
    #[inline]
    pub(crate) fn insert(&mut self, line: u64, state: u8) -> Option<(u64, u8)> {
        let set = self.set_of(line);
        let entry = line << STATE_BITS | u64::from(state);
        let victim = match self.replacement {
            Replacement::Lru | Replacement::Fifo => {
                let oldest = match self.matrices.get_mut(set) {
                    Some(matrix) => Some(matrix.replace(self.row)),
                    None => self.orders.get_mut(set).map(|order| order.replace(self.ways)),
                };
                match oldest {
                    Some(way) => self.put(Slot { set, way }, line, entry),
                    None => push_front(self.ways_of(set), entry),
                }
            }
            Replacement::TreePlru | Replacement::Nru | Replacement::Random => {
                let way = self.victim(set);
                if self.replacement != Replacement::Random {
                    self.mark(set, way);
                }
                self.put(Slot { set, way }, line, entry)
            }
        };
        (victim != EMPTY).then_some((victim >> STATE_BITS, (victim & STATE_MASK) as u8))
    }

    /// Drops the line in `slot`.
    pub(crate) fn invalidate(&mut self, slot: Slot) {
        let Slot { set, way } = slot;
        *self.entry(slot) = EMPTY;
        if let Some(matrix) = self.matrices.get_mut(set) {
            matrix.forget(way);
        } else if let Some(order) = self.orders.get_mut(set) {
            order.forget(way, self.ways);
        } else if matches!(self.replacement, Replacement::Lru | Replacement::Fifo) {
            self.ways_of(set)[way..].rotate_left(1);
        }
    }

    /// The way to fill: the lowest empty one, else the policy's choice. For policies that keep lines in place.
    fn victim(&mut self, set: usize) -> usize {
        if let Some(empty) = self.ways_of(set).iter().position(|&entry| entry == EMPTY) {
            return empty;
        }
        let first = set * self.marks_per_set;
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

/// The ways, by bit, whose hint is `hint`.
#[inline]
fn equal(hints: &[i32; CHUNK], hint: i32) -> u32 {
    i32x8::new(*hints).cmp_eq(i32x8::splat(hint)).move_mask() as u32
}

/// The way that holds `line`: one whose hint is its low bits, and mostly the first of those.
#[inline(always)]
fn find_in_chunk(hints: &[i32; CHUNK], ways: &[u64; CHUNK], line: u64) -> Option<usize> {
    let mut like = equal(hints, line as i32);
    while like != 0 {
        let way = like.trailing_zeros() as usize % CHUNK;
        if ways[way] >> STATE_BITS == line {
            return Some(way);
        }
        like &= like - 1;
    }
    None
}

/// Puts `entry` first and moves the others back by one; returns the last. A plain loop: sets are too small for
/// a call of `memmove` to pay.
#[inline]
fn push_front(set: &mut [u64], entry: u64) -> u64 {
    set.iter_mut().fold(entry, |carried, place| std::mem::replace(place, carried))
}

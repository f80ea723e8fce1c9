//! The tag array of one cache: which lines it holds, in which state, and which one goes next.

use crate::geometry::Geometry;
use solo_replacement::{Allowed, Replacer};
use wide::{CmpEq, i32x8};

/// A way without a line.
const EMPTY: u64 = u64::MAX;
/// Bits of an entry that hold the line's state. Numbers of lines of 16 bytes and more have at most 60 bits, so
/// that no line looks like an empty way.
const STATE_BITS: u32 = 3;
const STATE_MASK: u64 = (1 << STATE_BITS) - 1;
/// Where policies that draw begin.
const SEED: u64 = 0;
/// Ways are compared so many at once.
const CHUNK: usize = 8;

/// A set-associative array of lines, each with a state below 7. The ways of a set lie side by side; which way a line
/// comes into is for the replacement policy to say, that of the simulated machine.
#[derive(Debug)]
pub(crate) struct Array {
    entries: Vec<u64>,
    /// The low bits of the lines' numbers, to be compared several at once; empty where the ways of a set do not fill
    /// [`CHUNK`]s.
    hints: Vec<i32>,
    sets: u64,
    /// Set numbers are the low bits of line numbers; otherwise the remainder.
    set_mask: Option<u64>,
    ways: usize,
    /// Ways without a line, of all sets.
    vacant: usize,
    replacer: Replacer,
    /// By set, what the policy remembers of it.
    memories: Vec<u64>,
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
        let lines = sets as usize * ways;
        let replacer = Replacer::new(geometry.replacement(), sets as usize, ways, SEED);
        Self {
            entries: vec![EMPTY; lines],
            hints: if ways.is_multiple_of(CHUNK) { vec![0; lines] } else { Vec::new() },
            sets,
            set_mask: sets.is_power_of_two().then(|| sets - 1),
            ways,
            vacant: lines,
            memories: vec![replacer.beginning(); sets as usize],
            replacer,
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

    /// Takes note that the line in `slot` is used.
    #[inline]
    pub(crate) fn touch(&mut self, slot: Slot) {
        self.replacer.touch(&mut self.memories[slot.set], slot.set, slot.way);
    }

    /// Puts `line`, which is not there, into the lowest empty way of its set, else in place of the next victim, and
    /// returns the victim and its state if there was one.
    #[inline]
    pub(crate) fn insert(&mut self, line: u64, state: u8) -> Option<(u64, u8)> {
        let set = self.set_of(line);
        let memory = &mut self.memories[set];
        let empty = if self.vacant == 0 { None } else { empty_way(&self.entries, set, self.ways) };
        let way = match empty {
            Some(way) => {
                self.vacant -= 1;
                self.replacer.fill(memory, set, way);
                way
            }
            None => self.replacer.replace(memory, set, Allowed::All),
        };
        let victim = self.put(Slot { set, way }, line, line << STATE_BITS | u64::from(state));
        (victim != EMPTY).then_some((victim >> STATE_BITS, (victim & STATE_MASK) as u8))
    }

    /// Drops the line in `slot`.
    pub(crate) fn invalidate(&mut self, slot: Slot) {
        *self.entry(slot) = EMPTY;
        self.vacant += 1;
    }
}

/// The lowest way of a set without a line.
fn empty_way(entries: &[u64], set: usize, ways: usize) -> Option<usize> {
    entries[set * ways..][..ways].iter().position(|&entry| entry == EMPTY)
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

//! The lines of one cache: tags, states and the replacement policy.

use super::HierarchyError;
use super::coherence::State;
use super::index::SetIndex;
use super::replacement::{Allowed, Replacer};
use super::tags::{CHUNK, equal};
use core::num::NonZeroU64;
use solo_model::platform::Cache;

/// Lines are numbered by 31 bits: 128 GiB of lines of 64 bytes. No line has the number of an empty way.
pub(crate) const LINE_MASK: u64 = (1 << 31) - 1;
const EMPTY: i32 = -1;
/// Above the state, a note has a bit for each inner cache that may hold the line.
const HOLDER_SHIFT: u32 = 16;
/// Inner caches share this many bits: whoever shares a bit is asked when it is set.
const HOLDER_BITS: usize = 16;

/// The bit of the inner cache at `position`.
#[inline]
pub(crate) const fn holder_bit(position: usize) -> u64 {
    1 << (position % HOLDER_BITS)
}

/// A line that left the cache: its number, below it its note. One register, also where there may be none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Evicted(NonZeroU64);

impl Evicted {
    /// A bit that no note uses.
    const SOME: NonZeroU64 = NonZeroU64::new(1 << 3).unwrap();
    const LINE: u32 = 32;

    #[inline]
    fn new(line: u64, note: u32) -> Self {
        Self(Self::SOME | line << Self::LINE | u64::from(note))
    }

    #[inline]
    pub(crate) fn line(self) -> u64 {
        self.0.get() >> Self::LINE
    }

    #[inline]
    fn note(self) -> u32 {
        self.0.get() as u32
    }

    #[inline]
    pub(crate) fn state(self) -> State {
        State::from_bits(self.note().into())
    }

    /// Memory's copy is stale: [`State::is_dirty`] without finding out the state.
    #[inline]
    pub(crate) fn is_dirty(self) -> bool {
        const DIRTY: u32 = 1 << State::Modified as u32 | 1 << State::Owned as u32;
        DIRTY >> (self.note() & 7) & 1 == 1
    }

    /// The same line with changed data.
    #[inline]
    pub(crate) fn dirtied(self) -> Self {
        Self::new(self.line(), self.note() & !7 | self.state().dirtied() as u32)
    }

    /// The inner caches that may hold it, where the cache knows.
    #[inline]
    fn holders(self) -> u64 {
        u64::from(self.note() >> HOLDER_SHIFT)
    }
}

/// A set-associative array of lines. A *slot* is the place of a line: set times stride plus way, where the stride
/// is the number of ways rounded up to a power of two of at least [`CHUNK`].
///
/// Tags lie together, so that a look-up touches as few lines of the host's caches as may be.
#[derive(Clone, Debug)]
pub(crate) struct CacheArray {
    /// The line in each slot, in chunks.
    tags: Box<[[i32; CHUNK]]>,
    /// Its state, and who may hold it.
    notes: Box<[u32]>,
    /// The holders' bits mean something: the cache is inclusive.
    tracks_holders: bool,
    index: SetIndex,
    ways: usize,
    /// The stride as a power of two.
    shift: u32,
    replacer: Replacer,
    /// Lines held, and the most that can be.
    held: usize,
    capacity: usize,
    /// For each set the ways whose lines stay, a bit each; absent while nothing is locked.
    locked: Option<Box<[u64]>>,
}

impl CacheArray {
    /// An empty cache; `tracks_holders` where its lines must know which inner caches may hold them.
    pub(crate) fn new(cache: &Cache, tracks_holders: bool, seed: u64) -> Result<Self, HierarchyError> {
        check_geometry(cache)?;
        let ways = usize::from(cache.ways);
        let sets = cache.sets() as usize;
        let stride = ways.next_power_of_two().max(CHUNK);
        Ok(Self {
            tags: vec![[EMPTY; CHUNK]; sets * stride / CHUNK].into(),
            notes: vec![0; sets * stride].into(),
            tracks_holders,
            index: SetIndex::new(cache)?,
            ways,
            shift: stride.trailing_zeros(),
            replacer: Replacer::new(cache.replacement, sets, ways, seed),
            held: 0,
            capacity: sets * ways,
            locked: None,
        })
    }

    /// The chunks of tags of a set.
    #[inline]
    fn chunks(&self, set: usize) -> &[[i32; CHUNK]] {
        let shift = self.shift - CHUNK.trailing_zeros();
        &self.tags[set << shift..][..1 << shift]
    }

    #[inline]
    fn tag(&mut self, slot: usize) -> &mut i32 {
        &mut self.tags[slot / CHUNK][slot % CHUNK]
    }

    /// The slot that holds `line`.
    #[inline(always)]
    pub(crate) fn find(&self, line: u64) -> Option<usize> {
        let set = self.index.of(line);
        // Looks at every way: the host can't guess where a search would end, and a wrong guess costs more.
        let found = match self.shift {
            3 => equal(&self.tags[set], line as i32),
            4 => {
                let [low, high] = &self.tags.as_chunks().0[set];
                equal(low, line as i32) | equal(high, line as i32) << CHUNK
            }
            _ => return self.find_among(self.chunks(set), set, line),
        };
        (found != 0).then(|| (set << self.shift) + found.trailing_zeros() as usize)
    }

    /// True where the cache holds `line`.
    #[inline(always)]
    pub(crate) fn has(&self, line: u64) -> bool {
        self.held != 0 && self.find(line).is_some()
    }

    #[inline(never)]
    fn find_among(&self, chunks: &[[i32; CHUNK]], set: usize, line: u64) -> Option<usize> {
        chunks.iter().enumerate().find_map(|(number, tags)| {
            let found = equal(tags, line as i32);
            (found != 0).then(|| (set << self.shift) + number * CHUNK + found.trailing_zeros() as usize)
        })
    }

    /// Tells the replacement policy of an access to the line in `slot`.
    #[inline]
    pub(crate) fn touch(&mut self, slot: usize) {
        let set = slot >> self.shift;
        self.replacer.touch(set, slot - (set << self.shift));
    }

    /// The lowest empty way of a set within the `allowed` ways.
    #[inline]
    fn empty_way(&self, set: usize, allowed: Allowed) -> Option<usize> {
        for (number, tags) in self.chunks(set).iter().enumerate() {
            let mut empty = equal(tags, EMPTY);
            while empty != 0 {
                let way = number * CHUNK + empty.trailing_zeros() as usize;
                if way >= self.ways {
                    return None;
                }
                if allowed.contains(way) {
                    return Some(way);
                }
                empty &= empty - 1;
            }
        }
        None
    }

    /// True where any line was ever locked.
    #[inline]
    pub(crate) fn has_locks(&self) -> bool {
        self.locked.is_some()
    }

    /// True where every way of the line's set is locked: it cannot be brought in.
    #[inline]
    pub(crate) fn refuses(&self, line: u64) -> bool {
        self.locked
            .as_ref()
            .is_some_and(|locked| locked[self.index.of(line)].count_ones() as usize == self.ways)
    }

    /// Brings `line` in, into an empty way or in the place of the policy's victim, within the `allowed` ways.
    /// It must not be there yet, and its set must not [refuse](Self::refuses) it.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        line: u64,
        state: State,
        holders: u64,
        allowed: Allowed,
    ) -> Option<Evicted> {
        if self.held == self.capacity && allowed == Allowed::All && self.locked.is_none() {
            let set = self.index.of(line);
            let way = match &mut self.replacer {
                Replacer::TreePlru(policy) => policy.replace(set),
                Replacer::LruOrder(policy) => Some(policy.replace(set)),
                _ => None,
            };
            if let Some(way) = way {
                return Some(self.exchange((set << self.shift) + way, line, state, holders));
            }
        }
        self.insert_anywhere(line, state, holders, allowed)
    }

    #[inline(never)]
    fn insert_anywhere(
        &mut self,
        line: u64,
        state: State,
        holders: u64,
        allowed: Allowed,
    ) -> Option<Evicted> {
        let set = self.index.of(line);
        let allowed = match &self.locked {
            None => allowed,
            Some(locked) => allowed.less(locked[set], self.ways),
        };
        let free = if self.held == self.capacity { None } else { self.empty_way(set, allowed) };
        let Some(way) = free else {
            let slot = (set << self.shift) + self.replacer.replace(set, allowed);
            return Some(self.exchange(slot, line, state, holders));
        };
        self.held += 1;
        self.replacer.fill(set, way);
        self.place((set << self.shift) + way, line, state, holders);
        None
    }

    /// Puts `line` in the place of another, which leaves.
    #[inline]
    fn exchange(&mut self, slot: usize, line: u64, state: State, holders: u64) -> Evicted {
        let evicted = self.evicted(slot);
        self.place(slot, line, state, holders);
        evicted
    }

    #[inline]
    fn place(&mut self, slot: usize, line: u64, state: State, holders: u64) {
        *self.tag(slot) = line as i32;
        self.notes[slot] = state as u32 | (holders as u32) << HOLDER_SHIFT;
    }

    /// Brings `line` in, where it is not there yet, and keeps it: nothing evicts it from here on. False where
    /// the set has no empty way for it; nothing changes then. Where all ways are locked, other lines go past the cache.
    pub(crate) fn lock(&mut self, line: u64, state: State) -> bool {
        let set = self.index.of(line);
        let sets = self.notes.len() >> self.shift;
        if self.ways > 64 {
            return false;
        }
        if self.find(line).is_none() {
            if self.empty_way(set, Allowed::All).is_none() {
                return false;
            }
            let _ = self.insert(line, state, 0, Allowed::All);
        }
        let Some(slot) = self.find(line) else { return false };
        self.locked.get_or_insert_with(|| vec![0; sets].into())[set] |= 1 << (slot - (set << self.shift));
        true
    }

    /// Lets `line` be evicted again, where it was locked.
    pub(crate) fn unlock(&mut self, line: u64) {
        let set = self.index.of(line);
        if let (Some(slot), Some(locked)) = (self.find(line), &mut self.locked) {
            locked[set] &= !(1 << (slot - (set << self.shift)));
        }
    }

    /// Takes the line in `slot` out.
    #[inline]
    pub(crate) fn remove(&mut self, slot: usize) -> Evicted {
        if let Some(locked) = &mut self.locked {
            let set = slot >> self.shift;
            locked[set] &= !(1 << (slot - (set << self.shift)));
        }
        let evicted = self.evicted(slot);
        *self.tag(slot) = EMPTY;
        self.held -= 1;
        evicted
    }

    #[inline]
    fn evicted(&self, slot: usize) -> Evicted {
        Evicted::new(self.tags[slot / CHUNK][slot % CHUNK] as u64, self.notes[slot])
    }

    #[inline]
    pub(crate) fn state(&self, slot: usize) -> State {
        State::from_bits(self.notes[slot].into())
    }

    #[inline]
    pub(crate) fn set_state(&mut self, slot: usize, state: State) {
        let note = &mut self.notes[slot];
        *note = *note & !7 | state as u32;
    }

    /// The inner caches that may hold the line in `slot`, by [`holder_bit`].
    #[inline]
    pub(crate) fn holders(&self, slot: usize) -> u64 {
        if self.tracks_holders { u64::from(self.notes[slot] >> HOLDER_SHIFT) } else { u64::MAX }
    }

    /// The inner caches that may hold a line that has just left this cache.
    #[inline]
    pub(crate) fn holders_of(&self, evicted: Evicted) -> u64 {
        if self.tracks_holders { evicted.holders() } else { u64::MAX }
    }

    #[inline]
    pub(crate) fn set_holders(&mut self, slot: usize, holders: u64) {
        let note = &mut self.notes[slot];
        *note = *note & 7 | (holders as u32) << HOLDER_SHIFT;
    }

    pub(crate) fn ways(&self) -> usize {
        self.ways
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Each line held, with its state.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        let tags = self.tags.as_flattened().iter().enumerate();
        tags.filter(|(_, tag)| **tag != EMPTY).map(|(slot, tag)| (*tag as u64, self.state(slot)))
    }
}

fn check_geometry(cache: &Cache) -> Result<(), HierarchyError> {
    let (size, line) = (cache.size.get(), cache.line.get());
    let impossible =
        HierarchyError::Geometry { level: cache.level, size: cache.size, ways: cache.ways, line: cache.line };
    if cache.ways == 0 || !line.is_power_of_two() || line < 4 || size == 0 || size > 1 << 36 {
        return Err(impossible);
    }
    if size % (line * u64::from(cache.ways)) != 0 {
        return Err(impossible);
    }
    Ok(())
}

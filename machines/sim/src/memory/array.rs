//! The lines of one cache: tags, states and the replacement policy.

use super::HierarchyError;
use super::coherence::State;
use super::index::SetIndex;
use super::replacement::{Allowed, Replacer};
use solo_model::platform::Cache;

/// Lines are numbered by 43 bits: 48 bits of address even with lines of 32 bytes.
pub(crate) const LINE_MASK: u64 = (1 << 43) - 1;
/// The line field of an entry, and its value where the entry is empty: no line has this number.
const LINE_FIELD: u64 = (1 << 44) - 1;
const STATE_SHIFT: u32 = 44;
const HOLDER_SHIFT: u32 = 47;
/// Inner caches share this many bits: whoever shares a bit is asked when it is set.
const HOLDER_BITS: usize = 16;

/// The bit of the inner cache at `position`.
#[inline]
pub(crate) const fn holder_bit(position: usize) -> u64 {
    1 << (position % HOLDER_BITS)
}

/// A line that left the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Evicted {
    pub(crate) line: u64,
    pub(crate) state: State,
    /// The inner caches that may hold it.
    pub(crate) holders: u64,
}

/// A set-associative array of lines. A *slot* is the place of a line: set times ways plus way.
///
/// All that is known of a line is one word, so that a look-up in a large cache touches few lines of the host's:
/// the line number, above it the state, above that a bit for each inner cache that may hold the line.
#[derive(Clone, Debug)]
pub(crate) struct CacheArray {
    entries: Box<[u64]>,
    /// The holders' bits mean something: the cache is inclusive.
    tracks_holders: bool,
    index: SetIndex,
    ways: usize,
    replacer: Replacer,
    /// The slot of the last access: programs return to the line they have just used.
    last: usize,
    /// Lines held.
    held: usize,
}

impl CacheArray {
    /// An empty cache; `tracks_holders` where its lines must know which inner caches may hold them.
    pub(crate) fn new(cache: &Cache, tracks_holders: bool, seed: u64) -> Result<Self, HierarchyError> {
        check_geometry(cache)?;
        let ways = usize::from(cache.ways);
        let sets = cache.sets() as usize;
        Ok(Self {
            entries: vec![LINE_FIELD; sets * ways].into(),
            tracks_holders,
            index: SetIndex::new(cache)?,
            ways,
            replacer: Replacer::new(cache.replacement, sets, ways, seed),
            last: 0,
            held: 0,
        })
    }

    /// The slot that holds `line`.
    #[inline]
    pub(crate) fn find(&self, line: u64) -> Option<usize> {
        if self.entries[self.last] & LINE_FIELD == line {
            return Some(self.last);
        }
        let base = self.index.of(line) * self.ways;
        let set = &self.entries[base..][..self.ways];
        if self.ways > 32 {
            return set.iter().position(|entry| entry & LINE_FIELD == line).map(|way| base + way);
        }
        // Looks at every way: the host can't guess where a search would end, and a wrong guess costs more.
        let mut found = usize::MAX;
        for (way, entry) in set.iter().enumerate() {
            found = if entry & LINE_FIELD == line { way } else { found };
        }
        (found != usize::MAX).then(|| base + found)
    }

    /// Tells the replacement policy of an access to the line in `slot`.
    #[inline]
    pub(crate) fn touch(&mut self, slot: usize) {
        if slot != self.last {
            self.last = slot;
            self.replacer.touch(slot);
        }
    }

    /// Brings `line` in, into an empty way or in the place of the policy's victim, within the `allowed` ways.
    /// It must not be there yet.
    pub(crate) fn insert(
        &mut self,
        line: u64,
        state: State,
        holders: u64,
        allowed: Allowed,
    ) -> Option<Evicted> {
        let set = self.index.of(line);
        let base = set * self.ways;
        let free = if self.held == self.entries.len() {
            None
        } else {
            let mut ways = self.entries[base..][..self.ways].iter().enumerate();
            ways.find(|(way, entry)| **entry == LINE_FIELD && allowed.contains(*way)).map(|(way, _)| way)
        };
        let way = free.unwrap_or_else(|| self.replacer.victim(set, allowed));
        let slot = base + way;
        let evicted = free.is_none().then(|| self.evicted(slot));
        self.held += usize::from(free.is_some());
        self.entries[slot] = line | (state as u64) << STATE_SHIFT | holders << HOLDER_SHIFT;
        self.replacer.fill(set, way);
        self.last = slot;
        evicted
    }

    /// Takes the line in `slot` out.
    pub(crate) fn remove(&mut self, slot: usize) -> Evicted {
        let evicted = self.evicted(slot);
        self.entries[slot] = LINE_FIELD;
        self.held -= 1;
        evicted
    }

    fn evicted(&self, slot: usize) -> Evicted {
        let line = self.entries[slot] & LINE_FIELD;
        Evicted { line, state: self.state(slot), holders: self.holders(slot) }
    }

    #[inline]
    pub(crate) fn state(&self, slot: usize) -> State {
        State::from_bits(self.entries[slot] >> STATE_SHIFT)
    }

    #[inline]
    pub(crate) fn set_state(&mut self, slot: usize, state: State) {
        let entry = &mut self.entries[slot];
        *entry = *entry & !(7 << STATE_SHIFT) | (state as u64) << STATE_SHIFT;
    }

    /// The inner caches that may hold the line in `slot`, by [`holder_bit`].
    #[inline]
    pub(crate) fn holders(&self, slot: usize) -> u64 {
        if self.tracks_holders { self.entries[slot] >> HOLDER_SHIFT } else { u64::MAX }
    }

    #[inline]
    pub(crate) fn set_holders(&mut self, slot: usize, holders: u64) {
        let entry = &mut self.entries[slot];
        *entry = *entry & !(u64::MAX << HOLDER_SHIFT) | holders << HOLDER_SHIFT;
    }

    pub(crate) fn ways(&self) -> usize {
        self.ways
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Each line held, with its state.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, State)> + '_ {
        let held = |slot: &usize| self.entries[*slot] & LINE_FIELD != LINE_FIELD;
        (0..self.entries.len()).filter(held).map(|slot| (self.entries[slot] & LINE_FIELD, self.state(slot)))
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

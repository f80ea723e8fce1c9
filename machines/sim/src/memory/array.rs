//! The lines of one cache: tags, states and the replacement policy.

use super::HierarchyError;
use super::coherence::State;
use super::index::SetIndex;
use super::owners::Owners;
use super::set::{Chunk, EMPTY, Set};
pub(crate) use super::set::{Evicted, Service};
use super::tags::{CHUNK, equal};
use solo_model::Rmid;
use solo_model::platform::Cache;
use solo_replacement::{Allowed, Replacer};

/// Lines are numbered by 31 bits: 128 GiB of lines of 64 bytes.
pub(crate) const LINE_MASK: u64 = (1 << 31) - 1;
/// Inner caches share this many bits: whoever shares a bit is asked when it is set.
const HOLDER_BITS: usize = 16;

/// The bit of the inner cache at `position`.
#[inline]
pub(crate) const fn holder_bit(position: usize) -> u64 {
    1 << (position % HOLDER_BITS)
}

/// Lets a [`Set`] do something where it has one chunk or two, which the compiler then knows.
macro_rules! in_small_set {
    ($array:ident, $line:expr, $what:ident($($with:expr),*), $otherwise:expr) => {
        match $array.small {
            1 => {
                let number = ($line & $array.mask) as usize;
                let set = &mut $array.chunks.as_chunks_mut::<1>().0[number];
                Set(set).$what(&mut $array.replacer, number, $line, $($with),*)
            }
            2 => {
                let number = ($line & $array.mask) as usize;
                let set = &mut $array.chunks.as_chunks_mut::<2>().0[number];
                Set(set).$what(&mut $array.replacer, number, $line, $($with),*)
            }
            _ => $otherwise,
        }
    };
}

/// A set-associative array of lines. A *slot* is the place of a line: set times stride plus way, where the stride
/// is the number of ways rounded up to a power of two of at least [`CHUNK`].
#[derive(Clone, Debug)]
pub(crate) struct CacheArray {
    chunks: Box<[Chunk]>,
    /// The chunks of a set where they are one or two and the low bits of a line's number are its set's; else zero.
    small: u32,
    /// Those bits.
    mask: u64,
    index: SetIndex,
    ways: usize,
    /// The stride as a power of two, and less one.
    shift: u32,
    last_way: usize,
    /// The bits of a chunk's number that are those of its set's first chunk.
    first_chunk: usize,
    /// The holders of every line, where the cache does not know them: all.
    untracked: u16,
    replacer: Replacer,
    /// Lines held, and the most that can be.
    held: usize,
    capacity: usize,
    /// What most caches never need; absent while nothing is locked and nobody monitors whose lines are here.
    extras: Option<Box<Extras>>,
}

/// What a cache has where lines are locked, or whose they are is monitored.
#[derive(Clone, Debug)]
struct Extras {
    /// For each set the ways whose lines stay, a bit each.
    locked: Box<[u64]>,
    owners: Option<Owners>,
}

impl Extras {
    fn new(sets: usize) -> Self {
        Self { locked: vec![0; sets].into(), owners: None }
    }

    /// A line comes into `slot`, where another one leaves if `replaces`.
    fn note(&mut self, slot: usize, replaces: bool, holders: u64) {
        if let Some(owners) = &mut self.owners {
            if replaces {
                owners.leave(slot);
            }
            owners.come(slot, holders);
        }
    }

    /// The line in `slot` leaves.
    fn leave(&mut self, slot: usize, shift: u32) {
        let set = slot >> shift;
        // A cache of more ways locks nothing.
        let way = (slot - (set << shift)) % 64;
        self.locked[set] &= !(1 << way);
        if let Some(owners) = &mut self.owners {
            owners.leave(slot);
        }
    }
}

impl CacheArray {
    /// An empty cache; `tracks_holders` where its lines must know which inner caches may hold them.
    pub(crate) fn new(cache: &Cache, tracks_holders: bool, seed: u64) -> Result<Self, HierarchyError> {
        check_geometry(cache)?;
        let ways = usize::from(cache.ways);
        let sets = cache.sets() as usize;
        let stride = ways.next_power_of_two().max(CHUNK);
        let replacer = Replacer::new(cache.replacement, sets, ways, seed);
        let empty = Chunk {
            tags: [EMPTY; CHUNK],
            holders: [0; CHUNK],
            states: [State::Invalid; CHUNK],
            memory: replacer.beginning(),
        };
        let index = SetIndex::new(cache)?;
        let mask = index.low_bits();
        Ok(Self {
            small: if stride <= 2 * CHUNK && mask.is_some() { (stride / CHUNK) as u32 } else { 0 },
            mask: mask.unwrap_or(0),
            chunks: vec![empty; sets * stride / CHUNK].into(),
            index,
            ways,
            shift: stride.trailing_zeros(),
            last_way: stride - 1,
            first_chunk: !(stride / CHUNK - 1),
            untracked: if tracks_holders { 0 } else { u16::MAX },
            replacer,
            held: 0,
            capacity: sets * ways,
            extras: None,
        })
    }

    /// A set's chunks as a power of two.
    #[inline]
    fn chunk_shift(&self) -> u32 {
        self.shift - CHUNK.trailing_zeros()
    }

    /// The chunks of a set.
    #[inline]
    fn set(&self, set: usize) -> &[Chunk] {
        let shift = self.chunk_shift();
        &self.chunks[set << shift..][..1 << shift]
    }

    /// The chunk of a slot, and its way in it.
    #[inline]
    fn chunk(&self, slot: usize) -> (&Chunk, usize) {
        (&self.chunks[slot / CHUNK], slot % CHUNK)
    }

    #[inline]
    fn chunk_mut(&mut self, slot: usize) -> (&mut Chunk, usize) {
        (&mut self.chunks[slot / CHUNK], slot % CHUNK)
    }

    /// The slot that holds `line`.
    #[inline(always)]
    pub(crate) fn find(&self, line: u64) -> Option<usize> {
        // Looks at every way: the host can't guess where a search would end, and a wrong guess costs more.
        let set = (line & self.mask) as usize;
        let (found, first) = match self.small {
            1 => (equal(&self.chunks[set].tags, line as i32), set * CHUNK),
            2 => {
                let [low, high] = &self.chunks.as_chunks().0[set];
                let high = equal(&high.tags, line as i32) << CHUNK;
                (equal(&low.tags, line as i32) | high, set * 2 * CHUNK)
            }
            _ => return self.find_anywhere(line),
        };
        (found != 0).then(|| first + found.trailing_zeros() as usize)
    }

    #[inline(never)]
    fn find_anywhere(&self, line: u64) -> Option<usize> {
        let set = self.index.of(line);
        self.set(set).iter().enumerate().find_map(|(number, chunk)| {
            let found = equal(&chunk.tags, line as i32);
            (found != 0).then(|| (set << self.shift) + number * CHUNK + found.trailing_zeros() as usize)
        })
    }

    /// True where the cache holds `line`.
    #[inline(always)]
    pub(crate) fn has(&self, line: u64) -> bool {
        self.held != 0 && self.find(line).is_some()
    }

    /// An access of the core behind this cache, which may be a `write`. Where it is not served nothing has happened.
    #[inline(always)]
    pub(crate) fn serve(&mut self, line: u64, write: bool) -> Service {
        in_small_set!(self, line, serve(write), self.serve_anywhere(line, write))
    }

    #[inline(never)]
    fn serve_anywhere(&mut self, line: u64, write: bool) -> Service {
        let Some(slot) = self.find(line) else { return Service::Absent };
        if write && !self.state(slot).is_writable() {
            return Service::NotAllowed;
        }
        if write {
            self.set_state(slot, State::Modified);
        }
        self.touch(slot);
        Service::Served
    }

    /// The nearer cache that is `holder` takes a copy of the line, which nobody of those `beside` may have, and which
    /// may be written. Where it is not served nothing has happened.
    #[inline(always)]
    pub(crate) fn lend(&mut self, line: u64, holder: u64, beside: u64) -> Service {
        let lent = holder as u16 | self.untracked;
        in_small_set!(self, line, lend(lent, beside as u16), self.lend_anywhere(line, holder, beside))
    }

    #[inline(never)]
    fn lend_anywhere(&mut self, line: u64, holder: u64, beside: u64) -> Service {
        let Some(slot) = self.find(line) else { return Service::Absent };
        if self.holders(slot) & beside != 0 || !self.state(slot).is_writable() {
            return Service::NotAllowed;
        }
        self.set_holders(slot, holder);
        self.touch(slot);
        Service::Served
    }

    /// The nearer cache that had a copy of the line sends its changed data back. False where the line is not here any
    /// more; nothing has happened then.
    #[inline(always)]
    pub(crate) fn take_back(&mut self, line: u64) -> bool {
        in_small_set!(self, line, take_back(), self.take_back_anywhere(line))
    }

    #[inline(never)]
    fn take_back_anywhere(&mut self, line: u64) -> bool {
        let Some(slot) = self.find(line) else { return false };
        self.set_state(slot, self.state(slot).dirtied());
        self.touch(slot);
        true
    }

    /// Tells the replacement policy of an access to the line in `slot`.
    #[inline(always)]
    pub(crate) fn touch(&mut self, slot: usize) {
        let (set, way) = (slot >> self.shift, slot & self.last_way);
        let memory = &mut self.chunks[(slot / CHUNK) & self.first_chunk].memory;
        self.replacer.touch(memory, set, way);
    }

    /// The lowest empty way of a set within the `allowed` ways.
    #[inline]
    fn empty_way(&self, set: usize, allowed: Allowed) -> Option<usize> {
        for (number, chunk) in self.set(set).iter().enumerate() {
            let mut empty = equal(&chunk.tags, EMPTY);
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

    /// True where any line was ever locked, or whose lines are here is monitored.
    #[inline]
    pub(crate) fn has_extras(&self) -> bool {
        self.extras.is_some()
    }

    /// From now on lines carry ids: `rmids` different ones, 0 for those that are here already.
    pub(crate) fn monitor(&mut self, rmids: u16) {
        let slots = self.chunks.len() * CHUNK;
        let owners = Owners::new(slots, rmids, self.held as u64);
        self.extras_mut().owners = Some(owners);
    }

    /// The lines that carry an id; `None` where they carry none, and for an id that there is not.
    pub(crate) fn lines_of(&self, rmid: Rmid) -> Option<u64> {
        self.extras.as_ref()?.owners.as_ref()?.lines(rmid)
    }

    fn extras_mut(&mut self) -> &mut Extras {
        let sets = self.chunks.len() >> self.chunk_shift();
        self.extras.get_or_insert_with(|| Box::new(Extras::new(sets)))
    }

    /// True where every way of the line's set is locked: it cannot be brought in.
    #[inline]
    pub(crate) fn refuses(&self, line: u64) -> bool {
        self.extras
            .as_ref()
            .is_some_and(|extras| extras.locked[self.index.of(line)].count_ones() as usize == self.ways)
    }

    /// Brings `line` in, into an empty way or in the place of the policy's victim, within the `allowed` ways.
    /// It must not be there yet, and its set must not [refuse](Self::refuses) it. Above the bits of the `holders` stands the
    /// [id](tag) that the line carries.
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        line: u64,
        state: State,
        holders: u64,
        allowed: Allowed,
    ) -> Option<Evicted> {
        if self.held == self.capacity && allowed == Allowed::All && self.extras.is_none() {
            let holders = holders as u16 | self.untracked;
            let evicted = in_small_set!(self, line, exchange(state, holders), None);
            if evicted.is_some() {
                return evicted;
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
        let allowed = match &self.extras {
            None => allowed,
            Some(extras) => allowed.less(extras.locked[set], self.ways),
        };
        let free = if self.held == self.capacity { None } else { self.empty_way(set, allowed) };
        let Some(way) = free else {
            let memory = &mut self.chunks[set << (self.shift - CHUNK.trailing_zeros())].memory;
            let slot = (set << self.shift) + self.replacer.replace(memory, set, allowed);
            if let Some(extras) = &mut self.extras {
                extras.note(slot, true, holders);
            }
            return Some(self.exchange(slot, line, state, holders));
        };
        self.held += 1;
        let memory = &mut self.chunks[set << (self.shift - CHUNK.trailing_zeros())].memory;
        self.replacer.fill(memory, set, way);
        let slot = (set << self.shift) + way;
        if let Some(extras) = &mut self.extras {
            extras.note(slot, false, holders);
        }
        self.place(slot, line, state, holders);
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
        let holders = holders as u16 | self.untracked;
        let (chunk, way) = self.chunk_mut(slot);
        chunk.tags[way] = line as i32;
        chunk.states[way] = state;
        chunk.holders[way] = holders;
    }

    /// Brings `line` in, where it is not there yet, and keeps it: nothing evicts it from here on. False where
    /// the set has no empty way for it; nothing changes then. Where all ways are locked, other lines go past the cache.
    pub(crate) fn lock(&mut self, line: u64, state: State) -> bool {
        let set = self.index.of(line);
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
        let way = slot - (set << self.shift);
        self.extras_mut().locked[set] |= 1 << way;
        true
    }

    /// Lets `line` be evicted again, where it was locked.
    pub(crate) fn unlock(&mut self, line: u64) {
        let set = self.index.of(line);
        if let (Some(slot), Some(extras)) = (self.find(line), &mut self.extras) {
            extras.locked[set] &= !(1 << (slot - (set << self.shift)));
        }
    }

    /// True where the line in `slot` is kept.
    pub(crate) fn is_locked(&self, slot: usize) -> bool {
        let set = slot >> self.shift;
        let way = (slot - (set << self.shift)) % 64;
        self.extras.as_ref().is_some_and(|extras| extras.locked[set] & 1 << way != 0)
    }

    /// Takes the line in `slot` out.
    #[inline]
    pub(crate) fn remove(&mut self, slot: usize) -> Evicted {
        if let Some(extras) = &mut self.extras {
            extras.leave(slot, self.shift);
        }
        let evicted = self.evicted(slot);
        let (chunk, way) = self.chunk_mut(slot);
        chunk.tags[way] = EMPTY;
        self.held -= 1;
        evicted
    }

    #[inline]
    fn evicted(&self, slot: usize) -> Evicted {
        let (chunk, way) = self.chunk(slot);
        Evicted::new(chunk.tags[way] as u64, chunk.holders[way], chunk.states[way])
    }

    #[inline]
    pub(crate) fn state(&self, slot: usize) -> State {
        let (chunk, way) = self.chunk(slot);
        chunk.states[way]
    }

    #[inline]
    pub(crate) fn set_state(&mut self, slot: usize, state: State) {
        let (chunk, way) = self.chunk_mut(slot);
        chunk.states[way] = state;
    }

    /// The inner caches that may hold the line in `slot`, by [`holder_bit`].
    #[inline]
    pub(crate) fn holders(&self, slot: usize) -> u64 {
        let (chunk, way) = self.chunk(slot);
        chunk.holders[way].into()
    }

    #[inline]
    pub(crate) fn set_holders(&mut self, slot: usize, holders: u64) {
        let holders = holders as u16 | self.untracked;
        let (chunk, way) = self.chunk_mut(slot);
        chunk.holders[way] = holders;
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
        let ways = |chunk: &Chunk| core::iter::zip(chunk.tags, chunk.states);
        self.chunks.iter().flat_map(ways).filter(|way| way.0 != EMPTY).map(|(tag, state)| (tag as u64, state))
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

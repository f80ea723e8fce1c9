//! A set of a cache in the host's memory, and what leaves it.

use super::coherence::State;
use super::tags::{CHUNK, equal};
use core::num::NonZeroU64;
use solo_replacement::Replacer;

/// What a cache says to an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// It is done.
    Served,
    /// The line is not here.
    Absent,
    /// It is here, and others must be asked.
    NotAllowed,
}

/// No line has the number of an empty way.
pub(super) const EMPTY: i32 = -1;

/// A line that left the cache: its number, below it who may hold it, and its state. One register, also where there may
/// be none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Evicted(NonZeroU64);

impl Evicted {
    /// A bit that nothing else uses.
    const SOME: NonZeroU64 = NonZeroU64::new(1 << 3).unwrap();
    const HOLDERS: u32 = 16;
    const LINE: u32 = 32;

    #[inline]
    pub(super) fn new(line: u64, holders: u16, state: State) -> Self {
        Self(Self::SOME | line << Self::LINE | u64::from(holders) << Self::HOLDERS | state as u64)
    }

    #[inline]
    pub(crate) fn line(self) -> u64 {
        self.0.get() >> Self::LINE
    }

    #[inline]
    pub(crate) fn state(self) -> State {
        State::from_bits(self.0.get())
    }

    /// Memory's copy is stale: [`State::is_dirty`] without finding out the state.
    #[inline]
    pub(crate) fn is_dirty(self) -> bool {
        const DIRTY: u64 = 1 << State::Modified as u64 | 1 << State::Owned as u64;
        DIRTY >> (self.0.get() & 7) & 1 == 1
    }

    /// The same line with changed data.
    #[inline]
    pub(crate) fn dirtied(self) -> Self {
        Self::new(self.line(), self.holders() as u16, self.state().dirtied())
    }

    /// The inner caches that may hold it, by [`holder_bit`].
    #[inline]
    pub(crate) fn holders(self) -> u64 {
        self.0.get() >> Self::HOLDERS & u64::from(u16::MAX)
    }
}

/// [`CHUNK`] ways of a set: one line of the host's caches has everything about them.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Chunk {
    /// The line in each way.
    pub(super) tags: [i32; CHUNK],
    /// The inner caches that may hold it, by [`holder_bit`]; all, where the cache does not know.
    pub(super) holders: [u16; CHUNK],
    pub(super) states: [State; CHUNK],
    /// What the replacement policy remembers of the set; in its first chunk.
    pub(super) memory: u64,
}

const _: () = assert!(size_of::<Chunk>() == 64);

/// A set of so many chunks, few enough for the compiler to unroll its loops.
pub(super) struct Set<'a, const N: usize>(pub(super) &'a mut [Chunk; N]);

impl<const N: usize> Set<'_, N> {
    #[inline(always)]
    fn find(&self, line: u64) -> Option<usize> {
        let found = (0..N).fold(0, |found, n| found | equal(&self.0[n].tags, line as i32) << (n * CHUNK));
        (found != 0).then(|| found.trailing_zeros() as usize % (N * CHUNK))
    }

    /// The chunk of a way, and the way in it.
    #[inline(always)]
    fn chunk(&mut self, way: usize) -> (&mut Chunk, usize) {
        (&mut self.0[way / CHUNK % N], way % CHUNK)
    }

    #[inline(always)]
    fn memory(&mut self) -> &mut u64 {
        &mut self.0[0].memory
    }

    /// See [`CacheArray::serve`](super::array::CacheArray::serve).
    #[inline(always)]
    pub(super) fn serve(mut self, policy: &mut Replacer, number: usize, line: u64, write: bool) -> Service {
        let Some(way) = self.find(line) else { return Service::Absent };
        let (chunk, at) = self.chunk(way);
        if write {
            if !chunk.states[at].is_writable() {
                return Service::NotAllowed;
            }
            chunk.states[at] = State::Modified;
        }
        policy.touch(self.memory(), number, way);
        Service::Served
    }

    /// See [`CacheArray::lend`](super::array::CacheArray::lend).
    #[inline(always)]
    pub(super) fn lend(
        mut self,
        policy: &mut Replacer,
        number: usize,
        line: u64,
        holder: u16,
        beside: u16,
    ) -> Service {
        let Some(way) = self.find(line) else { return Service::Absent };
        let (chunk, at) = self.chunk(way);
        if chunk.holders[at] & beside != 0 || !chunk.states[at].is_writable() {
            return Service::NotAllowed;
        }
        chunk.holders[at] = holder;
        policy.touch(self.memory(), number, way);
        Service::Served
    }

    /// See [`CacheArray::take_back`](super::array::CacheArray::take_back).
    #[inline(always)]
    pub(super) fn take_back(mut self, policy: &mut Replacer, number: usize, line: u64) -> bool {
        let Some(way) = self.find(line) else { return false };
        let (chunk, at) = self.chunk(way);
        chunk.states[at] = chunk.states[at].dirtied();
        policy.touch(self.memory(), number, way);
        true
    }

    /// Puts a line in the place of the one that is to leave, where the policy can say at once which that is.
    #[inline(always)]
    pub(super) fn exchange(
        mut self,
        policy: &mut Replacer,
        _: usize,
        line: u64,
        state: State,
        holders: u16,
    ) -> Option<Evicted> {
        let way = policy.replace_quickly(self.memory())?;
        let (chunk, at) = self.chunk(way);
        let evicted = Evicted::new(chunk.tags[at] as u64, chunk.holders[at], chunk.states[at]);
        chunk.tags[at] = line as i32;
        chunk.holders[at] = holders;
        chunk.states[at] = state;
        Some(evicted)
    }
}

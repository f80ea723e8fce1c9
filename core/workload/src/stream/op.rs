//! The operations that a program is made of.

use solo_model::work::Flush;
use solo_model::{BufferId, Bytes, Color, Duration, LockId, PerMille};

/// One operation of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Computes without touching memory, for this long on a core of the platform's reference kind.
    Compute(Duration),
    /// Executes instructions without touching memory.
    Execute {
        /// How many.
        instructions: u64,
        /// What they are like: a number for [`Program::phase`](crate::Program::phase).
        phase: u16,
        /// How long they take on the reference kind, for machines that know no kinds.
        on_reference: Duration,
    },
    /// Touches one cache line.
    Access(Access),
    /// Takes a mutex or decrements a semaphore; may block.
    Acquire(LockId),
    /// Gives a mutex back or increments a semaphore.
    Release(LockId),
    /// Leaves its core for this long.
    Sleep(Duration),
    /// Takes memory for a buffer from the heap of a color.
    Allocate {
        /// The buffer.
        buffer: BufferId,
        /// How much.
        size: Bytes,
        /// The color that is named.
        color: Option<Color>,
    },
    /// Gives the memory of a buffer back.
    Free(BufferId),
    /// Writes changed lines back to memory and empties caches.
    Flush(Flush),
}

/// What an access does to its line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    /// Loads data.
    Read,
    /// Stores data.
    Write,
    /// Fetches instructions.
    Fetch,
}

/// Accesses to one cache line, one after the other: `count` of them, `stride` apart, the first at `offset`.
///
/// A machine may handle the line once; [`Access::each`] tells the accesses apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The memory touched.
    pub buffer: BufferId,
    /// The first byte touched, from the beginning of the buffer and inside it.
    pub offset: Bytes,
    /// [`AccessKind::Write`] if any of the accesses writes.
    pub kind: AccessKind,
    /// How many accesses; at least one, all in the line of `offset`.
    pub count: u32,
    /// How many of them write.
    pub writes: u32,
    /// The distance from one to the next.
    pub stride: Bytes,
    /// The next operation needs this one's data. Where false, as many accesses may be on their way at once as
    /// the core allows.
    pub waits: bool,
    /// Nothing needs their data soon: where the first level has the line, the core does not wait for it.
    pub pipelined: bool,
    /// Computation after each of the accesses, on a core of the platform's reference kind.
    pub think: Duration,
    /// Instructions that all `count` accesses retire together, with the loop around them.
    pub instructions: u32,
    /// The phase of these instructions, where they are of one: a number for [`Program::phase`](crate::Program::phase).
    pub phase: Option<u16>,
    /// Which of the accesses write.
    pub spread: Spread,
}

impl Access {
    /// The accesses one by one: each one's offset and whether it writes.
    pub fn each(&self) -> impl Iterator<Item = (Bytes, AccessKind)> + use<> {
        let Self { offset, stride, kind, mut spread, .. } = *self;
        (0..u64::from(self.count)).map(move |i| {
            let kind = match kind {
                AccessKind::Fetch => AccessKind::Fetch,
                _ if spread.take(1) == 1 => AccessKind::Write,
                _ => AccessKind::Read,
            };
            (Bytes::new(offset.get() + i * stride.get()), kind)
        })
    }
}

/// Deals out writes among accesses as evenly as whole numbers allow (Bresenham's accumulator): among the first
/// `n` accesses of a share of `s` thousandths, exactly `n * s / 1000` write, rounded down.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Spread {
    share: u16,
    carry: u16,
}

impl Spread {
    /// No access writes.
    pub const NONE: Self = Self { share: 0, carry: 0 };
    /// Every access writes.
    pub const ALL: Self = Self { share: 1000, carry: 0 };

    /// This share of accesses writes.
    pub const fn new(share: PerMille) -> Self {
        Self { share: share.get(), carry: 0 }
    }

    /// How many of the next `count` accesses write.
    #[inline]
    pub const fn take(&mut self, count: u32) -> u32 {
        if count == 1 {
            let total = self.carry + self.share;
            let write = total >= 1000;
            self.carry = if write { total - 1000 } else { total };
            return write as u32;
        }
        let total = self.carry as u64 + count as u64 * self.share as u64;
        self.carry = (total % 1000) as u16;
        (total / 1000) as u32
    }
}

//! Two-level segregated fit: allocation and release in a bounded number of steps.
//!
//! Free blocks are kept in lists by size: a first level of powers of two, each divided into 8 second-level
//! ranges. A bit a list says which are not empty, so that the first block that is surely large enough is found
//! with two bit searches; splitting and merging with the neighbours are constant too. Headers stand in a table
//! beside the memory, not in it: what a task writes cannot damage them.

use alloc::vec::Vec;

/// Sizes are multiples of this many bytes.
pub(crate) const GRANULE: u64 = 64;
/// Second-level ranges of each first-level one.
const SECOND: usize = 8;
const FIRST: usize = 33;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    /// Granules, 0 where the table entry is no block's first.
    size: u32,
    /// Granules of the block before it; 0 for the first.
    before: u32,
    free: bool,
    /// Neighbours in its list, while free.
    previous: u32,
    next: u32,
}

const NO_BLOCK: Block = Block { size: 0, before: 0, free: false, previous: NONE, next: NONE };

/// A heap of granules from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tlsf {
    /// By first granule.
    blocks: Vec<Block>,
    first_level: u64,
    second_level: [u8; FIRST],
    heads: [[u32; SECOND]; FIRST],
    free: u64,
}

impl Tlsf {
    /// `granules` free ones.
    pub(crate) fn new(granules: u32) -> Self {
        let mut heap = Self {
            blocks: alloc::vec![NO_BLOCK; granules as usize],
            first_level: 0,
            second_level: [0; FIRST],
            heads: [[NONE; SECOND]; FIRST],
            free: u64::from(granules),
        };
        if granules > 0 {
            heap.blocks[0] = Block { size: granules, before: 0, free: true, ..NO_BLOCK };
            heap.link(0);
        }
        heap
    }

    pub(crate) fn free_granules(&self) -> u64 {
        self.free
    }

    /// The first granule of a block of at least `size`.
    pub(crate) fn allocate(&mut self, size: u32) -> Option<u32> {
        let at = self.find(size.max(1))?;
        self.unlink(at);
        self.split(at, size.max(1));
        let block = &mut self.blocks[at as usize];
        block.free = false;
        self.free -= u64::from(block.size);
        Some(at)
    }

    /// Gives a block back; its size in granules, `None` where no allocated block begins there.
    pub(crate) fn release(&mut self, at: u32) -> Option<u32> {
        let block = *self.blocks.get(at as usize)?;
        if block.size == 0 || block.free {
            return None;
        }
        self.free += u64::from(block.size);
        let (mut first, mut size) = (at, block.size);
        let after = at + size;
        if let Some(next) = self.blocks.get(after as usize).copied().filter(|next| next.free) {
            self.unlink(after);
            self.blocks[after as usize] = NO_BLOCK;
            size += next.size;
        }
        let before = first.wrapping_sub(block.before);
        if block.before > 0 && self.blocks[before as usize].free {
            self.unlink(before);
            self.blocks[first as usize] = NO_BLOCK;
            first = before;
            size += block.before;
        }
        let own = &mut self.blocks[first as usize];
        own.size = size;
        own.free = true;
        self.set_before(first + size, size);
        self.link(first);
        Some(block.size)
    }

    fn set_before(&mut self, at: u32, before: u32) {
        if let Some(next) = self.blocks.get_mut(at as usize) {
            next.before = before;
        }
    }

    /// Cuts what a block has beyond `size` off and keeps it free.
    fn split(&mut self, at: u32, size: u32) {
        let rest = self.blocks[at as usize].size - size;
        if rest == 0 {
            return;
        }
        self.blocks[at as usize].size = size;
        let second = at + size;
        self.blocks[second as usize] = Block { size: rest, before: size, free: true, ..NO_BLOCK };
        self.set_before(second + rest, rest);
        self.link(second);
    }

    /// A free block that is surely large enough: of the first list whose smallest member is.
    fn find(&self, size: u32) -> Option<u32> {
        let (first, second) = list_above(size);
        if first >= FIRST {
            return None;
        }
        let here = self.second_level[first] & (u8::MAX << second);
        let (first, map) = if here != 0 {
            (first, here)
        } else {
            let above = self.first_level & (u64::MAX << 1 << first);
            let first = above.trailing_zeros() as usize;
            (above != 0).then(|| (first, self.second_level[first]))?
        };
        Some(self.heads[first][map.trailing_zeros() as usize])
    }

    fn link(&mut self, at: u32) {
        let (first, second) = list_of(self.blocks[at as usize].size);
        let head = core::mem::replace(&mut self.heads[first][second], at);
        if head != NONE {
            self.blocks[head as usize].previous = at;
        }
        let block = &mut self.blocks[at as usize];
        (block.previous, block.next) = (NONE, head);
        self.second_level[first] |= 1 << second;
        self.first_level |= 1 << first;
    }

    fn unlink(&mut self, at: u32) {
        let Block { size, previous, next, .. } = self.blocks[at as usize];
        if next != NONE {
            self.blocks[next as usize].previous = previous;
        }
        if previous != NONE {
            self.blocks[previous as usize].next = next;
            return;
        }
        let (first, second) = list_of(size);
        self.heads[first][second] = next;
        if next == NONE {
            self.second_level[first] &= !(1 << second);
            if self.second_level[first] == 0 {
                self.first_level &= !(1 << first);
            }
        }
    }
}

/// The list that a free block of this size is kept in.
fn list_of(size: u32) -> (usize, usize) {
    let first = size.ilog2();
    let second = if first >= 3 { size >> (first - 3) & 7 } else { size << (3 - first) & 7 };
    (first as usize, second as usize)
}

/// The first list all of whose blocks are of at least this size.
fn list_above(size: u32) -> (usize, usize) {
    u32::try_from(surely_enough(size)).map_or((FIRST, 0), list_of)
}

/// A free block of so many granules is always found where `size` are wanted, above zero.
pub(crate) fn surely_enough(size: u32) -> u64 {
    let first = size.max(1).ilog2();
    let step = if first >= 3 { (1_u64 << (first - 3)) - 1 } else { 0 };
    u64::from(size) + step
}

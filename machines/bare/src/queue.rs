//! Queues through which virtio devices take and give memory by themselves.
//!
//! A queue is one page: descriptors of memory, the *available* ring by which the driver offers chains of them, and the *used* ring by
//! which the device gives them back (Virtual I/O Device 1.2, section 2.7). Nobody is interrupted: whoever wants to know looks.
//!
//! ```text
//!   driver ──offers──▶ available: 3, 7, ...      descriptors 48 ─▶ 49 ─▶ 50    (a chain: a header, pieces of memory)
//!   device ──gives───▶ used: (3, bytes), ...     chain 3 has the descriptors from 16 · 3 on
//! ```
//!
//! There is a crate for this, `virtio-drivers`; its network driver moves a frame together with its header, which would lie among the data
//! of a task then, and its queue is its own.

use alloc::boxed::Box;
use core::sync::atomic::{Ordering, fence};

/// The descriptors of a queue.
pub(crate) const LENGTH: usize = 128;
/// The descriptors of a chain at most.
pub(crate) const CHAIN: usize = 16;
const CHAINS: usize = LENGTH / CHAIN;

/// A piece of memory, as the device reaches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Its physical address.
    pub physical: u64,
    /// Its bytes.
    pub length: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Descriptor {
    address: u64,
    length: u32,
    flags: u16,
    next: u16,
}

/// Another one follows.
const NEXT: u16 = 1;
/// The device writes there.
const WRITE: u16 = 2;
/// Nobody is to be interrupted.
const SILENT: u16 = 1;

#[repr(C)]
struct Available {
    flags: u16,
    index: u16,
    ring: [u16; LENGTH],
    unused: u16,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Given {
    chain: u32,
    bytes: u32,
}

#[repr(C)]
struct Used {
    flags: u16,
    index: u16,
    ring: [Given; LENGTH],
    unused: u16,
}

/// All of it on one page, which is one frame.
#[repr(C, align(4096))]
struct Rings {
    descriptors: [Descriptor; LENGTH],
    available: Available,
    used: Used,
}

impl Rings {
    const EMPTY: Self = Self {
        descriptors: [Descriptor { address: 0, length: 0, flags: 0, next: 0 }; LENGTH],
        available: Available { flags: SILENT, index: 0, ring: [0; LENGTH], unused: 0 },
        used: Used { flags: 0, index: 0, ring: [Given { chain: 0, bytes: 0 }; LENGTH], unused: 0 },
    };
}

const _: () = assert!(size_of::<Rings>() == 4096);

/// A queue of chains of one length at most, which the device gives back in any order.
#[derive(Debug)]
pub struct Queue {
    rings: *mut Rings,
    physical: u64,
    /// Chains that the device does not have, one bit each.
    free: u8,
    offered: u16,
    taken: u16,
}

// SAFETY: the rings are the queue's own.
unsafe impl Send for Queue {}

impl Queue {
    /// An empty one, whose page the device finds where `translate` says.
    pub fn new(translate: impl Fn(u64) -> Option<u64>) -> Option<Self> {
        let rings = Box::into_raw(Box::new(Rings::EMPTY));
        let physical = translate(rings.expose_provenance() as u64);
        let mut queue = Self { rings, physical: physical.unwrap_or_default(), free: 0, offered: 0, taken: 0 };
        queue.clear();
        physical.map(|_| queue)
    }

    /// Where a device finds descriptors, available ring and used ring.
    pub(crate) const fn places(&self) -> [u64; 3] {
        use core::mem::offset_of;
        let offsets = [offset_of!(Rings, descriptors), offset_of!(Rings, available), offset_of!(Rings, used)];
        [
            self.physical + offsets[0] as u64,
            self.physical + offsets[1] as u64,
            self.physical + offsets[2] as u64,
        ]
    }

    /// Forgets everything, as a device does that is reset. The device must have been.
    pub fn clear(&mut self) {
        // SAFETY: the rings are this queue's, and no device knows them.
        unsafe { self.rings.write(Rings::EMPTY) };
        (self.free, self.offered, self.taken) = (u8::MAX, 0, 0);
    }

    /// True while another chain may be offered.
    pub const fn has_room(&self) -> bool {
        self.free != 0
    }

    /// Offers a chain: `header`, then `pieces`, fewer than [`CHAIN`], all of them to be written by the device or all to be read. False
    /// where there is no room.
    pub fn offer(&mut self, header: Piece, pieces: impl Iterator<Item = Piece>, written: bool) -> bool {
        let chain = self.free.trailing_zeros() as usize;
        if chain >= CHAINS {
            return false;
        }
        self.free &= !(1 << chain);
        let (first, mut last) = (chain * CHAIN, chain * CHAIN);
        let all = core::iter::once(header).chain(pieces).take(CHAIN);
        for (at, Piece { physical, length }) in (first..).zip(all) {
            let flags = if written { WRITE | NEXT } else { NEXT };
            let next = (at + 1) as u16;
            // SAFETY: a chain that the device does not have, of this queue's.
            unsafe {
                let place = &raw mut (*self.rings).descriptors[at];
                place.write_volatile(Descriptor { address: physical, length, flags, next });
            }
            last = at;
        }
        // SAFETY: as above; the ring is the driver's, and the device reads it up to the index.
        unsafe {
            (&raw mut (*self.rings).descriptors[last].flags).write_volatile(if written { WRITE } else { 0 });
            let slot = usize::from(self.offered) % LENGTH;
            (&raw mut (*self.rings).available.ring[slot]).write_volatile(first as u16);
            fence(Ordering::SeqCst);
            self.offered = self.offered.wrapping_add(1);
            (&raw mut (*self.rings).available.index).write_volatile(self.offered);
        }
        true
    }

    /// The bytes that the device has written to a chain that it gives back; zero where it read them.
    pub fn take(&mut self) -> Option<u32> {
        // SAFETY: the device writes the index after the ring's entry.
        let given = unsafe {
            if (&raw const (*self.rings).used.index).read_volatile() == self.taken {
                return None;
            }
            fence(Ordering::SeqCst);
            (&raw const (*self.rings).used.ring[usize::from(self.taken) % LENGTH]).read_volatile()
        };
        self.taken = self.taken.wrapping_add(1);
        self.free |= 1u8.checked_shl(given.chain / CHAIN as u32).unwrap_or_default();
        Some(given.bytes)
    }
}

impl Drop for Queue {
    /// The device must have been reset.
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and given up here only.
        drop(unsafe { Box::from_raw(self.rings) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// A device of the test's own, which reads a queue as the standard says.
    fn offered(queue: &Queue) -> Vec<Vec<(u64, u32, bool)>> {
        // SAFETY: nobody else has the queue.
        let rings = unsafe { &*queue.rings };
        let chain = |&first: &u16| {
            let mut pieces = Vec::new();
            let mut at = first;
            loop {
                let Descriptor { address, length, flags, next } = rings.descriptors[usize::from(at)];
                pieces.push((address, length, flags & WRITE != 0));
                if flags & NEXT == 0 {
                    return pieces;
                }
                at = next;
            }
        };
        rings.available.ring[..usize::from(rings.available.index)].iter().map(chain).collect()
    }

    fn give(queue: &mut Queue, chain: u32, bytes: u32) {
        // SAFETY: nobody else has the queue.
        let used = unsafe { &mut (*queue.rings).used };
        used.ring[usize::from(used.index) % LENGTH] = Given { chain, bytes };
        used.index += 1;
    }

    const fn piece(physical: u64, length: u32) -> Piece {
        Piece { physical, length }
    }

    #[test]
    fn a_device_finds_chains_as_they_were_offered_and_gives_them_back_in_any_order() {
        let mut queue = Queue::new(Some).expect("its page is found");
        let first = queue.physical;
        // Of 16 bytes, of two; the third begins at a multiple of four (section 2.7).
        assert_eq!(queue.places(), [first, first + 16 * LENGTH as u64, first + 18 * LENGTH as u64 + 8]);
        for number in 0..CHAINS as u64 {
            assert!(queue.has_room());
            let pieces = [piece(number, 4096), piece(number + 100, 7)];
            assert!(queue.offer(piece(9, 12), pieces.into_iter(), number.is_multiple_of(2)));
        }
        assert!(!queue.has_room());
        assert!(!queue.offer(piece(9, 12), [].into_iter(), true), "more than there is room for");
        let found = offered(&queue);
        let expected = |number: u64| {
            [(9, 12), (number, 4096), (number + 100, 7)]
                .map(|(at, length)| (at, length, number.is_multiple_of(2)))
        };
        assert_eq!(found, (0..CHAINS as u64).map(|number| expected(number).to_vec()).collect::<Vec<_>>());
        assert_eq!(queue.take(), None);
        give(&mut queue, 5 * CHAIN as u32, 4108);
        give(&mut queue, 0, 12);
        assert_eq!([queue.take(), queue.take(), queue.take()], [Some(4108), Some(12), None]);
        // Their places are used again, no other's.
        assert!(
            queue.offer(piece(1, 12), [].into_iter(), true)
                && queue.offer(piece(2, 12), [].into_iter(), true)
        );
        assert!(!queue.has_room());
        assert_eq!(offered(&queue)[CHAINS..], [vec![(1, 12, true)], vec![(2, 12, true)]]);
    }

    #[test]
    fn a_queue_goes_round_and_is_empty_after_a_reset() {
        let mut queue = Queue::new(Some).expect("its page is found");
        for round in 0..1000u32 {
            assert!(queue.offer(piece(u64::from(round), 12), [].into_iter(), false));
            give(&mut queue, 0, round);
            assert_eq!(queue.take(), Some(round), "{round}");
        }
        assert!(queue.offer(piece(1, 1), [].into_iter(), false));
        queue.clear();
        assert_eq!((offered(&queue).len(), queue.take()), (0, None));
        assert!((0..CHAINS).all(|_| queue.offer(piece(1, 1), [].into_iter(), false)));
    }

    #[test]
    fn what_a_broken_device_gives_back_is_nobodys_chain() {
        let mut queue = Queue::new(Some).expect("its page is found");
        while queue.offer(piece(1, 1), [].into_iter(), false) {}
        give(&mut queue, u32::MAX, 1);
        assert_eq!(queue.take(), Some(1));
        assert!(!queue.has_room());
    }
}

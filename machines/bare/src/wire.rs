//! A wire between two network devices, by which data come into memory and leave it without a core.
//!
//! The *near* end is the device that a run drives: it writes what arrives to a task's memory, or reads from there what leaves. The *far*
//! end stands for the world: it sends a page again and again, or takes everything. QEMU moves nothing between two devices by itself, so
//! the image drives both.
//!
//! ```text
//!   input    task's memory ◀── near ◀─── frames ─── far ◀── a page of the world
//!   output   task's memory ──▶ near ──── frames ──▶ far ──▶ a page that nobody reads
//! ```
//!
//! A frame is a chain of at most [`PIECES`] pieces, each within a page.

use crate::paging::PAGE;
use crate::queue::{CHAIN, Piece, Queue};
use crate::virtio::Registers;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Pieces of a frame: a chain has a header, too.
pub const PIECES: usize = CHAIN - 1;

/// The header of a frame (Virtio 1.2, section 5.1.6), which nobody here uses.
const HEADER: u32 = 12;
/// The queues of a network device.
const ARRIVING: u32 = 0;
const LEAVING: u32 = 1;

/// The first bytes of the addresses of network devices that are ends of wires; the last two are the wire's number and its end.
pub const WIRE_ADDRESS: [u8; 4] = [0x02, b's', b'o', b'l'];

/// The two ends of a wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    near: Registers,
    far: Registers,
}

/// The wires among the virtio devices whose registers are at `bases`, in the order of their numbers.
///
/// # Safety
/// There are registers of virtio devices, mapped as devices'.
pub unsafe fn find(bases: &[u64]) -> Vec<Ends> {
    // SAFETY: the caller's.
    let network = bases.iter().filter_map(|&base| unsafe { Registers::of_network(base) });
    let mut ends: Vec<(u8, u8, Registers)> = network.filter_map(end).collect();
    ends.sort_by_key(|&(number, end, _)| (number, end));
    let pairs = ends.windows(2);
    pairs.filter(|pair| pair[0].0 == pair[1].0).map(|pair| Ends { near: pair[0].2, far: pair[1].2 }).collect()
}

/// Which end of which wire a network device is.
fn end(device: Registers) -> Option<(u8, u8, Registers)> {
    let address: [u8; 6] = core::array::from_fn(|byte| device.configuration(byte as u64));
    address.starts_with(&WIRE_ADDRESS).then_some((address[4], address[5], device))
}

/// What lies at the far end, and before each frame.
#[repr(C, align(4096))]
struct World {
    page: [u8; PAGE as usize],
    header: [u8; HEADER as usize],
}

/// A wire that moves data in one direction.
#[derive(Debug)]
pub struct Wire {
    ends: Ends,
    inward: bool,
    near: Queue,
    far: Queue,
    world: *mut World,
    /// Where the devices find the world.
    page: u64,
    header: u64,
    /// Frames under way.
    under_way: u32,
}

// SAFETY: the world is the wire's own.
unsafe impl Send for Wire {}

impl Wire {
    /// The wire between `ends`, ready; data go into memory where it leads `inward`. `translate` says where devices find an address.
    /// `None` where there is no memory, or a device does not take its queue.
    pub fn new(ends: Ends, inward: bool, translate: impl Fn(u64) -> Option<u64>) -> Option<Self> {
        let world = Box::into_raw(Box::new(World { page: [0; PAGE as usize], header: [0; HEADER as usize] }));
        let at = world.expose_provenance() as u64;
        let mut wire = Self {
            ends,
            inward,
            near: Queue::new(&translate)?,
            far: Queue::new(&translate)?,
            world,
            page: translate(at)?,
            header: translate(at + PAGE)?,
            under_way: 0,
        };
        for (number, byte) in (0..).zip(wire.page()) {
            *byte = (number % 251) as u8;
        }
        wire.begin().then_some(wire)
    }

    /// The page at the far end: what it sends, or what it took last.
    pub fn page(&mut self) -> &mut [u8; PAGE as usize] {
        // SAFETY: made by `Box::into_raw`, and given up when the wire goes. Devices touch it between `send` and `arrived` only.
        unsafe { &mut (*self.world).page }
    }

    /// The queues of the near and the far end.
    const fn queues(&self) -> (u32, u32) {
        if self.inward { (ARRIVING, LEAVING) } else { (LEAVING, ARRIVING) }
    }

    fn begin(&mut self) -> bool {
        self.quiet();
        let (near, far) = self.queues();
        self.ends.near.begin(near, &self.near) && self.ends.far.begin(far, &self.far)
    }

    /// Both devices touch no memory any more, whatever is under way; that is lost.
    pub fn quiet(&mut self) {
        self.ends.near.reset();
        self.ends.far.reset();
        self.near.clear();
        self.far.clear();
        self.under_way = 0;
    }

    /// What is under way is lost, and the wire is ready again.
    pub(crate) fn begin_anew(&mut self) {
        self.begin();
    }

    /// True while another frame may be sent.
    pub const fn has_room(&self) -> bool {
        self.near.has_room() && self.far.has_room()
    }

    /// True while frames are under way.
    pub(crate) const fn is_busy(&self) -> bool {
        self.under_way > 0
    }

    /// Puts a frame on the wire, of `pieces` of a task's memory, at most [`PIECES`] of them, each within a page. It leaves at [`Self::go`].
    pub fn send(&mut self, pieces: &[Piece]) -> bool {
        if !self.has_room() {
            return false;
        }
        let header = Piece { physical: self.header, length: HEADER };
        let pieces = pieces.iter().copied().take(PIECES);
        let page = self.page;
        let far = pieces.clone().map(|piece| Piece { physical: page, ..piece });
        self.under_way += 1;
        self.near.offer(header, pieces, self.inward) && self.far.offer(header, far, !self.inward)
    }

    /// Lets the frames leave. Whoever takes is told first.
    pub fn go(&self) {
        let (near, far) = self.queues();
        let (takes, sends) = if self.inward {
            ((self.ends.near, near), (self.ends.far, far))
        } else {
            ((self.ends.far, far), (self.ends.near, near))
        };
        takes.0.notify(takes.1);
        sends.0.notify(sends.1);
    }

    /// The bytes of frames that have arrived since the last look, as the device that took them says.
    pub fn arrived(&mut self) -> u64 {
        let (takes, sends) =
            if self.inward { (&mut self.near, &mut self.far) } else { (&mut self.far, &mut self.near) };
        while sends.take().is_some() {}
        let mut bytes = 0;
        while let Some(written) = takes.take() {
            bytes += u64::from(written.saturating_sub(HEADER));
            self.under_way = self.under_way.saturating_sub(1);
        }
        bytes
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.quiet();
        // SAFETY: made by `Box::into_raw`, and given up here only; the devices have been reset.
        drop(unsafe { Box::from_raw(self.world) });
    }
}

//! The parts of an Arm machine that a port drives, found in its device tree.

use core::fmt;
use core::ops::{Deref, Range};
use solo_bare::agenda::MOST_CORES;
use solo_bare::devicetree::{DeviceTree, DeviceTreeError, number, word};
use solo_bare::regions::{RAM, Region};

/// Where the devices end that are mapped: RAM lies above.
const DEVICES: u64 = 1 << 30;

/// How firmware is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conduit {
    /// As a hypervisor.
    Hvc,
    /// As a secure monitor.
    Smc,
}

/// A few things of a kind, kept where there is no heap yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Few<T, const MOST: usize> {
    items: [T; MOST],
    count: usize,
    /// How many there were.
    found: usize,
}

impl<T: Default, const MOST: usize> Few<T, MOST> {
    fn new() -> Self {
        Self { items: core::array::from_fn(|_| T::default()), count: 0, found: 0 }
    }

    fn extend(&mut self, items: impl Iterator<Item = T>) {
        for item in items {
            self.found += 1;
            if let Some(place) = self.items.get_mut(self.count) {
                *place = item;
                self.count += 1;
            }
        }
    }
}

impl<T, const MOST: usize> Deref for Few<T, MOST> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items[..self.count]
    }
}

/// What a machine has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    /// Pieces of RAM.
    pub memory: Few<Region, 8>,
    /// What of it firmware keeps.
    pub taken: Few<Range<u64>, 16>,
    /// The boot module; empty where there is none.
    pub module: Range<u64>,
    /// Affinities of the cores, as in MPIDR; those above what an image runs on are left out.
    pub cores: Few<u64, MOST_CORES>,
    /// The distributor of its GICv3.
    pub distributor: u64,
    /// The frames of the redistributors, one behind the other.
    pub redistributors: Range<u64>,
    /// Its PL011.
    pub serial: u64,
    /// How PSCI is called.
    pub firmware: Conduit,
    /// The interrupt of the virtual timer.
    pub timer: u32,
    /// Virtio devices that may be there.
    pub virtio: Few<u64, 32>,
    /// The overflow interrupt of the counters, where there are any.
    pub counters: Option<u32>,
    /// The host answers semihosting calls: `semihosting` is among the arguments.
    pub semihosting: bool,
}

/// Why a machine can't be driven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoardError {
    /// The tree is damaged.
    Tree(DeviceTreeError),
    /// It tells of no such part.
    Without(&'static str),
    /// It tells of more pieces of memory than can be kept.
    Many,
    /// Its devices lie where none are mapped.
    Devices(u64),
}

impl fmt::Display for BoardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(error) => write!(f, "{error}"),
            Self::Without(part) => write!(f, "the device tree tells of no {part}"),
            Self::Many => write!(f, "the device tree tells of too many pieces of memory"),
            Self::Devices(at) => write!(f, "a device lies at {at:#x}: this image reaches those below 1 GiB"),
        }
    }
}

impl core::error::Error for BoardError {}

impl Board {
    /// What `tree` tells.
    ///
    /// # Errors
    /// If the tree is damaged, or a part is missing.
    pub fn find(tree: &DeviceTree<'_>) -> Result<Self, BoardError> {
        let mut board = Self {
            memory: Few::new(),
            taken: Few::new(),
            module: 0..0,
            cores: Few::new(),
            distributor: 0,
            redistributors: 0..0,
            serial: 0,
            firmware: Conduit::Hvc,
            timer: 0,
            virtio: Few::new(),
            counters: None,
            semihosting: false,
        };
        let mut has_firmware = false;
        let walked = tree.walk(|node| {
            let first = node.ranges().next().unwrap_or_default();
            match word(node.device_type) {
                b"memory" => board.memory.extend(node.ranges().map(ram)),
                b"cpu" => board.cores.extend(core::iter::once(first.start)),
                _ => {}
            }
            if node.name == b"chosen" {
                board.module = number(node.module.0)..number(node.module.1);
                let mut arguments = word(node.arguments).split(u8::is_ascii_whitespace);
                board.semihosting = arguments.any(|argument| argument == b"semihosting");
            } else if node.is("arm,gic-v3") {
                board.distributor = first.start;
                board.redistributors = node.ranges().nth(1).unwrap_or_default();
            } else if node.is("arm,pl011") && board.serial == 0 {
                board.serial = first.start;
            } else if node.is("virtio,mmio") && first.end <= DEVICES {
                board.virtio.extend(core::iter::once(first.start));
            } else if node.is("arm,psci-0.2") || node.is("arm,psci-1.0") {
                has_firmware = true;
                board.firmware = if word(node.method) == b"smc" { Conduit::Smc } else { Conduit::Hvc };
            } else if node.is("arm,armv8-timer") {
                board.timer = node.interrupt(2).unwrap_or_default();
            } else if node.is("arm,armv8-pmuv3") {
                board.counters = node.interrupt(0);
            }
        });
        walked.map_err(BoardError::Tree)?;
        let devices = board.distributor.max(board.redistributors.end).max(board.serial);
        if devices > DEVICES {
            return Err(BoardError::Devices(devices));
        }
        let parts = [
            (!board.memory.is_empty(), "memory"),
            (!board.cores.is_empty(), "processors"),
            (!board.redistributors.is_empty(), "GICv3"),
            (board.serial != 0, "PL011"),
            (board.timer != 0, "generic timer"),
            (has_firmware, "PSCI"),
        ];
        match parts.into_iter().find(|(there, _)| !there) {
            Some((_, part)) => Err(BoardError::Without(part)),
            None => {
                board.taken.extend(tree.reserved());
                // What is not known to be taken might be used.
                let all = board.taken.found == board.taken.len() && board.memory.found == board.memory.len();
                if all { Ok(board) } else { Err(BoardError::Many) }
            }
        }
    }
}

const fn ram(piece: Range<u64>) -> Region {
    Region { address: piece.start, size: piece.end - piece.start, kind: RAM, reserved: 0 }
}

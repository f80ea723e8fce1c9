//! The parts that a machine has whatever its instruction set, found in its device tree.

use crate::agenda::MOST_CORES;
use crate::devicetree::{DeviceTree, DeviceTreeError, Place, number, word};
use crate::regions::{RAM, Region, largest_free, take_module};
use core::fmt;
use core::ops::{Deref, Range};

/// A few things of a kind, kept where there is no heap yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Few<T, const MOST: usize> {
    items: [T; MOST],
    count: usize,
    /// How many there were.
    found: usize,
}

impl<T: Default, const MOST: usize> Default for Few<T, MOST> {
    fn default() -> Self {
        Self { items: core::array::from_fn(|_| T::default()), count: 0, found: 0 }
    }
}

impl<T, const MOST: usize> Few<T, MOST> {
    fn extend(&mut self, items: impl Iterator<Item = T>) {
        for item in items {
            self.found += 1;
            if let Some(place) = self.items.get_mut(self.count) {
                *place = item;
                self.count += 1;
            }
        }
    }

    /// True where all that there were are kept.
    fn has_all(&self) -> bool {
        self.found == self.count
    }
}

impl<T, const MOST: usize> Deref for Few<T, MOST> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items[..self.count]
    }
}

/// What a machine has; nothing, until it was [found](Self::find).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Parts {
    /// Pieces of RAM.
    pub memory: Few<Region, 8>,
    /// What of it firmware keeps.
    pub taken: Few<Range<u64>, 16>,
    /// The boot module; empty where there is none.
    pub module: Range<u64>,
    /// What the hardware calls the cores; those above what an image runs on are left out.
    pub cores: Few<u64, MOST_CORES>,
    /// Virtio devices that may be there.
    pub virtio: Few<u64, 32>,
}

/// Why a machine can't be driven.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartsError {
    /// The tree is damaged.
    Tree(DeviceTreeError),
    /// It tells of no such part.
    Without(&'static str),
    /// It tells of more pieces of memory than can be kept.
    Many,
    /// A device lies here, outside of where devices are mapped.
    Device(u64, Range<u64>),
}

impl fmt::Display for PartsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(error) => write!(f, "{error}"),
            Self::Without(part) => write!(f, "the device tree tells of no {part}"),
            Self::Many => write!(f, "the device tree tells of too many pieces of memory"),
            Self::Device(at, mapped) => {
                let (start, end) = (mapped.start >> 30, mapped.end >> 30);
                write!(f, "a device lies at {at:#x}: this image reaches those from {start} to {end} GiB")
            }
        }
    }
}

impl core::error::Error for PartsError {}

impl Parts {
    /// What `tree` tells. Devices are mapped in `devices`: others are left out. What a port looks for besides `own` takes from
    /// the nodes that are of use, with the first piece of each one's registers.
    ///
    /// # Errors
    /// If the tree is damaged, or tells of no memory, of more than can be kept, or of no processors.
    pub fn find(
        tree: &DeviceTree<'_>,
        devices: &Range<u64>,
        mut own: impl FnMut(&Place<'_, '_>, &Range<u64>),
    ) -> Result<Self, PartsError> {
        let mut parts = Self::default();
        let walked = tree.walk(|node| {
            if !node.is_there() {
                return;
            }
            let first = node.ranges().next().unwrap_or_default();
            match word(node.device_type) {
                b"memory" => parts.memory.extend(node.ranges().map(ram)),
                b"cpu" => parts.cores.extend(node.identity().into_iter()),
                _ => {}
            }
            if node.name == b"chosen" {
                parts.module = number(node.module.0)..number(node.module.1);
            } else if node.is("virtio,mmio") && first.start >= devices.start && first.end <= devices.end {
                parts.virtio.extend(core::iter::once(first.start));
            }
            if node.is_in(b"reserved-memory") {
                parts.taken.extend(node.ranges());
            }
            own(node, &first);
        });
        walked.map_err(PartsError::Tree)?;
        parts.taken.extend(tree.reserved());
        Self::demand(&[(!parts.memory.is_empty(), "memory"), (!parts.cores.is_empty(), "processors")])?;
        // What is not known to be taken might be used.
        if parts.taken.has_all() && parts.memory.has_all() { Ok(parts) } else { Err(PartsError::Many) }
    }

    /// Takes the largest piece of RAM within `bounds` that firmware does not keep: the boot module is moved to its beginning, and the
    /// rest is nobody's. The device tree is no longer needed.
    ///
    /// # Safety
    /// The machine must have these parts, mapped to themselves. Nobody else may use its memory within `bounds`, and this may be
    /// done once.
    pub unsafe fn take_memory(&self, bounds: &Range<u64>, page: u64) -> (Option<&'static [u8]>, Range<u64>) {
        let free = largest_free(self.memory.iter().copied(), bounds, &self.taken);
        // SAFETY: the loader put the module into RAM. What is written is nobody's, but for the module itself and a tree that has
        // been read.
        unsafe { take_module(&self.module, free, page) }
    }

    /// Whether all of these are there, by name.
    ///
    /// # Errors
    /// The first that is not.
    pub fn demand(parts: &[(bool, &'static str)]) -> Result<(), PartsError> {
        let missing = parts.iter().find(|(there, _)| !there);
        missing.map_or(Ok(()), |(_, part)| Err(PartsError::Without(part)))
    }
}

const fn ram(piece: Range<u64>) -> Region {
    Region { address: piece.start, size: piece.end - piece.start, kind: RAM, reserved: 0 }
}

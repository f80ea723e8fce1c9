//! What a machine consists of, as its loader tells it: a flattened device tree (Devicetree Specification 0.4, chapter 5).
//!
//! ```text
//!   header (10 words)   reserved memory (pairs)   structure: BEGIN name, PROP length name value, END ...   strings
//! ```
//!
//! All numbers are big endian. Nothing that a tree says is believed before it has been looked at: no tree panics.

use core::fmt;
use core::ops::{Deref, Range};
use core::ptr::with_exposed_provenance;
use core::slice;

/// The first word of a tree.
const MAGIC: u32 = 0xd00d_feed;
/// The version of the format that trees are compatible with.
const VERSION: u32 = 16;
/// The bytes of the header.
const HEADER: usize = 40;
/// Nodes deeper than this are no machine's.
const DEEPEST: usize = 16;

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOTHING: u32 = 4;
const END: u32 = 9;

/// What is wrong with a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceTreeError {
    /// The first word is another one.
    Magic(u32),
    /// Another version of the format.
    Version(u32),
    /// It ends, or a part of it lies, behind its last byte.
    Cut,
    /// A word of the structure that is no token.
    Token(u32),
    /// Nodes within nodes, deeper than any machine has them, or one that ends and did not begin.
    Nesting,
}

impl fmt::Display for DeviceTreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic(found) => write!(f, "no device tree: it begins with {found:#010x}"),
            Self::Version(version) => write!(f, "a device tree of version {version}, not {VERSION}"),
            Self::Cut => write!(f, "the device tree ends too early"),
            Self::Token(token) => write!(f, "the device tree has a token {token}"),
            Self::Nesting => write!(f, "the nodes of the device tree are badly nested"),
        }
    }
}

impl core::error::Error for DeviceTreeError {}

/// A flattened device tree.
#[derive(Clone, Copy, Debug)]
pub struct DeviceTree<'b> {
    bytes: &'b [u8],
}

/// A node, with what tells a machine's parts apart.
#[derive(Clone, Copy, Default, Debug)]
pub struct Node<'b> {
    /// Its name, with the address behind it.
    pub name: &'b [u8],
    /// What it is compatible with: words that end in zero.
    pub compatible: &'b [u8],
    /// `device_type`.
    pub device_type: &'b [u8],
    /// `reg`: addresses and sizes.
    pub registers: &'b [u8],
    /// `ranges`: where the addresses of the nodes in it lie for those above it, if they lie anywhere there.
    pub buses: Option<&'b [u8]>,
    /// `status`; empty where it says nothing.
    pub status: &'b [u8],
    /// `interrupts`: three cells each, of an Arm interrupt controller.
    pub interrupts: &'b [u8],
    /// `method`, of the firmware's interface.
    pub method: &'b [u8],
    /// `bootargs`, of `chosen`.
    pub arguments: &'b [u8],
    /// `linux,initrd-start` and `linux,initrd-end`, of `chosen`.
    pub module: (&'b [u8], &'b [u8]),
    /// Cells of an address and of a size in `registers`: what the node above says.
    pub cells: (u32, u32),
    own_cells: (u32, u32),
}

impl<'b> Node<'b> {
    /// True where it is compatible with `what`.
    pub fn is(&self, what: &str) -> bool {
        self.compatible.split(|&byte| byte == 0).any(|word| word == what.as_bytes())
    }

    /// The address of a processor, which is one for the node above alone.
    pub fn identity(&self) -> Option<u64> {
        self.own_ranges().next().map(|range| range.start)
    }

    /// Where `address`, one of the nodes in it, lies for those above it. `None` where it lies nowhere there.
    fn translated(&self, address: u64) -> Option<u64> {
        let buses = self.buses?;
        if buses.is_empty() {
            return Some(address);
        }
        let (child, parent) = (self.own_cells.0 as usize * 4, self.cells.0 as usize * 4);
        let entries = buses.chunks_exact((child + parent + self.own_cells.1 as usize * 4).max(4));
        entries.into_iter().find_map(|entry| {
            let (start, rest) = entry.split_at_checked(child)?;
            let (above, length) = rest.split_at_checked(parent)?;
            let offset = address.checked_sub(number(start)).filter(|offset| *offset < number(length))?;
            number(above).checked_add(offset)
        })
    }

    /// The addresses and sizes of `registers`, for the node above. Numbers of more than two cells, which no machine has, are cut.
    fn own_ranges(&self) -> impl Iterator<Item = Range<u64>> + use<'b> {
        let (address, size) = (self.cells.0 as usize * 4, self.cells.1 as usize * 4);
        let each = address.saturating_add(size).max(4);
        self.registers.chunks_exact(each).map(move |entry| {
            let (start, length) = entry.split_at(address.min(entry.len()));
            let start = number(start);
            start..start.saturating_add(number(length))
        })
    }

    /// The number of the `index`th interrupt as the controller counts them: shared ones from 32, a core's own from 16.
    pub fn interrupt(&self, index: usize) -> Option<u32> {
        let cells = self.interrupts.chunks_exact(12).nth(index)?;
        let line = number(&cells[4..8]) as u32;
        match number(&cells[..4]) {
            0 => line.checked_add(32),
            1 => line.checked_add(16),
            _ => None,
        }
    }

    fn set(&mut self, name: &[u8], value: &'b [u8]) {
        match name {
            b"compatible" => self.compatible = value,
            b"device_type" => self.device_type = value,
            b"reg" => self.registers = value,
            b"interrupts" => self.interrupts = value,
            b"method" => self.method = value,
            b"ranges" => self.buses = Some(value),
            b"status" => self.status = value,
            b"bootargs" => self.arguments = value,
            b"linux,initrd-start" => self.module.0 = value,
            b"linux,initrd-end" => self.module.1 = value,
            // More cells than two are looked over, but their room is counted.
            b"#address-cells" => self.own_cells.0 = number(value).min(8) as u32,
            b"#size-cells" => self.own_cells.1 = number(value).min(8) as u32,
            _ => {}
        }
    }
}

/// The number in one cell, or in the last two of several; 0 in none.
pub fn number(cells: &[u8]) -> u64 {
    cells.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The word before the first zero.
pub fn word(value: &[u8]) -> &[u8] {
    value.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// A node among those that it lies in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'t, 'b> {
    node: &'t Node<'b>,
    /// From the root.
    above: &'t [Node<'b>],
}

impl<'b> Deref for Place<'_, 'b> {
    type Target = Node<'b>;
    fn deref(&self) -> &Node<'b> {
        self.node
    }
}

impl Place<'_, '_> {
    /// False where it, or one that it lies in, says that it is of no use. A processor that is said to be disabled only waits to be
    /// started (specification, 2.3.4).
    pub fn is_there(&self) -> bool {
        let is_of_use = |node: &Node<'_>| matches!(word(node.status), b"" | b"okay" | b"ok");
        let waits = word(self.device_type) == b"cpu" && word(self.status) == b"disabled";
        (waits || is_of_use(self.node)) && self.above.iter().all(is_of_use)
    }

    /// True for nodes right in one of this name.
    pub fn is_in(&self, name: &[u8]) -> bool {
        self.above.last().is_some_and(|above| above.name == name)
    }

    /// The addresses and sizes of its registers, as the processors have them: each bus on the way shifts them (specification, 2.3.8).
    /// Those that processors don't reach are left out.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let buses = self.above.get(1..).unwrap_or_default();
        self.own_ranges().filter_map(move |range| {
            let shifted = |address, bus: &Node<'_>| bus.translated(address);
            let start = buses.iter().rev().try_fold(range.start, shifted)?;
            Some(start..start.saturating_add(range.end - range.start))
        })
    }
}

impl<'b> DeviceTree<'b> {
    /// The bytes that a tree takes, from its first eight.
    ///
    /// # Errors
    /// If it is none.
    fn length(start: [u8; 8]) -> Result<usize, DeviceTreeError> {
        let [magic, length] = [number(&start[..4]), number(&start[4..])];
        if magic == u64::from(MAGIC) {
            Ok(length as usize)
        } else {
            Err(DeviceTreeError::Magic(magic as u32))
        }
    }

    /// The tree that a loader left at `address`.
    ///
    /// # Errors
    /// If there is none, or one of another version.
    ///
    /// # Safety
    /// What lies there must be mapped: eight bytes, and as many as they tell if they are the beginning of a tree. Nobody may write
    /// to it while the tree is used.
    pub unsafe fn at(address: u64) -> Result<Self, DeviceTreeError> {
        // SAFETY: the caller vouches for the address; the length stands behind the magic number, which is looked at first.
        let bytes = unsafe {
            let length = Self::length(with_exposed_provenance::<[u8; 8]>(address as usize).read())?;
            slice::from_raw_parts(with_exposed_provenance::<u8>(address as usize), length)
        };
        Self::new(bytes)
    }

    /// The tree in `bytes`.
    ///
    /// # Errors
    /// If they are none, or of another version.
    pub fn new(bytes: &'b [u8]) -> Result<Self, DeviceTreeError> {
        let start = bytes.first_chunk::<8>().ok_or(DeviceTreeError::Cut)?;
        let length = Self::length(*start)?;
        let bytes = bytes.get(..length).filter(|bytes| bytes.len() >= HEADER).ok_or(DeviceTreeError::Cut)?;
        let tree = Self { bytes };
        let version = tree.cell(24)?;
        if version == VERSION { Ok(tree) } else { Err(DeviceTreeError::Version(version)) }
    }

    /// The word at byte `offset`.
    fn cell(&self, offset: usize) -> Result<u32, DeviceTreeError> {
        let cell = offset.checked_add(4).and_then(|end| self.bytes.get(offset..end));
        cell.map(|cell| number(cell) as u32).ok_or(DeviceTreeError::Cut)
    }

    /// The bytes at `offset` up to the next zero.
    fn name(&self, offset: usize) -> Result<&'b [u8], DeviceTreeError> {
        let rest = self.bytes.get(offset..).ok_or(DeviceTreeError::Cut)?;
        let length = rest.iter().position(|&byte| byte == 0).ok_or(DeviceTreeError::Cut)?;
        Ok(&rest[..length])
    }

    /// Calls `each` for all nodes, with what they say, a node after those in it.
    ///
    /// # Errors
    /// If the structure is damaged; what came before it has been told.
    pub fn walk(&self, mut each: impl FnMut(&Place<'_, 'b>)) -> Result<(), DeviceTreeError> {
        let (structure, strings) = (self.cell(8)? as usize, self.cell(12)? as usize);
        let mut open = [Node::default(); DEEPEST];
        let (mut depth, mut at) = (0, structure);
        loop {
            let token = self.cell(at)?;
            at += 4;
            match token {
                BEGIN_NODE => {
                    let name = self.name(at)?;
                    at = (at + name.len() + 1).next_multiple_of(4);
                    // Two cells and one where nobody says anything (specification, 2.3.5).
                    let cells = if depth == 0 { (2, 1) } else { open[depth - 1].own_cells };
                    let node = open.get_mut(depth).ok_or(DeviceTreeError::Nesting)?;
                    *node = Node { name, cells, own_cells: (2, 1), ..Node::default() };
                    depth += 1;
                }
                PROPERTY => {
                    let (length, name) = (self.cell(at)? as usize, self.cell(at + 4)? as usize);
                    at += 8;
                    let end = at.checked_add(length).ok_or(DeviceTreeError::Cut)?;
                    let value = self.bytes.get(at..end).ok_or(DeviceTreeError::Cut)?;
                    let name = self.name(strings.checked_add(name).ok_or(DeviceTreeError::Cut)?)?;
                    at = end.next_multiple_of(4);
                    let node = depth.checked_sub(1).and_then(|last| open.get_mut(last));
                    node.ok_or(DeviceTreeError::Nesting)?.set(name, value);
                }
                END_NODE => {
                    depth = depth.checked_sub(1).ok_or(DeviceTreeError::Nesting)?;
                    each(&Place { node: &open[depth], above: &open[..depth] });
                }
                NOTHING => {}
                END if depth == 0 => return Ok(()),
                END => return Err(DeviceTreeError::Nesting),
                other => return Err(DeviceTreeError::Token(other)),
            }
        }
    }

    /// Memory that nobody may use, as the header's table has it.
    pub fn reserved(&self) -> impl Iterator<Item = Range<u64>> + use<'b> {
        let table = self.cell(16).ok().and_then(|at| self.bytes.get(at as usize..)).unwrap_or_default();
        let entry = |entry: &[u8]| (number(&entry[..8]), number(&entry[8..]));
        let entries = table.chunks_exact(16).map(entry).take_while(|&entry| entry != (0, 0));
        entries.map(|(start, size)| start..start.saturating_add(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Writes trees, from the definition of the format.
    #[derive(Default)]
    struct Writer {
        structure: Vec<u8>,
        strings: Vec<u8>,
    }

    impl Writer {
        fn cell(&mut self, number: u32) {
            self.structure.extend(number.to_be_bytes());
        }

        fn padded(&mut self, bytes: &[u8]) {
            self.structure.extend(bytes);
            self.structure.resize(self.structure.len().next_multiple_of(4), 0);
        }

        fn begin(&mut self, name: &str) {
            self.cell(1);
            self.padded(&[name.as_bytes(), &[0]].concat());
        }

        fn property(&mut self, name: &str, value: &[u8]) {
            let at = self.strings.len() as u32;
            self.strings.extend(name.as_bytes());
            self.strings.push(0);
            [3, value.len() as u32, at].into_iter().for_each(|cell| self.cell(cell));
            self.padded(value);
        }

        fn finish(mut self, reserved: &[[u64; 2]]) -> Vec<u8> {
            self.cell(9);
            let table: Vec<u8> =
                reserved.iter().chain([&[0, 0]]).flatten().flat_map(|number| number.to_be_bytes()).collect();
            let structure = HEADER + table.len();
            let strings = structure + self.structure.len();
            let whole = strings + self.strings.len();
            let header = [MAGIC as usize, whole, structure, strings, HEADER, 17, 16, 0];
            let sizes = [self.strings.len(), self.structure.len()];
            let header = header.into_iter().chain(sizes).flat_map(|word| (word as u32).to_be_bytes());
            header.chain(table).chain(self.structure).chain(self.strings).collect()
        }
    }

    fn cells(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    fn small() -> Vec<u8> {
        let mut tree = Writer::default();
        tree.begin("");
        tree.property("#address-cells", &cells(&[2]));
        tree.property("#size-cells", &cells(&[2]));
        tree.begin("memory@40000000");
        tree.property("device_type", b"memory\0");
        tree.property("reg", &cells(&[0, 0x4000_0000, 1, 0x1000]));
        tree.cell(2);
        tree.begin("cpus");
        tree.property("#address-cells", &cells(&[1]));
        tree.property("#size-cells", &cells(&[0]));
        tree.cell(4);
        tree.begin("cpu@3");
        tree.property("compatible", b"arm,cortex-a57\0arm,armv8\0");
        tree.property("reg", &cells(&[3]));
        tree.property("interrupts", &cells(&[1, 11, 4, 0, 8, 4]));
        tree.cell(2);
        tree.cell(2);
        tree.cell(2);
        tree.finish(&[[0x1000, 0x200]])
    }

    #[test]
    fn a_tree_tells_what_was_written() {
        let bytes = [small(), alloc::vec![0xff; 9]].concat();
        let tree = DeviceTree::new(&bytes).unwrap();
        let mut names = Vec::new();
        let walked = tree.walk(|node| {
            names.push(node.name.to_vec());
            match node.name {
                b"memory@40000000" => {
                    let end = |range: Range<u64>| (range.start, range.end);
                    let found: Vec<_> = node.ranges().map(end).collect();
                    assert_eq!(found, [(0x4000_0000, 0x1_4000_1000)]);
                    assert_eq!(word(node.device_type), b"memory");
                }
                b"cpu@3" => {
                    assert_eq!(node.identity(), Some(3), "its parent's cells");
                    assert_eq!(node.ranges().count(), 0, "no address");
                    assert_eq!([0, 1, 2].map(|index| node.interrupt(index)), [Some(27), Some(40), None]);
                    assert!(node.is("arm,armv8") && !node.is("arm"));
                }
                _ => {}
            }
        });
        assert_eq!(walked, Ok(()));
        assert_eq!(names, [&b"memory@40000000"[..], b"cpu@3", b"cpus", b""]);
        let reserved: Vec<_> = tree.reserved().map(|range| (range.start, range.end)).collect();
        assert_eq!(reserved, [(0x1000, 0x1200)]);
    }

    #[test]
    fn addresses_are_those_of_the_processors() {
        let mut tree = Writer::default();
        tree.begin("");
        tree.property("#address-cells", &cells(&[2]));
        tree.property("#size-cells", &cells(&[1]));
        tree.begin("soc");
        tree.property("#address-cells", &cells(&[1]));
        tree.property("#size-cells", &cells(&[1]));
        let first = [0x7e00_0000, 0, 0xfe00_0000, 0x180_0000];
        tree.property("ranges", &cells(&[first, [0x4000_0000, 1, 0xff80_0000, 0x80_0000]].concat()));
        tree.begin("line");
        tree.property("reg", &cells(&[0x7e20_1000, 0x200, 0x4004_1000, 0x1000, 0x5000_0000, 8]));
        tree.property("status", b"okay\0");
        tree.cell(2);
        // Another bus in it, whose addresses are its own, and one that leads nowhere.
        tree.begin("inner");
        tree.property("#address-cells", &cells(&[1]));
        tree.property("ranges", &[]);
        tree.begin("deep");
        tree.property("reg", &cells(&[0x7e00_0010, 8]));
        tree.cell(2);
        tree.cell(2);
        tree.begin("wires");
        tree.property("#address-cells", &cells(&[1]));
        tree.begin("sensor");
        tree.property("reg", &cells(&[0x7e00_0010, 8]));
        tree.property("status", b"disabled\0");
        tree.begin("part");
        tree.cell(2);
        tree.cell(2);
        tree.begin("cpu");
        tree.property("device_type", b"cpu\0");
        tree.property("status", b"disabled\0");
        tree.cell(2);
        tree.begin("broken");
        tree.property("device_type", b"cpu\0");
        tree.property("status", b"fail\0");
        tree.cell(2);
        tree.cell(2);
        tree.cell(2);
        tree.cell(2);
        let bytes = tree.finish(&[]);
        let mut found = Vec::new();
        let walked = DeviceTree::new(&bytes).unwrap().walk(|node| {
            let ranges = node.ranges().map(|range| (range.start, range.end)).collect::<Vec<_>>();
            found.push((node.name.to_vec(), node.is_there(), ranges));
        });
        assert_eq!(walked, Ok(()));
        let line = alloc::vec![(0xfe20_1000, 0xfe20_1200), (0x1_ff84_1000, 0x1_ff84_2000)];
        assert_eq!(found[0], (b"line".to_vec(), true, line), "the third is not on the bus");
        assert_eq!(found[1], (b"deep".to_vec(), true, alloc::vec![(0xfe00_0010, 0xfe00_0018)]));
        assert_eq!(found[3], (b"part".to_vec(), false, Vec::new()), "in one that is of no use");
        assert_eq!(found[4], (b"sensor".to_vec(), false, Vec::new()));
        let cores = [(&found[5].0[..], found[5].1), (&found[6].0[..], found[6].1)];
        assert_eq!(cores, [(&b"cpu"[..], true), (b"broken", false)], "one waits to be started");
    }

    #[test]
    fn refusals_name_their_reason() {
        let new = |bytes: &[u8]| DeviceTree::new(bytes).map(drop);
        assert_eq!(new(&[]), Err(DeviceTreeError::Cut));
        assert_eq!(new(&[7; 64]), Err(DeviceTreeError::Magic(0x0707_0707)));
        let whole = small();
        assert_eq!(new(&whole[..whole.len() - 1]), Err(DeviceTreeError::Cut));
        let changed = |at: usize, value: u32| {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            bytes
        };
        assert_eq!(new(&changed(24, 18)), Err(DeviceTreeError::Version(18)));
        let structure = number(&whole[8..12]) as usize;
        let walk = |bytes: &[u8]| DeviceTree::new(bytes).and_then(|tree| tree.walk(|_| {}));
        assert_eq!(walk(&changed(structure, 5)), Err(DeviceTreeError::Token(5)));
        assert_eq!(walk(&changed(structure, 2)), Err(DeviceTreeError::Nesting));
        assert_eq!(walk(&changed(structure, 9)), Ok(()), "an empty tree is one");
        let mut deep = Writer::default();
        (0..=DEEPEST).for_each(|_| deep.begin("x"));
        assert_eq!(walk(&deep.finish(&[])), Err(DeviceTreeError::Nesting));
    }

    proptest! {
        #[test]
        fn no_tree_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in 0..9usize) {
            let mut bytes = small();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let length = bytes.len() - cut;
            if let Ok(tree) = DeviceTree::new(&bytes[..length]) {
                let _ = tree.walk(|node| {
                    let _ = (node.ranges().count(), node.identity(), node.interrupt(0), node.is("x"));
                });
                let _ = tree.reserved().count();
            }
        }
    }
}

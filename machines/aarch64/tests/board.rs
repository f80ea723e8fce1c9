//! The parts of a machine, from device trees that are written here.

use solo_aarch64::board::{Board, Conduit};
use solo_bare::devicetree::{DeviceTree, DeviceTreeError};
use solo_bare::parts::PartsError;

/// A node: its name, what it says, and what is in it.
#[derive(Clone)]
struct Node(&'static str, Vec<(&'static str, Vec<u8>)>, Vec<Node>);

fn cells(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn word(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

fn write(node: &Node, structure: &mut Vec<u8>, strings: &mut Vec<u8>) {
    let pad = |structure: &mut Vec<u8>| structure.resize(structure.len().next_multiple_of(4), 0);
    structure.extend(cells(&[1]));
    structure.extend(word(node.0));
    pad(structure);
    for (name, value) in &node.1 {
        structure.extend(cells(&[3, value.len() as u32, strings.len() as u32]));
        strings.extend(word(name));
        structure.extend(value);
        pad(structure);
    }
    node.2.iter().for_each(|child| write(child, structure, strings));
    structure.extend(cells(&[2]));
}

/// A flattened tree, with `reserved` pieces of memory.
fn flat(root: &Node, reserved: &[[u64; 2]]) -> Vec<u8> {
    let (mut structure, mut strings) = (Vec::new(), Vec::new());
    write(root, &mut structure, &mut strings);
    structure.extend(cells(&[9]));
    let table: Vec<u8> =
        reserved.iter().chain([&[0, 0]]).flatten().flat_map(|number| number.to_be_bytes()).collect();
    let at = 40 + table.len() as u32;
    let end = at + structure.len() as u32;
    let whole = end + strings.len() as u32;
    let sizes = [strings.len() as u32, structure.len() as u32];
    let header = cells(&[0xd00d_feed, whole, at, end, 40, 17, 16, 0, sizes[0], sizes[1]]);
    [header, table, structure, strings].concat()
}

/// What QEMU's board has, as far as it matters here.
fn virt(cores: u32) -> Node {
    let cpu = |number| Node("cpu", vec![("device_type", word("cpu")), ("reg", cells(&[number]))], vec![]);
    let sizes = |address, size| vec![("#address-cells", cells(&[address])), ("#size-cells", cells(&[size]))];
    let parts = vec![
        Node(
            "memory@40000000",
            vec![("device_type", word("memory")), ("reg", cells(&[0, 0x4000_0000, 0, 0x1000_0000]))],
            vec![],
        ),
        Node("cpus", sizes(1, 0), (0..cores).map(cpu).collect()),
        Node(
            "intc@8000000",
            vec![
                ("compatible", word("arm,gic-v3")),
                ("reg", cells(&[0, 0x0800_0000, 0, 0x1_0000, 0, 0x080a_0000, 0, 0x00f6_0000])),
            ],
            vec![],
        ),
        Node(
            "pl011@9000000",
            vec![
                ("compatible", [word("arm,pl011"), word("arm,primecell")].concat()),
                ("reg", cells(&[0, 0x0900_0000, 0, 0x1000])),
            ],
            vec![],
        ),
        Node(
            "psci",
            vec![
                ("compatible", [word("arm,psci-1.0"), word("arm,psci-0.2")].concat()),
                ("method", word("smc")),
            ],
            vec![],
        ),
        Node(
            "timer",
            vec![
                ("compatible", word("arm,armv8-timer")),
                ("interrupts", cells(&[1, 13, 4, 1, 14, 4, 1, 11, 4, 1, 10, 4])),
            ],
            vec![],
        ),
        Node("pmu", vec![("compatible", word("arm,armv8-pmuv3")), ("interrupts", cells(&[1, 7, 4]))], vec![]),
        Node(
            "chosen",
            vec![
                ("bootargs", word("quiet semihosting")),
                ("linux,initrd-start", cells(&[0x4800_0000])),
                ("linux,initrd-end", cells(&[0, 0x4800_1234])),
            ],
            vec![],
        ),
    ];
    Node("", sizes(2, 2), parts)
}

fn find(root: &Node, reserved: &[[u64; 2]]) -> Result<Board, PartsError> {
    let bytes = flat(root, reserved);
    Board::find(&DeviceTree::new(&bytes).map_err(PartsError::Tree)?)
}

#[test]
fn a_board_is_what_its_tree_tells() {
    let board = find(&virt(3), &[[0x4100_0000, 0x1000]]).unwrap();
    assert_eq!(
        (board.parts.memory[0].address, board.parts.memory[0].size, board.parts.memory.len()),
        (0x4000_0000, 0x1000_0000, 1)
    );
    assert_eq!(&*board.parts.cores, &[0, 1, 2]);
    assert_eq!((board.distributor, board.serial), (0x0800_0000, 0x0900_0000));
    assert_eq!((board.redistributors.start, board.redistributors.end), (0x080a_0000, 0x0900_0000));
    assert_eq!((board.timer, board.counters), (27, Some(23)));
    assert_eq!((board.firmware, board.semihosting), (Conduit::Smc, true));
    assert_eq!((board.parts.module.start, board.parts.module.end), (0x4800_0000, 0x4800_1234));
    assert_eq!(
        (board.parts.taken.len(), board.parts.taken[0].start, board.parts.taken[0].end),
        (1, 0x4100_0000, 0x4100_1000)
    );
    assert_eq!(find(&virt(40), &[]).unwrap().parts.cores.len(), 16, "no more than an image runs on");
}

#[test]
fn a_board_without_a_part_is_refused_by_the_parts_name() {
    for (part, name) in ["memory", "processors", "GICv3", "PL011", "PSCI", "generic timer"]
        .into_iter()
        .zip([0, 1, 2, 3, 4, 5])
    {
        let mut tree = virt(2);
        tree.2.remove(name);
        let error = find(&tree, &[]).unwrap_err();
        assert_eq!(error, PartsError::Without(part));
        assert!(error.to_string().contains(part));
    }
    // Counters and arguments may be absent.
    let mut tree = virt(2);
    tree.2.truncate(6);
    let board = find(&tree, &[]).unwrap();
    assert_eq!((board.counters, board.semihosting, board.parts.module.end), (None, false, 0));
}

#[test]
fn what_cannot_be_driven_is_refused() {
    let mut far = virt(2);
    far.2[3].1[1].1 = cells(&[4, 0x0900_0000, 0, 0x1000]);
    assert_eq!(find(&far, &[]), Err(PartsError::Device(0x4_0900_0000, 1 << 30)));
    let pieces: Vec<[u64; 2]> = (1..40).map(|at| [at << 20, 0x1000]).collect();
    assert_eq!(find(&virt(2), &pieces), Err(PartsError::Many), "what is not known to be taken might be used");
    let bytes = flat(&virt(2), &[]);
    let cut = DeviceTree::new(&bytes[..bytes.len() - 9]).map(drop);
    assert_eq!(cut, Err(DeviceTreeError::Cut));
}

//! The parts of a machine, from device trees that are written here.

use solo_bare::board::{Board, BoardModel, Conduit};
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

/// The cells of addresses and sizes in a node.
fn sizes(address: u32, size: u32) -> Vec<(&'static str, Vec<u8>)> {
    vec![("#address-cells", cells(&[address])), ("#size-cells", cells(&[size]))]
}

/// What QEMU's board has, as far as it matters here.
fn virt(cores: u32) -> Node {
    let cpu = |number| Node("cpu", vec![("device_type", word("cpu")), ("reg", cells(&[number]))], vec![]);
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

/// What a Raspberry Pi 4 of 4 GiB has, as its firmware fills the tree in.
fn pi() -> Node {
    let cpu = |number| Node("cpu", vec![("device_type", word("cpu")), ("reg", cells(&[number]))], vec![]);
    let buses = [0x7e00_0000, 0, 0xfe00_0000, 0x180_0000, 0x4000_0000, 0, 0xff80_0000, 0x80_0000];
    let part = |name, compatible, registers: &[u32]| {
        Node(name, vec![("compatible", word(compatible)), ("reg", cells(registers))], vec![])
    };
    let mut unused = part("serial@7e201400", "arm,pl011", &[0x7e20_1400, 0x200]);
    unused.1.push(("status", word("disabled")));
    let soc = vec![
        part("gic", "arm,gic-400", &[0x4004_1000, 0x1000, 0x4004_2000, 0x2000, 0x4004_4000, 0x2000]),
        unused,
        part("serial@7e201000", "arm,pl011", &[0x7e20_1000, 0x200]),
        part("watchdog@7e100000", "brcm,bcm2835-pm-wdt", &[0x7e10_0000, 0x114]),
    ];
    let interrupts = |compatible, numbers: &[u32]| {
        Node("x", vec![("compatible", word(compatible)), ("interrupts", cells(numbers))], vec![])
    };
    let memory = [0, 0, 0x3b40_0000, 0, 0x4000_0000, 0xbc00_0000];
    let parts = vec![
        Node("memory@0", vec![("device_type", word("memory")), ("reg", cells(&memory))], vec![]),
        Node("soc", [sizes(1, 1), vec![("ranges", cells(&buses))]].concat(), soc),
        Node("cpus", sizes(1, 0), (0..4).map(cpu).collect()),
        interrupts("arm,armv8-timer", &[1, 13, 0xf08, 1, 14, 0xf08, 1, 11, 0xf08, 1, 10, 0xf08]),
        interrupts("arm,armv8-pmuv3", &[0, 16, 4, 0, 17, 4, 0, 18, 4, 0, 19, 4]),
    ];
    Node("", sizes(2, 1), parts)
}

fn find(root: &Node, reserved: &[[u64; 2]]) -> Result<Board, PartsError> {
    find_as(root, reserved, BoardModel::Virt)
}

fn find_as(root: &Node, reserved: &[[u64; 2]], model: BoardModel) -> Result<Board, PartsError> {
    let bytes = flat(root, reserved);
    Board::find(&DeviceTree::new(&bytes).map_err(PartsError::Tree)?, model)
}

#[test]
fn a_raspberry_pi_4_has_its_devices_where_its_buses_shift_them() {
    let board = find_as(&pi(), &[[0, 0x1000]], BoardModel::RaspberryPi4).unwrap();
    assert_eq!(&*board.parts.cores, &[0, 1, 2, 3]);
    assert_eq!((board.distributor, board.interfaces.start), (0xff84_1000, 0xff84_2000));
    assert_eq!((board.serial, board.watchdog), (0xfe20_1000, 0xfe10_0000), "the first line is of no use");
    assert_eq!((board.timer, board.counters), (27, 48..52), "an interrupt for each core");
    assert_eq!((board.firmware, board.semihosting), (None, false));
    let memory: Vec<_> = board.parts.memory.iter().map(|piece| (piece.address, piece.size)).collect();
    assert_eq!(memory, [(0, 0x3b40_0000), (0x4000_0000, 0xbc00_0000)]);
    // What the tree keeps from everybody is taken, as what its table keeps is.
    let mut kept = pi();
    let nodes = vec![
        Node("firmware@3000000", vec![("reg", cells(&[0, 0x300_0000, 0x1000]))], vec![]),
        Node("movable", vec![("size", cells(&[0x400_0000]))], vec![]),
        Node("old@0", vec![("reg", cells(&[0, 0, 0x1000])), ("status", word("disabled"))], vec![]),
    ];
    let of_memory = [sizes(2, 1), vec![("ranges", vec![])]].concat();
    kept.2.push(Node("reserved-memory", of_memory, nodes));
    let taken = find_as(&kept, &[[0, 0x1000]], BoardModel::RaspberryPi4).unwrap().parts.taken;
    let taken: Vec<_> = taken.iter().map(|piece| (piece.start, piece.end)).collect();
    assert_eq!(taken, [(0x300_0000, 0x300_1000), (0, 0x1000)]);
    // An image for the one machine names what the other lacks.
    assert_eq!(find(&pi(), &[]), Err(PartsError::Without("GICv3")));
    assert_eq!(find_as(&virt(2), &[], BoardModel::RaspberryPi4), Err(PartsError::Without("GICv2")));
}

#[test]
fn interrupts_of_counters_are_those_whose_numbers_follow_each_other() {
    for (numbers, expected) in [
        (&[0, 16, 4, 0, 17, 4, 0, 19, 4][..], 48..50),
        (&[1, 7, 4], 23..24),
        (&[], 0..0),
        (&[0, u32::MAX, 4], 0..0),
        (&[0, u32::MAX - 32, 4, 0, 0, 4], u32::MAX..u32::MAX),
    ] {
        let mut tree = pi();
        tree.2[4].1[1].1 = cells(numbers);
        let found = find_as(&tree, &[], BoardModel::RaspberryPi4).unwrap().counters;
        assert_eq!(found, expected, "{numbers:?}");
    }
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
    assert_eq!((board.interfaces.start, board.interfaces.end), (0x080a_0000, 0x0900_0000));
    assert_eq!((board.timer, board.counters), (27, 23..24));
    assert_eq!((board.firmware, board.semihosting), (Some(Conduit::Smc), true));
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
    assert_eq!((board.counters, board.semihosting, board.parts.module.end), (0..0, false, 0));
}

#[test]
fn what_cannot_be_driven_is_refused() {
    let mut far = virt(2);
    far.2[3].1[1].1 = cells(&[4, 0x0900_0000, 0, 0x1000]);
    assert_eq!(find(&far, &[]), Err(PartsError::Device(0x4_0900_0000, 0..1 << 30)));
    let pieces: Vec<[u64; 2]> = (1..40).map(|at| [at << 20, 0x1000]).collect();
    assert_eq!(find(&virt(2), &pieces), Err(PartsError::Many), "what is not known to be taken might be used");
    let bytes = flat(&virt(2), &[]);
    let cut = DeviceTree::new(&bytes[..bytes.len() - 9]).map(drop);
    assert_eq!(cut, Err(DeviceTreeError::Cut));
}

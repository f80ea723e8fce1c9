//! What the bits of an address choose: slices of a cache, colors, channels, ranks and banks, as lists of XORed bits say.

use solo_isolate::MemoryMap;
use solo_model::platform::{Contents, Dram as Description, PagePolicy, Platform, XorBits};
use solo_model::{Bank, Bytes, Color, CoreId, CoreSet, Picoseconds, Signal};
use solo_scenario::Platforms;
use solo_sim::memory::dram::{DramCounts, Served};
use solo_sim::memory::fixtures::{bare, bit, cache, ddr3_1600k, i7_2600};
use solo_sim::memory::{AccessKind, Answer, Dram, Hierarchy, PhysicalAddress};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The number that some lists of bits make of an address, bit by bit.
fn number(address: u64, lists: &[&[u32]]) -> u64 {
    let parity = |bits: &[u32]| bits.iter().fold(0, |sum, bit| sum ^ (address >> bit & 1));
    lists.iter().enumerate().fold(0, |number, (at, bits)| number | parity(bits) << at)
}

fn mask(bits: &[u32]) -> XorBits {
    XorBits(bits.iter().fold(0, |mask, bit| mask | 1 << bit))
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 24
}

/// The hash of four-slice Sandy Bridge chips, as far as 8 GiB of memory reach (research note, section 3).
const SLICES: [&[u32]; 2] = [
    &[6, 10, 12, 14, 16, 17, 18, 20, 22, 24, 25, 26, 27, 28, 30, 32],
    &[7, 11, 13, 15, 17, 19, 20, 21, 22, 23, 24, 26, 28, 29, 31, 33],
];

fn load(name: &str) -> Platform {
    Platforms::builtin().load(name, Path::new("")).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn the_file_of_the_sandy_bridge_has_the_published_hash() {
    let platform = load("i7-2600");
    let last = platform.caches.last().unwrap();
    assert_eq!(last.slice_hash, SLICES.map(mask));
    // A page is spread over all slices, a color over a 32nd of the sets of each.
    let mut of_slice = [0; 4];
    for line in 0..64 {
        of_slice[number(0x1_2345_6000 + line * 64, &SLICES) as usize] += 1;
    }
    assert_eq!(of_slice, [16; 4]);
    assert_eq!((last.sets(), last.colors(platform.page)), (8192, 32));
}

/// Lines that meet in a set of a sliced cache are those of the same slice and the same low bits: of sixteen ways the
/// seventeenth such line takes the place of one, and others take nobody's.
#[test]
fn lines_meet_where_slice_and_index_are_the_same() {
    let platform = i7_2600();
    let last = platform.caches.len() - 1;
    let (mut state, mut now) = (7, Picoseconds::ZERO);
    // 2048 sets a slice: bits 6 to 16.
    let place = |address: u64| (number(address, &SLICES), address >> 6 & 2047);
    let home = 0x2_4680_0000_u64;
    let mut same = BTreeSet::new();
    let mut others = BTreeSet::new();
    while same.len() < 17 || others.len() < 100 {
        let address = (random(&mut state) << 17 | home & 0x1ffff) & ((1 << 33) - 1);
        let group = if place(address) == place(home) { &mut same } else { &mut others };
        group.insert(address);
    }
    let same: Vec<u64> = same.into_iter().take(17).collect();
    let mut memory = Hierarchy::new(&platform, 1).unwrap();
    let mut read = |memory: &mut Hierarchy, address: u64| {
        now += Picoseconds::new(1_000_000);
        memory.advance(now, |_| {});
        memory.access(CoreId(0), now, PhysicalAddress(address), AccessKind::Read);
    };
    let held = |memory: &Hierarchy, addresses: &[u64]| {
        let there: BTreeSet<u64> = memory.lines(last).map(|(address, _)| address.0).collect();
        addresses.iter().filter(|address| there.contains(address)).count()
    };
    same[..16].iter().for_each(|address| read(&mut memory, *address));
    // Lines of the same low bits in the other slices leave this set alone: forty-odd in three sets of sixteen ways.
    others.iter().take(45).for_each(|address| read(&mut memory, *address));
    assert_eq!(held(&memory, &same), 16);
    read(&mut memory, same[16]);
    assert_eq!(held(&memory, &same), 16, "the seventeenth takes a place");
}

/// Requests one after the other, against a list of open rows: how each finds its row.
#[test]
fn rows_are_found_open_as_the_xored_bits_say() {
    let banks: [&[u32]; 3] = [&[13, 17], &[14, 18], &[15, 19]];
    let (rank, channel): ([&[u32]; 1], [&[u32]; 1]) = ([&[16, 20]], [&[6, 13, 21]]);
    let mut description = Description {
        bank_bits: banks.map(mask).to_vec(),
        rank_bits: rank.map(mask).to_vec(),
        channel_bits: channel.map(mask).to_vec(),
        row_shift: 17,
        ..ddr3_1600k()
    };
    description.timing.refi = 0;
    for page_policy in [PagePolicy::Open, PagePolicy::Closed] {
        let description = Description { page_policy, ..description.clone() };
        let mut dram = Dram::new(&description, Bytes::new(64), 1).unwrap();
        let mut open: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
        let mut expected = DramCounts::default();
        let (mut state, mut now) = (1, 0);
        for _ in 0..5000 {
            // Few rows, so that many are found open.
            let address = random(&mut state) & 0x0f_ffc0;
            let place = (number(address, &channel), number(address, &rank), number(address, &banks));
            let row = address >> 17;
            let before = if page_policy == PagePolicy::Open { open.insert(place, row) } else { None };
            *match before {
                None => &mut expected.row_closed,
                Some(before) if before == row => &mut expected.row_hits,
                Some(_) => &mut expected.row_conflicts,
            } += 1;
            expected.reads += 1;
            expected.commands.reads += 1;
            expected.commands.activates += u64::from(before != Some(row));
            dram.submit(Picoseconds::new(now), CoreId(0), PhysicalAddress(address), false);
            now += 1_000_000;
            dram.advance(Picoseconds::new(now), |served| assert!(matches!(served, Served::Read(_))));
        }
        assert_eq!(dram.counts(), expected, "{page_policy:?}");
        assert_eq!(expected.row_hits > 200, page_policy == PagePolicy::Open);
    }
}

#[test]
fn two_channels_move_twice_as_much() {
    let clocks = |channel_bits: Vec<XorBits>| {
        let mut description = Description { channel_bits, ..ddr3_1600k() };
        description.timing.refi = 0;
        let mut offer =
            solo_sim::memory::dram::Offer::new(Dram::new(&description, Bytes::new(64), 1).unwrap());
        (0..20_000_u64).for_each(|line| offer.request(PhysicalAddress(line * 64), false));
        offer.finish().0.get() / 1250
    };
    let [one, two, four] = [vec![], vec![bit(6)], vec![bit(6), bit(7)]].map(clocks);
    println!("{one}, {two} and {four} clocks with one, two and four channels");
    assert!(two * 199 < one * 100 && four * 198 < two * 100, "{one} {two} {four}");
}

/// Research note, section 3: on the Xeon two bank bits lie inside the color bits, so that a task confined to one bank
/// sees a quarter of the colors.
#[test]
fn a_bank_of_the_xeon_has_a_quarter_of_the_colors() {
    let platform = load("xeon-w3530");
    let last = platform.caches.last().unwrap();
    let colors = u64::from(last.colors(platform.page));
    assert_eq!(colors, 128);
    let bits: Vec<XorBits> =
        platform.dram.bank_bits.iter().chain(&platform.dram.rank_bits).copied().collect();
    let bank =
        |frame: u64| bits.iter().enumerate().fold(0, |bank, (at, bits)| bank | bits.of(frame << 12) << at);
    let map = MemoryMap::of(&platform).unwrap();
    let mut colors_of: BTreeMap<u64, BTreeSet<u16>> = BTreeMap::new();
    for frame in 0..1 << 16 {
        // What partitioning goes by is what the memory does.
        assert_eq!(
            (u64::from(map.bank(frame).0), u64::from(map.color(frame).0)),
            (bank(frame), frame % colors)
        );
        colors_of.entry(bank(frame)).or_default().insert(map.color(frame).0);
    }
    assert_eq!(colors_of.len(), 16);
    assert!(colors_of.values().all(|colors| colors.len() == 32), "{colors_of:?}");
    for (bank, colors) in &colors_of {
        let exist = (0..128).filter(|color| map.exists(Color(*color), Bank(*bank as u16)));
        assert_eq!(exist.collect::<BTreeSet<_>>(), *colors, "bank {bank}");
    }
}

/// Siblings have one first and one second level between them; other cores have their own.
#[test]
fn siblings_share_their_first_levels() {
    let platform = load("i7-2600");
    let sibling = platform.cores.iter().skip(1).position(|core| core.physical == platform.cores[0].physical);
    let sibling = sibling.unwrap() as u16 + 1;
    let mut memory = Hierarchy::new(&platform, 1).unwrap();
    let mut now = Picoseconds::ZERO;
    let mut level = |core: u16, kind| {
        now += Picoseconds::new(1_000_000);
        memory.advance(now, |_| {});
        match memory.access(CoreId(core), now, PhysicalAddress(0x4000), kind) {
            Answer::Hit { level, .. } => level,
            Answer::Miss { .. } => 0,
        }
    };
    assert_eq!([level(0, AccessKind::Write), level(sibling, AccessKind::Write)], [0, 1]);
    assert_eq!(level(sibling + 1, AccessKind::Read), 3);
    let of = |core, event| memory.counts(CoreId(core))[event];
    // What siblings pass to each other nobody snoops.
    assert_eq!((of(sibling, Signal::SnoopHitModified), of(sibling + 1, Signal::SnoopHitModified)), (0, 1));
    assert_eq!((of(0, Signal::InvalidationReceived), of(sibling, Signal::Upgrade)), (0, 0));
}

/// Two cores that write different words of one line take it from each other like two that write the same word; on lines
/// of their own they don't.
#[test]
fn false_sharing_costs_what_true_sharing_costs() {
    let run = |distance: u64| {
        let mut platform = bare(2);
        let only = |core| CoreSet::only(CoreId(core));
        platform.caches = (0..2).map(|core| cache(1, Contents::Data, only(core), 4, 4, 2)).collect();
        let mut memory = Hierarchy::new(&platform, 1).unwrap();
        let mut now = Picoseconds::new(1_000_000);
        for n in 0..400_u64 {
            memory.advance(now, |_| {});
            let address = PhysicalAddress(n % 2 * distance);
            match memory.access(CoreId((n % 2) as u16), now, address, AccessKind::Write) {
                Answer::Hit { latency, .. } => now += latency,
                Answer::Miss { .. } => now += Picoseconds::new(1_000_000),
            }
        }
        let sum = |event| (0..2).map(|core| memory.counts(CoreId(core))[event]).sum::<u64>();
        (now, sum(Signal::SnoopHitModified), sum(Signal::InvalidationReceived))
    };
    let (same_word, other_word, other_line) = (run(0), run(8), run(64));
    assert_eq!(same_word, other_word);
    assert_eq!((other_word.1, other_word.2), (399, 399));
    assert_eq!((other_line.1, other_line.2), (0, 0));
    assert!(other_word.0 > other_line.0 * 20, "{} against {}", other_word.0, other_line.0);
}

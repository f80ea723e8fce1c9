//! Traces as text: every form, every compression, every way to be wrong.

use proptest::prelude::*;
use solo_model::CoreId;
use solo_trace::{Flaw, Format, Reference, TextReader, TraceError, source};
use solo_workload::image::TraceKind;
use std::io::{self, Cursor, Read, Write};

fn read(text: impl Into<Vec<u8>>) -> Result<Vec<Reference>, TraceError> {
    let mut all = vec![];
    source(Box::new(Cursor::new(text.into())))?.for_each(|reference| all.push(*reference))?;
    Ok(all)
}

fn reference(kind: TraceKind, address: u64, size: u32) -> Reference {
    Reference { address, size, kind, core: CoreId(0) }
}

fn flaw(text: impl Into<Vec<u8>>) -> (u64, Flaw, String) {
    match read(text) {
        Err(TraceError::Malformed { line, text, flaw }) => (line, flaw, text),
        other => panic!("{other:?}"),
    }
}

#[test]
fn lackey_is_read_as_valgrind_prints_it_and_bare() {
    let expected = [
        reference(TraceKind::Fetch, 0x0401_ab70, 3),
        reference(TraceKind::Write, 0x1f_ff00_0758, 8),
        reference(TraceKind::Read, 0xffff_ffff_ffff_fff0, 16),
        reference(TraceKind::Modify, 0xABC, 64),
    ];
    let printed = "==7== Lackey, an example Valgrind tool\n==7== Command: true\n==7== \nI  0401ab70,3\n \
                   S 1fff000758,8\n--7-- warning\n L fffffffffffffff0,16\n\n M 00000abc,64\n==7== \n==7== \
                   Executed:\n";
    assert_eq!(read(printed).unwrap(), expected);
    let bare = "# made by hand\nI 0x401ab70,3\r\nS 1fff000758,8\nL\tfffffffffffffff0,16\nM ABC,64";
    assert_eq!(read(bare).unwrap(), expected);
    assert_eq!(read("").unwrap(), []);
}

#[test]
fn din_and_core_traces_touch_one_byte() {
    let din = "0 1fffff50\n1 0x10\n2 408ed4 8fa40000\n";
    let expected = [
        reference(TraceKind::Read, 0x1fff_ff50, 1),
        reference(TraceKind::Write, 0x10, 1),
        reference(TraceKind::Fetch, 0x40_8ed4, 1),
    ];
    assert_eq!(read(din).unwrap(), expected);
    let last = reference(TraceKind::Read, u64::MAX, 1);
    assert_eq!(read("0 ffffffffffffffff\n").unwrap(), [last]);
    let cores = read("0 R 1000\n63 W 0x1040\n").unwrap();
    let second = Reference { core: CoreId(63), ..reference(TraceKind::Write, 0x1040, 1) };
    assert_eq!(cores, [reference(TraceKind::Read, 0x1000, 1), second]);
    let requests = read("0x1000 READ 0\n0x10 WRITE 17\n").unwrap();
    assert_eq!(requests, [reference(TraceKind::Read, 0x1000, 1), expected[1]]);
    assert!(read("0x1000 READ soon\n").is_err());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, line, expected) in [
        ("L 10,4\nhello\n", 2, Flaw::Unknown),
        (" L 10,4\n L 10\n", 2, Flaw::Size),
        (" L 10,0\n", 1, Flaw::Size),
        (" L 10,65537\n", 1, Flaw::Size),
        (" L 10,99999999999999999999\n", 1, Flaw::Size),
        (" L ,4\n", 1, Flaw::Address),
        (" L xyz,4\n", 1, Flaw::Address),
        (" L 12345678901234567,4\n", 1, Flaw::Address),
        (" L\n", 1, Flaw::Address),
        (" L ffffffffffffffff,2\n", 1, Flaw::Wraps),
        (" L ffffffffffffffc0,65\n", 1, Flaw::Wraps),
        (" L 10,4 junk\n", 1, Flaw::Trailing),
        ("==1==\nL 10,4\n0 10\n", 3, Flaw::Mixed(Format::Lackey)),
        ("0 10\n0 R 10\n", 2, Flaw::Mixed(Format::Din)),
        ("3 10\n", 1, Flaw::Kind),
        ("12 10\n", 1, Flaw::Kind),
        ("0 10 zz\n", 1, Flaw::Trailing),
        ("64 R 10\n", 1, Flaw::Core),
        ("1 R\n", 1, Flaw::Address),
        ("L 10,4\nL 1", 2, Flaw::Size),
        ("\0\u{1}\n", 1, Flaw::Unknown),
    ] {
        let (at, found, shown) = flaw(text);
        assert_eq!((at, found), (line, expected), "{text:?}: {shown}");
        assert!(shown.is_ascii() && shown.len() < 300);
    }
    let error = read("L 10,4\nhello \x1b[31m\n").unwrap_err().to_string();
    assert!(error.starts_with("line 2: not a memory reference"), "{error}");
    assert!(error.ends_with("`hello \\x1b[31m`"), "{error}");
}

#[test]
fn the_references_before_a_flaw_are_delivered() {
    let mut reader = TextReader::new(Cursor::new("L 10,4\nL 14,4\noops\n"));
    let mut batch = vec![];
    assert!(reader.fill(&mut batch).is_err());
    assert_eq!(batch.len(), 2);
}

/// Yields the same bytes for ever, up to a number.
struct Flood(u64, u8);

impl Read for Flood {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.0.min(out.len() as u64) as usize;
        out[..count].fill(self.1);
        self.0 -= count as u64;
        Ok(count)
    }
}

#[test]
fn a_line_without_end_neither_grows_nor_hangs() {
    let mut batch = vec![];
    let mut reader = TextReader::new(Cursor::new("L 10,4\n").chain(Flood(1 << 30, b'a')));
    let error = reader.fill(&mut batch).unwrap_err();
    assert!(matches!(error, TraceError::Malformed { line: 2, flaw: Flaw::TooLong, .. }), "{error}");
    // Valgrind prints the whole command line, whatever its length.
    let long = Cursor::new("== ").chain(Flood(3 << 20, b'a')).chain(Cursor::new("\nL 10,4\nL 14,4"));
    let mut reader = TextReader::new(long);
    reader.fill(&mut batch).unwrap();
    assert_eq!(batch, [reference(TraceKind::Read, 0x10, 4), reference(TraceKind::Read, 0x14, 4)]);
    assert_eq!(reader.lines(), 3);
}

fn compressions(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(vec![], 1);
    xz.write_all(text).unwrap();
    vec![
        ("gzip", gzip.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
        ("zstd", zstd::encode_all(text, 1).unwrap()),
    ]
}

#[test]
fn compressed_traces_are_recognised_and_cut_off_ones_refused() {
    // Addresses without much pattern, so that cutting the file off cuts the trace off.
    let line = |i: u64| format!(" L {:x},8\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8);
    let text: String = (0..50_000).map(line).collect();
    let plain = read(text.clone()).unwrap();
    assert_eq!(plain.len(), 50_000);
    for (name, bytes) in compressions(text.as_bytes()) {
        assert_eq!(read(bytes.clone()).unwrap(), plain, "{name}");
        let twice = [bytes.clone(), bytes.clone()].concat();
        assert_eq!(read(twice).unwrap().len(), 100_000, "{name}: two members");
        let error = read(&bytes[..bytes.len() / 2]).unwrap_err();
        assert!(matches!(error, TraceError::Read { line: 1.., .. }), "{name}: {error}");
    }
}

prop_compose! {
    fn references()(
        kind in prop::sample::select(vec![
            TraceKind::Read, TraceKind::Write, TraceKind::Modify, TraceKind::Fetch,
        ]),
        address in prop_oneof![0u64..100_000, any::<u64>(), u64::MAX - 9000..=u64::MAX],
        size in prop_oneof![1u32..65, 1u32..=65_536],
    ) -> Reference {
        // What would go on beyond the last address ends there.
        let left = u32::try_from(u64::MAX - address).map_or(u32::MAX, |left| left.saturating_add(1));
        reference(kind, address, size.min(left))
    }
}

fn lackey(reference: &Reference) -> String {
    let kind = match reference.kind {
        TraceKind::Fetch => "I ",
        TraceKind::Read => " L",
        TraceKind::Write => " S",
        TraceKind::Modify => " M",
    };
    format!("{kind} {:08x},{}\n", reference.address, reference.size)
}

/// Yields its bytes in pieces, as pipes do.
struct Pieces(Cursor<Vec<u8>>, usize);

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(out.len());
        self.0.read(&mut out[..count])
    }
}

proptest! {
    #[test]
    fn what_lackey_prints_is_what_is_read(
        all in prop::collection::vec(references(), 0..300),
        piece in 1usize..100,
    ) {
        let text: String = all.iter().map(lackey).collect();
        let mut reader = TextReader::new(Pieces(Cursor::new(text.into_bytes()), piece));
        let (mut found, mut batch) = (vec![], vec![]);
        loop {
            reader.fill(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            found.extend_from_slice(&batch);
        }
        prop_assert_eq!(found, all);
    }

    /// Lines in the usual form are read on a way of their own.
    #[test]
    fn din_and_cores_are_read_whatever_their_lines_look_like(
        all in prop::collection::vec((0u8..3, 0u16..64, any::<u64>(), 0usize..4), 1..200),
    ) {
        let (mut din, mut cores) = (String::new(), String::new());
        for (label, core, address, look) in &all {
            let letter = if *label == 1 { 'W' } else { 'R' };
            let line = |first: String| match look {
                0 | 1 => format!("{first} {address:x}\n"),
                2 => format!("{first}  0x{address:X}\r\n"),
                _ => format!("# seen\n {first}\t{address:016X} \n"),
            };
            din += &line(label.to_string());
            cores += &line(format!("{core} {letter}"));
        }
        let kinds = [TraceKind::Read, TraceKind::Write, TraceKind::Fetch];
        let of_din = |one: &(u8, u16, u64, usize)| reference(kinds[usize::from(one.0)], one.2, 1);
        prop_assert_eq!(read(din).unwrap(), all.iter().map(of_din).collect::<Vec<_>>());
        let of_core = |one: &(u8, u16, u64, usize)| Reference {
            core: CoreId(one.1),
            ..reference(kinds[usize::from(one.0 == 1)], one.2, 1)
        };
        prop_assert_eq!(read(cores).unwrap(), all.iter().map(of_core).collect::<Vec<_>>());
    }

    #[test]
    fn no_bytes_make_the_reader_panic_or_yield_nonsense(
        all in prop::collection::vec(references(), 1..40),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        compression in 0usize..4,
    ) {
        let text: String = all.iter().map(lackey).collect();
        let mut bytes = match compression {
            0 => text.into_bytes(),
            other => compressions(text.as_bytes()).swap_remove(other - 1).1,
        };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut reader = match source(Box::new(Cursor::new(bytes))) {
            Ok(reader) => reader,
            Err(_) => return Ok(()),
        };
        // A changed byte may still make a trace; all its references are then in range.
        let mut sound = true;
        let _ = reader.for_each(|one| {
            sound &= (1..=65_536).contains(&one.size);
            sound &= one.address.checked_add(u64::from(one.size) - 1).is_some();
        });
        prop_assert!(sound);
    }
}

//! The compact file: what goes in comes out, and damage is noticed.

use proptest::prelude::*;
use solo_model::CoreId;
use solo_trace::{Reference, TraceError, TraceWriter, WriterOptions, load, open};
use solo_workload::image::{PAGE, TraceKind};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

prop_compose! {
    fn references()(
        kind in prop::sample::select(vec![
            TraceKind::Read, TraceKind::Write, TraceKind::Modify, TraceKind::Fetch,
        ]),
        address in prop_oneof![0u64..100_000, any::<u64>(), u64::MAX - 9000..=u64::MAX],
        size in prop_oneof![1u32..65, 1u32..=20_000],
    ) -> Reference {
        // What would go on beyond the last address ends there.
        let left = u32::try_from(u64::MAX - address).map_or(u32::MAX, |left| left.saturating_add(1));
        Reference { address, size: size.min(left), kind, core: CoreId(0) }
    }
}

fn write(path: &Path, references: &[Reference], fetches: bool) -> solo_trace::Header {
    let options = WriterOptions { command: vec!["gzip".into(), "-6".into(), "a b".into()], fetches };
    let mut writer = TraceWriter::create(path, options).unwrap();
    for reference in references {
        writer.push(reference).unwrap();
    }
    writer.finish(false).unwrap()
}

fn read(path: &Path) -> Result<Vec<Reference>, TraceError> {
    let mut all = vec![];
    open(path)?.for_each(|reference| all.push(*reference))?;
    Ok(all)
}

/// What the file makes of a reference: a piece for each page; crossing modifies read all, then write all.
fn pieces(reference: &Reference) -> Vec<Reference> {
    let cut = |kind| {
        let mut pieces = vec![];
        let (mut address, mut left) = (reference.address, u64::from(reference.size));
        while left > 0 {
            let size = left.min(4096 - address % 4096) as u32;
            pieces.push(Reference { address, size, kind, core: CoreId(0) });
            address = address.wrapping_add(u64::from(size));
            left -= u64::from(size);
        }
        pieces
    };
    match cut(reference.kind) {
        pieces if reference.kind == TraceKind::Modify && pieces.len() > 1 => {
            [cut(TraceKind::Read), cut(TraceKind::Write)].concat()
        }
        pieces => pieces,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_goes_in_comes_out(all in prop::collection::vec(references(), 1..200), fetches: bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let header = write(&path, &all, fetches);
        let kept = all.iter().filter(|one| fetches || one.kind != TraceKind::Fetch);
        let expected: Vec<_> = kept.flat_map(pieces).collect();
        prop_assert_eq!(read(&path).unwrap(), expected.clone());

        let (loaded, image) = load(&path).unwrap();
        prop_assert_eq!(&loaded, &header);
        prop_assert_eq!(&loaded.command, &["gzip", "-6", "a b"]);
        prop_assert_eq!(image.records(), expected.len() as u64);
        let instructions = all.iter().filter(|one| one.kind == TraceKind::Fetch).count() as u64;
        prop_assert_eq!(header.instructions, instructions);
        let mut pages: Vec<u64> = expected.iter().map(|one| one.address / PAGE.get()).collect();
        pages.sort_unstable();
        pages.dedup();
        prop_assert_eq!(header.pages, pages.len() as u64);
        prop_assert_eq!(image.memory(), PAGE * header.pages);
    }
}

fn sample() -> Vec<Reference> {
    let one = |i: u64| Reference {
        address: 0x1000 + i.wrapping_mul(0x9e37_79b9) % (1 << 24),
        size: 8,
        kind: if i.is_multiple_of(3) { TraceKind::Fetch } else { TraceKind::Read },
        core: CoreId(0),
    };
    (0..250_000).map(one).collect()
}

#[test]
fn many_blocks_keep_order_and_pages_are_dense() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let all = sample();
    let header = write(&path, &all, true);
    assert_eq!(read(&path).unwrap(), all.iter().flat_map(pieces).collect::<Vec<_>>());
    let (_, image) = load(&path).unwrap();
    assert!(image.bytes().len() > 512 << 10, "a single block would prove nothing");
    let mut cursor = solo_workload::Cursor::new(image);
    let mut next = 0;
    while let Some(access) = cursor.advance() {
        let page = access.offset.get() / 4096;
        assert!(page <= next, "page {page} before page {next}");
        next = next.max(page + 1);
    }
    assert_eq!(next, header.pages);
}

#[test]
fn any_damage_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, &sample()[..2000], true);
    let whole = fs::read(&path).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        // A file with another magic is text, and no text either.
        assert!(read(&path).is_err(), "byte {at} changed");
        assert!(load(&path).is_err(), "byte {at} changed");
        fs::write(&path, &whole[..at]).unwrap();
        assert!(at == 0 || read(&path).is_err(), "cut at {at}");
        assert!(load(&path).is_err(), "cut at {at}");
    }
    fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    assert!(matches!(read(&path), Err(TraceError::Damaged { .. })));
    fs::write(&path, "L 10,4\n").unwrap();
    assert!(matches!(load(&path), Err(TraceError::NotRecorded { .. })));
    assert!(matches!(load(&folder.path().join("none")), Err(TraceError::Store(_))));
}

/// A small file can unpack to as much memory as it likes: lists of pages, and records that are kept for a replay, have their limits.
#[test]
fn a_file_that_unpacks_to_gigabytes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    write(&path, &sample()[..10], false);
    let sound = fs::read(&path).unwrap();
    let command = u32::from_le_bytes(sound[72..76].try_into().unwrap()) as usize;
    let mut bytes = sound[..80 + command].to_vec();
    // Blocks of a million pages, each behind the last, and one record.
    let mut block = Vec::new();
    let mut pages = (1_u32 << 20) - 16;
    while pages >= 0x80 {
        block.push(pages as u8 | 0x80);
        pages >>= 7;
    }
    block.push(pages as u8);
    block.resize((1 << 20) - 8, 2);
    block.extend([0, 0]);
    let frame = zstd::bulk::compress(&block, 3).unwrap();
    for _ in 0..40 {
        for number in [frame.len() as u32, block.len() as u32, 1, crc32fast::hash(&block)] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(&frame);
    }
    bytes.extend(0_u32.to_le_bytes());
    assert!(bytes.len() < 64 << 10, "{} bytes stand for 40 million pages", bytes.len());
    fs::write(&path, &bytes).unwrap();
    let error = load(&path).expect_err("too many pages");
    assert!(error.to_string().contains("list of pages"), "{error}");
}

#[test]
fn an_unfinished_file_leaves_nothing_and_a_device_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut writer = TraceWriter::create(&path, WriterOptions::default()).unwrap();
    for reference in &sample() {
        writer.push(reference).unwrap();
    }
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let error = TraceWriter::create(Path::new("/dev/null"), WriterOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = TraceWriter::create(Path::new("/nonexistent/a.trace"), WriterOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

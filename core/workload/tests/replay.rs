//! Recorded programs: their image in memory and their replay.

use proptest::prelude::*;
use solo_model::work::{Buffer, Replay, Span, Step, Work};
use solo_model::{BufferId, Bytes, Duration, JobIndex, TaskId};
use solo_workload::image::{TraceAccess, TraceKind};
use solo_workload::{Access, AccessKind, Cursor, ImageError, Op, Program, TraceImage, WorkError};
use std::sync::Arc;

const PAGES: u64 = 16;

prop_compose! {
    fn accesses()(
        kind in prop::sample::select(vec![
            TraceKind::Read, TraceKind::Write, TraceKind::Modify, TraceKind::Fetch,
        ]),
        page in 0..PAGES,
        start in 0u64..4096,
        size in prop_oneof![Just(1u16), Just(4), Just(8), Just(64), 1u16..=4096],
        instructions in prop_oneof![0u32..10, any::<u32>()],
    ) -> TraceAccess {
        let size = size.min((4096 - start) as u16);
        TraceAccess { kind, offset: Bytes::new(page * 4096 + start), size, instructions }
    }
}

fn image(accesses: &[TraceAccess]) -> Arc<TraceImage> {
    Arc::new(TraceImage::from_accesses(accesses, PAGES).unwrap())
}

fn program(image: &Arc<TraceImage>, steps: Vec<Step>, size: Bytes) -> Result<Program, WorkError> {
    let buffers = [Buffer { name: "recording".into(), size }];
    Program::new(&Work { steps }, TaskId(0), &buffers, Bytes::new(64), 1, &[Arc::clone(image)])
}

fn replay(accesses: Option<u64>) -> Step {
    Step::Replay(Replay { trace: 0, buffer: BufferId(0), accesses })
}

fn job(program: &mut Program, job: u64) -> Vec<Access> {
    program.begin_job(JobIndex(job));
    let ops = std::iter::from_fn(|| program.next());
    ops.filter_map(|op| if let Op::Access(access) = op { Some(access) } else { None }).collect()
}

/// Each line touched is an access, lowest first; a modify reads, then writes.
fn expected(records: &[TraceAccess]) -> Vec<(u64, AccessKind, u32)> {
    let mut all = vec![];
    for record in records {
        let kinds = match record.kind {
            TraceKind::Read => &[AccessKind::Read][..],
            TraceKind::Write => &[AccessKind::Write],
            TraceKind::Fetch => &[AccessKind::Fetch],
            TraceKind::Modify => &[AccessKind::Read, AccessKind::Write],
        };
        let (start, end) = (record.offset.get(), record.offset.get() + u64::from(record.size));
        let mut instructions = record.instructions;
        for &kind in kinds {
            for line in start / 64..end.div_ceil(64) {
                all.push((start.max(line * 64), kind, std::mem::take(&mut instructions)));
            }
        }
    }
    all
}

fn seen(accesses: &[Access]) -> Vec<(u64, AccessKind, u32)> {
    accesses.iter().map(|access| (access.offset.get(), access.kind, access.instructions)).collect()
}

proptest! {
    #[test]
    fn an_image_gives_back_what_went_in(records in prop::collection::vec(accesses(), 0..200)) {
        let image = image(&records);
        let mut cursor = Cursor::new(Arc::clone(&image));
        for _ in 0..2 {
            let read: Vec<_> = std::iter::from_fn(|| cursor.advance()).collect();
            prop_assert_eq!(&read, &records);
            cursor.rewind();
        }
        prop_assert_eq!(image.records(), records.len() as u64);
        let instructions: u64 = records.iter().map(|record| u64::from(record.instructions)).sum();
        prop_assert_eq!(image.instructions(), instructions);
        let again = TraceImage::new(image.bytes().to_vec(), PAGES).unwrap();
        prop_assert_eq!(&again, &*image);
    }

    #[test]
    fn any_bytes_are_accepted_or_refused_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(image) = TraceImage::new(bytes, PAGES) {
            let memory = image.memory();
            let mut cursor = Cursor::new(Arc::new(image));
            while let Some(access) = cursor.advance() {
                prop_assert!(access.offset.get() + u64::from(access.size) <= memory.get());
            }
        }
    }

    #[test]
    fn a_replay_touches_the_lines_of_the_records(records in prop::collection::vec(accesses(), 1..100)) {
        let image = image(&records);
        let mut program = program(&image, vec![replay(None)], image.memory()).unwrap();
        prop_assert_eq!(seen(&job(&mut program, 0)), expected(&records));
        prop_assert_eq!(seen(&job(&mut program, 1)), expected(&records));
    }

    #[test]
    fn jobs_go_on_where_the_last_one_stopped(
        records in prop::collection::vec(accesses(), 1..40),
        quota in 1u64..100,
    ) {
        let image = image(&records);
        let think = Step::Compute(Span::exactly(Duration::new(1)));
        // Two steps of the same program share its place.
        let steps = vec![replay(Some(quota)), think, replay(Some(1))];
        let mut program = program(&image, steps, image.memory()).unwrap();
        let mut endless = expected(&records).into_iter().cycle();
        for i in 0..5 {
            let accesses = job(&mut program, i);
            prop_assert_eq!(accesses.len() as u64, quota + 1);
            let next: Vec<_> = endless.by_ref().take(accesses.len()).collect();
            prop_assert_eq!(seen(&accesses), next);
        }
    }
}

#[test]
fn images_that_lie_are_refused() {
    let at = |page: u64, start: u64, size: u16| TraceAccess {
        kind: TraceKind::Read,
        offset: Bytes::new(page * 4096 + start),
        size,
        instructions: 1,
    };
    for bad in [at(PAGES, 0, 1), at(0, 4095, 2), at(0, 0, 0)] {
        let error = TraceImage::from_accesses(&[at(0, 0, 8), bad], PAGES).unwrap_err();
        assert!(matches!(error, ImageError::OutOfRange { at: 2 }), "{error:?}");
    }
    assert_eq!(TraceImage::new(vec![0x80], 1), Err(ImageError::Malformed { at: 0 }));
    let pages = 1 << 40;
    assert_eq!(TraceImage::new(vec![], pages), Err(ImageError::TooManyPages { pages }));
}

#[test]
fn a_replay_needs_accesses_and_room() {
    let one = TraceAccess { kind: TraceKind::Read, offset: Bytes::ZERO, size: 8, instructions: 1 };
    let image = image(&[one]);
    let has = Bytes::from_kib(60);
    let error = program(&image, vec![replay(None)], has).unwrap_err();
    assert_eq!(error, WorkError::TraceTooLarge { trace: 0, needs: Bytes::from_kib(64), has });
    let empty = Arc::new(TraceImage::from_accesses(&[], 1).unwrap());
    let error = program(&empty, vec![replay(Some(5))], has).unwrap_err();
    assert_eq!(error, WorkError::EmptyTrace { trace: 0 });
}

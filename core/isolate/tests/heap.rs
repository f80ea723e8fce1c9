//! Colored heaps: blocks never overlap, come back to their own heap, and merge again.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use solo_isolate::heap::{ColoredHeaps, HeapError, Mode};
use solo_model::{Bytes, Color, ThreadId};
use std::collections::BTreeMap;

const SIZE: Bytes = Bytes::from_kib(64);

#[test]
fn the_program_or_the_thread_chooses_the_color() {
    let mut user = ColoredHeaps::new(4, SIZE, None, Mode::UserCentric);
    let at = user.allocate(ThreadId(1), Some(Color(3)), Bytes::new(100)).unwrap();
    assert_eq!(user.color_at(at), Some(Color(3)));
    let unnamed = user.allocate(ThreadId(1), None, Bytes::new(100)).unwrap();
    assert_eq!(user.color_at(unnamed), Some(Color(0)));
    assert_eq!(
        user.allocate(ThreadId(1), Some(Color(4)), Bytes::new(1)),
        Err(HeapError::NoSuchColor { color: Color(4), colors: 4 })
    );

    let mut os = ColoredHeaps::new(4, SIZE, Some(Color(1)), Mode::OsCentric);
    let colors: Vec<u16> = (0..6)
        .map(|thread| {
            // What the program names does not matter.
            let at = os.allocate(ThreadId(thread), Some(Color(1)), Bytes::new(64)).unwrap();
            os.color_at(at).unwrap().0
        })
        .collect();
    assert_eq!(colors, [0, 2, 3, 0, 2, 3]);
    let kernel = os.allocate_kernel(Bytes::new(64)).unwrap();
    assert_eq!(os.color_at(kernel), Some(Color(1)));
}

#[test]
fn nobody_takes_the_kernels_color() {
    let mut heaps = ColoredHeaps::new(2, SIZE, Some(Color(0)), Mode::UserCentric);
    let refused = heaps.allocate(ThreadId(0), None, Bytes::new(64));
    assert_eq!(refused, Err(HeapError::KernelColor { color: Color(0) }));
}

#[test]
fn only_the_beginning_of_a_block_can_be_given_back() {
    let mut heaps = ColoredHeaps::new(2, SIZE, None, Mode::UserCentric);
    let at = heaps.allocate(ThreadId(0), Some(Color(1)), Bytes::new(200)).unwrap();
    for wrong in [at + Bytes::new(64), at + Bytes::new(8), Bytes::ZERO, Bytes::new(1 << 40)] {
        assert_eq!(heaps.release(wrong), Err(HeapError::NotABlock { offset: wrong }));
    }
    assert_eq!(heaps.release(at), Ok((Color(1), Bytes::new(256))));
    assert_eq!(heaps.release(at), Err(HeapError::NotABlock { offset: at }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn blocks_are_disjoint_and_merge_again(
        steps in proptest::collection::vec((0_u32..3, 1_u64..9000, any::<bool>(), any::<prop::sample::Index>()), 1..200)
    ) {
        let mut heaps = ColoredHeaps::new(3, SIZE, None, Mode::OsCentric);
        let mut held: BTreeMap<u64, (u64, Color)> = BTreeMap::new();
        for (thread, size, take, which) in steps {
            if take || held.is_empty() {
                let Ok(at) = heaps.allocate(ThreadId(thread), None, Bytes::new(size)) else { continue };
                let (from, to) = (at.get(), at.get() + size);
                let before = held.range(..to).next_back();
                prop_assert!(before.is_none_or(|(start, (length, _))| start + length <= from), "overlap");
                let color = heaps.color_at(at).unwrap();
                prop_assert_eq!(color, Color(thread as u16));
                prop_assert_eq!(heaps.color_at(Bytes::new(to - 1)), Some(color));
                held.insert(from, (size, color));
            } else {
                let at = *which.get(&held.keys().copied().collect::<Vec<_>>());
                let (size, color) = held.remove(&at).unwrap();
                prop_assert_eq!(heaps.release(Bytes::new(at)), Ok((color, Bytes::new(size.div_ceil(64) * 64))));
            }
        }
        for (at, _) in held {
            prop_assert!(heaps.release(Bytes::new(at)).is_ok());
        }
        for color in 0..3 {
            prop_assert_eq!(heaps.free(Color(color)), Some(SIZE));
            // In one piece again.
            prop_assert!(heaps.allocate(ThreadId(u32::from(color)), None, SIZE).is_ok());
        }
    }
}

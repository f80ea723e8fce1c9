//! Frames: nobody gets one twice, none is lost, none has the wrong color, under any sequence of requests.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use solo_isolate::frames::{FramesError, Group, GroupId, Order};
use solo_isolate::{Classes, ColoredFrames, FrameNumber, MemoryMap};
use solo_model::isolation::Fallback;
use solo_model::platform::XorBits;
use solo_model::{Bank, Bytes, Color};
use std::collections::BTreeMap;

/// Eight colors in bits 12 to 14; four banks: bit 14 XOR 16 and bit 15, the first of which shares a color bit.
fn map() -> MemoryMap {
    let bits = |list: &[u64]| list.iter().map(|mask| XorBits(*mask)).collect::<Vec<_>>();
    let colors = Classes::new(&bits(&[1 << 12, 1 << 13, 1 << 14]));
    let banks = Classes::new(&bits(&[1 << 14 | 1 << 16, 1 << 15]));
    MemoryMap::new(Bytes::from_kib(4), colors, banks, None).unwrap()
}

fn group(colors: &[u16], banks: &[u16], fallback: Fallback) -> Group {
    Group {
        colors: colors.iter().copied().map(Color).collect(),
        banks: banks.iter().copied().map(Bank).collect(),
        fallback,
    }
}

#[test]
fn a_group_that_fails_gets_what_is_its_own_and_no_more() {
    let groups = [group(&[2], &[], Fallback::Fail), group(&[], &[], Fallback::Fail)];
    let mut frames = ColoredFrames::new(map(), 64, &groups, Order::Ascending).unwrap();
    let taken: Vec<_> = std::iter::from_fn(|| frames.allocate(GroupId(0)).ok()).collect();
    assert_eq!(taken.len(), 8);
    assert!(taken.iter().all(|taken| frames.map().color(taken.frame.0) == Color(2) && !taken.borrowed));
    assert_eq!(frames.allocate(GroupId(0)), Err(FramesError::Exhausted { group: GroupId(0) }));
    assert_eq!(frames.free_frames(), 56);
}

#[test]
fn frames_of_a_range_have_the_colors_of_their_own_addresses() {
    let groups = [group(&[2], &[], Fallback::Fail), group(&[], &[], Fallback::Fail)];
    let first = FrameNumber(1003);
    let mut frames = ColoredFrames::in_range(map(), first, 64, &groups, Order::Ascending).unwrap();
    let taken: Vec<_> = std::iter::from_fn(|| frames.allocate(GroupId(0)).ok()).collect();
    assert_eq!(taken.len(), 8);
    assert_eq!((frames.available(GroupId(0)), frames.available(GroupId(1))), (0, 56));
    for taken in &taken {
        assert!((1003..1067).contains(&taken.frame.0));
        assert_eq!((taken.frame.0 & 7, frames.owner(taken.frame)), (2, Some(GroupId(0))));
    }
    let below = FrameNumber(1002);
    assert_eq!(frames.free(below), Err(FramesError::NoSuchFrame { frame: below }));
    assert_eq!(frames.free(taken[0].frame), Ok(GroupId(0)));
    assert_eq!(frames.allocate(GroupId(0)), Ok(taken[0]));
}

#[test]
fn a_group_that_borrows_is_counted() {
    let groups = [group(&[2], &[1], Fallback::Borrow)];
    let mut frames = ColoredFrames::new(map(), 32, &groups, Order::Ascending).unwrap();
    let own = std::iter::from_fn(|| frames.allocate(GroupId(0)).ok().filter(|taken| !taken.borrowed)).count();
    assert_eq!(frames.held(GroupId(0)), Some((own as u64 + 1, 1)));
    for _ in own + 1..32 {
        assert!(frames.allocate(GroupId(0)).unwrap().borrowed);
    }
    assert_eq!(frames.allocate(GroupId(0)), Err(FramesError::Exhausted { group: GroupId(0) }));
    (0..32).for_each(|frame| assert_eq!(frames.free(FrameNumber(frame)), Ok(GroupId(0))));
    assert_eq!((frames.held(GroupId(0)), frames.free_frames()), (Some((0, 0)), 32));
}

#[test]
fn banks_are_used_by_turns() {
    let groups = [group(&[0], &[], Fallback::Fail)];
    let mut frames = ColoredFrames::new(map(), 256, &groups, Order::Ascending).unwrap();
    let taken: Vec<u64> = (0..8).map(|_| frames.allocate(GroupId(0)).unwrap().frame.0).collect();
    let banks: Vec<u16> = taken.iter().map(|&frame| frames.map().bank(frame).0).collect();
    assert_eq!(banks, [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn what_does_not_exist_is_refused() {
    let refused = |groups: &[Group]| ColoredFrames::new(map(), 64, groups, Order::Ascending).unwrap_err();
    assert_eq!(
        refused(&[group(&[8], &[], Fallback::Fail)]),
        FramesError::NoSuchColor { group: GroupId(0), color: Color(8), colors: 8 }
    );
    assert_eq!(
        refused(&[group(&[], &[4], Fallback::Fail)]),
        FramesError::NoSuchBank { group: GroupId(0), bank: Bank(4), banks: 4 }
    );
    let shared = Classes::new(&[XorBits(1 << 12)]);
    let map = MemoryMap::new(Bytes::from_kib(4), shared.clone(), shared, None).unwrap();
    let apart = [group(&[0], &[1], Fallback::Fail)];
    assert_eq!(
        ColoredFrames::new(map, 64, &apart, Order::Ascending).unwrap_err(),
        FramesError::Disjoint { group: GroupId(0) }
    );
}

/// What a test does next: take for a group, or give back.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take(u16),
    TakeColor(u16, u16),
    Give(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u16..4).prop_map(Step::Take),
        1 => (0_u16..4, 0_u16..9).prop_map(|(group, color)| Step::TakeColor(group, color)),
        3 => (0_u64..90).prop_map(Step::Give),
    ];
    proptest::collection::vec(step, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_handed_out_twice_lost_or_of_the_wrong_color(steps in steps(), seed in any::<Option<u64>>()) {
        let groups = [
            group(&[0, 1], &[], Fallback::Fail),
            group(&[2, 3], &[0, 1], Fallback::Borrow),
            group(&[], &[2], Fallback::Fail),
        ];
        let order = seed.map_or(Order::Ascending, Order::Shuffled);
        let mut frames = ColoredFrames::new(map(), 80, &groups, order).unwrap();
        let mut held: BTreeMap<u64, u16> = BTreeMap::new();
        for step in steps {
            let taken = match step {
                Step::Take(group) => (group, frames.allocate(GroupId(group))),
                Step::TakeColor(group, color) => (group, frames.allocate_color(GroupId(group), Color(color))),
                Step::Give(frame) => {
                    let before = held.remove(&frame);
                    prop_assert_eq!(frames.free(FrameNumber(frame)).ok().map(|group| group.0), before);
                    continue;
                }
            };
            let (group, Ok(taken)) = taken else { continue };
            prop_assert!(held.insert(taken.frame.0, group).is_none(), "handed out twice");
            let bins = &groups[usize::from(group)];
            let (color, bank) = (frames.map().color(taken.frame.0), frames.map().bank(taken.frame.0));
            let fits = (bins.colors.is_empty() || bins.colors.contains(&color))
                && (bins.banks.is_empty() || bins.banks.contains(&bank));
            prop_assert_eq!(fits, !taken.borrowed);
            prop_assert!(fits || bins.fallback == Fallback::Borrow);
            prop_assert_eq!(frames.free_frames() + held.len() as u64, 80);
        }
        // Whatever happened, everything comes back, each frame once.
        for frame in 0..80 {
            prop_assert_eq!(frames.owner(FrameNumber(frame)).map(|group| group.0), held.get(&frame).copied());
            let _ = frames.free(FrameNumber(frame));
        }
        let all = [group(&[], &[], Fallback::Fail)];
        prop_assert_eq!(frames.free_frames(), 80);
        let mut fresh = ColoredFrames::new(map(), 80, &all, order).unwrap();
        let mut seen: Vec<u64> = (0..80).map(|_| fresh.allocate(GroupId(0)).unwrap().frame.0).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..80).collect::<Vec<_>>());
    }
}

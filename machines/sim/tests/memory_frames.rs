//! Page frames: never twice, of the color asked for, to the last one.

use proptest::prelude::*;
use solo_isolate::frames::FrameNumber;
use solo_model::Color;
use solo_model::platform::FramePolicy;
use solo_sim::frames::{FrameError, Frames};
use solo_sim::memory::fixtures::{i7_2600, xeon_w3530};
use std::collections::BTreeSet;

#[test]
fn colors_follow_the_last_level() {
    assert_eq!(Frames::new(&xeon_w3530(), 1).colors(), 128);
    assert_eq!(Frames::new(&i7_2600(), 1).colors(), 32);
}

#[test]
fn sequential_frames_come_in_order_around_colored_ones() {
    let mut frames = Frames::with(FramePolicy::Sequential, 10, 4, 1);
    let mut take = |color: Option<u16>| frames.allocate(color.map(Color)).map(|frame| frame.0);
    assert_eq!(take(None), Ok(0));
    assert_eq!(take(Some(2)), Ok(2));
    assert_eq!([take(None), take(None), take(None)], [Ok(1), Ok(3), Ok(4)]);
    assert_eq!([take(Some(2)), take(Some(2))], [Ok(6), Err(FrameError::Exhausted { color: Some(Color(2)) })]);
    assert_eq!(take(Some(4)), Err(FrameError::NoSuchColor { color: Color(4), colors: 4 }));
}

#[test]
fn a_seed_repeats_its_order_and_another_differs() {
    let draw = |seed| {
        let mut frames = Frames::with(FramePolicy::Random, 1 << 20, 128, seed);
        (0..100).map(|_| frames.allocate(None).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}

#[test]
fn random_frames_spread_evenly_over_colors() {
    let mut frames = Frames::with(FramePolicy::Random, 1 << 20, 16, 3);
    let mut drawn = [0_u32; 16];
    for _ in 0..16_000 {
        let frame = frames.allocate(None).unwrap();
        drawn[usize::from(frames.color(frame).0)] += 1;
    }
    assert!(drawn.iter().all(|count| (850..1150).contains(count)), "{drawn:?}");
}

proptest! {
    #[test]
    fn frames_are_handed_out_once_and_to_the_last(
        random in any::<bool>(),
        count in 0_u64..300,
        colors in 1_u16..40,
        seed in any::<u64>(),
        wishes in prop::collection::vec(prop::option::of(0_u16..40), 0..400),
    ) {
        let policy = if random { FramePolicy::Random } else { FramePolicy::Sequential };
        let mut frames = Frames::with(policy, count, colors, seed);
        let mut free: BTreeSet<u64> = (0..count).collect();
        let rest = std::iter::repeat_n(None, count as usize + 1);
        for wish in wishes.into_iter().chain(rest) {
            let color = wish.map(Color);
            let fits = |frame: &u64| color.is_none_or(|color| frame % u64::from(colors) == u64::from(color.0));
            match frames.allocate(color) {
                Ok(FrameNumber(frame)) => {
                    prop_assert!(free.remove(&frame), "frame {} was not free", frame);
                    prop_assert!(fits(&frame));
                }
                Err(FrameError::NoSuchColor { color, .. }) => prop_assert!(color.0 >= colors),
                Err(FrameError::Exhausted { .. }) => prop_assert!(!free.iter().any(fits)),
            }
        }
        prop_assert!(free.is_empty());
    }
}

//! Thesis chapter 7 at small size: one set, two jobs of the longest period, periods of 0.5 to 4 ms. `docs/reproduction.md`
//! has the figures of a larger size.

#[path = "../examples/chapter_7/run.rs"]
#[allow(dead_code)]
mod run;

use run::{Memories, Partitioning, Size, draw, evaluate, machine};
use solo_model::{Bytes, PerMille};
use std::path::Path;

/// What the thesis says of its sets (7.3.1), and what the heuristics make of them: CAP keeps a color on one core.
#[test]
fn sets_are_drawn_and_placed_as_the_thesis_says() {
    let mut torn = 0;
    for set in 0..10 {
        let (tasks, cores) = draw(set, 1);
        assert!((23..=30).contains(&tasks.len()));
        let (cap, wfd) = (cores(Partitioning::Cap), cores(Partitioning::Wfd));
        for color in 0..8_u16 {
            let homes = |cores: &[usize]| {
                let own = tasks.iter().zip(cores).filter(|(task, _)| task.color == color);
                let mut homes: Vec<usize> = own.map(|(_, core)| *core).collect();
                assert!((2..=6).contains(&homes.len()));
                homes.sort_unstable();
                homes.dedup();
                homes.len()
            };
            assert_eq!(homes(&cap), 1);
            torn += usize::from(homes(&wfd) > 1);
        }
    }
    assert!(torn >= 72, "of 80 groups, {torn}");
}

/// Figs. 79 to 82: what CAP places meets its deadlines; the same tasks placed without regard to colors execute for longer
/// and miss some.
#[test]
fn tasks_of_a_color_on_one_core_meet_their_deadlines() {
    let (platform, overheads) = machine(Path::new("../.."));
    let memories = Memories { wss: Bytes::from_kib(128), writes: PerMille::new(330).expect("a third") };
    let [cap, wfd] = evaluate(&platform, &overheads, memories, Size { sets: 1, jobs: 1, scale: 20 });
    println!("{cap:?} {wfd:?}");
    assert!(cap.jobs >= 50, "{cap:?}");
    assert_eq!(cap.late, 0, "{cap:?}");
    assert!(wfd.late > 0, "{wfd:?}");
    assert!(wfd.mean > cap.mean, "{cap:?} {wfd:?}");
}

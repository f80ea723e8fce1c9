//! The example of single-core equivalence, section 5, on its first core, as the specification states it.

use crate::{
    Device, Impossible, Leg, Offsets, Partition, Problem, Resource, Step, Transfer, Violation, exact, hos,
};
use solo_model::CoreId;
use solo_model::units::Duration;

fn units(n: u64) -> Duration {
    Duration::new(n)
}

fn transfer(device: u16) -> Option<Transfer> {
    Some(Transfer { device: Device(device), physical: units(0), transfer: units(1) })
}

/// Partition 1: 6 of 18, partition 2: 12 of 36, all transfers within one unit.
fn problem() -> Problem {
    let partition = |period, processing, first| Partition {
        input: transfer(first),
        output: transfer(first + 1),
        ..Partition::new(CoreId(1), units(period), units(processing))
    };
    Problem::new(vec![partition(18, 6, 0), partition(36, 12, 2)]).unwrap()
}

/// From the begins of input, processing and output.
fn at(input: u64, processing: u64, output: u64) -> Offsets {
    Offsets::new([input, input, processing, output, output + 1].map(units))
}

#[test]
fn the_only_offset_of_the_second_partition_is_six() {
    for offset in 0..18 {
        // Inputs right before, outputs right after: on the I/O core they meet for some offsets, which is not asked here.
        let offsets = [at(17, 18, 24), at(35 + offset, 36 + offset, 48 + offset)];
        let on_core =
            |violation: &Violation| matches!(violation, Violation::Meet { resource: Resource::Core(_), .. });
        let meets = problem().violations(&offsets).iter().any(on_core);
        assert_eq!(meets, offset != 6, "{offset}");
    }
}

#[test]
fn fixed_begins_are_kept_or_refused_with_the_numbers() {
    for offset in 0..18 {
        let mut partitions = problem().partitions().to_vec();
        partitions[0].fixed[Step::Processing as usize] = Some(units(0));
        partitions[1].fixed[Step::Processing as usize] = Some(units(offset));
        let problem = Problem::new(partitions).unwrap();
        let refused = problem.impossible();
        let solved = exact::solve(&problem, 1_000_000);
        if offset == 6 {
            let exact::ExactAnswer::Solved(offsets) = solved else { panic!("there is one") };
            assert_eq!((problem.violations(&offsets), refused), (vec![], vec![]));
            assert_eq!(offsets[1].begin(Step::Processing).get() % 36, 6);
        } else {
            assert_eq!(solved, exact::ExactAnswer::Proved);
            let Impossible::Fixed { distance, least, most, modulus, .. } = refused[0] else {
                panic!("{refused:?}")
            };
            assert_eq!([distance, least, most, modulus].map(Duration::get), [offset, 6, 6, 18]);
        }
    }
}

#[test]
fn the_papers_table_is_accepted_and_an_output_a_unit_earlier_is_not() {
    let problem = problem();
    assert_eq!(problem.violations(&[at(17, 18, 24), at(5, 6, 18)]), []);
    let leg = Leg { partition: 1, step: Step::DeviceOutput };
    let early = Violation::Order { leg, begins: units(17), earliest: units(18) };
    assert!(problem.violations(&[at(17, 18, 24), at(5, 6, 17)]).contains(&early));
    // A period later it is in order, too late, and in the way of the first partition's input.
    let late = Violation::Late { partition: 1, takes: units(49), latency: units(36) };
    let found = problem.violations(&[at(17, 18, 24), at(5, 6, 53)]);
    assert!(found.contains(&late) && found.len() == 2, "{found:?}");
}

#[test]
fn both_solvers_find_a_table() {
    let problem = problem();
    let exact::ExactAnswer::Solved(offsets) = exact::solve(&problem, 1_000_000) else {
        panic!("there is one")
    };
    assert_eq!(problem.violations(&offsets), []);
    for seed in 0..100 {
        let hos::HosAnswer::Solved { offsets, .. } = hos::solve(&problem, seed, hos::Effort::default())
        else {
            panic!("{seed}: not found");
        };
        assert_eq!(problem.violations(&offsets), [], "{seed}");
    }
}

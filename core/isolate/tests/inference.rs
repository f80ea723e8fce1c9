//! Bank functions from timings: synthetic machines with known functions, with and without noise.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use solo_isolate::Classes;
use solo_isolate::map::{InferenceError, Measured, Pair, infer, threshold};
use solo_model::platform::XorBits;
use solo_model::{Bytes, Cycles};

const MEMORY: Bytes = Bytes::new(1 << 32);
const PAGE: Bytes = Bytes::from_kib(4);

/// xeon-w3530's bank bits; the XOR pairs of PALLOC's README; a map with a three-bit function.
const MACHINES: [&[u64]; 3] = [
    &[1 << 12, 1 << 13, 1 << 19, 1 << 20],
    &[1 << 13 | 1 << 17, 1 << 14 | 1 << 18, 1 << 15 | 1 << 19, 1 << 16 | 1 << 20],
    &[1 << 18, 1 << 19, 1 << 21 | 1 << 20 | 1 << 25],
];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Pairs measured on a machine with these functions; `noise` of a thousand answers are wrong.
fn measure(functions: &[u64], pairs: usize, noise: u64, seed: u64) -> Vec<Pair> {
    let mut random = Random(seed | 1);
    let mut address = || (random.next() % MEMORY.get()) & !0xfff;
    let bank =
        |address: u64| functions.iter().map(|mask| (address & mask).count_ones() & 1).collect::<Vec<_>>();
    let addresses: Vec<(u64, u64)> = (0..pairs).map(|_| (address(), address())).collect();
    let mut dice = Random(seed.wrapping_mul(77) | 1);
    let measured = |(a, b): (u64, u64)| {
        let wrong = dice.next() % 1000 < noise;
        Pair { a, b, conflict: (bank(a) == bank(b)) != wrong }
    };
    addresses.into_iter().map(measured).collect()
}

fn classes(functions: &[u64]) -> Classes {
    Classes::new(&functions.iter().copied().map(XorBits).collect::<Vec<_>>())
}

#[test]
fn clean_timings_give_the_functions_themselves() {
    for machine in MACHINES {
        let found = infer(&measure(machine, 3000, 0, 5), PAGE, MEMORY, 1).unwrap();
        assert!(Classes::new(&found.functions).equivalent(&classes(machine)), "{found:?}");
        assert_eq!((found.false_conflicts, found.missing_conflicts), (0, 0));
        // Of equivalent functions those with the fewest bits.
        let mut expected: Vec<u64> = machine.to_vec();
        expected.sort_unstable();
        assert_eq!(found.functions.iter().map(|function| function.0).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn noise_is_tolerated_and_reported() {
    for machine in MACHINES {
        let found = infer(&measure(machine, 6000, 5, 9), PAGE, MEMORY, 1).unwrap();
        assert!(Classes::new(&found.functions).equivalent(&classes(machine)), "{found:?}");
        assert!((3..=8).contains(&found.noise_per_mille()), "{}", found.noise_per_mille());
    }
}

#[test]
fn timings_without_structure_are_refused() {
    let mut random = Random(3);
    let mut address = || random.next() % MEMORY.get();
    let pairs: Vec<Pair> =
        (0..2000).map(|at| Pair { a: address(), b: address(), conflict: at % 3 == 0 }).collect();
    assert!(matches!(infer(&pairs, PAGE, MEMORY, 1), Err(InferenceError::TooNoisy { .. })));
    let never: Vec<Pair> = pairs.iter().map(|pair| Pair { conflict: false, ..*pair }).collect();
    assert_eq!(infer(&never, PAGE, MEMORY, 1), Err(InferenceError::OneSided { conflicts: 0, pairs: 2000 }));
    let few = &measure(MACHINES[0], 60, 0, 4);
    assert!(matches!(infer(few, PAGE, MEMORY, 1), Err(InferenceError::Undetermined { .. })));
}

#[test]
fn a_threshold_parts_two_groups_of_times() {
    let times: Vec<Cycles> =
        (0..100).map(|at| Cycles::new(if at % 8 == 0 { 320 } else { 200 } + at % 5)).collect();
    let limit = threshold(&times).unwrap().get();
    assert!((206..320).contains(&limit), "{limit}");
    assert_eq!(threshold(&[Cycles::new(7), Cycles::new(7)]), None);
    assert_eq!(threshold(&[]), None);
    let measured = Measured { a: 0, b: 1 << 20, time: Cycles::new(321) };
    assert!(measured.time.get() > limit);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn any_independent_functions_are_found(
        masks in proptest::collection::vec(1_u64..1 << 14, 1..5),
        seed in any::<u64>(),
    ) {
        let masks: Vec<u64> = masks.into_iter().map(|mask| mask << 12).collect();
        let truth = classes(&masks);
        // Dependent functions make fewer banks than their number says.
        let found = infer(&measure(&masks, 3000, 2, seed), PAGE, MEMORY, seed).unwrap();
        let found = Classes::new(&found.functions);
        prop_assert!(masks.iter().all(|mask| {
            let with = classes(&[found.functions().iter().map(|f| f.0).collect::<Vec<_>>(), vec![*mask]].concat());
            // Adding a true function to the found ones must not make them finer.
            finer(&found, &with)
        }), "{found:?} against {truth:?}");
    }
}

/// True where both tell the same addresses apart, tried on a few thousand.
fn finer(coarse: &Classes, fine: &Classes) -> bool {
    let mut seen = std::collections::HashMap::new();
    let mut random = Random(99);
    (0..4000).all(|_| {
        let address = random.next() % MEMORY.get();
        *seen.entry(coarse.of(address)).or_insert(fine.of(address)) == fine.of(address)
    })
}

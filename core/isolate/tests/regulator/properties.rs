//! Invariants under any sequence of events.

use crate::bench::{Bench, config};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use solo_isolate::regulator::{Direction, Regulator, Throttle};
use solo_model::isolation::{Donation, Prediction, Reclaim, Sharing, WrongDonation};
use solo_model::{CoreId, Duration, Events};

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(usize, u64),
    Switch(usize, bool),
    Pass(u64),
    Overflow(usize),
}

fn steps(cores: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..cores, 1_u64..3000).prop_map(|(core, events)| Step::Read(core, events)),
        1 => (0..cores, any::<bool>()).prop_map(|(core, runs)| Step::Switch(core, runs)),
        3 => (1_u64..700_000).prop_map(Step::Pass),
        1 => (0..cores).prop_map(Step::Overflow),
    ];
    proptest::collection::vec(step, 1..200)
}

fn any_reclaim() -> impl Strategy<Value = Reclaim> {
    prop_oneof![Just(Reclaim::Off), Just(Reclaim::Pool), Just(Reclaim::Peers)]
}

fn any_sharing() -> impl Strategy<Value = Sharing> {
    prop_oneof![Just(Sharing::None), Just(Sharing::Spare), Just(Sharing::Proportional)]
}

fn any_prediction() -> impl Strategy<Value = Prediction> {
    prop_oneof![Just(Prediction::EwmaHalf), Just(Prediction::EwmaQuarter), Just(Prediction::Lms)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn reservations_are_conserved_and_nobody_is_forgotten(
        steps in steps(3),
        reclaim in any_reclaim(),
        sharing in any_sharing(),
        prediction in any_prediction(),
        strict in any::<bool>(),
    ) {
        let budgets = [1500_u64, 700, 300];
        let mut config = config(&budgets);
        (config.reclaim, config.sharing, config.prediction) = (reclaim, sharing, prediction);
        config.quantum = Events::new(200);
        config.tasks[0].donates = Donation::Nothing;
        config.idle_donates[0] = Donation::Nothing;
        config.wrong_donation = if strict { WrongDonation::Throttle } else { WrongDonation::Overdraw };
        let mut bench = Bench::new(config);
        for step in steps {
            match step {
                Step::Read(core, events) => {
                    let _ = bench.read(core, events);
                    // The hard task is stopped only by its whole reservation.
                    prop_assert!(bench.throttle(0) == Throttle::Off || bench.limit(0) >= budgets[0]);
                }
                Step::Switch(core, runs) if bench.throttle(core) == Throttle::Off => {
                    let _ = bench.run(core, runs.then_some(core as u32));
                }
                Step::Switch(..) => {}
                Step::Overflow(core) => drop(bench.overflow(core)),
                Step::Pass(time) => {
                    let then = bench.now + Duration::new(time);
                    while bench.regulator.next_boundary() <= then {
                        bench.next_period();
                        for core in 0..3 {
                            prop_assert_eq!(bench.throttle(core), Throttle::Off, "throttled beyond a period");
                        }
                    }
                    bench.now = then;
                }
            }
            // Limits and unclaimed gifts make up the reservations, plus what was overdrawn. An idle core that
            // has not begun the period yet has no part in it.
            let begun = |core: &usize| !bench.regulator.is_due(CoreId(*core as u16), bench.now);
            let limits: u64 = (0..3).filter(begun).map(|core| bench.limit(core)).sum();
            let sum = limits + bench.regulator.unclaimed(Direction::Reads).get();
            let overdraft = bench.regulator.conservation().overdraft.get();
            prop_assert!(sum <= 2500 + overdraft, "{sum}");
        }
        bench.next_period();
        bench.next_period();
        let conservation = bench.regulator.conservation();
        prop_assert_eq!(conservation.violations, 0, "{:?}", conservation);
        if strict || reclaim == Reclaim::Off {
            prop_assert_eq!(conservation.overdraft, Events::ZERO);
        }
        for core in 0..3 {
            prop_assert_eq!(bench.regulator.account(CoreId(core)).unwrap().lost_overflows, 0);
        }
    }
}

#[test]
fn the_state_of_a_core_fits_some_cache_lines() {
    let bytes = Regulator::BYTES_PER_CORE;
    println!("{bytes} bytes of regulator state a core");
    assert!((1..=16 * 64).contains(&bytes), "{bytes} bytes");
}

//! What a decision of the bandwidth regulator costs, counted in instructions from outside:
//!
//! ```text
//! cargo build --release -p solo-isolate --example regulator_cost
//! for what in period throttle grant; do
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/regulator_cost $what 100000
//! done
//! ```
//!
//! Each run begins so many periods on one of eight cores; `throttle` adds an overflow that stops the core, `grant` one
//! that is answered from the pool. The differences between the runs are the costs of an overflow; what a run of 0
//! periods takes is the program itself.

use solo_isolate::Regulator;
use solo_isolate::regulator::{
    Allowance, Config, CounterValue, DIRECTIONS, PerDirection, TaskConfig, Throttle,
};
use solo_model::isolation::{Donation, Prediction, Reclaim, Sharing, WrongDonation};
use solo_model::{CoreId, Duration, EventId, Events, Instant, TaskId};
use std::hint::black_box;

const CORES: usize = 8;
const BUDGET: u64 = 1000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let what = words.first().map_or("period", String::as_str);
    let periods: u64 = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(100_000);
    let mut regulator = Regulator::new(config(what == "grant"));
    println!("{} bytes of state for each core", Regulator::BYTES_PER_CORE);
    let mut used = [0; CORES];
    for core in 0..CORES {
        let _ = regulator.on_period(CoreId(core as u16), Instant::ZERO, readings(0));
        let _ =
            regulator.switched(CoreId(core as u16), Instant::ZERO, readings(0), Some(TaskId(core as u32)));
    }
    let (core, mut stopped) = (CoreId(0), 0_u64);
    for _ in 0..periods {
        let now = regulator.next_boundary();
        if what == "grant" {
            // A neighbour that uses nothing gives what it has.
            let _ = regulator.on_period(CoreId(1), now, readings(used[1]));
        }
        let _ = black_box(regulator.on_period(core, now, readings(used[0])));
        if what != "period" {
            used[0] += BUDGET;
            let decision =
                black_box(regulator.overflow(core, now + Duration::from_micros(10), readings(used[0])));
            stopped += u64::from(decision.throttle == Throttle::Core);
        }
    }
    println!("{what}: {periods} periods, stopped {stopped} times");
}

fn readings(count: u64) -> PerDirection<CounterValue> {
    PerDirection([CounterValue(count); DIRECTIONS])
}

fn config(reclaims: bool) -> Config {
    let own = Some(PerDirection([Allowance::Fixed { events: Events::new(BUDGET), fraction: 0 }; DIRECTIONS]));
    Config {
        period: Duration::from_millis(1),
        directions: 1,
        events: PerDirection([EventId::LLC_MISSES; DIRECTIONS]),
        counter_width: 48,
        cores: vec![own; CORES],
        steps: Vec::new(),
        tasks: vec![TaskConfig::NONE; CORES],
        idle_donates: vec![Donation::Surplus; CORES],
        sharing: Sharing::None,
        reclaim: if reclaims { Reclaim::Pool } else { Reclaim::Off },
        prediction: Prediction::EwmaHalf,
        quantum: Events::new(BUDGET),
        wrong_donation: WrongDonation::Overdraw,
        carry_over: false,
        charge_per_mille: 0,
        guaranteed: Events::new(BUDGET * CORES as u64),
        in_flight: Events::ZERO,
    }
}

//! Table 2 of the single-core-equivalence paper: what its bounds say of transactions, and the bounds that these say again.
//!
//! `cargo run -p solo-prove --example sce_table_2`

use solo_model::{Duration, Picoseconds};
use solo_prove::wcet::{Arbiter, Regulation, stall_even, transactions_of};

/// In tenths of a millisecond: alone, and `C_sce` as printed.
const ROWS: [(&str, u64, u64); 7] = [
    ("disparity", 1711, 5987),
    ("localization", 633, 1585),
    ("mser", 151, 225),
    ("tracking", 1081, 3359),
    ("multi-ncut", 6701, 7617),
    ("sift", 4713, 9675),
    ("texture", 4401, 14_656),
];

/// As printed: 4.96e-8 s.
const L_MAX: Picoseconds = Picoseconds::new(49_600);

fn main() {
    let times = (Picoseconds::new(1), L_MAX);
    let even = Regulation::even(Duration::from_millis(1), 8, times, Arbiter::RoundRobin);
    println!("Q = {} transactions a core and ms", even.map_or(0, |even| even.budget(0)));
    println!("{:<14}{:>10}{:>10}{:>12}{:>12}{:>10}", "", "alone", "printed", "mu", "C_sce", "off");
    for (name, alone, printed) in ROWS {
        let [alone, printed] = [alone, printed].map(|tenths| Duration::from_micros(tenths * 100));
        let mu = transactions_of(printed.saturating_sub(alone), 8, L_MAX);
        let again = alone.saturating_add(stall_even(8, mu, L_MAX));
        let off = again.get().abs_diff(printed.get());
        let ms = |time: Duration| format!("{}.{:03}", time.get() / 1_000_000, time.get() / 1000 % 1000);
        println!("{name:<14}{:>10}{:>10}{mu:>12}{:>12}{off:>7} ns", ms(alone), ms(printed), ms(again));
    }
}

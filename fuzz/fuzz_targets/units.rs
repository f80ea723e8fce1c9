//! Any text as a quantity: never a panic, and what is read prints and reads back unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_scenario::units::{CLOCK, FINE_TIME, RATE, SHARE, SIZE, TIME};

fuzz_target!(|text: &str| {
    for kind in [TIME, FINE_TIME, SIZE, RATE, CLOCK, SHARE] {
        if let Ok(value) = kind.parse(text) {
            assert_eq!(kind.parse(&kind.print(value)), Ok(value));
        }
    }
});

//! Any text as a cache of `solo trace`: never a panic, and what is accepted is said as it is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_trace::{CacheSpec, Geometry};

fuzz_target!(|text: &str| {
    if let Ok(geometry) = text.parse::<Geometry>() {
        assert_eq!(geometry.to_string().parse::<Geometry>(), Ok(geometry));
        assert!(geometry.sets() > 0 && geometry.ways() > 0 && geometry.line().is_power_of_two());
    }
    if let Ok(spec) = text.parse::<CacheSpec>() {
        assert!(!spec.levels.is_empty());
    }
});

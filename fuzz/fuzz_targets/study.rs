//! Any text as a study file: never a panic; an error says something, and a plan that is accepted has blocks that add up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_study::{Overrides, parse};
use std::path::Path;

fuzz_target!(|text: &str| {
    match parse(text, Path::new("/nowhere/fuzz.toml"), Overrides::default()) {
        Ok(plan) => {
            assert!(!plan.distributions.is_empty() && !plan.curves.is_empty() && !plan.caps.is_empty());
            assert!(plan.curves.iter().all(|curve| curve.inflation < plan.inflations.len()));
            let blocks = plan.blocks();
            assert!(blocks > 0 && plan.block(blocks).is_none());
            let last = plan.block(blocks - 1).expect("there is a last block");
            assert!(last.distribution < plan.distributions.len() && last.first + last.sets == plan.sets);
            assert_eq!(plan.hash(), plan.hash());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

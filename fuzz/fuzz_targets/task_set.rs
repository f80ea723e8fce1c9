//! Any bytes as a line of `solo prove --jsonl`: never a panic; a refusal says what is wrong, and a set that is accepted
//! is judged by every test within its budget and is written as it is read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_prove::catalogue::TESTS;
use solo_prove::jsonl::{BatchOptions, judge, parse};
use solo_prove::peer;

fuzz_target!(|line: &[u8]| {
    match parse(line) {
        Ok(set) => {
            assert_eq!(parse(peer::line(&set).trim_end().as_bytes()), Ok(set.clone()));
            let tests = Some(TESTS.iter().collect());
            let verdicts = judge(&set, &BatchOptions { tests, threads: 1, steps: 20_000, ..BatchOptions::default() });
            assert_eq!(verdicts.len(), TESTS.len());
        }
        Err(refusal) => assert!(!refusal.problem.is_empty()),
    }
});

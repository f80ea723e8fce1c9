//! Any bytes as a trace, plain, compressed or compact: never a panic, sizes within bounds, and whatever is read can be
//! profiled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_trace::{Profile, TraceError, source};
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let mut profile = Profile::new(64, 100);
    let read = source(Box::new(Cursor::new(bytes.to_vec()))).and_then(|mut source| {
        source.for_each(|reference| {
            assert!((1..=65_536).contains(&reference.size));
            // A hostile size makes a thousand accesses of one reference: enough of them.
            if reference.size <= 4096 {
                profile.refer(reference);
            }
        })
    });
    if let Err(TraceError::Malformed { line, .. }) = &read {
        assert!(*line > 0);
    }
    let _ = profile.report(5);
});

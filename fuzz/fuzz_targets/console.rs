//! Any bytes as what the image says to its host: never a panic; what is damaged is said to be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_bare::frame::Decoder;
use solo_qemu::BootReport;

fuzz_target!(|bytes: &[u8]| {
    let mut decoder = Decoder::default();
    for piece in bytes.chunks(97) {
        decoder.feed(piece);
        while let Ok(Some(_)) = decoder.next_frame() {}
    }
    assert!(decoder.taken() <= bytes.len());
    let _ = BootReport::heard(&String::from_utf8_lossy(bytes));
});

//! Calls of an emulator's host (semihosting, Arm's specification of 2023-10).

use core::arch::asm;

const OPEN: u64 = 0x01;
const WRITE: u64 = 0x05;
/// How often a host that takes nothing is asked: some microseconds each. A busy one lets who reads wait for hundreds of milliseconds.
const TRIES: u32 = 1_000_000;
const EXIT: u64 = 0x18;
/// The program has ended as it meant to; the status follows.
const APPLICATION_EXIT: u64 = 0x2_0026;

/// Asks the host of an emulator that answers such calls.
fn ask(operation: u64, block: &[u64]) -> u64 {
    let mut result = operation;
    // SAFETY: the host reads the block and what it points to, which is not written meanwhile.
    unsafe { asm!("hlt #0xf000", inout("x0") result, in("x1") block.as_ptr(), options(nostack)) };
    result
}

/// The host's standard output.
pub fn open_output() -> u64 {
    let name = b":tt\0";
    ask(OPEN, &[name.as_ptr() as u64, 4, 3])
}

/// Writes to what [`open_output`] opened, until the host has taken all or has taken nothing for [`TRIES`] times.
pub fn write(output: u64, mut bytes: &[u8]) {
    let mut tries = 0;
    while !bytes.is_empty() && tries < TRIES {
        // The host answers with how many bytes it left; after an error with more than there were.
        let left = ask(WRITE, &[output, bytes.as_ptr() as u64, bytes.len() as u64]) as usize;
        let taken = bytes.len().saturating_sub(left);
        tries = if taken == 0 { tries + 1 } else { 0 };
        bytes = &bytes[taken..];
    }
}

/// Ends the emulator with `status`.
pub fn exit(status: i32) {
    ask(EXIT, &[APPLICATION_EXIT, status as u64]);
}

//! What programming and reading a counter comes to, as functions of their own for `tests/object_code.rs` to disassemble.
//! Nothing here is ever executed: it is ring 0's.
#![allow(unsafe_code)]
#![cfg_attr(not(all(target_arch = "x86_64", target_os = "linux")), allow(dead_code))]

use solo_hal::CounterId;
use solo_x86_64::pmu::diluted::{self, AmdExtended, Intel};
use solo_x86_64::pmu::registers::Processor;
use solo_x86_64::pmu::{Select, Unit};
use std::hint::black_box;

/// EXT_SNOOP, all answers of this agent: the paper's event.
const EXT_SNOOP: Select = Select::new(0x77, 0x0b);

/// The paper's example: counter 0 counts EXT_SNOOP.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn solo_program_known() {
    // SAFETY: never called; the object code is what counts.
    diluted::program::<Intel>(&mut unsafe { Processor::own() }, 0, EXT_SNOOP);
}

/// Any counter, any event.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn solo_program_any(counter: u8, event: u8, mask: u8) {
    // SAFETY: as above.
    diluted::program::<Intel>(&mut unsafe { Processor::own() }, counter, Select::new(event.into(), mask));
}

/// The same on AMD, whose registers come in pairs.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn solo_program_known_amd() {
    // SAFETY: as above.
    diluted::program::<AmdExtended>(&mut unsafe { Processor::own() }, 2, Select::new(0x64, 0x08));
}

/// Counter 0.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn solo_read_known() -> u64 {
    // SAFETY: as above.
    diluted::read(&unsafe { Processor::own() }, 0)
}

/// The whole mediator: any counter of whatever unit was found, or what is wrong.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn solo_read_any(unit: &Unit<Processor>, counter: u8) -> u64 {
    unit.read(CounterId(counter)).unwrap_or(u64::MAX)
}

fn main() {
    black_box((
        solo_program_known as extern "C" fn(),
        solo_program_known_amd as extern "C" fn(),
        solo_program_any as extern "C" fn(u8, u8, u8),
        solo_read_known as extern "C" fn() -> u64,
        solo_read_any as extern "C" fn(&Unit<Processor>, u8) -> u64,
    ));
}

//! What is left of the mediators in object code: hpc-invalidations, section 3, gives 32 bytes and 11 instructions for
//! programming a counter, 100 bytes and 40 instructions for reading one. Nothing here is ever executed: it is ring 0's.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

use solo_hal::CounterId;
use solo_x86_64::pmu::diluted::{self, AmdExtended, Intel};
use solo_x86_64::pmu::registers::Processor;
use solo_x86_64::pmu::{Select, Unit};
use std::hint::black_box;
use std::process::Command;

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

/// What a function comes to.
#[derive(Debug)]
struct Code {
    bytes: u64,
    instructions: usize,
    calls: usize,
    text: String,
}

fn disassemble(function: &str) -> Result<Code, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn", "-M", "intel", &format!("--disassemble={function}")])
        .arg(program)
        .output()
        .map_err(|error| format!("objdump: {error}; apt-get install binutils"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = |line: &str| {
        let (address, instruction) = line.split_once(':')?;
        Some((u64::from_str_radix(address.trim(), 16).ok()?, instruction.trim().to_owned()))
    };
    // Behind the last return lies what fills the space to the next function.
    let all: Vec<(u64, String)> = text.lines().filter_map(line).collect();
    let end = all.iter().rposition(|(_, instruction)| instruction.starts_with("ret"));
    let end = end.ok_or_else(|| format!("{function} was not found or does not return:\n{text}"))?;
    let last = all[end].0 + 1;
    Ok(Code {
        bytes: last - all[0].0,
        instructions: end + 1,
        calls: all[..=end].iter().filter(|(_, instruction)| instruction.starts_with("call")).count(),
        text,
    })
}

#[test]
fn programming_and_reading_counters_is_as_short_as_the_paper_says_and_calls_nothing() {
    black_box((
        solo_program_known as extern "C" fn(),
        solo_program_known_amd as extern "C" fn(),
        solo_program_any as extern "C" fn(u8, u8, u8),
        solo_read_known as extern "C" fn() -> u64,
        solo_read_any as extern "C" fn(&Unit<Processor>, u8) -> u64,
    ));
    if Command::new("objdump").arg("--version").output().is_err() {
        println!("skipped: object code: objdump is missing; apt-get install binutils");
        return;
    }
    // Half of the paper's figures where event and counter are known, the whole of them where they are not.
    for (function, bytes, instructions) in [
        ("solo_program_known", 16, 5),
        ("solo_program_known_amd", 16, 5),
        ("solo_program_any", 32, 11),
        ("solo_read_known", 50, 20),
        ("solo_read_any", 100, 40),
    ] {
        let code = disassemble(function).unwrap();
        let (found, many) = (code.bytes, code.instructions);
        println!("{function}: {found} bytes, {many} instructions (at most {bytes}, {instructions})");
        assert_eq!(code.calls, 0, "{}", code.text);
        assert!(found <= bytes && many <= instructions, "{code:?}");
    }
}

//! What is left of the mediators in object code: hpc-invalidations, section 3, gives 32 bytes and 11 instructions for
//! programming a counter, 100 bytes and 40 instructions for reading one. `examples/object_code_subject.rs` holds them as
//! functions.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::path::{Path, PathBuf};
use std::process::Command;

/// What a function comes to.
#[derive(Debug)]
struct Code {
    bytes: u64,
    instructions: usize,
    calls: usize,
    text: String,
}

/// The functions as a release has them: built here, for what a test's own profile makes of them (and incremental
/// compilation, which inlines less) is not what an image contains.
fn release_build() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("object-code");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--example", "object_code_subject", "--manifest-path"]);
    cargo.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).arg("--target-dir").arg(&folder);
    cargo.env("CARGO_INCREMENTAL", "0").env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    folder.join("release/examples/object_code_subject")
}

fn disassemble(program: &Path, function: &str) -> Result<Code, String> {
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
    if Command::new("objdump").arg("--version").output().is_err() {
        println!("skipped: object code: objdump is missing; apt-get install binutils");
        return;
    }
    let program = release_build();
    // Half of the paper's figures where event and counter are known, the whole of them where they are not.
    for (function, bytes, instructions) in [
        ("solo_program_known", 16, 5),
        ("solo_program_known_amd", 16, 5),
        ("solo_program_any", 32, 11),
        ("solo_read_known", 50, 20),
        ("solo_read_any", 100, 40),
    ] {
        let code = disassemble(&program, function).unwrap();
        let (found, many) = (code.bytes, code.instructions);
        println!("{function}: {found} bytes, {many} instructions (at most {bytes}, {instructions})");
        assert_eq!(code.calls, 0, "{}", code.text);
        assert!(found <= bytes && many <= instructions, "{code:?}");
    }
}

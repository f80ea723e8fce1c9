//! How deep the kernel's paths go on the stack of the thread that they find: a bound by the object code of the images, beside what is kept
//! for them.
//!
//! What a function takes is what it pushes and subtracts; a path takes what its functions take. Calls by name, and those through the linker's
//! table of addresses, are followed. A call through a register is one of a monitor or a placement, the only objects that the kernel calls so:
//! the deepest of all their methods is taken, and of what a placement asks in turn. What ends in a panic is left out: the machine stops there.

#[path = "common/code.rs"]
mod code;

use code::{Code, Function, Level, hexadecimal};
use solo_qemu::{Host, InstructionSet, STACK_RESERVE};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an interrupt of a thread takes before the kernel's own code is called.
struct Arrival {
    /// What the processor and the assembly push, the room that aligns it included.
    pushed: u64,
    /// The function that the assembly calls.
    dispatch: &'static str,
    /// What a call pushes.
    call: u64,
}

impl Arrival {
    const fn on(instruction_set: InstructionSet) -> Self {
        match instruction_set {
            // Up to 15 bytes that align, five words by the processor, 17 by the stub.
            InstructionSet::X86_64 => Self { pushed: 15 + (5 + 17) * 8, dispatch: "trap_dispatch", call: 8 },
            // All registers; a call leaves where it comes from in one of them.
            InstructionSet::Arm64 => Self { pushed: 272, dispatch: "interrupt_dispatch", call: 0 },
        }
    }
}

/// The deepest paths from functions that were looked at: their bytes, and the functions on them.
struct Depths<'c> {
    code: &'c Code,
    call: u64,
    deepest: BTreeMap<(u64, Level), (u64, Vec<u64>)>,
}

/// Bytes that a function takes itself, on either instruction set.
fn own(function: &Function) -> u64 {
    let unknown = 1 << 40;
    let of = |(operation, operands): (&str, &str)| match operation {
        "push" => 8,
        "sub" if operands.ends_with(",%rsp") => {
            operands.split(',').next().and_then(hexadecimal).unwrap_or(unknown)
        }
        "sub" if operands.starts_with("sp, sp, ") => {
            let number =
                operands.split(", ").nth(2).and_then(|number| hexadecimal(number.trim_start_matches('#')));
            number.map_or(unknown, |number| if operands.ends_with("lsl #12") { number << 12 } else { number })
        }
        _ => operands
            .split_once("[sp, #-")
            .and_then(|(_, rest)| rest.strip_suffix("]!"))
            .map_or(0, |number| number.parse().unwrap_or(unknown)),
    };
    function.instructions.iter().map(|instruction| of((&instruction.operation, &instruction.operands))).sum()
}

impl Depths<'_> {
    /// The deepest path that begins with a function.
    fn path(&mut self, at: (u64, Level), above: &mut Vec<(u64, Level)>) -> (u64, Vec<u64>) {
        if let Some(known) = self.deepest.get(&at) {
            return known.clone();
        }
        let function = &self.code.functions[&at.0];
        assert!(!above.contains(&at), "{} calls itself: no bound", function.name);
        let own = own(function);
        let mut deepest = (own, Vec::new());
        above.push(at);
        for (position, to) in self.code.calls(function, at.1) {
            let (bytes, path) = self.path(to, above);
            // Whoever jumps to another function has given its own part of the stack back.
            let gone = !["call", "mov", "bl", "blr"].contains(&&*function.instructions[position].operation);
            let bytes = if gone { bytes.max(own) } else { own + self.call + bytes };
            if bytes > deepest.0 {
                deepest = (bytes, path);
            }
        }
        above.pop();
        deepest.1.insert(0, at.0);
        self.deepest.insert(at, deepest.clone());
        deepest
    }

    fn deepest_of(&mut self, roots: &[(u64, Level)]) -> (u64, Vec<u64>) {
        let paths = roots.iter().map(|&root| self.path(root, &mut Vec::new()));
        paths.collect::<Vec<_>>().into_iter().max().unwrap_or_default()
    }
}

/// No path of the kernel in this image needs more than is kept.
fn examine(code: &Code, instruction_set: InstructionSet) {
    let arrival = Arrival::on(instruction_set);
    let mut depths = Depths { code, call: arrival.call, deepest: BTreeMap::new() };
    let (objects, asked) = (code.objects(Level::Kernel), code.objects(Level::Object));
    assert!(objects.len() > 10 && asked.len() > 5, "{} objects, {} asked", objects.len(), asked.len());
    println!(
        "{instruction_set}, a method of a monitor or a placement: {} bytes",
        depths.deepest_of(&objects).0
    );
    println!("{instruction_set}, what a placement asks: {} bytes", depths.deepest_of(&asked).0);
    let dispatch = code.functions.values().find(|function| function.name == arrival.dispatch);
    let dispatch = own(dispatch.expect("what the assembly calls"));
    for (entry, before) in
        [("interrupt", arrival.pushed + 2 * arrival.call + dispatch), ("call", arrival.call)]
    {
        let roots: Vec<_> = code.entries(entry).into_iter().map(|root| (root, Level::Kernel)).collect();
        assert_eq!(roots.len(), 9, "one for each criterion");
        let (bytes, path) = depths.deepest_of(&roots);
        let needed = before + bytes;
        println!("{instruction_set}, {entry}: {needed} of {STACK_RESERVE} bytes, {before} of them before");
        for at in &path {
            let function = &code.functions[at];
            println!("    {:5}  {}", own(function), function.name);
        }
        assert!(bytes > 1000, "{entry}: only {bytes} bytes: something was not followed");
        assert!(needed <= STACK_RESERVE, "{entry}: {needed} bytes, {STACK_RESERVE} are kept");
    }
}

#[test]
fn no_path_of_the_kernel_needs_more_of_a_stack_than_is_kept_for_it() {
    let image = match Host::look().map(|host| host.build_image()) {
        Ok(Ok(image)) => image,
        Ok(Err(error)) => panic!("{error}"),
        Err(missing) => return println!("skipped: the depth of the kernel's paths: {missing}"),
    };
    let Some(code) = Code::of(image.path(), InstructionSet::X86_64) else {
        return println!("skipped: the depth of the kernel's paths: no objdump; apt-get install binutils");
    };
    examine(&code, InstructionSet::X86_64);
}

/// Builds the image for 64-bit Arm once more, as a file that has its symbols.
fn with_symbols() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (folder, target) = (workspace.join("target/rtos-symbols"), "aarch64-unknown-none-softfloat");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--package", "solo-aarch64", "--bin", "solo-rtos-arm64"]);
    cargo.args(["--target", target, "--target-dir"]).arg(&folder).env("SOLO_SYMBOLS", "1");
    cargo.env("SOLO_CRITERIA", "").env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.current_dir(&workspace).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join(target).join("release/solo-rtos-arm64")
}

#[test]
fn nor_does_any_on_64_bit_arm() {
    let skip = |why: &str| println!("skipped: the depth of the kernel's paths on 64-bit Arm: {why}");
    let host = match Host::look_for_programs(InstructionSet::Arm64) {
        Ok(host) => host,
        Err(missing) => return skip(&missing.to_string()),
    };
    if Command::new("aarch64-linux-gnu-objdump").arg("--version").output().is_err() {
        return skip("no aarch64-linux-gnu-objdump; apt-get install binutils-aarch64-linux-gnu");
    }
    let (image, symbols) = (host.build_image().unwrap_or_else(|error| panic!("{error}")), with_symbols());
    let code = Code::of(&symbols, InstructionSet::Arm64).expect("objdump is there");
    // What boots has no symbols, but it is this code.
    let (bytes, first) = (std::fs::read(image.path()).unwrap(), code.begins());
    let same = |at: &&u64| {
        let word = (**at - first) as usize;
        let found =
            bytes.get(word..word + 8).and_then(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
        found.is_some() && found == code.word(**at)
    };
    let (all, same) = (code.functions.len(), code.functions.keys().filter(same).count());
    assert!(all > 1000 && same == all, "{same} of {all} functions begin as in the image that boots");
    examine(&code, InstructionSet::Arm64);
}

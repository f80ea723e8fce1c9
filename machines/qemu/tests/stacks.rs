//! How deep the kernel's paths go on the stack of the thread that they find: a bound by the object code of the x86-64 image, beside what is
//! kept for them.
//!
//! What a function takes is what it pushes and subtracts; a path takes what its functions take. Calls by name, and those through the linker's
//! table of addresses, are followed. A call through a register is one of a monitor or a placement, the only objects that the kernel calls so:
//! the deepest of all their methods is taken, and of what a placement asks in turn. What ends in a panic is left out: the machine stops there.

#[path = "common/code.rs"]
mod code;

use code::{Code, Function, Level, hexadecimal};
use solo_qemu::{Host, STACK_RESERVE};
use std::collections::BTreeMap;

/// What an interrupt of a thread pushes before the kernel's own code: five words by the processor, the registers that its caller saves.
const FRAME: u64 = (5 + 10) * 8;

/// The deepest paths from functions that were looked at: their bytes, and the functions on them.
struct Depths<'c> {
    code: &'c Code,
    deepest: BTreeMap<(u64, Level), (u64, Vec<u64>)>,
}

/// Bytes that a function takes itself.
fn own(function: &Function) -> u64 {
    let of = |(operation, operands): (&str, &str)| match operation {
        "push" => 8,
        "sub" if operands.ends_with(",%rsp") => {
            operands.split(',').next().and_then(hexadecimal).unwrap_or(1 << 40)
        }
        _ => 0,
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
            let gone = function.instructions[position].operation.starts_with('j');
            let bytes = if gone { bytes.max(own) } else { own + 8 + bytes };
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

#[test]
fn no_path_of_the_kernel_needs_more_of_a_stack_than_is_kept_for_it() {
    let image = match Host::look().map(|host| host.build_image()) {
        Ok(Ok(image)) => image,
        Ok(Err(error)) => panic!("{error}"),
        Err(missing) => return println!("skipped: the depth of the kernel's paths: {missing}"),
    };
    let Some(code) = Code::of(image.path()) else {
        return println!("skipped: the depth of the kernel's paths: no objdump; apt-get install binutils");
    };
    let mut depths = Depths { code: &code, deepest: BTreeMap::new() };
    let (objects, asked) = (code.objects(Level::Kernel), code.objects(Level::Object));
    assert!(objects.len() > 10 && asked.len() > 5, "{} objects, {} asked", objects.len(), asked.len());
    println!("a method of a monitor or a placement: {} bytes at most", depths.deepest_of(&objects).0);
    println!("what a placement asks: {} bytes at most", depths.deepest_of(&asked).0);
    for entry in ["interrupt", "call"] {
        let roots: Vec<_> = code.entries(entry).into_iter().map(|root| (root, Level::Kernel)).collect();
        assert_eq!(roots.len(), 9, "one for each criterion");
        let (bytes, path) = depths.deepest_of(&roots);
        let needed = bytes + FRAME;
        println!("{entry}: {needed} of {STACK_RESERVE} bytes");
        for at in &path {
            let function = &code.functions[at];
            println!("    {:5}  {}", own(function), function.name);
        }
        assert!(bytes > 1000, "{entry}: only {bytes} bytes: something was not followed");
        assert!(needed <= STACK_RESERVE, "{entry}: {needed} bytes, {STACK_RESERVE} are kept");
    }
}

//! How deep the kernel's paths go on the stack of the thread that they find: a bound by the object code of the x86-64 image, beside what is
//! kept for them.
//!
//! What a function takes is what it pushes and subtracts; a path takes what its functions take. Calls by name, and those through the linker's
//! table of addresses, are followed. A call through a register is one of a monitor or a placement, the only objects that the kernel calls so:
//! the deepest of all their methods is taken. What ends in a panic is left out: the machine stops there.

use solo_qemu::{Host, STACK_RESERVE};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What an interrupt of a thread pushes before the kernel's own code: five words by the processor, the registers that its caller saves.
const FRAME: u64 = (5 + 10) * 8;

/// Functions that end the machine or tell of its end.
const ENDS: [&str; 9] = [
    "panic",
    "unwrap_failed",
    "expect_failed",
    "handle_error",
    "handle_alloc_error",
    "slice_index",
    "_fail",
    "assert_failed",
    "::rtos::finish::",
];

/// Objects that the kernel knows by their traits alone.
const OBJECTS: [&str; 2] =
    ["as solo_schedule::placement::Placement>::", "as solo_observe::monitor::Monitor>::"];

#[derive(Default)]
struct Function {
    name: String,
    /// Bytes that it takes itself.
    own: u64,
    /// Whom it calls, and whether it is gone by then.
    calls: BTreeSet<(bool, u64)>,
    calls_objects: bool,
}

/// The functions of an image by their addresses.
struct Code {
    functions: BTreeMap<u64, Function>,
    deepest: BTreeMap<u64, (u64, Vec<u64>)>,
}

/// Eight bytes of an ELF file by their address in memory.
fn word(elf: &[u8], address: u64) -> Option<u64> {
    let number = |at: usize| Some(u64::from_le_bytes(elf.get(at..at + 8)?.try_into().ok()?));
    let count = usize::from(u16::from_le_bytes(elf.get(0x38..0x3a)?.try_into().ok()?));
    let headers = number(0x20)? as usize;
    (0..count).map(|index| headers + index * 56).find_map(|header| {
        let (offset, begin, size) = (number(header + 8)?, number(header + 16)?, number(header + 32)?);
        (begin..begin + size).contains(&address).then(|| number((offset + address - begin) as usize))?
    })
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().trim_start_matches("$0x").trim_start_matches("0x"), 16).ok()
}

impl Function {
    fn add(&mut self, instruction: &str, elf: &[u8]) {
        let (operation, rest) = instruction.split_once(char::is_whitespace).unwrap_or((instruction, ""));
        let rest = rest.trim();
        // An address that is read may be called later.
        if let Some(slot) = rest.split_once("# ").filter(|_| rest.contains("(%rip)"))
            && matches!(operation, "call" | "jmp" | "mov")
        {
            let address =
                hexadecimal(slot.1.split(' ').next().unwrap_or("")).and_then(|slot| word(elf, slot));
            self.calls.extend(address.map(|address| (operation == "jmp", address)));
            return;
        }
        match operation {
            "push" => self.own += 8,
            "sub" if rest.ends_with(",%rsp") => {
                self.own += rest.split(',').next().and_then(hexadecimal).unwrap_or(1 << 40);
            }
            "call" if rest.starts_with('*') => self.calls_objects = true,
            "call" => self.calls.extend(rest.split(' ').next().and_then(hexadecimal).map(|to| (false, to))),
            _ if operation.starts_with('j') && !rest.starts_with('*') => {
                self.calls.extend(rest.split(' ').next().and_then(hexadecimal).map(|to| (true, to)));
            }
            _ => {}
        }
    }
}

impl Code {
    fn of(image: &Path) -> Option<Self> {
        let output =
            Command::new("objdump").args(["-d", "-C", "--no-show-raw-insn"]).arg(image).output().ok()?;
        let (text, elf) = (String::from_utf8_lossy(&output.stdout).into_owned(), std::fs::read(image).ok()?);
        let (mut functions, mut current) = (BTreeMap::new(), None);
        for line in text.lines() {
            if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
                current = hexadecimal(address);
                if let Some(address) = current {
                    functions.insert(address, Function { name: name.to_owned(), ..Function::default() });
                }
            } else if let (Some((_, instruction)), Some(address)) = (line.split_once(":\t"), current) {
                functions.entry(address).or_default().add(instruction.trim(), &elf);
            }
        }
        Some(Self { functions, deepest: BTreeMap::new() })
    }

    fn named(&self, parts: &[&str]) -> Vec<u64> {
        let named = |function: &Function| parts.iter().all(|part| function.name.contains(part));
        self.functions.iter().filter(|(_, function)| named(function)).map(|(at, _)| *at).collect()
    }

    /// The deepest path that begins with a function: its bytes, and the functions on it. `objects` is what a call of an object takes.
    fn path(&mut self, address: u64, objects: u64, above: &mut Vec<u64>) -> (u64, Vec<u64>) {
        let Some(function) = self.functions.get(&address) else { return (0, Vec::new()) };
        if ENDS.iter().any(|end| function.name.contains(end)) {
            return (0, Vec::new());
        }
        if let Some(known) = self.deepest.get(&address) {
            return known.clone();
        }
        assert!(!above.contains(&address), "{} calls itself: no bound", function.name);
        let (own, calls) = (function.own, function.calls.clone());
        let mut deepest = (if function.calls_objects { own + objects } else { own }, Vec::new());
        above.push(address);
        for (gone, to) in calls.into_iter().filter(|(_, to)| *to != address) {
            let (bytes, path) = self.path(to, objects, above);
            let bytes = if gone { bytes.max(own) } else { own + 8 + bytes };
            if bytes > deepest.0 {
                deepest = (bytes, path);
            }
        }
        above.pop();
        deepest.1.insert(0, address);
        self.deepest.insert(address, deepest.clone());
        deepest
    }

    fn deepest_of(&mut self, roots: &[u64], objects: u64) -> (u64, Vec<u64>) {
        let paths = roots.iter().map(|&root| self.path(root, objects, &mut Vec::new()));
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
    let Some(mut code) = Code::of(image.path()) else {
        return println!("skipped: the depth of the kernel's paths: no objdump; apt-get install binutils");
    };
    let objects: Vec<u64> = OBJECTS.iter().flat_map(|object| code.named(&[object])).collect();
    assert!(objects.len() > 10, "{} methods of monitors and placements", objects.len());
    let (objects, _) = code.deepest_of(&objects, 0);
    code.deepest.clear();
    println!("a method of a monitor or a placement: {objects} bytes at most");
    for entry in ["interrupt", "call"] {
        let roots = code.named(&["rtos::Entries<P> for ", &format!(">::{entry}")]);
        assert_eq!(roots.len(), 9, "one for each criterion");
        let (bytes, path) = code.deepest_of(&roots, objects + 8);
        let needed = bytes + FRAME;
        println!("{entry}: {needed} of {STACK_RESERVE} bytes");
        for at in &path {
            println!("    {:5}  {}", code.functions[at].own, code.functions[at].name);
        }
        assert!(bytes > 1000, "{entry}: only {bytes} bytes: something was not followed");
        assert!(needed <= STACK_RESERVE, "{entry}: {needed} bytes, {STACK_RESERVE} are kept");
    }
}

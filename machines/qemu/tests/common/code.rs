//! The object code of an image: its functions, and where control goes from each instruction, as `objdump` takes it apart.

#![allow(dead_code, reason = "each test program uses a part")]

use solo_qemu::InstructionSet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Functions that end the machine or tell of its end: nothing is followed into them.
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

/// What the kernel calls through a register: monitors and placements, which it knows by their traits alone.
const OBJECTS: [&str; 4] = [
    "as solo_schedule::placement::Placement>::",
    "as solo_observe::monitor::Monitor>::",
    "solo_schedule::placement::Placement::",
    "solo_observe::monitor::Monitor::",
];

/// The one function that calls closures through a register, and these.
const SUITED: &str = "solo_schedule::places::Places::suited";
const CLOSURES: [&str; 2] = ["solo_schedule::places::Places::", "{{closure}}"];

/// What those call through a register in turn: what a placement may ask.
const ASKED: &str = "as solo_schedule::placement::Situation>::";

/// Where control goes from an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// To the next one.
    Next,
    /// Elsewhere.
    Jump(u64),
    /// Elsewhere or to the next one.
    Branch(u64),
    /// To a function and back.
    Call(u64),
    /// To a function that only a register names, and back.
    CallObject,
    /// The same without coming back.
    JumpObject,
    /// To one of the addresses in the table there.
    Table(u64),
    /// Nowhere.
    End,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Instruction {
    pub(crate) at: u64,
    pub(crate) operation: String,
    pub(crate) operands: String,
}

#[derive(Default, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) instructions: Vec<Instruction>,
}

/// On whose behalf a function runs: what it can call through a register depends on that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// Asked by an object.
    Asked,
    /// An object of the kernel's.
    Object,
    /// The kernel.
    Kernel,
}

/// A call in a function: the position of its instruction, and who is called.
pub(crate) type CallSite = (usize, (u64, Level));

/// The functions of an image by their addresses.
pub(crate) struct Code {
    instruction_set: InstructionSet,
    pub(crate) functions: BTreeMap<u64, Function>,
    elf: Vec<u8>,
    objects: Vec<u64>,
    closures: Vec<u64>,
    asked: Vec<u64>,
}

pub(crate) fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().trim_start_matches('$').trim_start_matches("0x"), 16).ok()
}

/// True for a function that ends the machine.
pub(crate) fn ends(name: &str) -> bool {
    ENDS.iter().any(|end| name.contains(end))
}

impl Code {
    /// Takes an image apart; `None` without the program that does.
    pub(crate) fn of(image: &Path, instruction_set: InstructionSet) -> Option<Self> {
        let mut objdump = match instruction_set {
            InstructionSet::X86_64 => Command::new("objdump"),
            InstructionSet::Arm64 => Command::new("aarch64-linux-gnu-objdump"),
        };
        let output = objdump.args(["-d", "-C", "--no-show-raw-insn"]).arg(image).output().ok()?;
        let (text, elf) = (String::from_utf8_lossy(&output.stdout).into_owned(), std::fs::read(image).ok()?);
        let none = || Vec::new();
        let functions = functions(&text);
        let mut code =
            Self { instruction_set, functions, elf, objects: none(), closures: none(), asked: none() };
        code.objects = code.those(|name| OBJECTS.iter().any(|object| name.contains(object)));
        code.closures = code.named(&CLOSURES);
        code.asked = code.named(&[ASKED]);
        Some(code)
    }

    fn those(&self, wanted: impl Fn(&str) -> bool) -> Vec<u64> {
        self.functions.iter().filter(|(_, function)| wanted(&function.name)).map(|(at, _)| *at).collect()
    }

    /// The functions whose names have all these parts.
    pub(crate) fn named(&self, parts: &[&str]) -> Vec<u64> {
        self.those(|name| parts.iter().all(|part| name.contains(part)))
    }

    /// The kernel's entries of one kind, one for each criterion.
    pub(crate) fn entries(&self, kind: &str) -> Vec<u64> {
        self.named(&["rtos::Entries<P> for ", &format!(">::{kind}")])
    }

    /// What a register may name in a function of this level.
    pub(crate) fn objects(&self, level: Level) -> Vec<(u64, Level)> {
        let (of, level) = match level {
            Level::Kernel => (&self.objects, Level::Object),
            Level::Object => (&self.asked, Level::Asked),
            Level::Asked => panic!("what a placement asks calls an object: nobody knows which"),
        };
        of.iter().map(|&at| (at, level)).collect()
    }

    /// Where the image begins to run.
    pub(crate) fn begins(&self) -> u64 {
        self.elf.get(0x18..0x20).map_or(0, |word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
    }

    /// Eight bytes of the image by their address in memory.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let number = |at: usize| Some(u64::from_le_bytes(self.elf.get(at..at + 8)?.try_into().ok()?));
        let count = usize::from(u16::from_le_bytes(self.elf.get(0x38..0x3a)?.try_into().ok()?));
        let headers = number(0x20)? as usize;
        (0..count).map(|index| headers + index * 56).find_map(|header| {
            let (offset, begin, size) = (number(header + 8)?, number(header + 16)?, number(header + 32)?);
            (begin..begin + size).contains(&address).then(|| number((offset + address - begin) as usize))?
        })
    }

    /// The function whose address an instruction reads, from the linker's table of addresses.
    fn read(&self, instruction: &Instruction) -> Option<u64> {
        let (_, slot) = instruction.operands.split_once("# ").filter(|(read, _)| read.contains("(%rip)"))?;
        let address = self.word(hexadecimal(slot.split(' ').next()?)?)?;
        self.functions.contains_key(&address).then_some(address)
    }

    /// Where control goes from an instruction.
    pub(crate) fn flow(&self, instruction: &Instruction) -> Flow {
        match self.instruction_set {
            InstructionSet::X86_64 => self.flow_x86_64(instruction),
            InstructionSet::Arm64 => flow_arm64(instruction),
        }
    }

    fn flow_x86_64(&self, instruction: &Instruction) -> Flow {
        let Instruction { operation, operands, .. } = instruction;
        let target = || operands.split(' ').next().and_then(hexadecimal);
        match operation.as_str() {
            "call" if operands.starts_with('*') => {
                self.read(instruction).map_or(Flow::CallObject, Flow::Call)
            }
            "call" => target().map_or(Flow::CallObject, Flow::Call),
            "jmp" if operands.starts_with('*') => {
                let table = operands.strip_prefix("*0x").and_then(|rest| rest.strip_suffix(",8)"));
                let table = table.and_then(|rest| hexadecimal(rest.split('(').next()?));
                let read = self.read(instruction).map(Flow::Jump);
                read.or(table.map(Flow::Table)).unwrap_or(Flow::JumpObject)
            }
            "jmp" => target().map_or(Flow::JumpObject, Flow::Jump),
            "ret" | "ud2" | "int3" | "iretq" => Flow::End,
            jump if jump.starts_with('j') || jump.starts_with("loop") => {
                target().map_or(Flow::Next, Flow::Branch)
            }
            // An address that is read may be called later.
            "mov" => self.read(instruction).map_or(Flow::Next, Flow::Call),
            _ => Flow::Next,
        }
    }

    /// The addresses in a table that lie in a function, up to the first that does not.
    fn table(&self, at: u64, function: &Function) -> Vec<usize> {
        let address = |index: u64| self.word(at + 8 * index);
        (0..).map_while(|index| address(index).and_then(|to| function.position(to))).collect()
    }

    /// True where no instruction of a function jumps by a register, or by a table that is not found.
    pub(crate) fn knows_all_jumps(&self, function: &Function) -> bool {
        function.instructions.iter().all(|instruction| match self.flow(instruction) {
            Flow::JumpObject => false,
            Flow::Table(at) => !self.table(at, function).is_empty(),
            _ => true,
        })
    }

    /// The instructions that may follow each instruction of a function, inside it. None follow a call that does not come back.
    pub(crate) fn successors(&self, function: &Function) -> Vec<Vec<usize>> {
        let inside = |to: u64| function.position(to);
        let comes_back = |to: &u64| !self.functions.get(to).is_some_and(|called| ends(&called.name));
        let of = |(position, instruction)| {
            let next = Some(position + 1).filter(|next| *next < function.instructions.len());
            let all: Vec<usize> = match self.flow(instruction) {
                Flow::Next | Flow::CallObject => next.into_iter().collect(),
                Flow::Jump(to) => inside(to).into_iter().collect(),
                Flow::Branch(to) => next.into_iter().chain(inside(to)).collect(),
                Flow::Call(to) => next.filter(|_| comes_back(&to)).into_iter().collect(),
                Flow::Table(at) => self.table(at, function),
                Flow::JumpObject | Flow::End => Vec::new(),
            };
            all
        };
        function.instructions.iter().enumerate().map(of).collect()
    }

    /// The calls that a function of this level makes, jumps to other functions included.
    pub(crate) fn calls(&self, function: &Function, level: Level) -> Vec<CallSite> {
        let mut calls = Vec::new();
        for (position, instruction) in function.instructions.iter().enumerate() {
            match self.flow(instruction) {
                Flow::Call(to) => calls.push((position, (to, level))),
                Flow::Jump(to) | Flow::Branch(to) if function.position(to).is_none() => {
                    calls.push((position, (to, level)));
                }
                Flow::CallObject | Flow::JumpObject if function.name.contains(SUITED) => {
                    calls.extend(self.closures.iter().map(|&closure| (position, (closure, level))));
                }
                Flow::CallObject | Flow::JumpObject => {
                    calls.extend(self.objects(level).into_iter().map(|object| (position, object)));
                }
                _ => {}
            }
        }
        let known = |(to, _): &(u64, Level)| self.functions.get(to).is_some_and(|to| !ends(&to.name));
        calls.retain(|(_, to)| known(to));
        calls
    }

    /// All functions that can be reached from these, each with its calls.
    pub(crate) fn reachable(&self, roots: &[u64]) -> BTreeMap<(u64, Level), Vec<CallSite>> {
        let mut reached = BTreeMap::new();
        let mut waiting: BTreeSet<(u64, Level)> = roots.iter().map(|&root| (root, Level::Kernel)).collect();
        while let Some(next) = waiting.pop_first() {
            let calls = self.calls(&self.functions[&next.0], next.1);
            let new = calls.iter().map(|(_, to)| *to).filter(|to| *to != next && !reached.contains_key(to));
            waiting.extend(new);
            reached.insert(next, calls);
        }
        reached
    }
}

/// The same on 64-bit Arm. What jumps by a table looks as if it jumped to an object.
fn flow_arm64(Instruction { operation, operands, .. }: &Instruction) -> Flow {
    let target = || operands.rsplit(", ").next().and_then(|last| hexadecimal(last.split(' ').next()?));
    match operation.as_str() {
        "bl" => target().map_or(Flow::CallObject, Flow::Call),
        "blr" => Flow::CallObject,
        "b" => target().map_or(Flow::JumpObject, Flow::Jump),
        "br" => Flow::JumpObject,
        "ret" | "eret" | "brk" | "udf" => Flow::End,
        branch if branch.starts_with("b.") || ["cbz", "cbnz", "tbz", "tbnz"].contains(&branch) => {
            target().map_or(Flow::Next, Flow::Branch)
        }
        _ => Flow::Next,
    }
}

impl Function {
    /// The position of the instruction at an address.
    pub(crate) fn position(&self, address: u64) -> Option<usize> {
        self.instructions.binary_search_by_key(&address, |instruction| instruction.at).ok()
    }
}

fn functions(text: &str) -> BTreeMap<u64, Function> {
    let (mut functions, mut current) = (BTreeMap::new(), None);
    for line in text.lines() {
        if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            current = hexadecimal(address);
            if let Some(address) = current {
                functions.insert(address, Function { name: name.to_owned(), ..Function::default() });
            }
        } else if let (Some((at, instruction)), Some(address)) = (line.split_once(":\t"), current)
            && let (Some(at), Some(function)) = (hexadecimal(at), functions.get_mut(&address))
        {
            function.instructions.push(Instruction::of(at, instruction.trim()));
        }
    }
    functions
}

impl Instruction {
    fn of(at: u64, text: &str) -> Self {
        let mut text = text;
        // Prefixes that change nothing about where control goes.
        for prefix in ["notrack ", "bnd ", "lock ", "data16 ", "cs "] {
            text = text.strip_prefix(prefix).unwrap_or(text).trim_start();
        }
        let (operation, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        Self { at, operation: operation.to_owned(), operands: operands.trim().to_owned() }
    }

    /// True where it repeats itself, as `rep movsq` does.
    pub(crate) fn repeats(&self) -> bool {
        self.operation.starts_with("rep")
    }
}

//! Every loop in the kernel's entries has a bound with a name and a test: by the object code of the x86-64 image.
//!
//! The entries are an interrupt and a call of a thread; what they reach is followed by name, through the linker's table of addresses and
//! through the kernel's objects. A loop is what control flow can come back to, a copy of a length that is no constant, or a function that
//! calls itself. Tables of lines tell whose it is; `loops.txt` says why it ends. What ends in a panic is left out: the machine stops there.
//! The image for 64-bit Arm is made of the same sources, but for its port, and is not looked at.

#[path = "common/code.rs"]
mod code;
#[path = "common/loops.rs"]
mod graph;
#[path = "common/places.rs"]
mod places;

use code::{CallSite, Code, Function, Level};
use places::{Frame, Frames};
use solo_qemu::{Host, InstructionSet};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies and fills of the library, and the register of their lengths.
const COPIES: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// The longest copy of constant length that is no loop: the registers and fields of a value.
const LONGEST_COPY: u64 = 1024;

/// A function of Solocore's sources: its file below the workspace, and its name.
type Place = (String, String);

/// A row of `loops.txt`.
#[derive(Debug)]
struct Row {
    places: Vec<Place>,
    /// Functions that are a part of those, wherever these are.
    parts: Vec<Place>,
    /// The words `for`, `while` and `loop` in these functions.
    written: usize,
    bound: String,
    evidence: String,
    test: String,
}

/// What was found at a place: each kind of loop, and how many of it.
type Found = BTreeMap<Place, BTreeMap<&'static str, usize>>;

fn workspace() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root)
}

/// The functions that the entries reach, and where their instructions come from.
struct Entries<'c> {
    code: &'c Code,
    root: String,
    calls: BTreeMap<u64, BTreeSet<CallSite>>,
    callers: BTreeMap<u64, BTreeSet<(u64, usize)>>,
    frames: Frames,
    found: Found,
}

impl<'c> Entries<'c> {
    fn new(code: &'c Code, image: &Path) -> Option<Self> {
        let [interrupts, calls_of_threads] = ["interrupt", "call"].map(|kind| code.entries(kind));
        assert_eq!((interrupts.len(), calls_of_threads.len()), (9, 9), "two for each criterion");
        // What else a thread does in the kernel: its beginning, its next job, what it promises to compute, an event of its own.
        let others = ["arrived", "job", "promise", "touched"].map(|kind| code.entries(kind)).concat();
        let roots = [interrupts, calls_of_threads, others].concat();
        let (mut calls, mut callers) = (BTreeMap::new(), BTreeMap::new());
        for ((at, _), of) in code.reachable(&roots) {
            for &(position, (to, _)) in &of {
                callers.entry(to).or_insert_with(BTreeSet::new).insert((at, position));
            }
            calls.entry(at).or_insert_with(BTreeSet::new).extend(of);
        }
        let frames = places::frames(image, &calls.keys().copied().collect())?;
        let root = format!("{}/", workspace().display());
        Some(Self { code, root, calls, callers, frames, found: Found::new() })
    }

    fn function(&self, at: u64) -> &'c Function {
        &self.code.functions[&at]
    }

    fn chain(&self, function: u64, position: usize) -> &[Frame] {
        let at = self.function(function).instructions[position].at;
        self.frames.get(&at).map_or(&[], Vec::as_slice)
    }

    fn look(&mut self) {
        for at in self.calls.keys().copied().collect::<Vec<_>>() {
            let function = self.function(at);
            // What copies is a loop of whoever lets it copy.
            if COPIES.contains(&&*function.name) || function.name.contains("compiler_builtins::mem") {
                continue;
            }
            assert!(self.code.knows_all_jumps(function), "{} jumps nobody knows where", function.name);
            let successors = self.code.successors(function);
            for found in graph::loops(&successors) {
                self.note(at, &found.into_iter().collect::<Vec<_>>(), "loop", &mut BTreeSet::new());
            }
            for (position, kind) in self.copies(at, &successors) {
                self.note(at, &[position], kind, &mut BTreeSet::new());
            }
        }
    }

    /// The copies in a function whose lengths are not constant, or long.
    fn copies(&self, at: u64, successors: &[Vec<usize>]) -> Vec<(usize, &'static str)> {
        let function = self.function(at);
        let mut before = vec![BTreeSet::new(); successors.len()];
        for (from, to) in successors.iter().enumerate() {
            for &to in to {
                before[to].insert(from);
            }
        }
        let long = |position, register, unit| {
            let length = constant(function, &before, position, register);
            length.is_none_or(|length| length.saturating_mul(unit) > LONGEST_COPY)
        };
        let repeats = (0..successors.len()).filter(|&at| function.instructions[at].repeats());
        let repeats = repeats.filter(|&at| long(at, "cx", 8)).map(|at| (at, "copy"));
        let is_copy = |to: &u64| COPIES.contains(&&*self.code.functions[to].name);
        let called = self.calls[&at].iter().filter(|(_, (to, _))| is_copy(to));
        let called = called.filter(|(at, _)| long(*at, "dx", 1)).map(|(at, _)| (*at, "copy"));
        repeats.chain(called).collect()
    }

    /// Notes a loop of these instructions at the place that all of them belong to: the innermost function of Solocore's sources. One in a
    /// library's function belongs to whoever calls that.
    fn note(&mut self, at: u64, of: &[usize], kind: &'static str, seen: &mut BTreeSet<u64>) {
        let chains: Vec<&[Frame]> = of.iter().map(|&position| self.chain(at, position)).collect();
        if let Some(place) = self.place(&chains) {
            *self.found.entry(place).or_default().entry(kind).or_default() += 1;
            return;
        }
        let callers = self.callers.get(&at).cloned().unwrap_or_default();
        if callers.is_empty() || !seen.insert(at) {
            let place = (String::from("nobody's"), self.function(at).name.clone());
            *self.found.entry(place).or_default().entry(kind).or_default() += 1;
        }
        for (caller, position) in callers.into_iter().filter(|(caller, _)| *caller != at) {
            self.note(caller, &[position], kind, seen);
        }
        seen.remove(&at);
    }

    /// The innermost function that all these instructions belong to and that is ours.
    fn place(&self, chains: &[&[Frame]]) -> Option<Place> {
        let chains: Vec<&[Frame]> = chains.iter().copied().filter(|chain| !chain.is_empty()).collect();
        let from_outside =
            |chain: &[Frame], depth: usize| chain.len().checked_sub(depth).map(|at| chain[at].clone());
        let same = |depth: &usize| {
            let of = |chain: &[Frame]| {
                let call = if *depth > 1 { from_outside(chain, depth - 1) } else { None };
                from_outside(chain, *depth).map(|own| (own.function, call.map(|call| (call.file, call.line))))
            };
            let first = chains.first().and_then(|chain| of(chain));
            first.is_some() && chains.iter().all(|chain| of(chain) == first)
        };
        let deepest = (1..).take_while(same).last()?;
        (1..=deepest).rev().find_map(|depth| {
            let own = |chain: &&[Frame]| from_outside(chain, depth);
            let files: Vec<Frame> = chains.iter().filter_map(own).collect();
            let ours: Vec<&Frame> = files.iter().filter(|frame| frame.file.starts_with(&self.root)).collect();
            // Of a function that was inlined into another, tables of lines tell the file surely enough if most instructions say so.
            let enough = if depth == 1 { !ours.is_empty() } else { 2 * ours.len() > files.len() };
            let of = |file: &str| ours.iter().filter(|frame| frame.file == file).count();
            let frame = ours.iter().max_by_key(|frame| (of(&frame.file), &frame.file));
            let frame = frame.filter(|frame| enough && !frame.function.is_empty())?;
            Some((frame.file.strip_prefix(&self.root)?.to_owned(), frame.function.clone()))
        })
    }

    /// The functions that reach themselves by calls.
    fn recursive(&self) -> Vec<&str> {
        let positions: BTreeMap<u64, usize> =
            self.calls.keys().enumerate().map(|(position, at)| (*at, position)).collect();
        // Calls through registers go from the kernel to objects and from those to what they ask: never back.
        let by_name = |at: &u64| {
            let function = self.function(*at);
            let calls = self.code.calls(function, Level::Kernel);
            let named = calls.into_iter().filter(|(_, (_, level))| *level == Level::Kernel);
            named.filter_map(|(_, (to, _))| positions.get(&to).copied()).collect()
        };
        let mut graph: Vec<Vec<usize>> = vec![self.calls.keys().map(|at| positions[at] + 1).collect()];
        graph.extend(
            self.calls.keys().map(by_name).map(|to: Vec<usize>| to.iter().map(|to| to + 1).collect()),
        );
        let names: Vec<&str> = self.calls.keys().map(|at| self.function(*at).name.as_str()).collect();
        graph::loops(&graph).iter().flatten().map(|&node| names[node - 1]).collect()
    }
}

/// The number that a register holds at an instruction, where it was set to it on the only way there.
fn constant(function: &Function, before: &[BTreeSet<usize>], position: usize, register: &str) -> Option<u64> {
    let mut at = position;
    loop {
        let mut from = before[at].iter().copied();
        let (previous, None) = (from.next()?, from.next()) else { return None };
        at = previous;
        let instruction = &function.instructions[at];
        let written = instruction.operands.rsplit(',').next().unwrap_or("");
        if [format!("%e{register}"), format!("%r{register}")].iter().any(|name| written == name) {
            let number = instruction.operands.split(',').next().filter(|from| from.starts_with('$'));
            return number.and_then(code::hexadecimal).filter(|_| instruction.operation.starts_with("mov"));
        }
        if instruction.operation == "call" || at == position {
            return None;
        }
    }
}

/// What compiles the image, where it is not what the table was made with.
fn other_compiler() -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loops.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let named = text.lines().find_map(|line| line.strip_prefix("# made with: ")).unwrap();
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    // The number alone: "rustc 1.95.0 (59807616e 2026-04-14)".
    let same = version.split(' ').nth(1) == Some(named);
    (!same).then(|| format!("{version}, and the table was made with {named}"))
}

/// The rows of `loops.txt`.
fn table() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loops.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [file, functions, written, bound, why, evidence, test] = cells[..] else {
            panic!("seven cells: {line}")
        };
        assert!(cells.iter().all(|cell| !cell.is_empty()) && why.len() > 5, "an empty cell: {line}");
        let place = |function: &str| (file.to_owned(), function.trim().to_owned());
        let (functions, parts) = functions.split_once('(').unwrap_or((functions, ""));
        let parts = parts.trim_end_matches(')').split(',').filter(|part| !part.is_empty());
        Row {
            places: functions.split(',').map(place).collect(),
            parts: parts.map(place).collect(),
            written: written.parse().unwrap(),
            bound: bound.to_owned(),
            evidence: evidence.to_owned(),
            test: test.to_owned(),
        }
    };
    lines.map(row).collect()
}

/// How many loops are written in the functions of a file that have these names: one more is not covered by what was said of the others.
/// As the formatter leaves it, a function ends at the first line that is a brace as far in as the function is.
fn written(row: &Row) -> usize {
    let file = row.places.first().map_or("", |(file, _)| file);
    let text = std::fs::read_to_string(workspace().join(file)).unwrap();
    let lines: Vec<&str> = text.lines().take_while(|line| *line != "mod tests {").collect();
    let is = |line: &str, name: &str| {
        let rest = line.split_once("fn ").and_then(|(_, rest)| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    let margin = |line: &str| line.len() - line.trim_start().len();
    let loops = |from: usize| {
        let last = |line: &&&str| margin(line) == margin(lines[from]) && line.ends_with(['}', ';']);
        let body = lines[from..].iter().take_while(|line| !last(line)).skip(1);
        let code = body.map(|line| line.split("//").next().unwrap_or(""));
        let words =
            code.flat_map(|code| code.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
        words.filter(|word| ["for", "while", "loop"].contains(word)).count()
    };
    let of = |name: &str| -> usize { (0..lines.len()).filter(|&at| is(lines[at], name)).map(loops).sum() };
    row.places.iter().chain(&row.parts).map(|(_, name)| of(name)).sum()
}

/// The names of all tests in the sources.
fn tests_of(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() && !name.starts_with('.') && !["target", "runs", "peers", "corpus"].contains(&&*name)
        {
            tests_of(&path, names);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for after in text.split("#[test]").skip(1) {
                let name = after.split_once("fn ").and_then(|(_, rest)| rest.split(['(', '<']).next());
                names.extend(name.map(str::to_owned));
            }
            // Programs of tests without the usual frame name theirs.
            for after in text.split("test(\"").skip(1) {
                names.extend(after.split('"').next().map(str::to_owned));
            }
        }
    }
}

#[test]
fn every_loop_of_the_kernels_entries_has_a_bound_and_a_test() {
    let what = "the loops of the kernel's entries";
    let image = match Host::look().map(|host| host.build_image()) {
        Ok(Ok(image)) => image,
        Ok(Err(error)) => panic!("{error}"),
        Err(missing) => return println!("skipped: {what}: {missing}"),
    };
    let Some(code) = Code::of(image.path(), InstructionSet::X86_64) else {
        return println!("skipped: {what}: no objdump; apt-get install binutils");
    };
    let Some(mut entries) = Entries::new(&code, image.path()) else {
        return println!("skipped: {what}: objdump tells no inlined functions; apt-get install binutils");
    };
    entries.look();
    if entries.found.keys().all(|(file, _)| file == "nobody's") {
        return println!("skipped: {what}: the image was built from sources elsewhere");
    }
    let (found, recursive) = (&entries.found, entries.recursive());
    assert!(recursive.is_empty(), "functions that call themselves: {recursive:?}");
    assert!(found.len() > 50, "only {} places: something was not followed", found.len());
    let (rows, mut tests) = (table(), BTreeSet::new());
    tests_of(&workspace(), &mut tests);
    let (mut wrong, mut elsewhere) = (Vec::new(), Vec::new());
    let listed: BTreeSet<&Place> = rows.iter().flat_map(|row| &row.places).collect();
    for (place, kinds) in found.iter().filter(|(place, _)| !listed.contains(place)) {
        elsewhere.push(format!("no bound: {} {} {kinds:?}", place.0, place.1));
    }
    for (file, function) in listed.iter().filter(|place| !found.contains_key(**place)) {
        elsewhere.push(format!("no such loop: {file} {function}"));
    }
    for row in rows.iter().filter(|row| !tests.contains(&row.test)) {
        wrong.push(format!("no such test: {} ({:?})", row.test, row.places));
    }
    for row in &rows {
        let written = written(row);
        if written != row.written {
            wrong.push(format!("{written} loops are written, not {}: {:?}", row.written, row.places));
        }
    }
    report(&rows, found, entries.calls.len());
    // Which loops are left, and whose they are, is the compiler's.
    match other_compiler() {
        None => wrong.extend(elsewhere),
        Some(_) if elsewhere.is_empty() => {}
        Some(other) => {
            println!(
                "skipped: {what}: {} places differ under {other}:\n{}",
                elsewhere.len(),
                elsewhere.join("\n")
            );
        }
    }
    assert!(wrong.is_empty(), "{} in loops.txt:\n{}", wrong.len(), wrong.join("\n"));
}

/// How many loops there are, by their bounds and by what holds these.
fn report(rows: &[Row], found: &Found, functions: usize) {
    let loops = |places: &[Place]| -> usize {
        places.iter().filter_map(|place| found.get(place)).flat_map(BTreeMap::values).sum()
    };
    let all: usize = found.values().flat_map(BTreeMap::values).sum();
    println!(
        "{functions} functions, {all} loops in the object code at {} places of the sources",
        found.len()
    );
    let cells: [fn(&Row) -> &str; 2] = [|row| &row.bound, |row| &row.evidence];
    for cell in cells {
        let mut by = BTreeMap::new();
        for row in rows {
            let (places, of) = by.entry(cell(row)).or_insert((0, 0));
            (*places, *of) = (*places + row.places.len(), *of + loops(&row.places));
        }
        by.iter().for_each(|(bound, (places, loops))| {
            println!("    {loops:4} loops at {places:3} places: {bound}")
        });
    }
}

//! The caches against programs that other people wrote, on what real programs do, to the last miss: cachegrind (LRU) and
//! pycachesim (LRU and FIFO). Skipped, with the reason printed, where they are not installed.

mod common;

use common::{PROGRAMS, input, references, valgrind, valgrind_is_here};
use solo_trace::{CacheSpec, Reference, Simulation, cache, open};
use solo_workload::image::TraceKind;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// One cache; what cachegrind calls a miss is a reference of which any line misses.
struct Counted {
    caches: Simulation,
    misses: u64,
}

impl Counted {
    fn new(size: u64, ways: u64, line: u64, replacement: &str) -> Self {
        let spec: CacheSpec = format!("U={size}:{ways}:{line}:{replacement}").parse().unwrap();
        Self { caches: Simulation::new(&spec), misses: 0 }
    }

    /// True where a line missed. A reference that both reads and writes counts once.
    fn refer(&mut self, reference: &Reference) -> bool {
        let before = self.caches.misses();
        self.caches.refer(&Reference { kind: TraceKind::Read, ..*reference });
        let missed = self.caches.misses() > before;
        self.misses += u64::from(missed);
        missed
    }
}

/// Size, ways and line of I1, D1 and LL.
type Sizes = [[u64; 3]; 3];

/// I1 misses, LL misses of fetches, D1 misses and LL misses of data, as cachegrind sums them up.
fn cachegrind(sizes: &Sizes, program: &[&str], input: &Path, folder: &Path) -> [u64; 4] {
    let file = folder.join("cachegrind.out");
    let [i1, d1, ll] = sizes.map(|[size, ways, line]| format!("{size},{ways},{line}"));
    let tool = [
        String::from("--tool=cachegrind"),
        String::from("--cache-sim=yes"),
        format!("--I1={i1}"),
        format!("--D1={d1}"),
        format!("--LL={ll}"),
        format!("--cachegrind-out-file={}", file.display()),
    ];
    assert!(valgrind(&tool, program, input));
    let text = fs::read_to_string(&file).unwrap();
    let summary = text.lines().find_map(|line| line.strip_prefix("summary:")).unwrap();
    let numbers: Vec<u64> = summary.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [_, i1, il, _, d1_read, dl_read, _, d1_write, dl_write] = numbers[..] else { panic!("{summary}") };
    [i1, il, d1_read + d1_write, dl_read + dl_write]
}

fn ours(sizes: &Sizes, replacement: &str, references: &[Reference]) -> [u64; 4] {
    let [mut i1, mut d1, mut ll] =
        sizes.map(|[size, ways, line]| Counted::new(size, ways, line, replacement));
    let mut beyond = [0; 2];
    for reference in references {
        let fetch = reference.kind == TraceKind::Fetch;
        // Where the first level missed, the last is asked for the whole reference.
        if if fetch { i1.refer(reference) } else { d1.refer(reference) } && ll.refer(reference) {
            beyond[usize::from(!fetch)] += 1;
        }
    }
    [i1.misses, beyond[0], d1.misses, beyond[1]]
}

#[test]
fn misses_are_those_of_cachegrind() {
    if !valgrind_is_here("comparison with cachegrind") {
        return;
    }
    const KIB: u64 = 1024;
    let geometries: [(Sizes, &[&str]); 5] = [
        // As on many processors.
        ([[32 * KIB, 8, 64], [32 * KIB, 8, 64], [256 * KIB, 8, 64]], &["lru"]),
        // Directly mapped. A queue and a tree of one way are that way, too.
        ([[8 * KIB, 1, 64], [8 * KIB, 1, 64], [64 * KIB, 1, 64]], &["lru", "fifo", "plru"]),
        // A tree over two ways is their order of use.
        ([[4 * KIB, 2, 32], [4 * KIB, 2, 32], [32 * KIB, 2, 32]], &["lru", "plru"]),
        // Fully associative.
        ([[4 * KIB, 64, 64], [4 * KIB, 64, 64], [16 * KIB, 256, 64]], &["lru"]),
        // 24 ways.
        ([[16 * KIB, 4, 64], [6 * KIB, 24, 32], [96 * KIB, 24, 64]], &["lru"]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path());
    for program in PROGRAMS {
        let mut trace = references(program, &input, &folder.path().join("log"));
        for (sizes, replacements) in geometries {
            let mut theirs = cachegrind(&sizes, program, &input, folder.path());
            // Both run the program anew. A table of the loader is read at places that differ from run to run; where that
            // moves a miss, another pair of runs agrees.
            for _ in 0..2 {
                if theirs != ours(&sizes, "lru", &trace) {
                    trace = references(program, &input, &folder.path().join("log"));
                    theirs = cachegrind(&sizes, program, &input, folder.path());
                }
            }
            for replacement in replacements {
                let ours = ours(&sizes, replacement, &trace);
                println!("{} {sizes:?} {replacement}: {ours:?} of {}", program[0], trace.len());
                assert_eq!(ours, theirs, "{} {sizes:?} {replacement}", program[0]);
            }
        }
    }
}

/// Loads of a trace through pycachesim, for each geometry of `sets ways line policy` and an optional second level;
/// prints the misses.
const PYCACHESIM: &str = r#"
import sys
from cachesim import CacheSimulator, Cache, MainMemory
addresses = [int(line, 16) for line in open(sys.argv[1])]
for spec in sys.argv[2:]:
    memory, behind, levels = MainMemory(), None, []
    for number, level in reversed(list(enumerate(spec.split("+"), 1))):
        sets, ways, line, policy = level.split(":")
        links = {} if behind is None else {"store_to": behind, "load_from": behind}
        behind = Cache("L%d" % number, int(sets), int(ways), int(line), policy, **links)
        levels.insert(0, behind)
    memory.load_to(levels[-1])
    memory.store_from(levels[-1])
    simulator = CacheSimulator(levels[0], memory)
    for address in addresses:
        simulator.load(address, length=1)
    print(*[level.stats()["MISS_count"] for level in levels])
"#;

#[test]
fn misses_are_those_of_pycachesim() {
    let here = Command::new("python3").args(["-c", "import cachesim"]).stderr(Stdio::null()).status();
    if !here.is_ok_and(|status| status.success()) {
        println!("skipped: comparison with pycachesim: python3 does not find it");
        return;
    }
    if !valgrind_is_here("comparison with pycachesim") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (trace, input) = (folder.path().join("loads"), input(folder.path()));
    // Sets, ways and line of each level.
    let shapes: [&[[u64; 3]]; 8] = [
        &[[64, 8, 64]],
        &[[128, 1, 64]],
        &[[1, 64, 64]],
        &[[64, 24, 64]],
        &[[64, 4, 32]],
        &[[1, 24, 32]],
        &[[64, 8, 64], [512, 8, 64]],
        &[[16, 2, 32], [64, 24, 32]],
    ];
    let (mut theirs_of, mut ours_of) = (Vec::new(), Vec::new());
    for shape in shapes {
        for policy in ["LRU", "FIFO"] {
            let level = |[sets, ways, line]: &[u64; 3]| format!("{sets}:{ways}:{line}:{policy}");
            theirs_of.push(shape.iter().map(level).collect::<Vec<_>>().join("+"));
            let policy = policy.to_lowercase();
            let level =
                |[sets, ways, line]: &[u64; 3]| format!("{}:{ways}:{line}:{policy}", sets * ways * line);
            ours_of.push(format!("H={}", shape.iter().map(level).collect::<Vec<_>>().join("+")));
        }
    }
    let specs: Vec<CacheSpec> = ours_of.iter().map(|text| text.parse().unwrap()).collect();
    for program in PROGRAMS {
        let all = references(program, &input, &folder.path().join("log"));
        // Of modifies and stores the load alone, of a byte: with stores pycachesim departs from its own policy.
        let data = all.iter().filter(|reference| reference.kind != TraceKind::Fetch).take(60_000);
        let loads: String = data.map(|reference| format!("{:x}\n", reference.address)).collect();
        fs::write(&trace, &loads).unwrap();
        let din: String = loads.lines().map(|address| format!("0 {address}\n")).collect();
        fs::write(folder.path().join("din"), din).unwrap();
        let report = cache(&mut open(&folder.path().join("din")).unwrap(), &specs).unwrap();
        let output =
            Command::new("python3").args(["-c", PYCACHESIM]).arg(&trace).args(&theirs_of).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.lines().count(), specs.len());
        for (spec, line) in ours_of.iter().zip(printed.lines()) {
            let of_spec = report.caches.iter().filter(|counts| counts.spec == *spec && counts.cache != "L1I");
            let ours: Vec<String> = of_spec.map(|counts| counts.misses.to_string()).collect();
            println!("{} {spec}: {line}", program[0]);
            assert_eq!(ours.join(" "), line, "{} {spec}", program[0]);
        }
    }
}

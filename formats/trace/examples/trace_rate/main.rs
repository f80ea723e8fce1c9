//! How fast traces are read and caches simulated, beside peers on the same stream in the same run:
//! `cargo run --release -p solo-trace --example trace_rate -- [--peer CMD [--format lackey|din]]`.
//!
//! Peers that are looked for: pycachesim (`pip install pycachesim`), if `python3` finds it; its misses must be ours. It
//! gets loads only: with stores it is not quite least recently used. And cachegrind, which can't read a trace: this program
//! walks over memory under it. `--peer CMD` names any other: a command of the shell that reads the references from the
//! file `$1` (which is added where CMD does not name it), as lines of lackey (` L 00100040,8`) or of din (`0 100040`).
//! Its processor time less that on a file of one reference is compared with ours, each the least of three.

mod cachegrind;
mod peer;

use solo_trace::{CacheSpec, Caches, Geometry, Protocol, Reference, Simulation, TextReader, cache, source};
use solo_workload::SplitMix64;
use solo_workload::image::TraceKind;
use std::error::Error;
use std::io::Cursor;
use std::process::{Command, Stdio};

const REFERENCES: u64 = 4_000_000;
const PEER_REFERENCES: usize = 1_000_000;
const HIERARCHY: &str = "H=32K:8:64:lru+256K:8:64:lru";

/// The same stream through pycachesim, one call a reference; prints seconds and misses of both levels.
const PEER: &str = r#"
import sys, time
from cachesim import CacheSimulator, Cache, MainMemory
mem = MainMemory()
l2 = Cache("L2", 512, 8, 64, "LRU")
l1 = Cache("L1", 64, 8, 64, "LRU", store_to=l2, load_from=l2)
mem.load_to(l2); mem.store_from(l2)
cs = CacheSimulator(l1, mem)
refs = [int(line[3:].split(",")[0], 16) for line in open(sys.argv[1])]
load = cs.load
start = time.process_time()
for address in refs:
    load(address, length=8)
seconds = time.process_time() - start
print(seconds, l1.stats()["MISS_count"], l2.stats()["MISS_count"])
"#;

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(walk) = peer::option("--walk") {
        return cachegrind::walk(&walk);
    }
    let named = peer::Peer::from_args();
    let din = match peer::option("--format").as_deref() {
        None | Some("lackey") => false,
        Some("din") => true,
        Some(other) => return Err(format!("--format {other}: lackey or din was expected").into()),
    };
    println!("{:<38} {:>10}", "", "M/s");
    for (name, span, random) in [
        ("sweep 32 KiB", 32 << 10, false),
        ("random 32 KiB", 32 << 10, true),
        ("random 256 KiB", 256 << 10, true),
        ("random 16 MiB", 16 << 20, true),
    ] {
        let stream = stream(span, random);
        let ours = simulate(name, &stream)?;
        cachegrind::compare(span, random, ours)?;
        if let Some(named) = &named {
            beside(named, din, &stream)?;
        }
        if random && span >= 256 << 10 {
            peer(&stream[..PEER_REFERENCES])?;
        }
    }
    reading()?;
    sharing()
}

/// One third of the references are stores.
fn stream(span: u64, random: bool) -> Vec<Reference> {
    let mut positions = SplitMix64::new(1);
    let one = |i: u64| Reference {
        address: 0x10_0000 + if random { positions.below(span / 8) * 8 } else { i * 64 % span },
        size: 8,
        kind: if i.is_multiple_of(3) { TraceKind::Write } else { TraceKind::Read },
        core: solo_model::CoreId(0),
    };
    (0..REFERENCES).map(one).collect()
}

/// How many million of `count` things `work` does in a second of processor time.
fn measured<T>(count: u64, work: impl FnOnce() -> T) -> (f64, T) {
    let before = peer::spent();
    let done = work();
    (count as f64 / (peer::spent() - before) / 1e6, done)
}

/// Prints it.
fn rate(name: &str, count: u64, work: impl FnOnce()) -> f64 {
    let (rate, ()) = measured(count, work);
    println!("{name:<38} {rate:>10.1}");
    rate
}

fn simulate(name: &str, stream: &[Reference]) -> Result<f64, Box<dyn Error>> {
    let spec: CacheSpec = HIERARCHY.parse()?;
    let mut caches = Simulation::new(&spec);
    let name = format!("{name}, L1+L2 in memory");
    Ok(rate(&name, REFERENCES, || stream.iter().for_each(|one| caches.refer(one))))
}

/// The peer that the command line names, on the stream as a file, and ours on the same file: reading alone, and with
/// both levels.
fn beside(peer: &peer::Peer, din: bool, stream: &[Reference]) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, stream: &[Reference]| {
        let path = folder.path().join(name);
        std::fs::write(&path, if din { din_text(stream) } else { text(stream) }).map(|()| path)
    };
    let (file, empty) = (write("stream", stream)?, write("empty", &stream[..1])?);
    let theirs = REFERENCES as f64 / peer.seconds(&file, &empty)? / 1e6;
    println!("{:<38} {theirs:>10.1}", "  the peer, from text");
    let spec: CacheSpec = HIERARCHY.parse()?;
    let read = || -> Result<(), Box<dyn Error>> {
        let mut reader = TextReader::new(std::fs::File::open(&file)?);
        let mut batch = Vec::new();
        while reader.fill(&mut batch).map(|()| !batch.is_empty())? {}
        Ok(())
    };
    let simulate = || -> Result<(), Box<dyn Error>> {
        cache(&mut source(Box::new(std::fs::File::open(&file)?))?, std::slice::from_ref(&spec))?;
        Ok(())
    };
    let (mut reading, mut both) = (0.0_f64, 0.0_f64);
    for _ in 0..peer::ROUNDS {
        let (rate, done) = measured(REFERENCES, read);
        done?;
        reading = reading.max(rate);
        let (rate, done) = measured(REFERENCES, simulate);
        done?;
        both = both.max(rate);
    }
    println!("{:<38} {reading:>10.1}   ratio {:.1}x", "  ours, reading it", reading / theirs);
    println!("{:<38} {both:>10.1}   ratio {:.1}x", "  ours, from text", both / theirs);
    Ok(())
}

fn din_text(stream: &[Reference]) -> String {
    let kind = |one: &Reference| u8::from(one.kind == TraceKind::Write);
    stream.iter().map(|one| format!("{} {:x}\n", kind(one), one.address)).collect()
}

fn text(stream: &[Reference]) -> String {
    let kind = |one: &Reference| if one.kind == TraceKind::Write { 'S' } else { 'L' };
    stream.iter().map(|one| format!(" {} {:08x},{}\n", kind(one), one.address, one.size)).collect()
}

fn peer(stream: &[Reference]) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("stream");
    let loads: Vec<Reference> =
        stream.iter().map(|one| Reference { kind: TraceKind::Read, ..*one }).collect();
    std::fs::write(&path, text(&loads))?;
    let output = Command::new("python3").args(["-c", PEER]).arg(&path).stderr(Stdio::null()).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        println!("  pycachesim is not installed: no ratio");
        return Ok(());
    };
    let printed = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = printed.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let theirs = stream.len() as f64 / numbers[0] / 1e6;
    println!("{:<38} {theirs:>10.1}", "  pycachesim, a call each");

    let spec: CacheSpec = HIERARCHY.parse()?;
    let mut ours = None;
    let mut trace = source(Box::new(std::fs::File::open(&path)?))?;
    let rate = rate("  ours, from text", stream.len() as u64, || {
        ours = Some(cache(&mut trace, std::slice::from_ref(&spec)));
    });
    let rows = ours.ok_or("not run")??.caches;
    println!("  ratio {:.0}x", rate / theirs);
    let misses = [rows[1].misses, rows[2].misses].map(|misses| misses as f64);
    if misses != [numbers[1], numbers[2]] {
        return Err(format!("misses {misses:?} differ from pycachesim's {:?}", &numbers[1..]).into());
    }
    Ok(())
}

fn reading() -> Result<(), Box<dyn Error>> {
    let text = text(&stream(16 << 20, true));
    let mut reader = TextReader::new(Cursor::new(text));
    let mut batch = Vec::new();
    let mut failed = None;
    rate("reading lackey text, lines", REFERENCES, || {
        loop {
            if let Err(error) = reader.fill(&mut batch) {
                failed = Some(error);
            }
            if batch.is_empty() || failed.is_some() {
                break;
            }
        }
    });
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// 64 KiB shared and 256 KiB of its own for each core, a third writes, as in the peers' table of
/// `docs/workloads.md`.
fn sharing() -> Result<(), Box<dyn Error>> {
    let geometry: Geometry = "32K:8:64:lru".parse()?;
    for cores in [2u16, 4, 8] {
        let mut random = SplitMix64::new(2);
        let stream: Vec<Reference> = (0..REFERENCES)
            .map(|i| {
                let core = random.below(u64::from(cores)) as u16;
                let shared = random.below(2) == 0;
                let base = if shared { 0 } else { (u64::from(core) + 1) << 20 };
                let span = if shared { 64 << 10 } else { 256 << 10 };
                let kind = if i.is_multiple_of(3) { TraceKind::Write } else { TraceKind::Read };
                let core = solo_model::CoreId(core);
                Reference { address: base + random.below(span / 8) * 8, size: 8, kind, core }
            })
            .collect();
        let mut caches = Caches::new(cores, &geometry, Protocol::Mesi);
        rate(&format!("MESI, {cores} cores"), REFERENCES, || stream.iter().for_each(|one| caches.refer(one)));
    }
    Ok(())
}

//! How many accesses a second of processor time the simulated memory answers, beside the rates it is meant to
//! reach.
//!
//! `cargo run --release -p solo-sim --example memory_speed [SECONDS-PER-CASE [NAME]] [--peer CMD]`, where NAME is a part of
//! the names of the cases to run.
//!
//! `--peer CMD` runs a DRAM simulator on the same requests, in the cases that saturate DRAM: a command of the shell that
//! reads them from the file `$1` (which is added where CMD does not name it), one `0xADDR READ|WRITE 0` a line. Its
//! processor time less that for one request is compared with ours.

#[path = "../../../formats/trace/examples/trace_rate/peer.rs"]
mod peer;

use solo_model::platform::Dram as Description;
use solo_model::{Bytes, CoreId, Picoseconds, Platform};
use solo_sim::memory::dram::Served;
use solo_sim::memory::fixtures::{cache, ddr3_1600k, private_only, xeon_w3530};
use solo_sim::memory::{AccessKind, Answer, Dram, Hierarchy, PhysicalAddress};
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

const MILLION: f64 = 1e6;

/// xorshift64: cheap beside an access.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Cores that take turns, each waiting for its access before the next.
struct Drive {
    memory: Hierarchy,
    ready: Vec<Picoseconds>,
}

impl Drive {
    fn new(platform: &Platform) -> Self {
        let memory = Hierarchy::new(platform, 1).unwrap_or_else(|error| panic!("{error}"));
        Self { memory, ready: vec![Picoseconds::ZERO; platform.cores.len()] }
    }

    fn access(&mut self, core: usize, address: u64, kind: AccessKind) {
        let now = self.ready[core];
        match self.memory.access(CoreId(core as u16), now, PhysicalAddress(address), kind) {
            Answer::Hit { latency, .. } => self.ready[core] += latency,
            Answer::Miss { .. } => self.ready[core] = Picoseconds::MAX,
        }
    }

    /// Lets DRAM decide what comes before `core` goes on, of which it is the only one.
    fn catch_up(&mut self, core: usize) {
        while let Some(next) = self.memory.next_event()
            && next <= self.ready[core]
        {
            let ready = &mut self.ready;
            self.memory.advance(next, |done| ready[done.requester.index()] = done.at);
        }
    }

    /// The core that goes on next; DRAM decides first what comes before it.
    fn earliest(&mut self) -> usize {
        loop {
            let (mut first, mut at) = (0, Picoseconds::MAX);
            for (core, ready) in self.ready.iter().enumerate() {
                if *ready < at {
                    (first, at) = (core, *ready);
                }
            }
            match self.memory.next_event() {
                Some(next) if next <= at => {
                    let ready = &mut self.ready;
                    self.memory.advance(next, |done| ready[done.requester.index()] = done.at);
                }
                _ => return first,
            }
        }
    }
}

/// Repeats `batch`, which makes `size` accesses, for about `time`; accesses a second.
fn rate(time: Duration, size: u64, mut batch: impl FnMut()) -> f64 {
    batch();
    let start = peer::spent();
    let (mut done, mut took) = (0, 0.0);
    while took < time.as_secs_f64() {
        batch();
        done += size;
        took = peer::spent() - start;
    }
    done as f64 / took
}

/// The words of the command line that belong to no option.
fn words() -> impl Iterator<Item = String> {
    let mut words = std::env::args().skip(1);
    std::iter::from_fn(move || {
        let word = words.next()?;
        if word == "--peer" { words.nth(1) } else { Some(word) }
    })
}

/// True where the command line asks for the case.
fn wanted(name: &str) -> bool {
    words().nth(1).is_none_or(|part| name.contains(&part))
}

/// Where no rate is meant to be reached, `target` is zero.
fn report(name: &str, rate: f64, target: f64) {
    let millions = rate / MILLION;
    if target == 0.0 {
        println!("{name:<44} {millions:>8.1} M/s");
    } else {
        println!("{name:<44} {millions:>8.1} M/s   {:>5.2} x {target} M/s", millions / target);
    }
}

/// Accesses to words of 8 bytes, in memory: every third one is a write, which its lowest bit says.
fn stream(span: u64, random: bool) -> Vec<u64> {
    let mut draws = Draws(88_172_645_463_325_252);
    let mut place = 0;
    let next = |n| {
        place = if random { draws.next() % (span / 8) * 8 } else { (place + 8) % span };
        place | u64::from(n % 3 == 0)
    };
    (0..500_000).map(next).collect()
}

fn one_core(name: &str, time: Duration, span: u64, random: bool, target: f64) {
    if !wanted(name) {
        return;
    }
    let mut drive = Drive::new(&xeon_w3530());
    let accesses = stream(span, random);
    let result = rate(time, accesses.len() as u64, || {
        for access in &accesses {
            let kind = if access & 1 == 1 { AccessKind::Write } else { AccessKind::Read };
            drive.access(0, access & !1, kind);
            drive.catch_up(0);
        }
    });
    report(name, result, target);
}

/// Each core touches 64 KiB that all share and 256 KiB of its own, a third of it writing.
fn sharing(name: &str, time: Duration, platform: &Platform, target: f64) {
    if !wanted(name) {
        return;
    }
    let cores = platform.cores.len() as u64;
    let mut drive = Drive::new(platform);
    let mut draws = Draws(88_172_645_463_325_252);
    let size = 200_000;
    let result = rate(time, size, || {
        for _ in 0..size {
            let core = drive.earliest();
            let draw = draws.next();
            let address = if draw & 7 == 0 {
                (draw >> 8) % (64 << 10)
            } else {
                (1 << 20) * (1 + core as u64 % cores) + (draw >> 8) % (256 << 10)
            };
            let kind = if draw >> 60 < 5 { AccessKind::Write } else { AccessKind::Read };
            drive.access(core, address, kind);
        }
    });
    report(name, result, target);
}

fn with_cores(count: usize) -> Platform {
    let mut platform = private_only(count, 32, 8);
    let all = platform.core_set();
    let mut last = cache(2, solo_model::platform::Contents::Unified, all, 8192, 16, 39);
    last.inclusion = solo_model::platform::Inclusion::Inclusive;
    platform.caches.push(last);
    platform
}

fn saturated(
    name: &str,
    time: Duration,
    description: &Description,
    address: impl Fn(u64) -> u64,
) -> Result<(), Box<dyn Error>> {
    if !wanted(name) {
        return Ok(());
    }
    let size = 100_000;
    let result = rate(time, size, || {
        let mut dram = Dram::new(description, Bytes::new(64), 1).unwrap_or_else(|error| panic!("{error}"));
        let (mut sent, mut served) = (0, 0_u64);
        let mut now = Picoseconds::ZERO;
        while served < size {
            while sent < size {
                let write = sent % 3 == 2;
                if dram.enqueue(now, CoreId(0), PhysicalAddress(address(sent)), write).is_err() {
                    break;
                }
                sent += 1;
            }
            if sent == size {
                dram.flush();
            }
            let Some(next) = dram.next_event() else { break };
            now = next;
            dram.advance(next, |what| {
                served += u64::from(matches!(what, Served::Read(_) | Served::Write { .. }))
            });
        }
    });
    report(name, result, 2.0);
    let Some(peer) = peer::Peer::from_args() else { return Ok(()) };
    let file = |count: u64| -> Result<PathBuf, Box<dyn Error>> {
        let path = std::env::temp_dir().join(format!("memory-speed-{}-{count}", std::process::id()));
        let mut text = String::new();
        for n in 0..count {
            let kind = if n % 3 == 2 { "WRITE" } else { "READ" };
            writeln!(text, "0x{:x} {kind} 0", address(n) & 0xffff_ffff)?;
        }
        std::fs::write(&path, text)?;
        Ok(path)
    };
    let (requests, one) = (file(size)?, file(1)?);
    let seconds = peer.seconds(&requests, &one);
    std::fs::remove_file(requests)?;
    std::fs::remove_file(one)?;
    let theirs = size as f64 / seconds?;
    println!("{:<44} {:>8.2} M/s   ratio {:.1}x", "  the peer", theirs / MILLION, result / theirs);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let seconds = words().next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let time = Duration::from_secs_f64(seconds);
    one_core("sweep 32 KiB, stride 8", time, 32 << 10, false, 50.0);
    one_core("random 32 KiB (first level)", time, 32 << 10, true, 50.0);
    one_core("sweep 256 KiB, stride 8", time, 256 << 10, false, 50.0);
    one_core("random 256 KiB (second level)", time, 256 << 10, true, 50.0);
    one_core("random 1 MiB (last level)", time, 1 << 20, true, 0.0);
    one_core("random 16 MiB (last level, DRAM)", time, 16 << 20, true, 8.0);
    sharing("2 cores share, MESI, last level, DRAM", time, &with_cores(2), 5.0);
    sharing("8 cores share, MESI, last level, DRAM", time, &with_cores(8), 2.5);
    saturated("DRAM saturated, sequential, 1/3 writes", time, &ddr3_1600k(), |n| n * 64)?;
    let scattered = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & !63;
    saturated("DRAM saturated, random, 1/3 writes", time, &ddr3_1600k(), scattered)?;
    saturated("DRAM saturated, one bank, new rows", time, &ddr3_1600k(), |n| n << 16)
}

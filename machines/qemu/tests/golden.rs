//! What the image takes: bytes of the image, bytes for each thread and core, instructions of the kernel's paths.
//!
//! `golden/bare-metal.txt` holds what they were on x86-64, `bare-metal-arm64.txt` on 64-bit Arm. State must be the same to the byte, and neither the switch nor the tick may take
//! an instruction more. Sizes and other lengths may grow by a fiftieth before somebody has to look; the longest of a path, which
//! depends on who holds a lock when, by a twentieth. What has become smaller by a tenth is to be written down. `GOLDEN=write`
//! in the environment writes the file anew.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::listening::{Listening, Observed, Reaction, ScriptedCount};
use solo_model::policy::{Criterion, Scope};
use solo_model::task::TaskClass;
use solo_model::{CoreId, Duration, EventId, Experiment, Instant, Overhead, Policy, Record};
use solo_overheads::sets;
use solo_qemu::{BootOptions, Image, InstructionSet, Machine, Module};
use std::path::PathBuf;
use std::process::ExitCode;

const CORES: u8 = 4;
const THREADS: u64 = 25;
const PATHS: [Overhead; 4] =
    [Overhead::ContextSwitch, Overhead::Scheduling, Overhead::Release, Overhead::Tick];
const LISTENING_PATHS: [Overhead; 5] =
    [Overhead::ContextSwitch, Overhead::Scheduling, Overhead::Release, Overhead::Tick, Overhead::Counters];

fn main() -> ExitCode {
    common::run_everywhere("golden file of bare metal", |_| {
        let test: Test = Box::new(golden);
        vec![("sizes_states_and_path_lengths_are_those_of_the_golden_file".to_owned(), test)]
    })
}

/// How far a number may be from the golden one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Exactly,
    /// Not one more.
    NoMore,
    /// At most a fiftieth more.
    Little,
    /// At most a twentieth more.
    Growth,
}

impl Bound {
    fn allows(self, golden: u64, found: u64) -> bool {
        match self {
            Self::Exactly => found == golden,
            Self::NoMore => found <= golden,
            Self::Little => found * 50 <= golden * 51 && found * 10 >= golden * 9,
            Self::Growth => found * 20 <= golden * 21 && found * 5 >= golden * 4,
        }
    }
}

fn golden(image: &Image) -> Result<(), Failed> {
    let name = match image.instruction_set() {
        InstructionSet::X86_64 => "bare-metal.txt",
        InstructionSet::Arm64 => "bare-metal-arm64.txt",
    };
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let found = measure(image)?;
    let text: String = found.iter().map(|(name, value, _)| format!("{name}: {value}\n")).collect();
    if std::env::var("GOLDEN").is_ok_and(|word| word == "write") {
        return std::fs::write(&file, text).map_err(Failed::from);
    }
    let golden = std::fs::read_to_string(&file)?;
    let known = |name: &str| {
        let mut lines = golden.lines().filter_map(|line| line.rsplit_once(": "));
        lines.find(|(known, _)| *known == name).and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let wrong: Vec<String> = found
        .iter()
        .filter(|(name, value, bound)| !known(name).is_some_and(|golden| bound.allows(golden, *value)))
        .map(|(name, value, _)| format!("{name}: {value}, the golden file says {:?}", known(name)))
        .collect();
    let lines = golden.lines().count();
    if wrong.is_empty() && lines == found.len() {
        return Ok(());
    }
    let how = "if that is meant: GOLDEN=write cargo test -p solo-qemu --test golden";
    Err(format!("{lines} golden lines, {} found\n{}\n{how}", found.len(), wrong.join("\n")).into())
}

fn measure(image: &Image) -> Result<Vec<(String, u64, Bound)>, Failed> {
    let bytes = std::fs::read(image.path())?;
    let [in_file, in_memory] = match image.instruction_set() {
        InstructionSet::X86_64 => sizes(&bytes)?,
        // Plain bytes, whose header says what they take (image_size).
        InstructionSet::Arm64 => {
            let size = bytes.get(16..24).and_then(|field| field.first_chunk::<8>());
            let size = size.ok_or_else(|| Failed::from("the image has no header of 64-bit Arm"))?;
            [bytes.len() as u64, u64::from_le_bytes(*size)]
        }
    };
    let mut found = vec![
        ("image, loaded from the file, bytes".to_owned(), in_file, Bound::Little),
        ("image, in memory, bytes".to_owned(), in_memory, Bound::Little),
        ("kernel, a thread, bytes".to_owned(), solo_kernel::THREAD_BYTES.get(), Bound::Exactly),
        ("kernel, a core, bytes".to_owned(), solo_kernel::CORE_BYTES.get(), Bound::Exactly),
    ];
    for policy in sets::policies(CORES.into()) {
        let experiment = experiment(policy.clone(), THREADS);
        found.extend(path_lengths(image, &policy.to_string(), experiment, &PATHS)?);
    }
    let policy = || Policy::new(Scope::Partitioned, Criterion::Edf);
    let listens = listening(experiment(policy(), THREADS), Duration::from_millis(2));
    found.extend(path_lengths(image, "P-EDF, listening", listens, &LISTENING_PATHS)?);
    let alone = || experiment(policy(), CORES.into());
    found.push(whole(image, "nobody listens", alone())?);
    let told = listening(alone(), Duration::from_micros(7300));
    found.push(whole(image, "listening", told)?);
    Ok(found)
}

/// Instructions of the paths of one run.
fn path_lengths(
    image: &Image,
    who: &str,
    experiment: Experiment,
    paths: &[Overhead],
) -> Result<Vec<(String, u64, Bound)>, Failed> {
    let options = BootOptions { instruction_clock: true, probes: true, ..BootOptions::default() };
    let module = Module { options, experiment: Some(experiment) };
    let report = Machine::of(image.instruction_set()).with_cores(CORES).run_module(image, &module)?;
    let allocations = report.memory.as_ref().map(|memory| memory.allocations);
    if allocations != Some(0) {
        return Err(format!("{who}: {allocations:?} allocations while it ran").into());
    }
    let mut found = Vec::new();
    for &path in paths {
        let lengths = report.path_lengths(path, Instant::new(1_000_000));
        let (Some(least), Some(most)) = (lengths.first(), lengths.last()) else {
            return Err(format!("{who}: {} was never seen", path.name()).into());
        };
        let median = lengths[lengths.len() / 2];
        let usual = match path {
            Overhead::ContextSwitch | Overhead::Tick => Bound::NoMore,
            _ => Bound::Little,
        };
        let kinds = [("least", *least, usual), ("median", median, usual), ("most", *most, Bound::Growth)];
        for (what, length, bound) in kinds {
            found.push((format!("{who}, {}, {what} instructions", path.name()), length.get(), bound));
        }
    }
    Ok(found)
}

/// From the release of a job on an idle core to its end, of which it computes for 200 ns: the interrupt, the release, the decision and
/// the switch, with what it loads and saves for a scheduler that listens. The emulator counts a nanosecond for each instruction.
fn whole(image: &Image, who: &str, experiment: Experiment) -> Result<(String, u64, Bound), Failed> {
    let options = BootOptions { instruction_clock: true, ..BootOptions::default() };
    let module = Module { options, experiment: Some(experiment) };
    let report = Machine::of(image.instruction_set()).with_cores(CORES).run_module(image, &module)?;
    let length = |record: &Record| match record {
        Record::Job(job) => Some(job.finish.since(job.release).get()),
        _ => None,
    };
    let mut lengths: Vec<u64> = report.records.iter().filter_map(length).collect();
    lengths.sort_unstable();
    let median = *lengths.get(lengths.len() / 2).ok_or("no job has ended")?;
    Ok((
        format!("P-EDF, {who}, from release to end on an idle core, median instructions"),
        median,
        Bound::Little,
    ))
}

/// Bytes of the segments of an ELF64 file: in the file, and in memory.
fn sizes(elf: &[u8]) -> Result<[u64; 2], Failed> {
    let number = |at: usize, bytes: usize| {
        let field = elf.get(at..at + bytes)?;
        Some(field.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
    };
    let headers = || {
        let (table, each, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
        let loaded = (0..count).filter_map(|at| {
            let header = (table + at * each) as usize;
            (number(header, 4)? == 1).then_some([number(header + 0x20, 8)?, number(header + 0x28, 8)?])
        });
        Some(loaded.fold([0, 0], |[file, memory], [more, most]| [file + more, memory + most]))
    };
    headers().filter(|sizes| sizes[0] > 0).ok_or_else(|| Failed::from("the image is no ELF64 file"))
}

/// Periods of 3 to 27 ms and jobs that hardly compute, so that the kernel is all there is to see.
fn experiment(policy: Policy, threads: u64) -> Experiment {
    let task = |index: u64| (Duration::from_millis(3 + index), CoreId((index % u64::from(CORES)) as u16));
    let tasks = sets::computing((0..threads).map(task), Duration::new(200));
    let end = End::At(Duration::from_millis(30));
    Experiment::new("golden", ideal_platform(CORES.into()), policy, tasks, end)
}

/// The same while the scheduler looks at a counter of each core every `period`; that of core 0 has always counted more than it may. The
/// emulator has no counters: a count that is written down is read in their place.
fn listening(mut experiment: Experiment, period: Duration) -> Experiment {
    let observed = Observed::count_of(EventId::LLC_MISSES);
    let mut listening = Listening::new(observed, period, Reaction::Report);
    listening.classes = vec![TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort];
    let count = |at| ScriptedCount { core: CoreId(0), event: EventId::LLC_MISSES, at, count: 9 };
    listening.script = (0..15).map(|period| count(Instant::new(period * 2_000_000 + 1_000_000))).collect();
    experiment.listening = Some(listening);
    experiment
}

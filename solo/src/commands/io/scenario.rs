//! A table of offsets as a scenario: the run looks at each slot.
//!
//! ```text
//!   processing       a window of the partition, and a task whose deadline is the window's end
//!   device input     a [[device]] that moves data into memory in its slot
//!   device output    the same, out of memory
//! ```
//!
//! Physical steps are the devices' own: the chip sees nothing of them.

use crate::exit::Failure;
use solo_ima::{Offsets, Partition, Step};
use solo_model::check::LONGEST;
use solo_model::{CoreId, Duration, Platform};
use solo_scenario::IoTable;
use solo_scenario::units::TIME;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A device moves a line in so long: 64 MB/s.
const NANOSECONDS_A_LINE: u64 = 1_000;
const LINE: u64 = 64;
/// Periods of the whole table that the scenario runs for.
const HYPERPERIODS: u64 = 10;
/// So many windows a core are written at most.
const MOST_WINDOWS: u64 = 10_000;

/// The text of the scenario.
///
/// # Errors
/// Where the platform has no core for all partitions and one more for I/O, or where periods have so little in common that the table
/// is too long for a scenario.
pub(super) fn text(table: &IoTable, offsets: &[Offsets], platform: &Platform) -> Result<String, Failure> {
    let all: Vec<(&String, &Partition, &Offsets)> = {
        let both = table.partitions.iter().zip(table.problem.partitions());
        both.zip(offsets).map(|((name, partition), offsets)| (name, partition, offsets)).collect()
    };
    let io = io_core(&all, platform)?;
    let length = duration(&all)?;
    let mut text = format!(
        "# Written by `solo io`: partitions and transfers at the offsets that were found, for ten hyperperiods.\n\
         # What devices move (`moves`) is made up; say what yours do.\n\
         name = {}\nplatform = {}\nduration = {}\n\n[scheduler]\npolicy = \"P-RM\"\n",
        quoted(&table.name),
        quoted(&platform.name),
        time(length),
    );
    for (name, partition, offsets) in &all {
        let processing = time(partition.processing);
        let _ = write!(
            text,
            "\n[[task]]\nname = {0}\nclass = \"hard\"\ncore = {1}\nperiod = {2}\noffset = {3}\ndeadline = {processing}\n\
             wcet = {processing}\nwork = [{{ compute = {processing} }}]\n",
            quoted(name),
            partition.core.0,
            time(partition.period),
            time(offsets.begin(Step::Processing)),
        );
        for (step, direction) in [(Step::DeviceInput, "input"), (Step::DeviceOutput, "output")] {
            text.push_str(&device(name, partition, offsets, step, direction, io));
        }
    }
    text.push_str("\n[isolation.partitions]\n");
    for (name, _, _) in &all {
        let _ = writeln!(text, "{0} = [{0}]", quoted(name));
    }
    for (core, here) in by_core(&all) {
        text.push_str(&cycle(core, &here)?);
    }
    Ok(text)
}

/// How long the scenario runs: ten periods of the whole table, from the first begin of the last step on.
fn duration(all: &[(&String, &Partition, &Offsets)]) -> Result<Duration, Failure> {
    let hyperperiod = all.iter().map(|(_, partition, _)| partition.period).fold(Duration::new(1), multiple);
    let first = all.iter().flat_map(|(_, _, offsets)| Step::ALL.map(|step| offsets.begin(step))).max();
    let first = first.unwrap_or(Duration::ZERO).saturating_add(hyperperiod);
    let length = Duration::new(hyperperiod.get().saturating_mul(HYPERPERIODS)).saturating_add(first);
    if length <= LONGEST {
        return Ok(length);
    }
    let after = match hyperperiod.get() {
        u64::MAX => "not before the clock's end".to_owned(),
        _ => format!("after {hyperperiod} only"),
    };
    Err(Failure::Usage(format!(
        "the periods of all partitions begin together again {after}, and ten such times are longer than a scenario may be ({LONGEST}): \
         give them a shorter multiple in common"
    )))
}

/// The last core on which no partition computes.
fn io_core(all: &[(&String, &Partition, &Offsets)], platform: &Platform) -> Result<CoreId, Failure> {
    let cores = platform.cores.len();
    let lacks = |what: String| Failure::Usage(format!("{} has {cores} cores, and {what}", platform.name));
    let missing = all.iter().find(|(_, partition, _)| partition.core.index() >= cores);
    if let Some((name, partition, _)) = missing {
        return Err(lacks(format!("`{name}` is on core {}", partition.core.0)));
    }
    let free = |core: &CoreId| all.iter().all(|(_, partition, _)| partition.core != *core);
    let last = platform.core_set().iter().filter(free).last();
    last.ok_or_else(|| lacks("partitions compute on all of them: none is left for I/O".to_owned()))
}

fn device(
    name: &str,
    partition: &Partition,
    offsets: &Offsets,
    step: Step,
    direction: &str,
    io: CoreId,
) -> String {
    let slot = partition.duration(step);
    if slot.is_zero() {
        return String::new();
    }
    let lines = (slot.get() / NANOSECONDS_A_LINE).clamp(1, 1 << 14);
    format!(
        "\n[[device]]\nname = {}\nowner = {}\ndirection = \"{direction}\"\nmoves = \"{}B\"\nperiod = {}\noffset = {}\nslot = {}\n\
         core = {}\n",
        quoted(&format!("{direction} of {name}")),
        quoted(name),
        lines * LINE,
        time(partition.period),
        time(offsets.begin(step)),
        time(slot),
        io.0,
    )
}

type Here<'t> = Vec<(&'t String, &'t Partition, &'t Offsets)>;

fn by_core<'t>(all: &[(&'t String, &'t Partition, &'t Offsets)]) -> BTreeMap<CoreId, Here<'t>> {
    let mut cores: BTreeMap<CoreId, Here<'t>> = BTreeMap::new();
    for one in all {
        cores.entry(one.1.core).or_default().push(*one);
    }
    cores
}

/// The windows of a core; one that reaches beyond the end of the cycle goes on at its begin.
fn cycle(core: CoreId, here: &Here<'_>) -> Result<String, Failure> {
    let length = here.iter().map(|(_, partition, _)| partition.period).fold(Duration::new(1), multiple).get();
    let count =
        here.iter().map(|(_, partition, _)| length / partition.period.get()).fold(0, u64::saturating_add);
    if count > MOST_WINDOWS {
        return Err(Failure::Usage(format!(
            "the periods on core {} begin together again after {} only, which are {count} windows, and {MOST_WINDOWS} can be written: give \
             them a shorter multiple in common",
            core.0,
            Duration::new(length)
        )));
    }
    let mut windows: Vec<(u64, u64, String)> = Vec::new();
    for (name, partition, offsets) in here {
        let (first, period) = (offsets.begin(Step::Processing).get(), partition.period.get());
        for instance in 0..length / period {
            let begin = (first + instance * period) % length;
            let now = partition.processing.get().min(length - begin);
            windows.push((begin, now, quoted(name)));
            if now < partition.processing.get() {
                windows.push((0, partition.processing.get() - now, quoted(name)));
            }
        }
    }
    windows.sort();
    let mut text = format!(
        "\n[[isolation.cycle]]\ncore = {}\nlength = {}\nwindows = [\n",
        core.0,
        time(Duration::new(length))
    );
    for (begin, length, name) in windows {
        let (begin, length) = (time(Duration::new(begin)), time(Duration::new(length)));
        let _ = writeln!(text, "    {{ partition = {name}, begin = {begin}, length = {length} }},");
    }
    text.push_str("]\n");
    Ok(text)
}

/// The least common multiple, at most the longest time.
fn multiple(one: Duration, other: Duration) -> Duration {
    let common = solo_ima::gcd(one.get(), other.get()).max(1);
    Duration::new((one.get() / common).saturating_mul(other.get()))
}

/// A text as scenario files have it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn time(duration: Duration) -> String {
    format!("\"{}\"", TIME.print(duration.get()))
}

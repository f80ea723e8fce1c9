//! Monitoring modules for what Linux tells in files: energy, temperature, frequency, pressure, cache occupancy.
//!
//! A module names its files and turns their text into virtual counters; see
//! [`solo_observe::module`]. Any number work side by side. A user's own needs no code where a file holds one number:
//! [`described`] reads a description from a TOML file. The monitors that a scheduler can listen to are modules, too.

pub mod described;
mod guard;
mod levels;
mod metric;
mod pressure;
mod rapl;
mod resctrl;

pub use metric::{Unwatched, listened};
use solo_model::listening::{MonitorKind, Takes};
use solo_observe::{Input, MonitoringModule, VirtualCounter, module::Kind};
use solo_perf::files::Files;

/// A module that there is, whether or not this machine can feed it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name that users ask for it by.
    pub name: &'static str,
    /// What it tells, in a line.
    pub meaning: &'static str,
    /// Makes one for this machine; `None` where it has nothing to tell.
    pub find: fn(&dyn Files) -> Option<Box<dyn MonitoringModule>>,
}

/// The modules of files.
const FILES: [Entry; 8] = [
    Entry {
        name: "rapl",
        meaning: "energy of packages and DRAM, in microjoules (powercap)",
        find: rapl::find,
    },
    Entry { name: "hwmon", meaning: "energy and power sensors of boards (hwmon)", find: levels::sensors },
    Entry { name: "frequency", meaning: "the clock of each CPU, in kilohertz", find: levels::frequency },
    Entry {
        name: "temperature",
        meaning: "thermal zones, in thousandths of a degree",
        find: levels::temperature,
    },
    Entry { name: "psi", meaning: "time in which work waited for CPU, memory or I/O", find: pressure::stall },
    Entry {
        name: "faults",
        meaning: "page faults and context switches of the whole machine",
        find: pressure::faults,
    },
    Entry {
        name: "resctrl",
        meaning: "last-level cache occupancy and memory traffic of the groups that there are (CMT, MBM)",
        find: resctrl::find,
    },
    Entry {
        name: "guard",
        meaning: "budgets that solo guard holds: events, and how long CPUs and cgroups were stopped",
        find: guard::find,
    },
];

macro_rules! list {
    ($(#[doc = $doc:literal] $name:ident = $word:literal, $file:ident: $takes:expr;)+) => {
        /// The modules of monitors, with what each takes beside its name.
        const MONITORS: [(Entry, Takes); [$($word),+].len()] = [$((
            Entry { name: $word, meaning: $doc.trim_ascii(), find: |_| metric::of(MonitorKind::$name) },
            $takes,
        )),+];
    };
}

solo_model::monitors!(list);

/// All modules: what files tell, then the monitors that schedulers listen to, as far as they need nothing but their events.
pub fn entries() -> impl Iterator<Item = Entry> {
    let known = MONITORS.into_iter().filter(|(_, takes)| *takes == Takes::Nothing);
    FILES.into_iter().chain(known.map(|(entry, _)| entry))
}

/// What a number in a file means.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Gauge {
    input: Input,
    counter: VirtualCounter,
}

impl Gauge {
    fn new(path: String, name: String, meaning: impl Into<String>, kind: Kind) -> Self {
        Self { input: Input::File(path), counter: VirtualCounter { name, meaning: meaning.into(), kind } }
    }
}

/// A name that can be part of a column's: lower case letters, digits and underscores.
fn plain(name: &str) -> String {
    let letters =
        name.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    letters.collect()
}

#[cfg(test)]
mod tests;

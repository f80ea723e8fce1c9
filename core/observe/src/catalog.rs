//! How the canonical events are counted elsewhere than in the simulated machine, and what other tools call them.
//!
//! What an event is, its line in `solo-model` says ([`EventId`]); here stands one line for each that has other names,
//! a generic code of the Linux kernel, or a number in Arm's PMUv3. The codes of x86 processors are in
//! [`processors`](crate::processors). A name is looked up with `-` and `_` alike and in either case.
//!
//! A code stands with an event only where it counts what the event means: loads and stores together are `l1_misses`,
//! loads alone `l1_load_misses`.

use crate::event::{Cache, CacheResult, Code, Generic, Software};
use alloc::string::String;
use solo_model::EventId;
use solo_model::event::CANONICAL;

/// One canonical event.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The event.
    pub event: EventId,
    /// Other names: perf's, PMCTrack's, PAPI's.
    pub aliases: &'static [&'static str],
    /// The Linux kernel's generic code, where it has one.
    pub perf: Option<ConstCode>,
    /// The number of Arm's common event (Arm Architecture Reference Manual, D13.11, PMUv3).
    pub arm64: Option<u16>,
}

impl Entry {
    /// The canonical name.
    pub fn name(&self) -> &'static str {
        self.event.canonical().map_or("", |definition| &definition.name)
    }

    /// What is counted.
    pub fn meaning(&self) -> &'static str {
        self.event.canonical().map_or("", |definition| &definition.meaning)
    }
}

/// An encoding that can stand in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstCode {
    /// See [`Code::Software`].
    Software(Software),
    /// See [`Code::Generic`].
    Generic(Generic),
    /// See [`Code::Cache`]: cache, stores, result.
    Cache(Cache, bool, CacheResult),
}

impl From<ConstCode> for Code {
    fn from(code: ConstCode) -> Self {
        match code {
            ConstCode::Software(event) => Self::Software(event),
            ConstCode::Generic(event) => Self::Generic(event),
            ConstCode::Cache(cache, write, result) => Self::Cache { cache, write, result },
        }
    }
}

const fn generic(event: Generic) -> Option<ConstCode> {
    Some(ConstCode::Generic(event))
}
const fn software(event: Software) -> Option<ConstCode> {
    Some(ConstCode::Software(event))
}
const fn loads(cache: Cache, result: CacheResult) -> Option<ConstCode> {
    Some(ConstCode::Cache(cache, false, result))
}
const fn stores(cache: Cache, result: CacheResult) -> Option<ConstCode> {
    Some(ConstCode::Cache(cache, true, result))
}
const fn row(
    event: EventId,
    aliases: &'static [&'static str],
    perf: Option<ConstCode>,
    arm64: Option<u16>,
) -> Entry {
    Entry { event, aliases, perf, arm64 }
}

use Cache::{DataTlb, InstructionTlb, L1Data, L1Instruction, LastLevel, Node};
use CacheResult::{Access, Miss};
use EventId as E;
use Generic as G;
use Software as S;

/// All canonical events that have more than their definition.
#[rustfmt::skip]
pub const ENTRIES: &[Entry] = &[
    row(E::INSTRUCTIONS, &["instr", "instr_retired", "PAPI_TOT_INS"], generic(G::Instructions), Some(0x08)),
    row(E::CYCLES, &["cpu-cycles", "unhalted_core_cycles", "PAPI_TOT_CYC"], generic(G::Cycles), Some(0x11)),
    row(E::REF_CYCLES, &["unhalted_ref_cycles", "PAPI_REF_CYC"], generic(G::ReferenceCycles), None),
    row(E::BUS_CYCLES, &[], generic(G::BusCycles), Some(0x1d)),
    row(E::L1_MISSES, &["PAPI_L1_DCM"], None, Some(0x03)),
    row(E::L2_MISSES, &["PAPI_L2_DCM"], None, Some(0x17)),
    row(E::LLC_REFERENCES, &["cache-references", "llc_refs"], generic(G::CacheReferences), Some(0x2b)),
    row(E::LLC_MISSES, &["cache-misses", "PAPI_L3_TCM"], generic(G::CacheMisses), Some(0x2a)),
    row(E::BRANCHES, &["branch-instructions", "branch_instr_retired", "PAPI_BR_INS"], generic(G::Branches), Some(0x21)),
    row(E::BRANCH_MISSES, &["branch_misp_retired", "PAPI_BR_MSP"], generic(G::BranchMisses), Some(0x22)),
    row(E::STALLED_FRONTEND, &["stalled-cycles-frontend"], generic(G::StalledFrontend), Some(0x23)),
    row(E::STALLED_BACKEND, &["stalled-cycles-backend"], generic(G::StalledBackend), Some(0x24)),
    row(E::L1_LOADS, &["L1-dcache-loads", "PAPI_L1_DCA"], loads(L1Data, Access), Some(0x40)),
    row(E::L1_LOAD_MISSES, &["L1-dcache-load-misses", "PAPI_L1_LDM"], loads(L1Data, Miss), Some(0x42)),
    row(E::L1_STORES, &["L1-dcache-stores"], stores(L1Data, Access), Some(0x41)),
    row(E::L1I_MISSES, &["L1-icache-load-misses", "PAPI_L1_ICM"], loads(L1Instruction, Miss), Some(0x01)),
    row(E::LLC_LOADS, &["LLC-loads"], loads(LastLevel, Access), Some(0x36)),
    row(E::LLC_LOAD_MISSES, &["LLC-load-misses"], loads(LastLevel, Miss), Some(0x37)),
    row(E::LLC_STORES, &["LLC-stores"], stores(LastLevel, Access), None),
    row(E::DTLB_LOADS, &["dTLB-loads"], loads(DataTlb, Access), None),
    row(E::DTLB_MISSES, &["dTLB-load-misses", "PAPI_TLB_DM"], loads(DataTlb, Miss), None),
    row(E::ITLB_MISSES, &["iTLB-load-misses", "PAPI_TLB_IM"], loads(InstructionTlb, Miss), Some(0x02)),
    row(E::NODE_LOADS, &["node-loads"], loads(Node, Access), None),
    row(E::NODE_LOAD_MISSES, &["node-load-misses"], loads(Node, Miss), None),
    row(E::CPU_CLOCK, &["cpu-clock"], software(S::CpuClock), None),
    row(E::TASK_CLOCK, &["task-clock"], software(S::TaskClock), None),
    row(E::PAGE_FAULTS, &["faults", "page-faults"], software(S::PageFaults), None),
    row(E::MINOR_FAULTS, &["minor-faults"], software(S::MinorFaults), None),
    row(E::MAJOR_FAULTS, &["major-faults"], software(S::MajorFaults), None),
    row(E::CONTEXT_SWITCHES, &["cs", "context-switches"], software(S::ContextSwitches), None),
    row(E::CPU_MIGRATIONS, &["migrations", "cpu-migrations"], software(S::CpuMigrations), None),
    row(E::ALIGNMENT_FAULTS, &["alignment-faults"], software(S::AlignmentFaults), None),
    row(E::EMULATION_FAULTS, &["emulation-faults"], software(S::EmulationFaults), None),
];

/// Brings a name into the form in which names are compared: lower case, `_` for `-`.
pub fn normal(name: &str) -> String {
    name.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// The canonical event that somebody calls `name`.
pub fn find(name: &str) -> Option<EventId> {
    let wanted = normal(name);
    let alias = |entry: &&Entry| entry.aliases.iter().any(|alias| normal(alias) == wanted);
    let named = (0..).zip(CANONICAL).find(|(_, definition)| definition.name == wanted);
    let named = named.and_then(|(number, _)| EventId::new(number));
    named.or_else(|| ENTRIES.iter().find(alias).map(|entry| entry.event))
}

/// The generic code by which the Linux kernel counts `event`; `None` where it has none.
pub fn perf(event: EventId) -> Option<ConstCode> {
    entry(event)?.perf
}

/// The line of `event`, where it has one.
pub fn entry(event: EventId) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.event == event)
}

/// What is wrong with the catalogue: names that stand for two events, codes that have two names. Empty when it
/// is sound.
pub fn faults() -> alloc::vec::Vec<String> {
    let mut faults = alloc::vec::Vec::new();
    for (i, entry) in ENTRIES.iter().enumerate() {
        for alias in entry.aliases.iter().filter(|alias| find(alias) != Some(entry.event)) {
            faults.push(alloc::format!("{alias} stands for {} and another", entry.name()));
        }
        for other in &ENTRIES[i + 1..] {
            if entry.event == other.event {
                faults.push(alloc::format!("{} has two lines", entry.name()));
            }
            if entry.perf.is_some() && entry.perf == other.perf
                || entry.arm64.is_some() && entry.arm64 == other.arm64
            {
                faults.push(alloc::format!("{} and {} have the same code", entry.name(), other.name()));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one_event_and_each_event_has_one_line() {
        assert_eq!(faults(), [] as [&str; 0]);
    }

    #[test]
    fn names_of_other_tools_are_known() {
        for (theirs, ours) in [
            ("page-faults", E::PAGE_FAULTS),
            ("cs", E::CONTEXT_SWITCHES),
            ("instr", E::INSTRUCTIONS),
            ("cache-misses", E::LLC_MISSES),
            ("LLC-load-misses", E::LLC_LOAD_MISSES),
            ("L1-dcache-load-misses", E::L1_LOAD_MISSES),
            ("PAPI_L1_DCM", E::L1_MISSES),
            ("PAPI_TOT_CYC", E::CYCLES),
            ("snoop_hitm", E::SNOOP_HITM),
        ] {
            assert_eq!(find(theirs), Some(ours), "{theirs}");
        }
        assert!(find("instructionz").is_none());
    }

    /// `perf list` says so: its generic cache events are loads or stores, never both.
    #[test]
    fn loads_alone_are_never_called_by_the_name_of_loads_and_stores() {
        for entry in ENTRIES {
            if let Some(ConstCode::Cache(_, write, _)) = entry.perf {
                let word = if write { "store" } else { "load" };
                let said = entry.meaning().to_lowercase();
                assert!(said.contains(word) || said.contains("fetch"), "{}: {said}", entry.name());
                assert!(!said.contains("loads and stores"), "{}: {said}", entry.name());
            }
        }
    }
}

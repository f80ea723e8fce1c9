//! The canonical names of events, and what other tools call the same thing.
//!
//! A name is looked up with `-` and `_` alike and in either case. Processor-specific events have no place here:
//! they come from the kernel's own descriptions, from libpfm4 or as raw codes.

use crate::event::{Cache, CacheResult, Code, Generic, Software};
use alloc::string::String;

/// One canonical event.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The canonical name.
    pub name: &'static str,
    /// Other names: perf's, PMCTrack's, PAPI's.
    pub aliases: &'static [&'static str],
    /// The encoding.
    pub code: ConstCode,
    /// What is counted, with its unit where it is no plain count.
    pub meaning: &'static str,
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

const fn software(
    name: &'static str,
    aliases: &'static [&'static str],
    event: Software,
    meaning: &'static str,
) -> Entry {
    Entry { name, aliases, code: ConstCode::Software(event), meaning }
}

const fn generic(
    name: &'static str,
    aliases: &'static [&'static str],
    event: Generic,
    meaning: &'static str,
) -> Entry {
    Entry { name, aliases, code: ConstCode::Generic(event), meaning }
}

const fn cache(
    name: &'static str,
    aliases: &'static [&'static str],
    cache: Cache,
    write: bool,
    result: CacheResult,
    meaning: &'static str,
) -> Entry {
    Entry { name, aliases, code: ConstCode::Cache(cache, write, result), meaning }
}

/// All canonical events.
pub const ENTRIES: &[Entry] = &[
    generic(
        "instructions",
        &["instr", "instr_retired", "PAPI_TOT_INS"],
        Generic::Instructions,
        "instructions retired",
    ),
    generic(
        "cycles",
        &["cpu-cycles", "unhalted_core_cycles", "PAPI_TOT_CYC"],
        Generic::Cycles,
        "core clock cycles while not idle",
    ),
    generic(
        "ref_cycles",
        &["unhalted_ref_cycles", "PAPI_REF_CYC"],
        Generic::ReferenceCycles,
        "cycles of a clock of constant rate",
    ),
    generic(
        "llc_references",
        &["cache-references", "llc_refs"],
        Generic::CacheReferences,
        "accesses to the last-level cache, as the kernel maps them",
    ),
    generic(
        "llc_misses",
        &["cache-misses", "PAPI_L3_TCM"],
        Generic::CacheMisses,
        "misses of the last-level cache, as the kernel maps them",
    ),
    generic(
        "branches",
        &["branch-instructions", "branch_instr_retired", "PAPI_BR_INS"],
        Generic::Branches,
        "branches retired",
    ),
    generic(
        "branch_misses",
        &["branch_misp_retired", "PAPI_BR_MSP"],
        Generic::BranchMisses,
        "branches predicted wrongly",
    ),
    generic("bus_cycles", &[], Generic::BusCycles, "bus cycles"),
    generic(
        "stalled_frontend",
        &["stalled-cycles-frontend"],
        Generic::StalledFrontend,
        "cycles in which nothing was issued",
    ),
    generic(
        "stalled_backend",
        &["stalled-cycles-backend"],
        Generic::StalledBackend,
        "cycles in which nothing was retired",
    ),
    cache(
        "l1_loads",
        &["L1-dcache-loads", "PAPI_L1_DCA"],
        Cache::L1Data,
        false,
        CacheResult::Access,
        "loads that looked into the first-level data cache",
    ),
    cache(
        "l1_misses",
        &["L1-dcache-load-misses", "PAPI_L1_DCM"],
        Cache::L1Data,
        false,
        CacheResult::Miss,
        "loads that missed the first-level data cache",
    ),
    cache(
        "l1_stores",
        &["L1-dcache-stores"],
        Cache::L1Data,
        true,
        CacheResult::Access,
        "stores that looked into the first-level data cache",
    ),
    cache(
        "l1i_misses",
        &["L1-icache-load-misses", "PAPI_L1_ICM"],
        Cache::L1Instruction,
        false,
        CacheResult::Miss,
        "fetches that missed the first-level instruction cache",
    ),
    cache(
        "llc_loads",
        &["LLC-loads"],
        Cache::LastLevel,
        false,
        CacheResult::Access,
        "loads that reached the last-level cache",
    ),
    cache(
        "llc_load_misses",
        &["LLC-load-misses"],
        Cache::LastLevel,
        false,
        CacheResult::Miss,
        "loads that missed the last-level cache",
    ),
    cache(
        "llc_stores",
        &["LLC-stores"],
        Cache::LastLevel,
        true,
        CacheResult::Access,
        "stores that reached the last-level cache",
    ),
    cache(
        "dtlb_loads",
        &["dTLB-loads"],
        Cache::DataTlb,
        false,
        CacheResult::Access,
        "loads that looked into the data translation buffer",
    ),
    cache(
        "dtlb_misses",
        &["dTLB-load-misses", "PAPI_TLB_DM"],
        Cache::DataTlb,
        false,
        CacheResult::Miss,
        "loads that missed the data translation buffer",
    ),
    cache(
        "itlb_misses",
        &["iTLB-load-misses", "PAPI_TLB_IM"],
        Cache::InstructionTlb,
        false,
        CacheResult::Miss,
        "fetches that missed the instruction translation buffer",
    ),
    cache(
        "node_loads",
        &["node-loads"],
        Cache::Node,
        false,
        CacheResult::Access,
        "loads answered by the local memory node",
    ),
    cache(
        "node_load_misses",
        &["node-load-misses"],
        Cache::Node,
        false,
        CacheResult::Miss,
        "loads answered by another memory node",
    ),
    software("cpu_clock", &["cpu-clock"], Software::CpuClock, "nanoseconds of the CPU's clock"),
    software("task_clock", &["task-clock"], Software::TaskClock, "nanoseconds that the thread ran"),
    software("page_faults", &["faults", "page-faults"], Software::PageFaults, "page faults"),
    software("minor_faults", &["minor-faults"], Software::MinorFaults, "page faults without input or output"),
    software(
        "major_faults",
        &["major-faults"],
        Software::MajorFaults,
        "page faults that waited for input or output",
    ),
    software(
        "context_switches",
        &["cs", "context-switches"],
        Software::ContextSwitches,
        "changes from one thread to another",
    ),
    software(
        "cpu_migrations",
        &["migrations", "cpu-migrations"],
        Software::CpuMigrations,
        "moves of a thread to another CPU",
    ),
    software(
        "alignment_faults",
        &["alignment-faults"],
        Software::AlignmentFaults,
        "unaligned accesses mended by the kernel",
    ),
    software(
        "emulation_faults",
        &["emulation-faults"],
        Software::EmulationFaults,
        "instructions emulated by the kernel",
    ),
];

/// Brings a name into the form in which names are compared: lower case, `_` for `-`.
pub fn normal(name: &str) -> String {
    name.chars().map(|c| if c == '-' { '_' } else { c.to_ascii_lowercase() }).collect()
}

/// The canonical event that somebody calls `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    let wanted = normal(name);
    ENTRIES.iter().find(|entry| {
        normal(entry.name) == wanted || entry.aliases.iter().any(|alias| normal(alias) == wanted)
    })
}

/// What is wrong with the catalogue: names that stand for two events, codes that have two names. Empty when it
/// is sound.
pub fn faults() -> alloc::vec::Vec<String> {
    let mut faults = alloc::vec::Vec::new();
    for (i, entry) in ENTRIES.iter().enumerate() {
        for other in &ENTRIES[i + 1..] {
            if entry.code == other.code {
                faults.push(alloc::format!("{} and {} have the same code", entry.name, other.name));
            }
            let names = |entry: &Entry| {
                let all = core::iter::once(entry.name).chain(entry.aliases.iter().copied());
                all.map(normal).collect::<alloc::vec::Vec<_>>()
            };
            let (mine, theirs) = (names(entry), names(other));
            if let Some(name) = mine.iter().find(|name| theirs.contains(name)) {
                faults.push(alloc::format!("{name} stands for {} and {}", entry.name, other.name));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one_event_and_each_event_has_one_entry() {
        assert_eq!(faults(), [] as [&str; 0]);
    }

    #[test]
    fn names_of_other_tools_are_known() {
        for (theirs, ours) in [
            ("page-faults", "page_faults"),
            ("cs", "context_switches"),
            ("instr", "instructions"),
            ("cache-misses", "llc_misses"),
            ("LLC-load-misses", "llc_load_misses"),
            ("PAPI_TOT_CYC", "cycles"),
        ] {
            assert_eq!(find(theirs).map(|entry| entry.name), Some(ours), "{theirs}");
        }
        assert!(find("instructionz").is_none());
    }
}

//! The canonical events: each is defined here, once, in a line. Its documentation is its meaning, in every report.
//!
//! New events go to the end: the place of a line is the event's id in stored records.

use super::EventId;
use super::definition::{Definition, Unit};
use super::signal::Signal;

const fn only(signals: &[Signal]) -> Option<Signal> {
    match signals {
        [signal, ..] => Some(*signal),
        [] => None,
    }
}

macro_rules! canonical {
    ($($(#[doc = $doc:literal])+ $id:ident = $name:literal, $unit:ident $(, $signal:ident)?;)*) => {
        /// The places of the lines.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Line { $($id,)* }

        impl EventId {
            $($(#[doc = $doc])+ pub const $id: Self = Self(Line::$id as u16);)*
        }

        /// What the canonical ids mean, in their order.
        pub static CANONICAL: &[Definition] = &[
            $(Definition::fixed($name, Unit::$unit, concat!($($doc),+), only(&[$(Signal::$signal)?])),)*
        ];
    };
}

// id = name, unit, the signal of the simulated machine that it is, where there is one.
canonical! {
    /// Instructions retired.
    INSTRUCTIONS = "instructions", Instructions, Instructions;
    /// Core clock cycles while the core is not idle.
    CYCLES = "cycles", Cycles, Cycles;
    /// Loads and stores found in the first-level data cache.
    L1_HITS = "l1_hits", Accesses, L1Hit;
    /// Loads and stores not found in the first-level data cache.
    L1_MISSES = "l1_misses", Accesses, L1Miss;
    /// First-level misses found in the second level; none on platforms with two levels.
    L2_HITS = "l2_hits", Accesses, L2Hit;
    /// First-level misses not found in the second level; none on platforms with two levels.
    L2_MISSES = "l2_misses", Accesses, L2Miss;
    /// Accesses to the last level, loads and stores, that found their line there.
    LLC_HITS = "llc_hits", Accesses, LlcHit;
    /// Accesses to the last level, loads and stores, that did not find their line there.
    LLC_MISSES = "llc_misses", Accesses, LlcMiss;
    /// Lines read from DRAM on behalf of this core.
    DRAM_READS = "dram_reads", Lines, DramRead;
    /// Modified lines written to DRAM because this core's access evicted them.
    DRAM_WRITES = "dram_writes", Lines, DramWrite;
    /// Reads and writes of DRAM that found their row open.
    DRAM_ROW_HITS = "dram_row_hits", Lines, DramRowHit;
    /// Reads and writes of DRAM that had to close another row first.
    DRAM_ROW_CONFLICTS = "dram_row_conflicts", Lines, DramRowConflict;
    /// Accesses answered by another core's cache that held the line modified (HITM).
    SNOOP_HITM = "snoop_hitm", Accesses, SnoopHitModified;
    /// Accesses that found the line clean in another core's cache (HIT).
    SNOOP_HITS = "snoop_hits", Accesses, SnoopHitClean;
    /// Writes to a line held shared, which had to invalidate the other copies first.
    UPGRADES = "upgrades", Accesses, Upgrade;
    /// Lines this core lost because another core wrote them or an inclusive cache evicted them.
    INVALIDATIONS = "invalidations", Lines, InvalidationReceived;
    /// Accesses found in the last level that asked a core listed there as a holder, which had dropped the line
    /// (local HIT and remote MISS of thesis Table 16).
    SNOOP_MISSES = "snoop_misses", Accesses, SnoopMiss;
    /// Lines that the core's second-level cache took into a way that was in state I: empty, or emptied because
    /// another core wrote its line (L2_LINES_IN.I).
    L2_LINES_IN_I = "l2_lines_in_i", Lines, L2LinesInInvalid;
    /// Lines that the core's second-level cache took in state S or F (L2_LINES_IN.S).
    L2_LINES_IN_S = "l2_lines_in_s", Lines, L2LinesInShared;
    /// Lines that the core's prefetcher read from DRAM; they are among its `dram_reads`, but no misses.
    PREFETCHES = "prefetches", Lines, Prefetch;

    /// Loads that looked into the first-level data cache.
    L1_LOADS = "l1_loads", Accesses;
    /// Loads found in the first-level data cache.
    L1_LOAD_HITS = "l1_load_hits", Accesses;
    /// Loads not found in the first-level data cache.
    L1_LOAD_MISSES = "l1_load_misses", Accesses;
    /// Stores that looked into the first-level data cache.
    L1_STORES = "l1_stores", Accesses;
    /// Fetches not found in the first-level instruction cache.
    L1I_MISSES = "l1i_misses", Accesses;
    /// Loads found in the second-level cache.
    L2_LOAD_HITS = "l2_load_hits", Accesses;
    /// Loads that the second-level cache was asked for and did not have.
    L2_LOAD_MISSES = "l2_load_misses", Accesses;
    /// Accesses to the last-level cache, found there or not.
    LLC_REFERENCES = "llc_references", Accesses;
    /// Loads that reached the last-level cache.
    LLC_LOADS = "llc_loads", Accesses;
    /// Loads found in the last-level cache.
    LLC_LOAD_HITS = "llc_load_hits", Accesses;
    /// Loads that the last-level cache was asked for and did not have.
    LLC_LOAD_MISSES = "llc_load_misses", Accesses;
    /// Stores that reached the last-level cache.
    LLC_STORES = "llc_stores", Accesses;
    /// Loads that looked into the data translation buffer.
    DTLB_LOADS = "dtlb_loads", Accesses;
    /// Loads not found in the data translation buffer.
    DTLB_MISSES = "dtlb_misses", Accesses;
    /// Fetches not found in the instruction translation buffer.
    ITLB_MISSES = "itlb_misses", Accesses;
    /// Loads answered by the local memory node.
    NODE_LOADS = "node_loads", Accesses;
    /// Loads answered by another memory node.
    NODE_LOAD_MISSES = "node_load_misses", Accesses;
    /// Cycles of a clock of constant rate while the core is not idle.
    REF_CYCLES = "ref_cycles", Cycles;
    /// Cycles of the bus clock.
    BUS_CYCLES = "bus_cycles", Cycles;
    /// Branches retired.
    BRANCHES = "branches", Instructions;
    /// Branches predicted wrongly.
    BRANCH_MISSES = "branch_misses", Instructions;
    /// Cycles in which nothing was issued.
    STALLED_FRONTEND = "stalled_frontend", Cycles;
    /// Cycles in which nothing was retired.
    STALLED_BACKEND = "stalled_backend", Cycles;
    /// Time of the CPU's clock.
    CPU_CLOCK = "cpu_clock", Nanoseconds;
    /// Time that the thread ran.
    TASK_CLOCK = "task_clock", Nanoseconds;
    /// Page faults of both kinds.
    PAGE_FAULTS = "page_faults", Times;
    /// Page faults without input or output.
    MINOR_FAULTS = "minor_faults", Times;
    /// Page faults that waited for input or output.
    MAJOR_FAULTS = "major_faults", Times;
    /// Changes from one thread to another.
    CONTEXT_SWITCHES = "context_switches", Times;
    /// Moves of a thread to another CPU.
    CPU_MIGRATIONS = "cpu_migrations", Times;
    /// Unaligned accesses mended by the kernel.
    ALIGNMENT_FAULTS = "alignment_faults", Times;
    /// Instructions emulated by the kernel.
    EMULATION_FAULTS = "emulation_faults", Times;
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Stored records hold these places: a line may be added at the end, never moved or taken out. The list is of the time
    /// when records got their second format.
    #[test]
    fn ids_never_move() {
        let names: Vec<&str> = CANONICAL.iter().map(|definition| &*definition.name).collect();
        let known = include_str!("canonical.txt");
        let known: Vec<&str> = known.lines().collect();
        assert_eq!(names.get(..known.len()), Some(&known[..]), "new events come last");
        assert!(names.len() <= EventId::FIRST_OWN);
    }

    #[test]
    fn each_signal_is_one_event_at_most_and_meanings_are_sentences() {
        let mut seen = Vec::new();
        for definition in CANONICAL {
            assert!(definition.meaning.starts_with(char::is_uppercase), "{}", definition.meaning);
            assert!(
                definition.meaning.ends_with('.') && !definition.meaning.contains("  "),
                "{}",
                definition.name
            );
            if let Some(signal) = definition.signal {
                assert!(!seen.contains(&signal), "{signal:?} is two events");
                seen.push(signal);
            }
        }
    }
}

//! The event tables of PMCTrack 4.0 for x86 processors: names, codes and flags, as its public tables have them.

use super::row::{Mnemonic, fixed, flagged, masked, plain};

pub(super) const INTEL: &[Mnemonic] = &[
    fixed("instr_retired_fixed", 0),
    fixed("unhalted_core_cycles_fixed", 1),
    fixed("unhalted_ref_cycles_fixed", 2),
    fixed("instr", 0),
    fixed("cycles", 1),
    plain("unhalted_core_cycles", 0x3c),
    plain("instr_retired", 0xc0),
    masked!("unhalted_ref_cycles", 0x3c, 0x1),
    masked!("llc_references", 0x2e, 0x4f),
    masked!("llc_references.prefetch", 0x2e, 0x7f),
    masked!("llc_misses", 0x2e, 0x41),
    masked!("llc_misses.prefetch", 0x2e, 0x71),
    plain("branch_instr_retired", 0xc4),
    plain("branch_misses_retired", 0xc5),
];

pub(super) const L2: &[Mnemonic] = &[masked!("l2_references", 0x24, 0xff), masked!("l2_misses", 0x24, 0x3f)];

pub(super) const L2_LINES: &[Mnemonic] = &[masked!("l2_lines_in", 0xf1, 0x7)];

pub(super) const UNCORE: &[Mnemonic] =
    &[masked!("uncore_event0", 0xb7, 0x1), masked!("uncore_event1", 0xbb, 0x1)];

pub(super) const SKYLAKE: &[Mnemonic] = &[
    masked!("l1d.replacement", 0x51, 0x1),
    masked!("l2_lines_in.all", 0xf1, 0x7),
    masked!("cycle_activity_stalls.l2_miss", 0xa3, 0x5),
    masked!("cycle_activity_stalls.l3_miss", 0xa3, 0x6),
];

pub(super) const GOLDEN_COVE: &[Mnemonic] = &[
    masked!("l2_lines_in.all", 0x25, 0x1f),
    masked!("topdown_slots", 0xa4, 0x1),
    masked!("e_topdown_bad_spec.all", 0x73, 0x0),
    masked!("e_topdown_be_bound.all", 0x74, 0x0),
    masked!("e_topdown_fe_bound.all", 0x71, 0x0),
    masked!("e_topdown_retiring.all", 0xc2, 0x0),
];

pub(super) const CORE_2: &[Mnemonic] = &[
    fixed("instr_retired_fixed", 0),
    fixed("unhalted_core_cycles_fixed", 1),
    fixed("unhalted_ref_cycles_fixed", 2),
    fixed("instr", 0),
    fixed("cycles", 1),
    plain("unhalted_core_cycles", 0x3c),
    plain("instr_retired", 0xc0),
    masked!("unhalted_ref_cycles", 0x3c, 0x1),
    masked!("llc_references", 0x2e, 0x4f),
    masked!("llc_references.prefetch", 0x2e, 0x5f),
    masked!("llc_references.all", 0x2e, 0x7f),
    masked!("llc_misses", 0x2e, 0x41),
    masked!("llc_misses.prefetch", 0x2e, 0x51),
    masked!("llc_misses.all", 0x2e, 0x71),
    plain("branch_instr_retired", 0xc4),
    plain("branch_misses_retired", 0xc5),
    masked!("l2_lines_in", 0x24, 0x40),
    masked!("l2_lines_in.prefetch", 0x24, 0x50),
    masked!("l2_lines_in.all", 0x24, 0x70),
    masked!("bus_trans_burst", 0x6e, 0x40),
    masked!("bus_trans_burst.core", 0x6e, 0x40),
    masked!("bus_trans_burst.this_agent", 0x6e, 0xc0),
    masked!("bus_trans_burst.all_agents", 0x6e, 0xe0),
];

pub(super) const OPTERON: &[Mnemonic] = &[
    plain("instr_retired", 0xc0),
    plain("uops_retired", 0xc1),
    plain("unhalted_core_cycles", 0x76),
    plain("instr", 0xc0),
    plain("cycles", 0x76),
    plain("instr_retired", 0xc0),
    plain("llc_references", 0x4e0),
    plain("llc_misses", 0x4e1),
    plain("branch_instr_retired", 0xc2),
    plain("branch_misses_retired", 0xc3),
];

pub(super) const EPYC: &[Mnemonic] = &[
    plain("instr_retired", 0xc0),
    plain("uops_retired", 0xc1),
    plain("unhalted_core_cycles", 0x76),
    plain("instr", 0xc0),
    plain("cycles", 0x76),
    plain("instr_retired", 0xc0),
    plain("branch_instr_retired", 0xc2),
    plain("branch_misses_retired", 0xc3),
    masked!("cache_misses", 0x64, 0x9),
    masked!("cache_accesses", 0x60, 0xff),
    masked!("stalled_cycles_frontend", 0x87, 0x2),
    masked!("stalled_cycles_backend", 0x87, 0x1),
    masked!("l2_cache_accesses.dc_misses", 0x60, 0xc8),
    masked!("l2_cache_misses.dc_misses", 0x64, 0xc8),
    masked!("l2_cache_misses.all_misses", 0x64, 0x9),
    masked!("l2_pf_hit_l2", 0x70, 0x3f),
    masked!("l2_pf_miss_l2_hit_l3", 0x71, 0xff),
    masked!("l2_pf_miss_l2_l3", 0x72, 0xff),
    fixed("llc_misses", 0),
    fixed("llc_accesses", 1),
    flagged("l3_misses_core0", 0x030f000000000106, &[("pmu", 9), ("systemwide", 1)]),
    flagged("l3_misses_core1", 0x0c0f000000000106, &[("pmu", 9), ("systemwide", 1)]),
    flagged("l3_misses_core2", 0x300f000000000106, &[("pmu", 9), ("systemwide", 1)]),
    flagged("l3_misses_core3", 0xc00f000000000106, &[("pmu", 9), ("systemwide", 1)]),
    flagged("l3_accesses_core0", 0x030f000000008001, &[("pmu", 9), ("systemwide", 1)]),
    flagged("l3_accesses_core1", 0x0c0f000000008001, &[("pmu", 9), ("systemwide", 1)]),
    flagged("l3_accesses_core2", 0x300f000000008001, &[("pmu", 9), ("systemwide", 1)]),
    flagged("l3_accesses_core3", 0xc00f000000008001, &[("pmu", 9), ("systemwide", 1)]),
];

//! Mechanisms that would silently do nothing: what users of the public systems meet and nobody tells them.
//!
//! Each check is a pure function of numbers; a warning carries them and names cause and remedy.

use crate::map::MemoryMap;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use solo_model::isolation::Coloring;
use solo_model::names::{Explain, TaskNames, called};
use solo_model::platform::XorBits;
use solo_model::text::counted;
use solo_model::{Bandwidth, Bytes, CoreId, EventId, Events, Platform, Task, TaskClass, TaskId};

/// Something that is probably not meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    /// A budget that the core cannot use up.
    BudgetBeyondReach {
        /// The core.
        core: CoreId,
        /// Its budget.
        budget: Bandwidth,
        /// The most that the core can move.
        reach: Bandwidth,
    },
    /// The page is so large that it covers all colors.
    PageCoversColors {
        /// The page.
        page: Bytes,
        /// The page with which there would be colors.
        small_page: Bytes,
    },
    /// Bank bits differ within a page.
    BanksSplitByPage {
        /// Those functions.
        functions: Vec<XorBits>,
        /// The page.
        page: Bytes,
    },
    /// The last level's slices are chosen by a hash of color bits.
    HashOverColors {
        /// The functions that name bits of the color.
        functions: Vec<XorBits>,
    },
    /// A color has pages in few banks only, for they share address bits.
    ColorsFixBanks {
        /// Bits in both.
        shared: u64,
    },
    /// A counter that counts too little or too much.
    WrongCounter {
        /// What it should count.
        event: EventId,
        /// What a known walk causes.
        expected: Events,
        /// What was counted.
        counted: Events,
    },
    /// Traffic that the counted event does not see.
    UncountedTraffic {
        /// What the memory controller moved.
        moved: Events,
        /// What the cores' counters saw.
        counted: Events,
        /// Writes are not counted at all.
        writes_ignored: bool,
    },
    /// All cores that are regulated were idle when the period began: nothing is enforced.
    NobodyActive {
        /// Periods.
        periods: u64,
    },
    /// A core runs tasks that use memory and has no budget, so that it can slow all others down.
    Unregulated {
        /// The core.
        core: CoreId,
    },
    /// A task is confined to colors that another one that is not confined can use.
    OpenNeighbor {
        /// The confined task.
        task: TaskId,
        /// The other one.
        neighbor: TaskId,
    },
    /// More pages are locked than are ever accessed.
    ColdPages {
        /// The task.
        task: TaskId,
        /// Pages that nothing accesses.
        pages: u64,
    },
}

/// A warning in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// What is the matter.
    pub headline: String,
    /// What to do about it; none where nothing is known that helps.
    pub remedy: Option<String>,
}

/// Both in one line.
impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)?;
        self.remedy.iter().try_for_each(|remedy| write!(f, "; {remedy}"))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(&(), f)
    }
}

impl Explain for Warning {
    fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.advice(names))
    }
}

impl Warning {
    /// What is the matter and what to do about it; tasks are called by their names where they are known.
    pub fn advice(&self, names: &dyn TaskNames) -> Advice {
        let remedy = match self {
            Self::BudgetBeyondReach { .. } => Some("lower the budget or leave the core out".to_owned()),
            Self::PageCoversColors { small_page, .. } => {
                Some(format!("use pages of {small_page} (no huge pages)"))
            }
            Self::HashOverColors { .. } => Some("measure residual conflicts or use way masks".to_owned()),
            Self::ColorsFixBanks { .. } => {
                Some("give each task colors of the banks it should have".to_owned())
            }
            Self::WrongCounter { .. } => Some("choose another event".to_owned()),
            Self::UncountedTraffic { writes_ignored: true, .. } => Some("count reads and writes".to_owned()),
            Self::UncountedTraffic { writes_ignored: false, .. } => {
                Some("switch them off or reserve for them".to_owned())
            }
            Self::Unregulated { .. } => Some("give it one".to_owned()),
            Self::OpenNeighbor { neighbor, .. } => {
                Some(format!("give {} colors of its own", called(names, *neighbor)))
            }
            Self::BanksSplitByPage { .. } | Self::NobodyActive { .. } | Self::ColdPages { .. } => None,
        };
        Advice { headline: self.headline(names), remedy }
    }

    fn headline(&self, names: &dyn TaskNames) -> String {
        match self {
            Self::BudgetBeyondReach { core, budget, reach } => {
                format!(
                    "{core}'s budget of {budget} is above the {reach} that it can move: it is never throttled"
                )
            }
            Self::PageCoversColors { page, .. } => {
                format!("pages of {page} cover all sets of the cache: coloring has no effect")
            }
            Self::BanksSplitByPage { functions, page } => format!(
                "{} bank functions differ within a page of {page}: no placement of pages keeps tasks apart there",
                functions.len()
            ),
            Self::HashOverColors { functions } => format!(
                "{} slice functions name bits of the color: a color's lines are spread over slices unevenly",
                functions.len()
            ),
            Self::ColorsFixBanks { shared } => {
                format!(
                    "address bits {shared:#x} choose color and bank: partitioning one partitions the other"
                )
            }
            Self::WrongCounter { event, expected, counted } => format!(
                "{} counted {counted} events in a walk that causes {expected}: it does not count what its name \
                 says on this machine",
                event
            ),
            Self::UncountedTraffic { moved, counted, writes_ignored } => {
                let uncounted = if *writes_ignored { "writes" } else { "prefetchers, page walks or DMA" };
                format!(
                    "memory moved {moved} lines and the counters saw {counted}: {uncounted} are not counted"
                )
            }
            Self::NobodyActive { periods } => {
                format!(
                    "no regulated core had anything to run in {}: budgets belong elsewhere",
                    counted(*periods, "period")
                )
            }
            Self::Unregulated { core } => {
                format!("{core} runs tasks and has no budget: it can slow all others down")
            }
            Self::OpenNeighbor { task, neighbor } => format!(
                "{} is confined to colors that {} may use too",
                called(names, *task),
                called(names, *neighbor)
            ),
            Self::ColdPages { task, pages } => format!(
                "{pages} locked pages of {} are never accessed: they cost cache and gain nothing",
                called(names, *task)
            ),
        }
    }
}

/// The most that a core can move by itself: as many lines as it has outstanding misses, each in the time of an
/// access to an open row, and no more than the bus.
pub fn reach(platform: &Platform, core: CoreId) -> Bandwidth {
    let dram = &platform.dram;
    let line = platform.line();
    let clocks = u64::from(dram.timing.cl) + u64::from(dram.timing.burst / 2);
    let latency =
        dram.clock.get().saturating_mul(clocks).saturating_add(dram.path.get().saturating_mul(1000));
    let misses = u64::from(platform.kind(core).outstanding_misses.max(1));
    let rate = u128::from(line.get()) * u128::from(misses) * 1_000_000_000_000 / u128::from(latency.max(1));
    Bandwidth::new(u64::try_from(rate).unwrap_or(u64::MAX)).min(dram.peak())
}

/// A budget that `reach`, the most that the core can move by itself, never exhausts.
pub fn budget_in_reach(core: CoreId, budget: Bandwidth, reach: Bandwidth) -> Option<Warning> {
    (budget >= reach).then_some(Warning::BudgetBeyondReach { core, budget, reach })
}

/// What defeats colors or banks on this map: page size, hash, shared bits.
pub fn coloring(map: &MemoryMap, small_page: Bytes, slice_hash: &[XorBits], banks_too: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let color_bits = map.colors().functions().iter().fold(0, |all, function| all | function.0);
    if map.colors().count() <= 1 {
        warnings.push(Warning::PageCoversColors { page: map.page(), small_page });
    }
    if let Some(split) = map.split().filter(|_| banks_too) {
        let functions = split.functions.clone();
        warnings.push(Warning::BanksSplitByPage { functions, page: split.page });
    }
    let hashed: Vec<_> = slice_hash.iter().copied().filter(|function| function.0 & color_bits != 0).collect();
    if !hashed.is_empty() {
        warnings.push(Warning::HashOverColors { functions: hashed });
    }
    let bank_bits = map.banks().functions().iter().fold(0, |all, function| all | function.0);
    if color_bits & bank_bits != 0 && banks_too {
        warnings.push(Warning::ColorsFixBanks { shared: color_bits & bank_bits });
    }
    warnings
}

/// Tasks that are not confined and run beside a hard one that is: they can fill its colors. `touches`: whether a
/// task touches memory at all.
pub fn open_neighbors(coloring: &Coloring, tasks: &[Task], touches: impl Fn(TaskId) -> bool) -> Vec<Warning> {
    let confined =
        |task: TaskId| coloring.owners.iter().any(|owner| owner.task == task && !owner.colors.is_empty());
    let ids = || (0..tasks.len()).map(|at| TaskId(at as u32));
    let of = |task: TaskId| &tasks[task.index()];
    let mut warnings = Vec::new();
    for task in ids().filter(|&task| confined(task) && of(task).class == TaskClass::Hard) {
        let apart = |other: &TaskId| of(*other).core.is_none() || of(*other).core != of(task).core;
        let open = ids().filter(|&other| other != task && !confined(other) && touches(other));
        warnings.extend(open.filter(apart).map(|neighbor| Warning::OpenNeighbor { task, neighbor }));
    }
    warnings
}

/// Calibration: a walk that is known to cause `expected` events, against what a counter saw. An eighth less or
/// more is tolerated.
pub fn counter(event: EventId, expected: Events, counted: Events) -> Option<Warning> {
    let off = expected.get().abs_diff(counted.get());
    (off > expected.get() / 8).then_some(Warning::WrongCounter { event, expected, counted })
}

/// What memory moved against what was counted on all cores; an eighth may be uncounted.
pub fn coverage(moved: Events, counted: Events, writes_ignored: bool) -> Option<Warning> {
    let missing = moved.saturating_sub(counted);
    (missing > moved / 8).then_some(Warning::UncountedTraffic { moved, counted, writes_ignored })
}

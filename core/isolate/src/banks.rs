//! Private DRAM banks: which core gets which, and what that costs one core (SCE 2.1).

use crate::map::MemoryMap;
use alloc::vec::Vec;
use core::fmt;
use solo_model::platform::Dram;
use solo_model::{Bandwidth, Bank, Bytes, CoreId, Duration};

/// Banks for each core, core 0 first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BankPlan {
    /// The banks of each core, ascending.
    pub banks: Vec<Vec<Bank>>,
    /// The most that one core can move when each access opens a row.
    pub row_miss_rate: Bandwidth,
    /// The memory of each core.
    pub memory: Bytes,
}

/// Why banks can't be private.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BankError {
    /// Fewer banks than cores.
    TooFew {
        /// Cores.
        cores: usize,
        /// Banks that placement of pages controls.
        banks: u16,
    },
    /// A core's task needs more memory than its banks hold.
    TooSmall {
        /// The core.
        core: CoreId,
        /// What it needs.
        needs: Bytes,
        /// What its banks hold.
        holds: Bytes,
    },
}

impl fmt::Display for BankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { cores, banks } => {
                write!(
                    f,
                    "{banks} banks can't be private to {cores} cores: share some and keep the hot part apart"
                )
            }
            Self::TooSmall { core, needs, holds } => {
                write!(f, "{core} needs {needs} and its private banks hold {holds}")
            }
        }
    }
}

impl core::error::Error for BankError {}

/// An even division of the banks among as many cores as `needs` has entries, each of which says how much memory
/// a core needs. Neighbouring banks stay together.
///
/// # Errors
/// If there are fewer banks than cores or a core's memory does not fit.
pub fn divide(map: &MemoryMap, dram: &Dram, needs: &[Bytes]) -> Result<BankPlan, BankError> {
    let banks = map.banks().count();
    let each = u16::try_from(usize::from(banks).checked_div(needs.len()).unwrap_or(0)).unwrap_or(banks);
    if each == 0 {
        return Err(BankError::TooFew { cores: needs.len(), banks });
    }
    let memory = Bytes::new(dram.size.get() / u64::from(banks) * u64::from(each));
    if let Some((core, &needs)) = needs.iter().enumerate().find(|&(_, &needs)| needs > memory) {
        return Err(BankError::TooSmall { core: CoreId(core as u16), needs, holds: memory });
    }
    let of = |core: usize| (0..each).map(|at| Bank(core as u16 * each + at)).collect();
    let line = Bytes::new(dram.bus_width.get() * u64::from(dram.timing.burst));
    Ok(BankPlan {
        banks: (0..needs.len()).map(of).collect(),
        row_miss_rate: row_miss_rate(dram, each, line),
        memory,
    })
}

/// The most that can be moved when each access of `line` bytes opens a row of one of `banks` banks: bounded by
/// the row cycle of each bank, by activations of a rank (tRRD, tFAW), and by the bus.
///
/// One bank gives the bandwidth that is guaranteed whatever the addresses: a line each tRC (case study 2.1).
pub fn row_miss_rate(dram: &Dram, banks: u16, line: Bytes) -> Bandwidth {
    let timing = &dram.timing;
    let clocks = |count: u16| dram.clock.get() * u64::from(count.max(1));
    let by_row = clocks(timing.rc) / u64::from(banks.max(1));
    let by_rank = if banks > 1 { clocks(timing.rrd).max(clocks(timing.faw) / 4) } else { 0 };
    let by_bus = clocks(timing.burst / 2);
    let each = by_row.max(by_rank).max(by_bus).max(1);
    let rate = u128::from(line.get()) * 1_000_000_000_000 / u128::from(each);
    Bandwidth::new(u64::try_from(rate).unwrap_or(u64::MAX)).min(dram.peak())
}

/// The most that can be moved when each line that is read from a row of one bank pushes a modified one out into another row of it: a
/// row cycle for the read, one for the write with its recovery (tRCD, tCWL, data, tWR, tRP), less the time of refreshes.
pub(crate) fn row_miss_rate_written(dram: &Dram, line: Bytes) -> Bandwidth {
    let timing = &dram.timing;
    let write = timing.rcd + timing.cwl + timing.burst / 2 + timing.wr + timing.rp;
    let pair = dram.clock.get() * u64::from(timing.rc + write.max(timing.rc)).max(1);
    let whole = 2 * u128::from(line.get()) * 1_000_000_000_000 / u128::from(pair.max(1));
    let (busy, interval) = (u128::from(timing.rfc), u128::from(timing.refi.max(1)));
    let rate = whole * interval.saturating_sub(busy) / interval;
    Bandwidth::new(u64::try_from(rate).unwrap_or(u64::MAX)).min(dram.peak())
}

/// BW_min = line / L_max (SCE 3.2): the bandwidth that a measured longest delay of one access guarantees.
pub fn guaranteed_by(longest: Duration, line: Bytes) -> Bandwidth {
    Bandwidth::average(line, longest)
}

//! Ways and bandwidth: resctrl, pqos, MemGuard.

use super::{NotEnforceable, cores, tasks_of};
use solo_isolate::regulator::Allowance;
use solo_model::isolation::{Counted, WayOwner};
use solo_model::{Bandwidth, CoreId, Duration, Experiment, TaskId};
use std::fmt::Write;

const MIB: u64 = 1 << 20;
/// How often MemGuard renews budgets.
const MEMGUARD_PERIOD: Duration = Duration::from_millis(1);

/// What a core may do to the cache and to memory.
struct Share {
    core: CoreId,
    ways: Option<u64>,
    /// In MiB/s, rounded down: never more than planned.
    rate: Option<u64>,
}

/// By core with tasks or budgets.
fn shares(experiment: &Experiment) -> Result<Vec<Share>, NotEnforceable> {
    if experiment
        .isolation
        .memory
        .as_ref()
        .is_some_and(|memory| memory.owners.iter().any(|owner| !owner.colors.is_empty()))
    {
        return Err(NotEnforceable::ByColors);
    }
    let rates = rates(experiment)?;
    let mut all = cores(experiment);
    all.extend(rates.iter().map(|(core, _)| *core));
    all.sort_unstable();
    all.dedup();
    let share = |core: CoreId| {
        let rate = rates.iter().find(|(known, _)| *known == core).map(|(_, rate)| *rate);
        Ok(Share { core, ways: ways(experiment, core)?, rate })
    };
    let shares: Vec<Share> = all.into_iter().map(share).collect::<Result<_, NotEnforceable>>()?;
    if shares.iter().all(|share| share.ways.is_none() && share.rate.is_none()) {
        return Err(NotEnforceable::Nothing("neither ways nor budgets"));
    }
    // The last level is what a plan divides. Linux divides caches of two levels, and bandwidth behind those of the third.
    match level(experiment) {
        3 => Ok(shares),
        2 if shares.iter().all(|share| share.rate.is_none()) => Ok(shares),
        level => Err(NotEnforceable::Level { level }),
    }
}

fn level(experiment: &Experiment) -> u8 {
    experiment.platform.last_level().map_or(0, |cache| cache.level)
}

/// The ways of a core, a bit each; `None` for all.
fn ways(experiment: &Experiment, core: CoreId) -> Result<Option<u64>, NotEnforceable> {
    let owned =
        |owner| experiment.isolation.ways.iter().find(|mask| mask.owner == owner).map(|mask| mask.mask);
    let here = (0..).zip(&experiment.tasks).filter(|(_, task)| task.core == Some(core));
    let users = here.filter(|(_, task)| task.work.touches_memory());
    let mut masks: Vec<Option<u64>> = users
        .map(|(at, _): (u32, _)| owned(WayOwner::Task(TaskId(at))).or_else(|| owned(WayOwner::Core(core))))
        .collect();
    masks.sort_unstable();
    masks.dedup();
    let mask = match masks.as_slice() {
        [] => None,
        [one] => *one,
        _ => return Err(NotEnforceable::Differ(core)),
    };
    let is_stretch = |mask: u64| {
        let low = mask.checked_shr(mask.trailing_zeros()).unwrap_or(0);
        low & low.wrapping_add(1) == 0
    };
    match mask {
        Some(mask) if !is_stretch(mask) => Err(NotEnforceable::Stretch(core)),
        mask => Ok(mask),
    }
}

/// The budgets of cores in MiB/s.
fn rates(experiment: &Experiment) -> Result<Vec<(CoreId, u64)>, NotEnforceable> {
    let Some(regulation) = &experiment.isolation.bandwidth else { return Ok(Vec::new()) };
    if regulation.counted == Counted::ReadsAndWrites {
        return Err(NotEnforceable::Budgets("this plan counts reads and writes by themselves"));
    }
    if !regulation.changes.is_empty() {
        return Err(NotEnforceable::Budgets("these budgets change during the run"));
    }
    if regulation.tasks.iter().any(|task| task.budget.is_some()) {
        return Err(NotEnforceable::Budgets("tasks have budgets of their own"));
    }
    let line = experiment.platform.line();
    let rate = |entry: &solo_model::isolation::CoreBudget| {
        let Allowance::Fixed { events, .. } = Allowance::of(entry.budget, regulation, line) else {
            return Err(NotEnforceable::Budgets("weights divide what is left"));
        };
        let bytes = u128::from(events.get()).saturating_mul(u128::from(line.get()));
        let each = bytes.saturating_mul(1_000_000_000).checked_div(u128::from(regulation.period.get()));
        let rate = u64::try_from(each.unwrap_or(0)).unwrap_or(u64::MAX);
        match rate / MIB {
            0 => Err(NotEnforceable::TooSmall { core: entry.core, rate: Bandwidth::new(rate) }),
            whole => Ok((entry.core, whole)),
        }
    };
    regulation.cores.iter().map(rate).collect()
}

/// The number of the last-level cache of a core, as Linux counts them.
fn cache_of(experiment: &Experiment, core: CoreId) -> usize {
    let last = level(experiment);
    let all = experiment.platform.caches.iter().filter(|cache| cache.level == last);
    all.clone().position(|cache| cache.cores.contains(core)).unwrap_or(0)
}

/// A group for each core. The unit of `MB` is MiB/s under the mount option `mba_MBps`.
pub(super) fn resctrl(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let shares = shares(experiment)?;
    let mut text = String::from("umount /sys/fs/resctrl\n");
    let option = if shares.iter().any(|share| share.rate.is_some()) { "-o mba_MBps " } else { "" };
    let _ = writeln!(text, "mount -t resctrl {option}resctrl /sys/fs/resctrl");
    for Share { core, ways, rate } in shares {
        let (CoreId(number), cache) = (core, cache_of(experiment, core));
        let group = format!("/sys/fs/resctrl/core{number}");
        let _ = writeln!(text, "# {core}: {}\nmkdir {group}", tasks_of(experiment, core));
        if let Some(ways) = ways {
            let _ = writeln!(text, "echo 'L{}:{cache}={ways:x}' > {group}/schemata", level(experiment));
        }
        if let Some(rate) = rate {
            let _ = writeln!(text, "echo 'MB:{cache}={rate}' > {group}/schemata");
        }
        let _ = writeln!(text, "echo {number} > {group}/cpus_list");
    }
    Ok(text)
}

/// A class of service for each core: class 0 is everybody else's.
pub(super) fn pqos(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let shares = shares(experiment)?;
    let mut text = String::new();
    if shares.iter().any(|share| share.rate.is_some()) {
        text += "pqos -I -R mbaCtrl-on\n";
    }
    for (class, Share { core, ways, rate }) in (1..).zip(shares) {
        let class: u32 = class;
        let _ = writeln!(text, "# {core}: {}", tasks_of(experiment, core));
        if let Some(ways) = ways {
            // What it calls `llc` are caches of the third level.
            let cache = if level(experiment) == 2 { "l2" } else { "llc" };
            let _ = writeln!(text, "pqos -I -e '{cache}:{class}={ways:#x}'");
        }
        if let Some(rate) = rate {
            let _ = writeln!(text, "pqos -I -e 'mba_max:{class}={rate}'");
        }
        let _ = writeln!(text, "pqos -I -a 'core:{class}={}'", core.0);
    }
    Ok(text)
}

/// A number for each core; those without a budget have all that the memory's bus could carry.
pub(super) fn memguard(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let rates = rates(experiment)?;
    let Some(regulation) = experiment.isolation.bandwidth.as_ref().filter(|_| !rates.is_empty()) else {
        return Err(NotEnforceable::Nothing("no budgets"));
    };
    if regulation.period != MEMGUARD_PERIOD {
        return Err(NotEnforceable::Period { its: MEMGUARD_PERIOD, ours: regulation.period });
    }
    let peak = experiment.platform.dram.peak().get().div_ceil(MIB);
    let cores = (0_u16..).take(experiment.platform.cores.len()).map(CoreId);
    let each =
        cores.map(|core| rates.iter().find(|(known, _)| *known == core).map_or(peak, |(_, rate)| *rate));
    let numbers = each.map(|rate| rate.to_string()).collect::<Vec<_>>().join(" ");
    Ok(format!("echo 'mb {numbers}' > /sys/kernel/debug/memguard/read_limit\n"))
}

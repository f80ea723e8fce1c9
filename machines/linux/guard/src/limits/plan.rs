//! What is written for limits, and whether it can be.

use super::error::{LimitDoubt, LimitError};
use super::resctrl::Resctrl;
use crate::setting::{Group, Setting};
use solo_model::{Bandwidth, CoreId};

/// The unit of limits, in bytes.
const MIB: u64 = 1 << 20;

/// The limit of a CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    /// The CPU.
    pub core: CoreId,
    /// What was asked for.
    pub asked: Bandwidth,
    /// What is written, in MiB/s: never more than was asked for.
    pub mib: u64,
    /// The group that is made for it.
    pub group: Group,
}

/// What is written for limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    limits: Vec<Limit>,
    /// For each limit: the line with the limit, and those that the root has beside it.
    schemata: Vec<String>,
    doubts: Vec<LimitDoubt>,
}

impl Limit {
    /// The group itself.
    pub(crate) fn folder(&self) -> Setting {
        Setting::CacheFolder { group: self.group.clone() }
    }

    /// What its group may do.
    pub(crate) fn schemata(&self) -> Setting {
        Setting::Schemata { group: self.group.clone() }
    }

    /// Who is in it.
    pub(crate) fn cpu(&self) -> Setting {
        Setting::CacheCpu { cpu: self.core.0 }
    }

    /// The limit in bytes.
    pub(crate) const fn rate(&self) -> Bandwidth {
        Bandwidth::new(self.mib * MIB)
    }
}

impl Plan {
    /// Limits of these CPUs, in groups that are named after the process `owner`. Nothing is changed.
    ///
    /// # Errors
    /// See [`LimitError`].
    pub fn of(budgets: &[(CoreId, Bandwidth)], resctrl: &Resctrl, owner: u32) -> Result<Self, LimitError> {
        if budgets.is_empty() {
            return Err(LimitError::NoCore);
        }
        let mut budgets = budgets.to_vec();
        budgets.sort_unstable();
        if let Some(pair) = budgets.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(LimitError::Twice(pair[0].0));
        }
        resctrl.is_mounted()?;
        let (domains, others) = resctrl.schemata()?;
        let (least, granularity) = (resctrl.least()?, resctrl.granularity()?);
        let there = resctrl.groups()?;
        let (mut limits, mut doubts) = (Vec::new(), Vec::new());
        for (core, asked) in budgets {
            let mib = whole(core, asked, least, granularity)?;
            resctrl.is_free(core)?;
            let group = Group::of_cpu(owner, core);
            if there.iter().any(|name| group.is_called(name)) {
                return Err(LimitError::Exists(group));
            }
            if mib * MIB != asked.get() {
                doubts.push(LimitDoubt::Rounded { core, asked, mib, granularity });
            }
            limits.push(Limit { core, asked, mib, group });
        }
        enough(resctrl, limits.len() as u64)?;
        doubts.extend(resctrl.with_threads()?.into_iter().map(|group| LimitDoubt::Escapes { group }));
        let mode = resctrl.throttle_mode().filter(|mode| mode != "per-thread");
        doubts.extend(mode.map(|mode| LimitDoubt::Together { mode }));
        let lines = |limit: &Limit| {
            let values: Vec<String> =
                domains.iter().map(|domain| format!("{domain}={}", limit.mib)).collect();
            [others.clone(), vec![format!("MB:{}", values.join(";"))]].concat().join("\n")
        };
        let schemata = limits.iter().map(lines).collect();
        Ok(Self { limits, schemata, doubts })
    }

    /// The limits, the lowest CPU first.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }

    /// What there is to say of them before they are set.
    pub fn doubts(&self) -> &[LimitDoubt] {
        &self.doubts
    }

    /// Each setting that is changed with its value, in order: a CPU comes into a group that has its limit.
    pub fn changes(&self) -> Vec<(Setting, String)> {
        let one = |(limit, schemata): (&Limit, &String)| {
            [
                (limit.folder(), Setting::THERE.to_owned()),
                (limit.schemata(), schemata.clone()),
                (limit.cpu(), limit.group.to_string().trim_start_matches('/').to_owned()),
            ]
        };
        self.limits.iter().zip(&self.schemata).flat_map(one).collect()
    }
}

/// A rate in whole steps, rounded down.
fn whole(core: CoreId, asked: Bandwidth, least: u64, granularity: u64) -> Result<u64, LimitError> {
    let mib = asked.get() / MIB / granularity * granularity;
    // Nothing at all is no limit, whatever a file says.
    let least = least.max(1);
    if mib < least {
        return Err(LimitError::TooSmall { core, asked, mib, least, granularity });
    }
    if mib > u64::from(u32::MAX) {
        return Err(LimitError::TooLarge { core, asked });
    }
    Ok(mib)
}

/// Nothing where there are classes for so many groups.
fn enough(resctrl: &Resctrl, wanted: u64) -> Result<(), LimitError> {
    match resctrl.classes()? {
        Some((known, used)) if used.saturating_add(wanted) > known => {
            Err(LimitError::NoClass { classes: Some(known), used, wanted, status: None })
        }
        _ => Ok(()),
    }
}

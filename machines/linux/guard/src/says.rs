//! What the kernel says about what was written: often the same in other words.

use crate::setting::{Knob, Setting};
use std::collections::{BTreeMap, BTreeSet};

impl Setting {
    /// True where a setting that says `said` is as after `wanted` was written: lists of CPUs by their members, schemata by the
    /// resources that are named, all else by words.
    pub(crate) fn says(&self, said: &str, wanted: &str) -> bool {
        match self {
            Self::Cgroup { knob: Knob::Cpus, .. } | Self::Interrupt { .. } | Self::Affinity { .. } => {
                match (cpus(said), cpus(wanted)) {
                    (Some(said), Some(wanted)) => said == wanted,
                    _ => said.trim() == wanted.trim(),
                }
            }
            Self::Schemata { .. } => match (schemata(said), schemata(wanted)) {
                (Some(said), Some(wanted)) => wanted.iter().all(|(key, value)| said.get(key) == Some(value)),
                _ => said.trim() == wanted.trim(),
            },
            // A quota alone keeps the period.
            Self::Cgroup { knob: Knob::CpuMax, .. } if wanted.split_whitespace().count() == 1 => {
                said.split_whitespace().next() == wanted.split_whitespace().next()
            }
            Self::CacheMember { .. } | Self::CacheCpu { .. } => said == wanted,
            Self::Cgroup { .. }
            | Self::RealTimeRuntime
            | Self::FairServer { .. }
            | Self::Folder { .. }
            | Self::CacheFolder { .. } => said.split_whitespace().eq(wanted.split_whitespace()),
        }
    }
}

/// The members of `0-3,8`; `None` where it is no such list.
pub(crate) fn cpus(list: &str) -> Option<BTreeSet<u16>> {
    let mut cpus = BTreeSet::new();
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(low.trim().parse::<u16>().ok()?..=high.trim().parse::<u16>().ok()?);
    }
    Some(cpus)
}

/// Whether a list like `0-3,8` has a member; `None` where it is no such list. Nothing is expanded: a list may be anybody's.
pub(crate) fn lists(list: &str, cpu: u16) -> Option<bool> {
    let mut found = false;
    for range in list.trim().split(',').filter(|range| !range.is_empty()) {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        found |= (low.trim().parse::<u16>().ok()?..=high.trim().parse::<u16>().ok()?).contains(&cpu);
    }
    Some(found)
}

/// `L3:0=ff;1=ff` of each line, by resource and domain; `None` where it is nothing of the kind. Masks are hexadecimal, bandwidths
/// decimal: both lose their leading zeros only.
fn schemata(text: &str) -> Option<BTreeMap<(&str, &str), &str>> {
    let mut all = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (resource, domains) = line.split_once(':')?;
        for domain in domains.split(';') {
            let (domain, value) = domain.split_once('=')?;
            let plain = value.trim().trim_start_matches('0');
            all.insert((resource.trim(), domain.trim()), plain);
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Group;

    fn cgroup(knob: Knob) -> Setting {
        Setting::Cgroup { group: Group::new("g").unwrap(), knob }
    }

    #[test]
    fn a_member_of_a_list_is_found_without_expanding_it() {
        for (list, cpu, listed) in [
            ("0-3,8", 2, Some(true)),
            ("0-3,8", 8, Some(true)),
            ("0-3,8", 4, Some(false)),
            ("", 0, Some(false)),
            ("\n", 0, Some(false)),
            ("0-65535", 65535, Some(true)),
            ("3-1", 2, Some(false)),
            ("0-70000", 1, None),
            ("0,x", 0, None),
        ] {
            assert_eq!(lists(list, cpu), listed, "`{list}` {cpu}");
        }
    }

    #[test]
    fn the_same_in_other_words_is_the_same() {
        let schemata = Setting::Schemata { group: Group::new("g").unwrap() };
        for (setting, said, wanted, same) in [
            (cgroup(Knob::Freeze), "1", "1\n", true),
            (cgroup(Knob::Freeze), "1", "0", false),
            (cgroup(Knob::Cpus), "0-3", "3,0,1,2", true),
            (cgroup(Knob::Cpus), "0-3", "0-2", false),
            (cgroup(Knob::Cpus), "", "", true),
            (cgroup(Knob::Cpus), "", "0", false),
            (cgroup(Knob::CpuMax), "50000 100000", "50000", true),
            (cgroup(Knob::CpuMax), "max 100000", "50000 100000", false),
            (Setting::Interrupt { number: 5 }, "2-3", "2,3", true),
            (Setting::RealTimeRuntime, "950000", "-1", false),
            (schemata.clone(), "    L3:0=00f;1=fff\n    MB:0=100;1=100", "L3:0=f", true),
            (schemata.clone(), "L3:0=fff;1=fff", "L3:0=f", false),
            (schemata.clone(), "L3:0=0", "L3:0=00", true),
            (schemata, "L3:0=1", "MB:0=1", false),
        ] {
            assert_eq!(setting.says(said, wanted), same, "{setting} `{said}` `{wanted}`");
        }
    }
}

//! How the last-level cache of this machine can be divided, as resctrl says it (Intel CAT and CMT, Arm MPAM).

use solo_guard::Group;
use solo_model::{Bytes, CoreId, Platform};
use solo_perf::files::Files;

/// Where groups of resctrl are.
const RESCTRL: &str = "/sys/fs/resctrl";

/// The last level behind each core as resctrl names it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Division {
    level: u8,
    /// The number of its cache, of each core; nothing for a core that is not there.
    domains: Vec<Option<u32>>,
}

impl Division {
    /// As this machine tells of it; `platform` is the same machine's.
    pub fn of(files: &dyn Files, platform: &Platform) -> Self {
        let level = platform.last_level().map_or(0, |cache| cache.level);
        let domain = |cpu: usize| {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
            let number = |index: &str, name: &str| files.number(&format!("{folder}/{index}/{name}"));
            let mut indices = files.list(&folder).into_iter().filter(|name| name.starts_with("index"));
            let index = indices.find(|index| {
                let kind = files.text(&format!("{folder}/{index}/type")).unwrap_or_default();
                number(index, "level") == Some(i64::from(level)) && kind.trim() != "Instruction"
            })?;
            u32::try_from(number(&index, "id")?).ok()
        };
        Self { level, domains: (0..platform.cores.len()).map(domain).collect() }
    }

    /// The last level behind a core.
    pub fn domain(&self, core: CoreId) -> Option<u32> {
        self.domains.get(core.index()).copied().flatten()
    }

    /// The line that gives a group these ways of the cache behind `core`, or one line each for code and data where these are divided apart;
    /// `said` is what its `schemata` says now. Nothing where that is not of this cache.
    pub(crate) fn schemata(&self, said: &str, core: CoreId, mask: u64) -> Option<String> {
        let domain = self.domain(core)?;
        let own = format!("L{}", self.level);
        let names = said.lines().filter_map(|line| Some(line.split_once(':')?.0.trim()));
        let names = names.filter(|name| matches!(name.strip_prefix(&own), Some("" | "CODE" | "DATA")));
        let lines: Vec<String> = names.map(|name| format!("{name}:{domain}={mask:x}")).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// The ways that resctrl gives away, of a cache of this level; nothing where it gives none.
pub(crate) fn ways(files: &dyn Files, level: u8) -> Option<u16> {
    let info = ["", "DATA"].map(|kind| format!("{RESCTRL}/info/L{level}{kind}/cbm_mask"));
    let mask = info.iter().find_map(|path| files.text(path))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok().filter(|mask| *mask != 0)?;
    u16::try_from(mask.count_ones()).ok()
}

/// Fewer ways than this no group can have.
pub(crate) fn least_ways(files: &dyn Files, level: u8) -> u16 {
    let info = ["", "DATA"].map(|kind| format!("{RESCTRL}/info/L{level}{kind}/min_cbm_bits"));
    let least = info.iter().find_map(|path| files.number(path));
    least.and_then(|least| u16::try_from(least).ok()).unwrap_or(1)
}

/// What lines of a group take in all last-level caches; nothing where the hardware does not say.
pub(crate) fn held(files: &dyn Files, group: &Group) -> Option<Bytes> {
    let data = format!("{RESCTRL}/{}/mon_data", String::from(group.clone()));
    let domains = files.list(&data).into_iter().filter(|name| name.starts_with("mon_L3_"));
    let one = |name: String| files.number(&format!("{data}/{name}/llc_occupancy"));
    let all: Option<Vec<i64>> = domains.map(one).collect();
    let all = all.filter(|all| !all.is_empty())?;
    u64::try_from(all.into_iter().sum::<i64>()).ok().map(Bytes::new)
}

/// True where the hardware says what a group holds.
pub(crate) fn is_monitored(files: &dyn Files) -> bool {
    let features = files.text(&format!("{RESCTRL}/info/L3_MON/mon_features"));
    features.is_some_and(|features| features.lines().any(|line| line.trim() == "llc_occupancy"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_perf::Fake;

    #[test]
    fn ways_and_lines_held_are_read() {
        let files = Fake::new()
            .with("/sys/fs/resctrl/info/L3/cbm_mask", "7ff\n")
            .with("/sys/fs/resctrl/info/L3/min_cbm_bits", "2\n")
            .with("/sys/fs/resctrl/info/L2DATA/cbm_mask", "ff\n")
            .with("/sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n")
            .with("/sys/fs/resctrl/a/mon_data/mon_L3_00/llc_occupancy", "4096\n")
            .with("/sys/fs/resctrl/a/mon_data/mon_L3_01/llc_occupancy", "64\n")
            .with("/sys/fs/resctrl/b/mon_data/mon_L3_00/llc_occupancy", "Unavailable\n");
        assert_eq!((ways(&files, 3), ways(&files, 2), ways(&files, 1)), (Some(11), Some(8), None));
        assert_eq!((least_ways(&files, 3), least_ways(&files, 2)), (2, 1));
        assert!(is_monitored(&files) && !is_monitored(&Fake::new()));
        let held_by = |name: &str| held(&files, &Group::new(name).unwrap());
        assert_eq!((held_by("a"), held_by("b"), held_by("c")), (Some(Bytes::new(4160)), None, None));
    }
}

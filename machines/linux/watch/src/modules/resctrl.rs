//! Cache occupancy and memory traffic (CMT, MBM; PMCTrack 4.3) of the groups that there are.
//!
//! Only what is there already is read: no group is made, no thread is moved into one, nothing is written. So no RMID is
//! handed out here either, and none has to be recycled; whoever made a group (`mkdir /sys/fs/resctrl/mon_groups/NAME`
//! and its `tasks`) finds its columns here.
//!
//! ```text
//! /sys/fs/resctrl/mon_data/                           the default group
//! /sys/fs/resctrl/mon_groups/NAME/mon_data/           a monitoring group
//! /sys/fs/resctrl/GROUP/mon_data/                     a control group, with monitoring groups of its own
//! ```
//! The kernel writes `Unavailable` while an RMID has no counter and `Error` where the hardware failed; both read as
//! absent. A group that goes away reads as absent from then on, one that comes later is not seen.

use super::levels::Numbers;
use super::{Gauge, plain};
use solo_observe::MonitoringModule;
use solo_observe::module::Kind;
use solo_perf::files::Files;

const ROOT: &str = "/sys/fs/resctrl";
/// What stands beside control groups.
const NO_GROUPS: [&str; 3] = ["info", "mon_data", "mon_groups"];

pub(super) fn find(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let mut gauges = Vec::new();
    monitored(files, ROOT, "", &mut gauges);
    for group in files.list(ROOT) {
        let at = format!("{ROOT}/{group}");
        if !NO_GROUPS.contains(&group.as_str()) && files.exists(&format!("{at}/mon_data")) {
            monitored(files, &at, &format!("_{}", plain(&group)), &mut gauges);
        }
    }
    Numbers::boxed("resctrl", gauges)
}

/// A group's own columns and those of the monitoring groups in it; `name` goes into their names.
fn monitored(files: &dyn Files, group: &str, name: &str, gauges: &mut Vec<(Gauge, i64)>) {
    columns(files, group, name, gauges);
    for inner in files.list(&format!("{group}/mon_groups")) {
        columns(files, &format!("{group}/mon_groups/{inner}"), &format!("{name}_{}", plain(&inner)), gauges);
    }
}

fn columns(files: &dyn Files, group: &str, name: &str, gauges: &mut Vec<(Gauge, i64)>) {
    let data = format!("{group}/mon_data");
    for domain in files.list(&data) {
        let Some(cache) = domain.strip_prefix("mon_L3_") else { continue };
        let cache = cache.trim_start_matches('0');
        let cache = if cache.is_empty() { "0" } else { cache };
        let kinds = [
            ("llc_occupancy", "llc_occupancy", Kind::Level, "bytes that the group holds in the cache"),
            ("mbm_total_bytes", "memory_traffic", Kind::Sum, "bytes moved to and from memory"),
            ("mbm_local_bytes", "memory_traffic_local", Kind::Sum, "bytes moved to and from local memory"),
        ];
        for (file, column, kind, meaning) in kinds {
            let path = format!("{data}/{domain}/{file}");
            if files.exists(&path) {
                gauges.push((Gauge::new(path, format!("{column}{name}_{cache}_bytes"), meaning, kind), 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Modules;
    use solo_model::{Duration, Instant};
    use solo_perf::files::Fake;

    #[test]
    fn every_group_that_there_is_has_columns_and_one_that_goes_is_absent() {
        let traffic = "/sys/fs/resctrl/batch/mon_groups/sort/mon_data/mon_L3_01/mbm_total_bytes";
        let mut files = Fake::new()
            .with("/sys/fs/resctrl/info/L3_MON/num_rmids", "32\n")
            .with("/sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "4096\n")
            .with("/sys/fs/resctrl/mon_groups/My-App/mon_data/mon_L3_00/llc_occupancy", "8192\n")
            .with("/sys/fs/resctrl/batch/mon_data/mon_L3_01/llc_occupancy", "Unavailable\n")
            .with("/sys/fs/resctrl/batch/schemata", "L3:0=f\n")
            .with(traffic, "1000\n");
        let mut modules = Modules::none();
        modules.add(find(&files).unwrap());
        assert_eq!(
            modules.columns(),
            [
                "llc_occupancy_0_bytes",
                "llc_occupancy_my_app_0_bytes",
                "llc_occupancy_batch_1_bytes",
                "memory_traffic_batch_sort_1_bytes"
            ]
        );
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert_eq!(modules.sample(at(0), &files, &|_| None), [Some(4096), Some(8192), None, None]);
        files.set(traffic, Some("1500\n"));
        files.set("/sys/fs/resctrl/mon_groups/My-App/mon_data/mon_L3_00/llc_occupancy", None);
        assert_eq!(modules.sample(at(10), &files, &|_| None), [Some(4096), None, None, Some(500)]);
    }
}

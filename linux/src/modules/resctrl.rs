//! Cache occupancy and memory traffic of the default monitoring group (CMT, MBM; PMCTrack 4.3).
//!
//! Only what is there already is read: no monitoring group is made, nothing is written. The kernel writes
//! `Unavailable` while an RMID has no counter and `Error` where the hardware failed; both read as absent.

use super::Gauge;
use super::levels::Numbers;
use crate::files::Files;
use solo_observe::MonitoringModule;
use solo_observe::module::Kind;

const DATA: &str = "/sys/fs/resctrl/mon_data";

pub(super) fn find(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let mut gauges = Vec::new();
    for domain in files.list(DATA) {
        let Some(cache) = domain.strip_prefix("mon_L3_") else { continue };
        let cache = cache.trim_start_matches('0');
        let cache = if cache.is_empty() { "0" } else { cache };
        let kinds = [
            ("llc_occupancy", "llc_occupancy", Kind::Level, "bytes that the group holds in the cache"),
            ("mbm_total_bytes", "memory_traffic", Kind::Sum, "bytes moved to and from memory"),
            ("mbm_local_bytes", "memory_traffic_local", Kind::Sum, "bytes moved to and from local memory"),
        ];
        for (file, name, kind, meaning) in kinds {
            let path = format!("{DATA}/{domain}/{file}");
            if files.exists(&path) {
                gauges.push((Gauge::new(path, format!("{name}_{cache}_bytes"), meaning, kind), 1));
            }
        }
    }
    Numbers::boxed("resctrl", gauges)
}

//! What a guard holds (`solo guard`): it writes how far each budget has come into files of its folder.
//!
//! ```text
//! /run/solo-guard/live/cpu1/{budget,events,exceeded_periods,stopped_ns}
//! /run/solo-guard/live/program/...
//! /run/solo-guard/live/cpu2/{limit,rate,intervals_above}            back end mba
//! ```
//! A guard that ends takes them away: its columns are absent from then on. One that begins later is not seen.

use super::levels::Numbers;
use super::{Gauge, plain};
use solo_observe::MonitoringModule;
use solo_observe::module::Kind;
use solo_perf::files::Files;

const ROOT: &str = "/run/solo-guard/live";

pub(super) fn find(files: &dyn Files) -> Option<Box<dyn MonitoringModule>> {
    let mut gauges = Vec::new();
    for whose in files.list(ROOT) {
        let kinds = [
            ("budget", "budget_events", Kind::Level, "events that it may cause in a period"),
            ("events", "events", Kind::Sum, "events in the periods that have ended"),
            ("stopped_ns", "stopped_ns", Kind::Sum, "how long it was stopped in them"),
            ("exceeded_periods", "exceeded_periods", Kind::Sum, "periods with more events than allowed"),
            ("limit", "limit_bytes_per_s", Kind::Level, "bandwidth to which the processor limits it"),
            ("rate", "rate_bytes_per_s", Kind::Level, "bandwidth that was counted in the last second"),
            ("intervals_above", "intervals_above", Kind::Sum, "seconds in which it was above its limit"),
        ];
        for (file, column, kind, meaning) in kinds {
            let path = format!("{ROOT}/{whose}/{file}");
            if files.exists(&path) {
                gauges
                    .push((Gauge::new(path, format!("guard_{}_{column}", plain(&whose)), meaning, kind), 1));
            }
        }
    }
    Numbers::boxed("guard", gauges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Modules;
    use solo_model::{Duration, Instant};
    use solo_perf::files::Fake;

    #[test]
    fn budgets_are_columns_and_absent_once_the_guard_has_ended() {
        let events = format!("{ROOT}/cpu1/events");
        let mut files = Fake::new()
            .with(&format!("{ROOT}/cpu1/budget"), "00000000000000000200\n")
            .with(&events, "00000000000000001000\n")
            .with(&format!("{ROOT}/group0_batch.slice/stopped_ns"), "00000000000000000007\n");
        let mut modules = Modules::none();
        modules.add(find(&files).unwrap());
        let columns =
            ["guard_cpu1_budget_events", "guard_cpu1_events", "guard_group0_batch_slice_stopped_ns"];
        assert_eq!(modules.columns(), columns);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        assert_eq!(modules.sample(at(0), &files, &|_| None), [Some(200), None, None]);
        files.set(&events, Some("00000000000000001200\n"));
        assert_eq!(modules.sample(at(10), &files, &|_| None), [Some(200), Some(200), Some(0)]);
        files.set(&events, None);
        files.set(&format!("{ROOT}/cpu1/budget"), None);
        assert_eq!(modules.sample(at(20), &files, &|_| None), [None, None, Some(0)]);
        assert!(find(&Fake::new()).is_none());
    }
}

//! What breaks a rule for now, since when and why. An entry that excuses nothing any more is a finding.

use super::Finding;

/// An excuse for all findings of one rule about certain things in one file.
pub(super) struct Exemption {
    pub(super) rule: &'static str,
    pub(super) file: &'static str,
    /// [`Finding::what`], several with a space between them.
    pub(super) what: &'static str,
    /// The day on which it was written, as `YYYY-MM-DD`.
    pub(super) since: &'static str,
    pub(super) why: &'static str,
}

const fn excuse_for(
    rule: &'static str,
    file: &'static str,
    what: &'static str,
    why: &'static str,
) -> Exemption {
    Exemption { rule, file, what, since: "2026-11-22", why }
}

/// All excuses.
pub(super) const LIST: &[Exemption] = &[
    excuse_for(
        "tables",
        "docs/prove.md",
        "cell",
        "formulas of the catalogue, which a test holds equal to the code",
    ),
    excuse_for(
        "public",
        "crates/store/src/name.rs",
        "unescape",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for("bans", "crates/observe/src/row.rs", "f64", "metrics become fixed point"),
    excuse_for("length", "crates/scenario/src/resolve.rs", "experiment", "to be divided"),
    excuse_for("length", "machines/linux/overheads/src/ratios.rs", "ratios", "to be divided"),
    excuse_for("length", "machines/sim/src/memory/dram/clocked.rs", "check", "to be divided"),
    excuse_for("length", "machines/sim/src/memory/walk.rs", "ask_level", "to be divided"),
    excuse_for(
        "public",
        "crates/isolate/src/heap/mod.rs",
        "color_of",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/isolate/src/lockdown.rs",
        "locked_at_once",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/isolate/src/map/classes.rs",
        "of_dram",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/isolate/src/map/memory.rs",
        "MOST_CLASSES unpair",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/isolate/src/regulator/budget.rs",
        "events_in rate_of share_of",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/kernel/src/regulate.rs",
        "counter_refusals",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/observe/src/event.rs",
        "needs_counter",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/observe/src/set.rs",
        "DEFAULT_WINDOW",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/prove/src/budget.rs",
        "with_clock",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/prove/src/color/assign.rs",
        "assign",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/prove/src/color/cap_gs.rs",
        "cap_gs",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/prove/src/color/lwfg.rs",
        "lwfg",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/prove/src/task.rs",
        "LIMIT TASKS_LIMIT fits_alone is_implicit task_from_model",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/report/src/distribution.rs",
        "binned",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/report/src/report.rs",
        "REPORT_SCHEMA bandwidth_max bandwidth_mean breaks_bound longest_response miss_per_mille",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/report/src/run/manifest.rs",
        "source_hash",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/report/src/timeparts.rs",
        "mean_response phrase",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/scenario/src/address_map.rs",
        "parse_map parse_palloc",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/scenario/src/platform/device.rs",
        "parse_device",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/scenario/src/units.rs",
        "ENERGY",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "crates/study/src/draw/drs.rs",
        "dirichlet_rescale",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/overheads/src/clock.rs",
        "monotonic_ns",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/overheads/src/steady.rs",
        "PRIORITY keep_in_memory",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/overheads/src/stock/calls.rs",
        "null_call",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/overheads/src/stock/switches.rs",
        "futex_ring pipe_ring yield_ring",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/overheads/src/stock/ticks.rs",
        "broadcast",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/overheads/src/stock/wakeups.rs",
        "timer_files",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/doctor/src/btf.rs",
        "malformed_kfuncs",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/watch/src/follow.rs",
        "let_go wait_for_end",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/perf/src/region/mod.rs",
        "EVENTS_MAX",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/linux/watch/src/options.rs",
        "PERIOD_MIN",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "public",
        "machines/qemu/src/host.rs",
        "from_file",
        "not yet called from outside: to be used, made private or removed",
    ),
    excuse_for(
        "words",
        "crates/isolate/src/regulator/ledger.rs",
        "Ledger",
        "the regulator's names are being replaced",
    ),
    excuse_for(
        "words",
        "crates/isolate/src/regulator/mod.rs",
        "Laggards",
        "the regulator's names are being replaced",
    ),
    excuse_for(
        "matter",
        "scenarios/recordings/gzip.trace",
        "size",
        "an input of the shipped scenario; `./x recordings` makes it anew",
    ),
    excuse_for(
        "matter",
        "scenarios/recordings/sort.trace",
        "size",
        "an input of the shipped scenario; `./x recordings` makes it anew",
    ),
];

/// The findings that are not excused, and the excuses that nothing needs.
pub(super) fn excuse(found: Vec<Finding>, list: &[Exemption]) -> Vec<Finding> {
    let covers = |exemption: &Exemption, what: &str, finding: &Finding| {
        exemption.rule == finding.rule && exemption.file == finding.file && what == finding.what
    };
    let each =
        || list.iter().flat_map(|exemption| exemption.what.split(' ').map(move |what| (exemption, what)));
    let stale =
        each().filter(|(exemption, what)| !found.iter().any(|finding| covers(exemption, what, finding)));
    let mut left: Vec<Finding> = stale
        .map(|(exemption, what)| Finding {
            file: exemption.file.to_owned(),
            line: 0,
            rule: "stale-exemption",
            what: format!("{}: {what}", exemption.rule),
            text: format!(
                "the exemption of {} ({}) excuses nothing any more: take it out of xtask/src/tidy/exemptions.rs",
                exemption.since, exemption.why
            ),
        })
        .collect();
    let excused = |finding: &Finding| each().any(|(exemption, what)| covers(exemption, what, finding));
    left.extend(found.into_iter().filter(|finding| !excused(finding)));
    left.sort();
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(file: &str, what: &str) -> Finding {
        Finding { file: file.into(), line: 3, rule: "words", what: what.into(), text: String::new() }
    }

    #[test]
    fn an_exemption_excuses_its_thing_only_and_goes_stale() {
        let list = [excuse_for("words", "a.rs", "colour licence", "renamed next week")];
        let both = || vec![finding("a.rs", "colour"), finding("a.rs", "licence")];
        assert_eq!(excuse(both(), &list), []);
        let left = excuse([both(), vec![finding("b.rs", "colour")]].concat(), &list);
        assert_eq!(left, [finding("b.rs", "colour")]);
        let left = excuse(vec![finding("a.rs", "licence")], &list);
        assert_eq!(
            (left.len(), left[0].rule, left[0].what.as_str()),
            (1, "stale-exemption", "words: colour")
        );
        assert!(left[0].text.contains("2026-11-22"), "{}", left[0]);
    }
}

//! What the platform files say that memory guarantees is what the programs that measure it find.

use solo_model::Platform;
use solo_model::units::{Bandwidth, Duration};
use solo_scenario::Platforms;
use solo_sim::measure::{Effort, Load, MemoryBandwidth, bandwidth};
use std::path::Path;

/// A tenth of the effort of the command.
const QUICK: Effort = Effort { accesses: 500, span: Duration::from_micros(500) };

fn platform(name: &str) -> Platform {
    Platforms::builtin().load(name, Path::new("../..")).expect("it is sound")
}

fn measured(platform: &Platform) -> MemoryBandwidth {
    bandwidth(platform, QUICK, 1).expect("it can be measured")
}

#[test]
fn the_guaranteed_bandwidth_of_every_preset_is_what_is_measured() {
    for name in ["xeon-w3530", "i7-2600", "platforms/p4080.toml"] {
        let platform = platform(name);
        let found = measured(&platform);
        let promised = platform.dram.guaranteed.unwrap_or_else(|| panic!("{name} carries no figure"));
        let apart = promised.get().abs_diff(found.guaranteed().get());
        println!("{name}: {promised} promised, {} measured", found.guaranteed());
        assert!(apart * 50 < promised.get(), "{name}: {promised} promised, {} measured", found.guaranteed());
        let source = platform.sources.iter().find(|(key, _)| key.contains("guaranteed"));
        assert!(source.is_some_and(|(_, source)| source.contains("solo measure bandwidth")), "{source:?}");
    }
}

#[test]
fn every_read_of_the_worst_case_opens_a_row_and_the_bound_of_the_timing_holds() {
    let platform = platform("xeon-w3530");
    let found = measured(&platform);
    let of = |load| found.moved.iter().find(|moved| moved.pattern == load).expect("it was run");
    let chase = of(Load::Chase);
    assert!(chase.row_conflicts * 100 > chase.reads * 97, "{chase:?}");
    assert_eq!(chase.writes, 0);
    // A line each tRC, less the refreshes: 1.293 GB/s less two per cent.
    let bound = 64 * 1_000_000_000_000 / (33 * 1500);
    let rate = found.guaranteed().get();
    assert!(rate < bound && rate * 100 > bound * 96, "{rate} of {bound}");
    // Lines that are written back cost more than lines that are read.
    assert!(found.guaranteed_with_writes() < found.guaranteed());
    let written = of(Load::RowMissesWritten);
    assert!(written.writes * 10 > written.reads * 9, "{written:?}");
    assert!(found.peak() > Bandwidth::new(5 * rate) && found.peak() <= platform.dram.peak());
}

#[test]
fn one_miss_takes_what_caches_way_and_row_take_and_at_most_a_refresh_longer() {
    let platform = platform("xeon-w3530");
    let latency = measured(&platform).latency;
    assert_eq!(latency.accesses, 500);
    // 40 cycles of the last level, 20 ns of way, and precharge, activation, column and burst: 46.5 ns.
    assert!((75..95).contains(&latency.p50.get()), "{latency:?}");
    assert!(latency.max.get() < latency.p50.get() + 107 * 3 / 2 + 50, "{latency:?}");
    assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.max);
}

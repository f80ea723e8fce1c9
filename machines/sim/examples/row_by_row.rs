//! Figs. 5 and 9 of hpc-invalidations where the functions wait for each other at each row, beside where nothing holds them together:
//! `cargo run --release -p solo-sim --example row_by_row`
//!
//! Of each size: what the two functions take of the sequential time, with their share of accesses that another core answers, how far one is
//! ahead of the other when the first is done, and the share of bus clocks in which data are moved.

use solo_model::{Counts, EventTable, Experiment, Instant, Record};
use solo_scenario::{Platforms, load};
use solo_sim::Observer;
use std::ops::ControlFlow;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/papers/hpc-invalidations");
const SIZES: [&str; 7] = ["32KiB", "128KiB", "512KiB", "2MiB", "8MiB", "12MiB", "18MiB"];
/// A clock of the bus.
const BUS_CLOCK_NS: f64 = 3.0;

/// What the functions of a run did.
struct Measured {
    counts: Counts,
    events: EventTable,
    /// The end of each function.
    ends: Vec<Instant>,
}

impl Measured {
    fn of(&self, event: &str) -> f64 {
        let id = self.events.find(event).expect("the platform's file defines it");
        self.counts.get(id).unwrap_or(0) as f64
    }
    fn nanoseconds(&self) -> f64 {
        self.ends.iter().max().map_or(0.0, |end| end.get() as f64)
    }
    fn apart(&self) -> f64 {
        let first = self.ends.iter().min().map_or(0.0, |end| end.get() as f64);
        self.nanoseconds() - first
    }
    /// In per cent of the accesses.
    fn share(&self, event: &str) -> f64 {
        100.0 * self.of(event) / (self.of("l1_hits") + self.of("l1_misses"))
    }
    /// In per cent of the bus clocks.
    fn bus(&self) -> f64 {
        100.0 * (self.of("bus_drdy_clocks") + self.of("bus_data_rcv")) * BUS_CLOCK_NS / self.nanoseconds()
    }
    /// Of all cycles that Fig. 9 adds up, in per cent: DRDY, HIT, HITM, BNR, DATA_RCV, LOCK, L2_ADS.
    fn cycles(&self) -> Vec<f64> {
        let all = [
            self.of("bus_drdy_clocks"),
            self.of("bus_hit_drv"),
            self.of("bus_hitm_drv"),
            2.0 * self.of("bus_bnr_drv"),
            self.of("bus_data_rcv"),
            self.of("bus_lock_clocks"),
            self.of("l2_ads"),
        ];
        let sum: f64 = all.iter().sum();
        all.iter().map(|cycles| 100.0 * cycles / sum.max(1.0)).collect()
    }
}

#[derive(Default)]
struct Kept(Vec<Record>);

impl Observer for Kept {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Job(_) = record {
            self.0.push(record);
        }
        ControlFlow::Continue(())
    }
}

fn run(experiment: &Experiment) -> Measured {
    let mut kept = Kept::default();
    solo_sim::run(experiment, &[], &mut kept).expect("it runs");
    let (mut counts, mut ends) = (Counts::NONE, Vec::new());
    for record in kept.0 {
        if let Record::Job(job) = record
            && experiment.tasks[job.task.index()].name.starts_with("function")
        {
            counts.merge(&job.counts);
            ends.push(job.finish);
        }
    }
    Measured { counts, events: experiment.platform.events.clone(), ends }
}

fn main() {
    let scenario = |name: &str| {
        let path = format!("{FOLDER}/{name}.toml");
        load(Path::new(&path), &Platforms::builtin()).expect("it is sound").variants
    };
    let (together, free) = (scenario("row-by-row"), scenario("invalidations"));
    let variant = |all: &[Experiment], name: String| {
        run(all.iter().find(|known| known.variant == name).unwrap_or_else(|| panic!("no variant {name}")))
    };
    for prefetcher in [true, false] {
        println!("prefetcher {}", if prefetcher { "on" } else { "off" });
        println!(
            "size     of sequential: row by row, parallel, best | HIT % | HITM % | us apart: rows, parallel | bus %: sequential, rows, parallel, best"
        );
        let set = |all: &[Experiment]| -> Vec<Experiment> {
            let one = |known: &Experiment| {
                let mut changed = known.clone();
                changed.platform.prefetcher.iter_mut().for_each(|of| of.on = prefetcher);
                changed
            };
            all.iter().map(one).collect()
        };
        let (together, free) = (set(&together), set(&free));
        for size in SIZES {
            let sequential = variant(&together, format!("sequential, {size}"));
            let rows = variant(&together, format!("row by row, {size}"));
            // Each of its own repetitions, and with the kernel's costs.
            let [alone, parallel, best] =
                ["sequential", "parallel", "best case"].map(|mode| variant(&free, format!("{mode}, {size}")));
            println!(
                "{size:7}  {:.2} {:.2} {:.2} | {:.3} | {:.3} | {:.1} {:.1} | {:.1} {:.1} {:.1} {:.1}",
                rows.nanoseconds() / sequential.nanoseconds(),
                parallel.nanoseconds() / alone.nanoseconds(),
                best.nanoseconds() / alone.nanoseconds(),
                rows.share("ext_snoop_hit"),
                rows.share("ext_snoop_hitm"),
                rows.apart() / 1000.0,
                parallel.apart() / 1000.0,
                sequential.bus(),
                rows.bus(),
                parallel.bus(),
                best.bus(),
            );
            println!("         Fig. 9, rows: {:.1?}; parallel: {:.1?}", rows.cycles(), parallel.cycles());
        }
    }
}

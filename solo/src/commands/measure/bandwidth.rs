//! `solo measure bandwidth`: what memory guarantees, measured instead of typed in.

use super::platform_of;
use crate::cli::MeasureBandwidth;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_lab::campaign::bandwidth::{FoundBandwidth, bandwidth};
use solo_model::text::counted;
use solo_model::{Bandwidth, Bytes, Duration, Platform};
use solo_sim::measure::Effort;
use std::fmt::{self, Write};

/// Runs the loads on the simulated platform; exit code 1 where the platform file promises more than was found.
pub(crate) fn run(options: &MeasureBandwidth) -> Result<Exit, Failure> {
    let platform = platform_of(&options.platform, None)?;
    let defaults = Effort::default();
    let span = options.span_ms.map_or(defaults.span, Duration::from_millis);
    let effort = Effort { accesses: options.accesses.unwrap_or(defaults.accesses), span };
    let found = bandwidth(&platform, effort, options.seed)?;
    let shown = Shown::of(&platform, &found, options.seed);
    if options.json {
        output::json(Document::Bandwidth, &shown)?;
    } else {
        output::text(&shown.to_string())?;
    }
    Ok(if found.promise_holds() { Exit::Held } else { Exit::NotHeld })
}

#[derive(Serialize)]
struct Shown {
    platform: String,
    seed: u64,
    line_bytes: Bytes,
    /// One access at a time, each to another row of one bank.
    latency: Latency,
    bw_min_bytes_per_s: Bandwidth,
    l_max_ns: Duration,
    loads: Vec<Load>,
    r_min_bytes_per_s: Bandwidth,
    r_min_with_writes_bytes_per_s: Bandwidth,
    peak_bytes_per_s: Bandwidth,
    bus_bytes_per_s: Bandwidth,
    /// What the platform file says.
    promised_bytes_per_s: Option<Bandwidth>,
}

#[derive(Serialize)]
struct Latency {
    accesses: u64,
    mean_ns: Duration,
    p50_ns: Duration,
    p99_ns: Duration,
    max_ns: Duration,
}

#[derive(Serialize)]
struct Load {
    load: &'static str,
    cores: usize,
    reads: u64,
    writes: u64,
    row_conflicts: u64,
    span_ns: Duration,
    bytes_per_s: Bandwidth,
}

impl Shown {
    fn of(platform: &Platform, found: &FoundBandwidth, seed: u64) -> Self {
        let measured = &found.measured;
        let latency = measured.latency;
        let load = |moved: &solo_sim::measure::Moved| Load {
            load: moved.pattern.name(),
            cores: moved.cores,
            reads: moved.reads,
            writes: moved.writes,
            row_conflicts: moved.row_conflicts,
            span_ns: moved.span,
            bytes_per_s: moved.rate,
        };
        Self {
            platform: platform.name.clone(),
            seed,
            line_bytes: measured.line,
            latency: Latency {
                accesses: latency.accesses,
                mean_ns: latency.mean,
                p50_ns: latency.p50,
                p99_ns: latency.p99,
                max_ns: latency.max,
            },
            bw_min_bytes_per_s: measured.one_core,
            l_max_ns: latency.max,
            loads: measured.moved.iter().map(load).collect(),
            r_min_bytes_per_s: measured.guaranteed(),
            r_min_with_writes_bytes_per_s: measured.guaranteed_with_writes(),
            peak_bytes_per_s: measured.peak(),
            bus_bytes_per_s: platform.dram.peak(),
            promised_bytes_per_s: found.promised,
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let latency = &self.latency;
        writeln!(f, "{}, frames drawn by seed {}\n", self.platform, self.seed)?;
        writeln!(f, "one row miss at a time, {}", counted(latency.accesses, "access"))?;
        writeln!(
            f,
            "  latency   mean {}, p50 {}, p99 {}, max {} (L_max)",
            latency.mean_ns, latency.p50_ns, latency.p99_ns, latency.max_ns
        )?;
        writeln!(f, "  BW_min    {} (a line in each mean latency)\n", self.bw_min_bytes_per_s)?;
        let mut rows = String::new();
        for load in &self.loads {
            let Load { load: name, cores, reads, writes, row_conflicts, span_ns, bytes_per_s } = load;
            let rate = bytes_per_s.to_string();
            writeln!(
                rows,
                "  {name:<24} {rate:>10}   {}, {span_ns}: {}, {}, {}",
                counted(*cores, "core"),
                counted(*reads, "read"),
                counted(*writes, "write"),
                counted(*row_conflicts, "row conflict")
            )?;
        }
        writeln!(f, "all cores at once\n{rows}")?;
        let each = self.line_bytes.get() * 1_000_000_000 * 10 / self.r_min_bytes_per_s.get().max(1);
        let rate = self.r_min_bytes_per_s;
        writeln!(f, "r_min                     {rate} (a line each {}.{} ns)", each / 10, each % 10)?;
        writeln!(f, "r_min with lines written  {}", self.r_min_with_writes_bytes_per_s)?;
        writeln!(f, "peak                      {} of {}", self.peak_bytes_per_s, self.bus_bytes_per_s)?;
        match self.promised_bytes_per_s {
            None => writeln!(
                f,
                "the platform file names no guaranteed bandwidth: budgets are held against a line each tRC"
            ),
            Some(promised) if promised > self.r_min_bytes_per_s => {
                writeln!(f, "the platform file promises {promised}, which is more than was found")
            }
            Some(promised) => writeln!(f, "the platform file promises {promised}"),
        }
    }
}

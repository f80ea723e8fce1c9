//! `solo trace dram`: how long a DRAM device takes for a stream of requests.

use crate::cli::TraceDram;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_model::text::{Printable, counted};
use solo_model::{Bandwidth, Bytes, Duration};
use solo_sim::memory::dram::Offer;
use solo_sim::memory::{Dram, PhysicalAddress};
use solo_workload::image::TraceKind;
use std::fmt;

/// Makes the requests of a trace as fast as the device takes them: every line that a reference touches is a
/// request, the lowest first; a modify is a read and then a write.
pub(crate) fn run(options: &TraceDram) -> Result<Exit, Failure> {
    let mut description =
        solo_scenario::load_device(&options.device).map_err(|report| Failure::Scenario(Box::new(report)))?;
    if options.no_refresh {
        description.timing.refi = 0;
    }
    let line = Bytes::new(description.bus_width.get() * u64::from(description.timing.burst));
    let memory = Dram::new(&description, line, 1).map_err(|error| {
        Failure::Usage(format!("the device `{}` can't be built: {error}", Printable(&options.device)))
    })?;
    let mut offer = Offer::new(memory);
    let mut requests = 0_u64;
    solo_trace::open(&options.file)?.for_each(|reference| {
        let last = (reference.address + u64::from(reference.size - 1)) / line.get();
        for number in reference.address / line.get()..=last {
            let address = PhysicalAddress(number * line.get());
            let both = reference.kind == TraceKind::Modify;
            requests += 1 + u64::from(both);
            offer.request(address, reference.kind == TraceKind::Write);
            if both {
                offer.request(address, true);
            }
        }
    })?;
    let (end, counts) = offer.finish();
    let seconds = u128::from(end.get()).max(1);
    // What the queue of writes answers or takes in never comes over the bus.
    let moved = requests.saturating_sub(counts.forwarded);
    let moved = u128::from(moved) * u128::from(line.get()) * 1_000_000_000_000 / seconds;
    let report = Report {
        dram: Counted {
            device: options.device.clone(),
            refresh: description.timing.refi != 0,
            clocks: end.get() / description.clock.get(),
            requests,
            reads: counts.reads,
            writes: counts.writes,
            row_hits: counts.row_hits,
            row_closed: counts.row_closed,
            row_conflicts: counts.row_conflicts,
            forwarded: counts.forwarded,
            refreshes: counts.refreshes,
            time: end.nanoseconds(),
            bandwidth: Bandwidth::new(if requests == 0 { 0 } else { moved as u64 }),
        },
    };
    output::shown(Document::Dram, &report, options.json)
}

#[derive(Serialize)]
struct Report {
    dram: Counted,
}

#[derive(Serialize)]
struct Counted {
    device: String,
    refresh: bool,
    /// Bus clocks until the last data had moved.
    clocks: u64,
    requests: u64,
    reads: u64,
    writes: u64,
    row_hits: u64,
    row_closed: u64,
    row_conflicts: u64,
    /// Answered from, or merged in, the queue of writes.
    forwarded: u64,
    refreshes: u64,
    #[serde(rename = "time_ns")]
    time: Duration,
    #[serde(rename = "bandwidth_bytes_per_s")]
    bandwidth: Bandwidth,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted { device, refresh, clocks, requests, reads, writes, .. } = &self.dram;
        let refreshed = if *refresh { "" } else { ", no refresh" };
        writeln!(f, "device        {device}{refreshed}")?;
        writeln!(f, "clocks        {clocks} ({})", self.dram.time)?;
        writeln!(f, "requests      {requests} ({}, {})", counted(*reads, "read"), counted(*writes, "write"))?;
        writeln!(f, "row hits      {}", self.dram.row_hits)?;
        writeln!(f, "row closed    {}", self.dram.row_closed)?;
        writeln!(f, "row conflicts {}", self.dram.row_conflicts)?;
        writeln!(f, "forwarded     {}", self.dram.forwarded)?;
        writeln!(f, "refreshes     {}", self.dram.refreshes)?;
        writeln!(f, "bandwidth     {}", self.dram.bandwidth)
    }
}

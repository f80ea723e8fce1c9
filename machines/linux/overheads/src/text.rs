//! The tables that people read.

use crate::measure::{Measurement, Row, Side};
use crate::ratios::ratios;
use std::fmt::Write as _;

/// Everything as Markdown.
pub fn report(measurement: &Measurement) -> String {
    let mut text = String::new();
    let environment = &measurement.environment;
    let clock = &environment.clock;
    let _ = writeln!(
        text,
        "{}, {} CPUs{}, {}, load {}. Clock {:.1} MHz in steps of {:.0} ns; an empty bracket ({:.0} ns) is taken off.",
        environment.processor,
        environment.cpus,
        if environment.guest { " of a virtual machine" } else { "" },
        environment.kernel,
        environment.load,
        clock.ticks_per_us,
        clock.ns(clock.resolution_ticks as f64),
        clock.ns(clock.empty_ticks as f64),
    );
    if let Some(disturbed) = &environment.disturbed {
        let _ = writeln!(text, "Not kept apart from the rest of the machine: {disturbed}.");
    }
    for (title, side, swept) in [
        ("The kernel's paths, warm caches", Side::Kernel, false),
        ("The kernel's paths, caches swept before each entry", Side::Kernel, true),
        ("Linux", Side::Linux, false),
    ] {
        let rows = || measurement.rows.iter().filter(move |row| row.side == side && row.swept == swept);
        if rows().next().is_some() {
            let _ = write!(text, "\n{title}, nanoseconds\n\n{HEAD}");
            rows().for_each(|row| line(&mut text, row));
        }
    }
    let threads = measurement.threads();
    let most = threads.last().copied().unwrap_or(0);
    let all = ratios(measurement, most);
    if !all.is_empty() {
        let _ = write!(text, "\nLinux beside the kernel, {most} threads\n\n{RATIOS}");
        for ratio in &all {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                ratio.what,
                ratio.ours,
                short(ratio.ours_ns),
                ratio.linux,
                short(ratio.linux_ns),
                short(ratio.mean),
                short(ratio.median),
                short(ratio.p99),
                ratio.thesis
            );
        }
        let mut told: Vec<&str> = Vec::new();
        for ratio in all {
            if !told.contains(&ratio.unlike) {
                let _ = writeln!(text, "\n* {}: {}.", ratio.what, ratio.unlike);
                told.push(ratio.unlike);
            }
        }
    }
    for left_out in &measurement.left_out {
        let _ = writeln!(text, "\nNot measured: {left_out}.");
    }
    text
}

const HEAD: &str = "| what | policy | threads | mean | p50 | p99 | p99.9 | max | samples |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n";
const RATIOS: &str = "| overhead | the kernel's | mean ns | Linux's | mean ns | ratio of means | of medians | of p99 | thesis |\n|---|---|---:|---|---:|---:|---:|---:|---|\n";

fn line(text: &mut String, row: &Row) {
    let summary = &row.summary;
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.what,
        row.policy.as_deref().unwrap_or(""),
        row.threads.map(|threads| threads.to_string()).unwrap_or_default(),
        short(summary.mean_ns),
        short(summary.p50_ns),
        short(summary.p99_ns),
        short(summary.p999_ns),
        short(summary.max_ns),
        summary.samples
    );
}

/// A decimal below ten, none above.
fn short(value: f64) -> String {
    if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

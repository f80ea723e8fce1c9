//! Checks that concern several values of a platform at once.

use super::caches::independent;
use crate::code::Code;
use crate::fields::Problems;
use crate::tree::{Table, Value};
use solo_model::check::MOST_LINES;
use solo_model::platform::{Contents, Dram, XorBits};
use solo_model::{CoreSet, Platform};
use std::ops::Range;

/// Complains where values contradict each other.
pub(super) fn check(problems: &Problems, platform: &Platform, tree: &Table) {
    check_levels(problems, platform, tree);
    check_timing(problems, &platform.dram, tree);
    check_address_bits(problems, &platform.dram, tree);
}

/// The place of the value at a path of keys, else of the nearest table around it.
fn place(tree: &Table, path: &[&str]) -> Range<usize> {
    let mut span = 0..0;
    let mut table = Some(tree);
    for key in path {
        let Some(entry) = table.and_then(|table| table.get(key)) else { break };
        span = entry.node.span.clone();
        table = match &entry.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        };
    }
    span
}

/// Each core has one first-level data cache, at most one cache of each further level, latencies that grow and
/// lines of one size.
fn check_levels(problems: &Problems, platform: &Platform, tree: &Table) {
    let span = match tree.get("cache").map(|entry| &entry.node.value) {
        Some(Value::Array(items)) => items.first().map_or(0..0, |item| item.span.clone()),
        _ => 0..0,
    };
    let complain = |headline: String, expected: &str| {
        problems.push(
            problems.error(Code::Caches, headline, &span).label("the caches begin here").expected(expected),
        );
    };
    let mut latency = None;
    for level in 1..=platform.levels() {
        for instructions in [false, true] {
            let mut seen = CoreSet::EMPTY;
            for cache in platform.caches.iter().filter(|cache| cache.level == level) {
                if (cache.contents == Contents::Instructions) != instructions {
                    continue;
                }
                if !seen.and(cache.cores).is_empty() {
                    complain(
                        format!("a core has two caches of level {level}"),
                        "one for each level and core",
                    );
                    return;
                }
                seen = seen.or(cache.cores);
            }
            if !instructions && seen != platform.core_set() {
                complain(
                    format!("not every core has a data cache of level {level}"),
                    "levels without a gap that hold data for every core",
                );
                return;
            }
        }
        let of_level =
            platform.caches.iter().filter(|c| c.level == level && c.contents != Contents::Instructions);
        let found = of_level.map(|cache| cache.latency).max();
        if latency.is_some() && found <= latency {
            complain(
                format!("level {level} answers no later than level {}", level.saturating_sub(1)),
                "latencies that grow from level to level",
            );
        }
        latency = found;
    }
    let lines = platform
        .caches
        .iter()
        .map(|cache| cache.size.get().checked_div(cache.line.get()).unwrap_or(u64::MAX));
    let lines = lines.fold(0, u64::saturating_add);
    if lines > MOST_LINES {
        complain(
            format!("the caches of all cores hold {lines} lines together"),
            &format!("at most {MOST_LINES} lines, which can be simulated"),
        );
    }
    let Some(line) = platform.caches.first().map(|cache| cache.line) else { return };
    if platform.caches.iter().any(|cache| cache.line != line) {
        complain(String::from("caches have lines of different sizes"), "one line size on the whole chip");
    }
    if line > platform.page {
        complain(String::from("a line is larger than a page"), "lines that lie within a page");
    }
}

fn check_timing(problems: &Problems, dram: &Dram, tree: &Table) {
    let t = &dram.timing;
    let complain = |key: &str, headline: String, expected: String| {
        let span = place(tree, &["dram", "timing", key]);
        problems.push(
            problems
                .error(Code::DramTiming, headline, &span)
                .label("contradicts the others")
                .expected(expected),
        );
    };
    let sum = u32::from(t.ras).saturating_add(u32::from(t.rp));
    if u32::from(t.rc) != sum {
        complain("rc", format!("tRC = {} is not tRAS + tRP = {sum}", t.rc), format!("{sum}"));
    }
    if t.ras < t.rcd {
        complain(
            "ras",
            format!("tRAS = {} is shorter than tRCD = {}", t.ras, t.rcd),
            format!("at least {}", t.rcd),
        );
    }
    if t.faw < t.rrd {
        complain(
            "faw",
            format!("tFAW = {} is shorter than tRRD = {}", t.faw, t.rrd),
            format!("at least {}", t.rrd),
        );
    }
    if t.burst < 2 || t.burst / 2 > t.ccd {
        complain(
            "burst",
            format!("a burst of {} transfers does not fit into tCCD = {}", t.burst, t.ccd),
            format!("2 to {} transfers: two for each clock", t.ccd.saturating_mul(2)),
        );
    }
    if t.refi != 0 && t.rfc >= t.refi {
        complain(
            "rfc",
            format!("a refresh of {} fills its whole interval", t.rfc),
            format!("less than {}", t.refi),
        );
    }
}

/// Channels, ranks and banks are selected by bits that are different, inside the memory and above the line.
fn check_address_bits(problems: &Problems, dram: &Dram, tree: &Table) {
    let lists = [
        ("channel-bits", &dram.channel_bits),
        ("rank-bits", &dram.rank_bits),
        ("bank-bits", &dram.bank_bits),
    ];
    let size = dram.size.get();
    if !size.is_power_of_two() || size < 1 << 20 {
        let span = place(tree, &["dram", "size"]);
        problems.push(
            problems
                .error(Code::PowerOfTwo, format!("a memory of {} has no plain addresses", dram.size), &span)
                .label("not a usable size")
                .expected("a power of two from 1MiB"),
        );
        return;
    }
    let address_bits = size.trailing_zeros();
    let mut all: Vec<XorBits> = Vec::new();
    for (key, masks) in lists {
        let span = place(tree, &["dram", key]);
        for mask in masks {
            let (low, high) = (mask.0.trailing_zeros(), 63_u32.saturating_sub(mask.0.leading_zeros()));
            if low < 6 || high >= address_bits {
                problems.push(
                    problems
                        .error(
                            Code::Bits,
                            format!("`{key}` uses bit {}", if low < 6 { low } else { high }),
                            &span,
                        )
                        .label("not a bit of a line's address")
                        .expected(format!("bits 6 to {} of {}", address_bits.saturating_sub(1), dram.size)),
                );
                return;
            }
            all.push(*mask);
        }
        if !independent(&all) {
            problems.push(
                problems
                    .error(
                        Code::Bits,
                        format!("`{key}` selects by bits that select something else already"),
                        &span,
                    )
                    .label("overlaps with bits above")
                    .expected("bits that no other list of [dram] consists of"),
            );
            return;
        }
    }
    if u32::from(dram.row_shift) >= address_bits {
        let span = place(tree, &["dram", "row-shift"]);
        problems.push(
            problems
                .error(Code::Bits, format!("rows begin at bit {} of {address_bits}", dram.row_shift), &span)
                .label("above the memory")
                .expected(format!("a bit below {address_bits}")),
        );
    }
}

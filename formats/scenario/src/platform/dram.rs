//! Main memory of a platform file: `[dram]` and `[dram.timing]`.

use super::caches::bits;
use super::sourced::Sourced;
use crate::code::Code;
use crate::fields::{At, Fields};
use solo_model::platform::{Dram, DramTiming, PagePolicy, RequestOrder, XorBits};
use solo_model::{Bandwidth, Bytes, Duration, Picoseconds};

/// The longest DRAM timing in bus clocks; tREFI of a fast bus is about 12,000.
const MOST_CLOCKS: u64 = u16::MAX as u64;

/// Reads `[dram]`.
pub(super) fn read<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<Dram> {
    let size = sourced.positive::<Bytes>(&fields, "size");
    let [channel, rank, bank] =
        ["channel-bits", "rank-bits", "bank-bits"].map(|key| address_bits(&fields, sourced, key));
    let row_shift = sourced.number(&fields, "row-shift", 6, 40);
    let clock = sourced.positive::<Picoseconds>(&fields, "clock");
    let clock = at_most(&fields, clock, "clock", Picoseconds::new(1_000_000));
    let bus_width = sourced.positive::<Bytes>(&fields, "bus-width");
    let bus_width = at_most(&fields, bus_width, "bus-width", Bytes::new(1024));
    let policies = [("open", PagePolicy::Open), ("closed", PagePolicy::Closed)];
    let page_policy = sourced.word(&fields, "page-policy", &policies);
    let orders = [("row-hits-first", RequestOrder::RowHitsFirst), ("fcfs", RequestOrder::Fcfs)];
    let order = sourced.word(&fields, "order", &orders);
    let queue = sourced.number(&fields, "queue", 1, 64);
    let path = sourced.quantity::<Duration>(&fields, "path");
    let path = at_most(&fields, path, "path", Duration::from_millis(1));
    let rate = |key| {
        let found = if fields.has(key) { sourced.positive::<Bandwidth>(&fields, key) } else { None };
        found.map(|found| found.value)
    };
    let (guaranteed, guaranteed_with_writes) = (rate("guaranteed"), rate("guaranteed-with-writes"));
    let timing = if fields.has("timing") {
        fields.table("timing", "[dram.timing]").and_then(|table| {
            timing(Fields::new(fields.problems, table.value, table.span, "dram.timing"), sourced)
        })
    } else {
        let _ = fields.get("timing");
        fields.missing("timing", "[dram.timing]");
        None
    };
    fields.finish();
    Some(Dram {
        size: size?.value,
        channel_bits: channel?,
        rank_bits: rank?,
        bank_bits: bank?,
        row_shift: row_shift?.value as u8,
        clock: clock?.value,
        bus_width: bus_width?.value,
        timing: timing?,
        page_policy: page_policy?.value,
        order: order?.value,
        queue: queue?.value as u16,
        path: path?.value,
        guaranteed,
        guaranteed_with_writes,
    })
}

/// Refuses values that no chip has and that arithmetic would overflow on.
pub(super) fn at_most<Q: Copy + Ord + std::fmt::Display>(
    fields: &Fields<'_>,
    found: Option<At<Q>>,
    key: &str,
    most: Q,
) -> Option<At<Q>> {
    let found = found?;
    if found.value <= most {
        return Some(found);
    }
    fields.problems.push(
        fields
            .problems
            .error(Code::TooLarge, format!("`{key}` = {} is too large", found.value), &found.span)
            .label("no chip has this")
            .expected(format!("at most {most}")),
    );
    None
}

fn address_bits<'t>(fields: &Fields<'t>, sourced: &Sourced<'t>, key: &'static str) -> Option<Vec<XorBits>> {
    let found = sourced.text(fields, key, "12, 13, 14^18")?;
    bits(fields.problems, &found, key)
}

fn timing<'t>(fields: Fields<'t>, sourced: &Sourced<'t>) -> Option<DramTiming> {
    let clocks = |key: &'static str, least: u64| {
        sourced.number(&fields, key, least, MOST_CLOCKS).map(|found| found.value as u16)
    };
    let cl = clocks("cl", 1);
    let cwl = clocks("cwl", 1);
    let rcd = clocks("rcd", 1);
    let rp = clocks("rp", 1);
    let ras = clocks("ras", 1);
    let rc = clocks("rc", 1);
    let rrd = clocks("rrd", 1);
    let faw = clocks("faw", 1);
    let wr = clocks("wr", 1);
    let wtr = clocks("wtr", 1);
    let rtp = clocks("rtp", 1);
    let ccd = clocks("ccd", 1);
    let rfc = clocks("rfc", 0);
    let refi = clocks("refi", 0);
    let burst = clocks("burst", 1);
    fields.finish();
    Some(DramTiming {
        cl: cl?,
        cwl: cwl?,
        rcd: rcd?,
        rp: rp?,
        ras: ras?,
        rc: rc?,
        rrd: rrd?,
        faw: faw?,
        wr: wr?,
        wtr: wtr?,
        rtp: rtp?,
        ccd: ccd?,
        rfc: rfc?,
        refi: refi?,
        burst: burst?,
    })
}

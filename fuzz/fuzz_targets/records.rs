//! Any bytes as the records of a run: never a panic in what reads, sums up, judges, shows or exports them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_model::{Experiment, Instant, Record};
use solo_report::export::{Exporter, Format, Table};
use solo_report::perfetto::TraceWriter;
use solo_report::{Summary, table, verdict};
use solo_scenario::{Platforms, parse};
use std::path::Path;
use std::sync::LazyLock;

const SCENARIO: &str = r#"
name = "fuzz"
platform = "p4080"
duration = "5ms"
lock = [{ name = "bus", protocol = "inheritance" }]
[scheduler]
policy = "G-EDF"
[[task]]
name = "a"
class = "hard"
period = "1ms"
budget = "10MB/s"
work = [{ lock = "bus" }, { compute = "100us" }, { unlock = "bus" }, { sweep = "4KiB" }]
[[task]]
name = "b"
class = "best-effort"
work = [{ sweep = "4KiB" }]
[isolation.bandwidth]
cores = { 0 = "100MB/s", 1 = "200MB/s" }
[[isolation.bandwidth.change]]
at = "2ms"
cores = { 0 = "150MB/s" }
"#;

static EXPERIMENT: LazyLock<Experiment> = LazyLock::new(|| {
    let scenario = parse(SCENARIO, Path::new("/nowhere/fuzz.toml"), &Platforms::builtin());
    scenario.unwrap_or_else(|report| panic!("{}", report.to_json())).base
});

fuzz_target!(|bytes: &[u8]| {
    let mut records: Vec<Record> = Vec::new();
    let mut rest = bytes;
    while let Ok((record, left)) = postcard::take_from_bytes(rest) {
        records.push(record);
        rest = left;
    }
    let end = records.iter().map(Record::at).max().unwrap_or(Instant::ZERO);
    let mut summary = Summary::new(&EXPERIMENT);
    records.iter().for_each(|record| summary.add(record));
    let report = summary.finish(end);
    let judgement = verdict(&report, None);
    let _ = table::report(&report, &judgement, None, table::Style::PLAIN);
    let json = serde_json::to_string(&report).expect("a report is JSON");
    let _: solo_report::Report = serde_json::from_str(&json).expect("and is read back");
    for each in Table::ALL {
        let mut out = Vec::new();
        let mut rows = Exporter::new(each, Format::JsonLines, &mut out, &EXPERIMENT).expect("a header");
        records.iter().for_each(|record| rows.add(record).expect("a row"));
        rows.finish().expect("an end");
    }
    let mut trace = TraceWriter::new(Vec::new(), &EXPERIMENT).expect("a trace");
    records.iter().for_each(|record| trace.add(record).expect("a packet"));
    let _ = trace.finish(end);
});

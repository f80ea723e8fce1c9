//! `solo trace dram`: a device answers a stream of requests.

mod common;

use common::solo;
use serde_json::Value;
use std::fmt::Write as _;

fn dram(lines: &str, more: &[&str]) -> std::process::Output {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("requests.txt");
    std::fs::write(&trace, lines).unwrap();
    solo().args(["trace", "dram"]).arg(trace).args(more).output().expect("solo starts")
}

fn counted(lines: &str, more: &[&str]) -> Value {
    let output = dram(lines, more);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["dram"].take()
}

#[test]
fn one_read_takes_what_the_formula_says() {
    // tRCD + CL + BL/2 = 11 + 11 + 4.
    let one = counted("0x0 READ 0\n", &["--json"]);
    assert_eq!((one["clocks"].as_u64(), one["row_closed"].as_u64()), (Some(26), Some(1)));
}

#[test]
fn a_stream_fills_the_bus_and_refreshes_take_their_share() {
    let mut lines = String::new();
    (0..20_000).for_each(|n| writeln!(lines, "{:#x} READ {n}", n * 64).unwrap());
    let free = counted(&lines, &["--no-refresh", "--json"])["clocks"].as_u64().unwrap();
    assert!((80_000..80_100).contains(&free), "{free}");
    let refreshed = counted(&lines, &["--json"])["clocks"].as_u64().unwrap();
    assert!(refreshed > free + 12 * 280, "{refreshed}");
}

#[test]
fn what_does_not_come_over_the_bus_is_no_bandwidth() {
    // A hundred writes to each of eight lines: all but the first of each merge with the one that waits.
    let mut lines = String::new();
    (0..800).for_each(|n| writeln!(lines, "{:#x} WRITE {n}", n / 100 * 64).unwrap());
    let found = counted(&lines, &["--no-refresh", "--json"]);
    assert_eq!(found["forwarded"].as_u64(), Some(792));
    // Eight bytes move at both edges of a clock of 1.25 ns.
    let bandwidth = found["bandwidth_bytes_per_s"].as_u64().unwrap();
    assert!(bandwidth < 12_800_000_000, "{bandwidth}");
}

#[test]
fn what_is_no_request_and_no_device_is_refused_with_its_place() {
    let wrong = dram("0x0 READ 0\n0x40 FETCH 1\n", &[]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("line 2"));
    let unknown = dram("0x0 READ 0\n", &["--device", "ddr3-1600"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean \"ddr3-1600k\""));
}

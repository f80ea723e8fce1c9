//! `solo trace`: what its commands print for programs that read it, and what they say to traces that are none.

mod common;

use common::solo;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

const CACHES: &[&str] = &["cache", "-", "--cache", "D=1K:2:64:lru", "--cache", "H=1K:2:64:lru+4K:4:64:plru"];
const COHERENCE: &[&str] =
    &["coherence", "-", "--cores", "4", "--cache", "1K:2:64:lru", "--protocol", "moesi"];
const PROFILE: &[&str] = &["profile", "-"];
const DRAM: &[&str] = &["dram", "-", "--device", "ddr3-1600k"];

/// `solo trace` with the trace on its standard input.
fn trace(words: &[&str], text: &[u8]) -> Output {
    let mut command = solo();
    command.arg("trace").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses a line need not read those behind it.
    let _ = child.stdin.take().unwrap().write_all(text);
    child.wait_with_output().unwrap()
}

fn json(words: &[&str], text: &str) -> Value {
    let output = trace(&[words, &["--json"]].concat(), text.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Far beyond what a loaded machine takes; reached only by a hang.
const HANGS: Duration = Duration::from_secs(60);

/// Asks the program to end once, as often as it takes until it has begun to wait, and takes its status; a hang is killed.
fn asked_to_end(mut child: Child) -> Option<i32> {
    let began = Instant::now();
    // Before the program hears of signals at all they end it, too.
    std::thread::sleep(Duration::from_millis(300));
    let process = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(process, Signal::TERM).unwrap();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().or_else(|| status.signal());
        }
        if began.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A pipe into which nobody writes, by its name and as standard input: the first request ends who waits for it.
#[test]
fn who_waits_for_a_pipe_ends_when_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("trace");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for words in [&["trace", "profile"][..], &["trace", "dram", "--device", "ddr3-1600k"]] {
        let child =
            solo().args(words).arg(&pipe).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        assert!(matches!(asked_to_end(child), Some(130 | 15)), "{words:?} of a named pipe");
    }
    for words in [
        &["trace", "profile", "-"][..],
        &["trace", "dram", "-", "--device", "ddr3-1600k"],
        &["prove", "--jsonl"],
    ] {
        let mut command = solo();
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let _open = child.stdin.take();
        assert!(matches!(asked_to_end(child), Some(130 | 15)), "{words:?}");
    }
}

#[test]
fn caches_and_cores_are_reported_under_their_names() {
    let lackey = "==1== Lackey\nI  400000,4\n L 1000,8\n S 103c,8\n M 2000,4\n==1== \n";
    let report = json(CACHES, lackey);
    let caches = report["caches"].as_array().unwrap();
    let rows: Vec<_> = caches.iter().map(|row| row["cache"].as_str().unwrap()).collect();
    assert_eq!(rows, ["D", "L1I", "L1D", "L2"]);
    let mut fields = names(&caches[0]);
    fields.sort_unstable();
    assert_eq!(fields, ["accesses", "cache", "misses", "spec", "writebacks"]);
    // A load, a store over two lines, and a line read and written.
    assert_eq!((caches[0]["accesses"].as_u64(), caches[0]["misses"].as_u64()), (Some(5), Some(3)));
    let report = json(COHERENCE, "0 R 1000\n3 W 0x1000\n0 R 1020\n");
    let cores = report["cores"].as_array().unwrap();
    assert_eq!(cores.len(), 4);
    for name in ["accesses", "hits", "misses", "upgrades", "invalidations", "dirty_evictions"] {
        assert!(cores[0][name].is_u64(), "{name}");
    }
    let kinds = ["hitm", "hit_remote", "clean_miss"].map(|kind| cores[0][kind].as_u64().unwrap());
    assert_eq!(kinds, [1, 0, 1]);
}

#[test]
fn all_forms_of_a_trace_are_counted_alike() {
    let first = json(CACHES, " L 1000,1\n S 2fff,1\nI  10,1\n")["caches"].take();
    for same in
        ["L 1000,1\nS 2fff,1\nI 10,1\n", "L 0x1000,1\r\nS 0X2FFF,1\r\nI 10,1", "0 1000\n1 2fff\n2 10\n"]
    {
        assert_eq!(json(CACHES, same)["caches"], first, "{same:?}");
    }
    let data = json(&CACHES[..4], " L 1000,1\n S 2fff,1\n")["caches"].take();
    assert_eq!(json(&CACHES[..4], "0 R 1000\n3 W 2fff\n")["caches"], data);
}

#[test]
fn what_is_no_trace_is_refused_with_its_line() {
    let good = b" L 1000,8\n".as_slice();
    let long = vec![b'a'; 2 << 20];
    for bad in [
        b"hello\n".as_slice(),
        b" L 0,18446744073709551615\n",
        b" L 0,0\n",
        b" L ffffffffffffffff,64\n",
        b" L 12345678901234567,1\n",
        b" L 1\x0000,8\n",
        b"\0\0\0\0\n",
        b"0 1000\n",
        b" L 10,8 L 20,8\n",
        &long,
    ] {
        for words in [CACHES, COHERENCE, PROFILE, DRAM] {
            let output = trace(words, &[good, bad].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
            assert!(said.starts_with("error: line 2: ") && said.len() < 300, "{said}");
            assert!(output.stdout.is_empty(), "half a report");
        }
    }
    for beyond in ["0 R 10\n4 R 10\n", "0 R 10\n64 R 10\n", "0 R 10\n18446744073709551616 R 10\n"] {
        let output = trace(COHERENCE, beyond.as_bytes());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: line 2: "));
    }
    // Behind the magic bytes of each compression, nothing that decompresses.
    for magic in [b"\x1f\x8b".as_slice(), b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"\x89SOLOTR\n"] {
        let output = trace(CACHES, &[magic, b"no such thing"].concat());
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let folder = solo().args(["trace", "profile", "."]).output().unwrap();
    assert_eq!(folder.status.code(), Some(2));
}

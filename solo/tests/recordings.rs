//! Recordings that somebody has changed, or a disk: refused with the place, at once and in little memory.

mod common;

use common::{recording, solo};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Opens a recording in 1 GiB of addresses at most. Without a terminal a good one gives 3.
fn open(recording: &Path) -> Output {
    let script = "ulimit -v 1048576 && exec \"$0\" top --recording \"$1\"";
    let program = solo();
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program.get_program()).arg(recording).stdin(Stdio::null());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn refused(change: impl FnOnce(&Path), part: &str) {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), "calm", 1);
    change(&recording);
    let output = open(&recording);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{part}: {said}");
    assert!(said.contains(part) && said.len() < 2000, "{part}: {said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}

fn replace(recording: &Path, file: &str, from: &str, to: &str) {
    let path = recording.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_wrong_number_is_named_with_its_line() {
    let at = format!("\"at_ns\":{}", 7 * 50_000_000);
    for number in ["1000000000000000000", "9223372036854775808", "18446744073709551615", "400000000000"] {
        refused(|it| replace(it, "rows.jsonl", &at, &format!("\"at_ns\":{number}")), "rows.jsonl:7: at_ns");
    }
    let big = "18446744073709551615";
    refused(
        |it| replace(it, "rows.jsonl", "\"span_ns\":50000000", &format!("\"span_ns\":{big}")),
        "rows.jsonl:1: span_ns",
    );
    refused(|it| replace(it, "rows.jsonl", "\"set\":0", "\"set\":1"), "rows.jsonl:1: set");
    refused(
        |it| replace(it, "rows.jsonl", "\"subject\":\"thread\"", "\"subject\":\"\\u001b]0;x\\u0007\""),
        "rows.jsonl:1: subject",
    );
    refused(|it| replace(it, "rows.jsonl", "{\"row\":3", "[\"row\":3"), "rows.jsonl:3: expected a row");
    for period in [big, "0", "9223372036854775808"] {
        refused(
            |it| replace(it, "watch.json", "\"period_ns\":50000000", &format!("\"period_ns\":{period}")),
            "watch.json: period_ns",
        );
    }
    refused(
        |it| replace(it, "watch.json", "\"elapsed_ns\":2000000000", &format!("\"elapsed_ns\":{big}")),
        "summary: elapsed_ns",
    );
}

#[test]
fn expressions_lists_lines_and_names_without_end_are_refused() {
    let metric = |text: String| {
        move |it: &Path| {
            replace(it, "watch.json", "\"ipc=instructions/cycles\"", &format!("\"ok=1\",\"{text}\""))
        }
    };
    refused(metric(format!("x=1{}", "+1".repeat(200_000))), "metrics[1]: expected 4096 bytes at most");
    refused(metric(format!("x=1{}", "+1".repeat(1000))), "metrics[1]: more than 100 operators");
    refused(metric(format!("x={}1", "(".repeat(2000))), "metrics[1]: nested deeper");
    let sets = format!("[{}\"b\"],[", "\"a\",".repeat(100_000));
    refused(
        |it| replace(it, "watch.json", "\"sets\":[[", &format!("\"sets\":[{sets}")),
        "events of all sets",
    );
    refused(
        |it| replace(it, "watch.json", "\"sets\":[[", &format!("\"sets\":[{}[", "[],".repeat(10_000))),
        "sets: expected",
    );
    refused(
        |it| replace(it, "watch.json", "\"virtuals\":[", "\"virtuals\":[\"a\\u001b[2Jb\""),
        "virtuals: expected a name",
    );
    refused(
        |it| replace(it, "rows.jsonl", "{\"row\":3", &format!("{}{{\"row\":3", " ".repeat(2 << 20))),
        "rows.jsonl:3: expected a line",
    );
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    for file in ["watch.json", "rows.jsonl"] {
        refused(
            |it| {
                fs::remove_file(it.join(file)).unwrap();
                symlink("/dev/zero", it.join(file)).unwrap();
            },
            file,
        );
        refused(
            |it| {
                fs::remove_file(it.join(file)).unwrap();
                assert!(Command::new("mkfifo").arg(it.join(file)).status().unwrap().success());
            },
            file,
        );
    }
    refused(|it| drop(fs::File::create(it.join("watch.json")).unwrap().set_len(1 << 40)), "watch.json");
}

/// Nobody ran for ten years, a nanosecond a period: that is believed, and shown at once.
#[test]
fn a_long_silence_is_no_long_work() {
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), "calm", 1);
    replace(&recording, "watch.json", "\"period_ns\":50000000", "\"period_ns\":1");
    replace(&recording, "watch.json", "\"complete\":true", "\"complete\":false");
    replace(
        &recording,
        "rows.jsonl",
        &format!("\"at_ns\":{}", 40 * 50_000_000_u64),
        "\"at_ns\":315000000000000000",
    );
    let output = open(&recording);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("terminal"), "{}", said(&output));
}

/// `solo report` tells what a recording came to, and of what it does not make says what does.
#[test]
fn a_recording_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let kept = common::recording(folder.path(), "kept", 1);
    let report = |format: &str| {
        let output = common::solo().arg("report").arg(&kept).args(["--format", format]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, text, error) = report("table");
    assert_eq!(code, Some(0), "{error}");
    assert!(text.contains("kept, watched per thread on box") && text.contains("0 samples lost"), "{text}");
    assert!(text.contains("solo top --recording"), "{text}");
    let (code, text, _) = report("json");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &found["complete"], &found["format"]), (Some(0), &true.into(), &"recording".into()));
    let (code, _, error) = report("html");
    assert!(code == Some(2) && error.contains("rows.jsonl") && error.contains("--format csv"), "{error}");
}

/// A recording becomes a trace by the command that makes one of a run, with the same groups and names.
#[test]
fn a_recording_is_exported_as_a_trace() {
    use solo_report::perfetto::{Data, EventType, decode};
    let folder = tempfile::tempdir().unwrap();
    let recording = recording(folder.path(), "calm", 1);
    let to = folder.path().join("traces");
    let export = || {
        let mut command = solo();
        command.arg("report").arg(&recording).args(["--format", "perfetto", "--to"]).arg(&to);
        command.output().unwrap()
    };
    let output = export();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let bytes = fs::read(to.join("trace.perfetto")).unwrap();
    let packets = decode(&bytes).unwrap();
    let named = |wanted: &str| {
        packets.iter().any(|packet| match &packet.data {
            Some(Data::TrackDescriptor(track)) => {
                track.name.as_deref().is_some_and(|name| name.starts_with(wanted))
            }
            _ => false,
        })
    };
    assert!(named("tasks") && !named("cores"), "threads were watched");
    let count = |kind: EventType| {
        let of =
            |data: &Option<Data>| matches!(data, Some(Data::TrackEvent(event)) if event.r#type() == kind);
        packets.iter().filter(|packet| of(&packet.data)).count()
    };
    assert!(count(EventType::Counter) >= 40 && count(EventType::SliceBegin) >= 1);
    assert_eq!(count(EventType::SliceBegin), count(EventType::SliceEnd));
    // One that was cut off is drawn as far as it goes, and said to be; one that is wrong is refused.
    replace(&recording, "watch.json", "\"complete\":true", "\"complete\":false");
    let output = export();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("cut off"), "{}", said(&output));
    replace(&recording, "rows.jsonl", "{\"row\":3", "[\"row\":3");
    let output = export();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("rows.jsonl:3"), "{}", said(&output));
    assert_eq!(fs::read_dir(&to).unwrap().count(), 1, "no part of a trace is left");
}

/// A session of a chip with two types of cores: each counts the events of its own PMU only, and what the other would have counted is
/// absent everywhere, not zero.
#[test]
fn a_session_of_a_hybrid_chip_has_each_count_where_it_was_counted() {
    use solo_report::perfetto::{Data, EventType, decode};
    let folder = tempfile::tempdir().unwrap();
    let kept = recording(folder.path(), "hybrid", 1);
    let manifest = fs::read_to_string(kept.join("watch.json")).unwrap();
    let sets = "\"sets\":[[\"cpu_core/instructions/\",\"cpu_atom/instructions/\"]]";
    let manifest = manifest
        .replace("\"per\":\"thread\"", "\"per\":\"core\"")
        .replace("\"sets\":[[\"instructions\",\"cycles\"]]", sets)
        .replace("\"metrics\":[\"ipc=instructions/cycles\"]", "\"metrics\":[]");
    fs::write(kept.join("watch.json"), manifest).unwrap();
    // Four ticks of eight cores: the first four are big.
    let row = |number: u64| {
        let (tick, core) = (1 + number / 8, number % 8);
        let (big, small) = match core {
            0..4 => (format!("{}", 1000 + core), "null".to_owned()),
            _ => ("null".to_owned(), format!("{}", 500 + core)),
        };
        format!(
            "{{\"row\":{},\"at_ns\":{},\"span_ns\":50000000,\"subject\":\"core\",\"id\":{core},\"event\":\"tick\",\"set\":0,\
             \"cpu_core/instructions/\":{big},\"cpu_atom/instructions/\":{small}}}\n",
            number + 1,
            tick * 50_000_000
        )
    };
    fs::write(kept.join("rows.jsonl"), (0..32).map(row).collect::<String>()).unwrap();
    fs::write(kept.join("names.jsonl"), "").unwrap();
    assert_eq!(open(&kept).status.code(), Some(3), "without a terminal: {}", said(&open(&kept)));
    let output = solo().arg("report").arg(&kept).args(["--format", "perfetto"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let packets = decode(&fs::read(kept.join("trace.perfetto")).unwrap()).unwrap();
    let counters = packets.iter().filter_map(|packet| match &packet.data {
        Some(Data::TrackEvent(event)) if event.r#type() == EventType::Counter => event.counter_value,
        _ => None,
    });
    let values: Vec<i64> = counters.collect();
    assert_eq!(values.len(), 32, "one count a row: {values:?}");
    assert!(values.iter().all(|value| *value > 0), "{values:?}");
}

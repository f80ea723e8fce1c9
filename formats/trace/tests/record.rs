//! Recording real programs; skipped, with the reason printed, where valgrind is not installed.

use solo_trace::{RecordError, RecordOptions, RecordSummary, load, open, record};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn valgrind_is_here() -> bool {
    let found = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        eprintln!("skipped: valgrind is not installed");
    }
    found
}

fn options(output: &Path) -> RecordOptions {
    RecordOptions {
        output: output.to_path_buf(),
        instructions: false,
        limit: None,
        skip: 0,
        stdout: None,
        cancel: Arc::new(AtomicBool::new(false)),
    }
}

fn words(command: &[&str]) -> Vec<OsString> {
    command.iter().map(OsString::from).collect()
}

fn run(command: &[&str], options: &RecordOptions) -> Result<RecordSummary, RecordError> {
    record(&words(command), options, &mut |_| {})
}

/// How many lines of each kind lackey prints: fetches, loads, stores, modifies.
fn lackey_counts(command: &[&str], log: &Path) -> [u64; 4] {
    let status = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes"])
        .arg(format!("--log-file={}", log.display()))
        .args(command)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let text = fs::read_to_string(log).unwrap();
    ["I ", " L", " S", " M"].map(|kind| text.lines().filter(|line| line.starts_with(kind)).count() as u64)
}

fn text_file(folder: &Path, bytes: usize) -> String {
    let path = folder.join("input");
    let line = |i: usize| format!("{} line {}\n", i.wrapping_mul(2_654_435_761) % 100_003, i % 17);
    let text: String = (0..bytes / 16).map(line).collect();
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_recording_holds_what_lackey_prints() {
    if !valgrind_is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let input = text_file(folder.path(), 2_000);
    for command in [&["sort", &input][..], &["gzip", "-6", "-c", &input], &["/bin/true"]] {
        let output = folder.path().join("a.trace");
        let summary = run(command, &options(&output)).unwrap();
        let [fetches, reads, writes, modifies] = lackey_counts(command, &folder.path().join("log"));
        let counts = summary.header.counts;
        // The dynamic linker's work depends on the environment by a few instructions; both runs share it.
        assert_eq!((counts.reads, counts.writes, counts.modifies), (reads, writes, modifies), "{command:?}");
        assert_eq!((counts.fetches, summary.header.instructions), (fetches, fetches), "{command:?}");
        // Valgrind's own count of the very same run.
        assert_eq!(summary.announced_instructions, Some(fetches), "{command:?}");
        assert_eq!((summary.exit_code, summary.replaced), (Some(0), false));
        assert_eq!(summary.header.command, command);

        let (header, image) = load(&output).unwrap();
        assert_eq!(header, summary.header);
        assert!(image.records() >= counts.data());
        let mut data = 0;
        open(&output).unwrap().for_each(|_| data += 1).unwrap();
        assert_eq!(data, header.records);
    }
}

#[test]
fn options_decide_what_is_kept() {
    if !valgrind_is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("a.trace");
    let printed = folder.path().join("out");
    let all = RecordOptions { instructions: true, stdout: Some(printed.clone()), ..options(&output) };
    let summary = run(&["echo", "hello"], &all).unwrap();
    assert_eq!(fs::read_to_string(printed).unwrap(), "hello\n");
    let header = summary.header;
    assert!(header.fetches_recorded && header.records >= header.counts.data() + header.counts.fetches);
    assert_eq!(load(&output).unwrap().1.instructions(), header.instructions);

    // A program that would not end by itself is stopped.
    let limited = RecordOptions { limit: Some(10_000), ..options(&output) };
    let mut reports = 0;
    let summary = record(&words(&["yes"]), &limited, &mut |_| reports += 1).unwrap();
    assert_eq!((summary.header.counts.data(), summary.exit_code), (10_000, None));
    assert!(summary.header.limited && !summary.replaced);
    assert!(reports > 0);
}

/// What is left of a recording without its beginning is the rest of the whole one.
#[test]
fn the_start_of_a_program_can_be_left_out() {
    if !valgrind_is_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("a.trace");
    let addresses = |options: &RecordOptions| {
        // The same bytes of environment and arguments: the stack is where it was.
        run(&["/bin/true"], options).unwrap();
        let mut all = Vec::new();
        open(&output).unwrap().for_each(|reference| all.push((reference.kind, reference.size))).unwrap();
        all
    };
    let whole = addresses(&options(&output));
    let skipped = addresses(&RecordOptions { skip: 1000, ..options(&output) });
    let part = addresses(&RecordOptions { skip: 1000, limit: Some(500), ..options(&output) });
    // A reference that crosses pages is more than one in the file, and few do.
    assert!(whole.len() - skipped.len() >= 1000 && whole.len() - skipped.len() < 1020);
    assert_eq!(whole[whole.len() - skipped.len()..], skipped);
    assert_eq!(part[..], skipped[..part.len()]);
    assert!((500..520).contains(&part.len()), "{}", part.len());
    fs::remove_file(&output).unwrap();
    let late = RecordOptions { skip: 1 << 40, ..options(&output) };
    let error = run(&["/bin/true"], &late).unwrap_err();
    assert!(
        matches!(error, RecordError::Skipped { references, skip } if references > 1500 && skip == 1 << 40),
        "{error}"
    );
    assert!(!output.exists());
}

#[test]
fn failures_are_told_apart_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("a.trace");
    assert!(matches!(run(&[], &options(&output)), Err(RecordError::NoCommand)));
    // Cargo runs tests in the package's folder: its manifest is a file that can't be executed.
    for missing in ["no-such-program-here", "./no/such", "./Cargo.toml"] {
        let error = run(&[missing], &options(&output)).unwrap_err();
        assert!(matches!(error, RecordError::NotFound { .. }), "{error}");
    }
    if !valgrind_is_here() {
        let error = run(&["true"], &options(&output)).unwrap_err();
        assert!(matches!(error, RecordError::ValgrindMissing), "{error}");
        return;
    }
    assert_eq!(run(&["false"], &options(&output)).unwrap().exit_code, Some(1));
    fs::remove_file(&output).unwrap();

    let error = run(&["sh", "-c", "kill -9 $$"], &options(&output)).unwrap_err();
    assert!(matches!(error, RecordError::Killed { signal: 9 }), "{error}");
    let cancelled = options(&output);
    let cancel = Arc::clone(&cancelled.cancel);
    let error = record(&words(&["yes"]), &cancelled, &mut |_| cancel.store(true, Ordering::Relaxed));
    assert!(matches!(error, Err(RecordError::Cancelled)), "{error:?}");
    // /dev/full takes no byte, but nothing may be renamed over it either.
    let full = run(&["true"], &options(Path::new("/dev/full"))).unwrap_err();
    assert!(matches!(full, RecordError::Write { .. }), "{full}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    assert!(run(&["sh", "-c", "exec true"], &options(&output)).unwrap().replaced);
}

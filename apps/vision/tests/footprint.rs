//! The shape of the kernels: their memory, held against SCE's Table 1. Recording needs valgrind.

use solo_trace::{RecordOptions, open, profile, record};
use solo_vision::Kernel;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Of each kernel: pages of the profile, and the most virtual memory in KB (SCE, Table 1).
const TABLE: [(Kernel, u64, u64); 7] = [
    (Kernel::Disparity, 173, 7736),
    (Kernel::Localization, 80, 2988),
    (Kernel::Mser, 115, 3304),
    (Kernel::Tracking, 217, 3468),
    (Kernel::MultiNcut, 87, 2996),
    (Kernel::Sift, 930, 6528),
    (Kernel::Texture, 404, 4616),
];
/// The pages that take this share of the accesses are the profile: a program's start touches others a few times each.
const SHARE: u64 = 99;

/// True where a number is within a fifth of the paper's.
fn near(found: u64, paper: u64) -> bool {
    found.abs_diff(paper) * 5 <= paper
}

#[test]
fn the_footprint_is_within_a_fifth_of_the_papers() {
    for (kernel, _, paper) in TABLE {
        let output =
            Command::new(env!("CARGO_BIN_EXE_vision")).args([kernel.name(), "--footprint"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("footprint: ")).expect("it says so");
        let found: u64 = line.trim_end_matches(" KB").parse().unwrap();
        println!("{}: {found} KB, paper {paper} KB", kernel.name());
        assert!(near(found, paper), "{}: {found} KB instead of {paper}", kernel.name());
    }
}

#[test]
fn the_pages_of_the_profile_are_within_a_fifth_of_the_papers() {
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (kernel, paper, _) in TABLE {
        let output = folder.path().join("kernel.trace");
        let options = RecordOptions {
            output: output.clone(),
            instructions: false,
            limit: None,
            skip: 0,
            stdout: None,
            cancel: Arc::new(AtomicBool::new(false)),
        };
        let command = [env!("CARGO_BIN_EXE_vision"), kernel.name()].map(OsString::from);
        record(&command, &options, &mut |_| {}).unwrap();
        let report = profile(&mut open(&output).unwrap(), 64, 1_000_000, 0).unwrap();
        let found =
            report.coverage.iter().find(|point| point.per_cent == SHARE).expect("a share that is told").pages;
        println!("{}: {found} pages take {SHARE} %, paper {paper}", kernel.name());
        assert!(near(found, paper), "{}: {found} pages instead of {paper}", kernel.name());
    }
}

#[test]
fn wrong_words_are_refused_with_what_there_is() {
    for words in [&[][..], &["matrix"], &["mser", "sift"], &["mser", "--fast"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_vision")).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("expected one kernel") && said.contains("multi-ncut"), "{said}");
    }
}

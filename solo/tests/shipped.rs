//! The scenarios that come with the project show what their comments say, at a small number of jobs.

mod common;

use common::solo;
use serde_json::Value;
use std::path::Path;

/// Compares the variants of a shipped scenario; the results, and whether all deadlines held.
fn compare(name: &str, jobs: &str, more: &[&str]) -> (Value, bool) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name);
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    command.arg("compare").arg(file).args(["--quiet", "--json", "--jobs", jobs]).args(more);
    let output = command.arg("--out").arg(folder.path().join("runs")).output().expect("solo starts");
    let held = match output.status.code() {
        Some(0) => true,
        Some(1) => false,
        code => panic!("{name}: {code:?} {}", String::from_utf8_lossy(&output.stderr)),
    };
    (serde_json::from_slice(&output.stdout).expect("stdout is JSON"), held)
}

/// Whether a variant's deadlines held, and what is said about it.
fn verdict<'a>(results: &'a Value, variant: &str) -> &'a Value {
    let verdicts = results["runs"].as_array().unwrap();
    &verdicts.iter().find(|entry| entry["variant"] == variant).expect("the variant was run")["verdict"]
}

#[test]
fn the_frame_task_holds_alone_and_misses_beside_the_screen_because_of_dram() {
    let (results, held) = compare("video-and-screen.toml", "25", &[]);
    assert!(!held);
    assert_eq!(verdict(&results, "solo")["held"], true);
    let corun = verdict(&results, "corun");
    assert_eq!(corun["held"], false);
    assert!(corun.to_string().contains("waiting for DRAM behind other cores"), "{corun}");
}

#[test]
fn control_and_vision_runs_under_four_policies() {
    let (results, _) = compare("control-and-vision.toml", "1", &[]);
    for variant in ["P-EDF", "C-EDF", "G-EDF", "P-RM"] {
        assert!(verdict(&results, variant)["held"].is_boolean());
    }
}

#[test]
fn a_recorded_program_runs_beside_the_frame_task() {
    let (results, held) = compare("recorded-neighbour.toml", "1", &["--variants", "solo,gzip"]);
    assert!(held, "{results}");
}

/// Whether a recording is there that is too large to be kept; `./x recordings` makes it.
fn recorded(names: &[&str], what: &str) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/recordings");
    let found = names.iter().all(|name| folder.join(format!("{name}.trace")).exists());
    if !found {
        eprintln!("skipped: no recordings in target/recordings (`./x recordings {what}` makes them)");
    }
    found
}

/// SCE Fig. 12 and Table 2 of a recorded kernel: the bound is above what hogs do, and with its pages locked hogs do little.
#[test]
fn a_recorded_kernel_stays_below_its_bound_beside_hogs() {
    let kernels = ["disparity", "localization", "mser", "tracking", "multi-ncut", "sift", "texture"];
    if !recorded(&kernels, "vision") {
        return;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/papers/sce/vision-p4080.toml");
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    command.args(["measure", "lockdown"]).arg(file).args([
        "--variant",
        "localization",
        "--fill",
        "--cores",
        "8",
    ]);
    command.args(["--pages", "80", "--quiet", "--json", "--out"]).arg(folder.path().join("curve"));
    let output = command.output().expect("solo starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let of = |value: &Value| value.as_u64().unwrap();
    let point = &found["points"][0];
    let (alone, beside) = (of(&point["worst_ns"]), &point["beside"]);
    assert!(
        alone <= of(&beside["worst_ns"]) && of(&beside["worst_ns"]) <= of(&beside["bound_ns"]),
        "{point}"
    );
    assert!(of(&beside["worst_ns"]) * 10 <= alone * 13, "{point}");
}

/// The case study's Table 1, row 1: the server is busy for the paper's share of the time, within a factor of 1.5.
#[test]
fn a_recorded_server_is_as_busy_as_the_papers() {
    if !recorded(&["xserver"], "screen") {
        return;
    }
    let (results, _) = compare("papers/memguard/recorded-server.toml", "2", &["--variants", "corun"]);
    let tasks = results["comparison"]["tasks"].as_array().unwrap();
    let screen = tasks.iter().find(|task| task["name"] == "screen").expect("it ran");
    let per_cent = screen["variants"][0]["on_core_per_mille"].as_u64().unwrap() / 10;
    assert!((52..=117).contains(&per_cent), "{per_cent} %");
}

/// Slow and steady costs less here than racing to idle, most for who waits for memory; each deadline is met at each clock.
#[test]
fn a_slower_clock_costs_time_and_saves_energy() {
    let (results, held) = compare("race-to-idle.toml", "20", &[]);
    assert!(held, "{results}");
    let tasks = results["comparison"]["tasks"].as_array().unwrap();
    for (name, saved) in [("filter", 10), ("lookup", 30)] {
        let task = tasks.iter().find(|task| task["name"] == name).expect("it ran");
        let of = |variant: usize, key: &str| task["variants"][variant][key].as_u64().unwrap();
        for slower in [1, 2] {
            assert!(of(slower, "p50_ns") > of(slower - 1, "p50_ns"), "{task}");
            assert!(of(slower, "energy_per_job_fj") < of(slower - 1, "energy_per_job_fj"), "{task}");
        }
        assert!(of(2, "energy_per_job_fj") * 100 <= of(0, "energy_per_job_fj") * (100 - saved), "{task}");
    }
}

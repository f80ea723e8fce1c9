//! The same scenario on bare metal: same command, same report, another machine.

mod common;

use common::{root, solo};
use serde_json::Value;

#[test]
fn a_scenario_boots_and_reports_like_any_other_run() {
    if let Err(missing) = solo_qemu::Host::look() {
        println!("skipped: scenario on bare metal: {missing}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    command.arg("run").arg(root().join("scenarios/first-steps.toml"));
    command
        .args(["--on", "rtos", "--jobs", "5", "--json", "--quiet"])
        .arg("--out")
        .arg(folder.path().join("run"));
    let output = command.output().expect("solo starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["manifest"]["machine"], "rtos");
    assert_eq!(shown["manifest"]["tier"], "A");
    assert_eq!(shown["verdict"]["held"], true);
    assert_eq!(shown["report"]["tasks"][0]["jobs"], 5, "{}", shown["report"]);
}

#[test]
fn what_the_emulator_lacks_is_said_and_gives_3() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    command.arg("run").arg(root().join("scenarios/recorded-neighbour.toml"));
    let output = command.args(["--on", "rtos"]).arg("--out").arg(folder.path().join("run")).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--on sim"));
}

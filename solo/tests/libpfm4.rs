//! Events of libpfm4. The library takes the processor that `LIBPFM_FORCE_PMU` names for this machine's, so that its
//! tables can be tested anywhere.

mod common;

use common::solo;
use std::process::Output;

fn events(pmu: &str, words: &[&str]) -> Output {
    solo().env("LIBPFM_FORCE_PMU", pmu).arg("events").args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// False, and says so, without the library or on processors whose tables these tests don't ask for.
fn there() -> bool {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: libpfm4: the tests know x86 tables only");
        return false;
    }
    let output = events("skl", &["--pmu", "skl"]);
    if output.status.code() == Some(0) {
        return true;
    }
    println!("skipped: libpfm4: {}", text(&output.stderr).trim());
    false
}

#[test]
fn names_of_a_processor_become_its_codes() {
    if !there() {
        return;
    }
    // Codes from the vendors' manuals.
    for (pmu, name, config) in [
        ("skl", "skl::MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM", "0x4d2"),
        ("skl", "LONGEST_LAT_CACHE:MISS", "0x412e"),
        ("amd64_fam19h_zen4", "RETIRED_INSTRUCTIONS", "0xc0"),
        ("amd64_fam19h_zen4", "RETIRED_INSTRUCTIONS:u", "0xc0"),
    ] {
        let output = events(pmu, &["--json", "--translate", name]);
        let said: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", text(&output.stderr)));
        // Modes are the event set's business, not the code's.
        let config_said = said["events"][0]["config"].as_str().unwrap();
        assert_eq!(config_said, config, "{name}: {said}");
        assert_eq!(said["events"][0]["kernel"], !name.ends_with(":u"), "{said}");
    }
    let output = events("skl", &["--translate", "RETIRED_INSTRUCTIONS"]);
    assert_eq!(output.status.code(), Some(2), "a name of another processor's");
}

/// The codes of the bare-metal drivers carry libpfm4's names: both must say the same.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_codes_of_bare_metal_are_those_of_libpfm4() {
    use solo_x86_64::pmu::Microarchitecture;
    if !there() {
        return;
    }
    for microarchitecture in Microarchitecture::ALL {
        let pmu = microarchitecture.libpfm();
        let codes = microarchitecture.codes();
        let names: Vec<String> = codes.iter().map(|code| format!("{pmu}::{}", code.name)).collect();
        let output = events(pmu, &["--json", "--translate", &names.join(",")]);
        let said: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{pmu}: {}", text(&output.stderr)));
        for (at, code) in codes.iter().enumerate() {
            let ours = code.config();
            assert_eq!(
                said["events"][at]["config"].as_str(),
                Some(format!("{ours:#x}").as_str()),
                "{pmu}::{}",
                code.name
            );
        }
    }
}

#[test]
fn tables_are_listed_explained_and_sound() {
    if !there() {
        return;
    }
    let listed = text(&events("skl", &["--pmu", "nhm"]).stdout);
    assert!(listed.contains("not on this machine") && listed.contains("nhm::"), "{listed}");
    let output = events("skl", &["--pmu", "frobs"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("skl"), "{}", text(&output.stderr));
    let explained = text(&events("skl", &["MEM_LOAD_L3_HIT_RETIRED"]).stdout);
    assert!(explained.contains("libpfm4 skl") && explained.contains(":XSNP_HITM"), "{explained}");
    let output = events("skl", &["--validate"]);
    let said = text(&output.stdout);
    assert!(said.contains(" 0 faults") && !said.contains(" 0 events of libpfm4"), "{said}");
}

#[test]
fn an_event_of_libpfm4_counts_what_the_kernels_own_counts() {
    if !there() {
        return;
    }
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // The code of retired instructions has been the same since both vendors have it in libpfm4.
    let (pmu, name) = match info {
        amd if amd.contains("AuthenticAMD") => ("amd64_fam19h_zen4", "RETIRED_INSTRUCTIONS"),
        intel if intel.contains("GenuineIntel") => ("skl", "INST_RETIRED:ANY_P"),
        _ => {
            println!("skipped: counting an event of libpfm4: no table for this processor");
            return;
        }
    };
    let set = format!("{name}:u,instructions:u");
    let output = solo()
        .env("LIBPFM_FORCE_PMU", pmu)
        .args([
            "watch",
            "--json",
            "-e",
            &set,
            "--",
            "sh",
            "-c",
            "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done",
        ])
        .output()
        .unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: counting an event of libpfm4: {}", text(&output.stderr).trim());
        return;
    }
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |i: usize| said["totals"][i]["count"].as_u64().unwrap();
    assert!(count(0) > 1_000_000, "{said}");
    // The set's events start and stop together.
    assert!(count(0).abs_diff(count(1)) * 1000 < count(1), "{said}");
}

//! What this machine can do for Solocore, and the least command that mends the rest.

use crate::cli::Doctor;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_doctor::selftest::{self, EventHealth, KernelProbe, Tested};
use solo_doctor::{Finding, State};
use solo_perf::files::Host;
use std::path::Path;
use std::process::{Command, Stdio};

/// A finding as it is written in JSON.
#[derive(Serialize, Debug)]
struct JsonFinding<'a> {
    name: &'a str,
    state: &'static str,
    found: &'a str,
    why: &'a str,
    mend: Option<&'a str>,
}

/// A tested event as it is written in JSON.
#[derive(Serialize, Debug)]
struct JsonTest<'a> {
    event: &'a str,
    little: u64,
    much: u64,
    follows: Option<bool>,
    why_not: Option<&'a str>,
}

#[derive(Serialize, Debug)]
struct Examination<'a> {
    findings: Vec<JsonFinding<'a>>,
    self_test: Vec<JsonTest<'a>>,
}

/// Looks at everything and tries the counters. Nothing is changed.
pub(crate) fn run(options: &Doctor) -> Result<Exit, Failure> {
    let host = Host::new();
    let mut findings = vec![
        cores(),
        tool("valgrind", "valgrind", RECORDING),
        tool("qemu-system-x86_64", "qemu-system-x86", BOOTING),
        tool("qemu-system-aarch64", "qemu-system-arm", "booting it on 64-bit Arm, where counters count"),
        kvm(),
    ];
    findings.extend(solo_doctor::examine(&host, &KernelProbe));
    let tests = selftest::run(&host);
    let wrong = tests.iter().any(|test| test.verdict == EventHealth::Wrong);
    if options.json {
        output::json(
            Document::Doctor,
            &Examination {
                findings: findings.iter().map(json_finding).collect(),
                self_test: tests.iter().map(json_test).collect(),
            },
        )?;
    } else {
        let mut text = solo_doctor::text(&findings);
        text +=
            "\nself-test of the counters: the same event over little and over much of what it should count\n";
        for test in &tests {
            text += &line(test);
        }
        text += "\nThe simulated machine needs none of these.\n";
        output::text(&text)?;
    }
    // A counter that counts something else is worse than none.
    Ok(if wrong { Exit::Cannot } else { Exit::Held })
}

fn line(test: &Tested) -> String {
    match &test.verdict {
        EventHealth::Absent(why) => format!("?    {:<22} not counted here: {why}\n", test.event),
        EventHealth::Follows => format!("yes  {:<22} {} -> {}\n", test.event, test.little, test.much),
        EventHealth::Wrong => format!(
            "no   {:<22} {} -> {}: it does not count what it is called after; do not trust it\n",
            test.event, test.little, test.much
        ),
    }
}

fn json_finding(finding: &Finding) -> JsonFinding<'_> {
    JsonFinding {
        name: finding.name,
        state: match finding.state {
            State::Good => "good",
            State::Partly => "partly",
            State::Missing => "missing",
            State::Unknown => "unknown",
        },
        found: &finding.found,
        why: finding.why,
        mend: finding.mend.as_deref(),
    }
}

fn json_test(test: &Tested) -> JsonTest<'_> {
    let (follows, why_not) = match &test.verdict {
        EventHealth::Follows => (Some(true), None),
        EventHealth::Wrong => (Some(false), None),
        EventHealth::Absent(why) => (None, Some(why.as_str())),
    };
    JsonTest { event: test.event, little: test.little, much: test.much, follows, why_not }
}

const RECORDING: &str = "solo record: memory accesses of real programs";
const BOOTING: &str = "booting the bare-metal machine without hardware of its own";

fn cores() -> Finding {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    Finding {
        name: "simulated machine",
        state: State::Good,
        found: format!("always; {count} host cores run that many variants at a time"),
        why: "running scenarios without any hardware",
        mend: None,
    }
}

fn tool(name: &'static str, package: &str, why: &'static str) -> Finding {
    let version = version_of(name);
    Finding {
        name,
        state: if version.is_some() { State::Good } else { State::Missing },
        found: version.unwrap_or_else(|| "not found".to_owned()),
        why,
        mend: Some(format!("apt-get install {package}")),
    }
}

fn kvm() -> Finding {
    let path = Path::new("/dev/kvm");
    let usable = std::fs::OpenOptions::new().read(true).write(true).open(path);
    let mend = match &usable {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Some("adduser $USER kvm".to_owned())
        }
        _ => None,
    };
    Finding {
        name: "kvm",
        state: if usable.is_ok() { State::Good } else { State::Missing },
        found: usable.map_or_else(
            |error| format!("/dev/kvm: {}", solo_store::system_reason(&error)),
            |_| "/dev/kvm".to_owned(),
        ),
        why: "smoke tests of the bare-metal machine at native speed",
        mend,
    }
}

/// The first line that a program prints about its version.
fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().next().map(str::to_owned)
}

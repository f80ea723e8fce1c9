//! `solo place` on a machine that says its CPUs are of two kinds: the guest's device tree gives CPU 1 a smaller capacity. Both execute alike, so
//! that what is checked is who is moved where, and that the policy told again decides the same.

use super::Verdict;
use std::fs;
use std::process::{Child, Command};

/// How long programs are placed, and how often they are looked at: a look takes tens of milliseconds of this guest.
const TIME: &str = "8s";
const PERIOD: &str = "200ms";
const RECORD: &str = "/tmp/kinds";

/// Two programs that compute, killed when they go.
struct Pair([Child; 2]);

impl Pair {
    fn start() -> Result<Self, String> {
        let one = || Command::new("/init").arg("spin").spawn().map_err(|error| error.to_string());
        Ok(Self([one()?, one()?]))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Computes until it is ended, after everybody else.
pub(crate) fn spin() -> ! {
    // SAFETY: no pointers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
    loop {
        std::hint::black_box((0..1000_u64).fold(0, |sum, i| std::hint::black_box(sum ^ i)));
    }
}

/// The big core goes from one to the other, as both deserve it alike: until it is known that both cores are equally fast.
pub(crate) fn shared() -> Verdict {
    let capacity = |cpu: u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity");
        fs::read_to_string(&path)
            .map(|text| text.trim().to_owned())
            .map_err(|error| format!("{path}: {error}"))
    };
    let (big, small) = (capacity(0)?, capacity(1)?);
    if big == small {
        return Err(format!("both CPUs have capacity {big}"));
    }
    let pair = Pair::start()?;
    let process = |at: usize, name: &str| format!("{name}@{at}={}", pair.0[at].id());
    let words = ["--action", "acfs", "--every", PERIOD, "--time", TIME, "--record", RECORD, "--json"];
    let output = Command::new("/solo")
        .arg("place")
        .args(words)
        .args(["--pid", &process(0, "one"), "--pid", &process(1, "other")])
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = || format!("{}: {said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    let answer: serde_json::Value =
        serde_json::from_str(&said).map_err(|error| format!("{error}: {}", why()))?;
    let moved = |at: usize| answer["tasks"][at]["moved"].as_u64().unwrap_or(0);
    let otherwise = answer["decisions"]["disagreements"].as_u64();
    let again = Command::new("/solo")
        .args(["place", "--replay", RECORD])
        .output()
        .map_err(|error| error.to_string())?;
    let replayed = String::from_utf8_lossy(&again.stdout).trim().to_owned();
    let text = format!(
        "capacities {big} and {small}; acfs moved {} and {} times; answered otherwise beside: {otherwise:?}; {replayed}",
        moved(0),
        moved(1)
    );
    let held = output.status.success()
        && again.status.success()
        && otherwise == Some(0)
        && moved(0) > 2
        && moved(1) > 2;
    if held { Ok(text) } else { Err(format!("{text}; {}", why())) }
}

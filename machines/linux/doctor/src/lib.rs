//! What this machine can do for Solocore, why that matters, and the least that mends the rest.
//!
//! Everything is read through [`Files`] and asked through [`Probe`], so each finding can be tested for machines
//! that nobody here has. Nothing is changed: a mend is a command for the user.

mod btf;
mod counters;
mod kernel;
mod machine;
pub mod selftest;

pub use btf::{Malformed, malformed_kfuncs};

use solo_perf::files::Files;
use solo_perf::resolve::CorePmu;

/// How well something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It is there and does what it should.
    Good,
    /// It is there with a restriction.
    Partly,
    /// It is not there.
    Missing,
    /// This machine does not say.
    Unknown,
}

impl State {
    /// A word of four letters at most.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "yes",
            Self::Partly => "part",
            Self::Missing => "no",
            Self::Unknown => "?",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was looked at.
    pub name: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What it is good for, or what goes wrong without.
    pub why: &'static str,
    /// The least that mends it, where something does.
    pub mend: Option<String>,
}

impl Finding {
    fn new(name: &'static str, state: State, found: impl Into<String>, why: &'static str) -> Self {
        Self { name, state, found: found.into(), why, mend: None }
    }

    fn mend(mut self, mend: impl Into<String>) -> Self {
        self.mend = Some(mend.into());
        self
    }
}

/// Questions that no file answers.
pub trait Probe {
    /// How many events fit the counters of a core type at the same time; `None` where that can't be found out.
    fn counters(&self, pmu: &CorePmu) -> Option<usize>;

    /// Whether a thread may be under SCHED_FIFO at the highest priority; `None` where that can't be found out.
    fn fifo(&self) -> Option<bool>;
}

/// Looks at everything that files and `probe` tell.
pub fn examine(files: &dyn Files, probe: &dyn Probe) -> Vec<Finding> {
    let mut findings = counters::examine(files, probe);
    findings.extend(kernel::examine(files, probe));
    findings.extend(machine::examine(files));
    findings
}

/// Findings as people read them. What is well takes a line.
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        text += &format!("{:<5}{:<22} {}\n", finding.state.word(), finding.name, finding.found);
        if finding.state != State::Good {
            text += &format!("{:27} for {}\n", "", finding.why);
            if let Some(mend) = &finding.mend {
                text += &format!("{:27} mend: {mend}\n", "");
            }
        }
    }
    text
}

/// The rights of this process that matter here.
#[derive(Clone, Copy, Default)]
struct Rights(u64);

impl Rights {
    const SYS_ADMIN: u32 = 21;
    const PERFMON: u32 = 38;
    const BPF: u32 = 39;

    fn of(files: &dyn Files) -> Self {
        let status = files.read("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        Self(effective.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0))
    }

    fn has(self, right: u32) -> bool {
        self.0 >> right & 1 == 1 || self.0 >> Self::SYS_ADMIN & 1 == 1
    }
}

/// True where the processor says that it is not a real one.
fn is_virtual(files: &dyn Files) -> bool {
    let info = files.read("/proc/cpuinfo").unwrap_or_default();
    let flagged = info
        .lines()
        .any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    let vendor = files.text("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    flagged || ["QEMU", "Amazon EC2", "Xen", "VMware, Inc.", "innotek GmbH"].contains(&vendor.as_str())
}

/// True inside a container, where root may be little.
fn is_container(files: &dyn Files) -> bool {
    files.exists("/.dockerenv")
        || files.exists("/run/.containerenv")
        || files.read("/proc/1/environ").is_ok_and(|text| text.contains("container="))
}

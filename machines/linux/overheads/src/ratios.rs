//! The kernel's costs beside Linux's, with the thesis's ratios.

use crate::measure::Measurement;
use serde::Serialize;

/// A cost of the kernel, one of Linux that comes nearest, and how many times the second is larger.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ratio {
    /// Of which overhead.
    pub what: &'static str,
    /// What was measured of the kernel.
    pub ours: String,
    /// Its mean.
    pub ours_ns: f64,
    /// What was measured of Linux.
    pub linux: String,
    /// Its mean.
    pub linux_ns: f64,
    /// How many times Linux's mean is ours.
    pub mean: f64,
    /// The same of the medians, which no rare disturbance moves.
    pub median: f64,
    /// The same of the 99th percentiles.
    pub p99: f64,
    /// What the thesis found for EPOS and LITMUS^RT.
    pub thesis: &'static str,
    /// In what the two are not alike.
    pub unlike: &'static str,
}

/// One side of a ratio: rows whose costs add up.
struct Sum<'m> {
    text: String,
    mean: f64,
    median: f64,
    p99: f64,
    measurement: &'m Measurement,
    complete: bool,
}

impl<'m> Sum<'m> {
    fn new(measurement: &'m Measurement) -> Self {
        Self { text: String::new(), mean: 0.0, median: 0.0, p99: 0.0, measurement, complete: true }
    }

    /// Adds a row, or takes it off.
    fn add(mut self, sign: f64, what: &str, policy: Option<&str>, threads: Option<u32>) -> Self {
        let Some(row) = self.measurement.find(what, policy, threads) else {
            return Self { complete: false, ..self };
        };
        if !self.text.is_empty() {
            self.text.push_str(if sign > 0.0 { " + " } else { " - " });
        }
        self.text.push_str(what);
        if let Some(policy) = policy {
            self.text.push_str(&format!(" ({policy})"));
        }
        self.mean += sign * row.summary.mean_ns;
        self.median += sign * row.summary.p50_ns;
        self.p99 += sign * row.summary.p99_ns;
        self
    }
}

/// The ratios with `threads` threads; those of which a side was not measured are left out.
pub fn ratios(measurement: &Measurement, threads: u32) -> Vec<Ratio> {
    let many = Some(threads);
    let sum = || Sum::new(measurement);
    let switch = "context switch, in rows of a hundred";
    let (wake, call) = ("making ready by futex", "least system call");
    let mut found = Vec::new();
    let mut add = |what, ours: Sum<'_>, linux: Sum<'_>, thesis, unlike| {
        if ours.complete && linux.complete && ours.mean > 0.0 && linux.mean > 0.0 {
            found.push(Ratio {
                what,
                mean: linux.mean / ours.mean,
                median: linux.median / ours.median.max(f64::MIN_POSITIVE),
                p99: linux.p99 / ours.p99.max(f64::MIN_POSITIVE),
                ours: ours.text,
                ours_ns: ours.mean,
                linux: linux.text,
                linux_ns: linux.mean,
                thesis,
                unlike,
            });
        }
    };
    add(
        "context switch",
        sum().add(1.0, switch, None, many),
        sum().add(1.0, "switch by sched_yield", None, many),
        "up to 76.3 (5.3)",
        "Linux's contains a system call and a decision; ours saves six registers and changes stacks in one ring, and nothing else",
    );
    for (policy, thesis) in
        [("P-EDF", "up to 21.05 (5.5)"), ("C-EDF", "up to 7.21 (5.5)"), ("G-EDF", "up to 11.10 (5.5)")]
    {
        add(
            "scheduling",
            sum().add(1.0, "scheduling", Some(policy), many),
            sum().add(1.0, wake, None, many).add(-1.0, call, None, None),
            thesis,
            "Linux's makes one thread ready and decides nothing yet; ours decides for all cores of the domain",
        );
    }
    add(
        "a job ends and another thread runs",
        sum().add(1.0, "end of a job, whole", Some("P-RM"), many).add(1.0, switch, None, many),
        sum().add(1.0, "sleep and switch by futex", None, many),
        "",
        "Linux's contains a system call; ours keeps records of the job and the switch",
    );
    add(
        "a job is released and runs",
        sum().add(1.0, "timer interrupt, whole", Some("P-RM"), many).add(1.0, switch, None, many),
        sum().add(1.0, "wake-up under SCHED_FIFO", None, many),
        "",
        "Linux's contains the timer interrupt, on a guest its way through the hypervisor, and waiting for threads of higher priority; ours none of these",
    );
    add(
        "tick",
        sum().add(1.0, "tick", Some("P-EDF"), many),
        sum().add(1.0, "interruption of a loop, mostly ticks", None, None),
        "up to 84 (5.6)",
        "Linux's contains the interrupt itself, on a guest with the hypervisor's part; ours begins behind it",
    );
    add(
        "request to another core",
        sum().add(1.0, "request through memory", None, None).add(
            1.0,
            "reschedule request, whole",
            Some("G-EDF"),
            many,
        ),
        sum().add(1.0, "wake-up on a busy CPU", None, None),
        "up to 15 (5.4)",
        "Linux's contains an interprocessor interrupt and a switch; ours goes through memory to a core that looks",
    );
    found
}

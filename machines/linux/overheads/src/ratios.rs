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

/// A row of the table before both sides are known to have been measured.
struct Pair<'m> {
    what: &'static str,
    ours: Sum<'m>,
    linux: Sum<'m>,
    thesis: &'static str,
    unlike: &'static str,
}

impl Pair<'_> {
    /// The ratio, where both sides were measured.
    fn ratio(self) -> Option<Ratio> {
        let Self { what, ours, linux, thesis, unlike } = self;
        let measured = ours.complete && linux.complete && ours.mean > 0.0 && linux.mean > 0.0;
        measured.then(|| Ratio {
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
        })
    }
}

/// The row of a context switch, which others contain.
const SWITCH: &str = "context switch, in rows of a hundred";

/// The ratios with `threads` threads; those of which a side was not measured are left out.
pub fn ratios(measurement: &Measurement, threads: u32) -> Vec<Ratio> {
    let mut pairs = decisions(measurement, Some(threads));
    pairs.extend(jobs(measurement, Some(threads)));
    pairs.extend(interrupts(measurement, Some(threads)));
    pairs.into_iter().filter_map(Pair::ratio).collect()
}

/// Who runs next, and the change to it.
fn decisions(measurement: &Measurement, many: Option<u32>) -> Vec<Pair<'_>> {
    let sum = || Sum::new(measurement);
    let (wake, call) = ("making ready by futex", "least system call");
    let switch = Pair {
        what: "context switch",
        ours: sum().add(1.0, SWITCH, None, many),
        linux: sum().add(1.0, "switch by sched_yield", None, many),
        thesis: "up to 76.3 (5.3)",
        unlike: "Linux's contains a system call and a decision; ours saves six registers and changes stacks in one ring, and nothing else",
    };
    let policies =
        [("P-EDF", "up to 21.05 (5.5)"), ("C-EDF", "up to 7.21 (5.5)"), ("G-EDF", "up to 11.10 (5.5)")];
    let scheduling = policies.map(|(policy, thesis)| Pair {
        what: "scheduling",
        ours: sum().add(1.0, "scheduling", Some(policy), many),
        linux: sum().add(1.0, wake, None, many).add(-1.0, call, None, None),
        thesis,
        unlike: "Linux's makes one thread ready and decides nothing yet; ours decides for all cores of the domain",
    });
    std::iter::once(switch).chain(scheduling).collect()
}

/// Jobs that end and begin.
fn jobs(measurement: &Measurement, many: Option<u32>) -> [Pair<'_>; 2] {
    let sum = || Sum::new(measurement);
    [
        Pair {
            what: "a job ends and another thread runs",
            ours: sum().add(1.0, "end of a job, whole", Some("P-RM"), many).add(1.0, SWITCH, None, many),
            linux: sum().add(1.0, "sleep and switch by futex", None, many),
            thesis: "",
            unlike: "Linux's contains a system call; ours keeps records of the job and the switch",
        },
        Pair {
            what: "a job is released and runs",
            ours: sum().add(1.0, "timer interrupt, whole", Some("P-RM"), many).add(1.0, SWITCH, None, many),
            linux: sum().add(1.0, "wake-up under SCHED_FIFO", None, many),
            thesis: "",
            unlike: "Linux's contains the timer interrupt, on a guest its way through the hypervisor, and waiting for threads of higher priority; ours none of these",
        },
    ]
}

/// What interrupts a core.
fn interrupts(measurement: &Measurement, many: Option<u32>) -> [Pair<'_>; 2] {
    let sum = || Sum::new(measurement);
    let whole = "reschedule request, whole";
    [
        Pair {
            what: "tick",
            ours: sum().add(1.0, "tick", Some("P-EDF"), many),
            linux: sum().add(1.0, "interruption of a loop, mostly ticks", None, None),
            thesis: "up to 84 (5.6)",
            unlike: "Linux's contains the interrupt itself, on a guest with the hypervisor's part; ours begins behind it",
        },
        Pair {
            what: "request to another core",
            ours: sum().add(1.0, "request through memory", None, None).add(1.0, whole, Some("G-EDF"), many),
            linux: sum().add(1.0, "wake-up on a busy CPU", None, None),
            thesis: "up to 15 (5.4)",
            unlike: "Linux's contains an interprocessor interrupt and a switch; ours goes through memory to a core that looks",
        },
    ]
}

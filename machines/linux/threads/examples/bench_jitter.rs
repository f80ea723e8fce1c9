//! How late the thread of a periodic task first runs after its release, beside `cyclictest` (Debian's `rt-tests`) on the same CPU at
//! the same priority and period, in turns. Both sleep on the same clock until an absolute time; what ours takes beyond is
//! what a run as threads adds. Needs root, or CAP_SYS_NICE.
//!
//! ```text
//! cargo run --release -p solo-threads --example bench_jitter [CPU [RELEASES [PAIRS]]]
//! ```
//!
//! It ends with 1 where the medians of p50 or p99 are more than twice cyclictest's: then a run adds more than the kernel does.

use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::task::Release;
use solo_model::work::{Span, Step, Work};
use solo_model::{CoreId, Criterion, Duration, Experiment, Policy, Record, Scope, Task, TaskClass};
use solo_threads::{Host, run, sched};
use std::process::{Command, ExitCode};

/// Of both.
const PERIOD: Duration = Duration::from_millis(1);
/// Microseconds that cyclictest tells apart; a wake-up that is later counts as this late.
const LATEST: usize = 50_000;
/// Part of a thousand that a quantile leaves below.
const TOLD: [usize; 3] = [500, 990, 999];

/// Microseconds, ascending.
struct Latencies(Vec<u64>);

impl Latencies {
    fn quantile(&self, per_mille: usize) -> u64 {
        let rank = (self.0.len() * per_mille).div_ceil(1000).max(1);
        self.0.get(rank - 1).copied().unwrap_or(0)
    }

    fn line(&self, who: &str) -> String {
        let told = TOLD.map(|per_mille| format!("{:>7}", self.quantile(per_mille))).concat();
        format!("{who:<12}{:>8}{told}{:>8}", self.0.len(), self.0.last().copied().unwrap_or(0))
    }
}

fn main() -> ExitCode {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let cpu = words.first().copied().unwrap_or(1);
    let releases = words.get(1).copied().unwrap_or(10_000);
    let pairs = words.get(2).copied().unwrap_or(5);
    let host = Host { cpus: vec![cpu as usize], ..Host::look() };
    if !host.fifo || !sched::cpus().contains(&(cpu as usize)) {
        println!("skipped: this process may not use SCHED_FIFO on CPU {cpu}");
        return ExitCode::from(3);
    }
    println!("us from release until it runs, each {PERIOD}, CPU {cpu}");
    println!("{:<12}{:>8}    p50    p99  p99.9     max", "who", "releases");
    let mut both = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        // Who is first changes, so that what drifts disturbs both.
        let (ours, theirs) = if pair % 2 == 0 {
            let ours = ours(&host, releases);
            (ours, cyclictest(cpu, releases))
        } else {
            let theirs = cyclictest(cpu, releases);
            (ours(&host, releases), theirs)
        };
        let Some(theirs) = theirs else {
            println!("{}\nskipped: no cyclictest (Debian: rt-tests)", ours.line("solo"));
            return ExitCode::from(3);
        };
        println!("{}\n{}", ours.line("solo"), theirs.line("cyclictest"));
        both.0.push(ours);
        both.1.push(theirs);
    }
    verdict(&both.0, &both.1)
}

/// The ratios of the medians of all pairs.
fn verdict(ours: &[Latencies], theirs: &[Latencies]) -> ExitCode {
    let middle = |all: &[Latencies], per_mille| {
        let mut of: Vec<u64> = all.iter().map(|one| one.quantile(per_mille)).collect();
        of.sort_unstable();
        of.get(of.len() / 2).copied().unwrap_or(0)
    };
    let mut held = true;
    for per_mille in [500, 990] {
        let (one, other) = (middle(ours, per_mille), middle(theirs, per_mille));
        held &= one <= 2 * other;
        println!(
            "p{}: {one} us and {other} us, the medians of {} pairs: it adds {}",
            per_mille / 10,
            ours.len(),
            if one <= 2 * other { "no more than cyclictest's own" } else { "MORE than cyclictest's own" }
        );
    }
    ExitCode::from(u8::from(!held))
}

/// What a task of one short step records.
fn ours(host: &Host, releases: u64) -> Latencies {
    let release = Release::Periodic { period: PERIOD, offset: PERIOD };
    let task = Task {
        core: Some(CoreId(0)),
        priority: Some(1),
        work: Work { steps: vec![Step::Compute(Span::exactly(Duration::from_micros(1)))] },
        ..Task::new("woken", TaskClass::Hard, release)
    };
    let policy = Policy::new(Scope::Partitioned, Criterion::StaticPriority);
    let experiment = Experiment::new("jitter", chip(1), policy, vec![task], End::Jobs(releases));
    let ran =
        run(&experiment, host, solo_threads::Options::default(), &|| false).expect("a task of one step runs");
    let late = |record: &Record| match record {
        Record::Job(job) => Some((job.start.get() - job.release.get()) / 1000),
        _ => None,
    };
    let mut latencies: Vec<u64> = ran.records.iter().filter_map(late).collect();
    latencies.sort_unstable();
    Latencies(latencies)
}

/// What cyclictest's histogram says; `None` where there is no cyclictest. It changes nothing of the system here.
fn cyclictest(cpu: u64, releases: u64) -> Option<Latencies> {
    let (_, highest) = sched::priorities();
    let output = Command::new("cyclictest")
        .args(["--mlockall", "--quiet", "--threads=1", "--default-system"])
        .args([format!("--affinity={cpu}"), format!("--priority={highest}")])
        .args([format!("--interval={}", PERIOD.get() / 1000), format!("--loops={releases}")])
        .arg(format!("--histogram={LATEST}"))
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut latencies = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [us, count] => {
                let (Ok(us), Ok(count)) = (us.parse::<u64>(), count.parse()) else { continue };
                latencies.extend(std::iter::repeat_n(us, count));
            }
            ["#", "Histogram", "Overflows:", count] => {
                latencies.extend(std::iter::repeat_n(LATEST as u64, count.parse().unwrap_or(0)));
            }
            _ => {}
        }
    }
    assert_eq!(latencies.len() as u64, releases, "cyclictest tells each wake-up: {text:.400}");
    Some(Latencies(latencies))
}

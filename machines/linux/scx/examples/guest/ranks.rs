//! `solo run --on linux --scheduler sched-ext`, and what it made of a scenario.

use crate::Verdict;
use crate::guard::{answer, output, said, spawned, state, wait_for};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// As many cores as the guest has CPUs.
const PLATFORM: &str = include_str!("../../../../../platforms/ideal-8.toml");

/// A task: its name, the core that it starts on, its period and what it computes, in microseconds.
type Task = (&'static str, u64, u64, u64);

/// Two tasks start on each core; their periods are short for an emulated machine, so that much is decided.
const TASKS: [Task; 5] = [
    ("a", 0, 2000, 150),
    ("b", 1, 3000, 300),
    ("c", 0, 4000, 300),
    ("d", 1, 7000, 500),
    ("e", 0, 10_000, 800),
];

fn scenario(policy: &str, tasks: &[Task], seconds: u64) -> Result<(), String> {
    let task = |&(name, core, period, compute): &Task| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\ncore = {core}\nperiod = \"{period}us\"\n\
             work = [{{ compute = \"{compute}us\" }}]\n"
        )
    };
    let head = format!(
        "name = \"ranks\"\nplatform = \"/run/two.toml\"\nduration = \"{seconds}s\"\n[scheduler]\npolicy = \"{policy}\"\n"
    );
    let platform = PLATFORM.replace("count = \"8 @D\"", "count = \"2 @D\"").replace("ideal-8", "two");
    std::fs::write("/run/two.toml", platform)
        .and_then(|()| std::fs::write("/run/ranks.toml", head + &tasks.iter().map(task).collect::<String>()))
        .map_err(|error| error.to_string())
}

/// How long the threads run: what the kernel's command line says, or five seconds.
fn seconds() -> u64 {
    let line = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let said = line.split_whitespace().find_map(|word| word.strip_prefix("solo.seconds=")?.parse().ok());
    said.unwrap_or(5)
}

fn run() -> Command {
    let mut command = Command::new("/solo");
    command.args(["run", "/run/ranks.toml", "--on", "linux", "--scheduler", "sched-ext", "--json"]);
    command.args(["--out", "/run/ranks", "--force"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Nothing is left of a run that was killed.
pub(crate) fn killed() -> Verdict {
    scenario("P-EDF", &TASKS, 600)?;
    let mut waited = Vec::new();
    for _ in 0..5 {
        let mut run = spawned(run())?;
        wait_for("enabled", Duration::from_secs(20))?;
        std::thread::sleep(Duration::from_millis(300));
        let _ = run.kill();
        let _ = run.wait();
        waited.push(wait_for("disabled", Duration::from_secs(2))?.as_millis());
    }
    Ok(format!("disabled after {waited:?} ms"))
}

/// Threads that leave nothing to others are thrown out by the kernel after five seconds; the run says so, and its threads go on.
pub(crate) fn starve() -> Verdict {
    scenario("P-EDF", &[("all", 0, 100_000, 200_000), ("of-it", 1, 100_000, 200_000)], 12)?;
    let output = output(run())?;
    let answer = answer(&output)?;
    let warnings = answer["report"]["warnings"].to_string();
    let text = format!("{:?} {warnings}", output.status.code());
    let told = warnings.contains("stall") && warnings.contains("from then on Linux's own scheduler decided");
    if told && state() == "disabled" { Ok(text) } else { Err(text + &said(&output)) }
}

/// As long as a run is here: what it remembers has to fit the guest.
const ROUND: u64 = 50;

/// What came of one run or several.
#[derive(Default)]
struct Sums {
    decisions: u64,
    otherwise: u64,
    lost: u64,
    placed: u64,
    jobs: u64,
    late: u64,
    warnings: Vec<String>,
}

/// Threads under a policy inside the kernel: the policy repeats every decision and agrees.
pub(crate) fn repeated(policy: &str) -> Verdict {
    let (mut sums, seconds) = (Sums::default(), seconds());
    let mut left = seconds;
    while left > 0 {
        let round = left.min(ROUND);
        left -= round;
        scenario(policy, &TASKS, round)?;
        take(&output(run())?, &mut sums)?;
        std::fs::remove_dir_all("/run/ranks").map_err(|error| error.to_string())?;
    }
    let Sums { decisions, otherwise, lost, placed, jobs, late, warnings } = sums;
    let text = format!(
        "{policy}, {seconds} s: {decisions} decisions repeated, {otherwise} answered otherwise, {lost} lost, {placed} placed by the \
         kernel; {jobs} jobs, {late} late {}",
        warnings.join("; ")
    );
    let decided = decisions > 1000 * seconds && jobs > 300 * seconds;
    if decided && otherwise == 0 && lost == 0 && state() == "disabled" { Ok(text) } else { Err(text) }
}

fn take(output: &Output, sums: &mut Sums) -> Result<(), String> {
    let answer = answer(output)?;
    let (repeated, report) = (&answer["manifest"]["repeated"], &answer["report"]);
    if answer["manifest"]["tier"] != "C" {
        return Err(said(output).chars().take(500).collect());
    }
    let of = |name: &str| repeated[name].as_u64().unwrap_or(u64::MAX / 1000);
    let tasks = report["tasks"].as_array();
    let sum = |name: &str| tasks.into_iter().flatten().filter_map(|task| task[name].as_u64()).sum::<u64>();
    sums.decisions += of("decisions");
    sums.otherwise += of("disagreements");
    sums.lost += of("lost");
    sums.placed += of("placed");
    sums.jobs += sum("jobs");
    sums.late += sum("misses");
    sums.warnings.extend(report["warnings"].as_array().into_iter().flatten().map(ToString::to_string));
    Ok(())
}

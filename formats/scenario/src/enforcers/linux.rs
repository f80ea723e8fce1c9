//! Cores and priorities on Linux: cpusets, chrt.

use super::{NotEnforceable, cores};
use crate::rt_app::{Ranks, Reservation};
use solo_model::{CoreId, Duration, Experiment, TaskClass};
use std::fmt::Write;

/// What is said of groups that are partitions.
const PARTITIONS: &str = "# SCHED_DEADLINE admits a thread that may run on all CPUs of its root domain: each group is one of its own. Where\n\
    # cpuset.cpus.partition says `root invalid` afterwards, it is none: another group has the CPU, or the root of all groups would have none left.\n";

/// A control group for each core, and which task belongs where. Linux admits no thread under SCHED_DEADLINE that may run on a part of its root
/// domain only, so the groups of such threads are partitions; others are not, for these take a CPU from everybody else.
pub(super) fn cpuset(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let reserves = matches!(Ranks::of(experiment), Ok(Ranks::Deadline));
    let is_reserved = |core| {
        let mut own = experiment.tasks.iter().filter(|task| task.core == Some(core));
        reserves && own.any(|task| task.class != TaskClass::BestEffort)
    };
    let mut text = String::from("echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control\n");
    if cores(experiment).into_iter().any(is_reserved) {
        text += PARTITIONS;
    }
    for core in cores(experiment) {
        let CoreId(number) = core;
        let group = format!("/sys/fs/cgroup/core{number}");
        let _ = writeln!(text, "mkdir {group}\necho {number} > {group}/cpuset.cpus");
        if is_reserved(core) {
            let _ = writeln!(text, "echo root > {group}/cpuset.cpus.partition");
        }
        for task in experiment.tasks.iter().filter(|task| task.core == Some(core)) {
            let _ = writeln!(text, "# in {group}/cgroup.procs: {}", task.name);
        }
    }
    Ok(text)
}

/// A line for each task: its policy, its priority or its times in nanoseconds, and its name where the program stands.
pub(super) fn chrt(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let ranks = Ranks::of(experiment).map_err(NotEnforceable::Ranks)?;
    let mut text = String::new();
    for (at, task) in experiment.tasks.iter().enumerate() {
        let program = quoted(&task.name);
        let line = match &ranks {
            Ranks::Deadline if task.class != TaskClass::BestEffort => {
                let Reservation { runtime, deadline, period } =
                    Reservation::of(experiment, task, Duration::new(1)).map_err(NotEnforceable::Ranks)?;
                format!(
                    "chrt --deadline --sched-runtime {} --sched-deadline {} --sched-period {} 0 {program}",
                    runtime.get(),
                    deadline.get(),
                    period.get()
                )
            }
            Ranks::Fifo(priorities) => match priorities.get(at).copied().flatten() {
                Some(priority) => format!("chrt --fifo {priority} {program}"),
                None => format!("chrt --other 0 {program}"),
            },
            Ranks::Deadline | Ranks::Shared => format!("chrt --other 0 {program}"),
        };
        text += &line;
        text.push('\n');
    }
    Ok(text)
}

/// A word of a shell.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', r"'\''"))
}

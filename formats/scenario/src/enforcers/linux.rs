//! Cores and priorities on Linux: cpusets, chrt.

use super::{NotEnforceable, cores};
use crate::rt_app::{Ranks, Reservation};
use solo_model::{CoreId, Duration, Experiment, TaskClass};
use std::fmt::Write;

/// A partition of processors for each core, and which task belongs where.
pub(super) fn cpuset(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let mut text = String::from("echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control\n");
    for core in cores(experiment) {
        let CoreId(number) = core;
        let group = format!("/sys/fs/cgroup/core{number}");
        let _ = writeln!(text, "mkdir {group}\necho {number} > {group}/cpuset.cpus");
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

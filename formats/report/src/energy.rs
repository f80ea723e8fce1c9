//! Energy: what was counted, times what the platform file says that each event costs.
//!
//! A sum, not a measurement: it is as good as the costs, and those carry their sources with them.

use crate::text;
use serde::{Deserialize, Serialize};
use solo_model::{CoreId, Duration, Energy, TaskId};

/// What tasks and cores cost, on a platform that says what events cost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EnergyReport {
    /// By task, the finished jobs' events at the costs of the cores on which they finished.
    pub tasks: Vec<TaskEnergy>,
    /// By core, the events of its samples, whoever caused them; those that cost nothing are left out.
    pub cores: Vec<CoreEnergy>,
    /// The sources of the costs.
    pub sources: Vec<String>,
    /// True where no cost is a guess or remembered.
    pub validated: bool,
}

/// A task's energy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskEnergy {
    /// The task.
    pub task: TaskId,
    /// The jobs that finished.
    pub jobs: u64,
    /// All of them together.
    #[serde(rename = "energy_pj")]
    pub energy: Energy,
}

/// A core's energy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CoreEnergy {
    /// The core.
    pub core: CoreId,
    /// The time that the samples cover.
    #[serde(rename = "sampled_ns")]
    pub sampled: Duration,
    /// All samples together.
    #[serde(rename = "energy_pj")]
    pub energy: Energy,
}

impl EnergyReport {
    pub(crate) const HEADER: [&'static str; 5] = ["energy of", "jobs", "in all", "a job", "on average"];

    /// One row a task with finished jobs, then one a core with samples; `name` tells the tasks' names.
    pub(crate) fn rows(&self, name: impl Fn(TaskId) -> String) -> Vec<Vec<String>> {
        let task = |task: &TaskEnergy| {
            let each = Energy::new(task.energy.get() / task.jobs.max(1));
            vec![name(task.task), task.jobs.to_string(), joules(task.energy), joules(each), "-".into()]
        };
        let core = |core: &CoreEnergy| {
            let none = || String::from("-");
            vec![core.core.to_string(), none(), joules(core.energy), none(), watts(core)]
        };
        let tasks = self.tasks.iter().filter(|task| task.jobs > 0).map(task);
        tasks.chain(self.cores.iter().map(core)).collect()
    }

    /// Where the costs come from.
    pub(crate) fn sentence(&self) -> String {
        let doubt = if self.validated { "" } else { ": not validated" };
        format!("energy is events times costs (source {}){doubt}", self.sources.join("; "))
    }
}

fn joules(energy: Energy) -> String {
    scaled(energy.get() as f64, ["pJ", "nJ", "uJ", "mJ", "J"])
}

/// Picojoules in a nanosecond are milliwatts.
fn watts(core: &CoreEnergy) -> String {
    let power = core.energy.get() as f64 / core.sampled.get().max(1) as f64;
    scaled(power * 1000.0, ["uW", "mW", "W", "kW", "MW"])
}

fn scaled(value: f64, units: [&str; 5]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", text::three_digits(value), units[unit])
}

//! Energy: what the meter of the platform told, or else what was counted, times what the platform file says that each event costs.
//!
//! It is as good as the platform's numbers, and those carry their sources with them.

use crate::series::Series;
use crate::text;
use serde::{Deserialize, Serialize};
use solo_model::{CoreId, Duration, Energy, KindId, TaskId};

/// What tasks, cores and memory used, on a platform that has a meter or says what events cost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EnergyReport {
    /// By task: what the meter told of its jobs, finished or not. Without a meter the finished jobs' events at the costs of the cores on
    /// which they finished.
    pub tasks: Vec<TaskEnergy>,
    /// By core, the events of its samples, whoever caused them; those that cost nothing are left out. Nothing with a meter.
    pub cores: Vec<CoreEnergy>,
    /// What has a meter: the cores of each kind, and memory. Nothing without one.
    #[serde(default)]
    pub domains: Vec<DomainEnergy>,
    /// The instructions that all cores retired, with a meter.
    #[serde(default)]
    pub instructions: u64,
    /// How long the meters went.
    #[serde(default, rename = "metered_ns")]
    pub metered: Duration,
    /// The sources of the costs.
    pub sources: Vec<String>,
    /// True where no cost is a guess or remembered.
    pub validated: bool,
}

/// A task's energy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskEnergy {
    /// The task.
    pub task: TaskId,
    /// The jobs that finished.
    pub jobs: u64,
    /// All of them together, those that did not finish included where a meter tells of them.
    #[serde(rename = "energy_fj")]
    pub energy: Energy,
    /// With a meter, what of it was used on cores of which kind.
    #[serde(default)]
    pub kinds: Vec<KindEnergy>,
    /// With a meter, what each stretch of a job on cores of one kind used, at its end, over time: microjoules.
    #[serde(default, rename = "jobs_uj", skip_serializing_if = "Option::is_none")]
    pub over_time: Option<Series>,
}

/// What a task used on cores of a kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KindEnergy {
    /// The kind.
    pub kind: String,
    /// By events.
    #[serde(rename = "dynamic_fj")]
    pub dynamic: Energy,
    /// By time.
    #[serde(rename = "static_fj")]
    pub fixed: Energy,
    /// By commands of memory.
    #[serde(rename = "dram_fj")]
    pub dram: Energy,
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
    #[serde(rename = "energy_fj")]
    pub energy: Energy,
}

/// What a meter told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DomainEnergy {
    /// The kind of the cores, or `dram`.
    pub name: String,
    /// By events, or by commands of memory.
    #[serde(rename = "dynamic_fj")]
    pub dynamic: Energy,
    /// By time.
    #[serde(rename = "static_fj")]
    pub fixed: Energy,
    /// Its power over time, in milliwatts.
    #[serde(rename = "power_mw")]
    pub power: Series,
}

impl DomainEnergy {
    /// All of it.
    pub fn total(&self) -> Energy {
        self.dynamic.saturating_add(self.fixed)
    }
}

impl TaskEnergy {
    /// What a job used on average; `None` where none finished.
    pub(crate) fn per_job(&self) -> Option<Energy> {
        self.energy.get().checked_div(self.jobs).map(Energy::new)
    }

    pub(crate) fn kind(&mut self, kind: KindId) -> Option<&mut KindEnergy> {
        self.kinds.get_mut(kind.index())
    }
}

impl EnergyReport {
    pub(crate) const HEADER: [&'static str; 7] =
        ["energy of", "jobs", "in all", "a job", "on average", "dynamic", "by kind"];

    /// What all meters told; zero without any.
    pub fn total(&self) -> Energy {
        self.domains.iter().fold(Energy::ZERO, |sum, domain| sum.saturating_add(domain.total()))
    }

    /// Energy times time by instructions, in joule-seconds (PMCTrack, equation 5); `None` without a meter, and where nothing retired.
    pub fn energy_delay_js(&self) -> Option<f64> {
        let joules = self.total().get() as f64 * 1e-15;
        let known = self.instructions > 0 && !self.domains.is_empty();
        known.then(|| joules * (self.metered.get() as f64 * 1e-9) / self.instructions as f64)
    }

    /// What no task used: cores that idle, what cores share, memory by time.
    pub fn nobodys(&self) -> Energy {
        self.tasks.iter().fold(self.total(), |rest, task| rest.saturating_sub(task.energy))
    }

    /// One row a task that used some, then one a core with samples or one for what has a meter; `name` tells the tasks' names.
    pub(crate) fn rows(&self, name: impl Fn(TaskId) -> String) -> Vec<Vec<String>> {
        let none = || String::from("-");
        let task = |task: &TaskEnergy| {
            let jobs = task.per_job().map_or_else(none, joules);
            let (dynamic, kinds) = match task.kinds.is_empty() {
                true => (none(), none()),
                false => (joules(task.dynamic()), task.by_kind()),
            };
            vec![name(task.task), task.jobs.to_string(), joules(task.energy), jobs, none(), dynamic, kinds]
        };
        let core = |core: &CoreEnergy| {
            let power = watts(core.energy, core.sampled);
            vec![core.core.to_string(), none(), joules(core.energy), none(), power, none(), none()]
        };
        let domain = |domain: &DomainEnergy| {
            let power = watts(domain.total(), self.metered);
            let all = joules(domain.total());
            vec![domain.name.clone(), none(), all, none(), power, joules(domain.dynamic), none()]
        };
        let tasks = self.tasks.iter().filter(|task| task.jobs > 0 || !task.energy.is_zero()).map(task);
        let rows = tasks.chain(self.cores.iter().map(core));
        if self.domains.is_empty() {
            return rows.collect();
        }
        let nobodys = vec!["nobody".into(), none(), joules(self.nobodys()), none(), none(), none(), none()];
        rows.chain([nobodys]).chain(self.domains.iter().map(domain)).collect()
    }

    /// Where the costs come from.
    pub(crate) fn sentence(&self) -> String {
        let doubt = if self.validated { "" } else { ": not validated" };
        let how = if self.domains.is_empty() {
            String::from("energy is events times costs")
        } else {
            format!("energy by the meter: {} in all{}", joules(self.total()), self.product())
        };
        format!("{how} (source {}){doubt}", self.sources.join("; "))
    }

    fn product(&self) -> String {
        self.energy_delay_js().map_or_else(String::new, |product| {
            let product = scaled(product * 1e15, ["fJ s", "pJ s", "nJ s", "uJ s", "mJ s"]);
            format!(", energy times time {product} an instruction")
        })
    }
}

impl TaskEnergy {
    fn dynamic(&self) -> Energy {
        let sum = |sum: Energy, part: &KindEnergy| sum.saturating_add(part.dynamic).saturating_add(part.dram);
        self.kinds.iter().fold(Energy::ZERO, sum)
    }

    fn by_kind(&self) -> String {
        let used = |part: &&KindEnergy| !part.total().is_zero();
        let parts = self.kinds.iter().filter(used);
        parts.map(|part| format!("{} {}", part.kind, joules(part.total()))).collect::<Vec<_>>().join(", ")
    }
}

impl KindEnergy {
    /// All of it.
    pub fn total(&self) -> Energy {
        self.dynamic.saturating_add(self.fixed).saturating_add(self.dram)
    }
}

pub(crate) fn joules(energy: Energy) -> String {
    scaled(energy.get() as f64 / 1000.0, ["pJ", "nJ", "uJ", "mJ", "J"])
}

/// Femtojoules in a nanosecond are microwatts.
fn watts(energy: Energy, time: Duration) -> String {
    scaled(energy.get() as f64 / time.get().max(1) as f64, ["uW", "mW", "W", "kW", "MW"])
}

fn scaled(value: f64, units: [&str; 5]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", text::three_digits(value), units[unit])
}

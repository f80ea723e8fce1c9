//! What was counted, at the costs of the core that counted it.

use crate::energy::{CoreEnergy, EnergyReport, TaskEnergy};
use solo_model::platform::is_guess;
use solo_model::record::JobRecord;
use solo_model::{CoreId, Counts, Duration, Energy, Experiment, Platform, Sample, TaskId};

/// What is known so far; nothing where the platform names no costs.
pub(super) struct EnergySummary {
    report: Option<EnergyReport>,
}

impl EnergySummary {
    pub(super) fn new(experiment: &Experiment) -> Self {
        let platform = &experiment.platform;
        let known = platform.kinds.iter().any(|kind| !kind.energy.is_empty());
        Self { report: known.then(|| EnergyReport::nothing(platform, experiment.tasks.len())) }
    }

    pub(super) fn job(&mut self, platform: &Platform, job: &JobRecord) {
        let Some(report) = &mut self.report else { return };
        // A job of which nothing was counted is none of those that are known.
        let Some(spent) = cost(platform, job.core, &job.counts) else { return };
        if let Some(task) = report.tasks.get_mut(job.task.index()) {
            task.jobs += 1;
            task.energy = sum(task.energy, spent);
        }
    }

    pub(super) fn sample(&mut self, platform: &Platform, sample: &Sample) {
        let Some(report) = &mut self.report else { return };
        let Some(at) = sample.core() else { return };
        let Some(spent) = cost(platform, at, &sample.counts) else { return };
        if let Some(core) = report.cores.get_mut(at.index()) {
            core.sampled = core.sampled.saturating_add(sample.span);
            core.energy = sum(core.energy, spent);
        }
    }

    pub(super) fn into_report(self) -> Option<EnergyReport> {
        let mut report = self.report?;
        report.cores.retain(|core| core.energy > Energy::ZERO);
        // Where nothing that costs was counted, nothing is known.
        let known = report.tasks.iter().any(|task| task.jobs > 0) || !report.cores.is_empty();
        known.then_some(report)
    }
}

/// Nothing on a core that the platform does not describe; `None` where not all that costs was counted.
fn cost(platform: &Platform, core: CoreId, counts: &Counts) -> Option<Energy> {
    let kind = platform.cores.get(core.index()).and_then(|core| platform.kinds.get(usize::from(core.kind)));
    kind.map_or(Some(Energy::ZERO), |kind| kind.energy_of(counts))
}

fn sum(one: Energy, other: Energy) -> Energy {
    Energy::new(one.get().saturating_add(other.get()))
}

impl EnergyReport {
    fn nothing(platform: &Platform, tasks: usize) -> Self {
        let costs = platform.sources.iter().filter(|(value, _)| value.starts_with("energy of "));
        let mut sources: Vec<String> = costs.map(|(_, source)| source.clone()).collect();
        sources.sort_unstable();
        sources.dedup();
        let task = |number| TaskEnergy { task: TaskId(number as u32), jobs: 0, energy: Energy::ZERO };
        let core = |number| CoreEnergy {
            core: CoreId(number as u16),
            sampled: Duration::ZERO,
            energy: Energy::ZERO,
        };
        Self {
            tasks: (0..tasks).map(task).collect(),
            cores: (0..platform.cores.len()).map(core).collect(),
            validated: !sources.is_empty() && !sources.iter().any(|source| is_guess(source)),
            sources,
        }
    }
}

//! What the meter told; without one what was counted, at the costs of the core that counted it.

use crate::energy::{CoreEnergy, DomainEnergy, EnergyReport, KindEnergy, TaskEnergy};
use crate::series::Series;
use solo_model::platform::is_guess;
use solo_model::record::JobRecord;
use solo_model::{
    Consumer, CoreId, Counts, Duration, Energy, EnergyRecord, EventId, Experiment, Instant, Platform,
    PowerDomain, Sample, TaskId,
};

/// Points of a domain's power over time.
const POINTS: usize = 512;

/// What is known so far; nothing where the platform names no costs.
pub(super) struct EnergySummary {
    report: Option<EnergyReport>,
    domains: Vec<PowerDomain>,
    told: Instant,
    /// The first width of bins, and how many a task has at most.
    every: Duration,
    points: usize,
}

const FEMTO_PER_MICRO: u64 = 1_000_000_000;

impl EnergySummary {
    pub(super) fn new(experiment: &Experiment, points: usize) -> Self {
        let platform = &experiment.platform;
        let known = platform.power.is_some() || platform.kinds.iter().any(|kind| !kind.energy.is_empty());
        let report = known.then(|| EnergyReport::nothing(experiment));
        let every = experiment.sample_every;
        Self { report, domains: platform.power_domains(), told: Instant::ZERO, every, points }
    }

    /// `None` for a task or a meter that the experiment lacks.
    pub(super) fn used(&mut self, record: &EnergyRecord) -> Option<()> {
        let report = self.report.as_mut().filter(|_| !self.domains.is_empty())?;
        match record.of {
            Consumer::Job { task, kind, .. } => {
                let own = report.tasks.get_mut(task.index())?;
                own.energy = sum(own.energy, record.total());
                let series = own.over_time.get_or_insert_with(|| Series::new(self.every, self.points));
                series.add(record.at, record.total().get() / FEMTO_PER_MICRO, 1);
                let part = own.kind(kind)?;
                part.dynamic = sum(part.dynamic, record.dynamic);
                part.fixed = sum(part.fixed, record.fixed);
                part.dram = sum(part.dram, record.dram);
            }
            Consumer::Domain(domain) => {
                let place = self.domains.iter().position(|known| *known == domain)?;
                if place == 0 {
                    self.told = Instant::ZERO + report.metered;
                    report.metered = record.at.since(Instant::ZERO).max(report.metered);
                }
                let span = record.at.since(self.told).get();
                let own = report.domains.get_mut(place)?;
                own.dynamic = sum(own.dynamic, record.dynamic);
                own.fixed = sum(own.fixed, record.fixed);
                // Femtojoules in a nanosecond are microwatts.
                if let Some(microwatts) = record.total().get().checked_div(span) {
                    own.power.add(self.told, microwatts / 1000, span);
                }
            }
            // Of a task alone it is what its jobs and the domains tell anyway.
            Consumer::Window { task, .. } => drop(report.tasks.get(task.index())?),
        }
        Some(())
    }

    pub(super) fn job(&mut self, platform: &Platform, job: &JobRecord) {
        let Some(report) = &mut self.report else { return };
        if !self.domains.is_empty() {
            // The meter tells what it used.
            report.tasks.get_mut(job.task.index()).iter_mut().for_each(|task| task.jobs += 1);
            return;
        }
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
        if !self.domains.is_empty() {
            let retired = sample.counts.get(EventId::INSTRUCTIONS).unwrap_or(0);
            report.instructions = report.instructions.saturating_add(retired);
            return;
        }
        let Some(spent) = cost(platform, at, &sample.counts) else { return };
        if let Some(core) = report.cores.get_mut(at.index()) {
            core.sampled = core.sampled.saturating_add(sample.span);
            core.energy = sum(core.energy, spent);
        }
    }

    pub(super) fn into_report(self) -> Option<EnergyReport> {
        let mut report = self.report?;
        report.cores.retain(|core| core.energy > Energy::ZERO);
        if !self.domains.is_empty() {
            // Machines without the meter tell nothing.
            return (report.total() > Energy::ZERO).then_some(report);
        }
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
    fn nothing(experiment: &Experiment) -> Self {
        let platform = &experiment.platform;
        let of_energy = |value: &str| value.starts_with("energy of ") || value.starts_with("power of ");
        let costs = platform.sources.iter().filter(|(value, _)| of_energy(value));
        let mut sources: Vec<String> = costs.map(|(_, source)| source.clone()).collect();
        sources.sort_unstable();
        sources.dedup();
        let domains = platform.power_domains();
        let none = (Energy::ZERO, Energy::ZERO, Energy::ZERO);
        let kind = |kind: &solo_model::platform::CoreKind| {
            let (dynamic, fixed, dram) = none;
            KindEnergy { kind: kind.name.clone(), dynamic, fixed, dram }
        };
        let kinds: Vec<KindEnergy> =
            if domains.is_empty() { Vec::new() } else { platform.kinds.iter().map(kind).collect() };
        let task = |number| {
            let kinds = kinds.clone();
            let task = TaskId(number as u32);
            TaskEnergy { task, jobs: 0, energy: Energy::ZERO, kinds, over_time: None }
        };
        let core = |number| CoreEnergy {
            core: CoreId(number as u16),
            sampled: Duration::ZERO,
            energy: Energy::ZERO,
        };
        let domain = |domain: &PowerDomain| DomainEnergy {
            name: match domain {
                PowerDomain::Cluster(kind) => {
                    platform.kinds.get(kind.index()).map_or_else(String::new, |kind| kind.name.clone())
                }
                PowerDomain::Dram => "dram".into(),
            },
            dynamic: Energy::ZERO,
            fixed: Energy::ZERO,
            power: Series::new(experiment.sample_every, POINTS),
        };
        Self {
            tasks: (0..experiment.tasks.len()).map(task).collect(),
            cores: (0..platform.cores.len()).map(core).collect(),
            domains: domains.iter().map(domain).collect(),
            instructions: 0,
            metered: Duration::ZERO,
            validated: !sources.is_empty() && !sources.iter().any(|source| is_guess(source)),
            sources,
        }
    }
}

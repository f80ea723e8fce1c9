//! How fast the cores compute that a task may run on.

use solo_model::{CoreSet, Duration, Experiment, KindId, Phase, Platform, RelativeSpeed, Task};

/// The speeds of the cores of a domain.
pub(super) struct Pace<'a> {
    platform: &'a Platform,
    kinds: Vec<KindId>,
    slowest: RelativeSpeed,
    fastest: RelativeSpeed,
}

impl<'a> Pace<'a> {
    /// That of some cores.
    pub(super) fn of(platform: &'a Platform, cores: CoreSet) -> Self {
        let mut kinds: Vec<KindId> =
            cores.iter().filter_map(|core| Some(KindId(platform.cores.get(core.index())?.kind))).collect();
        kinds.sort_unstable();
        kinds.dedup();
        Self { platform, kinds, slowest: platform.slowest(cores), fastest: platform.fastest(cores) }
    }

    /// That of the domain in which a task is scheduled: the first one where it names no core.
    pub(super) fn of_task(experiment: &'a Experiment, task: &Task) -> Self {
        let domains = experiment.policy.domains(experiment.platform.cores.len());
        let home = task.core.and_then(|core| domains.iter().find(|cores| cores.contains(core)));
        Self::of(&experiment.platform, *home.or(domains.first()).unwrap_or(&CoreSet::EMPTY))
    }

    /// True where all cores compute as fast as the reference kind: then nothing is rounded.
    pub(super) fn is_reference(&self) -> bool {
        self.slowest.is_reference() && self.fastest.is_reference()
    }

    /// The longest that a computation takes.
    pub(super) fn longest(&self, computation: Duration) -> Duration {
        self.slowest.longest(computation)
    }

    /// The shortest that it takes.
    pub(super) fn shortest(&self, computation: Duration) -> Duration {
        self.fastest.shortest(computation)
    }

    /// The longest computation that takes no more than `time` wherever it runs.
    pub(super) fn within(&self, time: Duration) -> Duration {
        self.slowest.within(time)
    }

    /// The shortest and the longest that instructions of a phase take, memory apart. Where they are interrupted a part of one may
    /// be lost or done again.
    pub(super) fn executes(&self, phase: &Phase, instructions: u64) -> [Duration; 2] {
        let times = self.kinds.iter().map(|&kind| phase.longest(self.platform, kind, instructions));
        let least = times.clone().min().unwrap_or(Duration::ZERO).get();
        [Duration::new(least.saturating_sub(least / 1000 + 2)), times.max().unwrap_or(Duration::ZERO)]
    }
}

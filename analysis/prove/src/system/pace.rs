//! How fast the cores compute that a task may run on.

use solo_model::{CoreSet, Duration, Experiment, Platform, RelativeSpeed, Task};

/// The speeds of the slowest and the fastest core of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    slowest: RelativeSpeed,
    fastest: RelativeSpeed,
}

impl Pace {
    /// That of the reference kind.
    #[cfg(test)]
    pub(super) const REFERENCE: Self =
        Self { slowest: RelativeSpeed::REFERENCE, fastest: RelativeSpeed::REFERENCE };

    /// That of some cores.
    pub(super) fn of(platform: &Platform, cores: CoreSet) -> Self {
        Self { slowest: platform.slowest(cores), fastest: platform.fastest(cores) }
    }

    /// That of the domain in which a task is scheduled: the first one where it names no core.
    pub(super) fn of_task(experiment: &Experiment, task: &Task) -> Self {
        let domains = experiment.policy.domains(experiment.platform.cores.len());
        let home = task.core.and_then(|core| domains.iter().find(|cores| cores.contains(core)));
        Self::of(&experiment.platform, *home.or(domains.first()).unwrap_or(&CoreSet::EMPTY))
    }

    /// True where all cores compute as fast as the reference kind: then nothing is rounded.
    pub(super) fn is_reference(self) -> bool {
        self.slowest.is_reference() && self.fastest.is_reference()
    }

    /// The longest that a computation takes.
    pub(super) fn longest(self, computation: Duration) -> Duration {
        self.slowest.longest(computation)
    }

    /// The shortest that it takes.
    pub(super) fn shortest(self, computation: Duration) -> Duration {
        self.fastest.shortest(computation)
    }

    /// The longest computation that takes no more than `time` wherever it runs.
    pub(super) fn within(self, time: Duration) -> Duration {
        self.slowest.within(time)
    }
}

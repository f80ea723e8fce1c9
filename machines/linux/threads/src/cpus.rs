//! Which CPU is which core.

use solo_model::{CoreId, CoreSet};

/// Which CPU is which core of the experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CpuCores(Vec<(usize, CoreId)>);

impl CpuCores {
    /// The cores that tasks use, in order, on these CPUs.
    pub(crate) fn new(used: CoreSet, cpus: &[usize]) -> Self {
        Self(cpus.iter().copied().zip(used.iter()).collect())
    }

    /// The core that a CPU is; the first one for a CPU that none is, on which no thread runs.
    pub(crate) fn core(&self, cpu: u32) -> CoreId {
        let found = self.0.iter().find(|(own, _)| *own == cpu as usize);
        found.or(self.0.first()).map_or(CoreId(0), |(_, core)| *core)
    }

    /// The CPUs of these cores.
    pub(crate) fn cpus(&self, cores: CoreSet) -> Vec<usize> {
        self.0.iter().filter(|(_, core)| cores.contains(*core)).map(|(cpu, _)| *cpu).collect()
    }

    /// Pairs of a CPU and its core.
    pub(crate) fn pairs(&self) -> &[(usize, CoreId)] {
        &self.0
    }
}

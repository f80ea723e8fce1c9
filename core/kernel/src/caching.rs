//! What the kernel keeps of the last-level cache: the policies that say when it is divided anew.

use solo_isolate::windows::{FillMasks, LockWindows};
use solo_model::{Caps, Experiment};

/// How the last-level cache is divided while a run goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caching {
    /// Who may fill which ways, where anybody is confined.
    pub masks: Option<FillMasks>,
    /// When pages are locked, where any are during the run.
    pub windows: Option<LockWindows>,
}

impl Caching {
    /// What an experiment asks for; `None` for nothing.
    pub fn of(experiment: &Experiment) -> Option<Self> {
        let (isolation, platform) = (&experiment.isolation, &experiment.platform);
        let (tasks, cores) = (experiment.tasks.len(), platform.cores.len());
        let windows = isolation.lockdown.as_ref().and_then(|asked| LockWindows::new(asked, tasks, cores));
        let windows = windows.map(|windows| match &isolation.partitions {
            Some(partitions) => windows.by_clock(partitions),
            None => windows,
        });
        let masks = FillMasks::new(&isolation.ways, platform, tasks);
        (masks.is_some() || windows.is_some()).then_some(Self { masks, windows })
    }
}

impl Caching {
    /// True where a machine of these abilities can do it.
    pub(crate) fn suits(&self, caps: &Caps) -> bool {
        (self.masks.is_none() || caps.ways > 0) && (self.windows.is_none() || caps.cache_lock)
    }
}

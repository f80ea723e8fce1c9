//! How much of the last levels is held by whom: what the kernel may read, and what is told with the samples.

use crate::memory::Hierarchy;
use solo_model::{Bytes, CoreId, Experiment, Platform, Rmid};

/// The bytes that lines of each id take in each last level, as they stood when the kernel was entered.
pub(crate) struct Held {
    /// By core, the place of its last level among those that are monitored.
    of_core: Vec<Option<usize>>,
    caches: Vec<Monitored>,
    rmids: u16,
}

/// A cache whose lines carry ids.
struct Monitored {
    /// Its position in the platform's list.
    position: usize,
    line: Bytes,
    /// By id.
    bytes: Vec<Bytes>,
}

impl Held {
    /// Lets lines of the last levels carry ids, where the experiment's scheduler reads them; `None` where it does not.
    pub(crate) fn new(experiment: &Experiment, memory: &mut Hierarchy) -> Option<Self> {
        experiment.listening.as_ref().filter(|listening| listening.observed.reads_occupancy())?;
        let platform = &experiment.platform;
        let rmids = platform.pmu.rmids;
        let mut caches: Vec<Monitored> = Vec::new();
        let of_core = platform.core_set().iter().map(|core| {
            let (position, cache) = platform.last_level_of(core)?;
            let known = caches.iter().position(|known| known.position == position);
            Some(known.unwrap_or_else(|| {
                memory.monitor_lines(position, rmids);
                let bytes = vec![Bytes::ZERO; usize::from(rmids)];
                caches.push(Monitored { position, line: cache.line, bytes });
                caches.len() - 1
            }))
        });
        let of_core = of_core.collect();
        Some(Self { of_core, caches, rmids })
    }

    /// Reads what is held now.
    pub(crate) fn read(&mut self, memory: &Hierarchy) {
        for cache in &mut self.caches {
            for (rmid, bytes) in (0..self.rmids).zip(&mut cache.bytes) {
                *bytes = cache.line * memory.lines_of(cache.position, Rmid(rmid)).unwrap_or(0);
            }
        }
    }

    /// What lines of an id take in the last level of `core`.
    pub(crate) fn of(&self, core: CoreId, rmid: Rmid) -> Option<Bytes> {
        let cache = &self.caches[(*self.of_core.get(core.index())?)?];
        cache.bytes.get(rmid.index()).copied()
    }

    /// What lines of an id take in all last levels.
    pub(crate) fn in_all(&self, rmid: Rmid) -> Bytes {
        let of = |cache: &Monitored| cache.bytes.get(rmid.index()).copied().unwrap_or_default();
        self.caches.iter().map(of).fold(Bytes::ZERO, |sum, held| sum + held)
    }
}

/// True where a platform tells whose lines are in its last level.
pub(crate) fn tells(platform: &Platform) -> bool {
    platform.pmu.rmids > 1 && platform.last_level().is_some()
}

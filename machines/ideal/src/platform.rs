//! The chip on which a case runs.

use solo_model::CoreSet;
use solo_model::fixtures::{cache, chip, dram};
use solo_model::platform::{Cache, Contents, Dram, Inclusion, Platform};

/// A chip of `cores` equal cores at 1 GHz. The jobs of a case only compute, so that its caches and memory never
/// matter; they are there for machines that cannot do without.
///
/// # Panics
/// Above [`CoreSet::CAPACITY`] cores.
pub fn ideal_platform(cores: usize) -> Platform {
    let inclusive = |cache| Cache { inclusion: Inclusion::Inclusive, ..cache };
    let all = CoreSet::first(cores);
    let private = all.iter().map(|core| cache(1, Contents::Data, CoreSet::only(core), 32, 8, 1));
    let shared = cache(2, Contents::Unified, all, 1024, 8, 10);
    Platform {
        name: "ideal".to_owned(),
        caches: private.chain([shared]).map(inclusive).collect(),
        dram: Dram { queue: 16, ..dram() },
        ..chip(cores)
    }
}

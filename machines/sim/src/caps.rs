//! What the simulated machine is able to do on a platform.

use crate::occupancy::tells;
use solo_isolate::MemoryMap;
use solo_model::caps::KindCaps;
use solo_model::platform::Inclusion;
use solo_model::{Caps, CoreSet, Duration, Experiment, PerMille, Platform};

/// What the simulated machine is able to do on the experiment's platform.
pub fn caps(experiment: &Experiment) -> Caps {
    of_platform(&experiment.platform)
}

pub(crate) fn of_platform(platform: &Platform) -> Caps {
    // Where there is no map, isolation says why.
    let placed = MemoryMap::of(platform).map_or((1, 1), |map| (map.colors().count(), map.banks().count()));
    Caps {
        cores: platform.core_set(),
        kinds: kinds(platform),
        timer_resolution: Duration::new(1),
        one_shot_timer: true,
        reschedule_ipi: true,
        preemption: true,
        windows: true,
        migrates: true,
        threads_max: 10_000,
        memory: true,
        devices: true,
        self_starting_devices: true,
        flushes_buffers: true,
        flushes_all: true,
        recordings: true,
        commands: false,
        counters: platform.pmu.programmable,
        fixed_counters: platform.pmu.fixed,
        counter_width: platform.pmu.width,
        counter_overflow: platform.pmu.overflow,
        countable: platform.events.simulated().map(|(event, _)| event).collect(),
        occupancy: tells(platform),
        duty_cycles: true,
        energy: platform.power.is_some(),
        colors: placed.0,
        banks: placed.1,
        ways: platform.last_level().map_or(0, |cache| cache.ways),
        cache_lock: locks(platform),
    }
}

/// The last level keeps what it is told to keep, unless it only holds what the nearer levels have evicted.
fn locks(platform: &Platform) -> bool {
    platform.last_level().is_some_and(|cache| cache.inclusion != Inclusion::Exclusive)
}

/// Cores by kind, each as fast as its clock and its instructions a cycle make it.
fn kinds(platform: &Platform) -> Vec<KindCaps> {
    let speed = |kind: usize| {
        let kind = platform.kinds.get(kind);
        kind.map_or(0, |kind| u128::from(kind.clock.get()) * u128::from(kind.instructions_per_kilocycle))
    };
    let cores = |kind: usize| -> CoreSet {
        platform
            .core_set()
            .iter()
            .filter(|core| usize::from(platform.cores[core.index()].kind) == kind)
            .collect()
    };
    let fastest = (0..platform.kinds.len()).filter(|&kind| !cores(kind).is_empty()).map(speed).max();
    let fastest = fastest.unwrap_or(1).max(1);
    let kind = |at: usize| KindCaps {
        cores: cores(at),
        capacity: PerMille::new((speed(at) * 1000 / fastest) as u16).unwrap_or(PerMille::ONE),
    };
    let mut kinds: Vec<KindCaps> =
        (0..platform.kinds.len()).map(kind).filter(|kind| !kind.cores.is_empty()).collect();
    kinds.sort_by_key(|kind| kind.cores.lowest());
    kinds
}

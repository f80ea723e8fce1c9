//! The simulated machine answers for itself by its platform: a chip that lacks something refuses whoever needs it, before the
//! first record.

use solo_hal::Lack;
use solo_model::platform::Inclusion;
use solo_model::{EventId, Experiment, Instant, PerMille, Record};
use solo_scenario::Platforms;
use solo_sim::{Observer, SimError, caps};
use std::ops::ControlFlow;
use std::path::Path;

/// One task of a P4080 on one core, isolated as said.
fn experiment(isolation: &str) -> Experiment {
    let text = format!(
        "name = \"t\"\nplatform = \"xeon-w3530\"\njobs = 1\n[scheduler]\npolicy = \"P-RM\"\n\
         [[task]]\nname = \"t\"\nclass = \"hard\"\ncore = 0\nperiod = \"1ms\"\n\
         work = [{{ sweep = \"64KiB\" }}]\n{isolation}\n"
    );
    let read = solo_scenario::parse(&text, Path::new("t.toml"), &Platforms::builtin());
    read.unwrap_or_else(|report| panic!("{report}")).base
}

struct Nothing;

impl Observer for Nothing {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        panic!("{record:?} of a run that is refused");
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn lacks(experiment: &Experiment) -> Lack {
    match solo_sim::run(experiment, &[], &mut Nothing) {
        Err(SimError::Lacks(lack)) => lack,
        other => panic!("{other:?}"),
    }
}

const BUDGETS: &str = "[isolation.bandwidth]\ncores = { 0 = \"300MB/s\" }";

#[test]
fn counters_are_those_of_the_platform() {
    let mut regulated = experiment(BUDGETS);
    let counters = regulated.platform.pmu.programmable;
    assert!(counters > 0);
    regulated.platform.pmu.overflow = false;
    assert_eq!(lacks(&regulated), Lack::Counters { needed: 1, available: counters, interrupt: false });
    regulated.platform.pmu.overflow = true;
    regulated.platform.pmu.programmable = 0;
    assert_eq!(lacks(&regulated), Lack::Counters { needed: 1, available: 0, interrupt: true });
    let mut both = experiment(&format!("{BUDGETS}\ncounts = \"reads-and-writes\""));
    both.platform.pmu.programmable = 1;
    assert_eq!(lacks(&both), Lack::Counters { needed: 2, available: 1, interrupt: true });
    let countable = caps(&both).countable;
    assert!(countable.contains(EventId::DRAM_READS) && !countable.contains(EventId::PAGE_FAULTS));
}

#[test]
fn a_last_level_that_only_takes_what_nearer_ones_evict_locks_nothing() {
    let mut locked = experiment("[isolation.lockdown]\nt = 1");
    let last = locked.platform.caches.iter_mut().max_by_key(|cache| cache.level).expect("it has caches");
    last.inclusion = Inclusion::Exclusive;
    assert_eq!(lacks(&locked), Lack::Locking);
}

#[test]
fn kinds_energy_and_memory_are_those_of_the_platform() {
    let plain = experiment("");
    let able = caps(&plain);
    assert_eq!((able.kinds.len(), able.kinds[0].cores), (1, plain.platform.core_set()));
    assert!(able.memory && able.recordings && able.colors > 1 && able.banks > 1);
    assert_eq!(able.ways, plain.platform.last_level().expect("it has one").ways);
    let mut plain = plain;
    plain.platform = Platforms::builtin().load("juno", Path::new(".")).expect("it comes with the program");
    let able = caps(&plain);
    assert_eq!(able.kinds.len(), 2, "big and little");
    let whole = able.kinds.iter().filter(|kind| kind.capacity == PerMille::ONE).count();
    assert_eq!(whole, 1, "one kind is the fastest: {:?}", able.kinds);
    let cores = able.kinds.iter().map(|kind| kind.cores.len()).sum::<usize>();
    assert_eq!(cores, plain.platform.cores.len());
    assert_eq!(able.energy, plain.platform.power.is_some());
    plain.platform.caches.clear();
    assert_eq!((caps(&plain).ways, caps(&plain).cache_lock), (0, false));
}

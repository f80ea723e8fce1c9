//! Mistakes that somebody may make in a bound with interference (SCE 3.2): each as what a proof would see that makes it. That the part of
//! devices may not be left out is the test of what each may move (`interference.rs`).

use crate::proofs;
use solo_model::isolation::Regulation;
use solo_model::units::{Duration, PerMille};
use solo_model::work::{Step, update_steps};
use solo_model::{CoreId, Experiment};
use solo_prove::system::Proof;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mistake {
    /// `m - 1` cores use memory.
    OneCoreLess,
    /// `L_max` is that of memory which is only read.
    ReadsOnly,
    /// `B_reg`: nobody has spent the budget before.
    NoBlocking,
    /// `mu` counts what is read and not what is written back.
    NoWriteBacks,
}

impl Mistake {
    pub(super) const ALL: [Self; 4] =
        [Self::OneCoreLess, Self::ReadsOnly, Self::NoBlocking, Self::NoWriteBacks];

    /// The bounds of somebody who makes this mistake; a bound is at most as long as given, where the mistake lies in its middle.
    pub(super) fn proofs(self, experiment: &Experiment) -> Vec<Option<Proof>> {
        let mut seen = experiment.clone();
        match self {
            Self::OneCoreLess => {
                let Some(core) = forgotten(experiment) else { return vec![None; experiment.tasks.len()] };
                forget(&mut seen, core);
                let proofs = proofs(&seen);
                let of = |(at, proof): (usize, Option<Proof>)| {
                    if experiment.tasks[at].core == Some(core) { None } else { proof }
                };
                return proofs.into_iter().enumerate().map(of).collect();
            }
            Self::NoWriteBacks => read(&mut seen),
            Self::ReadsOnly => {
                read(&mut seen);
                let dram = &mut seen.platform.dram;
                dram.guaranteed_with_writes = dram.guaranteed;
                regulation(&mut seen, |regulation| regulation.guaranteed_with_writes = None);
            }
            Self::NoBlocking => {
                let period = experiment.isolation.bandwidth.as_ref().map_or(Duration::ZERO, |all| all.period);
                let without = |proof: Proof| {
                    // A response time is at least as much shorter as what delays its busy period.
                    let bound = proof.bound.saturating_sub(period);
                    Some(Proof { bound, ..proof })
                };
                return proofs(&seen).into_iter().map(|proof| proof.and_then(without)).collect();
            }
        }
        proofs(&seen)
    }
}

fn regulation(experiment: &mut Experiment, change: impl Fn(&mut Regulation)) {
    experiment.isolation.bandwidth.iter_mut().for_each(change);
}

/// The last core with a budget.
fn forgotten(experiment: &Experiment) -> Option<CoreId> {
    let regulation = experiment.isolation.bandwidth.as_ref()?;
    regulation.cores.iter().map(|entry| entry.core).max().filter(|_| regulation.cores.len() > 1)
}

/// Nothing on this core uses memory.
fn forget(experiment: &mut Experiment, core: CoreId) {
    regulation(experiment, |regulation| regulation.cores.retain(|entry| entry.core != core));
    for task in experiment.tasks.iter_mut().filter(|task| task.core == Some(core)) {
        task.work.steps.clear();
    }
}

/// Nothing writes.
fn read(experiment: &mut Experiment) {
    for task in &mut experiment.tasks {
        update_steps(&mut task.work.steps, |step| {
            if let Step::Touch(touch) = step {
                touch.writes = PerMille::default();
            }
        });
    }
}

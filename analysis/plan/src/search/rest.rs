//! What a proof leaves of the bandwidth, for tasks without deadlines.
//!
//! A budget that the proof needs nowhere would lie idle while cameras and displays wait. So after a plan is proved, cores that run best
//! effort get more: first what nobody has reserved, then from each other core what its deadlines are proved without. Each step is judged
//! anew; how far it can go is found by bisection, so that one step more breaks the proof or exceeds what there is.

use super::bandwidth::Pool;
use super::choices::{Choices, Planned, Spare};
use super::cores::Placement;
use super::planned_and_judged;
use super::subject::Subject;
use alloc::boxed::Box;
use alloc::vec::Vec;
use solo_model::{CoreId, Events, TaskClass};
use solo_prove::system::Overall;

/// More plans than this are not judged for it.
const MOST_CHECKS: u32 = 256;

/// Gives best effort what the proof leaves; the plan as it was where that is nothing.
pub(super) fn give_the_rest(
    subject: &Subject,
    placement: &Placement,
    pool: &Pool,
    choices: Choices,
    planned: Box<Planned>,
) -> (Choices, Box<Planned>) {
    let to = subject.best_effort(placement, pool);
    // Without a proof nothing says when to stop.
    if to.is_empty() || planned.overall != Overall::Proved {
        return (choices, planned);
    }
    let before = choices.budgets.clone();
    let mut giving = Giving { subject, to, checks: 0 };
    let (mut choices, mut planned) = (choices, planned);
    let others: Vec<CoreId> =
        before.iter().map(|(core, _)| *core).filter(|core| !giving.to.contains(core)).collect();
    for from in core::iter::once(None).chain(others.into_iter().map(Some)) {
        let each = giving.to.len() as u64;
        let limit = match from {
            None => pool.unreserved(&choices.budgets) / each,
            Some(core) => budget(&choices, core).saturating_sub(1) / each,
        };
        if let Some((more, proof)) = giving.most(&choices, &planned, from, limit) {
            (choices, planned) = (more, proof);
        }
    }
    if choices.budgets != before {
        planned.spare = Some(Spare { before, to: giving.to, checks: giving.checks });
    }
    (choices, planned)
}

struct Giving<'s> {
    subject: &'s Subject,
    /// Who gets it.
    to: Vec<CoreId>,
    /// Plans judged so far.
    checks: u32,
}

impl Giving<'_> {
    /// The most that each may get, up to `limit`, with its proof; `None` where that is nothing.
    fn most(
        &mut self,
        choices: &Choices,
        planned: &Planned,
        from: Option<CoreId>,
        limit: u64,
    ) -> Option<(Choices, Box<Planned>)> {
        // Proved with `low`, not proved or not there with `high`.
        let (mut low, mut high) = (0, limit.saturating_add(1));
        let (mut next, mut best) = (limit, None);
        while high - low > 1 && self.checks < MOST_CHECKS {
            self.checks += 1;
            let trial = self.moved(choices, from, next);
            let proof = planned_and_judged(self.subject, &trial).ok();
            match proof.filter(|(_, judged)| judged.overall() == Overall::Proved) {
                Some((plan, judged)) => {
                    let overall = judged.overall();
                    best = Some((trial, Box::new(Planned { plan, judged, overall, ..planned.clone() })));
                    low = next;
                }
                None => high = next,
            }
            next = low + (high - low) / 2;
        }
        best
    }

    /// So many misses more for each, from a core or from what nobody has.
    fn moved(&self, choices: &Choices, from: Option<CoreId>, each: u64) -> Choices {
        let mut moved = choices.clone();
        let taken = each.saturating_mul(self.to.len() as u64);
        for (core, events) in &mut moved.budgets {
            if self.to.contains(core) {
                *events = Events::new(events.get().saturating_add(each));
            } else if from == Some(*core) {
                *events = Events::new(events.get().saturating_sub(taken));
            }
        }
        moved
    }
}

fn budget(choices: &Choices, core: CoreId) -> u64 {
    choices.budgets.iter().find(|(known, _)| *known == core).map_or(0, |(_, events)| events.get())
}

impl Subject {
    /// The cores with a planned budget that run best effort which uses memory.
    fn best_effort(&self, placement: &Placement, pool: &Pool) -> Vec<CoreId> {
        let streams = |core: CoreId| {
            let mut here = self.probe.tasks.iter().zip(&placement.cores).filter(|(_, on)| **on == core);
            here.any(|(task, _)| task.class == TaskClass::BestEffort && task.work.touches_memory())
        };
        pool.cores().iter().copied().filter(|&core| streams(core)).collect()
    }
}

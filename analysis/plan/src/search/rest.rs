//! What a proof leaves of the bandwidth, for tasks without deadlines.
//!
//! A budget that the proof needs nowhere would lie idle while cameras and displays wait. So after a plan is proved, cores that run best
//! effort get more: first what nobody has reserved, then the same part of the budget of each other core, then more from one after the
//! other, the one with most slack first. Each step is judged anew; how far it can go is found by bisection, so that one step more breaks
//! the proof or exceeds what there is.

use super::bandwidth::Pool;
use super::choices::{Choices, Planned, Slack, Spare};
use super::cores::Placement;
use super::planned_and_judged;
use super::subject::Subject;
use alloc::boxed::Box;
use alloc::vec::Vec;
use solo_model::{CoreId, Events, TaskClass};
use solo_prove::system::{Judged, Overall};

/// More plans than this are not judged for it.
const MOST_CHECKS: u32 = 256;
/// Parts of budgets are counted in so many.
const PARTS: u64 = 1_000;

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
    let slack_before = subject.strain(&planned.judged, placement);
    let slack = |strain: &[(CoreId, i64)], core: CoreId| {
        strain.iter().find(|(known, _)| *known == core).map_or(1_000_000, |(_, slack)| *slack)
    };
    let mut givers: Vec<CoreId> =
        before.iter().map(|(core, _)| *core).filter(|core| !to.contains(core)).collect();
    let mut giving = Giving { subject, to, givers: givers.clone(), checks: 0 };
    let (mut choices, mut planned) = (choices, planned);
    for from in [From::Nobody, From::Each] {
        (choices, planned) = giving.most(choices, planned, from, pool);
    }
    let strain = subject.strain(&planned.judged, placement);
    givers.sort_by_key(|&core| (core::cmp::Reverse(slack(&strain, core)), core));
    for core in givers {
        (choices, planned) = giving.most(choices, planned, From::Core(core), pool);
    }
    if choices.budgets != before {
        let after = subject.strain(&planned.judged, placement);
        let row = |&(core, _): &(CoreId, Events)| Slack {
            core,
            before: slack(&slack_before, core),
            after: slack(&after, core),
        };
        let slack = before.iter().map(row).collect();
        planned.spare = Some(Spare { before, to: giving.to, checks: giving.checks, slack });
    }
    (choices, planned)
}

/// Who gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// What nobody has reserved.
    Nobody,
    /// All others, the same part of what each has.
    Each,
    /// One of them.
    Core(CoreId),
}

struct Giving<'s> {
    subject: &'s Subject,
    /// Who gets it.
    to: Vec<CoreId>,
    /// Who has a budget besides.
    givers: Vec<CoreId>,
    /// Plans judged so far.
    checks: u32,
}

impl Giving<'_> {
    /// The most that can be given, with its proof; what there was where that is nothing.
    fn most(
        &mut self,
        choices: Choices,
        planned: Box<Planned>,
        from: From,
        pool: &Pool,
    ) -> (Choices, Box<Planned>) {
        let each = self.to.len() as u64;
        let limit = match from {
            From::Nobody => pool.unreserved(&choices.budgets) / each,
            From::Each if self.givers.is_empty() => 0,
            From::Each => PARTS - 1,
            From::Core(core) => budget(&choices, core).saturating_sub(1) / each,
        };
        // Proved with `low`, not proved or not there with `high`.
        let (mut low, mut high) = (0, limit.saturating_add(1));
        let (mut next, mut best) = (limit, None);
        while high - low > 1 && self.checks < MOST_CHECKS {
            self.checks += 1;
            let trial = self.moved(&choices, from, next);
            let proof = planned_and_judged(self.subject, &trial).ok();
            let ends = |judged: &Judged| self.subject.outlasting(&trial, judged).is_none();
            match proof.filter(|(_, judged)| judged.overall() == Overall::Proved && ends(judged)) {
                Some((plan, judged)) => {
                    let overall = judged.overall();
                    best = Some((trial, Box::new(Planned { plan, judged, overall, ..(*planned).clone() })));
                    low = next;
                }
                None => high = next,
            }
            next = low + (high - low) / 2;
        }
        best.unwrap_or((choices, planned))
    }

    /// So many misses more for each, from a core or from what nobody has; or so many thousandths of each other core's budget.
    fn moved(&self, choices: &Choices, from: From, amount: u64) -> Choices {
        let each = self.to.len() as u64;
        let mut moved = choices.clone();
        let mut taken = 0;
        for (core, events) in moved.budgets.iter_mut().filter(|(core, _)| self.givers.contains(core)) {
            let has = events.get();
            let gives = match from {
                From::Nobody => 0,
                From::Core(giver) if giver == *core => amount.saturating_mul(each),
                From::Core(_) => 0,
                From::Each => {
                    let part = u128::from(has) * u128::from(amount) / u128::from(PARTS);
                    u64::try_from(part).unwrap_or(has)
                }
            };
            // At least one stays.
            let gives = gives.min(has.saturating_sub(1));
            *events = Events::new(has - gives);
            taken += gives;
        }
        let gets = if from == From::Nobody { amount } else { taken / each };
        for (_, events) in moved.budgets.iter_mut().filter(|(core, _)| self.to.contains(core)) {
            *events = Events::new(events.get().saturating_add(gets));
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

//! A plan for what nobody has assigned: cores, colors of the last-level cache, budgets of memory bandwidth, windows of partitions,
//! slots of devices.
//!
//! ```text
//!   Request ─▶ cores ─▶ colors ─▶ budgets ─▶ windows, slots ─▶ plan ─▶ judge (the analysis of `solo check`) ─▶ Search
//!                ▲                   ▲          ▲               │ not proved: which task, by how much
//!                └─ another heuristic ─ another split ─ other periods ─┘
//! ```
//!
//! This is the methodology of single-core equivalence (SCE 3.1) with its loop-backs; what is locked stays as it is
//! written. What a proof leaves of the bandwidth goes to best effort. What is said in the request is kept; only what it leaves open is chosen. The same request gives the same search.

mod bandwidth;
mod banks;
mod choices;
mod colors;
mod cores;
mod divide;
mod home;
mod io;
mod lack;
mod pages;
mod patterns;
mod rest;
mod shortage;
mod subject;
mod table;
mod ways;
mod windows;

pub use choices::{
    Aims, BudgetRule, Choices, CoreRule, CycleChoice, DeviceChoice, DividedPartition, Division, Ending,
    IoTable, PagesChoice, Planned, Round, Search, Slack, Spare, WindowChoice, WindowRule, WishChoice,
};
pub use lack::{IoLack, NoPlan};
pub use shortage::{Gauge, Scarce, Shortage, Unit};

use crate::request::Request;
use crate::{Defaults, Plan, Refused, plan};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use bandwidth::{Demand, Pool};
use cores::{Placed, Placement};
use divide::Divided;
use patterns::unfold_patterns;
use solo_model::work::Step;
use solo_model::{CoreId, Duration, Experiment};
use solo_prove::Effort;
use solo_prove::system::{Gap, Judged, Open, Overall, Overload, System, TaskFinding, Unbounded, Whose};
use subject::Subject;

/// More rounds than this are not made by rules.
const MOST_ROUNDS: usize = 400;
/// Work for the verdict of one round.
const JUDGE_STEPS: u64 = 1 << 26;
/// How often budget is moved between cores of one placement.
const MOST_SHIFTS: usize = 6;
/// The parts of what can be reserved that are handed out, in percent: what nobody may use delays nobody.
const PARTS: [u64; 3] = [100, 50, 25];
/// Regulation periods that are tried after the usual one, where none is written: shorter ones delay less and stop cores more often.
const SHORTER: [Duration; 2] = [Duration::from_micros(250), Duration::from_micros(100)];

/// Looks for a plan of what the request leaves open.
pub fn search(request: &Request) -> Search {
    search_for(request, Aims::default())
}

/// The same, with more than what is always planned.
pub fn search_for(request: &Request, aims: Aims) -> Search {
    let subject = match Subject::of(request, aims) {
        Ok(subject) => subject,
        Err(refused) => {
            let (choices, refused) = *refused;
            return Search { choices, rounds: Vec::new(), ending: Ending::Refused(Box::new(refused)) };
        }
    };
    let mut looking =
        Looking { subject, rounds: Vec::new(), most_rounds: MOST_ROUNDS, nearest: None, open: None };
    let ending = looking.look();
    let (choices, ending) = match ending {
        Some((choices, planned)) => (choices, Ending::Planned(Box::new(planned))),
        None => match looking.nearest.take() {
            Some((_, choices, lack)) => (choices, Ending::Impossible(lack)),
            None => (looking.subject.nothing(), Ending::Impossible(NoPlan::Rounds)),
        },
    };
    Search { choices, rounds: looking.rounds, ending }
}

struct Looking {
    subject: Subject,
    rounds: Vec<Round>,
    /// More than so many are not made.
    most_rounds: usize,
    /// What came nearest to a plan: how far off in parts of a million, with what lacked.
    nearest: Option<(u64, Choices, NoPlan)>,
    /// The first plan of which a lock leaves the proof open.
    open: Option<(Choices, Planned)>,
}

/// How a judged attempt goes on.
enum Verdict {
    Good(Box<Planned>),
    /// Two tasks whose memory can only be kept apart on one core.
    Together(usize, usize),
    Bad,
}

impl Looking {
    fn look(&mut self) -> Option<(Choices, Planned)> {
        if let Some(lack) = self.subject.lacks_io().or_else(|| self.subject.lacks_processors()) {
            self.fail(u64::MAX, self.subject.nothing(), lack);
            return None;
        }
        let mut seen: Vec<Vec<CoreId>> = Vec::new();
        let Some(mut found) = self.by_rules(self.subject.core_rules(), &mut seen).or_else(|| {
            self.most_rounds = self.rounds.len() + ways::MOST_ROUNDS;
            self.by_rules(self.subject.all_ways(), &mut seen)
        }) else {
            return self.open.take();
        };
        if found.1.overall == Overall::Incomplete {
            found = self.where_times_suffice(found, &mut seen);
        }
        if found.1.overall != Overall::Conditional {
            return Some(found);
        }
        // Tasks that use memory evict each other's lines from the caches of a core: with cores of their own that condition is gone.
        let rounds = self.rounds.len();
        let apart = self.by_rules(self.subject.apart_rules(), &mut seen);
        match apart.filter(|(_, planned)| planned.overall == Overall::Proved) {
            Some(apart) => Some(apart),
            None => {
                self.rounds.truncate(rounds);
                Some(found)
            }
        }
    }

    /// On a slow core work may compute for as long as its task declares in all, so that nothing is declared for its memory; on a fast one
    /// the same time may do. This plan, or another that lacks no time.
    fn where_times_suffice(
        &mut self,
        found: (Choices, Planned),
        seen: &mut Vec<Vec<CoreId>>,
    ) -> (Choices, Planned) {
        if self.subject.has_one_speed() {
            return found;
        }
        let rounds = self.rounds.len();
        // What was seen is not tried again.
        while let Some(other) = self.by_rules(self.subject.core_rules(), seen) {
            if matches!(other.1.overall, Overall::Proved | Overall::Conditional) {
                return other;
            }
        }
        self.rounds.truncate(rounds);
        found
    }

    /// The first plan by any of these rules.
    fn by_rules(
        &mut self,
        rules: Vec<(CoreRule, bool)>,
        seen: &mut Vec<Vec<CoreId>>,
    ) -> Option<(Choices, Planned)> {
        for (rule, charged) in rules {
            let mut again = true;
            while core::mem::take(&mut again) {
                if self.rounds.len() >= self.most_rounds {
                    return None;
                }
                let placement = match self.subject.place(rule, charged) {
                    Ok(placement) => placement,
                    Err(lack) => {
                        self.round(rule, charged, None, &[], lack, self.subject.nothing());
                        continue;
                    }
                };
                if seen.contains(&placement.cores) {
                    continue;
                }
                seen.push(placement.cores.clone());
                match self.with_cores(&placement) {
                    Placed::Done(choices, planned) => return Some((choices, *planned)),
                    Placed::Together(a, b) => again = self.subject.join(a, b),
                    Placed::No => {}
                }
            }
        }
        None
    }

    /// Tries colors and budgets for one placement.
    fn with_cores(&mut self, placement: &Placement) -> Placed {
        let (rule, charged) = (placement.rule, placement.charged);
        let mut choices = self.subject.cores(placement);
        let memory = self.subject.color(placement, &mut choices);
        if let Err(lack) = memory.and_then(|()| self.subject.bank(placement, &mut choices)) {
            self.round(rule, charged, None, &placement.cores, lack, choices);
            return Placed::No;
        }
        let pool = match self.subject.pool(placement, &choices) {
            Ok(pool) => pool,
            Err(lack) => {
                self.round(rule, charged, None, &placement.cores, lack, choices);
                return Placed::No;
            }
        };
        let Some(pool) = pool else {
            return match self.attempt(placement, None, &mut choices) {
                (Verdict::Good(planned), _) => Placed::Done(choices, planned),
                (Verdict::Together(a, b), _) => Placed::Together(a, b),
                (Verdict::Bad, _) => Placed::No,
            };
        };
        let demand = self.subject.demand(placement, &pool);
        let written = self.subject.writes_period();
        let shorter = SHORTER.into_iter().filter(|period| !written && *period < pool.period).map(Some);
        for period in core::iter::once(None).chain(shorter) {
            let pool = pool.over(period);
            choices.period = period;
            match self.with_budgets(placement, &pool, &demand, &mut choices) {
                Placed::No => {}
                Placed::Done(choices, planned) => {
                    let (choices, planned) =
                        rest::give_the_rest(&self.subject, placement, &pool, choices, planned);
                    return Placed::Done(choices, planned);
                }
                other => return other,
            }
        }
        Placed::No
    }

    /// Tries one split of the bandwidth after the other.
    fn with_budgets(
        &mut self,
        placement: &Placement,
        pool: &Pool,
        demand: &Demand,
        choices: &mut Choices,
    ) -> Placed {
        let mut last = None;
        for part in PARTS {
            for rule in [BudgetRule::Even { part }, BudgetRule::ByNeed { part }] {
                choices.budgets = match rule {
                    BudgetRule::Even { .. } => pool.even(part),
                    _ => pool.by_need(demand, part),
                };
                match self.attempt(placement, Some(rule), choices) {
                    (Verdict::Good(planned), _) => return Placed::Done(choices.clone(), planned),
                    (Verdict::Together(a, b), _) => return Placed::Together(a, b),
                    (Verdict::Bad, judged) => last = judged,
                }
            }
        }
        for shift in 0..MOST_SHIFTS {
            let Some(moved) = last
                .as_ref()
                .and_then(|judged| pool.shifted(&choices.budgets, &self.subject.strain(judged, placement)))
            else {
                break;
            };
            choices.budgets = moved;
            match self.attempt(placement, Some(BudgetRule::Shifted(shift as u32 + 1)), choices) {
                (Verdict::Good(planned), _) => return Placed::Done(choices.clone(), planned),
                (Verdict::Together(a, b), _) => return Placed::Together(a, b),
                (Verdict::Bad, judged) => last = judged,
            }
        }
        Placed::No
    }

    /// Plans and judges one set of choices, first without locked pages: what proves a deadline without them needs none.
    fn attempt(
        &mut self,
        placement: &Placement,
        budgets: Option<BudgetRule>,
        choices: &mut Choices,
    ) -> (Verdict, Option<Judged>) {
        choices.undivide();
        let unlocked = self.divide_and_judge(placement, budgets, choices);
        if !matches!(unlocked.0, Verdict::Bad) || !self.subject.chooses_pages() {
            return unlocked;
        }
        choices.undivide();
        if let Err(lack) = self.lock(placement, choices) {
            let (rule, charged) = (placement.rule, placement.charged);
            self.round(rule, charged, budgets, &placement.cores, lack, choices.clone());
            return (Verdict::Bad, None);
        }
        if choices.pages.is_empty() { unlocked } else { self.divide_and_judge(placement, budgets, choices) }
    }

    /// The same with the pages that were chosen; a failure is kept as a round.
    fn divide_and_judge(
        &mut self,
        placement: &Placement,
        budgets: Option<BudgetRule>,
        choices: &mut Choices,
    ) -> (Verdict, Option<Judged>) {
        let (rule, charged) = (placement.rule, placement.charged);
        if self.rounds.len() >= self.most_rounds {
            return (Verdict::Bad, None);
        }
        let Divided { divisions, slots } = match self.divided(placement, choices) {
            Ok(divided) => divided,
            Err(lack) => {
                self.round(rule, charged, budgets, &placement.cores, lack, choices.clone());
                return (Verdict::Bad, None);
            }
        };
        choices.cycles = divisions.iter().map(|division| division.cycle.clone()).collect();
        choices.devices = slots.devices.into_iter().map(|(_, choice)| choice).collect();
        for (task, begin) in slots.releases {
            choices.tasks[self.subject.wish_of[task]].offset = Some(begin);
        }
        let (plan, judged) = match planned_and_judged(&self.subject, choices) {
            Ok(both) => both,
            Err(refused) => {
                let lack = NoPlan::Refused(Box::new(refused));
                self.round(rule, charged, budgets, &placement.cores, lack, choices.clone());
                return (Verdict::Bad, None);
            }
        };
        let overall = judged.overall();
        let outlasting = self.subject.outlasting(choices, &judged);
        if overall == Overall::NotProved || outlasting.is_some() {
            let lack = outlasting.unwrap_or_else(|| latest(&plan, &judged));
            self.round(rule, charged, budgets, &placement.cores, lack, choices.clone());
            return (Verdict::Bad, Some(judged));
        }
        // There is no analysis of some task, and none is needed to see that others fall behind.
        if let Some(lack) = overload(&plan, &judged) {
            self.round(rule, charged, budgets, &placement.cores, lack, choices.clone());
            return (Verdict::Bad, Some(judged));
        }
        if let Some((a, b)) = common_memory(&judged).filter(|&(a, b)| self.subject.can_join(a, b)) {
            let lack = NoPlan::Together(a, b);
            self.round(rule, charged, budgets, &placement.cores, lack, choices.clone());
            return (Verdict::Together(a, b), None);
        }
        let common = common_lock(&plan, &judged);
        let table = slots.table;
        let devices = choices.devices.clone();
        let planned =
            Planned { plan, judged, overall, rule, charged, budgets, divisions, table, devices, spare: None };
        if let Some((name, a, b)) = common.filter(|&(_, a, b)| self.subject.can_join(a, b)) {
            self.round(rule, charged, budgets, &placement.cores, NoPlan::Lock(name), choices.clone());
            self.open.get_or_insert((choices.clone(), planned));
            return (Verdict::Together(a, b), None);
        }
        (Verdict::Good(Box::new(planned)), None)
    }

    /// How the time of cores is divided under these choices.
    fn divided(&self, placement: &Placement, choices: &Choices) -> Result<Divided, NoPlan> {
        if self.subject.homes().len() < 2 && self.subject.open_io().is_none() {
            return Ok(Divided::default());
        }
        let mut undivided = plan(&self.subject.request_with(choices), &Defaults)
            .map_err(|refused| NoPlan::Refused(Box::new(refused)))?;
        if !choices.pages.is_empty() {
            // What is locked is locked in windows: some, until there are the right ones.
            undivided.experiment.isolation.partitions = self.subject.some_windows(placement);
        }
        self.subject.divide(&undivided.experiment, placement)
    }

    /// Chooses pages that are locked in windows.
    fn lock(&self, placement: &Placement, choices: &mut Choices) -> Result<(), NoPlan> {
        if self.subject.chooses_pages() {
            let unlocked = plan(&self.subject.request_with(choices), &Defaults)
                .map_err(|refused| NoPlan::Refused(Box::new(refused)))?;
            choices.pages = self.subject.pages_locked(&unlocked.experiment, placement, choices);
        }
        Ok(())
    }

    fn round(
        &mut self,
        cores: CoreRule,
        charged: bool,
        budgets: Option<BudgetRule>,
        of: &[CoreId],
        lack: NoPlan,
        choices: Choices,
    ) {
        self.rounds.push(Round {
            cores,
            charged,
            budgets,
            placed: of.to_vec(),
            period: choices.period,
            lack: lack.clone(),
        });
        // What lacks is told of a way that a rule chose: all ways are tried without a thought of what they ask for.
        if self.nearest.is_none() || !matches!(cores, CoreRule::Each(_)) {
            self.fail(lack.distance(), choices, lack);
        }
    }

    fn fail(&mut self, distance: u64, choices: Choices, lack: NoPlan) {
        if self.nearest.as_ref().is_none_or(|(nearest, ..)| distance < *nearest) {
            self.nearest = Some((distance, choices, lack));
        }
    }
}

/// A plan of these choices, and what the analysis of `solo check` says of it.
fn planned_and_judged(subject: &Subject, choices: &Choices) -> Result<(Plan, Judged), Refused> {
    let plan = plan(&subject.request_with(choices), &Defaults)?;
    let judged = System::of(&plan.experiment).judge(&mut Effort::steps(JUDGE_STEPS));
    Ok((plan, judged))
}

/// The task that is furthest from its deadline, measured by the deadline.
fn latest(plan: &Plan, judged: &Judged) -> NoPlan {
    let gaps = judged.tasks.iter().enumerate().filter_map(|(task, judgement)| match &judgement.outcome {
        TaskFinding::NotProved(gap) => Some((task, gap)),
        _ => None,
    });
    late(&plan.experiment, gaps).unwrap_or(NoPlan::Rounds)
}

/// The worst of these gaps.
fn late<'g>(experiment: &Experiment, gaps: impl Iterator<Item = (usize, &'g Gap)>) -> Option<NoPlan> {
    let by = |needs: Duration, has: Duration| {
        u128::from(needs.get().saturating_sub(has.get())) * 1_000_000 / u128::from(has.get().max(1))
    };
    let worst = gaps.max_by_key(|(task, gap)| (by(gap.needs, gap.has), core::cmp::Reverse(*task)));
    worst.map(|(task, gap)| {
        let memory = gap.parts.iter().filter(|part| part.whose == Whose::Memory);
        NoPlan::Late {
            task,
            name: experiment.tasks[task].name.clone(),
            core: experiment.tasks[task].core,
            needs: gap.needs,
            has: gap.has,
            memory: memory.fold(Duration::ZERO, |sum, part| sum.saturating_add(part.amount)),
        }
    })
}

/// The cores that are furthest overloaded by execution times alone.
fn overload(plan: &Plan, judged: &Judged) -> Option<NoPlan> {
    let over = |overload: &&Overload| overload.asked_per_mille.saturating_sub(overload.cores as u64 * 1000);
    let most = judged.overloads.iter().max_by_key(over)?;
    let domains = plan.experiment.policy.domains(plan.experiment.platform.cores.len());
    let core = domains.get(most.domain)?.lowest()?;
    Some(NoPlan::Overload { core, cores: most.cores, asked: most.asked_per_mille.saturating_mul(1000) })
}

/// A lock without an analysis that two tasks take on different cores.
fn common_lock(plan: &Plan, judged: &Judged) -> Option<(String, usize, usize)> {
    let Experiment { tasks, locks, .. } = &plan.experiment;
    judged.tasks.iter().find_map(|judgement| {
        let TaskFinding::Open(Open::Lock { name, .. }) = &judgement.outcome else { return None };
        let takes = |task: &usize| {
            let mut steps = tasks[*task].work.plain_steps();
            steps.any(|step| matches!(step, Step::Acquire(id) if locks.get(id.index()).is_some_and(|lock| lock.name == *name)))
        };
        let users: Vec<usize> = (0..tasks.len()).filter(takes).collect();
        let &first = users.first()?;
        let other = users.iter().copied().find(|&other| tasks[other].core != tasks[first].core)?;
        Some((name.clone(), first, other))
    })
}

/// Two tasks on different cores whose memory no plan keeps apart.
fn common_memory(judged: &Judged) -> Option<(usize, usize)> {
    judged.tasks.iter().find_map(|judgement| match &judgement.outcome {
        TaskFinding::Open(Open::Regulated(Unbounded::Data(a, b) | Unbounded::Cache(a, b))) => Some((*a, *b)),
        _ => None,
    })
}

//! Ways of the last level go to those whose misses they spare most.

use super::crowd::{Crowd, MOST};
use super::lookahead::lookahead;
use super::sweep::{Given, Last, Periods, Sweep, last_levels, run};
use crate::placement::{Actions, Hook, Placement, Situation, Whose};
use alloc::vec::Vec;
use solo_model::{Instant, Listening, MissRateCurve, Platform, TaskId};

/// Utility-based cache partitioning (Qureshi and Patt, MICRO 2006) over miss-rate curves that are measured while the tasks run.
///
/// First each process is swept through all numbers of ways, which gives its curve points. Then the last level is divided by the
/// lookahead algorithm: what a process misses in a period with some ways is the value of its curve there, times its
/// instructions in the last period. After `explore` periods it begins anew; with zero of them the division stays until a task
/// comes or ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Utility {
    crowd: Crowd,
    given: Given,
    caches: Vec<Cache>,
    sweep: Sweep,
    explore: u64,
    periods: Periods,
}

/// A last level and how it is divided.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Cache {
    last: Last,
    /// The first period of the sweep.
    since: u64,
    /// The ways of each process, once they are decided.
    division: Option<[u32; MOST]>,
}

impl Utility {
    /// The policy over the curves that are metrics of tasks.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        let cache = |last| Cache { last, since: 0, division: None };
        Self {
            crowd: Crowd::new(listening),
            given: Given::new(),
            caches: last_levels(platform).into_iter().map(cache).collect(),
            sweep: Sweep { settle: listening.setting("settle").max(1) },
            explore: listening.setting("explore"),
            periods: Periods::default(),
        }
    }
}

impl Cache {
    /// Where `now` is a period, divides or goes on with the sweep, and gives what is to be given.
    fn act(
        &mut self,
        now: u64,
        (sweep, explore): (Sweep, u64),
        crowd: &Crowd,
        given: &mut Given,
        situation: &dyn Situation,
    ) -> Actions {
        let Last { cores, ways } = self.last;
        let count = crowd.processes(cores).all().len();
        let (length, period) = (sweep.length(ways, count), now.saturating_sub(self.since));
        if period < length {
            return given.give(crowd, cores, |place| sweep.mask(ways, count, place, period));
        }
        if explore > 0 && self.division.is_some() && period >= length + explore {
            (self.since, self.division) = (now, None);
            return given.give(crowd, cores, |place| sweep.mask(ways, count, place, 0));
        }
        let division = *self.division.get_or_insert_with(|| divide(crowd, self.last, situation));
        given.give(crowd, cores, |place| {
            let first = division[..place].iter().sum();
            if division[place] == 0 { run(0, ways) } else { run(first, division[place]) }
        })
    }
}

/// The ways of each process behind a last level.
fn divide(crowd: &Crowd, last: Last, situation: &dyn Situation) -> [u32; MOST] {
    let processes = crowd.processes(last.cores);
    lookahead(processes.all().len(), last.ways, |place, ways| {
        let own = crowd.behind(last.cores).filter(|member| processes.place(member.process) == Some(place));
        own.map(|member| misses(member.task, ways, last.ways, situation)).sum()
    })
}

/// What a task would miss in a period with so many of `all` ways, in units of [`solo_model::Fixed`]; zero where nothing is
/// known of it.
fn misses(task: TaskId, ways: u32, all: u32, situation: &dyn Situation) -> i128 {
    let metric = |id| situation.metric(Whose::Task(task), id);
    // Ways are as many parts of the curve's ranges.
    let share = ways * MissRateCurve::BINS as u32;
    let (range, part) = ((share / all) as usize, share % all);
    let value = || {
        let thousands = metric(MissRateCurve::THOUSANDS)?;
        let low = metric(MissRateCurve::point(range))?.multiply(thousands)?.units();
        let high = match part {
            0 => low,
            _ => metric(MissRateCurve::point(range + 1))?.multiply(thousands)?.units(),
        };
        Some(low - (low - high) * i128::from(part) / i128::from(all))
    };
    value().unwrap_or(0)
}

impl Placement for Utility {
    fn name(&self) -> &'static str {
        "utility"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        let changed = self.crowd.hear(hook, situation);
        let core = match hook {
            Hook::Tick { core, .. } => {
                self.periods.tick(core);
                Some(core)
            }
            Hook::SwitchIn { core, .. } => Some(core),
            Hook::Exit(task) => {
                self.given.forget(task);
                None
            }
            _ => return Actions::NONE,
        };
        if changed {
            // The places of processes have changed.
            self.caches.iter_mut().for_each(|cache| cache.division = None);
        }
        let behind = |cache: &&mut Cache| core.is_some_and(|core| cache.last.cores.contains(core));
        let Some(cache) = self.caches.iter_mut().find(behind) else { return Actions::NONE };
        let how = (self.sweep, self.explore);
        cache.act(self.periods.over, how, &self.crowd, &mut self.given, situation)
    }
}

//! Tasks that use much memory bandwidth are spread over the caches.

use super::crowd::{Crowd, Member};
use crate::placement::{Action, Actions, Hook, Placement, Situation, Whose};
use alloc::vec::Vec;
use solo_model::{CoreId, CoreSet, Fixed, Instant, Listening, MetricId, Platform, TaskId};

/// Distributed intensity, online (Zhuravlev, Blagodurov and Fedorova, ASPLOS 2010): what the tasks behind each outermost cache that
/// not all cores share use together is made as even as one exchange a period makes it.
///
/// What a task uses is metric 0 of the task, whatever it is: bandwidth, or misses. At the end of a period of the lowest core a
/// task of the cache with the greatest sum changes places with one of the cache with the least, or goes to an idle core
/// there: those two of which the exchange makes the greater of both sums least. Where that is less than the threshold below what
/// it was, nothing happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spread {
    crowd: Crowd,
    near: Vec<CoreSet>,
    least_gain: Fixed,
    first: CoreId,
}

/// What is better than leaving everything as it is.
#[derive(Clone, Copy)]
struct Exchange {
    task: TaskId,
    to: CoreId,
    back: Option<Member>,
    /// The greater sum after it.
    sum: Fixed,
}

impl Spread {
    /// The policy over metric 0 of tasks.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        let first = platform.core_set().lowest().unwrap_or_default();
        let near = platform.neighborhoods();
        Self { crowd: Crowd::new(listening), near, least_gain: listening.threshold, first }
    }

    fn sum(&self, cores: CoreSet, situation: &dyn Situation) -> Fixed {
        let sum = |sum: Fixed, member: Member| sum.add(used(member.task, situation)).unwrap_or(sum);
        self.crowd.behind(cores).fold(Fixed::ZERO, sum)
    }

    /// The best exchange between a cache of many and one of few.
    fn best(
        &self,
        (high, low): ((CoreSet, Fixed), (CoreSet, Fixed)),
        situation: &dyn Situation,
    ) -> Option<Exchange> {
        let idle = low.0.and(situation.cores()).iter().find(|&core| self.crowd.behind(CoreSet::only(core)).next().is_none());
        let mut best: Option<Exchange> = None;
        for member in self.crowd.behind(high.0) {
            let places = self.crowd.behind(low.0).map(|other| (other.core, Some(other)));
            for (to, back) in places.chain(idle.map(|core| (core, None))) {
                let other = back.map_or(Fixed::ZERO, |other| used(other.task, situation));
                let moved = used(member.task, situation).subtract(other)?;
                let sum = high.1.subtract(moved)?.max(low.1.add(moved)?);
                if best.is_none_or(|best| sum < best.sum) {
                    best = Some(Exchange { task: member.task, to, back, sum });
                }
            }
        }
        best
    }

    fn exchange(&self, situation: &dyn Situation) -> Option<Actions> {
        let sums = || self.near.iter().map(|&cores| (cores, self.sum(cores, situation)));
        let high = sums().max_by_key(|(_, sum)| *sum)?;
        let low = sums().min_by_key(|(_, sum)| *sum)?;
        let best = self.best((high, low), situation)?;
        let gain = high.1.subtract(best.sum)?;
        if gain <= self.least_gain {
            return None;
        }
        let from = self.crowd.member(best.task)?.core;
        let mut actions = Actions::one(Action::Move { task: best.task, core: best.to });
        if let Some(other) = best.back {
            actions.push(Action::Move { task: other.task, core: from })?;
        }
        Some(actions)
    }
}

/// What a task uses; nothing where nothing is known of it.
fn used(task: TaskId, situation: &dyn Situation) -> Fixed {
    situation.metric(Whose::Task(task), MetricId(0)).unwrap_or(Fixed::ZERO)
}

impl Placement for Spread {
    fn name(&self) -> &'static str {
        "spread"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        self.crowd.hear(hook, situation);
        match hook {
            Hook::Tick { core, .. } if core == self.first => self.exchange(situation).unwrap_or(Actions::NONE),
            _ => Actions::NONE,
        }
    }
}

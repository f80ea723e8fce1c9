//! Making a task's work shorter, for asking "what if".

use super::pace::Pace;
use solo_model::Task;
use solo_model::units::Duration;
use solo_model::work::{Span, Step, Visit, update_steps, walk};

/// The longest that a job executes by what the scenario says: what it declares, or what its work computes where that is
/// longer or nothing is declared. `None` where neither says.
pub(super) fn execution(task: &Task, pace: &Pace<'_>) -> Option<Duration> {
    let parts = Parts::of(&task.work.steps);
    let computed = parts.outside.saturating_add(parts.inside).saturating_add(parts.fixed);
    let computed = pace.longest(Duration::new(computed));
    match task.wcet {
        Some(declared) => Some(declared.max(computed)),
        None => (!parts.touches && !parts.others).then_some(computed),
    }
}

/// Shortens the execution of a task to `to`: what it declares, and its computation, that outside critical sections
/// first. False where more than `to` can't be computed away.
pub(super) fn shorten(task: &mut Task, to: Duration, pace: &Pace<'_>) -> bool {
    let parts = Parts::of(&task.work.steps);
    if parts.others {
        return false;
    }
    let Some(room) = pace.within(to).get().checked_sub(parts.fixed) else { return false };
    let inside = parts.inside.min(room);
    let outside = parts.outside.min(room - inside);
    scale(&mut task.work.steps, (outside, parts.outside), (inside, parts.inside));
    task.wcet = task.wcet.map(|_| to);
    true
}

/// What a job computes, in nanoseconds on the reference kind.
#[derive(Default)]
struct Parts {
    /// Outside critical sections.
    outside: u64,
    /// Inside.
    inside: u64,
    /// On the elements that it accesses.
    fixed: u64,
    touches: bool,
    /// It executes instructions of phases, whose time is not among these.
    others: bool,
}

impl Parts {
    fn of(steps: &[Step]) -> Self {
        let (mut parts, mut held, mut rounds) = (Self::default(), 0_u32, vec![1_u64]);
        for visit in walk(steps) {
            let times = rounds.last().copied().unwrap_or(1);
            match visit {
                Visit::Begin { times: more } => rounds.push(times.saturating_mul(u64::from(more))),
                Visit::End { .. } => _ = rounds.pop(),
                Visit::Step(step) => parts.add(step, times, &mut held),
            }
        }
        parts
    }

    fn add(&mut self, step: &Step, times: u64, held: &mut u32) {
        match step {
            Step::Compute(span) => {
                let part = if *held > 0 { &mut self.inside } else { &mut self.outside };
                *part = part.saturating_add(span.most.get().saturating_mul(times));
            }
            Step::Touch(touch) => {
                let think = touch.think.get().saturating_mul(touch.accesses).saturating_mul(times);
                self.fixed = self.fixed.saturating_add(think);
                self.touches = true;
            }
            Step::Execute(_) | Step::Command(_) => self.others = true,
            Step::Replay(_) | Step::Flush(_) => self.touches = true,
            Step::Acquire(_) => *held += 1,
            Step::Release(_) => *held = held.saturating_sub(1),
            Step::Sleep(_) | Step::Repeat { .. } | Step::Allocate { .. } | Step::Free(_) => {}
        }
    }
}

/// Multiplies the computations outside and inside sections by fractions up to one, rounded down.
fn scale(steps: &mut [Step], outside: (u64, u64), inside: (u64, u64)) {
    let mut held = 0_u32;
    update_steps(steps, |step| match step {
        Step::Compute(span) => {
            let (part, whole) = if held > 0 { inside } else { outside };
            let of = |length: Duration| {
                let scaled = u128::from(length.get()) * u128::from(part) / u128::from(whole.max(1));
                Duration::new(u64::try_from(scaled).unwrap_or(u64::MAX))
            };
            *span = Span { least: of(span.least), most: of(span.most) };
        }
        Step::Acquire(_) => held += 1,
        Step::Release(_) => held = held.saturating_sub(1),
        Step::Execute(_) | Step::Touch(_) | Step::Replay(_) | Step::Sleep(_) | Step::Repeat { .. } => {}
        Step::Allocate { .. } | Step::Free(_) | Step::Flush(_) | Step::Command(_) => {}
    });
}

//! What the events of a thread make of it: when its jobs are released, and what each does.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Problems};
use crate::rt_app::thread::{Event, Phase, Thread, Timer, refuse};
use std::collections::BTreeMap;
use std::ops::Range;

/// How a thread releases jobs, and what each does.
pub(super) struct Task {
    pub(super) release: Release,
    pub(super) steps: Vec<Item>,
    /// The time that a job computes, in microseconds.
    pub(super) computed: u64,
}

pub(super) enum Release {
    /// First release and period, in microseconds.
    Periodic {
        offset: u64,
        period: At<Timer>,
    },
    Once,
    Continuous,
}

/// A step, or several that repeat.
pub(super) enum Item {
    One(At<Event>),
    Repeat(u64, Vec<Item>),
}

pub(super) fn read(problems: &Problems, thread: &Thread) -> Option<Task> {
    let (times, mut steps) = match thread.phases.as_slice() {
        // Rounds of the only phase and rounds of the thread are the same.
        [only] => {
            let both = only.times.zip(thread.times).map(|(inner, outer)| inner.saturating_mul(outer));
            (both, only.events.iter().cloned().map(Item::One).collect())
        }
        several => (thread.times, in_a_row(problems, several)?),
    };
    if !balanced(problems, &steps) {
        return None;
    }
    let computed = computed(&steps);
    let at = |item: &Item| matches!(item, Item::One(At { value: Event::Timer(_), .. }));
    let timers: Vec<usize> =
        (0_usize..).zip(&steps).filter(|(_, item)| at(item)).map(|(index, _)| index).collect();
    let release = match (timers.as_slice(), times) {
        ([], None) => {
            if !takes_time(&steps) {
                let problem =
                    problems.error(Code::Zero, "an endless loop that takes no time", &thread.name.span);
                problems.push(problem.expected("something to run or to sleep"));
                return None;
            }
            Release::Continuous
        }
        ([], Some(times)) => {
            if times > 1 {
                steps = vec![Item::Repeat(times, steps)];
            }
            Release::Once
        }
        ([timer], None) => periodic(problems, thread, &mut steps, *timer)?,
        ([timer], Some(_)) => {
            let help = "say \"loop\" : -1 and give the run its end with `duration`";
            refuse(
                problems,
                &place(&steps, *timer),
                "a timer that ends after some rounds: a periodic task goes on",
                help,
            );
            return None;
        }
        ([_, second, ..], _) => {
            let help = "make a thread of each";
            refuse(problems, &place(&steps, *second), "a second timer: a task has one period", help);
            return None;
        }
    };
    Some(Task { release, steps, computed })
}

fn place(steps: &[Item], index: usize) -> Range<usize> {
    match steps.get(index) {
        Some(Item::One(event)) => event.span.clone(),
        _ => 0..1,
    }
}

/// A timer at the end releases the next job, one at the beginning the first.
fn periodic(problems: &Problems, thread: &Thread, steps: &mut Vec<Item>, timer: usize) -> Option<Release> {
    let last = timer.saturating_add(1) == steps.len();
    if timer > 0 && !last {
        let help = "let the phase begin or end with the timer";
        refuse(
            problems,
            &place(steps, timer),
            "a timer between other events: a job waits for its release first",
            help,
        );
        return None;
    }
    let Item::One(At { value: Event::Timer(found), span }) = steps.remove(timer) else { return None };
    let offset = if last { thread.delay } else { thread.delay.saturating_add(found.period) };
    Some(Release::Periodic { offset, period: At { value: found, span } })
}

/// Phases one after the other, each as often as it says.
fn in_a_row(problems: &Problems, phases: &[Phase]) -> Option<Vec<Item>> {
    let mut steps = Vec::new();
    for phase in phases {
        let events = phase.events.iter().cloned().map(Item::One);
        match phase.times {
            Some(1) => steps.extend(events),
            Some(times) => {
                let timer = phase.events.iter().find(|event| matches!(event.value, Event::Timer(_)));
                if let Some(timer) = timer {
                    let help = "make a thread of each phase, or let each phase loop once";
                    refuse(problems, &timer.span, "a timer in one of several phases that repeats", help);
                    return None;
                }
                steps.push(Item::Repeat(times, events.collect()));
            }
            None => {
                let help = "take out the phases that are never reached";
                refuse(problems, &phase.span, "a phase for ever among others", help);
                return None;
            }
        }
    }
    Some(steps)
}

/// True where each mutex is given back by the end of the steps, and of each round of those that repeat.
fn balanced(problems: &Problems, steps: &[Item]) -> bool {
    let mut held: BTreeMap<&str, &Range<usize>> = BTreeMap::new();
    for step in steps {
        match step {
            Item::Repeat(_, inner) if !balanced(problems, inner) => return false,
            Item::One(At { value: Event::Lock(name), span }) if held.insert(name, span).is_some() => {
                let headline = format!("`{}` is locked by whoever holds it", clip(name));
                problems.push(problems.error(Code::Lock, headline, span));
                return false;
            }
            Item::One(At { value: Event::Unlock(name), span }) if held.remove(name.as_str()).is_none() => {
                let name = clip(name);
                let headline = format!("`{name}` is unlocked by a job, or a round, that does not hold it");
                problems.push(problems.error(Code::Lock, headline, span));
                return false;
            }
            _ => {}
        }
    }
    if let Some((name, span)) = held.first_key_value() {
        let headline = format!("`{}` is still held when the job, or the round, ends", clip(name));
        problems.push(problems.error(Code::Lock, headline, span));
    }
    held.is_empty()
}

fn computed(steps: &[Item]) -> u64 {
    let of = |step: &Item| match step {
        Item::One(At { value: Event::Run(time), .. }) => *time,
        Item::One(_) => 0,
        Item::Repeat(times, inner) => times.saturating_mul(computed(inner)),
    };
    steps.iter().map(of).fold(0, u64::saturating_add)
}

fn takes_time(steps: &[Item]) -> bool {
    steps.iter().any(|step| match step {
        Item::One(event) => matches!(event.value, Event::Run(1..) | Event::Sleep(1..)),
        Item::Repeat(_, inner) => takes_time(inner),
    })
}

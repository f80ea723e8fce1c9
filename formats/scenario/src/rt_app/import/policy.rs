//! One criterion for all threads, and what of theirs it cannot order.

use super::task::{Release, Task};
use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::Problems;
use crate::rt_app::thread::{Event, Policy, Thread, differs, refuse};
use std::collections::BTreeMap;

/// Refuses timers that threads share: they release one another's jobs.
pub(super) fn own_timers(problems: &Problems, threads: &[Thread]) {
    let mut owners: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, thread) in threads.iter().enumerate() {
        for event in thread.phases.iter().flat_map(|phase| &phase.events) {
            let Event::Timer(timer) = &event.value else { continue };
            if timer.name.starts_with("unique") {
                continue;
            }
            let owner = *owners.entry(&timer.name).or_insert(index);
            if owner != index || thread.instances > 1 {
                let headline = format!("the timer `{}` belongs to several threads", clip(&timer.name));
                refuse(
                    problems,
                    &event.span,
                    headline,
                    "call it \"unique\": then each thread has one of its own",
                );
            }
        }
    }
}

/// Refuses names that stand for a mutex and a semaphore, which rt-app tells apart.
pub(super) fn one_kind(problems: &Problems, threads: &[Thread]) {
    let mut kinds: BTreeMap<&str, bool> = BTreeMap::new();
    for event in threads.iter().flat_map(|thread| &thread.phases).flat_map(|phase| &phase.events) {
        let (name, mutex) = match &event.value {
            Event::Lock(name) | Event::Unlock(name) => (name, true),
            Event::Take(name) | Event::Give(name) => (name, false),
            Event::Run(_) | Event::Sleep(_) | Event::Timer(_) => continue,
        };
        if *kinds.entry(name).or_insert(mutex) != mutex {
            let headline = format!("`{}` is a mutex here and a semaphore there", clip(name));
            refuse(problems, &event.span, headline, "give each a name of its own");
        }
    }
}

/// The criterion, and its class for real-time threads.
pub(super) struct Ordered {
    pub(super) criterion: &'static str,
    /// Of threads under `SCHED_FIFO` and `SCHED_RR`.
    pub(super) class: &'static str,
}

pub(super) fn read(problems: &Problems, threads: &[Thread], tasks: &[Task]) -> Option<Ordered> {
    let first = |wanted: fn(Policy) -> bool| threads.iter().find(|thread| wanted(thread.policy.value));
    let reserved = first(|policy| policy == Policy::Deadline);
    let ranked = first(|policy| matches!(policy, Policy::Fifo | Policy::RoundRobin));
    if let (Some(_), Some(ranked)) = (reserved, ranked) {
        let help = "give all real-time threads SCHED_DEADLINE, or none";
        refuse(
            problems,
            &ranked.policy.span,
            "SCHED_DEADLINE beside SCHED_FIFO or SCHED_RR: one criterion orders all",
            help,
        );
        return None;
    }
    for (thread, task) in threads.iter().zip(tasks) {
        reservation(problems, thread, task);
    }
    turns(problems, threads);
    if let Some(shared) = first(|policy| policy == Policy::Shared) {
        let instead = match (reserved, ranked) {
            (None, None) => "tasks take turns of 10 ms instead",
            _ => "one task after the other runs on what the others leave",
        };
        let headline = format!("SCHED_OTHER gives threads shares of a core: {instead}");
        differs(problems, &shared.policy.span, headline);
    }
    notes(problems, threads);
    // One that no timer releases can only be best effort, and within a class priorities count.
    let released = |(thread, task): (&Thread, &Task)| {
        thread.policy.value == Policy::Shared || matches!(task.release, Release::Periodic { .. })
    };
    let class = if threads.iter().zip(tasks).all(released) { "soft" } else { "best-effort" };
    let criterion = match (reserved, ranked) {
        (Some(_), _) => "EDF",
        (None, Some(_)) => "FP",
        (None, None) => "RR",
    };
    Some(Ordered { criterion, class })
}

/// Refuses equal priorities of which one takes turns.
fn turns(problems: &Problems, threads: &[Thread]) {
    let mut known: BTreeMap<u64, Policy> = BTreeMap::new();
    for thread in
        threads.iter().filter(|thread| matches!(thread.policy.value, Policy::Fifo | Policy::RoundRobin))
    {
        let own = thread.policy.value;
        let other = known.insert(priority(thread), own);
        let alone = other.is_none() && (thread.instances == 1 || own == Policy::Fifo);
        if !alone && (own == Policy::RoundRobin || other == Some(Policy::RoundRobin)) {
            let help = "give it SCHED_FIFO, or a priority of its own";
            refuse(
                problems,
                &thread.policy.span,
                "SCHED_RR at a priority that other threads have: nobody takes turns",
                help,
            );
        }
    }
}

/// What Linux takes without a word.
pub(super) fn priority(thread: &Thread) -> u64 {
    thread.priority.as_ref().map_or(10, |priority| priority.value)
}

/// Notes on what is read as something a little else, each once.
fn notes(problems: &Problems, threads: &[Thread]) {
    if let Some(span) = threads.iter().find_map(|thread| thread.timed.clone()) {
        differs(
            problems,
            &span,
            "`runtime` ends by the clock, whoever runs meanwhile: read as computation of that length",
        );
    }
    let mut events = threads.iter().flat_map(|thread| &thread.phases).flat_map(|phase| &phase.events);
    let relative = events.find(|event| matches!(&event.value, Event::Timer(timer) if timer.relative));
    if let Some(event) = relative {
        let headline = "a relative timer starts anew after a job that took longer than its period: releases here keep their times";
        differs(problems, &event.span, headline);
    }
}

/// What SCHED_DEADLINE asks for has to be what the events do.
fn reservation(problems: &Problems, thread: &Thread, task: &Task) {
    if thread.policy.value != Policy::Deadline {
        return;
    }
    let asked = &thread.reservation;
    let span = &thread.policy.span;
    let Release::Periodic { period, .. } = &task.release else {
        let help = "end its loop with a timer, and loop for ever";
        refuse(problems, span, "SCHED_DEADLINE without a timer: a reservation serves periodic jobs", help);
        return;
    };
    let period = period.value.period;
    let Some(runtime) = &asked.runtime else {
        let problem = problems.error(Code::MissingKey, "SCHED_DEADLINE without `dl-runtime`", span);
        problems.push(problem.expected("the execution time that is reserved for each job, in microseconds"));
        return;
    };
    let reserved = asked.period.as_ref().unwrap_or(runtime);
    if reserved.value != period {
        let headline = format!("a reservation each {} us for jobs each {period} us", reserved.value);
        refuse(problems, &reserved.span, headline, "give reservation and timer the same period");
    }
    if runtime.value < task.computed {
        let headline = format!(
            "jobs of {} us of which {} us are reserved: Linux would stop them",
            task.computed, runtime.value
        );
        refuse(problems, &runtime.span, headline, "reserve as much as a job runs");
    }
    let deadline = asked.deadline.as_ref().unwrap_or(reserved);
    if runtime.value > deadline.value || deadline.value > period {
        let problem = problems.error(Code::OutOfRange, "Linux refuses this reservation", &deadline.span);
        problems.push(problem.expected("runtime <= deadline <= period"));
    }
}

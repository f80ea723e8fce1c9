//! rt-app's description of threads as the text of a scenario.
//!
//! ```text
//!   loop for ever, one timer at the end       a periodic task; its deadline is the period
//!   loop for ever, no timer                   a continuous task, best effort
//!   loop N, no timer                          a task that runs once
//!   SCHED_DEADLINE                            EDF, hard, `wcet` = dl-runtime
//!   SCHED_FIFO, SCHED_RR                      FP, `priority` = 99 - priority
//!   SCHED_OTHER, SCHED_BATCH, SCHED_IDLE      best effort: in turn, or after the others
//! ```

use super::json::{Json, Member};
use super::thread::{self, Event, Phase, Policy, Thread, Timer, number, refuse, unknown, wrong_kind};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Report, clip};
use crate::fields::{At, Problems};
use crate::source::Source;
use crate::units::TIME;
use solo_model::{Duration, Platform};
use solo_plan::MOST_TASKS;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

/// How long a run takes of which the file says no end.
const WITHOUT_END_S: u64 = 10;
/// Keys of `global` that say how rt-app logs and measures.
const LOGGING: [&str; 12] = [
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
    "log_level",
];

/// What was read.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The text of a scenario file.
    pub scenario: String,
    /// What means a little else in it than in the file that was read.
    pub notes: Vec<Diagnostic>,
}

/// What a file says of all threads.
struct Global {
    duration_s: Option<u64>,
    policy: Policy,
    inheritance: bool,
}

/// Reads a file; `named` and `chip` are the scenario's name and platform.
pub(super) fn import(source: &Source, named: &str, chip: (&str, &Platform)) -> Result<Imported, Report> {
    let problems = Problems::new(source);
    let written = match super::json::parse(source.text()) {
        Ok(json) => file(&problems, &json, named, chip),
        Err((message, at)) => {
            let headline = format!("not valid JSON: {message}");
            let problem = problems.error(Code::Syntax, headline, &(at..at.saturating_add(1)));
            problems.push(problem.label("JSON cannot be read from here"));
            None
        }
    };
    let (errors, notes) = problems.finish();
    match written {
        Some(scenario) if errors.is_empty() => Ok(Imported { scenario, notes }),
        _ => Err(Report::new(errors)),
    }
}

fn file(problems: &Problems, json: &Json, named: &str, chip: (&str, &Platform)) -> Option<String> {
    let Json::Object(members) = json else {
        problems.push(problems.error(Code::WrongType, format!("the file is {}", json.kind()), &(0..1)));
        return None;
    };
    let mut global = Global { duration_s: None, policy: Policy::Shared, inheritance: false };
    let mut tasks = None;
    for member in members {
        match member.key.as_str() {
            "tasks" => tasks = Some(member),
            "global" => read_global(problems, member, &mut global),
            // Since rt-app 0.92 resources come into being where they are named.
            "resources" => {}
            _ => unknown(problems, member),
        }
    }
    let Some(tasks) = tasks else {
        problems.push(problems.error(Code::NoTasks, "a file without `tasks`", &(0..1)));
        return None;
    };
    let Json::Object(members) = &tasks.value else {
        wrong_kind(problems, tasks, "an object of threads");
        return None;
    };
    if members.is_empty() {
        problems.push(problems.error(Code::NoTasks, "no thread", &tasks.span));
    }
    if members.len() as u64 > MOST_TASKS {
        let problem = problems.error(Code::TooManyTasks, format!("{} threads", members.len()), &tasks.span);
        problems.push(problem.expected(format!("at most {MOST_TASKS}")));
        return None;
    }
    let read = |member: &Member| thread::read(problems, member, global.policy);
    let threads: Vec<Thread> = members.iter().filter_map(read).collect();
    let mut names = BTreeSet::new();
    for thread in threads.iter().filter(|thread| !names.insert(thread.name.value.as_str())) {
        let headline = format!("two threads are called `{}`", clip(&thread.name.value));
        problems.push(problems.error(Code::Duplicate, headline, &thread.name.span));
    }
    let shaped: Vec<Task> = threads.iter().filter_map(|thread| task(problems, thread)).collect();
    // What follows looks at threads and tasks side by side.
    if shaped.len() != threads.len() {
        return None;
    }
    own_timers(problems, &threads);
    one_kind(problems, &threads);
    let policy = policy(problems, &threads, &shaped)?;
    let cores = placement(problems, &threads, chip.1)?;
    if problems.errors() > 0 {
        return None;
    }
    let end = end(problems, &global, tasks);
    Some(written(&Written {
        named,
        chip: chip.0,
        end,
        policy,
        cores,
        threads: &threads,
        tasks: &shaped,
        global: &global,
    }))
}

fn read_global(problems: &Problems, of: &Member, into: &mut Global) {
    let Json::Object(members) = &of.value else {
        wrong_kind(problems, of, "an object");
        return;
    };
    for member in members {
        match (member.key.as_str(), &member.value) {
            ("duration", Json::Number(Some(-1))) => into.duration_s = None,
            ("duration", _) => into.duration_s = number(problems, member, 1, 8_640_000),
            ("default_policy", _) => {
                if let Some(found) = thread::policy(problems, member) {
                    into.policy = found.value;
                }
            }
            ("pi_enabled", Json::Boolean(on)) => into.inheritance = *on,
            ("pi_enabled", _) => wrong_kind(problems, member, "true or false"),
            (key, _) if LOGGING.contains(&key) => {}
            _ => unknown(problems, member),
        }
    }
}

/// How a thread releases jobs, and what each does.
struct Task {
    release: Release,
    steps: Vec<Item>,
    /// The time that a job computes, in microseconds.
    computed: u64,
}

enum Release {
    /// First release and period, in microseconds.
    Periodic {
        offset: u64,
        period: At<Timer>,
    },
    Once,
    Continuous,
}

/// A step, or several that repeat.
enum Item {
    One(At<Event>),
    Repeat(u64, Vec<Item>),
}

fn task(problems: &Problems, thread: &Thread) -> Option<Task> {
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

/// Refuses timers that threads share: they release one another's jobs.
fn own_timers(problems: &Problems, threads: &[Thread]) {
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
fn one_kind(problems: &Problems, threads: &[Thread]) {
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
struct Ordered {
    criterion: &'static str,
    /// Of threads under `SCHED_FIFO` and `SCHED_RR`.
    class: &'static str,
}

fn policy(problems: &Problems, threads: &[Thread], tasks: &[Task]) -> Option<Ordered> {
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
fn priority(thread: &Thread) -> u64 {
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

fn differs(problems: &Problems, span: &Range<usize>, headline: impl Into<String>) {
    problems.push(problems.error(Code::Differs, headline, span).into_warning());
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

/// How threads are spread over cores.
enum Placed {
    /// All over all.
    Global,
    /// Each on one.
    Partitioned,
    /// On these sets, which cover the chip.
    Clustered(Vec<Vec<u64>>),
}

fn placement(problems: &Problems, threads: &[Thread], chip: &Platform) -> Option<Placed> {
    let cores = chip.cores.len() as u64;
    let mut sets: Vec<&[u64]> = Vec::new();
    let Some(first) = threads.iter().find_map(|thread| thread.cpus.as_ref()) else {
        return Some(Placed::Global);
    };
    for thread in threads {
        let Some(cpus) = &thread.cpus else {
            let help = "say of all threads on which processors they may run, or of none";
            refuse(
                problems,
                &thread.name.span,
                "a thread on all processors beside others that are bound",
                help,
            );
            return None;
        };
        if let Some(none) = cpus.value.iter().find(|&&cpu| cpu >= cores) {
            let headline =
                format!("processor {none}: {} has cores 0 to {}", chip.name, cores.saturating_sub(1));
            problems.push(problems.error(Code::NoSuchCore, headline, &cpus.span));
            return None;
        }
        let own = cpus.value.as_slice();
        let overlaps = |set: &&&[u64]| **set != own && set.iter().any(|cpu| own.contains(cpu));
        if sets.iter().any(|set| overlaps(&set)) {
            let help = "bind threads to the same processors, or to others altogether";
            refuse(problems, &cpus.span, "processors that others have in part: queues do not overlap", help);
            return None;
        }
        if !sets.contains(&own) {
            sets.push(own);
        }
    }
    if sets.iter().all(|set| set.len() == 1) {
        return Some(Placed::Partitioned);
    }
    if first.value.len() as u64 == cores {
        return Some(Placed::Global);
    }
    let rest: Vec<u64> = (0..cores).filter(|core| !sets.iter().any(|set| set.contains(core))).collect();
    let mut clusters: Vec<Vec<u64>> = sets.into_iter().map(<[u64]>::to_vec).collect();
    clusters.extend(rest.into_iter().map(|core| vec![core]));
    clusters.sort();
    Some(Placed::Clustered(clusters))
}

fn end(problems: &Problems, global: &Global, tasks: &Member) -> u64 {
    global.duration_s.unwrap_or_else(|| {
        let headline = format!("the file says no end: the scenario runs for {WITHOUT_END_S} s");
        differs(problems, &tasks.span, headline);
        WITHOUT_END_S
    })
}

/// All that is decided.
struct Written<'a> {
    named: &'a str,
    chip: &'a str,
    end: u64,
    policy: Ordered,
    cores: Placed,
    threads: &'a [Thread],
    tasks: &'a [Task],
    global: &'a Global,
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn micros(time: u64) -> String {
    TIME.print(Duration::from_micros(time).get())
}

fn written(all: &Written<'_>) -> String {
    let letter = match all.cores {
        Placed::Global => 'G',
        Placed::Partitioned => 'P',
        Placed::Clustered(_) => 'C',
    };
    let mut text = format!(
        "name = {}\nplatform = {}\nduration = \"{}s\"\n\n[scheduler]\npolicy = \"{letter}-{}\"\n",
        quoted(all.named),
        quoted(all.chip),
        all.end,
        all.policy.criterion
    );
    if let Placed::Clustered(clusters) = &all.cores {
        let _ = writeln!(text, "clusters = {clusters:?}");
    }
    for (name, protocol) in locks(all) {
        let _ = write!(text, "\n[[lock]]\nname = {}\n{protocol}", quoted(name));
    }
    for (thread, task) in all.threads.iter().zip(all.tasks) {
        text.push_str(&one(all, thread, task));
    }
    text
}

/// Mutexes and semaphores, in the order of their names.
fn locks<'a>(all: &'a Written<'_>) -> BTreeMap<&'a str, &'static str> {
    let mutex =
        if all.global.inheritance { "protocol = \"inheritance\"\n" } else { "protocol = \"plain\"\n" };
    let mut found = BTreeMap::new();
    for event in all.threads.iter().flat_map(|thread| &thread.phases).flat_map(|phase| &phase.events) {
        match &event.value {
            Event::Lock(name) | Event::Unlock(name) => found.insert(name.as_str(), mutex),
            Event::Take(name) | Event::Give(name) => {
                found.insert(name.as_str(), "protocol = \"semaphore\"\nunits = 0\n")
            }
            Event::Run(_) | Event::Sleep(_) | Event::Timer(_) => None,
        };
    }
    found
}

fn one(all: &Written<'_>, thread: &Thread, task: &Task) -> String {
    let class = match thread.policy.value {
        Policy::Deadline => "hard",
        Policy::Shared => "best-effort",
        Policy::Fifo | Policy::RoundRobin => all.policy.class,
    };
    let mut text = format!("\n[[task]]\nname = {}\nclass = \"{class}\"\n", quoted(&thread.name.value));
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    if thread.instances > 1 {
        line("copies", thread.instances.to_string());
    }
    if let (Some(cpus), false) = (&thread.cpus, matches!(all.cores, Placed::Global)) {
        line("core", cpus.value.first().copied().unwrap_or(0).to_string());
    }
    let ranked = matches!(thread.policy.value, Policy::Fifo | Policy::RoundRobin);
    if ranked {
        line("priority", 99_u64.saturating_sub(priority(thread)).to_string());
    }
    let offset = match &task.release {
        Release::Periodic { offset, period } => {
            line("period", format!("\"{}\"", micros(period.value.period)));
            *offset
        }
        Release::Once => {
            line("release", "\"once\"".to_owned());
            thread.delay
        }
        Release::Continuous => {
            line("release", "\"continuous\"".to_owned());
            thread.delay
        }
    };
    if offset > 0 {
        line("offset", format!("\"{}\"", micros(offset)));
    }
    let asked = &thread.reservation;
    if let Some(deadline) = &asked.deadline {
        line("deadline", format!("\"{}\"", micros(deadline.value)));
    } else if let (true, "best-effort", Release::Periodic { period, .. }) = (ranked, class, &task.release) {
        line("deadline", format!("\"{}\"", micros(period.value.period)));
    }
    if let Some(runtime) = &asked.runtime {
        line("wcet", format!("\"{}\"", micros(runtime.value)));
    }
    line("work", format!("[{}]", steps(&task.steps)));
    text
}

fn steps(items: &[Item]) -> String {
    let step = |item: &Item| match item {
        Item::One(event) => match &event.value {
            Event::Run(0) | Event::Sleep(0) | Event::Timer(_) => None,
            Event::Run(time) => Some(format!("{{ compute = \"{}\" }}", micros(*time))),
            Event::Sleep(time) => Some(format!("{{ sleep = \"{}\" }}", micros(*time))),
            Event::Lock(name) | Event::Take(name) => Some(format!("{{ lock = {} }}", quoted(name))),
            Event::Unlock(name) | Event::Give(name) => Some(format!("{{ unlock = {} }}", quoted(name))),
        },
        Item::Repeat(times, inner) => {
            let inner = steps(inner);
            (!inner.is_empty()).then(|| format!("{{ repeat = {times}, steps = [{inner}] }}"))
        }
    };
    items.iter().filter_map(step).collect::<Vec<_>>().join(", ")
}

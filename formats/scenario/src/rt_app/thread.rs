//! One thread of rt-app: its loops, phases and events, and how Linux is to schedule it.

use super::json::{Json, Member};
use crate::code::Code;
use crate::fields::{At, Problems};
use crate::nearest::nearest;
use solo_model::text::is_hidden;
use std::collections::BTreeMap;
use std::ops::Range;

/// rt-app's numbers have 32 bits and a sign.
const MOST: i64 = i32::MAX as i64;

/// What rt-app takes for events: keys that begin so. The longer stands before what it begins with.
const EVENTS: [&str; 20] = [
    "lock", "unlock", "wait", "signal", "broad", "sync", "sleep", "runtime", "run", "timer", "suspend",
    "resume", "memrun", "mem", "iorun", "yield", "barrier", "fork", "sem_post", "sem_wait",
];
/// Keys of a thread or phase without a counterpart, and what they ask for.
const ELSEWHERE: [(&str, &str); 4] = [
    ("util_min", "utilization clamping acts on Linux's choice of a frequency"),
    ("util_max", "utilization clamping acts on Linux's choice of a frequency"),
    ("nodes_membind", "memory is not bound to nodes"),
    ("taskgroup", "tasks are not scheduled by groups"),
];
/// The other keys of a thread.
const KEYS: [&str; 12] = [
    "instance",
    "delay",
    "loop",
    "phases",
    "policy",
    "priority",
    "cpus",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "period",
    "deadline",
];

/// Linux's policies, as far as a scenario tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Policy {
    /// `SCHED_OTHER`, `SCHED_BATCH`, `SCHED_IDLE`.
    Shared,
    Fifo,
    RoundRobin,
    Deadline,
}

/// An event with its place.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Event {
    /// Computes for so many microseconds.
    Run(u64),
    /// Sleeps for so many microseconds.
    Sleep(u64),
    Lock(String),
    Unlock(String),
    /// Waits for a semaphore.
    Take(String),
    /// Gives to one.
    Give(String),
    Timer(Timer),
}

/// The end of a period.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Timer {
    pub(super) name: String,
    /// In microseconds.
    pub(super) period: u64,
    pub(super) relative: bool,
}

/// A phase: events, how often (`None` for ever).
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) span: Range<usize>,
    pub(super) times: Option<u64>,
    pub(super) events: Vec<At<Event>>,
}

/// What `SCHED_DEADLINE` is asked for, in microseconds.
#[derive(Default, Debug)]
pub(super) struct Reservation {
    pub(super) runtime: Option<At<u64>>,
    pub(super) period: Option<At<u64>>,
    pub(super) deadline: Option<At<u64>>,
}

/// A thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) name: At<String>,
    pub(super) instances: u64,
    /// In microseconds.
    pub(super) delay: u64,
    /// `None` for ever.
    pub(super) times: Option<u64>,
    pub(super) phases: Vec<Phase>,
    pub(super) policy: At<Policy>,
    pub(super) priority: Option<At<u64>>,
    pub(super) reservation: Reservation,
    pub(super) cpus: Option<At<Vec<u64>>>,
    /// The first event that lasts whatever the core's speed.
    pub(super) timed: Option<Range<usize>>,
}

/// Policies by their names.
pub(super) fn policy(problems: &Problems, member: &Member) -> Option<At<Policy>> {
    let word = text(problems, member)?;
    let known = [
        ("SCHED_OTHER", Policy::Shared),
        ("SCHED_BATCH", Policy::Shared),
        ("SCHED_IDLE", Policy::Shared),
        ("SCHED_FIFO", Policy::Fifo),
        ("SCHED_RR", Policy::RoundRobin),
        ("SCHED_DEADLINE", Policy::Deadline),
    ];
    let found = known.into_iter().find(|(name, _)| *name == word);
    if found.is_none() {
        let names = known.map(|(name, _)| name);
        let problem = problems.error(Code::UnknownWord, "a policy that Linux does not have", &member.span);
        problems.push(problem.expected(format!("one of {}", names.join(", "))));
    }
    found.map(|(_, value)| At { value, span: member.span.clone() })
}

/// Says that something has no counterpart.
pub(super) fn refuse(
    problems: &Problems,
    span: &Range<usize>,
    what: impl Into<String>,
    help: impl Into<String>,
) {
    problems.push(problems.error(Code::NoCounterpart, what, span).label("here").help(help));
}

/// Notes that something means a little else in a scenario.
pub(super) fn differs(problems: &Problems, span: &Range<usize>, headline: impl Into<String>) {
    problems.push(problems.error(Code::Differs, headline, span).into_warning());
}

/// Says that a value is of another kind.
pub(super) fn wrong_kind(problems: &Problems, member: &Member, expected: &str) {
    let headline = format!("`{}` is {}", member.key, member.value.kind());
    problems.push(problems.error(Code::WrongType, headline, &member.span).expected(expected));
}

/// A whole number within bounds.
pub(super) fn number(problems: &Problems, member: &Member, least: i64, most: i64) -> Option<u64> {
    let Json::Number(Some(value)) = member.value else {
        wrong_kind(problems, member, "a whole number");
        return None;
    };
    if !(least..=most).contains(&value) {
        let headline = format!("`{}` is {value}", member.key);
        let problem = problems.error(Code::OutOfRange, headline, &member.span);
        problems.push(problem.expected(format!("{least} to {most}")));
        return None;
    }
    u64::try_from(value).ok()
}

/// A text that can be shown.
pub(super) fn text<'m>(problems: &Problems, member: &'m Member) -> Option<&'m str> {
    let Json::Text(text) = &member.value else {
        wrong_kind(problems, member, "a text");
        return None;
    };
    shown(problems, text, &member.span).then_some(text)
}

/// Complains about a name that is empty or holds characters that can't be seen.
fn shown(problems: &Problems, text: &str, span: &Range<usize>) -> bool {
    let found = text.chars().find(|&c| is_hidden(c));
    if let Some(c) = found {
        let headline = format!("a text holds the character U+{:04X}, which can't be seen", u32::from(c));
        problems.push(problems.error(Code::HiddenCharacter, headline, span));
    } else if text.trim().is_empty() {
        problems.push(problems.error(Code::Empty, "a name that is empty", span));
    }
    found.is_none() && !text.trim().is_empty()
}

/// How often something is done: `None` for ever.
fn times(problems: &Problems, member: &Member) -> Option<Option<u64>> {
    if let Json::Number(Some(-1)) = member.value {
        return Some(None);
    }
    number(problems, member, 1, MOST).map(Some)
}

/// A thread while its keys are read.
struct Reading<'p> {
    problems: &'p Problems,
    thread: Thread,
    has_loop: Option<Option<u64>>,
    flat: Vec<At<Event>>,
    phases: Option<Vec<Phase>>,
    /// One of the events beside phases is none.
    is_wrong: bool,
}

/// Reads the thread of a key. What is wrong is among the problems.
pub(super) fn read(problems: &Problems, of: &Member, policy: Policy) -> Option<Thread> {
    let Json::Object(members) = &of.value else {
        wrong_kind(problems, of, "an object that describes a thread");
        return None;
    };
    if !shown(problems, &of.key, &of.span) {
        return None;
    }
    let thread = Thread {
        name: At { value: of.key.clone(), span: of.span.clone() },
        instances: 1,
        delay: 0,
        times: None,
        phases: Vec::new(),
        policy: At { value: policy, span: of.span.clone() },
        priority: None,
        reservation: Reservation::default(),
        cpus: None,
        timed: None,
    };
    let mut reading =
        Reading { problems, thread, has_loop: None, flat: Vec::new(), phases: None, is_wrong: false };
    once_each(problems, members);
    // What `runtime` and `period` mean depends on the policy, wherever that stands.
    if let Some(member) = members.iter().find(|member| member.key == "policy") {
        reading.thread.policy = self::policy(problems, member)?;
    }
    for member in members {
        reading.key(member);
    }
    reading.finish()
}

/// Complains about keys that come twice and are no events.
fn once_each(problems: &Problems, members: &[Member]) {
    let mut seen: BTreeMap<&str, &Range<usize>> = BTreeMap::new();
    for member in members.iter().filter(|member| kind(&member.key).is_none()) {
        if let Some(earlier) = seen.get(member.key.as_str()) {
            let headline = format!("`{}` stands here twice", crate::diagnostic::clip(&member.key));
            let problem = problems.error(Code::Duplicate, headline, &member.span).label("again");
            problems.push(problem.also((*earlier).clone(), "the first time"));
        } else {
            seen.insert(&member.key, &member.span);
        }
        if problems.is_full() {
            return;
        }
    }
}

/// Complains about a thread or phase without events, of which nothing else is wrong.
fn nothing_done(problems: &Problems, span: &Range<usize>) {
    let problem = problems.error(Code::Empty, "nothing is done here", span);
    problems.push(problem.expected("at least one event, such as \"run\" : 1000"));
}

/// Which event a key is, as rt-app tells it: by its beginning.
fn kind(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|event| key.starts_with(event))
}

impl Reading<'_> {
    fn key(&mut self, member: &Member) {
        let problems = self.problems;
        let at = |value: Option<u64>| value.map(|value| At { value, span: member.span.clone() });
        let micros = || number(problems, member, 1, MOST);
        let reserved = self.thread.policy.value == Policy::Deadline;
        match member.key.as_str() {
            "instance" => self.thread.instances = number(problems, member, 1, MOST).unwrap_or(1),
            "delay" => self.thread.delay = number(problems, member, 0, MOST).unwrap_or(0),
            "loop" => self.has_loop = times(problems, member),
            "phases" => self.phases = Some(self.phases_of(member)),
            "policy" => {}
            "priority" => self.thread.priority = self.priority(member),
            "cpus" => self.thread.cpus = cpus(problems, member),
            "dl-runtime" if reserved => self.thread.reservation.runtime = at(micros()),
            "dl-period" | "period" if reserved => self.thread.reservation.period = at(micros()),
            "dl-deadline" | "deadline" if reserved => self.thread.reservation.deadline = at(micros()),
            "dl-runtime" | "dl-period" | "dl-deadline" | "period" | "deadline" => refuse(
                problems,
                &member.span,
                format!("`{}` has no effect here: only SCHED_DEADLINE reserves time", member.key),
                "take it out, or say \"policy\" : \"SCHED_DEADLINE\"",
            ),
            "runtime" if reserved => refuse(
                problems,
                &member.span,
                "`runtime` of a thread under SCHED_DEADLINE is an event and a reservation at once",
                "write `dl-runtime` for the reservation, and `run` for the event",
            ),
            _ => {
                let event = event(problems, member, &mut self.thread.timed);
                self.is_wrong |= event.is_none();
                self.flat.extend(event);
            }
        }
    }

    fn priority(&self, member: &Member) -> Option<At<u64>> {
        match (self.thread.policy.value, &member.value) {
            (Policy::Fifo | Policy::RoundRobin, _) => {
                let value = number(self.problems, member, 1, 99)?;
                Some(At { value, span: member.span.clone() })
            }
            (_, Json::Number(Some(0))) => None,
            (Policy::Deadline, _) => {
                let help = "take it out: the deadline alone orders such threads";
                refuse(self.problems, &member.span, "a priority under SCHED_DEADLINE", help);
                None
            }
            (Policy::Shared, _) => {
                let help = "take it out, or give the thread SCHED_FIFO and a priority from 1 to 99";
                refuse(self.problems, &member.span, "a nice value: no share of a core can be given", help);
                None
            }
        }
    }

    fn phases_of(&mut self, member: &Member) -> Vec<Phase> {
        let Json::Object(phases) = &member.value else {
            wrong_kind(self.problems, member, "an object of phases");
            return Vec::new();
        };
        phases.iter().filter_map(|phase| self.phase(phase)).collect()
    }

    fn phase(&mut self, of: &Member) -> Option<Phase> {
        let problems = self.problems;
        let Json::Object(members) = &of.value else {
            wrong_kind(problems, of, "an object that describes a phase");
            return None;
        };
        once_each(problems, members);
        let mut phase = Phase { span: of.span.clone(), times: Some(1), events: Vec::new() };
        let mut is_wrong = false;
        for member in members {
            match member.key.as_str() {
                "loop" => phase.times = times(problems, member)?,
                key if KEYS.contains(&key) => refuse(
                    problems,
                    &member.span,
                    format!("`{key}` of a phase: a task keeps what it begins with"),
                    "say it of the thread, or make the phases threads of their own",
                ),
                _ => {
                    let event = event(problems, member, &mut self.thread.timed);
                    is_wrong |= event.is_none();
                    phase.events.extend(event);
                }
            }
        }
        if phase.events.is_empty() && !is_wrong {
            nothing_done(problems, &phase.span);
        }
        Some(phase)
    }

    fn finish(self) -> Option<Thread> {
        let Self { problems, mut thread, has_loop, flat, phases, is_wrong } = self;
        let span = thread.name.span.clone();
        match phases {
            Some(phases) => {
                if let Some(event) = flat.first() {
                    let help = "move it into a phase";
                    refuse(problems, &event.span, "an event beside `phases`, which rt-app passes over", help);
                }
                thread.times = has_loop.unwrap_or(None);
                thread.phases = phases;
            }
            None => {
                if flat.is_empty() && !is_wrong {
                    nothing_done(problems, &span);
                }
                thread.times = has_loop.map(|_| 1);
                let times = has_loop.map_or(Some(1), |times| times);
                thread.phases = vec![Phase { span: span.clone(), times, events: flat }];
            }
        }
        if thread.phases.is_empty() {
            problems.push(problems.error(Code::Empty, "a thread without phases", &span));
        }
        let whole = !thread.phases.is_empty() && thread.phases.iter().all(|phase| !phase.events.is_empty());
        whole.then_some(thread)
    }
}

/// The list of processors.
fn cpus(problems: &Problems, member: &Member) -> Option<At<Vec<u64>>> {
    let Json::List(items) = &member.value else {
        wrong_kind(problems, member, "a list of processors");
        return None;
    };
    let mut found = Vec::new();
    for item in items {
        match item {
            Json::Number(Some(cpu)) if (0..=MOST).contains(cpu) => found.extend(u64::try_from(*cpu)),
            _ => {
                wrong_kind(problems, member, "a list of processors, such as [0, 2]");
                return None;
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        problems.push(problems.error(Code::Empty, "no processor", &member.span));
        return None;
    }
    Some(At { value: found, span: member.span.clone() })
}

/// Reads an event, or says why it is none.
fn event(problems: &Problems, member: &Member, timed: &mut Option<Range<usize>>) -> Option<At<Event>> {
    let at = |value: Event| At { value, span: member.span.clone() };
    let micros = || number(problems, member, 0, MOST);
    let name = || text(problems, member).map(str::to_owned);
    let Some(kind) = kind(&member.key) else {
        unknown(problems, member);
        return None;
    };
    let event = match kind {
        "run" => Event::Run(micros()?),
        "runtime" => {
            timed.get_or_insert(member.span.clone());
            Event::Run(micros()?)
        }
        "sleep" => Event::Sleep(micros()?),
        "lock" => Event::Lock(name()?),
        "unlock" => Event::Unlock(name()?),
        "sem_wait" => Event::Take(name()?),
        "sem_post" => Event::Give(name()?),
        "timer" => Event::Timer(timer(problems, member)?),
        _ => {
            let help = "run, runtime, sleep, lock, unlock, sem_wait, sem_post and timer are read";
            refuse(problems, &member.span, format!("a task cannot `{kind}`"), help);
            return None;
        }
    };
    Some(at(event))
}

fn timer(problems: &Problems, member: &Member) -> Option<Timer> {
    let Json::Object(members) = &member.value else {
        wrong_kind(problems, member, "{ \"ref\" : \"unique\", \"period\" : 10000 }");
        return None;
    };
    once_each(problems, members);
    // The name that rt-app gives to those without one.
    let mut timer = Timer { name: "unknown".to_owned(), period: 0, relative: true };
    for member in members {
        match member.key.as_str() {
            "ref" => timer.name = text(problems, member)?.to_owned(),
            "period" => timer.period = number(problems, member, 1, MOST)?,
            "mode" => match text(problems, member)? {
                "absolute" => timer.relative = false,
                "relative" => timer.relative = true,
                _ => {
                    let problem = problems.error(Code::UnknownWord, "a mode that no timer has", &member.span);
                    problems.push(problem.expected("\"relative\" or \"absolute\""));
                    return None;
                }
            },
            _ => unknown(problems, member),
        }
    }
    if timer.period == 0 {
        problems.push(problems.error(Code::MissingKey, "a timer without `period`", &member.span));
        return None;
    }
    Some(timer)
}

/// Complains about a key without a counterpart, or one that rt-app passes over.
pub(super) fn unknown(problems: &Problems, member: &Member) {
    if let Some((key, why)) = ELSEWHERE.into_iter().find(|(key, _)| *key == member.key) {
        refuse(problems, &member.span, format!("`{key}`: {why}"), "take it out");
        return;
    }
    let headline = format!("`{}` is no key and no event of rt-app", crate::diagnostic::clip(&member.key));
    let mut problem = problems.error(Code::UnknownKey, headline, &member.span);
    if let Some(near) = nearest(&member.key, KEYS.into_iter().chain(EVENTS)) {
        problem = problem.label(format!("did you mean `{near}`?"));
    }
    problems.push(problem);
}

//! What was decided, as the text of a scenario.

use super::global::Global;
use super::placement::Placed;
use super::policy::{Ordered, priority};
use super::task::{Item, Release, Task};
use crate::rt_app::thread::{Event, Policy, Thread};
use crate::units::TIME;
use solo_model::Duration;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// All that is decided.
pub(super) struct Written<'a> {
    pub(super) named: &'a str,
    pub(super) chip: &'a str,
    pub(super) end: u64,
    pub(super) policy: Ordered,
    pub(super) cores: Placed,
    pub(super) threads: &'a [Thread],
    pub(super) tasks: &'a [Task],
    pub(super) global: &'a Global,
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn micros(time: u64) -> String {
    TIME.print(Duration::from_micros(time).get())
}

pub(super) fn scenario(all: &Written<'_>) -> String {
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

//! What a case's scheduler listens to: `[monitor]` and `[counts]`.

use crate::parse::{self, ParseError};
use serde::Deserialize;
use solo_ideal::ideal_platform;
use solo_model::listening::{Listening, MonitorKind, Reaction, ScriptedCount, Setting};
use solo_model::{CoreId, Duration, EventSet, Fixed};
use solo_observe::monitor;
use std::collections::BTreeMap;

/// `[monitor]` in a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MonitorFile {
    /// The monitor; it counts where none is named.
    #[serde(default)]
    monitor: Option<String>,
    /// What it is to count, where it counts one event.
    #[serde(default)]
    event: Option<String>,
    /// What it is to compute, where it computes an expression.
    #[serde(default)]
    expression: String,
    /// The events that are counted together, where sets take turns.
    #[serde(default)]
    sets: Vec<Vec<String>>,
    /// How long a set counts; an equal part of the period where nothing is said.
    #[serde(default)]
    turn: Option<String>,
    period: String,
    threshold: Threshold,
    classes: Vec<String>,
    action: String,
    /// The action's own settings.
    #[serde(default)]
    settings: BTreeMap<String, u64>,
}

/// The most that has no consequences: `4`, or `"0.5"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Threshold {
    Whole(u64),
    Text(String),
}

/// What is listened to, and what the counters read: both or none, and no budgets beside them, which need counters that
/// interrupt.
pub(crate) fn resolve(
    monitor: Option<MonitorFile>,
    counts: &BTreeMap<String, Vec<String>>,
    cores: usize,
    budgets: bool,
) -> Result<Option<Listening>, ParseError> {
    let Some(monitor) = monitor else {
        return if counts.is_empty() { Ok(None) } else { Err(ParseError::Counts) };
    };
    if counts.values().all(Vec::is_empty) || budgets {
        return Err(ParseError::Counts);
    }
    let events = ideal_platform(cores).events;
    let event = |name: &String| events.find(name).ok_or_else(|| ParseError::Event(name.clone()));
    let counted = monitor.event.as_ref().map(event).transpose()?;
    let kind = match &monitor.monitor {
        Some(name) => choice(MonitorKind::ALL.map(|kind| (kind.name(), kind)), name)?,
        None => MonitorKind::Count,
    };
    let set = |names: &Vec<String>| names.iter().map(event).collect::<Result<EventSet, _>>();
    let sets: Vec<EventSet> = monitor.sets.iter().map(set).collect::<Result<_, _>>()?;
    let observed = monitor::observed(kind, counted, &monitor.expression, &sets, &events);
    let observed = observed.map_err(|error| ParseError::Monitor(error.to_string()))?;
    let mut script = Vec::new();
    for (core, counts) in counts {
        let number = core.parse().map_err(|_| ParseError::Segment(core.clone()))?;
        if usize::from(number) >= cores {
            return Err(ParseError::Core(number));
        }
        for text in counts {
            let (at, count, name) = parse::count(text)?;
            let named = name.map(|name| event(&name)).transpose()?;
            let event = named.or(observed.events.first().copied()).ok_or(ParseError::Counts)?;
            script.push(ScriptedCount { core: CoreId(number), event, at, count });
        }
    }
    let period = parse::time(&monitor.period)?;
    if period == Duration::ZERO {
        return Err(ParseError::Time(monitor.period));
    }
    let reaction = choice(Reaction::ALL.map(|reaction| (reaction.name(), reaction)), &monitor.action)?;
    let threshold = match monitor.threshold {
        Threshold::Whole(threshold) => Fixed::from(threshold),
        Threshold::Text(text) => Fixed::parse(&text).ok_or(ParseError::Count(text))?,
    };
    let mut settings = monitor.settings;
    let setting = |known: &Setting| settings.remove(known.name).unwrap_or(known.default);
    let set = reaction.facts().settings.iter().map(setting).collect();
    if let Some(unknown) = settings.into_keys().next() {
        let allowed = reaction.facts().settings.iter().map(|known| known.name).collect::<Vec<_>>();
        return Err(ParseError::Choice { value: unknown, allowed: allowed.join(", ") });
    }
    Ok(Some(Listening {
        threshold,
        classes: monitor.classes.iter().map(|class| parse::class(class)).collect::<Result<_, _>>()?,
        settings: set,
        script,
        turn: monitor.turn.as_deref().map(parse::time).transpose()?,
        ..Listening::new(observed, period, reaction)
    }))
}

/// The one of this name.
fn choice<T: Copy, const N: usize>(known: [(&str, T); N], name: &str) -> Result<T, ParseError> {
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| ParseError::Choice {
        value: name.to_owned(),
        allowed: known.map(|(name, _)| name).join(", "),
    })
}

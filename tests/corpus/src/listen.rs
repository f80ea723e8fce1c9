//! What a case's scheduler listens to: `[monitor]` and `[counts]`.

use crate::parse::{self, ParseError};
use crate::platform::ideal_platform;
use serde::Deserialize;
use solo_model::listening::{Listening, Reaction, ScriptedCount};
use solo_model::{CoreId, Duration};
use std::collections::BTreeMap;

/// `[monitor]` in a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MonitorFile {
    event: String,
    period: String,
    threshold: u64,
    classes: Vec<String>,
    action: String,
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
    let event = ideal_platform(cores).events.find(&monitor.event);
    let event = event.ok_or(ParseError::Event(monitor.event))?;
    let mut script = Vec::new();
    for (core, counts) in counts {
        let number = core.parse().map_err(|_| ParseError::Segment(core.clone()))?;
        if usize::from(number) >= cores {
            return Err(ParseError::Core(number));
        }
        for text in counts {
            let (at, count) = parse::count(text)?;
            script.push(ScriptedCount { core: CoreId(number), event, at, count });
        }
    }
    let period = parse::time(&monitor.period)?;
    if period == Duration::ZERO {
        return Err(ParseError::Time(monitor.period));
    }
    let reaction = Reaction::ALL.into_iter().find(|reaction| reaction.name() == monitor.action);
    let unknown = ParseError::Choice { value: monitor.action, allowed: "report, yield" };
    Ok(Some(Listening {
        event,
        period,
        threshold: monitor.threshold,
        classes: monitor.classes.iter().map(|class| parse::class(class)).collect::<Result<_, _>>()?,
        reaction: reaction.ok_or(unknown)?,
        script,
    }))
}

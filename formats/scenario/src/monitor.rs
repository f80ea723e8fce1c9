//! `[scheduler.monitor]`: what the scheduler listens to and what it does about it, and what is wrong with that.
//!
//! ```toml
//! [scheduler.monitor]
//! event     = "snoop_hitm"        # an event, or an expression over events; or monitor = "ipc", which knows its events
//! period    = "10ms"
//! threshold = 4                   # or 1.5, or [2, 4]: above 4 until no more than 2
//! classes   = ["best-effort"]
//! action    = "yield"
//! processes = [["swim-0", "swim-1"]]   # with monitor = "occupancy" or "miss-rate-curve": tasks whose lines count together
//! rmids     = "fifo"                   # with those: which of the free ids a process gets
//! sets      = [["instructions", "l1_misses"], ["instructions", "llc_misses"]]   # in turn: more events than counters
//! ```

mod processes;
mod sets;

use crate::code::Code;
use crate::diagnostic::{Diagnostic, clip};
use crate::fields::{At, Fields, Problems, decimal, string, word, wrong_type};
use crate::files::Files;
use crate::limits::{at_least, not_too_long};
use crate::nearest::nearest;
use crate::tree::{Node, Value};
use solo_model::listening::{MonitorKind, Observed, Reaction, Takes};
use solo_model::{Bytes, Duration, EventId, EventTable, Fixed, Platform, TaskClass};
use solo_observe::expr::Expression;
use solo_observe::monitor;
use solo_plan::{Deaf, MonitorWish, Said, TextRange, TooFewCounters, Wish};
use std::ops::Range;

/// The highest threshold that a file can say.
const MOST: u64 = i64::MAX as u64;

/// What `record` can say: whether what the monitor says of each task at the end of each period is recorded.
const RECORDED: [(&str, bool); 2] = [("metric", true), ("nothing", false)];

/// Reads `[scheduler.monitor]`; `monitor = "off"` is as if nothing stood there, for variants.
pub(crate) fn read(
    scheduler: &Fields<'_>,
    platform: Option<&Platform>,
    files: &mut Files<'_>,
) -> Said<MonitorWish> {
    let Some(entry) = scheduler.get("monitor") else { return Said::Nothing };
    if matches!(&entry.node.value, Value::String(text) if text == "off") {
        return Said::Nothing;
    }
    let example = "[scheduler.monitor]\nevent = \"snoop_hitm\"";
    let Some(table) = scheduler.table("monitor", example) else { return Said::Unreadable };
    let fields = Fields::new(scheduler.problems, table.value, table.span, "[scheduler.monitor]");
    let wish = wish(&fields, platform, files);
    let span = fields.span.clone();
    fields.finish();
    wish.map_or(Said::Unreadable, |wish| Said::This(Wish::new(wish, span)))
}

fn wish(fields: &Fields<'_>, platform: Option<&Platform>, files: &mut Files<'_>) -> Option<MonitorWish> {
    let problems = fields.problems;
    let observed = observed(fields, platform, files);
    if !fields.has("period") {
        fields.missing("period", "period = \"10ms\"");
    }
    let period = at_least(problems, fields.positive::<Duration>("period"), "period");
    let period = period.and_then(|found| not_too_long(problems, found, "period"));
    let turn = sets::turn(fields);
    let classes = classes(fields);
    if !fields.has("action") {
        fields.missing("action", "action = \"yield\"");
    }
    let reaction = fields.word("action", &Reaction::ALL.map(|reaction| (reaction.name(), reaction)));
    let facts = reaction.as_ref().map(|found| found.value.facts());
    let threshold = match (&reaction, facts) {
        (Some(found), Some(facts)) if !facts.compares => no_threshold(fields, found),
        (Some(found), Some(facts)) if (facts.kinds || !facts.acts) && !fields.has("threshold") => {
            Some(At { value: (Fixed::ZERO, None), span: found.span.clone() })
        }
        _ => threshold(fields),
    };
    let kind = observed.as_ref().map(|found| found.value.monitor);
    let processes = processes::read(fields, kind);
    let recycling = processes::recycling(fields, kind);
    let settings = settings(fields, reaction.as_ref().map(|found| found.value));
    let recorded = fields.word("record", &RECORDED);
    if fields.has("record") && recorded.is_none() {
        return None;
    }
    Some(MonitorWish {
        observed: observed?.wish(),
        largest_set: sets::largest(fields, platform).map(TextRange::from),
        period: period?.wish(),
        turn: turn.ok()?.map(At::wish),
        threshold: threshold?.wish(),
        classes: classes?.wish(),
        reaction: reaction?.wish(),
        settings: settings?,
        recycling: recycling?,
        processes: processes?,
        recorded: recorded.map(|found| found.value),
    })
}

/// Nothing is compared with a threshold, so that none is said.
fn no_threshold(fields: &Fields<'_>, reaction: &At<Reaction>) -> Option<At<(Fixed, Option<Fixed>)>> {
    if let Some(entry) = fields.get("threshold") {
        let headline = format!("`{}` compares nothing with a threshold", reaction.value.name());
        fields
            .problems
            .push(fields.problems.error(Code::Monitor, headline, &entry.key_span).label("remove this key"));
        return None;
    }
    Some(At { value: (Fixed::ZERO, None), span: reaction.span.clone() })
}

/// The action's own settings, in the order of its registration. Without a known action no key is known to be one.
fn settings(fields: &Fields<'_>, reaction: Option<Reaction>) -> Option<Vec<u64>> {
    let mut settings = Vec::new();
    for setting in reaction?.facts().settings {
        let found = fields.integer(setting.name, setting.least, setting.most);
        let value = if fields.has(setting.name) { found?.value } else { setting.default };
        settings.push(value);
    }
    Some(settings)
}

/// What a monitor makes its metric of. Names of events mean something on a platform only.
fn observed(fields: &Fields<'_>, platform: Option<&Platform>, files: &mut Files<'_>) -> Option<At<Observed>> {
    let problems = fields.problems;
    let named = fields.word("monitor", &MonitorKind::ALL.map(|kind| (kind.name(), kind)));
    if let Some(kind) = named.as_ref().filter(|kind| kind.value.takes().is_of_kinds()) {
        return of_kinds(fields, kind, platform?, files);
    }
    let knows = |kind: MonitorKind| matches!(kind.takes(), Takes::Nothing | Takes::Occupancy | Takes::Energy);
    if let Some(kind) = named.as_ref().filter(|kind| knows(kind.value)) {
        if let Some(entry) = fields.get("event") {
            let headline = format!("`{}` knows what it counts", kind.value.name());
            problems.push(
                problems.error(Code::Monitor, headline, &entry.key_span).label("remove one of the two"),
            );
            return None;
        }
        let span = kind.span.clone();
        let platform = platform?;
        let sets = sets::read(fields, kind.value, &platform.events)?;
        let mut found =
            made(problems, monitor::observed(kind.value, None, "", &sets, &platform.events), span)?;
        if found.value.reads_occupancy() {
            found.value.capacity = platform.last_level().map_or(Bytes::ZERO, |cache| cache.size);
        }
        return Some(found);
    }
    if fields.has("monitor") && named.is_none() {
        let _ = fields.get("event");
        return None;
    }
    let found = fields.required_string("event", "event = \"snoop_hitm\"")?;
    let table = &platform?.events;
    let event = named_events(problems, &found, table)?;
    let kind = match (named, event) {
        (Some(kind), _) => kind.value,
        (None, _) if fields.has("sets") => MonitorKind::Multiplexed,
        (None, Some(_)) => MonitorKind::Count,
        (None, None) => MonitorKind::Rate,
    };
    let (event, expression) = match kind.takes() {
        Takes::Expression | Takes::Sets => (None, found.value),
        Takes::Event | Takes::Nothing | Takes::Occupancy | Takes::Energy | Takes::Kinds | Takes::Model => {
            (event, "")
        }
    };
    let sets = sets::read(fields, kind, table)?;
    made(problems, monitor::observed(kind, event, expression, &sets, table), found.span)
}

/// What a monitor tells kinds of cores apart by.
fn of_kinds(
    fields: &Fields<'_>,
    kind: &At<MonitorKind>,
    platform: &Platform,
    files: &mut Files<'_>,
) -> Option<At<Observed>> {
    let problems = fields.problems;
    let model = match kind.value.takes() {
        Takes::Model => {
            let file = fields.required_string("model", "model = \"quickia.model.toml\"")?;
            Some(files.model(problems, &file, platform)?)
        }
        _ => None,
    };
    let Some(asymmetry) = platform.asymmetry(model) else {
        let headline = format!(
            "`{}` tells kinds of cores apart, and all cores of {} are alike",
            kind.value.name(),
            platform.name
        );
        problems.push(
            problems.error(Code::Monitor, headline, &kind.span).label("nothing to tell apart").help(
                "`solo platforms` lists chips; juno, quickia, tc2 and opteron-2425 have cores of two kinds",
            ),
        );
        return None;
    };
    made(problems, monitor::observed_of_kinds(kind.value, asymmetry, &platform.events), kind.span.clone())
}

fn made(
    problems: &Problems,
    observed: Result<Observed, monitor::MonitorError>,
    span: Range<usize>,
) -> Option<At<Observed>> {
    match observed {
        Ok(value) => Some(At { value, span }),
        Err(error) => {
            let refused =
                problems.error(Code::Monitor, error.to_string(), &span).label("can't be listened to");
            problems.push(match &error {
                monitor::MonitorError::InNoSet { name } => {
                    refused.help(format!("add \"{name}\" to one of `sets`"))
                }
                _ => refused
                    .expected("the name of an event, or for example \"1000 * llc_misses / instructions\""),
            });
            None
        }
    }
}

/// Whether a text is an expression over events that there are: nothing if not, and the event that it is where it is just one.
fn named_events(problems: &Problems, found: &At<&str>, table: &EventTable) -> Option<Option<EventId>> {
    let expression = match Expression::parse(found.value) {
        Ok(expression) => expression,
        Err(error) => {
            let headline = format!("`event` = \"{}\" is no event and no expression", clip(found.value));
            problems.push(
                problems
                    .error(Code::Monitor, headline, &found.span)
                    .label(error.to_string())
                    .expected("the name of an event, or for example \"1000 * llc_misses / instructions\""),
            );
            return None;
        }
    };
    let names: Vec<&str> = expression.columns().into_iter().filter(|name| *name != "seconds").collect();
    if let Some(name) = names.iter().find(|name| table.find(name).is_none()) {
        unknown_event(problems, &found.span, name, table);
        return None;
    }
    if names.is_empty() {
        problems.push(
            problems
                .error(Code::Monitor, "this expression counts nothing", &found.span)
                .label("names no event")
                .expected("the name of an event, or for example \"1000 * llc_misses / instructions\""),
        );
        return None;
    }
    let Expression::Column(name) = &expression else { return Some(None) };
    Some(table.find(name))
}

fn unknown_event(problems: &Problems, span: &Range<usize>, name: &str, table: &EventTable) {
    let names: Vec<&str> = table.iter().map(|(event, _)| table.name(event)).collect();
    let label = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => String::from("no event of this name"),
    };
    problems.push(
        problems
            .error(Code::UnknownName, format!("there is no event `{}` to listen to", clip(name)), span)
            .label(label)
            .help("`solo events` lists those that every machine knows; platform files add their own"),
    );
}

/// One number, or a lower and an upper one: the upper one and, where there are two, the lower one.
fn threshold(fields: &Fields<'_>) -> Option<At<(Fixed, Option<Fixed>)>> {
    let problems = fields.problems;
    let Some(entry) = fields.get("threshold") else {
        fields.missing("threshold", "threshold = 4");
        return None;
    };
    let node = &entry.node;
    let Value::Array(pair) = &node.value else {
        return Some(At { value: (number(problems, node)?, None), span: node.span.clone() });
    };
    let [low, high] = pair.as_slice() else {
        wrong_type(
            problems,
            node,
            "threshold",
            "a number, or a lower and an upper one",
            "threshold = [2, 4]",
        );
        return None;
    };
    let (calm, above) = (number(problems, low)?, number(problems, high)?);
    if calm > above {
        problems.push(
            problems
                .error(
                    Code::Monitor,
                    format!("the lower threshold {calm} is above the upper one, {above}"),
                    &node.span,
                )
                .label("the wrong way round")
                .expected(format!("threshold = [{above}, {calm}]")),
        );
        return None;
    }
    Some(At { value: (above, Some(calm)), span: node.span.clone() })
}

/// A whole number, or a decimal fraction as it is written.
fn number(problems: &Problems, node: &Node) -> Option<Fixed> {
    decimal(problems, node, "threshold", MOST).map(|found| found.value)
}

fn classes(fields: &Fields<'_>) -> Option<At<Vec<TaskClass>>> {
    let problems = fields.problems;
    let example = "classes = [\"best-effort\"]";
    if !fields.has("classes") {
        let _ = fields.get("classes");
        fields.missing("classes", example);
        return None;
    }
    let words =
        [("hard", TaskClass::Hard), ("soft", TaskClass::Soft), ("best-effort", TaskClass::BestEffort)];
    let mut classes = Vec::new();
    let items = fields.list("classes", example)?;
    for item in items {
        let class = word(problems, &string(problems, item, "classes")?, "classes", &words)?.value;
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    let span = fields.span_of("classes");
    if classes.is_empty() {
        problems.push(
            problems
                .error(Code::Empty, "`classes` of [scheduler.monitor] is empty: it concerns nobody", &span)
                .label("no class")
                .expected(format!("for example `{example}`")),
        );
        return None;
    }
    Some(At { value: classes, span })
}

/// More is to be counted than the chip has counters for.
fn too_few(problems: &Problems, at: &Range<usize>, few: &TooFewCounters) -> Diagnostic {
    let TooFewCounters { needed, beside, turns, taken, counters } = few;
    let budgets = if *taken > 0 { format!(" beside {taken} of bandwidth budgets") } else { String::new() };
    let most = usize::from(*counters).saturating_sub(*taken);
    let headline = format!("{needed} programmable counters are needed{budgets}; each core has {counters}");
    let refused = problems.error(Code::Monitor, headline, at);
    let events = match beside.is_empty() {
        true => format!("at most {most} events"),
        false => format!("at most {most} events beside `{}`", beside.join("` and `")),
    };
    match turns {
        true if most > 0 => {
            refused.label("an event each of the largest set").expected(format!("sets of {events}"))
        }
        false if *needed > 1 && most > 0 => refused
            .label("an event each")
            .expected(events)
            .help("or let sets of them take turns: `sets = [[\"instructions\", ...], ...]`"),
        _ => refused.label("an event each").expected(events),
    }
}

/// Why a scheduler can't listen as wished.
pub(crate) fn deaf(problems: &Problems, at: &Range<usize>, deaf: &Deaf) -> Diagnostic {
    let error = |headline: String| problems.error(Code::Monitor, headline, at);
    match deaf {
        Deaf::Uncountable { name, platform, .. } => {
            error(format!("no counter of {platform} counts `{name}`"))
                .label("not counted there")
                .help("choose an event that the chip counts (docs/events.md), or another chip")
        }
        Deaf::TooFewCounters(few) => too_few(problems, at, few),
        Deaf::Late { sets, turn, period } => error(format!(
            "a round of {sets} sets of {turn} each is not over when the scheduler looks, each {period}"
        ))
        .label("the metric would come too late")
        .expected(format!(
            "a turn of at most {}",
            Duration::new(period.get().checked_div(*sets as u64).unwrap_or(0))
        ))
        .help("or a longer `period`, or fewer sets"),
        Deaf::Hasty { sets, least } => {
            error(format!("{sets} sets take turns in a period, each for less than {least}"))
                .label("too short for that many")
                .expected(format!("at least {}", Duration::new(least.get().saturating_mul(*sets as u64))))
        }
        Deaf::NoInterrupt => error("counters of this platform don't interrupt".to_owned())
            .label("acts when a counter overflows")
            .help("`action = \"yield\"` does the same at the end of each period"),
        Deaf::NoCounter => error("no counter holds what an expression comes to".to_owned())
            .label("acts when a counter overflows")
            .help("listen to a single event, or say `action = \"yield\"`"),
        Deaf::Beyond { threshold, most } => error(format!("no counter gets to {threshold} and one more"))
            .label("beyond the counters")
            .expected(format!("at most {most}")),
        Deaf::OneCore { reaction } => error(format!("`{}` takes several cores", reaction.name()))
            .label("there is one core")
            .help("`action = \"yield\"` and `\"report\"` make sense on one core"),
        Deaf::NothingNearer => {
            error("no core is nearer to another than the rest".to_owned()).label("nowhere to move to").help(
                "it needs a cache that some cores share and not all; `\"gather\"` and `\"serialize\"` don't",
            )
        }
        Deaf::OneKind { reaction } => {
            error(format!("`{}` takes cores of two kinds, and all are alike", reaction.name()))
                .label("nobody deserves more than another")
                .help("juno, quickia, tc2 and opteron-2425 have cores of two kinds")
        }
        Deaf::OneQueue => error("all cores take their tasks from the same queue".to_owned())
            .label("a task that is moved goes where it likes")
            .help("choose a P- policy, or several clusters"),
        Deaf::NoMeter { platform } => error(format!("{platform} has no energy meter"))
            .label("reads one")
            .help("choose a chip with `[power]` in its file, for example juno or tc2"),
        Deaf::Cache(blind) => processes::blind(problems, at, blind),
    }
}

//! `solo events`: what can be counted here, what a name means, what a string becomes.

use super::event_strings;
use super::known::Known;
use super::pfm_events as pfm;
use super::watch::event_set;
use crate::cli::EventsArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_model::text::{Printable, counted};
use solo_observe::catalog::{self, ConstCode};
use solo_observe::set::Names;
use solo_observe::{Filter, module::Kind};
use solo_perf::files::{Files, Host};
use solo_perf::resolve::{Resolver, SysfsNames};
use solo_watch::modules;
use std::fmt::Write;

/// What the kernel is told of one event.
#[derive(Serialize, Debug)]
struct Translated {
    event: String,
    group: usize,
    pmu_type: u32,
    config: String,
    config1: String,
    config2: String,
    user: bool,
    kernel: bool,
    sample_every: u64,
    /// PMCTrack's counter number; stock Linux places events itself.
    asked_counter: Option<u8>,
}

/// A virtual counter of a module.
#[derive(Serialize, Debug)]
struct Module {
    module: &'static str,
    meaning: &'static str,
    counters: Vec<Virtual>,
}

#[derive(Serialize, Debug)]
struct Virtual {
    name: String,
    meaning: String,
    kind: &'static str,
}

/// Runs `solo events`: 0, 1 where --validate finds faults, 2 for what is not known.
pub(crate) fn run(args: &EventsArgs) -> Result<Exit, Failure> {
    if let Some(pmu) = &args.pmu {
        return pfm::list(pmu, args.json);
    }
    if args.raw.is_some() || args.model.is_some() {
        return event_strings::translate(args.raw.as_deref(), args.model.as_deref(), args.json);
    }
    match (&args.translate, args.modules, args.validate) {
        (Some(text), ..) => translate(text, args.json),
        (None, true, _) => list_modules(args.json),
        (None, _, true) => validate(args.json),
        _ => list(&args.names, args.json),
    }
}

/// Longer names push their line to the right instead of all the others.
const NAME_MOST: usize = 40;

fn list(names: &[String], json: bool) -> Result<Exit, Failure> {
    let host = Host::new();
    let all = known(&host);
    let chosen: Vec<&Known> = match names {
        [] => all.iter().collect(),
        names => names.iter().map(|name| explain(name, &all)).collect::<Result<_, _>>()?,
    };
    if json {
        output::list(Document::Events, "events", &chosen)?;
        return Ok(Exit::Held);
    }
    let mut text = String::new();
    let width = chosen.iter().map(|event| event.name.len()).filter(|length| *length <= NAME_MOST).max();
    let width = width.unwrap_or(NAME_MOST);
    for event in &chosen {
        let _ = writeln!(text, "{:<width$} {:<18} {}", event.name, event.counted_by, event.meaning);
        if !names.is_empty() && !event.aliases.is_empty() {
            let _ = writeln!(text, "{:<width$} {:<18} also called {}", "", "", event.aliases.join(", "));
        }
        if !names.is_empty() {
            pfm::masks(event, &mut text);
        }
    }
    if names.is_empty() {
        text += "\nBeside names: 0xCODE:umask=0xM for the processor's own codes, pmu/terms/, group:name for tracepoints,\n\
                 PMCTrack's pmcN=0xCODE strings; after each :u or :k for one mode, :ebs=N for a row every N.\n\
                 NAME:MASK for libpfm4's, with its modifiers (:c=1 and the like).\n\
                 Whether a counter counts what it is called after: solo doctor.\n";
    }
    output::text(&text)?;
    Ok(Exit::Held)
}

fn explain<'a>(name: &str, all: &'a [Known]) -> Result<&'a Known, Failure> {
    let wanted = catalog::normal(name);
    let is = |event: &&Known| {
        let name = catalog::normal(&event.name);
        name == wanted
            || name.split_once("::").is_some_and(|(_, name)| name == wanted)
            || event.aliases.iter().any(|alias| catalog::normal(alias) == wanted)
    };
    all.iter().find(is).ok_or_else(|| {
        let more = match name.contains([',', '=', ':']) {
            true => format!("; what an event string comes to: solo events --translate '{}'", Printable(name)),
            false => "; `solo events` lists those that are known".to_owned(),
        };
        Failure::Usage(format!("no event is called `{}`{more}", Printable(name)))
    })
}

/// The catalogue, and what the PMUs of this machine describe beside it.
fn known(files: &dyn Files) -> Vec<Known> {
    let entry = |entry: &catalog::Entry| Known {
        name: entry.name().to_owned(),
        aliases: entry.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        counted_by: match entry.perf {
            Some(ConstCode::Software(_)) => "kernel".to_owned(),
            Some(ConstCode::Generic(_) | ConstCode::Cache(..)) => "core PMU".to_owned(),
            None => "core PMU, by this processor's code".to_owned(),
        },
        meaning: entry.meaning().to_owned(),
        masks: Vec::new(),
    };
    let own = SysfsNames(files);
    let here = |entry: &&catalog::Entry| entry.perf.is_some() || own.canonical(entry.event).is_some();
    let mut all: Vec<Known> = catalog::ENTRIES.iter().filter(here).map(entry).collect();
    let devices = "/sys/bus/event_source/devices";
    for pmu in files.list(devices) {
        for event in files.list(&format!("{devices}/{pmu}/events")) {
            if event.ends_with(".scale") || event.ends_with(".unit") || event.ends_with(".snapshot") {
                continue;
            }
            let terms = files.text(&format!("{devices}/{pmu}/events/{event}")).unwrap_or_default();
            all.push(Known {
                name: format!("{pmu}/{event}/"),
                aliases: Vec::new(),
                counted_by: format!("PMU {pmu}"),
                meaning: format!("as the kernel describes it: {terms}"),
                masks: Vec::new(),
            });
        }
    }
    all.extend(pfm::present());
    all
}

fn translate(text: &str, json: bool) -> Result<Exit, Failure> {
    let host = Host::new();
    let set = event_set("--translate", text, &host).map_err(Failure::watch)?;
    let resolver = Resolver::new(&host);
    let groups = resolver.groups(&set, Filter::ALL).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut translated = Vec::new();
    for (group, members) in groups.iter().enumerate() {
        for (event, attr) in members {
            let Some(event) = set.events.get(*event) else { continue };
            translated.push(Translated {
                event: event.name.clone(),
                group,
                pmu_type: attr.kind,
                config: format!("{:#x}", attr.config[0]),
                config1: format!("{:#x}", attr.config[1]),
                config2: format!("{:#x}", attr.config[2]),
                user: !attr.exclude_user,
                kernel: !attr.exclude_kernel,
                sample_every: attr.period,
                asked_counter: event.counter,
            });
        }
    }
    if json {
        output::list(Document::EventCodes, "events", &translated)?;
        return Ok(Exit::Held);
    }
    let mut lines = format!(
        "{:<26} {:>5} {:>5} {:>18} {:>8} {:>5}  {}\n",
        "event", "group", "type", "config", "config1", "modes", "a row every"
    );
    for event in &translated {
        let modes = [(event.user, "u"), (event.kernel, "k")];
        let modes: String = modes.iter().filter(|(on, _)| *on).map(|(_, mode)| *mode).collect();
        let every = if event.sample_every == 0 { "-".to_owned() } else { event.sample_every.to_string() };
        let _ = writeln!(
            lines,
            "{:<26} {:>5} {:>5} {:>18} {:>8} {modes:>5}  {every}",
            event.event, event.group, event.pmu_type, event.config, event.config1
        );
    }
    if translated.iter().any(|event| event.asked_counter.is_some()) {
        lines += "note: the kernel chooses the counters itself; the numbers in pmcN tell flags and columns apart\n";
    }
    output::text(&lines)?;
    Ok(Exit::Held)
}

fn list_modules(json: bool) -> Result<Exit, Failure> {
    let host = Host::new();
    let module = |entry: modules::Entry| {
        let found = (entry.find)(&host);
        let counter = |counter: &solo_observe::VirtualCounter| Virtual {
            name: counter.name.clone(),
            meaning: counter.meaning.clone(),
            kind: if counter.kind == Kind::Sum { "sum" } else { "level" },
        };
        let counters = found.map_or_else(Vec::new, |module| module.counters().iter().map(counter).collect());
        Module { module: entry.name, meaning: entry.meaning, counters }
    };
    let all: Vec<Module> = modules::entries().map(module).collect();
    if json {
        output::list(Document::Modules, "modules", &all)?;
        return Ok(Exit::Held);
    }
    let mut text = String::new();
    for module in &all {
        let _ = writeln!(text, "{:<13} {}", module.module, module.meaning);
        if module.counters.is_empty() {
            let _ = writeln!(text, "{:<13}   nothing to tell on this machine", "");
        }
        for counter in &module.counters {
            let _ =
                writeln!(text, "{:<13}   {:<32} {} ({})", "", counter.name, counter.meaning, counter.kind);
        }
    }
    text += "\nOne of your own: a FILE.toml that names files and what their numbers mean, or a scenario, for what its scheduler listens to; see docs/linux.md.\n";
    output::text(&text)?;
    Ok(Exit::Held)
}

fn validate(json: bool) -> Result<Exit, Failure> {
    let host = Host::new();
    let mut faults = catalog::faults();
    let resolver = Resolver::new(&host);
    let all = known(&host);
    let mut checked = 0;
    for event in all.iter().filter(|event| event.name.contains('/')) {
        checked += 1;
        let resolved = solo_observe::parse_set(&event.name, &solo_observe::NoNames, resolver.layout())
            .map_err(|error| error.to_string())
            .and_then(|set| resolver.groups(&set, Filter::ALL).map_err(|error| error.to_string()));
        if let Err(error) = resolved {
            faults.push(format!("{}: {error}", event.name));
        }
    }
    let tables = pfm::validate(&mut faults);
    if json {
        output::list(Document::EventFaults, "faults", &faults)?;
    } else {
        let mut text: String = faults.iter().map(|fault| format!("{fault}\n")).collect();
        let _ = writeln!(
            text,
            "{}, {}, {tables}: {}",
            counted(catalog::ENTRIES.len(), "canonical event"),
            counted(checked, "PMU event"),
            counted(faults.len(), "fault")
        );
        output::text(&text)?;
    }
    Ok(if faults.is_empty() { Exit::Held } else { Exit::NotHeld })
}

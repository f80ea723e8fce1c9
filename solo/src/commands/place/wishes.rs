//! What is to be placed and how: from a scenario, or from words of the command line.

use super::super::run::chosen;
use super::programs::{self, Named};
use crate::cli::{Instead, PlaceArgs};
use crate::exit::Failure;
use solo_guard::{Actuator, Group, Machine, Setting};
use solo_model::listening::{MonitorKind, Observed, Reaction, Takes};
use solo_model::text::Printable;
use solo_model::{Bytes, CoreId, Duration, Experiment, Fixed, Listening, Platform, Task, TaskClass};
use solo_observe::{Expression, monitor};
use solo_perf::cpus::online;
use solo_perf::files::Host;
use solo_place::{PlacedTask, Placing, Subject, check_caches, host};
use solo_scenario::units::TIME;
use std::fmt::Write;
use std::path::Path;

/// The period where none is said: QUANTUM of thesis 8.2.3.
const PERIOD: Duration = Duration::from_millis(10);
/// The shortest period: a look at a few programs takes some tens of microseconds.
const SHORTEST: Duration = Duration::from_millis(1);

/// What is to be placed.
pub(super) struct Wishes {
    /// What decides.
    pub(super) placing: Placing,
    /// The program of each task.
    pub(super) subjects: Vec<Subject>,
    /// How long.
    pub(super) time: Option<Duration>,
    /// What has to be said beside.
    pub(super) doubts: Vec<String>,
}

fn usage<T>(text: String) -> Result<T, Failure> {
    Err(Failure::Usage(text))
}

impl Wishes {
    /// Reads them.
    pub(super) fn understand(args: &PlaceArgs, files: &Host) -> Result<Self, Failure> {
        let time = args.time.as_deref().map(|text| duration("--time", text)).transpose()?;
        let programs = programs::read(args)?;
        // A scenario's tasks can be programs by themselves.
        if programs.is_empty() && args.scenario.is_none() {
            return usage(
                "expected a program or a process to place: solo place -e page-faults --above 50 --action yield \
                 --program ./a --program ./b"
                    .to_owned(),
            );
        }
        let here = host::platform(files);
        let (placing, subjects, doubts) = match &args.scenario {
            Some(path) => of_scenario(args, path, programs, &here)?,
            None => of_words(args, programs, here, files)?,
        };
        if placing.listening.period < SHORTEST {
            return usage(format!(
                "the period is 1 ms or more on Linux, found {}; a scenario's can be made longer with a variant",
                placing.listening.period
            ));
        }
        Ok(Self { placing, subjects, time, doubts })
    }

    /// What is listened to and done, in a line.
    pub(super) fn about(&self) -> String {
        let listening = &self.placing.listening;
        let facts = listening.reaction.facts();
        let above = match facts.kinds || !facts.compares {
            true => String::new(),
            false => format!(" above {}", listening.threshold),
        };
        let (name, period) = (listening.reaction.name(), listening.period);
        format!("{name}{above} in {period} of {}", Printable(self.metric()))
    }

    /// What is counted, in words.
    pub(super) fn metric(&self) -> String {
        let observed = &self.placing.listening.observed;
        let names = observed.events.iter().map(|event| self.placing.platform.events.name(*event));
        match observed.monitor.takes() {
            Takes::Event => names.collect::<Vec<_>>().join(", "),
            Takes::Nothing | Takes::Kinds | Takes::Model | Takes::Occupancy => {
                observed.monitor.name().to_owned()
            }
            _ => observed.expression.clone(),
        }
    }

    /// What would be done.
    pub(super) fn dry(&self, machine: &Machine, files: &Host) -> String {
        let mut text = match check_caches(&self.placing, files) {
            Ok(()) => format!("would place {}\n", self.about()),
            Err(error) => format!("could not place {}: {}\n", self.about(), Printable(error)),
        };
        for (task, subject) in self.placing.tasks.iter().zip(&self.subjects) {
            let (name, cpu) = (Printable(&task.name), task.core.0);
            let _ = match subject {
                Subject::Command(words) => {
                    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                    writeln!(text, "would start task {name} on CPU {cpu}: {}", Printable(words.join(" ")))
                }
                Subject::Process(process) => {
                    let setting = Setting::Affinity { thread: *process, group: Group::default() };
                    match machine.look(&setting) {
                        Ok(seen) => writeln!(
                            text,
                            "would put task {name}, process {process}, on CPU {cpu}; it may run on {}",
                            seen.value
                        ),
                        Err(error) => writeln!(
                            text,
                            "could not put task {name}, process {process}, on CPU {cpu}: {}",
                            Printable(error.reason())
                        ),
                    }
                }
            };
        }
        text
    }
}

type Understood = (Placing, Vec<Subject>, Vec<String>);

/// The tasks of a scenario, each with its program.
fn of_scenario(
    args: &PlaceArgs,
    path: &Path,
    programs: Vec<Named>,
    here: &Platform,
) -> Result<Understood, Failure> {
    let instead = Instead { seed: None, jobs: None };
    let (_, experiment) = chosen(path, args.variant.as_deref(), &instead, args.show.quiet)?;
    let named = Printable(path.display()).to_string();
    let Experiment { platform, tasks, listening, .. } = experiment;
    let Some(mut listening) = listening else {
        return usage(format!("{named} has no [scheduler.monitor]: there is nothing to listen to"));
    };
    listening.script.clear();
    let by_kinds = listening.reaction.facts().kinds;
    let by_cache = listening.reaction.facts().divides || listening.observed.reads_occupancy();
    if by_cache {
        // The cache that is divided is this machine's, and so is its size.
        listening.observed.capacity = capacity(here);
    }
    if let Some(event) = &args.event {
        listening.observed = observed(event, None, &platform)?;
    } else if by_kinds {
        // Which CPU is of which kind this machine says, and not the scenario; a model knows the counters of the scenario's chip alone.
        if listening.observed.monitor.takes() == Takes::Model {
            return usage(format!(
                "{named} goes by a model of {}, and this machine is another; `ipc-sampling` measures instead: a variant with monitor = \"ipc-sampling\"",
                Printable(&platform.name)
            ));
        }
        listening.observed = observed("", Some(MonitorKind::IpcSampling), here)?;
    }
    let platform = if by_kinds || by_cache { here.clone() } else { platform };
    let known: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    if let Some(stranger) = programs.iter().find(|program| !program.is_one_of(&known)) {
        let found = stranger.name.as_deref().unwrap_or("a program without a name");
        return usage(format!(
            "{} is no task of {named}; its tasks are {}: --program {}=COMMAND",
            Printable(found),
            Printable(known.join(", ")),
            Printable(known.first().unwrap_or(&"NAME"))
        ));
    }
    let (mut placed, mut subjects) = (Vec::new(), Vec::new());
    for task in &tasks {
        let mut own = programs.iter().filter(|program| program.name.as_deref() == Some(task.name.as_str()));
        let program = own.next();
        let Some(subject) = subject(program, task, path) else {
            return usage(format!(
                "task `{}` of {named} has no program: --program '{0}=COMMAND' or --pid {0}=PID",
                Printable(&task.name)
            ));
        };
        if own.next().is_some() {
            return usage(format!("task `{}` has two programs", Printable(&task.name)));
        }
        let core = program.and_then(|own| own.cpu).map(CoreId).or(task.core).unwrap_or(CoreId(0));
        placed.push(PlacedTask { name: task.name.clone(), class: task.class, core });
        subjects.push(subject);
    }
    let mut doubts = Vec::new();
    let (theirs, ours) = (platform.neighborhoods(), here.neighborhoods());
    if theirs != ours && listening.reaction.facts().moves {
        doubts.push(format!(
            "{} says that these cores share caches: {theirs:?}; this machine says {ours:?}. The policy went by the scenario's",
            Printable(&platform.name)
        ));
    }
    Ok((Placing { listening, platform, tasks: placed }, subjects, doubts))
}

/// The program of a task: that of the command line, or the one that the scenario at `path` says it is.
fn subject(program: Option<&Named>, task: &Task, path: &Path) -> Option<Subject> {
    let its_own = || task.work.command().map(|words| programs::of_scenario(words, path));
    program.map(|program| program.subject.clone()).or_else(its_own)
}

impl Named {
    fn is_one_of(&self, known: &[&str]) -> bool {
        self.name.as_deref().is_some_and(|name| known.contains(&name))
    }
}

/// What the command line says.
fn of_words(
    args: &PlaceArgs,
    programs: Vec<Named>,
    platform: Platform,
    files: &Host,
) -> Result<Understood, Failure> {
    let monitor = args.monitor.as_deref().map(kind).transpose()?;
    let reaction = args.action.as_deref().map_or(Ok(Reaction::Report), action)?;
    let observed = match (&args.event, monitor) {
        (None, None) if reaction.facts().kinds => observed("", Some(MonitorKind::IpcSampling), &platform)?,
        (None, None) if reaction.facts().divides => {
            observed("", Some(MonitorKind::MissRateCurve), &platform)?
        }
        (Some(event), _) => observed(event, None, &platform)?,
        (None, Some(kind)) => observed("", Some(kind), &platform)?,
        (None, None) => {
            return usage(
                "expected what to listen to: an event or expression (-e page-faults), or --monitor ipc"
                    .to_owned(),
            );
        }
    };
    goes_with(reaction, &observed)?;
    let period = args.every.as_deref().map_or(Ok(PERIOD), |text| duration("--every", text))?;
    if period < SHORTEST {
        return usage(format!("--every: 1 ms or more, found {period}"));
    }
    let above = match &args.above {
        Some(text) => number("--above", text)?,
        None if !reaction.facts().acts || reaction.facts().kinds || !reaction.facts().compares => Fixed::ZERO,
        None => {
            return usage(format!("--action {}: expected --above NUMBER, what is too much", reaction.name()));
        }
    };
    let calm = args.calm.as_deref().map(|text| number("--calm", text)).transpose()?;
    if let Some(calm) = calm.filter(|calm| *calm > above) {
        return usage(format!(
            "--calm {calm} is above --above {above}: the wrong way round; expected --above {calm} --calm {above}"
        ));
    }
    let mut listening = Listening::new(observed, period, reaction);
    (listening.threshold, listening.calm) = (above, calm);
    listening.settings = settings(reaction, &args.settings)?;
    let cpus = online(files);
    if cpus.len() < reaction.facts().least_cores {
        return usage(format!("--action {} takes several CPUs, and there is one", reaction.name()));
    }
    let near = platform.neighborhoods();
    let facts = reaction.facts();
    if facts.moves && !facts.crowds && !facts.kinds && near.iter().all(|cores| cores.len() < 2) {
        return usage(format!(
            "--action {} needs a cache that some CPUs share and not all; gather and serialize don't",
            reaction.name()
        ));
    }
    let (mut placed, mut subjects) = (Vec::<PlacedTask>::new(), Vec::new());
    for (number, program) in programs.into_iter().enumerate() {
        let name = program.name.unwrap_or_else(|| format!("program {}", number + 1));
        if placed.iter().any(|other| other.name == name) {
            return usage(format!("two programs are called `{}`", Printable(name)));
        }
        let core = CoreId(program.cpu.unwrap_or(cpus[number % cpus.len()]));
        placed.push(PlacedTask { name, class: TaskClass::BestEffort, core });
        subjects.push(program.subject);
    }
    Ok((Placing { listening, platform, tasks: placed }, subjects, Vec::new()))
}

/// Some policies know what to do with a few metrics only.
fn goes_with(reaction: Reaction, observed: &Observed) -> Result<(), Failure> {
    let over = reaction.facts().over;
    if over.is_empty() || over.contains(&observed.monitor) {
        return Ok(());
    }
    let known: Vec<&str> = over.iter().map(|kind| kind.name()).collect();
    usage(format!("--action {} goes by {} only: --monitor {}", reaction.name(), known.join(" or "), known[0]))
}

/// The size of the last level, of which parts are held.
fn capacity(platform: &Platform) -> Bytes {
    platform.last_level().map_or(Bytes::ZERO, |cache| cache.size)
}

/// What is observed where `event` is counted or computed, or by a monitor that knows its events.
fn observed(event: &str, kind: Option<MonitorKind>, platform: &Platform) -> Result<Observed, Failure> {
    let wrong = |why: String| Failure::Usage(format!("-e {}: {why}", Printable(event)));
    let table = &platform.events;
    if let Some(kind) = kind.filter(|kind| kind.takes() == Takes::Kinds) {
        let alone = || {
            format!(
                "`{}` tells kinds of cores apart, and all CPUs of {} are alike",
                kind.name(),
                platform.name
            )
        };
        let asymmetry = platform.asymmetry(None).ok_or_else(|| Failure::NotHere(alone()))?;
        return monitor::observed_of_kinds(kind, asymmetry, table)
            .map_err(|error| Failure::Usage(format!("--monitor {}: {error}", kind.name())));
    }
    if let Some(kind) = kind {
        let capacity = if kind.takes() == Takes::Occupancy { capacity(platform) } else { Bytes::ZERO };
        return monitor::observed(kind, None, "", &[], table)
            .map(|observed| Observed { capacity, ..observed })
            .map_err(|error| Failure::Usage(format!("--monitor {}: {error}", kind.name())));
    }
    let event = solo_observe::catalog::find(event).map_or(event, |known| table.name(known));
    let expression = Expression::parse(event).map_err(|error| wrong(error.to_string()))?;
    let names = expression.columns();
    if let Some(name) = names.iter().find(|name| **name != "seconds" && table.find(name).is_none()) {
        return Err(wrong(format!(
            "no event is called `{}`; `solo events` lists those that are known",
            Printable(name)
        )));
    }
    if names.iter().all(|name| *name == "seconds") {
        return Err(wrong("this counts nothing".to_owned()));
    }
    let only = if let Expression::Column(name) = &expression { table.find(name) } else { None };
    let (kind, text) = match only {
        Some(_) => (MonitorKind::Count, ""),
        None => (MonitorKind::Rate, event),
    };
    monitor::observed(kind, only, text, &[], table).map_err(|error| wrong(error.to_string()))
}

/// A monitor that can be asked for by its name alone.
fn kind(name: &str) -> Result<MonitorKind, Failure> {
    let by_itself =
        |kind: &MonitorKind| matches!(kind.takes(), Takes::Nothing | Takes::Kinds | Takes::Occupancy);
    let alone = || MonitorKind::ALL.into_iter().filter(by_itself);
    alone().find(|kind| kind.name() == name).ok_or_else(|| {
        let known = alone().map(MonitorKind::name).collect::<Vec<_>>().join(", ");
        let more = match MonitorKind::ALL.into_iter().any(|kind| kind.name() == name) {
            true => "; this one has to be told what to count: -e",
            false => "",
        };
        Failure::Usage(format!(
            "--monitor: no monitor gives `{}` by itself; there are {known}{more}",
            Printable(name)
        ))
    })
}

fn action(name: &str) -> Result<Reaction, Failure> {
    Reaction::ALL.into_iter().find(|reaction| reaction.name() == name).ok_or_else(|| Failure::Unknown {
        what: "policy",
        found: name.to_owned(),
        known: Reaction::ALL.map(|reaction| reaction.name().to_owned()).to_vec(),
    })
}

/// The policy's own settings, in the order of its registration.
fn settings(reaction: Reaction, said: &[String]) -> Result<Vec<u64>, Failure> {
    let known = reaction.facts().settings;
    let mut values: Vec<u64> = known.iter().map(|setting| setting.default).collect();
    for text in said {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let Some(place) = known.iter().position(|setting| setting.name == name) else {
            return Err(Failure::Unknown {
                what: "setting",
                found: name.to_owned(),
                known: known.iter().map(|setting| setting.name.to_owned()).collect(),
            });
        };
        let bounds = known[place].least..=known[place].most;
        let value = value.parse().ok().filter(|value| bounds.contains(value)).ok_or_else(|| {
            Failure::Usage(format!(
                "--set {name}: expected a number from {} to {}, found `{}`",
                bounds.start(),
                bounds.end(),
                Printable(value)
            ))
        });
        values[place] = value?;
    }
    Ok(values)
}

fn number(option: &str, text: &str) -> Result<Fixed, Failure> {
    Fixed::parse(text).filter(|number| *number >= Fixed::ZERO).ok_or_else(|| {
        Failure::Usage(format!("{option}: expected a number such as 50 or 1.5, found `{}`", Printable(text)))
    })
}

fn duration(option: &str, text: &str) -> Result<Duration, Failure> {
    TIME.parse(text).map(Duration::new).map_err(|_| {
        Failure::Usage(format!(
            "{option}: expected {} such as 10ms, found `{}`; units: {}",
            TIME.name,
            Printable(text),
            TIME.known()
        ))
    })
}

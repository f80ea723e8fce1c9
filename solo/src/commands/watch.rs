//! `solo watch`: counters over time while a program runs.

use crate::cli::{PerChoice, Place, WatchArgs};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::stream::feed::{QUEUE, Said, Spec};
use crate::stream::remote::Remote;
use crate::stream::{Begin, Message, Refused};
use crate::watching::{self, Form, Output};
use crate::{interrupt, output};
use solo_model::Duration;
use solo_model::text::{Printable, counted};
use solo_observe::{EventGroup, Filter, Metric, parse_set};
use solo_perf::files::Host;
use solo_perf::pfm::{Pfm, PfmNames};
use solo_perf::resolve::SysfsNames;
use solo_scenario::units;
use solo_watch::Columns;
use solo_watch::rights::Rights;
use solo_watch::{Modules, Per, Reason, Sink, Target, WatchError, WatchOptions, WatchOutcome};
use std::io::ErrorKind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

impl Place {
    /// The other machine, where there is one.
    pub(crate) fn remote(&self) -> Option<Remote> {
        let host = self.remote.clone()?;
        Some(Remote { host, program: self.remote_program.clone() })
    }
}

/// Runs `solo watch`: the program's own status; 2 bad input, 3 this machine cannot, 130 interrupted.
pub(crate) fn run(args: &WatchArgs) -> Result<Exit, Failure> {
    attempt(args).map(Exit::of_program).map_err(Failure::watch)
}

/// How long to wait for more of what a program printed on another machine.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(500);

type Failed = (Exit, String);

fn bad(message: impl ToString) -> Failed {
    (Exit::BadInput, message.to_string())
}

fn attempt(args: &WatchArgs) -> Result<u8, Failed> {
    if let Some(remote) = args.place.remote() {
        return elsewhere(args, remote);
    }
    let host = Host::new();
    let (target, mut options, modules) = match prepare(args, &host) {
        Err((exit, message)) if args.format == Form::Stream => {
            let refused = Refused { exit: exit.code(), message: message.clone() };
            let line = serde_json::to_string(&Message::Refused(refused)).unwrap_or_default();
            let _ = output::text(&format!("{line}\n"));
            return Err((exit, message));
        }
        prepared => prepared?,
    };
    let begin = Begin::new(&target, &options);
    let mut writer = watching::Writer::create(&args.output(), begin).map_err(bad)?;
    if args.aggregate {
        writer.aggregate(options.metrics.clone(), modules.levels());
    }
    interrupt::at_last(solo_watch::follow::killer());
    options.rights = args.output().rights();
    let watched = solo_watch::watch(&target, &options, modules, &host, &interrupt::flag(), &mut writer);
    if options.rights == Rights::LeastAndWriting
        && let Err(error) = solo_watch::rights::take_up()
    {
        eprintln!(
            "note: the right to write in others' folders did not come back: {}",
            solo_store::system_reason(&error)
        );
    }
    let outcome = match watched {
        Ok(outcome) => outcome,
        Err(error) => {
            let exit = exit_of(&error);
            writer.refuse(exit.code(), &error.to_string());
            return Err((exit, error.to_string()));
        }
    };
    conclude(args, writer, outcome)
}

/// Everything that can be wrong before anything starts.
fn prepare(args: &WatchArgs, host: &Host) -> Result<(Target, WatchOptions, Modules), Failed> {
    let (target, options) = understand(args, host)?;
    let mut modules = Modules::none();
    for name in &args.what.modules {
        let (module, maker) = watching::module(name, host).map_err(bad)?;
        modules.add_made(module, maker);
    }
    Ok((target, options, modules))
}

impl WatchArgs {
    fn output(&self) -> Output {
        Output {
            form: self.format,
            file: self.output.clone(),
            folder: self.out.clone(),
            etime: self.etime,
            legacy: self.legacy,
            times: self.times,
            silent: self.json,
            elsewhere: self.place.remote.is_some(),
        }
    }
}

/// Watches on another machine and writes the rows here, as if it had been here.
fn elsewhere(args: &WatchArgs, remote: Remote) -> Result<u8, Failed> {
    let spec = Spec { remote: Some(remote), arguments: args.arguments() };
    let mut relay = Relay::new(args);
    let (to, from) = sync_channel(QUEUE);
    let cannot = |error: std::io::Error| {
        (Exit::Cannot, format!("cannot start ssh: {}", solo_store::system_reason(&error)))
    };
    let mut running = spec.start(0, &to).map_err(cannot)?;
    drop(to);
    loop {
        match from.recv_timeout(std::time::Duration::from_millis(50)) {
            Ok((_, said)) => {
                if let Some((writer, outcome)) = relay.take(said)? {
                    running.ask_to_end();
                    // What the program printed last may still be on its way; a child of it that lives on may keep
                    // standard error open for good.
                    while let Ok((_, Said::Line(line))) = from.recv_timeout(LAST_WORDS) {
                        eprintln!("{line}");
                    }
                    drop((from, running));
                    return conclude(args, writer, outcome);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err((Exit::Cannot, "the watch ended without a word".into()));
            }
        }
        if interrupt::requested() {
            running.ask_to_end();
        }
    }
}

/// Hands the rows of a stream to a writer.
struct Relay {
    output: Output,
    columns: Columns,
    /// The metrics of sums, where only those are wanted.
    aggregate: Option<Vec<Metric>>,
    writer: Option<watching::Writer>,
    refusal: Option<std::io::Error>,
}

impl Relay {
    fn new(args: &WatchArgs) -> Self {
        let metrics = || args.what.metrics.iter().filter_map(|text| Metric::parse(text).ok()).collect();
        let aggregate = args.aggregate.then(metrics);
        Self { output: args.output(), columns: Columns::default(), aggregate, writer: None, refusal: None }
    }

    /// The writer and the outcome once all is over.
    fn take(&mut self, said: Said) -> Result<Option<(watching::Writer, WatchOutcome)>, Failed> {
        let message = match said {
            Said::Message(message) => message,
            Said::Line(line) => {
                eprintln!("{line}");
                return Ok(None);
            }
            Said::Broken(why) => return Err((Exit::Cannot, why)),
        };
        match message {
            Message::Begin(begin) => {
                self.columns = begin.columns();
                let mut writer = watching::Writer::create(&self.output, begin).map_err(bad)?;
                if let Some(metrics) = &self.aggregate {
                    // What another machine's virtual counters mean, its names alone say: their last value stands.
                    writer.aggregate(metrics.clone(), Vec::new());
                }
                self.refusal = writer.begin(&self.columns).err();
                self.writer = Some(writer);
            }
            Message::Name(name) => self.write(|writer| writer.told(&name)),
            Message::Row(row) => {
                let row =
                    row.read(&self.columns).ok_or_else(|| bad("a row from the other machine is none"))?;
                self.write(|writer| writer.row(&row));
            }
            Message::Tick(tick) => self.write(|writer| writer.tick(&tick.doubts.doubts())),
            Message::Refused(refused) => {
                let exit = if refused.exit == Exit::Cannot.code() { Exit::Cannot } else { Exit::BadInput };
                return Err((exit, refused.message));
            }
            Message::End(summary) => {
                let mut outcome = summary.outcome(std::mem::take(&mut self.columns));
                outcome.output_error = self.refusal.take();
                return Ok(self.writer.take().map(|writer| (writer, outcome)));
            }
        }
        Ok(None)
    }

    /// What can't be written here does not end the program there.
    fn write(&mut self, write: impl FnOnce(&mut watching::Writer) -> std::io::Result<()>) {
        if let (None, Some(writer)) = (&self.refusal, &mut self.writer) {
            self.refusal = write(writer).err();
        }
    }
}

/// Completes the output and says how it went.
fn conclude(args: &WatchArgs, writer: watching::Writer, outcome: WatchOutcome) -> Result<u8, Failed> {
    let gone = |error: &std::io::Error| error.kind() == ErrorKind::BrokenPipe;
    if let Some(error) = &outcome.output_error {
        if !gone(error) {
            let left = writer.abandon();
            return Err(bad(format!(
                "cannot write the rows: {}; written: {}{left}",
                solo_store::system_reason(error),
                counted(outcome.doubts.rows, "row")
            )));
        }
        writer.discard();
        eprintln!("note: whoever read the rows is gone after {} of them", outcome.doubts.rows);
        return Ok(status(&outcome));
    }
    match writer.finish(&outcome) {
        Err(error) if !gone(&error) => {
            return Err(bad(format!("cannot write the rows: {}", solo_store::system_reason(&error))));
        }
        _ => {}
    }
    if args.json {
        match output::json(Document::Watch, &watching::Summary::of(&outcome)) {
            Err(Failure::Output(error)) if gone(&error) => {}
            other => other.map_err(bad)?,
        }
    }
    Ok(status(&outcome))
}

/// The program's own status where it ended by itself.
fn status(outcome: &WatchOutcome) -> u8 {
    match outcome.reason {
        Reason::Interrupted => Exit::Interrupted.code(),
        Reason::Rows | Reason::Samples | Reason::Time => Exit::Held.code(),
        Reason::Ended | Reason::Output => outcome.program.map_or(0, solo_watch::follow::Ended::code),
    }
}

fn exit_of(error: &WatchError) -> Exit {
    match error {
        WatchError::Refused { .. } | WatchError::System { .. } => Exit::Cannot,
        _ => Exit::BadInput,
    }
}

fn understand(args: &WatchArgs, host: &Host) -> Result<(Target, WatchOptions), Failed> {
    let default = ["page-faults,context-switches".to_owned()];
    let events = if args.what.events.is_empty() { &default[..] } else { &args.what.events };
    let sets = events.iter().map(|text| event_set("-e", text, host)).collect::<Result<Vec<_>, _>>()?;
    let metric = |text: &String| {
        let shown: String = text.chars().take(80).collect();
        Metric::parse(text).map_err(|error| bad(format!("--metric {}: {error}", Printable(&shown))))
    };
    let metrics = args.what.metrics.iter().map(metric).collect::<Result<Vec<_>, _>>()?;
    let sampled = sets.iter().any(|set| set.sampled().is_some());
    let every = match &args.what.every {
        Some(text) => Some(time("--every", text)?),
        None if sampled => None,
        None => Some(Duration::from_millis(100)),
    };
    let target = match (args.pid, args.command.is_empty()) {
        (Some(process), _) => Target::Process(process),
        (None, false) => Target::Command(args.command.clone()),
        (None, true) if args.all => Target::Machine,
        (None, true) => {
            return Err(bad("expected a program, --pid or --all: solo watch -e page-faults -- make"));
        }
    };
    let per = match (args.per, args.all) {
        (Some(PerChoice::Core), _) | (None, true) => Per::Core,
        (Some(PerChoice::Process), false) => Per::Process,
        (Some(PerChoice::Thread), true) if args.command.is_empty() => Per::Thread,
        (Some(PerChoice::Thread) | None, false) => Per::Thread,
        (Some(_), true) => return Err(bad("--all is per core, or without a program per thread")),
    };
    let options = WatchOptions {
        sets,
        metrics,
        per,
        every,
        rows_max: args.rows,
        samples_max: args.samples,
        time_max: args.time.as_ref().map(|text| time("--time", text)).transpose()?,
        filter: if args.what.user { Filter::USER } else { Filter::ALL },
        cpus: args.cpus.clone(),
        adopt: true,
        rights: Rights::Least,
    };
    Ok((target, options))
}

/// Reads the event set of an option with all names that this machine knows.
pub(crate) fn event_set(option: &str, text: &str, host: &Host) -> Result<EventGroup, Failed> {
    let resolver = solo_perf::resolve::Resolver::new(host);
    let names = PfmNames { first: SysfsNames(host), pfm: Pfm::get().ok(), files: host };
    parse_set(text, &names, resolver.layout())
        .map_err(|error| bad(format!("{option} {}: {}", Printable(text), Printable(error))))
}

fn time(option: &str, text: &str) -> Result<Duration, Failed> {
    let parsed = units::TIME.parse(text);
    parsed.map(Duration::new).map_err(|_| {
        bad(format!(
            "{option}: expected {} such as 100ms, found `{text}`; units: {}",
            units::TIME.name,
            units::TIME.known()
        ))
    })
}

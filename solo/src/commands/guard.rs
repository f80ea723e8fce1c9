//! `solo guard`: budgets of events held on CPUs of this Linux.

mod answer;
mod back_end;
mod control;
mod program;
mod wishes;

use crate::cli::{GuardArgs, GuardVerb, HoldArgs, SetArgs, State};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::service::Service;
use crate::{interrupt, output, rights};
use answer::Answer;
pub(crate) use answer::{Put, fates};
use back_end::Keeper;
use control::{Listener, Refusal};
use program::Program;
use solo_guard::occupier::{Budgets, Live, OccupierError, hold};
use solo_guard::{Guard, GuardError, Machine, Restored, Setting, restore};
use solo_model::isolation::Budget;
use solo_model::text::{Printable, counted};
use solo_model::{CoreId, Events};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use wishes::Wishes;

/// Runs `solo guard`: 0 where every budget was held, 1 where one was not, 2 bad input, 3 this machine cannot; the status of a
/// program that failed.
pub(crate) fn run(args: &GuardArgs) -> Result<Exit, Failure> {
    match &args.verb {
        Some(GuardVerb::Set(options)) => set(options),
        None if args.hold.restore => put_back(&args.hold),
        None => held(&args.hold),
    }
}

impl State {
    /// The folder, and what it is for nobody else.
    fn folder(&self) -> Result<PathBuf, Failure> {
        state_folder(self.state.as_deref(), "solo-guard")
    }
}

/// The folder of a journal of changes: the one that was said, or the one of this name among those of the running system.
pub(crate) fn state_folder(said: Option<&Path>, name: &str) -> Result<PathBuf, Failure> {
    if let Some(folder) = said {
        return Ok(folder.to_owned());
    }
    if rustix::process::geteuid().is_root() {
        return Ok(Path::new("/run").join(name));
    }
    let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    own.map(|folder| Path::new(&folder).join(name)).ok_or_else(|| {
        Failure::Usage(
            "there is no $XDG_RUNTIME_DIR: say where the journal of changes may lie, with --state DIR"
                .to_owned(),
        )
    })
}

pub(crate) fn cannot(error: &GuardError) -> Failure {
    Failure::Guard { exit: Exit::Cannot, message: Printable(error).to_string() }
}

pub(crate) fn machine() -> Result<Machine, Failure> {
    Ok(Machine::below(Path::new("/"))?)
}

/// `solo guard --restore`.
fn put_back(options: &HoldArgs) -> Result<Exit, Failure> {
    let restored = restore(&options.state.folder()?, machine()?).map_err(|error| cannot(&error))?;
    output::text(&fates(&restored))?;
    Ok(if restored.is_whole() { Exit::Held } else { Exit::NotHeld })
}

/// `solo guard set`.
fn set(options: &SetArgs) -> Result<Exit, Failure> {
    let folder = options.state.folder()?;
    for text in &options.budgets {
        let (core, events) = wishes::budget(text)?;
        match control::ask(&folder, core, events) {
            Ok(()) if options.quiet => {}
            Ok(()) => eprintln!("{core} has {} from its next period on", counted(events, "event")),
            Err(Refusal::Refused(why)) => {
                return Err(Failure::Guard { exit: Exit::BadInput, message: Printable(why).to_string() });
            }
            Err(Refusal::Nobody(error)) => {
                let why = solo_store::system_reason(&error);
                let message = format!("no guard answers at {}: {why}", Printable(folder.display()));
                return Err(Failure::Guard { exit: Exit::Cannot, message });
            }
        }
    }
    Ok(Exit::Held)
}

/// What of the system is changed, with the value that is written.
fn settings(budgets: &Budgets) -> Vec<(Setting, &'static str)> {
    let fair = budgets.cores().into_iter().map(|core| (Setting::FairServer { cpu: core.0 }, "0"));
    std::iter::once((Setting::RealTimeRuntime, "-1")).chain(fair).collect()
}

/// `solo guard [SCENARIO] [-- COMMAND]`.
fn held(options: &HoldArgs) -> Result<Exit, Failure> {
    let wishes = Wishes::understand(options)?;
    let changes = if options.all_real_time { settings(&wishes.budgets) } else { Vec::new() };
    if options.dry_run {
        let keeper = back_end::foreseen(options.back_end);
        output::text(&answer::dry(&wishes, &changes, &machine()?, &keeper))?;
        return Ok(Exit::Held);
    }
    let folder = options.state.folder()?;
    let (mut guard, left) = Guard::start(&folder, machine()?).map_err(|error| cannot(&error))?;
    if !left.settings.is_empty() && !options.show.quiet {
        eprint!("{}", fates(&left));
    }
    let listener = Listener::bind(&folder)?;
    let mut doubts = Vec::new();
    for (setting, value) in &changes {
        if let Err(error) = guard.change(setting, value) {
            doubts.push(Printable(error).to_string());
        }
    }
    // A scheduler is not attached for what can't be held anyway.
    wishes.budgets.validate().map_err(|refusal| Failure::Usage(refusal.to_string()))?;
    let keeper = Keeper::choose(options.back_end)?;
    let mut session = Session::new(&wishes, options, listener, &keeper);
    let outcome = hold(&wishes.budgets, keeper.gate(), &rights::give_up, &mut |live| session.attend(live));
    let status = session.end();
    let restored = guard.undo();
    doubts.extend(keeper.ejected().map(|ejected| Printable(ejected).to_string()));
    let held = outcome.map_err(|error| match error {
        OccupierError::Refused(_) => Failure::Usage(error.to_string()),
        other => Failure::Guard { exit: Exit::Cannot, message: Printable(other).to_string() },
    })?;
    let status = status?;
    let answer = Answer::of(&wishes, &held, &restored, &keeper, doubts);
    show(&answer, &restored, options)?;
    Ok(match status {
        Some(code) if code != 0 => Exit::of_program(code),
        _ if interrupt::requested() => Exit::Interrupted,
        _ if answer.held && restored.is_whole() => Exit::Held,
        _ => Exit::NotHeld,
    })
}

fn show(answer: &Answer, restored: &Restored, options: &HoldArgs) -> Result<(), Failure> {
    if options.show.json {
        return output::json(Document::Guard, answer);
    }
    let mut text = answer.text(output::style());
    if !restored.settings.is_empty() {
        text += &fates(restored);
    }
    output::text(&text)
}

/// What goes on beside the occupiers: the program, the time, and who wants other budgets.
struct Session<'o> {
    wishes: &'o Wishes,
    options: &'o HoldArgs,
    listener: Listener,
    keeper: &'o Keeper,
    program: Result<Option<Program>, Failure>,
    /// From the first period on.
    service: Option<Service>,
}

impl<'o> Session<'o> {
    fn new(wishes: &'o Wishes, options: &'o HoldArgs, listener: Listener, keeper: &'o Keeper) -> Self {
        Self { wishes, options, listener, keeper, program: Ok(None), service: None }
    }

    fn attend(&mut self, live: &Live<'_>) -> ControlFlow<()> {
        if let Some(service) = &mut self.service {
            service.alive();
        } else {
            self.service = Some(Service::ready());
            if !self.options.show.quiet {
                let (cores, event) = (self.wishes.cores(), &self.wishes.event);
                eprintln!("{cores} held: {event} (back end {})", self.keeper.name());
                if let Some(why) = self.keeper.why_not_idle() {
                    eprintln!("note: {why}");
                }
            }
            self.program = Program::start(&self.options.command);
        }
        let ended = match &mut self.program {
            Ok(Some(program)) => program.has_ended(),
            Ok(None) => false,
            Err(_) => true,
        };
        let late = self.wishes.time.is_some_and(|time| live.since >= time);
        if ended || late || interrupt::requested() || self.keeper.ejected().is_some() {
            return ControlFlow::Break(());
        }
        self.listener.attend(&mut |core, events| self.wishes.allow(live, core, events));
        ControlFlow::Continue(())
    }

    /// Ends the program, where it has not ended by itself; its status where it has.
    fn end(self) -> Result<Option<u8>, Failure> {
        Ok(self.program?.and_then(Program::end))
    }
}

impl Wishes {
    /// Who is held, for people.
    fn cores(&self) -> String {
        let cores = self.budgets.cores();
        let listed = cores.iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(", ");
        if cores.len() == 1 { format!("CPU {listed} is") } else { format!("CPUs {listed} are") }
    }

    fn allow(&self, live: &Live<'_>, core: CoreId, events: u64) -> Result<(), String> {
        match live.allow(core, Budget::Events(Events::new(events))) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("{core} has no budget: {} held", self.cores())),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

//! `solo guard`: budgets of events held on CPUs of this Linux.

mod answer;
mod back_end;
mod control;
mod groups;
mod interrupts;
mod live;
mod minder;
mod program;
mod who;
mod wishes;

use crate::cli::{GuardArgs, GuardVerb, HoldArgs, SetArgs, State};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::service::Service;
use crate::{interrupt, output, rights};
use answer::{Answer, Both};
pub(crate) use answer::{Put, fates};
use back_end::Keeper;
use control::{Listener, Refusal};
use groups::Desk;
use live::Board;
use minder::Minder;
use program::Program;
use solo_guard::groups::{GroupBudgets, GroupError, GroupsHeld};
use solo_guard::occupier::{Budgets, Held, Live, OccupierError, hold};
use solo_guard::{Group, Guard, GuardError, Machine, Restored, Setting, restore};
use solo_model::isolation::Budget;
use solo_model::text::{Printable, counted};
use solo_model::{CoreId, Duration, Events};
use solo_perf::files::Host;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use who::Who;
use wishes::Wishes;

/// How often the program and whoever asks are attended to, where no CPU is held.
const EACH: std::time::Duration = std::time::Duration::from_millis(20);

/// Runs `solo guard`: 0 where every budget was held, 1 where one was not, 2 bad input, 3 this machine cannot; the status of a
/// program that failed.
pub(crate) fn run(args: &GuardArgs) -> Result<Exit, Failure> {
    match &args.verb {
        Some(GuardVerb::Set(options)) => set(options),
        Some(GuardVerb::Mind(options)) => minder::mind(options),
        Some(GuardVerb::Enter(options)) => Err(program::enter(options)),
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
        let (who, events) = Who::with_budget(text)?;
        match control::ask(&folder, &who, events) {
            Ok(()) if options.quiet => {}
            Ok(()) => {
                let who = if let Who::Cpu(core) = &who { core.to_string() } else { who.to_string() };
                eprintln!("{} has {} from its next period on", Printable(who), counted(events, "event"));
            }
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
fn settings(options: &HoldArgs, budgets: &Budgets) -> Result<Vec<(Setting, String)>, Failure> {
    let cores = budgets.cores();
    let mut changes = Vec::new();
    if options.all_real_time {
        changes.push((Setting::RealTimeRuntime, "-1".to_owned()));
        changes.extend(cores.iter().map(|core| (Setting::FairServer { cpu: core.0 }, "0".to_owned())));
    }
    if options.no_interrupts {
        let held: Vec<u16> = cores.iter().map(|core| core.0).collect();
        changes.extend(interrupts::elsewhere(&Host::new(), &held).map_err(Failure::Usage)?);
    }
    Ok(changes)
}

/// `solo guard [SCENARIO] [-- COMMAND]`.
fn held(options: &HoldArgs) -> Result<Exit, Failure> {
    let wishes = Wishes::understand(options)?;
    let changes = settings(options, &wishes.budgets)?;
    if options.dry_run {
        return rehearse(options, &wishes, &changes);
    }
    let folder = options.state.folder()?;
    let (mut guard, left) = Guard::start(&folder, machine()?).map_err(|error| cannot(&error))?;
    if !left.settings.is_empty() && !options.show.quiet {
        eprint!("{}", fates(&left));
    }
    let listener = Listener::bind(&folder)?;
    let mut doubts = change(&mut guard, &changes);
    // A scheduler is not attached for what can't be held anyway.
    if wishes.holds_cpus() {
        wishes.budgets.validate().map_err(|refusal| Failure::Usage(refusal.to_string()))?;
    }
    let keeper = if wishes.holds_cpus() { Some(Keeper::choose(options.back_end)?) } else { None };
    let has_group = wishes.groups.members.contains(&Who::Program);
    let program = has_group.then(|| program_group(&mut guard)).transpose().map_err(|error| cannot(&error))?;
    let groups = wishes.groups.budgets(&wishes.budgets.event, program.as_ref());
    let minder = groups.as_ref().map(|_| Minder::start(&folder)).transpose()?;
    let folder_of = |group: &Group| machine().ok()?.folder(group).ok().map(|dir| dir.path().to_owned());
    let desk = Desk::new();
    let at_work = AtWork {
        groups: groups.as_ref(),
        desk: &desk,
        program: program.as_ref(),
        place: program.as_ref().and_then(folder_of),
    };
    let board = Board::make(&folder, &wishes.names())?;
    let mut session = Session::new(&wishes, options, (listener, board), keeper.as_ref(), at_work);
    let mut guard = Some(guard);
    let (outcome, status, grouped) = std::thread::scope(|scope| {
        let work = groups.as_ref().zip(minder.as_ref());
        // This thread gives its rights up; a cgroup is taken away by one that has them.
        let warden =
            work.and_then(|work| Some((work, guard.take()?))).map(|((budgets, minder), mut guard)| {
                let desk = &desk;
                scope.spawn(move || {
                    let held = desk.work(budgets, &mut guard, minder);
                    desk.wait_for_leave();
                    (held, guard.undo())
                })
            });
        let leaving = desk.leaving();
        let outcome = (warden.is_none() || desk.is_at_work()).then(|| session.hold());
        desk.stop();
        let status = session.end();
        drop(leaving);
        (outcome, status, warden.map(std::thread::ScopedJoinHandle::join))
    });
    let (grouped, restored) = match grouped {
        Some(joined) => undone(joined)?,
        None => (None, guard.take().map(Guard::undo).unwrap_or_default()),
    };
    minder.into_iter().for_each(Minder::end);
    doubts.extend(keeper.as_ref().and_then(Keeper::ejected).map(|ejected| Printable(ejected).to_string()));
    let groups = grouped.map(grouped_held).transpose()?;
    let cpus = outcome.transpose().map_err(occupied)?.flatten();
    let (status, held) = (status?, Both { cpus, groups });
    let answer = Answer::of(&wishes, &held, &restored, keeper.as_ref(), doubts);
    show(&answer, &restored, options)?;
    Ok(match status {
        Some(code) if code != 0 => Exit::of_program(code),
        _ if interrupt::requested() => Exit::Interrupted,
        _ if answer.held && restored.is_whole() => Exit::Held,
        _ => Exit::NotHeld,
    })
}

/// What would be done.
fn rehearse(options: &HoldArgs, wishes: &Wishes, changes: &[(Setting, String)]) -> Result<Exit, Failure> {
    let cpus = wishes.holds_cpus().then(|| back_end::foreseen(options.back_end));
    let groups = (!wishes.groups.members.is_empty()).then(|| "freezer".to_owned());
    let back_ends: Vec<String> = cpus.into_iter().chain(groups).collect();
    output::text(&answer::dry(wishes, changes, &machine()?, &back_ends.join(", ")))?;
    Ok(Exit::Held)
}

/// Changes settings; returns what there is to say where that failed.
fn change(guard: &mut Guard<Machine>, changes: &[(Setting, String)]) -> Vec<String> {
    let (mut doubts, mut kept) = (Vec::new(), Vec::new());
    for (setting, value) in changes {
        match (guard.change(setting, value), setting) {
            (Ok(()), _) => {}
            // Those of a single CPU, for example: there may be dozens.
            (Err(_), Setting::Interrupt { number }) => kept.push(number.to_string()),
            (Err(error), _) => doubts.push(Printable(error).to_string()),
        }
    }
    if !kept.is_empty() {
        let which = kept.join(", ");
        doubts.push(format!("the kernel does not let these interrupts go to other CPUs: {which}"));
    }
    doubts
}

/// Why CPUs were not held.
fn occupied(error: OccupierError) -> Failure {
    match error {
        OccupierError::Refused(_) => Failure::Usage(error.to_string()),
        other => Failure::Guard { exit: Exit::Cannot, message: Printable(other).to_string() },
    }
}

/// A cgroup for the program, in the one that the guard is in.
fn program_group(guard: &mut Guard<Machine>) -> Result<Group, GuardError> {
    let above = guard.machine().group_of(std::process::id()).unwrap_or_default();
    let name = format!("solo-guard-{}", std::process::id());
    let group = above.below(&name).unwrap_or_default();
    guard.change(&Setting::Folder { group: group.clone() }, Setting::THERE)?;
    Ok(group)
}

type Grouped = Result<GroupsHeld, GroupError>;

/// What the thread that held groups has left.
fn undone(joined: std::thread::Result<(Grouped, Restored)>) -> Result<(Option<Grouped>, Restored), Failure> {
    let panicked = |_| Failure::Guard {
        exit: Exit::Cannot,
        message: "the thread that holds groups panicked; what it had changed was put back".to_owned(),
    };
    joined.map(|(held, restored)| (Some(held), restored)).map_err(panicked)
}

/// What came of groups, where they were held.
fn grouped_held(held: Grouped) -> Result<GroupsHeld, Failure> {
    held.map_err(|error| match error {
        GroupError::Refused(refusal) => Failure::Usage(refusal.to_string()),
        GroupError::Root | GroupError::Own { .. } => Failure::Usage(Printable(error).to_string()),
        GroupError::Group { group, source } if source.is_not_found() => Failure::Usage(format!(
            "there is no cgroup /{}; `ls /sys/fs/cgroup` lists those at the top",
            Printable(String::from(group))
        )),
        other => Failure::Guard { exit: Exit::Cannot, message: Printable(other).to_string() },
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

/// What is held of groups, and who holds it.
struct AtWork<'o> {
    groups: Option<&'o GroupBudgets>,
    desk: &'o Desk,
    /// The program's, and where it is.
    program: Option<&'o Group>,
    place: Option<PathBuf>,
}

/// What goes on beside those who hold budgets: the program, the time, and who wants other budgets.
struct Session<'o> {
    wishes: &'o Wishes,
    options: &'o HoldArgs,
    listener: Listener,
    /// Where watches read how far budgets have come.
    board: Board,
    /// Where CPUs are held.
    keeper: Option<&'o Keeper>,
    at_work: AtWork<'o>,
    program: Result<Option<Program>, Failure>,
    /// From the first period on.
    service: Option<Service>,
}

impl<'o> Session<'o> {
    fn new(
        wishes: &'o Wishes,
        options: &'o HoldArgs,
        (listener, board): (Listener, Board),
        keeper: Option<&'o Keeper>,
        at_work: AtWork<'o>,
    ) -> Self {
        Self { wishes, options, listener, board, keeper, at_work, program: Ok(None), service: None }
    }

    /// Holds the budgets of CPUs, where there are any, and attends to everybody until the end.
    fn hold(&mut self) -> Result<Option<Held>, OccupierError> {
        if let Some(keeper) = self.keeper {
            let budgets = &self.wishes.budgets;
            return hold(budgets, keeper.gate(), &rights::give_up, &mut |live| {
                self.attend(live.since, Some(live))
            })
            .map(Some);
        }
        rights::give_up();
        let begun = std::time::Instant::now();
        while self.attend(Duration::new(begun.elapsed().as_nanos() as u64), None).is_continue() {
            std::thread::sleep(EACH);
        }
        Ok(None)
    }

    fn attend(&mut self, since: Duration, live: Option<&Live<'_>>) -> ControlFlow<()> {
        if let Some(service) = &mut self.service {
            service.alive();
        } else {
            self.service = Some(Service::ready());
            self.announce();
            self.program = Program::start(&self.options.command, self.at_work.place.as_deref());
        }
        let ended = match &mut self.program {
            Ok(Some(program)) => program.has_ended(),
            Ok(None) => false,
            Err(_) => true,
        };
        let late = self.wishes.time.is_some_and(|time| since >= time);
        let let_go = self.at_work.groups.is_some() && self.at_work.desk.has_ended();
        let ejected = self.keeper.is_some_and(|keeper| keeper.ejected().is_some());
        if ended || late || let_go || ejected || interrupt::requested() {
            return ControlFlow::Break(());
        }
        let Self { listener, wishes, at_work, board, .. } = self;
        let cores = wishes.budgets.cores().into_iter();
        let cpus = cores.filter_map(|core| live.and_then(|live| live.progress(core)));
        board.write(cpus.chain(at_work.desk.progress()));
        listener.attend(&mut |who, events| match (who, live) {
            (Who::Cpu(core), Some(live)) => wishes.allow(live, core, events),
            (Who::Cpu(core), None) => Err(format!("{core} has no budget: {} held", wishes.whom())),
            (Who::Group(group), _) => at_work.desk.allow(&group, events),
            (Who::Program, _) => match at_work.program {
                Some(group) => at_work.desk.allow(group, events),
                None => Err("the program has no budget".to_owned()),
            },
        });
        ControlFlow::Continue(())
    }

    /// Says that budgets are held, to people.
    fn announce(&self) {
        if self.options.show.quiet {
            return;
        }
        let (whom, event) = (self.wishes.whom(), &self.wishes.event);
        let back_end = answer::back_end(self.keeper, self.at_work.groups.is_some());
        eprintln!("{whom} held: {event} (back end {back_end})");
        if let Some(why) = self.keeper.and_then(Keeper::why_not_idle) {
            eprintln!("note: {why}");
        }
    }

    /// Ends the program, where it has not ended by itself; its status where it has.
    fn end(self) -> Result<Option<u8>, Failure> {
        Ok(self.program?.and_then(Program::end))
    }
}

impl Wishes {
    /// Whether CPUs have budgets.
    fn holds_cpus(&self) -> bool {
        !self.budgets.regulation.cores.is_empty()
    }

    /// A name for the files of each: of CPUs, ascending, then of groups.
    fn names(&self) -> Vec<String> {
        let cpus = self.budgets.cores().into_iter().map(|core| format!("cpu{}", core.0));
        let group = |(number, who): (usize, &Who)| match who {
            Who::Program => "program".to_owned(),
            other => {
                let name: String = other
                    .to_string()
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                    .collect();
                format!("group{number}{}", name.chars().take(60).collect::<String>())
            }
        };
        cpus.chain(self.groups.members.iter().enumerate().map(group)).collect()
    }

    /// Who is held, for people.
    fn whom(&self) -> String {
        let cores = self.budgets.cores();
        let listed = cores.iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(", ");
        let cpus = match cores.len() {
            0 => None,
            1 => Some(format!("CPU {listed}")),
            _ => Some(format!("CPUs {listed}")),
        };
        let groups = self.groups.members.iter().map(|who| Printable(who).to_string());
        let all: Vec<String> = cpus.into_iter().chain(groups).collect();
        let several = cores.len() + self.groups.members.len() > 1;
        format!("{} {}", all.join(", "), if several { "are" } else { "is" })
    }

    fn allow(&self, live: &Live<'_>, core: CoreId, events: u64) -> Result<(), String> {
        match live.allow(core, Budget::Events(Events::new(events))) {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("{core} has no budget: {} held", self.whom())),
            Err(refusal) => Err(refusal.to_string()),
        }
    }
}

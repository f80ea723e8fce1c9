//! `solo guard`: budgets of events held on CPUs of this Linux.

mod answer;
mod back_end;
mod control;
mod groups;
mod interrupts;
mod limits;
mod live;
pub(super) mod minder;
mod program;
mod who;
mod wishes;

use crate::cli::{BackEnd, GuardArgs, GuardVerb, HoldArgs, SetArgs, State};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::service::Service;
use crate::{interrupt, output, rights};
use answer::{Answer, Both};
pub(crate) use answer::{Put, fates};
use back_end::Keeper;
use control::{Listener, Refusal};
use groups::GroupHandle;
use live::Board;
use minder::{Minder, Silence};
use program::Program;
use solo_guard::groups::GroupsHeld;
use solo_guard::occupier::{Budgets, Held, Live, OccupierError, Progress, hold};
use solo_guard::{Group, Guard, GuardError, Machine, Restored, Setting, restore_and};
use solo_model::isolation::Budget;
use solo_model::text::{Printable, counted};
use solo_model::{CoreId, Duration, Events};
use solo_perf::files::Host;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use who::{Member, Who};
use wishes::{GroupWishes, Wishes, not_held};

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
        None if args.hold.back_end == BackEnd::Mba => limits::limit(&args.hold, Path::new("/")),
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

/// How long somebody else may hold the journal before that is told: the minder of one that was killed holds it while it puts back.
pub(super) const HELD: std::time::Duration = std::time::Duration::from_millis(500);

/// Tries again while somebody else holds the journal, for so long.
pub(super) fn while_held<T>(
    patience: std::time::Duration,
    mut attempt: impl FnMut() -> Result<T, GuardError>,
) -> Result<T, GuardError> {
    let begun = std::time::Instant::now();
    loop {
        match attempt() {
            Err(GuardError::Busy { .. }) if begun.elapsed() < patience => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// Puts back what an earlier guard has left in this folder, and takes away what it showed of its budgets, with what became of that.
/// Waits for so long where somebody else holds the journal.
fn restored(
    folder: &Path,
    machine: &Machine,
    patience: std::time::Duration,
) -> Result<(Restored, Result<(), Failure>), GuardError> {
    let mut cleared = Ok(());
    let restored =
        while_held(patience, || restore_and(folder, machine.clone(), || cleared = live::clear(folder)))?;
    Ok((restored, cleared))
}

/// `solo guard --restore`.
fn put_back(options: &HoldArgs) -> Result<Exit, Failure> {
    let (folder, machine) = (options.state.folder()?, machine()?);
    let (restored, cleared) = restored(&folder, &machine, HELD).map_err(|error| cannot(&error))?;
    cleared?;
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
                eprintln!("{} has {} from its next period on", who.name(), counted(events, "event"));
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
        changes.extend(interrupts::elsewhere(&Host::new(), &held)?);
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
    wishes.validate()?;
    let folder = options.state.folder()?;
    let machine = machine()?;
    let started = while_held(HELD, || Guard::start(&folder, machine.clone()));
    let (mut guard, left) = started.map_err(|error| cannot(&error))?;
    if !left.settings.is_empty() && !options.show.quiet {
        eprint!("{}", fates(&left));
    }
    let listener = Listener::bind(&folder)?;
    // Before there is anything to leave behind.
    let minder = minded(&wishes, &changes).map(|silence| Minder::start(&folder, silence)).transpose()?;
    let mut doubts = change(&mut guard, &changes);
    let keeper = wishes.holds_cpus().then(|| Keeper::choose(options.back_end)).transpose()?;
    let board = Board::make(&folder, &wishes.names())?;
    let session = Session::new(&wishes, options, (listener, board), keeper.as_ref());
    let came = match (&wishes.groups, &minder) {
        (Some(groups), Some(minder)) => with_groups(session, groups, guard, minder),
        _ => session.run().map(|ended| (ended, None, guard.undo())),
    };
    // The guard has given the journal back, for which its minder waits.
    minder.into_iter().for_each(Minder::end);
    let (ended, groups, restored) = came?;
    doubts.extend(keeper.as_ref().and_then(Keeper::ejected).map(|ejected| Printable(ejected).to_string()));
    let held = Both { cpus: ended.cpus, groups };
    let answer = Answer::of(&wishes, &held, &restored, keeper.as_ref(), doubts);
    show(&answer, &restored, options)?;
    Ok(match ended.status {
        Some(code) if code != 0 => Exit::of_program(code),
        _ if interrupt::requested() => Exit::Interrupted,
        _ if answer.held && restored.is_whole() => Exit::Held,
        _ => Exit::NotHeld,
    })
}

/// Whether a minder is needed, and for whom: a guard that stands still keeps nobody frozen, and changes nothing more.
fn minded(wishes: &Wishes, changes: &[(Setting, String)]) -> Option<Silence> {
    match wishes.groups {
        Some(_) => Some(Silence::Ended),
        None => (!changes.is_empty()).then_some(Silence::Waited),
    }
}

/// Holds groups, too, by a thread that keeps its rights: whoever attends to the program gives them up, and a cgroup is taken away only
/// after the program in it has ended.
fn with_groups(
    mut session: Session<'_>,
    groups: &GroupWishes,
    mut guard: Guard<Machine>,
    minder: &Minder,
) -> Result<(Ended, Option<GroupsHeld>, Restored), Failure> {
    let program = session.wishes.holds_program().then(|| program_group(&mut guard)).transpose();
    let program = program.map_err(|error| cannot(&error))?;
    let budgets = groups.of(program.as_ref().unwrap_or(&Group::default()));
    let (handle, worker) = groups::sides();
    let (ended, joined) = std::thread::scope(|scope| {
        let work = || (worker.work(&budgets, &mut guard, minder), guard.undo());
        let thread = scope.spawn(work);
        let ended = handle.are_held().then(|| {
            session.groups = Some(GroupsAtWork { handle, program });
            session.run()
        });
        (ended, thread.join())
    });
    let (held, restored) = joined.map_err(|_| Failure::Guard {
        exit: Exit::Cannot,
        message: "the thread that holds groups panicked; what it had changed was put back".to_owned(),
    })?;
    let held = held.map_err(not_held)?;
    Ok((ended.transpose()?.unwrap_or_default(), Some(held), restored))
}

/// What would be done.
fn rehearse(options: &HoldArgs, wishes: &Wishes, changes: &[(Setting, String)]) -> Result<Exit, Failure> {
    let cpus = wishes.holds_cpus().then(|| back_end::foreseen(options.back_end));
    let groups = wishes.groups.as_ref().map(|_| "freezer".to_owned());
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

/// Groups that are held beside.
struct GroupsAtWork {
    handle: GroupHandle,
    /// The program's.
    program: Option<Group>,
}

/// What came of those who hold CPUs, and of the program.
#[derive(Default)]
struct Ended {
    /// Nothing where no CPU had a budget.
    cpus: Option<Held>,
    /// The program's status, where it ended by itself.
    status: Option<u8>,
}

/// What goes on beside those who hold budgets: the program, the time, and who wants other budgets.
struct Session<'o> {
    wishes: &'o Wishes,
    options: &'o HoldArgs,
    listener: Listener,
    /// Where watches read how far budgets have come.
    board: Board<Progress>,
    /// Where CPUs are held.
    keeper: Option<&'o Keeper>,
    groups: Option<GroupsAtWork>,
    program: Result<Option<Program>, Failure>,
    /// From the first period on.
    service: Option<Service>,
}

impl<'o> Session<'o> {
    fn new(
        wishes: &'o Wishes,
        options: &'o HoldArgs,
        (listener, board): (Listener, Board<Progress>),
        keeper: Option<&'o Keeper>,
    ) -> Self {
        Self { wishes, options, listener, board, keeper, groups: None, program: Ok(None), service: None }
    }

    /// Holds the budgets of CPUs, where there are any, and attends to everybody until the end. Groups are let go before the program is
    /// asked to end, which it could not while it is frozen.
    fn run(mut self) -> Result<Ended, Failure> {
        let cpus = self.hold();
        self.groups.iter().for_each(|groups| groups.handle.stop());
        let status =
            std::mem::replace(&mut self.program, Ok(None)).map(|program| program.and_then(Program::end));
        Ok(Ended { cpus: cpus.map_err(occupied)?, status: status? })
    }

    fn hold(&mut self) -> Result<Option<Held>, OccupierError> {
        let Some(keeper) = self.keeper else {
            rights::give_up();
            self.attend_to_groups(Duration::ZERO);
            return Ok(None);
        };
        let (mut since, mut flow) = (Duration::ZERO, ControlFlow::Continue(()));
        let mut needs_rights = true;
        let held = hold(&self.wishes.budgets, keeper.gate(), &rights::keep_counting, &mut |live| {
            since = live.since;
            // Who attends to programs and requests opens no counters.
            if std::mem::take(&mut needs_rights) {
                rights::give_up();
            }
            flow = self.attend(since, Some(live));
            flow
        })?;
        // No CPU is held any more (they went offline), and groups are.
        if flow.is_continue() && self.groups.is_some() {
            self.attend_to_groups(since);
        }
        Ok(Some(held))
    }

    /// Attends to everybody until the end while no CPU is held: from `since` on, after the first period began.
    fn attend_to_groups(&mut self, since: Duration) {
        let begun = std::time::Instant::now();
        let now = || since.saturating_add(Duration::new(begun.elapsed().as_nanos() as u64));
        while self.attend(now(), None).is_continue() {
            std::thread::sleep(EACH);
        }
    }

    fn attend(&mut self, since: Duration, live: Option<&Live<'_>>) -> ControlFlow<()> {
        if let Some(service) = &mut self.service {
            service.alive();
        } else {
            self.service = Some(Service::ready(self.options.show.quiet));
            self.announce();
            let group = self.groups.as_ref().and_then(|groups| groups.program.as_ref());
            self.program = Program::start(&self.options.command, group);
        }
        let ended = match &mut self.program {
            Ok(Some(program)) => program.has_ended(),
            Ok(None) => false,
            Err(_) => true,
        };
        let late = self.wishes.time.is_some_and(|time| since >= time);
        // Groups that were taken away end nothing where CPUs are held.
        let let_go = self.groups.as_mut().is_some_and(|groups| !groups.handle.look()) && live.is_none();
        let ejected = self.keeper.is_some_and(|keeper| keeper.ejected().is_some());
        if ended || late || let_go || ejected || interrupt::requested() {
            return ControlFlow::Break(());
        }
        let Self { listener, wishes, groups, board, .. } = self;
        let cores = wishes.budgets.cores().into_iter();
        let cpus = cores.map(|core| live.and_then(|live| live.progress(core)));
        let of_groups = groups.iter().flat_map(|groups| groups.handle.progress().iter().copied().map(Some));
        board.write(cpus.chain(of_groups));
        listener.attend(&mut |who, events| match who {
            Who::Cpu(core) => allow(wishes, live, core, events),
            Who::Group(member) => {
                let none = || match member {
                    Member::Program => "the program has no budget".to_owned(),
                    Member::Path(_) => format!("{member} has no budget"),
                };
                let groups = groups.as_ref().ok_or_else(none)?;
                groups.handle.allow(member.group(groups.program.as_ref()).ok_or_else(none)?, events)
            }
        });
        ControlFlow::Continue(())
    }

    /// Says that budgets are held, to people.
    fn announce(&self) {
        if self.options.show.quiet {
            return;
        }
        let (whom, event) = (self.wishes.whom(), &self.wishes.event);
        let back_end = answer::back_end(self.keeper, self.groups.is_some());
        eprintln!("{whom} held: {event} (back end {back_end})");
        if let Some(why) = self.keeper.and_then(Keeper::why_not_idle) {
            eprintln!("note: {why}");
        }
    }
}

/// Gives a CPU another budget.
fn allow(wishes: &Wishes, live: Option<&Live<'_>>, core: CoreId, events: u64) -> Result<(), String> {
    let none = || format!("{core} has no budget: {} held", wishes.whom());
    let gone = || match wishes.budgets.cores().contains(&core) {
        true => format!("the budget of {core} is no longer held"),
        false => none(),
    };
    let live = live.ok_or_else(gone)?;
    match live.allow(core, Budget::Events(Events::new(events))) {
        Ok(true) => Ok(()),
        Ok(false) => Err(none()),
        Err(refusal) => Err(refusal.to_string()),
    }
}

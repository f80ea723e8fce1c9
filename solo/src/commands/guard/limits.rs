//! The back end `mba`: limits of memory bandwidth that the processor holds. No policy runs here, and nobody is stopped.

mod answer;
#[cfg(test)]
mod tests;

use super::control::Listener;
use super::live::Board;
use super::minder::{Minder, Silence};
use super::program::Program;
use super::wishes::{duration, regulation_of};
use super::{EACH, HELD, cannot, fates, while_held};
use crate::cli::HoldArgs;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::service::Service;
use crate::{interrupt, output, rights};
use answer::Answer;
use solo_guard::limits::{LimitError, LimitProgress, Plan, Resctrl, limits_of, set};
use solo_guard::{Actuator, Guard, Machine, Restored};
use solo_model::text::Printable;
use solo_model::{Bandwidth, CoreId, Duration};
use solo_scenario::units::RATE;
use std::path::Path;
use std::time::Instant;

/// A way in which limits are written on the command line.
const EXAMPLE: &str = "solo guard --back-end mba --budget 1=800MiB/s";

/// What is to be limited, and how long.
struct Wishes {
    budgets: Vec<(CoreId, Bandwidth)>,
    time: Option<Duration>,
}

/// Runs `solo guard --back-end mba`; `root` is the machine.
pub(super) fn limit(options: &HoldArgs, root: &Path) -> Result<Exit, Failure> {
    let wishes = understand(options)?;
    let resctrl = Resctrl::below(root)?;
    let plan = || Plan::of(&wishes.budgets, &resctrl, std::process::id()).map_err(not_limited);
    if options.dry_run {
        output::text(&answer::dry(&plan()?))?;
        return Ok(Exit::Held);
    }
    resctrl.is_mounted().map_err(not_limited)?;
    let folder = options.state.folder()?;
    let machine = Machine::below(root)?;
    // What an earlier guard has left goes first: its groups have CPUs.
    let started = while_held(HELD, || Guard::start(&folder, machine.clone()));
    let (guard, left) = started.map_err(|error| cannot(&error))?;
    if !left.settings.is_empty() && !options.show.quiet {
        eprint!("{}", fates(&left));
    }
    let plan = plan()?;
    let listener = Listener::bind(&folder)?;
    let board = Board::make(&folder, &names(&plan))?;
    let minder = Minder::start(&folder, Silence::Waited)?;
    let attending = Attending { options, plan: &plan, listener, time: wishes.time };
    let held = hold((&plan, &resctrl), guard, attending, board, &|| minder.alive());
    minder.end();
    let (answer, restored, status) = held?;
    show(&answer, &restored, options)?;
    Ok(match status {
        Some(code) if code != 0 => Exit::of_program(code),
        _ if interrupt::requested() => Exit::Interrupted,
        _ if answer.is_held() && restored.is_whole() => Exit::Held,
        _ => Exit::NotHeld,
    })
}

/// What limits are called where watches read how far they have come.
fn names(plan: &Plan) -> Vec<String> {
    plan.limits().iter().map(|limit| format!("cpu{}", limit.core.0)).collect()
}

/// Sets limits, reads what was counted until the end, and puts everything back. The thread that does so keeps its rights; another one
/// attends to the program.
fn hold<A: Actuator>(
    (plan, resctrl): (&Plan, &Resctrl),
    mut guard: Guard<A>,
    attending: Attending<'_>,
    mut board: Board<LimitProgress>,
    alive: &dyn Fn(),
) -> Result<(Answer, Restored, Option<u8>), Failure> {
    let begun = Instant::now();
    let now = || Duration::new(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut watch = set(plan, resctrl, &mut guard, now()).map_err(not_limited)?;
    let joined = std::thread::scope(|scope| {
        let thread = scope.spawn(|| attending.attend());
        while !thread.is_finished() {
            alive();
            watch.look(now());
            board.write(watch.progress().map(Some));
            std::thread::sleep(EACH);
        }
        thread.join()
    });
    let length = now();
    let (tallies, doubts) = watch.end(length);
    let restored = guard.undo();
    let status = joined.map_err(|_| Failure::Guard {
        exit: Exit::Cannot,
        message: "the thread that attends to the program panicked; what was changed was put back".to_owned(),
    })??;
    Ok((Answer::of(length, &tallies, &doubts, &restored), restored, status))
}

/// What goes on while limits are set: the program, the time, and who wants other budgets.
struct Attending<'o> {
    options: &'o HoldArgs,
    plan: &'o Plan,
    listener: Listener,
    time: Option<Duration>,
}

impl Attending<'_> {
    /// Until the end; returns the program's status, where it ended by itself.
    fn attend(self) -> Result<Option<u8>, Failure> {
        rights::give_up();
        let mut service = Service::ready(self.options.show.quiet);
        if !self.options.show.quiet {
            eprintln!("{}", answer::announce(self.plan));
        }
        let begun = Instant::now();
        let mut program = Program::start(&self.options.command, None)?;
        loop {
            service.alive();
            let ended = program.as_mut().is_some_and(Program::has_ended);
            let late = self.time.is_some_and(|time| begun.elapsed().as_nanos() >= u128::from(time.get()));
            if ended || late || interrupt::requested() {
                return Ok(program.and_then(Program::end));
            }
            self.listener.attend(&mut |_, _| {
                Err("the limits of the back end mba stay as they were set: end this guard, and begin another".to_owned())
            });
            std::thread::sleep(EACH);
        }
    }
}

/// Reads what is wanted; what only an enforcer does is refused.
fn understand(options: &HoldArgs) -> Result<Wishes, Failure> {
    let not_done = |what, mend| Err(not_limited(LimitError::NotDone { what, mend }));
    if options.reclaim.is_some() {
        return not_done("--reclaim", "; the back ends occupier and sched-ext reclaim");
    }
    if options.share.is_some() {
        return not_done("--share", "; the back ends occupier and sched-ext share");
    }
    if let Some(event) = &options.event {
        return Err(Failure::Usage(format!(
            "--event {}: MBA limits bandwidth only, and counts no event; leave it out, or take another back end",
            Printable(event)
        )));
    }
    if options.period.is_some() {
        return not_done("--period", "; the kernel looks once a second");
    }
    if options.all_real_time {
        return not_done("--all-real-time", "; no thread of the guard holds a CPU");
    }
    if options.no_interrupts {
        return not_done("--no-interrupts", "; what interrupts do on a CPU is limited with it");
    }
    let time = options.time.as_deref().map(|text| duration("--time", text)).transpose()?;
    let budgets = match &options.scenario {
        Some(path) => of_scenario(options, path)?,
        None if options.budgets.is_empty() => {
            return Err(Failure::Usage(format!("expected a scenario, or the limit of a CPU: {EXAMPLE}")));
        }
        None => options.budgets.iter().map(|text| with_rate(text)).collect::<Result<_, _>>()?,
    };
    Ok(Wishes { budgets, time })
}

fn of_scenario(options: &HoldArgs, path: &Path) -> Result<Vec<(CoreId, Bandwidth)>, Failure> {
    let (experiment, regulation) = regulation_of(options, path)?;
    let named = |error: LimitError| Failure::Usage(format!("{}: {error}", Printable(path.display())));
    if experiment.listening.is_some() {
        let what = "listening to counters ([scheduler.monitor])";
        return Err(named(LimitError::NotDone { what, mend: "; solo place does" }));
    }
    limits_of(&regulation).map_err(named)
}

/// `1=800MiB/s`.
fn with_rate(text: &str) -> Result<(CoreId, Bandwidth), Failure> {
    let wrong = || {
        Failure::Usage(format!(
            "--budget {}: --back-end mba limits CPUs, by rates such as 1=800MiB/s; units: {}",
            Printable(text),
            RATE.known()
        ))
    };
    let (cpu, rate) = text.split_once('=').ok_or_else(wrong)?;
    let core = CoreId(cpu.trim().parse().map_err(|_| wrong())?);
    if rate.trim().parse::<u64>().is_ok() {
        return Err(not_limited(LimitError::Events(core)));
    }
    Ok((core, Bandwidth::new(RATE.parse(rate).map_err(|_| wrong())?)))
}

/// Why nothing is limited: what was asked for, or this machine.
fn not_limited(error: LimitError) -> Failure {
    match error {
        LimitError::NoCore
        | LimitError::Twice(_)
        | LimitError::Events(_)
        | LimitError::Part(_)
        | LimitError::NotDone { .. }
        | LimitError::TooSmall { .. }
        | LimitError::TooLarge { .. }
        | LimitError::NoCpu(_) => Failure::Usage(error.to_string()),
        other => Failure::Guard { exit: Exit::Cannot, message: Printable(other).to_string() },
    }
}

fn show(answer: &Answer, restored: &Restored, options: &HoldArgs) -> Result<(), Failure> {
    if options.show.json {
        return output::json(Document::Limits, answer);
    }
    output::text(&(answer.text(output::style()) + &fates(restored)))
}

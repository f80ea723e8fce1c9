//! What stood in the way of a plan, for people.

use crate::commands::io::{Names, in_words};
use solo_model::text::counted;
use solo_model::{Direction, Duration};
use solo_plan::{Fault, Full, IoLack, NoPlan, NoRoom, Refused};
use solo_scenario::step_name;

/// What lacked, in a sentence.
pub(super) fn lack(lack: &NoPlan) -> String {
    match lack {
        NoPlan::Processors { asked, cores } => {
            let over = asked.saturating_sub(*cores as u64 * 1_000_000);
            format!(
                "Processor time lacks: tasks ask for {} of {cores} cores, {} of a core too much.",
                share(*asked),
                share(over)
            )
        }
        NoPlan::Colors { needed, there } => format!(
            "Colors of the last-level cache lack: {needed} cores need one of their own, and {there} {} free.",
            if *there == 1 { "is" } else { "are" }
        ),
        NoPlan::Banks { needed, there } => {
            format!("DRAM banks lack: {needed} cores need one of their own, and placement of pages controls {there}.")
        }
        NoPlan::BankMemory { core, needs, holds } => {
            format!("Memory lacks: tasks of {core} touch {needs}, and its part of the DRAM banks holds {holds}.")
        }
        NoPlan::Bandwidth { needed, there } => format!(
            "Memory bandwidth lacks: tasks declare misses of {needed}, {there} can be reserved, {} too little.",
            solo_model::Bandwidth::new(needed.get().saturating_sub(there.get()))
        ),
        NoPlan::NoRoom { task, tried, asked } => no_room(task, tried, *asked),
        NoPlan::Late { name, core, needs, has, memory, .. } => {
            let place = core.map_or(String::new(), |core| format!(" on {core}"));
            let over = Duration::new(needs.get().saturating_sub(has.get()));
            let of_memory = if memory.is_zero() {
                String::new()
            } else {
                format!(", {memory} of it budgets and memory that serves others")
            };
            format!("{name}{place} may need {needs} and has {has}: {over} too much{of_memory}.")
        }
        NoPlan::Outlasts { task, partition, needs, has } => {
            let over = Duration::new(needs.get().saturating_sub(has.get()));
            format!("{task} may end {needs} after the window of {partition} begins, which is {has} long: {over} too late for the slot of its output.")
        }
        NoPlan::Io(lack) => of_io(lack),
        NoPlan::Together(..) => {
            "two tasks on different cores use the same memory, or a cache that nothing divides; from here on they share a core.".to_owned()
        }
        NoPlan::Lock(name) => format!(
            "lock {name:?} is taken on different cores, of which there is no analysis; from here on those that take it share one."
        ),
        NoPlan::Overload { core, cores, asked } => {
            let place = if *cores == 1 { core.to_string() } else { format!("the {cores} cores from {core} on") };
            format!("The tasks of {place} ask for {} of one core: some of their jobs fall behind for ever.", share(*asked))
        }
        NoPlan::Windows { core, partitions, asked } => {
            let names = partitions.join(", ");
            let over = asked.saturating_sub(1_000_000);
            let much = if over > 0 { format!("{} too much", share(over)) } else { "in too many windows".to_owned() };
            format!("Time lacks on {core}: the windows that the deadlines of {names} need ask for {} of it, {much}.", share(*asked))
        }
        NoPlan::NoTable { core, partition } => {
            format!("The windows of {core} can't be placed so that none overlap: {partition} had no place most often.")
        }
        NoPlan::NothingLeft { core, partition } => {
            format!("Time lacks on {core}: the windows of partitions with deadlines leave nothing to {partition}.")
        }
        NoPlan::Unpartitioned { task, core } => format!(
            "{task} is in no partition and on {core}, whose time is divided: it would run in all windows; give it a partition, or a core."
        ),
        NoPlan::Unsized(task) => format!("Nothing says how long jobs of {task} take: declare wcet."),
        NoPlan::Refused(refused) => contradicted(refused),
        NoPlan::Rounds => "Nothing was left to try.".to_owned(),
    }
}

/// No core takes `task`; the emptiest of `cores` would be asked for so many millionths of its time, or nothing says for how many.
fn no_room(task: &str, tried: &[NoRoom], asked: u64) -> String {
    let cores = tried.len();
    let emptiest = format!("of {cores} cores the emptiest would be asked for {} of its time", share(asked));
    let why = match asked {
        0 => no_response_time(tried),
        1..=1_000_000 => {
            format!("{emptiest}, and in some interval for more than there is before the deadlines in it")
        }
        _ => emptiest,
    };
    format!("No core has room for {task}: {why}.")
}

/// Why no core takes a task where no sum of utilisations says it.
fn no_response_time(tried: &[NoRoom]) -> String {
    let cores = tried.len();
    let count = |full: Full| tried.iter().filter(|one| one.full == full).count();
    let (undecided, behind) = (count(Full::Undecided), count(Full::Behind));
    if undecided + behind == 0 {
        return format!("on each of {cores} cores some response time would exceed its deadline");
    }
    let of = |what: &str, count: usize| match count {
        0 => None,
        _ => Some(format!("on {count} of {cores} cores {what}")),
    };
    let all = [
        of("some response time would exceed its deadline", cores - undecided - behind),
        of("it took too long to decide whether one would", undecided),
        of("nothing is tried that next fit has left behind", behind),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What stands against a choice.
fn contradicted(refused: &Refused) -> String {
    match refused.objections.first().map(|objection| &objection.fault) {
        Some(Fault::Refused(refusal)) => format!("refused: {refusal}."),
        Some(Fault::Memory { needed, available, .. }) => {
            format!("Memory lacks: buffers need {needed}, and there are {available}.")
        }
        _ => "the scenario contradicts this choice.".to_owned(),
    }
}

/// Millionths of a core.
fn share(millionths: u64) -> String {
    format!("{}.{:03}", millionths / 1_000_000, millionths % 1_000_000 / 1000)
}

/// Why I/O has no table.
fn of_io(lack: &IoLack) -> String {
    match lack {
        IoLack::TwoSides { partition, direction: of } => format!(
            "{partition} has two devices with slots that are {}s, and a partition is planned with one of each: write the offset of one into \
             another partition, or leave out its slot.",
            if *of == Direction::Input { "input" } else { "output" }
        ),
        IoLack::Periods { partition, input, output } => format!(
            "The input of {partition} comes every {input} and its output goes every {output}: both have one period."
        ),
        IoLack::TaskPeriod { task, partition, period, devices } => format!(
            "{task} has a period of {period}, and the devices of {partition} have {devices}: it is to be that or a multiple of it."
        ),
        IoLack::Released { task, partition } => format!(
            "{task} is not released with the window of {partition}, whose devices have no offsets: make it periodic and leave out its offset, \
             or write theirs."
        ),
        IoLack::NoDeadline { partition } => format!(
            "No task of {partition} has a deadline, and it has devices: nothing says how long its window between input and output is."
        ),
        IoLack::Written { partition, core } => format!(
            "The windows of {core} are written, and the slots of {partition} there are not: write its offsets, or leave out the windows."
        ),
        IoLack::NoCore { cores } => {
            format!("Tasks are written on all of {cores} cores, and none is left that starts devices.")
        }
        IoLack::Never { why, partitions, hardware } => {
            format!("I/O has no table: {}.", in_words(Names { partitions, devices: hardware }, why))
        }
        IoLack::TooFine => {
            "Lengths and periods of I/O have so fine a grain in common that no table can be searched for."
                .to_owned()
        }
        IoLack::NoPlace { partition, step, times, restarts } => format!(
            "No table of I/O was found in {}: the {} of {partition} had no free place most often, {}.",
            counted(*restarts, "restart"),
            step_name(*step),
            counted(*times, "time")
        ),
    }
}

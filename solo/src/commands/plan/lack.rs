//! What stood in the way of a plan, for people.

use solo_model::Duration;
use solo_plan::{Fault, NoPlan, Refused};

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
        NoPlan::NoRoom { task, tried, asked } if *asked > 0 => format!(
            "No core has room for {task}: of {} cores the emptiest would be asked for {} of its time.",
            tried.len(),
            share(*asked)
        ),
        NoPlan::NoRoom { task, tried, .. } => {
            format!("No core has room for {task}: on each of {} cores some response time would exceed its deadline.", tried.len())
        }
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
        NoPlan::Together(..) => {
            "two tasks on different cores use the same memory, or a cache that nothing divides; from here on they share a core.".to_owned()
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

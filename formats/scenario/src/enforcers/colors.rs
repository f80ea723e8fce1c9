//! Colors and banks: PALLOC, Xen, Bao.

use super::{NotEnforceable, cores, tasks_of};
use crate::address_map::print_palloc;
use crate::written::ranges;
use solo_isolate::MemoryMap;
use solo_model::isolation::Coloring;
use solo_model::{CoreId, Experiment, TaskId};
use std::fmt::Write;

/// PALLOC has so many bins.
const PALLOC_BINS: u64 = 256;
/// Bao has a bit of a machine word for each color.
const BAO_COLORS: u64 = 64;

fn coloring(experiment: &Experiment) -> Result<(&Coloring, MemoryMap), NotEnforceable> {
    let nothing = NotEnforceable::Nothing("no colors");
    let memory = experiment.isolation.memory.as_ref().filter(|memory| !memory.owners.is_empty());
    let map = MemoryMap::of(&experiment.platform).map_err(|_| NotEnforceable::Map("colors"))?;
    memory.map(|memory| (memory, map)).ok_or(nothing)
}

/// Numbers of colors that are merged, as those that were there before.
fn unmerged(colors: impl Iterator<Item = u16>, groups: u16, count: u16) -> Vec<u16> {
    let colors: Vec<u16> = colors.collect();
    let is_meant = |color: &u16| match groups {
        0 => colors.contains(color),
        groups => color.checked_rem(groups).is_some_and(|group| colors.contains(&group)),
    };
    (0..count).filter(is_meant).collect()
}

/// A control group for each task that is confined.
pub(super) fn palloc(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let (memory, map) = coloring(experiment)?;
    let by_color = memory.owners.iter().any(|owner| !owner.colors.is_empty());
    let by_bank = memory.owners.iter().any(|owner| !owner.banks.is_empty());
    if by_color && by_bank {
        return Err(NotEnforceable::ColorsAndBanks);
    }
    let (classes, what) = if by_bank { (map.banks(), "banks") } else { (map.colors(), "colors") };
    let count = u64::from(classes.count());
    if count > PALLOC_BINS {
        return Err(NotEnforceable::TooMany { count, most: PALLOC_BINS });
    }
    let mask = print_palloc(classes.functions()).ok_or(NotEnforceable::Map(what))?;
    let mut text = String::new();
    for line in mask.lines() {
        match line.strip_prefix("palloc_mask ") {
            Some(mask) => {
                let _ = writeln!(text, "echo {mask} > /sys/kernel/debug/palloc/palloc_mask");
            }
            None => {
                let _ = writeln!(text, "echo '{line}' > /sys/kernel/debug/palloc/control");
            }
        }
    }
    if mask.contains("xor") {
        text += "echo 1 > /sys/kernel/debug/palloc/use_mc_xor\n";
    }
    for owner in &memory.owners {
        let Some(task) = experiment.tasks.get(owner.task.index()) else { continue };
        let bins = match by_bank {
            true => owner.banks.iter().map(|bank| bank.0).collect(),
            false => unmerged(owner.colors.iter().map(|color| color.0), memory.groups, classes.count()),
        };
        if bins.is_empty() {
            continue;
        }
        let TaskId(number) = owner.task;
        let group = format!("/sys/fs/cgroup/task{number}");
        let CoreId(core) = task.core.unwrap_or(CoreId(0));
        let _ = writeln!(
            text,
            "# {}\nmkdir {group}\necho {core} > {group}/cpuset.cpus\necho 0 > {group}/cpuset.mems\necho '{}' > {group}/palloc.bins",
            task.name,
            ranges(&bins).replace(", ", ","),
        );
    }
    text += "echo 1 > /sys/kernel/debug/palloc/use_palloc\n";
    Ok(text)
}

/// A core and its colors; none where nothing of it is confined.
type Confined = (CoreId, Vec<u16>);

/// By core with tasks.
fn by_core(experiment: &Experiment) -> Result<(Vec<Confined>, u16), NotEnforceable> {
    let (memory, map) = coloring(experiment)?;
    if memory.owners.iter().any(|owner| !owner.banks.is_empty()) {
        return Err(NotEnforceable::ColorsAndBanks);
    }
    let count = map.colors().count();
    let mut found = Vec::new();
    for core in cores(experiment) {
        let users = (0_u32..).zip(&experiment.tasks);
        let users = users.filter(|(_, task)| task.core == Some(core) && task.work.touches_memory());
        let mut sets: Vec<Vec<u16>> = users
            .map(|(at, _)| {
                let owner = memory.owners.iter().find(|owner| owner.task == TaskId(at));
                let colors = owner.into_iter().flat_map(|owner| &owner.colors).map(|color| color.0);
                unmerged(colors, memory.groups, count)
            })
            .collect();
        sets.sort();
        sets.dedup();
        match sets.as_slice() {
            [] => found.push((core, Vec::new())),
            [one] => found.push((core, one.clone())),
            _ => return Err(NotEnforceable::Differ(core)),
        }
    }
    Ok((found, count))
}

/// A domain for each core; each section is a file of its own.
pub(super) fn xen(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let (cores, _) = by_core(experiment)?;
    let mut text = String::new();
    for (core, colors) in cores {
        let CoreId(number) = core;
        let _ = writeln!(
            text,
            "# core{number}.cfg: {}\nname = \"core{number}\"\nvcpus = 1\ncpus = \"{number}\"",
            tasks_of(experiment, core)
        );
        if !colors.is_empty() {
            let list: Vec<String> = ranges(&colors).split(", ").map(|run| format!("\"{run}\"")).collect();
            let _ = writeln!(text, "llc_colors = [ {} ]", list.join(", "));
        }
        text.push('\n');
    }
    Ok(text)
}

/// A virtual machine for each core: what belongs into `.vmlist`.
pub(super) fn bao(experiment: &Experiment) -> Result<String, NotEnforceable> {
    let (cores, count) = by_core(experiment)?;
    if u64::from(count) > BAO_COLORS {
        return Err(NotEnforceable::TooMany { count: count.into(), most: BAO_COLORS });
    }
    let mut text = format!(".vmlist_size = {},\n.vmlist = {{\n", cores.len());
    for (core, colors) in cores {
        let bit = |number: u16| 1_u64.checked_shl(number.into()).unwrap_or(0);
        let mask = colors.iter().fold(0, |mask, &color| mask | bit(color));
        let tasks = tasks_of(experiment, core);
        // A comment of C goes on where its line ends in a backslash, with blanks behind it or not, or in the trigraph of one.
        let shown = tasks.trim_end();
        let end = if shown.ends_with('\\') || shown.ends_with("??/") { " ." } else { "" };
        let _ = writeln!(text, "    // {core}: {tasks}{end}\n    {{");
        if mask != 0 {
            let _ = writeln!(text, "        .colors = {mask:#b},");
        }
        let _ = writeln!(text, "        .cpu_affinity = {:#b},\n    }},", bit(core.0));
    }
    text += "},\n";
    Ok(text)
}

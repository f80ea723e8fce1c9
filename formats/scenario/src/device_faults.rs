//! What is wrong with a device, in words.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, clip};
use crate::fields::Problems;
use crate::nearest::nearest;
use solo_model::{Device, Duration};
use solo_plan::{DeviceFault, ReleaseFault};
use std::ops::Range;

/// Why a device can't be had as wished.
pub(crate) fn device_fault(problems: &Problems, at: &Range<usize>, why: &DeviceFault) -> Diagnostic {
    let error = |headline: String| problems.error(Code::Device, headline, at);
    match why {
        DeviceFault::NoOwner { device, owner, known } => {
            let found = error(format!("nobody owns device `{}`", clip(device)))
                .label(format!("there is no task or partition `{}`", clip(owner)));
            match nearest(owner, known.iter().map(String::as_str)) {
                Some(near) => found.help(format!("did you mean `{near}`?")),
                None => found.expected("the name of a task, or of a partition in [isolation.partitions]"),
            }
        }
        DeviceFault::Release(why) => release_fault(error, why),
        DeviceFault::NoDevice { name, known } => {
            let headline =
                format!("bandwidth is reserved for `{}`, and no device is called that", clip(name));
            let found = error(headline).label("no such device");
            match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => found.help(format!("did you mean `{near}`?")),
                None => found.help(
                    "say what it moves in a [[device]] of this name, or take what it needs off `guaranteed`",
                ),
            }
        }
        DeviceFault::LongSlot { slot, period } => {
            error(format!("a slot of {slot} is not over when the next begins, {period} later"))
                .label("longer than the period")
                .expected(format!("at most {period}"))
        }
        DeviceFault::ShortSlot { needs, slot } => {
            error(format!("the device takes {needs} at least, and its slot is {slot}"))
                .label("what it moves does not fit in")
                .expected(format!("a slot longer than {needs}, fewer bytes, or more bandwidth"))
        }
        DeviceFault::InputBefore { .. } | DeviceFault::OutputBefore { .. } | DeviceFault::Busy { .. } => {
            physical_fault(error, why)
        }
        DeviceFault::SmallBuffer { moves, size } => {
            error(format!("the device moves {moves}, and its buffer holds {size}"))
                .label("more than the buffer holds")
                .expected(format!("at most {size}, or a larger `buffer`"))
        }
        DeviceFault::LockedBuffer => error(
            "the device writes into a buffer whose pages are locked".to_owned(),
        )
        .label("what it writes leaves the caches")
        .help("lock no page of this buffer, or leave `buffer` out: then the device has memory of its own"),
        DeviceFault::BusyCore { core, task, shared: false } => {
            error(format!("{core} starts a device, and task `{}` runs there", clip(task)))
                .label("this core is to do nothing else")
                .help("give the task another core, or leave `core` out: then the device starts by itself")
        }
        DeviceFault::BusyCore { core, shared: true, .. } => {
            error(format!("{core} starts a device, and under this policy any task may run there"))
                .label("this core is to do nothing else")
                .help("use a partitioned policy, or leave `core` out: then the device starts by itself")
        }
        DeviceFault::Overlap { first, second } => overlap(problems, at, first, second),
    }
}

/// What is wrong with what a device does with the world.
fn physical_fault(error: impl Fn(String) -> Diagnostic, why: &DeviceFault) -> Diagnostic {
    match why {
        DeviceFault::InputBefore { ends, slot } => error(format!(
            "the input ends at {ends}, and the slot that moves it into memory begins at {slot}"
        ))
        .label("later than what comes after it")
        .expected(format!("an end at {slot} or before, or a later `offset`")),
        DeviceFault::OutputBefore { begins, slot } => error(format!(
            "the output begins at {begins}, and the slot that moves it out of memory is over at {slot}"
        ))
        .label("sooner than what comes before it")
        .expected(format!("{slot} or later, or an earlier `offset`")),
        DeviceFault::Busy { hardware, first, second } => error(format!(
            "`{}` is to be busy for `{}` and for `{}` at the same time",
            clip(hardware),
            clip(first),
            clip(second)
        ))
        .label("busy already")
        .help("give one of them another `physical-offset`, or leave out all offsets: `solo plan` finds them"),
        _ => error("a device can't be had".to_owned()),
    }
}

/// Why a device does not release what it is to release, or nobody does.
fn release_fault(error: impl Fn(String) -> Diagnostic, why: &ReleaseFault) -> Diagnostic {
    match why {
        ReleaseFault::NoTask { device, task, known } => {
            let headline =
                format!("device `{}` releases task `{}`, which does not exist", clip(device), clip(task));
            let found = error(headline).label("no such task");
            match nearest(task, known.iter().map(String::as_str)) {
                Some(near) => found.help(format!("did you mean `{near}`?")),
                None => found.expected("the name of a task with `release = \"sporadic\"`"),
            }
        }
        ReleaseFault::NotSporadic { device, task, task_at } => {
            let (device, task) = (clip(device), clip(task));
            error(format!("device `{device}` releases task `{task}`, which is released otherwise"))
                .label("not a sporadic task")
                .also(Range::from(*task_at), "this task")
                .help("write `release = \"sporadic\"` in the task: its `period` then is the least time between two releases")
        }
        ReleaseFault::Copies { device, task, copies } => {
            let (device, task) = (clip(device), clip(task));
            error(format!("device `{device}` releases `{task}`, and that is {copies} tasks"))
                .label("an interrupt releases one task")
                .expected(format!("one of them, for example `{task}-0`, and a device for each of the others"))
        }
        ReleaseFault::Nobody { task } => error(format!("no device releases sporadic task `{}`", clip(task)))
            .label("its jobs would never come")
            .help(format!(
                "write `releases = \"{}\"` in a [[device]], or `release = \"periodic\"` here",
                clip(task)
            )),
    }
}

fn overlap(problems: &Problems, at: &Range<usize>, first: &Device, second: &Device) -> Diagnostic {
    let (one, other) = (clip(&first.name), clip(&second.name));
    let core = first.core.map_or(String::new(), |core| format!(" on {core}"));
    let error =
        problems.error(Code::Device, format!("slots of `{one}` and `{other}` overlap{core}"), at).label(
            format!("`{one}` has a slot of {} each {} from {} on", first.slot, first.period, first.offset),
        );
    // What counts is the distance of their begins modulo what both periods have in common.
    let common = Duration::new(solo_ima::gcd(first.period.get(), second.period.get()));
    let both = first.slot.saturating_add(second.slot);
    if both > common {
        return error.help(format!(
            "no `offset` helps: the periods have {common} in common, and the two slots take {both}"
        ));
    }
    let from = first.offset.get().saturating_add(first.slot.get()).checked_rem(common.get()).unwrap_or(0);
    let (from, room) = (Duration::new(from), common.saturating_sub(both));
    error.expected(match room.is_zero() {
        true => format!("an `offset` of {from}, or that and any number of {common}"),
        false => format!(
            "an `offset` from {from} to {}, or that and any number of {common}",
            from.saturating_add(room)
        ),
    })
}

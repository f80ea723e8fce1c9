//! `[[device]]`: devices that move data between themselves and memory.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems};
use crate::isolation::core;
use crate::limits::{at_least, not_too_long};
use crate::nearest::nearest;
use crate::tree::Table;
use solo_model::check::MOST_DEVICES;
use solo_model::{Bandwidth, BufferId, Bytes, Device, Direction, Duration, Platform};
use solo_plan::{DeviceWish, Wish};
use std::collections::HashMap;

const EXAMPLE: &str = "[[device]]\nname = \"camera\"\nowner = \"vision\"";

/// Reads all devices. Cores are those of `platform`.
pub(crate) fn read(
    problems: &Problems,
    top: &Fields<'_>,
    platform: Option<&Platform>,
    buffers: &HashMap<String, BufferId>,
) -> Vec<DeviceWish> {
    let tables = top.tables("device", EXAMPLE);
    if let Some(first_too_many) = tables.get(MOST_DEVICES as usize) {
        let headline = format!("{} devices in all", tables.len());
        let error = problems.error(Code::TooLarge, headline, &first_too_many.span);
        problems.push(error.label("one too many").expected(format!("at most {MOST_DEVICES} devices")));
        return Vec::new();
    }
    let mut devices: Vec<DeviceWish> = Vec::new();
    for table in tables {
        let Some(device) = device(problems, table, platform, buffers) else { continue };
        if let Some(first) = devices.iter().find(|known| known.name.value == device.name.value) {
            let headline = format!("two of [[device]] are named \"{}\"", clip(&device.name.value));
            let error = problems.error(Code::Duplicate, headline, &device.name.at.into());
            problems.push(error.label("the second").also(first.name.at.into(), "the first"));
            continue;
        }
        devices.push(device);
    }
    devices
}

fn device(
    problems: &Problems,
    table: At<&Table>,
    platform: Option<&Platform>,
    buffers: &HashMap<String, BufferId>,
) -> Option<DeviceWish> {
    let fields = Fields::new(problems, table.value, table.span.clone(), "this device");
    let errors = problems.errors();
    let name = fields.required_string("name", "name = \"camera\"");
    let owner = owner(&fields, name.as_ref());
    let releases = fields.string("releases");
    let direction = fields.word("direction", &[("input", Direction::Input), ("output", Direction::Output)]);
    let needed = [
        ("direction", "direction = \"input\""),
        ("moves", "moves = \"64KiB\""),
        ("period", "period = \"20ms\""),
    ];
    for (key, example) in needed.into_iter().filter(|(key, _)| !fields.has(key)) {
        fields.missing(key, example);
    }
    let moves = fields.positive::<Bytes>("moves");
    let not_long = |found: Option<At<Duration>>, key| found.and_then(|at| not_too_long(problems, at, key));
    let period = at_least(problems, not_long(fields.positive("period"), "period"), "period");
    let offset = not_long(fields.quantity("offset"), "offset");
    let slot = not_long(fields.positive("slot"), "slot");
    let core = platform.and_then(|platform| core(&fields, platform));
    let buffer = buffer(&fields, buffers);
    let rate = fields.positive::<Bandwidth>("rate");
    let wait_every = wait_every(&fields);
    let hardware = fields.string("hardware");
    let physical = not_long(fields.positive("physical"), "physical");
    let physical_offset = not_long(fields.quantity("physical-offset"), "physical-offset");
    if fields.has("physical-offset") && !fields.has("physical") {
        fields.missing("physical", "physical = \"2ms\"");
    }
    fields.finish();
    let (name, owner, direction) = (name?, owner?, direction?.value);
    let (moves, period) = (moves?.wish(), period?.wish());
    // What can't be read is not what nobody says.
    if problems.errors() > errors {
        return None;
    }
    Some(DeviceWish {
        at: table.span.clone().into(),
        name: Wish::new(name.value.to_owned(), name.span),
        owner: Wish::new(owner.value.to_owned(), owner.span),
        releases: releases.map(|releases| Wish::new(releases.value.to_owned(), releases.span)),
        direction,
        moves,
        buffer: buffer.map(At::wish),
        period,
        offset: offset.map(At::wish),
        slot: slot.map(At::wish),
        core: core.map(At::wish),
        hardware: hardware.map(|hardware| Wish::new(hardware.value.to_owned(), hardware.span)),
        physical: physical.map(At::wish),
        physical_offset: physical_offset.map(At::wish),
        rate: rate.map(|rate| rate.value),
        wait_every: wait_every.map(At::wish),
    })
}

/// Whose data it moves. A device that nobody owns is nobody's to start and to bound.
fn owner<'t>(fields: &Fields<'t>, name: Option<&At<&str>>) -> Option<At<&'t str>> {
    if fields.has("owner") {
        return fields.string("owner");
    }
    let name = name.map_or("this device".to_owned(), |name| format!("device `{}`", clip(name.value)));
    let error = fields.problems.error(Code::Device, format!("nobody owns {name}"), &fields.span);
    fields.problems.push(
        error
            .label("whose data does it move?")
            .expected("the name of a task or a partition, for example `owner = \"vision\"`"),
    );
    None
}

fn buffer(fields: &Fields<'_>, buffers: &HashMap<String, BufferId>) -> Option<At<BufferId>> {
    let found = fields.string("buffer")?;
    if let Some(&buffer) = buffers.get(found.value) {
        return Some(At { value: buffer, span: found.span });
    }
    let headline = format!("there is no buffer \"{}\"", clip(found.value));
    let error = fields.problems.error(Code::UnknownName, headline, &found.span).label("no such buffer");
    let mut names: Vec<&str> = buffers.keys().map(String::as_str).collect();
    names.sort_unstable();
    fields.problems.push(match nearest(found.value, names) {
        Some(near) => error.help(format!("did you mean \"{near}\"?")),
        None => error.help("name a [[buffer]]; without `buffer` the device has memory of its own"),
    });
    None
}

fn wait_every(fields: &Fields<'_>) -> Option<At<Bytes>> {
    let found = fields.quantity::<Bytes>("wait-every")?;
    if found.value.get().is_power_of_two() && found.value <= Device::WAIT_EVERY_MAX {
        return Some(found);
    }
    let headline = format!("a device can't wait every {}", found.value);
    let error = fields.problems.error(Code::Device, headline, &found.span);
    let most = Device::WAIT_EVERY_MAX;
    fields.problems.push(
        error
            .label("no engine counts so")
            .expected(format!("a power of two from 1B to {most}, for example \"64B\"")),
    );
    None
}

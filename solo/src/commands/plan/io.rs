//! Slots of devices: as a table, in words and as JSON.

use super::lack;
use super::windows::rule;
use serde::Serialize;
use solo_model::text::counted;
use solo_model::{CoreId, Direction, Duration};
use solo_plan::Planned;
use solo_report::table::{self, Style};

/// The I/O core and its slots.
#[derive(Serialize)]
pub(super) struct IoRow {
    core: CoreId,
    /// How often the search began anew.
    restarts: u64,
    slots: Vec<SlotRow>,
}

/// The slots of a device.
#[derive(Serialize)]
struct SlotRow {
    device: String,
    direction: &'static str,
    period_ns: Duration,
    offset_ns: Duration,
    slot_ns: Duration,
    /// When its hardware is busy with the world for the first time, where it is at all.
    physical_offset_ns: Option<Duration>,
}

/// What was chosen for devices.
pub(super) fn row(planned: &Planned) -> Option<IoRow> {
    let table = planned.table.as_ref()?;
    let devices = &planned.plan.experiment.devices;
    let slot = |choice: &solo_plan::DeviceChoice| {
        let device = devices.iter().find(|device| device.name == choice.name)?;
        Some(SlotRow {
            device: choice.name.clone(),
            direction: direction(device.direction),
            period_ns: device.period,
            offset_ns: device.offset,
            slot_ns: device.slot,
            physical_offset_ns: choice.physical_offset,
        })
    };
    let slots = planned.devices.iter().filter_map(slot).collect();
    Some(IoRow { core: table.core, restarts: table.restarts, slots })
}

const fn direction(of: Direction) -> &'static str {
    match of {
        Direction::Input => "input",
        Direction::Output => "output",
    }
}

/// The slots for people.
pub(super) fn table(io: Option<&IoRow>, style: Style) -> String {
    let Some(io) = io else { return String::new() };
    let cells = |slot: &SlotRow| {
        vec![
            slot.device.clone(),
            slot.direction.to_owned(),
            slot.physical_offset_ns.map_or("-".to_owned(), |time| time.to_string()),
            slot.offset_ns.to_string(),
            slot.slot_ns.to_string(),
            slot.period_ns.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = io.slots.iter().map(cells).collect();
    let header = ["device", "direction", "physical begin", "slot begin", "slot", "period"];
    format!(
        "\nSlots on {}, the I/O core; begins are those of the first ones.\n{}",
        io.core,
        table::plain(&header, 2, &rows, style)
    )
}

/// How the table was found.
pub(super) fn decisions(planned: &Planned) -> String {
    let Some(table) = &planned.table else { return String::new() };
    let mut text = format!(
        "Slots and windows: hierarchically ordered scheduling with seed {}, {}. {} starts all devices.\n",
        planned.plan.experiment.seed,
        counted(table.restarts, "restart"),
        table.core
    );
    for (tried, why) in &table.tried {
        text += &format!("  tried before: {}: {}\n", rule(*tried), lack::lack(why));
    }
    text
}

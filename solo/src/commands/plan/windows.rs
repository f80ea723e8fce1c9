//! Windows of partitions for people.

use super::lack::lack;
use solo_model::Duration;
use solo_plan::{DividedPartition, Division, WindowRule};
use solo_report::table::{self, Style};

/// So many windows are told one by one for each core.
const WINDOWS: usize = 12;

/// The windows of each core.
pub(super) fn table(divisions: &[Division], style: Style) -> String {
    if divisions.is_empty() {
        return String::new();
    }
    let row = |division: &Division| {
        let windows = division.cycle.windows.iter().take(WINDOWS);
        let told = windows.map(|window| format!("{} {}+{}", window.partition, window.begin, window.length));
        let mut told: Vec<String> = told.collect();
        if division.cycle.windows.len() > WINDOWS {
            told.push(format!("and {} more", division.cycle.windows.len() - WINDOWS));
        }
        vec![
            division.core.to_string(),
            division.cycle.length.to_string(),
            stretch_of(division.idle, division.cycle.length),
            told.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = divisions.iter().map(row).collect();
    format!("\n{}", table::plain(&["core", "cycle", "idle", "windows: begin + length"], 4, &rows, style))
}

/// By which rule each core was divided, and what was tried before.
pub(super) fn decisions(divisions: &[Division]) -> String {
    let mut text = String::new();
    for division in divisions {
        let needs: Vec<String> = division.partitions.iter().map(need).collect();
        text += &format!("Windows of {}: {}; {}.\n", division.core, rule(division.rule), needs.join(", "));
        for (tried, why) in &division.tried {
            text += &format!("  tried before: {}: {}\n", rule(*tried), lack(why));
        }
    }
    text
}

fn need(partition: &DividedPartition) -> String {
    match (partition.period, partition.least) {
        (Some(period), Some(least)) => {
            format!("{} needs {least} in every {period}", partition.name)
        }
        _ => format!("{} has what is left", partition.name),
    }
}

/// From one window of a partition to the next.
pub(super) fn rule(rule: WindowRule) -> String {
    let (whose, parts) = match rule {
        WindowRule::Own { parts } => ("the shortest period of each partition", parts),
        WindowRule::Common { parts } => ("the shortest period of all its partitions", parts),
    };
    if parts == 1 { whose.to_owned() } else { format!("{whose}, divided by {parts}") }
}

/// A part of a time in percent.
fn stretch_of(part: Duration, whole: Duration) -> String {
    format!("{}%", u128::from(part.get()) * 100 / u128::from(whole.get().max(1)))
}

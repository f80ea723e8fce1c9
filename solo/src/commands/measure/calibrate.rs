//! `solo measure calibrate`: whether counters count what their names say.

use super::platform_of;
use crate::cli::MeasureCalibrate;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_lab::campaign::calibrate::{CalibratedCounter, calibrate};
use solo_model::Events;
use std::fmt;

/// Runs the walks; exit code 1 where a counter counts something else.
pub(crate) fn run(options: &MeasureCalibrate) -> Result<Exit, Failure> {
    let shown = measured(options)?;
    if options.json {
        output::json(Document::Calibration, &shown)?;
    } else {
        output::text(&shown.to_string())?;
    }
    let wrong = shown.rows.iter().any(|row| !row.holds);
    Ok(if wrong { Exit::NotHeld } else { Exit::Held })
}

fn measured(options: &MeasureCalibrate) -> Result<Shown, Failure> {
    let platform = platform_of(&options.platform, options.prefetcher.as_deref())?;
    let found = calibrate(&platform, options.seed)?;
    Ok(Shown { platform: platform.name.clone(), rows: found.iter().map(Row::of).collect() })
}

#[derive(Serialize)]
struct Shown {
    platform: String,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    event: String,
    walk: &'static str,
    expected: Events,
    counted: Events,
    /// The counter counts what its name says.
    holds: bool,
    /// Cause and remedy.
    warning: Option<String>,
}

impl Row {
    fn of(found: &CalibratedCounter) -> Self {
        Self {
            event: found.event.to_string(),
            walk: found.walk.name(),
            expected: found.expected,
            counted: found.counted,
            holds: found.holds,
            warning: found.warning.as_ref().map(ToString::to_string),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: counters against walks that cause a known number of events\n", self.platform)?;
        writeln!(f, "{:<14} {:<31} {:>11} {:>11}", "event", "walk", "expected", "counted")?;
        for Row { event, walk, expected, counted, holds, warning } in &self.rows {
            let verdict = match (holds, warning) {
                (true, None) => "counts what its name says",
                (true, Some(_)) => "right, but not all that memory moves",
                (false, _) => "WRONG",
            };
            let numbers = [expected, counted].map(|events| events.to_string());
            writeln!(f, "{event:<14} {walk:<31} {:>11} {:>11}  {verdict}", numbers[0], numbers[1])?;
        }
        for Row { walk, warning, .. } in &self.rows {
            if let Some(warning) = warning {
                writeln!(f, "warning: {walk}: {warning}")?;
            }
        }
        Ok(())
    }
}

//! `solo measure calibrate`: whether counters count what their names say.

use crate::cli::MeasureCalibrate;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_isolate::diagnose;
use solo_model::{Event, Events};
use solo_scenario::Platforms;
use solo_sim::Faults;
use solo_sim::calibrate::{Walk, calibrate};
use std::fmt;
use std::path::Path;

/// Runs the walks; exit code 1 where a counter counts something else.
pub(crate) fn run(options: &MeasureCalibrate) -> Result<Exit, Failure> {
    let shown = measured(options)?;
    if options.json {
        output::json(&shown)?;
    } else {
        output::text(&shown.to_string())?;
    }
    let wrong = shown.rows.iter().any(|row| !row.holds);
    Ok(if wrong { Exit::NotHeld } else { Exit::Held })
}

fn measured(options: &MeasureCalibrate) -> Result<Shown, Failure> {
    let mut platform = Platforms::builtin()
        .load(&options.platform, Path::new("."))
        .map_err(|report| Failure::Scenario(Box::new(report)))?;
    if let Some(word) = &options.prefetcher {
        let Some(prefetcher) = &mut platform.prefetcher else {
            return Err(Failure::Usage(format!(
                "--prefetcher {word}: {} has no prefetcher; a platform file describes one in [prefetcher]",
                platform.name
            )));
        };
        prefetcher.on = word == "on";
    }
    let found = calibrate(&platform, options.seed, Faults::default())?;
    let moved = |walk| {
        let read = found.iter().find(|one| (one.event, one.walk) == (Event::DramRead, walk));
        read.map(|one| one.counted)
    };
    let mut shown = Shown::new(&platform.name);
    for one in &found {
        // What memory moved is known: misses that prefetchers came before are no fault of the counter.
        let swept = one.walk == Walk::Sweep && one.event == Event::LlcMiss;
        let warning = if swept {
            diagnose::coverage(moved(one.walk).unwrap_or(one.expected), one.counted, false)
        } else {
            diagnose::counter(one.event, one.expected, one.counted)
        };
        shown.add(one.event.name(), one.walk.name(), one.expected, one.counted, swept, warning);
    }
    Ok(shown)
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

impl Shown {
    fn new(platform: &str) -> Self {
        Self { platform: platform.to_owned(), rows: Vec::new() }
    }

    /// `excused`: a warning says something about other traffic, not about the counter.
    fn add(
        &mut self,
        event: &str,
        walk: &'static str,
        expected: Events,
        counted: Events,
        excused: bool,
        warning: Option<diagnose::Warning>,
    ) {
        self.rows.push(Row {
            event: event.to_owned(),
            walk,
            expected,
            counted,
            holds: excused || warning.is_none(),
            warning: warning.map(|warning| warning.to_string()),
        });
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

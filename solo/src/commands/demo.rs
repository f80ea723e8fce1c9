//! `solo demo`: what this is about, without any file.

use super::compare::side_by_side;
use crate::cli::{Demo, Keep};
use crate::exit::{Exit, Failure};
use solo_model::text::counted;
use solo_scenario::{Choice, Overrides, Platforms};
use std::path::Path;

/// The case study of MemGuard, which a program that was installed has with it.
const SCENARIO: &str = include_str!("../../../scenarios/video-and-screen.toml");

/// Runs the video task alone and beside its neighbor.
///
/// Missed deadlines are what it shows: unlike a comparison it ends with 0 then.
pub(crate) fn run(options: &Demo) -> Result<Exit, Failure> {
    let path = Path::new("scenarios/video-and-screen.toml");
    let overrides = Overrides { jobs: Some(options.jobs), of: Choice::Variants, ..Overrides::default() };
    let scenario = solo_scenario::parse_with(SCENARIO, path, &Platforms::builtin(), &overrides)
        .map_err(|report| Failure::Scenario(Box::new(report)))?;
    if !options.show.quiet {
        eprintln!(
            "A task works on {} of video, alone (solo) and beside a program on another core (corun).",
            counted(options.jobs, "frame")
        );
    }
    let keep = Keep { out: Some(options.out.clone()), force: true };
    let exit = side_by_side(&scenario, &scenario.variants, Vec::new(), &keep, &options.show)?;
    if exit == Exit::NotHeld && !options.show.quiet {
        eprintln!(
            "Missed deadlines are what this demonstration shows: it ends with exit code 0, solo compare with 1."
        );
    }
    Ok(Exit::Held)
}

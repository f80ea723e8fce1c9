//! rt-app's JSON (<https://github.com/scheduler-tools/rt-app>, doc/tutorial.txt), read as a scenario and written from one.
//!
//! What is read: `tasks` with `instance`, `delay`, `loop`, `phases`, `policy`, `priority`, `cpus`, `dl-runtime`, `dl-period`,
//! `dl-deadline` and the events `run`, `runtime`, `sleep`, `lock`, `unlock`, `sem_wait`, `sem_post` and `timer`; of `global`,
//! `duration`, `default_policy` and `pi_enabled`. What has no counterpart is refused at its place, what means a little else is noted.

mod export;
mod import;
mod json;
mod reservation;
mod thread;

pub(crate) use export::Ranks;
pub use export::{NotRtApp, export_rt_app};
pub use import::Imported;
pub(crate) use reservation::Reservation;

use crate::diagnostic::Diagnostics;
use crate::kind::{FileKind, or_other};
use crate::platform::Platforms;
use crate::source::Source;
use std::path::Path;

/// The largest file that is read: each byte may become ten in memory.
const LARGEST: u64 = 4 << 20;

/// Reads a file of rt-app as a scenario on a platform of this name, or in this file.
///
/// # Errors
/// If the file or the platform can't be read, or something in the file has no counterpart.
pub fn import_rt_app(path: &Path, platform: &str, platforms: &Platforms) -> Result<Imported, Diagnostics> {
    parse_rt_app(&crate::text_within(path, LARGEST)?, path, platform, platforms)
}

/// Reads a text of rt-app; `path` names it in messages, and its stem is the scenario's name.
///
/// # Errors
/// As [`import_rt_app`]; also if the scenario that comes of it is refused, for example because it has too many tasks.
pub fn parse_rt_app(
    text: &str,
    path: &Path,
    platform: &str,
    platforms: &Platforms,
) -> Result<Imported, Diagnostics> {
    let source = Source::new(path.display().to_string(), text);
    let chip = platforms.load(platform, Path::new(""))?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let hidden = stem.chars().any(solo_model::text::is_hidden) || stem.trim().is_empty();
    let name = if hidden { "rt-app" } else { &stem };
    let imported = import::import(&source, name, (platform, &chip))
        .map_err(|report| or_other(report, &source, &FileKind::RtApp))?;
    let place = Path::new("(the scenario made of it)");
    crate::parse(&imported.scenario, place, platforms)?;
    Ok(imported)
}

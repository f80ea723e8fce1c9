//! `solo platforms`: the chips that scenarios can name.

pub(crate) mod map;

use crate::cli::Platforms as Options;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use solo_model::Platform;
use solo_scenario::{Platforms, SourcedValue};
use std::path::Path;

/// Lists all platforms, or shows one with its derived values and the source of each value.
pub(crate) fn run(options: &Options) -> Result<Exit, Failure> {
    let platforms = Platforms::builtin();
    match &options.name {
        Some(name) if options.map => map::show(&load(&platforms, name)?, options)?,
        Some(name) => show(&platforms, name, options.json)?,
        None => list(&platforms, options.json)?,
    }
    Ok(Exit::Held)
}

fn load(platforms: &Platforms, name: &str) -> Result<Platform, Failure> {
    platforms.load(name, Path::new(".")).map_err(|report| Failure::Scenario(Box::new(report)))
}

fn list(platforms: &Platforms, json: bool) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for name in platforms.names() {
        let platform = load(platforms, name)?;
        let guesses = solo_scenario::has_guesses(&platform);
        rows.push((platform, guesses));
    }
    if json {
        let rows: Vec<_> = rows.iter().map(|(platform, guesses)| {
            serde_json::json!({ "name": platform.name, "cores": platform.cores.len(), "has_guesses": guesses })
        }).collect();
        return output::list(Document::Platforms, "platforms", &rows);
    }
    let mut text = String::new();
    for (platform, guesses) in &rows {
        let clock = platform.kinds.first().map_or_else(String::new, |kind| kind.clock.to_string());
        let levels: Vec<String> = (1..=platform.levels())
            .filter_map(|level| platform.caches.iter().find(|cache| cache.level == level))
            .map(|cache| format!("L{} {}", cache.level, cache.size))
            .collect();
        let note = if *guesses { "some values guessed" } else { "" };
        let cores = platform.cores.len();
        text.push_str(&format!(
            "{:<16} {cores:>2} cores {clock:<8} {:<36} {note}\n",
            platform.name,
            levels.join(", ")
        ));
    }
    text.push_str(
        "\nsolo platforms NAME shows every value, where it comes from, and what follows from it.\n",
    );
    output::text(&text)
}

fn show(platforms: &Platforms, name: &str, json: bool) -> Result<(), Failure> {
    let platform = load(platforms, name)?;
    let values =
        platforms.values(name, Path::new(".")).map_err(|report| Failure::Scenario(Box::new(report)))?;
    let derived = solo_scenario::derived(&platform);
    if json {
        return output::json(
            Document::Platform,
            &serde_json::json!({ "platform": platform, "derived": derived }),
        );
    }
    let mut text = format!("{}\n\nvalues and their sources\n", platform.name);
    let longest =
        |of: fn(&SourcedValue) -> &str| values.iter().map(|value| of(value).len()).max().unwrap_or(0);
    // A list of address bits may be longer than a line has place for; what stands behind it then begins later.
    let (keys, widths) = (longest(|value| &value.key), longest(|value| &value.value).min(24));
    for SourcedValue { key, value, source } in &values {
        text.push_str(&format!("  {key:<keys$}  {value:<widths$}  {source}\n"));
    }
    text.push_str("\nwhat follows from them\n");
    for (name, value) in &derived {
        text.push_str(&format!("  {name:<40} {value}\n"));
    }
    output::text(&text)
}

//! Modules that users describe in a file: each virtual counter is a number in a file of the system.
//!
//! ```toml
//! name = "disk"
//!
//! [[counter]]
//! name = "disk_temperature_mdeg"      # unit last
//! meaning = "temperature of the disk"
//! file = "/sys/class/hwmon/hwmon3/temp1_input"
//! kind = "level"                      # or "sum": the growth since the last sample
//! ```

use super::Gauge;
use super::levels::Numbers;
use serde::Deserialize;
use solo_model::text::Printable;
use solo_observe::MonitoringModule;
use solo_observe::module::Kind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    name: String,
    counter: Vec<Counter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Counter {
    name: String,
    #[serde(default)]
    meaning: String,
    file: String,
    kind: CounterKind,
    #[serde(default = "one")]
    factor: i64,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum CounterKind {
    Level,
    Sum,
}

const fn one() -> i64 {
    1
}

/// Why a description is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// It is not the TOML that is expected.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// It describes nothing.
    #[error("expected at least one [[counter]]")]
    Empty,
    /// A counter's name is no column's.
    #[error("expected a name of letters, digits and underscores, found `{}`", Printable(.0))]
    Name(String),
    /// A file that is not named by its whole path.
    #[error("expected an absolute path, found `{}`", Printable(.0))]
    Path(String),
}

/// Reads a description.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<Box<dyn MonitoringModule>, DescriptionError> {
    let module: Module = toml::from_str(text)?;
    let mut gauges = Vec::new();
    for counter in module.counter {
        if counter.name.is_empty() || super::plain(&counter.name) != counter.name {
            return Err(DescriptionError::Name(counter.name));
        }
        if !counter.file.starts_with('/') {
            return Err(DescriptionError::Path(counter.file));
        }
        let kind = match counter.kind {
            CounterKind::Level => Kind::Level,
            CounterKind::Sum => Kind::Sum,
        };
        gauges.push((Gauge::new(counter.file, counter.name, counter.meaning, kind), counter.factor));
    }
    Numbers::boxed(&module.name, gauges).ok_or(DescriptionError::Empty)
}

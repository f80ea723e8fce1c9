//! A scenario at many points: keys set to values, every combination once, resumed where it was stopped.
//!
//! A point is laid over the scenario as a variant, so every key that a variant takes can be swept, and what can't be had
//! is refused by itself.

use crate::points::SCHEMA;
pub use crate::points::{Collection, Part, Points};
use crate::{Control, LabError, Recordings, Simulation};
use serde::{Deserialize, Serialize};
use solo_model::Duration;
use solo_report::{Report, TaskReport, verdict};
use solo_scenario::{Choice, Overrides, Platforms, parse_with};
use std::path::PathBuf;

/// The most points of a sweep.
pub const MOST_POINTS: u64 = 100_000;

/// A key and the values that it takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The key as a variant takes it, such as `task.frame.period`.
    pub key: String,
    /// Its values: as TOML, or a text without quotes.
    pub values: Vec<String>,
}

/// What is wrong with an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AxisError {
    /// No `=`, or nothing before it.
    #[error("expected KEY=VALUE,VALUE... such as task.frame.period=10ms,20ms")]
    Form,
    /// A character that can't be seen.
    #[error("it holds a character that can't be seen")]
    Hidden,
    /// Too many values.
    #[error("more than {MOST_POINTS} values")]
    TooMany,
}

impl std::str::FromStr for Axis {
    type Err = AxisError;

    /// `KEY=VALUE,VALUE...`; whole numbers also as a range `1..20`, both ends included. Commas inside brackets and quotes do
    /// not part values.
    fn from_str(text: &str) -> Result<Self, AxisError> {
        if text.chars().any(char::is_control) {
            return Err(AxisError::Hidden);
        }
        let (key, values) = text.split_once('=').ok_or(AxisError::Form)?;
        let values: Vec<String> = match range(values) {
            Some((from, to)) if to - from >= MOST_POINTS => return Err(AxisError::TooMany),
            Some((from, to)) => (from..=to).map(|value| value.to_string()).collect(),
            None => parts(values).into_iter().map(|value| value.trim().to_owned()).collect(),
        };
        let key = key.trim().to_owned();
        if key.is_empty() || values.iter().any(String::is_empty) {
            return Err(AxisError::Form);
        }
        Ok(Self { key, values })
    }
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.split_once("..")?;
    let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (from <= to).then_some((from, to))
}

/// The text between commas that are in no bracket and no quotes.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth -= 1,
            (',', None) if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// A value as TOML: what is none, such as `10ms`, is a text.
fn toml(value: &str) -> String {
    let number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let written = value.starts_with(['"', '\'', '[', '{']) || matches!(value, "true" | "false");
    if number || written { value.to_owned() } else { serde_json::Value::from(value).to_string() }
}

/// A key as TOML: parts that are no bare key are quoted.
fn dotted(key: &str) -> String {
    let bare = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let part = |part: &str| match bare(part) || part.starts_with('"') {
        true => part.to_owned(),
        false => serde_json::Value::from(part).to_string(),
    };
    key.split('.').map(part).collect::<Vec<_>>().join(".")
}

/// What is swept.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The scenario's text.
    pub source: String,
    /// Its file.
    pub path: PathBuf,
    /// The keys and their values; the last one changes fastest.
    pub axes: Vec<Axis>,
    /// Seed and jobs instead of the scenario's.
    pub instead: Overrides,
}

/// A key and its value at a point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Setting {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// What a point came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SweptPoint {
    /// Its number.
    pub point: u64,
    /// What is set there.
    pub settings: Vec<Setting>,
    /// Why it can't be had, for people; nothing where it ran.
    pub refused: Option<String>,
    /// Whether all deadlines and bounds held; nothing where it was refused.
    pub held: Option<bool>,
    /// The tasks, in the order of the scenario.
    pub tasks: Vec<SweptTask>,
}

/// One task at a point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SweptTask {
    /// Its name.
    pub name: String,
    /// Finished jobs.
    pub jobs: u64,
    /// Jobs of which it is known whether they met their deadline.
    pub judged: u64,
    /// Those that missed it.
    pub misses: u64,
    /// The median response time.
    pub p50_ns: Option<Duration>,
    /// The 90th percentile; of ten jobs or more.
    pub p90_ns: Option<Duration>,
    /// The 99th percentile.
    pub p99_ns: Option<Duration>,
    /// The largest response time.
    pub max_ns: Option<Duration>,
    /// The proved bound.
    pub bound_ns: Option<Duration>,
}

impl From<&TaskReport> for SweptTask {
    fn from(task: &TaskReport) -> Self {
        let response = &task.response;
        Self {
            name: task.name.clone(),
            jobs: task.jobs,
            judged: task.judged,
            misses: task.misses,
            p50_ns: response.p50(),
            p90_ns: response.p90(),
            p99_ns: response.p99(),
            max_ns: response.max(),
            bound_ns: task.bound.map(|bound| bound.response),
        }
    }
}

impl Sweep {
    /// How many points there are; `None` for more than [`MOST_POINTS`].
    pub fn points(&self) -> Option<u64> {
        let product = |points: u64, axis: &Axis| points.checked_mul(axis.values.len() as u64);
        self.axes.iter().try_fold(1, product).filter(|&points| points <= MOST_POINTS)
    }

    /// What tells it from others, in hexadecimal digits.
    pub fn hash(&self) -> String {
        let said = format!("{:?}", (SCHEMA, &self.source, &self.axes, self.instead.seed, self.instead.jobs));
        blake3::hash(said.as_bytes()).to_hex().as_str()[..32].to_owned()
    }

    /// What is set at a point.
    pub fn settings(&self, point: u64) -> Vec<Setting> {
        let mut rest = point;
        let mut settings: Vec<Setting> = Vec::new();
        for axis in self.axes.iter().rev() {
            let values = axis.values.len().max(1) as u64;
            let value = axis.values.get((rest % values) as usize).cloned().unwrap_or_default();
            settings.push(Setting { key: axis.key.clone(), value });
            rest /= values;
        }
        settings.reverse();
        settings
    }

    /// Runs one point in memory.
    fn point(&self, point: u64, control: &Control<'_>) -> Result<SweptPoint, LabError> {
        let settings = self.settings(point);
        let name = format!("point {point}");
        let keys: Vec<String> = settings
            .iter()
            .map(|Setting { key, value }| format!("{} = {}\n", dotted(key), toml(value)))
            .collect();
        let text = format!("{}\n[[variant]]\nname = \"{name}\"\n{}", self.source, keys.concat());
        let overrides = Overrides { of: Choice::Named(vec![name.clone()]), ..self.instead.clone() };
        let scenario = parse_with(&text, &self.path, &Platforms::builtin(), &overrides)
            .map_err(|report| LabError::Platform(Box::new(report)))?;
        let swept = |refused, report: Option<Report>| SweptPoint {
            point,
            settings: settings.clone(),
            refused,
            held: report.as_ref().map(|report| verdict(report, None).held),
            tasks: report.iter().flat_map(|report| &report.tasks).map(SweptTask::from).collect(),
        };
        if let Some(refused) = scenario.refused.iter().find(|refused| refused.variant == name) {
            // Settings say which point it is.
            let of = format!(" (in variant `{name}`)");
            let reasons = refused.report.problems().iter().map(|problem| problem.headline());
            let reasons: Vec<&str> = reasons.map(|line| line.strip_suffix(&of).unwrap_or(line)).collect();
            return Ok(swept(Some(reasons.join("; ")), None));
        }
        let Some(experiment) = scenario.variants.iter().find(|experiment| experiment.variant == name) else {
            return Ok(swept(Some("it is no variant of the scenario".to_owned()), None));
        };
        let recordings = Recordings::of_scenario(&scenario);
        match (Simulation { experiment, recordings: &recordings, name: &name, control, stop_on: None })
            .report()
        {
            Ok(report) => Ok(swept(None, Some(report))),
            Err(error) if error.refuses() => Ok(swept(Some(error.to_string()), None)),
            Err(error) => Err(error),
        }
    }
}

impl Points for Sweep {
    type Done = SweptPoint;

    fn hash(&self) -> String {
        Self::hash(self)
    }

    fn count(&self) -> u64 {
        self.points().unwrap_or(MOST_POINTS)
    }

    fn number(&self, done: &SweptPoint) -> Option<u64> {
        (done.settings == self.settings(done.point)).then_some(done.point)
    }

    fn compute(&self, point: u64, control: &Control<'_>) -> Result<SweptPoint, LabError> {
        self.point(point, control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_part_values_at_commas_outside_of_brackets_and_quotes() {
        let axis: Axis =
            "task.a b.work=[{ compute = \"1ms\" }, { sweep = \"1KiB\" }],\"x,y\", 5 ,10ms".parse().unwrap();
        assert_eq!(axis.values.len(), 4, "{axis:?}");
        assert_eq!((toml("5"), toml("10ms"), toml("true")), ("5".into(), "\"10ms\"".into(), "true".into()));
        assert_eq!(dotted("task.a b.work"), "task.\"a b\".work");
        let seeds: Axis = "seed=3..6".parse().unwrap();
        assert_eq!(seeds.values, ["3", "4", "5", "6"]);
        for wrong in ["seed", "=1", "seed=1,,2", "seed="] {
            assert_eq!(wrong.parse::<Axis>(), Err(AxisError::Form), "{wrong}");
        }
        assert_eq!("seed=0..9999999".parse::<Axis>(), Err(AxisError::TooMany));
        assert_eq!("a=\u{1b}[2J".parse::<Axis>(), Err(AxisError::Hidden));
    }

    #[test]
    fn every_combination_is_one_point() {
        let axis = |text: &str| text.parse::<Axis>().unwrap();
        let axes = vec![axis("seed=1..2"), axis("x=a,b,c")];
        let sweep =
            Sweep { source: String::new(), path: PathBuf::new(), axes, instead: Overrides::default() };
        assert_eq!(sweep.points(), Some(6));
        let said =
            |point| sweep.settings(point).into_iter().map(|one| one.value).collect::<Vec<_>>().concat();
        assert_eq!((0..6).map(said).collect::<Vec<_>>(), ["1a", "1b", "1c", "2a", "2b", "2c"]);
    }
}

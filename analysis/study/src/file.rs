//! Study files.

use crate::error::StudyError;
use crate::plan::{Curve, Distribution, Inflation, StudyPlan, Utilizations};
use crate::version::ProgramVersion;
use serde::Deserialize;
use solo_model::overhead::OverheadTable;
use solo_model::units::{Bytes, Duration};
use solo_prove::TaskSet;
use solo_prove::catalogue;
use solo_prove::overhead::{CacheDelay, EPOS, LITMUS_RT, parse_table};
use solo_store::read;
use std::collections::BTreeMap;
use std::path::Path;

/// What the command line may say otherwise than the file.
#[derive(Clone, Copy, Default, Debug)]
pub struct Overrides {
    /// So many sets for each cap.
    pub sets: Option<u64>,
    /// Only each n-th cap, from the first.
    pub every: Option<u64>,
    /// Another seed.
    pub seed: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    #[serde(default)]
    about: String,
    #[serde(default = "one")]
    seed: u64,
    sets: u64,
    cores: u32,
    cluster: Option<u32>,
    caps: Caps,
    work_limit: Option<u64>,
    /// The thesis's distributions, crossed.
    distributions: Option<Cross>,
    #[serde(default)]
    distribution: Vec<One>,
    working_sets: Option<WorkingSets>,
    /// Tests that are not asked of sets of distributions whose names begin so.
    #[serde(default)]
    skip: BTreeMap<String, Vec<String>>,
    curve: Vec<CurveFile>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Caps {
    from: f64,
    to: f64,
    step: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cross {
    utilizations: Vec<String>,
    periods: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct One {
    name: String,
    utilization: Source,
    period_ms: (f64, f64),
    #[serde(default)]
    slack: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Source {
    Uniform((f64, f64)),
    #[serde(rename_all = "kebab-case")]
    Bimodal {
        light: (f64, f64),
        heavy: (f64, f64),
        heavy_share: f64,
    },
    Uunifast {
        tasks: usize,
    },
    Randfixedsum {
        tasks: usize,
        range: (f64, f64),
    },
    Drs {
        least: Vec<f64>,
        most: Vec<f64>,
    },
}

/// The analytic bound of thesis 5.8: every line of the working set is fetched anew.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WorkingSets {
    sizes_kib: Vec<u64>,
    line_bytes: u64,
    miss_ps: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CurveFile {
    name: String,
    any_of: Vec<String>,
    overheads: Option<String>,
    tick_us: Option<u64>,
    #[serde(default)]
    ipi: bool,
    /// Asks its tests even where they are to be skipped.
    #[serde(default)]
    all_tests: bool,
    /// Counted once for each working set.
    #[serde(default)]
    working_sets: bool,
}

/// The utilisations of thesis 5.1 by name.
fn thesis_utilization(name: &str) -> Option<Utilizations> {
    let bimodal = |heavy_share| Utilizations::Bimodal { light: (0.001, 0.1), heavy: (0.5, 0.9), heavy_share };
    Some(match name {
        "uniform-light" => Utilizations::Uniform((0.001, 0.1)),
        "uniform-medium" => Utilizations::Uniform((0.1, 0.4)),
        "uniform-heavy" => Utilizations::Uniform((0.5, 0.9)),
        "bimodal-light" => bimodal(1.0 / 9.0),
        "bimodal-medium" => bimodal(3.0 / 9.0),
        "bimodal-heavy" => bimodal(5.0 / 9.0),
        _ => return None,
    })
}

/// The periods of thesis 5.1 by name, in milliseconds.
fn thesis_period(name: &str) -> Option<(f64, f64)> {
    Some(match name {
        "short" => (3.0, 33.0),
        "moderate" => (10.0, 100.0),
        "long" => (50.0, 250.0),
        _ => return None,
    })
}

/// The slack of thesis 5.1 and 5.9.3: 0.07, 0.07 and 0.1 for light, medium and heavy tasks on eight cores, 0.5, 0.5
/// and 1 on a hundred.
fn thesis_slack(utilization: &str, cores: u32) -> f64 {
    match (utilization.ends_with("heavy"), cores > 32) {
        (false, false) => 0.07,
        (true, false) => 0.1,
        (false, true) => 0.5,
        (true, true) => 1.0,
    }
}

/// Larger files are no studies, and no tables of overheads.
pub(crate) const LARGEST_FILE: u64 = 16 << 20;

/// Reads a study file.
///
/// # Errors
/// [`StudyError`] says what is wrong and where.
pub fn load(path: &Path, overrides: Overrides) -> Result<StudyPlan, StudyError> {
    let text = read::text(path, LARGEST_FILE)?;
    parse(&text, path, overrides)
}

/// Reads a study's text; files it names are looked for in the folder of `path`.
///
/// # Errors
/// [`StudyError`] says what is wrong and where.
pub fn parse(text: &str, path: &Path, overrides: Overrides) -> Result<StudyPlan, StudyError> {
    let file: File = toml::from_str(text)
        .map_err(|error| StudyError::Syntax { path: path.to_path_buf(), message: error.to_string() })?;
    let wrong =
        |key: &str, message: String| StudyError::Value { path: path.to_path_buf(), key: key.into(), message };
    if !(1..=1024).contains(&file.cores) {
        return Err(wrong("cores", format!("found {}, expected 1 to 1024", file.cores)));
    }
    if let Some(size) = file.cluster.filter(|&size| size == 0 || !file.cores.is_multiple_of(size)) {
        return Err(wrong("cluster", format!("{size} cores a cluster do not divide {} cores", file.cores)));
    }
    let sets = overrides.sets.unwrap_or(file.sets);
    if !(1..=1_000_000).contains(&sets) {
        return Err(wrong("sets", format!("found {sets}, expected 1 to 1000000")));
    }
    let caps = caps(&file.caps, file.cores, overrides.every.unwrap_or(1).max(1))
        .map_err(|message| wrong("caps", message))?;
    let mut distributions = Vec::new();
    if let Some(cross) = &file.distributions {
        cross_of(cross, file.cores, &mut distributions).map_err(|(key, message)| wrong(key, message))?;
    }
    for one in file.distribution {
        let key = format!("distribution {:?}", one.name);
        distributions.push(distribution(one).map_err(|message| wrong(&key, message))?);
    }
    if distributions.is_empty() {
        return Err(wrong(
            "distributions",
            "there is none; expected [distributions] or [[distribution]]".into(),
        ));
    }
    let skips = skips(&file.skip, &distributions).map_err(|message| wrong("skip", message))?;
    let mut inflations = Vec::new();
    let mut curves = Vec::new();
    for curve in &file.curve {
        let key = format!("curve {:?}", curve.name);
        let cores = (file.cores, file.cluster);
        curve_of(curve, file.working_sets.as_ref(), cores, path, &mut inflations, &mut curves)
            .map_err(|message| wrong(&key, message))?;
    }
    if curves.is_empty() || curves.len() > 400 {
        return Err(wrong("curve", format!("found {} curves, expected 1 to 400", curves.len())));
    }
    Ok(StudyPlan {
        name: file.name,
        about: file.about,
        seed: overrides.seed.unwrap_or(file.seed),
        sets,
        cores: file.cores,
        cluster: file.cluster,
        caps,
        work_limit: file.work_limit.unwrap_or(1 << 24),
        distributions: distributions.into_iter().map(|one| (one.name.clone(), one)).collect(),
        skips,
        inflations,
        curves,
        version: ProgramVersion::CURRENT,
    })
}

fn caps(caps: &Caps, cores: u32, every: u64) -> Result<Vec<u64>, String> {
    let thousandths = |value: f64, name: &str| {
        let scaled = (value * 1000.0).round();
        if value.is_finite() && (1.0..=f64::from(cores) * 1000.0).contains(&scaled) {
            Ok(scaled as u64)
        } else {
            Err(format!("{name} = {value}, expected 0.001 to {cores}, the number of cores"))
        }
    };
    let (from, to, step) =
        (thousandths(caps.from, "from")?, thousandths(caps.to, "to")?, thousandths(caps.step, "step")?);
    if from > to {
        return Err(format!("from = {} lies above to = {}", caps.from, caps.to));
    }
    let step = step.saturating_mul(every).max(1);
    Ok((from..=to).step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect())
}

fn cross_of(cross: &Cross, cores: u32, found: &mut Vec<Distribution>) -> Result<(), (&'static str, String)> {
    for utilizations in &cross.utilizations {
        let utilization = thesis_utilization(utilizations).ok_or_else(|| {
            let known =
                "uniform-light, uniform-medium, uniform-heavy, bimodal-light, bimodal-medium, bimodal-heavy";
            ("distributions.utilizations", format!("there is no {utilizations:?}; there are {known}"))
        })?;
        for periods in &cross.periods {
            let period_ms = thesis_period(periods).ok_or_else(|| {
                ("distributions.periods", format!("there is no {periods:?}; there are short, moderate, long"))
            })?;
            found.push(Distribution {
                name: format!("{utilizations}, {periods}"),
                utilization: utilization.clone(),
                period_ms,
                slack: thesis_slack(utilizations, cores),
            });
        }
    }
    Ok(())
}

/// For each distribution the tests that are skipped.
fn skips(
    skip: &BTreeMap<String, Vec<String>>,
    distributions: &[Distribution],
) -> Result<Vec<Vec<&'static str>>, String> {
    for (prefix, tests) in skip {
        if !distributions.iter().any(|one| one.name.starts_with(prefix.as_str())) {
            return Err(format!("no distribution's name begins with {prefix:?}"));
        }
        if let Some(test) = tests.iter().find(|test| catalogue::find(test).is_none()) {
            return Err(format!("there is no test {test:?}"));
        }
    }
    let of = |one: &Distribution| {
        let named = skip.iter().filter(|(prefix, _)| one.name.starts_with(prefix.as_str()));
        named
            .flat_map(|(_, tests)| tests)
            .filter_map(|test| catalogue::find(test))
            .map(|test| test.id)
            .collect()
    };
    Ok(distributions.iter().map(of).collect())
}

fn distribution(one: One) -> Result<Distribution, String> {
    let range = |(low, high): (f64, f64), least: f64, most: f64, what: &str| {
        if low.is_finite() && high.is_finite() && least <= low && low <= high && high <= most && high > 0.0 {
            Ok((low, high))
        } else {
            Err(format!("{what} = [{low}, {high}], expected an ascending range within {least} to {most}"))
        }
    };
    let count = |tasks: usize| match tasks {
        1..=5000 => Ok(tasks),
        _ => Err(format!("tasks = {tasks}, expected 1 to 5000")),
    };
    // A task of less than a ten-thousandth of a core would make sets of millions of tasks.
    let utilization = |given| range(given, 0.0, 1.0, "utilization");
    let mean = |(low, high): (f64, f64)| (low + high) / 2.0;
    let dense = |mean: f64| match mean {
        mean if mean >= 1e-4 => Ok(()),
        mean => Err(format!("a mean utilization of {mean}, expected at least 0.0001")),
    };
    let utilization = match one.utilization {
        Source::Uniform(given) => {
            let given = utilization(given)?;
            dense(mean(given))?;
            Utilizations::Uniform(given)
        }
        Source::Bimodal { light, heavy, heavy_share } => {
            let (light, heavy) = (utilization(light)?, utilization(heavy)?);
            if !(0.0..=1.0).contains(&heavy_share) {
                return Err(format!("heavy-share = {heavy_share}, expected 0 to 1"));
            }
            dense(mean(light) * (1.0 - heavy_share) + mean(heavy) * heavy_share)?;
            Utilizations::Bimodal { light, heavy, heavy_share }
        }
        Source::Uunifast { tasks } => Utilizations::UUniFast { tasks: count(tasks)? },
        Source::Randfixedsum { tasks, range } => {
            let range = utilization(range)?;
            if range.0 == range.1 {
                return Err("randfixedsum needs a range of some width".into());
            }
            Utilizations::RandFixedSum { tasks: count(tasks)?, range }
        }
        Source::Drs { least, most } => {
            count(least.len())?;
            if least.len() != most.len() {
                return Err(format!("{} values of least and {} of most", least.len(), most.len()));
            }
            least.iter().zip(&most).try_for_each(|(&least, &most)| utilization((least, most)).map(|_| ()))?;
            Utilizations::Drs { least, most }
        }
    };
    let period_ms = range(one.period_ms, 0.001, 1e6, "period-ms")?;
    if !(0.0..=1000.0).contains(&one.slack) {
        return Err(format!("slack = {}, expected 0 to 1000", one.slack));
    }
    let drawn_one_by_one = matches!(utilization, Utilizations::Uniform(_) | Utilizations::Bimodal { .. });
    if drawn_one_by_one && one.slack == 0.0 {
        return Err("slack is missing: a sum of random numbers never meets a cap exactly".into());
    }
    Ok(Distribution { name: one.name, utilization, period_ms, slack: one.slack })
}

fn curve_of(
    curve: &CurveFile,
    working_sets: Option<&WorkingSets>,
    (cores, cluster): (u32, Option<u32>),
    path: &Path,
    inflations: &mut Vec<Inflation>,
    curves: &mut Vec<Curve>,
) -> Result<(), String> {
    let find = |name: &String| {
        let known = || catalogue::TESTS.iter().map(|test| test.id).collect::<Vec<_>>().join(", ");
        catalogue::find(name)
            .map(|test| test.id)
            .ok_or_else(|| format!("there is no test {name:?}; there are {}", known()))
    };
    let any_of = curve.any_of.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    if any_of.is_empty() {
        return Err("any-of names no test".into());
    }
    if cluster.is_none() && any_of.iter().any(|id| id.starts_with("cedf")) {
        return Err(format!(
            "clustered tests need `cluster`, the cores of a cluster, beside cores = {cores}"
        ));
    }
    let overheads = curve.overheads.as_ref().map(|name| overheads(name, path)).transpose()?;
    if overheads.is_none() && (curve.tick_us.is_some() || curve.ipi) {
        return Err("tick-us and ipi mean something with overheads only".into());
    }
    if curve.tick_us == Some(0) {
        return Err("tick-us = 0, expected at least 1".into());
    }
    let delays: Vec<(Option<Bytes>, Duration)> = match (curve.working_sets, working_sets) {
        (false, _) => vec![(None, Duration::ZERO)],
        (true, None) => return Err("working-sets = true needs a table [working-sets]".into()),
        (true, Some(sets)) => sets.sizes_kib.iter().map(|&kib| delay(kib, sets)).collect::<Result<_, _>>()?,
    };
    for (working_set, cache_delay) in delays {
        let inflation = Inflation {
            overheads: overheads.clone(),
            tick: curve.tick_us.map(Duration::from_micros),
            ipi: curve.ipi,
            cache_delay,
        };
        let position = inflations.iter().position(|known| *known == inflation).unwrap_or_else(|| {
            inflations.push(inflation);
            inflations.len().saturating_sub(1)
        });
        curves.push(Curve {
            name: curve.name.clone(),
            any_of: any_of.clone(),
            all_tests: curve.all_tests,
            inflation: position,
            working_set,
        });
    }
    Ok(())
}

fn delay(kib: u64, sets: &WorkingSets) -> Result<(Option<Bytes>, Duration), String> {
    if kib > 1 << 30 || sets.miss_ps > 1_000_000_000 {
        return Err(format!(
            "a working set of {kib} KiB at {} ps a miss is beyond any machine",
            sets.miss_ps
        ));
    }
    let size = Bytes::from_kib(kib);
    // Misses are counted in picoseconds and rounded up once.
    let lines = CacheDelay::by_lines(size, Bytes::new(sets.line_bytes), Duration::new(1));
    let lines = lines.ok_or("line-bytes = 0, expected the size of a cache line")?.get();
    let loss = lines.checked_mul(sets.miss_ps).map(|loss| loss.div_ceil(1000));
    let loss = loss.ok_or_else(|| {
        let (line, miss) = (sets.line_bytes, sets.miss_ps);
        format!("to fetch {kib} KiB in lines of {line} bytes at {miss} ps a miss takes longer than any clock counts")
    })?;
    Ok((Some(size), Duration::new(loss)))
}

pub(crate) fn overheads(name: &str, path: &Path) -> Result<OverheadTable, String> {
    let beside = path.parent().unwrap_or(Path::new(""));
    let text = match name {
        "epos" => EPOS.to_owned(),
        "litmus-rt" => LITMUS_RT.to_owned(),
        file => {
            let file = beside.join(file);
            read::text(&file, LARGEST_FILE)
                .map_err(|error| format!("{error}; built in are epos and litmus-rt"))?
        }
    };
    parse_table(&text).map_err(|message| {
        // A study from elsewhere may name any file: of others than its own nothing is quoted.
        let known = matches!(name, "epos" | "litmus-rt") || read::lies_in(&beside.join(name), beside);
        let message = if known { message } else { "it is no table of overheads".to_owned() };
        format!("overheads {name:?}: {message}")
    })
}

/// The most cores that tests can judge.
const _: () = assert!(TaskSet::CORES_LIMIT >= 1024);

//! Files of fits.

use super::{CurveAt, FitPlan, Measure, Relation, Sentence, Table, Target};
use crate::error::StudyError;
use crate::file::{self, LARGEST_FILE, Overrides};
use crate::plan::StudyPlan;
use serde::Deserialize;
use solo_model::overhead::Overhead;
use solo_model::units::{Bytes, Duration};
use solo_store::read;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    name: String,
    /// Sets of each cap.
    sets: u64,
    /// Numbers of threads at which a source may grow.
    threads: Vec<u32>,
    /// Study files by the names that are used below.
    studies: BTreeMap<String, String>,
    table: Vec<TableFile>,
    target: Vec<TargetFile>,
    #[serde(default)]
    sentence: Vec<SentenceFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TableFile {
    name: String,
    start: String,
    grows: String,
    curves: Vec<String>,
    #[serde(default)]
    fixed: Vec<(u32, u64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TargetFile {
    source: String,
    study: String,
    distribution: String,
    curve: String,
    drops_at: Option<f64>,
    ends_at: Option<f64>,
    /// The other curve of `gain`.
    over: Option<String>,
    gain: Option<f64>,
    weighted: Option<f64>,
    size_kib: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SentenceFile {
    text: String,
    studies: Vec<String>,
    distributions: Vec<String>,
    above: Option<Pairs>,
    like: Option<Pairs>,
    #[serde(default)]
    sizes_kib: Vec<u64>,
}

/// Each of the first to each of the second.
type Pairs = (Vec<String>, Vec<String>);

/// Reads a fit's file, and the studies and tables that it names, whose paths begin at its folder.
///
/// # Errors
/// [`StudyError`] says what is wrong and where.
pub fn load(path: &Path, sets: Option<u64>) -> Result<FitPlan, StudyError> {
    let text = read::text(path, LARGEST_FILE)?;
    let file: File = toml::from_str(&text)
        .map_err(|error| StudyError::Syntax { path: path.to_path_buf(), message: error.to_string() })?;
    let wrong =
        |key: &str, message: String| StudyError::Value { path: path.to_path_buf(), key: key.into(), message };
    let sets = sets.unwrap_or(file.sets);
    if !(1..=10_000).contains(&sets) {
        return Err(wrong("sets", format!("found {sets}, expected 1 to 10000")));
    }
    let ascending = file.threads.iter().zip(file.threads.iter().skip(1)).all(|(one, next)| one < next);
    if !(1..=64).contains(&file.threads.len()) || !ascending {
        return Err(wrong(
            "threads",
            format!("found {:?}, expected 1 to 64 ascending numbers", file.threads),
        ));
    }
    let beside = path.parent().unwrap_or(Path::new(""));
    let mut studies = BTreeMap::new();
    for (name, study) in &file.studies {
        studies.insert(
            name.clone(),
            study_of(&beside.join(study)).map_err(|error| match error {
                Named::Study(error) => error,
                Named::No => wrong("studies", format!("{study:?} is no study file")),
            })?,
        );
    }
    let names = Names { studies: &studies };
    let tables = file.table.iter().map(|table| {
        table_of(table, &file.threads, path)
            .map_err(|message| wrong(&format!("table {:?}", table.name), message))
    });
    let targets = file.target.iter().map(|target| {
        names.target(target).map_err(|message| wrong(&format!("target {:?}", target.source), message))
    });
    let sentences = file.sentence.iter().map(|sentence| {
        names.sentence(sentence).map_err(|message| wrong(&format!("sentence {:?}", sentence.text), message))
    });
    let plan = FitPlan {
        name: file.name.clone(),
        sets,
        threads: file.threads.clone(),
        tables: tables.collect::<Result<_, _>>()?,
        targets: targets.collect::<Result<_, _>>()?,
        sentences: sentences.collect::<Result<_, _>>()?,
        studies: studies.values().cloned().collect(),
    };
    each_once(&plan).map_err(|(key, message)| wrong(key, message))?;
    Ok(plan)
}

/// Why a file that is named is no study.
enum Named {
    /// It is one, with something wrong in it.
    Study(StudyError),
    /// It is none.
    No,
}

/// A study that a fit names. A fit from elsewhere may name any file: of one that is no study nothing is quoted.
fn study_of(path: &Path) -> Result<StudyPlan, Named> {
    file::load(path, Overrides::default()).map_err(|error| match error {
        StudyError::Syntax { .. } => Named::No,
        error => Named::Study(error),
    })
}

/// Nothing where no curve has two tables, every table has a published number, and names are files'.
fn each_once(plan: &FitPlan) -> Result<(), (&'static str, String)> {
    let mut seen: Vec<&str> = Vec::new();
    for curve in plan.tables.iter().flat_map(|table| &table.curves) {
        if seen.contains(&curve.as_str()) {
            return Err(("table", format!("two tables inflate {curve:?}")));
        }
        seen.push(curve);
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, table) in plan.tables.iter().enumerate() {
        if !solo_store::name::is_component(&table.name) || names.contains(&table.name.as_str()) {
            return Err(("table", format!("{:?} is no name of a file, or another table's", table.name)));
        }
        names.push(&table.name);
        let of =
            |target: &Target| target.measure.places().iter().any(|place| plan.table_of(place) == Some(at));
        if !plan.targets.iter().any(of) {
            return Err(("target", format!("no published number says anything of table {:?}", table.name)));
        }
    }
    Ok(())
}

fn table_of(table: &TableFile, threads: &[u32], path: &Path) -> Result<Table, String> {
    let start = file::overheads(&table.start, path)?;
    let known = || Overhead::ALL.map(Overhead::name).join(", ");
    let grows = Overhead::ALL.into_iter().find(|overhead| overhead.name() == table.grows);
    let grows =
        grows.ok_or_else(|| format!("there is no overhead {:?}; there are {}", table.grows, known()))?;
    let mut fixed = BTreeMap::new();
    let mut before = 0;
    for &(count, cost) in &table.fixed {
        if !threads.contains(&count) || cost < before || fixed.insert(count, Duration::new(cost)).is_some() {
            return Err(format!(
                "fixed: [{count}, {cost}] is not at one of `threads`, falls, or stands there twice"
            ));
        }
        before = cost;
    }
    Ok(Table { name: table.name.clone(), start, grows, curves: table.curves.clone(), fixed })
}

/// The studies by name, in the order of a [`FitPlan`]'s.
struct Names<'f> {
    studies: &'f BTreeMap<String, StudyPlan>,
}

impl Names<'_> {
    fn place(
        &self,
        study: &str,
        distribution: &str,
        curve: &str,
        kib: Option<u64>,
    ) -> Result<CurveAt, String> {
        let known = || self.studies.keys().cloned().collect::<Vec<_>>().join(", ");
        let at = self.studies.keys().position(|name| name == study);
        let at = at.ok_or_else(|| format!("there is no study {study:?}; there are {}", known()))?;
        let plan = self.studies.get(study).ok_or_else(known)?;
        let of = plan
            .distributions
            .iter()
            .position(|(name, _)| name == distribution || name.split(',').next() == Some(distribution));
        let of = of.ok_or_else(|| {
            let names: Vec<&str> = plan.distributions.iter().map(|(name, _)| name.as_str()).collect();
            format!("study {study:?} has no distribution {distribution:?}; it has {}", names.join("; "))
        })?;
        let named: Vec<_> = plan.curves.iter().filter(|one| one.name == curve).collect();
        if named.is_empty() {
            return Err(format!("study {study:?} has no curve {curve:?}"));
        }
        // A curve without working sets is the same at any size.
        let size = kib.map(Bytes::from_kib).filter(|_| named.iter().any(|one| one.working_set.is_some()));
        if !named.iter().any(|one| one.working_set == size) {
            return Err(format!(
                "curve {curve:?} of study {study:?} is not counted with a working set of {kib:?} KiB"
            ));
        }
        Ok(CurveAt { study: at, distribution: of, curve: curve.to_owned(), size })
    }

    fn target(&self, target: &TargetFile) -> Result<Target, String> {
        let place = |curve: &str| self.place(&target.study, &target.distribution, curve, target.size_kib);
        let this = place(&target.curve)?;
        let (measure, what, number) = match (target.drops_at, target.ends_at, target.gain, target.weighted) {
            (Some(cap), None, None, None) => (Measure::Drops(this), "begins to fall at cap", cap),
            (None, Some(cap), None, None) => (Measure::Ends(this), "ends at cap", cap),
            (None, None, None, Some(share)) => {
                (Measure::Weighted(this), "has a weighted schedulability of", share)
            }
            (None, None, Some(gain), None) => {
                let over = target.over.as_deref().ok_or("gain needs `over`, the other curve")?;
                (Measure::Gain(this, place(over)?), "ends at a cap that is higher by a factor of", gain)
            }
            _ => return Err("expected one of drops-at, ends-at, gain (with over), weighted".to_owned()),
        };
        if !number.is_finite() || !(0.001..=1024.0).contains(&number) {
            return Err(format!("found {number}, expected 0.001 to 1024"));
        }
        let size = target.size_kib.map(|kib| format!(", {kib} KiB")).unwrap_or_default();
        let over = target.over.as_ref().map(|over| format!(" than {over}")).unwrap_or_default();
        let text = format!(
            "{}: {} ({}, {}{size}) {what} {number}{over}",
            target.source, target.curve, target.distribution, target.study
        );
        Ok(Target { text, measure, published: (number * 1000.0).round() as u64 })
    }

    fn sentence(&self, sentence: &SentenceFile) -> Result<Sentence, String> {
        let (relation, (ones, others)) = match (&sentence.above, &sentence.like) {
            (Some(pairs), None) => (Relation::Above, pairs),
            (None, Some(pairs)) => (Relation::Like, pairs),
            _ => return Err("expected one of above and like".to_owned()),
        };
        let sizes: Vec<Option<u64>> = match sentence.sizes_kib.as_slice() {
            [] => vec![None],
            sizes => sizes.iter().copied().map(Some).collect(),
        };
        let mut pairs = Vec::new();
        for study in &sentence.studies {
            for distribution in &sentence.distributions {
                for &size in &sizes {
                    for one in ones {
                        for other in others {
                            pairs.push((
                                self.place(study, distribution, one, size)?,
                                self.place(study, distribution, other, size)?,
                            ));
                        }
                    }
                }
            }
        }
        if pairs.is_empty() {
            return Err("it says nothing of any pair of curves".to_owned());
        }
        Ok(Sentence { text: sentence.text.clone(), pairs, relation })
    }
}

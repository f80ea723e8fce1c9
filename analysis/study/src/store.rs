//! What a whole study leaves behind: each set as Parquet, the summary as JSON, a page with figures.

use crate::error::StudyError;
use crate::results::page;
use crate::results::{Results, Summary};
use solo_store::TargetFolder;
use std::path::{Path, PathBuf};

/// The files of a whole study.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Every set with its verdicts; none where this crate was built without its feature `parquet`.
    pub parquet: Option<PathBuf>,
    /// The summary.
    pub summary: PathBuf,
    /// The page.
    pub page: PathBuf,
    /// The figures, a distribution each.
    pub figures: Vec<PathBuf>,
}

/// Writes everything into `dir`, each file beside its place first.
///
/// # Errors
/// What can't be written.
pub fn write_all(results: &Results, summary: &Summary, dir: &Path) -> Result<Written, StudyError> {
    let place = TargetFolder::at(dir)?;
    let written = Written {
        parquet: cfg!(feature = "parquet").then(|| dir.join("sets.parquet")),
        summary: dir.join("summary.json"),
        page: dir.join("report.html"),
        figures: (0..summary.distributions.len()).map(|at| dir.join(figure_name(at))).collect(),
    };
    #[cfg(feature = "parquet")]
    if let Some(path) = &written.parquet {
        let whole = place.create("sets.parquet")?;
        crate::results::columns::write(results, path, whole.handle()?)?;
        whole.commit()?;
    }
    let mut json = serde_json::to_vec_pretty(summary)
        .map_err(|error| StudyError::io("write", &written.summary)(error.into()))?;
    json.push(b'\n');
    place.write("summary.json", &json)?;
    for (at, distribution) in summary.distributions.iter().enumerate() {
        place.write(&figure_name(at), page::figure(distribution).svg().as_bytes())?;
    }
    place.write("report.html", page::page(results, summary).as_bytes())?;
    Ok(written)
}

/// The name of a distribution's figure; they are counted from 1.
fn figure_name(at: usize) -> String {
    format!("figure-{}.svg", at.saturating_add(1))
}

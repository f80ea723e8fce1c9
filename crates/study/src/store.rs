//! What a whole study leaves behind: each set as Parquet, the summary as JSON, a page with figures.

use crate::error::StudyError;
use crate::page;
use crate::results::{Results, Summary};
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
    std::fs::create_dir_all(dir).map_err(StudyError::io("create", dir))?;
    let written = Written {
        parquet: cfg!(feature = "parquet").then(|| dir.join("sets.parquet")),
        summary: dir.join("summary.json"),
        page: dir.join("report.html"),
        figures: (0..summary.distributions.len())
            .map(|at| dir.join(format!("figure-{}.svg", at + 1)))
            .collect(),
    };
    #[cfg(feature = "parquet")]
    if let Some(path) = &written.parquet {
        whole(path, |beside| crate::columns::write(results, beside))?;
    }
    let mut json = serde_json::to_vec_pretty(summary)
        .map_err(|error| StudyError::io("write", &written.summary)(error.into()))?;
    json.push(b'\n');
    bytes(&written.summary, &json)?;
    for (figure, distribution) in written.figures.iter().zip(&summary.distributions) {
        bytes(figure, page::figure(distribution).svg().as_bytes())?;
    }
    bytes(&written.page, page::page(results, summary).as_bytes())?;
    Ok(written)
}

fn bytes(path: &Path, content: &[u8]) -> Result<(), StudyError> {
    whole(path, |beside| std::fs::write(beside, content).map_err(StudyError::io("write", path)))
}

/// Writes beside the file and renames.
fn whole(path: &Path, write: impl FnOnce(&Path) -> Result<(), StudyError>) -> Result<(), StudyError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    write(&beside)?;
    std::fs::rename(&beside, path).map_err(StudyError::io("write", path))
}

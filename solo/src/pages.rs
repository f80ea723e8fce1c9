//! Web pages beside the records.

use crate::exit::Failure;
use solo_report::html::{self, Provenance};
use solo_report::{Manifest, Report};
use std::path::{Path, PathBuf};

/// The file that marks a folder of variants.
pub(crate) const COMPARISON: &str = "comparison.json";

/// The file that marks a folder with a lockdown curve.
pub(crate) const CURVE: &str = "curve.json";

/// The file that marks a folder of figures.
pub(crate) const FIGURES: &str = "figures.json";

/// The file that marks a folder of measured overheads.
pub(crate) const OVERHEADS: &str = "overheads.json";

/// The page of one run, in the run's folder.
pub(crate) fn write_run(dir: &Path, report: &Report, manifest: &Manifest) -> Result<PathBuf, Failure> {
    let path = dir.join("report.html");
    write(&path, &html::run(report, None, &Provenance::from(manifest)))?;
    Ok(path)
}

/// The page of a comparison, above the runs' folders.
pub(crate) fn write_comparison(
    dir: &Path,
    reports: &[(&str, &Report)],
    manifest: &Manifest,
) -> Result<PathBuf, Failure> {
    let path = dir.join("report.html");
    write(&path, &html::comparison(reports, &Provenance::from(manifest)))?;
    Ok(path)
}

/// Writes a file as a whole: beside it first, then in its place.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |source| Failure::File { action: "write", path: path.to_path_buf(), source };
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).map_err(failed)?;
    std::fs::rename(&beside, path).map_err(failed)
}

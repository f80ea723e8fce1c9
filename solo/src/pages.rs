//! Web pages beside the records.

use crate::exit::Failure;
use solo_report::html::{self, Provenance};
use solo_report::{Manifest, Report};
use solo_store::Place;
use std::path::PathBuf;

/// The file that marks a folder of variants.
pub(crate) const COMPARISON: &str = "comparison.json";

/// The file that marks a folder with a lockdown curve.
pub(crate) const CURVE: &str = "curve.json";

/// The file that marks a folder of figures.
pub(crate) const FIGURES: &str = "figures.json";

/// The file that marks a folder of measured overheads.
pub(crate) const OVERHEADS: &str = "overheads.json";

/// The page of one run, in the run's folder.
pub(crate) fn write_run(place: &Place, report: &Report, manifest: &Manifest) -> Result<PathBuf, Failure> {
    write(place, "report.html", &html::run(report, None, &Provenance::from(manifest)))
}

/// The page of a comparison, above the runs' folders.
pub(crate) fn write_comparison(
    place: &Place,
    reports: &[(&str, &Report)],
    manifest: &Manifest,
) -> Result<PathBuf, Failure> {
    write(place, "report.html", &html::comparison(reports, &Provenance::from(manifest)))
}

/// Writes a whole text file.
pub(crate) fn write(place: &Place, name: &str, text: &str) -> Result<PathBuf, Failure> {
    Ok(place.write(name, text.as_bytes())?)
}

//! Web pages beside the records.

use crate::exit::Failure;
use solo_lab::Compared;
use solo_report::gains::Gains;
use solo_report::html::{self, Provenance};
use solo_report::{Manifest, Report};
use solo_store::TargetFolder;
use std::path::{Path, PathBuf};

/// The file that marks a folder of variants.
pub(crate) const COMPARISON: &str = "comparison.json";

/// The file that marks a folder with a lockdown curve.
pub(crate) const CURVE: &str = "curve.json";

/// The file that marks a folder of figures.
pub(crate) const FIGURES: &str = "figures.json";

/// The file that marks a folder of measured overheads.
pub(crate) const OVERHEADS: &str = "overheads.json";

/// The page of one run whose records lie in `records`.
pub(crate) fn write_run(
    place: &TargetFolder,
    records: &Path,
    report: &Report,
    manifest: &Manifest,
    scenario: &str,
) -> Result<PathBuf, Failure> {
    write(place, "report.html", &html::run(report, None, &provenance(manifest, records, scenario)))
}

/// The page of a comparison whose runs lie in `records`.
pub(crate) fn write_comparison(
    place: &TargetFolder,
    (records, manifest): (&Path, &Manifest),
    compared: &Compared,
    gains: &[Gains],
    scenario: &str,
) -> Result<PathBuf, Failure> {
    let provenance = provenance(manifest, records, scenario).with_refused(&compared.refused);
    write(place, "report.html", &html::comparison(&compared.reports(), gains, &provenance))
}

fn provenance(manifest: &Manifest, records: &Path, scenario: &str) -> Provenance {
    Provenance::from(manifest).in_folder(records.to_string_lossy()).with_scenario(scenario)
}

/// Writes a whole text file.
pub(crate) fn write(place: &TargetFolder, name: &str, text: &str) -> Result<PathBuf, Failure> {
    Ok(place.write(name, solo_chart::valid(text.to_owned()).as_bytes())?)
}

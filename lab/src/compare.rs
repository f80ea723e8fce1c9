//! The variants of a scenario side by side.

use crate::{Control, LabError, Origin, Recordings, Simulation};
use rayon::prelude::*;
use solo_model::Experiment;
use solo_report::compare::baseline_of;
use solo_report::{FinishedRun, Manifest, Report, Verdict, verdict};
use solo_store::Folder;

/// What a variant is called; a scenario without any is its own.
pub fn name_of(experiment: &Experiment) -> &str {
    if experiment.variant.is_empty() { "scenario" } else { &experiment.variant }
}

/// Variants that have run.
#[derive(Debug)]
pub struct Compared {
    /// One for each variant, in the order in which they were given.
    pub runs: Vec<ComparedRun>,
    /// The figures side by side.
    pub comparison: solo_report::Comparison,
}

/// One variant that has run.
#[derive(Debug)]
pub struct ComparedRun {
    /// What it is called.
    pub name: String,
    /// What it came to.
    pub report: Report,
    /// Who missed what, and why; against the baseline where it isn't the baseline itself.
    pub verdict: Verdict,
}

impl Compared {
    /// Judges runs, each by its variant's name: the baseline by itself, the others against it.
    pub fn new(runs: Vec<(String, Report)>) -> Self {
        let reports: Vec<(&str, &Report)> =
            runs.iter().map(|(name, report)| (name.as_str(), report)).collect();
        let comparison = solo_report::compare(&reports);
        let baseline = baseline_of(&reports);
        let against = |at: usize| reports.get(baseline).filter(|_| at != baseline).map(|(_, report)| *report);
        let verdicts: Vec<Verdict> =
            reports.iter().enumerate().map(|(at, (_, report))| verdict(report, against(at))).collect();
        let run = |((name, report), verdict)| ComparedRun { name, report, verdict };
        Self { runs: runs.into_iter().zip(verdicts).map(run).collect(), comparison }
    }

    /// True where every deadline and bound of every variant held, and every account of time adds up.
    pub fn held(&self) -> bool {
        self.runs.iter().all(|run| run.verdict.held && run.report.conserved())
    }

    /// The reports by name.
    pub fn reports(&self) -> Vec<(&str, &Report)> {
        self.runs.iter().map(|run| (run.name.as_str(), &run.report)).collect()
    }
}

/// Runs experiments at the same time, in memory.
///
/// # Errors
/// The first one that comes to nothing.
pub fn compare(
    experiments: &[Experiment],
    recordings: &Recordings,
    control: &Control<'_>,
) -> Result<Compared, LabError> {
    let one = |experiment: &Experiment| {
        let name = name_of(experiment);
        let report = Simulation { experiment, recordings, name, control }.report()?;
        Ok((name.to_owned(), report))
    };
    Ok(Compared::new(experiments.par_iter().map(one).collect::<Result<_, LabError>>()?))
}

/// Runs experiments at the same time, each into the folder that `place` gives for its position; with the manifest of each.
///
/// # Errors
/// The first one that comes to nothing.
pub fn compare_into(
    experiments: &[Experiment],
    recordings: &Recordings,
    origin: &Origin<'_>,
    place: impl Fn(usize) -> Result<Folder, LabError> + Sync,
    control: &Control<'_>,
) -> Result<(Compared, Vec<Manifest>), LabError> {
    let one = |(at, experiment): (usize, &Experiment)| {
        let name = name_of(experiment);
        let simulation = Simulation { experiment, recordings, name, control };
        let FinishedRun { summary, manifest, .. } = simulation.into_directory(origin, &place(at)?)?;
        Ok(((name.to_owned(), summary), manifest))
    };
    // Replications of all variants wait in one queue: a core that has none of its variant's left takes another's.
    let runs: Vec<_> = experiments.par_iter().enumerate().map(one).collect::<Result<_, LabError>>()?;
    let (runs, manifests) = runs.into_iter().unzip();
    Ok((Compared::new(runs), manifests))
}

//! The variants of a scenario side by side.

use crate::{Control, LabError, Origin, Recordings, Simulation};
use rayon::prelude::*;
use solo_model::Experiment;
use solo_report::compare::baseline_of;
use solo_report::{FinishedRun, Manifest, RefusedVariant, Report, Verdict, verdict};
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
    /// Variants that could not run.
    pub refused: Vec<RefusedVariant>,
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
        Self { runs: runs.into_iter().zip(verdicts).map(run).collect(), comparison, refused: Vec::new() }
    }

    /// The same with variants that could not run.
    #[must_use]
    pub fn with_refused(mut self, refused: impl IntoIterator<Item = RefusedVariant>) -> Self {
        self.refused.extend(refused);
        self
    }

    /// True where the verdicts of all variants hold.
    pub fn held(&self) -> bool {
        self.runs.iter().all(|run| run.verdict.held)
    }

    /// True where the variant of this name could not run.
    pub fn refuses(&self, name: &str) -> bool {
        self.refused.iter().any(|refused| refused.variant == name)
    }

    /// The reports by name.
    pub fn reports(&self) -> Vec<(&str, &Report)> {
        self.runs.iter().map(|run| (run.name.as_str(), &run.report)).collect()
    }
}

/// Runs experiments at the same time, in memory.
///
/// # Errors
/// The first one that comes to nothing, where none of them ran; see [`LabError::refuses`] for what ends all of them.
pub fn compare(
    experiments: &[Experiment],
    recordings: &Recordings,
    control: &Control<'_>,
) -> Result<Compared, LabError> {
    let one = |experiment: &Experiment| {
        let name = name_of(experiment);
        Simulation { experiment, recordings, name, control, stop_on: None }.report()
    };
    let (runs, refused) = sorted(experiments, experiments.par_iter().map(one).collect())?;
    Ok(Compared::new(runs).with_refused(refused))
}

/// Runs experiments at the same time, each into the folder that `place` gives for its position; with the manifest of each
/// that ran. A folder whose experiment was refused is removed again.
///
/// # Errors
/// As [`compare`].
pub fn compare_into(
    experiments: &[Experiment],
    recordings: &Recordings,
    origin: &Origin<'_>,
    place: impl Fn(usize) -> Result<Folder, LabError> + Sync,
    control: &Control<'_>,
) -> Result<(Compared, Vec<Manifest>), LabError> {
    let one = |(at, experiment): (usize, &Experiment)| {
        let name = name_of(experiment);
        let simulation = Simulation { experiment, recordings, name, control, stop_on: None };
        let folder = place(at)?;
        let path = folder.path().to_owned();
        let outcome = simulation.into_directory(origin, &folder);
        drop(folder);
        if outcome.as_ref().is_err_and(LabError::refuses) && path.exists() {
            Folder::remove(&path)?;
        }
        let FinishedRun { summary, manifest, .. } = outcome?;
        Ok((summary, manifest))
    };
    // Replications of all variants wait in one queue: a core that has none of its variant's left takes another's.
    let outcomes = experiments.par_iter().enumerate().map(one).collect();
    let (runs, refused) = sorted(experiments, outcomes)?;
    let (runs, manifests) =
        runs.into_iter().map(|(name, (summary, manifest))| ((name, summary), manifest)).unzip();
    Ok((Compared::new(runs).with_refused(refused), manifests))
}

/// What came of each experiment by its name: those that ran, and those that were refused.
type Sorted<T> = (Vec<(String, T)>, Vec<RefusedVariant>);

fn sorted<T>(experiments: &[Experiment], outcomes: Vec<Result<T, LabError>>) -> Result<Sorted<T>, LabError> {
    let (mut ran, mut refused, mut first) = (Vec::new(), Vec::new(), None);
    for (experiment, outcome) in experiments.iter().zip(outcomes) {
        let variant = name_of(experiment).to_owned();
        match outcome {
            Ok(outcome) => ran.push((variant, outcome)),
            Err(error) if error.refuses() => {
                refused.push(RefusedVariant { variant, reason: error.to_string() });
                first = first.or(Some(error));
            }
            Err(error) => return Err(error),
        }
    }
    match first {
        Some(error) if ran.is_empty() => Err(error),
        _ => Ok((ran, refused)),
    }
}

//! Recordings of real programs in memory, each read once.

use crate::LabError;
use solo_model::Experiment;
use solo_model::work::TraceSource;
use solo_scenario::Scenario;
use solo_store::read;
use solo_workload::TraceImage;
use std::path::PathBuf;
use std::sync::Arc;

/// The recorded programs that experiments replay. Clones share them.
#[derive(Clone, Default, Debug)]
pub struct Recordings {
    known: Vec<(TraceSource, Arc<TraceImage>)>,
}

impl Recordings {
    /// Reads the recordings of experiments and makes sure that they are the right ones.
    ///
    /// # Errors
    /// [`LabError::RecordingChanged`] where a file is another one than the experiment was made with;
    /// [`LabError::Store`] and [`LabError::Trace`] where it can't be read.
    pub fn load<'e>(experiments: impl IntoIterator<Item = &'e Experiment>) -> Result<Self, LabError> {
        let mut known: Vec<(TraceSource, Arc<TraceImage>)> = Vec::new();
        for source in experiments.into_iter().flat_map(|experiment| &experiment.traces) {
            if known.iter().all(|(read, _)| read != source) {
                known.push((source.clone(), image_of(source)?));
            }
        }
        Ok(Self { known })
    }

    /// Those of a scenario, which were read when it was checked.
    pub fn of_scenario(scenario: &Scenario) -> Self {
        Self { known: scenario.recordings.clone() }
    }

    /// Those of an experiment in the order of its traces; what is not here is read.
    ///
    /// # Errors
    /// As [`Recordings::load`].
    pub(crate) fn of(&self, experiment: &Experiment) -> Result<Vec<Arc<TraceImage>>, LabError> {
        let image = |source: &TraceSource| match self.known.iter().find(|(known, _)| known == source) {
            Some((_, image)) => Ok(Arc::clone(image)),
            None => image_of(source),
        };
        experiment.traces.iter().map(image).collect()
    }
}

fn image_of(source: &TraceSource) -> Result<Arc<TraceImage>, LabError> {
    let path = PathBuf::from(&source.path);
    let bytes = read::bytes(&path, solo_trace::LARGEST_FILE)?;
    let found = blake3::hash(&bytes).to_hex().to_string();
    if found != source.hash {
        return Err(LabError::RecordingChanged { path, expected: source.hash.clone(), found });
    }
    let (_, image) = solo_trace::decode(&bytes, &path)?;
    Ok(image)
}

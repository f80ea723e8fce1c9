//! An application alone on cores of one kind or another, for what others are held against.

use solo_model::{CoreId, Experiment};

/// An application alone: its first thread on the first of `cores`, and so on from the beginning again. Nobody listens.
pub(crate) fn alone(experiment: &Experiment, which: usize, cores: &[CoreId]) -> Experiment {
    let application = &experiment.applications[which];
    let names: Vec<String> =
        application.threads.iter().map(|thread| experiment.tasks[thread.index()].name.clone()).collect();
    let mut alone = experiment.clone();
    alone.retain_tasks(|task| names.contains(&task.name));
    alone.listening = None;
    let threads = alone.applications.first().map_or_else(Vec::new, |application| application.threads.clone());
    for (thread, core) in threads.iter().zip(cores.iter().cycle()) {
        alone.tasks[thread.index()].core = Some(*core);
    }
    alone
}

//! Any bytes as an experiment, as a run directory and as a boot module hold it: never a panic; what is accepted can be judged, admitted
//! and compiled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_bare::module::{MAGIC, Module};
use solo_model::{Experiment, TaskId};
use solo_workload::Program;

fn accepted(experiment: &Experiment) {
    if experiment.unknown_event().is_some() || experiment.check().is_err() {
        return;
    }
    let _ = solo_isolate::fits(&experiment.isolation, &experiment.platform, &experiment.tasks);
    for (index, task) in experiment.tasks.iter().take(4).enumerate() {
        let line = experiment.platform.line();
        let _ = Program::new(&task.work, TaskId(index as u32), &experiment.buffers, line, experiment.seed, &[]);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&form, body)) = bytes.split_first() else { return };
    match form % 3 {
        0 => {
            if let Ok(experiment) = serde_json::from_slice(body) {
                accepted(&experiment);
            }
        }
        1 => {
            // A module whose header fits its body.
            let mut packed = MAGIC.to_vec();
            packed.extend((body.len() as u32).to_le_bytes());
            packed.extend(crc32fast::hash(body).to_le_bytes());
            packed.extend(body);
            for module in Module::unpack_all(&packed).unwrap_or_default() {
                if let Some(experiment) = &module.experiment {
                    accepted(experiment);
                }
            }
        }
        _ => {
            let _ = Module::unpack_all(body);
        }
    }
});

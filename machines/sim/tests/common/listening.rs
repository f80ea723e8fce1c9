//! Scenarios whose scheduler listens, and what their records say of who was where, held, and counted.

use solo_model::{CoreId, EventId, Experiment, Instant, Record, TaskId};
use std::path::Path;

/// The experiment of a scenario's text.
pub fn parse(text: &str) -> Experiment {
    let scenario = solo_scenario::parse(text, Path::new("t.toml"), &solo_scenario::Platforms::builtin());
    scenario.unwrap_or_else(|report| panic!("{report}")).base
}

/// A monitor of one event, each 10 ms, and what is done above its threshold.
pub fn monitor(event: &str, threshold: &str, classes: &str, action: &str) -> String {
    format!(
        "[scheduler.monitor]\nevent = \"{event}\"\nperiod = \"10ms\"\nthreshold = {threshold}\n\
         classes = [{classes}]\naction = \"{action}\"\n"
    )
}

/// When a task was held, from when and until when.
pub fn held(records: &[Record], task: TaskId) -> Vec<(Instant, Instant)> {
    let of = |record: &Record| match record {
        Record::Held(held) if held.task == task => Some((held.since, held.at)),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

/// From when until when a task was on a core.
pub fn stays(records: &[Record], task: TaskId, end: Instant) -> Vec<(CoreId, Instant, Instant)> {
    let (mut stays, mut since) = (Vec::new(), Vec::<(CoreId, Instant)>::new());
    for record in records {
        let Record::Switch(switch) = record else { continue };
        if switch.from == Some(task)
            && let Some(at) = since.iter().position(|(core, _)| *core == switch.core)
        {
            let (core, from) = since.remove(at);
            stays.push((core, from, switch.at));
        }
        if switch.to == Some(task) {
            since.push((switch.core, switch.at));
        }
    }
    stays.extend(since.into_iter().map(|(core, from)| (core, from, end)));
    stays
}

/// What a core counted in each period of 10 ms, by the samples of the run, which no policy has touched.
pub fn counted(records: &[Record], core: CoreId, event: EventId) -> Vec<u64> {
    let of = |record: &Record| match record {
        Record::Sample(sample) if sample.core() == Some(core) => sample.counts.get(event),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

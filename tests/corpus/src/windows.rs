//! Windows of partitions in a case.

use crate::parse::{self, ParseError};
use serde::Deserialize;
use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow};
use solo_model::{Instant, PartitionId, Task, TaskId};
use std::collections::BTreeMap;

/// `[[cycle]]` in a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CycleFile {
    length: String,
    /// As a line of a schedule: `0: 0-4ms navigation, 4-6ms radio`.
    windows: String,
}

/// The partitions, by their names, and their windows; `None` where time is not divided.
pub(crate) fn resolve(
    members: &BTreeMap<String, Vec<String>>,
    cycles: &[CycleFile],
    tasks: &[Task],
) -> Result<Option<Partitions>, ParseError> {
    if cycles.is_empty() {
        return Ok(None);
    }
    let task = |name: &String| {
        let position = tasks.iter().position(|task| task.name == *name);
        position.map(|at| TaskId(at as u32)).ok_or_else(|| ParseError::Task(name.clone()))
    };
    let partition = |(name, members): (&String, &Vec<String>)| {
        let tasks = members.iter().map(task).collect::<Result<_, _>>()?;
        Ok(Partition { name: name.clone(), tasks })
    };
    let names: Vec<&String> = members.keys().collect();
    let cycle = |cycle: &CycleFile| {
        let (core, segments) = parse::schedule_line(&cycle.windows)?;
        let window = |(from, to, name): (Instant, Instant, &str)| {
            let at = names.iter().position(|known| *known == name);
            let at = at.ok_or_else(|| ParseError::Windows(format!("no partition is called {name}")))?;
            let begin = from.since(Instant::ZERO);
            Ok(TimeWindow { partition: PartitionId(at as u16), begin, length: to.since(from) })
        };
        let windows = segments.into_iter().map(window).collect::<Result<_, _>>()?;
        Ok(MajorCycle { core, length: parse::time(&cycle.length)?, windows })
    };
    let partitions = members.iter().map(partition).collect::<Result<_, ParseError>>()?;
    let cycles = cycles.iter().map(cycle).collect::<Result<_, ParseError>>()?;
    Partitions::new(partitions, cycles).map(Some).map_err(|error| ParseError::Windows(error.to_string()))
}

//! Each process in a group of resctrl of its own, where ways of the last level are given or what is held of it is read.

use crate::agent::Placing;
use crate::division::{is_monitored, least_ways};
use crate::error::PlaceError;
use crate::hands::Hands;
use solo_guard::{Actuator, Group, GuardError};
use solo_model::TaskId;
use solo_perf::files::Files;

/// What is taken of resctrl.
struct Wanted {
    what: &'static str,
    needs: &'static str,
}

/// What is taken of resctrl by `placing`: ways, and what is held. Nothing where it does without.
fn wanted(placing: &Placing) -> Option<Wanted> {
    let listening = &placing.listening;
    let held = listening.observed.reads_occupancy();
    match (listening.reaction.facts().divides, held) {
        (true, _) => Some(Wanted { what: listening.reaction.name(), needs: "ways of the last-level cache" }),
        (false, true) => {
            let what = listening.observed.monitor.name();
            Some(Wanted { what, needs: "counts of lines in the last-level cache" })
        }
        (false, false) => None,
    }
}

/// Nothing where this machine has all that `placing` takes of resctrl.
///
/// # Errors
/// [`PlaceError::NoCacheGroups`].
pub fn check(placing: &Placing, files: &dyn Files) -> Result<(), PlaceError> {
    let Some(Wanted { what, needs }) = wanted(placing) else { return Ok(()) };
    let lacks = |why: String| Err(PlaceError::NoCacheGroups { what, needs, why });
    let Some(last) = placing.platform.last_level() else {
        return lacks("this machine tells of no cache".to_owned());
    };
    if !files.exists("/sys/fs/resctrl/info") {
        return lacks("nothing is mounted at /sys/fs/resctrl".to_owned());
    }
    let level = last.level;
    if placing.listening.reaction.facts().divides {
        if crate::division::ways(files, level).is_none() {
            return lacks(format!("/sys/fs/resctrl/info has no L{level} to divide"));
        }
        let least = least_ways(files, level);
        if least > 1 {
            return lacks(format!("a group has {least} ways at least there, and single ways are given"));
        }
    }
    if placing.listening.observed.reads_occupancy() && !is_monitored(files) {
        return lacks("/sys/fs/resctrl/info/L3_MON does not have llc_occupancy".to_owned());
    }
    Ok(())
}

/// Makes a group for each process and puts its tasks into it; returns the group of each task, none where none are taken.
///
/// # Errors
/// [`PlaceError::NoCacheGroups`] where the kernel makes none: the processor knows a few at a time.
pub(crate) fn share_out<A: Actuator>(
    placing: &Placing,
    hands: &mut Hands<A>,
) -> Result<Vec<Group>, PlaceError> {
    let Some(Wanted { what, needs }) = wanted(placing) else { return Ok(Vec::new()) };
    let failed = |error: GuardError| {
        let why = match error {
            GuardError::Refused { source, .. } => source.reason(),
            other => other.to_string(),
        };
        PlaceError::NoCacheGroups { what, needs, why }
    };
    let mut groups: Vec<Group> = Vec::new();
    let mut made: Vec<usize> = Vec::new();
    for (task, process) in (0..).zip(placing.listening.process_of(placing.tasks.len())) {
        let name = format!("solo-place-{}-{process}", std::process::id());
        let group = Group::new(&name).map_err(|error| PlaceError::NoCacheGroups {
            what,
            needs,
            why: error.to_string(),
        })?;
        if !made.contains(&process) {
            hands.make_cache_group(&group).map_err(failed)?;
            made.push(process);
        }
        hands.enter_cache_group(TaskId(task), group.clone()).map_err(failed)?;
        groups.push(group);
    }
    Ok(groups)
}

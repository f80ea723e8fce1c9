//! What a watch is asked for, and whether that makes sense.

use crate::outcome::WatchError;
use crate::rights::Rights;
use crate::target::Target;
use solo_model::Duration;
use solo_observe::{EventGroup, Filter, Metric};
use solo_perf::cpus;
use solo_perf::files::Files;

/// The shortest sampling period.
const PERIOD_MIN: Duration = Duration::from_millis(1);

/// What rows are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Per {
    /// Each thread by itself. A program is followed through clone, fork and exec.
    Thread,
    /// The process and all that comes out of it, as one. The program is not touched.
    Process,
    /// Each CPU, whoever runs there.
    Core,
}

/// What to count and how often.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Event sets, one after the other in force for a period each.
    pub sets: Vec<EventGroup>,
    /// Metrics over the columns.
    pub metrics: Vec<Metric>,
    /// What rows are about.
    pub per: Per,
    /// The sampling period, 1 ms or more; `None` for rows on overflow and exit only.
    pub every: Option<Duration>,
    /// Stop after this many rows.
    pub rows_max: Option<u64>,
    /// Stop when a thread has given this many samples of an event (`:ebs=N`).
    pub samples_max: Option<u64>,
    /// Stop after this time.
    pub time_max: Option<Duration>,
    /// The processor's modes to count where an event says nothing.
    pub filter: Filter,
    /// CPUs to keep a started program on.
    pub cpus: Option<Vec<usize>>,
    /// This process becomes the parent of whatever the started program leaves behind, so that all of it can be ended
    /// with the watch. For a process that starts nothing else.
    pub adopt: bool,
    /// What becomes of this thread's capabilities.
    pub rights: Rights,
}

/// Refuses what makes no sense together.
pub(crate) fn check(target: &Target, options: &WatchOptions) -> Result<(), WatchError> {
    let sampled = options.sets.iter().any(|set| set.sampled().is_some());
    let wrong = |text: String| Err(WatchError::Options(text));
    if options.sets.is_empty() || options.sets.iter().any(|set| set.events.is_empty()) {
        return wrong("expected at least one event in each set".into());
    }
    if let Some(set) = options.sets.iter().find(|set| set.events.len() > 48) {
        return wrong(format!("a set has 48 events at most, found {}", set.events.len()));
    }
    match options.every {
        Some(period) if period < PERIOD_MIN => {
            return wrong(format!("the sampling period is 1 ms or more, found {period}"));
        }
        None if !sampled => return wrong("without a sampling period an event needs :ebs=N".into()),
        None if options.sets.len() > 1 => {
            return wrong("several event sets take turns at each tick: name a sampling period".into());
        }
        _ => {}
    }
    if options.samples_max.is_some() && !sampled {
        return wrong("so many samples of what: an event needs :ebs=N".into());
    }
    if sampled && options.per == Per::Process {
        return wrong(
            "event-based sampling is per thread or per core: the kernel keeps no samples of inherited events"
                .into(),
        );
    }
    if *target == Target::Machine && options.per == Per::Process {
        return wrong("the whole machine is watched per core or per thread".into());
    }
    if *target == Target::Machine && options.per == Per::Thread && options.every.is_none() {
        return wrong("threads of the machine are looked for at each tick: name a sampling period".into());
    }
    if matches!(target, Target::Process(_)) && options.per == Per::Core {
        return wrong("a process is watched per thread or as a whole; whole cores belong to nobody".into());
    }
    Ok(())
}

/// A program is kept on the CPUs that were named or refused.
pub(crate) fn check_cpus(options: &WatchOptions, files: &dyn Files) -> Result<(), WatchError> {
    let Some(cpus) = &options.cpus else { return Ok(()) };
    let online = cpus::online(files);
    let is_online = |cpu: usize| u16::try_from(cpu).is_ok_and(|cpu| online.contains(&cpu));
    match cpus.iter().find(|cpu| !is_online(**cpu)) {
        None if cpus.is_empty() => Err(WatchError::Options("expected at least one CPU".into())),
        None => Ok(()),
        Some(cpu) => {
            let list = files.text("/sys/devices/system/cpu/online").unwrap_or_else(|| "0".into());
            Err(WatchError::Options(format!("CPU {cpu} is not there; online are {list}")))
        }
    }
}

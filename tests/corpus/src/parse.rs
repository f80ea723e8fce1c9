//! The small notations inside a case's strings: times, policies, steps, segments, job names.

use solo_model::policy::Scope;
use solo_model::work::{Pattern, Span, Step, Touch};
use solo_model::{
    BufferId, Bytes, CoreId, CoreSet, Criterion, Duration, Instant, LockId, PerMille, TaskClass,
};

/// A string of a case that can't be understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// Not a time.
    #[error("`{0}` is not a time like 2ms (units: ns, us, ms, s)")]
    Time(String),
    /// Not a policy.
    #[error(
        "`{0}` is not a policy like P-EDF (P, C or G, then one of EDF RM DM LLF SJF FCFS RR FP AFFINITY)"
    )]
    Policy(String),
    /// A clustered policy without clusters, or the other way round.
    #[error("`clusters` belongs to a C- policy, and a C- policy needs it")]
    Clusters,
    /// Not a step.
    #[error("`{0}` is not a step like 2ms, sleep 1ms, lock NAME, unlock NAME, touch 100 every 5us")]
    Step(String),
    /// Not a line of a schedule.
    #[error("`{0}` is not a line of a schedule like `0: 0-2ms T1, 2-7ms T2`")]
    Segment(String),
    /// Segments of a core that overlap or go back in time.
    #[error("`{0}` begins before the segment before it ends, or is empty")]
    Order(String),
    /// No task of that name.
    #[error("no task is called `{0}`")]
    Task(String),
    /// No lock of that name.
    #[error("no lock is called `{0}`")]
    Lock(String),
    /// Not a count.
    #[error("`{0}` is not a count like `1.5ms 5`: so many more from then on")]
    Count(String),
    /// Counts that nobody asks for.
    #[error("`counts` belongs to a `[monitor]`, which needs it, and excludes a `[budget]`")]
    Counts,
    /// No event of that name.
    #[error("no event is called `{0}`")]
    Event(String),
    /// A monitor that can't be made of what is said.
    #[error("the monitor can't be made: {0}")]
    Monitor(String),
    /// Windows that are none.
    #[error("the windows are none: {0}")]
    Windows(String),
    /// Not a job.
    #[error("`{0}` is not a job like T3#0")]
    Job(String),
    /// A value of a key that only takes some.
    #[error("`{value}` is not one of {allowed}")]
    Choice {
        /// What the file says.
        value: String,
        /// What it may say.
        allowed: String,
    },
    /// A release that fits no kind.
    #[error("task `{0}` needs a period, or release = \"once\" or \"continuous\" and no period")]
    Release(String),
    /// A core that a set cannot hold.
    #[error("core {0} is beyond the {max} cores that a machine can have", max = CoreSet::CAPACITY)]
    Core(u16),
}

/// A length of time: a decimal number and ns, us, ms or s.
pub(crate) fn time(text: &str) -> Result<Duration, ParseError> {
    let error = || ParseError::Time(text.to_owned());
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(error)?;
    let (number, unit) = text.split_at(unit_at);
    let unit: u64 = match unit.trim() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(error()),
    };
    let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let mut nanoseconds = digits(whole).and_then(|n| n.checked_mul(unit)).ok_or_else(error)?;
    let mut worth = unit;
    for digit in fraction.chars() {
        let digit = u64::from(digit.to_digit(10).ok_or_else(error)?);
        if !worth.is_multiple_of(10) {
            return Err(error());
        }
        worth /= 10;
        nanoseconds = nanoseconds.checked_add(digit * worth).ok_or_else(error)?;
    }
    Ok(Duration::new(nanoseconds))
}

fn digits(text: &str) -> Option<u64> {
    (text.chars().all(|c| c.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// `P-EDF` and the clusters of a C- policy.
pub(crate) fn policy(text: &str, clusters: Option<&[Vec<u16>]>) -> Result<(Scope, Criterion), ParseError> {
    let error = || ParseError::Policy(text.to_owned());
    let (letter, name) = text.split_once('-').ok_or_else(error)?;
    let criterion =
        Criterion::ALL.into_iter().find(|criterion| criterion.name() == name).ok_or_else(error)?;
    let scope = match (letter, clusters) {
        ("P", None) => Scope::Partitioned,
        ("G", None) => Scope::Global,
        ("C", Some(clusters)) => {
            let cluster = |cores: &Vec<u16>| cores.iter().map(|&core| known_core(core)).collect();
            Scope::Clustered(clusters.iter().map(cluster).collect::<Result<_, _>>()?)
        }
        ("P" | "G" | "C", _) => return Err(ParseError::Clusters),
        _ => return Err(error()),
    };
    Ok((scope, criterion))
}

fn known_core(core: u16) -> Result<CoreId, ParseError> {
    if usize::from(core) < CoreSet::CAPACITY { Ok(CoreId(core)) } else { Err(ParseError::Core(core)) }
}

/// `hard`, `soft` or `best-effort`.
pub(crate) fn class(text: &str) -> Result<TaskClass, ParseError> {
    match text {
        "hard" => Ok(TaskClass::Hard),
        "soft" => Ok(TaskClass::Soft),
        "best-effort" => Ok(TaskClass::BestEffort),
        _ => {
            Err(ParseError::Choice { value: text.to_owned(), allowed: "hard, soft, best-effort".to_owned() })
        }
    }
}

/// `1.5ms 5` or `1.5ms 5 cycles`: from then on, so many more have been counted of the event.
pub(crate) fn count(text: &str) -> Result<(Instant, u64, Option<String>), ParseError> {
    let error = || ParseError::Count(text.to_owned());
    let mut words = text.split_whitespace();
    let (at, count) = (words.next().ok_or_else(error)?, words.next().ok_or_else(error)?);
    let event = words.next().map(str::to_owned);
    if words.next().is_some() {
        return Err(error());
    }
    Ok((Instant::ZERO + time(at)?, digits(count).ok_or_else(error)?, event))
}

/// `2ms`, `sleep 2ms`, `lock NAME` or `unlock NAME`; for semaphores also `wait NAME` and `post NAME`; `touch 100 every
/// 5us` for accesses to memory that none of the caches holds, in the buffer of task number `task`.
pub(crate) fn step(text: &str, locks: &[String], task: usize) -> Result<Step, ParseError> {
    let lock = |name: &str| {
        let position = locks.iter().position(|lock| lock == name.trim());
        position.map(|at| LockId(at as u16)).ok_or_else(|| ParseError::Lock(name.trim().to_owned()))
    };
    match text.trim().split_once(' ') {
        Some(("lock" | "wait", name)) => Ok(Step::Acquire(lock(name)?)),
        Some(("unlock" | "post", name)) => Ok(Step::Release(lock(name)?)),
        Some(("touch", rest)) => {
            let error = || ParseError::Step(text.to_owned());
            let (accesses, think) = rest.split_once(" every ").ok_or_else(error)?;
            Ok(Step::Touch(Touch {
                pattern: Pattern::Sweep,
                buffer: BufferId(task as u32),
                accesses: accesses.trim().parse().map_err(|_| error())?,
                stride: Bytes::new(64),
                writes: PerMille::default(),
                think: time(think.trim()).map_err(|_| error())?,
            }))
        }
        Some(("sleep", length)) => {
            let length = time(length.trim()).map_err(|_| ParseError::Step(text.to_owned()))?;
            Ok(Step::Sleep(Span::exactly(length)))
        }
        _ => {
            let length = time(text.trim()).map_err(|_| ParseError::Step(text.to_owned()))?;
            Ok(Step::Compute(Span::exactly(length)))
        }
    }
}

/// A segment as written: from, to, task name.
pub(crate) type NamedSegment<'t> = (Instant, Instant, &'t str);

/// `0: 0-2ms T1, 2-7ms T2`: a core and its segments.
pub(crate) fn schedule_line(text: &str) -> Result<(CoreId, Vec<NamedSegment<'_>>), ParseError> {
    let error = || ParseError::Segment(text.to_owned());
    let (core, rest) = text.split_once(':').ok_or_else(error)?;
    let core = core.trim().parse().map_err(|_| error()).and_then(known_core)?;
    let mut segments: Vec<NamedSegment<'_>> = Vec::new();
    for part in rest.split(',') {
        let (span, task) = part.trim().split_once(' ').ok_or_else(error)?;
        let (from, to) = span.split_once('-').ok_or_else(error)?;
        // `0-2ms`: the unit of the end counts for both.
        let unit = to.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let from = time(from).or_else(|_| time(&format!("{from}{unit}")))?;
        let (from, to) = (Instant::ZERO + from, Instant::ZERO + time(to)?);
        let previous = segments.last().map_or(Instant::ZERO, |segment| segment.1);
        if to <= from || from < previous {
            return Err(ParseError::Order(part.trim().to_owned()));
        }
        segments.push((from, to, task.trim()));
    }
    Ok((core, segments))
}

/// `T3#0`: a task and the index of its job.
pub(crate) fn job(text: &str) -> Result<(&str, u64), ParseError> {
    let error = || ParseError::Job(text.to_owned());
    let (task, index) = text.split_once('#').ok_or_else(error)?;
    Ok((task.trim(), index.trim().parse().map_err(|_| error())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(time("2ms"), Ok(Duration::from_millis(2)));
        assert_eq!(time("0.51ms"), Ok(Duration::from_micros(510)));
        assert_eq!(time("1.5us"), Ok(Duration::new(1500)));
        for bad in ["2", "ms", "1.5ns", "-2ms", "2 minutes", "99999999999999999999s", ""] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_schedule_line_names_core_times_and_tasks() {
        let (core, segments) = schedule_line("1: 0-2ms T1, 2.5ms-7ms T2").unwrap();
        let at = |us: u64| Instant::new(us * 1000);
        assert_eq!(core, CoreId(1));
        assert_eq!(segments, [(at(0), at(2000), "T1"), (at(2500), at(7000), "T2")]);
        for bad in
            ["0-2ms T1", "0: 2-1ms T1", "0: 0-2ms T1, 1-3ms T2", "0: 0-2ms", "x: 0-1ms T1", "99: 0-1ms T1"]
        {
            assert!(schedule_line(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn policies_are_scope_and_criterion() {
        assert_eq!(policy("G-LLF", None), Ok((Scope::Global, Criterion::Llf)));
        let two = [vec![0, 1], vec![2, 3]];
        let sets = vec![CoreSet::first(2), CoreSet::from_bits(0b1100)];
        assert_eq!(policy("C-EDF", Some(&two)), Ok((Scope::Clustered(sets), Criterion::Edf)));
        for bad in ["EDF", "X-EDF", "P-XYZ", "C-EDF"] {
            assert!(policy(bad, None).is_err(), "{bad}");
        }
        assert!(policy("P-EDF", Some(&two)).is_err());
    }
}

//! What was seen against what was proved.

use crate::report::{Report, TaskReport};
use crate::text::{self, counted};
use solo_model::Duration;

/// How many exceeded bounds are told in full.
const TOLD: usize = 3;

/// Sentences about observations above proved bounds, and about jobs that executed for longer than a proof
/// supposes. The first are either the second's doing or a defect of the analysis or the machine.
pub(super) fn broken(report: &Report) -> Vec<String> {
    let broken: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.breaks_bound()).collect();
    let overrun = overruns(report);
    let mut lines: Vec<String> = broken.iter().take(TOLD).filter_map(|task| headline(task)).collect();
    if broken.len() > TOLD {
        lines.push(format!("So do {}.", counted((broken.len() - TOLD) as u64, "more task")));
    }
    match (broken.is_empty(), overrun) {
        (true, None) => {}
        (false, None) => lines.push(nobody_to_blame(report)),
        (false, Some(overrun)) => lines.push(format!("The proofs suppose less: {overrun}.")),
        (true, Some(overrun)) => lines.push(format!("The bounds are void: {overrun}.")),
    }
    lines
}

/// No task with a bound is the reason. The execution times of others are declared as well, and nothing here says how long these are.
fn nobody_to_blame(report: &Report) -> String {
    let unknown = report.tasks.iter().filter(|task| task.bound.is_none() && !task.executed_max.is_zero());
    let mut names: Vec<String> = unknown.map(|task| task.name.clone()).collect();
    let more = names.len().saturating_sub(TOLD);
    names.truncate(TOLD);
    if more > 0 {
        names.push(counted(more as u64, "more task"));
    }
    let but = match names.is_empty() {
        true => "No job executed for longer than the proofs suppose".to_owned(),
        false => format!(
            "No job of a task with a bound executed for longer than the proofs suppose. If none of {} executed for longer than it \
             declares, or declares nothing",
            text::enumeration(&names)
        ),
    };
    format!("{but}: this is a bug of Solocore. Please report the run's folder.")
}

fn headline(task: &TaskReport) -> Option<String> {
    let (longest, bound) = (task.longest_response()?, task.bound?.response);
    let (took, bound) = told_apart(longest, bound);
    Some(format!("{} took {took}, above its bound of {bound}.", task.name))
}

/// Both with three digits, where these differ; else in nanoseconds.
fn told_apart(longest: Duration, bound: Duration) -> (String, String) {
    let unit = text::TimeUnit::for_longest(bound.max(longest));
    let rounded = (unit.text(longest), unit.text(bound));
    let exact = |time: Duration| format!("{} ns", time.get());
    if rounded.0 == rounded.1 { (exact(longest), exact(bound)) } else { rounded }
}

/// The task that executed for longer than was supposed by the largest factor; else one that missed the cache more often.
fn overruns(report: &Report) -> Option<String> {
    let over: Vec<&TaskReport> = report.tasks.iter().filter(|task| task.overruns()).collect();
    let longest = over.iter().filter_map(|task| {
        let supposed = task.bound?.occupied;
        let factor = u128::from(task.executed_max.get()) * 1_000_000 / u128::from(supposed.get().max(1));
        (task.executed_max > supposed).then_some((factor, task.name.as_str(), task.executed_max, supposed))
    });
    let more = match over.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(", and {} too", counted(more as u64, "other task")),
    };
    if let Some((_, name, executed, supposed)) = longest.max_by_key(|&(factor, ..)| factor) {
        let (executed, supposed) = told_apart(executed, supposed);
        return Some(format!("a job of {name} executed for {executed} where {supposed} were declared{more}"));
    }
    let (name, (seen, supposed)) =
        over.iter().find_map(|task| Some((task.name.as_str(), task.missed_caches()?)))?;
    Some(format!(
        "a job of {name} missed the last-level cache {} where {supposed} were declared{more}",
        counted(seen, "time")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_and_its_bound_are_never_told_alike() {
        let apart = |longest, bound| told_apart(Duration::new(longest), Duration::new(bound));
        assert_eq!(apart(101_400_000, 98_000_000), ("101 ms".to_owned(), "98.0 ms".to_owned()));
        let exact = ("101400001 ns".to_owned(), "101400000 ns".to_owned());
        assert_eq!(apart(101_400_001, 101_400_000), exact);
    }
}

//! Comparing what happened with what must happen.

use crate::case::{Case, JobName};
use crate::schedule::{Schedule, Segment};
use solo_model::{Duration, Instant, JobRecord, Record, TaskId};
use std::fmt::{self, Write};

/// A run that is not what a case expects: every difference, and both schedules side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The case.
    pub case: String,
    /// What the case shows.
    pub shows: String,
    /// Each difference in a line.
    pub differences: Vec<String>,
    /// Both schedules; empty where the case expects none.
    pub schedules: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.case, self.shows)?;
        for difference in &self.differences {
            writeln!(f, "  {difference}")?;
        }
        f.write_str(&self.schedules)
    }
}

impl std::error::Error for Mismatch {}

/// What a machine's run may differ in from the ideal one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Allowance {
    /// The time on the machine's clock from which the case's times count: that of the kernel's first start.
    pub origin: Instant,
    /// By how much begins, ends and response times may differ.
    pub tolerance: Duration,
    /// Segments no longer than that don't count.
    pub ignored: Duration,
}

impl Case {
    /// Compares the records of a run with what the case expects, exactly.
    ///
    /// # Errors
    /// [`Mismatch`] with every difference.
    pub fn check(&self, records: &[Record]) -> Result<(), Mismatch> {
        self.check_within(records, Duration::ZERO)
    }

    /// Compares the records of a run on a machine whose kernel paths take time: begins, ends and response times
    /// may differ by `tolerance`, and segments no longer than that don't count.
    ///
    /// # Errors
    /// [`Mismatch`] with every difference.
    pub fn check_within(&self, records: &[Record], tolerance: Duration) -> Result<(), Mismatch> {
        self.check_with(records, &Allowance { tolerance, ignored: tolerance, ..Allowance::default() })
    }

    /// Compares the records of a run with what the case expects.
    ///
    /// # Errors
    /// [`Mismatch`] with every difference.
    pub fn check_with(&self, records: &[Record], allowance: &Allowance) -> Result<(), Mismatch> {
        let &Allowance { origin, tolerance, ignored } = allowance;
        let horizon = origin + self.horizon;
        let mut differences = Vec::new();
        self.check_misses(records, horizon, &mut differences);
        self.check_responses(records, tolerance, &mut differences);
        self.check_counts(records, &mut differences);
        let mut schedules = String::new();
        if let Some(expected) = &self.expect.schedule {
            let mut observed = Schedule::from_records(records, self.cores, horizon, ignored);
            observed.count_from(origin);
            if !expected.agrees_with(&observed, tolerance) {
                differences.push("the schedule differs".to_owned());
            }
            schedules = self.side_by_side(expected, &observed, tolerance);
        }
        if differences.is_empty() {
            return Ok(());
        }
        Err(Mismatch { case: self.name.clone(), shows: self.shows.clone(), differences, schedules })
    }

    fn check_misses(&self, records: &[Record], horizon: Instant, differences: &mut Vec<String>) {
        let observed = self.misses(records, horizon);
        if observed != self.expect.misses {
            let (expected, observed) = (self.job_list(&self.expect.misses), self.job_list(&observed));
            differences.push(format!("missed deadlines: expected {expected}, observed {observed}"));
        }
    }

    /// The jobs that finished late, or were due before the horizon and had not finished.
    fn misses(&self, records: &[Record], horizon: Instant) -> Vec<JobName> {
        let missed = |record: &Record| match record {
            Record::Job(job) if job.missed() => Some(JobName { task: job.task, index: job.job.0 }),
            Record::Unfinished(job) if job.deadline.is_some_and(|deadline| deadline < horizon) => {
                Some(JobName { task: job.task, index: job.job.0 })
            }
            _ => None,
        };
        let mut misses: Vec<_> = records.iter().filter_map(missed).collect();
        misses.sort_unstable();
        misses
    }

    fn check_responses(&self, records: &[Record], tolerance: Duration, differences: &mut Vec<String>) {
        for &(task, expected) in &self.expect.responses {
            let response = |record: &Record| match record {
                Record::Job(job) if job.task == task => Some(job.response()),
                _ => None,
            };
            let observed = records.iter().filter_map(response).max();
            let near = |time: Duration| {
                time.saturating_sub(expected).max(expected.saturating_sub(time)) <= tolerance
            };
            if !observed.is_some_and(near) {
                let observed = observed.map_or("none".to_owned(), |time| time.to_string());
                let task = self.task_name(task);
                differences
                    .push(format!("longest response of {task}: expected {expected}, observed {observed}"));
            }
        }
    }

    fn check_counts(&self, records: &[Record], differences: &mut Vec<String>) {
        let ipi = |record: &Record| u64::from(matches!(record, Record::Ipi(_)));
        let of_jobs = |count: fn(&JobRecord) -> u32| {
            let count = move |record: &Record| match record {
                Record::Job(job) => u64::from(count(job)),
                _ => 0,
            };
            records.iter().map(count).sum::<u64>()
        };
        let counts = [
            ("reschedule requests", self.expect.ipis, records.iter().map(ipi).sum()),
            ("migrations", self.expect.migrations, of_jobs(|job| job.migrations)),
            ("preemptions", self.expect.preemptions, of_jobs(|job| job.preemptions)),
        ];
        for (what, expected, observed) in counts {
            if let Some(expected) = expected.filter(|&expected| expected != observed) {
                differences.push(format!("{what}: expected {expected}, observed {observed}"));
            }
        }
    }

    fn job_list(&self, jobs: &[JobName]) -> String {
        if jobs.is_empty() {
            return "none".to_owned();
        }
        let name = |job: &JobName| format!("{}#{}", self.task_name(job.task), job.index);
        jobs.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    /// Both schedules in two columns, with a mark at the lines that differ.
    fn side_by_side(&self, expected: &Schedule, observed: &Schedule, tolerance: Duration) -> String {
        let mut text = String::new();
        for core in 0..expected.cores.len().max(observed.cores.len()) {
            let left = expected.cores.get(core).map_or(&[][..], Vec::as_slice);
            let right = observed.cores.get(core).map_or(&[][..], Vec::as_slice);
            let _ = writeln!(text, "  core {core}\n    {:36}    observed", "expected");
            for line in 0..left.len().max(right.len()) {
                let (a, b) = (left.get(line), right.get(line));
                let row = |segment: Option<&Segment>| Schedule {
                    cores: vec![segment.into_iter().copied().collect()],
                };
                let mark = if row(a).agrees_with(&row(b), tolerance) { ' ' } else { '*' };
                let _ = writeln!(text, "  {mark} {:36}    {}", self.segment_text(a), self.segment_text(b));
            }
        }
        text
    }

    fn segment_text(&self, segment: Option<&Segment>) -> String {
        let task = |task: TaskId| self.task_name(task).to_owned();
        segment.map_or(String::new(), |segment| {
            format!(
                "{:>10} - {:>10}  {}",
                segment.from.to_string(),
                segment.to.to_string(),
                task(segment.task)
            )
        })
    }
}

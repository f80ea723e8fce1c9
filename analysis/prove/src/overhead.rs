//! Run-time overheads in schedulability tests: preemption-centric accounting (thesis 2.5) and weighted
//! schedulability (thesis 5.9.2).

use crate::exact::{Ratio, sum_cmp};
use crate::task::{Task, Ticks};
use core::cmp::Ordering;
use serde::Deserialize;
use solo_model::overhead::{Overhead, OverheadTable, Path};
use solo_model::units::{Bytes, Duration};

/// Cache-related preemption and migration delay by working-set size: steps `(up to this size, delay)`, ascending
/// in both.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CacheDelay {
    steps: Vec<(Bytes, Duration)>,
}

impl CacheDelay {
    /// No delay.
    pub fn none() -> Self {
        Self::default()
    }

    /// From measured pairs of working-set size and delay; they are put into order and made non-decreasing.
    pub fn from_steps(mut steps: Vec<(Bytes, Duration)>) -> Self {
        steps.sort_unstable();
        let mut most = Duration::ZERO;
        for (_, delay) in &mut steps {
            most = most.max(*delay);
            *delay = most;
        }
        Self { steps }
    }

    /// The analytic bound of thesis 5.8: every line of the working set is fetched again, `size / line` misses of
    /// `miss` each.
    pub fn by_lines(size: Bytes, line: Bytes, miss: Duration) -> Option<Duration> {
        if line.is_zero() {
            return None;
        }
        size.get().div_ceil(line.get()).checked_mul(miss.get()).map(Duration::new)
    }

    /// The delay of a working set: that of the least size in the table at or above it; the last one for a set
    /// larger than all, which has lost the whole cache already.
    pub fn of(&self, size: Bytes) -> Duration {
        let covering = self.steps.iter().find(|(up_to, _)| *up_to >= size).or(self.steps.last());
        covering.map_or(Duration::ZERO, |&(_, delay)| delay)
    }
}

/// What to account for. All times are nanoseconds.
#[derive(Clone, Debug)]
pub struct Accounting<'a> {
    /// The costs by number of tasks.
    pub table: &'a OverheadTable,
    /// The cache delay of a preempted job.
    pub cache: &'a CacheDelay,
    /// The period `Q` of the timer interrupt; `None` for a one-shot timer, which interrupts once a release.
    pub tick: Option<Duration>,
    /// Whether releases may need an interprocessor interrupt: not under partitioned scheduling (thesis 5.4).
    pub ipi: bool,
}

/// Why tasks have no parameters once overheads are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Overloaded {
    /// Ticks and releases take all the time there is.
    #[error("the timer interrupt takes {spent} of every {tick}")]
    Interrupts {
        /// What an interrupt takes.
        spent: Duration,
        /// The time between two.
        tick: Duration,
    },
    /// With overheads this task is longer than its period, so no test accepts.
    #[error("task {task} takes {c} with overheads, its period is {t}")]
    Task {
        /// The task.
        task: usize,
        /// Its execution time with overheads.
        c: Ticks,
        /// Its period.
        t: Ticks,
    },
    /// Times beyond what a task can have.
    #[error("the times are too large")]
    TooLarge,
}

impl Accounting<'_> {
    /// The tasks with their execution times inflated (thesis equations 2 and 3), rounded up to whole units:
    ///
    /// `e' = (e + 2 (scd + cxs) + cpd) / (1 - u0) + 2 c_pre + ipi`, `u0 = (tck + rel) / Q`,
    /// `c_pre = (tck + rel) / (1 - u0)`.
    ///
    /// With a one-shot timer there is no `u0`, and `c_pre` is `tck + rel`. `unit` is how many nanoseconds one tick
    /// of the tasks is, at least 1; `working_sets` gives each task's, in the same order (missing ones are empty).
    /// Periods and deadlines stay.
    ///
    /// # Errors
    /// The first task that grows beyond its period, or interrupts that leave no time.
    pub fn inflate(
        &self,
        tasks: &[Task],
        working_sets: &[Bytes],
        unit: Duration,
    ) -> Result<Vec<Task>, Overloaded> {
        let count = u32::try_from(tasks.len()).map_err(|_| Overloaded::TooLarge)?;
        let cost = |path| u128::from(self.table.cost_of_path(path, count).get());
        let interrupt = cost(Path::Tick) + cost(Path::Release);
        let switches = 2 * (cost(Path::Decision) + cost(Path::Switch));
        let ipi = if self.ipi { cost(Path::Request) } else { 0 };
        let (num, den) = self.stretch(interrupt)?;
        let unit = u128::from(unit.get().max(1));
        let inflate = |(index, task): (usize, &Task)| {
            let size = working_sets.get(index).copied().unwrap_or(Bytes::ZERO);
            let affinity = self.cache.of(size).max(self.table.cost_of_path(Path::Affinity, count));
            let affinity = affinity.max(self.table.loss_of_affinity(size, count));
            let own = u128::from(task.c.get()) * unit + switches + u128::from(affinity.get());
            let stretched = (own + 2 * interrupt).checked_mul(num).ok_or(Overloaded::TooLarge)?;
            let nanoseconds = stretched.div_ceil(den) + ipi;
            let c = u64::try_from(nanoseconds.div_ceil(unit)).map_err(|_| Overloaded::TooLarge)?;
            if c > task.t.get() {
                return Err(Overloaded::Task { task: index, c: Ticks(c), t: task.t });
            }
            Ok(Task { c: Ticks(c), ..*task })
        };
        tasks.iter().enumerate().map(inflate).collect()
    }

    /// `1 / (1 - u0)` as a fraction.
    fn stretch(&self, interrupt: u128) -> Result<(u128, u128), Overloaded> {
        let Some(tick) = self.tick else {
            return Ok((1, 1));
        };
        let period = u128::from(tick.get());
        match period.checked_sub(interrupt) {
            Some(left) if left > 0 => Ok((period, left)),
            _ => Err(Overloaded::Interrupts { spent: Duration::new(interrupt as u64), tick }),
        }
    }
}

/// An overhead table as a file: JSON, an object with `source` and, for each overhead by name, steps
/// `[from this many tasks, nanoseconds]`; overheads that are absent cost nothing.
///
/// # Errors
/// The parser's message, or the name that is no overhead's.
pub fn parse_table(json: &str) -> Result<OverheadTable, String> {
    #[derive(Deserialize)]
    struct Raw {
        source: String,
        #[serde(flatten)]
        steps: std::collections::BTreeMap<String, Vec<(u32, u64)>>,
    }
    let raw: Raw = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let mut table = OverheadTable { source: raw.source, ..OverheadTable::default() };
    for (name, mut steps) in raw.steps {
        let row = Overhead::ALL.iter().position(|overhead| overhead.name() == name);
        let row = row.ok_or_else(|| format!("there is no overhead {name:?}"))?;
        steps.sort_unstable();
        table.steps[row] = steps.into_iter().map(|(from, cost)| (from, Duration::new(cost))).collect();
    }
    Ok(table)
}

/// A table as a file that [`parse_table`] reads back.
pub fn write_table(table: &OverheadTable) -> String {
    let mut fields = vec![format!("  \"source\": {}", serde_json::Value::from(table.source.as_str()))];
    for (overhead, steps) in Overhead::ALL.into_iter().zip(&table.steps) {
        let steps: Vec<String> =
            steps.iter().map(|(from, cost)| format!("[{from}, {}]", cost.get())).collect();
        if !steps.is_empty() {
            fields.push(format!("  \"{}\": [{}]", overhead.name(), steps.join(", ")));
        }
    }
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

/// EPOS on an Intel i7-2600, as far as the thesis gives costs in words: context switch and IPI 0.3 us (5.3, 2.5) and tick
/// 0.248 us (5.6) at worst, scheduling 0.5 us (5.5) and release 0.34 us (5.7) on average. The costs of
/// `platforms/overheads/epos-thesis.toml`; a test holds both together.
pub const EPOS: &str = include_str!("../../../studies/overheads/epos.json");

/// LITMUS^RT 2012.1 under G-EDF on the same processor, as far as the thesis gives costs in words or as a ratio to EPOS:
/// context switch 29.56 us (5.3), scheduling 11.1 times EPOS's (5.5), IPI 15 times (5.4), tick 84 times (5.6), and EPOS's
/// release for want of a number.
pub const LITMUS_RT: &str = include_str!("../../../studies/overheads/litmus-g.json");

/// One cap of a study.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    /// The utilisation cap in thousandths of a core.
    pub cap: u64,
    /// Sets that were schedulable.
    pub schedulable: u64,
    /// All sets, at least one.
    pub sets: u64,
}

/// Weighted schedulability `sum U S(U) / sum U` over the caps `U`, in thousandths rounded down (Bastoni,
/// Brandenburg & Anderson, OSPERT 2010; thesis 5.9.2). `None` without a cap above zero or for a point without
/// sets.
pub fn weighted_schedulability(points: &[Point]) -> Option<u64> {
    let weight: u128 = points.iter().map(|point| u128::from(point.cap)).sum();
    if weight == 0 || points.iter().any(|point| point.sets == 0) {
        return None;
    }
    let terms = points.iter().map(|point| Ratio {
        num: u128::from(point.cap) * u128::from(point.schedulable) * 1000,
        den: point.sets,
    });
    // The largest w with sum >= w * weight, found by halving.
    let reaches = |w: u64| sum_cmp(terms.clone(), u128::from(w) * weight) != Ordering::Less;
    let (mut low, mut high) = (0, 1001);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if reaches(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> OverheadTable {
        parse_table(
            r#"{"source":"test","context-switch":[[0,300]],"scheduling":[[0,700],[15,900],[25,800]],
                "release":[[0,500]],"tick":[[0,500]],"ipi":[[0,1000]]}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_table_that_is_written_is_read_back() {
        let table = OverheadTable { source: "a \"test\"".to_owned(), ..table() };
        assert_eq!(parse_table(&write_table(&table)).unwrap(), table, "{}", write_table(&table));
    }

    #[test]
    fn equations_2_and_3_by_hand() {
        let (table, cache) =
            (table(), CacheDelay::from_steps(vec![(Bytes::from_kib(64), Duration::new(5000))]));
        let accounting =
            Accounting { table: &table, cache: &cache, tick: Some(Duration::from_micros(100)), ipi: true };
        // u0 = 1000 / 100000 = 1/100; e = (100000 + 2 * 1000 + 5000) / 0.99 + 2 * 1000 / 0.99 + 1000
        //   = 109000 * 100 / 99 + 1000 = 111101.01...: 112 us when rounded up.
        let tasks = [Task::implicit(100, 10_000)];
        let inflated = accounting.inflate(&tasks, &[Bytes::from_kib(4)], Duration::from_micros(1));
        assert_eq!(inflated, Ok(vec![Task::new(112, 10_000, 10_000)]));
        let exact = accounting.inflate(
            &[Task::implicit(100_000, 10_000_000)],
            &[Bytes::from_kib(4)],
            Duration::new(1),
        );
        assert_eq!(exact, Ok(vec![Task::new(111_102, 10_000_000, 10_000_000)]));
    }

    /// Thesis 5.1: twenty tasks cost what fifteen do; a later, lower measurement does not count.
    #[test]
    fn costs_step_with_the_number_of_tasks() {
        let (table, cache) = (table(), CacheDelay::none());
        let accounting = Accounting { table: &table, cache: &cache, tick: None, ipi: false };
        let cost = |count: usize| {
            let inflated =
                accounting.inflate(&vec![Task::implicit(1000, 1_000_000); count], &[], Duration::new(1));
            inflated.unwrap()[0].c.get() - 1000
        };
        // 2 (scd + 300) + 2 (500 + 500)
        assert_eq!([cost(14), cost(15), cost(20), cost(40)], [4000, 4400, 4400, 4400]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let (table, cache) = (table(), CacheDelay::none());
        let accounting =
            |tick| Accounting { table: &table, cache: &cache, tick: Some(Duration::new(tick)), ipi: false };
        let tasks = [Task::implicit(10, 1000), Task::implicit(999, 1000)];
        let unit = Duration::from_micros(1);
        assert!(matches!(
            accounting(100_000).inflate(&tasks, &[], unit),
            Err(Overloaded::Task { task: 1, .. })
        ));
        assert!(matches!(accounting(1000).inflate(&tasks, &[], unit), Err(Overloaded::Interrupts { .. })));
    }

    #[test]
    fn the_tables_of_the_thesis_parse() {
        let epos = parse_table(EPOS).unwrap();
        assert_eq!(epos.cost(Overhead::Tick, 100), Duration::new(248));
        assert_eq!(epos.cost(Overhead::ContextSwitch, 5), Duration::new(300));
        assert_eq!(epos.cost(Overhead::Scheduling, 5), Duration::new(500));
        assert_eq!(epos.cost(Overhead::Release, 5), Duration::new(340));
        let litmus = parse_table(LITMUS_RT).unwrap();
        assert_eq!(litmus.cost(Overhead::ContextSwitch, 5), Duration::new(29_560));
        assert!(parse_table(r#"{"source":"x","nap":[[0,1]]}"#).unwrap_err().contains("nap"));
    }

    #[test]
    fn cache_delay_is_that_of_the_next_larger_working_set() {
        let kib = Bytes::from_kib;
        let cache = CacheDelay::from_steps(vec![
            (kib(64), Duration::new(900)),
            (kib(4), Duration::new(100)),
            (kib(16), Duration::new(50)),
        ]);
        let delay = |size| cache.of(kib(size)).get();
        assert_eq!([delay(1), delay(4), delay(5), delay(17), delay(1000)], [100, 100, 100, 900, 900]);
        // 64 KiB in lines of 64 bytes, 200 cycles each at 3.4 GHz (thesis 5.8): about 60 us.
        let bound = CacheDelay::by_lines(kib(64), Bytes::new(64), Duration::new(59));
        assert_eq!(bound, Some(Duration::new(60_416)));
    }

    #[test]
    fn heavier_caps_weigh_more() {
        let point = |cap, schedulable| Point { cap, schedulable, sets: 10 };
        assert_eq!(weighted_schedulability(&[point(1000, 10), point(3000, 0)]), Some(250));
        assert_eq!(weighted_schedulability(&[point(1000, 10), point(3000, 10)]), Some(1000));
        assert_eq!(weighted_schedulability(&[point(1000, 0), point(2000, 10)]), Some(666));
        assert_eq!(weighted_schedulability(&[]), None);
    }
}

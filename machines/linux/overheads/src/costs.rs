//! From a measurement to the overhead table that `prove` and the simulated machine read.

use crate::measure::{Measurement, Row};
use solo_model::overhead::Path;
use solo_model::{Duration, Overhead, OverheadTable};

/// What stands in for all samples of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// Their mean.
    Mean,
    /// Their 99th percentile.
    P99,
    /// The most that was seen, the machine's own disturbances included.
    Max,
}

impl Take {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P99 => "99th percentile",
            Self::Max => "most seen",
        }
    }

    fn of(self, row: &Row) -> f64 {
        match self {
            Self::Mean => row.summary.mean_ns,
            Self::P99 => row.summary.p99_ns,
            Self::Max => row.summary.max_ns,
        }
    }
}

/// A table and where each of its rows comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Costs {
    /// The costs, rounded up to nanoseconds, never below those with fewer threads.
    pub table: OverheadTable,
    /// For each overhead in the order of [`Overhead::ALL`].
    pub sources: [String; Overhead::COUNT],
}

/// What stands for a request between cores where none was measured: thesis 2.5, worst case on the i7-2600.
const IPI: Duration = Duration::new(300);

/// The costs under `policy`, of swept caches or warm ones. With fewer threads than were measured they are those of the
/// fewest. Where requests between cores were not measured the thesis's cost stands for them.
pub fn costs(measurement: &Measurement, policy: &str, take: Take, swept: bool) -> Costs {
    let place = format!("{}, {}", measurement.environment.processor, measurement.environment.kernel);
    let mut table = OverheadTable { source: format!("{policy} on {place}"), ..OverheadTable::free() };
    let mut sources = std::array::from_fn(|_| String::new());
    for (at, overhead) in Overhead::ALL.into_iter().enumerate() {
        let Some(what) = row_of(overhead) else { continue };
        let rows: Vec<&Row> = measurement
            .threads()
            .into_iter()
            .filter_map(|threads| {
                let with = |policy| measurement.find_with(what, policy, Some(threads), swept);
                with(Some(policy)).or_else(|| with(None))
            })
            .collect();
        let mut most = Duration::ZERO;
        for (index, row) in rows.iter().enumerate() {
            most = most.max(Duration::new(take.of(row).ceil() as u64));
            let from = if index == 0 { 0 } else { row.threads.unwrap_or(0) };
            table.steps[at].push((from, most));
        }
        let samples = rows.iter().map(|row| row.summary.samples).min().unwrap_or(0);
        let caches = if swept { "swept" } else { "warm" };
        sources[at] = format!("{}, {caches} caches, at least {samples} samples each, {place}", take.name());
        if rows.is_empty() && overhead.path() == Path::Request {
            table.steps[at] = vec![(0, IPI)];
            sources[at] =
                "thesis 2.5, worst case on an i7-2600: not measured here, a process sends no such requests"
                    .to_owned();
        }
    }
    Costs { table, sources }
}

/// The row that measures an overhead. The loss of cache affinity has none, for simulated caches produce it, and reading counters
/// has none, for in a process there are none to be written.
const fn row_of(overhead: Overhead) -> Option<&'static str> {
    match overhead.path() {
        Path::Affinity | Path::Counters => None,
        Path::Switch | Path::Decision | Path::Release | Path::Tick | Path::Request => Some(overhead.words()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Summary, clock::Clock};

    fn measured(rows: &[(&'static str, u32, u64)]) -> Measurement {
        let clock = Clock { ticks_per_us: 1.0, resolution_ticks: 1, empty_ticks: 0 };
        let row = |&(what, threads, ns): &(_, u32, u64)| {
            Row::of_kernel(what, "P-EDF", threads, Summary::of_ns(vec![ns, ns + 10]).unwrap())
        };
        Measurement {
            environment: Environment {
                processor: "a chip".to_owned(),
                kernel: "a kernel".to_owned(),
                cpus: 1,
                guest: false,
                load: String::new(),
                disturbed: None,
                clock,
            },
            rows: rows.iter().map(row).collect(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn tables_begin_at_no_thread_and_never_fall() {
        let found = measured(&[("tick", 5, 20), ("tick", 25, 12), ("tick", 125, 50), ("release", 5, 7)]);
        let costs = costs(&found, "P-EDF", Take::P99, false);
        let cost = |overhead, threads| costs.table.cost(overhead, threads).get();
        assert_eq!([0, 5, 30, 125].map(|threads| cost(Overhead::Tick, threads)), [30, 30, 30, 60]);
        assert_eq!((cost(Overhead::Release, 80), cost(Overhead::Ipi, 1)), (17, 300));
        assert!(costs.sources[4].contains("not measured here"));
        assert_eq!(cost(Overhead::ContextSwitch, 5), 0);
        let mean = super::costs(&found, "P-EDF", Take::Mean, false);
        assert_eq!(mean.table.cost(Overhead::Tick, 5).get(), 25);
        assert!(super::costs(&found, "G-EDF", Take::Max, false).table.steps[3].is_empty());
    }
}

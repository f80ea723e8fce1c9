//! Which kind of core each task was on, and when: for platforms whose cores differ.

use crate::series::Series;
use serde::{Deserialize, Serialize};
use solo_model::record::MetricRecord;
use solo_model::{CoreId, Duration, Instant, Platform, TaskId};

/// What a bin is wide at first.
const FIRST: Duration = Duration::from_micros(10);

/// On which kinds of cores tasks ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KindsReport {
    /// The kinds, in the platform's order.
    pub kinds: Vec<String>,
    /// Which of them is the fastest.
    pub fastest: usize,
    /// What the policy's monitor makes, where that was recorded: `speedup-factor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// A task each, in the scenario's order.
    pub tasks: Vec<TaskKinds>,
}

/// On which kinds of cores a task ran.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskKinds {
    /// The task.
    pub task: TaskId,
    /// How long it ran on each kind.
    #[serde(rename = "ran_ns")]
    pub ran: Vec<Duration>,
    /// Of the time that it ran, what it was on the fastest kind, over time: per cent.
    #[serde(rename = "on_fastest_per_cent")]
    pub on_fastest: Series,
    /// What the policy's monitor said of it at the ends of sampling periods, over time: thousandths. Nothing where that was not
    /// recorded, or below zero.
    #[serde(default, rename = "metric_thousandths", skip_serializing_if = "Option::is_none")]
    pub metric: Option<Series>,
}

impl TaskKinds {
    /// Of all the time that it ran, what it was on this kind: per cent; `None` where it never ran.
    pub fn share(&self, kind: usize) -> Option<u64> {
        let all = self.ran.iter().fold(Duration::ZERO, |sum, ran| sum.saturating_add(*ran)).get();
        let own = self.ran.get(kind)?.get();
        (all > 0).then(|| (u128::from(own) * 100 / u128::from(all)) as u64)
    }
}

/// Takes in who ran where.
pub(crate) struct KindsSummary {
    /// The kind of each core.
    of_core: Vec<usize>,
    bins: usize,
    report: Option<KindsReport>,
}

impl KindsSummary {
    /// Of no run of so many tasks, with so many bins a task; it keeps nothing where all cores are alike. `metric` is what is recorded of
    /// tasks, where something is.
    pub(crate) fn new(platform: &Platform, (tasks, bins): (usize, usize), metric: Option<&str>) -> Self {
        let of_core: Vec<usize> = platform.cores.iter().map(|core| usize::from(core.kind)).collect();
        let differ = of_core.iter().any(|kind| Some(kind) != of_core.first());
        let used = |kind: &usize| of_core.contains(kind);
        let fastest = (0..platform.kinds.len()).filter(used).max_by_key(|kind| platform.kinds[*kind].rate());
        let one = |task: usize| TaskKinds {
            task: TaskId(task as u32),
            ran: vec![Duration::ZERO; platform.kinds.len()],
            on_fastest: Series::new(FIRST, bins),
            metric: None,
        };
        let report = fastest.filter(|_| differ).map(|fastest| KindsReport {
            kinds: platform.kinds.iter().map(|kind| kind.name.clone()).collect(),
            fastest,
            metric: metric.map(str::to_owned),
            tasks: (0..tasks).map(one).collect(),
        });
        Self { of_core, bins, report }
    }

    /// The monitor of the policy said this of a task.
    pub(crate) fn told(&mut self, told: &MetricRecord) {
        let bins = self.bins;
        let Some(task) = self.report.as_mut().and_then(|report| report.tasks.get_mut(told.task.index()))
        else {
            return;
        };
        if let Some(value) = told.value.and_then(|value| u64::try_from(value.thousandths()).ok()) {
            task.metric.get_or_insert_with(|| Series::new(FIRST, bins)).add(told.at, value, 1);
        }
    }

    /// A task ran on a core between these times.
    pub(crate) fn ran(&mut self, core: CoreId, task: Option<TaskId>, from: Instant, to: Instant) {
        let (Some(report), Some(task)) = (&mut self.report, task) else { return };
        let Some(&kind) = self.of_core.get(core.index()) else { return };
        let Some(own) = report.tasks.get_mut(task.index()) else { return };
        if let Some(ran) = own.ran.get_mut(kind) {
            *ran = ran.saturating_add(to.since(from));
        }
        let value = if kind == report.fastest { 100 } else { 0 };
        // From the end: the first piece makes bins as wide as they have to be.
        let mut end = to;
        while end > from {
            let last = Instant::new(end.get() - 1);
            own.on_fastest.add(last, value, 0);
            let width = own.on_fastest.width.get();
            let begin = Instant::new(last.get() / width * width).max(from);
            own.on_fastest.add(last, value, end.since(begin).get());
            end = begin;
        }
    }

    /// What became of them; nothing where all cores are alike.
    pub(crate) fn into_report(self) -> Option<KindsReport> {
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Fixed;
    use solo_model::fixtures::chip;
    use solo_model::platform::CoreKind;

    /// A small core and, with `both`, a big one, which does twice as much.
    fn platform(both: bool) -> Platform {
        let mut platform = chip(2);
        let small = platform.kinds[0].clone();
        let big = CoreKind { instructions_per_kilocycle: 2 * small.instructions_per_kilocycle, ..small };
        platform.kinds.push(CoreKind { name: "big".to_owned(), ..big });
        platform.cores[1].kind = u8::from(both);
        platform
    }

    const TASK: Option<TaskId> = Some(TaskId(0));

    #[test]
    fn each_moment_counts_once_where_it_was_spent() {
        let mut summary = KindsSummary::new(&platform(true), (1, 256), None);
        let at = |us: u64| Instant::new(us * 1000);
        summary.ran(CoreId(0), TASK, at(0), at(7_777));
        summary.ran(CoreId(1), TASK, at(7_777), at(10_000));
        summary.ran(CoreId(1), None, at(10_000), at(20_000));
        // Long enough for bins to be joined, and from within one to within another.
        summary.ran(CoreId(1), TASK, at(20_003), at(90_001));
        let report = summary.into_report().expect("cores differ");
        assert_eq!(report.kinds[report.fastest], "big");
        let task = &report.tasks[0];
        assert_eq!(task.ran, [7_777_000, 2_223_000 + 69_998_000].map(Duration::new));
        let weight: u64 = task.on_fastest.bins.iter().map(|bin| bin.weight).sum();
        assert_eq!(weight, task.ran.iter().map(|ran| ran.get()).sum::<u64>());
        let sum: u128 = task.on_fastest.bins.iter().map(|bin| bin.sum).sum();
        assert_eq!(sum, 100 * u128::from(task.ran[1].get()));
        assert_eq!((task.share(0), task.share(1)), (Some(9), Some(90)));
        // Nothing ran there: an empty bin, not one of 0 %.
        let width = task.on_fastest.width;
        assert_eq!(task.on_fastest.bins[(at(15_000).get() / width.get()) as usize].mean(), None);
    }

    /// The last value of a bin and the mean of all; what is below zero or of strangers is left out.
    #[test]
    fn what_the_monitor_says_is_kept_task_by_task() {
        let told = |at: u64, task: u32, thousandths: Option<i128>| MetricRecord {
            at: Instant::new(at * 1000),
            core: CoreId(0),
            task: TaskId(task),
            value: thousandths.map(|value| Fixed::from_units(value * Fixed::SCALE / 1000)),
            job: None,
            executed: Duration::ZERO,
            retired: None,
        };
        let mut summary = KindsSummary::new(&platform(true), (2, 256), Some("speedup-factor"));
        for record in [
            told(5, 0, None),
            told(15, 0, Some(2_157)),
            told(25, 0, Some(1_000)),
            told(35, 0, Some(-1)),
            told(35, 9, Some(5)),
        ] {
            summary.told(&record);
        }
        let report = summary.into_report().expect("cores differ");
        assert_eq!(report.metric.as_deref(), Some("speedup-factor"));
        let series = report.tasks[0].metric.as_ref().expect("something was said of it");
        let means: Vec<_> = series.bins.iter().map(|bin| bin.mean()).collect();
        assert_eq!(means, [None, Some(2_157), Some(1_000)]);
        assert_eq!(report.tasks[1].metric, None);
    }

    #[test]
    fn where_cores_are_alike_nothing_is_kept() {
        let mut summary = KindsSummary::new(&platform(false), (1, 256), None);
        summary.ran(CoreId(0), TASK, Instant::ZERO, Instant::new(5));
        assert_eq!(summary.into_report(), None);
    }

    #[test]
    fn strangers_are_left_out() {
        let mut summary = KindsSummary::new(&platform(true), (1, 256), None);
        summary.ran(CoreId(9), TASK, Instant::ZERO, Instant::new(5));
        summary.ran(CoreId(0), Some(TaskId(9)), Instant::ZERO, Instant::new(5));
        let report = summary.into_report().expect("cores differ");
        assert_eq!(report.tasks[0].share(0), None);
    }
}

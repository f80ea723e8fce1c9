//! What the table shows: a frame's counts by core, thread, process or cgroup, filtered and in order.

use super::track::{Frame, Track, add};
use solo_observe::Subject;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum View {
    Cores,
    Threads,
    Processes,
    Cgroups,
}

impl View {
    pub(crate) const ALL: [Self; 4] = [Self::Cores, Self::Threads, Self::Processes, Self::Cgroups];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Cores => "cores",
            Self::Threads => "threads",
            Self::Processes => "processes",
            Self::Cgroups => "cgroups",
        }
    }

    /// True where rows of this kind (`thread`, `process`, `core`) can be shown so.
    pub(crate) fn fits(self, per: &str) -> bool {
        match self {
            Self::Cores => per == "core",
            Self::Threads => per == "thread",
            Self::Processes | Self::Cgroups => per != "core",
        }
    }
}

/// A line of the table.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Line {
    /// The core's, thread's or process's number; empty for a cgroup.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// Counts per second, then metrics.
    pub(crate) values: Vec<Option<f64>>,
}

/// How lines are ordered: by a value's place or, without, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    pub(crate) column: Option<usize>,
    pub(crate) ascending: bool,
}

/// The titles of the values: counts per second, then metrics.
pub(crate) fn titles(track: &Track) -> Vec<String> {
    let counts = track.columns.counts.iter().cloned();
    counts.chain(track.metrics.iter().map(|metric| metric.name.clone())).collect()
}

/// All lines of a frame in their order, and the sum over them.
pub(crate) fn lines(
    track: &Track,
    frame: &Frame,
    view: View,
    filter: &str,
    order: Order,
) -> (Vec<Line>, Line) {
    let mut groups: BTreeMap<(u64, String), (String, Sums)> = BTreeMap::new();
    for ((subject, set), counts) in &frame.counts {
        let Some((key, id, name)) = who(track, *subject, view) else { continue };
        if !matches(filter, &id, &name) {
            continue;
        }
        let sums = &mut groups.entry((key, name)).or_insert_with(|| (id, Sums::new())).1;
        add(sums.entry(*set).or_insert_with(|| vec![None; counts.len()]), counts);
    }
    let mut total = Sums::new();
    for (_, sums) in groups.values() {
        for (set, counts) in sums {
            add(total.entry(*set).or_insert_with(|| vec![None; counts.len()]), counts);
        }
    }
    let line = |((_, name), (id, sums)): ((u64, String), (String, Sums))| Line {
        id,
        name,
        values: values(track, frame, &sums),
    };
    let mut lines: Vec<Line> = groups.into_iter().map(line).collect();
    lines.sort_by(|a, b| compare(a, b, order));
    let total = Line {
        id: String::new(),
        name: format!("sum of {}", lines.len()),
        values: values(track, frame, &total),
    };
    (lines, total)
}

/// For each set, the sums of its counts.
type Sums = BTreeMap<usize, Vec<Option<u64>>>;

/// The group that a subject belongs to: what it is ordered by, its number and its name.
fn who(track: &Track, subject: Subject, view: View) -> Option<(u64, String, String)> {
    let name = |thread: u32| track.names.get(&thread).map_or_else(String::new, |name| name.name.clone());
    match (view, subject) {
        (View::Cores, Subject::Core(core)) => {
            Some((u64::from(core.0), core.0.to_string(), format!("cpu{}", core.0)))
        }
        (View::Threads, Subject::Thread { thread, .. }) => {
            Some((u64::from(thread), thread.to_string(), name(thread)))
        }
        (View::Processes, Subject::Thread { process, .. } | Subject::Tree { process }) => {
            let known = track.processes.get(&process).cloned().unwrap_or_default();
            Some((u64::from(process), process.to_string(), known))
        }
        (View::Cgroups, Subject::Thread { thread, .. } | Subject::Tree { process: thread }) => {
            let known = track.names.get(&thread).map(|name| name.cgroup.clone());
            Some((0, String::new(), known.unwrap_or_else(|| "(unknown)".to_owned())))
        }
        _ => None,
    }
}

fn matches(filter: &str, id: &str, name: &str) -> bool {
    filter.is_empty() || id == filter || name.to_lowercase().contains(&filter.to_lowercase())
}

fn values(track: &Track, frame: &Frame, sums: &Sums) -> Vec<Option<f64>> {
    let count = |column: usize| {
        let sets = track.columns.sets.iter().enumerate().filter(|(_, places)| places.contains(&column));
        let (mut sum, mut seconds) = (None, 0.0);
        for (set, _) in sets {
            seconds += frame.spans.get(set).map_or(0.0, |span| span.get() as f64 / 1e9);
            if let Some(count) = sums.get(&set).and_then(|counts| counts.get(column).copied().flatten()) {
                *sum.get_or_insert(0.0) += count as f64;
            }
        }
        sum.filter(|_| seconds > 0.0).map(|sum| sum / seconds)
    };
    let metric = |metric| {
        sums.iter().find_map(|(set, counts)| frame.value(&track.columns, *set, counts.clone(), metric))
    };
    (0..track.columns.counts.len()).map(count).chain(track.metrics.iter().map(metric)).collect()
}

/// Absent values come last in either direction; equal ones in the order of their numbers.
fn compare(a: &Line, b: &Line, order: Order) -> Ordering {
    let number = |line: &Line| line.id.parse::<u64>().unwrap_or(u64::MAX);
    let by_id = number(a).cmp(&number(b)).then_with(|| a.name.cmp(&b.name));
    let Some(column) = order.column else {
        return if order.ascending { by_id } else { by_id.reverse() };
    };
    let value = |line: &Line| line.values.get(column).copied().flatten();
    let by_value = match (value(a), value(b)) {
        (Some(a), Some(b)) if order.ascending => a.total_cmp(&b),
        (Some(a), Some(b)) => b.total_cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    by_value.then(by_id)
}

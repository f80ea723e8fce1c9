//! PMCTrack's columns (version 4): `nsample pid event pmc0 ...`, with `coretype expid` for several sets.
//!
//! A counter is named by its place in its set, as on the machine: `pmc0` of set 0 and of set 1 are different
//! events, told apart by `expid`. Virtual counters are the machine's and stand in rows of their own, whose pid is
//! `-` and whose counters are the sums of the tick, and beside the counts of every other row. Metrics follow under their own names.

use super::subject_number;
use solo_watch::{Columns, Row};
use std::fmt::Write;

/// What a table needs to know before its first row.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    columns: Columns,
    per_core: bool,
    etime: bool,
    /// The mapping of events to counters stands before the table.
    mappings: bool,
}

impl Layout {
    pub(super) fn new(columns: &Columns, per_core: bool, etime: bool) -> Self {
        Self { columns: columns.clone(), per_core, etime, mappings: true }
    }

    /// The same without the mapping of events to counters (PMCTrack's legacy mode).
    pub(super) fn without_mappings(self) -> Self {
        Self { mappings: false, ..self }
    }

    fn several(&self) -> bool {
        self.columns.sets.len() > 1
    }

    fn counters(&self) -> usize {
        self.columns.sets.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The mappings and the table's header.
    pub(super) fn header(&self) -> String {
        let mut text = if self.mappings { self.mapping() } else { String::new() };
        self.titles(&mut text);
        text
    }

    fn mapping(&self) -> String {
        let mut text = String::from("[Event-to-counter mappings]\n");
        for (i, set) in self.columns.sets.iter().enumerate() {
            if self.several() {
                let _ = writeln!(text, "exp{i}:");
            }
            for (place, column) in set.iter().enumerate() {
                let name = self.columns.counts.get(*column).map_or("", String::as_str);
                let _ = writeln!(text, "pmc{place}={name}");
            }
        }
        for (place, name) in self.columns.virtuals.iter().enumerate() {
            let _ = writeln!(text, "virt{place}={name}");
        }
        text.push_str("[Event counts]\n");
        text
    }

    fn titles(&self, text: &mut String) {
        let owner = if self.per_core { "cpu" } else { "pid" };
        let _ = write!(text, "{:>7} {owner:>6}", "nsample");
        if self.several() {
            let _ = write!(text, " {:>8} {:>5}", "coretype", "expid");
        }
        let _ = write!(text, " {:>10}", "event");
        for place in 0..self.counters() {
            let _ = write!(text, " {:>13}", format!("pmc{place}"));
        }
        if self.etime {
            let _ = write!(text, " {:>13}", "etime_us");
        }
        for place in 0..self.columns.virtuals.len() {
            let _ = write!(text, " {:>13}", format!("virt{place}"));
        }
        for name in &self.columns.metrics {
            let _ = write!(text, " {name:>13}");
        }
        text.push('\n');
    }

    /// One row.
    pub(super) fn row(&self, row: &Row) -> String {
        let mut text = String::new();
        let owner = subject_number(row.subject).map_or_else(|| "-".to_owned(), |number| number.to_string());
        let _ = write!(text, "{:>7} {owner:>6}", row.number);
        if self.several() {
            // One core type only: rows of several types are sums over them.
            let _ = write!(text, " {:>8} {:>5}", 0, row.set);
        }
        let _ = write!(text, " {:>10}", row.kind.name());
        let set = self.columns.sets.get(row.set).map_or(&[][..], Vec::as_slice);
        for place in 0..self.counters() {
            let count = set.get(place).and_then(|column| row.counts.get(*column).copied().flatten());
            let _ = write!(text, " {:>13}", absent(count));
        }
        if self.etime {
            let _ = write!(text, " {:>13}", row.span.get() / 1000);
        }
        for value in &row.virtuals {
            let _ = write!(text, " {:>13}", absent(*value));
        }
        for value in &row.metrics {
            let _ = write!(text, " {:>13}", value.map_or_else(|| "-".to_owned(), metric));
        }
        text.push('\n');
        text
    }
}

fn absent(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Four significant digits or whole numbers.
fn metric(value: f64) -> String {
    match value.abs() {
        large if large >= 10_000.0 => format!("{value:.0}"),
        middle if middle >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{Duration, Instant};
    use solo_observe::Subject;
    use solo_watch::RowKind;

    fn columns() -> Columns {
        Columns {
            counts: vec!["instructions".into(), "cycles".into(), "llc_misses".into()],
            sets: vec![vec![0, 1], vec![0, 2]],
            virtuals: vec!["energy_package_uj".into()],
            metrics: vec!["ipc".into()],
        }
    }

    fn row(set: usize, counts: [Option<u64>; 3], metric: Option<f64>) -> Row {
        Row {
            number: 12,
            at: Instant::new(2_000_000),
            span: Duration::new(1_500_000),
            subject: Subject::Thread { process: 41, thread: 42 },
            kind: RowKind::Tick,
            set,
            counts: counts.to_vec(),
            virtuals: vec![None],
            metrics: vec![metric],
        }
    }

    #[test]
    fn the_columns_are_pmctracks() {
        let one = Columns { sets: vec![vec![0, 1]], virtuals: vec![], metrics: vec![], ..columns() };
        let header = Layout::new(&one, false, false).header();
        let legacy = Layout::new(&one, false, false).without_mappings().header();
        assert_eq!(legacy, "nsample    pid      event          pmc0          pmc1\n");
        assert_eq!(
            header,
            "[Event-to-counter mappings]\npmc0=instructions\npmc1=cycles\n[Event counts]\n\
             nsample    pid      event          pmc0          pmc1\n"
        );
    }

    #[test]
    fn sets_name_themselves_and_absent_values_are_dashes() {
        let layout = Layout::new(&columns(), false, true);
        let first = layout.row(&row(0, [Some(300), Some(200), None], Some(1.5)));
        let words: Vec<&str> = first.split_whitespace().collect();
        assert_eq!(words, ["12", "42", "0", "0", "tick", "300", "200", "1500", "-", "1.5000"]);
        let second = layout.row(&row(1, [Some(300), None, Some(7)], None));
        let words: Vec<&str> = second.split_whitespace().collect();
        assert_eq!(words, ["12", "42", "0", "1", "tick", "300", "7", "1500", "-", "-"]);
    }
}

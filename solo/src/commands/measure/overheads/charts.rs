//! Growth by number of threads, beside what the text of thesis 5.3 to 5.7 says of Figs. 57 to 61.

use crate::exit::Failure;
use crate::pages;
use solo_chart::{Chart, Mark, Places, Scale, Series, page};
use solo_overheads::{Measurement, Row, Summary};
use solo_store::TargetFolder;

/// A figure: its file, its title, the kernel's rows, Linux's rows, and the thesis's numbers.
struct Figure {
    file: &'static str,
    title: &'static str,
    kernel: &'static str,
    linux: &'static [&'static str],
    /// Whose, at how many threads (all without), nanoseconds.
    thesis: &'static [(&'static str, Option<u32>, f64)],
    text: &'static str,
}

const FIGURES: [Figure; 5] = [
    Figure {
        file: "context-switch",
        title: "Context switch (thesis Fig. 57)",
        kernel: "context switch",
        linux: &["switch by sched_yield", "sleep and switch by futex", "wake, sleep and switch by pipe"],
        thesis: &[("thesis, EPOS", None, 30.0), ("thesis, LITMUS^RT P, G", None, 1200.0)],
        text: "The stacks of all threads one after the other. Linux's switches contain a system call and a decision.",
    },
    Figure {
        file: "requests",
        title: "Requests between cores (thesis Fig. 58)",
        kernel: "reschedule request, whole",
        linux: &[],
        thesis: &[("thesis, EPOS at most", None, 300.0)],
        text: "The kernel's part at the receiver. The thesis's is the way of the interrupt as well.",
    },
    Figure {
        file: "scheduling",
        title: "Scheduling (thesis Fig. 59)",
        kernel: "scheduling",
        linux: &["making ready by futex"],
        thesis: &[("thesis, EPOS G-EDF", Some(100), 500.0)],
        text: "A decision with its queue operations, for this core and for those that share its queue.",
    },
    Figure {
        file: "tick",
        title: "Tick (thesis Fig. 60)",
        kernel: "tick",
        linux: &[],
        thesis: &[("thesis, EPOS", None, 51.0)],
        text: "The entry of a timer interrupt, up to the question whether anything is due.",
    },
    Figure {
        file: "release",
        title: "Release (thesis Fig. 61)",
        kernel: "release",
        linux: &[],
        thesis: &[("thesis, EPOS", Some(125), 340.0)],
        text: "All releases of one interrupt.",
    },
];

/// Writes each figure, mean and 99th percentile, and a page with all of them.
pub(super) fn draw(place: &TargetFolder, measurement: &Measurement) -> Result<(), Failure> {
    let mut page = Vec::new();
    for figure in &FIGURES {
        for (statistic, of) in [("mean", mean as fn(&Summary) -> f64), ("p99", p99)] {
            let Some(chart) = chart_of(figure, measurement, statistic, of) else { continue };
            pages::write(place, &format!("{}-{statistic}.svg", figure.file), &chart.svg())?;
            page.push((figure.text.to_owned(), chart));
        }
    }
    if let Some(chart) = wake_ups(measurement) {
        pages::write(place, "wake-up.svg", &chart.svg())?;
        let text =
            "From the instant for which a thread of Linux asked until it runs; the interrupt is part of it.";
        page.push((text.to_owned(), chart));
    }
    let machine = format!("{}, {}", measurement.environment.processor, measurement.environment.kernel);
    pages::write(place, "report.html", &page::charts(&format!("Overheads on {machine}"), &page))?;
    Ok(())
}

fn mean(summary: &Summary) -> f64 {
    summary.mean_ns
}

fn p99(summary: &Summary) -> f64 {
    summary.p99_ns
}

fn chart_of(
    figure: &Figure,
    measurement: &Measurement,
    statistic: &str,
    of: fn(&Summary) -> f64,
) -> Option<Chart> {
    let threads = measurement.threads();
    let line = |name: String, row: &dyn Fn(u32) -> Option<Row>| {
        let values: Vec<Option<f64>> =
            threads.iter().map(|&threads| row(threads).map(|row| of(&row.summary))).collect();
        values.iter().any(Option::is_some).then_some(Series { name, values })
    };
    let find = |what: &str, policy: Option<&str>, threads, swept| {
        measurement.find_with(what, policy, Some(threads), swept).cloned()
    };
    let mut series = Vec::new();
    let policies = measurement.policies();
    for policy in std::iter::once(None).chain(policies.iter().copied().map(Some)) {
        for swept in [false, true] {
            let name = match (policy, swept) {
                (None, false) => "stacks, warm".to_owned(),
                (None, true) => "stacks, swept".to_owned(),
                (Some(policy), false) => policy.to_owned(),
                (Some(policy), true) => format!("{policy}, swept"),
            };
            series.extend(line(name, &|threads| find(figure.kernel, policy, threads, swept)));
        }
    }
    if series.is_empty() {
        return None;
    }
    for what in figure.linux {
        series.extend(line(format!("Linux: {what}"), &|threads| find(what, None, threads, false)));
    }
    for &(name, at, ns) in figure.thesis {
        let value = |threads: &u32| at.is_none_or(|at| at == *threads).then_some(ns);
        series.push(Series { name: name.to_owned(), values: threads.iter().map(value).collect() });
    }
    Some(chart(format!("{}, {statistic}", figure.title), &threads, series))
}

fn wake_ups(measurement: &Measurement) -> Option<Chart> {
    let threads = measurement.threads();
    let mut series = Vec::new();
    for what in ["wake-up under SCHED_FIFO", "wake-up under SCHED_DEADLINE"] {
        for (statistic, of) in [("median", (|s: &Summary| s.p50_ns) as fn(&Summary) -> f64), ("p99", p99)] {
            let value =
                |threads: &u32| measurement.find(what, None, Some(*threads)).map(|row| of(&row.summary));
            let values: Vec<Option<f64>> = threads.iter().map(value).collect();
            if values.iter().any(Option::is_some) {
                series.push(Series {
                    name: format!("{}, {statistic}", what.trim_start_matches("wake-up under ")),
                    values,
                });
            }
        }
    }
    (!series.is_empty()).then(|| chart("Wake-up of Linux's threads".to_owned(), &threads, series))
}

fn chart(title: String, threads: &[u32], series: Vec<Series>) -> Chart {
    Chart {
        title,
        across: "threads".into(),
        up: "nanoseconds".into(),
        places: Places::Named(threads.iter().map(ToString::to_string).collect()),
        series,
        scale: Scale::Logarithmic,
        mark: Mark::Line,
    }
}

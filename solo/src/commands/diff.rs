//! `solo diff`: two runs side by side.

use crate::cli::Diff;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use solo_model::Duration;
use solo_model::text::counted;
use solo_report::diff::{Decision, Difference, TaskDifference};
use solo_report::{Run, table};

/// Says how much two runs differ, how sure that is, and where they first decided differently.
pub(crate) fn run(options: &Diff) -> Result<Exit, Failure> {
    let (a, b) = (Run::open(&options.a)?, Run::open(&options.b)?);
    let found = solo_report::diff::diff(&a, &b)?;
    if options.json {
        output::json(Document::Diff, &found)?;
    } else {
        output::text(&told(&found))?;
    }
    Ok(Exit::Held)
}

fn told(found: &Difference) -> String {
    let style = output::style();
    let mut text = String::new();
    let setting: Vec<String> =
        found.settings.iter().map(|of| format!("{} {} / {}", of.name, shown(&of.a), shown(&of.b))).collect();
    text += &match setting.as_slice() {
        [] => "A and B were asked for the same.\n".to_owned(),
        some => table::sentence(&format!("A / B: {}.", some.join(", ")), style),
    };
    text += "\n";
    let header =
        ["task", "jobs A", "jobs B", "mean A", "mean B", "B longer by", "95 % from", "to", "p99 A", "p99 B"];
    let header: Vec<&str> = header.into_iter().chain(["misses A", "misses B"]).collect();
    let rows: Vec<Vec<String>> = found.tasks.iter().map(row).collect();
    text += &table::plain(&header, 1, &rows, style);
    for name in &found.only {
        text += &format!("{name} is in one of the runs only\n");
    }
    text += "\n";
    text += &table::sentence(
        &match &found.first_decision {
            None => "Every decision of the kernels is the same.".to_owned(),
            Some(first) => format!(
                "The kernels decided the same {}; then A: {}; B: {}.",
                counted(first.after, "time"),
                decision(first.a.as_ref()),
                decision(first.b.as_ref())
            ),
        },
        style,
    );
    let sure = "doubts: intervals are bootstrapped from the first 10000 jobs of each run, with a fixed seed; jobs that wait for \
                one another make them too narrow";
    text + &table::sentence(sure, style)
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "-" } else { value }
}

fn row(task: &TaskDifference) -> Vec<String> {
    let time = |time: Option<Duration>| time.map_or("-".into(), table::time);
    let signed = |ns: Option<i64>| match ns {
        None => "-".into(),
        Some(ns) => {
            let sign = if ns < 0 { "-" } else { "" };
            format!("{sign}{}", table::time(Duration::new(ns.unsigned_abs())))
        }
    };
    vec![
        task.name.clone(),
        task.a.jobs.to_string(),
        task.b.jobs.to_string(),
        time(task.a.mean_ns),
        time(task.b.mean_ns),
        signed(task.effect_ns),
        signed(task.interval.map(|interval| interval.from_ns)),
        signed(task.interval.map(|interval| interval.to_ns)),
        time(task.a.p99_ns),
        time(task.b.p99_ns),
        task.a.misses.to_string(),
        task.b.misses.to_string(),
    ]
}

fn decision(decision: Option<&Decision>) -> String {
    let name = |task: &Option<String>| task.clone().unwrap_or_else(|| "nothing".into());
    match decision {
        None => "had ended".into(),
        Some(made) => {
            format!("at {} {} left {} for {}", made.at_ns, made.core, name(&made.from), name(&made.to))
        }
    }
}

//! `solo plot`: figures over the variants of a scenario.
//!
//! A variant's name says where it stands: `parallel, 32KiB` is the point `32KiB` of the series `parallel`. What is
//! drawn is an expression over the events of some tasks, as `solo watch` takes them.

use super::run::load;
use crate::cli::Plot;
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use solo_chart::{Chart, Mark, Places, Scale, Series, axis, page};
use solo_lab::{LabError, Recordings, Simulation};
use solo_model::text::{Printable, is_hidden};
use solo_model::{Counts, EventTable, Experiment, Instant, JobRecord};
use solo_observe::Fixed;
use solo_observe::expr::Expression;
use solo_scenario::Choice;
use solo_store::{Folder, Kind, TargetFolder, read};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// A file of figures.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Figures {
    /// The scenario, seen from the file's folder.
    scenario: String,
    /// What the points are.
    across: String,
    /// The tasks whose jobs count; all without.
    #[serde(default)]
    tasks: Vec<String>,
    figure: Vec<Figure>,
}

/// A figure: one expression, or several by name.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Figure {
    title: String,
    up: String,
    #[serde(default)]
    about: String,
    values: Vec<Value>,
    #[serde(default)]
    scale: ScaleWord,
    #[serde(default)]
    bars: bool,
    /// Only these series; all without.
    #[serde(default)]
    series: Vec<String>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Value {
    #[serde(default)]
    name: String,
    value: String,
}

#[derive(Deserialize, Clone, Copy, Default, Debug)]
#[serde(rename_all = "kebab-case")]
enum ScaleWord {
    #[default]
    Linear,
    Logarithmic,
}

/// What a variant's tasks did.
struct Measured {
    series: String,
    place: String,
    counts: Counts,
    events: EventTable,
    seconds: Fixed,
}

/// A drawn figure as JSON.
#[derive(Serialize)]
struct Drawn<'a> {
    title: &'a str,
    up: &'a str,
    series: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    points: Vec<Point>,
}

/// A value and where it stands.
#[derive(Serialize)]
struct Point {
    place: String,
    value: Option<f64>,
}

/// A larger file is no file of figures.
const LARGEST_FILE: u64 = 1 << 20;

impl Figures {
    /// All that is shown.
    fn texts(&self) -> impl Iterator<Item = &str> {
        fn of(figure: &Figure) -> [&str; 3] {
            [&figure.title, &figure.up, &figure.about]
        }
        let named = self.figure.iter().flat_map(|figure| &figure.values).map(|value| value.name.as_str());
        std::iter::once(self.across.as_str()).chain(self.figure.iter().flat_map(of)).chain(named)
    }
}

/// Runs all variants once and draws every figure of the file.
pub(crate) fn run(options: &Plot) -> Result<Exit, Failure> {
    let text = read::text(&options.figures, LARGEST_FILE)?;
    let wrong =
        |message: String| Failure::Usage(format!("{}: {message}", Printable(options.figures.display())));
    let figures: Figures = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if let Some(hidden) = figures.texts().find(|text| text.contains(is_hidden)) {
        return Err(wrong(format!("`{}` holds a character that can't be seen", Printable(hidden))));
    }
    let beside = options.figures.parent().unwrap_or(Path::new("."));
    let overrides = options.instead.overrides(Choice::Variants);
    let scenario = load(&beside.join(&figures.scenario), &overrides, options.show.quiet)?;
    if let Some(refused) = scenario.refused.first() {
        return Err(Failure::Scenario(Box::new(refused.report.clone())));
    }
    let tables =
        scenario.variants.iter().chain([&scenario.base]).map(|experiment| &experiment.platform.events);
    let expressions = expressions(&figures, &tables.collect::<Vec<_>>()).map_err(wrong)?;
    if let Some(unknown) =
        figures.tasks.iter().find(|name| !scenario.base.tasks.iter().any(|task| task.name == **name))
    {
        return Err(wrong(format!("the scenario has no task `{unknown}`")));
    }
    let folder = folders::prepare(&options.keep, &format!("{}-figures", scenario.name), Kind::Figures)?;
    let bars = Bars::new(options.show.quiet);
    let (recordings, control) = (Recordings::of_scenario(&scenario), control(&bars));
    let of = |experiment: &Experiment| {
        let name = &experiment.variant;
        let simulation =
            Simulation { experiment, recordings: &recordings, name, control: &control, stop_on: None };
        measure(&simulation, &figures.tasks)
    };
    let measured: Vec<Measured> = scenario.variants.par_iter().map(of).collect::<Result<_, LabError>>()?;
    let charts: Vec<Chart> = figures
        .figure
        .iter()
        .zip(&expressions)
        .map(|(figure, expressions)| draw(figure, &figures.across, expressions, &measured))
        .collect();
    show(options, &figures, &charts, &scenario.name, folder)
}

/// The expressions of every figure; each column must exist.
fn expressions(figures: &Figures, tables: &[&EventTable]) -> Result<Vec<Vec<Expression>>, String> {
    let read = |figure: &Figure, value: &Value| {
        let said =
            |what: &dyn std::fmt::Display| format!("figure `{}`: `{}`: {what}", figure.title, value.value);
        let expression = Expression::parse(&value.value).map_err(|error| said(&error))?;
        let known = |name: &str| name == "seconds" || tables.iter().any(|table| table.find(name).is_some());
        match expression.columns().into_iter().find(|name| !known(name)) {
            Some(unknown) => Err(said(&format!(
                "there is no event `{unknown}`; docs/events.md and the platform's file list them"
            ))),
            None => Ok(expression),
        }
    };
    let all = figures.figure.iter();
    all.map(|figure| figure.values.iter().map(|value| read(figure, value)).collect()).collect()
}

fn measure(simulation: &Simulation<'_>, tasks: &[String]) -> Result<Measured, LabError> {
    let experiment = simulation.experiment;
    let (mut counts, mut first, mut last) = (Counts::NONE, Instant::MAX, Instant::ZERO);
    simulation.jobs(|job: &JobRecord| {
        let name = experiment.tasks.get(job.task.index()).map_or("", |task| task.name.as_str());
        if tasks.is_empty() || tasks.iter().any(|wanted| wanted == name) {
            counts.merge(&job.counts);
            first = first.min(job.release);
            last = last.max(job.finish);
        }
    })?;
    let name = &experiment.variant;
    let (series, place) = name.rsplit_once(", ").unwrap_or((name, ""));
    let seconds = Fixed::seconds(last.since(first).get());
    let events = experiment.platform.events.clone();
    Ok(Measured { series: series.to_owned(), place: place.to_owned(), counts, events, seconds })
}

/// One series for each expression and each first part of a variant's name, in the order of the scenario.
fn draw(figure: &Figure, across: &str, expressions: &[Expression], measured: &[Measured]) -> Chart {
    let mut places: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let wanted = |series: &str| figure.series.is_empty() || figure.series.iter().any(|name| name == series);
    for point in measured.iter().filter(|point| wanted(&point.series)) {
        if !places.contains(&point.place) {
            places.push(point.place.clone());
        }
        if !names.contains(&point.series.as_str()) {
            names.push(&point.series);
        }
    }
    let mut series = Vec::new();
    for name in names {
        for (value, expression) in figure.values.iter().zip(expressions) {
            let at = |place: &String| {
                let point = measured.iter().find(|point| point.series == name && point.place == *place)?;
                let column = |column: &str| match column {
                    "seconds" => Some(point.seconds),
                    event => point.counts.get(point.events.find(event)?).map(Fixed::from),
                };
                expression.value(&column).map(solo_watch::real)
            };
            let name =
                if value.name.is_empty() { name.to_owned() } else { format!("{name}: {}", value.name) };
            series.push(Series { name, values: places.iter().map(at).collect() });
        }
    }
    let scale = match figure.scale {
        ScaleWord::Linear => Scale::Linear,
        ScaleWord::Logarithmic => Scale::Logarithmic,
    };
    let mark = if figure.bars { Mark::Bars } else { Mark::Line };
    Chart {
        title: figure.title.clone(),
        across: across.to_owned(),
        up: figure.up.clone(),
        places: Places::Named(places),
        series,
        scale,
        mark,
    }
}

/// Writes SVGs, a page and the numbers; prints the numbers.
fn show(
    options: &Plot,
    figures: &Figures,
    charts: &[Chart],
    name: &str,
    folder: Folder,
) -> Result<Exit, Failure> {
    let place = TargetFolder::from(folder);
    for (number, chart) in charts.iter().enumerate() {
        pages::write(&place, &format!("figure-{}.svg", number + 1), &chart.svg())?;
    }
    let texts = figures.figure.iter().map(|figure| figure.about.clone());
    let texts: Vec<(String, Chart)> = texts.zip(charts.iter().cloned()).collect();
    let page = pages::write(&place, "figures.html", &page::charts(name, &texts))?;
    let drawn: Vec<Drawn<'_>> = charts.iter().map(as_json).collect();
    let json = Document::Figures.text(&BTreeMap::from([("figures", &drawn)]))?;
    pages::write(&place, pages::FIGURES, &json)?;
    if options.show.json {
        output::text(&json)?;
    } else {
        output::text(&charts.iter().map(table).collect::<Vec<_>>().join("\n"))?;
        if !options.show.quiet {
            eprintln!("figures in {}", Printable(page.display()));
        }
    }
    Ok(Exit::Held)
}

fn as_json(chart: &Chart) -> Drawn<'_> {
    let points = |values: &[Option<f64>]| {
        let places = chart.places.labels().into_iter();
        places.zip(values).map(|(place, &value)| Point { place, value }).collect()
    };
    Drawn {
        title: &chart.title,
        up: &chart.up,
        series: chart
            .series
            .iter()
            .map(|Series { name, values }| Line { name, points: points(values) })
            .collect(),
    }
}

fn table(chart: &Chart) -> String {
    let mut text = format!("{} [{}]\n{:<32}", chart.title, chart.up, "");
    for place in chart.places.labels() {
        let _ = write!(text, " {place:>10}");
    }
    text.push('\n');
    for series in &chart.series {
        let _ = write!(text, "{:<32}", series.name);
        for value in &series.values {
            let _ = write!(text, " {:>10}", value.map_or_else(|| "-".to_owned(), axis::short));
        }
        text.push('\n');
    }
    text
}

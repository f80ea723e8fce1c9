//! `solo measure overheads`: what the kernel's paths cost (thesis chapter 5), as tables, charts and overhead files.

mod charts;

use crate::cli::{Basis, MeasureOverheads, Statistic, Where};
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::progress::Bars;
use crate::{folders, output, pages};
use serde::Serialize;
use solo_lab::campaign::overheads;
use solo_lab::metal::InstructionSet;
use solo_model::text::Printable;
use solo_overheads::costs::{Take, costs};
use solo_overheads::ratios::{Ratio, ratios};
use solo_overheads::{Measurement, MeasurementPlan, text};
use solo_scenario::Platforms;
use solo_store::{Kind, TargetFolder, name};
use std::path::Path;

/// All that was found.
#[derive(Serialize)]
struct Shown<'m> {
    #[serde(flatten)]
    measurement: &'m Measurement,
    ratios: Vec<Ratio>,
}

/// Measures and writes tables, charts and an overhead file for each policy.
pub(crate) fn run(options: &MeasureOverheads) -> Result<Exit, Failure> {
    let mut plan = if options.brief { MeasurementPlan::quick() } else { MeasurementPlan::full() };
    plan.stock = !options.without_linux;
    plan.seed = options.seed;
    let platform = platform(options)?;
    let folder = folders::prepare(&options.keep, "overheads", Kind::Measurement)?;
    let bars = Bars::new(options.show.quiet);
    let measurement = match options.on {
        Where::Host => overheads::on_this_machine(&plan, &control(&bars))?,
        Where::Rtos => overheads::on_bare_metal(&plan, InstructionSet::X86_64, &control(&bars))?,
        Where::RtosArm64 => overheads::on_bare_metal(&plan, InstructionSet::Arm64, &control(&bars))?,
    };
    write(&folder.clone().into(), options, &measurement, platform.as_deref())?;
    if options.show.json {
        output::json(Document::Overheads, &shown(&measurement))?;
    } else {
        output::text(&text::report(&measurement))?;
        if !options.show.quiet {
            eprintln!("charts and overhead files in {}", Printable(folder.path().display()));
        }
    }
    Ok(Exit::Held)
}

fn shown(measurement: &Measurement) -> Shown<'_> {
    let most = measurement.threads().last().copied().unwrap_or(0);
    Shown { measurement, ratios: ratios(measurement, most) }
}

/// What this machine is called as a platform, where the user says so: no file tells a processor from its name.
fn platform(options: &MeasureOverheads) -> Result<Option<String>, Failure> {
    let Some(named) = &options.platform else { return Ok(None) };
    if options.on != Where::Host {
        let message = "--platform: under QEMU's instruction clock each instruction takes a nanosecond, which is no chip's \
                       time; expected it without `--on`, where this machine's own times are taken";
        return Err(Failure::Usage(message.to_owned()));
    }
    let platform = Platforms::builtin()
        .load(named, Path::new("."))
        .map_err(|report| Failure::Scenario(Box::new(report)))?;
    Ok(Some(platform.name))
}

fn write(
    place: &TargetFolder,
    options: &MeasureOverheads,
    measurement: &Measurement,
    platform: Option<&str>,
) -> Result<(), Failure> {
    pages::write(place, pages::OVERHEADS, &Document::Overheads.text(&shown(measurement))?)?;
    pages::write(place, "overheads.md", &text::report(measurement))?;
    let take = match options.take {
        Statistic::Mean => Take::Mean,
        Statistic::P99 => Take::P99,
        Statistic::Max => Take::Max,
    };
    // Under the instruction clock there are no caches to sweep.
    let swept = options.on == Where::Host && options.caches == Basis::Swept;
    for policy in measurement.policies() {
        let costs = costs(measurement, policy, take, swept);
        let file = name::escape(&policy.to_lowercase());
        let toml = solo_scenario::write_overheads(&costs.table, &costs.sources, platform);
        pages::write(place, &format!("{file}.toml"), &toml)?;
        pages::write(place, &format!("{file}.json"), &solo_prove::overhead::write_table(&costs.table))?;
    }
    charts::draw(place, measurement)
}

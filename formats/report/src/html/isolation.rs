//! Isolation on a page: who owns which colors, what budgets did.

use super::{tables, task_color};
use crate::isolation::{CoreRegulation, IsolationReport, OwnedMemory};
use crate::report::Report;
use crate::text;
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::TaskId;
use solo_model::text::Ranges;

/// The map in units of its own: it is stretched to the width there is.
const WIDE: f64 = 1000.0;
/// Owners drawn; the rest is in the table.
const OWNERS: usize = 24;

/// The color map, the owners and the regulated cores.
pub(super) fn section(
    isolation: &IsolationReport,
    report: &Report,
    colors: &dyn Fn(TaskId) -> usize,
) -> Markup {
    let kernel = isolation.kernel();
    let all = kernel.iter().chain(&isolation.owners);
    let colored: Vec<&OwnedMemory> = all.filter(|owner| !owner.colors.is_empty()).collect();
    html! {
        @if !colored.is_empty() {
            (map(isolation, &colored, report, colors))
        }
        @if !isolation.owners.is_empty() || isolation.kernel_color.is_some() {
            (tables::plain(&IsolationReport::OWNER_HEADER, isolation.owner_rows()))
        }
        @if !isolation.cores.is_empty() {
            (tables::plain(&CoreRegulation::HEADER, isolation.cores.iter().map(CoreRegulation::row)))
            p.note {
                "Regulation period " (text::time(isolation.period)) ", guaranteed bandwidth "
                (text::asked_rate(isolation.guaranteed)) ". Used: what was counted against the budget, on average. "
                "Shared: used in periods that ended early because all cores were exhausted."
                @for core in &isolation.cores { @if let Some(change) = core.changed() { " " (change) } }
                @for core in &isolation.cores { @for doubt in core.doubts() { " " (doubt) } }
            }
            @if let Some(conservation) = &isolation.conservation { p.note { (conservation.sentence()) } }
        }
        @for warning in &report.warnings { p.why { span.warning { "Warning: " } (warning) } }
    }
}

/// A row an owner, a stretch of the axis for each color it owns.
fn map(
    isolation: &IsolationReport,
    owners: &[&OwnedMemory],
    report: &Report,
    colors: &dyn Fn(TaskId) -> usize,
) -> Markup {
    let step = WIDE / f64::from(isolation.colors.max(1));
    let color = |owner: &OwnedMemory| {
        let at = report.tasks.iter().position(|task| task.name == owner.task);
        task_color(at.map_or(7, |at| colors(TaskId(at as u32))))
    };
    html! {
        figure {
            div.parts {
                @for owner in owners.iter().take(OWNERS) {
                    span.label { (owner.task) }
                    svg.map viewBox={"0 0 " (WIDE) " 14"} preserveAspectRatio="none" role="img"
                        aria-label={"The page colors of " (owner.task)} {
                        @for run in owner.colors.chunk_by(|a, b| a + 1 == *b) {
                            @let first = f64::from(run.first().copied().unwrap_or(0));
                            rect x=(px(first * step)) y="0" width=(px(run.len() as f64 * step)) height="14" fill=(color(owner)) {
                                title { (owner.task) ": colors " (Ranges(run)) }
                            }
                        }
                    }
                    span.soft.value { (owner.colors.len()) " of " (isolation.colors) }
                }
            }
            figcaption {
                "Which page colors of the last-level cache each task owns, from color 0 on the left to color "
                (isolation.colors.saturating_sub(1)) " on the right."
            }
        }
    }
}

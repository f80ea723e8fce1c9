//! Isolation on a page: who owns which colors, what budgets did.

use super::scale::{LEFT, RIGHT, WIDTH};
use super::{tables, task_color};
use crate::isolation::{CoreRegulation, IsolationReport, OwnedMemory};
use crate::report::Report;
use crate::text;
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::TaskId;

const ROW: f64 = 20.0;
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
                (text::rate(isolation.guaranteed)) ". Used: what was counted against the budget, on average. "
                "Shared: used in periods that ended early because all cores were exhausted."
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
    let step = (RIGHT - LEFT) / f64::from(isolation.colors.max(1));
    let drawn = owners.len().min(OWNERS);
    let bottom = ROW * drawn as f64 + 4.0;
    let color = |owner: &OwnedMemory| {
        let at = report.tasks.iter().position(|task| task.name == owner.task);
        task_color(at.map_or(7, |at| colors(TaskId(at as u32))))
    };
    html! {
        figure {
            svg viewBox={"0 0 " (WIDTH) " " (px(bottom + 18.0))} role="img"
                aria-label="Which task owns which page colors of the last-level cache" {
                @for (row, owner) in owners.iter().take(drawn).enumerate() {
                    @let y = ROW * row as f64;
                    text x="0" y=(px(y + 14.0)) { (owner.task) }
                    @for run in owner.colors.chunk_by(|a, b| a + 1 == *b) {
                        @let first = f64::from(run.first().copied().unwrap_or(0));
                        rect x=(px(LEFT + first * step)) y=(px(y + 3.0)) width=(px(run.len() as f64 * step))
                            height=(px(ROW - 6.0)) fill=(color(owner)) {
                            title { (owner.task) ": colors " (crate::isolation::ranges(run)) }
                        }
                    }
                }
                text.soft x=(px(LEFT)) y=(px(bottom + 12.0)) { "color 0" }
                text.soft.end x=(px(RIGHT)) y=(px(bottom + 12.0)) { (isolation.colors.saturating_sub(1)) }
            }
        }
    }
}

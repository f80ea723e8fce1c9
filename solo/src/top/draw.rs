//! The state on a terminal. Nothing is told by color alone.

use super::state::State;
use super::track::Track;
use super::view::{self, Line as Row, View};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Wrap};
use solo_model::text::counted;

/// The widths of a value's column: where there is room, and where there is not.
const VALUES: [usize; 2] = [17, 13];
/// The width of numbers.
const ID: usize = 8;
/// The least width of names.
const NAME_MIN: usize = 15;
/// Below this height there is no curve.
const CURVE_FROM: u16 = 18;

const HELP: &str = "\
c t p g   (or 1 2 3 4) cores, threads, processes, cgroups
← →       the column to sort by          r   the other way round
/         filter by name or number: Enter keeps it, Esc drops it
space     freeze, and go on              [ ] one frame back, on
Home End  the oldest frame, the newest   ↑ ↓ PgUp PgDn scroll
q         quit; a program that was started is ended

Counts are per second, over the frame that is shown; a `-` was not
counted. Metrics of a group are computed from the group's sums.";

/// Whether colors may be used beside words and weight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Palette {
    /// Blue and orange, which color-blind readers can tell apart.
    Colors,
    /// None.
    Plain,
}

impl Palette {
    fn of(self, color: Color) -> Style {
        match self {
            Self::Colors => Style::new().fg(color),
            Self::Plain => Style::new(),
        }
    }

    fn accent(self) -> Style {
        self.of(Color::Indexed(75)).add_modifier(Modifier::BOLD)
    }

    fn warning(self) -> Style {
        self.of(Color::Indexed(214)).add_modifier(Modifier::BOLD)
    }
}

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, state: &mut State, palette: Palette) {
    let area = frame.area();
    let curve = if area.height >= CURVE_FROM { 4 } else { 0 };
    let [head, table, plot, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Min(1),
        Constraint::Length(curve),
        Constraint::Length(2),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(header(state, palette)), head);
    draw_table(frame, table, state, palette);
    draw_curve(frame, plot, state, palette);
    frame.render_widget(Paragraph::new(footer(state, palette)), foot);
    if state.help {
        draw_help(frame, area);
    }
}

fn header(state: &State, palette: Palette) -> Vec<Line<'static>> {
    let Some(track) = state.track() else {
        return vec![Line::from("solo top: nothing has been counted yet")];
    };
    let (host, target, every) = match &track.begin {
        Some(begin) => (
            begin.host.clone(),
            begin.target.clone(),
            begin
                .period_ns
                .map_or_else(String::new, |period| format!(", every {}", solo_model::Duration::new(period))),
        ),
        None => (String::new(), track.label.clone(), String::new()),
    };
    let mut first =
        vec![Span::styled("solo top ", palette.accent()), Span::raw(format!("{host}: {target}{every}  "))];
    first.push(mode(state, track, palette));
    let virtuals = state.frame().map_or_else(String::new, |frame| {
        let pairs = track.columns.virtuals.iter().zip(&frame.virtuals);
        let text = |(name, value): (&String, &Option<i64>)| match value {
            Some(value) => format!("{name} {value}"),
            None => format!("{name} -"),
        };
        pairs.map(text).collect::<Vec<_>>().join("  ")
    });
    let tabs = View::ALL.into_iter().flat_map(|view| {
        let title =
            if view == state.view { format!("[{}]", view.title()) } else { format!(" {} ", view.title()) };
        let style = if view == state.view { palette.accent() } else { Style::new() };
        [Span::styled(title, style), Span::raw(" ")]
    });
    let mut tabs: Vec<Span<'static>> = tabs.collect();
    if state.typing || !state.filter.is_empty() {
        let cursor = if state.typing { "_" } else { "" };
        tabs.push(Span::raw(format!("  filter: {}{cursor}", state.filter)));
    }
    vec![Line::from(first), Line::from(virtuals), Line::from(tabs)]
}

/// In a word, and when.
fn mode(state: &State, track: &Track, palette: Palette) -> Span<'static> {
    let at = state.frame().map_or_else(|| "-".to_owned(), |frame| seconds(frame.at));
    let newest = track.frames.back().map_or_else(|| "-".to_owned(), |frame| seconds(frame.at));
    match (state.recorded, state.frozen_at, &track.end, &track.fault) {
        (true, _, None, Some(_)) => {
            Span::styled(format!("RECORDING, CUT OFF, {at} of {newest}"), palette.warning())
        }
        (true, ..) => Span::styled(format!("RECORDING {at} of {newest}"), palette.accent()),
        (_, Some(_), ..) => Span::styled(format!("FROZEN at {at}, now {newest}"), palette.warning()),
        (_, None, Some(_), _) => Span::styled(format!("ENDED at {at}"), palette.warning()),
        (_, None, None, Some(_)) => Span::styled("BROKEN OFF".to_owned(), palette.warning()),
        _ => Span::styled(format!("LIVE {at}"), palette.accent()),
    }
}

fn seconds(at: solo_model::Instant) -> String {
    format!("{:.1} s", at.since(solo_model::Instant::ZERO).get() as f64 / 1e9)
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, state: &mut State, palette: Palette) {
    let width = usize::from(area.width);
    state.page = usize::from(area.height).saturating_sub(2).max(1);
    let Some(track) = state.track() else { return };
    let fits = track.begin.as_ref().is_some_and(|begin| state.view.fits(&begin.per));
    if !fits {
        let text = match &track.fault {
            Some(fault) => fault.clone(),
            None => format!("no {} in this watch", state.view.title()),
        };
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let titles = view::titles(track);
    let Some((lines, total)) = state.lines() else {
        frame.render_widget(Paragraph::new("waiting for the first tick"), area);
        return;
    };
    let taken = |value: usize| ID + 1 + titles.len() * (value + 1);
    let [wide, narrow] = VALUES;
    let value = if taken(wide) + NAME_MIN <= width { wide } else { narrow };
    let widths = Widths { name: width.saturating_sub(taken(value)).clamp(NAME_MIN, 60), value };
    let mut text = vec![title_line(state, &titles, widths, palette)];
    let scroll = state.scroll.min(lines.len().saturating_sub(1));
    text.extend(lines.iter().skip(scroll).take(state.page).map(|line| Line::from(row(line, widths))));
    frame.render_widget(Paragraph::new(text), Rect { height: area.height.saturating_sub(1), ..area });
    let last = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    let style = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Paragraph::new(Line::styled(row(&total, widths), style)), last);
}

fn title_line(state: &State, titles: &[String], widths: Widths, palette: Palette) -> Line<'static> {
    let Widths { name, value } = widths;
    let arrow = if state.order.ascending { "▲" } else { "▼" };
    let id = match (state.view, state.order.column) {
        (View::Cgroups, _) => String::new(),
        (_, None) => format!("{arrow}number"),
        _ => "number".to_owned(),
    };
    let mut spans = vec![Span::raw(format!("{id:>ID$} ")), Span::raw(format!("{:<name$}", "name"))];
    for (i, title) in titles.iter().enumerate() {
        let sorted = state.order.column == Some(i);
        let mark = if sorted { arrow } else { "" };
        let room = value - mark.chars().count();
        // The end of a long name tells more than its beginning.
        let cut = title.chars().count().saturating_sub(room);
        let shown: String = match cut {
            0 => title.clone(),
            cut => "…".chars().chain(title.chars().skip(cut + 1)).collect(),
        };
        let style = if sorted { palette.accent() } else { Style::new() };
        spans.push(Span::styled(format!(" {:>value$}", format!("{mark}{shown}")), style));
    }
    Line::from(spans).style(Style::new().add_modifier(Modifier::UNDERLINED))
}

/// The widths of columns.
#[derive(Clone, Copy)]
struct Widths {
    name: usize,
    value: usize,
}

fn row(line: &Row, widths: Widths) -> String {
    let Widths { name, value: width } = widths;
    let mut text = format!("{:>ID$} ", line.id);
    let shown: String = line.name.chars().take(name).collect();
    text.push_str(&format!("{shown:<name$}"));
    for value in &line.values {
        text.push_str(&format!(" {:>width$}", value.map_or_else(|| "-".to_owned(), human)));
    }
    text
}

/// Three or four digits and a prefix.
pub(crate) fn human(value: f64) -> String {
    let size = value.abs();
    let (scaled, prefix) = match size {
        _ if size >= 1e12 => (value / 1e12, " T"),
        _ if size >= 1e9 => (value / 1e9, " G"),
        _ if size >= 1e6 => (value / 1e6, " M"),
        _ if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        0.0 => 0,
        small if small < 10.0 => 3,
        small if small < 100.0 => 2,
        small if small < 1000.0 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$}{prefix}")
}

/// The sum of the sorted column over all frames.
fn draw_curve(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let (Some(track), Some(column)) = (state.track(), state.order.column) else { return };
    if area.height < 2 {
        return;
    }
    let width = usize::from(area.width);
    let skip = track.frames.len().saturating_sub(width);
    let total = |frame| view::lines(track, frame, state.view, &state.filter, state.order).1;
    let values: Vec<Option<f64>> = track
        .frames
        .iter()
        .skip(skip)
        .map(|frame| total(frame).values.get(column).copied().flatten())
        .collect();
    let most = values.iter().flatten().copied().fold(0.0_f64, f64::max);
    let scaled = |value: &Option<f64>| {
        value.map(|value| (value.max(0.0) / most.max(f64::MIN_POSITIVE) * 1000.0) as u64)
    };
    let title = view::titles(track).get(column).cloned().unwrap_or_default();
    let block = Block::new().title(format!(
        "sum of {title} over {}, up to {}",
        counted(values.len(), "frame"),
        human(most)
    ));
    let data: Vec<Option<u64>> = values.iter().map(scaled).collect();
    frame.render_widget(Sparkline::default().block(block).data(data).max(1000).style(palette.accent()), area);
}

fn footer(state: &State, palette: Palette) -> Vec<Line<'static>> {
    let doubts = match (state.track().and_then(|track| track.fault.clone()), state.frame()) {
        (Some(fault), _) => Line::styled(fault, palette.warning()),
        (None, Some(frame)) => {
            let doubts = frame.doubts.doubts();
            let clean = doubts.lost == 0 && doubts.multiplexed == 0 && doubts.never_counted == 0;
            Line::styled(doubts.line(), if clean { Style::new() } else { palette.warning() })
        }
        (None, None) => Line::default(),
    };
    let said = state.track().and_then(|track| track.lines.back().cloned());
    let keys =
        "c t p g view  ←→ sort  r reverse  / filter  space freeze  [ ] step  h help  q quit".to_owned();
    vec![doubts, Line::from(said.map_or(keys, |said| format!("program: {said}")))]
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let (width, height) = (70.min(area.width), 12.min(area.height));
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys ")), place);
}

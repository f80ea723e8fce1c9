//! What the user sees and can do: a state, keys and messages in, a new state out.
//!
//! ```text
//!            space, [ or ]               space, End
//!  live ─────────────────────▶ frozen ─────────────────▶ live
//!  browse ── / ──▶ typing a filter ── Enter keeps it, Esc drops it ──▶ browse
//!  any ── h ──▶ help ── any key ──▶ back
//! ```
//! Frozen shows a frame of the past while new ones still come in. A recording is all past.

use super::track::{Frame, Track};
use super::view::{self, Line, Order, View};
use crate::stream::feed::Said;

/// A key, whatever terminal it came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Interrupt,
}

/// What is to be done after a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum After {
    Stay,
    Quit,
}

/// What is shown and how.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tracks: Vec<Track>,
    pub(crate) view: View,
    pub(crate) order: Order,
    pub(crate) filter: String,
    /// True while the filter is being typed.
    pub(crate) typing: bool,
    pub(crate) help: bool,
    /// The end of the frame that is shown; the newest where this is `None`.
    pub(crate) frozen_at: Option<solo_model::Instant>,
    /// The first line that is shown.
    pub(crate) scroll: usize,
    /// Lines that fit, told by the last drawing.
    pub(crate) page: usize,
    /// A recording, which has no present.
    pub(crate) recorded: bool,
}

impl State {
    pub(crate) fn new(tracks: Vec<Track>, view: View, recorded: bool) -> Self {
        let order = Order { column: Some(0), ascending: false };
        Self {
            tracks,
            view,
            order,
            filter: String::new(),
            typing: false,
            help: false,
            frozen_at: None,
            scroll: 0,
            page: 10,
            recorded,
        }
    }

    /// Takes what a watch said.
    pub(crate) fn take(&mut self, source: usize, said: Said) {
        if let Some(track) = self.tracks.get_mut(source) {
            track.take(said);
        }
    }

    /// The watch that the view is about: one whose rows fit, or else the first.
    pub(crate) fn track(&self) -> Option<&Track> {
        let fits = |track: &&Track| track.begin.as_ref().is_some_and(|begin| self.view.fits(&begin.per));
        self.tracks.iter().find(fits).or_else(|| self.tracks.iter().find(|track| track.fault.is_some()))
    }

    /// The frame that is shown.
    pub(crate) fn frame(&self) -> Option<&Frame> {
        let frames = &self.track()?.frames;
        match self.frozen_at {
            None => frames.back(),
            Some(at) => frames.iter().rev().find(|frame| frame.at <= at).or_else(|| frames.front()),
        }
    }

    /// The lines of the frame that is shown, and their sum.
    pub(crate) fn lines(&self) -> Option<(Vec<Line>, Line)> {
        Some(view::lines(self.track()?, self.frame()?, self.view, &self.filter, self.order))
    }

    /// Why the watch that the user asked for came to nothing.
    pub(crate) fn failed(&self) -> Option<&str> {
        let track = self.tracks.first()?;
        track.fault.as_deref().filter(|_| track.frames.is_empty())
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key) -> After {
        if key == Key::Interrupt {
            return After::Quit;
        }
        if self.help {
            self.help = false;
            return After::Stay;
        }
        if self.typing {
            self.typed(key);
            return After::Stay;
        }
        match key {
            Key::Char('q') => return After::Quit,
            Key::Char('h' | '?') => self.help = true,
            Key::Char('c' | '1') => self.show(View::Cores),
            Key::Char('t' | '2') => self.show(View::Threads),
            Key::Char('p' | '3') => self.show(View::Processes),
            Key::Char('g' | '4') => self.show(View::Cgroups),
            Key::Char('/') => self.typing = true,
            Key::Escape => self.filter.clear(),
            Key::Char('r') => self.order.ascending = !self.order.ascending,
            Key::Char(' ') => self.frozen_at = if self.frozen_at.is_some() { None } else { self.shown_at() },
            Key::Char('[') => self.step(-1),
            Key::Char(']') => self.step(1),
            Key::Home => self.frozen_at = self.track().and_then(|track| Some(track.frames.front()?.at)),
            Key::End => self.frozen_at = None,
            Key::Left => self.sort_by(-1),
            Key::Right => self.sort_by(1),
            Key::Up => self.scroll_by(-1),
            Key::Down => self.scroll_by(1),
            Key::PageUp => self.scroll_by(-(self.page as isize)),
            Key::PageDown => self.scroll_by(self.page as isize),
            _ => {}
        }
        After::Stay
    }

    fn typed(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.typing = false,
            Key::Escape => {
                self.filter.clear();
                self.typing = false;
            }
            _ => {}
        }
        self.scroll = 0;
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.scroll = 0;
        let columns = self.track().map_or(0, |track| view::titles(track).len());
        self.order.column = self.order.column.filter(|column| *column < columns).or(Some(0));
    }

    fn shown_at(&self) -> Option<solo_model::Instant> {
        self.frame().map(|frame| frame.at)
    }

    /// One frame back or on; past the newest it is the present again, but for recordings.
    fn step(&mut self, by: isize) {
        let Some(track) = self.track() else { return };
        let Some(at) = self.shown_at() else { return };
        let place = track.frames.iter().position(|frame| frame.at == at).unwrap_or(0);
        let next =
            place.checked_add_signed(by).and_then(|place| track.frames.get(place)).map(|frame| frame.at);
        self.frozen_at = next.or(self.frozen_at).or(Some(at));
    }

    /// Number, then the values from left to right.
    fn sort_by(&mut self, by: isize) {
        let columns = self.track().map_or(0, |track| view::titles(track).len());
        let place = self.order.column.map_or(0, |column| column + 1);
        let next = place.saturating_add_signed(by).min(columns);
        self.order.column = next.checked_sub(1);
    }

    fn scroll_by(&mut self, by: isize) {
        let lines = self.lines().map_or(0, |(lines, _)| lines.len());
        self.scroll = self.scroll.saturating_add_signed(by).min(lines.saturating_sub(self.page.max(1)));
    }
}

//! The terminal around the state: keys in, drawings out.

use super::draw::{self, Palette};
use super::state::{After, Key, State};
use crate::interrupt;
use crate::stream::feed::Said;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::{self, IsTerminal};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Drawn no more often than this.
const REDRAW: Duration = Duration::from_millis(100);

/// True where there is somebody to look and to type.
pub(crate) fn present() -> bool {
    io::stdout().is_terminal() && io::stdin().is_terminal()
}

/// Colors, unless the user wants none.
pub(crate) fn palette() -> Palette {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if unwanted { Palette::Plain } else { Palette::Colors }
}

/// Shows the state until the user quits. What the watches say comes from `feed`.
///
/// # Errors
/// When the terminal can't be used.
pub(crate) fn run(state: &mut State, feed: Option<&Receiver<(usize, Said)>>) -> io::Result<()> {
    let palette = palette();
    // Who has no patience gets the terminal back, too.
    interrupt::at_last(|| drop(ratatui::try_restore()));
    let mut terminal = match ratatui::try_init() {
        Ok(terminal) => terminal,
        Err(error) => {
            // It may have come half the way.
            let _ = ratatui::try_restore();
            return Err(error);
        }
    };
    let outcome =
        attend(state, feed, |state| terminal.draw(|frame| draw::draw(frame, state, palette)).map(drop));
    // The terminal is put back whatever happened.
    ratatui::try_restore().and(outcome)
}

fn attend(
    state: &mut State,
    feed: Option<&Receiver<(usize, Said)>>,
    mut draw: impl FnMut(&mut State) -> io::Result<()>,
) -> io::Result<()> {
    let (mut drawn, mut stale) = (None, true);
    loop {
        stale |= feed.is_some_and(|feed| drain(state, feed));
        let due = drawn.is_none_or(|drawn: Instant| drawn.elapsed() >= REDRAW);
        if stale && due {
            draw(state)?;
            (drawn, stale) = (Some(Instant::now()), false);
        }
        if interrupt::requested() || state.failed().is_some() {
            return Ok(());
        }
        if !event::poll(REDRAW / 4)? {
            continue;
        }
        match event::read()? {
            Event::Key(pressed) if pressed.kind != KeyEventKind::Release => {
                if key(pressed.code, pressed.modifiers).is_some_and(|key| state.key(key) == After::Quit) {
                    return Ok(());
                }
            }
            Event::Resize(..) => {}
            _ => continue,
        }
        (drawn, stale) = (None, true);
    }
}

/// Takes all that waits; true if there was anything.
fn drain(state: &mut State, feed: &Receiver<(usize, Said)>) -> bool {
    let mut any = false;
    for (source, said) in feed.try_iter() {
        state.take(source, said);
        any = true;
    }
    any
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
    Some(match code {
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

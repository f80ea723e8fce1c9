//! A progress bar on a terminal, silence elsewhere.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use solo_model::{Instant, PerMille};
use std::io::IsTerminal;

/// Bars for runs that go on side by side.
pub(crate) struct Bars {
    all: Option<MultiProgress>,
}

impl Bars {
    /// Bars on standard error where that is a terminal and the user wants them.
    pub(crate) fn new(quiet: bool) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        Self { all: visible.then(MultiProgress::new) }
    }

    /// A bar for one run.
    pub(crate) fn add(&self, name: &str) -> Bar {
        let Some(all) = &self.all else { return Bar { bar: ProgressBar::hidden() } };
        let bar = all.add(ProgressBar::new(1000));
        let style = ProgressStyle::with_template("{prefix:>12} {bar:40} {percent:>3}% {msg} eta {eta}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_prefix(name.to_owned());
        Bar { bar }
    }
}

/// The bar of one run.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// Shows how far the run has come.
    pub(crate) fn show(&self, now: Instant, done: PerMille) {
        self.bar.set_position(u64::from(done.get()));
        self.bar.set_message(format!("{now} simulated"));
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

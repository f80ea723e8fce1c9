//! A progress bar on a terminal, silence elsewhere.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use solo_lab::{Progress, Step};
use solo_model::text::counted;
use solo_model::{Instant, PerMille};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bars for runs that go on side by side, and notes on what begins.
pub(crate) struct Bars {
    all: Option<MultiProgress>,
    quiet: bool,
    /// By the name of the run.
    bars: Mutex<HashMap<String, ProgressBar>>,
}

impl Bars {
    /// Bars on standard error where that is a terminal and the user wants them.
    pub(crate) fn new(quiet: bool) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        Self { all: visible.then(MultiProgress::new), quiet, bars: Mutex::default() }
    }

    fn bars(&self) -> MutexGuard<'_, HashMap<String, ProgressBar>> {
        self.bars.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Bars {
    fn reached(&self, run: &str, now: Instant, share: PerMille) {
        let Some(all) = &self.all else { return };
        let mut bars = self.bars();
        if !bars.contains_key(run) {
            bars.insert(run.to_owned(), bar(all, run));
        }
        let bar = &bars[run];
        bar.set_position(u64::from(share.get()));
        bar.set_message(format!("{now} simulated"));
    }

    fn ended(&self, run: &str) {
        if let Some(bar) = self.bars().remove(run) {
            bar.finish_and_clear();
        }
    }

    fn step(&self, step: Step<'_>) {
        if self.quiet {
            return;
        }
        match step {
            Step::Threads { count } => eprintln!("running {} on this machine", counted(count, "thread")),
            Step::Boot { builds } => {
                let what = if builds { "building the image and booting it" } else { "booting the image" };
                eprintln!("note: {what} under QEMU; one instruction is one nanosecond there");
            }
            Step::Program => eprintln!("building the program and running it on this machine ..."),
            Step::PathLengths(policy) => eprintln!("measuring path lengths under {policy} ..."),
            Step::Paths(next) => eprintln!("measuring {next} ..."),
        }
    }
}

fn bar(all: &MultiProgress, run: &str) -> ProgressBar {
    let bar = all.add(ProgressBar::new(1000));
    let style = ProgressStyle::with_template("{prefix:>12} {bar:40} {percent:>3}% {msg} eta {eta}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_prefix(run.to_owned());
    bar
}

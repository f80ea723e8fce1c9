//! What every run is told of this process: who hears how far it is, who may stop it, where it comes from.

use crate::interrupt;
use crate::progress::Bars;
use solo_lab::{Cancel, Control, Origin};
use solo_scenario::Scenario;

/// Bars on the terminal, and Ctrl-C.
pub(crate) fn control(bars: &Bars) -> Control<'_> {
    Control { progress: bars, cancel: Cancel::from(interrupt::flag()) }
}

/// This command line, asked for now.
pub(crate) fn origin(scenario: &Scenario) -> Origin<'_> {
    Origin {
        path: &scenario.path,
        source: &scenario.source,
        command: command(),
        host: solo_lab::host(),
        commit: commit(),
        started: Some(jiff::Timestamp::now()),
    }
}

/// This command line, as text: a word that is none is told as well as text can.
pub(crate) fn command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The commit that this program was built from, where it was built in a checkout.
pub(crate) fn commit() -> Option<String> {
    option_env!("SOLO_COMMIT").map(str::to_owned)
}

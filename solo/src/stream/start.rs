//! Starting watches for a view, and waiting until it is clear that they run.

use super::feed::{Running, Said, Spec};
use super::remote::Remote;
use super::{Message, Refused};
use crate::cli::What;
use crate::exit::Exit;
use crate::interrupt;
use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// What threads are asked for where the user asks for nothing; the second where there are no counters.
const THREADS: [(&str, &[&str]); 2] = [
    (
        "task-clock,instructions,cycles,page-faults,context-switches",
        &["cpu_percent=task_clock/seconds/1e7", "ipc=instructions/cycles"],
    ),
    ("task-clock,page-faults,context-switches", &["cpu_percent=task_clock/seconds/1e7"]),
];
/// The same for cores, whose clocks always run.
const CORES: [(&str, &[&str]); 2] = [
    ("instructions,cycles,page-faults,context-switches", &["ipc=instructions/cycles"]),
    ("page-faults,context-switches", &[]),
];

/// A watch to be started: what is wanted, and what will do where that can't be counted.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// What it is called until it says so itself.
    pub(crate) label: String,
    first: Spec,
    second: Option<Spec>,
}

impl Wanted {
    /// `target` are the words that say whom to watch.
    pub(crate) fn new(
        label: &str,
        what: &What,
        every: &str,
        cores: bool,
        remote: Option<Remote>,
        target: &[OsString],
    ) -> Self {
        let spec = |(events, metrics): (&str, &[&str])| {
            let mut what = what.clone();
            what.every.get_or_insert_with(|| every.to_owned());
            if what.events.is_empty() {
                what.events.push(events.to_owned());
                what.metrics.extend(metrics.iter().map(|metric| (*metric).to_owned()));
            }
            let arguments = what.arguments().into_iter().chain(target.iter().cloned()).collect();
            Spec { remote: remote.clone(), arguments }
        };
        let [first, second] = if cores { CORES } else { THREADS };
        let second = what.events.is_empty().then(|| spec(second));
        Self { label: label.to_owned(), first: spec(first), second }
    }
}

/// Starts all and waits until each has begun or come to nothing, so that questions and errors of ssh stand on a
/// quiet terminal. What they say meanwhile goes to `hear`.
///
/// # Errors
/// The first one came to nothing; or the user lost patience.
pub(crate) fn start(
    wanted: &[Wanted],
    to: &SyncSender<(usize, Said)>,
    from: &Receiver<(usize, Said)>,
    hear: &mut dyn FnMut(usize, Said),
) -> Result<Vec<Running>, (Exit, String)> {
    let cannot = |error: std::io::Error| {
        (Exit::Cannot, format!("cannot start a watch: {}", solo_store::system_reason(&error)))
    };
    let mut running = Vec::new();
    for (i, wanted) in wanted.iter().enumerate() {
        running.push(wanted.first.start(i, to).map_err(cannot)?);
    }
    let mut open: Vec<bool> = wanted.iter().map(|_| true).collect();
    let mut seconds: Vec<Option<&Spec>> = wanted.iter().map(|wanted| wanted.second.as_ref()).collect();
    while open.contains(&true) {
        if interrupt::requested() {
            return Err((Exit::Interrupted, "interrupted".into()));
        }
        let (i, said) = match from.recv_timeout(Duration::from_millis(50)) {
            Ok(said) => said,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let failed = match &said {
            Said::Message(Message::Refused(Refused { exit, .. })) if *exit == Exit::Cannot.code() => {
                if let Some(second) = seconds.get_mut(i).and_then(Option::take) {
                    running[i] = second.start(i, to).map_err(cannot)?;
                    continue;
                }
                Some(Exit::Cannot)
            }
            Said::Message(Message::Refused(_)) => Some(Exit::BadInput),
            Said::Broken(_) => Some(Exit::Cannot),
            _ => None,
        };
        if let (
            0,
            Some(exit),
            Said::Message(Message::Refused(Refused { message: why, .. })) | Said::Broken(why),
        ) = (i, failed, &said)
        {
            return Err((exit, why.clone()));
        }
        if failed.is_some() || matches!(said, Said::Message(Message::Begin(_))) {
            open[i] = false;
        }
        hear(i, said);
    }
    Ok(running)
}

//! `solo top`: a live view on a terminal.

use crate::cli::TopArgs;
use crate::exit::{Exit, Failure};
use crate::rights;
use crate::stream::feed::{QUEUE, end};
use crate::stream::recording::Recording;
use crate::stream::start::{Wanted, start};
use crate::top::state::State;
use crate::top::terminal;
use crate::top::track::Track;
use crate::top::view::View;
use solo_model::Duration;
use solo_model::text::Printable;
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::sync_channel;

/// Frames of the past that can be looked at again.
const FRAMES: usize = 600;
/// A recording is shown in this many frames at most.
const FRAMES_RECORDED: u64 = 2000;

/// Runs `solo top`: the program's own status; 2 bad input, 3 this machine cannot.
pub(crate) fn run(args: &TopArgs) -> Result<Exit, Failure> {
    attempt(args).map(Exit::of_program).map_err(Failure::watch)
}

fn attempt(args: &TopArgs) -> Result<u8, (Exit, String)> {
    let recorded = match &args.recording {
        Some(folder) => Some(open(folder).map_err(|message| (Exit::BadInput, message))?),
        None => None,
    };
    if !terminal::present() {
        let instead = match (&args.recording, args.command.is_empty() && args.pid.is_none()) {
            (Some(folder), _) => format!("{} holds the rows", Printable(folder.join("rows.jsonl").display())),
            (None, true) => "without one: solo watch --all, or solo serve".to_owned(),
            (None, false) => "without one: solo watch, or solo serve".to_owned(),
        };
        return Err((
            Exit::Cannot,
            format!("solo top draws on a terminal, and there is none here; {instead}"),
        ));
    }
    match recorded {
        Some(mut state) => {
            terminal::run(&mut state, None).map_err(terminal_gone)?;
            match state.failed() {
                Some(why) => Err((Exit::BadInput, why.to_owned())),
                None => Ok(Exit::Held.code()),
            }
        }
        None => live(args),
    }
}

fn terminal_gone(error: std::io::Error) -> (Exit, String) {
    (Exit::Cannot, format!("cannot use the terminal: {}", solo_store::system_reason(&error)))
}

/// A whole recording as the past.
fn open(folder: &Path) -> Result<State, String> {
    let recording = Recording::open(folder)?;
    let frame = recording.elapsed() / FRAMES_RECORDED;
    let mut track = Track::new(folder.to_string_lossy(), 2 * FRAMES_RECORDED as usize, Duration::new(frame));
    recording.read(&mut |said| track.take(said))?;
    let view = match track.begin.as_ref().map(|begin| begin.per.as_str()) {
        Some("core") => View::Cores,
        Some("process") => View::Processes,
        _ => View::Threads,
    };
    Ok(State::new(vec![track], view, true))
}

fn live(args: &TopArgs) -> Result<u8, (Exit, String)> {
    let whole = args.pid.is_none() && args.command.is_empty();
    let mut target: Vec<OsString> = Vec::new();
    match args.pid {
        Some(pid) => target.push(format!("--pid={pid}").into()),
        None if whole => target.extend(["--all", "--per=thread"].map(OsString::from)),
        None => {
            target.push("--".into());
            target.extend(args.command.iter().cloned());
        }
    }
    let wanted = |label, cores, target: &[OsString]| {
        Wanted::new(label, &args.what, "1s", cores, args.place.remote(), target)
    };
    let wanted = [wanted("threads", false, &target), wanted("cores", true, &["--all".into()])];
    let tracks =
        wanted.iter().map(|wanted| Track::new(wanted.label.clone(), FRAMES, Duration::ZERO)).collect();
    let mut state = State::new(tracks, if whole { View::Processes } else { View::Threads }, false);
    rights::give_up();
    let (to, from) = sync_channel(QUEUE);
    let running = start(&wanted, &to, &from, &mut |source, said| state.take(source, said))?;
    let shown = terminal::run(&mut state, Some(&from)).map_err(terminal_gone);
    drop(to);
    end(running, from);
    shown?;
    if let Some(why) = state.failed() {
        return Err((Exit::BadInput, why.to_owned()));
    }
    let end = state.tracks.first().and_then(|track| track.end.as_ref());
    Ok(end
        .filter(|end| end.ended_by() == "end of the program")
        .and_then(|end| end.exit_status())
        .unwrap_or(0))
}

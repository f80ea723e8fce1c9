//! `solo serve`: watches on a web page of this machine.

use crate::cli::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::serve::{Hub, Server, Token};
use crate::service::Service;
use crate::stream::feed::{QUEUE, Said, end};
use crate::stream::recording::Recording;
use crate::stream::start::{Wanted, start};
use crate::top::track::Track;
use crate::{interrupt, output, rights};
use solo_model::Duration;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

/// Frames that are kept of each watch.
const FRAMES: usize = 2400;
/// The shortest frame.
const FRAME: Duration = Duration::from_millis(250);

/// Runs `solo serve`: 2 bad input, 3 this machine cannot, 130 interrupted while something was still watched.
pub(crate) fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    attempt(args).map_err(Failure::watch)
}

fn attempt(args: &ServeArgs) -> Result<Exit, (Exit, String)> {
    let wanted = wanted(args);
    let mut tracks: Vec<Track> =
        wanted.iter().map(|wanted| Track::new(wanted.label.clone(), FRAMES, FRAME)).collect();
    for folder in &args.recordings {
        tracks.push(recorded(folder).map_err(|message| (Exit::BadInput, message))?);
    }
    let hub = Arc::new(Hub::new(tracks));
    // The address first: who can't listen need not start anything.
    let cannot = |what: &str, error: std::io::Error| {
        (Exit::BadInput, format!("cannot {what}: {}", solo_store::system_reason(&error)))
    };
    let token = match &args.token_file {
        Some(file) => Token::kept(file).map_err(|error| (Exit::BadInput, error.to_string()))?,
        None => Token::new().map_err(|error| cannot("make a token", error))?,
    };
    let server = Server::bind(args.listen, Arc::clone(&hub), token)
        .map_err(|error| cannot(&format!("listen at {} (another with --listen)", args.listen), error))?;
    let url = server.url().map_err(|error| cannot("listen", error))?;
    if !args.listen.ip().is_loopback() {
        eprintln!(
            "note: {} is no loopback address: rows and token cross the network unencrypted",
            args.listen.ip()
        );
    }
    rights::give_up();
    // Whoever answers has no rights either, and there is none who watches where nobody can answer.
    server.start().map_err(|error| {
        (Exit::Cannot, format!("cannot answer requests: {}", solo_store::system_reason(&error)))
    })?;
    let (to, from) = sync_channel(QUEUE);
    let running = start(&wanted, &to, &from, &mut |source, said| hub.take(source, said))?;
    drop(to);
    let printed = output::text(&format!("{url}\n"));
    printed.map_err(|failure| (Exit::BadInput, failure.to_string()))?;
    let mut service = Service::ready(false);
    loop {
        service.alive();
        match from.recv_timeout(std::time::Duration::from_millis(50)) {
            Ok((source, said)) => {
                if let Said::Line(line) = &said {
                    // Whether anybody reads it or not.
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
                hub.take(source, said);
            }
            Err(RecvTimeoutError::Timeout) => {}
            // Recordings alone, or all watches over: the page stays.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(std::time::Duration::from_millis(50)),
        }
        if interrupt::requested() {
            break;
        }
    }
    let over = hub.over();
    end(running, from);
    Ok(if over { Exit::Held } else { Exit::Interrupted })
}

/// One watch for each program and process; the whole machine where there is none.
fn wanted(args: &ServeArgs) -> Vec<Wanted> {
    let watch = |label: &str, cores, target: &[OsString]| {
        Wanted::new(label, &args.what, "500ms", cores, args.place.remote(), target)
    };
    let mut wanted: Vec<Wanted> = Vec::new();
    if !args.command.is_empty() {
        let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
        let target: Vec<OsString> =
            std::iter::once("--".into()).chain(args.command.iter().cloned()).collect();
        wanted.push(watch(&words.join(" "), false, &target));
    }
    for program in &args.programs {
        wanted.push(watch(program, false, &["--", "sh", "-c", program].map(OsString::from)));
    }
    for pid in &args.pids {
        wanted.push(watch(&format!("process {pid}"), false, &[format!("--pid={pid}").into()]));
    }
    if wanted.is_empty() && args.recordings.is_empty() {
        wanted.push(watch("threads", false, &["--all", "--per=thread"].map(OsString::from)));
        wanted.push(watch("cores", true, &["--all".into()]));
    }
    wanted
}

fn recorded(folder: &std::path::Path) -> Result<Track, String> {
    let recording = Recording::open(folder)?;
    let frame = Duration::new(recording.elapsed() / (FRAMES as u64 / 2));
    let name = folder.file_name().map_or_else(|| folder.to_string_lossy(), |name| name.to_string_lossy());
    let mut track = Track::new(name, FRAMES, frame);
    recording.read(&mut |said| track.take(said))?;
    Ok(track)
}

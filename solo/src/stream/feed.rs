//! Watches as processes of their own, here or on another machine, and what they say.
//!
//! A watch of its own process follows its program undisturbed by a terminal or a web page, and one over ssh is no
//! other case. Closing its standard input ends it.

use super::remote::Remote;
use super::{Begin, Message, SCHEMA, check, lines};
use rustix::process::{Pid, Signal, kill_process_group};
use solo_model::text::Printable;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

/// Messages that wait at most; a watch that is read too slowly waits, and its kernel rings count what is lost.
pub(crate) const QUEUE: usize = 4096;
/// A line longer than this is none of ours: a row of a thousand columns takes a tenth of it.
const LINE_MAX: u64 = 1 << 20;
/// How long a watch may take to end once it is told to. It waits two seconds for its program and two more for the kernel.
const PATIENCE: Duration = Duration::from_secs(10);

/// What came from a watch.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are messages")]
pub(crate) enum Said {
    /// A message.
    Message(Message),
    /// A line of the program's output, or of the watch's or of ssh's own.
    Line(String),
    /// The stream broke off: why, and what to do.
    Broken(String),
}

/// What to start.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// Where; here without.
    pub(crate) remote: Option<Remote>,
    /// The words after `solo watch --format stream`.
    pub(crate) arguments: Vec<OsString>,
}

/// A watch that runs.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Spec {
    fn command(&self) -> io::Result<Command> {
        let mut words: Vec<OsString> = ["watch", "--format", "stream"].map(OsString::from).into();
        words.extend(self.arguments.iter().cloned());
        Ok(match &self.remote {
            Some(remote) => remote.command(&words),
            None => {
                let mut command = Command::new(crate::itself::path()?);
                // Ctrl-C is for the reader, who then ends the watch in an orderly way.
                command.args(words).process_group(0);
                command
            }
        })
    }

    /// Starts the watch; what it says goes to `to` with the number `source`.
    ///
    /// # Errors
    /// When the process can't be started.
    pub(crate) fn start(&self, source: usize, to: &SyncSender<(usize, Said)>) -> io::Result<Running> {
        let mut command = self.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // From here on dropping it ends the watch.
        let running = Running { child, stdin };
        let lines = to.clone();
        let talk = thread("what a watch prints").spawn(move || {
            let mut last = String::new();
            if let Some(err) = err {
                lines::each(err, &mut |line| {
                    last.clone_from(&line);
                    lines.send((source, Said::Line(line))).is_ok()
                });
            }
            last
        })?;
        let (to, remote) = (to.clone(), self.remote.clone());
        thread("what a watch says").spawn(move || {
            let end = out.map_or(Stream::Cut, |out| {
                read(out, &mut |message| to.send((source, Said::Message(message))).is_ok())
            });
            // The last line of standard error says more than the end of the stream.
            let last = talk.join().unwrap_or_default();
            if let Some(broken) = end.broken(remote.as_ref(), &last) {
                let _ = to.send((source, Said::Broken(broken)));
            }
        })?;
        Ok(running)
    }
}

fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_owned())
}

impl Running {
    /// Tells the watch to end, and waits for it. Nobody must be waiting to be heard.
    pub(crate) fn stop(&mut self) {
        drop(self.stdin.take());
        let deadline = Instant::now() + PATIENCE;
        while let Ok(None) = self.child.try_wait() {
            if Instant::now() > deadline {
                // Here it leads a group, in which its program is, too.
                if let Some(group) = Pid::from_raw(self.child.id() as i32) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Tells the watch to end; its last messages still come.
    pub(crate) fn ask_to_end(&mut self) {
        drop(self.stdin.take());
    }
}

/// Ends all watches in an orderly way: they are told so, and heard until they have said their last word. The sender
/// that they were started with must be gone.
pub(crate) fn end(mut all: Vec<Running>, from: Receiver<(usize, Said)>) {
    all.iter_mut().for_each(Running::ask_to_end);
    let deadline = Instant::now() + PATIENCE;
    while let Ok(_said) = from.recv_timeout(deadline.saturating_duration_since(Instant::now())) {}
    drop(from);
    drop(all);
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How a stream ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Stream {
    /// As it should, or nobody listens any more.
    Whole,
    /// Without a word.
    Cut,
    /// With a first line that is no stream of this schema.
    Foreign(String),
    /// With a line that is no message.
    Garbled(String),
}

impl Stream {
    fn broken(&self, remote: Option<&Remote>, last: &str) -> Option<String> {
        let here = remote.map_or_else(|| "the watch".to_owned(), |remote| format!("solo on {}", remote.host));
        match self {
            Self::Whole => None,
            Self::Foreign(found) => Some(format!(
                "{here} does not speak {SCHEMA}: expected its header, found `{found}`; install the same version ({}) on both machines",
                env!("CARGO_PKG_VERSION")
            )),
            Self::Garbled(found) => Some(format!("{here} sent a line that is no message: `{found}`")),
            Self::Cut => Some(match remote {
                Some(remote) => remote.explain(last),
                None => format!("the watch ended without a word: {last}"),
            }),
        }
    }
}

/// Reads a stream to its end. What is given has been checked.
pub(super) fn read(from: impl Read, give: &mut dyn FnMut(Message) -> bool) -> Stream {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    let mut begun: Option<Begin> = None;
    loop {
        line.clear();
        match reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return Stream::Cut,
            Ok(_) if line.last() == Some(&b'\n') => {}
            Ok(_) if line.len() as u64 == LINE_MAX => return Stream::Garbled(short(&line)),
            Ok(_) => return Stream::Cut,
        }
        let message = match (serde_json::from_slice::<Message>(&line), &begun) {
            (Ok(Message::Begin(begin)), None) if begin.schema != SCHEMA => {
                return Stream::Foreign(short(
                    format!("{} of version {}", begin.schema, begin.version).as_bytes(),
                ));
            }
            (Ok(Message::Begin(begin)), None) => begin.checked().map(Message::Begin),
            (Ok(refused @ Message::Refused(_)), None) => Ok(check::refusal(refused)),
            (Ok(message), Some(begin)) => check::message(message, begin),
            (_, None) => return Stream::Foreign(short(&line)),
            (Err(_), Some(_)) => return Stream::Garbled(short(&line)),
        };
        let message = match message {
            Ok(message) => message,
            Err(fault) => return Stream::Garbled(format!("{} ({fault})", short(&line))),
        };
        if let Message::Begin(begin) = &message {
            begun = Some(begin.clone());
        }
        let last = matches!(message, Message::End(_) | Message::Refused(_));
        if !give(message) || last {
            return Stream::Whole;
        }
    }
}

/// The beginning of a line as it may be shown.
fn short(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim();
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", Printable(&line[..end])),
        None => Printable(line).to_string(),
    }
}

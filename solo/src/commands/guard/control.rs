//! The socket at which a guard takes other budgets.
//!
//! It lies in the guard's folder, which is its owner's alone. A request is a line, `WHO EVENTS`; the answer is a line, `ok` or
//! why not. Nobody is waited for: whose words come slowly is heard when they have come, and given up after a twentieth of a second; however many say
//! nothing, the next one who does is answered at once.

use super::who::Who;
use crate::exit::Failure;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The socket's name in its folder.
const SOCKET: &str = "guard.socket";
/// A request's length at most, and an answer's, in bytes: names of all groups that are held are in an answer.
const LONGEST: usize = 64 * 1024;
/// How long somebody's words may take to come.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long somebody may take to make room for an answer.
const ROOM: Duration = Duration::from_millis(10);
/// So many who say nothing yet are remembered, and as many new ones are heard at a time.
const MOST: usize = 256;
/// How long who asks waits for an answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The guard's side.
pub(super) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// Who has not said a whole line yet, the oldest first.
    waiting: RefCell<VecDeque<Caller>>,
}

/// Somebody who has connected.
struct Caller {
    stream: UnixStream,
    said: Vec<u8>,
    until: Instant,
}

impl Listener {
    /// Takes the socket of a folder whose journal this process holds: an earlier guard's is gone.
    pub(super) fn bind(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(SOCKET);
        let failed = |source| Failure::File { action: "listen at", path: path.clone(), source };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let socket = UnixListener::bind(&path).map_err(failed)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(Self { socket, path, waiting: RefCell::default() })
    }

    /// Answers whoever has asked.
    pub(super) fn attend(&self, allow: &mut dyn FnMut(Who, u64) -> Result<(), String>) {
        let (now, mut waiting) = (Instant::now(), self.waiting.borrow_mut());
        for _ in 0..MOST {
            let Ok((stream, _)) = self.socket.accept() else { break };
            if stream.set_nonblocking(true).is_ok() {
                waiting.push_back(Caller { stream, said: Vec::new(), until: now + PATIENCE });
            }
        }
        waiting.retain_mut(|caller| match caller.line() {
            // Not yet.
            Ok(None) => now < caller.until,
            // Who hangs up, or says too much, gets no answer and is no matter.
            Err(_) => false,
            Ok(Some(line)) => {
                let _ = caller.answer(&line, allow);
                false
            }
        });
        let beyond = waiting.len().saturating_sub(MOST);
        waiting.drain(..beyond);
    }
}

impl Caller {
    /// The line, once all of it is there: half a number is another one.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = [0; 4096];
        loop {
            let read = match self.stream.read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                read => read?,
            };
            if let Some(line) = whole(&mut self.said, &bytes[..read])? {
                return Ok(Some(line));
            }
        }
    }

    fn answer(
        &mut self,
        line: &str,
        allow: &mut dyn FnMut(Who, u64) -> Result<(), String>,
    ) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(ROOM))?;
        let answer = match understood(line) {
            Some((who, events)) => allow(who, events),
            None => Err("expected whose budget it is and the events".to_owned()),
        };
        let text = answer.map_or_else(|why| format!("{why}\n"), |()| "ok\n".to_owned());
        self.stream.write_all(text.as_bytes())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The line that ends in what came now, behind what was said before; nothing where it has no end yet.
fn whole(said: &mut Vec<u8>, came: &[u8]) -> io::Result<Option<String>> {
    let ended = came.iter().position(|&byte| byte == b'\n');
    said.extend_from_slice(&came[..ended.unwrap_or(came.len())]);
    if said.len() > LONGEST {
        return Err(io::Error::other("a line without an end"));
    }
    if ended.is_some() {
        let line = String::from_utf8(std::mem::take(said));
        return line.map(Some).map_err(|_| io::Error::other("a line that is no text"));
    }
    if came.is_empty() {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "it hung up"));
    }
    Ok(None)
}

/// One whole line. It is there within `patience`, or is not waited for.
fn line(stream: &mut UnixStream, patience: Duration) -> io::Result<String> {
    let end = Instant::now() + patience;
    let (mut text, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        stream.set_read_timeout(Some(left))?;
        let read = match stream.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(late()),
            read => read?,
        };
        if let Some(line) = whole(&mut text, &bytes[..read])? {
            return Ok(line);
        }
    }
}

fn late() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, "not all of the line came in time")
}

fn understood(line: &str) -> Option<(Who, u64)> {
    let (who, events) = line.rsplit_once(' ')?;
    Some((Who::parse(who)?, events.parse().ok()?))
}

/// Why a guard does not give somebody another budget.
pub(super) enum Refusal {
    /// It says why.
    Refused(String),
    /// There is none, or it does not answer.
    Nobody(io::Error),
}

/// Asks the guard of a folder for another budget.
pub(super) fn ask(folder: &Path, who: &Who, events: u64) -> Result<(), Refusal> {
    let answer = || {
        let mut stream = UnixStream::connect(folder.join(SOCKET))?;
        stream.set_write_timeout(Some(ANSWER))?;
        stream.write_all(format!("{who} {events}\n").as_bytes())?;
        line(&mut stream, ANSWER)
    };
    match answer() {
        Ok(answer) if answer == "ok" => Ok(()),
        Ok(why) => Err(Refusal::Refused(why)),
        Err(error) if error.kind() == ErrorKind::TimedOut => {
            Err(Refusal::Nobody(io::Error::other(format!("nothing came within {} s", ANSWER.as_secs()))))
        }
        Err(error) => Err(Refusal::Nobody(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::who::Member;
    use super::*;
    use solo_model::CoreId;

    #[test]
    fn who_is_slow_or_rude_gets_nothing_and_the_next_one_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let listener = Listener::bind(folder.path()).unwrap();
        let mode = std::fs::metadata(folder.path().join(SOCKET)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        let mut allowed = Vec::new();
        let mut allow = |who: Who, events| match who {
            Who::Cpu(CoreId(0)) => Err("core0 has no budget".to_owned()),
            who => {
                allowed.push((who.to_string(), events));
                Ok(())
            }
        };
        let mut said = Vec::new();
        for words in [
            "",
            "1",
            "1 2",
            "1 2 3\n",
            "/../x 3\n",
            "1 -3\n",
            "70000 3\n",
            "\0\n",
            &"9".repeat(90_000),
            "/gr\u{f6}\u{df}e 7\n",
            "0 5\n",
            "1 20\n",
            "/a b/c 7\n",
        ] {
            let mut stream = UnixStream::connect(folder.path().join(SOCKET)).unwrap();
            let _ = stream.write_all(words.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            listener.attend(&mut allow);
            stream.set_read_timeout(Some(ANSWER)).unwrap();
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            said.push(answer);
        }
        let strange = "expected whose budget it is and the events\n";
        assert_eq!(
            said,
            [
                "",
                "",
                "",
                strange,
                strange,
                strange,
                strange,
                strange,
                "",
                "ok\n",
                "core0 has no budget\n",
                "ok\n",
                "ok\n"
            ]
        );
        let expected = [("/gr\u{f6}\u{df}e", 7), ("1", 20), ("/a b/c", 7)];
        assert_eq!(allowed, expected.map(|(who, events)| (who.to_owned(), events)));
    }

    #[test]
    fn who_says_a_letter_now_and_then_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let listener = Listener::bind(folder.path()).unwrap();
        let mut slow = UnixStream::connect(folder.path().join(SOCKET)).unwrap();
        let talker = std::thread::spawn(move || {
            let mut said = 0;
            while said < 400 && slow.write_all(b"9").is_ok() {
                said += 1;
                std::thread::sleep(PATIENCE / 10);
            }
            said
        });
        while !talker.is_finished() {
            listener.attend(&mut |_, _| Ok(()));
            std::thread::sleep(PATIENCE / 20);
        }
        assert!(talker.join().unwrap() < 400, "it was heard to its end");
    }

    /// A line in two pieces is a line, and thousands who say nothing keep nobody from an answer.
    #[test]
    fn who_says_nothing_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let listener = Listener::bind(folder.path()).unwrap();
        let path = folder.path().join(SOCKET);
        let silent: Vec<UnixStream> = (0..100).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let mut halting = UnixStream::connect(&path).unwrap();
        halting.write_all(b"1 2").unwrap();
        let mut allowed = Vec::new();
        listener.attend(&mut |_, events| {
            allowed.push(events);
            Ok(())
        });
        halting.write_all(b"3\n").unwrap();
        listener.attend(&mut |_, events| {
            allowed.push(events);
            Ok(())
        });
        assert_eq!(allowed, [23]);
        drop(silent);
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| {
                let silent: Vec<_> = (0..3000).map_while(|_| UnixStream::connect(&path).ok()).collect();
                let began = Instant::now();
                let answer = ask(folder.path(), &Who::Cpu(CoreId(1)), 5);
                (silent.len(), began.elapsed(), answer.is_ok())
            });
            while !asks.is_finished() {
                listener.attend(&mut |_, _| Ok(()));
                std::thread::sleep(PATIENCE / 10);
            }
            let (silent, took, answered) = asks.join().unwrap();
            assert!(answered, "{silent} silent ones, {took:?}");
        });
    }

    #[test]
    fn an_answer_that_names_many_groups_is_heard() {
        let folder = tempfile::tempdir().unwrap();
        let listener = Listener::bind(folder.path()).unwrap();
        let why = "/a.slice/b.service, ".repeat(100);
        std::thread::scope(|scope| {
            let asks = scope.spawn(|| ask(folder.path(), &Who::Cpu(CoreId(1)), 5));
            while !asks.is_finished() {
                listener.attend(&mut |_, _| Err(why.clone()));
            }
            assert!(matches!(asks.join().unwrap(), Err(Refusal::Refused(said)) if said == why));
        });
    }

    #[test]
    fn nobody_is_told_as_such() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(ask(folder.path(), &Who::Group(Member::Program), 5), Err(Refusal::Nobody(_))));
    }
}

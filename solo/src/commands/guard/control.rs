//! The socket at which a guard takes other budgets.
//!
//! It lies in the guard's folder, which is its owner's alone. A request is a line, `WHO EVENTS`; the answer is a line, `ok` or
//! why not. Who is slow is not waited for: occupiers go on meanwhile, and the next request comes after a hundredth of a second,
//! however slowly words come.

use super::who::Who;
use crate::exit::Failure;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The socket's name in its folder.
const SOCKET: &str = "guard.socket";
/// A request's length at most, and an answer's, in bytes: names of all groups that are held are in an answer.
const LONGEST: usize = 64 * 1024;
/// How long to wait for all of somebody's words.
const PATIENCE: Duration = Duration::from_millis(10);
/// How long who asks waits for an answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The guard's side.
pub(super) struct Listener {
    socket: UnixListener,
    path: PathBuf,
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
        Ok(Self { socket, path })
    }

    /// Answers one who asks, where there is one.
    pub(super) fn attend(&self, allow: &mut dyn FnMut(Who, u64) -> Result<(), String>) {
        // Who hangs up, or says too much, or nothing, gets no answer and is no matter.
        let _ = self.answer_one(allow);
    }

    fn answer_one(&self, allow: &mut dyn FnMut(Who, u64) -> Result<(), String>) -> io::Result<()> {
        let (mut stream, _) = self.socket.accept()?;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let answer = match understood(&line(&mut stream, PATIENCE)?) {
            Some((who, events)) => allow(who, events),
            None => Err("expected whose budget it is and the events".to_owned()),
        };
        let text = answer.map_or_else(|why| format!("{why}\n"), |()| "ok\n".to_owned());
        stream.write_all(text.as_bytes())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// One whole line: half a number is another one. It is there within `patience`, or is not waited for.
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
        let came = &bytes[..read];
        let ended = came.iter().position(|&byte| byte == b'\n');
        text.extend_from_slice(&came[..ended.unwrap_or(read)]);
        if text.len() > LONGEST {
            return Err(io::Error::other("a line without an end"));
        }
        if ended.is_some() {
            return String::from_utf8(text).map_err(|_| io::Error::other("a line that is no text"));
        }
        if read == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "it hung up"));
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
                std::thread::sleep(PATIENCE / 4);
            }
            said
        });
        listener.attend(&mut |_, _| Ok(()));
        assert!(talker.join().unwrap() < 400, "it was heard to its end");
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

//! The socket at which a guard takes other budgets.
//!
//! It lies in the guard's folder, which is its owner's alone. A request is a line, `WHO EVENTS`; the answer is a line, `ok` or
//! why not. Who is slow is not waited for: occupiers go on meanwhile, and the next request comes after a hundredth of a second.

use super::who::Who;
use crate::exit::Failure;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The socket's name in its folder.
const SOCKET: &str = "guard.socket";
/// A request's length at most, and an answer's.
const LONGEST: u64 = 512;
/// How long to wait for somebody's words.
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
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let answer = match understood(&line(&mut stream)?) {
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

/// One line, as far as it comes in one piece.
fn line(stream: &mut UnixStream) -> io::Result<String> {
    let mut text = String::new();
    let mut bytes = [0];
    while stream.read(&mut bytes)? == 1 && bytes != [b'\n'] {
        if text.len() as u64 >= LONGEST {
            return Err(io::Error::other("a line without an end"));
        }
        text.push(char::from(bytes[0]));
    }
    Ok(text)
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
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(format!("{who} {events}\n").as_bytes())?;
        line(&mut stream)
    };
    match answer() {
        Ok(answer) if answer == "ok" => Ok(()),
        Ok(answer) if answer.is_empty() => Err(Refusal::Nobody(io::Error::other("it hung up"))),
        Ok(why) => Err(Refusal::Refused(why)),
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
            "1 2 3\n",
            "/../x 3\n",
            "1 -3\n",
            "70000 3\n",
            "\0\n",
            &"9".repeat(9000),
            "0 5\n",
            "1 20\n",
            "/a b/c 7\n",
        ] {
            let mut stream = UnixStream::connect(folder.path().join(SOCKET)).unwrap();
            let _ = stream.write_all(words.as_bytes());
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
                strange,
                strange,
                strange,
                strange,
                strange,
                "",
                "core0 has no budget\n",
                "ok\n",
                "ok\n"
            ]
        );
        assert_eq!(allowed, [("1".to_owned(), 20), ("/a b/c".to_owned(), 7)]);
    }

    #[test]
    fn nobody_is_told_as_such() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(ask(folder.path(), &Who::Group(Member::Program), 5), Err(Refusal::Nobody(_))));
    }
}

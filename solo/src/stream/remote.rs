//! The watch on another machine, over plain ssh.

use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Where to watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Remote {
    /// `user@host`, or what the user's ssh configuration calls it.
    pub(crate) host: String,
    /// The program on that machine.
    pub(crate) program: String,
}

impl Remote {
    /// The ssh command. The words are quoted, for ssh hands them to the far shell as one text.
    pub(crate) fn command(&self, words: &[OsString]) -> Command {
        let mut text = quoted(OsStr::new(&self.program));
        for word in words {
            text.push(" ");
            text.push(quoted(word));
        }
        // ssh leaves an ignored Ctrl-C ignored: it is for the reader, who then ends the watch in an orderly way.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' INT; exec ssh -T -- \"$0\" \"$1\"", &self.host]).arg(text);
        command
    }

    /// Why the stream ended before it began, from the last words.
    pub(super) fn explain(&self, last: &str) -> String {
        let host = &self.host;
        let has = |words: &[&str]| words.iter().any(|word| last.contains(word));
        let what = if has(&["not found", "No such file"]) && !last.contains("ssh:") {
            format!(
                "there is no `{}` on {host}: install solo there, or say where it is with --remote-program",
                self.program
            )
        } else if has(&["Host key verification failed", "HOST IDENTIFICATION HAS CHANGED"]) {
            format!(
                "ssh does not trust the host key of {host}: connect once by hand (ssh {host}) and compare it"
            )
        } else if last.contains("Permission denied") {
            format!("{host} lets nobody in with these keys: try `ssh {host} true`")
        } else if has(&["invalid value 'stream'", "unrecognized subcommand"]) {
            format!(
                "solo on {host} is too old for --remote: install the same version ({}) on both machines",
                env!("CARGO_PKG_VERSION")
            )
        } else if has(&["Could not resolve", "Connection refused", "timed out", "No route"]) {
            format!("{host} can't be reached")
        } else if last.is_empty() {
            format!("the connection to {host} ended")
        } else {
            format!("the watch on {host} ended without a summary")
        };
        if last.is_empty() { what } else { format!("{what}; it said: {last}") }
    }
}

/// As one word of a POSIX shell.
fn quoted(word: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut text = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => text.extend(b"'\\''"),
            other => text.push(*other),
        }
    }
    text.push(b'\'');
    OsString::from_vec(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_arrives_as_it_was() {
        for word in ["plain", "two words", "it's", "$HOME `id` \"x\" \\", "", "*\n;"] {
            let script = format!("printf %s {}", quoted(OsStr::new(word)).to_string_lossy());
            let said = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), word);
        }
    }

    #[test]
    fn each_way_to_fail_says_what_to_do() {
        let remote = Remote { host: "ann@box".into(), program: "solo".into() };
        for (last, part) in [
            ("bash: line 1: solo: command not found", "install solo there"),
            ("sh: 1: solo: not found", "--remote-program"),
            ("Host key verification failed.", "host key"),
            ("ann@box: Permission denied (publickey).", "ssh ann@box true"),
            ("error: invalid value 'stream' for '--format <FORMAT>'", "same version"),
            ("ssh: Could not resolve hostname box: Name or service not known", "can't be reached"),
            ("", "ended"),
        ] {
            let said = remote.explain(last);
            assert!(said.contains(part) && said.contains(last), "{last}: {said}");
        }
    }
}

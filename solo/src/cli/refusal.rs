//! What the parser of the command line says of words that it refuses, fit for a terminal.
//!
//! Words come from scripts and from names of files: they may hold what acts on a terminal. The parser quotes them as they are.

use crate::exit::{Exit, Failure};
use crate::output;
use clap::{Error, Parser};
use solo_model::text::Printable;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};

/// The command line of this process; ends it with the parser's words where there is something to say instead.
pub(crate) fn read<C: Parser>() -> C {
    let words: Vec<OsString> = std::env::args_os().collect();
    C::try_parse_from(&words).unwrap_or_else(|error| end(&visible::<C>(error, &words)))
}

/// Says what the parser says, and ends the process. Help that can't be written was not given; a reader that has gone away has read enough.
fn end(said: &Error) -> ! {
    let written = said.print().and_then(|()| std::io::stdout().flush());
    let code = match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !said.use_stderr() => {
            output::message(format_args!("error: {}\n", Failure::Output(error)));
            Exit::BadInput.code().into()
        }
        _ => said.exit_code(),
    };
    std::process::exit(code)
}

/// The same error, of words with their hidden characters written out.
fn visible<C: Parser>(error: Error, words: &[OsString]) -> Error {
    let shown: Vec<String> = words.iter().map(|word| Printable(word.to_string_lossy()).to_string()).collect();
    if shown.iter().zip(words).all(|(shown, word)| word == shown.as_str()) {
        return error;
    }
    // What quotes, suggests and explains these words can quote nothing else.
    match C::try_parse_from(&shown) {
        Err(again) if again.kind() == error.kind() => again,
        _ => {
            let text = error.render().to_string();
            let lines: Vec<String> =
                text.trim_start_matches("error: ").lines().map(|line| Printable(line).to_string()).collect();
            Error::raw(error.kind(), lines.join("\n") + "\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{Command, CommandFactory};
    use solo_model::text::is_hidden;
    use std::os::unix::ffi::OsStringExt;

    /// Colors that no style of the parser has, a title, text turned around, a line of its own.
    const HOSTILE: &str = "x\u{1b}[35;7m\u{1b}]0;title\u{7}\u{202e}\u{9b}2J\r\nerror: forged";

    fn text(bytes: &[u8]) -> OsString {
        OsString::from_vec(bytes.to_vec())
    }

    /// Each command with the words that lead to it.
    fn commands(command: &Command, words: &[OsString], found: &mut Vec<(Vec<OsString>, Command)>) {
        found.push((words.to_vec(), command.clone()));
        for below in command.get_subcommands() {
            commands(below, &[words, &[below.get_name().into()]].concat(), found);
        }
    }

    /// All that a stranger can put where an option, its value, a word or a command is expected.
    fn attempts(command: &Command) -> Vec<Vec<OsString>> {
        let mut hostile = HOSTILE.as_bytes().to_vec();
        hostile.push(0xff);
        let values: [OsString; 2] = [HOSTILE.into(), text(&hostile)];
        let mut found = Vec::new();
        for value in &values {
            let with = |prefix: &str| {
                let mut word = OsString::from(prefix);
                word.push(value);
                word
            };
            found.extend([vec![value.clone()], vec![with("--")], vec![with("-")], vec![value.clone(); 9]]);
            for argument in command.get_arguments() {
                if let Some(long) = argument.get_long() {
                    found.push(vec![format!("--{long}").into(), value.clone()]);
                    found.push(vec![with(&format!("--{long}="))]);
                    found.push(vec![with(&format!("--{long}"))]);
                }
                if let Some(short) = argument.get_short() {
                    found.push(vec![with(&format!("-{short}"))]);
                }
            }
        }
        found
    }

    /// What the parser says of these words, colored and plain; `None` where it takes them.
    fn said(words: &[OsString]) -> Option<(Error, [String; 2])> {
        let error = visible::<Cli>(Cli::try_parse_from(words).err()?, words);
        let rendered = error.render();
        Some((error, [rendered.ansi().to_string(), rendered.to_string()]))
    }

    #[test]
    fn no_word_reaches_a_terminal_as_it_is() {
        let mut all = Vec::new();
        let mut root = Cli::command();
        root.build();
        commands(&root, &["solo".into()], &mut all);
        let mut refused = 0;
        for (words, command) in &all {
            for attempt in attempts(command) {
                let words = [words.clone(), attempt].concat();
                let Some((error, [colored, plain])) = said(&words) else { continue };
                refused += 1;
                if error.use_stderr() {
                    assert_eq!(error.exit_code(), 2, "{words:?}");
                }
                for part in ["\u{1b}[35", "\u{1b}]", "\u{7}", "\u{202e}", "\u{9b}", "\r", "\nerror: forged"] {
                    assert!(!colored.contains(part), "{words:?} colored: {colored:?}");
                }
                let hidden = plain.chars().find(|&c| c != '\n' && is_hidden(c));
                assert_eq!(hidden, None, "{words:?}: {plain:?}");
            }
        }
        assert!(all.len() > 40 && refused > 20 * all.len(), "{} commands, {refused} refusals", all.len());
    }

    #[test]
    fn what_was_typed_is_still_said() {
        let [_, plain] = said(&["solo", "run", "a", "--seed", "\u{1b}[31m7"].map(OsString::from)).unwrap().1;
        assert!(plain.contains("'\\u{1b}[31m7' for '--seed <SEED>'"), "{plain}");
        let [_, plain] = said(&["solo", "chek\u{202e}"].map(OsString::from)).unwrap().1;
        assert!(plain.contains("'chek\\u{202e}'") && plain.contains("Usage"), "{plain}");
        let words = ["solo".into(), "run".into(), "a".into(), "--seed".into(), text(b"\xff")];
        let [_, plain] = said(&words).unwrap().1;
        assert!(plain.contains("UTF-8") && !plain.starts_with("error: error"), "{plain}");
    }
}

//! Which program is which task: `[NAME[@CPU]=]COMMAND`, `[NAME[@CPU]=]PID`.

use crate::cli::PlaceArgs;
use crate::exit::Failure;
use solo_model::text::Printable;
use solo_place::Subject;
use std::ffi::OsString;
use std::path::Path;

/// A program that the command line names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Named {
    /// Its name, where one is said.
    pub(super) name: Option<String>,
    /// The CPU on which it begins, where one is said.
    pub(super) cpu: Option<u16>,
    /// The program.
    pub(super) subject: Subject,
}

/// All programs, in the order in which the options were read: started ones, running ones, the one behind `--`.
pub(super) fn read(args: &PlaceArgs) -> Result<Vec<Named>, Failure> {
    let mut all = Vec::new();
    for text in &args.programs {
        let (name, cpu, command) = split("--program", text)?;
        if command.trim().is_empty() {
            return Err(Failure::Usage(format!("--program {}: expected a command", Printable(text))));
        }
        let command = ["sh", "-c", command].map(OsString::from).to_vec();
        all.push(Named { name, cpu, subject: Subject::Command(command) });
    }
    for text in &args.pids {
        let (name, cpu, number) = split("--pid", text)?;
        let process = number.trim().parse().ok().filter(|number| *number > 0).ok_or_else(|| {
            Failure::Usage(format!(
                "--pid {}: expected the number of a process, such as 4711 or server=4711",
                Printable(text)
            ))
        })?;
        all.push(Named { name, cpu, subject: Subject::Process(process) });
    }
    if !args.command.is_empty() {
        all.push(Named { name: None, cpu: None, subject: Subject::Command(args.command.clone()) });
    }
    Ok(all)
}

/// The program that a task of the scenario at `path` is: its path begins in the scenario's folder.
pub(super) fn of_scenario(words: &[String], path: &Path) -> Subject {
    let mut command: Vec<OsString> = words.iter().map(OsString::from).collect();
    let folder = path.parent().unwrap_or(Path::new(""));
    let file = words.first().and_then(|name| solo_lab::linux::path_in(folder, name));
    if let (Some(name), Some(file)) = (command.first_mut(), file) {
        *name = file.into_os_string();
    }
    Subject::Command(command)
}

/// Name and CPU before the first `=`, where what stands there is a name.
fn split<'t>(option: &str, text: &'t str) -> Result<(Option<String>, Option<u16>, &'t str), Failure> {
    let Some((head, rest)) = text.split_once('=') else { return Ok((None, None, text)) };
    let (name, cpu) = head.split_once('@').map_or((head, None), |(name, cpu)| (name, Some(cpu)));
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    if name.is_empty() || !name.chars().all(is_name) {
        return Ok((None, None, text));
    }
    let cpu = cpu.map(|cpu| cpu.parse().map_err(|_| cpu)).transpose();
    let cpu = cpu.map_err(|found| {
        Failure::Usage(format!(
            "{option} {}: expected a CPU after @, found `{}`",
            Printable(text),
            Printable(found)
        ))
    })?;
    Ok((Some(name.to_owned()), cpu, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_cpus_stand_before_the_program() {
        let parts = |text| {
            let (name, cpu, rest) = split("--program", text).map_err(|error| error.to_string())?;
            Ok::<_, String>((name.unwrap_or_default(), cpu, rest.to_owned()))
        };
        let is = |name: &str, cpu, rest: &str| Ok((name.to_owned(), cpu, rest.to_owned()));
        assert_eq!(parts("make -j4"), is("", None, "make -j4"));
        assert_eq!(parts("server=./server -p 80"), is("server", None, "./server -p 80"));
        assert_eq!(parts("server@1=./server a=b"), is("server", Some(1), "./server a=b"));
        assert_eq!(parts("./a/b=c"), is("", None, "./a/b=c"), "a path is no name");
        assert!(
            parts("server@x=./server")
                .is_err_and(|error| error.contains("expected a CPU after @, found `x`"))
        );
    }

    #[test]
    fn a_path_of_a_scenario_begins_in_its_folder() {
        let of = |words: &[&str], path: &str| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            match of_scenario(&words, Path::new(path)) {
                Subject::Command(words) => words.join(std::ffi::OsStr::new(" ")).into_string().unwrap(),
                Subject::Process(_) => panic!("a process"),
            }
        };
        assert_eq!(of(&["gzip", "a/b"], "x/s.toml"), "gzip a/b");
        assert_eq!(of(&["./gzip", "a/b"], "x/s.toml"), "x/./gzip a/b");
        assert_eq!(of(&["/bin/gzip"], "x/s.toml"), "/bin/gzip");
        assert_eq!(of(&["./gzip"], "s.toml"), "./gzip");
    }
}

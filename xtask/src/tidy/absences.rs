//! What a room never does, as far as its code tells: the check marks in the tables of rooms of `ARCHITECTURE.md`.

use super::Finding;
use super::tree::Tree;

/// The document with the tables of rooms.
const ROOMS: &str = "ARCHITECTURE.md";

/// Files of the operating system.
const FILES: &[&str] = &["std::fs", "fs::", "File::", "OpenOptions"];
/// What changes a file.
const WRITES: &[&str] =
    &["fs::write", "fs::remove", "fs::create", "fs::rename", "File::create", ".write(true)", ".append(true)"];
/// Clocks of the host.
const CLOCKS: &[&str] = &["Instant::now", "SystemTime"];
/// Text for people, and the end of the process.
const TERMINAL: &[&str] =
    &["println!", "print!(", "eprint", "process::exit", "process::abort", "std::io::stdout"];
/// The choice of who runs.
const SCHEDULER: &[&str] = &["Scheduler", "schedule::Queue"];
/// Ways to end where an error was to be told.
const PANICS: &[&str] = &[".unwrap()", ".expect(", "panic!(", "unreachable!("];

/// The room, what its code does not contain, and what that would be.
const ABSENCES: &[(&str, &[&str], &str)] = &[
    ("machines/sim", FILES, "it reads no files"),
    ("machines/sim", CLOCKS, "its time is simulated"),
    ("machines/sim", SCHEDULER, "it is hardware: the kernel decides who runs"),
    ("machines/ideal", FILES, "it is told what to run"),
    ("machines/ideal", CLOCKS, "its time is the experiment's"),
    ("machines/ideal", SCHEDULER, "the kernel decides who runs"),
    ("machines/x86_64", SCHEDULER, "the kernel decides who runs"),
    ("machines/aarch64", SCHEDULER, "the kernel decides who runs"),
    ("machines/bare", SCHEDULER, "the kernel decides who runs"),
    ("machines/linux/perf", WRITES, "it changes nothing of the system"),
    ("machines/linux/watch", WRITES, "it changes nothing of the system"),
    ("machines/linux/color", WRITES, "it changes nothing of the system"),
    ("machines/linux/doctor", WRITES, "it advises and carries nothing out"),
    ("machines/linux/doctor", &["Command::new"], "it advises and carries nothing out"),
    ("lab", TERMINAL, "it is a library: callers print and end"),
    ("python", TERMINAL, "it is a library: callers print and end"),
    ("python", PANICS, "whatever Python passes is answered with an exception"),
    ("analysis/prove", FILES, "it is told what to prove"),
    ("analysis/plan", FILES, "it reads no files"),
    ("analysis/plan", CLOCKS, "its decisions follow from the request alone"),
    ("analysis/study", CLOCKS, "the same study gives the same figures"),
    ("formats/scenario", PANICS, "whatever a file says is answered with a diagnostic"),
    ("formats/report", CLOCKS, "it reads records"),
    ("formats/chart", FILES, "it makes text"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for &(room, forms, why) in ABSENCES {
        let source = format!("{room}/src/");
        for file in tree.files.iter().filter(|file| file.is_product() && file.name.starts_with(&source)) {
            for (number, line) in file.product().lines().enumerate() {
                for form in forms.iter().filter(|form| line.contains(**form)) {
                    findings.push(Finding {
                        file: file.name.clone(),
                        line: number + 1,
                        rule: "absences",
                        what: (*form).to_owned(),
                        text: format!("{form} in {room}: {why}"),
                    });
                }
            }
        }
    }
    if let Some(rooms) = tree.file(ROOMS) {
        let row = |room: &str| rooms.text.lines().find(|line| line.starts_with(&format!("| `{room}`")));
        let mut found = |room: &str, text: String| {
            findings.push(Finding {
                file: ROOMS.to_owned(),
                line: 0,
                rule: "absences",
                what: room.to_owned(),
                text,
            });
        };
        for package in &tree.packages {
            let room = package.folder.trim_end_matches('/');
            match row(room) {
                None => found(room, format!("no row of the tables of rooms tells of {room}")),
                Some(row) if ABSENCES.iter().any(|(checked, ..)| *checked == room) && !row.contains('✓') => {
                    found(room, format!("what {room} never does is checked: its row lacks the mark"));
                }
                Some(_) => {}
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_a_room_never_does_is_found_in_it_and_nowhere_else() {
        for (room, forms, _) in ABSENCES {
            let line = format!("fn f() {{ {} }}\n", forms[0]);
            assert!(found(&[(&format!("{room}/src/a.rs"), &line)]).contains(&forms[0].to_owned()), "{room}");
            assert_eq!(found(&[(&format!("{room}/tests/a.rs"), &line)]), Vec::<String>::new());
            assert_eq!(found(&[("solo/src/a.rs", &line)]), Vec::<String>::new());
        }
        assert_eq!(found(&[("lab/src/a.rs", "// println!\nlet x = \"println!\";\n")]), Vec::<String>::new());
    }

    #[test]
    fn every_room_has_a_row_and_what_is_checked_its_mark() {
        let manifest = ("lab/Cargo.toml", "[package]\nname = \"solo-lab\"\n");
        assert_eq!(found(&[manifest, (ROOMS, "| `lab` | runs | prints ✓ |\n")]), Vec::<String>::new());
        assert_eq!(found(&[manifest, (ROOMS, "| `lab` | runs | prints |\n")]), ["lab"]);
        assert_eq!(found(&[manifest, (ROOMS, "nothing\n")]), ["lab"]);
    }
}

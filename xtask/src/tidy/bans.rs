//! Words that code may not contain, by room.

use super::Finding;
use super::code::words;
use super::tree::{File, Tree};

/// Where `unsafe` may stand.
const UNSAFE_ROOMS: &[&str] = &[
    "machines/bare/",
    "machines/x86_64/",
    "machines/aarch64/",
    "machines/linux/",
    "apps/region/",
    "apps/program/",
    "apps/program-c/",
];

/// Crates whose code decides or is asked by what decides.
const POLICY_ROOMS: &[&str] = &[
    "core/model/src/",
    "core/hal/src/",
    "core/schedule/src/",
    "core/isolate/src/",
    "core/observe/src/",
    "core/kernel/src/",
    "core/workload/src/",
    "analysis/plan/src/",
];

/// What policies never mention, and why.
const POLICY_BANS: &[(&str, &str)] = &[
    ("f32", "policies use integers"),
    ("f64", "policies use integers"),
    ("HashMap", "policies never depend on hash order"),
    ("HashSet", "policies never depend on hash order"),
    ("std", "policies have no operating system"),
    ("SystemTime", "policies are told the time"),
    ("Mutex", "policies hold no locks"),
    ("RwLock", "policies hold no locks"),
    ("RefCell", "policies share no state"),
    ("println", "policies print nothing"),
];

/// Rooms that ask for what they need by its meaning, never for an event by its name.
const EVENTLESS_ROOMS: &[&str] = &["core/schedule/src/"];

/// What only unfinished code contains.
const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];

/// Where the canonical events are defined, a line each: `NAME = "name", ...`.
const EVENTS: &str = "core/model/src/event/canonical.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let events = tree.files.iter().find(|file| file.name == EVENTS).map_or_else(Vec::new, events_of);
    tree.files
        .iter()
        .filter(|file| file.is_rust())
        .flat_map(|file| in_file(file).into_iter().chain(events_in(file, &events)))
        .collect()
}

/// The names of events: as constants and as files spell them.
fn events_of(file: &File) -> Vec<String> {
    let named = |line: &str| {
        let (constant, rest) = line.trim().split_once(" = \"")?;
        let name = rest.split_once("\",")?.0;
        Some([constant.to_owned(), name.to_owned()])
    };
    file.text.lines().filter_map(named).flatten().collect()
}

/// Events that a room names which has to ask for metrics instead. What is not in `code` marks, in words of prose, is none.
fn events_in(file: &File, events: &[String]) -> Vec<Finding> {
    if !EVENTLESS_ROOMS.iter().any(|room| file.name.starts_with(room)) {
        return Vec::new();
    }
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let named = |(number, line): (usize, &str)| {
        let word = words(line).find(|word| events.iter().any(|event| event == word))?;
        let text = "a scheduling policy names no event: it asks for a metric by its id".to_owned();
        Some(Finding { file: file.name.clone(), line: number + 1, rule: "bans", what: word.to_owned(), text })
    };
    let product = file.text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    product.lines().enumerate().filter(|(_, line)| code(line)).filter_map(named).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let within = |rooms: &[&str]| rooms.iter().any(|room| file.name.starts_with(room));
    let mut findings = Vec::new();
    for (number, line) in file.product().lines().enumerate() {
        let mut found = |what: &str, text: String| {
            let (file, what) = (file.name.clone(), what.to_owned());
            findings.push(Finding { file, line: number + 1, rule: "bans", what, text });
        };
        let is_unsafe =
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|form| line.contains(form));
        if is_unsafe && !within(UNSAFE_ROOMS) && !file.name.contains("/tests/") {
            found("unsafe", format!("unsafe outside {UNSAFE_ROOMS:?}"));
        }
        for mark in UNFINISHED {
            if line.contains(&format!("{mark}!(")) {
                found(mark, format!("unfinished: {mark}!(...)"));
            }
        }
        if within(POLICY_ROOMS) && file.is_product() {
            for (ban, why) in POLICY_BANS {
                if words(line).any(|word| word == *ban) && !line.contains("extern crate std") {
                    found(ban, format!("{ban}: {why}"));
                }
            }
            if (line.contains("cfg(") && !line.contains("cfg(test)")) || line.contains("cfg!(") {
                found("cfg", "conditional compilation: policies are the same code everywhere".to_owned());
            }
        }
        if within(EVENTLESS_ROOMS) && words(line).any(|word| word == "Event" || word == "EventId") {
            found("Event", "a scheduling policy names no event: it asks for a metric by its id".to_owned());
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(name, text)])).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn each_ban_finds_its_word_in_its_room_only() {
        assert_eq!(found("core/a/src/lib.rs", "let x = unsafe { y() };\n"), ["unsafe"]);
        assert_eq!(found("machines/x86_64/src/a.rs", "let x = unsafe { y() };\n"), Vec::<String>::new());
        for (ban, _) in POLICY_BANS {
            let line = format!("let x: {ban} = 1;\n");
            assert_eq!(found("core/kernel/src/a.rs", &line), [*ban]);
            assert_eq!(found("formats/report/src/a.rs", &line), Vec::<String>::new());
            assert_eq!(found("core/observe/src/a.rs", &format!("// {line}")), Vec::<String>::new());
        }
        for mark in UNFINISHED {
            assert_eq!(found("core/a/src/a.rs", &format!("    {mark}!()\n")), [*mark]);
        }
        assert_eq!(found("core/isolate/src/a.rs", "#[cfg(feature = \"x\")]\nfn f() {}\n"), ["cfg"]);
        assert_eq!(found("core/isolate/src/a.rs", "#[cfg_attr(feature = \"x\", y)]\n"), Vec::<String>::new());
        assert_eq!(found("core/schedule/src/a.rs", "use solo_model::Event;\n"), ["Event"]);
        let catalog = (EVENTS, "canonical! {\n    SNOOP_HITM = \"snoop_hitm\", Count, Hitm;\n}\n");
        let named = |text| {
            let tree = Tree::of(&[catalog, ("core/schedule/src/a.rs", text)]);
            check(&tree).into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        assert_eq!(named("const WATCHED: &str = \"snoop_hitm\";\n"), ["snoop_hitm"]);
        assert_eq!(named("fn f() { wants(SNOOP_HITM) }\n"), ["SNOOP_HITM"]);
        assert_eq!(named("// snoop_hitm\nfn f() {}\n"), Vec::<String>::new());
        assert_eq!(found("core/isolate/src/a.rs", "use solo_model::Event;\n"), Vec::<String>::new());
    }
}

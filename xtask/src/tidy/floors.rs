//! Which crate may know which: the floors of the house as a table of arrows.
//!
//! A crate that the table lacks is a finding, and so is an arrow that it lacks, for tests, too: what a test knows, its crate
//! cannot be built without. Arrows of products never form a circle (Cargo sees to it); circles through tests are listed.

use super::Finding;
use super::tree::{Package, Tree};

/// A crate and the crates that it may know.
struct Floor {
    name: &'static str,
    /// What the product may depend on.
    may: &'static [&'static str],
    /// What tests, examples and benchmarks may depend on besides.
    tests: &'static [&'static str],
}

const fn floor(name: &'static str, may: &'static [&'static str], tests: &'static [&'static str]) -> Floor {
    Floor { name, may, tests }
}

/// All crates, ground floor first. An entry may stand here before its crate does.
const FLOORS: &[Floor] = &[
    // Ground floor: words, policies, the kernel. No std, no input or output.
    floor("solo-replacement", &[], &[]),
    floor("solo-model", &["solo-replacement"], &[]),
    floor("solo-hal", &["solo-model"], &[]),
    floor("solo-observe", &["solo-model", "solo-hal"], &[]),
    floor("solo-schedule", &["solo-model"], &[]),
    floor("solo-isolate", &["solo-model", "solo-observe"], &["solo-scenario"]),
    floor("solo-workload", &["solo-model"], &[]),
    floor(
        "solo-kernel",
        &["solo-model", "solo-hal", "solo-observe", "solo-schedule", "solo-isolate"],
        &["solo-corpus"],
    ),
    // Machines: each stands on the kernel, none knows another.
    floor("solo-ideal", &["solo-model", "solo-hal", "solo-observe", "solo-kernel"], &[]),
    floor("solo-corpus", &["solo-model", "solo-observe", "solo-ideal"], &["solo-hal", "solo-schedule"]),
    floor(
        "solo-sim",
        &[
            "solo-model",
            "solo-hal",
            "solo-observe",
            "solo-isolate",
            "solo-kernel",
            "solo-replacement",
            "solo-schedule",
            "solo-workload",
        ],
        &["solo-corpus", "solo-report", "solo-scenario"],
    ),
    floor("solo-bare", &["solo-model", "solo-hal", "solo-isolate", "solo-kernel", "solo-workload"], &[]),
    floor("solo-x86_64", &["solo-bare", "solo-model", "solo-hal", "solo-observe", "solo-isolate"], &[]),
    floor("solo-aarch64", &["solo-bare", "solo-model", "solo-hal", "solo-observe"], &[]),
    floor(
        "solo-qemu",
        &["solo-model", "solo-isolate", "solo-bare", "solo-store"],
        &["solo-corpus", "solo-kernel", "solo-overheads", "solo-sim"],
    ),
    floor("solo-perf", &["solo-model", "solo-observe"], &[]),
    floor("solo-watch", &["solo-model", "solo-observe", "solo-perf"], &[]),
    floor("solo-doctor", &["solo-observe", "solo-perf", "solo-threads"], &[]),
    floor("solo-color", &["solo-model", "solo-isolate"], &[]),
    floor("solo-guard", &["solo-model", "solo-isolate", "solo-perf", "solo-store", "solo-threads"], &[]),
    floor(
        "solo-scx",
        &["solo-doctor", "solo-guard", "solo-model", "solo-perf", "solo-schedule", "solo-threads"],
        &[],
    ),
    floor(
        "solo-place",
        &[
            "solo-guard",
            "solo-model",
            "solo-observe",
            "solo-perf",
            "solo-schedule",
            "solo-store",
            "solo-watch",
        ],
        &["solo-corpus"],
    ),
    floor(
        "solo-threads",
        &["solo-model", "solo-hal", "solo-kernel", "solo-perf", "solo-schedule", "solo-workload"],
        &["solo-scenario"],
    ),
    floor("solo-region", &["solo-model", "solo-perf", "solo-watch"], &[]),
    // What programs link with: the machines that they run on.
    floor(
        "solo-app",
        &[
            "solo-model",
            "solo-isolate",
            "solo-bare",
            "solo-x86_64",
            "solo-aarch64",
            "solo-perf",
            "solo-threads",
        ],
        &[],
    ),
    floor("solo-app-c", &["solo-app"], &[]),
    floor(
        "solo-overheads",
        &["solo-model", "solo-hal", "solo-kernel", "solo-schedule", "solo-threads", "solo-x86_64"],
        &[],
    ),
    // Paper work: what can be said without running.
    floor("solo-prove", &["solo-model", "solo-isolate"], &["solo-corpus", "solo-sim", "solo-scenario"]),
    floor(
        "solo-plan",
        &["solo-ima", "solo-model", "solo-isolate", "solo-prove"],
        &["solo-scenario", "solo-sim"],
    ),
    floor("solo-ima", &["solo-model"], &[]),
    floor("solo-study", &["solo-model", "solo-prove", "solo-chart", "solo-store"], &[]),
    // Files.
    floor("solo-chart", &[], &[]),
    floor("solo-store", &["solo-model"], &[]),
    floor("solo-trace", &["solo-model", "solo-replacement", "solo-workload", "solo-store"], &[]),
    floor(
        "solo-scenario",
        &[
            "solo-ima",
            "solo-isolate",
            "solo-model",
            "solo-observe",
            "solo-plan",
            "solo-trace",
            "solo-store",
            "solo-workload",
        ],
        &[],
    ),
    floor("solo-report", &["solo-model", "solo-chart", "solo-observe", "solo-store"], &[]),
    // Programs to be recorded. They know nothing of the house.
    floor("solo-vision", &[], &["solo-trace"]),
    // On top: running as a library, and the faces.
    floor("solo-lab", EVERYTHING, EVERYTHING),
    floor("solo", EVERYTHING, EVERYTHING),
    floor("solo-python", EVERYTHING, &[]),
    floor("xtask", &[], &[]),
];

const EVERYTHING: &[&str] = &[
    "solo-model",
    "solo-hal",
    "solo-observe",
    "solo-schedule",
    "solo-isolate",
    "solo-workload",
    "solo-kernel",
    "solo-ideal",
    "solo-corpus",
    "solo-sim",
    "solo-bare",
    "solo-x86_64",
    "solo-aarch64",
    "solo-qemu",
    "solo-perf",
    "solo-watch",
    "solo-doctor",
    "solo-color",
    "solo-guard",
    "solo-place",
    "solo-scx",
    "solo-threads",
    "solo-overheads",
    "solo-prove",
    "solo-plan",
    "solo-ima",
    "solo-study",
    "solo-chart",
    "solo-store",
    "solo-trace",
    "solo-scenario",
    "solo-report",
    "solo-lab",
];

/// Circles that only tests close, by the arrow of the test, and why they may.
const TEST_CIRCLES: &[(&str, &str, &str)] = &[
    ("solo-isolate", "solo-scenario", "plans and budgets are tried on the chips of platforms/"),
    ("solo-kernel", "solo-corpus", "the corpus runs on the kernel, and the kernel's tests are its cases"),
    (
        "solo-plan",
        "solo-scenario",
        "requests are read from texts, so that their places can be held against these",
    ),
    ("solo-plan", "solo-sim", "plans are held against runs of the simulated machine"),
    ("solo-prove", "solo-scenario", "bounds are held against scenarios, which are planned by proofs"),
    ("solo-prove", "solo-sim", "bounds are held against the simulated machine"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    against(tree, FLOORS, TEST_CIRCLES)
}

fn against(tree: &Tree, floors: &[Floor], circles: &[(&str, &str, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        let found = |what: &str, text: String| Finding {
            file: format!("{}Cargo.toml", package.folder),
            line: 0,
            rule: "floors",
            what: what.to_owned(),
            text,
        };
        let Some(floor) = floors.iter().find(|floor| floor.name == package.name) else {
            let text = "this crate has no floor: add it and what it may know to xtask/src/tidy/floors.rs";
            findings.push(found(&package.name, text.to_owned()));
            continue;
        };
        let may = |name: &String| floor.may.contains(&name.as_str());
        for name in package.needs.iter().filter(|name| !may(name)) {
            findings.push(found(name, format!("{} may not know {name}: the arrow runs up", package.name)));
        }
        let tests_may = |name: &String| may(name) || floor.tests.contains(&name.as_str());
        for name in &package.tests_need {
            if !tests_may(name) {
                findings.push(found(name, format!("tests of {} may not know {name}", package.name)));
            } else if needs(tree, name, &package.name)
                && !circles.iter().any(|(from, to, _)| from == &package.name && to == name)
            {
                let text = format!("{name} stands on {}, whose tests know it: a circle", package.name);
                findings.push(found(name, text));
            }
        }
    }
    for (from, to, why) in circles {
        let package = tree.packages.iter().find(|package| package.name == *from);
        let closed =
            |package: &Package| package.tests_need.iter().any(|name| name == to) && needs(tree, to, from);
        if package.is_some_and(|package| !closed(package)) {
            findings.push(Finding {
                file: "xtask/src/tidy/floors.rs".to_owned(),
                line: 0,
                rule: "floors",
                what: format!("{from} {to}"),
                text: format!("the circle is gone ({why}): take it out of TEST_CIRCLES"),
            });
        }
    }
    findings
}

/// True where the product or the tests of `from` lead to `to`.
fn needs(tree: &Tree, from: &str, to: &str) -> bool {
    let mut seen = vec![from];
    let mut at = 0;
    while at < seen.len() {
        let Some(package) = tree.packages.iter().find(|package| package.name == seen[at]) else {
            at += 1;
            continue;
        };
        // A test of a crate in between is not built for this one.
        let tests = if at == 0 { package.tests_need.as_slice() } else { &[] };
        for name in package.needs.iter().chain(tests) {
            if name == to {
                return true;
            }
            if !seen.contains(&name.as_str()) {
                seen.push(name);
            }
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: &[Floor] = &[floor("solo-a", &[], &["solo-b"]), floor("solo-b", &["solo-a"], &[])];

    fn found(a: &str, b: &str, circles: &[(&str, &str, &str)]) -> Vec<String> {
        let manifest = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n{rest}\n");
        let (a, b) = (manifest("solo-a", a), manifest("solo-b", b));
        let tree = Tree::of(&[("a/Cargo.toml", &a), ("b/Cargo.toml", &b)]);
        against(&tree, HOUSE, circles).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn arrows_that_run_up_are_found() {
        let down = "[dependencies]\nsolo-a = \"1\"";
        assert_eq!(found("", down, &[]), Vec::<String>::new());
        assert!(found("[dependencies]\nsolo-b = \"1\"", "", &[])[0].contains("runs up"));
        assert!(found("", "[dev-dependencies]\nsolo-c = \"1\"", &[])[0].contains("tests of solo-b"));
    }

    #[test]
    fn circles_through_tests_are_listed_or_found_and_leave_the_list_with_the_circle() {
        let (test, down) = ("[dev-dependencies]\nsolo-b = \"1\"", "[dependencies]\nsolo-a = \"1\"");
        assert!(found(test, down, &[])[0].contains("a circle"));
        assert_eq!(found(test, down, &[("solo-a", "solo-b", "x")]), Vec::<String>::new());
        assert!(found("", down, &[("solo-a", "solo-b", "x")])[0].contains("is gone"));
    }

    #[test]
    fn a_crate_without_a_floor_is_found() {
        let tree = Tree::of(&[("c/Cargo.toml", "[package]\nname = \"solo-c\"\n")]);
        assert!(against(&tree, HOUSE, &[])[0].text.contains("has no floor"));
    }
}

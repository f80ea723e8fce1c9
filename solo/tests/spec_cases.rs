//! The cases of the specifications: each is refused by name, conditional, or holds; none is proved and then exceeded.
//!
//! They are run shortened: one job, or some regulation periods.

mod common;

use common::{root, solo};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A case, what `solo check` ends with, what it and the run say, and the variants that are refused, each with why.
struct Case {
    name: &'static str,
    checked: i32,
    told: &'static str,
    refused: &'static [(&'static str, &'static str)],
}

const fn case(
    name: &'static str,
    checked: i32,
    told: &'static str,
    refused: &'static [(&'static str, &'static str)],
) -> Case {
    Case { name, checked, told, refused }
}

/// Budgets in misses, where each miss may write a line back as well.
const TWICE: &str = "each of which may write a line back";
const UNKNOWN: &str = "it declares no execution time, and its work uses memory";

const RUN: [Case; 14] = [
    case("csce", 2, UNKNOWN, &[("memguard r", TWICE)]),
    case("csce2", 2, UNKNOWN, &[("memguard", TWICE), ("samebank", TWICE)]),
    case("gx", 2, UNKNOWN, &[("writers", TWICE)]),
    case("hitm", 2, UNKNOWN, &[]),
    case("hitm2", 2, "what is counted is not misses of the last level", &[]),
    case("palloc", 2, UNKNOWN, &[]),
    case("sparse3", 2, UNKNOWN, &[("hogs mg", TWICE), ("same mg", TWICE)]),
    case("amp", 2, "Conditional: measured alone", &[]),
    case("ch8", 2, UNKNOWN, &[]),
    case("fig11l3", 2, UNKNOWN, &[]),
    case("charge", 0, "", &[]),
    case("cpd-s", 0, "", &[]),
    case("onelevel", 0, "", &[]),
    case("ps", 0, "", &[]),
];

/// The others have tests of their own; here they are judged, and none is proved. (`cpd` is an overhead file.)
const JUDGED: [(&str, i32); 13] = [
    ("affinity-bug", 1),
    ("cpd", 2),
    ("csce3", 2),
    ("csce4", 3),
    ("ima", 2),
    ("iso", 2),
    ("reclaim", 2),
    ("susp", 1),
    ("tb", 3),
    ("tick", 1),
    ("tick2", 2),
    ("tick3", 1),
    ("weight", 2),
];

fn place(name: &str) -> PathBuf {
    root().join(format!("solo/tests/cases/specs/{name}.toml"))
}

/// Exit code, and standard output and error without line breaks.
fn said(words: &[&str]) -> (Option<i32>, String) {
    let output = solo().args(words).output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The case beside the platform and the overhead file that cases name, shortened.
fn shortened(case: &Case, folder: &Path) -> PathBuf {
    for named in ["p4080-l3", "cpd"] {
        std::fs::copy(place(named), folder.join(format!("{named}.toml"))).unwrap();
    }
    let text = std::fs::read_to_string(place(case.name)).unwrap();
    let line = |line: &str| match line.split('=').next().map(str::trim) {
        Some("jobs") => "jobs = 1".to_owned(),
        Some("duration") => "duration = \"30ms\"".to_owned(),
        _ => line.to_owned(),
    };
    let short = folder.join(format!("{}.toml", case.name));
    std::fs::write(&short, text.lines().map(line).collect::<Vec<_>>().join("\n")).unwrap();
    short
}

/// The reports of all runs below a folder.
fn reports(folder: &Path) -> Vec<Value> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(reports(&path));
        } else if path.ends_with("report.json") {
            found.push(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap());
        }
    }
    found
}

/// Bounds that stand beside observations, each held.
fn bounds_held(name: &str, report: &Value) -> usize {
    let mut bounds = 0;
    for task in report["tasks"].as_array().unwrap() {
        for (bound, seen) in
            [("response_ns", &task["response"]["max_ns"]), ("occupied_ns", &task["executed_max_ns"])]
        {
            if let (Some(bound), Some(seen)) = (task["bound"][bound].as_u64(), seen.as_u64()) {
                assert!(
                    seen <= bound,
                    "{name}: {} took {seen} ns, above its bound of {bound} ns",
                    task["name"]
                );
                bounds += 1;
            }
        }
    }
    bounds
}

#[test]
fn cases_are_refused_by_name_or_conditional_or_hold() {
    let folder = tempfile::tempdir().unwrap();
    let mut bounds = 0;
    for case in &RUN {
        let (code, text) = said(&["check", path(&place(case.name))]);
        assert_eq!(code, Some(case.checked), "{}: {text}", case.name);
        assert!(text.contains(case.told), "{}: {text}", case.name);
        let out = folder.path().join(format!("{} out", case.name));
        let (code, text) =
            said(&["compare", path(&shortened(case, folder.path())), "--quiet", "--out", path(&out)]);
        assert!(matches!(code, Some(0..=2)), "{}: {text}", case.name);
        assert!(out.is_dir(), "{}: {text}", case.name);
        for (variant, why) in case.refused {
            let told = text.split(&format!("{variant} refused: ")).nth(1).unwrap_or_default();
            assert!(told.contains(why), "{}, {variant}: {text}", case.name);
        }
        // A budget that is not delivered would be told so, and a bound that is exceeded.
        for silent in ["above its bound", "bug of Solocore", "unmet"] {
            assert!(!text.contains(silent), "{}: {text}", case.name);
        }
        bounds += reports(&out).iter().map(|report| bounds_held(case.name, report)).sum::<usize>();
    }
    assert!(bounds >= 6, "only {bounds} bounds stand beside observations");
}

#[test]
fn no_other_case_is_proved() {
    for (name, code) in JUDGED {
        let (found, text) = said(&["check", path(&place(name))]);
        assert_eq!(found, Some(code), "{name}: {text}");
    }
    let all = std::fs::read_dir(root().join("solo/tests/cases/specs")).unwrap().count();
    // A platform file lies among them.
    assert_eq!(all, RUN.len() + JUDGED.len() + 1, "a case without a test");
}

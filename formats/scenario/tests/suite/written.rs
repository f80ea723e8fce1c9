//! Plans written as scenarios: read again they are what was planned, and what somebody wrote is still there.

use solo_model::Experiment;
use solo_model::random::SplitMix64;
use solo_plan::{Ending, Search, search};
use solo_scenario::{NotWritable, Platforms, parse, requests, write_plan};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn searched(text: &str, path: &Path) -> Option<Search> {
    let found = requests(text, path, &Platforms::builtin(), &Default::default()).ok()?;
    Some(search(found.first()?))
}

fn read(text: &str, path: &Path) -> Experiment {
    let found = parse(text, path, &Platforms::builtin());
    found.unwrap_or_else(|report| panic!("{}\n{text}", report.to_json())).base
}

/// A scenario in which some tasks name cores or colors and some don't.
fn drawn(seed: u64) -> String {
    let mut dice = SplitMix64::new(seed);
    let mut pick = |words: &[&'static str]| words[dice.below(words.len() as u64) as usize];
    let mut text = format!(
        "# kept\nname = \"drawn\"\nplatform = \"{}\"\nduration = \"10ms\"\nseed = {seed}\n{}\n[scheduler]\npolicy = \"{}\" # kept too\n",
        pick(&["p4080", "xeon-w3530", "i7-2600"]),
        pick(&["", "", "", "isolation = \"off\"\n"]),
        pick(&["P-EDF", "P-RM", "P-DM", "P-FP"]),
    );
    let off = text.contains("\"off\"");
    if !off {
        text += pick(&[
            "",
            "[isolation.bandwidth]\nperiod = \"200us\"\n",
            "[isolation.bandwidth]\ncores = { 2 = \"2%\" }\n",
        ]);
        text += pick(&["", "[isolation.memory]\nkernel = 3\n", "[isolation.colors]\ntask-1 = \"1-2\"\n"]);
    }
    for task in 0..6 {
        let _ = write!(
            text,
            "[[task]]\nname = \"task-{task}\"\nclass = \"{}\"\nperiod = \"{}ms\"\nwcet = \"{}us\"\npriority = {task}\n{}{}{}work = [{}]\n",
            pick(&["hard", "soft", "best-effort"]),
            pick(&["10", "20", "50"]),
            pick(&["500", "1500", "4000"]),
            pick(&["", "", "core = 1\n"]),
            pick(&["", "copies = 3\n"]),
            pick(&["misses = 300\n", "misses = 0\n"]),
            pick(&[
                "{ compute = \"400us\" }",
                "{ sweep = \"16KiB\", writes = \"50%\" }",
                "{ stream = \"64KiB\", accesses = 100 }",
            ]),
        );
    }
    text
}

#[test]
fn a_drawn_plan_is_read_as_what_was_planned() {
    let path = Path::new("drawn.toml");
    let (mut planned, mut chosen) = (0, [0; 3]);
    for seed in 0..60 {
        let text = drawn(seed);
        let Some(search) = searched(&text, path) else { continue };
        let Ending::Planned(plan) = &search.ending else { continue };
        let written = write_plan(&text, &search.choices).unwrap();
        assert_eq!(read(&written, path), plan.plan.experiment, "seed {seed}\n{written}");
        assert!(written.starts_with("# kept\n") && written.contains("# kept too\n"), "{written}");
        // Nothing is left to choose, so that the same comes out again.
        let again = searched(&written, path).unwrap();
        assert_eq!(write_plan(&written, &again.choices).unwrap(), written, "seed {seed}");
        planned += 1;
        let tasks = &search.choices.tasks;
        chosen[0] += usize::from(tasks.iter().any(|choice| choice.core.is_some()));
        chosen[1] += usize::from(tasks.iter().any(|choice| choice.colors.is_some()));
        chosen[2] += usize::from(!search.choices.budgets.is_empty());
    }
    assert!(planned >= 25 && chosen.iter().all(|&count| count >= 8), "{planned} {chosen:?}");
}

/// All that can be planned of the scenarios that come with the program is read as it was planned.
#[test]
fn plans_of_the_shipped_scenarios_are_read_as_what_was_planned() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = Vec::new();
    below(&root, &mut files);
    files.sort();
    let mut planned = 0;
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(search) = searched(&text, &path) else { continue };
        let Ending::Planned(plan) = &search.ending else { continue };
        let written = write_plan(&text, &search.choices).unwrap();
        assert_eq!(read(&written, &path), plan.plan.experiment, "{}", path.display());
        planned += 1;
    }
    assert!(planned >= 8, "{planned}");
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
}

const PATTERN: &str = "name = \"a\"\nplatform = \"p4080\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
    [[task]]\nname = \"hog\"\nclass = \"hard\"\nperiod = \"10ms\"\nwcet = \"6ms\"\ncopies = 2\nwork = [{ compute = \"6ms\" }]\n";

#[test]
fn copies_on_cores_of_their_own_are_written_out_and_a_variant_that_names_them_is_told() {
    let path = Path::new("a.toml");
    let text = format!("{PATTERN}[isolation.partitions]\np = [\"hog\"]\n");
    let apart = searched(PATTERN, path).unwrap();
    let written = write_plan(PATTERN, &apart.choices).unwrap();
    assert!(written.contains("name = \"hog-0\"") && written.contains("name = \"hog-1\""), "{written}");
    let variant = format!("{PATTERN}[[variant]]\nname = \"none\"\n[variant.task.hog]\nperiod = \"20ms\"\n");
    assert_eq!(write_plan(&variant, &apart.choices), Err(NotWritable::Variant("hog".to_owned())));
    // A partition is on one core, and two of these are too much for it.
    let together = searched(&text, path).unwrap();
    assert!(matches!(together.ending, Ending::Impossible(_)), "{:?}", together.ending);
    assert_eq!(write_plan("name = 1\n", &apart.choices), Err(NotWritable::Other));
}

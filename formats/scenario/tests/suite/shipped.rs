//! The scenario and platform files that come with the program.

use solo_model::experiment::End;
use solo_model::work::{Pattern, Step};
use solo_model::{Bandwidth, Bytes, CoreId, Duration, Picoseconds, Scope, TaskClass};
use solo_scenario::{Diagnostics, Platforms, Scenario, derived, has_guesses, load, parse_platform};
use std::path::{Path, PathBuf};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn read(name: &str) -> Scenario {
    load(&scenarios().join(name), &Platforms::builtin()).unwrap_or_else(|report| panic!("{report}"))
}

#[test]
fn first_steps_is_one_task() {
    let scenario = read("first-steps.toml");
    assert_eq!(scenario.name, "first steps");
    assert_eq!(scenario.base.end, End::Jobs(100));
    assert_eq!(scenario.base.policy.to_string(), "P-EDF");
    assert_eq!(scenario.base.tasks.len(), 1);
    assert_eq!(scenario.base.sample_every, Duration::from_millis(1));
    assert_eq!(scenario.base.seed, 1);
    assert!(scenario.variants.is_empty());
    assert!(scenario.warnings.is_empty());
}

#[test]
fn video_and_screen_has_the_papers_frame_task() {
    let scenario = read("video-and-screen.toml");
    let frame = &scenario.base.tasks[0];
    assert_eq!(frame.class, TaskClass::Hard);
    assert_eq!(frame.core, Some(CoreId(0)));
    assert_eq!(frame.release.period(), Some(Duration::from_millis(20)));
    assert_eq!(frame.deadline, Some(Duration::from_millis(13)));
    let [Step::Touch(ring)] = frame.work.steps.as_slice() else { panic!("one frame") };
    assert_eq!((ring.pattern, ring.accesses), (Pattern::Ring, 1920 * 1080));
    assert_eq!(scenario.base.buffers[ring.buffer.index()].size, Bytes::from_kib(2 * 8100));
    let names: Vec<_> = scenario.variants.iter().map(|v| (v.variant.as_str(), v.tasks.len())).collect();
    assert_eq!(names, [("solo", 1), ("corun", 2)]);
}

#[test]
fn control_and_vision_is_one_task_set_under_four_policies() {
    let scenario = read("control-and-vision.toml");
    let policies: Vec<_> = scenario.variants.iter().map(|v| v.policy.to_string()).collect();
    assert_eq!(policies, ["P-EDF", "C-EDF", "G-EDF", "P-RM"]);
    for variant in &scenario.variants {
        assert_eq!(variant.tasks, scenario.base.tasks);
    }
    let Scope::Clustered(clusters) = &scenario.variants[1].policy.scope else { panic!("clusters") };
    assert_eq!(clusters.len(), 4);
    assert!(clusters.iter().all(|cluster| cluster.len() == 2));
    let utilization: u64 = scenario
        .base
        .tasks
        .iter()
        .filter_map(|task| Some(task.wcet?.get() * 1000 / task.release.period()?.get()))
        .sum();
    assert!((4_800..=6_000).contains(&utilization), "{utilization} thousandths of a core");
    let stereo =
        scenario.base.tasks.iter().find(|task| task.name == "stereo").expect("there is a stereo task");
    let track = scenario.base.tasks.iter().find(|task| task.name == "track").expect("there is a track task");
    let Step::Repeat { times: 4, steps } = &stereo.work.steps[0] else { panic!("four rounds") };
    let (Step::Touch(left), Step::Touch(right)) = (&steps[0], &track.work.steps[1]) else { panic!("passes") };
    assert_eq!(left.buffer, right.buffer);
}

#[test]
fn a_missing_recording_says_how_to_make_one() {
    let text =
        std::fs::read_to_string(scenarios().join("recorded-neighbour.toml")).expect("the file is there");
    let path = Path::new("nowhere/recorded-neighbour.toml");
    let report: Diagnostics =
        solo_scenario::parse(&text, path, &Platforms::builtin()).expect_err("no recording");
    assert_eq!(report.problems().len(), 3);
    let shown = report.to_string();
    assert!(shown.contains("solo record -o nowhere/recordings/gzip.trace -- gzip -6 -c FILE"), "{shown}");
}

#[test]
fn built_in_platforms_have_the_papers_shapes() {
    let platforms = Platforms::builtin();
    let load = |name: &str| platforms.load(name, Path::new("")).unwrap_or_else(|report| panic!("{report}"));
    let xeon = load("xeon-w3530");
    assert_eq!(xeon.cores.len(), 4);
    let l3 = xeon.caches.last().expect("an L3");
    assert_eq!((l3.sets(), l3.colors(xeon.page)), (8192, 128));
    // DDR3-1333 on one channel of 8 bytes, with a clock of 1.5 ns.
    assert_eq!(xeon.dram.peak(), Bandwidth::new(10_666_666_664));
    let i7 = load("i7-2600");
    assert_eq!(i7.cores.len(), 8);
    assert_eq!(i7.clusters(2).len(), 4);
    assert_eq!(i7.clusters(3).len(), 1);
    let l3 = i7.caches.last().expect("an L3");
    assert_eq!((l3.slice_hash.len(), l3.colors(i7.page)), (2, 32));
    let ideal = load("ideal-8");
    assert_eq!(ideal.cores.len(), 8);
    // Page colors of each indexed array (research note, section 3).
    let colors = |name: &str, level: u8, core: u16| {
        let platform = load(name);
        let holds =
            |cache: &&solo_model::platform::Cache| cache.level == level && cache.cores.contains(CoreId(core));
        let found = platform.caches.iter().find(holds).unwrap_or_else(|| panic!("no L{level}"));
        found.colors(platform.page)
    };
    assert_eq!(colors("core2-q9550", 2, 0), 64);
    assert_eq!([colors("quickia", 2, 0), colors("quickia", 2, 2)], [64, 16]);
    assert_eq!([colors("juno", 2, 0), colors("juno", 2, 2)], [32, 16]);
    assert_eq!([colors("opteron-2425", 3, 0), colors("xeon-e5-2695v3", 3, 0)], [32, 32]);
    assert_eq!((colors("xeon-w3530", 2, 0), load("core2-q9550").clusters(2).len()), (8, 2));
    assert_eq!((load("opteron-2425").kinds.len(), load("opteron-2425").clusters(3).len()), (2, 2));
    let bus = load("core2-q9550").bus.expect("a front-side bus");
    assert_eq!((bus.clock, bus.data), (Picoseconds::new(3_000), 2));
    assert!(load("juno").kinds.iter().all(|kind| !kind.energy.is_empty()));
    assert!(platforms.names().all(|name| name == "ideal-8" || has_guesses(&load(name))));
    assert!(has_guesses(&xeon) && has_guesses(&i7) && !has_guesses(&ideal));
}

#[test]
fn every_value_of_a_platform_has_its_source() {
    let xeon = Platforms::builtin().load("xeon-w3530", Path::new("")).expect("built in");
    let source =
        |key: &str| xeon.sources.iter().find(|(known, _)| known == key).map(|(_, source)| source.as_str());
    assert!(source("cores 0: clock").is_some_and(|source| source.starts_with("P: MemGuard case study")));
    assert!(source("dram.timing: cl").is_some_and(|source| source.starts_with("J: JEDEC")));
    // Of every chip each value is there as it stands in the file, with the source that it names.
    for name in Platforms::builtin().names() {
        let values = Platforms::builtin().values(name, Path::new("")).expect("built in");
        let text = std::fs::read_to_string(format!("../../platforms/{name}.toml")).expect("it is there");
        let said =
            text.lines().map(|line| line.split('#').next().unwrap_or("")).filter(|line| line.contains(" @"));
        assert_eq!(values.len(), said.clone().count(), "{name}");
        for value in &values {
            let key = value.source.split(':').next().expect("a key");
            let stands = format!("\"{} @{key}\"", value.value);
            assert!(said.clone().any(|line| line.contains(&stands)), "{name}: {stands}");
        }
    }
    let derived = derived(&xeon);
    let value = |name: &str| derived.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!(value("DRAM banks"), Some("16"));
    assert_eq!(value("L3 page colors"), Some("128"));
    assert_eq!(value("guesses"), Some("yes: resembles the chip, not validated"));
}

/// A platform is free of guesses only when every value has a source that is neither a guess nor somebody's memory,
/// whatever its key; then, and for no shipped chip, that is said.
#[test]
fn nothing_guessed_or_remembered_passes_for_checked() {
    let text = std::fs::read_to_string("../../platforms/xeon-w3530.toml").expect("it is there");
    let sourced = |text: &str| {
        let platform = parse_platform(text, "sources").unwrap_or_else(|report| panic!("{report}"));
        let said = derived(&platform).into_iter().find(|(name, _)| name == "guesses").expect("it is said").1;
        (has_guesses(&platform), said)
    };
    // Every value from the paper, as it were.
    let keys = ["S", "A", "K", "J", "M", "G", "R"];
    let all = keys.iter().fold(text.clone(), |text, key| text.replace(&format!(" @{key}\""), " @P\""));
    assert_eq!(sourced(&all), (false, "none".to_owned()));
    for one in ["J", "M", "G"] {
        let rest = keys.iter().filter(|key| **key != one);
        let text = rest.fold(text.clone(), |text, key| text.replace(&format!(" @{key}\""), " @P\""));
        let (guesses, said) = sourced(&text);
        assert!(guesses && said.contains("not validated"), "{one}: {said}");
    }
}

/// Levels, sharers, sets and ways are what the file says, not what chips usually have.
#[test]
fn caches_may_have_any_shape() {
    let text = std::fs::read_to_string("../../platforms/xeon-w3530.toml").expect("it is there");
    let cache = |name: &str, shared: &str, size: &str, ways: u16, latency: u64| {
        format!(
            "[[cache]]\nname = \"{name}\"\nshared-by = \"{shared} @G\"\nsize = \"{size} @G\"\nways = \"{ways} @G\"\n\
             line = \"64B @G\"\nlatency = \"{latency} @G\"\nreplacement = \"tree-plru @G\"\ninclusion = \"non-inclusive @G\"\n"
        )
    };
    let with = |more: &[String]| text.replace("[coherence]", &format!("{}[coherence]", more.concat()));
    let whole = with(&[
        cache("L4", "0 2, 1 3", "9MiB", 24, 60),
        cache("L5", "0-1, 2-3", "10MiB", 20, 80),
        cache("L6", "chip", "12MiB", 3, 100),
    ]);
    let platform = parse_platform(&whole, "deep").unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(platform.levels(), 6);
    let cores = |list: &[u16]| list.iter().map(|core| CoreId(*core)).collect();
    assert_eq!(platform.clusters(4), [cores(&[0, 2]), cores(&[1, 3])]);
    assert_eq!(platform.clusters(5), [cores(&[0, 1]), cores(&[2, 3])]);
    // 9 MiB in 24 ways are 96 pages a way, 10 MiB in 20 are 128, 12 MiB in 3 are 1024.
    let colors = |level| {
        let of_level = platform.caches.iter().find(|cache| cache.level == level);
        of_level.map(|cache| cache.colors(platform.page))
    };
    assert_eq!([colors(4), colors(5), colors(6)], [Some(32), Some(128), Some(1024)]);
    for wrong in ["0 2, 1", "0 2, 1 4", "0 2, 2 3", "0 2, 1 3,", "3-1, 0 2", "0 x", "0 2 of nehalem"] {
        let text = with(&[cache("L4", wrong, "9MiB", 24, 60)]);
        assert!(parse_platform(&text, "wrong").is_err(), "{wrong}");
    }
}

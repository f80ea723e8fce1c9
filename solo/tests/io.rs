//! `solo io`: offsets for partitions and their I/O, as a user asks for them.

mod common;

use common::{root, solo};
use std::fs;
use std::process::Output;

fn io(path: &std::path::Path, words: &[&str]) -> Output {
    solo().arg("io").arg(path).args(words).output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_example_of_section_5_has_one_offset_only() {
    let text = fs::read_to_string(root().join("scenarios/io/section-5.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partitions.toml");
    for offset in [0, 5, 6, 7, 17] {
        let begins = format!("begins = {{ processing = \"{offset}ms\" }}");
        let (first, second) = text.rsplit_once("begins = { processing = \"6ms\" }").unwrap();
        fs::write(&path, format!("{first}{begins}{second}")).unwrap();
        let output = io(&path, &[]);
        assert_eq!(output.status.code(), Some(i32::from(offset != 6)), "{}", words(&output));
        if offset == 5 {
            let reason = "on core 1, the processing of `P2` begins 5ms after the processing of `P1` (modulo 18ms); \
                          they do not meet from 6ms to 6ms only";
            assert!(words(&output).contains(reason), "{}", words(&output));
        }
    }
}

#[test]
fn offsets_of_a_whole_machine_do_not_meet() {
    let output = io(&root().join("scenarios/io/eight-cores.toml"), &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = fs::read_to_string(root().join("scenarios/io/eight-cores.toml")).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let partitions = file["partition"].as_array().unwrap();
    assert_eq!(partitions.len(), answer["partitions"].as_array().unwrap().len());
    // Ten hyperperiods of 40 ms in tenths of milliseconds, a line for each resource.
    let mut lines = std::collections::BTreeMap::new();
    for (row, partition) in answer["partitions"].as_array().unwrap().iter().zip(partitions) {
        let period = row["period_ns"].as_u64().unwrap() / 100_000;
        for slot in row["steps"].as_array().unwrap() {
            let resource = match slot["step"].as_str().unwrap() {
                "processing" => format!("core {}", row["core"]),
                "physical input" => partition["input"]["device"].to_string(),
                "physical output" => partition["output"]["device"].to_string(),
                _ => "I/O core".to_owned(),
            };
            let line = lines.entry(resource.clone()).or_insert_with(|| vec![false; 4000]);
            let (begin, length) = (slot["begin_ns"].as_u64().unwrap(), slot["length_ns"].as_u64().unwrap());
            assert_eq!((begin % 100_000, length % 100_000), (0, 0));
            for instance in 0..4000 / period {
                for at in 0..length / 100_000 {
                    let at = (begin / 100_000 + instance * period + at) % 4000;
                    assert!(!std::mem::replace(&mut line[at as usize], true), "{resource} at {at}: {row}");
                }
            }
        }
    }
    assert_eq!(lines.len(), 7 + 1 + 4);
}

#[test]
fn what_is_wrong_or_hostile_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partitions.toml");
    let one = |line: &str| {
        format!("name = \"x\"\n[[partition]]\nname = \"p\"\ncore = 0\nperiod = \"10ms\"\n{line}\n")
    };
    for (text, code) in [
        (String::new(), 2),
        ("name = \"x\"\npartition = 7\n".to_owned(), 2),
        (one("processing = \"0ms\""), 2),
        (one("processing = \"-1ms\""), 2),
        (one("processing = \"1ms\"\nlatency = \"9000000000s\""), 2),
        (one("processing = \"1ms\"\nbegins = { processing = \"10ms\" }"), 2),
        (one("processing = \"11ms\""), 1),
        (one("processing = \"18446744073709551615ns\""), 2),
        (one("processing = \"1ms\"").replace("\"p\"", "\"\\u001b[31mp\""), 2),
        (one("processing = \"10ms\""), 0),
    ] {
        fs::write(&path, &text).unwrap();
        let output = io(&path, &[]);
        assert_eq!(output.status.code(), Some(code), "{text}\n{}", words(&output));
        assert!(!words(&output).contains('\u{1b}'), "{text}\n{}", words(&output));
    }
    assert_eq!(io(std::path::Path::new("/dev/zero"), &[]).status.code(), Some(2));
    assert_eq!(io(&folder.path().join("none.toml"), &[]).status.code(), Some(2));
}

/// A table that repeats after years is a table, and no scenario: what is too long is said before memory is used up for its windows.
#[test]
fn a_table_that_is_too_long_for_a_scenario_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partitions.toml");
    let told = |partitions: &[(u16, &str)]| {
        let one = |(at, (core, period)): (usize, &(u16, &str))| {
            format!(
                "[[partition]]\nname = \"p{at}\"\ncore = {core}\nperiod = \"{period}\"\nprocessing = \"1ns\"\n"
            )
        };
        fs::write(
            &path,
            "name = \"x\"\n".to_owned() + &partitions.iter().enumerate().map(one).collect::<String>(),
        )
        .unwrap();
        assert_eq!(io(&path, &[]).status.code(), Some(0));
        let output = io(&path, &["--scenario", "p4080"]);
        (output.status.code(), words(&output))
    };
    // 16 years of a table on one core; 584 on two; more than a clock counts on three.
    for periods in [
        &[(0, "1000000002ns"), (0, "1000000004ns")][..],
        &[(0, "1s"), (1, "999999937ns")],
        &[(0, "1000000001ns"), (1, "999999937ns"), (2, "999999929ns")],
    ] {
        let (code, text) = told(periods);
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("are longer than a scenario may be"), "{text}");
    }
    let (code, text) = told(&[(0, "10000000ns"), (0, "10000002ns")]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("which are 10000001 windows, and 10000 can be written"), "{text}");
    assert_eq!(told(&[(0, "10ms"), (1, "25ms")]).0, Some(0));
}

/// Steps are done in their order, whatever a file says of their begins: what contradicts that is told with its numbers.
#[test]
fn begins_against_the_order_of_steps_are_refused_with_how_far_off_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partitions.toml");
    let told = |latency: &str, begins: &str| {
        let text = format!(
            "name = \"x\"\n[[partition]]\nname = \"v\"\ncore = 1\nperiod = \"20ms\"\nprocessing = \"6ms\"\nlatency = \"{latency}\"\n\
             input = {{ device = \"camera\", physical = \"2ms\", transfer = \"1ms\" }}\n\
             output = {{ device = \"display\", physical = \"1ms\", transfer = \"500us\" }}\nbegins = {{ {begins} }}\n"
        );
        fs::write(&path, text).unwrap();
        let output = io(&path, &[]);
        (output.status.code(), words(&output))
    };
    // The transfer ends at 13 ms, so that processing at 4 ms is that of the next period, 11 ms later.
    let (code, text) = told("20ms", "processing = \"4ms\", device_input = \"12ms\"");
    assert_eq!(code, Some(1), "{text}");
    let expected = "the processing of `v` waits 11ms for the time at which it has to begin: from its first step to its last the \
                    partition takes 21500µs, 1500µs more than its latency of 20ms";
    assert!(text.contains(expected), "{text}");
    // As soon as it may take so long there are offsets, and with the order of the steps at once.
    let (code, text) = told("21500us", "processing = \"4ms\", device_input = \"12ms\"");
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(told("20ms", "processing = \"13ms\", device_input = \"12ms\"").0, Some(0));
}

/// Runs a scenario as a library does and gives what became of each slot, and how many deadlines were missed.
fn slots(experiment: &solo_model::Experiment) -> (Vec<solo_model::record::TransferRecord>, u64) {
    struct Heard(Vec<solo_model::record::TransferRecord>, u64);
    impl solo_sim::Observer for Heard {
        fn record(&mut self, record: solo_model::Record) -> std::ops::ControlFlow<()> {
            match record {
                solo_model::Record::Transfer(transfer) => self.0.push(transfer),
                solo_model::Record::Job(job) => self.1 += u64::from(job.missed()),
                solo_model::Record::Unfinished(job) => {
                    self.1 += u64::from(job.deadline.is_some_and(|deadline| deadline < job.at));
                }
                _ => {}
            }
            std::ops::ControlFlow::Continue(())
        }
    }
    let mut heard = Heard(Vec::new(), 0);
    solo_sim::run(experiment, &[], &mut heard).unwrap();
    (heard.0, heard.1)
}

/// The scenario of a table, for ten hyperperiods.
fn scenario(path: &std::path::Path, seed: &str) -> Option<solo_model::Experiment> {
    let output = io(path, &["--scenario", "p4080", "--seed", seed]);
    if output.status.code() == Some(1) {
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let read =
        solo_scenario::parse(&text, std::path::Path::new("t.toml"), &solo_scenario::Platforms::builtin());
    let read = read.unwrap_or_else(|report| panic!("{report}\n{text}"));
    assert!(read.warnings.is_empty());
    Some(read.base)
}

#[test]
fn tables_run_for_ten_hyperperiods_and_each_slot_holds() {
    for name in ["section-5", "eight-cores"] {
        let experiment = scenario(&root().join(format!("scenarios/io/{name}.toml")), "1").unwrap();
        let (found, missed) = slots(&experiment);
        assert_eq!(missed, 0, "{name}");
        for (at, device) in experiment.devices.iter().enumerate() {
            let own = found.iter().filter(|transfer| transfer.device.index() == at);
            assert!(own.count() >= 10, "{name}: {}", device.name);
        }
        let broken: Vec<_> =
            found.iter().filter(|slot| !slot.left.is_zero() || slot.overlaps.is_some()).collect();
        assert!(broken.is_empty(), "{name}: {broken:?}");
    }
}

#[test]
fn a_slot_of_a_table_that_is_moved_onto_another_is_found_by_the_run() {
    let table = root().join("scenarios/io/eight-cores.toml");
    let experiment = scenario(&table, "3").unwrap();
    let (mut found, mut all) = (0, 0);
    for at in 0..experiment.devices.len() {
        for distance in [100_000, 250_000, 400_000] {
            let mut moved = experiment.clone();
            let device = &mut moved.devices[at];
            device.offset += solo_model::Duration::new(distance);
            let piece = |device: &solo_model::Device| solo_ima::Piece {
                offset: device.offset.get().cast_signed(),
                length: device.slot.get().cast_signed(),
                period: device.period.get().cast_signed(),
            };
            let judged =
                |one: &solo_model::Device, other: &solo_model::Device| piece(one).meets(&piece(other));
            let own = &moved.devices[at];
            let meets =
                moved.devices.iter().enumerate().any(|(other, device)| other != at && judged(own, device));
            let overlaps = slots(&moved).0.iter().any(|slot| slot.overlaps.is_some());
            assert_eq!(overlaps, meets, "{} by {distance} ns", own.name);
            found += u64::from(overlaps);
            all += 1;
        }
    }
    assert!(found > 3 && found < all, "{found} of {all}");
}

#[test]
fn drawn_tables_run_without_an_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drawn.toml");
    let mut ran = 0;
    for seed in 0..12_u64 {
        let mut random = solo_model::SplitMix64::new(seed);
        let family = solo_ima::draw::Family {
            partitions: 10,
            per_core: 2,
            utilization: solo_model::PerMille::new(600).unwrap(),
        };
        let mut text = format!("name = \"drawn {seed}\"\n");
        for (at, partition) in family.draw(&mut random).into_iter().enumerate() {
            let us = |time: solo_model::Duration| time.get() / 1000;
            text += &format!(
                "[[partition]]\nname = \"p{at}\"\ncore = {}\nperiod = \"{}us\"\nprocessing = \"{}us\"\n",
                partition.core.0,
                us(partition.period),
                us(partition.processing)
            );
            for (key, side) in [("input", partition.input), ("output", partition.output)] {
                let side = side.unwrap();
                text += &format!(
                    "{key} = {{ device = \"d{}\", physical = \"{}us\", transfer = \"{}us\" }}\n",
                    side.device.0,
                    us(side.physical),
                    us(side.transfer)
                );
            }
        }
        fs::write(&path, text).unwrap();
        let Some(experiment) = scenario(&path, "1") else { continue };
        let (found, missed) = slots(&experiment);
        let broken = found.iter().filter(|slot| !slot.left.is_zero() || slot.overlaps.is_some()).count();
        assert_eq!((broken, missed), (0, 0), "seed {seed}");
        assert!(found.len() >= 10 * experiment.devices.len());
        ran += 1;
    }
    assert!(ran >= 6, "{ran}");
}

#[test]
fn a_platform_without_a_core_for_io_is_refused() {
    let output = io(&root().join("scenarios/io/eight-cores.toml"), &["--scenario", "xeon-w3530"]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("has 4 cores"), "{}", words(&output));
}

/// A table of up to four partitions on two cores; times in milliseconds.
fn drawn(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let periods: &[u64] = [&[6, 12][..], &[4, 8], &[10, 20], &[6, 9, 12], &[18, 36]][below(5) as usize];
    let mut text = "name = \"drawn\"\n".to_owned();
    for at in 0..1 + below(4) {
        let period = periods[below(periods.len() as u64) as usize];
        text += &format!(
            "[[partition]]\nname = \"p{at}\"\ncore = {}\nperiod = \"{period}ms\"\nprocessing = \"{}ms\"\n",
            below(2),
            1 + below(period / 2)
        );
        for side in ["input", "output"] {
            if below(2) == 0 {
                let (device, physical) = (below(2), below(2));
                text += &format!(
                    "{side} = {{ device = \"d{device}\", physical = \"{physical}ms\", transfer = \"1ms\" }}\n"
                );
            }
        }
    }
    text
}

/// Each scenario that is written is proved: no processing is longer than its window, also where the cycle's end cuts a window in two.
#[test]
fn written_scenarios_are_proved() {
    let folder = tempfile::tempdir().unwrap();
    let (table, scenario) = (folder.path().join("table.toml"), folder.path().join("scenario.toml"));
    let (mut written, mut cut) = (0, 0);
    for seed in 0..60 {
        let text = drawn(seed);
        fs::write(&table, &text).unwrap();
        let output = io(&table, &["--scenario", "p4080"]);
        if output.status.code() != Some(0) {
            continue;
        }
        written += 1;
        let found = String::from_utf8(output.stdout).unwrap();
        let file: toml::Table = found.parse().unwrap();
        let cycles = file["isolation"]["cycle"].as_array().unwrap();
        let of = |window: &toml::Value| window["partition"].as_str().unwrap().to_owned();
        let in_two = |cycle: &toml::Value| {
            let windows = cycle["windows"].as_array().unwrap();
            let processing = |name: &str| {
                let tasks = file["task"].as_array().unwrap().iter();
                tasks.clone().find(|task| task["name"].as_str() == Some(name)).unwrap()["wcet"].clone()
            };
            windows.iter().any(|window| window["length"] != processing(&of(window)))
        };
        cut += u64::from(cycles.iter().any(in_two));
        fs::write(&scenario, &found).unwrap();
        let output = solo().arg("check").arg(&scenario).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "seed {seed}: {}\n{found}", words(&output));
    }
    assert!(written > 20 && cut > 5, "{written} were written, and {cut} cut a window in two");
}

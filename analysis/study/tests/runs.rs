//! A study leaves the same behind however it was run: at once, in pieces, in shards, after a kill.

use solo_study::{
    Collection, Ended, Overrides, Progress, Shard, StudyError, StudyPlan, load, merge, parse, run, write_all,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const STUDY: &str = r#"
name = "small"
sets = 45
cores = 4
cluster = 2
caps = { from = 1.5, to = 4.0, step = 0.5 }

[distributions]
utilizations = ["uniform-medium", "bimodal-light"]
periods = ["short"]

[[distribution]]
name = "uunifast"
utilization = { uunifast = { tasks = 8 } }
period-ms = [10, 100]

[[curve]]
name = "P"
any-of = ["pedf_ffd"]

[[curve]]
name = "C with overheads"
any-of = ["cedf_wfd"]
overheads = "epos"
tick-us = 1000
ipi = true

[[curve]]
name = "G"
any-of = ["gfb", "rta"]
"#;

fn plan() -> StudyPlan {
    parse(STUDY, Path::new("small.toml"), Overrides::default()).expect("the study is sound")
}

/// Stops after so many reports.
struct Stopping(AtomicU64);

impl Progress for Stopping {
    fn done(&self, sets: u64, of: u64) {
        assert!(sets <= of);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok();
    }
    fn stop(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

fn never() -> Stopping {
    Stopping(AtomicU64::new(u64::MAX))
}

fn outcome(plan: &StudyPlan, dirs: &[PathBuf], out: &Path) -> Vec<(String, Vec<u8>)> {
    let results = merge(plan, dirs).expect("nothing is missing");
    let written = write_all(&results, &results.summary(), out).expect("the folder is writable");
    let mut files = vec![written.summary, written.page];
    files.extend(written.parquet);
    files.extend(written.figures);
    files
        .into_iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect()
}

fn at_once(plan: &StudyPlan, dir: &Path) -> Vec<(String, Vec<u8>)> {
    let ended = run(plan, dir, Shard::WHOLE, &never()).unwrap();
    assert_eq!((ended.before, ended.now), (0, plan.total_sets()));
    outcome(plan, &[dir.to_path_buf()], dir)
}

#[test]
fn interrupted_and_cut_runs_end_like_one_run_at_once() {
    let (plan, once, pieces) = (plan(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = at_once(&plan, once.path());
    let mut rounds = 0;
    loop {
        match run(&plan, pieces.path(), Shard::WHOLE, &Stopping(AtomicU64::new(9))) {
            Err(StudyError::Interrupted) => {}
            Ok(Ended { before, now, .. }) => {
                assert_eq!(before + now, plan.total_sets());
                break;
            }
            Err(other) => panic!("{other}"),
        }
        // A kill cuts the last line.
        let journal = pieces.path().join("journal.jsonl");
        let length = std::fs::metadata(&journal).unwrap().len();
        std::fs::OpenOptions::new().write(true).open(&journal).unwrap().set_len(length - 7).unwrap();
        assert!(matches!(merge(&plan, &[pieces.path().to_path_buf()]), Err(StudyError::Missing { .. })));
        rounds += 1;
        assert!(rounds < 100);
    }
    assert!(rounds > 2);
    assert!(outcome(&plan, &[pieces.path().to_path_buf()], pieces.path()) == expected);
}

#[test]
fn shards_put_together_are_the_whole() {
    let (plan, once, out) = (plan(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = at_once(&plan, once.path());
    let dirs: Vec<tempfile::TempDir> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let paths: Vec<PathBuf> = dirs.iter().map(|dir| dir.path().to_path_buf()).collect();
    for (index, dir) in (1..).zip(&paths) {
        if index == 3 {
            let Err(StudyError::Missing { shard, .. }) = merge(&plan, &paths[..2]) else {
                panic!("complete?")
            };
            assert_eq!(shard, "3/3");
        }
        run(&plan, dir, Shard { index, of: 3 }, &never()).unwrap();
    }
    assert!(outcome(&plan, &paths, out.path()) == expected);
}

#[test]
fn a_folder_of_another_study_is_refused_and_damage_is_told() {
    let (plan, dir) = (plan(), tempfile::tempdir().unwrap());
    run(&plan, dir.path(), Shard::WHOLE, &never()).unwrap();
    let other = parse(STUDY, Path::new("x"), Overrides { seed: Some(2), ..Overrides::default() }).unwrap();
    assert!(matches!(run(&other, dir.path(), Shard::WHOLE, &never()), Err(StudyError::OtherStudy { .. })));
    let journal = dir.path().join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, text.replacen(" T", " F", 1)).unwrap();
    let found = merge(&plan, &[dir.path().to_path_buf()]);
    assert!(matches!(found, Err(StudyError::Damaged { line: 2.., .. })), "{found:?}");
}

/// Journals that somebody has written to do harm: sums that overflow, a shard of none, a version that is none.
#[test]
fn hostile_journals_are_told_from_sound_ones() {
    let (plan, dir) = (plan(), tempfile::tempdir().unwrap());
    run(&plan, dir.path(), Shard::WHOLE, &never()).unwrap();
    let journal = dir.path().join("journal.jsonl");
    let sound = std::fs::read_to_string(&journal).unwrap();
    let judge = |text: &str, name: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), text).unwrap();
        merge(&plan, &[folder.path().to_path_buf()])
    };
    assert!(judge(&sound, "journal.jsonl").is_ok());
    let number = |line: &str| {
        let begin = line.find("\"cpu_us\":").unwrap() + 9;
        (begin, begin + line[begin..].find(',').unwrap())
    };
    for huge in [u64::MAX, u64::MAX / 2, 1 << 62] {
        let forged: Vec<String> = sound
            .lines()
            .map(|line| match line.contains("cpu_us") {
                true => format!("{}{huge}{}", &line[..number(line).0], &line[number(line).1..]),
                false => line.to_owned(),
            })
            .collect();
        let found = judge(&(forged.join("\n") + "\n"), "journal.jsonl");
        assert!(matches!(found, Err(StudyError::Damaged { line: 2, .. })), "{huge}: {found:?}");
    }
    let header = sound.lines().next().unwrap().to_owned() + "\n";
    for name in ["journal-1-of-0.jsonl", "journal-1-of-x.jsonl", "journal-9-of-18446744073709551615.jsonl"] {
        assert!(matches!(judge(&header, name), Err(StudyError::Missing { .. })), "{name}");
    }
    assert!(header.contains("\"format\":\"study-journal\",\"schema\":1,"), "{header}");
    let newer = judge(&sound.replacen("\"schema\":1", "\"schema\":2", 1), "journal.jsonl");
    assert!(matches!(newer, Err(StudyError::Damaged { line: 1, .. })), "{newer:?}");
    let older = judge(&sound.replacen("\"format\":\"study-journal\",\"schema\":1,", "", 1), "journal.jsonl");
    assert!(older.is_ok(), "journals from before the version have version 1: {older:?}");
}

#[test]
fn losses_that_no_clock_counts_are_refused() {
    let sets = "[working-sets]\nsizes-kib = [1073741824]\nline-bytes = 1\nmiss-ps = 1000000000\n";
    let text = format!("{STUDY}{sets}").replace("name = \"G\"\n", "name = \"G\"\nworking-sets = true\n");
    assert!(text.contains("working-sets = true"));
    let error = parse(&text, Path::new("small.toml"), Overrides::default())
        .expect_err("2^40 misses of a millisecond");
    assert!(error.to_string().contains("longer than any clock counts"), "{error}");
}

#[test]
fn wrong_studies_say_what_is_wrong() {
    let cases = [
        ("cores = 4", "cores = 0", "cores"),
        ("cluster = 2", "cluster = 3", "cluster"),
        ("sets = 45", "sets = 0", "sets"),
        ("from = 1.5", "from = 5.0", "caps"),
        ("step = 0.5", "step = 0.0", "caps"),
        ("step = 0.5", "step = nan", "caps"),
        ("uniform-medium", "uniform-mediun", "uniform-mediun"),
        ("\"short\"", "\"brief\"", "brief"),
        ("tasks = 8", "tasks = 0", "tasks"),
        ("tasks = 8", "task = 8", "task"),
        ("[10, 100]", "[100, 10]", "period-ms"),
        ("\"pedf_ffd\"", "\"pedf_fdf\"", "pedf_fdf"),
        ("any-of = [\"gfb\", \"rta\"]", "any-of = []", "any-of"),
        ("\"epos\"", "\"nowhere.json\"", "nowhere.json"),
        ("tick-us = 1000", "tick-us = 0", "tick-us"),
        ("name = \"small\"", "name = \"small\"\nnmae = 1", "nmae"),
    ];
    for (from, to, expected) in cases {
        let text = STUDY.replace(from, to);
        assert_ne!(text, STUDY, "{from}");
        let error = parse(&text, Path::new("small.toml"), Overrides::default()).expect_err(to).to_string();
        assert!(error.contains("small.toml") && error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn blocks_that_others_judge_come_to_the_same_and_none_is_kept_twice() {
    let (plan, folder) = (plan(), tempfile::tempdir().unwrap());
    let mut collection = Collection::open(&plan, folder.path()).unwrap();
    let mut blocks = collection.left();
    assert_eq!(blocks, (0..plan.blocks()).collect::<Vec<_>>());
    // In any order, and some of them twice.
    blocks.reverse();
    blocks.extend([0, 3, 3]);
    let lines = solo_study::judge(&plan, &blocks, &|| false).unwrap();
    let new = lines.iter().filter(|line| collection.add(line).unwrap()).count() as u64;
    assert_eq!((new, collection.left()), (plan.blocks(), vec![]));
    assert!(matches!(collection.add("{}"), Err(StudyError::Strange { .. })));
    let accepted = lines.iter().find(|line| line.contains('T')).unwrap();
    let forged = collection.add(&accepted.replacen('T', "F", 1));
    assert!(matches!(forged, Err(StudyError::Strange { .. })));
    assert!(matches!(solo_study::judge(&plan, &[0], &|| true), Err(StudyError::Interrupted)));
    drop(collection);
    let alone = tempfile::tempdir().unwrap();
    run(&plan, alone.path(), Shard::WHOLE, &never()).unwrap();
    let summary = |dir: &Path| merge(&plan, &[dir.to_owned()]).unwrap().summary();
    assert_eq!(summary(folder.path()), summary(alone.path()));
}

/// Any cut and any changed byte of a study file gives a study or an error, never a panic.
#[test]
fn mutated_studies_never_panic() {
    let bytes = STUDY.as_bytes();
    let try_one = |text: &[u8]| {
        if let Ok(text) = std::str::from_utf8(text) {
            drop(parse(text, Path::new("small.toml"), Overrides::default()));
        }
    };
    for at in 0..bytes.len() {
        try_one(&bytes[..at]);
        for byte in [b'0', b'9', b'"', b'[', b'-', b'e'] {
            let mut changed = bytes.to_vec();
            changed[at] = byte;
            try_one(&changed);
        }
    }
}

#[test]
fn the_studies_that_come_with_the_program_are_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            load(&path, Overrides::default()).unwrap_or_else(|error| panic!("{error}"));
            count += 1;
        }
    }
    assert!(count >= 7);
}

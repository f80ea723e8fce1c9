//! Tables of overheads that are fitted to published curves.

use solo_study::{
    FitReport, Overrides, Progress, Shard, StudyError, TargetReport, load, load_fit, merge, run,
};
use std::path::{Path, PathBuf};

struct Silent;
impl Progress for Silent {
    fn done(&self, _: u64, _: u64) {}
    fn stop(&self) -> bool {
        false
    }
}

const STUDY: &str = r#"
name = "a study"
sets = 24
cores = 8
caps = { from = 3.0, to = 8.0, step = 0.25 }
[distributions]
utilizations = ["uniform-light"]
periods = ["short", "moderate"]
[[curve]]
name = "grows"
any-of = ["pedf_ffd"]
overheads = "TABLE"
tick-us = 1000
"#;

const FLAT: &str =
    r#"{"source":"flat","scheduling":[[0,5000]],"context-switch":[[0,20000]],"tick":[[0,10000]]}"#;

/// Scheduling costs up to 28 times as much with many threads.
const GROWN: &str = r#"{"source":"grown","scheduling":[[0,5000],[75,40000],[100,90000],[125,140000]],
    "context-switch":[[0,20000]],"tick":[[0,10000]]}"#;

/// A folder with the study under either table.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, table) in [("flat", FLAT), ("grown", GROWN)] {
        std::fs::write(dir.path().join(format!("{name}.json")), table).unwrap();
        let study = STUDY.replace("TABLE", &format!("{name}.json"));
        std::fs::write(dir.path().join(format!("{name}.toml")), study).unwrap();
    }
    dir
}

/// Where the curve of a study begins to fall and where it ends, for each distribution: what somebody reads from the figure.
fn read_off(study: &Path) -> Vec<[f64; 2]> {
    let plan = load(study, Overrides::default()).unwrap();
    let out = tempfile::tempdir().unwrap();
    run(&plan, out.path(), Shard::WHOLE, &Silent).unwrap();
    let summary = merge(&plan, &[out.path().to_path_buf()]).unwrap().summary();
    let crossing = |points: &[(f64, f64)], level: f64| {
        let pair = points.windows(2).find(|pair| pair[1].1 < level && pair[0].1 >= level).unwrap();
        let ((from, high), (to, low)) = (pair[0], pair[1]);
        from + (to - from) * (high - level) / (high - low)
    };
    let of = |one: &solo_study::DistributionSummary| {
        let point = |point: &solo_study::CurvePoint| {
            (point.cap_per_mille as f64 / 1000.0, point.schedulable as f64 / point.sets as f64)
        };
        let points: Vec<(f64, f64)> = one.curves[0].points.iter().map(point).collect();
        [crossing(&points, 0.99), crossing(&points, 0.01)]
    };
    summary.distributions.iter().map(of).collect()
}

fn file(threads: &str, targets: &[[f64; 2]]) -> String {
    let mut text = format!(
        "name = \"a fit\"\nsets = 24\nthreads = {threads}\n[studies]\nonly = \"flat.toml\"\n\
         [[table]]\nname = \"found\"\nstart = \"flat.json\"\ngrows = \"scheduling\"\ncurves = [\"grows\"]\n"
    );
    for (study, [drops, ends]) in ["short", "moderate"].iter().zip(targets) {
        for (key, cap) in [("drops-at", drops), ("ends-at", ends)] {
            text += &format!(
                "[[target]]\nsource = \"{study}\"\nstudy = \"only\"\ndistribution = \"uniform-light, {study}\"\n\
                 curve = \"grows\"\n{key} = {cap:.3}\n"
            );
        }
    }
    text + "[[sentence]]\ntext = \"no curve is above itself\"\nstudies = [\"only\"]\n\
            distributions = [\"uniform-light, short\"]\nabove = [[\"grows\"], [\"grows\"]]\n"
}

fn fitted(dir: &Path, text: &str) -> FitReport {
    let path = dir.join("fit.toml");
    std::fs::write(&path, text).unwrap();
    load_fit(&path, None).unwrap_or_else(|error| panic!("{error}")).fit(&Silent).unwrap()
}

fn off(target: &TargetReport, value: u64) -> f64 {
    (value as f64 / target.published_per_mille as f64 - 1.0).abs()
}

#[test]
fn a_table_that_grew_is_found_from_the_curves_that_it_made() {
    let dir = folder();
    let published = read_off(&dir.path().join("grown.toml"));
    let threads = "[5, 15, 25, 50, 75, 100, 125]";
    let report = fitted(dir.path(), &file(threads, &published));
    let costs: Vec<u64> = report.tables[0].steps.iter().map(|step| step.cost.get()).collect();
    println!("{costs:?} {:?}, left {}", report.targets, report.left_per_mille);
    // The flat table is far off at some number, the fitted one at none.
    assert!(report.targets.iter().any(|target| off(target, target.start_per_mille) > 0.1));
    for target in &report.targets {
        assert!(off(target, target.ours_per_mille) < 0.02, "{target:?}");
    }
    assert!(costs.is_sorted() && costs[0] >= 5000, "{costs:?}");
    assert!(costs[6] > 60_000, "{costs:?}");
    // A single step can't say it: growth is what the curves ask for.
    let flat = fitted(dir.path(), &file("[5]", &published));
    assert!(
        flat.left_per_mille >= 2 * report.left_per_mille.max(5),
        "{} {}",
        flat.left_per_mille,
        report.left_per_mille
    );
    // Twice the same.
    assert_eq!(fitted(dir.path(), &file(threads, &published)), report);
    // What does not hold is told.
    assert_eq!(report.broken().count(), 1);
    assert_eq!(report.tables[0].table.cost(solo_model::overhead::Overhead::Scheduling, 3).get(), costs[0]);
    assert!(report.tables[0].table.source.contains("fitted"), "{}", report.tables[0].table.source);
}

#[test]
fn fixed_points_stay_and_hold_the_others() {
    let dir = folder();
    let published = read_off(&dir.path().join("grown.toml"));
    let text = file("[5, 75, 100, 125]", &published)
        .replace("curves = [\"grows\"]\n", "curves = [\"grows\"]\nfixed = [[100, 30000]]\n");
    let costs: Vec<u64> =
        fitted(dir.path(), &text).tables[0].steps.iter().map(|step| step.cost.get()).collect();
    assert!(costs.is_sorted() && costs[2] == 30_000, "{costs:?}");
}

#[test]
fn the_thesis_file_names_what_is_there() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/fits/thesis-5-9.toml");
    load_fit(&path, Some(1)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn wrong_files_are_refused_by_name() {
    let dir = folder();
    let good = file("[5, 75]", &[[5.0, 6.0], [6.0, 7.0]]);
    // Of a file that is no study nothing is quoted, wherever it lies.
    std::fs::write(dir.path().join("secret"), "password hunter2\n").unwrap();
    let refused = |text: &str| -> String {
        let path: PathBuf = dir.path().join("wrong.toml");
        std::fs::write(&path, text).unwrap();
        let error: StudyError = load_fit(&path, None).expect_err(text);
        error.to_string()
    };
    let twice = "[[table]]\nname = \"other\"\nstart = \"flat.json\"\ngrows = \"scheduling\"\ncurves = [\"grows\"]\n[[target]]";
    let idle = "[[table]]\nname = \"idle\"\nstart = \"flat.json\"\ngrows = \"tick\"\ncurves = []\n[[target]]";
    for (from, to, wanted) in [
        ("study = \"only\"", "study = \"nobody\"", "there is no study \"nobody\"; there are only"),
        ("uniform-light, short", "heavy", "no distribution \"heavy\"; it has uniform-light, short"),
        ("curve = \"grows\"", "curve = \"falls\"", "has no curve \"falls\""),
        (
            "grows = \"scheduling\"",
            "grows = \"coffee\"",
            "there is no overhead \"coffee\"; there are context-switch",
        ),
        ("[5, 75]", "[75, 5]", "found [75, 5], expected 1 to 64 ascending numbers"),
        ("sets = 24", "sets = 0", "found 0, expected 1 to 10000"),
        ("name = \"found\"", "name = \"../found\"", "is no name of a file"),
        ("drops-at = 5.000", "", "expected one of drops-at, ends-at, gain (with over), weighted"),
        ("drops-at = 5.000", "gain = 1.2", "gain needs `over`"),
        ("drops-at = 5.000", "drops-at = nan", "expected 0.001 to 1024"),
        ("drops-at = 5.000", "weighted = 0.5\nsize-kib = 4", ""),
        ("curves = [\"grows\"]", "curves = [\"grows\"]\nfixed = [[6, 1]]", "fixed: [6, 1] is not at one of"),
        ("curves = [\"grows\"]", "curves = [\"grows\"]\nfixed = [[5, 9], [75, 1]]", "falls"),
        ("[[target]]", twice, "two tables inflate \"grows\""),
        ("[[target]]", idle, "no published number says anything of table \"idle\""),
        ("above = ", "beside = ", "unknown field `beside`"),
        ("only = \"flat.toml\"", "only = \"none.toml\"", "none.toml"),
        ("only = \"flat.toml\"", "only = \"secret\"", "studies: \"secret\" is no study file"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        if wanted.is_empty() {
            // A curve without working sets is the same at any size.
            std::fs::write(dir.path().join("fine.toml"), &text).unwrap();
            load_fit(&dir.path().join("fine.toml"), None).unwrap_or_else(|error| panic!("{error}"));
            continue;
        }
        let message = refused(&text);
        assert!(message.contains(wanted) && !message.contains("hunter2"), "{wanted}: {message}");
    }
}

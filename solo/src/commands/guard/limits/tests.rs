//! Limits from the words of the command line to what is told at the end, on the made-up machine of the tests of `solo-guard`.

#[path = "../../../../../machines/linux/guard/tests/kernel/mod.rs"]
mod kernel;

use super::*;
use crate::cli::{Cli, Command};
use clap::Parser;
use kernel::Kernel;
use solo_guard::limits::{Limit, LimitDoubt, LimitTally};
use solo_guard::{Fate, Group, Setting};
use solo_perf::files::Host;
use solo_report::table::Style;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn options(words: &[&str]) -> HoldArgs {
    let words = ["solo", "guard", "--back-end", "mba", "--quiet"].iter().chain(words);
    match Cli::parse_from(words).command {
        Command::Guard(args) => args.hold,
        other => panic!("{other:?}"),
    }
}

fn world() -> (Kernel, TempDir, TempDir) {
    let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    (Kernel::below(root.path(), state.path()), root, state)
}

fn plan(kernel: &Kernel, options: &HoldArgs) -> Plan {
    Plan::of(&understand(options).unwrap().budgets, &kernel.resctrl(), 77).unwrap()
}

/// Runs with these words to the end; returns what is told, and the program's status.
fn held(words: &[&str], meanwhile: &dyn Fn(&Kernel)) -> (Answer, Restored, Option<u8>) {
    let (kernel, _root, state) = world();
    let before = kernel.all();
    let options = options(words);
    let (plan, resctrl) = (plan(&kernel, &options), kernel.resctrl());
    let guard = Guard::start(state.path(), kernel.clone()).unwrap().0;
    let listener = Listener::bind(state.path()).unwrap();
    let time = understand(&options).unwrap().time;
    let attending = Attending { options: &options, plan: &plan, listener, time };
    let board = Board::make(state.path(), &names(&plan)).unwrap();
    let told = hold((&plan, &resctrl), guard, attending, board, &|| meanwhile(&kernel)).unwrap();
    assert_eq!(kernel.all(), before);
    assert!(!state.path().join("live").exists(), "a guard that has ended shows nothing");
    told
}

/// `solo top -V guard` and `solo serve -V guard` read these columns: the rate of the last second stands beside the limit.
#[test]
fn a_watch_shows_rates_beside_limits_until_the_guard_ends() {
    let (kernel, _root, state) = world();
    let options = options(&["-b", "1=800MiB/s", "-b", "2=300MiB/s", "--time", "2500ms"]);
    let (plan, resctrl) = (plan(&kernel, &options), kernel.resctrl());
    // Where a watch looks, below a root of its own.
    let machine = Host::below(state.path());
    let folder = state.path().join("run/solo-guard");
    std::fs::create_dir_all(&folder).unwrap();
    let guard = Guard::start(state.path(), kernel.clone()).unwrap().0;
    let listener = Listener::bind(&folder).unwrap();
    let attending =
        Attending { options: &options, plan: &plan, listener, time: understand(&options).unwrap().time };
    let board = Board::make(&folder, &names(&plan)).unwrap();
    let begun = Instant::now();
    let entry = solo_watch::modules::entries().find(|entry| entry.name == "guard").unwrap();
    let find = || {
        let mut modules = solo_watch::Modules::none();
        modules.add((entry.find)(&machine)?);
        Some(modules)
    };
    let rows = std::cell::RefCell::new(Vec::new());
    let meanwhile = || {
        kernel.moved("solo-guard-77-cpu1", format!("{}\n", kernel::BEGUN + 100 * MIB));
        let Some(mut modules) = find() else { return };
        let at = solo_model::Instant::new(u64::try_from(begun.elapsed().as_nanos()).unwrap());
        let values = modules.sample(at, &machine, &|_| None);
        rows.borrow_mut().push(modules.columns().iter().cloned().zip(values).collect::<Vec<_>>());
    };
    hold((&plan, &resctrl), guard, attending, board, &meanwhile).unwrap();
    assert!(find().is_none(), "a guard that has ended shows nothing");
    let rows = rows.into_inner();
    let of = |row: &[(String, Option<i64>)], column: &str| {
        row.iter().find(|(name, _)| name == column).unwrap_or_else(|| panic!("{column}: {row:?}")).1
    };
    let first = &rows[1];
    assert_eq!(of(first, "guard_cpu1_limit_bytes_per_s"), i64::try_from(800 * MIB).ok());
    assert_eq!(of(first, "guard_cpu2_limit_bytes_per_s"), i64::try_from(300 * MIB).ok());
    assert_eq!(of(first, "guard_cpu1_rate_bytes_per_s"), None, "no second is over");
    let known = |row: &&Vec<_>| of(row, "guard_cpu1_rate_bytes_per_s").is_some();
    let counted = rows.iter().find(known).expect("a second is over");
    // 100 MiB in the second that ended first, which may have been longer.
    let rate = of(counted, "guard_cpu1_rate_bytes_per_s").unwrap();
    let mib = i64::try_from(MIB).unwrap();
    assert!(rate > 10 * mib && rate <= 100 * mib, "{rate}");
    assert_eq!(of(counted, "guard_cpu2_rate_bytes_per_s"), Some(0));
    // What grows is shown from a second look at the same module on.
    assert_eq!(of(counted, "guard_cpu1_intervals_above"), None);
}

#[test]
fn limits_are_held_while_a_program_runs_and_its_status_is_passed_on() {
    let looks_right = |kernel: &Kernel| {
        assert_eq!(kernel.cpus("solo-guard-77-cpu1"), [1].into());
        assert!(kernel.says("solo-guard-77-cpu1/schemata").starts_with("MB:0=800;1=800"));
    };
    let words = ["-b", "1=800MiB/s", "--", "sh", "-c", "sleep 0.15; exit 7"];
    let (answer, restored, status) = held(&words, &looks_right);
    assert_eq!(status, Some(7));
    assert!(restored.is_whole() && answer.is_held());
    let (answer, _, status) = held(&["-b", "1=800MiB/s", "--time", "150ms"], &looks_right);
    assert_eq!(status, None);
    // The counter stood still, for the time that there was.
    let text = answer.text(Style::PLAIN);
    assert!(text.contains("kept, by mean rates") && text.contains("core1"), "{text}");
}

#[test]
fn a_rehearsal_prints_each_write() {
    let (kernel, root, _state) = world();
    let before = kernel.all();
    let options = options(&["-b", "3=305MiB/s", "--budget", "1=1GiB/s", "--dry-run"]);
    let who = "no policy runs, and no decision is told again: the kernel's controller compares once a second what was counted with the \
               limit, and moves the processor's delays";
    let group = "/sys/fs/resctrl/solo-guard-77-cpu";
    let expected = format!(
        "back end: mba ({who})\n\
         would make {group}1\n\
         would write L3:0=ff;1=fff\\nMB:0=1020;1=1020 into {group}1/schemata\n\
         would write 1 into {group}1/cpus_list; it is in the root's\n\
         would make {group}3\n\
         would write L3:0=ff;1=fff\\nMB:0=300;1=300 into {group}3/schemata\n\
         would write 3 into {group}3/cpus_list; it is in the root's\n\
         would put everything back at the end, and take the groups away\n\
         doubt: core1: 1GiB/s is written as 1020 MiB/s, rounded down to steps of 10 so that it is not exceeded for that\n\
         doubt: core3: 305MiB/s is written as 300 MiB/s, rounded down to steps of 10 so that it is not exceeded for that\n"
    );
    assert_eq!(answer::dry(&plan(&kernel, &options)), expected);
    assert_eq!(limit(&options, root.path()).unwrap(), Exit::Held);
    assert_eq!(kernel.all(), before);
}

/// A folder that is no kernel makes no files in a new group: what was made is taken away.
#[test]
fn what_stops_halfway_is_put_back() {
    let (kernel, root, _state) = world();
    let (before, state) = (kernel.all(), tempfile::tempdir().unwrap());
    let options = options(&["-b", "1=800MiB/s"]);
    let resctrl = kernel.resctrl();
    let plan = plan(&kernel, &options);
    let guard = Guard::start(state.path(), Machine::below(root.path()).unwrap()).unwrap().0;
    let listener = Listener::bind(state.path()).unwrap();
    let attending = Attending { options: &options, plan: &plan, listener, time: None };
    let board = Board::make(state.path(), &names(&plan)).unwrap();
    let failure = hold((&plan, &resctrl), guard, attending, board, &|| {}).map(drop).unwrap_err().to_string();
    assert!(failure.contains("/sys/fs/resctrl/solo-guard-77-cpu1/schemata is to be"), "{failure}");
    assert_eq!(kernel.all(), before);
    assert!(!kernel.file("solo-guard-77-cpu1").exists());
}

fn tally(cpu: u16, asked: u64, mib: u64) -> LimitTally {
    let group = Group::new(&format!("solo-guard-77-cpu{cpu}")).unwrap();
    let limit = Limit { core: CoreId(cpu), asked: Bandwidth::new(asked * MIB), mib, group };
    LimitTally {
        limit,
        stood: true,
        intervals: 0,
        unknown: 0,
        backwards: 0,
        mean: None,
        most: None,
        above: 0,
    }
}

/// What became of two limits: how far one was kept, and nothing is known of the other.
fn example(mean: u64, stood: bool) -> Answer {
    let (mean, most) = (Some(Bandwidth::new(mean * MIB)), Some(Bandwidth::new(1200 * MIB + MIB / 2)));
    let known = LimitTally { intervals: 10, above: 2, mean, most, stood, ..tally(1, 805, 800) };
    let unknown = LimitTally { unknown: 11, ..tally(2, 300, 300) };
    let said = "Unavailable".to_owned();
    let doubts = [LimitDoubt::Unknown { core: CoreId(2), readings: 11, all: 11, said }];
    let settings = vec![(Setting::CacheCpu { cpu: 1 }, Fate::PutBack)];
    let restored = Restored { settings, earlier_boot: false };
    Answer::of(Duration::from_millis(10_000), &[known, unknown], &doubts, &restored)
}

#[test]
fn rates_stand_beside_limits_and_nobody_claims_a_decision() {
    assert_eq!(
        example(512, true).text(Style::PLAIN),
        "limits of memory bandwidth, for 10.0 s: set; whether they were kept is not known\n\n \
         of     limit MiB/s  mean MiB/s  most in 1 s  above in\n\
         ───────────────────────────────────────────────────────\n \
         core1          800       512.0       1200.5   2 of 10\n \
         core2          300           -            -         -\n\
         no tier: no policy runs, and no decision is told again: the kernel's controller compares once a second what was counted with \
         the limit, and moves the processor's delays. Back end mba. A limit makes a CPU wait longer for memory. The delay is relative \
         and no cap: the limit is exceeded for seconds where the load changes.\n\
         doubt: core2: 11 of 11 readings were no numbers but `Unavailable`: no rate is known for them\n"
    );
}

#[test]
fn what_is_known_to_be_wrong_outweighs_what_is_not_known() {
    for (answer, held, verdict) in [
        (example(800, true), true, "set; whether they were kept is not known"),
        (example(801, true), false, "NOT kept, by mean rates"),
        (example(512, false), false, "NOT set as asked to the end"),
    ] {
        assert_eq!(answer.is_held(), held, "{verdict}");
        assert!(answer.text(Style::PLAIN).contains(verdict), "{verdict}");
    }
}

/// The answer has the fields of its schema, no more and no fewer; a machine that limits nothing can't show one.
#[test]
fn the_answer_fits_its_schema() {
    let schema: serde_json::Value = serde_json::from_str(Document::Limits.schema()).unwrap();
    let text = Document::Limits.text(&example(512, true)).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    fits(&schema, &answer, "answer");
}

fn fits(schema: &serde_json::Value, value: &serde_json::Value, place: &str) {
    let is = |name: &str| match &schema["type"] {
        serde_json::Value::Array(names) => names.iter().any(|one| one == name),
        one => one == name,
    };
    match value {
        serde_json::Value::Object(fields) => {
            let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
            let mut wanted: Vec<&str> =
                schema["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            names.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(names, wanted, "{place}");
            assert_eq!(schema["additionalProperties"], false, "{place}");
            for (name, value) in fields {
                fits(&schema["properties"][name], value, name);
            }
        }
        serde_json::Value::Array(items) => {
            assert!(is("array") && !items.is_empty(), "{place}");
            items.iter().for_each(|item| fits(&schema["items"], item, place));
        }
        serde_json::Value::String(text) => {
            assert!(is("string") || schema["const"] == *text, "{place}: {text}")
        }
        serde_json::Value::Number(number) => {
            assert!(
                is("integer") || schema["const"] == serde_json::Value::from(number.clone()),
                "{place}: {number}"
            )
        }
        serde_json::Value::Bool(_) => assert!(is("boolean"), "{place}"),
        serde_json::Value::Null => assert!(is("null"), "{place}"),
    }
}

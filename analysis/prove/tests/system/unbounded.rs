//! Each reason why what budgets do to a task is not bounded, from scenarios that differ in one thing from one that is.

use solo_model::{CoreId, Experiment};
use solo_prove::Effort;
use solo_prove::system::{Open, System, TaskFinding, Unbounded};
use solo_scenario::Platforms;
use std::path::Path;

/// Two cores with budgets and colors of their own; it is proved.
const SOUND: &str = r#"
name = "sound"
platform = "xeon-w3530"
duration = "20ms"
[scheduler]
policy = "P-RM"
[isolation.bandwidth]
period = "100us"
cores = { 0 = "10%", 1 = "10%" }
[[task]]
name = "one"
class = "hard"
core = 0
period = "10ms"
wcet = "100us"
misses = 100
colors = "0-3"
work = [{ stream = "64KiB", stride = "64B", accesses = 100 }]
[[task]]
name = "two"
class = "hard"
core = 1
period = "10ms"
wcet = "100us"
misses = 100
colors = "4-7"
work = [{ stream = "64KiB", stride = "64B", accesses = 100 }]
"#;

/// The first core divided.
const CYCLE: &str = r#"
[isolation.partitions]
first = ["one"]
[[isolation.cycle]]
core = 0
length = "10ms"
windows = [{ partition = "first", begin = "0ms", length = "5ms" }]
"#;

/// A device of the first task.
const DISK: &str = r#"
[[device]]
name = "disk"
owner = "one"
direction = "output"
moves = "64KiB"
period = "10ms"
"#;

fn experiment(text: &str) -> Experiment {
    let found = solo_scenario::parse(text, Path::new("sound.toml"), &Platforms::builtin());
    found.unwrap_or_else(|report| panic!("{}\n{text}", report.to_json())).base
}

/// Why the first task has no bound.
fn why(text: &str) -> Unbounded {
    match System::of(&experiment(text)).judge(&mut Effort::default()).tasks.swap_remove(0).outcome {
        TaskFinding::Open(Open::Regulated(why)) => why,
        other => panic!("{other:?}\n{text}"),
    }
}

#[test]
fn what_is_isolated_is_proved() {
    let held =
        SOUND.replace("[isolation.bandwidth]\n", "[isolation.bandwidth]\ndma = { disk = \"10MB/s\" }\n");
    for text in [SOUND.to_owned(), format!("{SOUND}{CYCLE}"), format!("{held}{DISK}")] {
        let judged = System::of(&experiment(&text)).judge(&mut Effort::default());
        let all = judged.tasks.iter().all(|task| matches!(task.outcome, TaskFinding::Proved(_)));
        assert!(all, "{judged:?}\n{text}");
    }
}

#[test]
fn each_reason_is_named() {
    use Unbounded::{
        Bus, Cache, Command, Counted, Data, Device, Input, Key, LockedLater, NoBudget, NoMisses, Prefetcher,
        Queue, Replacement, Sibling, Ticks,
    };
    let regulated =
        |more: &str| SOUND.replace("[isolation.bandwidth]\n", &format!("[isolation.bandwidth]\n{more}\n"));
    let calm =
        |platform: &str| SOUND.replace("\"xeon-w3530\"", &format!("\"{platform}\"\nprefetcher = \"off\""));
    let cases = [
        (Key("sharing"), regulated("sharing = \"spare\"")),
        (Key("reclaim"), regulated("reclaim = \"pool\"")),
        (Key("carry-over"), regulated("carry-over = \"yes\"")),
        (Device("disk".into()), format!("{SOUND}{DISK}")),
        (
            Input("disk".into(), 0),
            regulated("dma = { disk = \"10MB/s\" }").replacen(
                "accesses = 100 }",
                "accesses = 100, buffer = \"common\" }",
                1,
            ) + &DISK.replace("\"output\"", "\"input\"\nbuffer = \"common\"")
                + "[[buffer]]\nname = \"common\"\nsize = \"64KiB\"\n",
        ),
        (
            Key("at"),
            format!("{SOUND}\n[[isolation.bandwidth.change]]\nat = \"5ms\"\ncores = {{ 0 = \"5%\" }}\n"),
        ),
        (Key("weight"), SOUND.replace("1 = \"10%\"", "1 = \"weight 1\"")),
        (Key("budget"), SOUND.replace("colors = \"4-7\"", "colors = \"4-7\"\nbudget = \"5%\"")),
        (Counted, regulated("counts = \"reads-and-writes\"")),
        (Prefetcher, SOUND.replace("[scheduler]", "prefetcher = \"on\"\n[scheduler]")),
        (Ticks, SOUND.replace("policy = \"P-RM\"", "policy = \"P-RM\"\ntick = \"1ms\"")),
        (Queue, SOUND.replace("P-RM", "G-RM").replace("core = 0\n", "").replace("core = 1\n", "")),
        (NoBudget(CoreId(1)), SOUND.replace(", 1 = \"10%\"", "")),
        (NoMisses(0), SOUND.replacen("misses = 100\n", "", 1)),
        (Cache(0, 1), SOUND.replace("hard", "soft").replace("\"4-7\"", "\"3-7\"")),
        (Cache(0, 1), SOUND.replace("hard", "soft").replace("colors = \"0-3\"\n", "")),
        (
            Data(0, 1),
            SOUND.replace("accesses = 100 }", "accesses = 100, buffer = \"common\" }")
                + "[[buffer]]\nname = \"common\"\nsize = \"64KiB\"\n",
        ),
        (LockedLater, format!("{SOUND}\n[isolation.lockdown]\none = 1\nwhen = \"job\"\n")),
        (
            Command(2),
            format!(
                "{SOUND}[[task]]\nname = \"program\"\nclass = \"best-effort\"\ncore = 1\ncommand = [\"gzip\"]\n"
            ),
        ),
        (Sibling, calm("i7-2600")),
        (Bus, calm("core2-q9550")),
        (
            Replacement(0, 1),
            SOUND.replace("colors = \"0-3\"", "ways = \"0-3\"").replace("colors = \"4-7\"", "ways = \"4-7\""),
        ),
    ];
    for (expected, text) in cases {
        assert_eq!(why(&text), expected, "{text}");
    }
}

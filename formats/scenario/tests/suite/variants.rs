//! What a variant can change, and what it leaves alone.

use solo_model::experiment::End;
use solo_model::task::Release;
use solo_model::work::{LockProtocol, Step};
use solo_model::{Bytes, CoreId, Criterion, Duration, Experiment, Scope};
use solo_scenario::{Platforms, Scenario, parse};
use std::path::Path;

const BASE: &str = r#"
name = "base"
platform = "i7-2600"
jobs = 10

[scheduler]
policy = "P-EDF"
overheads = "epos-thesis"

[[lock]]
name = "bus"
protocol = "ceiling"

[[buffer]]
name = "shared"
size = "64KiB"

[[task]]
name = "fast"
class = "hard"
core = 0
period = "5ms"
wcet = "1ms"
work = [{ lock = "bus" }, { sweep = "64KiB", buffer = "shared" }, { unlock = "bus" }]

[[task]]
name = "slow"
class = "soft"
core = 1
copies = 2
period = "50ms"
offset = "1ms"
wcet = "10ms"
work = [{ random = "32KiB", accesses = 100 }, { sweep = "32KiB", passes = 2 }, { sweep = "4KiB" }]

[[task]]
name = "rest"
class = "best-effort"
core = 2
work = [{ repeat = 3, steps = [{ compute = ["1ms", "2ms"] }] }]
"#;

fn read(variants: &str) -> Scenario {
    let text = format!("{BASE}{variants}");
    parse(&text, Path::new("variants.toml"), &Platforms::builtin())
        .unwrap_or_else(|report| panic!("{report}"))
}

fn variant(body: &str) -> Experiment {
    let mut scenario = read(&format!("[[variant]]\nname = \"v\"\n{body}\n"));
    let variant = scenario.variants.remove(0);
    assert_eq!(variant.variant, "v");
    assert_eq!(variant.name, "base");
    variant
}

fn names(experiment: &Experiment) -> Vec<&str> {
    experiment.tasks.iter().map(|task| task.name.as_str()).collect()
}

#[test]
fn a_variant_without_changes_is_the_scenario() {
    let scenario = read("[[variant]]\nname = \"same\"\n");
    let expected = Experiment { variant: String::from("same"), ..scenario.base.clone() };
    assert_eq!(scenario.variants, [expected]);
}

#[test]
fn tasks_are_taken_out_or_kept_by_name() {
    assert_eq!(names(&variant("without = [\"slow\"]")), ["fast", "rest"]);
    assert_eq!(names(&variant("only = [\"slow\"]")), ["slow-0", "slow-1"]);
}

#[test]
fn scheduler_keys_change_one_by_one() {
    let changed = variant("scheduler = { policy = \"C-LLF\", clusters = \"L2\", quantum = \"2ms\" }");
    assert_eq!(changed.policy.criterion, Criterion::Llf);
    assert_eq!(changed.policy.quantum, Some(Duration::from_millis(2)));
    assert!(matches!(&changed.policy.scope, Scope::Clustered(clusters) if clusters.len() == 4));
    assert_eq!(changed.overheads.source, "epos-thesis");
    assert_eq!(variant("scheduler.overheads = \"free\"").overheads.source, "free");
}

#[test]
fn a_duration_takes_the_place_of_jobs() {
    assert_eq!(variant("duration = \"3s\"").end, End::At(Duration::from_secs(3)));
    assert_eq!(variant("jobs = 7").end, End::Jobs(7));
}

#[test]
fn single_keys_of_a_task_change() {
    let changed = variant("[variant.task.fast]\ncore = 5\nperiod = \"8ms\"");
    let fast = &changed.tasks[0];
    assert_eq!(fast.core, Some(CoreId(5)));
    assert_eq!(fast.wcet, Some(Duration::from_millis(1)));
    let period = Duration::from_millis(8);
    assert_eq!(fast.release, Release::Periodic { offset: Duration::ZERO, period });
}

#[test]
fn locks_and_buffers_change_by_name() {
    let changed = variant("lock.bus.protocol = \"inheritance\"\nplatform = \"xeon-w3530\"\nseed = 9");
    assert_eq!(changed.locks[0].protocol, LockProtocol::Inheritance);
    assert_eq!(changed.platform.name, "xeon-w3530");
    assert_eq!(changed.seed, 9);
}

#[test]
fn steps_share_memory_of_one_size_and_copies_do_not() {
    let base = read("").base;
    let touched = |task: usize| -> Vec<usize> {
        let touches = base.tasks[task].work.steps.iter().filter_map(|step| match step {
            Step::Touch(touch) => Some(touch.buffer.index()),
            _ => None,
        });
        touches.collect()
    };
    let (first, second) = (touched(1), touched(2));
    assert_eq!(first[0], first[1]);
    assert_ne!(first[0], first[2]);
    assert!(second.iter().all(|buffer| !first.contains(buffer)));
    assert_eq!(base.buffers[first[0]].size, Bytes::from_kib(32));
    assert_eq!(base.buffers[touched(0)[0]].name, "shared");
}

#[test]
fn defaults_are_filled_in() {
    let base = read("").base;
    let Step::Touch(random) = &base.tasks[1].work.steps[0] else { panic!("a touch") };
    assert_eq!((random.accesses, random.stride, random.writes.get()), (100, Bytes::new(64), 0));
    let Step::Touch(sweep) = &base.tasks[1].work.steps[1] else { panic!("a touch") };
    assert_eq!(sweep.accesses, 2 * 32 * 1024 / 64);
    assert_eq!(base.tasks[3].release, Release::Continuous { offset: Duration::ZERO });
    assert_eq!(base.tasks[1].relative_deadline(), Some(Duration::from_millis(50)));
    assert_eq!(base.policy.quantum, None);
}

/// A variant may have steps in place of a program, and a program in place of steps, without taking the other out.
#[test]
fn a_variant_says_otherwise_what_a_job_does() {
    let text = format!(
        "{BASE}\n[[task]]\nname = \"zip\"\nclass = \"soft\"\ncore = 2\nperiod = \"50ms\"\ncommand = [\"gzip\", \"-k\"]\n\
         [[variant]]\nname = \"modelled\"\n[variant.task.zip]\nwork = [{{ compute = \"2ms\" }}]\n\
         [[variant]]\nname = \"real\"\n[variant.task.slow]\ncommand = [\"true\"]\n"
    );
    let scenario = parse(&text, Path::new("base.toml"), &Platforms::builtin()).expect("it is sound");
    let command = |experiment: &Experiment, name: &str| {
        let task = experiment.tasks.iter().find(|task| task.name == name).expect("it is there");
        task.work.command().map(<[String]>::to_vec)
    };
    assert_eq!(command(&scenario.base, "zip"), Some(vec!["gzip".to_owned(), "-k".to_owned()]));
    let [modelled, real] = &scenario.variants[..] else { panic!("two variants") };
    assert_eq!(command(modelled, "zip"), None);
    assert_eq!(command(real, "slow-1"), Some(vec!["true".to_owned()]));
    assert!(real.check().is_ok() && command(real, "zip").is_some());
    for words in [vec![], vec![String::new()], vec!["a\0".to_owned()], vec!["a".to_owned(); 300]] {
        let mut wrong = real.clone();
        wrong.tasks[0].work.steps = vec![Step::Command(words)];
        assert!(wrong.check().is_err());
    }
    let mut wrong = real.clone();
    let last = wrong.tasks.len() - 1;
    wrong.tasks[last].work.steps.push(Step::Release(solo_model::LockId(0)));
    assert!(wrong.check().is_err(), "a program is all that a task does");
}

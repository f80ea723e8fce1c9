//! The adversary: memory work of all sorts below and beside hard tasks that only compute, on the platforms as they come,
//! with kernel paths. An access under way is not interrupted; whoever is released meanwhile waits.

use crate::draw::Dice;
use crate::{proofs, seeds, sets, simulated};
use solo_model::Experiment;
use solo_model::isolation::LockTime;
use solo_model::overhead::Overhead;
use solo_model::units::Duration;
use solo_prove::Effort;
use solo_prove::system::{Open, System, TaskFinding};
use solo_scenario::Platforms;
use std::fmt::Write;
use std::path::Path;

const PLATFORMS: [&str; 5] = ["xeon-w3530", "p4080", "i7-2600", "juno", "core2-q9550"];

fn scenario(seed: u64) -> String {
    let dice = &mut Dice::new(seed ^ 0xACCE55);
    let criterion = dice.pick(&["EDF", "RM", "DM", "FP"]);
    let scope = if dice.once_in(5) { "G" } else { "P" };
    let mut text = format!(
        "name = \"adversary\"\nplatform = \"{}\"\nduration = \"6ms\"\nseed = {seed}\n[scheduler]\npolicy = \"{scope}-{criterion}\"\n",
        dice.pick(&PLATFORMS)
    );
    if dice.once_in(2) {
        text += "overheads = \"epos-thesis\"\n";
    }
    if dice.once_in(4) {
        text += "tick = \"50us\"\n";
    }
    for index in 0..dice.between(1, 2) {
        let wcet = dice.between(1, 40);
        let period = dice.between(100, 900);
        let offset = dice.below(100_000);
        let _ = write!(
            text,
            "[[task]]\nname = \"h{index}\"\nclass = \"hard\"\ncore = 0\npriority = {index}\nperiod = \"{period}us\"\noffset = \"{offset}ns\"\nwork = [{{ compute = \"{wcet}us\" }}]\n"
        );
    }
    for index in 0..dice.between(1, 3) {
        let core = if index == 0 || dice.once_in(2) { 0 } else { dice.below(2) + 1 };
        let pattern = dice.pick(&["stream", "chase", "random", "sweep"]);
        let size = dice.pick(&["64KiB", "1MiB", "16MiB"]);
        let stride = dice.pick(&["4B", "64B", "256B"]);
        let writes = dice.pick(&["0%", "50%", "100%"]);
        let think = dice.pick(&["0ns", "0ns", "10ns", "900ns"]);
        let release = match dice.below(3) {
            0 => format!(
                "period = \"{}us\"\nclass = \"soft\"\nwcet = \"1ms\"\npriority = 9\n",
                dice.between(1000, 3000)
            ),
            _ => "class = \"best-effort\"\n".to_owned(),
        };
        let accesses = dice.between(50, 2000);
        let _ = write!(
            text,
            "[[task]]\nname = \"m{index}\"\ncore = {core}\n{release}work = [{{ {pattern} = \"{size}\", stride = \"{stride}\", writes = \"{writes}\", think = \"{think}\", accesses = {accesses} }}]\n"
        );
    }
    text
}

fn experiment(text: &str) -> Option<Experiment> {
    let path = Path::new("adversary.toml");
    solo_scenario::parse(text, path, &Platforms::builtin()).ok().map(|scenario| scenario.base)
}

#[test]
fn memory_work_below_never_breaks_the_bounds_of_tasks_that_compute() {
    let sets = sets(400);
    let (mut proved, mut refused) = (0, 0);
    for seed in seeds(sets) {
        let text = scenario(seed);
        let Some(experiment) = experiment(&text) else {
            refused += 1;
            continue;
        };
        let mut proofs = proofs(&experiment);
        // Declared times of memory work are not what is tried here.
        for (proof, task) in proofs.iter_mut().zip(&experiment.tasks) {
            if !task.name.starts_with('h') {
                *proof = None;
            }
        }
        if proofs.iter().all(Option::is_none) {
            continue;
        }
        proved += 1;
        match simulated(&experiment, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{text}"),
            Err(refusal) => panic!("seed {seed}: {refusal}\n{text}"),
        }
    }
    println!("{proved} of {sets} had proofs, {refused} were no scenarios");
    assert!(
        sets < 100 || proved * 3 > sets && refused * 4 < sets,
        "{proved} proved, {refused} refused of {sets}"
    );
}

/// Who is resumed after a task that uses memory has lost what it had in the caches, each time.
#[test]
fn lost_cache_affinity_is_counted_where_memory_is_used() {
    let text = "name = \"affinity\"\nplatform = \"xeon-w3530\"\nduration = \"40ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
                [[task]]\nname = \"short\"\nclass = \"hard\"\ncore = 0\nperiod = \"500us\"\nwork = [{ compute = \"50us\" }]\n\
                [[task]]\nname = \"long\"\nclass = \"hard\"\ncore = 0\nperiod = \"20ms\"\nwcet = \"2100us\"\n\
                work = [{ compute = \"1ms\" }, { sweep = \"4KiB\" }, { compute = \"1ms\" }]\n";
    let mut experiment = experiment(text).expect("sound");
    let affinity = Overhead::ALL.iter().position(|&overhead| overhead == Overhead::CacheAffinity);
    experiment.overheads.steps[affinity.expect("one of all")] = vec![(0, Duration::new(100_000))];
    let proofs = proofs(&experiment);
    // Five jobs preempt it and each costs it 100 us, which the declared time leaves no room for.
    assert!(
        proofs[1].as_ref().is_some_and(|proof| proof.bound > Duration::new(2_800_000)),
        "{:?}",
        proofs[1]
    );
    assert_eq!(simulated(&experiment, &proofs), Ok(None));
}

/// Whoever begins a window of a partition loads and locks the pages of all its tasks, and unlocks another's.
#[test]
fn a_job_that_loads_the_pages_of_its_partition_uses_memory() {
    let task = |name: &str, class: &str, more: &str| {
        format!("[[task]]\nname = \"{name}\"\nclass = \"{class}\"\ncore = 0\n{more}\n")
    };
    let computes = "period = \"1ms\"\nwork = [{ compute = \"100us\" }]";
    let sweeps = "period = \"2ms\"\nwcet = \"1ms\"\nwork = [{ sweep = \"128KiB\" }]";
    let text = format!(
        "name = \"partitions\"\nplatform = \"xeon-w3530\"\nduration = \"50ms\"\n[scheduler]\npolicy = \"P-RM\"\n{}{}{}{}",
        task("loads", "hard", computes),
        task("sweeps", "soft", sweeps),
        task("other", "hard", computes),
        "[isolation.lockdown]\nsweeps = 20\nwhen = \"partition\"\n\
         [isolation.partitions]\none = [\"loads\", \"sweeps\"]\ntwo = [\"other\"]\n",
    );
    let experiment = experiment(&text).expect("sound");
    assert_eq!(simulated(&experiment, &proofs(&experiment)), Ok(None));
    let judged = System::of(&experiment).judge(&mut Effort::default());
    // Both take time that nobody has declared.
    for task in [0, 2] {
        assert!(
            matches!(judged.tasks[task].outcome, TaskFinding::Open(Open::NoWcet(_))),
            "{:?}",
            judged.tasks[task]
        );
    }
    let mut at_boot = experiment;
    at_boot.isolation.lockdown.as_mut().expect("named").when = LockTime::Boot;
    let proofs = proofs(&at_boot);
    assert!(proofs[0].is_some());
    assert_eq!(simulated(&at_boot, &proofs), Ok(None));
}

/// Whoever declares what computation takes, and no more, has left out the accesses: nothing follows from that, for the task itself
/// and for those that it delays.
#[test]
fn a_declaration_of_the_computation_alone_covers_no_access() {
    let text = |wcet: &str, work: &str| {
        format!(
            "name = \"sum\"\nplatform = \"i7-2600\"\njobs = 20\n[scheduler]\npolicy = \"P-RM\"\n[[task]]\nname = \"own\"\n\
             class = \"hard\"\ncore = 0\nperiod = \"8ms\"\nwcet = \"{wcet}\"\nwork = [{work}]\n[[task]]\nname = \"below\"\n\
             class = \"hard\"\ncore = 0\nperiod = \"50ms\"\nwork = [{{ compute = \"1ms\" }}]\n"
        )
    };
    let sweep =
        "{ compute = \"3ms\" }, { repeat = 2, steps = [{ compute = \"1ms\" }, { sweep = \"8KiB\" }] }";
    let believed = |wcet: &str, work: &str| {
        let experiment = experiment(&text(wcet, work)).expect("it is sound");
        let judged = System::of(&experiment).judge(&mut Effort::default());
        let proved = proofs(&experiment);
        assert_eq!(simulated(&experiment, &proved), Ok(None), "{wcet}, {work}");
        let unknown = |task: usize| matches!(judged.tasks[task].outcome, TaskFinding::Open(Open::NoWcet(0)));
        assert!(unknown(0) == proved[0].is_none() && unknown(1) == proved[1].is_none());
        proved.iter().all(Option::is_some)
    };
    assert!(!believed("5ms", sweep), "the accesses take time as well");
    assert!(!believed("4ms", sweep));
    assert!(believed("6ms", sweep));
    assert!(believed("5ms", "{ compute = \"5ms\" }"), "without memory it is all there is");
}

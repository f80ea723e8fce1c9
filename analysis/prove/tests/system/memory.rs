//! The adversary: memory work of all sorts below and beside hard tasks that only compute, on the platforms as they come,
//! with kernel paths. An access under way is not interrupted; whoever is released meanwhile waits.

use crate::draw::Dice;
use crate::{proofs, seeds, sets, simulated};
use solo_model::isolation::{Coloring, KernelData, LockTime};
use solo_model::overhead::Overhead;
use solo_model::task::Release;
use solo_model::units::Duration;
use solo_model::{Bytes, Experiment};
use solo_prove::Effort;
use solo_prove::system::{KERNEL_BLOCKS, Open, Overall, System, TaskFinding, Unbounded};
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
    never_breaks(&|_, _| {});
}

/// What the kernel reads for other tasks pushes out lines of a task whose time was measured without them: its bound is conditional.
#[test]
fn a_time_measured_alone_does_not_hold_beside_what_the_kernel_touches_for_others() {
    let text = |others: u64, touches: &str| {
        let mut text = format!(
            "name = \"walks\"\nplatform = \"p4080\"\nduration = \"20ms\"\n[scheduler]\npolicy = \"P-FP\"\n[isolation.memory]\n\
             kernel-touches = \"{touches}\"\n"
        );
        if touches == "yes" {
            text += "kernel-walks = \"256KiB\"\n";
        }
        text += "[[task]]\nname = \"t\"\nclass = \"hard\"\npriority = 0\ncore = 0\nperiod = \"20ms\"\nwcet = \"1150us\"\n\
                 work = [{ sweep = \"100KiB\", passes = 60 }]\n";
        for other in 1..=others {
            let _ = write!(
                text,
                "[[task]]\nname = \"d{other}\"\nclass = \"hard\"\npriority = {other}\ncore = 0\nperiod = \"20ms\"\n\
                 offset = \"{other}00us\"\nwork = [{{ compute = \"1us\" }}]\n"
            );
        }
        experiment(&text).expect("a scenario")
    };
    let judged = |experiment: &Experiment| System::of(experiment).judge(&mut Effort::default());
    let beside = text(9, "yes");
    assert_eq!(judged(&beside).overall(), Overall::Conditional);
    assert_eq!(judged(&beside).measured_alone, [0]);
    // It takes 1.14 ms alone, and far more than what was declared beside them.
    assert!(simulated(&beside, &proofs(&beside)).expect("it runs").is_some());
    for alone in [text(0, "yes"), text(9, "no")] {
        assert_eq!(judged(&alone).overall(), Overall::Proved);
        assert_eq!(simulated(&alone, &proofs(&alone)), Ok(None));
    }
}

/// The same where the kernel's own paths miss caches as well: beside what they cost, or on top of it.
#[test]
fn what_the_kernel_misses_never_breaks_bounds() {
    never_breaks(&|seed, experiment| kernel_touches(&mut Dice::new(seed ^ 0x6b65_726e), experiment));
}

fn kernel_touches(dice: &mut Dice, experiment: &mut Experiment) {
    let walked = Bytes::new(dice.pick(&[0, 64, 1024, 16 << 10, 64 << 10]));
    let data = KernelData { walked, packed: dice.once_in(2) };
    experiment.isolation.memory = Some(Coloring { kernel_data: Some(data), ..Coloring::default() });
    experiment.overheads.without_misses = !dice.once_in(4);
    // What the kernel takes must leave time.
    for task in &mut experiment.tasks {
        if let Release::Periodic { period, .. } = &mut task.release {
            *period = Duration::new(period.get() * dice.between(1, 20));
        }
    }
}

fn never_breaks(change: &dyn Fn(u64, &mut Experiment)) {
    let sets = sets(400);
    let (mut proved, mut refused) = (0, 0);
    for seed in seeds(sets) {
        let text = scenario(seed);
        let Some(mut experiment) = experiment(&text) else {
            refused += 1;
            continue;
        };
        change(seed, &mut experiment);
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

/// What is counted of the kernel's data is no less than what the kernel has.
#[test]
fn the_kernels_blocks_are_as_large_as_is_counted() {
    let (line, has) = (64, solo_sim::KERNEL_BLOCKS);
    let (thread, core) = (KERNEL_BLOCKS.thread.get(), KERNEL_BLOCKS.core.get());
    println!("a thread has {}, a core {}", has.thread, has.core);
    assert!(has.thread.get() + line <= thread && has.core.get() + line <= core);
}

/// A kernel that reads 64 KiB at each release, its costs taken without misses: who is released waits for it, and the bound says so.
#[test]
fn a_bound_has_what_the_kernel_misses_on_top_of_its_costs() {
    let text = "name = \"walks\"\nplatform = \"xeon-w3530\"\nduration = \"200ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
                overheads = \"epos-thesis\"\n[isolation.memory]\nkernel-touches = \"yes\"\nkernel-walks = \"64KiB\"\n\
                [[task]]\nname = \"one\"\nclass = \"hard\"\ncore = 0\nperiod = \"40ms\"\nwork = [{ compute = \"50us\" }]\n\
                [[task]]\nname = \"big\"\nclass = \"best-effort\"\ncore = 0\nwork = [{ sweep = \"16MiB\" }]\n";
    let mut experiment = experiment(text).expect("sound");
    let bound = |experiment: &Experiment| proofs(experiment)[0].as_ref().map(|proof| proof.bound);
    assert_eq!(simulated(&experiment, &proofs(&experiment)), Ok(None));
    experiment.overheads.without_misses = true;
    assert_eq!(simulated(&experiment, &proofs(&experiment)), Ok(None));
    let mut forgotten = experiment.clone();
    forgotten.isolation.memory = None;
    let (less, more) = (bound(&forgotten), bound(&experiment));
    // 1,024 lines from memory take fifty microseconds and more.
    assert!(more > less.map(|less| less + Duration::from_micros(50)), "{more:?}, {less:?}");
    // The bound that leaves them out is one that the machine breaks.
    assert!(
        matches!(simulated(&experiment, &proofs(&forgotten)), Ok(Some(_))),
        "misses on top change nothing"
    );
}

/// What the kernel misses uses up a budget, and a job that never misses is stopped: no bound that counts only jobs' misses holds.
#[test]
fn budgets_that_the_kernel_uses_up_are_refused_by_name() {
    let text = "name = \"kernel\"\nplatform = \"xeon-w3530\"\nduration = \"500ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
                [isolation.memory]\nkernel-touches = \"yes\"\nkernel-walks = \"64KiB\"\n\
                [isolation.bandwidth]\nperiod = \"1ms\"\nguaranteed = \"1GB/s\"\ncores = { 0 = \"1MB/s\" }\n\
                [[task]]\nname = \"one\"\nclass = \"hard\"\ncore = 0\nperiod = \"200ms\"\nwork = [{ compute = \"100us\" }]\n";
    let mut experiment = experiment(text).expect("sound");
    if let Some(prefetcher) = &mut experiment.platform.prefetcher {
        prefetcher.on = false;
    }
    experiment.overheads.without_misses = true;
    let judged = System::of(&experiment).judge(&mut Effort::default());
    let outcome = &judged.tasks[0].outcome;
    assert!(matches!(outcome, TaskFinding::Open(Open::Regulated(Unbounded::KernelData))), "{outcome:?}");
    let mut forgotten = experiment.clone();
    forgotten.isolation.memory = None;
    let bounds = proofs(&forgotten);
    assert!(bounds[0].is_some());
    assert!(matches!(simulated(&experiment, &bounds), Ok(Some(_))), "the kernel's misses stop nobody");
}

/// Losses by the memory that a task touches: who preempts pays for its victim, each by its own size.
#[test]
fn a_preemption_costs_what_its_victim_touches() {
    let task = |name: &str, period: &str, size: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\ncore = 0\nperiod = \"{period}\"\nwcet = \"3ms\"\n\
             work = [{{ compute = \"1ms\" }}, {{ sweep = \"{size}\" }}]\n"
        )
    };
    let head =
        "name = \"sizes\"\nplatform = \"xeon-w3530\"\nduration = \"40ms\"\n[scheduler]\npolicy = \"P-RM\"\n";
    let text = format!("{head}{}{}", task("short", "10ms", "4KiB"), task("long", "40ms", "256KiB"));
    let plain = experiment(&text).expect("sound");
    let with = |affinity: &[(Bytes, Duration)]| {
        let mut experiment = plain.clone();
        experiment.overheads.affinity = affinity.to_vec();
        let bounds = proofs(&experiment);
        assert_eq!(simulated(&experiment, &bounds), Ok(None));
        [0, 1].map(|task| bounds[task].as_ref().map(|proof| proof.bound.get()).expect("it is proved"))
    };
    let us = Duration::from_micros;
    let [short, long] = with(&[]);
    // What only `short` loses is paid by the job of `long`, which comes before nobody: its own response only.
    let [small, little] = with(&[(Bytes::from_kib(4), us(100)), (Bytes::from_kib(256), us(100))]);
    let [own, much] = with(&[(Bytes::from_kib(4), us(100)), (Bytes::from_kib(256), us(400))]);
    assert_eq!((small - short, own - short), (100_000, 400_000));
    // Its one job and one of `short` in its way: each pays for what the other loses.
    assert_eq!((little - long, much - long), (200_000, 500_000));
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

/// Who empties caches takes lines from everybody, and nothing counts that: neither who flushes nor who does not has a bound, by name.
#[test]
fn scenarios_that_empty_caches_are_refused_by_name() {
    let text = |step: &str| {
        format!(
            "name = \"flush\"\nplatform = \"xeon-w3530\"\nduration = \"20ms\"\nprefetcher = \"off\"\n[scheduler]\npolicy = \"P-RM\"\n\
             [[buffer]]\nname = \"image\"\nsize = \"4KiB\"\n\
             [[task]]\nname = \"one\"\nclass = \"hard\"\ncore = 0\nperiod = \"1ms\"\nwcet = \"60us\"\nwork = [{{ sweep = \"4KiB\", passes = 2 }}, {{ compute = \"50us\" }}]\n\
             [[task]]\nname = \"two\"\nclass = \"hard\"\ncore = 1\nperiod = \"1ms\"\nwcet = \"60us\"\nwork = [{{ compute = \"10us\" }}{step}]\n"
        )
    };
    let outcomes = |step: &str| {
        let experiment = experiment(&text(step)).expect("sound");
        let judged = System::of(&experiment).judge(&mut Effort::default());
        judged.tasks.into_iter().map(|task| task.outcome).collect::<Vec<_>>()
    };
    assert!(
        outcomes("").iter().all(|outcome| matches!(outcome, TaskFinding::Proved(_))),
        "{:?}",
        outcomes("")
    );
    for step in [
        ", { flush = \"all\" }",
        ", { flush = \"image\" }",
        ", { repeat = 2, steps = [{ flush = \"all\" }] }",
    ] {
        assert_eq!(outcomes(step), [0, 1].map(|_| TaskFinding::Open(Open::Flushes(1))), "{step}");
    }
}

/// Nobody knows how long a program waits: no bound beside one that is not of best effort, by name. One of best effort keeps nobody waiting.
#[test]
fn scenarios_with_programs_that_are_urgent_are_refused_by_name() {
    let text = |class: &str| {
        format!(
            "name = \"program\"\nplatform = \"xeon-w3530\"\nduration = \"20ms\"\nprefetcher = \"off\"\n[scheduler]\npolicy = \"P-RM\"\n\
             [[task]]\nname = \"one\"\nclass = \"hard\"\ncore = 0\nperiod = \"1ms\"\nwcet = \"60us\"\nwork = [{{ compute = \"50us\" }}]\n\
             [[task]]\nname = \"two\"\nclass = \"{class}\"\ncore = 0\nperiod = \"9ms\"\nwcet = \"60us\"\ncommand = [\"gzip\"]\n"
        )
    };
    let outcomes = |class: &str| {
        let experiment = experiment(&text(class)).expect("sound");
        let judged = System::of(&experiment).judge(&mut Effort::default());
        judged.tasks.into_iter().map(|task| task.outcome).collect::<Vec<_>>()
    };
    for class in ["hard", "soft"] {
        assert_eq!(outcomes(class), [0, 1].map(|_| TaskFinding::Open(Open::Command(1))), "{class}");
    }
    let [one, two] = &outcomes("best-effort")[..] else { panic!("two tasks") };
    assert!(matches!(one, TaskFinding::Proved(_)), "{one:?}");
    assert_eq!(*two, TaskFinding::Open(Open::BestEffort));
}

/// A job that asks a heap for what it may not have ends its task for ever: that task has no bound, and the other one keeps its own.
#[test]
fn a_task_whose_heap_may_run_out_is_refused_by_name() {
    let outcomes = |size: &str| {
        let experiment = experiment(&format!(
            "name = \"heap\"\nplatform = \"i7-2600\"\nduration = \"20ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
             [isolation.memory]\ngroups = 4\nheap = \"64KiB\"\n\
             [[task]]\nname = \"one\"\nclass = \"hard\"\ncore = 0\nperiod = \"2ms\"\nwork = [{{ allocate = \"{size}\", as = \"x\", color = 2 }}, {{ compute = \"50us\" }}]\n\
             [[task]]\nname = \"two\"\nclass = \"hard\"\ncore = 0\nperiod = \"1ms\"\nwork = [{{ compute = \"10us\" }}]\n"
        ))
        .expect("sound");
        let judged = System::of(&experiment).judge(&mut Effort::default());
        judged.tasks.into_iter().map(|task| task.outcome).collect::<Vec<_>>()
    };
    let proved = |outcome: &TaskFinding| matches!(outcome, TaskFinding::Proved(_));
    assert!(outcomes("32KiB").iter().all(proved), "{:?}", outcomes("32KiB"));
    let found = outcomes("65KiB");
    assert_eq!(found[0], TaskFinding::Open(Open::Heap(solo_model::Color(2))));
    assert!(proved(&found[1]), "{found:?}");
}

/// A task without a deadline delays one with a deadline while it holds a lock, or because it comes before it in the class of best effort:
/// then its time measured alone is a condition like that of any other. Where it delays nobody who is asked, it is none.
#[test]
fn a_time_measured_alone_is_a_condition_of_whoever_it_delays() {
    let conditions = |policy: &str, own: &str, other: &str, hog: &str| {
        let (lock, unlock) = ("{ lock = \"l\" }, ", ", { unlock = \"l\" }");
        let held = |work: &str| match work.strip_prefix("held ") {
            Some(work) => format!("{lock}{work}{unlock}"),
            None => work.to_owned(),
        };
        let experiment = experiment(&format!(
            "name = \"held\"\nplatform = \"xeon-w3530\"\nduration = \"20ms\"\n[scheduler]\npolicy = \"{policy}\"\n\
             [[lock]]\nname = \"l\"\nprotocol = \"ceiling\"\n\
             [[task]]\nname = \"a\"\n{other}\ncore = 0\npriority = 1\nperiod = \"5ms\"\nwork = [{}]\n\
             [[task]]\nname = \"m\"\nclass = \"best-effort\"\ncore = 0\npriority = 0\nperiod = \"4ms\"\nwcet = \"800us\"\nwork = [{}]\n\
             [[task]]\nname = \"hog\"\nclass = \"best-effort\"\ncore = 1\npriority = 1\nperiod = \"4ms\"\nwork = [{hog}]\n",
            held("held { compute = \"50us\" }"),
            held(own),
        ))
        .expect("sound");
        System::of(&experiment).judge(&mut Effort::default()).measured_alone
    };
    let (hard, asked) = ("class = \"hard\"", "class = \"best-effort\"\ndeadline = \"4ms\"");
    let (sweep, stream) = ("{ sweep = \"512KiB\" }", "{ stream = \"1MiB\" }");
    for policy in ["P-FP", "P-RM", "P-EDF"] {
        assert_eq!(conditions(policy, &format!("held {sweep}"), hard, stream), [1], "{policy}");
        assert_eq!(conditions(policy, sweep, hard, stream), [] as [usize; 0], "{policy}: it comes last");
        let alone = conditions(policy, &format!("held {sweep}"), hard, "{ compute = \"1us\" }");
        assert_eq!(alone, [] as [usize; 0], "{policy}: nobody else uses memory");
    }
    assert_eq!(conditions("P-FP", sweep, asked, stream), [1], "it comes first");
    assert_eq!(
        conditions("P-EDF", sweep, asked, stream),
        [] as [usize; 0],
        "without a deadline it comes last"
    );
}

/// Pages that are loaded when a window begins take longer beside other cores that use memory and keep to no budget: each line as long as
/// any access may take there. On this chip that is the refresh interval of 7.8 us at least, and 2 pages of 64 lines each are 128.
#[test]
fn loading_pages_beside_others_takes_as_long_as_any_access_may() {
    let bound = |hog: &str| {
        let experiment = experiment(&format!(
            "name = \"load\"\nplatform = \"xeon-w3530\"\nduration = \"20ms\"\n[scheduler]\npolicy = \"P-FP\"\n\
             [isolation.partitions]\np = [\"a\", \"m\"]\nq = [\"z\"]\n\
             [[isolation.cycle]]\ncore = 0\nlength = \"8ms\"\n\
             windows = [{{ partition = \"p\", begin = \"0ms\", length = \"4ms\" }}, {{ partition = \"q\", begin = \"4ms\", length = \"4ms\" }}]\n\
             [isolation.lockdown]\nm = 2\nwhen = \"partition\"\n\
             [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\npriority = 0\nperiod = \"8ms\"\nwork = [{{ compute = \"100us\" }}]\n\
             [[task]]\nname = \"m\"\nclass = \"best-effort\"\ncore = 0\npriority = 1\nperiod = \"8ms\"\nwcet = \"800us\"\nwork = [{{ sweep = \"16KiB\" }}]\n\
             [[task]]\nname = \"z\"\nclass = \"best-effort\"\ncore = 0\npriority = 1\nperiod = \"8ms\"\nwork = [{{ compute = \"1us\" }}]\n\
             [[task]]\nname = \"h\"\nclass = \"best-effort\"\ncore = 1\npriority = 1\nperiod = \"8ms\"\nwork = [{hog}]\n"
        ))
        .expect("sound");
        let judged = System::of(&experiment).judge(&mut Effort::default());
        match &judged.tasks[0].outcome {
            TaskFinding::Proved(proof) => proof.bound,
            other => panic!("{other:?}"),
        }
    };
    let (alone, beside) = (bound("{ compute = \"1us\" }"), bound("{ stream = \"1MiB\" }"));
    assert!(alone < Duration::from_micros(300), "{alone}");
    let least = 128 * 7_800;
    assert!((least..3 * least).contains(&beside.get()), "{beside}");
}

/// Alone, the sibling of a core is idle and nobody moves: what was measured so is a condition where a sibling computes, or where other
/// tasks make a job move to a core whose caches are cold and no table says what that costs.
#[test]
fn a_time_measured_alone_is_a_condition_beside_a_busy_sibling_and_where_jobs_move() {
    let conditions = |policy: &str, core: u32| {
        let experiment = experiment(&format!(
            "name = \"slower\"\nplatform = \"i7-2600\"\nduration = \"20ms\"\n[scheduler]\npolicy = \"{policy}\"\n\
             [[task]]\nname = \"m\"\nclass = \"hard\"\ncore = 0\nperiod = \"5ms\"\nwcet = \"225us\"\nwork = [{{ sweep = \"16KiB\" }}]\n\
             [[task]]\nname = \"c\"\nclass = \"hard\"\ncore = {core}\nperiod = \"5ms\"\nwork = [{{ compute = \"1ms\" }}]\n"
        ))
        .expect("sound");
        System::of(&experiment).judge(&mut Effort::default()).measured_alone
    };
    assert_eq!(conditions("P-RM", 1), [0], "its sibling computes");
    assert_eq!(conditions("P-RM", 2), [] as [usize; 0], "another core");
    assert_eq!(conditions("P-RM", 0), [] as [usize; 0], "who computes puts nothing out of caches");
    assert_eq!(conditions("G-RM", 2), [0], "it moves");
}

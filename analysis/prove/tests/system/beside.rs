//! Tasks in no partition on a core whose time is divided: what they do between two windows of a partition may not be over when the next begins.

use crate::{proofs, simulated};
use solo_model::Experiment;
use solo_prove::Effort;
use solo_prove::system::{Open, System, TaskFinding};
use solo_scenario::Platforms;
use std::path::Path;

fn experiment(text: &str) -> Experiment {
    let found = solo_scenario::parse(text, Path::new("beside.toml"), &Platforms::builtin());
    found.map(|scenario| scenario.base).expect("sound")
}

/// A hundred windows are ten of milliseconds: before each of them, and not once, an access of the task beside them may be under way.
#[test]
fn an_access_may_be_under_way_whenever_a_window_begins() {
    let experiment = experiment(
        "name = \"accesses\"\nplatform = \"xeon-w3530\"\nduration = \"210ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
         [isolation.partitions]\np = [\"a\"]\n\
         [[isolation.cycle]]\ncore = 0\nlength = \"1ms\"\nwindows = [{ partition = \"p\", begin = \"0us\", length = \"100us\" }]\n\
         [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"200ms\"\noffset = \"100us\"\nwork = [{ compute = \"10ms\" }]\n\
         [[task]]\nname = \"b\"\nclass = \"best-effort\"\ncore = 0\nwork = [{ chase = \"16MiB\", writes = \"50%\" }]\n",
    );
    let proofs = proofs(&experiment);
    assert!(proofs[0].is_some(), "it has a bound");
    assert_eq!(simulated(&experiment, &proofs), Ok(None));
}

/// `free` is in no partition and less urgent than `a`, and as urgent as `b` of another partition while it holds the lock that both take:
/// it may hold it when the window of `a` begins, and goes on then.
#[test]
fn a_ceiling_of_another_partition_keeps_a_window_from_its_tasks() {
    let experiment = |lock: &str| {
        experiment(&format!(
            "name = \"ceilings\"\nplatform = \"ideal-8\"\nduration = \"400ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
             [isolation.partitions]\none = [\"a\"]\ntwo = [\"b\"]\n\
             [[isolation.cycle]]\ncore = 0\nlength = \"10ms\"\n\
             windows = [{{ partition = \"two\", begin = \"0ms\", length = \"2ms\" }}, {{ partition = \"one\", begin = \"4ms\", length = \"4ms\" }}]\n\
             [[lock]]\nname = \"l\"\nprotocol = \"ceiling\"\n[[lock]]\nname = \"other\"\nprotocol = \"ceiling\"\n\
             [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"40ms\"\noffset = \"8ms\"\nwork = [{{ compute = \"4ms\" }}]\n\
             [[task]]\nname = \"b\"\nclass = \"hard\"\ncore = 0\nperiod = \"10ms\"\n\
             work = [{{ lock = \"l\" }}, {{ compute = \"100us\" }}, {{ unlock = \"l\" }}]\n\
             [[task]]\nname = \"free\"\nclass = \"soft\"\ncore = 0\nperiod = \"10ms\"\noffset = \"3500us\"\n\
             work = [{{ lock = \"{lock}\" }}, {{ compute = \"1ms\" }}, {{ unlock = \"{lock}\" }}]\n"
        ))
    };
    let shared = experiment("l");
    let judged = System::of(&shared).judge(&mut Effort::default());
    let named =
        |open: &TaskFinding| matches!(open, TaskFinding::Open(Open::Lock { name, .. }) if name == "l");
    assert!(named(&judged.tasks[0].outcome), "{:?}", judged.tasks[0].outcome);
    // With a lock of its own it is less urgent than both, and they have bounds that hold.
    let apart = experiment("other");
    let proofs = proofs(&apart);
    assert!(proofs[0].is_some() && proofs[1].is_some());
    assert_eq!(simulated(&apart, &proofs), Ok(None));
    // The bound that `a` has there does not hold here.
    let found = simulated(&shared, &proofs).expect("it runs");
    assert!(found.is_some_and(|found| found.starts_with("task0 took")), "the lock matters");
}

/// What is under way when a window begins is charged to the job that begins then, also by another partition's task: that job has not
/// executed for longer than it declares, and no bound is void.
#[test]
fn an_access_of_another_partition_is_no_overrun() {
    let experiment = experiment(
        "name = \"charged\"\nplatform = \"xeon-w3530\"\nduration = \"200ms\"\nseed = 3\n[scheduler]\npolicy = \"P-RM\"\n\
         [isolation.partitions]\none = [\"hog\"]\ntwo = [\"a\"]\n\
         [[isolation.cycle]]\ncore = 0\nlength = \"300us\"\n\
         windows = [{ partition = \"one\", begin = \"50us\", length = \"100us\" }, { partition = \"two\", begin = \"150us\", length = \"150us\" }]\n\
         [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"2ms\"\nwork = [{ compute = \"200us\" }]\n\
         [[task]]\nname = \"hog\"\nclass = \"best-effort\"\ncore = 0\nwork = [{ chase = \"8MiB\", writes = \"50%\" }]\n",
    );
    let proofs = proofs(&experiment);
    assert!(proofs[0].is_some(), "it has a bound");
    assert_eq!(simulated(&experiment, &proofs), Ok(None));
}

/// A window that the end of the cycle cuts in two is one: a job that is released with it may take all of it. With a kernel that takes time
/// it has less of it than of a whole one, for the core looks at its clock where the two meet.
#[test]
fn a_window_that_the_cycle_cuts_in_two_is_one() {
    let bound = |overheads: &str, windows: &str, offset: u64, compute: u64| {
        let experiment = experiment(&format!(
            "name = \"cut\"\nplatform = \"ideal-8\"\nduration = \"100ms\"\n[scheduler]\npolicy = \"P-RM\"\noverheads = \"{overheads}\"\n\
             [isolation.partitions]\np = [\"a\"]\nq = [\"b\"]\n\
             [[isolation.cycle]]\ncore = 0\nlength = \"12ms\"\nwindows = [{windows}]\n\
             [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"12ms\"\noffset = \"{offset}ms\"\ndeadline = \"6ms\"\n\
             work = [{{ compute = \"{compute}us\" }}]\n\
             [[task]]\nname = \"b\"\nclass = \"soft\"\ncore = 0\nperiod = \"24ms\"\nwork = [{{ compute = \"3ms\" }}]\n"
        ));
        let proofs = proofs(&experiment);
        assert_eq!(simulated(&experiment, &proofs), Ok(None));
        proofs[0].as_ref().map(|proof| proof.bound.get())
    };
    let window = |partition: &str, begin: u64, length: u64| {
        format!("{{ partition = \"{partition}\", begin = \"{begin}ms\", length = \"{length}ms\" }}")
    };
    let whole = window("p", 0, 6) + ", " + &window("q", 7, 3);
    let cut = window("p", 0, 1) + ", " + &window("q", 2, 3) + ", " + &window("p", 7, 5);
    assert_eq!(bound("free", &whole, 0, 6000), Some(6_000_000));
    assert_eq!(bound("free", &cut, 7, 6000), Some(6_000_000));
    // Released where the cycle begins, it is not released with its window.
    assert_eq!(bound("free", &cut, 0, 6000), None);
    let [one, two] =
        [(&whole, 0), (&cut, 7)].map(|(windows, offset)| bound("epos-thesis", windows, offset, 5000));
    assert!(one.is_some() && one < two, "{one:?} {two:?}");
}

//! Memory that jobs take from the heaps of colors while they run (thesis 4.3.3, 4.3.4).

mod common;

use common::Keep;
use solo_isolate::heap::HeapError;
use solo_model::isolation::Allocation;
use solo_model::work::Step;
use solo_model::{Color, EventId, Experiment, Record, TaskId};
use solo_scenario::Platforms;
use solo_sim::SimulationEnd;
use std::path::Path;

/// Six tasks; those of `busy` sweep 896 KiB of a heap again and again, each on a core of its own.
fn experiment(memory: &str, busy: [(usize, &str); 2]) -> Experiment {
    let mut text = format!(
        "name = \"heaps\"\nplatform = \"xeon-w3530\"\nduration = \"200ms\"\nprefetcher = \"off\"\n[scheduler]\npolicy = \"P-RM\"\n\
         [isolation.memory]\ngroups = 4\nheap = \"2MiB\"\n{memory}\n"
    );
    for task in 0..6 {
        let work = match busy.iter().position(|(at, _)| *at == task) {
            None => "core = 3\nwork = [{ compute = \"10us\" }]".to_owned(),
            Some(place) => format!(
                "core = {place}\nwork = [{{ allocate = \"896KiB\", as = \"array\"{} }}, {{ sweep = \"896KiB\", buffer = \"array\", passes = 8 }}, {{ free = \"array\" }}]",
                busy[place].1
            ),
        };
        text += &format!("[[task]]\nname = \"t{task}\"\nclass = \"hard\"\nperiod = \"50ms\"\n{work}\n");
    }
    parsed(&text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn parsed(text: &str) -> Result<Experiment, String> {
    let parsed = solo_scenario::parse(text, Path::new("heaps.toml"), &Platforms::builtin());
    parsed.map(|scenario| scenario.base).map_err(|problems| problems.to_string())
}

fn run(experiment: &Experiment) -> (Vec<Record>, SimulationEnd) {
    let mut keep = Keep::default();
    let end = solo_sim::run(experiment, &[], &mut keep).expect("it runs");
    (keep.0, end)
}

/// Misses of the last level in the jobs of a task but its first, which find its frames cold.
fn misses(records: &[Record], task: u32) -> u64 {
    let later = records.iter().filter_map(|record| match record {
        Record::Job(job) if job.task == TaskId(task) && job.job.0 > 0 => job.counts.get(EventId::LLC_MISSES),
        _ => None,
    });
    later.sum()
}

/// Tasks 0 and 4 of four colors have the same one and evict each other's lines; 0 and 5 do not.
#[test]
fn the_system_gives_tasks_colors_by_their_numbers() {
    let evicted = |other, named| {
        let experiment = experiment("allocation = \"os\"", [(0, named), (other, "")]);
        misses(&run(&experiment).0, 0)
    };
    let (same, apart) = (evicted(4, ""), evicted(5, ""));
    println!("misses of task 0 beside task 4: {same}, beside task 5: {apart}");
    assert_eq!(apart, 0);
    assert!(same > 10_000, "{same}");
    // What a step names is ignored, whether it exists or not.
    let records = |named| run(&experiment("allocation = \"os\"", [(0, named), (4, "")])).0;
    assert_eq!(records(""), records(", color = 3"));
    assert_eq!(records(""), records(", color = 4000"));
}

/// The kernel's color is nobody's: of three others tasks 0 and 3 have the same.
#[test]
fn the_kernels_color_is_left_out() {
    let evicted = |other| {
        let experiment = experiment("allocation = \"os\"\nkernel = 1", [(0, ""), (other, "")]);
        misses(&run(&experiment).0, 0)
    };
    assert!(evicted(3) > 10_000);
    assert_eq!([1, 4].map(evicted), [0, 0]);
}

#[test]
fn the_program_names_its_color_or_has_the_first() {
    let evicted = |own, other| {
        let experiment = experiment("allocation = \"user\"", [(0, own), (1, other)]);
        misses(&run(&experiment).0, 0)
    };
    assert!(evicted(", color = 2", ", color = 2") > 10_000);
    assert!(evicted("", ", color = 0") > 10_000);
    assert_eq!(evicted(", color = 2", ", color = 3"), 0);
    let refused = |memory: &str, color: &str| {
        let text = format!(
            "name = \"heaps\"\nplatform = \"xeon-w3530\"\njobs = 1\n[scheduler]\npolicy = \"P-RM\"\n[isolation.memory]\ngroups = 4\n{memory}\n\
             [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"1ms\"\nwork = [{{ allocate = \"4KiB\", as = \"x\"{color} }}]\n"
        );
        parsed(&text).expect_err("it is refused")
    };
    let above = refused("", ", color = 4");
    assert!(above.contains("color4") && above.contains("0 to 3"), "{above}");
    let kernels = refused("kernel = 0", "");
    assert!(kernels.contains("kernel"), "{kernels}");
}

/// Two that ask one heap for more than it has: the one that comes second ends, and everybody else goes on.
#[test]
fn who_exhausts_a_heap_ends_alone() {
    let text = |first: &str| {
        format!(
            "name = \"heaps\"\nplatform = \"xeon-w3530\"\njobs = 20\n[scheduler]\npolicy = \"P-RM\"\n[isolation.memory]\ngroups = 4\nheap = \"64KiB\"\n\
             [[task]]\nname = \"holds\"\nclass = \"hard\"\ncore = 0\nperiod = \"10ms\"\nwork = [{{ allocate = \"{first}\", as = \"x\" }}, {{ compute = \"5ms\" }}, {{ free = \"x\" }}]\n\
             [[task]]\nname = \"asks\"\nclass = \"hard\"\ncore = 1\nperiod = \"10ms\"\noffset = \"1ms\"\nwork = [{{ allocate = \"40KiB\", as = \"y\" }}, {{ sweep = \"40KiB\", buffer = \"y\" }}]\n\
             [[task]]\nname = \"other\"\nclass = \"hard\"\ncore = 1\nperiod = \"10ms\"\nwork = [{{ allocate = \"40KiB\", as = \"y\", color = 1 }}, {{ sweep = \"40KiB\", buffer = \"y\" }}]\n"
        )
    };
    let jobs = |records: &[Record]| {
        [0, 1, 2].map(|task| {
            records
                .iter()
                .filter(|record| matches!(record, Record::Job(job) if job.task == TaskId(task)))
                .count()
        })
    };
    let (records, end) = run(&parsed(&text("40KiB")).expect("sound"));
    let [ended] = &end.exhausted[..] else { panic!("{:?}", end.exhausted) };
    assert_eq!((ended.task, ended.at.get()), (TaskId(1), 1_000_000));
    assert!(matches!(ended.error, HeapError::Exhausted { color: Color(0), .. }), "{:?}", ended.error);
    assert_eq!(jobs(&records), [20, 1, 20], "its one job ended where it asked");
    // What a job takes and does not give back is given back at its end: twenty jobs of 40 KiB in 64 KiB.
    let (records, end) = run(&parsed(&text("16KiB")).expect("sound"));
    assert_eq!((jobs(&records), end.exhausted.len()), ([20; 3], 0));
}

/// Whoever builds an experiment by hand may touch what is not there: that is refused, before anybody looks it up.
#[test]
fn memory_that_is_not_there_is_refused() {
    let whole = experiment("allocation = \"user\"", [(0, ""), (1, "")]);
    let refused = |change: &dyn Fn(&mut Vec<Step>)| {
        let mut experiment = whole.clone();
        change(&mut experiment.tasks[0].work.steps);
        solo_sim::run(&experiment, &[], &mut Keep::default())
            .map(drop)
            .expect_err("it is refused")
            .to_string()
    };
    let untaken = refused(&|steps| drop(steps.remove(0)));
    assert!(untaken.contains("frees and has not"), "{untaken}");
    let touched = refused(&|steps| steps.swap(0, 1));
    assert!(touched.contains("touches and has not allocated"), "{touched}");
    let twice = refused(&|steps| steps.insert(1, steps[0].clone()));
    assert!(twice.contains("allocates twice"), "{twice}");
    let of_other = refused(&|steps| steps[0] = whole.tasks[1].work.steps[0].clone());
    assert!(of_other.contains("two tasks allocate"), "{of_other}");
    let kept = refused(&|steps| {
        let taken = steps[0].clone();
        *steps = vec![Step::Repeat { times: 2, steps: vec![taken] }];
    });
    assert!(kept.contains("allocates and keeps"), "{kept}");
    let mut small = whole.clone();
    small.isolation.memory.as_mut().expect("it has one").heaps.size = solo_model::Bytes::new(0);
    small.isolation.memory.as_mut().expect("it has one").heaps.allocation = Allocation::Os;
    assert!(solo_sim::run(&small, &[], &mut Keep::default()).is_err(), "heaps of nothing");
}

//! What is chosen where a scenario leaves cores, colors and budgets open, and what is said where no choice helps.

use solo_plan::{Ending, Lack, Search, search};
use solo_scenario::{Platforms, requests};
use std::path::Path;

fn searched(text: &str) -> Search {
    let found = requests(text, Path::new("open.toml"), &Platforms::builtin(), &Default::default());
    search(&found.unwrap_or_else(|report| panic!("{}", report.to_json()))[0])
}

fn lack(text: &str) -> Lack {
    match searched(text).ending {
        Ending::Impossible(lack) => lack,
        other => panic!("{other:?}"),
    }
}

const HEAD: &str =
    "name = \"open\"\nplatform = \"p4080\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-EDF\"\n";

fn task(name: &str, more: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\nclass = \"hard\"\nperiod = \"10ms\"\n{more}\n")
}

/// Tasks of different cores share no color, cores keep to what memory guarantees, and what is written stays.
#[test]
fn colors_are_apart_and_budgets_within_what_memory_guarantees() {
    let text = include_str!("../../../scenarios/planned/eight-cores.toml");
    let search = searched(text);
    let Ending::Planned(planned) = &search.ending else { panic!("{:?}", search.ending) };
    let experiment = &planned.plan.experiment;
    let coloring = experiment.isolation.memory.as_ref().unwrap();
    for one in &coloring.owners {
        for two in &coloring.owners {
            let core = |task: solo_model::TaskId| experiment.tasks[task.index()].core;
            let shared = one.colors.iter().any(|color| two.colors.contains(color));
            assert!(core(one.task) == core(two.task) || !shared, "{one:?} {two:?}");
        }
    }
    let misses: u64 = search.choices.budgets.iter().map(|(_, events)| events.get()).sum();
    // 1183 MB/s in lines of 64 B, two of them for each miss, a millisecond long.
    let most = 1_183_000_000 / 64 / 2 / 1000;
    let period = search.choices.period.map_or(1_000_000, |period| period.get());
    assert!(misses * 1_000_000 <= most * period, "{misses} of {most} in {period}");
    assert_eq!(planned.overall, solo_prove::system::Overall::Proved, "{:?}", planned.judged);
}

#[test]
fn the_resource_that_lacks_is_named_with_how_far_off_it_is() {
    let nine: String = (0..9).map(|at| task(&format!("t{at}"), "work = [{ compute = \"9ms\" }]")).collect();
    assert!(matches!(lack(&format!("{HEAD}{nine}")), Lack::Processors { asked: 8_100_000, cores: 8 }));
    let ten: String = (0..10).map(|at| task(&format!("t{at}"), "work = [{ compute = \"6ms\" }]")).collect();
    // Six cores' worth of time, and no core takes two.
    assert!(matches!(lack(&format!("{HEAD}{ten}")), Lack::NoRoom { asked: 1_200_000, .. }));
    let sweep = "wcet = \"8ms\"\nmisses = 80_000\nwork = [{ sweep = \"5MiB\" }]";
    let thirsty = format!("{HEAD}{}{}", task("a", sweep), task("b", sweep));
    // 2 x 80 000 x 64 B in 10 ms, of 1263 MB/s.
    let Lack::Bandwidth { needed, there } = lack(&thirsty.replace("80_000", "160_000")) else {
        panic!("bandwidth")
    };
    assert_eq!((needed.get(), there.get()), (2_048_000_000, 1_263_000_000));
    let three: String = (0..3)
        .map(|at| {
            task(
                &format!("t{at}"),
                &format!("core = {at}\nwcet = \"1ms\"\nmisses = 9\nwork = [{{ sweep = \"64KiB\" }}]"),
            )
        })
        .collect();
    let merged = format!("{HEAD}[isolation.memory]\ngroups = 2\n{three}");
    assert!(matches!(lack(&merged), Lack::Colors { needed: 3, there: 2 }), "{:?}", lack(&merged));
    assert!(matches!(
        lack(&format!("{HEAD}{}", task("a", "work = [{ sweep = \"64KiB\" }]"))),
        Lack::Unsized(_)
    ));
}

/// Tasks that share a buffer can't be kept apart: they come to one core, and that is told.
#[test]
fn tasks_that_use_the_same_memory_come_to_one_core() {
    let shared = |name: &str| {
        task(name, "wcet = \"1ms\"\nmisses = 9\nwork = [{ sweep = \"64KiB\", buffer = \"image\" }]")
    };
    let other = task("c", "wcet = \"1ms\"\nmisses = 9\nwork = [{ sweep = \"64KiB\" }]");
    let buffer = "[[buffer]]\nname = \"image\"\nsize = \"64KiB\"\n";
    let search = searched(&format!("{HEAD}{buffer}{}{}{other}", shared("a"), shared("b")));
    let Ending::Planned(planned) = &search.ending else { panic!("{:?}", search.ending) };
    let cores: Vec<_> = planned.plan.experiment.tasks.iter().map(|task| task.core).collect();
    assert_eq!(cores[0], cores[1]);
    assert_ne!(cores[0], cores[2]);
    assert!(
        search.rounds.iter().any(|round| matches!(round.lack, Lack::Together(0, 1))),
        "{:?}",
        search.rounds
    );
}

/// Logical processors of one core share all its caches: with memory in use each physical core gets one stretch of work.
#[test]
fn smt_siblings_are_left_alone_where_memory_is_used() {
    let tasks: String = (0..4)
        .map(|at| task(&format!("t{at}"), "wcet = \"3ms\"\nmisses = 9\nwork = [{ sweep = \"64KiB\" }]"))
        .collect();
    let search = searched(&format!("{}{tasks}", HEAD.replace("p4080", "xeon-w3530")));
    let Ending::Planned(planned) = &search.ending else { panic!("{:?}", search.ending) };
    let experiment = &planned.plan.experiment;
    let physical =
        |core: Option<solo_model::CoreId>| experiment.platform.cores[core.unwrap().index()].physical;
    let mut used: Vec<(u16, u16)> =
        experiment.tasks.iter().map(|task| (physical(task.core), task.core.unwrap().0)).collect();
    used.sort_unstable();
    used.dedup();
    let alone = used.windows(2).all(|pair| pair[0].0 != pair[1].0);
    assert!(alone, "{used:?}");
}

//! Windows of partitions: what is chosen is proved and no longer than that takes, and what stands in the way is named with its numbers.

use solo_model::partition::{MajorCycle, Partitions};
use solo_model::{CoreId, Duration};
use solo_plan::{Aims, CoreRule, Division, Ending, NoPlan, Planned, Search, WindowRule, search, search_for};
use solo_prove::Effort;
use solo_prove::system::{Overall, System, TaskFinding};
use solo_scenario::{Platforms, requests};
use std::path::Path;

fn searched(text: &str) -> Search {
    let found = requests(text, Path::new("open.toml"), &Platforms::builtin(), &Default::default());
    search(&found.unwrap_or_else(|report| panic!("{}", report.to_json()))[0])
}

fn planned(text: &str) -> Box<Planned> {
    match searched(text).ending {
        Ending::Planned(planned) => planned,
        other => panic!("{other:?}"),
    }
}

fn lack(text: &str) -> NoPlan {
    match searched(text).ending {
        Ending::Impossible(lack) => lack,
        other => panic!("{other:?}"),
    }
}

const HEAD: &str =
    "name = \"open\"\nplatform = \"p4080\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-RM\"\n";

/// A task on core 0.
fn task(name: &str, period: &str, compute: &str, more: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nclass = \"hard\"\ncore = 0\nperiod = \"{period}\"\n{more}work = [{{ compute = \"{compute}\" }}]\n"
    )
}

fn idle(name: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nclass = \"best-effort\"\ncore = 0\nwork = [{{ compute = \"10ms\" }}]\n"
    )
}

/// Single-core equivalence, section 5: T1 (36, 8) and T2 (72, 3) in one partition, T3 (18, 3) and T4 (36, 3) in another.
fn section_5() -> String {
    let tasks = [("t1", "36ms", "8ms"), ("t2", "72ms", "3ms"), ("t3", "18ms", "3ms"), ("t4", "36ms", "3ms")];
    let tasks = tasks.map(|(name, period, compute)| task(name, period, compute, "")).concat();
    format!("{HEAD}[isolation.partitions]\np1 = [\"t3\", \"t4\"]\np2 = [\"t1\", \"t2\"]\n{tasks}")
}

/// True where the deadlines of a partition are proved with these windows for it alone.
fn proved(planned: &Planned, division: &Division, partition: usize, length: Duration) -> bool {
    let experiment = &planned.plan.experiment;
    let partitions = experiment.isolation.partitions.as_ref().unwrap();
    let name = &division.partitions[partition].name;
    let id = partitions.partitions().iter().position(|known| known.name == *name).unwrap();
    let window = solo_model::partition::TimeWindow {
        partition: solo_model::PartitionId(id as u16),
        begin: Duration::ZERO,
        length,
    };
    let cycle = MajorCycle {
        core: division.core,
        length: division.partitions[partition].period.unwrap(),
        windows: vec![window],
    };
    let alone = Partitions::new(partitions.partitions().to_vec(), vec![cycle]).unwrap();
    let mut changed = experiment.clone();
    changed.isolation.partitions = Some(alone);
    // Where a window is put nobody knows yet: jobs are released at another time than it begins.
    for task in &mut changed.tasks {
        if let solo_model::task::Release::Periodic { offset, .. } = &mut task.release {
            *offset = Duration::new(1);
        }
    }
    let judged = System::of(&changed).judge(&mut Effort::default());
    let tasks = &partitions.partitions()[id].tasks;
    tasks.iter().all(|task| matches!(judged.tasks[task.index()].outcome, TaskFinding::Proved(_)))
}

#[test]
fn windows_are_proved_and_none_could_be_shorter() {
    let planned = planned(&section_5());
    assert_eq!(planned.overall, Overall::Proved);
    let [division] = planned.divisions.as_slice() else { panic!("{:?}", planned.divisions) };
    assert_eq!((division.core, division.rule), (CoreId(0), WindowRule::Own { parts: 1 }));
    let periods: Vec<_> = division.partitions.iter().map(|one| one.period.unwrap()).collect();
    assert_eq!(periods, [Duration::from_millis(18), Duration::from_millis(36)]);
    // By hand: T4 may end in its second window, 3 + 2 (3 + 18 - w) <= 36, and the whole of the other one, 8 + 3 + 36 - w <= 36 for T1.
    let least: Vec<_> = division.partitions.iter().map(|one| one.least.unwrap()).collect();
    assert_eq!(least[0], Duration::from_micros(4_500), "{least:?}");
    for (at, &least) in least.iter().enumerate() {
        assert!(proved(&planned, division, at, least));
        assert!(
            !proved(&planned, division, at, Duration::new(least.get() - 10_000)),
            "{at}: {least} is not the least"
        );
    }
    let mut end = Duration::ZERO;
    for window in &division.cycle.windows {
        assert!(window.begin >= end, "{:?}", division.cycle);
        end = window.begin.saturating_add(window.length);
    }
    assert!(end <= division.cycle.length && division.cycle.length == Duration::from_millis(36));
}

/// A deadline much shorter than the period wants short gaps: windows of a part of the period, with what was tried before.
#[test]
fn where_windows_ask_for_too_much_shorter_periods_are_tried() {
    let urgent = task("urgent", "10ms", "1ms", "deadline = \"2ms\"\n") + &task("slow", "10ms", "2ms", "");
    let text = format!("{HEAD}[isolation.partitions]\na = [\"urgent\"]\nb = [\"slow\"]\n{urgent}");
    let planned = planned(&text);
    let [division] = planned.divisions.as_slice() else { panic!("{:?}", planned.divisions) };
    assert!(matches!(division.rule, WindowRule::Own { parts: 2.. }), "{division:?}");
    assert!(
        matches!(
            &division.tried[0],
            (WindowRule::Own { parts: 1 }, NoPlan::Windows { asked: 1_000_001.., .. })
        ),
        "{:?}",
        division.tried
    );
    let never = lack(&text.replace("deadline = \"2ms\"", "deadline = \"1050us\""));
    let NoPlan::Windows { core: CoreId(0), partitions, asked } = &never else { panic!("{never:?}") };
    assert!(*asked > 1_000_000 && *partitions == ["a", "b"], "{never:?}");
}

#[test]
fn what_stands_in_the_way_of_windows_is_named() {
    let full = task("full", "10ms", "10ms", "") + &idle("rest");
    let parts = |b: &str| format!("{HEAD}[isolation.partitions]\na = [\"full\"]\nb = [\"{b}\"]\n");
    let nothing = lack(&(parts("rest") + &full));
    assert!(
        matches!(&nothing, NoPlan::NothingLeft { core: CoreId(0), partition } if partition == "b"),
        "{nothing:?}"
    );
    let half = full.replace("compute = \"10ms\"", "compute = \"4ms\"");
    let loose = lack(&(parts("rest") + &half + &idle("loose")));
    assert!(
        matches!(&loose, NoPlan::Unpartitioned { task, core: CoreId(0) } if task == "loose"),
        "{loose:?}"
    );
    // One partition alone has its core; nothing is divided, and nothing is where cycles are written.
    let alone = planned(&format!(
        "{HEAD}[isolation.partitions]\na = [\"full\"]\n{}",
        task("full", "10ms", "4ms", "")
    ));
    assert_eq!(alone.divisions, []);
    let written = "[[isolation.cycle]]\ncore = 0\nlength = \"10ms\"\nwindows = [\n\
                   { partition = \"a\", begin = \"0ms\", length = \"5ms\" }, { partition = \"b\", begin = \"5ms\", length = \"5ms\" }]\n";
    assert_eq!(planned(&(parts("rest") + &half + written)).divisions, []);
}

/// Tasks that use memory on one core leave a condition; a core for each takes it away, where they may be moved.
#[test]
fn tasks_that_use_memory_get_cores_of_their_own_where_that_takes_a_condition_away() {
    let head = HEAD.replace("policy = \"P-RM\"\n", "policy = \"P-RM\"\npartition = \"ffd\"\n");
    let uses = |name: &str, more: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\nperiod = \"10ms\"\nwcet = \"1ms\"\nmisses = 20\n{more}work = [{{ sweep = \"16KiB\" }}]\n"
        )
    };
    let apart = planned(&format!("{head}{}{}", uses("a", ""), uses("b", "")));
    assert_eq!(apart.overall, Overall::Proved);
    assert!(matches!(apart.rule, CoreRule::Apart(_)), "{:?}", apart.rule);
    let cores: Vec<_> = apart.plan.experiment.tasks.iter().map(|task| task.core).collect();
    assert_ne!(cores[0], cores[1]);
    let together = planned(&format!("{head}{}{}", uses("a", "core = 3\n"), uses("b", "core = 3\n")));
    assert_eq!(together.overall, Overall::Conditional);
    let system = System::of(&together.plan.experiment);
    assert_eq!(system.disturbers(0).collect::<Vec<_>>(), [1]);
    let nine: String = (0..9).map(|at| uses(&format!("t{at}"), "")).collect();
    assert_eq!(planned(&format!("{head}{nine}")).overall, Overall::Conditional, "nine tasks, eight cores");
}

/// Banks are planned where they are asked for: cores share none, and what lacks is counted.
#[test]
fn banks_are_private_where_they_are_asked_for() {
    let uses = |at: u16, size: &str| {
        format!(
            "[[task]]\nname = \"t{at}\"\nclass = \"hard\"\ncore = {at}\nperiod = \"10ms\"\nwcet = \"1ms\"\nmisses = 20\n\
             work = [{{ sweep = \"{size}\", accesses = 20 }}]\n"
        )
    };
    let search_banks = |text: &str| {
        let found = requests(text, Path::new("open.toml"), &Platforms::builtin(), &Default::default());
        let found = found.unwrap_or_else(|report| panic!("{}", report.to_json()));
        search_for(&found[0], Aims { banks: true })
    };
    let text = format!("{HEAD}{}{}{}", uses(0, "16KiB"), uses(1, "16KiB"), uses(2, "16KiB"));
    let search = search_banks(&text);
    let Ending::Planned(planned) = &search.ending else { panic!("{:?}", search.ending) };
    assert_eq!(planned.overall, Overall::Proved);
    // 32 banks among three cores.
    let banks: Vec<_> = search.choices.tasks.iter().map(|choice| choice.banks.clone().unwrap()).collect();
    assert_eq!(banks, [(0..10).collect::<Vec<u16>>(), (10..20).collect(), (20..30).collect()]);
    let owners = &planned.plan.experiment.isolation.memory.as_ref().unwrap().owners;
    assert!(owners.iter().all(|owner| owner.banks.len() == 10), "{owners:?}");
    assert!(searched(&text).choices.tasks.iter().all(|choice| choice.banks.is_none()), "nobody asked");
    // 4 GiB in 32 banks: ten hold 1280 MiB.
    let large = search_banks(&text.replacen("16KiB", "1300MiB", 1)).ending;
    let Ending::Impossible(NoPlan::BankMemory { core: CoreId(0), needs, holds }) = &large else {
        panic!("{large:?}")
    };
    assert_eq!((needs.get() >> 20, holds.get() >> 20), (1300, 1280));
}

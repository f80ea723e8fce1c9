//! What is chosen where a scenario leaves cores, colors and budgets open, and what is said where no choice helps.

use solo_plan::{Ending, NoPlan, Search, search};
use solo_prove::system::Overall;
use solo_scenario::{Platforms, requests};
use std::path::Path;

fn searched(text: &str) -> Search {
    let found = requests(text, Path::new("open.toml"), &Platforms::builtin(), &Default::default());
    search(&found.unwrap_or_else(|report| panic!("{}", report.to_json()))[0])
}

fn lack(text: &str) -> NoPlan {
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
    assert_eq!(planned.overall, Overall::Proved, "{:?}", planned.judged);
}

#[test]
fn the_resource_that_lacks_is_named_with_how_far_off_it_is() {
    let nine: String = (0..9).map(|at| task(&format!("t{at}"), "work = [{ compute = \"9ms\" }]")).collect();
    assert!(matches!(lack(&format!("{HEAD}{nine}")), NoPlan::Processors { asked: 8_100_000, cores: 8 }));
    let ten: String = (0..10).map(|at| task(&format!("t{at}"), "work = [{ compute = \"6ms\" }]")).collect();
    // Six cores' worth of time, and no core takes two.
    assert!(matches!(lack(&format!("{HEAD}{ten}")), NoPlan::NoRoom { asked: 1_200_000, .. }));
    let sweep = "wcet = \"8ms\"\nmisses = 80_000\nwork = [{ sweep = \"5MiB\" }]";
    let thirsty = format!("{HEAD}{}{}", task("a", sweep), task("b", sweep));
    // 2 x 80 000 x 64 B in 10 ms, of 1263 MB/s.
    let NoPlan::Bandwidth { needed, there } = lack(&thirsty.replace("80_000", "160_000")) else {
        panic!("bandwidth")
    };
    assert_eq!((needed.get(), there.get()), (2_048_000_000, 1_263_000_000));
    // A miss that may push a modified line out moves two: half of 1183 MB/s.
    let written = thirsty.replace("sweep = \"5MiB\"", "sweep = \"5MiB\", writes = \"50%\"");
    let NoPlan::Bandwidth { there, .. } = lack(&written) else { panic!("bandwidth") };
    assert_eq!(there.get(), 591_500_000);
    let three: String = (0..3)
        .map(|at| {
            task(
                &format!("t{at}"),
                &format!("core = {at}\nwcet = \"1ms\"\nmisses = 9\nwork = [{{ sweep = \"64KiB\" }}]"),
            )
        })
        .collect();
    let merged = format!("{HEAD}[isolation.memory]\ngroups = 2\n{three}");
    assert!(matches!(lack(&merged), NoPlan::Colors { needed: 3, there: 2 }), "{:?}", lack(&merged));
    assert!(matches!(
        lack(&format!("{HEAD}{}", task("a", "work = [{ sweep = \"64KiB\" }]"))),
        NoPlan::Unsized(_)
    ));
}

/// What a job computes is known where it also takes locks or sleeps; `solo check` counts the same.
#[test]
fn jobs_that_compute_between_locks_and_sleeps_are_as_long_as_they_compute() {
    let work = "work = [{ compute = \"1ms\" }, { lock = \"l\" }, { compute = \"1ms\" }, { unlock = \"l\" }, { compute = \"1ms\" }]";
    let lock = "[[lock]]\nname = \"l\"\nprotocol = \"ceiling\"\n";
    let sleeps = "work = [{ compute = \"1ms\" }, { sleep = \"1ms\" }, { compute = \"1ms\" }]";
    for text in [format!("{HEAD}{lock}{}", task("a", work)), format!("{HEAD}{}", task("a", sleeps))] {
        let search = searched(&text);
        let Ending::Planned(planned) = &search.ending else { panic!("{:?}", search.ending) };
        assert_eq!(planned.overall, Overall::Proved, "{:?}", planned.judged);
    }
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
        search.rounds.iter().any(|round| matches!(round.lack, NoPlan::Together(0, 1))),
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

/// Best effort has what the proof leaves. That is judged here anew, as is what one step more would come to.
#[test]
fn the_rest_goes_to_best_effort_and_one_step_more_breaks_the_proof_or_the_capacity() {
    let text = include_str!("../../../scenarios/planned/eight-cores.toml");
    let search = searched(text);
    let Ending::Planned(planned) = &search.ending else { panic!("{:?}", search.ending) };
    let spare = planned.spare.as_ref().expect("something is left");
    let experiment = &planned.plan.experiment;
    let best = |core| {
        let streams = |task: &solo_model::Task| task.core == Some(core) && task.work.touches_memory();
        experiment.tasks.iter().any(|task| task.class == solo_model::TaskClass::BestEffort && streams(task))
    };
    let sum = |budgets: &[(solo_model::CoreId, solo_model::Events)]| {
        budgets.iter().filter(|(core, _)| best(*core)).map(|(_, events)| events.get()).sum::<u64>()
    };
    let (before, now) = (sum(&spare.before), sum(&search.choices.budgets));
    assert!(now > before, "{before} before, {now} now");
    assert!(spare.to.iter().all(|&core| best(core)) && spare.checks <= 256, "{spare:?}");
    let proved = |budgets: &[(solo_model::CoreId, solo_model::Events)]| {
        let mut changed = experiment.clone();
        let regulation = changed.isolation.bandwidth.as_mut().unwrap();
        for entry in &mut regulation.cores {
            let (_, events) = budgets.iter().find(|(core, _)| *core == entry.core).unwrap();
            entry.budget = solo_model::isolation::Budget::Events(*events);
        }
        let judged = solo_prove::system::System::of(&changed).judge(&mut solo_prove::Effort::steps(1 << 26));
        judged.overall() == Overall::Proved
    };
    assert!(proved(&search.choices.budgets), "what was given is proved");
    let period = search.choices.period.map_or(1_000_000, |period| period.get());
    let most = 1_183_000_000_u64 / 2 * period / 1_000_000_000 / 64;
    let each = spare.to.len() as u64;
    let givers = spare.before.iter().map(|(core, _)| *core).filter(|core| !spare.to.contains(core));
    for from in std::iter::once(None).chain(givers.map(Some)) {
        let mut more = search.choices.budgets.clone();
        let mut there = true;
        for (core, events) in &mut more {
            if spare.to.contains(core) {
                *events = solo_model::Events::new(events.get() + 1);
            } else if from == Some(*core) {
                there = events.get() > each;
                *events = solo_model::Events::new(events.get().saturating_sub(each).max(1));
            }
        }
        let total: u64 = more.iter().map(|(_, events)| events.get()).sum();
        assert!(!there || total > most || !proved(&more), "one step more from {from:?} is proved: {more:?}");
    }
}

/// Forty tasks, half of them with memory, on eight cores.
#[test]
fn forty_tasks_on_eight_cores_are_planned() {
    let tasks: String = (0..40)
        .map(|at| {
            let (period, wcet) = ([10, 20, 40, 80][at % 4], [1, 2, 5, 9][at % 4]);
            let work = if at % 2 == 0 {
                format!("misses = {}\nwork = [{{ sweep = \"64KiB\", writes = \"20%\" }}]", 200 + 10 * at)
            } else {
                format!("work = [{{ compute = \"{wcet}ms\" }}]")
            };
            format!("[[task]]\nname = \"t{at}\"\nclass = \"hard\"\nperiod = \"{period}ms\"\nwcet = \"{wcet}ms\"\n{work}\n")
        })
        .collect();
    let search = searched(&format!("{HEAD}{tasks}"));
    let Ending::Planned(planned) = &search.ending else { panic!("{:?}", search.ending) };
    let proved = |one: &solo_prove::system::Judgement| {
        matches!(one.outcome, solo_prove::system::TaskFinding::Proved(_))
    };
    assert!(
        planned.judged.tasks.len() == 40 && planned.judged.tasks.iter().all(proved),
        "{:?}",
        planned.judged
    );
    assert_eq!(planned.spare, None, "nobody is best effort");
}

/// What is wrong whatever is chosen is refused, and what lacks on a core that is written is a lack, with how far off it is.
#[test]
fn what_no_choice_mends_is_answered_as_what_it_is() {
    let late = task("a", "deadline = \"2ms\"\nwcet = \"3ms\"\nwork = [{ compute = \"3ms\" }]");
    let Ending::Refused(refused) = searched(&format!("{HEAD}{late}")).ending else { panic!("C > D") };
    let faults: Vec<_> = refused.objections.iter().map(|objection| &objection.fault).collect();
    assert!(matches!(faults[..], [solo_plan::Fault::WcetBeyondDeadline { .. }]), "{faults:?}");
    let full = |name: &str| task(name, "core = 0\nwcet = \"6ms\"\nwork = [{ compute = \"6ms\" }]");
    // Two of 6 ms in 10 ms on one core: 2 ms too much.
    let forced = lack(&format!("{HEAD}{}{}", full("a"), full("b")));
    let NoPlan::Late { needs, has, core, .. } = &forced else { panic!("{forced:?}") };
    assert_eq!((needs.get(), has.get(), core.map(|core| core.0)), (12_000_000, 10_000_000, Some(0)));
    let huge = task("a", "wcet = \"9ms\"\nmisses = 9\nwork = [{ sweep = \"900GiB\" }]");
    let huge = searched(&format!("{HEAD}{huge}"));
    assert!(
        matches!(huge.ending, Ending::Refused(_) | Ending::Impossible(NoPlan::Refused(_))),
        "{:?}",
        huge.ending
    );
}

/// On a chip of fast and slow cores a plan of two tasks is found wherever writing their cores finds one.
#[test]
fn what_fits_on_a_fast_core_is_planned_there() {
    let head = "name = \"open\"\nplatform = \"juno\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-FP\"\n";
    let plan = |times: [u64; 2], cores: Option<[u16; 2]>| {
        let one = |at: usize| {
            let core = cores.map_or(String::new(), |cores| format!("core = {}\n", cores[at]));
            let work = format!("priority = {at}\n{core}work = [{{ compute = \"{}us\" }}]", times[at]);
            task(["a", "b"][at], &work)
        };
        searched(&format!("{head}{}{}", one(0), one(1))).ending
    };
    let (mut planned, mut impossible) = (0, 0);
    // An A53 takes 2.157 times as long: from 4.636 ms on a task of 10 ms fits on an A57 alone, of which there are two.
    for times in [[1000, 2000], [4000, 4600], [4700, 1000], [8000, 9000], [9999, 10_000], [10_001, 100]] {
        let written = (0..6).flat_map(|a| (0..6).map(move |b| [a, b]));
        let mut written = written.map(|cores| plan(times, Some(cores)));
        let possible = written.any(|ending| matches!(ending, Ending::Planned(_)));
        let found = plan(times, None);
        assert_eq!(matches!(found, Ending::Planned(_)), possible, "{times:?}: {found:?}");
        if possible {
            planned += 1;
        } else {
            impossible += 1;
        }
    }
    assert_eq!((planned, impossible), (5, 1));
    // Which work outlasts what it declares is placed by what it computes.
    let outlasts = |name: &str| task(name, "priority = 0\nwcet = \"1ms\"\nwork = [{ compute = \"6ms\" }]");
    let found = searched(&format!("{HEAD}partition = \"ff\"\n{}{}", outlasts("a"), outlasts("b"))).ending;
    let Ending::Planned(found) = found else { panic!("{found:?}") };
    let cores: Vec<_> = found.plan.experiment.tasks.iter().map(|task| task.core).collect();
    assert_ne!(cores[0], cores[1]);
}

/// A declared time that computation alone reaches on slow cores does on fast ones, and the plan goes there.
#[test]
fn a_time_that_is_too_short_on_slow_cores_is_planned_on_a_fast_one() {
    let head =
        "name = \"open\"\nplatform = \"quickia\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-DM\"\n";
    let task = |name: &str, period: &str, more: &str| {
        format!("[[task]]\nname = \"{name}\"\nclass = \"hard\"\nperiod = \"{period}\"\n{more}\n")
    };
    let tasks = task("a", "4ms", "work = [{ compute = \"1923us\" }]")
        + &task("b", "4ms", "work = [{ compute = \"2030us\" }]");
    let plan = |core: &str| {
        let work = "wcet = \"650us\"\nmisses = 563\nwork = [{ compute = \"168us\" }, { random = \"256KiB\", accesses = 499 }]";
        let text = format!("{head}{tasks}{}", task("c", "1ms", &format!("{core}{work}")));
        match searched(&text).ending {
            Ending::Planned(planned) => planned.overall,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(plan("core = 3\n"), Overall::Incomplete);
    assert_eq!(plan("core = 0\n"), Overall::Proved);
    assert_eq!(plan(""), Overall::Proved);
}

/// A period, a deadline in it, and a time to compute, in microseconds.
fn times(random: &mut solo_model::random::SplitMix64) -> (u64, u64, u64) {
    let period = [10, 14, 20, 25, 30, 50][random.below(6) as usize] * 1000;
    let wcet = period * (15 + random.below(45)) / 100;
    (period, (wcet + random.below(period)).min(period), wcet)
}

fn timed(at: usize, (period, deadline, _): (u64, u64, u64), more: &str) -> String {
    let times = format!("period = \"{period}us\"\ndeadline = \"{deadline}us\"");
    format!("[[task]]\nname = \"t{at}\"\nclass = \"hard\"\n{times}\n{more}\n")
}

/// Whether writing down cores makes it good: all ways on so many cores, of which the first of each of these stretches are alike.
fn by_hand(head: &str, tasks: &[String], stretches: &[usize], good: impl Fn(&Search) -> bool) -> bool {
    let (cores, count) = (stretches.iter().sum::<usize>(), tasks.len() as u32);
    (0..cores.pow(count)).any(|way| {
        let on = |at: usize| way / cores.pow(at as u32) % cores;
        let begins =
            |core: usize| (0..stretches.len()).any(|at| stretches[..at].iter().sum::<usize>() == core);
        // A task comes to the lowest of the cores that are empty and alike.
        let lowest = |at: usize| {
            begins(on(at)) || (0..at).any(|before| on(before) == on(at) || on(before) + 1 == on(at))
        };
        let text = || -> String {
            tasks.iter().enumerate().map(|(at, task)| format!("{task}core = {}\n", on(at))).collect()
        };
        (0..tasks.len()).all(lowest) && good(&searched(&format!("{head}{}", text())))
    })
}

/// Where tasks use memory, bin packing, which knows neither budgets nor who disturbs whom, misses plans that writing cores down would
/// have. Whatever anybody could write down is planned.
#[test]
fn where_ways_to_give_cores_are_few_a_plan_is_found_wherever_there_is_one() {
    let (mut planned, mut impossible, mut by_trying) = (0, 0, 0);
    for seed in 60..240 {
        let mut random = solo_model::random::SplitMix64::derived(seed, &[0x7761_7973]);
        let head = HEAD.replace("P-EDF", ["P-DM", "P-EDF"][random.below(2) as usize]);
        let mut tasks = Vec::new();
        for at in 0..5 {
            let times = times(&mut random);
            let wcet = times.2;
            let work = match random.below(3) {
                0 => format!("work = [{{ compute = \"{wcet}us\" }}]"),
                _ => {
                    let (misses, size) = (wcet * (1 + random.below(40)) / 10, 64 << random.below(4));
                    format!("wcet = \"{wcet}us\"\nmisses = {misses}\nwork = [{{ sweep = \"{size}KiB\" }}]")
                }
            };
            tasks.push(timed(at, times, &work));
        }
        let found = searched(&format!("{head}{}", tasks.concat()));
        match &found.ending {
            Ending::Planned(plan) => {
                planned += 1;
                by_trying += u32::from(matches!(plan.rule, solo_plan::CoreRule::Each(_)));
            }
            Ending::Impossible(_) => {
                impossible += 1;
                let good = |search: &Search| matches!(search.ending, Ending::Planned(_));
                assert!(!by_hand(&head, &tasks, &[8], good), "seed {seed}");
            }
            Ending::Refused(refused) => panic!("seed {seed}: {refused:?}"),
        }
    }
    println!("{planned} planned, {by_trying} of them by trying all ways; {impossible} can't be");
    assert!(planned > 40 && impossible > 40 && by_trying > 1);
}

/// There is no analysis of a lock that tasks of several cores take: they come to one core where they may.
#[test]
fn tasks_that_take_the_same_lock_come_to_one_core_wherever_that_is_proved() {
    let (mut proved, mut open, mut impossible, mut joined) = (0, 0, 0, 0);
    for seed in 0..80 {
        let mut random = solo_model::random::SplitMix64::derived(seed, &[0x006c_6f63_6b73]);
        let (platform, stretches) = [("xeon-w3530", &[4][..]), ("tc2", &[2, 3])][random.below(2) as usize];
        let policy = ["P-DM", "P-EDF"][random.below(2) as usize];
        let protocol = ["inheritance", "ceiling"][random.below(2) as usize];
        let lock = |name| format!("[[lock]]\nname = \"{name}\"\nprotocol = \"{protocol}\"\n");
        let head = HEAD.replace("p4080", platform).replace("P-EDF", policy) + &lock("l") + &lock("m");
        let mut tasks = Vec::new();
        for at in 0..5 {
            let times = times(&mut random);
            let inside = times.2 * random.below(60) / 100 + 1;
            let alone = times.2 / 2;
            let section = ["l", "m"].get(random.below(5) as usize).map_or(String::new(), |name| {
                format!(
                    ", {{ lock = \"{name}\" }}, {{ compute = \"{inside}us\" }}, {{ unlock = \"{name}\" }}"
                )
            });
            tasks.push(timed(at, times, &format!("work = [{{ compute = \"{alone}us\" }}{section}]")));
        }
        let found = searched(&format!("{head}{}", tasks.concat()));
        let is_proved = |search: &Search| matches!(&search.ending, Ending::Planned(plan) if plan.overall == Overall::Proved);
        if is_proved(&found) {
            proved += 1;
            joined += usize::from(found.rounds.iter().any(|round| matches!(round.lack, NoPlan::Lock(_))));
            continue;
        }
        assert!(!by_hand(&head, &tasks, stretches, is_proved), "seed {seed}");
        match &found.ending {
            Ending::Planned(plan) => {
                assert_eq!((plan.overall, &plan.judged.overloads), (Overall::NoAnalysis, &Vec::new()));
                open += 1;
            }
            Ending::Impossible(_) => impossible += 1,
            Ending::Refused(refused) => panic!("seed {seed}: {refused:?}"),
        }
    }
    println!(
        "{proved} proved, {joined} of them by bringing tasks together; {open} without an analysis; {impossible} can't be"
    );
    assert!(joined > 5 && open > 5);
}

/// A lock without an analysis hides no overload, neither of one core nor of cores that tasks share.
#[test]
fn cores_that_are_overloaded_are_no_plan_even_where_a_lock_has_no_analysis() {
    let lock = "[[lock]]\nname = \"l\"\nprotocol = \"ceiling\"\n";
    let work = "work = [{ compute = \"3ms\" }, { lock = \"l\" }, { compute = \"3ms\" }, { unlock = \"l\" }]";
    for (policy, shared, tasks, expected) in
        [("P-EDF\"", 1, 2, 1_200_000), ("C-EDF\"\nclusters = 2", 2, 4, 2_400_000)]
    {
        let on = |name: &str, core: u16| task(name, &format!("core = {core}\n{work}"));
        let all: String = (0..tasks).map(|at| on(&format!("t{at}"), 0)).collect();
        let text = format!("{}{lock}{all}{}", HEAD.replace("P-EDF\"", policy), on("elsewhere", 2));
        let found = lack(&text);
        let expected = NoPlan::Overload { core: solo_model::CoreId(0), cores: shared, asked: expected };
        assert_eq!(found, expected);
    }
}

//! Slots of devices between windows of partitions: what is planned is in order and meets nowhere by a count of every instance, and runs
//! with each slot held and each job within its window; what stands in the way is named with its numbers.

use solo_model::random::SplitMix64;
use solo_model::record::Record;
use solo_model::units::PerMille;
use solo_model::{CoreId, Direction, Duration, Experiment, Instant, TaskClass, TaskId};
use solo_plan::{Ending, IoLack, NoPlan, Planned, Search, search};
use solo_scenario::{Platforms, requests};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

const HEAD: &str =
    "name = \"slots\"\nplatform = \"p4080\"\nduration = \"200ms\"\n[scheduler]\npolicy = \"P-RM\"\n";

fn searched(text: &str) -> Search {
    let found = requests(text, Path::new("open.toml"), &Platforms::builtin(), &Default::default());
    search(&found.unwrap_or_else(|report| panic!("{}\n{text}", report.to_json()))[0])
}

fn planned(text: &str) -> Box<Planned> {
    match searched(text).ending {
        Ending::Planned(planned) => planned,
        other => panic!("{other:?}\n{text}"),
    }
}

fn lack(text: &str) -> IoLack {
    match searched(text).ending {
        Ending::Impossible(NoPlan::Io(lack)) => lack,
        other => panic!("{other:?}\n{text}"),
    }
}

fn task(name: &str, period: &str, compute: &str, more: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nclass = \"hard\"\nperiod = \"{period}\"\n{more}work = [{{ compute = \"{compute}\" }}]\n"
    )
}

fn device(name: &str, owner: &str, direction: &str, period: &str, more: &str) -> String {
    format!(
        "[[device]]\nname = \"{name}\"\nowner = \"{owner}\"\ndirection = \"{direction}\"\nmoves = \"1KiB\"\nperiod = \"{period}\"\n{more}"
    )
}

/// A device as it was drawn, in tens of microseconds.
#[derive(Clone)]
struct Side {
    partition: usize,
    hardware: u64,
    period: u64,
    slot: u64,
    physical: u64,
}

/// Two to ten partitions of tasks that compute, most with an input or an output or both, some beside partitions without deadlines.
fn scenario(seed: u64) -> (String, BTreeMap<String, Side>) {
    let mut random = SplitMix64::derived(seed, &[0x0073_6c6f_7473]);
    let mut between = |low: u64, high: u64| low + random.below(high - low + 1);
    let policy = ["P-RM", "P-EDF", "P-DM"][between(0, 2) as usize];
    let mut text = HEAD.replace("P-RM", policy)
        + &format!("overheads = \"{}\"\n", ["free", "epos-thesis"][between(0, 1) as usize]);
    text = text.replace("[scheduler]", &format!("seed = {seed}\n[scheduler]"));
    let (mut partitions, mut body) = ("[isolation.partitions]\n".to_owned(), String::new());
    let mut sides = BTreeMap::new();
    for at in 0..between(2, 10) as usize {
        let period = [1_000, 2_000, 4_000][between(0, 2) as usize];
        let mut names = Vec::new();
        for part in 0..between(1, 2) {
            let (times, wcet) = (between(1, 2), period * between(2, 18) / 100);
            let name = format!("t{at}{part}");
            body += &task(&name, &format!("{}us", period * times * 10), &format!("{}us", wcet * 10), "");
            names.push(name);
        }
        let _ = writeln!(partitions, "p{at} = {names:?}");
        for direction in ["input", "output"] {
            if between(0, 3) == 0 {
                continue;
            }
            let side = Side {
                partition: at,
                hardware: between(0, 3),
                period,
                slot: between(10, 60),
                physical: if between(0, 2) == 0 { 0 } else { between(5, 80) },
            };
            let physical = match side.physical {
                0 => String::new(),
                physical => format!("physical = \"{}us\"\n", physical * 10),
            };
            let name = format!("{direction}{at}");
            let owner = if between(0, 1) == 0 { format!("p{at}") } else { format!("t{at}0") };
            let more =
                format!("hardware = \"h{}\"\nslot = \"{}us\"\n{physical}", side.hardware, side.slot * 10);
            body += &device(&name, &owner, direction, &format!("{}us", period * 10), &more);
            sides.insert(name, side);
        }
    }
    for at in 0..between(0, 3) {
        let _ = write!(
            body,
            "[[task]]\nname = \"s{at}\"\nclass = \"best-effort\"\nwork = [{{ compute = \"3ms\" }}]\n"
        );
        let _ = writeln!(partitions, "rest{at} = [\"s{at}\"]");
    }
    (text + &partitions + &body, sides)
}

/// Every instance of every stretch in two common periods, resource by resource: nothing overlaps.
fn meets(stretches: &[(String, u64, u64, u64)]) -> Option<String> {
    let common = 2 * 40_000_000;
    let mut all: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for (resource, begin, length, period) in stretches {
        let first = begin % period;
        let own = all.entry(resource).or_default();
        own.extend((0..common / period).map(|at| (first + at * period, first + at * period + length)));
        // One that is under way when the table begins.
        if first + length > *period {
            own.push((0, first + length - period));
        }
    }
    all.into_iter().find_map(|(resource, mut own)| {
        own.sort_unstable();
        let pair = own.windows(2).find(|pair| pair[0].1 > pair[1].0)?;
        Some(format!("{resource}: {pair:?}"))
    })
}

/// That all steps are in their order, within a period, and meet nowhere.
fn in_order(planned: &Planned, sides: &BTreeMap<String, Side>) {
    let experiment = &planned.plan.experiment;
    let partitions = experiment.isolation.partitions.clone().unwrap_or_default();
    let mut stretches = Vec::new();
    let mut steps: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for device in &experiment.devices {
        let Some(side) = sides.get(&device.name) else { continue };
        let choice = planned.devices.iter().find(|choice| choice.name == device.name).expect("a slot");
        assert_eq!((device.offset, device.core), (choice.offset, Some(choice.core)));
        let (begin, period) = (device.offset.get(), side.period * 10_000);
        stretches.push(("I/O core".to_owned(), begin, side.slot * 10_000, period));
        let own = steps.entry(side.partition).or_default();
        let slot = (begin, begin + side.slot * 10_000);
        let physical =
            choice.physical_offset.map(|begin| (begin.get(), begin.get() + side.physical * 10_000));
        assert_eq!(physical.is_some(), side.physical > 0);
        match device.direction {
            Direction::Input => own.extend(physical.into_iter().chain([slot])),
            Direction::Output => own.extend([slot].into_iter().chain(physical)),
        }
        if let Some((begin, _)) = physical {
            stretches.push((format!("h{}", side.hardware), begin, side.physical * 10_000, period));
        }
    }
    assert_eq!(meets(&stretches), None);
    for (at, own) in steps {
        let home = partitions
            .partitions()
            .iter()
            .position(|known| known.name == format!("p{at}"))
            .expect("it is there");
        let tasks = &partitions.partitions()[home].tasks;
        let begin = experiment.tasks[tasks[0].index()].release.offset().get();
        assert!(tasks.iter().all(|task| experiment.tasks[task.index()].release.offset().get() == begin));
        let side = sides.values().find(|side| side.partition == at).expect("it has one");
        let (length, window_begin) = window(experiment, tasks[0]).expect("it has a window");
        assert_eq!(
            begin % (side.period * 10_000),
            window_begin % (side.period * 10_000),
            "released with its window"
        );
        // What comes in before and goes out after, each behind the one before it.
        let inputs = own.iter().filter(|step| step.1 <= begin).count();
        let chain: Vec<(u64, u64)> = own[..inputs]
            .iter()
            .copied()
            .chain([(begin, begin + length)])
            .chain(own[inputs..].iter().copied())
            .collect();
        assert!(chain.windows(2).all(|pair| pair[0].1 <= pair[1].0), "p{at}: {chain:?}");
        let takes = chain.last().expect("a step").1 - chain[0].0;
        assert!(takes <= side.period * 10_000, "p{at}: {takes}");
    }
}

/// The length of the window of a task's partition, and when the first begins.
fn window(experiment: &Experiment, task: TaskId) -> Option<(u64, u64)> {
    let partitions = experiment.isolation.partitions.as_ref()?;
    let home = partitions.of(task)?;
    let mut all = partitions.cycles().iter().flat_map(|cycle| &cycle.windows);
    let window = all.find(|window| window.partition == home)?;
    Some((window.length.get(), window.begin.get()))
}

/// Hears of jobs that are late or outlast their windows, and of slots that are cut short or overlap.
struct Hearing<'a> {
    experiment: &'a Experiment,
    exchanging: Vec<bool>,
    jobs: u64,
    slots: u64,
    found: Option<String>,
}

impl solo_sim::Observer for Hearing<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Transfer(slot) => {
                self.slots += 1;
                if !slot.left.is_zero() || slot.overlaps.is_some() {
                    self.found = Some(format!("{slot:?}"));
                }
            }
            Record::Job(job) => {
                let task = &self.experiment.tasks[job.task.index()];
                let window = window(self.experiment, job.task).map(|(length, _)| Duration::new(length));
                let outlasts = window.is_some_and(|window| job.response() > window);
                self.jobs += 1;
                if task.class == TaskClass::Hard
                    && (job.missed() || outlasts && self.exchanging[job.task.index()])
                {
                    self.found = Some(format!("{} took {} of {window:?}", task.name, job.response()));
                }
            }
            _ => {}
        }
        if self.found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn what_is_planned_is_in_order_and_runs_with_each_slot_held() {
    let said = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let (first, count) = (said("SOLO_FIRST_SEED").unwrap_or(0), said("SOLO_PLANS").unwrap_or(60));
    let (mut with_slots, mut jobs, mut slots, mut refused) = (0, 0, 0, 0);
    for seed in first..first + count {
        let (text, sides) = scenario(seed);
        let search = searched(&text);
        let planned = match &search.ending {
            Ending::Planned(planned) => planned,
            Ending::Impossible(_) => {
                refused += 1;
                continue;
            }
            Ending::Refused(refused) => panic!("seed {seed}: {refused:?}\n{text}"),
        };
        in_order(planned, &sides);
        let experiment = &planned.plan.experiment;
        with_slots += u64::from(!sides.is_empty());
        let partitions = experiment.isolation.partitions.clone().unwrap_or_default();
        let exchanging = |task: usize| {
            let home = partitions
                .of(TaskId(task as u32))
                .map(|home| partitions.partitions()[home.index()].name.clone());
            sides.values().any(|side| Some(format!("p{}", side.partition)) == home)
        };
        let exchanging = (0..experiment.tasks.len()).map(exchanging).collect();
        let mut hearing = Hearing { experiment, exchanging, jobs: 0, slots: 0, found: None };
        solo_sim::run(experiment, &[], &mut hearing)
            .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        assert_eq!(hearing.found, None, "seed {seed}\n{text}");
        (jobs, slots) = (jobs + hearing.jobs, slots + hearing.slots);
    }
    println!(
        "{with_slots} of {count} planned with slots, {refused} refused; {jobs} jobs and {slots} slots held"
    );
    assert!(count < 60 || with_slots * 2 > count && slots > 20 * count, "{with_slots} {refused} {slots}");
}

const SLOT: &str = "slot = \"500us\"\n";

#[test]
fn what_no_choice_of_cores_mends_is_named() {
    let parts = "[isolation.partitions]\nvision = [\"look\"]\nrest = [\"idle\"]\n";
    let idle = task("idle", "20ms", "1ms", "");
    let of = |devices: &str, look: &str| format!("{HEAD}{parts}{look}{idle}{devices}");
    let look = task("look", "20ms", "3ms", "");
    let input = device("in", "look", "input", "20ms", SLOT);
    let output = device("out", "vision", "output", "20ms", SLOT);
    let both = planned(&of(&(input.clone() + &output), &look));
    assert_eq!(both.table.as_ref().map(|table| table.core), Some(CoreId(7)));
    let twice = lack(&of(&(input.clone() + &device("again", "look", "input", "20ms", SLOT)), &look));
    assert!(
        matches!(&twice, IoLack::TwoSides { partition, direction: Direction::Input } if partition == "vision"),
        "{twice:?}"
    );
    let periods = lack(&of(&(input.clone() + &device("out", "look", "output", "40ms", SLOT)), &look));
    assert!(
        matches!(&periods, IoLack::Periods { input, output, .. } if input.get() * 2 == output.get()),
        "{periods:?}"
    );
    let often = lack(&of(&device("in", "look", "input", "40ms", SLOT), &look));
    assert!(
        matches!(&often, IoLack::TaskPeriod { task, period, devices, .. } if task == "look" && period < devices),
        "{often:?}"
    );
    let late = lack(&of(&input, &task("look", "20ms", "3ms", "offset = \"1ms\"\n")));
    assert!(matches!(&late, IoLack::Released { task, .. } if task == "look"), "{late:?}");
    let unasked =
        look.replace("class = \"hard\"", "class = \"best-effort\"").replace("period = \"20ms\"\n", "");
    assert!(matches!(lack(&of(&input, &unasked)), IoLack::NoDeadline { .. }));
    let cycle = "[[isolation.cycle]]\ncore = 0\nlength = \"20ms\"\nwindows = [{ partition = \"vision\", begin = \"0ms\", length = \"9ms\" }]\n";
    assert!(matches!(lack(&of(&(input.clone() + cycle), &look)), IoLack::Written { core: CoreId(0), .. }));
    // Tasks on every core.
    let everywhere: String =
        (0..8).map(|core| task(&format!("c{core}"), "20ms", "1ms", &format!("core = {core}\n"))).collect();
    assert!(matches!(lack(&of(&(input + &everywhere), &look)), IoLack::NoCore { cores: 8 }));
    // What is said of all slots is kept: nothing is planned of it.
    let said = device("in", "look", "input", "20ms", "slot = \"500us\"\noffset = \"2ms\"\ncore = 6\n");
    let kept = planned(&of(&said, &look));
    assert!(kept.table.is_none() && kept.devices.is_empty());
    assert!(kept.plan.experiment.tasks.iter().all(|task| task.core != Some(CoreId(6))), "core 6 starts it");
}

/// Single-core equivalence, section 5, with both partitions on one core: 6 of 18 and 12 of 36, and one more unit does not fit.
#[test]
fn what_meets_wherever_it_begins_is_told_with_how_far_off_it_is() {
    let text = |second: &str| {
        format!(
            "{HEAD}[isolation.partitions]\np1 = [\"a\"]\np2 = [\"b\"]\n{}{}{}{}",
            task("a", "18ms", "6ms", "core = 1\n"),
            task("b", "36ms", second, "core = 1\n"),
            device("in1", "p1", "input", "18ms", "slot = \"1ms\"\n")
                + &device("out1", "p1", "output", "18ms", "slot = \"1ms\"\n"),
            device("in2", "p2", "input", "36ms", "slot = \"1ms\"\n")
                + &device("out2", "p2", "output", "36ms", "slot = \"1ms\"\n"),
        )
    };
    let section_5 = planned(&text("12ms"));
    let offset = |task: usize| section_5.plan.experiment.tasks[task].release.offset().get();
    assert_eq!((offset(1) + 36_000_000 - offset(0) % 18_000_000) % 18_000_000, 6_000_000, "the only offset");
    let IoLack::Never { why, partitions, .. } = lack(&text("13ms")) else { panic!("13 and 6 of 18") };
    let solo_ima::Impossible::Pair { together, modulus, .. } = why else { panic!("{why:?}") };
    assert_eq!([together, modulus].map(Duration::get), [19_000_000, 18_000_000]);
    assert_eq!(partitions, ["p1", "p2"]);
    // Of all that was tried before each is told; here nothing else can be.
    let search = searched(&text("13ms"));
    assert!(
        search.rounds.iter().all(|round| matches!(round.lack, NoPlan::Io(IoLack::Never { .. }))),
        "{:?}",
        search.rounds
    );
    // On cores of their own both have room.
    let apart = planned(&text("13ms").replace("core = 1\n", ""));
    assert_ne!(apart.plan.experiment.tasks[0].core, apart.plan.experiment.tasks[1].core);
}

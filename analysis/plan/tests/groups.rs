//! `partition = "cap-..."` with colors written by hand, against a second answer that is written from the equations of the thesis (7.1, 7.2):
//! small drawn sets, whose memory, colors and utilization are close to what there is.

use solo_model::random::SplitMix64;
use solo_scenario::Platforms;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Colors are merged into so many: of 4 GiB each has 1 GiB.
const COLORS: u64 = 4;
const TOTAL: u128 = 4 << 30;
const CORES: usize = 8;
/// Utilizations are multiples of a thousandth.
const WHOLE: u64 = 1000;

#[derive(Clone, Debug)]
struct Drawn {
    /// Thousandths of a core; none of best effort.
    share: Option<u64>,
    mib: u64,
    /// Which private or shared memory: tasks that name the same number use the same buffer.
    shared: bool,
    colors: BTreeSet<u64>,
}

struct Case {
    method: &'static str,
    /// Millionths of a core, and how that is said.
    capacity: (u64, String),
    tasks: Vec<Drawn>,
    text: String,
}

fn case(seed: u64) -> Case {
    let mut random = SplitMix64::derived(seed, &[0x6772_6f75]);
    let mut between = |low: u64, high: u64| low + random.below(high - low + 1);
    let method = ["cap-ffd", "cap-bfd", "cap-wfd", "cap-nfd"][between(0, 3) as usize];
    let percent = between(30, 100);
    let heavy = between(100, 900);
    let large = between(100, 1800);
    let count = between(2, 7);
    let mut tasks = Vec::new();
    for _ in 0..count {
        let first = between(0, COLORS - 1);
        let colors = (first..=(first + between(0, 2)).min(COLORS - 1)).collect();
        let share = (between(0, 5) > 0).then(|| between(1, heavy));
        tasks.push(Drawn { share, mib: between(1, large), shared: between(0, 9) == 0, colors });
    }
    // The least utilization that is sure under rate-monotonic scheduling, of so many tasks.
    let n = count as f64;
    let sure = (n * (2_f64.powf(1.0 / n) - 1.0) * 1e6) as u64;
    let capacity = match between(0, 2) {
        0 => (1_000_000, String::new()),
        1 => (sure, "capacity = \"rm\"\n".to_owned()),
        _ => (percent * 10_000, format!("capacity = \"{percent}%\"\n")),
    };
    let mut text = format!(
        "name = \"drawn\"\nplatform = \"p4080\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-EDF\"\npartition = \"{method}\"\n{}\
         [isolation.memory]\ngroups = {COLORS}\nshared = \"yes\"\n",
        capacity.1
    );
    if tasks.iter().any(|task| task.shared) {
        text += "[[buffer]]\nname = \"common\"\nsize = \"700MiB\"\n";
    }
    for (at, task) in tasks.iter().enumerate() {
        let colors: Vec<String> = task.colors.iter().map(u64::to_string).collect();
        let (class, times) = match task.share {
            Some(share) => ("soft", format!("period = \"{WHOLE}us\"\nwcet = \"{share}us\"\n")),
            None => ("best-effort", String::new()),
        };
        let work = if task.shared {
            "{ sweep = \"700MiB\", buffer = \"common\", accesses = 100 }".to_owned()
        } else {
            format!("{{ sweep = \"{}MiB\", accesses = 100 }}", task.mib)
        };
        let _ = write!(
            text,
            "[[task]]\nname = \"t{at}\"\nclass = \"{class}\"\n{times}colors = \"{}\"\nwork = [{work}]\n",
            colors.join(", ")
        );
    }
    Case { method, capacity, tasks, text }
}

/// The equation that does not hold, or the core of each task.
fn expected(case: &Case) -> Result<Vec<usize>, &'static str> {
    let mut seen = false;
    let memory: Vec<u128> = case
        .tasks
        .iter()
        .map(|task| {
            // What several tasks use is counted once.
            let first = !seen;
            seen |= task.shared;
            let mib = if task.shared { if first { 700 } else { 0 } } else { task.mib };
            u128::from(mib) << 20
        })
        .collect();
    if memory.iter().sum::<u128>() > TOTAL {
        return Err("equation 1");
    }
    for color in 0..COLORS {
        // In twelfths, which one, two and three colors divide.
        let users = case.tasks.iter().zip(&memory).filter(|(task, _)| task.colors.contains(&color));
        let needed: u128 = users.map(|(task, memory)| memory * 12 / task.colors.len() as u128).sum();
        if needed > TOTAL / u128::from(COLORS) * 12 {
            return Err("equation 4");
        }
    }
    let mut groups = groups(&case.tasks);
    let share =
        |group: &Vec<usize>| group.iter().filter_map(|&task| case.tasks[task].share).sum::<u64>() * 1000;
    if groups.iter().any(|group| share(group) > case.capacity.0) {
        return Err("equation 3");
    }
    groups.sort_by_key(|group| std::cmp::Reverse(share(group)));
    let (mut loads, mut homes, mut open) = ([0_u64; CORES], vec![0; case.tasks.len()], 0);
    for group in &groups {
        let room = |&core: &usize| loads[core] + share(group) <= case.capacity.0;
        let mut cores = (0..CORES).filter(room);
        let core = match case.method {
            "cap-ffd" => cores.next(),
            "cap-nfd" => cores.find(|&core| core >= open),
            "cap-bfd" => cores.max_by_key(|&core| (loads[core], std::cmp::Reverse(core))),
            _ => cores.min_by_key(|&core| (loads[core], core)),
        };
        let core = core.ok_or("no core")?;
        (open, loads[core]) = (core, loads[core] + share(group));
        group.iter().for_each(|&task| homes[task] = core);
    }
    Ok(homes)
}

/// Tasks that hang together by their colors, in the order of their first.
fn groups(tasks: &[Drawn]) -> Vec<Vec<usize>> {
    let mut of: Vec<usize> = (0..tasks.len()).collect();
    for _ in 0..tasks.len() {
        for a in 0..tasks.len() {
            for b in 0..tasks.len() {
                if !tasks[a].colors.is_disjoint(&tasks[b].colors) {
                    of[a] = of[a].min(of[b]);
                }
            }
        }
    }
    let mut names: Vec<usize> = of.clone();
    names.sort_unstable();
    names.dedup();
    let members = |name: usize| (0..tasks.len()).filter(|&task| of[task] == name).collect();
    names.into_iter().map(members).collect()
}

#[test]
fn tasks_go_where_the_equations_send_them() {
    let mut tally = std::collections::BTreeMap::<&str, u32>::new();
    for seed in 0..4000 {
        let case = case(seed);
        let expected = expected(&case);
        let found = solo_scenario::parse(&case.text, Path::new("groups.toml"), &Platforms::builtin());
        match (&expected, &found) {
            (Ok(homes), Ok(scenario)) => {
                let cores: Vec<usize> = scenario
                    .base
                    .tasks
                    .iter()
                    .map(|task| task.core.map_or(99, |core| core.index()))
                    .collect();
                assert_eq!(*homes, cores, "seed {seed}\n{}", case.text);
            }
            (Err(equation), Err(report)) => {
                let told = report.to_json().to_string();
                let named = if *equation == "no core" { "no core" } else { equation };
                assert!(told.contains(named), "seed {seed}: {equation}, {told}\n{}", case.text);
            }
            (Ok(homes), Err(report)) => {
                panic!("seed {seed}: {homes:?} would do: {}\n{}", report.to_json(), case.text)
            }
            (Err(equation), Ok(_)) => panic!("seed {seed}: {equation} does not hold\n{}", case.text),
        }
        *tally.entry(expected.map_or_else(|equation| equation, |_| "placed")).or_default() += 1;
    }
    println!("{tally:?}");
    assert!(
        ["placed", "equation 1", "equation 3", "equation 4"].iter().all(|what| tally.get(what) > Some(&100))
    );
}

/// Hears nothing.
struct Deaf;

impl solo_sim::Observer for Deaf {
    fn record(&mut self, _: solo_model::record::Record) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
    fn progress(
        &mut self,
        _: solo_model::Instant,
        _: solo_model::units::PerMille,
    ) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}

/// Equations 1 and 4 are there so that each task finds the pages it needs in its colors.
#[test]
fn what_the_equations_let_in_finds_its_pages() {
    let mut ran = 0;
    for seed in 0..60 {
        let case = case(seed);
        let found = solo_scenario::parse(&case.text, Path::new("groups.toml"), &Platforms::builtin());
        if let Ok(scenario) = found {
            solo_sim::run(&scenario.base, &[], &mut Deaf)
                .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{}", case.text));
            ran += 1;
        }
    }
    assert!(ran > 10, "{ran}");
}

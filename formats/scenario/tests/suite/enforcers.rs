//! Exports read back by small readers of each target's own format, and held against the experiment.

use solo_model::Experiment;
use solo_model::isolation::{Budget, WayOwner};
use solo_scenario::{Enforcer, NotEnforceable, Platforms, export_plan, parse};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a reader finds, by core.
type ByCore<T> = BTreeMap<u16, T>;

fn experiment(text: &str) -> Experiment {
    let found = parse(text, Path::new("a.toml"), &Platforms::builtin());
    found.unwrap_or_else(|report| panic!("{}\n{text}", report.to_json())).base
}

fn head(platform: &str, policy: &str) -> String {
    format!(
        "name = \"a\"\nplatform = \"{platform}\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"{policy}\"\n"
    )
}

fn task(name: &str, core: u16, more: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nclass = \"hard\"\ncore = {core}\nperiod = \"{}ms\"\nwcet = \"1ms\"\n{more}\nwork = [{{ sweep = \"64KiB\" }}]\n",
        10 + core
    )
}

/// Cores 0, 2 and 5 with so many events a millisecond each, in ways of their own.
fn with_ways(budgets: [u64; 3]) -> Experiment {
    let mut text = head("i7-2600", "P-RM");
    let cores = [0_u16, 2, 4];
    let list: Vec<String> =
        cores.iter().zip(budgets).map(|(core, events)| format!("{core} = {events}")).collect();
    let _ = write!(text, "[isolation.bandwidth]\ncores = {{ {} }}\n", list.join(", "));
    for (core, ways) in cores.into_iter().zip(["0-3", "4-5", "6-15"]) {
        text += &task(&format!("t{core}"), core, &format!("ways = \"{ways}\""));
    }
    experiment(&text)
}

/// Two cores with colors, a third that only computes.
fn with_colors(first: &str, second: &str) -> Experiment {
    let text = head("p4080", "P-RM")
        + &task("a", 1, &format!("colors = \"{first}\""))
        + &task("b", 1, &format!("colors = \"{first}\""))
        + &task("c", 3, &format!("colors = \"{second}\""))
        + "[[task]]\nname = \"d\"\nclass = \"hard\"\ncore = 6\nperiod = \"9ms\"\nwork = [{ compute = \"1ms\" }]\n";
    experiment(&text)
}

fn ways(experiment: &Experiment) -> ByCore<u64> {
    let core = |owner| match owner {
        WayOwner::Task(task) => experiment.tasks[task.index()].core.unwrap().0,
        WayOwner::Core(core) => core.0,
    };
    experiment.isolation.ways.iter().map(|mask| (core(mask.owner), mask.mask)).collect()
}

fn colors(experiment: &Experiment) -> ByCore<Vec<u16>> {
    let owners = &experiment.isolation.memory.as_ref().unwrap().owners;
    let of = |owner: &solo_model::isolation::ColorOwner| {
        let core = experiment.tasks[owner.task.index()].core.unwrap().0;
        (core, owner.colors.iter().map(|color| color.0).collect())
    };
    owners.iter().map(of).collect()
}

/// Planned rates in bytes a second.
fn rates(experiment: &Experiment) -> ByCore<u64> {
    let regulation = experiment.isolation.bandwidth.as_ref().unwrap();
    let rate = |budget| match budget {
        Budget::Events(events) => {
            events.get() * experiment.platform.line().get() * 1_000_000_000 / regulation.period.get()
        }
        other => panic!("{other:?}"),
    };
    regulation.cores.iter().map(|entry| (entry.core.0, rate(entry.budget))).collect()
}

/// No more than planned, and less than a MiB/s below it.
fn close(planned: &ByCore<u64>, read: &ByCore<u64>) {
    assert_eq!(planned.keys().collect::<Vec<_>>(), read.keys().collect::<Vec<_>>());
    for (core, rate) in planned {
        let read = read[core] << 20;
        assert!(read <= *rate && rate - read < 1 << 20, "core {core}: {rate} became {read}");
    }
}

fn list(text: &str) -> Vec<u16> {
    let runs = text.split(',').map(str::trim).flat_map(|run| {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        first.parse::<u16>().unwrap()..=last.parse::<u16>().unwrap()
    });
    runs.collect()
}

/// `echo VALUE > PATH` as pairs of path and value, in order.
fn echoes(text: &str) -> Vec<(String, String)> {
    let pair = |line: &str| {
        let (value, path) = line.strip_prefix("echo ")?.rsplit_once(" > ")?;
        Some((path.to_owned(), value.trim_matches('\'').to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

const DRAWN: [[u64; 3]; 4] = [[1639, 4000, 900], [16_384, 163, 170], [3000, 3001, 2999], [100, 100, 9000]];

#[test]
fn resctrl_has_the_ways_and_rates() {
    for budgets in DRAWN {
        let experiment = with_ways(budgets);
        let text = export_plan(Enforcer::Resctrl, &experiment).unwrap();
        let (mut masks, mut limits, mut cpus) = (ByCore::new(), ByCore::new(), ByCore::new());
        for (path, value) in echoes(&text) {
            let group = path.strip_prefix("/sys/fs/resctrl/core").unwrap();
            let (core, file) = group.split_once('/').unwrap();
            let core: u16 = core.parse().unwrap();
            match (file, value.split_once(":0=")) {
                ("schemata", Some(("L3", mask))) => {
                    masks.insert(core, u64::from_str_radix(mask, 16).unwrap());
                }
                ("schemata", Some(("MB", rate))) => {
                    limits.insert(core, rate.parse().unwrap());
                }
                ("cpus_list", None) => {
                    cpus.insert(core, value.parse::<u16>().unwrap());
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(masks, ways(&experiment));
        close(&rates(&experiment), &limits);
        assert!(cpus.iter().all(|(core, cpu)| core == cpu) && cpus.len() == 3, "{cpus:?}");
        assert!(text.contains("-o mba_MBps"), "{text}");
    }
}

#[test]
fn pqos_has_the_ways_and_rates() {
    let experiment = with_ways([1639, 4000, 900]);
    let text = export_plan(Enforcer::Pqos, &experiment).unwrap();
    let (mut masks, mut limits, mut class_of) = (ByCore::new(), ByCore::new(), ByCore::new());
    for line in text.lines().filter(|line| line.contains('\'')) {
        let word = line.split('\'').nth(1).unwrap();
        let (kind, rest) = word.split_once(':').unwrap();
        let (class, value) = rest.split_once('=').unwrap();
        let class: u16 = class.parse().unwrap();
        match (kind, line.contains(" -a ")) {
            ("llc", false) => {
                masks.insert(class, u64::from_str_radix(&value[2..], 16).unwrap());
            }
            ("mba_max", false) => {
                limits.insert(class, value.parse::<u64>().unwrap());
            }
            ("core", true) => {
                class_of.insert(value.parse::<u16>().unwrap(), class);
            }
            other => panic!("{other:?}"),
        }
    }
    let by_core =
        |by_class: &ByCore<u64>| class_of.iter().map(|(core, class)| (*core, by_class[class])).collect();
    assert_eq!(by_core(&masks), ways(&experiment));
    close(&rates(&experiment), &by_core(&limits));
    assert!(!masks.contains_key(&0), "class 0 is everybody else's");
}

#[test]
fn memguard_has_the_rates() {
    let experiment = with_ways([1639, 4000, 900]);
    let text = export_plan(Enforcer::MemGuard, &experiment).unwrap();
    let [(path, value)] = &echoes(&text)[..] else { panic!("{text}") };
    assert_eq!(path, "/sys/kernel/debug/memguard/read_limit");
    let numbers: Vec<u64> =
        value.strip_prefix("mb ").unwrap().split(' ').map(|word| word.parse().unwrap()).collect();
    assert_eq!(numbers.len(), experiment.platform.cores.len());
    let planned = rates(&experiment);
    let read = planned.keys().map(|core| (*core, numbers[usize::from(*core)])).collect();
    close(&planned, &read);
    // Nobody else is held back.
    let others = (0..).zip(&numbers).filter(|(core, _)| !planned.contains_key(core));
    assert!(
        others.into_iter().all(|(_, rate)| rate << 20 >= experiment.platform.dram.peak().get()),
        "{text}"
    );
}

#[test]
fn palloc_has_the_bits_and_bins() {
    for (first, second) in [("0-3", "8-15"), ("0, 2, 4-6", "1, 3"), ("15", "0")] {
        let experiment = with_colors(first, second);
        let text = export_plan(Enforcer::Palloc, &experiment).unwrap();
        let (mut mask, mut bins, mut cpus) = (0_u64, BTreeMap::new(), BTreeMap::new());
        for (path, value) in echoes(&text) {
            match path.rsplit_once('/').unwrap() {
                (_, "palloc_mask") => {
                    mask = u64::from_str_radix(value.strip_prefix("0x").unwrap(), 16).unwrap()
                }
                (group, "palloc.bins") => {
                    bins.insert(group.to_owned(), list(&value));
                }
                (group, "cpuset.cpus") => {
                    cpus.insert(group.to_owned(), value.parse::<u16>().unwrap());
                }
                (_, "cpuset.mems" | "use_palloc") => {}
                other => panic!("{other:?}"),
            }
        }
        let read: ByCore<Vec<u16>> = bins.iter().map(|(group, bins)| (cpus[group], bins.clone())).collect();
        assert_eq!(read, colors(&experiment));
        // A bin is the value of the masked address bits, the lowest first: that of a page is its color.
        let map = color_of(&experiment);
        for frame in 0..4096_u64 {
            let address = frame * experiment.platform.page.get();
            let picked = (0..64).filter(|bit| mask >> bit & 1 == 1).enumerate();
            let bin: u64 = picked.map(|(at, bit)| (address >> bit & 1) << at).sum();
            assert_eq!(bin, map(address), "{address:#x}");
        }
        assert_eq!(bins.len(), 3, "a group for each task");
    }
}

/// The color of an address, from the geometry of the cache alone: 2 MiB in 32 ways are 16 pages a way.
fn color_of(experiment: &Experiment) -> impl Fn(u64) -> u64 {
    let cache = experiment.platform.last_level().unwrap();
    let (page, way) = (experiment.platform.page.get(), cache.size.get() / u64::from(cache.ways));
    move |address| address % way / page
}

#[test]
fn xen_and_bao_have_the_colors_and_cores() {
    for (first, second) in [("0-3", "8-15"), ("0, 2, 4-6", "1, 3"), ("15", "0")] {
        let experiment = with_colors(first, second);
        let text = export_plan(Enforcer::Xen, &experiment).unwrap();
        let (mut read, mut core) = (ByCore::new(), None);
        for line in text.lines() {
            match line.split_once(" = ") {
                Some(("cpus", cpu)) => core = Some(cpu.trim_matches('"').parse::<u16>().unwrap()),
                Some(("llc_colors", runs)) => {
                    let runs = runs.trim_matches(['[', ']', ' ']).replace('"', "");
                    read.insert(core.unwrap(), list(&runs));
                }
                _ => {}
            }
        }
        assert_eq!((&read, core), (&colors(&experiment), Some(6)), "{text}");
        let text = export_plan(Enforcer::Bao, &experiment).unwrap();
        let (mut read, mut mask, mut machines) = (ByCore::new(), None, 0);
        for line in text.lines() {
            let bits = |text: &str| {
                let digits = text.strip_prefix("0b").unwrap().trim_end_matches(',');
                u64::from_str_radix(digits, 2).unwrap()
            };
            match line.trim().split_once(" = ") {
                Some((".colors", value)) => mask = Some(bits(value)),
                Some((".cpu_affinity", value)) => {
                    let core = bits(value).trailing_zeros() as u16;
                    let colors = mask.take().map(|mask| (0..64).filter(|bit| mask >> bit & 1 == 1).collect());
                    read.extend(colors.map(|colors: Vec<u16>| (core, colors)));
                    machines += 1;
                }
                _ => {}
            }
        }
        assert_eq!((read, machines), (colors(&experiment), 3), "{text}");
    }
}

#[test]
fn cpuset_and_chrt_have_the_cores_and_priorities() {
    let experiment = with_colors("0-3", "8-15");
    let text = export_plan(Enforcer::Cpuset, &experiment).unwrap();
    let mut cores = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# in /sys/fs/cgroup/core")) {
        let (core, task) = line.split_once("/cgroup.procs: ").unwrap();
        cores.insert(task.to_owned(), core.parse::<u16>().unwrap());
    }
    let planned = experiment.tasks.iter().map(|task| (task.name.clone(), task.core.unwrap().0)).collect();
    assert_eq!(cores, planned);
    let cpus = echoes(&text).into_iter().filter(|(path, _)| path.ends_with("cpuset.cpus"));
    assert!(cpus.into_iter().all(|(path, cpu)| path == format!("/sys/fs/cgroup/core{cpu}/cpuset.cpus")));
    let text = export_plan(Enforcer::Chrt, &experiment).unwrap();
    let read: Vec<(u64, String)> = text
        .lines()
        .map(|line| {
            let (priority, name) = line.strip_prefix("chrt --fifo ").unwrap().split_once(' ').unwrap();
            (priority.parse().unwrap(), name.trim_matches('\'').to_owned())
        })
        .collect();
    // Under rate monotonic order the shorter period is the higher priority, equals share one.
    for (one, (first, name)) in experiment.tasks.iter().zip(&read) {
        assert_eq!(one.name, *name);
        for (other, (second, _)) in experiment.tasks.iter().zip(&read) {
            let (a, b) = (one.release.period().unwrap(), other.release.period().unwrap());
            assert_eq!(a.cmp(&b), second.cmp(first), "{text}");
        }
    }
    let edf = one_reservation();
    let text = export_plan(Enforcer::Chrt, &edf).unwrap();
    assert_eq!(
        text,
        "chrt --deadline --sched-runtime 1000000 --sched-deadline 10000000 --sched-period 10000000 0 'it'\\''s'\n"
    );
}

/// Linux admits a thread to SCHED_DEADLINE that may run on all CPUs of its root domain: under EDF each core is a domain of its own. Nobody else loses a
/// CPU to a partition.
#[test]
fn cpusets_of_reservations_are_partitions() {
    let best_effort =
        "[[task]]\nname = \"c\"\nclass = \"best-effort\"\ncore = 2\nwork = [{ compute = \"1ms\" }]\n";
    let under = |policy| {
        let text = head("p4080", policy) + &task("a", 0, "") + &task("b", 1, "") + best_effort;
        export_plan(Enforcer::Cpuset, &experiment(&text)).unwrap()
    };
    let edf = under("P-EDF");
    let partitions: Vec<(String, String)> =
        echoes(&edf).into_iter().filter(|(path, _)| path.ends_with("cpuset.cpus.partition")).collect();
    let root = |core| (format!("/sys/fs/cgroup/core{core}/cpuset.cpus.partition"), "root".to_owned());
    assert_eq!(partitions, [0, 1].map(root), "{edf}");
    // Without CPUs a group is no partition.
    for core in [0, 1] {
        let at = |file: &str| edf.find(&format!("> /sys/fs/cgroup/core{core}/{file}\n")).unwrap();
        assert!(at("cpuset.cpus") < at("cpuset.cpus.partition"), "{edf}");
    }
    assert!(edf.contains("/sys/fs/cgroup/core2/cpuset.cpus") && edf.contains("root invalid"), "{edf}");
    assert!(!under("P-RM").contains("partition"), "priorities need none");
}

fn one_reservation() -> Experiment {
    experiment(&(head("p4080", "P-EDF") + &task("it's", 0, "")))
}

#[test]
fn what_a_target_cannot_say_is_refused_with_the_reason() {
    let refused = |target, experiment: &Experiment| export_plan(target, experiment).unwrap_err();
    let colored = with_colors("0-3", "8-15");
    for target in [Enforcer::Resctrl, Enforcer::Pqos] {
        assert_eq!(refused(target, &colored), NotEnforceable::ByColors);
    }
    let ways = with_ways([1639, 4000, 900]);
    for target in [Enforcer::Palloc, Enforcer::Xen, Enforcer::Bao] {
        assert!(matches!(refused(target, &ways), NotEnforceable::Nothing(_)));
    }
    assert!(matches!(refused(Enforcer::MemGuard, &colored), NotEnforceable::Nothing(_)));
    assert!(matches!(
        refused(Enforcer::MemGuard, &with_ways([10, 4000, 900])),
        NotEnforceable::TooSmall { .. }
    ));
    let mut quick = ways.clone();
    quick.isolation.bandwidth.as_mut().unwrap().period = solo_model::Duration::from_micros(100);
    assert!(matches!(refused(Enforcer::MemGuard, &quick), NotEnforceable::Period { .. }));
    let mut holes = ways.clone();
    holes.isolation.ways[0].mask = 0b101;
    assert_eq!(refused(Enforcer::Resctrl, &holes), NotEnforceable::Stretch(solo_model::CoreId(0)));
    let mut weighed = ways.clone();
    weighed.isolation.bandwidth.as_mut().unwrap().cores[0].budget = Budget::Weight(3);
    assert!(matches!(refused(Enforcer::Pqos, &weighed), NotEnforceable::Budgets(_)));
    let text = head("p4080", "P-RM") + &task("a", 1, "colors = \"0\"") + &task("b", 1, "colors = \"1\"");
    assert_eq!(refused(Enforcer::Xen, &experiment(&text)), NotEnforceable::Differ(solo_model::CoreId(1)));
    let many = head("xeon-w3530", "P-RM") + &task("a", 1, "colors = \"0\"");
    assert!(matches!(
        refused(Enforcer::Bao, &experiment(&many)),
        NotEnforceable::TooMany { count: 128, most: 64 }
    ));
    let both = head("p4080", "P-RM") + &task("a", 1, "colors = \"0\"\nbanks = \"0\"");
    assert_eq!(refused(Enforcer::Palloc, &experiment(&both)), NotEnforceable::ColorsAndBanks);
    let global = head("p4080", "G-RM") + &task("a", 1, "colors = \"0\"");
    assert_eq!(refused(Enforcer::Cpuset, &experiment(&global)), NotEnforceable::Moves);
}

/// Windows and locked pages have no words in these formats: what would be left out silently is refused, and only by whose part it is.
#[test]
fn windows_and_locked_pages_are_not_left_out_silently() {
    let tasks = task("a", 0, "colors = \"0-1\"") + &task("b", 1, "colors = \"2-3\"");
    let windows = "[isolation.partitions]\np = [\"a\"]\n[[isolation.cycle]]\ncore = 0\nlength = \"10ms\"\n\
                   windows = [{ partition = \"p\", begin = \"0ms\", length = \"5ms\" }]\n";
    let divided = experiment(&(head("p4080", "P-RM") + &tasks + windows));
    let refused = export_plan(Enforcer::Chrt, &divided).unwrap_err();
    assert_eq!(refused, NotEnforceable::Windows(solo_model::CoreId(0)));
    for target in [Enforcer::Xen, Enforcer::Bao, Enforcer::Palloc, Enforcer::Cpuset] {
        assert!(export_plan(target, &divided).is_ok(), "{target:?}");
    }
    let locked = experiment(&(head("p4080", "P-RM") + &tasks + "[isolation.lockdown]\na = 2\n"));
    for target in [Enforcer::Xen, Enforcer::Bao, Enforcer::Palloc] {
        assert_eq!(export_plan(target, &locked).unwrap_err(), NotEnforceable::Locked(2), "{target:?}");
    }
    assert!(export_plan(Enforcer::Chrt, &locked).is_ok());
}

/// The times of `chrt --deadline`, in nanoseconds.
fn reserved(text: &str) -> Result<[u64; 3], NotEnforceable> {
    let text = export_plan(Enforcer::Chrt, &experiment(text))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let after = |option| words.windows(2).find(|pair| pair[0] == option).unwrap()[1].parse().unwrap();
    Ok([after("--sched-runtime"), after("--sched-deadline"), after("--sched-period")])
}

/// Linux throttles who runs for longer than it reserved, and refuses with EINVAL what doesn't fit.
#[test]
fn a_reservation_is_as_long_as_jobs_run_and_one_that_linux_takes() {
    let edf = |platform: &str, more: &str| {
        head(platform, "P-EDF")
            + "[[task]]\nname = \"a\"\nclass = \"hard\"\nperiod = \"10ms\"\n"
            + more
            + "\nwork = [{ repeat = 2, steps = [{ compute = [\"1ms\", \"2ms\"] }] }]\n"
    };
    // Work that computes for longer than it declares is counted as long as it computes, as in a proof; work that only computes declares
    // nothing.
    for declared in ["", "wcet = \"3ms\""] {
        let times = reserved(&edf("p4080", &format!("core = 1\n{declared}")));
        assert_eq!(times, Ok([4_000_000, 10_000_000, 10_000_000]));
    }
    assert_eq!(reserved(&edf("p4080", "core = 1\nwcet = \"5ms\"")).unwrap()[0], 5_000_000);
    // 4 ms of an A57 are 8.627 ms of an A53.
    assert_eq!(reserved(&edf("juno", "core = 0")).map(|times| times[0] / 1000), Ok(4_000));
    assert_eq!(reserved(&edf("juno", "core = 2")).map(|times| times[0] / 1000), Ok(8_627));
    let refused = |text: &str| {
        let found = reserved(text).unwrap_err();
        assert!(found.to_string().starts_with("task `a`: SCHED_DEADLINE takes"), "{found}");
    };
    refused(&edf("p4080", "core = 1\ndeadline = \"12ms\""));
    refused(&edf("juno", "core = 2\ndeadline = \"8ms\""));
    // Linux's own bounds of periods, unless its sysctls say something else.
    let every = |period: &str| {
        let task = format!("name = \"a\"\nclass = \"hard\"\ncore = 1\nperiod = \"{period}\"");
        reserved(&(head("p4080", "P-EDF") + "[[task]]\n" + &task + "\nwork = [{ compute = \"20us\" }]\n"))
    };
    for (period, ns) in [("100us", 100_000), ("4194304us", 4_194_304_000)] {
        assert_eq!(every(period).map(|times| times[2]), Ok(ns));
    }
    for period in ["99us", "4194305us", "10s"] {
        let found = every(period).unwrap_err().to_string();
        let bounds = "SCHED_DEADLINE takes 100us to 4194304us (2^22; kernel.sched_deadline_period_min_us";
        assert!(found.starts_with("task `a`: its period is ") && found.contains(bounds), "{found}");
    }
    let tiny = head("p4080", "P-EDF")
        + "[[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 1\nperiod = \"1ms\"\nwork = [{ compute = \"100ns\" }]\n";
    assert_eq!(reserved(&tiny).map(|times| times[0]), Ok(1024), "kept without its last ten bits");
}

/// Where the last level is the second, masks are those of the second; where it isn't the third, there is no limit of bandwidth.
#[test]
fn the_last_level_is_called_by_its_number() {
    let text =
        head("core2-q9550", "P-RM") + &task("a", 1, "ways = \"0-3\"") + &task("b", 2, "ways = \"4-7\"");
    let ways = experiment(&text);
    let masks = |text: String| -> Vec<String> {
        text.lines()
            .filter(|line| line.contains(":0=f'") || line.contains("=0xf'"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        masks(export_plan(Enforcer::Resctrl, &ways).unwrap()),
        ["echo 'L2:0=f' > /sys/fs/resctrl/core1/schemata"]
    );
    assert_eq!(masks(export_plan(Enforcer::Pqos, &ways).unwrap()), ["pqos -I -e 'l2:1=0xf'"]);
    let budgets = experiment(&(text + "[isolation.bandwidth]\ncores = { 1 = 1000 }\n"));
    for target in [Enforcer::Resctrl, Enforcer::Pqos] {
        assert_eq!(export_plan(target, &budgets).unwrap_err(), NotEnforceable::Level { level: 2 });
    }
    assert!(export_plan(Enforcer::MemGuard, &budgets).is_ok());
}

/// A comment of C goes on in the next line where it ends in a backslash.
#[test]
fn a_name_takes_no_line_of_a_hypervisor_with_it() {
    for name in [r"a\\", r"a\\ ", "a??/"] {
        let text = head("p4080", "P-RM") + &task(name, 1, "colors = \"0\"");
        let text = export_plan(Enforcer::Bao, &experiment(&text)).unwrap();
        for line in text.lines().filter(|line| line.contains("//")) {
            let line = line.trim_end();
            assert!(!line.ends_with('\\') && !line.ends_with("??/"), "{text}");
        }
    }
}

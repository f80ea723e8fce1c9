//! Bounds that count what other cores and budgets add, against the simulated machine. Each task that uses memory is measured alone
//! first, in its own part of the caches: what it takes and how often it misses. That is what it declares; then all run together.

use crate::draw::Dice;
use crate::{proofs, seeds, sets, simulated};
use solo_model::isolation::{DmaMaster, LockTime};
use solo_model::record::{JobRecord, Record};
use solo_model::task::Release;
use solo_model::units::PerMille;
use solo_model::work::{Span, Step};
use solo_model::{Bandwidth, Duration, EventId, Experiment, Instant, OverheadTable, TaskClass, TaskId};
use solo_prove::system::Proof;
use solo_scenario::Platforms;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

fn experiment(text: &str) -> Result<Experiment, String> {
    let found = solo_scenario::parse(text, Path::new("budgets.toml"), &Platforms::builtin());
    found.map(|scenario| scenario.base).map_err(|report| report.to_json().to_string())
}

/// Two to four cores with budgets and colors of their own; a task that uses memory on each, some that compute, hogs.
fn scenario(seed: u64) -> String {
    drawn(seed, 2)
}

/// The same, of which one in so many is divided in time on some cores.
fn drawn(seed: u64, divided: u64) -> String {
    let dice = &mut Dice::new(seed ^ 0x1f7e_4fe4);
    let cores = dice.between(2, 4);
    // A line that is read may push a modified one out: less than half of what memory guarantees is for misses.
    let share = dice.between(4, 45 / cores);
    let policy = dice.pick(&["P-EDF", "P-RM", "P-DM", "P-FP"]);
    let platform = dice.pick(&["xeon-w3530", "p4080"]);
    let period = dice.pick(&["50us", "100us", "250us"]);
    let mut text = format!(
        "name = \"budgets\"\nplatform = \"{platform}\"\nduration = \"30ms\"\nseed = {seed}\n[scheduler]\npolicy = \"{policy}\"\n"
    );
    if dice.once_in(2) {
        text += "overheads = \"epos-thesis\"\n";
    }
    let budgets: Vec<String> = (0..cores).map(|core| format!("{core} = \"{share}%\"")).collect();
    let budgets = budgets.join(", ");
    let _ = write!(text, "[isolation.bandwidth]\nperiod = \"{period}\"\ncores = {{ {budgets} }}\n");
    if dice.once_in(3) {
        text += "best-effort = \"yes\"\n";
    }
    text += "[isolation.memory]\nshared = \"yes\"\n";
    let mut members: Vec<Vec<String>> = Vec::new();
    for core in 0..cores {
        members.push(tasks_of(&mut text, dice, core));
    }
    // On some cores time is divided as well: what uses memory in one partition, all others in another.
    if dice.once_in(divided) {
        let divided: Vec<(u64, &Vec<String>)> =
            (0..cores).zip(&members).filter(|(_, names)| names.len() > 1 && dice.once_in(2)).collect();
        text += &windows(dice, &divided, false);
    }
    text
}

/// On each of these cores the first task has windows of its own, and now and then, where some may be `beside` windows, the last one none.
pub(crate) fn windows(dice: &mut Dice, divided: &[(u64, &Vec<String>)], beside: bool) -> String {
    if divided.is_empty() {
        return String::new();
    }
    let mut text = "[isolation.partitions]\n".to_owned();
    for (core, names) in divided {
        let end = if beside && names.len() > 2 && dice.once_in(4) { names.len() - 1 } else { names.len() };
        let _ = write!(text, "p{core} = [\"{}\"]\nq{core} = {:?}\n", names[0], &names[1..end]);
    }
    for (core, _) in divided {
        let (length, times) = (dice.between(16, 50) * 100, dice.between(1, 2));
        let half = length / times;
        let (own, idle) = (half * dice.between(3, 7) / 10, dice.below(half / 10 + 1));
        let window = |name: &str, begin: u64, length: u64| {
            format!("{{ partition = \"{name}{core}\", begin = \"{begin}us\", length = \"{length}us\" }}")
        };
        let all: Vec<String> = (0..times)
            .flat_map(|time| {
                let begin = time * half;
                [window("p", begin, own), window("q", begin + own, half - own - idle)]
            })
            .collect();
        let windows = all.join(", ");
        let _ = write!(
            text,
            "[[isolation.cycle]]\ncore = {core}\nlength = \"{length}us\"\nwindows = [{windows}]\n"
        );
    }
    text
}

/// Writes the tasks of a core and says what they are called; the first uses memory.
fn tasks_of(text: &mut String, dice: &mut Dice, core: u64) -> Vec<String> {
    let mut names = vec![format!("m{core}")];
    // Now and then the first two share colors.
    let first = if core == 1 && dice.once_in(10) { 0 } else { core * 4 };
    let colors = format!("colors = \"{first}-{}\"", first + 3);
    let hog = dice.once_in(3);
    // Beside a hog of its own core nothing stays in a cache: each line is touched once in a long while.
    let pattern = if hog { "ring" } else { dice.pick(&["sweep", "stream", "chase", "random", "ring"]) };
    let size = if pattern == "ring" { "8MiB" } else { dice.pick(&["8KiB", "64KiB", "512KiB"]) };
    let most = dice.pick(&[40, 40, 400]);
    let (accesses, writes) = (dice.between(1, most), dice.pick(&["0%", "30%", "100%"]));
    let think = dice.pick(&["0ns", "100ns"]);
    let head = |name: &str, class: &str, priority: u64| {
        format!(
            "[[task]]\nname = \"{name}{core}\"\nclass = \"{class}\"\ncore = {core}\npriority = {priority}\n"
        )
    };
    let class = dice.pick(&["hard", "soft"]);
    *text += &head("m", class, dice.below(3));
    let _ = write!(
        text,
        "period = \"{}ms\"\noffset = \"{}us\"\n{colors}\nwork = [{{ compute = \"{}us\" }}, {{ {pattern} = \"{size}\", \
         stride = \"64B\", writes = \"{writes}\", think = \"{think}\", accesses = {accesses} }}]\n",
        dice.between(5, 20),
        dice.below(3000),
        dice.between(1, 200),
    );
    for name in ["a", "b"].iter().take(dice.below(3) as usize) {
        let class = dice.pick(&["hard", "soft"]);
        names.push(format!("{name}{core}"));
        *text += &head(name, class, dice.below(3));
        let (period, offset, time) = (dice.between(2000, 9000), dice.below(2000), dice.between(1, 200));
        let _ = write!(
            text,
            "period = \"{period}us\"\noffset = \"{offset}us\"\nwork = [{{ compute = \"{time}us\" }}]\n"
        );
    }
    if hog {
        names.push(format!("hog{core}"));
        *text += &head("hog", "best-effort", 9);
        let (pattern, writes) = (dice.pick(&["stream", "ring", "random"]), dice.pick(&["0%", "100%"]));
        let _ = write!(
            text,
            "{colors}\nwork = [{{ {pattern} = \"16MiB\", stride = \"64B\", writes = \"{writes}\", accesses = 100000 }}]\n"
        );
    }
    names
}

/// Hears of each job.
struct Jobs<F>(F);

impl<F: FnMut(JobRecord)> solo_sim::Observer for Jobs<F> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Job(job) = record {
            (self.0)(job);
        }
        ControlFlow::Continue(())
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// The longest execution and the most misses of a task's jobs while nobody else uses memory, and no budget stops it.
fn alone(experiment: &Experiment, task: TaskId) -> (Duration, u64) {
    let mut calm = experiment.clone();
    calm.isolation.bandwidth = None;
    calm.devices.clear();
    for task in &mut calm.tasks {
        if let Release::Sporadic { distance } = task.release {
            task.release = Release::Periodic { offset: Duration::ZERO, period: distance };
        }
    }
    calm.isolation.partitions = None;
    if let Some(lockdown) = &mut calm.isolation.lockdown {
        lockdown.when = LockTime::Boot;
    }
    calm.overheads = OverheadTable::free();
    for (at, other) in calm.tasks.iter_mut().enumerate() {
        if at != task.index() {
            other.work.steps = vec![Step::Compute(Span::exactly(Duration::from_millis(1)))];
            other.class = TaskClass::BestEffort;
            other.priority = Some(9);
        }
    }
    let mut longest = (Duration::ZERO, 0);
    let mut jobs = Jobs(|job: JobRecord| {
        if job.task == task {
            longest.0 = longest.0.max(job.executed);
            longest.1 = longest.1.max(job.counts.get(EventId::LLC_MISSES).unwrap_or(0));
        }
    });
    solo_sim::run(&calm, &[], &mut jobs).unwrap_or_else(|why| {
        panic!("{} does not run alone, seed {}: {why}", experiment.name, experiment.seed)
    });
    longest
}

/// What each task that uses memory takes alone becomes what it declares.
pub(crate) fn declared(mut experiment: Experiment) -> Experiment {
    for at in 0..experiment.tasks.len() {
        if experiment.tasks[at].name.starts_with('m') {
            let (time, misses) = alone(&experiment, TaskId(at as u32));
            // Accesses end between two nanoseconds.
            experiment.tasks[at].wcet = Some(time + Duration::new(1));
            experiment.tasks[at].misses = Some(misses);
        }
    }
    experiment
}

/// The same with one to three devices, each held to what is reserved for it.
fn with_devices(text: &str, seed: u64) -> String {
    let dice = &mut Dice::new(seed ^ 0x0de7_1ce5);
    let (mut devices, mut reserved) = (String::new(), Vec::new());
    for device in 0..dice.between(1, 3) {
        let (rate, period, every) = (dice.between(1, 30), dice.between(500, 5000), 1 << dice.between(0, 10));
        reserved.push(format!("d{device} = \"{rate}MB/s\""));
        // No more than memory moves of it in a slot: a line for each transaction, however few of its bytes are wanted.
        let most = rate * period / 64 * 64.min(every);
        let _ = write!(
            devices,
            "[[device]]\nname = \"d{device}\"\nowner = \"m0\"\ndirection = \"{}\"\nmoves = \"{}B\"\nperiod = \"{period}us\"\n\
             offset = \"{}us\"\nwait-every = \"{every}B\"\n",
            dice.pick(&["input", "output"]),
            (most * dice.between(5, 100) / 100).max(1),
            dice.below(2000),
        );
    }
    let reserved = format!("dma = {{ {} }}\n[isolation.memory]", reserved.join(", "));
    text.replace("[isolation.memory]", &reserved) + &devices
}

/// The same where partitions lock pages in their windows, on cores whose time is divided.
fn with_locks(text: &str, seed: u64) -> Option<String> {
    let dice = &mut Dice::new(seed ^ 0x010c_4ed5);
    let partitions = text.split("[isolation.partitions]\n").nth(1)?;
    let mut lines = String::new();
    for line in
        partitions.lines().take_while(|line| !line.starts_with('[')).filter(|line| line.starts_with('p'))
    {
        let task = line.split('"').nth(1)?;
        // No more than any of them touches.
        let _ = writeln!(lines, "{task} = {}", dice.between(1, 2));
    }
    Some(format!("{text}[isolation.lockdown]\nwhen = \"partition\"\n{lines}"))
}

#[test]
fn no_job_exceeds_its_bound_where_partitions_lock_pages_in_their_windows() {
    let sets = sets(60);
    let (mut proved, mut beside, mut longer, mut lines) = (0_u64, 0_u64, 0_u64, 0_u64);
    for seed in seeds(sets) {
        let text = drawn(seed, 1);
        let Some(locked) = with_locks(&text, seed) else { continue };
        let Ok(drawn) = experiment(&locked).map_err(|why| {
            assert!(why.contains("exceed") || why.contains("its profile has"), "{why}\n{locked}")
        }) else {
            continue;
        };
        let drawn = declared(drawn);
        let proofs = proofs(&drawn);
        let mut open = drawn.clone();
        open.isolation.lockdown = None;
        let before = self::proofs(&open);
        let home = |task: usize| {
            drawn.isolation.partitions.as_ref().is_some_and(|all| all.of(TaskId(task as u32)).is_some())
        };
        let both = (0..proofs.len()).filter(|&task| home(task) && before[task].is_some());
        for task in both {
            let bound = proofs[task].as_ref().map(|proof| proof.bound);
            longer += u64::from(
                bound.is_none_or(|bound| Some(bound) > before[task].as_ref().map(|proof| proof.bound)),
            );
            beside += 1;
        }
        proved += (0..proofs.len()).filter(|&task| proofs[task].is_some() && home(task)).count() as u64;
        match simulated(&drawn, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{locked}"),
            Err(why) => panic!("seed {seed}: {why}\n{locked}"),
        }
        lines += drawn.isolation.lockdown.as_ref().map_or(0, |lockdown| lockdown.pages.len() as u64 * 64);
    }
    println!(
        "{proved} tasks in windows are proved beside {lines} locked lines; the bounds of {longer} of {beside} grow by them"
    );
    // Most that are proved without locked pages are with them: these cost a window little beside the budget that may be spent when it opens.
    assert!(
        sets < 50 || proved * 2 > sets && longer == beside && proved * 5 >= beside * 4,
        "{proved} {longer} {beside}"
    );
}

#[test]
fn no_job_exceeds_its_bound_beside_devices_that_are_held_to_what_is_reserved() {
    let sets = sets(40);
    let (mut of_memory, mut moved) = (0_u64, 0_u64);
    for seed in seeds(sets) {
        let text = with_devices(&scenario(seed), seed);
        let Ok(drawn) = experiment(&text).map_err(|why| assert!(why.contains("exceed"), "{why}\n{text}"))
        else {
            continue;
        };
        let drawn = declared(drawn);
        let proofs = proofs(&drawn);
        let uses = |at: &usize| proofs[*at].is_some() && drawn.tasks[*at].name.starts_with('m');
        of_memory += (0..proofs.len()).filter(uses).count() as u64;
        moved += drawn.devices.len() as u64;
        match simulated(&drawn, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{text}"),
            Err(why) => panic!("seed {seed}: {why}\n{text}"),
        }
    }
    println!("{of_memory} tasks that use memory are proved beside {moved} devices");
    assert!(of_memory * 2 > sets && moved > sets, "{of_memory} {moved}");
}

/// Each device has its room in each bound: with one more the bound of a task that misses grows by what memory needs at least for as many
/// lines as the device moves in a regulation period, by a count of its own.
#[test]
fn a_bound_has_room_for_what_each_device_may_move() {
    let sets = sets(60);
    let mut looked = 0_u64;
    for seed in seeds(sets) {
        let text = with_devices(&scenario(seed), seed);
        let Ok(drawn) = experiment(&text) else { continue };
        let mut drawn = drawn;
        for task in drawn.tasks.iter_mut().filter(|task| task.name.starts_with('m')) {
            (task.wcet, task.misses) = (Some(Duration::from_micros(400)), Some(300));
        }
        let with = proofs(&drawn);
        let regulation = drawn.isolation.bandwidth.clone().expect("budgets");
        for at in 0..drawn.devices.len() {
            let mut without = drawn.clone();
            let device = without.devices.remove(at);
            let rate = regulation.reserved_for(&device.name).expect("held").get();
            let in_a_period = u128::from(rate) * u128::from(regulation.period.get()) / 1_000_000_000;
            let lines = (in_a_period as u64).min(device.moves.get()) / 64;
            // No memory moves more than 2.5 GB/s of single lines; a device whose slot is short moves for as long as it is.
            let slot = u128::from(rate) * u128::from(device.slot.get()) / 1_000_000_000 / 64;
            let least = lines.min(slot as u64) * 64 * 1_000_000_000 / 2_500_000_000;
            let before = proofs(&without);
            for (task, (before, with)) in before.iter().zip(&with).enumerate() {
                let (Some(before), true) = (before, drawn.tasks[task].name.starts_with('m')) else {
                    continue;
                };
                // Without a proof there is room enough for everything.
                let Some(with) = with else { continue };
                let grows = with.bound.get().saturating_sub(before.bound.get());
                assert!(
                    grows >= least,
                    "seed {seed}, {}: {grows} ns for {lines} lines of {}\n{text}",
                    drawn.tasks[task].name,
                    device.name
                );
                looked += u64::from(least > 0);
            }
        }
    }
    println!("{looked} bounds have room for each of their devices");
    assert!(sets < 50 || looked * 2 > sets, "{looked}");
}

/// A device without wait states breaks the bound of a hard task that it keeps with them (SCE 2.4), and then nothing is proved.
#[test]
fn a_device_without_control_breaks_a_bound_that_holds_with_it() {
    const TEXT: &str = r#"
name = "control"
platform = "xeon-w3530"
prefetcher = "off"
duration = "100ms"
[scheduler]
policy = "P-RM"
[isolation.bandwidth]
period = "50us"
cores = { 0 = "60%" }
[[task]]
name = "m0"
class = "hard"
core = 0
period = "5ms"
work = [{ random = "16MiB", accesses = 4000, stride = "64B" }]
[[device]]
name = "disk"
owner = "m0"
direction = "output"
moves = "16MiB"
period = "5ms"
"#;
    let mut free = experiment(TEXT).expect("it can run");
    let mut held = free.clone();
    // Files are refused where a device can't move its data in its slot; this one is to be busy all the time.
    let dma = DmaMaster { name: "disk".into(), rate: Bandwidth::new(100_000_000) };
    held.isolation.bandwidth.as_mut().expect("budgets").dma.push(dma);
    let held = declared(held);
    let bound = proofs(&held)[0].as_ref().expect("it is proved").bound;
    let longest = |experiment: &Experiment| {
        let mut longest = Duration::ZERO;
        let mut jobs = Jobs(|job: JobRecord| longest = longest.max(job.response()));
        solo_sim::run(experiment, &[], &mut jobs).expect("it runs");
        longest
    };
    free.tasks = held.tasks.clone();
    assert_eq!(proofs(&free)[0], None, "nothing holds the device");
    let (with, without) = (longest(&held), longest(&free));
    assert!(with <= bound && bound < without, "{with} with control, {without} without, bound {bound}");
}

#[test]
fn no_job_exceeds_its_bound_beside_cores_that_keep_to_their_budgets() {
    let sets = sets(50);
    let (mut proved, mut of_memory, mut refused, mut closest) = (0_u64, 0_u64, 0_u64, 0_u64);
    for seed in seeds(sets) {
        let text = scenario(seed);
        let drawn = experiment(&text).unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        let drawn = declared(drawn);
        let proofs = proofs(&drawn);
        refused += u64::from(proofs.iter().all(Option::is_none));
        let uses = |at: usize| drawn.tasks[at].name.starts_with('m');
        proved += proofs.iter().flatten().count() as u64;
        of_memory += (0..proofs.len()).filter(|&at| proofs[at].is_some() && uses(at)).count() as u64;
        let told =
            || -> Vec<_> { drawn.tasks.iter().map(|task| (&task.name, task.wcet, task.misses)).collect() };
        match simulated(&drawn, &proofs) {
            Ok(None) => {}
            Ok(Some(found)) => panic!("seed {seed}: {found}\n{text}\n{:?}", told()),
            Err(why) => panic!("seed {seed}: {why}\n{text}"),
        }
        let mut nearest = Jobs(|job: JobRecord| {
            let bound = proofs[job.task.index()].as_ref().filter(|_| uses(job.task.index()));
            let share = |proof: &Proof| job.response().get() * 1000 / proof.bound.get().max(1);
            closest = closest.max(bound.map_or(0, share));
        });
        let _ = solo_sim::run(&drawn, &[], &mut nearest);
    }
    println!(
        "{proved} proved, {of_memory} of them use memory, {refused} refused; the closest observation is {closest} \
         thousandths of its bound"
    );
    assert!(
        of_memory * 2 > sets && refused * 3 < sets && (sets < 50 || refused > 0),
        "{of_memory} {refused}"
    );
}

/// A partition that spends its core's budget at the end of its window stops the next one until the regulation period ends, window after
/// window: a bound that counts this once only is exceeded.
#[test]
fn a_budget_that_another_partition_has_spent_delays_each_window() {
    let text = r#"
name = "spent"
platform = "p4080"
duration = "300ms"
[scheduler]
policy = "P-RM"
[isolation.bandwidth]
period = "5ms"
cores = { 0 = "10%" }
[isolation.partitions]
first = ["hog"]
second = ["long"]
[[isolation.cycle]]
core = 0
length = "20ms"
windows = [
    { partition = "first", begin = "0ms", length = "6ms" },
    { partition = "second", begin = "6ms", length = "14ms" },
]
[[task]]
name = "hog"
class = "best-effort"
core = 0
work = [{ stream = "16MiB", stride = "64B", accesses = 100000 }]
[[task]]
name = "long"
class = "hard"
core = 0
period = "150ms"
offset = "6ms"
wcet = "45ms"
work = [{ compute = "45ms" }]
"#;
    let drawn = experiment(text).unwrap();
    let proofs = proofs(&drawn);
    let bound = proofs[1].as_ref().expect("the long job is bounded").bound;
    let mut longest = Duration::ZERO;
    let mut jobs = Jobs(|job: JobRecord| {
        if job.task == TaskId(1) {
            longest = longest.max(job.response());
        }
    });
    solo_sim::run(&drawn, &[], &mut jobs).unwrap();
    // Five windows of 14 ms, of each nearly 4 ms without a budget, and four gaps of 6 ms: 45 + 20 + 24, less what hogs leave.
    let once = Duration::from_millis(45 + 5 + 4 * 6);
    assert!(longest > once && longest <= bound, "{longest} beside {once}, bound {bound}");
}

//! Cores whose memory is kept apart in all ways that there are, so that bounds exist which count what other cores add: colors or
//! ways, banks of their own or one for all, budgets even and uneven, to the brim and beyond, devices with what is reserved for them,
//! windows of partitions, locked pages. What has no bound is drawn now and then only.

use crate::draw::Dice;
use crate::interference::windows;
use solo_model::Experiment;
use solo_model::platform::Replacement;
use std::fmt::Write;

/// What all cores of a scenario have in common.
struct Frame {
    platform: &'static str,
    writes: bool,
    locks: bool,
    colors: bool,
    banks: Banks,
    devices: Vec<String>,
    reserved: Vec<String>,
    ways: Vec<String>,
    /// By core that is used: its tasks, the first of which uses memory where `users` says so.
    members: Vec<(u64, Vec<String>)>,
    users: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Banks {
    Any,
    Own,
    /// One bank for all: whoever asks closes the other's row.
    One,
}

pub(super) fn scenario(seed: u64) -> String {
    let dice = &mut Dice::new(seed ^ 0x0150_1a7e);
    let cores: Vec<u64> = match dice.below(6) {
        0 => (0..dice.between(2, 4)).collect(),
        // Of siblings one each.
        1 => (0..dice.between(2, 4)).map(|core| core * 2).collect(),
        _ => (0..dice.between(2, 8)).collect(),
    };
    let platform = match cores.as_slice() {
        [0, 2, ..] => "i7-2600",
        [_, _] | [_, _, _] | [_, _, _, _] => dice.pick(&["p4080", "xeon-w3530"]),
        _ => "p4080",
    };
    let criterion = if dice.once_in(12) {
        dice.pick(&["LLF", "SJF", "FCFS", "RR"])
    } else {
        dice.pick(&["EDF", "RM", "DM", "FP", "AFFINITY"])
    };
    let scope = if dice.once_in(14) { dice.pick(&["C", "G"]) } else { "P" };
    let mut text = format!(
        "name = \"isolated\"\nplatform = \"{platform}\"\nduration = \"30ms\"\nseed = {seed}\n[scheduler]\npolicy = \"{scope}-{criterion}\"\n"
    );
    if scope == "C" {
        text += "clusters = 2\n";
    }
    if dice.once_in(2) {
        text += "overheads = \"epos-thesis\"\n";
    }
    if dice.once_in(20) {
        text += "tick = \"100us\"\n";
    }
    let mut frame = Frame {
        platform,
        writes: !dice.once_in(3),
        locks: dice.once_in(4),
        colors: !dice.once_in(3),
        banks: if platform == "i7-2600" || dice.once_in(3) {
            Banks::Any
        } else {
            dice.pick(&[Banks::Any, Banks::Own, Banks::One])
        },
        devices: Vec::new(),
        reserved: Vec::new(),
        ways: Vec::new(),
        members: Vec::new(),
        users: Vec::new(),
    };
    let mut body = String::new();
    if frame.locks {
        for core in &cores {
            let _ = write!(body, "[[lock]]\nname = \"l{core}\"\nprotocol = \"ceiling\"\n");
        }
    }
    for &core in &cores {
        core_of(&mut body, dice, core, &mut frame);
    }
    free_devices(dice, &mut frame);
    isolation(&mut text, dice, &cores, &frame);
    text + &body + &frame.devices.concat()
}

/// What no scenario can say: under ways of their own tasks are kept apart only where the last level replaces by age.
pub(super) fn with_replacement(mut experiment: Experiment) -> Experiment {
    let level = experiment.platform.last_level().map(|last| last.level);
    let seed = experiment.seed;
    let replacement = if seed.is_multiple_of(3) { Replacement::Fifo } else { Replacement::Lru };
    if !experiment.isolation.ways.is_empty() && !seed.is_multiple_of(8) {
        for cache in experiment.platform.caches.iter_mut().filter(|cache| Some(cache.level) == level) {
            cache.replacement = replacement;
        }
    }
    experiment
}

/// Says whether a time measured alone holds beside others of the same core, too: of this work no line is used twice.
pub(crate) fn keeps_nothing(name: &str) -> bool {
    name.starts_with("mr")
}

/// Writes the tasks of a core.
fn core_of(body: &mut String, dice: &mut Dice, core: u64, frame: &mut Frame) {
    let mut names = Vec::new();
    let hog = dice.once_in(3);
    if !dice.once_in(4) {
        let ring = hog || dice.once_in(4);
        user(body, dice, core, frame, ring);
        names.push(format!("{}{core}", if ring { "mr" } else { "m" }));
        frame.users.push(core);
    }
    for name in ["a", "b", "c"].iter().take(dice.below(4) as usize) {
        names.push(format!("{name}{core}"));
        computes(body, dice, (name, core), frame);
    }
    if hog {
        let name = format!("hog{core}");
        let (pattern, writes) = (dice.pick(&["stream", "ring", "random"]), frame.share_of_writes(dice));
        let place = frame.place(&name, core);
        *body += &head(&name, "best-effort", core, 9);
        let _ = writeln!(
            body,
            "{place}work = [{{ {pattern} = \"2MiB\", stride = \"64B\", writes = \"{writes}\", accesses = 100000 }}]"
        );
        names.push(name);
        if !frame.users.contains(&core) {
            frame.users.push(core);
        }
    }
    frame.members.push((core, names));
}

/// An eighth of the colors, of chips of four cores the eighth of the first sibling.
fn colors(platform: &str, core: u64) -> String {
    let each = if platform == "p4080" { 2 } else { 4 };
    format!("colors = \"{}-{}\"\n", core * each, core * each + each - 1)
}

fn head(name: &str, class: &str, core: u64, priority: u64) -> String {
    format!("[[task]]\nname = \"{name}\"\nclass = \"{class}\"\ncore = {core}\npriority = {priority}\n")
}

impl Frame {
    fn share_of_writes(&self, dice: &mut Dice) -> &'static str {
        if self.writes { dice.pick(&["0%", "30%", "100%"]) } else { "0%" }
    }

    /// Where the memory of a task lies.
    fn place(&mut self, name: &str, core: u64) -> String {
        let mut text = String::new();
        if self.colors {
            text += &colors(self.platform, core);
        } else {
            self.ways.push(format!("{name} = \"{}-{}\"", core * 2, core * 2 + 1));
        }
        match self.banks {
            Banks::Any => {}
            Banks::Own => text += &format!("banks = \"{core}\"\n"),
            Banks::One => text += "banks = \"1\"\n",
        }
        text
    }
}

/// A task that uses memory. Where a line is not used twice its name says so.
fn user(body: &mut String, dice: &mut Dice, core: u64, frame: &mut Frame, ring: bool) {
    let name = format!("{}{core}", if ring { "mr" } else { "m" });
    let (pattern, size) = if ring {
        ("ring", "2MiB")
    } else {
        (dice.pick(&["sweep", "stream", "chase", "random"]), dice.pick(&["8KiB", "64KiB", "512KiB", "1MiB"]))
    };
    let most = dice.pick(&[20, 60, 400, 400, 3000]);
    let touch = |dice: &mut Dice, frame: &Frame| {
        format!(
            "{{ {pattern} = \"{size}\", stride = \"64B\", writes = \"{}\", think = \"{}\", accesses = {} }}",
            frame.share_of_writes(dice),
            dice.pick(&["0ns", "0ns", "100ns"]),
            dice.between(1, most)
        )
    };
    let mut steps = vec![format!("{{ compute = \"{}us\" }}", dice.between(1, 200)), touch(dice, frame)];
    match dice.below(10) {
        0 => steps.push(format!("{{ sleep = \"{}us\" }}", dice.between(50, 400))),
        1 if frame.locks => {
            steps.insert(0, format!("{{ lock = \"l{core}\" }}"));
            steps.push(format!("{{ unlock = \"l{core}\" }}"));
        }
        2 => steps.push(format!("{{ compute = \"{}us\" }}", dice.between(1, 100))),
        _ => {}
    }
    // Two rings over one buffer go on each by itself, and come to lines that the other has used.
    if dice.once_in(4) && !ring {
        steps.push(touch(dice, frame));
    }
    let class = dice.pick(&["hard", "soft"]);
    let place = frame.place(&name, core);
    *body += &head(&name, class, core, dice.below(4));
    let _ = write!(
        body,
        "period = \"{}ms\"\noffset = \"{}us\"\n{place}work = [{}]\n",
        dice.between(5, 20),
        dice.below(3000),
        steps.join(", ")
    );
}

/// A task that computes, locks, sleeps; one that a device releases now and then.
fn computes(body: &mut String, dice: &mut Dice, (name, core): (&str, u64), frame: &mut Frame) {
    let (wcet, period) = (dice.between(1, 300), dice.between(2000, 20_000));
    let deadline = period * dice.between(60, 100) / 100;
    let sporadic = dice.once_in(5);
    let release = if sporadic {
        "release = \"sporadic\"\n".to_owned()
    } else {
        format!("offset = \"{}us\"\n", dice.below(2000))
    };
    let mut steps = vec![format!("{{ compute = \"{wcet}us\" }}")];
    if frame.locks && dice.once_in(2) {
        steps.insert(0, format!("{{ lock = \"l{core}\" }}"));
        steps.push(format!("{{ unlock = \"l{core}\" }}"));
    } else if dice.once_in(8) {
        steps.push(format!("{{ sleep = \"{}us\" }}", dice.between(20, 400)));
    }
    *body += &head(&format!("{name}{core}"), dice.pick(&["hard", "soft"]), core, dice.below(4));
    let _ = write!(
        body,
        "period = \"{period}us\"\ndeadline = \"{deadline}us\"\n{release}work = [{}]\n",
        steps.join(", ")
    );
    if sporadic {
        let owner = format!("{name}{core}");
        let (rate, every) = (dice.between(1, 20), period * dice.between(5, 20) / 10);
        device(dice, frame, (&owner, rate, every), Some(&owner));
    }
}

/// A device that is held to what is reserved for it, with so much to move that it can.
fn device(
    dice: &mut Dice,
    frame: &mut Frame,
    (owner, rate, period): (&str, u64, u64),
    releases: Option<&str>,
) {
    let name = format!("d{}", frame.devices.len());
    let every = 1_u64 << dice.between(0, 10);
    frame.reserved.push(format!("{name} = \"{rate}MB/s\""));
    // Memory moves a line for each transaction, however few of its bytes are wanted.
    let most = rate * period / 64 * 64.min(every);
    let releases = releases.map_or_else(String::new, |task| format!("releases = \"{task}\"\n"));
    frame.devices.push(format!(
        "[[device]]\nname = \"{name}\"\nowner = \"{owner}\"\n{releases}direction = \"{}\"\nmoves = \"{}B\"\nperiod = \"{period}us\"\noffset = \
         \"{}us\"\nwait-every = \"{every}B\"\n",
        dice.pick(&["input", "output"]),
        (most * dice.between(5, 100) / 100).max(1),
        dice.below(3000),
    ));
}

/// Devices that release nobody.
fn free_devices(dice: &mut Dice, frame: &mut Frame) {
    let owner = frame.members.iter().find_map(|(_, names)| names.first().cloned());
    if let Some(owner) = owner.filter(|_| dice.once_in(2)) {
        for _ in 0..dice.between(1, 3) {
            let (rate, period) = (dice.between(1, 40), dice.between(500, 5000));
            device(dice, frame, (&owner, rate, period), None);
        }
    }
}

/// What is reserved: to the brim of what is admitted, or beyond it, where nothing is guaranteed and bounds hold all the same.
fn isolation(text: &mut String, dice: &mut Dice, cores: &[u64], frame: &Frame) {
    let beyond = dice.once_in(5);
    // What devices have reserved is little; a line that is read may push a modified one out.
    let brim = if frame.writes { 40 } else { 84 };
    let total = if beyond { dice.between(brim, 160) } else { dice.between(cores.len() as u64 + 4, brim) };
    let weights: Vec<u64> = if dice.once_in(2) {
        vec![1; cores.len()]
    } else {
        cores.iter().map(|_| dice.between(1, 9)).collect()
    };
    let sum: u64 = weights.iter().sum();
    let budgets: Vec<String> = cores
        .iter()
        .zip(&weights)
        .map(|(core, weight)| {
            let tenths = (total * 10 * weight / sum).max(1);
            format!("{core} = \"{}.{}%\"", tenths / 10, tenths % 10)
        })
        .collect();
    let period = dice.pick(&["50us", "100us", "250us", "1ms"]);
    let _ =
        write!(text, "[isolation.bandwidth]\nperiod = \"{period}\"\ncores = {{ {} }}\n", budgets.join(", "));
    if beyond {
        *text += "best-effort = \"yes\"\n";
    }
    if !frame.reserved.is_empty() {
        let _ = writeln!(text, "dma = {{ {} }}", frame.reserved.join(", "));
    }
    if !frame.ways.is_empty() {
        let _ = write!(text, "[isolation.ways]\n{}\n", frame.ways.join("\n"));
    }
    *text += "[isolation.memory]\nshared = \"yes\"\n";
    let mut locked = Vec::new();
    if dice.once_in(2) {
        let divided = frame.members.iter().filter(|(_, names)| names.len() > 1 && !dice.once_in(3));
        let divided: Vec<_> = divided.map(|(core, names)| (*core, names)).collect();
        *text += &windows(dice, &divided, true);
        locked = divided.iter().filter_map(|(_, names)| names.first()).cloned().collect();
    }
    locked.retain(|name| name.starts_with('m'));
    // A locked page has one color, and not each has pages in each bank.
    if frame.colors && frame.banks == Banks::Any && !locked.is_empty() {
        *text += "[isolation.lockdown]\nwhen = \"partition\"\n";
        for name in &locked {
            // What is touched may be less than two pages.
            let _ = writeln!(text, "{name} = {}", if dice.once_in(3) { 2 } else { 1 });
        }
    }
}

/// Up to four cores of which the first is pressed as hard as its neighbors and devices may: all rows lie in one bank, and no access finds
/// its row open. Bounds are as close here as they come.
pub(super) fn pressed(seed: u64) -> String {
    let dice = &mut Dice::new(seed ^ 0x9e55);
    let platform = dice.pick(&["p4080", "xeon-w3530"]);
    let frame = Pressed {
        platform,
        writes: dice.pick(&["0%", "100%"]),
        stride: dice.pick(&["64B", "4KiB", "4KiB", "8KiB"]),
        banks: if dice.once_in(4) { "" } else { "banks = \"1\"\n" },
    };
    let (policy, period) = (dice.pick(&["P-RM", "P-EDF", "P-FP"]), dice.pick(&["50us", "250us", "1ms"]));
    let mut text = format!(
        "name = \"pressed\"\nplatform = \"{platform}\"\nduration = \"60ms\"\nseed = {seed}\n[scheduler]\npolicy = \"{policy}\"\n"
    );
    let (pattern, accesses) = (dice.pick(&["ring", "chase"]), dice.between(1000, 6000));
    let victim = frame.task("mr0", 0, (pattern, accesses)) + "period = \"20ms\"\n";
    let (mut body, mut budgets, mut dma) = (victim, vec!["0 = \"100%\"".to_owned()], String::new());
    let others = match dice.below(3) {
        // A task that computes, above one that spends the budget.
        0 => {
            budgets[0] = format!("0 = \"{}%\"", dice.between(1, 8));
            body = head("a0", "hard", 0, 0);
            let (time, every) = (dice.between(20, 200), dice.between(2500, 6000));
            let _ = write!(body, "period = \"{every}us\"\nwork = [{{ compute = \"{time}us\" }}]\n");
            body += &frame.task("hog0", 0, ("stream", 100_000));
            dice.below(2)
        }
        // Devices beside it.
        1 => {
            let (count, direction) = (dice.between(1, 4), dice.pick(&["input", "output"]));
            let rates: Vec<u64> = (0..count).map(|_| dice.between(200, 950) / count).collect();
            for (at, rate) in rates.iter().enumerate() {
                let (moves, every) = (rate * 1000 / 64 * 63, dice.pick(&[64, 64, 256, 1024]));
                let _ = write!(
                    body,
                    "[[device]]\nname = \"d{at}\"\nowner = \"mr0\"\ndirection = \"{direction}\"\nmoves = \"{moves}B\"\nperiod = \"1ms\"\n\
                     wait-every = \"{every}B\"\n",
                );
            }
            let rates: Vec<String> =
                rates.iter().enumerate().map(|(at, rate)| format!("d{at} = \"{rate}MB/s\"")).collect();
            dma = format!("dma = {{ {} }}\n", rates.join(", "));
            0
        }
        _ => dice.between(1, 3),
    };
    let most = if frame.writes == "0%" { 85 } else { 42 };
    let share = dice.between(most / 2, most) / others.max(1);
    for core in 1..=others {
        budgets.push(format!("{core} = \"{share}%\""));
        body += &frame.task(&format!("hog{core}"), core, ("stream", 100_000));
    }
    let budgets = budgets.join(", ");
    let _ = write!(
        text,
        "[isolation.bandwidth]\nperiod = \"{period}\"\ncores = {{ {budgets} }}\nbest-effort = \"yes\"\n{dma}[isolation.memory]\nshared = \"yes\"\n"
    );
    text + &body
}

/// What all that use memory have in common there.
struct Pressed {
    platform: &'static str,
    writes: &'static str,
    stride: &'static str,
    banks: &'static str,
}

impl Pressed {
    fn task(&self, name: &str, core: u64, (pattern, accesses): (&str, u64)) -> String {
        let Self { platform, writes, stride, banks } = self;
        let class = if name.starts_with("hog") { "best-effort" } else { "hard" };
        head(name, class, core, 9 * u64::from(class == "best-effort"))
            + &colors(platform, core)
            + banks
            + &format!(
                "work = [{{ {pattern} = \"3MiB\", stride = \"{stride}\", writes = \"{writes}\", accesses = {accesses} }}]\n"
            )
    }
}

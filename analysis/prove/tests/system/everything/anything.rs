//! Two to eight cores, nine criteria under three scopes, sleep, locks, tasks that devices release, budgets, banks, colors or ways, kernel
//! paths, ticks: drawn one by one, so that most of these scenarios lack something for a bound.

use crate::draw::Dice;
use std::fmt::Write;

/// How lines of different cores are kept apart.
#[derive(Clone, Copy, PartialEq)]
enum Parts {
    Colors,
    Ways,
    Nothing,
}

struct Drawing {
    cores: u64,
    partitioned: bool,
    parts: Parts,
    budgets: bool,
    banks: bool,
    devices: u64,
    reserved: Vec<String>,
    ways: Vec<String>,
}

pub(crate) fn scenario(seed: u64) -> String {
    let dice = &mut Dice::new(seed ^ 0x0a11_0f17);
    let (platform, most) = dice.pick(&[("p4080", 8), ("p4080", 8), ("xeon-w3530", 4), ("i7-2600", 8)]);
    let criterion = dice
        .pick(&["EDF", "RM", "DM", "FP", "LLF", "SJF", "FCFS", "RR", "AFFINITY", "EDF", "RM", "DM", "FP"]);
    let scope = dice.pick(&["P", "P", "P", "C", "G"]);
    let mut drawing = Drawing {
        cores: dice.between(2, most),
        partitioned: scope == "P" || criterion == "AFFINITY",
        parts: dice.pick(&[Parts::Colors, Parts::Colors, Parts::Ways, Parts::Nothing]),
        budgets: !dice.once_in(3),
        banks: dice.once_in(4),
        devices: 0,
        reserved: Vec::new(),
        ways: Vec::new(),
    };
    let mut text = format!(
        "name = \"everything\"\nplatform = \"{platform}\"\nduration = \"25ms\"\nseed = {seed}\n[scheduler]\npolicy = \"{scope}-{criterion}\"\n"
    );
    if scope == "C" {
        text += "clusters = 2\n";
    }
    if dice.once_in(2) {
        text += "overheads = \"epos-thesis\"\n";
    }
    if dice.once_in(6) {
        text += "tick = \"100us\"\n";
    }
    let locks = dice.once_in(3);
    let mut body = String::new();
    if locks {
        let protocol = dice.pick(&["ceiling", "ceiling", "ceiling", "inheritance", "plain"]);
        for core in 0..drawing.cores {
            let _ = write!(body, "[[lock]]\nname = \"l{core}\"\nprotocol = \"{protocol}\"\n");
        }
    }
    for core in 0..drawing.cores {
        core_of(&mut body, dice, core, &mut drawing, locks);
    }
    isolation(&mut text, dice, &drawing);
    text + &body
}

fn isolation(text: &mut String, dice: &mut Dice, drawing: &Drawing) {
    if drawing.budgets {
        let share = dice.between(4, 40 / drawing.cores);
        let budgets: Vec<String> = (0..drawing.cores).map(|core| format!("{core} = \"{share}%\"")).collect();
        let period = dice.pick(&["50us", "100us", "250us"]);
        let _ = write!(
            text,
            "[isolation.bandwidth]\nperiod = \"{period}\"\ncores = {{ {} }}\n",
            budgets.join(", ")
        );
        if !drawing.reserved.is_empty() {
            let _ = writeln!(text, "dma = {{ {} }}", drawing.reserved.join(", "));
        }
    }
    if drawing.parts == Parts::Ways {
        let _ = write!(text, "[isolation.ways]\n{}\n", drawing.ways.join("\n"));
    }
    *text += "[isolation.memory]\nshared = \"yes\"\n";
}

/// Writes the tasks of a core, and devices that release some of them.
fn core_of(body: &mut String, dice: &mut Dice, core: u64, drawing: &mut Drawing, locks: bool) {
    let colors = match drawing.parts {
        Parts::Colors => format!("colors = \"{}-{}\"\n", core * 2, core * 2 + 1),
        Parts::Ways | Parts::Nothing => String::new(),
    };
    let banks = if drawing.banks { format!("banks = \"{core}\"\n") } else { String::new() };
    let head = |name: &str, class: &str, priority: u64| {
        format!(
            "[[task]]\nname = \"{name}{core}\"\nclass = \"{class}\"\ncore = {core}\npriority = {priority}\n"
        )
    };
    let mut users = Vec::new();
    if dice.once_in(2) {
        users.push(format!("m{core}"));
        let (pattern, size) =
            (dice.pick(&["sweep", "stream", "chase", "random"]), dice.pick(&["8KiB", "64KiB", "256KiB"]));
        *body += &head("m", dice.pick(&["hard", "soft"]), dice.below(3));
        let _ = write!(
            body,
            "period = \"{}ms\"\noffset = \"{}us\"\nwcet = \"1ms\"\n{colors}{banks}work = [{{ compute = \"{}us\" }}, {{ {pattern} = \"{size}\", stride = \
             \"64B\", writes = \"{}\", accesses = {} }}]\n",
            dice.between(4, 10),
            dice.below(2000),
            dice.between(1, 150),
            dice.pick(&["0%", "50%", "100%"]),
            dice.between(1, 250),
        );
    }
    for name in ["a", "b", "c"].iter().take(dice.between(1, 3) as usize) {
        let wcet = dice.between(20, 500);
        let period = dice.between(2000, 9000);
        *body += &head(name, dice.pick(&["hard", "soft", "hard"]), dice.below(4));
        let sporadic = dice.once_in(4);
        let release = if sporadic {
            "release = \"sporadic\"\n".to_owned()
        } else {
            format!("offset = \"{}us\"\n", dice.below(2000))
        };
        let deadline = period * dice.between(60, 100) / 100;
        let mut steps = vec![format!("{{ compute = \"{wcet}us\" }}")];
        if locks && dice.once_in(2) {
            // Mostly a lock of its own core.
            let lock = if dice.once_in(8) { dice.below(drawing.cores) } else { core };
            steps = vec![
                format!("{{ compute = \"{}us\" }}", wcet / 2),
                format!("{{ lock = \"l{lock}\" }}"),
                format!("{{ compute = \"{}us\" }}", wcet / 4),
                format!("{{ unlock = \"l{lock}\" }}"),
            ];
        } else if dice.once_in(6) {
            steps.push(format!("{{ sleep = \"{}us\" }}", dice.between(50, 400)));
            steps.push("{ compute = \"10us\" }".to_owned());
        }
        let _ = write!(
            body,
            "period = \"{period}us\"\ndeadline = \"{deadline}us\"\n{release}wcet = \"{}us\"\nwork = [{}]\n",
            wcet + 10,
            steps.join(", ")
        );
        if sporadic {
            device(body, dice, &format!("{name}{core}"), period, drawing);
        }
    }
    // Nothing is proved beside what has no period and no part of its own on cores that share a queue.
    if dice.once_in(4) && drawing.partitioned {
        users.push(format!("hog{core}"));
        *body += &head("hog", "best-effort", 9);
        let hog = dice.pick(&["stream", "random"]);
        let release = dice.pick(&["period = \"6ms\"\nwcet = \"5ms\"\nmisses = 40000\n", "wcet = \"5ms\"\n"]);
        let writes = dice.pick(&["0%", "100%"]);
        let _ = writeln!(
            body,
            "{release}{colors}{banks}work = [{{ {hog} = \"4MiB\", stride = \"64B\", writes = \"{writes}\", accesses = 20000 }}]"
        );
    }
    if drawing.parts == Parts::Ways {
        drawing.ways.extend(users.into_iter().map(|user| format!("{user} = \"{core}\"")));
    }
}

fn device(body: &mut String, dice: &mut Dice, task: &str, period: u64, drawing: &mut Drawing) {
    let name = format!("d{}", drawing.devices);
    drawing.devices += 1;
    let rate = dice.between(1, 8);
    let every = period * dice.between(5, 20) / 10;
    if drawing.budgets && !dice.once_in(8) {
        drawing.reserved.push(format!("{name} = \"{rate}MB/s\""));
    }
    let moves = (rate * every * dice.between(1, 40) / 100).clamp(64, 16_384) / 64 * 64;
    let _ = write!(
        body,
        "[[device]]\nname = \"{name}\"\nowner = \"{task}\"\nreleases = \"{task}\"\ndirection = \"{}\"\nmoves = \"{moves}B\"\nperiod = \"{every}us\"\n\
         offset = \"{}us\"\n",
        dice.pick(&["input", "output"]),
        dice.below(3000),
    );
}

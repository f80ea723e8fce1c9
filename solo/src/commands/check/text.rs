//! The verdicts of `solo check` for people.

use super::{Checked, TaskRow, Verdict, unasked};
use solo_model::text::counted;
use solo_model::{Color, Duration, Experiment, TaskClass};
use solo_prove::system::{Change, Open, Unbounded};
use solo_report::table::{self, Style};

/// So many tasks are listed.
const ROWS: usize = 60;
/// Why there is no verdict where the analysis was cut off.
const OUT_OF_TIME: &str = "the analysis took too long";

/// One variant: verdict, table, explanations.
pub(super) fn checked(checked: &Checked, style: Style) -> String {
    let title = match checked.variant.as_str() {
        "" => checked.scenario.clone(),
        variant => format!("{}, {variant}", checked.scenario),
    };
    let mut text = format!(
        "{title}: {} on {}, overheads {}\n{}\n\n",
        checked.policy,
        checked.platform,
        if checked.overheads.is_empty() { "free" } else { &checked.overheads },
        bold(&headline(checked), checked.verdict, style),
    );
    let header = ["task", "class", "core", "wcet", "counted", "bound", "deadline", "slack"];
    let rows: Vec<Vec<String>> = checked.tasks.iter().take(ROWS).map(cells).collect();
    text += &table::plain(&header, 3, &rows, style);
    if checked.tasks.len() > ROWS {
        text += &format!("and {}\n", counted(checked.tasks.len() - ROWS, "more task"));
    }
    for explained in checked.tasks.iter().map(explanation).filter(|text| !text.is_empty()).take(ROWS) {
        text += "\n";
        text += &explained;
    }
    text += &unjudged(&checked.tasks);
    text += &supposed(checked);
    text
}

fn bold(line: &str, verdict: Verdict, style: Style) -> String {
    match (style.color, verdict) {
        (false, _) => line.to_owned(),
        (true, Verdict::Proved) => format!("\x1b[1;32m{line}\x1b[0m"),
        (true, Verdict::NotProved) => format!("\x1b[1;31m{line}\x1b[0m"),
        (true, _) => format!("\x1b[1m{line}\x1b[0m"),
    }
}

/// What the proofs suppose, and where the scenario contradicts itself.
fn supposed(checked: &Checked) -> String {
    let mut text = String::new();
    for task in &checked.tasks {
        if let (Some(declared), Some(shown)) = (task.understated_ns, task.wcet_ns) {
            let (name, shown, declared) = (&task.name, exact(shown), exact(declared));
            text += &format!(
                "\nDoubt: {name} declares wcet = \"{declared}\", but its work computes for up to {shown} here (beside a busy SMT sibling, \
                 where it has one). {shown} is what counts.\n"
            );
        }
    }
    if !checked.tasks.iter().any(|task| task.bound_ns.is_some()) {
        return text;
    }
    let more = if checked.tasks.iter().any(|task| task.misses.is_some()) {
        ", alone, and misses the last-level cache no more often. What cores with budgets do to each other is counted"
    } else {
        ""
    };
    text += &format!("\nA bound holds as long as no job executes for longer than its task declares{more}.\n");
    if !checked.measured_alone.is_empty() {
        let names = shortened(&checked.measured_alone);
        let devices = match checked.devices.as_slice() {
            [] => String::new(),
            [one] => format!(" or device {one}"),
            several => format!(" or devices {}", shortened(several)),
        };
        let kernel = if checked.kernel_touches { " or the kernel for them" } else { "" };
        text += &format!(
            "\nConditional: measured alone. The work of {names} shares caches and memory, SMT siblings or the cores between which it moves \
             with other tasks{devices}{kernel}. A time that was measured alone does not hold beside them. Measure with all of them \
             running, or isolate them; then --wcet-holds counts the declared times as valid.\n"
        );
    }
    text
}

fn shortened(names: &[String]) -> String {
    let more = names.len().saturating_sub(5);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn overload(checked: &Checked) -> Option<String> {
    let first = checked.overloads.first()?;
    let cores: Vec<String> = first.cores.iter().map(ToString::to_string).collect();
    let (there, asked) = (cores.len(), first.asked_per_mille);
    let have = if there == 1 { "is one core".to_owned() } else { format!("are {there} cores") };
    let more = match checked.overloads.len() - 1 {
        0 => String::new(),
        1 => " So it is in one more place.".into(),
        more => format!(" So it is in {more} more places."),
    };
    Some(format!(
        "Overload: the tasks of {} ask for {}.{} % of one core, and there {have}.{more} ",
        shortened(&cores),
        asked / 10,
        asked % 10,
    ))
}

fn headline(checked: &Checked) -> String {
    let overload = overload(checked).unwrap_or_default();
    overload
        + &match checked.verdict {
            Verdict::Conditional => format!("Conditional (measured alone): {}", verdict(checked)),
            _ => verdict(checked),
        }
}

fn verdict(checked: &Checked) -> String {
    let proved = checked.tasks.iter().filter(|task| task.bound_ns.is_some()).count();
    let refused: Vec<&TaskRow> = checked.tasks.iter().filter(|task| task.needs_ns.is_some()).collect();
    match checked.verdict {
        Verdict::Proved | Verdict::Conditional => {
            let tightest = checked.tasks.iter().filter_map(|task| {
                let (bound, deadline) = (task.bound_ns?, task.deadline_ns?);
                Some((
                    task,
                    bound,
                    deadline,
                    u128::from(bound.get()) * 1000 / u128::from(deadline.get().max(1)),
                ))
            });
            let Some((task, bound, deadline, share)) = tightest.max_by_key(|&(.., share)| share) else {
                return "Proved.".into();
            };
            let all =
                if proved == 1 { "The one deadline".to_owned() } else { format!("All {proved} deadlines") };
            let verb = if proved == 1 { "is" } else { "are" };
            format!(
                "{all} {verb} proved to hold. Closest to its own comes {}: {bound} of {deadline} ({}.{} %).",
                task.name,
                share / 10,
                share % 10
            )
        }
        Verdict::NotProved => {
            let first = refused.first().map_or("", |task| &task.name);
            let word = if refused.iter().any(|task| task.refuted == Some(true)) {
                "can miss"
            } else {
                "is not proved to meet"
            };
            let more = match refused.len().saturating_sub(1) {
                0 => String::new(),
                1 => " One more task is in the same position.".into(),
                more => format!(" {more} more tasks are in the same position."),
            };
            format!("{first} {word} its deadline.{more}")
        }
        Verdict::Incomplete if proved > 0 => {
            format!("{} For the others execution times or periods are missing.", some(checked, proved))
        }
        Verdict::NoAnalysis if out_of_time(checked) => {
            format!("{} The analysis of the others took too long.", some(checked, proved))
        }
        Verdict::NoAnalysis if proved > 0 => {
            format!("{} There is no analysis for the others.", some(checked, proved))
        }
        Verdict::Incomplete => "Nothing can be proved: execution times or periods are missing.".into(),
        Verdict::NoAnalysis => "There is no analysis for this.".into(),
        Verdict::NothingAsked => "No task has a deadline: there is nothing to prove.".into(),
    }
}

/// True where nothing but the length of the analysis stands in the way.
fn out_of_time(checked: &Checked) -> bool {
    let mut opens = checked.tasks.iter().filter(|task| asked(task)).filter_map(|task| task.open.as_deref());
    opens.all(|open| open == OUT_OF_TIME)
}

/// True for a task with a deadline to prove.
fn asked(task: &TaskRow) -> bool {
    task.deadline_ns.is_some()
}

/// How many of the deadlines that are to be proved are.
fn some(checked: &Checked, proved: usize) -> String {
    let asked = checked.tasks.iter().filter(|task| asked(task)).count();
    let verb = if proved == 1 { "is" } else { "are" };
    format!("{proved} of {} {verb} proved to hold.", counted(asked, "deadline"))
}

fn cells(task: &TaskRow) -> Vec<String> {
    let time = |time: Option<Duration>| time.map_or("-".into(), |time| time.to_string());
    let bound = match (task.bound_ns, task.needs_ns) {
        (Some(bound), _) => bound.to_string(),
        (None, Some(needs)) => format!("({needs})"),
        (None, None) => "-".into(),
    };
    vec![
        task.name.clone(),
        class(task.class).into(),
        task.core.map_or("any".into(), |core| core.to_string()),
        time(task.wcet_ns),
        time(task.counted_ns),
        bound,
        time(task.deadline_ns),
        task.slack_ns.map_or("-".into(), signed),
    ]
}

const fn class(class: TaskClass) -> &'static str {
    match class {
        TaskClass::Hard => "hard",
        TaskClass::Soft => "soft",
        TaskClass::BestEffort => "best effort",
    }
}

fn signed(nanoseconds: i64) -> String {
    let time = Duration::new(nanoseconds.unsigned_abs());
    if nanoseconds < 0 { format!("-{time}") } else { time.to_string() }
}

/// Why tasks with deadlines have no verdict, each reason once.
fn unjudged(tasks: &[TaskRow]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for task in tasks.iter().filter(|task| asked(task)) {
        let Some(open) = &task.open else { continue };
        match reasons.iter_mut().find(|(reason, _)| reason == open) {
            Some((_, names)) => names.push(&task.name),
            None => reasons.push((open, vec![&task.name])),
        }
    }
    let line = |(reason, names): &(&str, Vec<&str>)| {
        let rest = names.len().saturating_sub(5);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        format!("\n{}{more}: {reason}.\n", names[..names.len() - rest].join(", "))
    };
    reasons.iter().map(line).collect()
}

/// What a task that isn't proved lacks; nothing for those that are.
fn explanation(task: &TaskRow) -> String {
    let (Some(needs), Some(deadline)) = (task.needs_ns, task.deadline_ns) else { return String::new() };
    let verb = if task.refuted == Some(true) { "needs" } else { "may need" };
    let (needs, deadline) = (exact(needs), exact(deadline));
    let mut text = format!("{} {verb} {needs} where it has {deadline}.\n", task.name);
    text += &format!("  bound: {}\n", task.by.unwrap_or("-"));
    let parts: Vec<String> =
        task.parts.iter().map(|part| format!("{} of {}", part.amount_ns, part.whose)).collect();
    if !parts.is_empty() {
        text += &format!("  made of {}\n", parts.join(", "));
    }
    if task.mends.is_empty() {
        text += "  no single change of it or of those that delay it most was found to mend it\n";
    } else {
        text += "  any one of these mends it:\n";
        for mend in &task.mends {
            text += &format!("    {}\n", mend.text);
        }
    }
    text
}

/// Why there is no verdict, in words that say what to do.
pub(super) fn open(experiment: &Experiment, task: usize, open: &Open) -> String {
    let name = |other: usize| match other == task {
        true => "it".to_owned(),
        false => format!("{}, which may delay it,", experiment.tasks[other].name),
    };
    debug_assert!(!unasked(open) || experiment.tasks.len() > task);
    match open {
        Open::BestEffort => "best effort: nothing is promised".into(),
        Open::NoDeadline => "no deadline: there is nothing to prove".into(),
        Open::NoWcet(other) if experiment.tasks[*other].wcet.is_some() => format!(
            "{} declares a wcet that its computation alone reaches, and its work uses memory besides; measure it (solo run) \
             and declare what it takes",
            name(*other)
        ),
        Open::NoWcet(other) => format!(
            "{} declares no execution time, and its work uses memory, so that none follows from it; measure \
             it (solo run) and declare wcet = \"...\"",
            name(*other)
        ),
        Open::NoPeriod(other) => {
            format!("{} has no least time between releases; give it a period", name(*other))
        }
        Open::Criterion(criterion) => {
            format!("there is no analysis of {}; EDF, RM, DM, FP and AFFINITY have one", criterion.name())
        }
        Open::Lock { name, why } => no_analysis(name, why),
        Open::Depends(other) => format!("{} is not proved", name(*other)),
        Open::LongDeadline(other) => format!(
            "{} has a deadline longer than its period, for which there is no bound on several cores",
            name(*other)
        ),
        Open::MovesUp => String::from(
            "with cores = \"fastest-first\" jobs move whenever a faster core becomes free, and what that costs is not counted: there is \
             an analysis for tasks that only compute and a kernel that takes no time",
        ),
        Open::Listening(reaction) => format!(
            "the scheduler listens to counters, and how often `action = \"{}\"` delays it depends on what they will read; check \
             a variant with monitor = \"off\" or with classes that are less urgent, and run this one (solo run) for what is \
             observed",
            reaction.name()
        ),
        Open::Regulated(why) => unbounded(experiment, why),
        Open::BesideWindows(other) if *other == task => {
            "time is divided into windows on its core, and it is in no partition: how long partitions keep it waiting is not \
             analysed; put it into one"
                .into()
        }
        Open::BesideWindows(other) => format!(
            "{} runs in the windows of all partitions of its core, and is not less urgent; put it into a partition",
            experiment.tasks[*other].name
        ),
        Open::Step(other) => format!(
            "{} is less urgent and uses memory in stretches whose length is not bounded (a recorded program, or memory \
             shared with other cores and never refreshed), and no interrupt is taken within one; move it to another core",
            experiment.tasks[*other].name
        ),
        Open::Heap(color) => lacking(*color),
        Open::Flushes(other) => format!(
            "{} empties caches (`flush`), and what that takes, and what everybody loses by it, is not counted; check a variant \
             without the step, and run this one (solo run) for what is observed",
            name(*other)
        ),
        Open::Command(other) => program(&name(*other)),
        Open::Migrates(other) => migrates(&name(*other)),
        Open::OutOfTime => OUT_OF_TIME.into(),
        Open::TooLarge => "the numbers are too large, or interrupts take all the time there is".into(),
    }
}

fn no_analysis(lock: &str, why: impl std::fmt::Display) -> String {
    format!("there is no analysis of lock `{lock}`: {why}; protocol = \"ceiling\" on one core has one")
}

/// Why there is no bound for a task whose heap may run out, and what to do about it.
fn lacking(heap: Color) -> String {
    format!(
        "the heap of {heap} may not have what it asks for, and a task that gets no memory ends for good; make `heap` of \
         [isolation.memory] larger, or let it `allocate` less"
    )
}

/// Why there is no bound beside a program, and what to do about it.
fn program(task: &str) -> String {
    format!(
        "{task} is a program (`command`), and how long it waits, and for what, is not known; check a variant with `work` in its place"
    )
}

/// Why there is no bound beside a task that goes from core to core, and what to do about it.
fn migrates(task: &str) -> String {
    format!(
        "{task} goes to another core at each release (`migrate`), and how long it keeps others waiting on each of them is not \
         counted; check a variant without it, and run this one (solo run) for what is observed"
    )
}

/// Why what budgets do to a task is not bounded, and what to do about it.
fn unbounded(experiment: &Experiment, why: &Unbounded) -> String {
    let name = |task: usize| &experiment.tasks[task].name;
    let why = match why {
        Unbounded::Key("weight") => "weights give a core what others leave; give budgets as rates".into(),
        Unbounded::Key("at") => "budgets change during the run; check each of them by itself".into(),
        Unbounded::Key("budget") => "a task has a budget of its own; give the budget to its core".into(),
        Unbounded::Key(key) => {
            format!("with `{key}` cores use more than their own budgets; check a variant without it")
        }
        Unbounded::Counted => {
            "what is counted is not misses of the last level; counts = \"llc_misses\"".into()
        }
        Unbounded::Prefetcher => "a prefetcher causes misses besides; check a platform without it".into(),
        Unbounded::KernelData => {
            "the kernel's own accesses use up budgets; check it without `kernel-touches`".into()
        }
        Unbounded::LockedLater => "pages are loaded while jobs run; lock them with when = \"boot\"".into(),
        Unbounded::Ticks => "cores go on at ticks; check it without `tick`".into(),
        Unbounded::Queue => "several cores share a queue; use a partitioned policy".into(),
        Unbounded::Command(task) => format!(
            "{} is a program (`command`), and which memory it uses is not known; check a variant with `work` in its place",
            name(*task)
        ),
        Unbounded::Sibling => {
            "tasks run on SMT siblings, which share more than memory; use other cores".into()
        }
        Unbounded::Bus => "cores share a bus on this platform, which budgets of misses don't divide".into(),
        Unbounded::NoBudget(core) => {
            format!("tasks of {core} use memory, and it has no budget; give it one in [isolation.bandwidth]")
        }
        Unbounded::NoMisses(task) => format!(
            "{0} uses memory and does not say how often it misses the caches; measure it alone (solo measure wcet --task {0}) \
             and declare `misses`",
            name(*task)
        ),
        Unbounded::Cache(one, two) => format!(
            "{} and {} run on different cores and share a cache; give them `ways` or `colors` of their own",
            name(*one),
            name(*two)
        ),
        Unbounded::Replacement(one, two) => format!(
            "{} and {} have ways of their own, but what this cache replaces in some ways depends on the others; give them \
             `colors` of their own",
            name(*one),
            name(*two)
        ),
        Unbounded::Data(one, two) => format!(
            "{} and {} run on different cores and use the same buffer; run them on one core",
            name(*one),
            name(*two)
        ),
        Unbounded::Device(device) => format!(
            "device {device} moves data, and no bandwidth is reserved for it; hold it with `dma` of [isolation.bandwidth]"
        ),
        Unbounded::Input(device, task) => format!(
            "device {device} writes into a buffer of {}, which misses more often than alone; give the device memory of its own",
            name(*task)
        ),
    };
    format!(
        "a budget may stop its core until the next regulation period, and how often is not bounded: {why}"
    )
}

/// A change in words.
pub(super) fn change(experiment: &Experiment, change: &Change) -> String {
    let name = |task: usize| &experiment.tasks[task].name;
    match *change {
        Change::Wcet { task, from, to } => {
            format!("shorten the execution of {} from {} to {}", name(task), exact(from), exact(to))
        }
        Change::Period { task, from, to } => {
            format!("lengthen the period of {} from {} to {}", name(task), exact(from), exact(to))
        }
        Change::Deadline { task, from, to } => {
            format!("allow {} a deadline of {} instead of {}", name(task), exact(to), exact(from))
        }
        Change::Move { task, to } => {
            let domains = experiment.policy.domains(experiment.platform.cores.len());
            let place = match domains.get(to).and_then(|domain| domain.iter().next()) {
                Some(core) => core.to_string(),
                None => "another core".into(),
            };
            format!("move {} to {place}", name(task))
        }
    }
}

/// A time with all its digits, as a scenario file may have it.
fn exact(time: Duration) -> String {
    let nanoseconds = time.get();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let Some((size, unit)) = units.into_iter().find(|&(size, _)| nanoseconds >= size) else {
        return format!("{nanoseconds}ns");
    };
    let digits = format!("{:0width$}", nanoseconds % size, width = size.ilog10() as usize);
    match digits.trim_end_matches('0') {
        "" => format!("{}{unit}", nanoseconds / size),
        fraction => format!("{}.{fraction}{unit}", nanoseconds / size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_all_their_digits() {
        let texts =
            [(4_210_500, "4.2105ms"), (20_000_001, "20.000001ms"), (999, "999ns"), (2_000_000_000, "2s")];
        for (nanoseconds, text) in texts {
            assert_eq!(exact(Duration::new(nanoseconds)), text);
        }
    }
}

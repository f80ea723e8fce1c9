//! Plans for people.

use super::super::check::Judgement;
use super::lack::lack;
use super::{Answer, TaskRow, io, windows};
use solo_model::text::counted;
use solo_model::{Duration, TaskClass};
use solo_plan::{BudgetRule, CoreRule, Ending, Planned, Round, Search};
use solo_report::table::{self, Style};

/// So many rounds are told one by one.
const ROUNDS: usize = 40;

/// The whole answer.
pub(super) fn plan(
    answer: &Answer,
    search: &Search,
    judged: Option<&Judgement>,
    explain: bool,
    style: Style,
) -> String {
    let mut text = match &answer.lack {
        None => format!("{}: planned{}\n\n", answer.scenario, after(search.rounds.len())),
        Some(lack) => {
            format!("{}: no plan was found{}. {}\n", answer.scenario, after(search.rounds.len()), lack.text)
        }
    };
    if let Ending::Planned(planned) = &search.ending {
        text += &table::plain(
            &["task", "class", "core", "colors", "banks"],
            3,
            &answer.tasks.iter().map(cells).collect::<Vec<_>>(),
            style,
        );
        text += &bandwidth(answer);
        text += &pages(answer);
        text += &windows::table(&planned.divisions, style);
        text += &io::table(answer.io.as_ref(), style);
        text += &fixed(planned, answer);
        if explain {
            text += &decisions(answer, planned);
        }
    }
    if explain {
        text += &rounds(&search.rounds);
    } else if answer.lack.is_some() {
        text += "--explain tells what was tried.\n";
    }
    if let Some(judged) = judged {
        text += "\n";
        text += &judged.text();
    }
    text
}

fn after(rounds: usize) -> String {
    match rounds {
        0 => String::new(),
        1 => " after one attempt that failed".to_owned(),
        more => format!(" after {more} attempts that failed"),
    }
}

fn cells(task: &TaskRow) -> Vec<String> {
    let mark = if task.core_from == "plan" { "" } else { " (written)" };
    vec![
        task.name.clone(),
        task.class.map_or(String::new(), |class| class_name(class).to_owned()),
        task.core.map_or("-".to_owned(), |core| format!("{}{mark}", core.0)),
        task.colors.as_ref().map_or("-".to_owned(), |colors| stretch(colors)),
        task.banks.as_ref().map_or("-".to_owned(), |banks| stretch(banks)),
    ]
}

const fn class_name(class: TaskClass) -> &'static str {
    match class {
        TaskClass::Hard => "hard",
        TaskClass::Soft => "soft",
        TaskClass::BestEffort => "best-effort",
    }
}

fn stretch(colors: &[u16]) -> String {
    match colors {
        [one] => one.to_string(),
        [first, .., last] if usize::from(last - first) + 1 == colors.len() => format!("{first}-{last}"),
        all => all.iter().map(u16::to_string).collect::<Vec<_>>().join(" "),
    }
}

fn bandwidth(answer: &Answer) -> String {
    let Some(period) = answer.period_ns else { return String::new() };
    let each = answer.budgets.iter().map(|budget| {
        format!("{}: {} ({} MB/s)", budget.core, budget.misses, budget.bytes_per_second / 1_000_000)
    });
    format!("\nBudgets, in misses every {period}: {}\n", each.collect::<Vec<_>>().join(", "))
}

/// Pages that were chosen.
fn pages(answer: &Answer) -> String {
    let locked =
        answer.tasks.iter().filter_map(|task| Some(format!("{}: {}", task.name, task.locked_pages?)));
    let locked: Vec<String> = locked.collect();
    match locked.is_empty() {
        true => String::new(),
        false => format!("\nPages that are locked in windows: {}\n", locked.join(", ")),
    }
}

/// What a plan leaves as it is.
fn fixed(planned: &Planned, answer: &Answer) -> String {
    let isolation = &planned.plan.experiment.isolation;
    let kept = [
        (isolation.lockdown.is_some() && pages(answer).is_empty(), "locked pages"),
        (isolation.partitions.is_some() && planned.divisions.is_empty(), "windows of partitions"),
        (!isolation.ways.is_empty(), "ways"),
    ];
    let kept: Vec<&str> = kept.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
    if kept.is_empty() { String::new() } else { format!("\nAs they are written: {}.\n", kept.join(", ")) }
}

/// Each decision with its rule.
fn decisions(answer: &Answer, planned: &Planned) -> String {
    let mut text = format!("\nCores: {}.\n", cores(planned.rule, planned.charged));
    if answer.tasks.iter().any(|task| task.colors.is_some()) {
        text += "Colors: each core whose tasks use memory has its own; one each, as many as hold the pages of its tasks with deadlines, and \
                 of the rest a part in proportion to the pages that its tasks touch, by largest remainders.\n";
    }
    if !pages(answer).is_empty() {
        text += "Pages: of each partition's tasks as many as make it ask for least time, what loading them costs each window included.\n";
    }
    if let (Some(rule), Some(regulation)) = (planned.budgets, &planned.plan.experiment.isolation.bandwidth) {
        let transfers = regulation.transfers(&planned.plan.experiment.tasks);
        let promised = solo_isolate::capacity::capacity(regulation, &planned.plan.experiment.tasks);
        let sum: u64 = answer.budgets.iter().map(|budget| budget.bytes_per_second).sum();
        text += &format!(
            "Budgets: {}. Memory guarantees {}; a miss moves {transfers} line{}, so that {} can be reserved; chosen: {} MB/s.\n",
            budgets(rule, None),
            promised.rate,
            if transfers == 1 { "" } else { "s at most" },
            promised.countable(),
            sum / 1_000_000,
        );
    }
    text + &windows::decisions(&planned.divisions)
        + &io::decisions(planned)
        + &spare(answer, planned)
        + &conditions(answer)
}

/// What a conditional verdict supposes.
fn conditions(answer: &Answer) -> String {
    let mut text = String::new();
    for condition in &answer.conditions {
        let place = condition.core.map_or(String::new(), |core| format!(" on {core}"));
        let beside = match condition.beside.as_slice() {
            [] => String::from("an SMT sibling may be busy or its jobs may move to cold caches"),
            beside => format!("{} may evict its lines between its accesses", beside.join(", ")),
        };
        text += &format!("Condition: wcet and misses of {}{place} hold although {beside}.\n", condition.task);
    }
    if !answer.conditions.is_empty() {
        text += "Each core has its own part of the last level, and no plan was found in which each task with a deadline that uses memory \
                 has a core of its own: measure with all tasks of the core running, and check with --wcet-holds.\n";
    }
    text
}

/// What best effort got because the proof leaves it.
fn spare(answer: &Answer, planned: &Planned) -> String {
    let Some(spare) = &planned.spare else { return String::new() };
    let changes = spare.before.iter().filter_map(|(core, before)| {
        let now = answer.budgets.iter().find(|budget| budget.core == *core)?.misses;
        (now != before.get()).then(|| format!("{core} from {before} to {now}"))
    });
    let cost = spare.slack.iter().filter(|one| one.before != one.after);
    let cost = cost.map(|one| format!("{} from {} to {}", one.core, percent(one.before), percent(one.after)));
    let cost: Vec<String> = cost.collect();
    let cost = if cost.is_empty() { "nothing".to_owned() } else { cost.join(", ") };
    format!(
        "Best effort has what the proof leaves, from all others in equal parts, then from the core with most slack first: {} misses a \
         period ({} judged). One step more is not proved, or not there. What that costs in slack, of the deadline of each core's \
         tightest task: {cost}.\n",
        changes.collect::<Vec<_>>().join(", "),
        counted(spare.checks, "plan")
    )
}

fn rounds(rounds: &[Round]) -> String {
    if rounds.is_empty() {
        return "\nThe first attempt was good.\n".to_owned();
    }
    let mut text = "\nTried before, and why each failed:\n".to_owned();
    for (at, round) in rounds.iter().enumerate().take(ROUNDS) {
        let budgets =
            round.budgets.map_or(String::new(), |rule| format!("; budgets {}", budgets(rule, round.period)));
        text += &format!(
            "{:3}. cores by {}{budgets}: {}\n",
            at + 1,
            cores(round.cores, round.charged),
            lack(&round.lack)
        );
    }
    if rounds.len() > ROUNDS {
        text += &format!("and {} more\n", rounds.len() - ROUNDS);
    }
    text
}

/// How tasks were given cores.
pub(super) fn cores(rule: CoreRule, charged: bool) -> String {
    let how = match rule {
        CoreRule::Packed(heuristic) => format!("partition = \"{}\"", heuristic.name()),
        CoreRule::Drawn(draw) => format!("worst fit in drawn order {}", draw + 1),
        CoreRule::Each(way) => format!("all ways in turn, number {}", way + 1),
        CoreRule::Apart(heuristic) => format!(
            "a core of its own for each task with a deadline that uses memory, the others by partition = \"{}\"",
            heuristic.name()
        ),
        CoreRule::ByColor => "the scenario's own partition by color".to_owned(),
        CoreRule::Written => "what is written".to_owned(),
    };
    if charged { format!("{how}, misses counted into execution times") } else { how }
}

/// How bandwidth was divided.
pub(super) fn budgets(rule: BudgetRule, period: Option<Duration>) -> String {
    let how = match rule {
        BudgetRule::Even { part } => format!("the same for each core, {part} % of what can be reserved"),
        BudgetRule::ByNeed { part } => {
            format!("in proportion to declared misses over periods, {part} % of what can be reserved")
        }
        BudgetRule::Shifted(times) => {
            format!(
                "by need, then {times} times a quarter moved from the core with most slack to the one with least"
            )
        }
    };
    period.map_or(how.clone(), |period| format!("{how}, renewed every {period}"))
}

/// Parts of a million in percent.
fn percent(millionths: i64) -> String {
    format!("{}.{}%", millionths / 10_000, millionths.unsigned_abs() % 10_000 / 1_000)
}

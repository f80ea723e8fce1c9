//! `[[task]]`: what a task promises and what it is promised, as far as it is said.

use crate::code::Code;
use crate::command;
use crate::diagnostic::clip;
use crate::fields::{At, Fields};
use crate::isolation;
use crate::limits::{at_least, not_too_long};
use crate::tree::Table;
use crate::work::{self, Surroundings};
use solo_model::{CoreId, Duration, Migration, Platform, TaskClass};
use solo_plan::{Curve, MOST_TASKS, Point, ReleaseWish, Said, Steps, TaskWish, Wish};

/// Reads one `[[task]]`; `None` where it can't be told what it is.
pub(crate) fn read(
    around: &mut Surroundings<'_, '_>,
    at: &At<&Table>,
    platform: Option<&Platform>,
) -> Option<TaskWish> {
    let problems = around.problems;
    let mut fields = Fields::new(problems, at.value, at.span.clone(), "this task");
    let name = fields.required_string("name", "name = \"control\"");
    if let Some(name) = &name {
        fields.what = format!("task `{}`", clip(name.value));
    }
    let classes =
        [("hard", TaskClass::Hard), ("soft", TaskClass::Soft), ("best-effort", TaskClass::BestEffort)];
    let class = fields.word("class", &classes).map(|class| class.value);
    if !fields.has("class") {
        fields.missing("class", "class = \"hard\"");
    }
    // Read whatever the class, so that its keys count as known.
    let (offset, release) = release(&fields);
    let deadline = fields.said("deadline", time(&fields, "deadline"));
    let wcet = fields.said("wcet", time(&fields, "wcet"));
    let misses =
        fields.integer("misses", 0, 1 << 48).map(|found| At { value: found.value, span: found.span });
    let misses = fields.said("misses", misses);
    let curve = curve(&fields);
    let priority = fields.integer("priority", 0, u64::from(u32::MAX));
    let priority = priority.map(|found| At { value: found.value as u32, span: found.span });
    let most_core = platform.map_or(63, |platform| (platform.cores.len() as u64).saturating_sub(1));
    let core = core(&fields, most_core, platform);
    let migrate = fields
        .word("migrate", &[("never", None), (Migration::EachPeriod.name(), Some(Migration::EachPeriod))]);
    let copies = fields.integer("copies", 1, MOST_TASKS).map(|copies| copies.value);
    let wishes = isolation::wishes(&fields);
    let work = work_or_command(around, &fields);
    let (priority, core) = (fields.said("priority", priority), fields.said("core", core));
    let migrate = fields.said("migrate", migrate);
    fields.finish();
    let name = name?;
    Some(TaskWish {
        name: At { value: name.value.to_owned(), span: name.span }.wish(),
        at: at.span.clone().into(),
        class: class?,
        release: release?,
        offset,
        deadline,
        wcet,
        misses,
        curve,
        priority,
        core,
        migrate,
        copies,
        work,
        colors: wishes.colors,
        banks: wishes.banks,
        ways: wishes.ways,
        budget: wishes.budget,
        donates: wishes.donates,
    })
}

/// What a job does: steps, or a program of the host's.
fn work_or_command(around: &mut Surroundings<'_, '_>, fields: &Fields<'_>) -> Said<Steps> {
    let steps =
        fields.list("work", "work = [{ compute = \"1ms\" }]").and_then(|list| work::read(around, list));
    let command = command::read(fields);
    let (key, steps) = match (fields.has("work"), fields.has("command")) {
        (true, true) => {
            let headline = format!("{} has both `work` and `command`", fields.what);
            let problem = fields.problems.error(Code::Both, headline, &fields.span_of("command"));
            fields.problems.push(
                problem
                    .label("a program")
                    .also(fields.span_of("work"), "steps")
                    .help("a job is one of the two; variants of a scenario can have one each"),
            );
            return Said::Unreadable;
        }
        (false, true) => ("command", command),
        (true, false) => ("work", steps),
        (false, false) => {
            fields.missing("work", "work = [{ compute = \"1ms\" }]");
            return Said::Unreadable;
        }
    };
    match steps.map(|value| At { value, span: fields.span_of(key) }) {
        Some(steps) => Said::This(steps.wish()),
        None => Said::Unreadable,
    }
}

/// The progressive lockdown curve: what a job takes and misses, by pages locked.
fn curve(fields: &Fields<'_>) -> Option<Wish<Curve>> {
    let example = "curve = [{ pages = 0, wcet = \"9ms\", misses = 4000 }, { pages = 32, wcet = \"5ms\", misses = 900 }]";
    let (problems, errors) = (fields.problems, fields.problems.errors());
    let tables = fields.tables("curve", example);
    if !fields.has("curve") {
        return None;
    }
    let span = fields.span_of("curve");
    if let Some(key) = ["wcet", "misses"].into_iter().find(|key| fields.has(key)) {
        let headline = format!("{} has both `{key}` and `curve`", fields.what);
        let problem =
            problems.error(Code::Both, headline, &fields.span_of(key)).label("one of the two says it");
        problems.push(
            problem
                .also(span.clone(), "the other one")
                .help("a `curve` has both for each number of locked pages"),
        );
    }
    let point = |table: At<&Table>| {
        let point = Fields::new(problems, table.value, table.span, "this point");
        for (key, example) in
            [("pages", "pages = 0"), ("wcet", "wcet = \"9ms\""), ("misses", "misses = 4000")]
        {
            if !point.has(key) {
                point.missing(key, example);
            }
        }
        let pages = point.integer("pages", 0, u64::from(u32::MAX));
        let (alone, reads) = (time(&point, "wcet"), point.integer("misses", 0, 1 << 48));
        point.finish();
        Some(Point { pages: pages?.value, alone: alone?.value, reads: reads?.value, writes: 0 })
    };
    let points: Vec<Point> = tables.into_iter().filter_map(point).collect();
    if problems.errors() > errors {
        return None;
    }
    match Curve::new(&points) {
        Ok(curve) => Some(Wish::new(curve, span)),
        Err(error) => {
            problems.push(fields.problems.error(Code::Curve, format!("{}: {error}", fields.what), &span).label("no lockdown curve").expected(
                "a point with no page locked, and with more pages no longer times and no more misses: measure with `solo measure lockdown`",
            ));
            None
        }
    }
}

/// A time above zero and below the longest.
fn time(fields: &Fields<'_>, key: &'static str) -> Option<At<Duration>> {
    let found = fields.positive::<Duration>(key)?;
    not_too_long(fields.problems, found, key)
}

fn core(fields: &Fields<'_>, most: u64, platform: Option<&Platform>) -> Option<At<CoreId>> {
    let found = fields.integer("core", 0, i64::MAX as u64)?;
    if found.value > most {
        let of =
            platform.map_or(String::new(), |platform| format!(": {} has cores 0 to {most}", platform.name));
        fields.problems.push(
            fields
                .problems
                .error(Code::NoSuchCore, format!("core {} does not exist{of}", found.value), &found.span)
                .label("no such core")
                .expected(format!("0 to {most}")),
        );
        return None;
    }
    Some(At { value: CoreId(found.value as u16), span: found.span })
}

/// When jobs are released: periodic where there is a period, else as `release` says; `Some(None)` where nothing is said, `None`
/// where it can't be told.
fn release(fields: &Fields<'_>) -> (Said<Duration>, Option<Option<ReleaseWish>>) {
    let period = fields.positive::<Duration>("period");
    #[derive(Clone, Copy)]
    enum Word {
        Periodic,
        Sporadic,
        Once,
        Continuous,
    }
    let words = [
        ("periodic", Word::Periodic),
        ("sporadic", Word::Sporadic),
        ("once", Word::Once),
        ("continuous", Word::Continuous),
    ];
    let word = fields.word("release", &words);
    let problems = fields.problems;
    let offset = fields.quantity::<Duration>("offset");
    let offset = fields.said("offset", offset.and_then(|offset| not_too_long(problems, offset, "offset")));
    if matches!(offset, Said::Unreadable)
        || fields.has("release") && word.is_none()
        || fields.has("period") && period.is_none()
    {
        return (offset, None);
    }
    if let (Some(Word::Sporadic), Said::This(_)) = (word.as_ref().map(|word| word.value), &offset) {
        let headline = format!("{} is released by a device, and has an offset", fields.what);
        let problem = problems.error(Code::Both, headline, &fields.span_of("offset")).label("an offset");
        let help = "take `offset` out; that of the device says when it begins";
        problems.push(problem.also(fields.span_of("release"), "released by a device").help(help));
        return (offset, None);
    }
    let release = match (word.as_ref().map(|word| word.value), period) {
        (word @ (None | Some(Word::Periodic | Word::Sporadic)), Some(period)) => {
            let period = not_too_long(problems, period, "period");
            let wish = at_least(problems, period, "period").map(At::wish);
            wish.map(|wish| match word {
                Some(Word::Sporadic) => Some(ReleaseWish::Sporadic(wish)),
                _ => Some(ReleaseWish::Periodic(wish)),
            })
        }
        (Some(Word::Once), None) => Some(Some(ReleaseWish::Once)),
        (Some(Word::Continuous), None) => Some(Some(ReleaseWish::Continuous)),
        (None, None) => Some(None),
        (Some(Word::Periodic | Word::Sporadic), None) => {
            fields.missing("period", "period = \"20ms\"");
            None
        }
        (Some(_), Some(period)) => {
            let headline = format!("{} has a period but is not periodic", fields.what);
            let problem = problems.error(Code::Both, headline, &period.span).label("a period");
            problems.push(
                problem
                    .also(fields.span_of("release"), "released otherwise")
                    .help("take out `release` or `period`"),
            );
            None
        }
    };
    (offset, release)
}

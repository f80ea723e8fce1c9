//! `[[isolation.cycle]]`: the windows in which partitions run.

use crate::code::Code;
use crate::fields::{At, Fields};
use crate::limits::not_too_long;
use crate::tree::Table;
use solo_model::{CoreId, Duration, Platform};
use solo_plan::{CycleWish, WindowWish, Wish};

/// The most windows of all cores.
const MOST_WINDOWS: usize = 10_000;

const CYCLE: &str = "[[isolation.cycle]]";
const WINDOWS: &str = "windows = [{ partition = \"flight\", begin = \"0ms\", length = \"5ms\" }]";

/// Reads all cycles.
pub(super) fn read(isolation: &Fields<'_>, platform: &Platform) -> Vec<CycleWish> {
    let mut left = MOST_WINDOWS;
    let tables = isolation.tables("cycle", "[[isolation.cycle]]\ncore = 0\nlength = \"20ms\"");
    tables.into_iter().filter_map(|table| cycle(isolation, table, platform, &mut left)).collect()
}

fn cycle(
    isolation: &Fields<'_>,
    table: At<&Table>,
    platform: &Platform,
    left: &mut usize,
) -> Option<CycleWish> {
    let problems = isolation.problems;
    let fields = Fields::new(problems, table.value, table.span.clone(), CYCLE);
    for (key, example) in [("core", "core = 0"), ("length", "length = \"20ms\""), ("windows", WINDOWS)] {
        if !fields.has(key) {
            fields.missing(key, example);
        }
    }
    let core = core(&fields, platform);
    let length = fields.positive::<Duration>("length");
    let length = length.and_then(|length| not_too_long(problems, length, "length"));
    let windows = fields.tables("windows", WINDOWS);
    let count = windows.len();
    let too_many = count > *left;
    *left = left.saturating_sub(count);
    if too_many {
        let error = problems.error(Code::TooLarge, "too many windows in all".to_owned(), &table.span);
        problems.push(error.label("one cycle too many").expected(format!("at most {MOST_WINDOWS} windows")));
    }
    let windows = windows.into_iter().filter(|_| !too_many);
    let windows: Vec<_> = windows.map(|table| window(&fields, table)).collect();
    fields.finish();
    Some(CycleWish {
        at: table.span.into(),
        core: core?.wish(),
        length: length?.wish(),
        windows: windows.into_iter().collect::<Option<_>>()?,
    })
}

fn window(cycle: &Fields<'_>, table: At<&Table>) -> Option<WindowWish> {
    let problems = cycle.problems;
    let fields = Fields::new(problems, table.value, table.span.clone(), "a window");
    let partition = fields.required_string("partition", "partition = \"flight\"");
    for (key, example) in [("begin", "begin = \"0ms\""), ("length", "length = \"5ms\"")] {
        if !fields.has(key) {
            fields.missing(key, example);
        }
    }
    let begin = fields.quantity::<Duration>("begin");
    let begin = begin.and_then(|begin| not_too_long(problems, begin, "begin"));
    let length = fields.positive::<Duration>("length");
    let length = length.and_then(|length| not_too_long(problems, length, "length"));
    fields.finish();
    let partition = partition?;
    Some(WindowWish {
        at: table.span.into(),
        partition: Wish::new(partition.value.to_owned(), partition.span),
        begin: begin?.value,
        length: length?.value,
    })
}

/// A core of the platform.
pub(crate) fn core(fields: &Fields<'_>, platform: &Platform) -> Option<At<CoreId>> {
    let found = fields.integer("core", 0, u64::from(u16::MAX))?;
    let cores = platform.cores.len() as u64;
    if found.value >= cores {
        let headline = format!("there is no core {} on {}", found.value, platform.name);
        let error = fields.problems.error(Code::NoSuchCore, headline, &found.span);
        let most = cores.saturating_sub(1);
        fields.problems.push(error.label("no such core").expected(format!("0 to {most}")));
        return None;
    }
    Some(At { value: CoreId(found.value as u16), span: found.span })
}

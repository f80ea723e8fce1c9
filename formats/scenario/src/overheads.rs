//! Overhead files: what kernel paths cost on the simulated machine.

use crate::code::Code;
use crate::diagnostic::{Diagnostics, clip};
use crate::fields::{At, Fields, Problems, integer, quantity};
use crate::kind::{FileKind, or_other};
use crate::source::Source;
use crate::tree::{self, Node, Table, Value};
use solo_model::overhead::Path;
use solo_model::{Bytes, Duration, Overhead, OverheadTable, Platform};

/// The overhead files that come with the program.
pub(crate) const BUILTIN: [(&str, &str); 2] = [
    ("free", include_str!("../../../platforms/overheads/free.toml")),
    ("epos-thesis", include_str!("../../../platforms/overheads/epos-thesis.toml")),
];

/// Reads an overhead table from a text, under the file name that messages show.
///
/// # Errors
/// If the text is not an overhead file.
pub fn parse_overheads(text: &str, name: &str) -> Result<OverheadTable, Diagnostics> {
    read(&Source::new(name, text), None)
}

/// A table as the text of an overhead file that [`parse_overheads`] reads back. `sources` says for each overhead, in
/// the order of [`Overhead::ALL`], where its costs come from; those without costs need none. Where `platform` is named, scenarios
/// on another one refuse the file.
pub fn write_overheads(
    table: &OverheadTable,
    sources: &[String; Overhead::COUNT],
    platform: Option<&str>,
) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut text = format!("name = {}\n", quoted(&table.source));
    if let Some(platform) = platform {
        text.push_str(&format!("platform = {}\n", quoted(platform)));
    }
    if table.without_misses {
        text.push_str("cache-misses = \"on-top\"\n");
    }
    text.push('\n');
    let mut listed = String::from("\n[sources]\n");
    for (((overhead, key), costs), source) in
        Overhead::ALL.into_iter().zip('A'..).zip(&table.steps).zip(sources)
    {
        let step = |(threads, cost): &(u32, Duration)| {
            format!("    {{ threads = {threads}, cost = \"{}ns @{key}\" }},\n", cost.get())
        };
        let by_size = |(size, cost): &(Bytes, Duration)| {
            format!("    {{ working-set = \"{}B\", cost = \"{}ns @{key}\" }},\n", size.get(), cost.get())
        };
        let mut steps: String = costs.iter().map(step).collect();
        if overhead.path() == Path::Affinity {
            steps.extend(table.affinity.iter().map(by_size));
        }
        let steps = if steps.is_empty() { steps } else { format!("\n{steps}") };
        text.push_str(&format!("{} = [{steps}]\n", overhead.name()));
        if !steps.is_empty() {
            listed.push_str(&format!("{key} = {}\n", quoted(source)));
        }
    }
    text + &listed
}

/// The keys of an overhead file.
pub(crate) fn keys() -> [&'static str; Overhead::COUNT] {
    Overhead::ALL.map(|overhead| overhead.name())
}

/// Reads a table for a platform, where that is known.
///
/// # Errors
/// If the text is no overhead file, or one that was measured on another platform.
pub(crate) fn read(source: &Source, platform: Option<&Platform>) -> Result<OverheadTable, Diagnostics> {
    costs(source, platform).map_err(|report| or_other(report, source, &FileKind::Overheads))
}

fn costs(source: &Source, platform: Option<&Platform>) -> Result<OverheadTable, Diagnostics> {
    let tree = tree::read(source)?;
    let problems = Problems::new(source);
    let top = Fields::new(&problems, &tree, 0..0, "the overhead file");
    let name = top.required_string("name", "name = \"my-kernel\"").map(|name| name.value.to_owned());
    of_platform(&top, platform);
    let sources: Vec<String> = match top.table("sources", "[sources]") {
        Some(table) => table.value.entries.iter().map(|entry| entry.key.clone()).collect(),
        None => Vec::new(),
    };
    let misses = top.word("cache-misses", &[("in-costs", false), ("on-top", true)]);
    let mut table = OverheadTable {
        source: name.unwrap_or_default(),
        without_misses: misses.is_some_and(|found| found.value),
        ..OverheadTable::free()
    };
    for (overhead, costs) in Overhead::ALL.into_iter().zip(&mut table.steps) {
        let by_size = overhead.path() == Path::Affinity;
        for item in top.list(overhead.name(), "[{ threads = 0, cost = \"300ns @G\" }]").unwrap_or_default() {
            match step(&problems, item, overhead.name(), by_size, &sources) {
                Some((From::Threads(threads), cost)) => costs.push((threads, cost)),
                Some((From::WorkingSet(size), cost)) => table.affinity.push((size, cost)),
                None => {}
            }
        }
        let disordered = |what: &str| {
            let headline = format!("the steps of `{}` are out of order", overhead.name());
            let error = problems.error(Code::Steps, headline, &top.span_of(overhead.name()));
            problems.push(error.label(format!("{what} must grow from step to step")));
        };
        if !costs.is_sorted_by(|earlier, later| earlier.0 < later.0) {
            disordered("threads");
        }
        if by_size && !table.affinity.is_sorted_by(|earlier, later| earlier.0 < later.0) {
            disordered("working sets");
        }
    }
    top.finish();
    let (errors, _) = problems.finish();
    if errors.is_empty() { Ok(table) } else { Err(Diagnostics::new(errors)) }
}

/// Where the file says on which platform its costs were measured, they hold there only.
fn of_platform(top: &Fields<'_>, platform: Option<&Platform>) {
    let (Some(found), Some(platform)) = (top.string("platform"), platform) else { return };
    if found.value != platform.name {
        let (theirs, ours) = (clip(found.value), clip(&platform.name));
        let headline = format!("kernel paths measured on {theirs}, and the scenario runs on {ours}");
        top.problems.push(top.problems.error(Code::Overheads, headline, &found.span).label("another chip").help(
            "what the kernel takes on one chip says nothing of another: measure it there (`solo measure overheads`), or take \
             `platform` out of the file where its costs are meant to stand for any chip",
        ));
    }
}

/// From where on a cost holds.
enum From {
    /// From so many threads on.
    Threads(u32),
    /// Of jobs that touch up to so much memory.
    WorkingSet(Bytes),
}

/// One `{ threads = 0, cost = "300ns @C" }` or, where that is asked `by_size`, `{ working-set = "4KiB", cost = "3us @C" }`.
fn step(
    problems: &Problems,
    item: &Node,
    key: &str,
    by_size: bool,
    sources: &[String],
) -> Option<(From, Duration)> {
    let Value::Table(table) = &item.value else {
        crate::fields::wrong_type(problems, item, key, "a step", "{ threads = 0, cost = \"300ns @G\" }");
        return None;
    };
    let fields = Fields::new(problems, table, item.span.clone(), format!("a step of {key}"));
    let from = if by_size && fields.has("working-set") {
        fields.positive::<Bytes>("working-set").map(|size| From::WorkingSet(size.value))
    } else {
        match fields.get("threads") {
            Some(entry) => integer(problems, &entry.node, "threads", 0, u64::from(u32::MAX))
                .and_then(|threads| Some(From::Threads(u32::try_from(threads.value).ok()?))),
            None => {
                fields.missing("threads", "threads = 0");
                None
            }
        }
    };
    let cost = cost(&fields, table, sources);
    fields.finish();
    Some((from?, cost?))
}

fn cost(fields: &Fields<'_>, table: &Table, sources: &[String]) -> Option<Duration> {
    let found = fields.required_string("cost", "cost = \"300ns @G\"")?;
    let problems = fields.problems;
    let (value, source) = found.value.rsplit_once('@').unwrap_or((found.value, ""));
    if !sources.iter().any(|known| known == source.trim()) {
        problems.push(
            problems
                .error(Code::Source, "this cost names no source of [sources]", &found.span)
                .label("where does this value come from?")
                .expected("the value, a space and a key of [sources], as in \"300ns @G\""),
        );
    }
    let span = table.get("cost").map_or(fields.span.clone(), |entry| entry.node.span.clone());
    let node = Node { span, value: Value::String(value.trim().to_owned()) };
    let cost: At<Duration> = quantity(problems, &node, "cost")?;
    if cost.value > Duration::from_secs(1) {
        problems.push(
            problems
                .error(Code::TooLarge, "a kernel path of more than a second", &cost.span)
                .label("too long")
                .expected("at most 1s"),
        );
        return None;
    }
    Some(cost.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut table = OverheadTable { source: "p-edf \"here\"".to_owned(), ..OverheadTable::free() };
        table.steps[0] = vec![(0, Duration::new(14)), (25, Duration::new(24))];
        table.steps[4] = vec![(0, Duration::new(300))];
        table.affinity = vec![(Bytes::new(100), Duration::new(3)), (Bytes::from_kib(64), Duration::new(900))];
        table.without_misses = true;
        let sources = [(); Overhead::COUNT].map(|()| "measured, p99 of 700 \\ samples".to_owned());
        for platform in [None, Some("xeon-w3530"), Some("a \"chip\"")] {
            let text = write_overheads(&table, &sources, platform);
            assert_eq!(parse_overheads(&text, "written.toml").unwrap(), table, "{text}");
            let written: toml::Table = text.parse().unwrap();
            assert_eq!(written.get("platform").and_then(toml::Value::as_str), platform, "{text}");
        }
    }
}

//! Model files: what estimates the speedup of a task from counters (docs/models.md).

use crate::code::Code;
use crate::diagnostic::{Diagnostics, clip};
use crate::fields::{At, Fields, Problems, integer, string, word};
use crate::kind::{FileKind, or_other};
use crate::source::Source;
use crate::tree::{self, Node as Place, Table, Value};
use solo_model::estimate::{Factor, Model, Node, Side, Tree};
use solo_model::{EventSet, Fixed, KindId, Platform};
use solo_observe::expr::Expression;
use std::ops::Range;

/// The version of the format that is read here.
const VERSION: u64 = 1;
/// What only model files have at their top.
pub(crate) const KEYS: [&str; 4] = ["model", "side", "trained", "version"];
/// The most of anything in a list.
const MOST: usize = 10_000;

/// Reads a model of a platform.
///
/// # Errors
/// If the text is no model file, or one of another platform or version.
pub(crate) fn read(source: &Source, platform: &Platform) -> Result<Model, Diagnostics> {
    model(source, platform).map_err(|report| or_other(report, source, &FileKind::Model))
}

fn model(source: &Source, platform: &Platform) -> Result<Model, Diagnostics> {
    let tree = tree::read(source)?;
    let problems = Problems::new(source);
    let read = whole(&problems, &tree, platform);
    let (errors, _) = problems.finish();
    match read {
        Some(model) if errors.is_empty() => Ok(model),
        _ => Err(Diagnostics::new(errors)),
    }
}

fn whole(problems: &Problems, tree: &Table, platform: &Platform) -> Option<Model> {
    let top = Fields::new(problems, tree, 0..0, "the model");
    let named = top.required_string("model", "model = \"speedup-factor\"");
    let factors = Factor::ALL.map(|factor| (factor.name(), factor));
    let factor = named.and_then(|named| word(problems, &named, "model", &factors));
    let version = version(&top);
    let of = of_platform(&top, platform);
    let _ = top.string("trained");
    let tables = top.tables("side", "[[side]]");
    if !top.has("side") {
        top.missing("side", "[[side]]");
    }
    let mut sides: Vec<Side> = Vec::new();
    for at in &tables {
        // What is of another platform is not looked at.
        let Some(side) = of.and_then(|()| side(problems, at, platform)) else { continue };
        if sides.iter().any(|known| known.kind == side.kind) {
            let headline = "two sides of the same kind of core".to_owned();
            problems.push(problems.error(Code::Model, headline, &at.span).label("the second"));
        }
        sides.push(side);
    }
    top.finish();
    let (factor, ()) = (factor?.value, version?);
    (!sides.is_empty()).then_some(Model { factor, sides })
}

fn version(top: &Fields<'_>) -> Option<()> {
    if !top.has("version") {
        top.missing("version", "version = 1");
    }
    let found = integer(top.problems, &top.get("version")?.node, "version", 0, u64::from(u32::MAX))?;
    if found.value == VERSION {
        return Some(());
    }
    top.problems.push(
        top.problems
            .error(Code::Model, format!("a model file of version {}", found.value), &found.span)
            .label("not read by this program")
            .expected(format!("version = {VERSION}")),
    );
    None
}

fn of_platform(top: &Fields<'_>, platform: &Platform) -> Option<()> {
    let found = top.required_string("platform", "platform = \"quickia\"")?;
    if found.value == platform.name {
        return Some(());
    }
    top.problems.push(
        top.problems
            .error(
                Code::Model,
                format!(
                    "a model of {}, and the scenario runs on {}",
                    clip(found.value),
                    clip(&platform.name)
                ),
                &found.span,
            )
            .label("another chip")
            .help("counters of one chip say nothing of another: train a model for it (docs/models.md)"),
    );
    None
}

fn side(problems: &Problems, at: &At<&Table>, platform: &Platform) -> Option<Side> {
    let fields = Fields::new(problems, at.value, at.span.clone(), "this side");
    let kinds: Vec<(&str, u8)> =
        platform.kinds.iter().map(|kind| kind.name.as_str()).zip(0..=u8::MAX).collect();
    let kind = fields
        .required_string("kind", "kind = \"a57\"")
        .and_then(|named| word(problems, &named, "kind", &kinds));
    let sets = sets(&fields, platform);
    let metrics = metrics(&fields, platform);
    let base = match fields.required_string("base", "base = \"2.5\"") {
        Some(found) => number(problems, found.value, &found.span),
        None => None,
    };
    if !fields.has("trees") {
        fields.missing("trees", "trees = []");
    }
    let list = fields.list("trees", "trees = [[\"m0 <= 0.8 ? 1 : 2\", \"-0.1\", \"0.3\"]]");
    let known = metrics.as_ref().map_or(0, Vec::len);
    let trees = list.map(|list| list.iter().take(MOST).map(|node| tree_of(problems, node, known)).collect());
    fields.finish();
    let trees: Option<Vec<Tree>> = trees?;
    Some(Side { kind: KindId(kind?.value), sets: sets?, metrics: metrics?, base: base?, trees: trees? })
}

fn sets(fields: &Fields<'_>, platform: &Platform) -> Option<Vec<EventSet>> {
    let problems = fields.problems;
    if !fields.has("sets") {
        fields.missing("sets", "sets = [[\"instructions\", \"cycles\"]]");
    }
    let mut sets = Vec::new();
    for node in fields.list("sets", "sets = [[\"instructions\", \"cycles\"]]")?.iter().take(64) {
        let Value::Array(names) = &node.value else {
            crate::fields::wrong_type(
                problems,
                node,
                "sets",
                "a list of events",
                "sets = [[\"instructions\", \"cycles\"]]",
            );
            return None;
        };
        let mut set = EventSet::EMPTY;
        for name in names {
            let found = string(problems, name, "sets")?;
            let Some(event) = platform.events.find(found.value) else {
                let headline = format!("{} counts no event `{}`", platform.name, clip(found.value));
                let error = problems.error(Code::Model, headline, &found.span).label("no event of this name");
                problems.push(error.help("`solo events` lists those that every machine knows"));
                return None;
            };
            set.insert(event);
        }
        sets.push(set);
    }
    Some(sets)
}

fn metrics(fields: &Fields<'_>, platform: &Platform) -> Option<Vec<String>> {
    let problems = fields.problems;
    if !fields.has("metrics") {
        fields.missing("metrics", "metrics = [\"instructions / cycles\"]");
    }
    let mut metrics = Vec::new();
    for node in fields.list("metrics", "metrics = [\"instructions / cycles\"]")?.iter().take(MOST) {
        let found = string(problems, node, "metrics")?;
        let complain = |headline: String| {
            problems.push(problems.error(Code::Model, headline, &found.span).label("no metric").expected(
                "an expression over events of the platform, for example \"1000 * llc_misses / instructions\"",
            ));
        };
        match Expression::parse(found.value) {
            Err(error) => {
                complain(error.to_string());
                return None;
            }
            Ok(expression) => {
                let unknown = |name: &&str| *name != "seconds" && platform.events.find(name).is_none();
                if let Some(name) = expression.columns().into_iter().find(unknown) {
                    complain(format!("there is no event `{}`", clip(name)));
                    return None;
                }
            }
        }
        metrics.push(found.value.to_owned());
    }
    Some(metrics)
}

/// A number with a sign where it is below zero.
fn number(problems: &Problems, text: &str, span: &Range<usize>) -> Option<Fixed> {
    let (negative, digits) = match text.trim().strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.trim()),
    };
    let found = Fixed::parse(digits).and_then(|found| if negative { found.negative() } else { Some(found) });
    if found.is_none() {
        let headline = format!("\"{}\" is no number", clip(text));
        problems.push(
            problems
                .error(Code::Model, headline, span)
                .label("not in decimal")
                .expected("at most 12 digits behind the point, for example \"-0.125\""),
        );
    }
    found
}

fn tree_of(problems: &Problems, node: &Place, metrics: usize) -> Option<Tree> {
    let Value::Array(items) = &node.value else {
        crate::fields::wrong_type(
            problems,
            node,
            "trees",
            "a list of nodes",
            "[\"m0 <= 0.8 ? 1 : 2\", \"-0.1\", \"0.3\"]",
        );
        return None;
    };
    let mut nodes = Vec::new();
    for item in items.iter().take(MOST) {
        let text = string(problems, item, "trees")?;
        nodes.push(match split(text.value) {
            Some((metric, at_most, low, high)) => {
                Node::Split { metric, at_most: number(problems, at_most, &text.span)?, low, high }
            }
            None => Node::Leaf(number(problems, text.value, &text.span)?),
        });
    }
    let tree = Tree::new(nodes, metrics);
    if tree.is_none() {
        problems.push(
            problems
                .error(Code::Model, "a tree that does not lead to a leaf", &node.span)
                .label("a node or a metric is missing, or a node leads back")
                .expected(format!(
                    "nodes that lead further down the list, over metrics m0 to m{}",
                    metrics.saturating_sub(1)
                )),
        );
    }
    tree
}

/// `mK <= X ? A : B` taken apart.
fn split(text: &str) -> Option<(u16, &str, u16, u16)> {
    let (test, leads) = text.split_once('?')?;
    let (metric, at_most) = test.split_once("<=")?;
    let (low, high) = leads.split_once(':')?;
    let metric = metric.trim().strip_prefix('m')?.parse().ok()?;
    Some((metric, at_most.trim(), low.trim().parse().ok()?, high.trim().parse().ok()?))
}

//! `[isolation.*]` and the keys of a task that belong to it: budgets, colors, banks, ways, locked pages, as far as they are said.

mod bandwidth;
mod lockdown;
mod memory;
mod windows;

pub(crate) use windows::core;

use crate::fields::{Fields, Problems, wrong_type};
use crate::tree::{Entry, Node, Table, Value};
use bandwidth::budget;
use memory::{mask, numbers};
use solo_model::Platform;
use solo_model::isolation::{Budget, Donation};
use solo_plan::{IsolationWish, Mechanisms, Named, Wish};

/// What a task's own keys ask for; every task of a pattern with copies asks for the same.
pub(crate) struct Wishes {
    pub(crate) colors: Option<Wish<Vec<u16>>>,
    pub(crate) banks: Option<Wish<Vec<u16>>>,
    pub(crate) ways: Option<Wish<u64>>,
    pub(crate) budget: Option<Wish<Budget>>,
    pub(crate) donates: Option<Wish<Donation>>,
}

/// Reads the keys of a task that belong to isolation.
pub(crate) fn wishes(fields: &Fields<'_>) -> Wishes {
    let problems = fields.problems;
    let list = |key| fields.get(key).and_then(|entry| numbers(problems, &entry.node, key));
    let donations = [
        ("nothing", Donation::Nothing),
        ("surplus", Donation::Surplus),
        ("everything", Donation::Everything),
    ];
    let budget = fields.get("budget").and_then(|entry| budget(problems, &entry.node, "budget"));
    Wishes {
        colors: list("colors").map(|list| list.wish()),
        banks: list("banks").map(|list| list.wish()),
        ways: list("ways").and_then(|ways| mask(problems, ways)).map(|mask| mask.wish()),
        budget: budget.map(|budget| budget.wish()),
        donates: fields.word("donates", &donations).map(|donates| donates.wish()),
    }
}

/// Reads `isolation`. Cores and events are those of `platform`, so that nothing can be read without one.
pub(crate) fn read(problems: &Problems, entry: Option<&Entry>, platform: Option<&Platform>) -> IsolationWish {
    let empty = Table::default();
    let Some(platform) = platform else { return IsolationWish::Off };
    let (table, span) = match entry.map(|entry| &entry.node) {
        None => (&empty, 0..0),
        Some(Node { value: Value::Table(table), span }) => (table, span.clone()),
        Some(Node { value: Value::String(text), .. }) if text == "off" => return IsolationWish::Off,
        Some(node) => {
            wrong_type(problems, node, "isolation", "tables or \"off\"", "[isolation.bandwidth]");
            return IsolationWish::Off;
        }
    };
    let at = span.clone().into();
    let fields = Fields::new(problems, table, span, "[isolation]");
    let mechanisms = Mechanisms {
        at,
        bandwidth: bandwidth::read(problems, &fields, platform),
        coloring: memory::read(problems, &fields),
        ways: memory::ways(problems, &fields),
        partitions: lockdown::partitions(problems, &fields),
        lockdown: lockdown::read(problems, &fields),
        cycles: windows::read(&fields, platform),
    };
    fields.finish();
    IsolationWish::By(Box::new(mechanisms))
}

/// Something for the tasks that a key names.
fn named<T>(entry: &Entry, wish: Wish<T>) -> Named<T> {
    Named { name: Wish::new(entry.key.clone(), entry.key_span.clone()), wish }
}

//! `[isolation.*]` and the keys of a task that belong to it: budgets, colors, banks, ways, locked pages.

mod bandwidth;
mod lockdown;
mod memory;

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, wrong_type};
use crate::nearest::nearest;
use crate::tree::{Entry, Node, Table, Value};
use bandwidth::budget;
use memory::{mask, numbers};
use solo_isolate::admission::Refusal;
use solo_isolate::diagnose::{self, Advice};
use solo_model::isolation::{Budget, Donation, Isolation};
use solo_model::work::Buffer;
use solo_model::{Bandwidth, Bytes, Events, Explain, Platform, Task};
use std::ops::Range;

/// What a task's own keys ask for; every task of a pattern with copies asks for the same.
#[derive(Clone, Default, Debug)]
pub(crate) struct Wishes {
    colors: Option<At<Vec<u16>>>,
    banks: Option<At<Vec<u16>>>,
    ways: Option<At<u64>>,
    budget: Option<At<Budget>>,
    donates: Option<At<Donation>>,
}

/// A pattern of tasks: its name, its tasks, and what their own keys ask for.
pub(crate) struct Owner {
    pub(crate) name: String,
    pub(crate) tasks: Range<u32>,
    pub(crate) wishes: Wishes,
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
    Wishes {
        colors: list("colors"),
        banks: list("banks"),
        ways: list("ways").and_then(|ways| mask(problems, ways)),
        budget: fields.get("budget").and_then(|entry| budget(problems, &entry.node, "budget")),
        donates: fields.word("donates", &donations),
    }
}

/// Reads `isolation`; everything off where it says so or is absent.
pub(crate) fn read(
    problems: &Problems,
    entry: Option<&Entry>,
    owners: &[Owner],
    tasks: &[Task],
    buffers: &[Buffer],
    platform: &Platform,
    recorded: &[Vec<Events>],
) -> Isolation {
    let empty = Table::default();
    let (table, span) = match entry.map(|entry| &entry.node) {
        None => (&empty, 0..0),
        Some(Node { value: Value::Table(table), span }) => (table, span.clone()),
        Some(Node { value: Value::String(text), .. }) if text == "off" => return Isolation::default(),
        Some(node) => {
            wrong_type(problems, node, "isolation", "tables or \"off\"", "[isolation.bandwidth]");
            return Isolation::default();
        }
    };
    let fields = Fields::new(problems, table, span, "[isolation]");
    let reader = Reader { problems, owners, tasks, platform, recorded };
    let bandwidth = reader.bandwidth(&fields);
    let memory = reader.memory(&fields, buffers);
    let ways = reader.ways(&fields);
    let lockdown = reader.lockdown(&fields, buffers, memory.as_ref());
    fields.finish();
    Isolation { bandwidth, memory, ways, lockdown }
}

struct Reader<'r> {
    problems: &'r Problems,
    owners: &'r [Owner],
    tasks: &'r [Task],
    platform: &'r Platform,
    /// How often each page of each recorded program is accessed.
    recorded: &'r [Vec<Events>],
}

impl Reader<'_> {
    fn line(&self) -> Bytes {
        self.platform.line()
    }

    fn warn(&self, warning: Option<diagnose::Warning>, span: &Range<usize>) {
        let Some(warning) = warning else { return };
        let Advice { headline, remedy } = warning.advice(&self.tasks);
        let mut problem = self.problems.error(Code::Ineffective, headline, span).label("here");
        if let Some(remedy) = remedy {
            problem = problem.help(remedy);
        }
        self.problems.push(problem.into_warning());
    }

    /// The tasks of a name: one task, or all copies of a pattern.
    fn tasks_named(&self, entry: &Entry) -> Option<Range<u32>> {
        self.tasks_called(&entry.key, &entry.key_span)
    }

    fn tasks_called(&self, name: &str, span: &Range<usize>) -> Option<Range<u32>> {
        let exact = self.tasks.iter().position(|task| task.name == name);
        let exact = exact.map(|at| at as u32..at as u32 + 1);
        let pattern = || self.owners.iter().find(|owner| owner.name == name);
        let found = exact.or_else(|| pattern().map(|owner| owner.tasks.clone()));
        // A variant may leave tasks out that the scenario gives colors.
        if found.is_none() && self.problems.variant.borrow().is_none() {
            let names: Vec<&str> = self.owners.iter().map(|owner| owner.name.as_str()).collect();
            let label = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => String::from("no task of this name"),
            };
            let headline = format!("there is no task `{}` to isolate", clip(name));
            self.problems.push(self.problems.error(Code::UnknownName, headline, span).label(label));
        }
        found
    }

    fn refuse(&self, refusal: &Refusal, span: &Range<usize>) {
        let text = refusal.with(&self.tasks).to_string();
        let problem = self.problems.error(Code::Isolation, text, span);
        let problem = match refusal {
            Refusal::Overbooked { guaranteed, transfers, .. } => {
                let (countable, count) =
                    (Bandwidth::new(guaranteed.get() / (*transfers).max(1)), *transfers > 1);
                let count = if count {
                    "count what is written back by itself with `counts = \"reads-and-writes\"`, "
                } else {
                    ""
                };
                problem.label("more than memory guarantees whatever the addresses").help(format!(
                    "lower the budgets to {countable} together, {count}state what was measured as \
                     `guaranteed = \"...\"`, or give the guarantee up with `best-effort = \"yes\"`"
                ))
            }
            Refusal::NeverHappens { .. } => problem
                .label("nothing would ever be counted")
                .help("leave `counts` out for misses of the last level, or count `dram_reads`"),
            Refusal::SharedColor { .. } => problem.label("both evict each other's lines").help(
                "give each colors of its own, or say `shared = \"yes\"` in [isolation.memory] if it is meant",
            ),
            Refusal::KernelColor { .. } => problem.label("leave it out, or give the kernel another"),
            _ => problem.label("this can't be had"),
        };
        self.problems.push(problem);
    }
}

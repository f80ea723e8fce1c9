//! Virtual counters of regions: monitoring modules, read where a region begins and where it ends.

use solo_model::{Duration, Instant};
use solo_perf::files::Host;
use solo_watch::Modules;
use solo_watch::modules::entries;
use solo_watch::row::Subject;
use std::collections::BTreeMap;

/// The virtual counters of one thread's regions.
#[derive(Default)]
pub(crate) struct Virtuals {
    /// The names of the modules, as they were asked for.
    asked: String,
    modules: Modules,
    columns: Vec<String>,
    levels: Vec<bool>,
    /// By region, what came together in all passes, and how things were at the end of the last.
    totals: BTreeMap<String, Vec<Option<i64>>>,
    begin: u64,
}

/// A region that is open, by how many are open around it.
fn subject(depth: usize) -> Subject {
    Subject::Tree { process: u32::try_from(depth).unwrap_or(u32::MAX) }
}

impl Virtuals {
    /// Those of these modules, names with commas between them.
    pub(crate) fn of(asked: &str) -> Result<Self, String> {
        let host = Host::new();
        let mut modules = Modules::none();
        for name in asked.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let known = || entries().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
            let entry = entries().find(|entry| entry.name == name);
            let entry = entry
                .ok_or_else(|| format!("there is no monitoring module `{name}`; there are {}", known()))?;
            let module = (entry.find)(&host);
            modules.add(
                module.ok_or_else(|| format!("module `{name}`: this machine has no {}", entry.meaning))?,
            );
        }
        let (columns, levels) = (modules.columns(), modules.levels());
        let begin = solo_perf::now();
        Ok(Self { asked: asked.to_owned(), modules, columns, levels, totals: BTreeMap::new(), begin })
    }

    /// The same for another thread.
    pub(crate) fn again(&self) -> Result<Self, String> {
        Self::of(&self.asked)
    }

    fn read(&mut self) {
        let now = Instant::new(solo_perf::now().saturating_sub(self.begin));
        self.modules.sample(now, &Host::new(), &|_| None);
    }

    /// A region begins around which so many are open.
    pub(crate) fn start(&mut self, depth: usize) {
        if !self.modules.is_empty() {
            self.read();
            self.modules.begin(subject(depth), &Host::new());
        }
    }

    /// That region ends under a name.
    pub(crate) fn stop(&mut self, depth: usize, name: &str) {
        if self.modules.is_empty() {
            return;
        }
        self.read();
        let values = self.modules.row(subject(depth), Duration::ZERO, true, &Host::new(), &|_| None);
        self.modules.end(subject(depth));
        let total = self.totals.entry(name.to_owned()).or_insert_with(|| vec![None; values.len()]);
        for ((total, value), level) in total.iter_mut().zip(values).zip(&self.levels) {
            *total = match (*total, value) {
                (Some(sum), Some(more)) if !level => Some(sum.wrapping_add(more)),
                (sum, value) => value.or(sum),
            };
        }
    }

    /// What a counter came to in a region.
    pub(crate) fn value(&self, name: &str, counter: &str) -> Option<i64> {
        let column = self.columns.iter().position(|column| column == counter)?;
        self.totals.get(name)?.get(column).copied().flatten()
    }

    /// A line for each region that has any.
    pub(crate) fn table(&self) -> String {
        let line = |(name, values): (&String, &Vec<Option<i64>>)| {
            let value = |(column, value): (&String, &Option<i64>)| {
                format!(" {column}={}", value.map_or_else(|| "-".to_owned(), |value| value.to_string()))
            };
            let values: String = self.columns.iter().zip(values).map(value).collect();
            format!("virtual in {name}:{values}\n")
        };
        self.totals.iter().map(line).collect()
    }
}

//! Monitoring modules at work: their inputs are read, their values collected, and shared out among rows.

use solo_model::{Duration, Instant};
use solo_observe::module::{Kind, Reading};
use solo_observe::{Input, MonitoringModule, Subject};
use solo_perf::files::Files;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Makes a module once more, for another subject.
pub type Maker = Rc<dyn Fn(&dyn Files) -> Option<Box<dyn MonitoringModule>>>;

/// A virtual counter as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Known {
    kind: Kind,
    /// What came together since the beginning.
    total: i64,
    /// What it is now; nothing where that could not be read.
    level: Option<i64>,
    /// How often it could not be read.
    gaps: u64,
}

/// What a subject has of the machine's virtual counters: how far it has been told of them.
#[derive(Default)]
struct Share {
    told: Vec<(i64, u64)>,
    /// Modules of its own, for those that look at counts.
    own: BTreeMap<usize, Box<dyn MonitoringModule>>,
}

/// Any number of monitoring modules, sampled together.
#[derive(Default)]
pub struct Modules {
    modules: Vec<Box<dyn MonitoringModule>>,
    /// By module, how another one is made.
    makers: Vec<Option<Maker>>,
    last: Option<Instant>,
    known: Vec<Known>,
    shares: BTreeMap<Subject, Share>,
}

impl Modules {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// One more.
    pub fn add(&mut self, module: Box<dyn MonitoringModule>) {
        self.add_made(module, None);
    }

    /// One more, of which subjects have their own where it looks at what was counted of them.
    pub fn add_made(&mut self, module: Box<dyn MonitoringModule>, maker: Option<Maker>) {
        let counts = module.inputs().iter().all(|input| matches!(input, Input::Count(_)));
        for counter in module.counters() {
            self.known.push(Known { kind: counter.kind, total: 0, level: None, gaps: 0 });
        }
        self.makers.push(maker.filter(|_| counts));
        self.modules.push(module);
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// The names of all virtual counters, in the order of their values.
    pub fn columns(&self) -> Vec<String> {
        let counters = self.modules.iter().flat_map(|module| module.counters());
        counters.map(|counter| counter.name.clone()).collect()
    }

    /// Of each virtual counter, whether it tells how things are, and not what came together.
    pub fn levels(&self) -> Vec<bool> {
        self.known.iter().map(|known| known.kind == Kind::Level).collect()
    }

    /// Reads all inputs and gives one value for each virtual counter. `count` tells what an event has counted
    /// since the last call.
    pub fn sample(
        &mut self,
        at: Instant,
        files: &dyn Files,
        count: &dyn Fn(&str) -> Option<u64>,
    ) -> Vec<Option<i64>> {
        let first = self.last.is_none();
        let span = self.last.replace(at).map_or(Duration::ZERO, |last| at.since(last));
        let mut values = Vec::new();
        for module in &mut self.modules {
            let readings: Vec<Reading> =
                module.inputs().iter().map(|input| read(input, files, count)).collect();
            let before = values.len();
            module.sample(span, &readings, &mut values);
            // A module that miscounts must not shift the columns of the next.
            values.resize(before + module.counters().len(), None);
        }
        for (known, value) in self.known.iter_mut().zip(&values) {
            known.level = *value;
            match value {
                Some(grown) if known.kind == Kind::Sum => known.total = known.total.wrapping_add(*grown),
                // At first there is nothing that a sum could have grown since.
                None if known.kind == Kind::Sum && !first => known.gaps += 1,
                _ => {}
            }
        }
        values
    }

    /// A subject is observed from now on.
    pub fn begin(&mut self, subject: Subject, files: &dyn Files) {
        if self.is_empty() {
            return;
        }
        let told = self.known.iter().map(|known| (known.total, known.gaps)).collect();
        let own =
            self.makers.iter().enumerate().filter_map(|(at, maker)| Some((at, maker.as_ref()?(files)?)));
        self.shares.insert(subject, Share { told, own: own.collect() });
    }

    /// A subject is observed no more.
    pub fn end(&mut self, subject: Subject) {
        self.shares.remove(&subject);
    }

    /// A subject goes on under another name.
    pub fn rename(&mut self, from: Subject, to: Subject) {
        if let Some(share) = self.shares.remove(&from) {
            self.shares.insert(to, share);
        }
    }

    /// What stands in a subject's row beside its counts, as of the last [`sample`](Self::sample): what came together since its last row,
    /// how things are, and what modules of its own make of its counts. `last` is false for a row after which more follow without
    /// another sample: what came together is not known of it alone.
    pub fn row(
        &mut self,
        subject: Subject,
        span: Duration,
        last: bool,
        files: &dyn Files,
        count: &dyn Fn(&str) -> Option<u64>,
    ) -> Vec<Option<i64>> {
        let Some(share) = self.shares.get_mut(&subject) else { return vec![None; self.known.len()] };
        let mut values = Vec::with_capacity(self.known.len());
        for (at, module) in self.modules.iter().enumerate() {
            let first = values.len();
            let own_module = share.own.get_mut(&at);
            if let Some(own) = own_module {
                let readings: Vec<Reading> =
                    own.inputs().iter().map(|input| read(input, files, count)).collect();
                own.sample(span, &readings, &mut values);
            } else {
                let known = self.known.iter().zip(&mut share.told).skip(first);
                values
                    .extend(known.take(module.counters().len()).map(|(known, told)| known.since(told, last)));
            }
            values.resize(first + module.counters().len(), None);
        }
        values
    }
}

impl Known {
    /// What has come together since a row was told, which is told now; or how it is.
    fn since(&self, told: &mut (i64, u64), last: bool) -> Option<i64> {
        match self.kind {
            Kind::Level => self.level,
            Kind::Sum if !last => None,
            Kind::Sum => {
                let (total, gaps) = std::mem::replace(told, (self.total, self.gaps));
                (gaps == self.gaps).then(|| self.total.wrapping_sub(total))
            }
        }
    }
}

fn read(input: &Input, files: &dyn Files, count: &dyn Fn(&str) -> Option<u64>) -> Reading {
    match input {
        Input::File(path) => files.read(path).map_or(Reading::Absent, Reading::Text),
        Input::Count(event) => count(event).map_or(Reading::Absent, Reading::Count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::described;
    use solo_perf::Fake;

    const A: Subject = Subject::Thread { process: 1, thread: 1 };
    const B: Subject = Subject::Thread { process: 1, thread: 2 };

    fn machine() -> (Modules, Fake) {
        let text = "name = \"meter\"\n[[counter]]\nname = \"energy_uj\"\nfile = \"/meter/energy\"\nkind = \"sum\"\n\
                    [[counter]]\nname = \"heat_mdeg\"\nfile = \"/meter/heat\"\nkind = \"level\"\n";
        let mut modules = Modules::none();
        modules.add(described::parse(text).unwrap());
        (modules, Fake::new().with("/meter/energy", "100").with("/meter/heat", "40000"))
    }

    fn row(modules: &mut Modules, files: &Fake, subject: Subject, last: bool) -> [Option<i64>; 2] {
        modules.row(subject, Duration::from_millis(1), last, files, &|_| None).try_into().unwrap()
    }

    /// By hand: rows of two threads at different times add up to what the meter has grown, each.
    #[test]
    fn each_row_has_what_came_together_since_the_rows_before_it() {
        let (mut modules, mut files) = machine();
        let ms = |ms: u64| Instant::new(ms * 1_000_000);
        modules.sample(ms(0), &files, &|_| None);
        modules.begin(A, &files);
        files.set("/meter/energy", Some("130"));
        modules.sample(ms(1), &files, &|_| None);
        assert_eq!(row(&mut modules, &files, A, true), [Some(30), Some(40000)]);
        modules.begin(B, &files);
        files.set("/meter/energy", Some("150"));
        files.set("/meter/heat", Some("41000"));
        modules.sample(ms(2), &files, &|_| None);
        assert_eq!(row(&mut modules, &files, B, true), [Some(20), Some(41000)]);
        files.set("/meter/energy", Some("157"));
        modules.sample(ms(3), &files, &|_| None);
        assert_eq!(row(&mut modules, &files, A, true), [Some(27), Some(41000)], "two periods in one row");
        assert_eq!(row(&mut modules, &files, B, true), [Some(7), Some(41000)]);
        assert_eq!(row(&mut modules, &files, B, true), [Some(0), Some(41000)], "nothing since");
        // Three samples that were left together: what came together is not known of each.
        files.set("/meter/energy", Some("160"));
        modules.sample(ms(4), &files, &|_| None);
        assert_eq!(row(&mut modules, &files, A, false), [None, Some(41000)]);
        assert_eq!(row(&mut modules, &files, A, true), [Some(3), Some(41000)]);
        // A meter that could not be read: absent is not zero.
        files.set("/meter/energy", None);
        modules.sample(ms(5), &files, &|_| None);
        files.set("/meter/energy", Some("170"));
        modules.sample(ms(6), &files, &|_| None);
        assert_eq!(row(&mut modules, &files, A, true)[0], None);
        files.set("/meter/energy", Some("171"));
        modules.sample(ms(7), &files, &|_| None);
        assert_eq!(row(&mut modules, &files, A, true)[0], Some(1));
        modules.rename(A, Subject::Thread { process: 9, thread: 9 });
        modules.end(B);
        assert_eq!(row(&mut modules, &files, A, true), [None, None]);
        assert_eq!(row(&mut modules, &files, B, true), [None, None]);
    }

    #[test]
    fn what_looks_at_counts_looks_at_those_of_its_row() {
        let mut modules = Modules::none();
        let entry = crate::modules::entries().find(|entry| entry.name == "ipc").unwrap();
        let files = Fake::new();
        modules.add_made((entry.find)(&files).unwrap(), Some(Rc::new(entry.find)));
        modules.begin(A, &files);
        modules.begin(B, &files);
        let ipc = |modules: &mut Modules, subject, instructions| {
            let count = |name: &str| match name {
                "instructions" => Some(instructions),
                "cycles" => Some(1000),
                _ => None,
            };
            modules.row(subject, Duration::from_millis(1), true, &files, &count)
        };
        assert_eq!(ipc(&mut modules, A, 1500), [Some(1500)]);
        assert_eq!(ipc(&mut modules, B, 300), [Some(300)]);
    }
}

//! How far limits are kept, by what the kernel has counted of their groups.

use super::error::LimitDoubt;
use super::plan::{Limit, Plan};
use super::resctrl::{Counted, Resctrl};
use crate::cache;
use solo_model::{Bandwidth, Bytes, Duration};
use solo_store::Dir;
use std::collections::BTreeSet;

/// What a second has of nanoseconds.
const SECOND: Duration = Duration::from_millis(1000);
/// The shortest time at the end of which a rate is made.
const SHORTEST: Duration = Duration::from_millis(100);
/// What the kernel compares where nothing differs from what is read here.
const TOTAL: &str = "mbm_total_bytes";

/// Limits that are set. As long as it is there, other guards are told that these CPUs are taken.
#[derive(Debug)]
pub struct Watch<'p> {
    resctrl: &'p Resctrl,
    rows: Vec<Row>,
    doubts: Vec<LimitDoubt>,
    looked: Duration,
    /// Locks that say whose CPUs these are.
    _claims: Vec<Dir>,
}

/// What became of a limit.
#[derive(Debug)]
struct Row {
    limit: Limit,
    /// What its group said when it was set.
    said: String,
    /// When something was counted last, and how much: nothing where that is not known.
    before: Option<(Duration, u64)>,
    /// Nothing counts it.
    is_uncounted: bool,
    readings: u64,
    unknown: u64,
    last_words: String,
    backwards: u64,
    intervals: u64,
    above: u64,
    bytes: u64,
    span: Duration,
    /// The rate of the interval that ended last: nothing where that is not known.
    last: Option<Bandwidth>,
    most: Bandwidth,
    changed: Option<LimitDoubt>,
}

/// What became of a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitTally {
    /// The limit.
    pub limit: Limit,
    /// It was set as asked, and stayed so as far as was looked.
    pub stood: bool,
    /// Intervals whose rate is known.
    pub intervals: u64,
    /// Readings that were no numbers.
    pub unknown: u64,
    /// How often the counter went backwards.
    pub backwards: u64,
    /// The mean rate of all of them.
    pub mean: Option<Bandwidth>,
    /// The highest one.
    pub most: Option<Bandwidth>,
    /// Those above the limit.
    pub above: u64,
}

/// How far a limit has come, for those who watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitProgress {
    /// The limit; nothing once the group or its CPU is not as it was set.
    pub limit: Option<Bandwidth>,
    /// The rate of the interval that ended last; nothing where that is not known.
    pub rate: Option<Bandwidth>,
    /// Intervals above the limit until now.
    pub above: u64,
}

impl LimitTally {
    /// Whether the mean rate was within the limit; nothing where no rate is known.
    pub fn is_kept(&self) -> Option<bool> {
        self.mean.map(|mean| mean <= self.limit.rate())
    }
}

impl<'p> Watch<'p> {
    /// How long an interval is: the kernel's controller looks as often.
    pub const EACH: Duration = SECOND;

    pub(crate) fn begin(
        plan: &'p Plan,
        resctrl: &'p Resctrl,
        (claims, said, doubts): (Vec<Dir>, Vec<String>, Vec<LimitDoubt>),
        now: Duration,
    ) -> Self {
        let rows =
            plan.limits().iter().zip(said).map(|(limit, said)| Row::new(limit.clone(), said)).collect();
        let mut watch = Self { resctrl, rows, doubts, looked: now, _claims: claims };
        watch.read(now);
        watch
    }

    /// Reads all counters where an interval is over, and looks whether limits are as they were set.
    pub fn look(&mut self, now: Duration) {
        if now.saturating_sub(self.looked) >= Self::EACH {
            self.read(now);
        }
    }

    /// How far all limits have come, the lowest CPU first. What was not set as asked, and what was changed since, is no limit.
    pub fn progress(&self) -> impl Iterator<Item = LimitProgress> + '_ {
        self.rows.iter().map(|row| LimitProgress {
            limit: row.stands(&self.doubts).then(|| row.limit.rate()),
            rate: row.last,
            above: row.above,
        })
    }

    /// What became of all limits until now, the lowest CPU first, and what there is to say of them.
    pub fn end(mut self, now: Duration) -> (Vec<LimitTally>, Vec<LimitDoubt>) {
        if now.saturating_sub(self.looked) >= SHORTEST {
            self.read(now);
        }
        let Self { resctrl, rows, mut doubts, .. } = self;
        doubts.extend(rows.iter().flat_map(Row::doubts));
        let counted = rows.iter().filter(|row| !row.is_uncounted);
        let compared: BTreeSet<String> = counted.map(|row| resctrl.compared(&row.limit.group)).collect();
        let others = compared.into_iter().filter(|event| event != TOTAL);
        doubts.extend(others.map(|event| LimitDoubt::Compares { event }));
        let tallies = rows.iter().map(|row| row.tally(&doubts)).collect();
        (tallies, doubts)
    }

    fn read(&mut self, now: Duration) {
        self.looked = now;
        for row in &mut self.rows {
            row.take(self.resctrl.counted(&row.limit.group), now);
            if row.changed.is_none() {
                row.changed = changed(&row.limit, &row.said, self.resctrl);
            }
        }
    }
}

/// What somebody else has made of a limit since.
fn changed(limit: &Limit, said: &str, resctrl: &Resctrl) -> Option<LimitDoubt> {
    let core = limit.core;
    let says = |result: Result<String, solo_store::StoreError>| result.unwrap_or_else(|error| error.reason());
    let found = says(resctrl.schemata_of(&limit.group));
    if !limit.schemata().says(&found, said) {
        return Some(LimitDoubt::Changed { core, setting: limit.schemata(), found });
    }
    let found = says(cache::group_of_cpu(resctrl.root(), core.0));
    (format!("/{found}") != limit.group.to_string()).then(|| LimitDoubt::Changed {
        core,
        setting: limit.cpu(),
        found,
    })
}

impl Row {
    fn new(limit: Limit, said: String) -> Self {
        Self {
            limit,
            said,
            before: None,
            is_uncounted: true,
            readings: 0,
            unknown: 0,
            last_words: String::new(),
            backwards: 0,
            intervals: 0,
            above: 0,
            bytes: 0,
            span: Duration::ZERO,
            last: None,
            most: Bandwidth::ZERO,
            changed: None,
        }
    }

    /// Takes a reading in. A rate is made of two numbers in a row only.
    fn take(&mut self, counted: Option<Counted>, now: Duration) {
        let before = self.before.take();
        self.last = None;
        let Some(counted) = counted else { return };
        self.is_uncounted = false;
        self.readings += 1;
        let bytes = match counted {
            Counted::Bytes(bytes) => bytes,
            Counted::Said(words) => {
                self.unknown += 1;
                self.last_words = words;
                return;
            }
        };
        self.before = Some((now, bytes));
        let Some((then, earlier)) = before else { return };
        let Some(more) = bytes.checked_sub(earlier) else {
            self.backwards += 1;
            return;
        };
        let span = now.saturating_sub(then);
        let rate = Bandwidth::average(Bytes::new(more), span);
        self.intervals += 1;
        self.bytes = self.bytes.saturating_add(more);
        self.span = self.span.saturating_add(span);
        self.last = Some(rate);
        self.most = self.most.max(rate);
        self.above += u64::from(rate > self.limit.rate());
    }

    fn doubts(&self) -> Vec<LimitDoubt> {
        let core = self.limit.core;
        let mut doubts: Vec<LimitDoubt> = self.changed.iter().cloned().collect();
        if self.is_uncounted {
            doubts.push(LimitDoubt::NoCounter(core));
        }
        if self.unknown > 0 {
            let said = self.last_words.clone();
            doubts.push(LimitDoubt::Unknown { core, readings: self.unknown, all: self.readings, said });
        }
        if self.backwards > 0 {
            doubts.push(LimitDoubt::Backwards { core, times: self.backwards });
        }
        if self.above > 0 {
            let (above, all, mib, most) = (self.above, self.intervals, self.limit.mib, self.most);
            doubts.push(LimitDoubt::Above { core, above, all, mib, most });
        }
        doubts
    }

    /// Whether it was set as asked and is so still: neither these doubts nor what was seen since speak against it.
    fn stands(&self, doubts: &[LimitDoubt]) -> bool {
        let own = self.limit.core;
        let fell = |doubt: &LimitDoubt| match doubt {
            LimitDoubt::Otherwise { core, .. } | LimitDoubt::Changed { core, .. } => *core == own,
            _ => false,
        };
        self.changed.is_none() && !doubts.iter().any(fell)
    }

    fn tally(&self, doubts: &[LimitDoubt]) -> LimitTally {
        let is_known = self.intervals > 0;
        LimitTally {
            limit: self.limit.clone(),
            stood: self.stands(doubts),
            intervals: self.intervals,
            unknown: self.unknown,
            backwards: self.backwards,
            mean: is_known.then(|| Bandwidth::average(Bytes::new(self.bytes), self.span)),
            most: is_known.then_some(self.most),
            above: self.above,
        }
    }
}

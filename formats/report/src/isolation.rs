//! What isolation did: who owned which memory, what each core was allowed and used.

use crate::series::Series;
use crate::text;
use serde::{Deserialize, Serialize};
use solo_model::text::Ranges;
use solo_model::{Bandwidth, Bytes, CoreId, Duration, Instant};

/// What isolation did in a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct IsolationReport {
    /// How many page colors the last level has, merged ones counted once; 0 where nothing was colored.
    pub colors: u16,
    /// How many DRAM banks placement of pages controls; 0 where nothing was colored.
    pub banks: u16,
    /// The kernel's color.
    pub kernel_color: Option<u16>,
    /// Who owned what, in the order of the tasks; those without anything of their own are left out.
    pub owners: Vec<OwnedMemory>,
    /// The regulation period; zero where bandwidth was not regulated.
    #[serde(rename = "period_ns")]
    pub period: Duration,
    /// What memory guarantees.
    #[serde(rename = "guaranteed_bytes_per_s")]
    pub guaranteed: Bandwidth,
    /// The regulated cores that any period was recorded of.
    pub cores: Vec<CoreRegulation>,
    /// Whether the sum of reservations was kept; absent where nothing was regulated or the run was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conservation: Option<ConservationReport>,
}

/// Whether all cores together stayed within the sum of their reservations in every period.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct ConservationReport {
    /// Periods that were looked at.
    pub periods: u64,
    /// Of these, periods in which nobody was regulated because all cores were exhausted.
    pub exempt: u64,
    /// Of these, periods in which more was used than reserved, beyond misses under way.
    pub violations: u64,
    /// The largest excess of these.
    #[serde(rename = "worst_excess_bytes")]
    pub worst_excess: Bytes,
    /// What cores used beyond the sum because they had given too much away.
    #[serde(rename = "overdraft_bytes")]
    pub overdraft: Bytes,
}

impl ConservationReport {
    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let judged = text::counted(self.periods.saturating_sub(self.exempt), "period");
        let exempt = match self.exempt {
            0 => String::new(),
            n => format!(" ({n} more were shared by all and promised nothing)"),
        };
        let overdraft = match self.overdraft.get() {
            0 => String::new(),
            _ => format!(" {} were overdrawn after wrong gifts.", size(self.overdraft)),
        };
        match self.violations {
            0 => format!("The sum of reservations held in all of {judged}{exempt}.{overdraft}"),
            n => format!(
                "The sum of reservations was exceeded in {n} of {judged}{exempt}, by {} at most.{overdraft}",
                size(self.worst_excess)
            ),
        }
    }
}

/// What a task owned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OwnedMemory {
    /// The task's name.
    pub task: String,
    /// Its colors, ascending; empty for any.
    pub colors: Vec<u16>,
    /// Its banks, ascending; empty for any.
    pub banks: Vec<u16>,
    /// The ways that it may fill, a bit each; 0 for all.
    pub ways: u64,
    /// Pages of it that were locked.
    pub locked_pages: u64,
}

/// A regulated core.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CoreRegulation {
    /// The core.
    pub core: CoreId,
    /// Its budget: of reads, or of the one event that is counted.
    #[serde(rename = "budget_bytes_per_s")]
    pub budget: Bandwidth,
    /// What its budget became during the run, and from when on; the first [`CoreRegulation::SPANS`] changes.
    #[serde(default, with = "changes")]
    pub changes: Vec<(Instant, Bandwidth)>,
    /// Periods that ended.
    pub periods: u64,
    /// Of these, periods in which it was throttled.
    pub throttled_periods: u64,
    /// How long it was throttled.
    #[serde(rename = "throttled_ns")]
    pub throttled: Duration,
    /// The longest time that it was throttled without a break.
    #[serde(rename = "throttled_max_ns")]
    pub throttled_max: Duration,
    /// What it moved, as counted.
    #[serde(rename = "used_bytes")]
    pub used: Bytes,
    /// What it gave away.
    #[serde(rename = "donated_bytes")]
    pub donated: Bytes,
    /// What it took back or took from others.
    #[serde(rename = "reclaimed_bytes")]
    pub reclaimed: Bytes,
    /// What it used in periods that were cut short or released because all cores were exhausted.
    #[serde(rename = "shared_bytes")]
    pub shared: Bytes,
    /// Sum of the differences between expected and actual use; zero where nothing was predicted.
    #[serde(rename = "prediction_error_bytes")]
    pub prediction_error: Bytes,
    /// Periods in which it used more than allowed: an overflow interrupt was lost or late, or the kernel's own accesses came on top.
    pub lost_overflows: u64,
    /// Periods whose end it noticed late, by more than a sixteenth of a period: its timer was.
    #[serde(default)]
    pub late_periods: u64,
    /// The latest of these, past the period's end.
    #[serde(default, rename = "latest_ns")]
    pub latest: Duration,
    /// Periods of which it is known whether it got what it has reserved.
    #[serde(default, rename = "judged_periods")]
    pub judged: u64,
    /// Of these, periods in which it did not, although it waited for memory.
    #[serde(default, rename = "unmet_periods")]
    pub unmet: u64,
    /// The most that was missing.
    #[serde(default, rename = "worst_lack_bytes")]
    pub worst_lack: Bytes,
    /// What other cores used in these periods.
    #[serde(default, with = "used_by")]
    pub meanwhile: Vec<(CoreId, Bytes)>,
    /// A hard task runs on it and its reservation is a promise: a period that is not met is a verdict.
    #[serde(default)]
    pub hard: bool,
    /// The counted rate over time.
    pub rate: Series,
    /// When it was throttled, from and to; the first [`CoreRegulation::SPANS`] of them.
    #[serde(rename = "throttled_spans", with = "spans")]
    pub spans: Vec<(Instant, Instant)>,
}

/// Pairs as objects whose values have names.
macro_rules! named_pairs {
    ($module:ident: $first:ident $one:ty, $second:ident $other:ty) => {
        mod $module {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            #[derive(Serialize, Deserialize)]
            struct Named {
                $first: $one,
                $second: $other,
            }

            pub(super) fn serialize<S: Serializer>(
                pairs: &[($one, $other)],
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(pairs.iter().map(|&($first, $second)| Named { $first, $second }))
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Vec<($one, $other)>, D::Error> {
                let stored = Vec::<Named>::deserialize(deserializer)?;
                Ok(stored.into_iter().map(|Named { $first, $second }| ($first, $second)).collect())
            }
        }
    };
}

named_pairs!(used_by: core solo_model::CoreId, used_bytes solo_model::Bytes);
named_pairs!(changes: from_ns solo_model::Instant, budget_bytes_per_s solo_model::Bandwidth);
named_pairs!(spans: from_ns solo_model::Instant, to_ns solo_model::Instant);

impl IsolationReport {
    /// The header of [`owner_rows`](Self::owner_rows).
    pub(crate) const OWNER_HEADER: [&'static str; 5] = ["owner", "colors", "banks", "ways", "locked"];

    /// What the kernel owns, where it has a color of its own.
    pub(crate) fn kernel(&self) -> Option<OwnedMemory> {
        self.kernel_color.map(|color| OwnedMemory {
            task: "(kernel)".into(),
            colors: vec![color],
            banks: Vec::new(),
            ways: 0,
            locked_pages: 0,
        })
    }

    /// A row for the kernel's color, where it has one, and one for each owner.
    pub(crate) fn owner_rows(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        self.kernel().into_iter().chain(self.owners.iter().cloned()).map(|owner| {
            vec![
                owner.task,
                Ranges(&owner.colors).to_string(),
                Ranges(&owner.banks).to_string(),
                if owner.ways == 0 { "all".into() } else { format!("{:#x}", owner.ways) },
                text::counted(owner.locked_pages, "page"),
            ]
        })
    }
}

impl CoreRegulation {
    /// Spans that are kept.
    pub const SPANS: usize = 4096;
    /// The header of [`row`](Self::row).
    pub(crate) const HEADER: [&'static str; 9] =
        ["core", "budget", "used", "throttled", "periods", "longest", "donated", "reclaimed", "shared"];

    /// The average counted rate over `run`.
    pub fn mean(&self) -> Option<Bandwidth> {
        self.rate.mean().map(Bandwidth::new)
    }

    /// What its budget became, in a sentence.
    pub(crate) fn changed(&self) -> Option<String> {
        let (first, more) = self.changes.split_at_checked(3).unwrap_or((&self.changes, &[]));
        let named = first.iter().map(|&(from, budget)| {
            format!("{} from {} on", text::asked_rate(budget), text::time(from.since(Instant::ZERO)))
        });
        let mut named: Vec<String> = named.collect();
        if !more.is_empty() {
            named.push(format!("{} later", text::counted(more.len() as u64, "other")));
        }
        let said = text::enumeration(&named);
        (!self.changes.is_empty()).then(|| format!("{} had a budget of {said}.", self.core))
    }

    /// How late a core may notice a period's end: this part of a period.
    pub(crate) const GRACE: u64 = 16;

    /// What went wrong on it, a sentence each.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let mut found = Vec::new();
        // Who gives nothing away is not asked what it will need.
        let off = self.prediction_error.get().checked_div(self.periods).filter(|_| !self.donated.is_zero());
        if let Some(off) = off.filter(|off| *off > 0) {
            let off = text::count(off);
            found.push(format!("{} was predicted wrong by {off}B a period on average.", self.core));
        }
        if self.lost_overflows > 0 {
            let periods = text::counted(self.lost_overflows, "period");
            found.push(format!(
                "{} used more than allowed in {periods}: overflow interrupts were lost or late, or the kernel's own accesses came \
                 on top (`kernel-touches`).",
                self.core
            ));
        }
        found.extend(self.lack());
        if self.late_periods > 0 {
            let (periods, latest) = (text::counted(self.late_periods, "period"), text::time(self.latest));
            found.push(format!(
                "{} noticed the end of {periods} late, by {latest} at most: timers were late or lost.",
                self.core
            ));
        }
        found
    }

    /// That it did not get what it has reserved, and who used memory meanwhile.
    pub(crate) fn lack(&self) -> Option<String> {
        if self.unmet == 0 {
            return None;
        }
        let mut others = self.meanwhile.clone();
        others.sort_by_key(|&(core, used)| (std::cmp::Reverse(used), core));
        let named: Vec<String> =
            others.iter().take(3).map(|(core, used)| format!("{core} used {}", size(*used))).collect();
        let meanwhile = match named.is_empty() {
            true => String::new(),
            false => format!(" Meanwhile {}.", text::enumeration(&named)),
        };
        Some(format!(
            "{} did not get what it has reserved in {} of {} in which that is known, by {} at most.{meanwhile}",
            self.core,
            self.unmet,
            text::counted(self.judged, "period"),
            size(self.worst_lack),
        ))
    }

    pub(crate) fn row(&self) -> Vec<String> {
        let mean = self.mean().map_or("-".into(), |mean| text::rate_like(mean, self.budget));
        vec![
            self.core.to_string(),
            text::asked_rate(self.budget),
            mean,
            text::time(self.throttled),
            format!("{} of {}", self.throttled_periods, self.periods),
            text::time(self.throttled_max),
            size(self.donated),
            size(self.reclaimed),
            size(self.shared),
        ]
    }
}

fn size(bytes: Bytes) -> String {
    text::count(bytes.get()) + "B"
}

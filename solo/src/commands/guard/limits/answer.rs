//! What became of limits of bandwidth, for people and programs.

use super::super::Put;
use serde::Serialize;
use solo_guard::limits::{LimitDoubt, LimitTally, Plan};
use solo_guard::{Restored, Setting};
use solo_model::text::Printable;
use solo_model::{Bandwidth, Duration};
use solo_report::table::{self, Style};

/// What it is called on the command line.
const NAME: &str = "mba";
/// Who decides.
const WHO: &str = "no policy runs, and no decision is told again: the kernel's controller compares once a second what was counted with \
                   the limit, and moves the processor's delays";
/// What a limit is.
const WHAT: &str = "A limit makes a CPU wait longer for memory. The delay is relative and no cap: the limit is exceeded for seconds where the \
                    load changes";

/// What became of all limits.
#[derive(Serialize)]
pub(super) struct Answer {
    back_end: &'static str,
    /// None: no decision of this house is taken.
    tier: Option<&'static str>,
    length_ns: u64,
    /// All limits were set as asked and stayed so.
    stood: bool,
    /// Mean rates were within the limits; nothing where one of them is not known, and none is above.
    held: Option<bool>,
    cores: Vec<Core>,
    settings: Vec<Put>,
    doubts: Vec<String>,
}

/// What became of a limit.
#[derive(Serialize)]
struct Core {
    core: u16,
    group: String,
    asked_bytes_per_s: u64,
    limit_mib_per_s: u64,
    stood: bool,
    held: Option<bool>,
    intervals: u64,
    intervals_above: u64,
    readings_unknown: u64,
    readings_backwards: u64,
    mean_bytes_per_s: Option<u64>,
    max_bytes_per_s: Option<u64>,
}

impl Core {
    fn of(tally: &LimitTally) -> Self {
        Self {
            core: tally.limit.core.0,
            group: tally.limit.group.to_string(),
            asked_bytes_per_s: tally.limit.asked.get(),
            limit_mib_per_s: tally.limit.mib,
            stood: tally.stood,
            held: tally.is_kept(),
            intervals: tally.intervals,
            intervals_above: tally.above,
            readings_unknown: tally.unknown,
            readings_backwards: tally.backwards,
            mean_bytes_per_s: tally.mean.map(Bandwidth::get),
            max_bytes_per_s: tally.most.map(Bandwidth::get),
        }
    }

    fn row(&self) -> Vec<String> {
        let mib = |rate: Option<u64>| {
            rate.map_or("-".to_owned(), |rate| format!("{:.1}", rate as f64 / f64::from(1 << 20)))
        };
        let above = match self.intervals {
            0 => "-".to_owned(),
            all => format!("{} of {all}", self.intervals_above),
        };
        vec![
            format!("core{}", self.core),
            self.limit_mib_per_s.to_string(),
            mib(self.mean_bytes_per_s),
            mib(self.max_bytes_per_s),
            above,
        ]
    }
}

impl Answer {
    /// Of limits that were set for so long.
    pub(super) fn of(
        length: Duration,
        tallies: &[LimitTally],
        doubts: &[LimitDoubt],
        restored: &Restored,
    ) -> Self {
        let kept: Vec<Option<bool>> = tallies.iter().map(LimitTally::is_kept).collect();
        // What is known to be wrong outweighs what is not known.
        let held = if kept.contains(&Some(false)) {
            Some(false)
        } else {
            kept.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
        };
        Self {
            back_end: NAME,
            tier: None,
            length_ns: length.get(),
            stood: tallies.iter().all(|tally| tally.stood),
            held,
            cores: tallies.iter().map(Core::of).collect(),
            settings: Put::all(restored),
            doubts: doubts.iter().map(ToString::to_string).collect(),
        }
    }

    /// True where nothing is known to speak against it.
    pub(super) fn is_held(&self) -> bool {
        self.stood && self.held != Some(false)
    }

    /// For people.
    pub(super) fn text(&self, style: Style) -> String {
        let verdict = match (self.stood, self.held) {
            (false, _) => "NOT set as asked to the end",
            (true, Some(true)) => "kept, by mean rates",
            (true, Some(false)) => "NOT kept, by mean rates",
            (true, None) => "set; whether they were kept is not known",
        };
        let length = table::time(Duration::new(self.length_ns));
        let mut text = format!("limits of memory bandwidth, for {length}: {verdict}\n\n");
        let header = ["of", "limit MiB/s", "mean MiB/s", "most in 1 s", "above in"];
        let rows: Vec<Vec<String>> = self.cores.iter().map(Core::row).collect();
        text += &table::plain(&header, 1, &rows, style);
        text += &table::sentence(&format!("no tier: {WHO}. Back end {NAME}. {WHAT}."), style);
        for doubt in &self.doubts {
            text += &table::sentence(&format!("doubt: {}", Printable(doubt)), style);
        }
        text
    }
}

/// What is said when limits are set.
pub(super) fn announce(plan: &Plan) -> String {
    let one = |limit: &solo_guard::limits::Limit| format!("CPU {} to {} MiB/s", limit.core.0, limit.mib);
    let all: Vec<String> = plan.limits().iter().map(one).collect();
    format!("limited: {} (back end {NAME}: {WHO})", all.join(", "))
}

/// What would be written.
pub(super) fn dry(plan: &Plan) -> String {
    let mut text = format!("back end: {NAME} ({WHO})\n");
    for (setting, value) in plan.changes() {
        let value = Printable(&value);
        text += &match &setting {
            Setting::CacheFolder { .. } => format!("would make {}\n", Printable(&setting)),
            Setting::CacheCpu { cpu } => {
                format!("would write {cpu} into /sys/fs/resctrl/{value}/cpus_list; it is in the root's\n")
            }
            _ => format!("would write {value} into {}\n", Printable(&setting)),
        };
    }
    text += "would put everything back at the end, and take the groups away\n";
    for doubt in plan.doubts() {
        text += &format!("doubt: {}\n", Printable(doubt));
    }
    text
}

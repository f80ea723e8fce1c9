//! Totals and doubts, for people and for programs.

use serde::{Deserialize, Serialize};
use solo_model::Duration;
use solo_model::text::counted;
use solo_watch::follow::Ended;
use solo_watch::{Columns, WatchDoubts};
use solo_watch::{Reason, Total, Used, WatchOutcome};
use std::fmt::Write;

/// What a watch came to, as it is written in JSON.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Summary {
    elapsed_ns: u64,
    ended_by: String,
    exit_status: Option<u8>,
    #[serde(default)]
    user_ns: Option<u64>,
    #[serde(default)]
    system_ns: Option<u64>,
    totals: Vec<TotalSummary>,
    doubts: DoubtsSummary,
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
struct TotalSummary {
    name: String,
    count: Option<u64>,
    enabled_ns: u64,
    counted_ns: u64,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Default, Debug)]
pub(crate) struct DoubtsSummary {
    rows: u64,
    samples_lost: u64,
    sampling_throttled: u64,
    late_ticks: u64,
    latest_tick_ns: u64,
    readings_multiplexed: u64,
    least_counted_per_mille: u16,
    readings_never_counted: u64,
    migrations: u64,
    threads: u64,
    threads_missed: u64,
    cores_gone: u64,
    stops_by_following: u64,
}

impl Summary {
    /// From an outcome.
    pub(crate) fn of(outcome: &WatchOutcome) -> Self {
        let doubts = &outcome.doubts;
        let total = |total: &Total| TotalSummary {
            name: total.name.clone(),
            count: total.count,
            enabled_ns: total.enabled,
            counted_ns: total.running,
        };
        Self {
            elapsed_ns: outcome.elapsed.get(),
            ended_by: reason(outcome.reason).to_owned(),
            exit_status: outcome.program.map(Ended::code),
            user_ns: outcome.used.map(|used| used.user.get()),
            system_ns: outcome.used.map(|used| used.system.get()),
            totals: outcome.totals.iter().map(total).collect(),
            doubts: DoubtsSummary::of(doubts, outcome.stops),
            notes: outcome.notes.clone(),
        }
    }
}

impl Summary {
    /// Why the watch ended, in words.
    pub(crate) fn ended_by(&self) -> &str {
        &self.ended_by
    }

    /// The program's exit status, where one was started.
    pub(crate) fn exit_status(&self) -> Option<u8> {
        self.exit_status
    }

    /// How long the watch took.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::new(self.elapsed_ns)
    }

    /// How many totals there are.
    pub(crate) fn totals(&self) -> usize {
        self.totals.len()
    }

    /// How many notes there are.
    pub(crate) fn notes(&self) -> usize {
        self.notes.len()
    }

    /// With every text as `shown` makes it.
    pub(crate) fn checked(mut self, shown: impl Fn(&str) -> String) -> Self {
        let names = self.totals.iter_mut().map(|total| &mut total.name);
        for text in names.chain(&mut self.notes).chain([&mut self.ended_by]) {
            *text = shown(text);
        }
        self
    }

    /// What there is to hold against the rows.
    pub(crate) fn doubts(&self) -> &DoubtsSummary {
        &self.doubts
    }

    /// The outcome of a watch that was somewhere else. A reason that nobody knows is the program's end.
    pub(crate) fn outcome(&self, columns: Columns) -> WatchOutcome {
        let total = |total: &TotalSummary| Total {
            name: total.name.clone(),
            count: total.count,
            enabled: total.enabled_ns,
            running: total.counted_ns,
        };
        let known = REASONS.into_iter().find(|known| reason(*known) == self.ended_by);
        WatchOutcome {
            columns,
            totals: self.totals.iter().map(total).collect(),
            doubts: self.doubts.doubts(),
            elapsed: self.elapsed(),
            reason: known.unwrap_or(Reason::Ended),
            program: self.exit_status.map(Ended::Exited),
            used: self
                .user_ns
                .zip(self.system_ns)
                .map(|(user, system)| Used { user: Duration::new(user), system: Duration::new(system) }),
            stops: self.doubts.stops_by_following,
            notes: self.notes.clone(),
            output_error: None,
        }
    }
}

impl DoubtsSummary {
    /// From doubts, and the stops of threads that following cost.
    pub(crate) fn of(doubts: &WatchDoubts, stops: u64) -> Self {
        Self {
            rows: doubts.rows,
            samples_lost: doubts.lost,
            sampling_throttled: doubts.throttled,
            late_ticks: doubts.late_ticks,
            latest_tick_ns: doubts.latest_tick.get(),
            readings_multiplexed: doubts.multiplexed,
            least_counted_per_mille: doubts.least_counted_per_mille,
            readings_never_counted: doubts.never_counted,
            migrations: doubts.migrations,
            threads: doubts.threads,
            threads_missed: doubts.threads_missed,
            cores_gone: doubts.cores_gone,
            stops_by_following: stops,
        }
    }

    /// And back.
    pub(crate) fn doubts(&self) -> WatchDoubts {
        WatchDoubts {
            rows: self.rows,
            lost: self.samples_lost,
            throttled: self.sampling_throttled,
            late_ticks: self.late_ticks,
            latest_tick: Duration::new(self.latest_tick_ns),
            multiplexed: self.readings_multiplexed,
            least_counted_per_mille: self.least_counted_per_mille,
            never_counted: self.readings_never_counted,
            migrations: self.migrations,
            threads: self.threads,
            threads_missed: self.threads_missed,
            cores_gone: self.cores_gone,
        }
    }
}

const REASONS: [Reason; 6] =
    [Reason::Ended, Reason::Rows, Reason::Samples, Reason::Time, Reason::Interrupted, Reason::Output];

const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Ended => "end of the program",
        Reason::Rows => "rows",
        Reason::Samples => "samples",
        Reason::Time => "time",
        Reason::Interrupted => "interrupt",
        Reason::Output => "output",
    }
}

/// The times of the program, as PMCTrack writes them: hundredths of a second, no unit.
pub(crate) fn times(outcome: &WatchOutcome) -> String {
    let hundredths = |time: Duration| time.get() / 10_000_000;
    let plain = |time: Duration| format!("{}.{:02}", hundredths(time) / 100, hundredths(time) % 100);
    let real = hundredths(outcome.elapsed);
    let seconds = real / 100;
    let real = match seconds {
        0..3600 => format!("{}:{:02}.{:02}", seconds / 60, seconds % 60, real % 100),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    };
    let used =
        |part: fn(Used) -> Duration| outcome.used.map_or_else(|| "-".to_owned(), |used| plain(part(used)));
    let (user, system) = (used(|used| used.user), used(|used| used.system));
    format!("[Process times]\nreal\t{real}\nuser\t{user}\nsys\t{system}\n")
}

/// The lines under a table.
pub(crate) fn text(outcome: &WatchOutcome) -> String {
    let mut text = String::from("[Totals]\n");
    for total in &outcome.totals {
        let count = total.count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let _ = write!(text, "{:<24} {count:>16}", total.name);
        // Parts of a thousand are timer readings one after the other, not turns.
        if total.enabled > 0 && total.running < total.enabled / 1000 * 999 {
            let share = total.running as f64 * 100.0 / total.enabled as f64;
            let _ = write!(text, "  counted {share:.1} % of its time");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{} over {}", threads(outcome), outcome.elapsed);
    text.push_str(&outcome.doubts.line());
    if outcome.stops > 0 {
        let stops = counted(outcome.stops, "stop");
        let _ = write!(text, ", {stops} of threads to follow them (a context switch each)");
    }
    text.push('\n');
    for note in &outcome.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

fn threads(outcome: &WatchOutcome) -> String {
    match outcome.doubts.threads {
        0 => "all CPUs".to_owned(),
        threads => counted(threads, "thread").to_string(),
    }
}

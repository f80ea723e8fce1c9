//! What became of budgets, for people and programs.

use super::back_end::Keeper;
use super::wishes::Wishes;
use serde::Serialize;
use solo_guard::occupier::{CoreTally, Held, Histogram};
use solo_guard::{Actuator, Fate, Restored, Setting};
use solo_model::isolation::Budget;
use solo_model::text::{Printable, counted};
use solo_model::{CoreId, Duration};
use solo_report::table::{self, Style};

/// What a budget may be exceeded by before it counts as not held, in thousandths of it.
const TOLERATED_PER_MILLE: u64 = 20;

/// What became of budgets.
#[derive(Serialize)]
pub(super) struct Answer {
    event: String,
    tier: &'static str,
    back_end: &'static str,
    period_ns: u64,
    length_ns: u64,
    /// Every budget was held.
    pub(super) held: bool,
    cores: Vec<Core>,
    sum: Sum,
    decisions: Decisions,
    settings: Vec<Put>,
    doubts: Vec<String>,
    /// What a stopped CPU does.
    #[serde(skip)]
    stopped: &'static str,
}

#[derive(Serialize)]
struct Core {
    core: u16,
    budget_events: Option<u64>,
    held: bool,
    periods: u64,
    stopped_periods: u64,
    stopped_ns: u64,
    events: u64,
    reserved_events: u64,
    period_max_events: u64,
    exceeded_periods: u64,
    beyond_events: Spread,
    ring_to_stop_ns: Spread,
    late_ns: Spread,
    taken_away_ns: Spread,
    leaked_events: u64,
    leaks: u64,
    #[serde(skip)]
    is_apart: bool,
    silenced: u64,
    failure: Option<String>,
}

#[derive(Serialize)]
struct Spread {
    count: u64,
    p50: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
}

/// All CPUs together: what one gives away and another takes leaves the sum as it is.
#[derive(Serialize)]
struct Sum {
    periods: u64,
    exempt_periods: u64,
    exceeded_periods: u64,
    beyond_max_events: u64,
    overdraft_events: u64,
}

#[derive(Serialize)]
struct Decisions {
    compared: u64,
    disagreements: u64,
    not_compared: u64,
}

/// A setting that was changed, and what became of it.
#[derive(Serialize)]
pub(crate) struct Put {
    setting: String,
    fate: &'static str,
}

impl Put {
    /// All of them.
    pub(crate) fn all(restored: &Restored) -> Vec<Self> {
        let one =
            |(setting, fate): &(Setting, Fate)| Self { setting: setting.to_string(), fate: fate_name(fate) };
        restored.settings.iter().map(one).collect()
    }
}

impl Spread {
    fn of(histogram: &Histogram) -> Self {
        let (p50, p99) = (histogram.quantile(500), histogram.quantile(990));
        Self { count: histogram.count(), p50, p99, max: histogram.max() }
    }

    fn us(&self) -> [String; 3] {
        let one =
            |number: Option<u64>| number.map_or("-".to_owned(), |ns| format!("{:.1}", ns as f64 / 1000.0));
        [one(self.p50), one(self.p99), one(self.max)]
    }
}

impl Core {
    fn of(wishes: &Wishes, core: &CoreTally) -> Self {
        let own = wishes.budgets.regulation.cores.iter().find(|entry| entry.core == core.core);
        let budget_events = own.and_then(|own| match own.budget {
            Budget::Events(events) => Some(events.get()),
            _ => None,
        });
        // The mean of what was reserved: budgets may change while they are held.
        let mean = core.reserved / core.periods.max(1);
        let tolerated = (mean * TOLERATED_PER_MILLE / 1000).max(1);
        let beyond = core.beyond.max().unwrap_or(0);
        let few = core.leaked <= core.reserved / 1000 * TOLERATED_PER_MILLE;
        Self {
            core: core.core.0,
            budget_events,
            held: core.failure.is_none() && few && beyond <= tolerated,
            periods: core.periods,
            stopped_periods: core.throttled,
            stopped_ns: core.stopped.get(),
            events: core.events,
            reserved_events: core.reserved,
            period_max_events: core.most,
            exceeded_periods: core.exceeded,
            beyond_events: Spread::of(&core.beyond),
            ring_to_stop_ns: Spread::of(&core.latency),
            late_ns: Spread::of(&core.late),
            taken_away_ns: Spread::of(&core.taken_away),
            leaked_events: core.leaked,
            leaks: core.leaks,
            is_apart: core.is_apart,
            silenced: core.silenced,
            failure: core.failure.as_ref().map(solo_store::system_reason),
        }
    }

    /// What to hold against it.
    fn doubts(&self, fair_server: bool) -> Vec<String> {
        let mut doubts = Vec::new();
        let core = CoreId(self.core);
        if let Some(failure) = &self.failure {
            doubts.push(format!("{core}: its budget was no longer held before the end: {failure}"));
        }
        if self.leaked_events > 0 {
            let cause = if !self.is_apart {
                ", the guard's own among them: this event can't be told by thread"
            } else if fair_server {
                "; Linux keeps a part of each second for ordinary threads (its fair server): --all-real-time lifts that where it may, \
                 a larger budget needs it less"
            } else {
                ""
            };
            doubts.push(format!(
                "{core}: {} of {} came in {}, while somebody else ran there{cause}",
                self.leaked_events,
                counted(self.events, "event"),
                counted(self.leaks, "stop")
            ));
        }
        if self.exceeded_periods > 0 {
            doubts.push(format!(
                "{core}: {} of {} periods went beyond what was allowed, by {} events at most: a system call is not interrupted in its \
                 middle where the kernel is not preemptible, and an occupier that comes late stops late",
                self.exceeded_periods,
                self.periods,
                self.beyond_events.max.unwrap_or(0)
            ));
        }
        if self.silenced > 0 {
            doubts.push(format!(
                "{core}: the kernel held its counter back {}: it rang too often",
                counted(self.silenced, "time")
            ));
        }
        doubts
    }
}

impl Answer {
    /// Of budgets that were held.
    pub(super) fn of(
        wishes: &Wishes,
        held: &Held,
        restored: &Restored,
        keeper: &Keeper,
        more: Vec<String>,
    ) -> Self {
        let cores: Vec<Core> = held.cores.iter().map(|core| Core::of(wishes, core)).collect();
        let lifted = |core: u16| {
            restored.settings.iter().any(|(setting, _)| *setting == Setting::FairServer { cpu: core })
        };
        let fair_server = |core: u16| keeper.gate().is_none() && !lifted(core);
        let mut doubts: Vec<String> =
            cores.iter().flat_map(|core| core.doubts(fair_server(core.core))).collect();
        doubts.extend(more);
        let replayed = held.replayed;
        Self {
            event: wishes.event.clone(),
            tier: "B",
            back_end: keeper.name(),
            period_ns: wishes.budgets.regulation.period.get(),
            length_ns: held.length.get(),
            held: cores.iter().all(|core| core.held)
                && replayed.disagreements == 0
                && keeper.ejected().is_none(),
            cores,
            sum: Sum {
                periods: held.conservation.periods,
                exempt_periods: held.conservation.exempt,
                exceeded_periods: held.conservation.violations,
                beyond_max_events: held.conservation.worst_excess.get(),
                overdraft_events: held.conservation.overdraft.get(),
            },
            decisions: Decisions {
                compared: replayed.compared,
                disagreements: replayed.disagreements,
                not_compared: replayed.not_compared,
            },
            settings: Put::all(restored),
            doubts,
            stopped: keeper.stopped(),
        }
    }

    /// For people.
    pub(super) fn text(&self, style: Style) -> String {
        let verdict = if self.held { "held" } else { "NOT held" };
        let mut text = format!(
            "budgets of {} in each {}, for {}: {verdict}\n\n",
            Printable(&self.event),
            table::time(Duration::new(self.period_ns)),
            table::time(Duration::new(self.length_ns))
        );
        text += &self.use_table(style);
        text += "\n";
        text += &self.latency_table(style);
        if self.cores.len() > 1 {
            let Sum { periods, exceeded_periods, beyond_max_events, .. } = self.sum;
            text += &table::sentence(
                &format!(
                    "all together: {exceeded_periods} of {} above the sum of the budgets, by {} at most\n",
                    counted(periods, "period"),
                    counted(beyond_max_events, "event")
                ),
                style,
            );
        }
        text += &table::sentence(
            &format!(
                "tier B: the enforcer outside the kernel, fed by events; {} told again, {} answered otherwise, {} not kept. \
                 Back end {}: a stopped CPU {}.\n",
                counted(self.decisions.compared, "decision"),
                self.decisions.disagreements,
                self.decisions.not_compared,
                self.back_end,
                self.stopped
            ),
            style,
        );
        for doubt in &self.doubts {
            text += &table::sentence(&format!("doubt: {}\n", Printable(doubt)), style);
        }
        text
    }

    fn use_table(&self, style: Style) -> String {
        let header = ["CPU", "budget", "periods", "stopped in", "used mean", "most", "beyond max", "leaked"];
        let row = |core: &Core| {
            vec![
                core.core.to_string(),
                core.budget_events.map_or("-".to_owned(), |events| events.to_string()),
                core.periods.to_string(),
                core.stopped_periods.to_string(),
                format!("{:.2}", core.events as f64 / core.periods.max(1) as f64),
                core.period_max_events.to_string(),
                core.beyond_events.max.map_or("-".to_owned(), |events| events.to_string()),
                core.leaked_events.to_string(),
            ]
        };
        table::plain(&header, 1, &self.cores.iter().map(row).collect::<Vec<_>>(), style)
    }

    fn latency_table(&self, style: Style) -> String {
        let header = ["CPU", "us", "times", "p50", "p99", "max"];
        let row = |core: &Core, name: &str, spread: &Spread| {
            let [p50, p99, max] = spread.us();
            vec![core.core.to_string(), name.to_owned(), spread.count.to_string(), p50, p99, max]
        };
        let rows = |core: &Core| {
            [
                row(core, "ring to stop", &core.ring_to_stop_ns),
                row(core, "late to a period", &core.late_ns),
                row(core, "taken away while stopped", &core.taken_away_ns),
            ]
        };
        let rows: Vec<_> = self.cores.iter().flat_map(rows).collect();
        table::plain(&header, 2, &rows, style)
    }
}

const fn fate_name(fate: &Fate) -> &'static str {
    match fate {
        Fate::PutBack => "put back",
        Fate::AsFound => "as it was found",
        Fate::Gone => "gone",
        Fate::Theirs { .. } => "somebody else's",
        Fate::Failed { .. } => "not put back",
    }
}

/// What became of settings, a line each.
pub(crate) fn fates(restored: &Restored) -> String {
    if restored.earlier_boot {
        return "what was changed before is gone: the machine was started again since\n".to_owned();
    }
    if restored.settings.is_empty() {
        return "nothing is left to put back\n".to_owned();
    }
    let line = |(setting, fate): &(Setting, Fate)| {
        let more = match fate {
            Fate::Theirs { found, before } => {
                format!(": it says `{}`, and said `{}` before", Printable(found), Printable(before))
            }
            Fate::Failed { reason } => format!(": {}", Printable(reason)),
            Fate::PutBack | Fate::AsFound | Fate::Gone => String::new(),
        };
        format!("{setting}: {}{more}\n", fate_name(fate))
    };
    restored.settings.iter().map(line).collect()
}

/// What a guard would do.
pub(super) fn dry(
    wishes: &Wishes,
    changes: &[(Setting, &str)],
    machine: &impl Actuator,
    back_end: &str,
) -> String {
    let mut text = format!("back end: {back_end}\n");
    for (setting, value) in changes {
        text += &match machine.look(setting) {
            Ok(seen) => {
                format!("would write {value} into {setting}, which says {}\n", Printable(&seen.value))
            }
            Err(error) => format!("could not write {value} into {setting}: {}\n", Printable(error.reason())),
        };
    }
    if changes.is_empty() {
        text += "would change no setting\n";
    }
    for entry in &wishes.budgets.regulation.cores {
        let budget = match entry.budget {
            Budget::Events(events) => counted(events.get(), "event").to_string(),
            Budget::Rate(rate) => format!("{rate}"),
            Budget::Share(per_mille) => format!("{per_mille} thousandths of what memory guarantees"),
            Budget::Weight(weight) => format!("weight {weight}"),
        };
        text += &format!(
            "would hold CPU {} to {budget} of {} in each {}\n",
            entry.core.0,
            Printable(&wishes.event),
            table::time(wishes.budgets.regulation.period)
        );
    }
    text
}

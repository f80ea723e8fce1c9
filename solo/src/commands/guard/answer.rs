//! What became of budgets, for people and programs.

use super::back_end::Keeper;
use super::who::Member;
use super::wishes::Wishes;
use serde::Serialize;
use solo_guard::groups::{GroupTally, GroupsHeld};
use solo_guard::occupier::{CoreTally, Held, Histogram, Replayed};
use solo_guard::{Actuator, Fate, Restored, Setting};
use solo_isolate::regulator::Conservation;
use solo_model::Duration;
use solo_model::isolation::{Budget, CoreBudget};
use solo_model::text::{Printable, counted};
use solo_report::table::{self, Style};

/// What a budget may be exceeded by before it counts as not held, in thousandths of it.
const TOLERATED_PER_MILLE: u64 = 20;
/// Why an occupier may be late.
const LATE_OCCUPIER: &str = "a system call is not interrupted in its middle where the kernel is not preemptible, and an occupier that \
                             comes late stops late";
/// Why a freezer may be.
const LATE_FREEZER: &str =
    "a task is frozen when it next leaves the kernel, and each of several CPUs goes on until it hears of it";
/// Why something may be counted of a group that is frozen.
const LEAKS_FREEZER: &str = ", after all of it was frozen or 5 ms were over: a task that stays in the kernel goes on there until it leaves it";
/// Why something may be counted on a CPU that is stopped.
const LEAKS_OCCUPIER: &str = ", while somebody else ran there";
/// The same, where the guard's own events can't be told from others.
const LEAKS_MIXED: &str =
    ", while somebody else ran there, the guard's own among them: this event can't be told by thread";
/// The same, where Linux takes CPUs back from real-time threads.
const LEAKS_FAIR_SERVER: &str = ", while somebody else ran there; Linux keeps a part of each second for ordinary threads (its fair \
                                 server): --all-real-time lifts that where it may, a larger budget needs it less";

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
    groups: Vec<GroupOf>,
    sum: Sum,
    group_sum: Sum,
    decisions: Decisions,
    settings: Vec<Put>,
    doubts: Vec<String>,
    /// What who is stopped does, for people.
    #[serde(skip)]
    stopped: String,
}

/// What was held: budgets of CPUs, and of groups.
pub(super) struct Both {
    pub(super) cpus: Option<Held>,
    pub(super) groups: Option<GroupsHeld>,
}

#[derive(Serialize)]
struct Core {
    core: u16,
    #[serde(flatten)]
    row: Row,
}

#[derive(Serialize)]
struct GroupOf {
    group: String,
    #[serde(flatten)]
    row: Row,
}

/// What became of a budget.
#[derive(Serialize)]
struct Row {
    /// Whose it is, for people.
    #[serde(skip)]
    whose: String,
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
    #[serde(skip)]
    anew: u64,
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
    fn of(wishes: &Wishes, tally: &CoreTally) -> Self {
        let own = wishes.budgets.regulation.cores.iter().find(|entry| entry.core == tally.core);
        let row = Row::of(tally.core.to_string(), own.and_then(|own| events(own.budget)), tally);
        Self { core: tally.core.0, row }
    }
}

impl GroupOf {
    /// Of all groups, in the order of the command line.
    fn all(wishes: &Wishes, held: Option<&GroupsHeld>) -> Vec<Self> {
        let tallies = held.into_iter().flat_map(|held| &held.groups);
        let one = |(tally, (member, entry)): (&GroupTally, (&Member, &CoreBudget))| Self {
            group: format!("/{}", String::from(tally.group.clone())),
            row: Row::of(member.to_string(), events(entry.budget), &tally.tally),
        };
        tallies.zip(members(wishes)).map(one).collect()
    }
}

/// The groups that have budgets, and these.
fn members(wishes: &Wishes) -> impl Iterator<Item = (&Member, &CoreBudget)> {
    wishes.groups.iter().flat_map(|groups| groups.members.iter().zip(&groups.held.regulation.cores))
}

/// A budget in events.
const fn events(budget: Budget) -> Option<u64> {
    match budget {
        Budget::Events(events) => Some(events.get()),
        _ => None,
    }
}

impl Both {
    fn replayed(&self) -> Replayed {
        let cpus = self.cpus.as_ref().map(|held| held.replayed);
        let groups = self.groups.as_ref().map(|held| held.replayed);
        let add = |sum: Replayed, one: Replayed| Replayed {
            compared: sum.compared + one.compared,
            disagreements: sum.disagreements + one.disagreements,
            not_compared: sum.not_compared + one.not_compared,
        };
        cpus.into_iter().chain(groups).fold(Replayed::default(), add)
    }

    fn length(&self) -> Duration {
        let cpus = self.cpus.as_ref().map(|held| held.length);
        let groups = self.groups.as_ref().map(|held| held.length);
        cpus.max(groups).unwrap_or(Duration::ZERO)
    }
}

impl Sum {
    fn of(conservation: Option<Conservation>) -> Self {
        let sum = conservation.unwrap_or_default();
        Self {
            periods: sum.periods,
            exempt_periods: sum.exempt,
            exceeded_periods: sum.violations,
            beyond_max_events: sum.worst_excess.get(),
            overdraft_events: sum.overdraft.get(),
        }
    }
}

/// What stops, by the names of the command line.
pub(super) fn back_end(keeper: Option<&Keeper>, groups: bool) -> &'static str {
    match (keeper.map(Keeper::name), groups) {
        (None, _) => "freezer",
        (Some("sched-ext"), true) => "sched-ext, freezer",
        (Some(_), true) => "occupier, freezer",
        (Some(name), false) => name,
    }
}

/// What who is stopped does.
fn stopped(keeper: Option<&Keeper>, groups: bool) -> String {
    let cpus = keeper.map(|keeper| format!("a stopped CPU {}", keeper.stopped()));
    let groups = groups.then(|| "a stopped group is frozen".to_owned());
    cpus.into_iter().chain(groups).collect::<Vec<_>>().join(", ")
}

impl Row {
    fn of(whose: String, budget_events: Option<u64>, core: &CoreTally) -> Self {
        // The mean of what was reserved: budgets may change while they are held.
        let mean = core.reserved / core.periods.max(1);
        let tolerated = (mean * TOLERATED_PER_MILLE / 1000).max(1);
        let beyond = core.beyond.max().unwrap_or(0);
        let few = core.leaked <= core.reserved / 1000 * TOLERATED_PER_MILLE;
        Self {
            whose,
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
            anew: core.anew,
            failure: core.failure.as_ref().map(solo_store::system_reason),
        }
    }

    /// What to hold against it: `late` is why a stopped one may be late, `leaks` why something may be counted while it is stopped.
    fn doubts(&self, late: &str, leaks: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        let core = Printable(&self.whose);
        if let Some(failure) = &self.failure {
            doubts.push(format!("{core}: its budget was no longer held before the end: {failure}"));
        }
        if self.leaked_events > 0 {
            doubts.push(format!(
                "{core}: {} of {} came in {}{leaks}",
                self.leaked_events,
                counted(self.events, "event"),
                counted(self.leaks, "stop")
            ));
        }
        if self.exceeded_periods > 0 {
            doubts.push(format!(
                "{core}: {} of {} periods went beyond what was allowed, by {} events at most: {late}",
                self.exceeded_periods,
                self.periods,
                self.beyond_events.max.unwrap_or(0)
            ));
        }
        if self.anew > 0 {
            doubts.push(format!(
                "{core}: went offline and came back {}, as where a machine sleeps: what happened there meanwhile, for up to two \
                 periods, was not counted",
                counted(self.anew, "time")
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
        held: &Both,
        restored: &Restored,
        keeper: Option<&Keeper>,
        more: Vec<String>,
    ) -> Self {
        let tallies = held.cpus.iter().flat_map(|held| &held.cores);
        let cores: Vec<Core> = tallies.map(|tally| Core::of(wishes, tally)).collect();
        let groups = GroupOf::all(wishes, held.groups.as_ref());
        let lifted = |core: u16| {
            restored.settings.iter().any(|(setting, _)| *setting == Setting::FairServer { cpu: core })
        };
        let gated = keeper.is_some_and(|keeper| keeper.gate().is_some());
        let leaks = |core: &Core| match core.row.is_apart {
            false => LEAKS_MIXED,
            true if gated || lifted(core.core) => LEAKS_OCCUPIER,
            true => LEAKS_FAIR_SERVER,
        };
        let mut doubts: Vec<String> =
            cores.iter().flat_map(|core| core.row.doubts(LATE_OCCUPIER, leaks(core))).collect();
        let contested = held.cpus.iter().flat_map(|held| &held.contested);
        doubts.extend(contested.map(|core| {
            format!(
                "{core}: another guard held a budget of this CPU when this one began: each counts what the other's threads do there"
            )
        }));
        doubts.extend(groups.iter().flat_map(|group| group.row.doubts(LATE_FREEZER, LEAKS_FREEZER)));
        doubts.extend(more);
        let replayed = held.replayed();
        let rows = || cores.iter().map(|core| &core.row).chain(groups.iter().map(|group| &group.row));
        let ejected = keeper.is_some_and(|keeper| keeper.ejected().is_some());
        Self {
            event: wishes.event.clone(),
            tier: "B",
            back_end: back_end(keeper, held.groups.is_some()),
            period_ns: wishes.budgets.regulation.period.get(),
            length_ns: held.length().get(),
            held: rows().all(|row| row.held) && replayed.disagreements == 0 && !ejected,
            cores,
            groups,
            sum: Sum::of(held.cpus.as_ref().map(|held| held.conservation)),
            group_sum: Sum::of(held.groups.as_ref().map(|held| held.conservation)),
            decisions: Decisions {
                compared: replayed.compared,
                disagreements: replayed.disagreements,
                not_compared: replayed.not_compared,
            },
            settings: Put::all(restored),
            doubts,
            stopped: stopped(keeper, held.groups.is_some()),
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
        for (whose, all, sum) in
            [("CPUs", self.cores.len(), &self.sum), ("groups", self.groups.len(), &self.group_sum)]
        {
            if all < 2 {
                continue;
            }
            let Sum { periods, exceeded_periods, beyond_max_events, .. } = *sum;
            text += &table::sentence(
                &format!(
                    "all {whose} together: {exceeded_periods} of {} above the sum of the budgets, by {} at most\n",
                    counted(periods, "period"),
                    counted(beyond_max_events, "event")
                ),
                style,
            );
        }
        text += &table::sentence(
            &format!(
                "tier B: the enforcer outside the kernel, fed by events; {} told again, {} answered otherwise, {} not kept. \
                 Back end {}: {}.\n",
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
        let header = ["of", "budget", "periods", "stopped in", "used mean", "most", "beyond max", "leaked"];
        let row = |core: &Row| {
            vec![
                Printable(&core.whose).to_string(),
                core.budget_events.map_or("-".to_owned(), |events| events.to_string()),
                core.periods.to_string(),
                core.stopped_periods.to_string(),
                format!("{:.2}", core.events as f64 / core.periods.max(1) as f64),
                core.period_max_events.to_string(),
                core.beyond_events.max.map_or("-".to_owned(), |events| events.to_string()),
                core.leaked_events.to_string(),
            ]
        };
        table::plain(&header, 1, &self.rows().map(row).collect::<Vec<_>>(), style)
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.cores.iter().map(|core| &core.row).chain(self.groups.iter().map(|group| &group.row))
    }

    fn latency_table(&self, style: Style) -> String {
        let header = ["of", "us", "times", "p50", "p99", "max"];
        let row = |core: &Row, name: &str, spread: &Spread| {
            let [p50, p99, max] = spread.us();
            vec![Printable(&core.whose).to_string(), name.to_owned(), spread.count.to_string(), p50, p99, max]
        };
        let rows = |core: &Row| {
            [
                row(core, "ring to stop", &core.ring_to_stop_ns),
                row(core, "late to a period", &core.late_ns),
                row(core, "taken away while stopped", &core.taken_away_ns),
            ]
        };
        let rows: Vec<_> = self.rows().flat_map(rows).collect();
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
    changes: &[(Setting, String)],
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
    let mut would_hold = |whom: String, entry: &CoreBudget| {
        let budget = match entry.budget {
            Budget::Events(events) => counted(events.get(), "event").to_string(),
            Budget::Rate(rate) => format!("{rate}"),
            Budget::Share(per_mille) => format!("{per_mille} thousandths of what memory guarantees"),
            Budget::Weight(weight) => format!("weight {weight}"),
        };
        text += &format!(
            "would hold {} to {budget} of {} in each {}\n",
            Printable(whom),
            Printable(&wishes.event),
            table::time(wishes.budgets.regulation.period)
        );
    };
    for entry in &wishes.budgets.regulation.cores {
        would_hold(format!("CPU {}", entry.core.0), entry);
    }
    for (member, entry) in members(wishes) {
        let how = match member {
            Member::Program => "in a cgroup made for it",
            Member::Path(_) => "by its cgroup.freeze",
        };
        would_hold(format!("{member} ({how})"), entry);
    }
    text
}

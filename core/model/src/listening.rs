//! A scheduler that listens to counters, as a description: `[scheduler.monitor]` of a scenario (thesis 8.2.3, 8.3).

use crate::estimate::{Asymmetry, Factor};
use crate::event::{EventId, EventSet};
use crate::fixed::Fixed;
use crate::id::{CoreId, TaskId};
use crate::occupancy::{MissRateCurve, Recycling};
use crate::task::{Release, Task, TaskClass};
use crate::units::{Bytes, Duration, Instant};
use alloc::string::String;
use alloc::vec::Vec;

/// The monitors, a line each: the line registers a monitor for the whole house.
///
/// ```text
/// /// What its metric is.
/// Type = "name in scenario files", file: what it takes;
/// ```
/// `$with!` is called with all lines: here it makes [`MonitorKind`], in `solo-observe` the list of the monitors' files, on
/// stock Linux the monitoring modules of those that take nothing.
#[macro_export]
macro_rules! monitors {
    ($with:ident) => {
        $with! {
            /// how often an event happened in a period
            Count = "count", count: Takes::Event;
            /// an expression over events
            Rate = "rate", rate: Takes::Expression;
            /// instructions retired in a cycle
            Ipc = "ipc", ipc: Takes::Nothing;
            /// lines read that other cores had changed, in a second
            HitmRate = "hitm-rate", hitm_rate: Takes::Nothing;
            /// an expression over events that are counted in turns
            Multiplexed = "multiplexed", multiplexed: Takes::Sets;
            /// how much faster a task is on a big core, from the instructions per cycle that it had on both kinds
            IpcSampling = "ipc-sampling", ipc_sampling: Takes::Kinds;
            /// what a trained model makes of the counters of the core that a task is on
            Estimate = "estimate", estimate: Takes::Model;
            /// bytes of the last-level cache that a task's lines take
            Occupancy = "occupancy", occupancy: Takes::Occupancy;
            /// lines read from memory and written to it, in a second
            MemoryBandwidth = "memory-bandwidth", memory_bandwidth: Takes::Nothing;
            /// energy times time by instructions, in picojoule-seconds
            EnergyDelay = "energy-delay", energy_delay: Takes::Energy;
            /// misses of the last-level cache in 1,000 instructions, by the bytes of it that a task's lines take
            MissRateCurve = "miss-rate-curve", miss_rate_curve: Takes::Occupancy;
        }
    };
}

macro_rules! define_monitors {
    ($(#[doc = $doc:literal] $name:ident = $word:literal, $file:ident: $takes:expr;)+) => {
        /// What turns the counts of a core into the metric that a scheduler listens to.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
        pub enum MonitorKind { $(#[doc = $doc] $name,)+ }

        impl MonitorKind {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$name),+];

            /// The word in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// What its metric is, in a few words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => $doc.trim_ascii()),+ }
            }

            /// What has to be said beside its name.
            pub const fn takes(self) -> Takes {
                match self { $(Self::$name => $takes),+ }
            }
        }
    };
}

monitors!(define_monitors);

/// What has to be said of a monitor beside its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Nothing: it knows its events.
    Nothing,
    /// One event.
    Event,
    /// An expression over events.
    Expression,
    /// An expression over events, and the sets in which they are counted.
    Sets,
    /// Nothing: it knows its events, and reads beside them how much of the last-level cache is held.
    Occupancy,
    /// Nothing: it knows its events, and reads the energy meter beside them.
    Energy,
    /// Nothing but cores of two kinds.
    Kinds,
    /// Cores of two kinds, and a model of them.
    Model,
}

impl Takes {
    /// True where its metric is of a task that may run on cores of two kinds.
    pub const fn is_of_kinds(self) -> bool {
        matches!(self, Self::Kinds | Self::Model)
    }
}

/// The placements, a line each: the line registers a policy that listens for the whole house.
///
/// ```text
/// /// What it does about a core whose metric is above the threshold.
/// Type = "name in scenario files", file: facts;
/// ```
/// `$with!` is called with all lines: here it makes [`Reaction`], in `solo-schedule` the list of the placements' files.
#[macro_export]
macro_rules! placements {
    ($with:ident) => {
        $with! {
            /// Nothing: the counts are taken.
            Report = "report", report: Facts::PLAIN.idle();
            /// The task on the core gives it away until the end of the next interval, to nobody where nobody else is ready.
            Yield = "yield", r#yield: Facts::PLAIN;
            /// The same at once, by a counter that interrupts when it has counted more than the threshold (thesis 8.4).
            Overflow = "overflow", overflow: Facts::PLAIN.at_once();
            /// The task on the core moves nearer to the core whose lines it takes (thesis 4.1.5).
            Migrate = "migrate", migrate: Facts::PLAIN.among(2).moving();
            /// Tasks that take each other's lines come onto one core, where nothing is taken.
            Gather = "gather", gather: Facts::PLAIN.among(2).moving().crowding();
            /// Of the tasks that take each other's lines one runs at a time.
            Serialize = "serialize", serialize: Facts::PLAIN.among(2);
            /// The threads of the applications that gain most have the big cores (PMCTrack 4.1.1: HSP).
            Hsp = "hsp", hsp: Facts::PLAIN.among(2).of_kinds();
            /// Applications have the big cores in turn, equally long (PMCTrack 4.1.1: RR).
            Rr = "rr", rr: Facts::PLAIN.among(2).of_kinds();
            /// Threads have equally much scaled time, of which a big core gives more (PMCTrack 4.1.1: A-DWRR).
            Adwrr = "a-dwrr", a_dwrr: Facts::PLAIN.among(2).of_kinds();
            /// The threads that were slowed down most have the big cores (PMCTrack 4.1.1: EQP).
            Eqp = "eqp", eqp: Facts::PLAIN.among(2).of_kinds();
            /// Applications are slowed down equally, by weight (PMCTrack 4.1.1: ACFS).
            Acfs = "acfs", acfs: Facts::PLAIN.among(2).of_kinds();
            /// The threads that spare most energy and time there have the big cores (PMCTrack 4.2.2: EF-driven).
            EfDriven = "ef-driven", ef_driven: Facts::PLAIN.among(2).of_kinds();
            /// The same, decided once, as soon as something is known of every thread.
            EfStatic = "ef-static", ef_static: Facts::PLAIN.among(2).of_kinds();
            /// Random pairs of threads change places where a rule says that this spares energy (PMCTrack 4.2.2: PRIM).
            Prim = "prim", prim: Facts::PLAIN.among(2).of_kinds().set_by(&[PAIRS, DRAW]);
            /// Nothing: counters and meter are read each time that so many instructions have retired (PMCTrack 4.2.2).
            Windows = "windows", windows: Facts::PLAIN.over(METERS).idle().in_windows(&[WINDOW]);
            /// Tasks that use much memory bandwidth are spread over the outermost caches that not all cores share.
            Spread = "spread", spread: Facts::PLAIN.among(2).moving();
            /// Ways of the last level go to the tasks whose misses they spare most (Qureshi and Patt, MICRO 2006).
            Utility = "utility", utility: Facts::PLAIN.over(CURVES).dividing().set_by(&[SETTLE, EXPLORE]);
            /// One task after the other has one way of the last level, two ways, and so on: points of its curve.
            WaySweep = "way-sweep", way_sweep: Facts::PLAIN.over(HELD).dividing().set_by(&[SETTLE]);
            /// One core after the other runs at full speed while the others are slowed: points of its tasks' curves (PMCTrack 4.3.1).
            DutyCycles = "duty-cycle", duty_cycles: Facts::PLAIN.over(HELD).among(2).slowing().set_by(&[SETTLE, LEAST_EIGHTHS]);
        }
    };
}

macro_rules! define_reactions {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $file:ident: $facts:expr;)+) => {
        /// What a scheduler does about a core that counted more than the threshold.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
        pub enum Reaction { $($(#[$doc])* $name,)+ }

        impl Reaction {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$name),+];

            /// The word in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// What others than the policy have to know of it.
            pub const fn facts(self) -> Facts {
                match self { $(Self::$name => $facts),+ }
            }
        }
    };
}

placements!(define_reactions);

/// What a placement's registration says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// What can be set beside the threshold and the classes.
    pub settings: &'static [Setting],
    /// It hears of a count above the threshold at once, by an interrupt, and not only at the end of the interval.
    pub interrupts: bool,
    /// With fewer cores it has nothing to do.
    pub least_cores: usize,
    /// It does something about tasks, and does not only take counts.
    pub acts: bool,
    /// It moves tasks to other cores.
    pub moves: bool,
    /// It gives tasks cores by their kinds, and goes by no threshold.
    pub kinds: bool,
    /// It moves them onto cores that have a task, and asks for no cache that only some cores share.
    pub crowds: bool,
    /// The only monitors whose metrics it can do something with; empty where any will do.
    pub over: &'static [MonitorKind],
    /// It compares the metric with the threshold.
    pub compares: bool,
    /// It gives ways of the last-level cache to tasks.
    pub divides: bool,
    /// It slows cores.
    pub slows: bool,
    /// A counter interrupts again and again, after as many events as its first setting says, and the energy meter is read with it.
    pub windows: bool,
}

/// What makes curves.
const CURVES: &[MonitorKind] = &[MonitorKind::MissRateCurve];
/// What tells how much of the last level is held.
const HELD: &[MonitorKind] = &[MonitorKind::MissRateCurve, MonitorKind::Occupancy];
/// What reads the energy meter.
const METERS: &[MonitorKind] = &[MonitorKind::EnergyDelay];
/// The instructions of a window; as many as in the paper.
const WINDOW: Setting =
    Setting { name: "window", default: 400_000_000, least: 1_000, most: 1_000_000_000_000 };
/// The pairs of threads that are drawn in a period.
const PAIRS: Setting = Setting { name: "pairs", default: 2, least: 1, most: 64 };
/// Where the random numbers begin.
const DRAW: Setting = Setting { name: "draw", default: 1, least: 0, most: u64::MAX };
/// Periods that each size, or speed, is kept.
const SETTLE: Setting = Setting { name: "settle", default: 4, least: 1, most: 1000 };
/// Periods from one decision to the next exploration; zero for only one, at the beginning.
const EXPLORE: Setting = Setting { name: "explore", default: 0, least: 0, most: 1_000_000 };
/// The lowest speed of a slowed core, in eighths of its own.
const LEAST_EIGHTHS: Setting = Setting { name: "least-eighths", default: 1, least: 1, most: 8 };

impl Facts {
    /// Of a policy that looks at the end of each interval, is set by the threshold and the classes, and holds or weighs tasks
    /// where they are.
    pub const PLAIN: Self = Self {
        settings: &[],
        interrupts: false,
        least_cores: 1,
        acts: true,
        moves: false,
        kinds: false,
        crowds: false,
        over: &[],
        compares: true,
        divides: false,
        slows: false,
        windows: false,
    };

    /// The same with settings of its own.
    #[must_use]
    pub const fn set_by(self, settings: &'static [Setting]) -> Self {
        Self { settings, ..self }
    }

    /// The same, told by an interrupt.
    #[must_use]
    pub const fn at_once(self) -> Self {
        Self { interrupts: true, ..self }
    }

    /// The same, which has something to do with so many cores or more.
    #[must_use]
    pub const fn among(self, least_cores: usize) -> Self {
        Self { least_cores, ..self }
    }

    /// The same, which moves tasks.
    #[must_use]
    pub const fn moving(self) -> Self {
        Self { moves: true, ..self }
    }

    /// The same, which moves tasks between kinds of cores.
    #[must_use]
    pub const fn of_kinds(self) -> Self {
        Self { moves: true, kinds: true, ..self }
    }

    /// The same, which moves them onto cores that have a task.
    #[must_use]
    const fn crowding(self) -> Self {
        Self { crowds: true, ..self }
    }

    /// The same, which knows what to do with the metrics of these monitors only, and compares them with no threshold.
    #[must_use]
    pub const fn over(self, monitors: &'static [MonitorKind]) -> Self {
        Self { over: monitors, compares: false, ..self }
    }

    /// The same, which gives ways of the last-level cache to tasks.
    #[must_use]
    const fn dividing(self) -> Self {
        Self { divides: true, ..self }
    }

    /// The same, told by an interrupt after each window, whose length is the setting.
    #[must_use]
    const fn in_windows(self, length: &'static [Setting; 1]) -> Self {
        Self { interrupts: true, windows: true, settings: length, ..self }
    }

    /// The same, which slows cores.
    #[must_use]
    const fn slowing(self) -> Self {
        Self { slows: true, ..self }
    }

    /// True where what it does to a task may cost tasks of other classes time.
    pub const fn touches_others(self) -> bool {
        self.moves || self.divides || self.slows
    }

    /// The same, which does nothing about what it hears.
    #[must_use]
    pub const fn idle(self) -> Self {
        Self { acts: false, ..self }
    }
}

/// A number that a placement can be set by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// The key in scenario files.
    pub name: &'static str,
    /// What it is where nothing is said.
    pub default: u64,
    /// The least that it can be.
    pub least: u64,
    /// The most that it can be.
    pub most: u64,
}

/// A metric, by the number that monitors and policies have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MetricId(pub u16);

/// The metrics of a curve, as its monitor and policies have agreed on.
impl MissRateCurve {
    /// The metric that has misses of the last period in 1,000 instructions.
    pub const MISSES: MetricId = MetricId(0);
    /// The metric that has the instructions of the last period, in thousands.
    pub const THOUSANDS: MetricId = MetricId(1);

    /// The metric that has the misses in 1,000 instructions at so many [ranges](Self::BINS) of the cache, from none to all.
    pub const fn point(ranges: usize) -> MetricId {
        MetricId(2 + ranges as u16)
    }
}

/// What is observed of each core: a monitor, and what it makes its metric of.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Observed {
    /// The monitor.
    pub monitor: MonitorKind,
    /// The events that are counted for it. That of a monitor that takes one interrupts, where the policy is told at once.
    pub events: Vec<EventId>,
    /// The expression of a monitor that [takes](MonitorKind::takes) one; empty otherwise.
    pub expression: String,
    /// What is counted together, where sets take turns; empty where all events are counted all the time.
    pub sets: Vec<EventSet>,
    /// The kinds of cores that a monitor [of kinds](Takes::is_of_kinds) tells apart.
    #[cfg_attr(feature = "serde", serde(default))]
    pub asymmetry: Option<Asymmetry>,
    /// The size of the last-level cache, for a monitor that reads [how much of it](Takes::Occupancy) is held; zero otherwise.
    #[cfg_attr(feature = "serde", serde(default, rename = "capacity_bytes"))]
    pub capacity: Bytes,
}

impl Observed {
    /// How often an event happened in an interval.
    pub fn count_of(event: EventId) -> Self {
        Self {
            monitor: MonitorKind::Count,
            events: Vec::from([event]),
            expression: String::new(),
            sets: Vec::new(),
            asymmetry: None,
            capacity: Bytes::ZERO,
        }
    }

    /// True where it reads how much of the last-level cache is held.
    pub fn reads_occupancy(&self) -> bool {
        self.monitor.takes() == Takes::Occupancy
    }

    /// True where it reads the energy meter.
    pub fn reads_energy(&self) -> bool {
        self.monitor.takes() == Takes::Energy
    }

    /// The factor between kinds of cores that its metric is, where it is one.
    pub fn factor(&self) -> Option<Factor> {
        let model = self.asymmetry.as_ref().and_then(|kinds| kinds.model.as_ref());
        match (self.monitor, model) {
            (_, Some(model)) => Some(model.factor),
            (MonitorKind::IpcSampling, None) => Some(Factor::Speedup),
            (_, None) => None,
        }
    }

    /// What its metric is called: the factor, else the monitor.
    pub fn metric(&self) -> &'static str {
        self.factor().map_or(self.monitor.name(), Factor::name)
    }

    /// The programmable counters that it needs on each core, where others count `fixed`: one for each event, of the set that needs most
    /// where sets take turns.
    pub fn counters(&self, fixed: &[EventId]) -> usize {
        let others = |event: &EventId| !fixed.contains(event);
        let of_set = |set: &EventSet| set.iter().filter(others).count();
        let largest = self.sets.iter().map(of_set).max();
        largest.unwrap_or_else(|| self.events.iter().filter(|event| others(event)).count())
    }
}

/// What a scheduler listens to and what it does about it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Listening {
    /// What is observed of each core.
    pub observed: Observed,
    /// The interval after which each core's counts are looked at and begin anew (QUANTUM in thesis 8.2.3).
    pub period: Duration,
    /// How long each set counts, where sets take turns; nothing for an equal part of the period.
    pub turn: Option<Duration>,
    /// The most that the metric may be without consequences (THRESHOLD1).
    pub threshold: Fixed,
    /// A core that was above the threshold is treated so until its metric is no more than this, which is no more than the
    /// threshold; nothing for the threshold itself.
    pub calm: Option<Fixed>,
    /// The classes of tasks that it may concern (`[LOWER_PRIO_BOUND, UPPER_PRIO_BOUND]`).
    pub classes: Vec<TaskClass>,
    /// What happens above the threshold.
    pub reaction: Reaction,
    /// The reaction's own settings, in the order of [`Facts::settings`]; what is missing is as the setting says.
    pub settings: Vec<u64>,
    /// What the counters read instead of what the hardware counts; empty for what it counts.
    pub script: Vec<ScriptedCount>,
    /// Which monitoring id a process gets, where how much of the last-level cache it holds is observed.
    #[cfg_attr(feature = "serde", serde(default))]
    pub recycling: Recycling,
    /// The tasks of each process that has several: their lines count as one's. A task of none is a process of its own.
    #[cfg_attr(feature = "serde", serde(default))]
    pub processes: Vec<Vec<TaskId>>,
    /// What the monitor says of each task at the end of each period is recorded.
    #[cfg_attr(feature = "serde", serde(default))]
    pub recorded: bool,
}

impl Listening {
    /// Above a threshold of zero `reaction` may concern best-effort tasks, and hardware counts. What is believed of tasks is recorded where
    /// the reaction goes by kinds of cores. What differs, a caller changes.
    pub fn new(observed: Observed, period: Duration, reaction: Reaction) -> Self {
        Self {
            observed,
            period,
            turn: None,
            threshold: Fixed::ZERO,
            calm: None,
            classes: Vec::from([TaskClass::BestEffort]),
            reaction,
            settings: Vec::new(),
            script: Vec::new(),
            recycling: Recycling::default(),
            processes: Vec::new(),
            recorded: reaction.facts().kinds,
        }
    }

    /// The number of the process that each of `tasks` tasks is a part of: those of several tasks first.
    pub fn process_of(&self, tasks: usize) -> Vec<usize> {
        let mut next = self.processes.len()..;
        let process = |task: usize| {
            let several = self.processes.iter().position(|own| own.iter().any(|known| known.index() == task));
            several.or_else(|| next.next()).unwrap_or(task)
        };
        (0..tasks).map(process).collect()
    }

    /// How many processes may be there together: all that never end, and one of those that do, for these may come one after the
    /// other. `tasks` are the experiment's.
    pub fn rmids_needed(&self, tasks: &[Task]) -> usize {
        let process_of = self.process_of(tasks.len());
        let lasts = |task: &Task| !matches!(task.release, Release::Once { .. });
        let mut lasting: Vec<usize> = process_of
            .iter()
            .zip(tasks)
            .filter(|(_, task)| lasts(task))
            .map(|(process, _)| *process)
            .collect();
        lasting.sort_unstable();
        lasting.dedup();
        let ends = process_of.iter().any(|process| !lasting.contains(process));
        lasting.len() + usize::from(ends)
    }

    /// How long each set counts, where sets take turns: what is said, or so long that a round fits the period.
    pub fn turn(&self) -> Option<Duration> {
        let sets = self.observed.sets.len() as u64;
        let equal = self.period.get().checked_div(sets).map(Duration::new);
        equal.map(|equal| self.turn.unwrap_or(equal))
    }

    /// How often each core is looked at: at the end of each turn, or of each period where there are none.
    pub fn looks_every(&self) -> Duration {
        self.turn().unwrap_or(self.period)
    }

    /// A setting of the reaction, by its name; zero for one that it does not have.
    pub fn setting(&self, name: &str) -> u64 {
        let known = self.reaction.facts().settings;
        let Some(place) = known.iter().position(|setting| setting.name == name) else { return 0 };
        self.settings.get(place).copied().unwrap_or(known[place].default)
    }

    /// After how many counts of the first event a core is interrupted, where the policy is told at once: one more than the
    /// threshold (thesis 8.4), or a window's.
    pub fn interrupt_after(&self) -> Option<u64> {
        let facts = self.reaction.facts();
        if let (true, Some(length)) = (facts.windows, facts.settings.first()) {
            return Some(self.setting(length.name));
        }
        let whole = u64::try_from(self.threshold.whole().max(0)).unwrap_or(u64::MAX);
        facts.interrupts.then(|| whole.saturating_add(1))
    }
}

/// What a scheduler that listens heard of a core, and what it did there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoreHeard {
    /// Samples of the core, at the ends of its periods and where its counter overflowed.
    pub samples: u64,
    /// What its first counter counted in all; nothing where sets take turns, whose counters count one event now and another then.
    pub counted: u64,
    /// How often a task was held at the word of this core.
    pub held: u64,
    /// How often a task was moved at the word of this core.
    pub moved: u64,
    /// Periods, or windows of so many events, in which the counter passed its limit and no interrupt told so.
    pub lost_overflows: u64,
    /// Interrupts that told of an overflow that was none: too little was counted, or it had been told. Nothing followed.
    pub false_overflows: u64,
}

impl core::ops::AddAssign for CoreHeard {
    fn add_assign(&mut self, other: Self) {
        let Self { samples, counted, held, moved, lost_overflows, false_overflows } = other;
        let sum = |own: &mut u64, more| *own = own.saturating_add(more);
        sum(&mut self.samples, samples);
        sum(&mut self.counted, counted);
        sum(&mut self.held, held);
        sum(&mut self.moved, moved);
        sum(&mut self.lost_overflows, lost_overflows);
        sum(&mut self.false_overflows, false_overflows);
    }
}

/// A count that is written down, and not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ScriptedCount {
    /// The core.
    pub core: CoreId,
    /// The event.
    pub event: EventId,
    /// From when on, since the beginning of the run, so many more have been counted.
    pub at: Instant,
    /// How many.
    pub count: u64,
}

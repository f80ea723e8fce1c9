//! The columns of each table, and the rows that records make.

use super::Table;
use crate::summary::{dram_bytes, lateness_ns};
use crate::timeparts::stall_parts;
use solo_model::record::{
    MetricRecord, RegulationRecord, Stalls, SwitchReason, SwitchRecord, UnfinishedRecord, WaitRecord,
};
use solo_model::{
    Bandwidth, Consumer, Counts, Duration, EnergyRecord, EventId, EventTable, Events, Experiment, Fixed,
    Instant, JobIndex, JobRecord, KindId, PowerDomain, Record, Sample, TaskId,
};
use std::borrow::Cow;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole numbers of 64 bits.
    Integer,
    /// Real numbers.
    Real,
    /// Text.
    Text,
    /// True or false.
    Truth,
}

/// A column; every value may be missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name, with its unit last.
    pub name: Cow<'static, str>,
    /// What it holds; text formats don't need it.
    pub kind: Kind,
}

/// A value of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// None.
    Missing,
    /// A whole number.
    Integer(i64),
    /// A real number; one that is none is written as missing.
    Real(f64),
    /// Text.
    Text(String),
    /// True or false.
    Truth(bool),
}

/// The names of the stalls, in the order of [`stall_parts`].
const STALLS: [&str; 8] = [
    "compute_ns",
    "private_cache_ns",
    "shared_cache_ns",
    "dram_ns",
    "dram_queue_own_ns",
    "dram_queue_others_ns",
    "coherence_ns",
    "kernel_ns",
];

pub(super) fn of(table: Table, events: &EventTable) -> Vec<Column> {
    let integer = |name: &'static str| Column { name: name.into(), kind: Kind::Integer };
    let text = |name: &'static str| Column { name: name.into(), kind: Kind::Text };
    let real = |name: &'static str| Column { name: name.into(), kind: Kind::Real };
    let truth = |name: &'static str| Column { name: name.into(), kind: Kind::Truth };
    let counter = |event| Column { name: events.name(event).to_owned().into(), kind: Kind::Integer };
    let counters = counted(events).map(counter);
    match table {
        Table::Jobs => {
            let mut columns = vec![text("task"), integer("job"), truth("finished"), integer("core")];
            columns.extend(["release_ns", "start_ns", "finish_ns", "deadline_ns"].map(integer));
            columns.extend(["response_ns", "lateness_ns", "tardiness_ns"].map(integer));
            columns.push(truth("missed"));
            columns.extend(["executed_ns", "preemptions", "migrations", "backlog"].map(integer));
            columns.extend(STALLS.map(integer));
            columns.extend(counters);
            columns
        }
        Table::Samples => {
            let first = ["core", "at_ns", "span_ns", "dram_bytes_per_s"].map(integer);
            first.into_iter().chain(counters).collect()
        }
        Table::Regulation => {
            let mut columns = ["core", "period", "since_ns", "at_ns"].map(integer).to_vec();
            for what in ["used", "reserved", "predicted", "donated", "reclaimed"] {
                let of = |direction: &str| Column {
                    name: format!("{what}_{direction}_events").into(),
                    kind: Kind::Integer,
                };
                columns.extend([of("read"), of("written")]);
            }
            columns.push(integer("throttled_ns"));
            columns.extend(["shared", "lost_overflow"].map(truth));
            columns.extend(["waited_ns", "waited_behind_others_ns", "lacking_events"].map(integer));
            columns
        }
        Table::Occupancy => vec![integer("at_ns"), text("task"), integer("held_bytes")],
        Table::Energy => {
            let mut columns =
                vec![integer("at_ns"), text("consumer"), text("task"), integer("job"), text("kind")];
            columns.extend(["dynamic_fj", "static_fj", "dram_fj", "events", "span_ns"].map(integer));
            columns
        }
        Table::Metrics => {
            let mut columns = vec![integer("at_ns"), integer("core"), text("task"), real("metric")];
            columns.extend(["job", "executed_ns", "retired_instructions"].map(integer));
            columns
        }
        Table::Switches => vec![integer("at_ns"), integer("core"), text("from"), text("to"), text("reason")],
    }
}

/// Appends the row that `record` makes in `table`; nothing where it makes none.
pub(super) fn fill(table: Table, record: &Record, experiment: &Experiment, row: &mut Vec<Value>) {
    match (table, record) {
        (Table::Jobs, Record::Job(job)) => fill_job(job, experiment, row),
        (Table::Jobs, Record::Unfinished(job)) => fill_unfinished(job, experiment, row),
        (Table::Samples, Record::Sample(sample)) if sample.core().is_some() => {
            fill_sample(sample, experiment, row);
        }
        (Table::Energy, Record::Energy(used)) => fill_energy(used, experiment, row),
        (Table::Occupancy, Record::Sample(sample)) => fill_held(sample, experiment, row),
        (Table::Metrics, Record::Metric(told)) => fill_metric(told, experiment, row),
        (Table::Switches, Record::Switch(switch)) => fill_switch(switch, experiment, row),
        _ => {}
    }
}

fn fill_job(job: &JobRecord, experiment: &Experiment, row: &mut Vec<Value>) {
    let JobIndex(index) = job.job;
    row.extend([name(experiment, job.task), integer(index), Value::Truth(true), integer(job.core.0)]);
    row.extend([at(job.release), at(job.start), at(job.finish), job.deadline.map_or(Value::Missing, at)]);
    row.push(span(job.response()));
    row.push(lateness_ns(job).map_or(Value::Missing, Value::Integer));
    row.push(job.deadline.map_or(Value::Missing, |_| span(job.tardiness())));
    row.push(job.deadline.map_or(Value::Missing, |_| Value::Truth(job.missed())));
    row.push(span(job.executed));
    row.extend([job.preemptions, job.migrations, job.backlog].map(integer));
    row.extend(stalls(job.stalls.as_ref()));
    row.extend(counts(&job.counts, &experiment.platform.events));
}

fn fill_unfinished(job: &UnfinishedRecord, experiment: &Experiment, row: &mut Vec<Value>) {
    let JobIndex(index) = job.job;
    let missing = Value::Missing;
    row.extend([name(experiment, job.task), integer(index), Value::Truth(false), missing.clone()]);
    row.extend([at(job.release), missing.clone(), missing.clone(), job.deadline.map_or(Value::Missing, at)]);
    row.extend([missing.clone(), missing.clone(), missing.clone()]);
    row.push(job.deadline.map_or(Value::Missing, |deadline| Value::Truth(deadline < job.at)));
    row.push(span(job.executed));
    row.resize(of(Table::Jobs, &experiment.platform.events).len(), missing);
}

fn fill_sample(sample: &Sample, experiment: &Experiment, row: &mut Vec<Value>) {
    let line = experiment.platform.line();
    let moved = dram_bytes(&sample.counts, line);
    let core = sample.core().map_or(Value::Missing, |core| integer(core.0));
    let rate = moved.map(|moved| integer(Bandwidth::average(moved, sample.span).get()));
    row.extend([core, at(sample.at), span(sample.span), rate.unwrap_or(Value::Missing)]);
    row.extend(counts(&sample.counts, &experiment.platform.events));
}

/// Who used it comes first: a job, a window, or the name of what has a meter.
fn fill_energy(used: &EnergyRecord, experiment: &Experiment, row: &mut Vec<Value>) {
    let missing = || Value::Missing;
    let kinds = &experiment.platform.kinds;
    let kind =
        |kind: KindId| kinds.get(kind.index()).map_or(Value::Missing, |kind| Value::Text(kind.name.clone()));
    let word = |word: &str| Value::Text(word.to_owned());
    row.push(at(used.at));
    let (events, time) = match used.of {
        Consumer::Job { task, job: JobIndex(job), kind: on } => {
            row.extend([word("job"), name(experiment, task), integer(job), kind(on)]);
            (missing(), missing())
        }
        Consumer::Window { task, kind: on, events, span: time } => {
            row.extend([word("window"), name(experiment, task), missing(), kind(on)]);
            (integer(events.get()), span(time))
        }
        Consumer::Domain(PowerDomain::Cluster(of)) => {
            row.extend([word("cluster"), missing(), missing(), kind(of)]);
            (missing(), missing())
        }
        Consumer::Domain(PowerDomain::Dram) => {
            row.extend([word("dram"), missing(), missing(), missing()]);
            (missing(), missing())
        }
    };
    row.extend([used.dynamic, used.fixed, used.dram].map(|part| integer(part.get())));
    row.extend([events, time]);
}

/// What a task's process held; nothing of samples that do not tell.
fn fill_held(sample: &Sample, experiment: &Experiment, row: &mut Vec<Value>) {
    if let Some((task, held)) = crate::held::of(sample) {
        row.extend([at(sample.at), name(experiment, task), integer(held.get())]);
    }
}

/// What a monitor said of a task; missing before it said anything.
fn fill_metric(told: &MetricRecord, experiment: &Experiment, row: &mut Vec<Value>) {
    let scale = Fixed::SCALE as f64;
    let value = told.value.map_or(Value::Missing, |value| Value::Real(value.units() as f64 / scale));
    row.extend([at(told.at), integer(told.core.0), name(experiment, told.task), value]);
    row.push(told.job.map_or(Value::Missing, |JobIndex(job)| integer(job)));
    row.push(told.job.map_or(Value::Missing, |_| span(told.executed)));
    row.push(told.retired.map_or(Value::Missing, |retired| integer(retired.get())));
}

fn fill_switch(switch: &SwitchRecord, experiment: &Experiment, row: &mut Vec<Value>) {
    let named = |task: Option<TaskId>| task.map_or(Value::Missing, |task| name(experiment, task));
    let reason = match switch.reason {
        SwitchReason::Start => "start",
        SwitchReason::Preempted => "preempted",
        SwitchReason::Quantum => "quantum",
        SwitchReason::Finished => "finished",
        SwitchReason::Blocked => "blocked",
        SwitchReason::Yielded => "yielded",
        SwitchReason::Idle => "idle",
        SwitchReason::Exited => "exited",
        SwitchReason::Throttled => "throttled",
        SwitchReason::Asleep => "asleep",
        SwitchReason::Window => "window",
    };
    row.extend([at(switch.at), integer(switch.core.0), named(switch.from), named(switch.to)]);
    row.push(Value::Text(reason.into()));
}

/// Appends the row of a core's part of a period. Budgets of whole cores that are not regulated have no number; how long it waited is
/// missing from machines that can't tell, and what it lacks of its reservation where nothing was promised.
pub(super) fn fill_regulation(
    period: &RegulationRecord,
    wait: Option<&WaitRecord>,
    lack: Option<Events>,
    row: &mut Vec<Value>,
) {
    row.extend([integer(period.core.0), integer(period.period), at(period.since), at(period.at)]);
    let events = |events: Events| if events == Events::MAX { Value::Missing } else { integer(events.get()) };
    for of in [period.used, period.reserved, period.predicted, period.donated, period.reclaimed] {
        row.extend(of.map(events));
    }
    row.extend([span(period.throttled), Value::Truth(period.shared), Value::Truth(period.lost_overflow)]);
    row.extend(
        [wait.map(|wait| wait.waited), wait.map(|wait| wait.behind_others)]
            .map(|time| time.map_or(Value::Missing, span)),
    );
    row.push(lack.map_or(Value::Missing, events));
}

fn name(experiment: &Experiment, task: TaskId) -> Value {
    let known = experiment.tasks.get(task.index()).map(|task| task.name.clone());
    Value::Text(known.unwrap_or_else(|| task.to_string()))
}

fn stalls(stalls: Option<&Stalls>) -> [Value; 8] {
    match stalls {
        Some(stalls) => stall_parts(stalls).map(|(_, time)| span(time)),
        None => [const { Value::Missing }; 8],
    }
}

/// The events that have a column: those that the simulated machine counts, whoever ran, and what this run counted beside them.
fn counted(events: &EventTable) -> impl Iterator<Item = EventId> + '_ {
    events.told()
}

fn counts<'a>(counts: &'a Counts, events: &'a EventTable) -> impl Iterator<Item = Value> + 'a {
    counted(events).map(|event| counts.get(event).map_or(Value::Missing, integer))
}

fn integer(value: impl Into<u64>) -> Value {
    Value::Integer(i64::try_from(value.into()).unwrap_or(i64::MAX))
}

fn span(duration: Duration) -> Value {
    integer(duration.get())
}

fn at(instant: Instant) -> Value {
    integer(instant.get())
}

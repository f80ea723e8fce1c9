//! Tasks with colors as lines of JSON in, cores as lines of JSON out.
//!
//! One set a line, times in one unit, memory in bytes:
//! `{"m":3,"colors":16,"memory":16777216,"capacity":1000,"tasks":[{"c":900,"t":10000,"class":"hard","memory":4096,"colors":[1,3]}]}`.
//! `capacity` and `hard_limit` are thousandths of a core; `capacity` may be `"edf"` (the default) or `"rm"`, and no `hard_limit` is
//! none. A task's `class` is `hard` where nothing is said; best effort needs no times. One line comes out for each:
//! `{"cores":[[0,1],[2]]}`, `{"failed":{"equation":3,...}}`, or `{"error":...}`.

use crate::color::{ColorError, ColoredTask, Memory, Method, Partition, Rules, partition};
use crate::jsonl::{Batch, BatchTotals, LINE_LIMIT, Line};
use crate::pack::{Fit, Order, Share, pack};
use crate::task::{Task, Ticks};
use serde::{Deserialize, Serialize};
use solo_model::Bytes;
use solo_model::task::TaskClass;
use std::io::{self, BufRead, Write};

/// A way to give cores to tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assigner {
    /// One task after the other, by utilisation.
    Tasks(Fit, Order),
    /// In groups that share colors.
    Colors(Method),
}

impl Assigner {
    /// Those without regard to colors, by their names.
    const TASKS: [(&'static str, Fit, Order); 8] = [
        ("ff", Fit::First, Order::Given),
        ("bf", Fit::Best, Order::Given),
        ("wf", Fit::Worst, Order::Given),
        ("nf", Fit::Next, Order::Given),
        ("ffd", Fit::First, Order::Decreasing),
        ("bfd", Fit::Best, Order::Decreasing),
        ("wfd", Fit::Worst, Order::Decreasing),
        ("nfd", Fit::Next, Order::Decreasing),
    ];

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::TASKS.into_iter().map(|(name, ..)| name).chain(Method::ALL.into_iter().map(|(name, _)| name))
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<Self> {
        let tasks = Self::TASKS.into_iter().find(|(known, ..)| *known == name);
        let colors = || Method::ALL.into_iter().find(|(known, _)| *known == name);
        let tasks = tasks.map(|(_, fit, order)| Self::Tasks(fit, order));
        tasks.or_else(|| colors().map(|(_, method)| Self::Colors(method)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSet {
    m: u16,
    colors: Option<u16>,
    memory: Option<u64>,
    capacity: Option<RawCapacity>,
    hard_limit: Option<u64>,
    tasks: Vec<RawTask>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawCapacity {
    PerMille(u64),
    Policy(RawPolicy),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawPolicy {
    Edf,
    Rm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTask {
    c: Option<u64>,
    t: Option<u64>,
    class: Option<RawClass>,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    colors: Vec<u16>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawClass {
    Hard,
    Soft,
    BestEffort,
}

/// Where tasks go, or why not.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Cores(Vec<Vec<usize>>),
    Failed(Failed),
    Error(String),
}

/// The equation that fails, with its numbers.
#[derive(Serialize)]
struct Failed {
    /// Of thesis chapter 7, where nothing else is said.
    equation: Option<u8>,
    what: String,
    tasks: Vec<usize>,
    needs: Option<u128>,
    has: Option<u64>,
    loads: Vec<u64>,
}

/// Gives cores to the tasks of every line of `input` and writes a line to `output` for each.
///
/// # Errors
/// Reading or writing failed.
pub fn assign_lines(
    mut input: impl BufRead,
    mut output: impl Write,
    assigner: Assigner,
) -> io::Result<BatchTotals> {
    let mut outcome = BatchTotals::default();
    let mut batch = Batch::default();
    while batch.read(&mut input)? {
        for line in &batch.lines {
            outcome.lines += 1;
            let answer = match line {
                Line::Read(text) => answer(text, assigner),
                Line::TooLong => Answer::Error(format!("longer than {LINE_LIMIT} bytes")),
            };
            outcome.refused += u64::from(matches!(answer, Answer::Error(_)));
            serde_json::to_writer(&mut output, &answer)?;
            output.write_all(b"\n")?;
        }
        output.flush()?;
    }
    Ok(outcome)
}

fn answer(line: &[u8], assigner: Assigner) -> Answer {
    let raw: RawSet = match serde_json::from_slice(line) {
        Ok(raw) => raw,
        Err(error) => return Answer::Error(error.to_string()),
    };
    let tasks = raw.tasks.iter().enumerate().map(|(at, task)| colored(at, task));
    let tasks = match tasks.collect::<Result<Vec<_>, _>>() {
        Ok(tasks) => tasks,
        Err(wrong) => return Answer::Error(wrong),
    };
    let share = |per_mille: u64| Share::new(per_mille, 1000).unwrap_or(Share::ZERO);
    let capacity = match raw.capacity {
        None | Some(RawCapacity::Policy(RawPolicy::Edf)) => Share::cores(1),
        Some(RawCapacity::Policy(RawPolicy::Rm)) => Share::liu_layland(tasks.len()),
        Some(RawCapacity::PerMille(per_mille)) => share(per_mille),
    };
    let cores = usize::from(raw.m);
    let found = match assigner {
        Assigner::Tasks(fit, order) => plain(&tasks, cores, capacity, fit, order),
        Assigner::Colors(method) => {
            let (Some(total), Some(colors)) = (raw.memory, raw.colors.filter(|&colors| colors > 0)) else {
                return Answer::Error("memory and colors: how much and how many there are".to_owned());
            };
            let memory = Memory { total: Bytes::new(total), colors };
            let rules = Rules { capacity, hard_limit: raw.hard_limit.map(share) };
            partition(method, &tasks, &memory, cores, rules)
        }
    };
    found.map_or_else(|error| Answer::Failed(failed(error)), Answer::Cores)
}

fn colored(at: usize, raw: &RawTask) -> Result<ColoredTask, String> {
    let class = match raw.class {
        None | Some(RawClass::Hard) => TaskClass::Hard,
        Some(RawClass::Soft) => TaskClass::Soft,
        Some(RawClass::BestEffort) => TaskClass::BestEffort,
    };
    let limit = Ticks::LIMIT.get();
    let timing = match (raw.c, raw.t) {
        (Some(c), Some(t)) if (1..=limit).contains(&c) && (1..=limit).contains(&t) => Task::implicit(c, t),
        (None, None) if class == TaskClass::BestEffort => {
            let colors = raw.colors.clone();
            return Ok(ColoredTask { timing: None, class, memory: Bytes::new(raw.memory), colors });
        }
        _ => return Err(format!("tasks[{at}]: c and t from 1 to {limit}")),
    };
    let (memory, colors) = (Bytes::new(raw.memory), raw.colors.clone());
    Ok(ColoredTask { timing: Some(timing), class, memory, colors })
}

/// Tasks one after the other, whatever their colors.
fn plain(
    tasks: &[ColoredTask],
    cores: usize,
    capacity: Share,
    fit: Fit,
    order: Order,
) -> Result<Partition, ColorError> {
    let shares: Vec<Share> = tasks.iter().map(ColoredTask::share).collect();
    pack(&shares, cores, capacity, fit, order).map_err(|task| ColorError::NoRoom {
        tasks: vec![task],
        needs: tasks.get(task).map_or(0, |task| task.share().millionths_up()),
        has: capacity.millionths(),
        loads: Vec::new(),
    })
}

fn failed(error: ColorError) -> Failed {
    let what = error.to_string();
    let failed = |equation: Option<u8>, tasks: Vec<usize>| Failed {
        equation,
        what: what.clone(),
        tasks,
        needs: None,
        has: None,
        loads: Vec::new(),
    };
    let numbers =
        |failed: Failed, needs: u128, has: u64| Failed { needs: Some(needs), has: Some(has), ..failed };
    match error {
        ColorError::BadColors { task, .. } => failed(Some(2), vec![task]),
        ColorError::Memory { needed, available } => {
            numbers(failed(Some(1), Vec::new()), needed, available.get())
        }
        ColorError::Utilization { tasks, needs, has } => numbers(failed(Some(3), tasks), needs.into(), has),
        ColorError::Partition { needed, size, .. } => {
            numbers(failed(Some(4), Vec::new()), needed.into(), size)
        }
        ColorError::HardShares { task, with } => failed(None, vec![task, with]),
        ColorError::HardUtilization { needs, has } => numbers(failed(None, Vec::new()), needs.into(), has),
        ColorError::NoRoom { tasks, needs, has, loads } => {
            Failed { loads, ..numbers(failed(Some(3), tasks), needs.into(), has) }
        }
    }
}

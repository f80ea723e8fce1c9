//! `[[application]]`: a program of one or more threads that begins anew whenever it is done.
//!
//! ```toml
//! [[application]]
//! name    = "blast"
//! threads = 4                    # 1 unless said
//! weight  = 200                  # 100 unless said
//! cores   = [0, 2, 3, 4]         # where its threads begin
//! work    = [{ serial = [{ execute = 90_000_000 }] }, { parallel = [{ execute = 700_000_000, phase = "search" }] }]
//! ```
//!
//! Each thread becomes a task that never rests. Between the parts of its work the threads wait for each other: the others give a
//! semaphore that the first takes, and the first gives each of them one of its own.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{At, Fields, Problems, integer};
use crate::tree::{Entry, Node, Table, Value};
use crate::work::{self, Surroundings};
use solo_model::work::{Lock, LockProtocol};
use solo_model::{Application, CoreId, LockId, Platform, TaskClass};
use solo_plan::{ApplicationWish, ReleaseWish, Said, TaskWish, Wish};
use std::collections::HashMap;
use std::ops::Range;

/// The most threads of an application.
const MOST_THREADS: u64 = 64;

/// An application, as far as others have to know of it before its work is read.
pub(crate) struct Head<'t> {
    fields: Fields<'t>,
    at: Range<usize>,
    name: At<&'t str>,
    threads: usize,
    weight: u32,
    cores: Vec<At<CoreId>>,
    /// What its threads wait with: the semaphore that the first takes, then one for each of the others.
    waits: Vec<String>,
}

/// Reads what all applications are called, and makes the semaphores of those with several threads.
pub(crate) fn heads<'t>(
    problems: &'t Problems,
    top: &Fields<'t>,
    platform: Option<&Platform>,
    locks: &mut Vec<Lock>,
    lock_names: &mut HashMap<String, LockId>,
) -> Vec<Head<'t>> {
    let mut heads = Vec::new();
    for at in top.tables("application", "[[application]]") {
        let mut fields = Fields::new(problems, at.value, at.span.clone(), "this application");
        let name = fields.required_string("name", "name = \"blast\"");
        if let Some(name) = &name {
            fields.what = format!("application `{}`", clip(name.value));
        }
        let threads = threads(&fields);
        let weight = fields.integer("weight", 1, Application::WEIGHT_MAX.into());
        let cores = cores(&fields, platform);
        let (Some(name), Some(threads)) = (name, threads) else { continue };
        let mut waits = Vec::new();
        for wait in (0..threads).filter(|_| threads > 1) {
            let mut own = match wait {
                0 => format!("{}: arrived", name.value),
                thread => format!("{}: thread {thread} may go on", name.value),
            };
            while lock_names.contains_key(&own) {
                own.push('\'');
            }
            lock_names.insert(own.clone(), LockId(locks.len() as u16));
            locks.push(Lock { name: own.clone(), protocol: LockProtocol::Semaphore { units: 0 } });
            waits.push(own);
        }
        let weight = weight.map_or(Application::WEIGHT, |weight| weight.value as u32);
        heads.push(Head {
            fields,
            at: at.span,
            name,
            threads,
            weight,
            cores: cores.unwrap_or_default(),
            waits,
        });
    }
    heads
}

fn threads(fields: &Fields<'_>) -> Option<usize> {
    let Some(entry) = fields.get("threads") else { return Some(1) };
    if matches!(entry.node.value, Value::Integer(Some(0))) {
        fields.problems.push(
            fields
                .problems
                .error(Code::Application, format!("{} has no threads", fields.what), &entry.node.span)
                .label("nobody does its work")
                .expected(format!("a whole number from 1 to {MOST_THREADS}")),
        );
        return None;
    }
    integer(fields.problems, &entry.node, "threads", 1, MOST_THREADS).map(|found| found.value as usize)
}

/// Where threads begin: the first on the first, and so on from the beginning again.
fn cores(fields: &Fields<'_>, platform: Option<&Platform>) -> Option<Vec<At<CoreId>>> {
    let most = platform.map_or(63, |platform| (platform.cores.len() as u64).saturating_sub(1));
    let list = fields.list("cores", "cores = [0, 1]")?;
    list.iter()
        .map(|node| {
            let found = integer(fields.problems, node, "cores", 0, most)?;
            Some(At { value: CoreId(found.value as u16), span: found.span })
        })
        .collect()
}

/// Reads the work of all applications; their threads join the tasks.
pub(crate) fn read(
    heads: Vec<Head<'_>>,
    around: &mut Surroundings<'_, '_>,
    tasks: &mut Vec<TaskWish>,
) -> Vec<ApplicationWish> {
    let read = heads.into_iter().filter_map(|head| head.read(around));
    read.map(|(application, threads)| {
        tasks.extend(threads);
        application
    })
    .collect()
}

impl Head<'_> {
    /// Its threads as tasks, and what it is to be called.
    fn read(self, around: &mut Surroundings<'_, '_>) -> Option<(ApplicationWish, Vec<TaskWish>)> {
        let list = self.fields.list("work", "work = [{ execute = 400_000_000 }]");
        if !self.fields.has("work") {
            self.fields.missing("work", "work = [{ execute = 400_000_000 }]");
        }
        let parts = list.and_then(|list| self.parts(list));
        let tasks: Option<Vec<TaskWish>> = parts.and_then(|parts| {
            let task = |thread| {
                let steps = work::read(around, &self.steps(&parts, thread))?;
                Some(self.task(thread, Said::This(Wish::new(steps, self.fields.span_of("work")))))
            };
            (0..self.threads).map(task).collect()
        });
        self.fields.finish();
        let tasks = tasks?;
        let threads = tasks.iter().map(|task| task.name.value.clone()).collect();
        let name = Wish::new(self.name.value.to_owned(), self.name.span.clone());
        Some((ApplicationWish { name, weight: self.weight, threads }, tasks))
    }

    /// The parts of its work, and whether all threads do them.
    fn parts<'n>(&self, list: &'n [Node]) -> Option<Vec<(bool, &'n [Node])>> {
        let problems = self.fields.problems;
        let complain = |headline: &str, span: &Range<usize>| {
            problems.push(problems.error(Code::Application, headline.to_owned(), span).label("here").help(
                "the work of several threads comes in parts: [{ serial = [...] }, { parallel = [...] }], each a list of steps",
            ));
        };
        let part = |node: &'n Node| {
            let Value::Table(Table { entries }) = &node.value else { return None };
            let [Entry { key, node, .. }] = entries.as_slice() else { return None };
            let Value::Array(steps) = &node.value else { return None };
            match key.as_str() {
                "serial" => Some((false, steps.as_slice())),
                "parallel" => Some((true, steps.as_slice())),
                _ => None,
            }
        };
        let parts: Vec<Option<(bool, &[Node])>> = list.iter().map(part).collect();
        if self.threads == 1 && parts.iter().all(Option::is_none) {
            return Some(vec![(true, list)]);
        }
        if let Some((node, _)) = list.iter().zip(&parts).find(|(_, part)| part.is_none()) {
            complain("a step that is in no part of an application", &node.span);
            return None;
        }
        let parts: Vec<(bool, &[Node])> = parts.into_iter().flatten().collect();
        if self.threads > 1 && !parts.iter().any(|(parallel, steps)| *parallel && !steps.is_empty()) {
            complain("an application of several threads has no parallel part", &self.fields.span_of("work"));
            return None;
        }
        Some(parts)
    }

    /// What a thread does: its own steps, and after each part it waits for the others.
    fn steps(&self, parts: &[(bool, &[Node])], thread: usize) -> Vec<Node> {
        let mut steps = Vec::new();
        let span = self.fields.span_of("work");
        let act = |verb: &str, on: Option<&String>| {
            let name = Node { span: span.clone(), value: Value::String(on.cloned().unwrap_or_default()) };
            let entry = Entry { key: verb.to_owned(), key_span: span.clone(), node: name };
            Node { span: span.clone(), value: Value::Table(Table { entries: vec![entry] }) }
        };
        for (parallel, part) in parts {
            if *parallel || thread == 0 {
                steps.extend(part.iter().cloned());
            }
            let others = 1..self.threads;
            if self.threads == 1 {
                continue;
            }
            if thread == 0 {
                steps.extend(others.clone().map(|_| act("lock", self.waits.first())));
                steps.extend(others.map(|other| act("unlock", self.waits.get(other))));
            } else {
                steps.push(act("unlock", self.waits.first()));
                steps.push(act("lock", self.waits.get(thread)));
            }
        }
        steps
    }

    fn task(&self, thread: usize, work: Said<solo_plan::Steps>) -> TaskWish {
        let name = match self.threads {
            1 => self.name.value.to_owned(),
            _ => format!("{}-{thread}", self.name.value),
        };
        let core = thread.checked_rem(self.cores.len()).and_then(|at| self.cores.get(at));
        TaskWish {
            name: Wish::new(name, self.name.span.clone()),
            at: self.at.clone().into(),
            class: TaskClass::BestEffort,
            release: Some(ReleaseWish::Continuous),
            offset: Said::Nothing,
            deadline: Said::Nothing,
            wcet: Said::Nothing,
            misses: Said::Nothing,
            curve: None,
            priority: Said::Nothing,
            core: core.map_or(Said::Nothing, |core| Said::This(Wish::new(core.value, core.span.clone()))),
            migrate: Said::Nothing,
            copies: None,
            work,
            colors: None,
            banks: None,
            ways: None,
            budget: None,
            donates: None,
        }
    }
}

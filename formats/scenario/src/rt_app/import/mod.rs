//! rt-app's description of threads as the text of a scenario.
//!
//! ```text
//!   loop for ever, one timer at the end       a periodic task; its deadline is the period
//!   loop for ever, no timer                   a continuous task, best effort
//!   loop N, no timer                          a task that runs once
//!   SCHED_DEADLINE                            EDF, hard, `wcet` = dl-runtime
//!   SCHED_FIFO, SCHED_RR                      FP, `priority` = 99 - priority
//!   SCHED_OTHER, SCHED_BATCH, SCHED_IDLE      best effort: in turn, or after the others
//! ```

mod global;
mod placement;
mod policy;
mod task;
mod write;

use super::json::{Json, Member};
use super::thread::{self, Policy, Thread, unknown, wrong_kind};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, clip};
use crate::fields::Problems;
use crate::source::Source;
use global::Global;
use solo_model::Platform;
use solo_plan::MOST_TASKS;
use std::collections::BTreeSet;
use task::Task;
use write::Written;

/// What was read.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The text of a scenario file.
    pub scenario: String,
    /// What means a little else in it than in the file that was read.
    pub notes: Vec<Diagnostic>,
}

/// Reads a file; `named` and `chip` are the scenario's name and platform.
pub(super) fn import(source: &Source, named: &str, chip: (&str, &Platform)) -> Result<Imported, Diagnostics> {
    let problems = Problems::new(source);
    let written = match super::json::parse(source.text()) {
        Ok(json) => file(&problems, &json, named, chip),
        Err((message, at)) => {
            let headline = format!("not valid JSON: {message}");
            let problem = problems.error(Code::Syntax, headline, &(at..at.saturating_add(1)));
            problems.push(problem.label("JSON cannot be read from here"));
            None
        }
    };
    let (errors, notes) = problems.finish();
    match written {
        Some(scenario) if errors.is_empty() => Ok(Imported { scenario, notes }),
        _ => Err(Diagnostics::new(errors)),
    }
}

fn file(problems: &Problems, json: &Json, named: &str, chip: (&str, &Platform)) -> Option<String> {
    let Json::Object(members) = json else {
        problems.push(problems.error(Code::WrongType, format!("the file is {}", json.kind()), &(0..1)));
        return None;
    };
    let mut global = Global { duration_s: None, policy: Policy::Shared, inheritance: false };
    let mut tasks = None;
    for member in members {
        match member.key.as_str() {
            "tasks" => tasks = Some(member),
            "global" => global::read(problems, member, &mut global),
            // Since rt-app 0.92 resources come into being where they are named.
            "resources" => {}
            _ => unknown(problems, member),
        }
    }
    let Some(tasks) = tasks else {
        problems.push(problems.error(Code::NoTasks, "a file without `tasks`", &(0..1)));
        return None;
    };
    let Json::Object(members) = &tasks.value else {
        wrong_kind(problems, tasks, "an object of threads");
        return None;
    };
    if members.is_empty() {
        problems.push(problems.error(Code::NoTasks, "no thread", &tasks.span));
    }
    if members.len() as u64 > MOST_TASKS {
        let problem = problems.error(Code::TooManyTasks, format!("{} threads", members.len()), &tasks.span);
        problems.push(problem.expected(format!("at most {MOST_TASKS}")));
        return None;
    }
    let read = |member: &Member| thread::read(problems, member, global.policy);
    let threads: Vec<Thread> = members.iter().filter_map(read).collect();
    let mut names = BTreeSet::new();
    for thread in threads.iter().filter(|thread| !names.insert(thread.name.value.as_str())) {
        let headline = format!("two threads are called `{}`", clip(&thread.name.value));
        problems.push(problems.error(Code::Duplicate, headline, &thread.name.span));
    }
    let shaped: Vec<Task> = threads.iter().filter_map(|thread| task::read(problems, thread)).collect();
    // What follows looks at threads and tasks side by side.
    if shaped.len() != threads.len() {
        return None;
    }
    policy::own_timers(problems, &threads);
    policy::one_kind(problems, &threads);
    let policy = policy::read(problems, &threads, &shaped)?;
    let cores = placement::read(problems, &threads, chip.1)?;
    if problems.errors() > 0 {
        return None;
    }
    let end = global::end(problems, &global, tasks);
    Some(write::scenario(&Written {
        named,
        chip: chip.0,
        end,
        policy,
        cores,
        threads: &threads,
        tasks: &shaped,
        global: &global,
    }))
}

//! What a scheduler that listens has done, and to whom.

use crate::report::Report;
use crate::table::class;
use crate::text;
use serde::{Deserialize, Serialize};
use solo_model::listening::Reaction;
use solo_model::{Duration, Listening};

/// A scheduler that looked at counters (`[scheduler.monitor]`). Whom it kept off its core stands with the tasks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListeningReport {
    /// What it did above the threshold.
    pub action: Reaction,
    /// How often it looked at each core.
    #[serde(rename = "period_ns")]
    pub period: Duration,
}

impl ListeningReport {
    pub(crate) const HEADER: [&'static str; 7] =
        ["listened to", "class", "kept off", "in all", "of the run", "moved", "jobs"];

    pub(crate) fn new(listening: &Listening) -> Self {
        Self { action: listening.reaction, period: listening.period }
    }

    /// One row a task that was kept off its core or was moved, in the order of the scenario.
    pub(crate) fn rows(&self, report: &Report) -> Vec<Vec<String>> {
        let moves = |migrations: u64| if self.action == Reaction::Migrate { migrations } else { 0 };
        let tasks = report.tasks.iter().filter(|task| task.held_times > 0 || moves(task.migrations) > 0);
        tasks
            .map(|task| {
                let share = u128::from(task.held.get()) * 1000 / u128::from(report.end.get().max(1));
                vec![
                    task.name.clone(),
                    class(task.class).to_owned(),
                    task.held_times.to_string(),
                    text::time(task.held),
                    format!("{}.{} %", share / 10, share % 10),
                    moves(task.migrations).to_string(),
                    task.jobs.to_string(),
                ]
            })
            .collect()
    }

    /// What it did, in a sentence.
    pub(crate) fn sentence(&self, report: &Report) -> String {
        let looked =
            format!("The scheduler looked at each core's counters every {}", text::time(self.period));
        match (self.action, self.rows(report).is_empty()) {
            (Reaction::Report, _) => format!("{looked} and did nothing about them, as asked."),
            (action, true) => format!("{looked}; `{}` had nothing to do.", action.name()),
            (action, false) => format!(
                "{looked}; above the threshold it did `{}`. Of the run: what a task lost while it was kept off its core.",
                action.name()
            ),
        }
    }
}

//! What became of tasks that were placed, for people and programs.

use super::super::guard::Put;
use super::wishes::Wishes;
use serde::Serialize;
use solo_model::text::{Printable, counted};
use solo_model::{CoreId, Duration, TaskClass};
use solo_place::Ended;
use solo_place::record::Replayed;
use solo_report::table::{self, Style};

/// What became of tasks that were placed.
#[derive(Serialize)]
pub(super) struct Answer {
    policy: &'static str,
    metric: String,
    tier: &'static str,
    period_ns: u64,
    length_ns: u64,
    /// Every decision was the policy's, and everything was put back.
    pub(super) held: bool,
    tasks: Vec<Task>,
    cores: Vec<Core>,
    decisions: Decisions,
    periods: Periods,
    settings: Vec<Put>,
    doubts: Vec<String>,
}

#[derive(Serialize)]
struct Task {
    name: String,
    class: TaskClass,
    first_core: u16,
    last_core: Option<u16>,
    moved: u64,
    held: u64,
    weighed: u64,
    divided: u64,
    gone: u64,
    theirs: u64,
    refused: u64,
    strayed: bool,
    status: Option<u8>,
}

#[derive(Serialize)]
struct Core {
    core: u16,
    samples: u64,
    counted: u64,
    held: u64,
    moved: u64,
}

#[derive(Serialize)]
struct Decisions {
    compared: u64,
    disagreements: u64,
    senseless: u64,
}

#[derive(Serialize)]
struct Periods {
    looks: u64,
    missed: u64,
    latest_ns: u64,
}

impl Answer {
    pub(super) fn of(wishes: &Wishes, ended: &Ended) -> Self {
        let tasks = wishes.placing.tasks.iter().enumerate().map(|(place, task)| {
            let tally = ended.tallies.get(place).copied().unwrap_or_default();
            Task {
                name: task.name.clone(),
                class: task.class,
                first_core: task.core.0,
                last_core: ended.homes.get(place).copied().flatten().map(|core| core.0),
                moved: tally.moved,
                held: tally.held,
                weighed: tally.weighed,
                divided: tally.divided,
                gone: tally.gone,
                theirs: tally.theirs,
                refused: tally.refused,
                strayed: ended.strayed.get(place).copied().unwrap_or(false),
                status: ended.statuses.get(place).copied().flatten(),
            }
        });
        let cores = (0..).zip(&ended.heard).filter(|(_, heard)| heard.samples > 0);
        let core = |(core, heard): (u16, &solo_model::listening::CoreHeard)| Core {
            core,
            samples: heard.samples,
            counted: heard.counted,
            held: heard.held,
            moved: heard.moved,
        };
        let tasks: Vec<Task> = tasks.collect();
        let mut doubts = wishes.doubts.clone();
        doubts.extend(ended.notes.iter().cloned());
        doubts.extend(tasks.iter().flat_map(Task::doubts));
        if ended.missed > 0 {
            let periods = counted(ended.missed, "period");
            doubts.push(format!(
                "{periods} could not be looked at in time; the counts of two belong to one then"
            ));
        }
        if ended.multiplexed > 0 {
            let readings = counted(ended.multiplexed, "reading");
            doubts.push(format!("{readings} of events that were not on a counter all the time"));
        }
        let listening = &wishes.placing.listening;
        Self {
            policy: listening.reaction.name(),
            metric: wishes.metric(),
            tier: "B",
            period_ns: listening.period.get(),
            length_ns: ended.elapsed.get(),
            held: ended.disagreements == 0 && ended.restored.is_whole(),
            tasks,
            cores: cores.map(core).collect(),
            decisions: Decisions {
                compared: ended.compared,
                disagreements: ended.disagreements,
                senseless: ended.senseless,
            },
            periods: Periods { looks: ended.looks, missed: ended.missed, latest_ns: ended.latest.get() },
            settings: Put::all(&ended.restored),
            doubts,
        }
    }

    /// For people.
    pub(super) fn text(&self, style: Style) -> String {
        let mut text = format!(
            "{} over {}, in each {}, for {}\n\n",
            self.policy,
            Printable(&self.metric),
            table::time(Duration::new(self.period_ns)),
            table::time(Duration::new(self.length_ns))
        );
        let header = ["task", "class", "first on", "last on", "moved", "held", "ways given", "not done"];
        let rows: Vec<Vec<String>> = self.tasks.iter().map(Task::row).collect();
        text += &table::plain(&header, 2, &rows, style);
        text += "\n";
        let header = ["CPU", "samples", "counted", "held", "moved"];
        let row = |core: &Core| {
            [u64::from(core.core), core.samples, core.counted, core.held, core.moved]
                .map(|n| n.to_string())
                .to_vec()
        };
        text += &table::plain(&header, 1, &self.cores.iter().map(row).collect::<Vec<_>>(), style);
        text += &table::sentence(
            &format!(
                "tier B: the placement outside the kernel, fed by counters; {} told again, {} answered otherwise\n",
                counted(self.decisions.compared, "observation"),
                self.decisions.disagreements
            ),
            style,
        );
        for doubt in &self.doubts {
            text += &table::sentence(&format!("doubt: {}\n", Printable(doubt)), style);
        }
        text
    }
}

impl Task {
    fn row(&self) -> Vec<String> {
        let core = |core: Option<u16>| core.map_or_else(|| "-".to_owned(), |core| CoreId(core).to_string());
        vec![
            Printable(&self.name).to_string(),
            match self.class {
                TaskClass::Hard => "hard",
                TaskClass::Soft => "soft",
                TaskClass::BestEffort => "best effort",
            }
            .to_owned(),
            core(Some(self.first_core)),
            core(self.last_core),
            self.moved.to_string(),
            self.held.to_string(),
            self.divided.to_string(),
            (self.gone + self.theirs + self.refused).to_string(),
        ]
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let name = Printable(&self.name);
        if self.strayed {
            doubts.push(format!(
                "task {name} has changed its own CPUs, or somebody has: they are left as they are"
            ));
        }
        if self.gone > 0 {
            doubts.push(format!(
                "task {name} had ended before {} could be carried out",
                counted(self.gone, "decision")
            ));
        }
        doubts
    }
}

/// What came of telling a record again.
#[derive(Serialize)]
pub(super) struct Again {
    policy: &'static str,
    observations: u64,
    decisions: u64,
    disagreements: u64,
    first_line: Option<u64>,
    cut_off: bool,
}

impl Again {
    pub(super) fn of(replayed: &Replayed) -> Self {
        Self {
            policy: replayed.policy,
            observations: replayed.told,
            decisions: replayed.decisions,
            disagreements: replayed.otherwise.len() as u64,
            first_line: replayed.otherwise.first().copied(),
            cut_off: replayed.cut_off,
        }
    }
}

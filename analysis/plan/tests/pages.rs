//! Pages that are locked in the windows of a partition are what proves a deadline: without them there is no plan, with them the bound
//! holds on the simulated machine (SCE 2.4, 3.1).

use solo_model::record::Record;
use solo_model::units::PerMille;
use solo_model::{EventId, Instant};
use solo_plan::{Ending, NoPlan, Search, search};
use solo_prove::Effort;
use solo_prove::system::{System, TaskFinding};
use solo_scenario::{Platforms, requests};
use std::ops::ControlFlow;
use std::path::Path;

const SCENARIO: &str = include_str!("../../../scenarios/planned/pages.toml");

fn searched(text: &str) -> Search {
    let found = requests(text, Path::new("pages.toml"), &Platforms::builtin(), &Default::default());
    search(&found.unwrap_or_else(|report| panic!("{}\n{text}", report.to_json()))[0])
}

/// Of the first task: the longest response in nanoseconds, how many jobs it finished, and the most misses of one.
struct Longest(u64, u64, u64);

impl solo_sim::Observer for Longest {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        let response = match record {
            Record::Job(job) if job.task.0 == 0 => {
                self.2 = self.2.max(job.counts.get(EventId::LLC_MISSES).unwrap_or(0));
                job.response()
            }
            Record::Unfinished(job) if job.task.0 == 0 => job.at.since(job.release),
            Record::Skipped(job) if job.task.0 == 0 => job.at.since(job.release),
            _ => return ControlFlow::Continue(()),
        };
        (self.0, self.1) = (self.0.max(response.get()), self.1 + 1);
        ControlFlow::Continue(())
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

#[test]
fn a_deadline_is_proved_by_pages_of_a_window_and_not_without_them() {
    let text = SCENARIO.replace("duration = \"2s\"", "duration = \"400ms\"");
    assert_ne!(text, SCENARIO);
    let Ending::Planned(planned) = searched(&text).ending else { panic!("there is a plan") };
    let experiment = &planned.plan.experiment;
    let locked = experiment.isolation.lockdown.as_ref().expect("pages are locked").pages.len();
    assert_eq!(locked, 24, "the curve has less time with 24 pages than with 62 where loading is counted");
    let TaskFinding::Proved(proof) = &planned.judged.tasks[0].outcome else { panic!("it is proved") };

    let mut longest = Longest(0, 0, 0);
    solo_sim::run(experiment, &[], &mut longest).expect("it runs");
    let Longest(longest, jobs, misses) = longest;
    assert!(jobs >= 7 && longest <= proof.bound.get(), "{jobs} jobs, {longest} ns above {}", proof.bound);

    // A job that is the first of its window loads the pages, and their lines are counted for it.
    let declared = experiment.tasks[0].misses.expect("the curve says it");
    let loaded = System::of(experiment).loaded_within(0, proof.bound);
    assert!(misses > declared && misses <= declared + loaded, "{misses} of {declared} and {loaded}");

    // The same windows without pages: a job takes what it takes without.
    let mut open = experiment.clone();
    open.isolation.lockdown = None;
    (open.tasks[0].wcet, open.tasks[0].misses) =
        (Some(solo_model::Duration::from_micros(7440)), Some(60_000));
    let judged = System::of(&open).judge(&mut Effort::steps(1 << 24));
    assert!(matches!(judged.tasks[0].outcome, TaskFinding::NotProved(_)), "{:?}", judged.tasks[0].outcome);

    // And no other windows do without them.
    let lines = text
        .lines()
        .filter(|line| !["12", "24", "62"].iter().any(|n| line.contains(&format!("pages = {n},"))));
    let cut: String = lines.map(|line| format!("{line}\n")).collect();
    let Ending::Impossible(NoPlan::Late { needs, has, .. }) = searched(&cut).ending else {
        panic!("there is no plan without pages")
    };
    assert!(needs > has);
    println!("{jobs} jobs took {longest} ns at most, bound {}; without pages {needs} of {has}", proof.bound);
}

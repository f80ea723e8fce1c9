//! Drawn scenarios: what is planned runs without a miss and below its bounds, and where there is no plan what is named really lacks, by
//! a count of its own.

use solo_model::random::SplitMix64;
use solo_model::record::Record;
use solo_model::units::PerMille;
use solo_model::{Experiment, Instant, TaskClass};
use solo_plan::{Ending, NoPlan, Search, search};
use solo_prove::system::{Overall, Proof, TaskFinding};
use solo_scenario::{Platforms, requests};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// A task as it was drawn, for counts.
#[derive(Clone)]
struct Drawn {
    /// Microseconds.
    period: u64,
    wcet: u64,
    misses: u64,
    writes: bool,
}

struct Dice(SplitMix64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit.max(1))
    }
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A scenario that assigns nothing: hard tasks, of which some use memory, and streams beside them, half of the time in partitions.
fn scenario(seed: u64) -> (String, Vec<Drawn>) {
    let mut dice = Dice(SplitMix64::derived(seed, &[0x0064_7261_776e]));
    let heavy = dice.between(1, 14);
    let policy = dice.pick(&["P-RM", "P-EDF"]);
    let mut text = format!(
        "name = \"drawn\"\nplatform = \"p4080\"\nduration = \"60ms\"\nseed = {seed}\n[scheduler]\npolicy = \"{policy}\"\n"
    );
    if dice.below(2) == 0 {
        text += "overheads = \"epos-thesis\"\n";
    }
    let (mut tasks, mut names, mut body) = (Vec::new(), Vec::new(), String::new());
    for at in 0..dice.between(4, 24) {
        let period = dice.pick(&[5_000, 10_000, 20_000, 25_000]);
        let _ = write!(body, "[[task]]\nname = \"t{at}\"\nclass = \"hard\"\nperiod = \"{period}us\"\n");
        let compute = dice.between(100, period * heavy / 20);
        let mut drawn = Drawn { period, wcet: compute, misses: 0, writes: false };
        if at < 4 && dice.below(3) > 0 {
            // Alone, an access takes 400 ns at most, and misses once at most.
            let accesses = dice.between(20, 400 * heavy);
            let writes = dice.pick(&["0%", "30%"]);
            let (pattern, size) =
                (dice.pick(&["sweep", "random", "chase"]), dice.pick(&["16KiB", "64KiB", "96KiB"]));
            drawn.wcet += accesses * 4 / 10 + 1;
            drawn.misses = accesses;
            drawn.writes = writes != "0%";
            let _ = write!(
                body,
                "wcet = \"{}us\"\nmisses = {accesses}\nwork = [{{ compute = \"{compute}us\" }}, {{ {pattern} = \"{size}\", stride = \
                 \"64B\", writes = \"{writes}\", accesses = {accesses} }}]\n",
                drawn.wcet
            );
        } else {
            let _ = writeln!(body, "work = [{{ compute = \"{compute}us\" }}]");
        }
        names.push(format!("t{at}"));
        tasks.push(drawn);
    }
    for at in 0..dice.below(5) {
        let writes = dice.pick(&["0%", "50%"]);
        let _ = write!(
            body,
            "[[task]]\nname = \"s{at}\"\nclass = \"best-effort\"\nwork = [{{ stream = \"2MiB\", stride = \"64B\", writes = \"{writes}\" }}]\n"
        );
        names.push(format!("s{at}"));
        tasks.push(Drawn { period: 0, wcet: 0, misses: 0, writes: writes != "0%" });
    }
    if dice.below(2) == 0 {
        text += "[isolation.partitions]\n";
        let mut rest = names.as_slice();
        let mut at = 0;
        while !rest.is_empty() {
            let (own, others) = rest.split_at((dice.between(1, 2) as usize).min(rest.len()));
            let _ = writeln!(text, "p{at} = {own:?}");
            (rest, at) = (others, at + 1);
        }
    }
    (text + &body, tasks)
}

/// Hears of each job: what is late, and what took longer than its bound.
struct Holding<'a> {
    experiment: &'a Experiment,
    proofs: Vec<Option<Proof>>,
    /// Jobs of hard tasks that ended.
    jobs: u64,
    found: Option<String>,
}

impl solo_sim::Observer for Holding<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        let (task, response) = match record {
            Record::Job(job) => (job.task, job.response()),
            Record::Unfinished(job) => (job.task, job.at.since(job.release)),
            Record::Skipped(job) => (job.task, job.at.since(job.release)),
            _ => return ControlFlow::Continue(()),
        };
        let of = &self.experiment.tasks[task.index()];
        if of.class != TaskClass::Hard {
            return ControlFlow::Continue(());
        }
        self.jobs += 1;
        let late = of.relative_deadline().is_some_and(|deadline| response > deadline);
        let above = self.proofs[task.index()].as_ref().is_some_and(|proof| response > proof.bound);
        if late || above {
            self.found = Some(format!("{} took {response}: late {late}, above its bound {above}", of.name));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
    fn progress(&mut self, _: Instant, _: PerMille) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn searched(text: &str) -> Search {
    let found = requests(text, Path::new("drawn.toml"), &Platforms::builtin(), &Default::default());
    search(&found.unwrap_or_else(|report| panic!("{}\n{text}", report.to_json()))[0])
}

/// What is said to lack, counted from what was drawn.
fn really_lacks(lack: &NoPlan, tasks: &[Drawn], search: &Search) -> Result<(), String> {
    let share = |task: &Drawn| if task.period == 0 { 0.0 } else { task.wcet as f64 / task.period as f64 };
    let asked: f64 = tasks.iter().map(share).sum();
    match lack {
        NoPlan::Processors { .. } if asked > 8.0 => Ok(()),
        NoPlan::Bandwidth { .. } => {
            let each = |task: &Drawn| {
                if task.period == 0 { 0.0 } else { task.misses as f64 * 64e6 / task.period as f64 }
            };
            let there = if tasks.iter().any(|task| task.writes) { 1183e6 / 2.0 } else { 1263e6 };
            let needed: f64 = tasks.iter().map(each).sum();
            if needed > there { Ok(()) } else { Err(format!("{needed} of {there} bytes a second")) }
        }
        // No order of tasks was found in which each core has room: with half of all time free, one of these would.
        NoPlan::NoRoom { .. } if asked > 4.0 => Ok(()),
        NoPlan::Windows { asked, .. } if *asked > 1_000_000 => Ok(()),
        NoPlan::Late { needs, has, .. } if needs > has && !search.rounds.is_empty() => Ok(()),
        other => Err(format!("{other:?}, and tasks ask for {asked} cores")),
    }
}

#[test]
fn what_is_planned_runs_without_a_miss_and_below_its_bounds() {
    let said = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let (first, count) = (said("SOLO_FIRST_SEED").unwrap_or(0), said("SOLO_PLANS").unwrap_or(40));
    let (mut planned_sets, mut divided, mut budgeted, mut conditional, mut refused, mut jobs) =
        (0, 0, 0, 0, 0, 0);
    for seed in first..first + count {
        let (text, tasks) = scenario(seed);
        let search = searched(&text);
        let planned = match &search.ending {
            Ending::Planned(planned) => planned,
            Ending::Impossible(lack) => {
                refused += 1;
                really_lacks(lack, &tasks, &search)
                    .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
                continue;
            }
            Ending::Refused(refused) => panic!("seed {seed}: {refused:?}\n{text}"),
        };
        planned_sets += 1;
        divided += u64::from(!planned.divisions.is_empty());
        budgeted += u64::from(!search.choices.budgets.is_empty());
        conditional += u64::from(planned.overall == Overall::Conditional);
        assert!(
            matches!(planned.overall, Overall::Proved | Overall::Conditional),
            "seed {seed}: {:?}",
            planned.overall
        );
        let proof = |finding: &TaskFinding| match finding {
            TaskFinding::Proved(proof) => Some(proof.clone()),
            _ => None,
        };
        let experiment = &planned.plan.experiment;
        let proofs = planned.judged.tasks.iter().map(|task| proof(&task.outcome)).collect();
        let mut holding = Holding { experiment, proofs, jobs: 0, found: None };
        solo_sim::run(experiment, &[], &mut holding)
            .unwrap_or_else(|why| panic!("seed {seed}: {why}\n{text}"));
        jobs += holding.jobs;
        // A condition that does not hold is no fault of the plan: none was seen not to.
        assert_eq!(holding.found, None, "seed {seed}\n{text}");
    }
    println!(
        "{planned_sets} planned ({divided} with windows, {budgeted} with budgets, {conditional} conditional), {refused} refused; {jobs} jobs"
    );
    assert!(
        planned_sets * 3 > count && (count < 40 || divided * 5 > count && refused * 12 > count),
        "{planned_sets} {divided} {refused}"
    );
}

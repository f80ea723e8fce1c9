//! The long campaigns: what every test run tries some times is tried on other seeds, batch by batch, until its time is over or
//! as many were tried as were asked for.
//!
//! ```text
//!   proofs       drawn scenarios: no job responds later than was proved
//!   windows      the same on cores whose time is divided, with what crosses the border of a window
//!   memory       the same with memory work of all kinds below and beside
//!   budgets      the same with bandwidth budgets, which what misses the caches uses up
//!   everything   all that a scenario may say at once: a bound holds, or the refusal names why there is none
//!   mistakes     bounds that somebody makes who forgets a core, writes, or a spent budget: each is exceeded
//!   uniform      sets on cores of several speeds: nobody is late where the test for them accepts
//!   fastest      the same where the most urgent job has the fastest core, beside the definition of that order
//!   wcet         jobs beside hogs: none takes longer than its time alone and its bound of stalls
//!   tardiness    sets that fill all cores: no job is later than the bound under global EDF
//!   guarantees   admitted budgets: each core gets what it has reserved
//!   twice        budgets of twice what there is: always found out
//!   schedules    small sets with locks and sleeps: the kernel does what a scheduler written from the definitions does
//!   overflows    counters whose interrupts get lost, come late, together or for nothing: nothing wedges, the loss is told
//!   kills        `solo guard` killed at any moment: nothing stays as it set it
//!   placements   `solo place` killed at any moment: nobody stays moved or held
//!   boots        the bare-metal image on changing machines
//!   arm64-boots  the same for 64-bit Arm
//!   random       scenarios on bare metal, on both instruction sets: every record is the ideal machine's
//!   counters     budgets of instructions on 64-bit Arm, period by period
//! ```

use crate::{cargo, setup};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

/// One thing that is tried many times.
struct Campaign {
    name: &'static str,
    /// The test program and the test, or `None` for boots.
    test: Option<(&'static str, &'static str)>,
    /// The variable that says how many seeds a batch has; of boots, the instruction set.
    variable: &'static str,
    /// Seeds in a batch.
    batch: u64,
    /// Seeds in all.
    aim: u64,
}

const CAMPAIGNS: [Campaign; 20] = [
    Campaign {
        name: "proofs",
        test: Some(("system", "no_job_exceeds_its_bound")),
        variable: "SOLO_PROVE_SETS",
        batch: 10_000,
        aim: 200_000,
    },
    Campaign {
        name: "memory",
        test: Some(("system", "memory::memory_work_below_never_breaks_the_bounds_of_tasks_that_compute")),
        variable: "SOLO_PROVE_SETS",
        batch: 500,
        aim: 10_000,
    },
    Campaign {
        name: "windows",
        test: Some(("system", "no_job_exceeds_its_bound_in_the_windows_of_its_partition")),
        variable: "SOLO_PROVE_SETS",
        batch: 3_000,
        aim: 60_000,
    },
    Campaign {
        name: "budgets",
        test: Some((
            "system",
            "interference::no_job_exceeds_its_bound_beside_cores_that_keep_to_their_budgets",
        )),
        variable: "SOLO_PROVE_SETS",
        batch: 200,
        aim: 5_000,
    },
    Campaign {
        name: "everything",
        test: Some(("system", "everything::a_bound_holds_or_the_refusal_names_why_there_is_none")),
        variable: "SOLO_PROVE_SETS",
        batch: 250,
        aim: 2_000,
    },
    Campaign {
        name: "mistakes",
        test: Some(("system", "everything::each_mistake_in_a_bound_is_found_out")),
        variable: "SOLO_PROVE_SETS",
        batch: 100,
        aim: 400,
    },
    Campaign {
        name: "uniform",
        test: Some(("system", "uniform::nobody_is_late_where_cores_of_several_speeds_suffice")),
        variable: "SOLO_PROVE_SETS",
        batch: 5_000,
        aim: 100_000,
    },
    Campaign {
        name: "fastest",
        test: Some(("system", "uniform::nobody_is_late_where_the_most_urgent_job_has_the_fastest_core")),
        variable: "SOLO_PROVE_SETS",
        batch: 5_000,
        aim: 200_000,
    },
    Campaign {
        name: "wcet",
        test: Some(("wcet", "no_job_beside_hogs_takes_longer_than_its_bound")),
        variable: "SOLO_PROVE_SETS",
        batch: 50,
        aim: 1000,
    },
    Campaign {
        name: "tardiness",
        test: Some(("system", "tardiness::no_job_is_later_than_the_bound_and_some_comes_half_way")),
        variable: "SOLO_PROVE_SETS",
        batch: 5_000,
        aim: 100_000,
    },
    Campaign {
        name: "guarantees",
        test: Some(("guarantees", "admitted_reservations_are_delivered")),
        variable: "SOLO_GUARANTEE_SEEDS",
        batch: 50,
        aim: 500,
    },
    Campaign {
        name: "twice",
        test: Some(("guarantees", "a_guarantee_of_twice_what_there_is_is_always_caught")),
        variable: "SOLO_GUARANTEE_SEEDS",
        batch: 40,
        aim: 200,
    },
    Campaign {
        name: "schedules",
        test: Some(("reference", "the_kernel_does_what_the_definitions_say")),
        variable: "SOLO_REFERENCE_SETS",
        batch: 50_000,
        aim: 1_000_000,
    },
    Campaign {
        name: "overflows",
        test: Some((
            "overflow_faults",
            "whatever_becomes_of_interrupts_nothing_wedges_and_what_was_lost_is_told",
        )),
        variable: "SOLO_OVERFLOW_PLANS",
        batch: 100_000,
        aim: 1_000_000,
    },
    Campaign {
        name: "kills",
        test: Some(("guard", "a_guard_that_is_killed_leaves_nothing_behind")),
        variable: "SOLO_GUARD_KILLS",
        batch: 100,
        aim: 1000,
    },
    Campaign {
        name: "placements",
        test: Some(("place", "one_that_is_killed_at_any_moment_leaves_nothing_moved_or_held")),
        variable: "SOLO_PLACE_KILLS",
        batch: 100,
        aim: 1000,
    },
    Campaign { name: "boots", test: None, variable: "x86-64", batch: 100, aim: 1000 },
    Campaign { name: "arm64-boots", test: None, variable: "arm64", batch: 100, aim: 1000 },
    Campaign {
        name: "random",
        test: Some((
            "random",
            "arm64::random_scenarios_are_decided_as_on_the_ideal_and_the_simulated_machine",
        )),
        variable: "SOLO_RANDOM_SCENARIOS",
        batch: 1000,
        aim: 10_000,
    },
    Campaign {
        name: "counters",
        test: Some(("budgets", "arm64::a_core_executes_its_budget_and_what_its_interrupt_takes")),
        variable: "SOLO_BUDGET_PERIODS",
        batch: 20_000,
        aim: 100_000,
    },
];

/// What to try, for how long, and from which seed on.
#[derive(clap::Args)]
pub(crate) struct Soak {
    /// Only these campaigns
    #[arg(value_parser = CAMPAIGNS.map(|campaign| campaign.name).to_vec())]
    campaigns: Vec<String>,
    /// A campaign begins no batch after so many minutes
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// The first seed; with 0 the batch of every test run is tried again
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// End each campaign after so many seeds or boots, instead of its own number
    #[arg(long)]
    count: Option<u64>,
}

/// Runs the campaigns and prints a line for each; 1 where something failed.
pub(crate) fn run(soak: &Soak) -> Result<i32> {
    let wanted = |campaign: &&Campaign| {
        soak.campaigns.is_empty() || soak.campaigns.iter().any(|name| name == campaign.name)
    };
    let mut lines = Vec::new();
    let mut failures = 0;
    for campaign in CAMPAIGNS.iter().filter(wanted) {
        let found = one(campaign, soak)?;
        failures += found.failed.len();
        lines.extend(found.told());
        lines.push(found.line(campaign));
    }
    for line in lines {
        println!("{line}");
    }
    Ok(i32::from(failures > 0))
}

/// What came of a campaign.
#[derive(Default)]
struct Found {
    tried: u64,
    first: u64,
    took: Duration,
    /// The first seeds of the batches that failed.
    failed: Vec<u64>,
    /// What the batches counted, added up.
    counts: BTreeMap<String, u64>,
}

impl Found {
    /// Adds the lines `count: WHAT = NUMBER` that a batch printed.
    fn count(&mut self, text: &str) {
        for line in text.lines() {
            let said = line.trim().strip_prefix("count: ").and_then(|said| said.rsplit_once(" = "));
            if let Some((what, Ok(number))) = said.map(|(what, number)| (what, number.parse::<u64>())) {
                *self.counts.entry(what.to_owned()).or_default() += number;
            }
        }
    }

    /// What was counted: of those of one kind, whose names begin alike up to a colon, each with its share.
    fn told(&self) -> Vec<String> {
        let kind = |what: &str| what.split_once(": ").map_or(String::new(), |(kind, _)| kind.to_owned());
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (what, number) in &self.counts {
            *sums.entry(kind(what)).or_default() += number;
        }
        let line = |(what, &number): (&String, &u64)| {
            let sum = sums.get(&kind(what)).copied().unwrap_or(0).max(1);
            let share = number * 1000 / sum;
            match kind(what).as_str() {
                "" => format!("    {number:7}         {what}"),
                _ => format!("    {number:7} {:3}.{} %  {what}", share / 10, share % 10),
            }
        };
        self.counts.iter().map(line).collect()
    }

    fn line(&self, campaign: &Campaign) -> String {
        let what = if campaign.test.is_some() { "seeds" } else { "boots" };
        let last = (self.first + self.tried).saturating_sub(1);
        let outcome = match self.failed.as_slice() {
            [] => "nothing found".to_owned(),
            failed => format!("FAILED in the batches that begin with {failed:?}, see above"),
        };
        let (name, tried, seconds) = (campaign.name, self.tried, self.took.as_secs());
        format!("soak: {name}: {tried} {what} ({} to {last}) in {seconds} s: {outcome}", self.first)
    }
}

fn one(campaign: &Campaign, soak: &Soak) -> Result<Found> {
    let mut found = Found { first: soak.first, ..Found::default() };
    let aim = soak.count.unwrap_or(campaign.aim);
    if campaign.test.is_none() {
        setup::prepare()?;
    }
    let started = Instant::now();
    while found.tried < aim && started.elapsed() < Duration::from_secs(soak.minutes.saturating_mul(60)) {
        let batch = campaign.batch.min(aim - found.tried);
        let first = soak.first.saturating_add(found.tried);
        eprintln!("soak: {}: {batch} from {first} on", campaign.name);
        let mut command = command(campaign, first, batch);
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && campaign.test.is_some() && !text.contains("1 passed") {
            bail!("{}: no test has this name: {command:?}\n{text}", campaign.name);
        }
        found.count(&text);
        if !output.status.success() {
            found.failed.push(first);
            println!("{text}{}", String::from_utf8_lossy(&output.stderr));
        }
        found.tried += batch;
        found.took = started.elapsed();
    }
    Ok(found)
}

fn command(campaign: &Campaign, first: u64, batch: u64) -> Command {
    let Some((program, test)) = campaign.test else {
        let mut boots =
            cargo(&["run", "--quiet", "--release", "--package", "solo-qemu", "--example", "soak", "--"]);
        boots.arg(batch.to_string()).arg(campaign.variable);
        return boots;
    };
    let mut command =
        cargo(&["test", "--workspace", "--quiet", "--test", program, "--", "--nocapture", "--exact", test]);
    command.env(campaign.variable, batch.to_string()).env("SOLO_FIRST_SEED", first.to_string());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_tells_what_it_tried_and_where_it_failed() {
        let mut found = Found { tried: 500, first: 100, took: Duration::from_secs(7), ..Found::default() };
        let campaign = CAMPAIGNS.iter().find(|campaign| campaign.name == "guarantees").expect("it is one");
        let line = |found: &Found| found.line(campaign);
        assert_eq!(line(&found), "soak: guarantees: 500 seeds (100 to 599) in 7 s: nothing found");
        found.failed.push(150);
        assert!(line(&found).contains("FAILED in the batches that begin with [150]"));
    }

    #[test]
    fn what_batches_count_is_added_up() {
        let mut found = Found::default();
        found.count("running 1 test\ncount: case: bound = 3\ncount: policy P-RM = 4\n.");
        found.count("count: case: bound = 6\ncount: case: none, and why = 1\ncount: odd\n");
        let told = found.told();
        assert_eq!(
            told,
            [
                "          9  90.0 %  case: bound",
                "          1  10.0 %  case: none, and why",
                "          4         policy P-RM"
            ]
        );
    }

    /// Who looks for a campaign looks there.
    #[test]
    fn hacking_lists_every_campaign() {
        let hacking = std::fs::read_to_string(crate::root().join("HACKING.md")).expect("it is there");
        let list =
            hacking.lines().find(|line| line.starts_with("The campaigns of `./x soak`")).expect("a list");
        for campaign in CAMPAIGNS {
            assert!(
                list.contains(&format!("`{}`", campaign.name)),
                "{} is missing in: {list}",
                campaign.name
            );
        }
    }

    /// A renamed test would otherwise be found out by the next soak only.
    #[test]
    fn the_tests_of_the_campaigns_exist() {
        let folders = [
            "analysis/prove/tests",
            "analysis/prove/tests/system",
            "machines/sim/tests",
            "core/kernel/tests",
            "core/kernel/tests/reference",
            "machines/qemu/tests",
            "solo/tests",
        ];
        let texts: Vec<String> = folders
            .iter()
            .flat_map(|folder| std::fs::read_dir(crate::root().join(folder)).expect("a folder of tests"))
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok())
            .collect();
        for (_, test) in CAMPAIGNS.iter().filter_map(|campaign| campaign.test) {
            let name = test.rsplit("::").next().unwrap_or(test);
            // A function, or a name that a program of tests gives to one of its own for each instruction set.
            let forms = [format!("fn {name}()"), format!("\"{name}\"")];
            assert!(forms.iter().any(|form| texts.iter().any(|text| text.contains(form))), "{name}");
        }
    }
}

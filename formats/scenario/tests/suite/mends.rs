//! What a refusal advises is admitted: budgets are set as its words say, and the scenario is read again.

use solo_scenario::{Platforms, parse};
use std::path::Path;

/// Budgets of three cores, in MiB/s, and what else uses memory.
struct Case {
    counts: &'static str,
    /// The share of accesses that write.
    writes: &'static str,
    /// Whether budgets of writes are said.
    both: bool,
    /// What DMA takes, in MiB/s.
    dma: u64,
}

fn text(case: &Case, reads: f64, writes: f64) -> String {
    let mut text =
        "name = \"m\"\nplatform = \"xeon-w3530\"\nduration = \"10ms\"\n[scheduler]\npolicy = \"P-RM\"\n"
            .to_owned();
    for core in 0..3 {
        text += &format!(
            "[[task]]\nname = \"t{core}\"\nclass = \"best-effort\"\ncore = {core}\n\
             work = [{{ stream = \"16MiB\", writes = \"{}\" }}]\n",
            case.writes
        );
    }
    // Whole bytes: no finer rate can be written down.
    let rate = |each: f64| match each.fract() == 0.0 {
        true => format!("{each}MiB/s"),
        false => format!("{}B/s", (each * f64::from(1 << 20)) as u64),
    };
    let budgets = |each: f64| format!("{{ 0 = \"{0}\", 1 = \"{0}\", 2 = \"{0}\" }}", rate(each));
    text += &format!("[isolation.bandwidth]\ncounts = \"{}\"\ncores = {}\n", case.counts, budgets(reads));
    if case.both {
        text += &format!("writes = {}\n", budgets(writes));
    }
    if case.dma > 0 {
        text += &format!("dma = {{ camera = \"{}MiB/s\" }}\n", case.dma);
        text += "[[device]]\nname = \"camera\"\nowner = \"t0\"\ndirection = \"output\"\nmoves = \"1MiB\"\nperiod = \"10ms\"\n";
    }
    text
}

/// What the refusal of these budgets says; `None` where they are admitted.
fn refusal(case: &Case, reads: f64, writes: f64) -> Option<String> {
    let report = parse(&text(case, reads, writes), Path::new("m.toml"), &Platforms::builtin()).err()?;
    // Lines are broken where they are drawn.
    Some(report.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn budgets_lowered_as_a_refusal_says_are_admitted() {
    let mut advised = 0;
    for counts in ["llc_misses", "dram_reads", "reads-and-writes"] {
        for writes in ["0%", "50%"] {
            for dma in [0, 300, 700] {
                for both in [false, true] {
                    if both && counts != "reads-and-writes" {
                        continue;
                    }
                    let case = Case { counts, writes, both, dma };
                    let said = refusal(&case, 2000.0, 2000.0).expect("6000 MiB/s are too much");
                    let (_, rest) = said.split_once("lower the budgets").expect("an advice");
                    let (_, rest) = rest.split_once(" to ").expect("a number");
                    let together: f64 =
                        rest.split("MiB/s").next().unwrap().parse().expect("a number of MiB/s");
                    // Of reads and of writes, where both have budgets: writes are half where they are not said.
                    let (reads, written) = match (counts == "reads-and-writes", both) {
                        (false, _) => (together / 3.0, 0.0),
                        (true, false) => (together / 4.5, 0.0),
                        (true, true) => (together / 6.0, together / 6.0),
                    };
                    let what = format!("{counts}, {writes} writes, DMA {dma}, both {both}: {said}");
                    assert_eq!(refusal(&case, reads, written), None, "{what}");
                    assert!(
                        refusal(&case, reads * 1.1, written * 1.1).is_some(),
                        "a tenth more fits, too: {what}"
                    );
                    advised += 1;
                }
            }
        }
    }
    assert_eq!(advised, 24);
}

#[test]
fn dma_that_leaves_nothing_is_what_has_to_be_lowered() {
    let case = Case { counts: "llc_misses", writes: "0%", both: false, dma: 5000 };
    let said = refusal(&case, 10.0, 0.0).expect("it can't be had");
    assert!(said.contains("lower `dma`") && !said.contains("lower the budgets"), "{said}");
}

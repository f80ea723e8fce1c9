//! Schedulers for big and small cores on the workloads of PMCTrack's Tables 2 and 3 (Figs. 8 and 9): aggregate speedup and unfairness.
//!
//! `cargo run --release -p solo-sim --example asymmetric`
//!
//! The programs are not the paper's: each stands for its class. A program goes to and fro between two phases, whose speedup factors
//! are drawn by its name within the range of its class, and knows nothing of memory.
#![allow(clippy::print_stdout)]

mod programs;
mod run;

use programs::{Class, Kind, Program};
use run::{Judged, judge};
use solo_model::listening::{MonitorKind, Reaction};

/// What is compared: a scheduler and what tells it speedup factors.
const SCHEDULERS: [(Reaction, MonitorKind); 6] = [
    (Reaction::Hsp, MonitorKind::Estimate),
    (Reaction::Rr, MonitorKind::Estimate),
    (Reaction::Adwrr, MonitorKind::Estimate),
    (Reaction::Eqp, MonitorKind::IpcSampling),
    (Reaction::Eqp, MonitorKind::Estimate),
    (Reaction::Acfs, MonitorKind::Estimate),
];

/// Workloads of single-threaded programs on QuickIA (Table 2).
fn table_2() -> Vec<(&'static str, Vec<Program>)> {
    let st = |class: Class, names: &[&'static str]| -> Vec<Program> {
        names.iter().map(|name| Program { name, class, kind: Kind::Single, threads: 1 }).collect()
    };
    let (h, m, l) = (Class::High, Class::Medium, Class::Low);
    let mix = |parts: &[(Class, &[&'static str])]| {
        parts.iter().flat_map(|(class, names)| st(*class, names)).collect()
    };
    vec![
        ("4STH", mix(&[(h, &["calculix", "gamess", "GemsFDTD", "bzip2"])])),
        ("3STH-1STM", mix(&[(h, &["calculix", "GemsFDTD", "bzip2"]), (m, &["h264ref"])])),
        ("3STH-1STL", mix(&[(h, &["gamess", "GemsFDTD", "bzip2"]), (l, &["sjeng"])])),
        ("3STH-1STL_B", mix(&[(h, &["calculix", "gamess", "sphinx3"]), (l, &["sjeng"])])),
        ("2STH-2STM", mix(&[(h, &["gamess", "soplex"]), (m, &["povray", "h264ref"])])),
        ("2STH-2STL", mix(&[(h, &["mcf", "calculix"]), (l, &["sjeng", "gobmk"])])),
        ("1STH-1STM-2STL", mix(&[(h, &["mcf"]), (m, &["h264ref"]), (l, &["sjeng", "gobmk"])])),
        ("2STM-2STL", mix(&[(m, &["namd", "h264ref"]), (l, &["gobmk", "libquantum"])])),
    ]
}

/// Workloads with programs of several threads on the Opterons (Table 3).
fn table_3() -> Vec<(&'static str, Vec<Program>)> {
    let one = |class, name| Program { name, class, kind: Kind::Single, threads: 1 };
    let many = |kind, class, name, threads| Program { name, class, kind, threads };
    let (h, m, l) = (Class::High, Class::Medium, Class::Low);
    let (hp, ps) = (Kind::Parallel, Kind::PartlySerial);
    vec![
        (
            "2STH-1HPH-1HPM",
            vec![one(h, "gamess"), one(h, "hmmer"), many(hp, h, "fma3d_m", 5), many(hp, m, "wupwise_m", 5)],
        ),
        ("3STH-1HPH", vec![one(h, "hmmer"), one(h, "gobmk"), one(h, "h264ref"), many(hp, h, "fma3d_m", 9)]),
        (
            "3ST{H,M,L}-1PSH",
            vec![one(h, "gamess"), one(m, "astar"), one(l, "soplex"), many(ps, h, "blackscholes", 9)],
        ),
        ("1STH-1PSH-1PSL", vec![one(h, "gobmk"), many(ps, h, "BLAST", 6), many(ps, l, "FFTW3D", 5)]),
        ("2PSH-1PSL", vec![many(ps, h, "BLAST", 4), many(ps, h, "semphy", 4), many(ps, l, "FFTW3D", 4)]),
        ("1PSH-1PSL", vec![many(ps, h, "semphy", 6), many(ps, l, "FFTW3D", 6)]),
        ("2PSH-1HPM", vec![many(ps, h, "BLAST", 4), many(ps, h, "semphy", 4), many(hp, m, "wupwise_m", 4)]),
        ("1PSH-1HPH", vec![many(ps, h, "BLAST", 6), many(hp, h, "fma3d_m", 6)]),
    ]
}

fn heading() {
    let names = SCHEDULERS.map(|(reaction, monitor)| match (reaction, monitor) {
        (Reaction::Eqp, MonitorKind::Estimate) => "eqp, model".to_owned(),
        _ => reaction.name().to_owned(),
    });
    println!("| workload | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()));
}

/// Runs the workloads of a table, and prints aggregate speedup and unfairness of each, and their means.
fn table(platform: &str, workloads: &[(&str, Vec<Program>)]) {
    heading();
    let mut sums = [(0.0, 0.0); SCHEDULERS.len()];
    for (name, programs) in workloads {
        let row: Vec<Judged> = judge(platform, programs, &SCHEDULERS);
        let cells: Vec<String> =
            row.iter().map(|found| format!("{:.2}, {:.3}", found.speedup, found.unfairness)).collect();
        println!("| {name} | {} |", cells.join(" | "));
        for (sum, found) in sums.iter_mut().zip(&row) {
            *sum = (sum.0 + found.speedup, sum.1 + found.unfairness);
        }
    }
    let count = workloads.len() as f64;
    let cells: Vec<String> = sums
        .iter()
        .map(|(speedup, unfair)| format!("{:.2}, {:.3}", speedup / count, unfair / count))
        .collect();
    println!("| mean | {} |\n", cells.join(" | "));
}

fn main() {
    println!("Aggregate speedup and unfairness; 2 big and 2 small cores (quickia)");
    table("quickia", &table_2());
    println!("The same; 2 big and 10 small cores (opteron-2425)");
    table("opteron-2425", &table_3());
}

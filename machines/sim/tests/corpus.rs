//! Every case of `/corpus` on the simulated machine: the expected schedule, and decision by decision what the
//! ideal machine records.

mod common;

use solo_corpus::ideal::{IdealOptions, run as run_ideally};
use solo_model::{Duration, Instant, Record, record::SwitchRecord};

/// What the accesses of a case with budgets may last together: a few hundred, of some tens of nanoseconds each.
const ACCESSES: Duration = Duration::from_micros(100);

fn switches(records: &[Record]) -> Vec<SwitchRecord> {
    let switch = |record: &Record| if let Record::Switch(switch) = record { Some(*switch) } else { None };
    records.iter().filter_map(switch).collect()
}

#[test]
fn the_simulated_machine_keeps_every_case_and_decides_as_the_ideal_one() {
    let cases = solo_corpus::load_folder(&solo_corpus::folder()).unwrap_or_else(|error| panic!("{error}"));
    assert!(cases.len() >= 50, "only {} cases", cases.len());
    let mut failures = String::new();
    for case in &cases {
        let experiment = case.experiment();
        let (records, _) = common::run(&experiment);
        // Accesses to memory take time here: where budgets count them, decisions are the same and come later.
        let touches = case.budgets.is_some();
        let tolerance = if touches { ACCESSES } else { Duration::ZERO };
        if let Err(mismatch) = case.check_within(&records, tolerance) {
            failures += &mismatch.to_string();
            continue;
        }
        let ideal = match run_ideally(&experiment, &IdealOptions::default()) {
            Ok(run) => run.records,
            Err(error) => panic!("{}: {error}", case.name),
        };
        let (mut ours, mut theirs) = (switches(&records), switches(&ideal));
        if touches {
            ours.iter_mut().chain(&mut theirs).for_each(|switch| switch.at = Instant::ZERO);
            // Which core comes first at one instant is nothing that the accesses leave as it is.
            ours.sort_by_key(|switch| switch.core);
            theirs.sort_by_key(|switch| switch.core);
        }
        if let Some(at) = (0..ours.len().max(theirs.len())).find(|&i| ours.get(i) != theirs.get(i)) {
            failures += &format!(
                "{}: decision {at} differs\n  ideal     {:?}\n  simulated {:?}\n",
                case.name,
                theirs.get(at),
                ours.get(at)
            );
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

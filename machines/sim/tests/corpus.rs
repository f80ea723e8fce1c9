//! Every case of `/corpus` on the simulated machine: the expected schedule, and decision by decision what the
//! ideal machine records.

mod common;

use solo_corpus::ideal::{Options, run as run_ideally};
use solo_model::{Record, record::SwitchRecord};

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
        if let Err(mismatch) = case.check(&records) {
            failures += &mismatch.to_string();
            continue;
        }
        let ideal = match run_ideally(&experiment, &Options::default()) {
            Ok(run) => run.records,
            Err(error) => panic!("{}: {error}", case.name),
        };
        let (ours, theirs) = (switches(&records), switches(&ideal));
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

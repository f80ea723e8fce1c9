//! What is known of a kernel's costs is told once: scenarios and studies read the same numbers.

use solo_model::{Duration, Overhead};
use solo_prove::overhead::{EPOS, parse_table};
use std::path::Path;

/// `studies/overheads/epos.json` is `platforms/overheads/epos-thesis.toml` in the form that studies read.
#[test]
fn studies_count_what_scenarios_charge_for_epos() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let toml = std::fs::read_to_string(root.join("platforms/overheads/epos-thesis.toml")).unwrap();
    let charged = solo_scenario::parse_overheads(&toml, "epos-thesis.toml").unwrap();
    let counted = parse_table(EPOS).unwrap();
    assert_eq!(
        counted.steps, charged.steps,
        "change the TOML file, then write the same steps into epos.json"
    );
    // Thesis Table 17: the timer's handler and the evaluation of what was counted, at worst.
    let look = charged.cost(Overhead::Tick, 20) + charged.cost(Overhead::Counters, 20);
    assert_eq!(look, Duration::new(3432));
    assert!(charged.steps.iter().flatten().count() >= 5, "an empty table would equal another");
}

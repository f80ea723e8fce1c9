//! Every case of `/corpus` on the ideal machine.

use solo_corpus::ideal::{Options, run};

#[test]
fn the_kernel_keeps_every_case() {
    let cases = solo_corpus::load_folder(&solo_corpus::folder()).unwrap_or_else(|error| panic!("{error}"));
    assert!(cases.len() >= 25, "only {} cases", cases.len());
    let mut failures = String::new();
    for case in &cases {
        match run(&case.experiment(), &Options::default()) {
            Ok(run) => {
                if let Err(mismatch) = case.check(&run.records) {
                    failures += &mismatch.to_string();
                }
            }
            Err(error) => failures += &format!("{}: {error}\n", case.name),
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

//! `solo replay`: a recorded run again, with the same records or an error.

use crate::cli::Replay;
use crate::control::control;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use solo_lab::{Recordings, Simulation};
use solo_report::Run;

/// Runs the experiment of a run directory and compares the hash of its records.
pub(crate) fn run(options: &Replay) -> Result<Exit, Failure> {
    let run = Run::open(&options.run)?;
    run.verify()?;
    if run.manifest().machine != "sim" {
        return Err(Failure::Usage(format!(
            "only runs of the simulated machine can be replayed; this one was made on `{}`",
            run.manifest().machine
        )));
    }
    let expected = run.manifest().record_hash.clone().unwrap_or_default();
    let bars = Bars::new(options.show.quiet);
    let simulation = Simulation {
        experiment: run.experiment(),
        recordings: &Recordings::default(),
        name: "replay",
        control: &control(&bars),
    };
    let found = simulation.record_hash()?;
    if options.show.json {
        output::json(
            &serde_json::json!({ "recorded": expected, "replayed": found, "equal": expected == found }),
        )?;
    }
    if expected != found {
        return Err(Failure::ReplayDiffers { expected, found });
    }
    if !options.show.json {
        let records = run.manifest().records;
        output::text(&format!("the same {records} records, BLAKE3 {found}\n"))?;
    }
    Ok(Exit::Held)
}

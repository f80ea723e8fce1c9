//! `solo replay`: a recorded run again, with the same records or an error.

use crate::cli::Replay;
use crate::control::control;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use solo_lab::{Recordings, Simulation};
use solo_model::text::Printable;
use solo_report::{Opened, Run};

/// Runs the experiment of a run directory, or of each run of a comparison, and compares the hash of its records.
pub(crate) fn run(options: &Replay) -> Result<Exit, Failure> {
    match Opened::open(&options.run)? {
        Opened::Run(run) => {
            let again = again(&run, "replay", options.show.quiet)?;
            again.show("", options.show.json)?;
            again.judge()
        }
        Opened::Comparison(runs) => {
            let replayed = runs.iter().map(|one| again(&one.run, &one.part.variant, options.show.quiet));
            let replayed = replayed.collect::<Result<Vec<_>, _>>()?;
            for (one, again) in runs.iter().zip(&replayed) {
                again.show(&format!("{}: ", one.part.variant), options.show.json)?;
            }
            replayed.into_iter().try_fold(Exit::Held, |_, again| again.judge())
        }
    }
}

/// A run beside its replay.
struct Again {
    records: u64,
    expected: String,
    found: String,
}

fn again(run: &Run, name: &str, quiet: bool) -> Result<Again, Failure> {
    run.verify()?;
    if run.manifest().machine != "sim" {
        return Err(Failure::Usage(format!(
            "only runs of the simulated machine can be replayed; this one was made on `{}`",
            Printable(&run.manifest().machine)
        )));
    }
    let bars = Bars::new(quiet);
    let (recordings, control) = (Recordings::default(), control(&bars));
    let experiment = run.experiment();
    let found = Simulation { experiment, recordings: &recordings, name, control: &control }.record_hash()?;
    let manifest = run.manifest();
    Ok(Again { records: manifest.records, expected: manifest.record_hash.clone().unwrap_or_default(), found })
}

impl Again {
    fn show(&self, of: &str, json: bool) -> Result<(), Failure> {
        let Self { records, expected, found } = self;
        if json {
            return output::json(
                &serde_json::json!({ "recorded": expected, "replayed": found, "equal": expected == found }),
            );
        }
        if expected != found {
            return Ok(());
        }
        output::text(&format!("{of}the same {records} records, BLAKE3 {found}\n"))
    }

    fn judge(self) -> Result<Exit, Failure> {
        let Self { expected, found, .. } = self;
        if expected == found { Ok(Exit::Held) } else { Err(Failure::ReplayDiffers { expected, found }) }
    }
}

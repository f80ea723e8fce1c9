//! `solo replay`: a recorded run again, with the same records or an error.

use crate::cli::Replay;
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use solo_lab::program::NOTES;
use solo_lab::{Recordings, Simulation};
use solo_model::text::{Printable, counted};
use solo_report::{Opened, Run};

/// Runs the experiment of a run directory, or of each run of a comparison, and compares the hash of its records.
pub(crate) fn run(options: &Replay) -> Result<Exit, Failure> {
    let replayed = match Opened::open(&options.run)? {
        Opened::Run(_) if options.run.join(NOTES).exists() => {
            return Err(Failure::Usage(format!(
                "{} is the run of a program, and what a program does is not kept with its run; \
                 `solo run FOLDER` makes it again, with the same hash of records as long as the program is the same",
                Printable(options.run.display())
            )));
        }
        Opened::Run(run) => vec![again(&run, "", options.show.quiet)?],
        Opened::Comparison { runs, .. } => {
            let replayed = runs.iter().map(|one| again(&one.run, &one.part.variant, options.show.quiet));
            replayed.collect::<Result<Vec<_>, _>>()?
        }
    };
    if options.show.json {
        output::list(Document::Replay, "runs", &replayed)?;
    } else {
        output::text(&replayed.iter().map(Again::text).collect::<String>())?;
    }
    replayed.into_iter().try_fold(Exit::Held, |_, again| again.judge())
}

/// A run beside its replay.
#[derive(serde::Serialize)]
struct Again {
    /// Its variant; empty for a run by itself.
    variant: String,
    records: u64,
    /// The hash of the recorded records.
    recorded: String,
    /// That of the replayed ones.
    replayed: String,
    equal: bool,
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
    let variant = name.to_owned();
    let name = if name.is_empty() { "replay" } else { name };
    let (recordings, control) = (Recordings::default(), control(&bars));
    let experiment = run.experiment();
    let stop_on = run.manifest().outcome.as_ref().and_then(|outcome| outcome.stop_on);
    let replayed =
        Simulation { experiment, recordings: &recordings, name, control: &control, stop_on }.record_hash()?;
    let (records, recorded) =
        (run.manifest().records, run.manifest().record_hash.clone().unwrap_or_default());
    Ok(Again { variant, records, equal: recorded == replayed, recorded, replayed })
}

impl Again {
    fn text(&self) -> String {
        let Self { variant, records, replayed, .. } = self;
        let of = if variant.is_empty() { String::new() } else { format!("{variant}: ") };
        match self.equal {
            true => format!("{of}the same {}, BLAKE3 {replayed}\n", counted(*records, "record")),
            // Said as an error.
            false => String::new(),
        }
    }

    fn judge(self) -> Result<Exit, Failure> {
        let Self { recorded: expected, replayed: found, equal, .. } = self;
        if equal { Ok(Exit::Held) } else { Err(Failure::ReplayDiffers { expected, found }) }
    }
}

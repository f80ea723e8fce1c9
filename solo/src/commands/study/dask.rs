//! The workers of a Dask cluster, spoken to by the Python package.

use crate::cli::StudyRun;
use crate::exit::{Exit, Failure};
use solo_model::text::Printable;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Names the Python that has the package.
const VARIABLE: &str = "SOLO_PYTHON";
/// Asks a Python for what it takes; it says what is missing.
const PROBE: &str = "import importlib.util as u, sys; lack = [n for n in ('solocore', 'distributed') if u.find_spec(n) is None]; \
                     print(' and '.join(lack)); sys.exit(bool(lack))";

/// Has the cluster judge what is left and keep it in `folder`: held, or why not, which Python has said.
pub(super) fn judge(run: &StudyRun, file: &Path, folder: &Path, address: &str) -> Result<Exit, Failure> {
    let python =
        std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).unwrap_or_else(|| "python3".into());
    has_what_it_takes(&python)?;
    let mut command = Command::new(&python);
    command.args(["-m", "solocore", "study"]).arg(file).arg(folder).args(["--dask", address]);
    for (name, number) in [("--sets", run.sets), ("--caps-every", run.caps_every), ("--seed", run.seed)] {
        if let Some(number) = number {
            command.args([name, &number.to_string()]);
        }
    }
    if run.show.quiet {
        command.arg("--quiet");
    }
    // Ctrl-C reaches both; Python keeps what has come and ends.
    let status = command.status().map_err(|error| cannot(&python, &solo_store::system_reason(&error)))?;
    Ok(match status.code() {
        Some(0) => Exit::Held,
        Some(2) => Exit::BadInput,
        Some(130) => Exit::Interrupted,
        _ => Exit::Cannot,
    })
}

fn has_what_it_takes(python: &OsString) -> Result<(), Failure> {
    let mut probe = Command::new(python);
    // Not from the folder that this is called in: a package of the name there is not the installed one.
    let said = probe.args(["-P", "-c", PROBE]).output();
    let said = said.map_err(|error| cannot(python, &solo_store::system_reason(&error)))?;
    if said.status.success() {
        return Ok(());
    }
    let lack = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    let lack = if lack.is_empty() {
        String::from_utf8_lossy(&said.stderr).trim().to_owned()
    } else {
        format!("no {lack}")
    };
    Err(cannot(python, &lack))
}

fn cannot(python: &OsString, found: &str) -> Failure {
    let message = format!(
        "--dask: expected a Python 3.11 with the packages solocore and distributed, found in {}: {}; pip install ./python distributed, \
         or name another in {VARIABLE}",
        Printable(python.to_string_lossy()),
        Printable(found)
    );
    Failure::NotHere(message)
}

//! The command line of `solo place`.

use super::Show;
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Places programs.
#[derive(Args, Debug)]
pub(crate) struct PlaceArgs {
    /// A scenario: its [scheduler.monitor] is what is listened to and done, its tasks are programs; core N is CPU N
    #[arg(value_hint = ValueHint::FilePath, conflicts_with_all = ["monitor", "every", "above", "calm", "action", "settings"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Use this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME", requires = "scenario")]
    pub(crate) variant: Option<String>,
    /// What is counted: an event (`solo events` lists them) or an expression over events; by default what the scenario counts
    #[arg(short, long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// The monitor, for one that knows its events: ipc, hitm-rate, ipc-sampling, occupancy, miss-rate-curve
    #[arg(long, value_name = "NAME", conflicts_with = "event")]
    pub(crate) monitor: Option<String>,
    /// The period after which counts are looked at, 1ms or more [default: 10ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) every: Option<String>,
    /// A CPU that counted more in a period is acted on
    #[arg(long, value_name = "NUMBER")]
    pub(crate) above: Option<String>,
    /// Once it was above, until it counts no more than this [default: what --above says]
    #[arg(long, value_name = "NUMBER", requires = "above")]
    pub(crate) calm: Option<String>,
    /// What is done then: yield, migrate, gather, serialize or report; utility or way-sweep where ways of the last level can be given;
    /// on CPUs of several kinds acfs, eqp, rr and others [default: report]
    #[arg(long, value_name = "POLICY")]
    pub(crate) action: Option<String>,
    /// A setting of the policy's own; repeated for others
    #[arg(long = "set", value_name = "NAME=NUMBER")]
    pub(crate) settings: Vec<String>,
    /// Start this shell command as a task; NAME is the scenario's, CPU where it begins. Repeated for others
    #[arg(long = "program", value_name = "[NAME[@CPU]=]COMMAND")]
    pub(crate) programs: Vec<String>,
    /// Take this process as a task. Repeated for others
    #[arg(short, long = "pid", value_name = "[NAME[@CPU]=]PID")]
    pub(crate) pids: Vec<String>,
    /// End after this time; programs that were started are ended, too
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Count in user mode only
    #[arg(long)]
    pub(crate) user: bool,
    /// Write what was seen and decided into this file, a line each, to be told again by --replay
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    /// Tell a record to the policy again and compare what it decides, and do nothing else
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["scenario", "programs", "pids", "command", "record"])]
    pub(crate) replay: Option<PathBuf>,
    /// Print what would be counted and changed, and do nothing
    #[arg(long, conflicts_with = "restore")]
    pub(crate) dry_run: bool,
    /// Put back what an earlier one that was killed has left, and do nothing else
    #[arg(long, conflicts_with_all = ["scenario", "programs", "pids", "command", "replay"])]
    pub(crate) restore: bool,
    /// The folder of the journal of changes; by default /run/solo-place, or solo-place under $XDG_RUNTIME_DIR for who is not root
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
    /// One more program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

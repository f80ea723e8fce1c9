//! The command line of `solo prove`.

use clap::Args;
use solo_prove::Effort;
use std::path::PathBuf;

/// Judges task sets, one a line of JSON in and one out.
#[derive(Args, Debug)]
pub(crate) struct ProveArgs {
    /// Reads task sets from standard input: {"m":8,"tasks":[{"c":1000,"t":10000,"d":10000}]}, in microseconds,
    /// optionally with "cluster"; writes {"verdicts":{...}}, null for not applicable or out of time
    #[arg(long, required_unless_present_any = ["list", "table"], conflicts_with = "list")]
    pub(crate) jsonl: bool,
    /// Gives tasks cores instead, by this heuristic: ff, bf, wf, nf, the same with d, cap-ffd, cap-bfd, cap-wfd, cap-nfd, cap-gs, lwfg;
    /// tasks have "class", "memory" and "colors" as well: see docs/prove.md
    #[arg(long, value_name = "HEURISTIC", requires = "jsonl", conflicts_with_all = ["peer", "tests", "explain"])]
    pub(crate) assign: Option<String>,
    /// Reads the same and prints a table for people: a row a set, a column a test
    #[arg(long, conflicts_with_all = ["jsonl", "list", "json", "peer", "explain"])]
    pub(crate) table: bool,
    /// Lists the tests with what exactly each accepts
    #[arg(long)]
    pub(crate) list: bool,
    /// With --list or --peer: as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Compares with another program instead, verdict by verdict: the shell runs COMMAND --tests TEST,... with the
    /// sets on its standard input, and it answers in the form of this command
    #[arg(long, value_name = "COMMAND", requires = "jsonl", conflicts_with = "explain")]
    pub(crate) peer: Option<String>,
    /// With --peer: writes the sets whose verdicts differ into this file, one a line
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub(crate) differences: Option<PathBuf>,
    /// Judges these tests only, separated by commas; "all" for every one
    #[arg(long, value_name = "TEST,...")]
    pub(crate) tests: Option<String>,
    /// Adds why there is no answer, what accepted, and which necessary condition fails
    #[arg(long)]
    pub(crate) explain: bool,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Work that a test may do for a set before it answers null, the same on every machine
    #[arg(long, value_name = "STEPS", default_value_t = Effort::DEFAULT_STEPS)]
    pub(crate) work_limit: u64,
    /// Time that a test may take for a set before it answers null; verdicts then depend on the machine
    #[arg(long, value_name = "MILLISECONDS")]
    pub(crate) time_limit: Option<u64>,
}

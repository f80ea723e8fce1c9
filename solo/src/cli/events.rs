//! The command line of `solo events`.

use clap::Args;

/// Lists what can be counted here, explains names, and translates event strings to what the kernel is told.
#[derive(Args, Debug)]
pub(crate) struct EventsArgs {
    /// Explain these names: canonical ones, aliases of perf, PAPI and PMCTrack, PMU events
    pub(crate) names: Vec<String>,
    /// Translate an event set, PMCTrack's strings too: pmc0,pmc3=0x2e,umask3=0x41
    #[arg(long, value_name = "EVENT,...", conflicts_with = "names")]
    pub(crate) translate: Option<String>,
    /// Translate a string of PMCTrack's names into its raw form for a processor model, or a raw one into names: instr,llc_misses is
    /// pmc0,pmc3=0x2e,umask3=0x41 on haswell. A line for each set that takes its turn
    #[arg(long, value_name = "EVENT,...", conflicts_with_all = ["names", "translate"])]
    pub(crate) raw: Option<String>,
    /// The processor model of --raw: this machine's where its model is known; `--model list` names them
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// List the monitoring modules and the virtual counters that they have here
    #[arg(long, conflicts_with_all = ["names", "translate"])]
    pub(crate) modules: bool,
    /// List libpfm4's events of this PMU, on this machine or not
    #[arg(long, value_name = "NAME", conflicts_with_all = ["names", "translate", "modules"])]
    pub(crate) pmu: Option<String>,
    /// Check the tables: names that stand for two events, events with two names, PMU events that do not resolve
    #[arg(long, conflicts_with_all = ["names", "translate", "modules"])]
    pub(crate) validate: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

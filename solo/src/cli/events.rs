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

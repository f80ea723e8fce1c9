//! The command line of `solo guard`.

use super::Show;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Hold budgets.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<GuardVerb>,
    #[command(flatten)]
    pub(crate) hold: HoldArgs,
}

/// What else a guard does.
#[derive(Subcommand, Debug)]
pub(crate) enum GuardVerb {
    /// Give CPUs and cgroups of the guard that is at work other budgets, from their next period on
    Set(SetArgs),
    /// Put back what the guard of this process has changed, as soon as it has ended or stands still
    #[command(hide = true)]
    Mind(MindArgs),
    /// Go into a cgroup and become a program
    #[command(hide = true)]
    Enter(EnterArgs),
}

/// Where to go and what to become.
#[derive(Args, Debug)]
pub(crate) struct EnterArgs {
    /// The cgroup, by its path from their root on, which is `/`
    pub(crate) group: String,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// Whose end to wait for.
#[derive(Args, Debug)]
pub(crate) struct MindArgs {
    /// The guard's process
    pub(crate) guard: u32,
    /// Wait for its end alone: nobody suffers where it stands still
    #[arg(long)]
    pub(crate) patient: bool,
    #[command(flatten)]
    pub(crate) state: State,
}

/// Other budgets.
#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    /// A CPU, cgroup or the guard's program, and its events in a period: 1=200, /batch.slice=200, program=200
    #[arg(value_name = "WHO=EVENTS", required = true)]
    pub(crate) budgets: Vec<String>,
    #[command(flatten)]
    pub(crate) state: State,
    /// No notes on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where the guard keeps what it has to remember.
#[derive(Args, Debug)]
pub(crate) struct State {
    /// The guard's folder: its journal of changes and its socket; by default /run/solo-guard, or solo-guard under
    /// $XDG_RUNTIME_DIR for who is not root
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,
}

/// What becomes of the rest when all have used up their budgets.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// Nobody is stopped until the next period
    Spare,
    /// A new period begins at once
    Proportional,
}

/// Who may use what a CPU has reserved and does not use.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReclaimFrom {
    /// All, out of one pool (MemGuard of 2013)
    Pool,
    /// Each from the others in turn (MemGuard of 2022)
    Peers,
}

/// What keeps others away from a stopped CPU.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum BackEnd {
    /// sched-ext where this kernel and this program have it, else occupier
    #[default]
    Auto,
    /// A scheduler in eBPF lets nobody in: the CPU idles (Linux 6.13 or newer, root)
    SchedExt,
    /// A real-time thread computes there until the period is over
    Occupier,
    /// Nobody is stopped: the processor delays what CPUs ask of memory. Budgets are rates (1=800MiB/s); resctrl is mounted with mba_MBps
    Mba,
}

/// Budgets, and how long they are held.
#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    /// A scenario or plan: its [isolation.bandwidth] is held; core N is CPU N
    #[arg(value_hint = ValueHint::FilePath, conflicts_with_all = ["budgets", "period", "share", "reclaim"])]
    pub(crate) scenario: Option<PathBuf>,
    /// Hold this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME", requires = "scenario")]
    pub(crate) variant: Option<String>,
    /// What is counted (`solo events` lists it); by default what the scenario counts
    #[arg(short, long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Events in a period, of a CPU (1=200), of a cgroup on all CPUs together (/batch.slice=200), or of the COMMAND (program=200); repeated
    /// for others. CPUs and groups without a budget are not touched. With --back-end mba a rate of a CPU (1=800MiB/s)
    #[arg(short, long = "budget", value_name = "WHO=EVENTS")]
    pub(crate) budgets: Vec<String>,
    /// The regulation period, 200us to 1s [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) period: Option<String>,
    /// When all have used up their budgets
    #[arg(long, value_enum)]
    pub(crate) share: Option<Share>,
    /// What is not used goes to others
    #[arg(long, value_enum)]
    pub(crate) reclaim: Option<ReclaimFrom>,
    /// What keeps others away from a stopped CPU
    #[arg(long, value_enum, default_value_t)]
    pub(crate) back_end: BackEnd,
    /// End after this time; the program, where there is one, is ended too
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Also lift what Linux keeps from real-time threads (sched_rt_runtime_us, the fair server of each CPU) while the guard is
    /// at work; it is put back at the end, however the guard ends
    #[arg(long)]
    pub(crate) all_real_time: bool,
    /// Also keep interrupts off the CPUs with budgets while the guard is at work, as far as the kernel lets them go to others
    #[arg(long)]
    pub(crate) no_interrupts: bool,
    /// Print what would be written and held, and do nothing
    #[arg(long, conflicts_with = "restore")]
    pub(crate) dry_run: bool,
    /// Put back what an earlier guard that was killed has left, and do nothing else
    #[arg(long, conflicts_with_all = ["scenario", "budgets", "command"])]
    pub(crate) restore: bool,
    #[command(flatten)]
    pub(crate) state: State,
    #[command(flatten)]
    pub(crate) show: Show,
    /// A program that is started when all CPUs are held, and whose end ends the guard
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

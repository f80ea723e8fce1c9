//! The one definition of the command line, with the files of this folder: parser, help, man pages and completions come from it.

mod color;
mod cpmd;
mod evaluate;
mod events;
mod guard;
mod inputs;
mod pack;
mod place;
mod prove;
mod refusal;
mod run;
mod sweep;
mod watch;

pub(crate) use color::ColorArgs;
pub(crate) use cpmd::MeasureCpmd;
pub(crate) use evaluate::{Chapter6, Chapter7, Chapter8, Evaluate, EvaluateCommon};
pub(crate) use events::EventsArgs;
pub(crate) use guard::{
    BackEnd, EnterArgs, GuardArgs, GuardVerb, HoldArgs, MindArgs, ReclaimFrom, SetArgs, Share, State,
};
pub(crate) use inputs::Input;
pub(crate) use pack::{Pack, PackFor};
pub(crate) use place::PlaceArgs;
pub(crate) use prove::ProveArgs;
pub(crate) use refusal::read;
pub(crate) use run::{Accel, LinuxScheduler, Run};
pub(crate) use sweep::Sweep;
pub(crate) use watch::{PerChoice, Place, ServeArgs, TopArgs, WatchArgs, What};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use solo_scenario::{Choice, Overrides};
use std::ffi::OsString;
use std::path::PathBuf;

/// Real-time tasks on multicores: see why deadlines are missed, and make them hold.
#[derive(Parser, Debug)]
#[command(name = "solo", version = env!("SOLO_VERSION"), max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 held, 1 a deadline or bound did not hold, 2 bad input, \
                          3 this machine cannot, 130 interrupted.";

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run a scenario and report whether its deadlines hold
    Run(Run),
    /// Write a program of two threads to start from: it boots on both kernels and runs as a process
    New(New),
    /// Write what a PC or a Raspberry Pi 4 boots a scenario from, without any operating system
    Pack(Pack),
    /// See a video task miss its deadlines because of a program on another core, and why
    Demo(Demo),
    /// Run the variants of a scenario side by side: solo, corun, isolated, or other policies
    Compare(Compare),
    /// Run a scenario at many points: keys set to values, every combination, a row each; goes on where it was stopped
    Sweep(Sweep),
    /// Repeat an evaluation of the literature at any size, its numbers beside ours; goes on where it was stopped
    #[command(subcommand)]
    Evaluate(Evaluate),
    /// Draw figures over the variants of a scenario: times and counted events
    Plot(Plot),
    /// Judge a scenario on paper: do its deadlines hold, by how much, and if not, what would mend it
    Check(Check),
    /// Give tasks cores, parts of the cache and memory bandwidth so that deadlines are proved, and write that as a scenario
    Plan(PlanArgs),
    /// Show a finished run again, or export its records
    Report(Report),
    /// Compare two runs: by how much, how sure, and where they first decided differently
    Diff(Diff),
    /// Run a recorded run again; its records must come out the same
    Replay(Replay),
    /// List the runs, comparisons and measurements in a folder; remove those that were never finished
    List(List),
    /// Record the memory accesses of a real program, for use as a task's work
    Record(Record),
    /// Read another tool's description of tasks as a scenario
    Import(Import),
    /// Write a scenario as another tool's description of tasks
    Export(Export),
    /// Say what caches make of a program's memory trace
    Trace(Trace),
    /// Judge task sets in batch: is each schedulable, by which test
    Prove(ProveArgs),
    /// Sweep over millions of drawn task sets: which share is schedulable, by which test
    Study(Study),
    /// Count events over time while a program runs, of a process or of the whole machine
    Watch(WatchArgs),
    /// Hold budgets of events on CPUs of this Linux: a CPU that has used its budget up is stopped until the next period
    Guard(Box<GuardArgs>),
    /// Place programs of this Linux by a policy that listens to counters: moved and held as in simulation, everything put back
    Place(Box<PlaceArgs>),
    /// Run a program on this Linux in memory of chosen colors and banks, every page verified
    Color(ColorArgs),
    /// Show on a terminal what a program or the machine does, live, or a recording of solo watch
    Top(TopArgs),
    /// Show on a web page of this machine what programs do, live and side by side
    Serve(ServeArgs),
    /// List, explain and translate what can be counted here
    Events(EventsArgs),
    /// Find offsets for avionics partitions and their I/O, so that none meet, or say why there are none
    Io(Io),
    /// Measure a chip: the bandwidth it guarantees, what locked pages are worth
    Measure(Measure),
    /// List the chips that scenarios can name, or show one
    Platforms(Platforms),
    /// Say what this machine can do, and the least command that mends the rest
    Doctor(Doctor),
    /// Say what a code in a message about a file means, with an example; without a code, list them
    Explain(Explain),
    /// Print the JSON Schema of an answer or a file; without a name, list them with their versions
    Schema(Schema),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Write the manual pages into a folder
    Man(Man),
}

impl Command {
    /// True where the command writes nothing but its answer and starts nothing that lives on.
    pub(crate) fn only_reads(&self) -> bool {
        match self {
            Self::Check(_)
            | Self::Diff(_)
            | Self::Trace(_)
            | Self::Prove(_)
            | Self::Events(_)
            | Self::Io(_)
            | Self::Platforms(_)
            | Self::Doctor(_)
            | Self::Explain(_)
            | Self::Schema(_)
            | Self::Completions(_) => true,
            Self::Run(_)
            | Self::New(_)
            | Self::Pack(_)
            | Self::Demo(_)
            | Self::Compare(_)
            | Self::Sweep(_)
            | Self::Evaluate(_)
            | Self::Plot(_)
            | Self::Plan(_)
            | Self::Report(_)
            | Self::Replay(_)
            | Self::List(_)
            | Self::Record(_)
            | Self::Import(_)
            | Self::Export(_)
            | Self::Study(_)
            | Self::Watch(_)
            | Self::Guard(_)
            | Self::Place(_)
            | Self::Color(_)
            | Self::Top(_)
            | Self::Serve(_)
            | Self::Measure(_)
            | Self::Man(_) => false,
        }
    }
}

/// How results are shown.
#[derive(Args, Debug, Clone)]
pub(crate) struct Show {
    /// Print the results as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress bar and no notes on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Where runs are kept.
#[derive(Args, Debug, Clone)]
pub(crate) struct Keep {
    /// The folder for the run; by default the next free one under runs/
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Replace the run in that folder; without --out, the one under runs/ with the scenario's name
    #[arg(long)]
    pub(crate) force: bool,
}

/// A machine that runs scenarios.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    Sim,
    Linux,
    Rtos,
    RtosArm64,
}

/// What a run does otherwise than its scenario says.
#[derive(Args, Debug)]
pub(crate) struct Instead {
    /// Use this seed instead of the scenario's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// End when each periodic task has finished this many jobs
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) jobs: Option<u64>,
}

impl Instead {
    /// As something that is laid over the scenario before it is checked.
    pub(crate) fn overrides(&self, of: Choice) -> Overrides {
        Overrides { seed: self.seed, jobs: self.jobs, of }
    }
}

/// Write a program.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// The program's name, and that of its folder here: a letter, then letters, digits, - and _
    pub(crate) name: String,
    /// What it is written in
    #[arg(long, value_enum, default_value_t = Language::Rust)]
    pub(crate) language: Language,
}

/// What programs are written in.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    /// Rust
    Rust,
    /// C, compiled by clang
    C,
}

/// Offsets for partitions.
#[derive(Args, Debug)]
pub(crate) struct Io {
    /// The file of partitions (docs/io.md)
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) partitions: PathBuf,
    /// Where the search begins; the same seed gives the same offsets
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// So often the search begins again before all offsets are tried instead
    #[arg(long, value_name = "TIMES", default_value_t = 2000)]
    pub(crate) restarts: u64,
    /// Print the offsets as a scenario for this platform, whose run looks at each slot
    #[arg(long, value_name = "PLATFORM", conflicts_with = "json")]
    pub(crate) scenario: Option<String>,
    /// Answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The demonstration.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// So many frames of video, alone and beside the other program
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) jobs: u64,
    /// The folder for records and report; what an earlier demonstration left there is replaced
    #[arg(long, value_name = "DIR", default_value = "runs/demo", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Run variants side by side.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Compare only these variants, separated by commas or by repeating the option
    #[arg(long, value_name = "NAME")]
    pub(crate) variants: Vec<String>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Draw figures.
#[derive(Args, Debug)]
pub(crate) struct Plot {
    /// The file that names a scenario and says what to draw
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) figures: PathBuf,
    #[command(flatten)]
    pub(crate) instead: Instead,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Judge a scenario.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Judge only these variants; without, all of them, or the scenario where it has none
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) variants: Vec<String>,
    /// Declared execution times were measured with all other tasks running, so that they hold beside them
    #[arg(long)]
    pub(crate) wcet_holds: bool,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Plan a scenario.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// The scenario file; what it says stays, what it leaves open is decided
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Write the plan as a scenario file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) write: Option<PathBuf>,
    /// Replace the files that --write and --export name
    #[arg(long)]
    pub(crate) force: bool,
    /// Tell each decision with its rule and numbers, and what was tried before
    #[arg(long)]
    pub(crate) explain: bool,
    /// Plan DRAM banks, too: cores that use memory share none
    #[arg(long)]
    pub(crate) banks: bool,
    /// Write the plan for what enforces it: resctrl, pqos, palloc, memguard, xen, bao, cpuset or chrt; without a file, to standard output
    /// instead of the table
    #[arg(long, value_name = "TARGET[=FILE]")]
    pub(crate) export: Vec<String>,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Explain a code, or what a scenario leaves open.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The code, as in solo::unknown_key or unknown_key; or a scenario file: what it leaves open, and how that is decided
    pub(crate) code: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a study.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Study {
    #[command(subcommand)]
    pub(crate) command: Option<StudyCommand>,
    #[command(flatten)]
    pub(crate) run: StudyRun,
    /// Only this part, for a batch system: 3/64 is the third of 64
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<solo_study::Shard>,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Have the workers of a Dask cluster judge, by the address of its scheduler (tcp://10.0.0.5:8786); takes a Python with solocore
    /// and distributed: python3, or the one in SOLO_PYTHON
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["shard", "threads"])]
    pub(crate) dask: Option<String>,
}

/// What else a study needs.
#[derive(Subcommand, Debug)]
pub(crate) enum StudyCommand {
    /// Put the shards of a study together and write its results
    Merge(StudyMerge),
    /// Fit tables of overheads that grow with the number of threads to published curves
    Fit(StudyFit),
}

/// A fit.
#[derive(Args, Debug)]
pub(crate) struct StudyFit {
    /// The file of the fit
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// So many sets for each cap instead of the file's
    #[arg(long, value_name = "N")]
    pub(crate) sets: Option<u64>,
    /// Write the tables to this folder, one file each
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) write: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// A study and its size.
#[derive(Args, Debug)]
pub(crate) struct StudyRun {
    /// The study file
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// The folder for results; a run goes on with what it finds there. By default one under runs/
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// So many sets for each cap instead of the file's
    #[arg(long, value_name = "N")]
    pub(crate) sets: Option<u64>,
    /// Only each n-th cap
    #[arg(long, value_name = "N")]
    pub(crate) caps_every: Option<u64>,
    /// Use this seed instead of the file's
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Put shards together.
#[derive(Args, Debug)]
pub(crate) struct StudyMerge {
    #[command(flatten)]
    pub(crate) run: StudyRun,
    /// The folders with the shards' journals; the results' own folder without any
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) shards: Vec<PathBuf>,
}

/// A form that records can be exported to.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// The table that `solo run` prints
    Table,
    /// The report as JSON
    Json,
    /// A web page that needs nothing else
    Html,
    /// A trace for ui.perfetto.dev
    Perfetto,
    /// One CSV file each for jobs, samples and switches
    Csv,
    /// One file of JSON lines each for jobs, samples and switches
    Jsonl,
    /// One Parquet file each for jobs, samples and switches
    Parquet,
}

/// Show or export a finished run.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// The run's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) run: PathBuf,
    /// What to make of it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Where exported files go; by default into the run's folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: Option<PathBuf>,
    /// With --format html: the stretch of the run whose schedule can be looked at, such as 3.2s..3.4s; else its beginning
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) window: Option<String>,
}

/// Compare two runs.
#[derive(Args, Debug)]
pub(crate) struct Diff {
    /// The folder of the first run
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) a: PathBuf,
    /// The folder of the second run
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) b: PathBuf,
    /// Print the results as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a recorded run again.
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// The run's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// List folders.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// The folder that holds them; by default runs/
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Remove what was stopped before its end; what solo did not write is never removed
    #[arg(long)]
    pub(crate) clean: bool,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Record a program.
#[derive(Args, Debug)]
pub(crate) struct Record {
    /// The file to write
    #[arg(long, short, value_name = "FILE", default_value = "recording.trace", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Leave out the program's first so many memory accesses: its start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: u64,
    /// Stop the program after this many memory accesses that were recorded
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Record instruction fetches too; the file grows about threefold
    #[arg(long)]
    pub(crate) instructions: bool,
    /// Where the program's standard output goes; nowhere by default
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) stdout: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: Show,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Another tool that describes tasks.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    /// rt-app, which runs threads on Linux: JSON
    RtApp,
}

/// Read another tool's file.
#[derive(Args, Debug)]
pub(crate) struct Import {
    /// The tool
    #[arg(value_enum)]
    pub(crate) tool: Tool,
    /// Its file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The chip that the scenario names: one of solo platforms, or the path of a platform file
    #[arg(long, value_name = "NAME", default_value = "ideal-8")]
    pub(crate) platform: String,
    /// The scenario file to write; it replaces what is there. By default standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// No notes on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Write another tool's file.
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// The tool
    #[arg(value_enum)]
    pub(crate) tool: Tool,
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Write this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// The file to write; it replaces what is there. By default standard output
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// No notes on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Measure a chip.
#[derive(Args, Debug)]
pub(crate) struct Measure {
    #[command(subcommand)]
    pub(crate) command: MeasureCommand,
}

/// What to measure.
#[derive(Subcommand, Debug)]
pub(crate) enum MeasureCommand {
    /// What memory moves at its worst and at its best: BW_min, L_max, r_min, peak
    Bandwidth(MeasureBandwidth),
    /// Whether counters count what their names say: walks that cause a known number of events
    Calibrate(MeasureCalibrate),
    /// What the few counters of a chip say of a scenario when sets of events take turns on them
    Counters(MeasureCounters),
    /// Which address bits choose the DRAM bank, from the times of address pairs
    Map(MeasureMap),
    /// The progressive lockdown curve: a task's worst and best response against locked pages
    Lockdown(MeasureLockdown),
    /// A task's execution time beside 1 to m active cores: measured beside hogs, and as a bound
    Wcet(MeasureWcet),
    /// What a job loses to cold caches after a preemption or on another core, by working set
    Cpmd(MeasureCpmd),
    /// What the kernel's paths cost on this machine, and Linux's own beside them: tables, charts, overhead files
    Overheads(MeasureOverheads),
}

/// What stands for all samples of a path.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Statistic {
    /// Their mean
    Mean,
    /// Their 99th percentile
    P99,
    /// The most that was seen, whatever disturbed it
    Max,
}

/// In which state caches are when a path begins.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Basis {
    /// As the last entry into the kernel left them
    Warm,
    /// As a job left them that read 4 MiB
    Swept,
}

/// Where the kernel's paths are measured.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Where {
    /// In a process of this machine: nanoseconds
    Host,
    /// On bare metal under QEMU's instruction clock: instructions
    Rtos,
    /// The same on 64-bit Arm
    RtosArm64,
}

/// Measure the kernel's paths.
#[derive(Args, Debug)]
pub(crate) struct MeasureOverheads {
    /// Where
    #[arg(long, value_enum, default_value_t = Where::Host)]
    pub(crate) on: Where,
    /// The platform that this machine is, by name or file: scenarios on another one then refuse the overhead files
    #[arg(long)]
    pub(crate) platform: Option<String>,
    /// A fiftieth of the samples: to see that it works
    #[arg(long)]
    pub(crate) brief: bool,
    /// The kernel's paths only
    #[arg(long)]
    pub(crate) without_linux: bool,
    /// What overhead files take of all samples
    #[arg(long, value_enum, default_value_t = Statistic::P99)]
    pub(crate) take: Statistic,
    /// Of which caches overhead files take them
    #[arg(long, value_enum, default_value_t = Basis::Swept)]
    pub(crate) caches: Basis,
    /// The seed of the task sets
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Measure memory.
#[derive(Args, Debug)]
pub(crate) struct MeasureBandwidth {
    /// A platform's name, or its file
    pub(crate) platform: String,
    /// How many single accesses to time
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..=10_000_000))]
    pub(crate) accesses: Option<u64>,
    /// For how many milliseconds each load is counted
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) span_ms: Option<u64>,
    /// Where pages lie
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Hold the counters of a platform against known walks.
#[derive(Args, Debug)]
pub(crate) struct MeasureCalibrate {
    /// A platform's name, or its file (`solo doctor` tries this machine's own counters)
    pub(crate) platform: String,
    /// Switch the platform's prefetcher on or off; without, it is as the platform says
    #[arg(long, value_name = "ON|OFF", value_parser = ["on", "off"])]
    pub(crate) prefetcher: Option<String>,
    /// Where pages of a platform lie
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Count more events than there are counters.
#[derive(Args, Debug)]
pub(crate) struct MeasureCounters {
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Run this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Events by their names in docs/events.md, separated by commas; sets are filled in this order
    #[arg(long, short, value_name = "EVENT", value_delimiter = ',', required = true)]
    pub(crate) events: Vec<String>,
    /// The period after which the next set takes its turn
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub(crate) period: String,
    #[command(flatten)]
    pub(crate) instead: Instead,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// How functions of address bits are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MapForm {
    /// A table for people
    Table,
    /// map.txt of DRAMA++ and PALLOC: one function a line, the numbers of its bits
    Functions,
    /// PALLOC's palloc_mask and xor lines
    Palloc,
}

/// Find bank functions.
#[derive(Args, Debug)]
pub(crate) struct MeasureMap {
    /// A platform's name, or its file: measured, or compared with where timings are given
    pub(crate) platform: Option<String>,
    /// Times measured elsewhere, instead of on the simulated platform: lines of two addresses and a time
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) timings: Option<PathBuf>,
    /// Times above this are conflicts; without, the two groups that differ most are told apart
    #[arg(long, value_name = "CYCLES")]
    pub(crate) threshold: Option<u64>,
    /// Functions have no bits below this size: a line's, or a page's where only placement of pages matters
    #[arg(long, value_name = "SIZE", default_value = "64B")]
    pub(crate) granule: String,
    /// Pairs to time
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub(crate) pairs: u64,
    /// How often to time each; the median counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) repeats: u64,
    /// What pairs are drawn by, and trials with noisy ones
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Keep the measured times in this file, as --timings reads them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "timings")]
    pub(crate) save: Option<PathBuf>,
    /// How to write what was found
    #[arg(long = "as", value_enum, value_name = "FORM", default_value_t = MapForm::Table, conflicts_with = "json")]
    pub(crate) form: MapForm,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measure what locked pages are worth.
#[derive(Args, Debug)]
pub(crate) struct MeasureLockdown {
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Take this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// The task whose pages are locked; without, the first hard task
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Option<String>,
    /// Numbers of pages, separated by commas; without, ten steps from none to all
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) pages: Vec<u64>,
    /// Lock what is left of the last level with data of nobody, so that nothing but locked pages is kept in it
    #[arg(long)]
    pub(crate) fill: bool,
    /// Measure each point beside hogs on other cores, too, so many cores in all under equal budgets, and bound it: C_sce
    #[arg(long, value_name = "N", requires = "fill", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) cores: Option<u16>,
    /// Find the fewest pages with which every response stays within this time, for example 1500us
    #[arg(long, value_name = "TIME")]
    pub(crate) within: Option<String>,
    /// Where to see the knee of the curve: the fewest pages that bring all but this share of the whole gain
    #[arg(long, value_name = "PERCENT", default_value_t = 25, value_parser = clap::value_parser!(u64).range(0..=100))]
    pub(crate) knee: u64,
    #[command(flatten)]
    pub(crate) instead: Instead,
    #[command(flatten)]
    pub(crate) keep: Keep,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// Measure and bound an execution time beside other cores.
#[derive(Args, Debug)]
pub(crate) struct MeasureWcet {
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Take this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// The task; without, the first hard task
    #[arg(long, value_name = "NAME")]
    pub(crate) task: Option<String>,
    /// Numbers of active cores, for example 1..8 or 4; without, 1 to all
    #[arg(long, value_name = "N..M")]
    pub(crate) cores: Option<String>,
    /// Jobs beside each kind of hog; they begin at one eighth of the regulation period after the other
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) samples: u64,
    /// At most so many row hits of other cores overtake one miss in the memory controller
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) overtake: u64,
    #[command(flatten)]
    pub(crate) instead: Instead,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// List or show platforms.
#[derive(Args, Debug)]
pub(crate) struct Platforms {
    /// A platform's name or file; all are listed without it
    pub(crate) name: Option<String>,
    /// Show its address map instead: page colors, DRAM banks, and which of both go together
    #[arg(long, requires = "name")]
    pub(crate) map: bool,
    /// Take the banks from this file: a map.txt, or PALLOC's mask and xor lines
    #[arg(long, value_name = "FILE", requires = "map", value_hint = ValueHint::FilePath)]
    pub(crate) banks: Option<PathBuf>,
    /// Say where these addresses lie, separated by commas
    #[arg(long, value_name = "ADDRESS", requires = "map", value_delimiter = ',')]
    pub(crate) address: Vec<String>,
    /// How to write the map
    #[arg(long = "as", value_enum, value_name = "FORM", requires = "map", default_value_t = MapForm::Table, conflicts_with = "json")]
    pub(crate) form: MapForm,
    /// Which functions to write other than as a table: of colors instead of banks
    #[arg(long, requires = "map")]
    pub(crate) colors: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Examine this machine.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a schema.
#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The document, such as run or check
    pub(crate) document: Option<String>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "document")]
    pub(crate) json: bool,
}

/// Print a completion script.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Write manual pages.
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder for solo.1, solo-run.1 and so on
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
}

/// Examine a memory trace.
#[derive(Args, Debug)]
pub(crate) struct Trace {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

/// What to make of a trace. Traces are recordings, or text of valgrind's lackey, din or `CORE R|W ADDRESS`,
/// plain or compressed with gzip, xz or zstd; `-` is the standard input.
#[derive(Subcommand, Debug)]
pub(crate) enum TraceCommand {
    /// Count the misses of any number of caches in one pass
    Cache(TraceCache),
    /// Count what private caches of several cores do to each other
    Coherence(TraceCoherence),
    /// Make requests of a DRAM device as fast as it takes them
    Dram(TraceDram),
    /// Show how memory is reused: stack distances, misses by size, the busiest pages
    Profile(TraceProfile),
}

/// Count misses.
#[derive(Args, Debug)]
pub(crate) struct TraceCache {
    /// The trace
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// A cache: KIND=SIZE:WAYS:LINE:REPLACEMENT; I, D or U (both), or H with a split first level and +others
    #[arg(long = "cache", value_name = "CACHE", required = true)]
    pub(crate) caches: Vec<solo_trace::CacheSpec>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Count coherence traffic.
#[derive(Args, Debug)]
pub(crate) struct TraceCoherence {
    /// The trace
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// How many cores, each with a cache of its own
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) cores: u16,
    /// The cache: SIZE:WAYS:LINE:REPLACEMENT
    #[arg(long)]
    pub(crate) cache: solo_trace::Geometry,
    /// mesi, mesif or moesi
    #[arg(long, default_value = "mesi")]
    pub(crate) protocol: solo_trace::Protocol,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Drive a DRAM device.
#[derive(Args, Debug)]
pub(crate) struct TraceDram {
    /// The trace, best one of requests: `0xADDRESS READ|WRITE CLOCK`
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// A device that comes with the program, or the path of a device file
    #[arg(long, default_value = "ddr3-1600k")]
    pub(crate) device: String,
    /// A memory that need not be refreshed
    #[arg(long)]
    pub(crate) no_refresh: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Profile reuse.
#[derive(Args, Debug)]
pub(crate) struct TraceProfile {
    /// The trace
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The bytes of a line
    #[arg(long, default_value_t = 64)]
    pub(crate) line: u64,
    /// The accesses of a window of the working set
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: u64,
    /// How many of the busiest pages to name
    #[arg(long, default_value_t = 20)]
    pub(crate) top: usize,
    /// Draw reuse, misses, working set and pages as SVG and a page into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) plots: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

//! The command line of watches: `solo watch`, `solo top`, `solo serve`.

use crate::watching::Form;
use clap::{Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What rows are about.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PerChoice {
    /// Each thread, followed through clone, fork and exec
    Thread,
    /// The process with all that comes out of it, not touched at all
    Process,
    /// Each CPU, whoever runs there
    Core,
}

/// What to count, and how often.
#[derive(Args, Clone, Debug)]
pub(crate) struct What {
    /// An event set: names, codes or PMCTrack strings (`solo events` explains them). Several sets take turns,
    /// one a period
    #[arg(short, long = "event", value_name = "EVENT,...")]
    pub(crate) events: Vec<String>,
    /// The sampling period, 1ms or more
    #[arg(long, value_name = "TIME")]
    pub(crate) every: Option<String>,
    /// A derived column: ipc=instructions/cycles, rate=page_faults/seconds
    #[arg(short, long = "metric", value_name = "NAME=EXPRESSION")]
    pub(crate) metrics: Vec<String>,
    /// Virtual counters of a monitoring module (`solo events --modules` lists those that there are), of a file that describes one, or what the
    /// scheduler of a scenario file listens to
    #[arg(short = 'V', long = "with", value_name = "MODULE", value_delimiter = ',')]
    pub(crate) modules: Vec<String>,
    /// Count in user mode only, where an event does not say otherwise
    #[arg(long)]
    pub(crate) user: bool,
}

impl What {
    /// As words of another command line.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut option = |name: &str, value: &str| words.push(format!("{name}={value}").into());
        self.events.iter().for_each(|text| option("--event", text));
        self.every.iter().for_each(|text| option("--every", text));
        self.metrics.iter().for_each(|text| option("--metric", text));
        self.modules.iter().for_each(|text| option("--with", text));
        if self.user {
            words.push("--user".into());
        }
        words
    }
}

/// Where to watch.
#[derive(Args, Clone, Debug)]
pub(crate) struct Place {
    /// Watch on another machine, over ssh; the same solo must be installed there
    #[arg(long, value_name = "USER@HOST")]
    pub(crate) remote: Option<String>,
    /// The program on that machine
    #[arg(long, value_name = "PATH", default_value = "solo", requires = "remote")]
    pub(crate) remote_program: String,
}

/// Counts events over time while a program runs, of a process or of the whole machine. The program's exit
/// status is passed on. Without --event it counts page faults and context switches; without --every, every
/// 100ms, or only where an event's :ebs=N says so.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) what: What,
    #[command(flatten)]
    pub(crate) place: Place,
    /// What a row is about; threads of a program by default, CPUs with --all
    #[arg(long, value_enum)]
    pub(crate) per: Option<PerChoice>,
    /// Watch this process instead of starting one
    #[arg(short, long, value_name = "PID", conflicts_with = "command")]
    pub(crate) pid: Option<u32>,
    /// Watch the whole machine, per CPU or, with --per thread, every thread; until the program ends, where one is
    /// given
    #[arg(short, long, conflicts_with = "pid")]
    pub(crate) all: bool,
    /// Stop after this many rows; a program that was started is ended, with all that came out of it
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: Option<u64>,
    /// Stop when a thread has given this many samples of an event (:ebs=N); a program that was started is ended
    #[arg(short = 'K', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) samples: Option<u64>,
    /// Stop after this time; a program that was started is ended, with all that came out of it
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Keep the program on these CPUs, which must be online
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    pub(crate) cpus: Option<Vec<usize>>,
    /// How rows are written
    #[arg(long, value_enum, default_value_t = Form::Pmctrack)]
    pub(crate) format: Form,
    /// Write the rows into this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Keep rows, totals and doubts in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "output")]
    pub(crate) out: Option<PathBuf>,
    /// Add the column etime_us, the length of each row's interval, to PMCTrack's columns
    #[arg(short = 'E', long)]
    pub(crate) etime: bool,
    /// One row for each thread or CPU and set, the sums of all of its rows, at the end; nsample says of how many
    #[arg(short = 'A', long)]
    pub(crate) aggregate: bool,
    /// PMCTrack's columns without the mapping of events to counters before them
    #[arg(short = 'L', long)]
    pub(crate) legacy: bool,
    /// Show the real, user and system time of the program under PMCTrack's columns
    #[arg(short = 't', long)]
    pub(crate) times: bool,
    /// Print totals and doubts as JSON; rows are written only with --output or --out
    #[arg(long)]
    pub(crate) json: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

impl WatchArgs {
    /// As words of a command line on another machine; what belongs to the output stays here.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut words = self.what.arguments();
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| OsString::from(format!("{name}={value}"))));
        };
        let per = self.per.and_then(|per| per.to_possible_value());
        option("--per", per.map(|value| value.get_name().to_owned()));
        option("--pid", self.pid.map(|pid| pid.to_string()));
        option("--rows", self.rows.map(|rows| rows.to_string()));
        option("--samples", self.samples.map(|samples| samples.to_string()));
        option("--time", self.time.clone());
        let cpus = |cpus: &Vec<usize>| cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        option("--cpus", self.cpus.as_ref().map(cpus));
        if self.all {
            words.push("--all".into());
        }
        if !self.command.is_empty() {
            words.push("--".into());
            words.extend(self.command.iter().cloned());
        }
        words
    }
}

/// Shows counts per second by core, thread, process or cgroup, live: of a program, a process or, without either,
/// of the whole machine; or a recording of solo watch. Press h for keys. Without --event it counts what there is
/// of instructions, cycles, page faults and context switches; without --every, once a second.
#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    pub(crate) what: What,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Look at this process instead of starting one
    #[arg(short, long, value_name = "PID", conflicts_with = "command")]
    pub(crate) pid: Option<u32>,
    /// Look at a recording (solo watch --out DIR)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["command", "pid", "remote"])]
    pub(crate) recording: Option<PathBuf>,
    /// The program and its arguments; what it prints is shown in one line
    #[arg(trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Shows watches on a web page of this machine: live plots of any metric, expressions added on the page, several
/// programs side by side. Prints the address, whose token is new at each start, and serves until Ctrl-C. Without
/// any program, process or recording it watches the whole machine.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) what: What,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Start this shell command and watch it; several are shown side by side
    #[arg(long = "program", value_name = "COMMAND")]
    pub(crate) programs: Vec<String>,
    /// Watch this process; several are shown side by side
    #[arg(short, long = "pid", value_name = "PID")]
    pub(crate) pids: Vec<u32>,
    /// Show a recording (solo watch --out DIR); several are shown side by side
    #[arg(long = "recording", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) recordings: Vec<PathBuf>,
    /// The address to listen at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8321")]
    pub(crate) listen: SocketAddr,
    /// The token that lets readers in, for scrapers that start on their own; made for you alone where it does not exist
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// One more program and its arguments
    #[arg(trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

//! The command line of `solo color`.

use super::Show;
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run a program in memory of chosen colors.
#[derive(Args, Debug)]
pub(crate) struct ColorArgs {
    /// The page colors that the program may have: 0-7 or 0,2,4-6; without, any
    #[arg(short, long, value_name = "LIST")]
    pub(crate) colors: Option<String>,
    /// The DRAM banks that it may have, where the platform says which addresses lie in which; without, any
    #[arg(short, long, value_name = "LIST", requires = "platform")]
    pub(crate) banks: Option<String>,
    /// The chip whose map is used: one of solo platforms, or the path of a platform file [default: what this machine says
    /// of its last-level cache]
    #[arg(long, value_name = "NAME")]
    pub(crate) platform: Option<String>,
    /// A file of functions of address bits that make the colors (map.txt, or PALLOC's lines), instead of the cache's set index
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "platform")]
    pub(crate) map: Option<PathBuf>,
    /// Say which colors there are, and how many free frames each has; start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) show: Show,
    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

//! The command line of `solo pack`.

use super::Instead;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Write a medium.
#[derive(Args, Debug)]
pub(crate) struct Pack {
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Pack this variant instead of the scenario as it stands
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// What boots it: for a PC the image of a CD is written, for a Raspberry Pi 4 a folder of files for its card
    #[arg(long = "for", value_enum, value_name = "MACHINE", default_value_t = PackFor::Pc)]
    pub(crate) machine: PackFor,
    /// The image of a CD to write, which replaces what is there; or the folder, new or empty
    #[arg(long, short, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) out: PathBuf,
    /// Replace what a command has written to that folder
    #[arg(long)]
    pub(crate) force: bool,
    /// Build an image that knows the scenario's criterion alone; it is smaller, and takes a minute and Solocore's sources
    #[arg(long)]
    pub(crate) small: bool,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// No notes on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What boots what was packed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum PackFor {
    /// A PC, by BIOS or UEFI
    Pc,
    /// The Raspberry Pi 4 Model B, by its firmware
    #[value(name = "raspberry-pi-4")]
    RaspberryPi4,
}

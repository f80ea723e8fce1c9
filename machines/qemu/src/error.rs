//! What goes wrong between a host and an image.

use crate::needs::Needs;
use solo_bare::frame::{FrameError, InstructionSet, Refusal};
use solo_bare::module::ModuleError;
use solo_bare::placement::MemoryUser;
use solo_isolate::map::MapError;
use solo_model::text::{Printable, Unnumbered};
use solo_store::StoreError;
use std::path::PathBuf;
use std::time::Duration;

/// What the host lacks; each message says what would mend it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// No emulator.
    #[error("{} is not installed; on Debian: apt-get install {}", Needs::of(*.0).emulator, Needs::of(*.0).package)]
    Qemu(InstructionSet),
    /// The compiler can't build for bare metal.
    #[error("the Rust target {target} is not installed: rustup target add {target}", target = Needs::of(*.0).target)]
    Target(InstructionSet),
    /// The sources of the image are not where they were when this program was built.
    #[error(
        "there is no boot image: none lies beside this program as `{}`, {} names none, and its sources are not at {}; in \
         Solocore's sources: {}",
        Needs::of(*.0).beside, Needs::of(*.0).variable, Printable(.1.display()), Needs::of(*.0).build()
    )]
    Sources(InstructionSet, PathBuf),
    /// The image that was named is not there.
    #[error("{0} names {1}, which is no file")]
    Image(&'static str, PathBuf),
    /// No hardware virtualisation.
    #[error("/dev/kvm cannot be opened: {0}")]
    Kvm(String),
    /// An emulator without a Raspberry Pi 4.
    #[error("this QEMU has no Raspberry Pi 4 (raspi4b): 9.0 and later have")]
    Pi,
    /// No tools to make a medium that a PC boots from.
    #[error("{0} is missing; on Debian: apt-get install grub-common grub-pc-bin xorriso mtools")]
    Grub(&'static str),
    /// No parts of GRUB for UEFI, or no such firmware.
    #[error("{0} is missing; on Debian: apt-get install grub-efi-amd64-bin ovmf")]
    Uefi(&'static str),
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QemuError {
    /// This host can't run the image.
    #[error("bare metal is not available: {0}")]
    Missing(#[from] Missing),
    /// The image didn't compile.
    #[error("the image does not build:\n{0}")]
    Build(String),
    /// What a compiler linked can't be booted.
    #[error("{} is no linked program of 64 bits (ELF)", Printable(.0.display()))]
    NoProgram(PathBuf),
    /// The experiment can't be packed.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The medium could not be made.
    #[error("grub-mkrescue could not make the medium:\n{0}")]
    Medium(String),
    /// The medium was made, and can't be written where it is to lie.
    #[error(transparent)]
    Unwritable(StoreError),
    /// What a serial line carried is of another experiment.
    #[error(
        "these are the records of another experiment: its checksum is {found:#010x}, this one has {expected:#010x}"
    )]
    Other {
        /// The checksum of the experiment that was asked for.
        expected: u32,
        /// The checksum that the image told.
        found: u32,
    },
    /// What a serial line carried is of a machine with other instructions.
    #[error("these are the records of an {found} machine, not of an {expected} one")]
    OtherMachine {
        /// The instruction set that was asked for.
        expected: InstructionSet,
        /// That of the machine.
        found: InstructionSet,
    },
    /// A file or process of the host failed.
    #[error("{what}: {}", Unnumbered(source))]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The emulator said more than any experiment has to say.
    #[error(
        "the emulator said far more than an experiment has to say and was ended; it began with:\n{console}"
    )]
    TooMuch {
        /// The first lines of the console.
        console: String,
    },
    /// The image didn't come to its end in time.
    #[error("the machine did not finish within {limit:?}; it had printed:\n{console}")]
    TimeLimit {
        /// The limit.
        limit: Duration,
        /// What it had printed.
        console: String,
    },
    /// The machine reset itself (a triple fault), or QEMU gave up.
    #[error(
        "the machine reset itself or the emulator gave up (exit status {status:?}); it had printed:\n{console}"
    )]
    Reset {
        /// QEMU's exit status, where it wasn't killed.
        status: Option<i32>,
        /// What it had printed.
        console: String,
    },
    /// The image refused what it was given.
    #[error("the image refused to run:\n{console}")]
    Refused {
        /// What it had printed.
        console: String,
        /// Why, where the image is a program that said so.
        refusal: Option<Refusal>,
    },
    /// The kernel panicked or the processor reported a fault of the kernel.
    #[error("the kernel failed:\n{console}")]
    Failed {
        /// What it had printed.
        console: String,
    },
    /// The record stream is damaged.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The image reports pages in colors or banks where they should not be.
    #[error("pages lie where they should not: {0}")]
    Misplaced(#[from] Misplaced),
    /// The image said that it was done, and the stream lacks its beginning or its end.
    #[error("the record stream has no {frame} frame: {frames} frames came whole, in {bytes} bytes")]
    Incomplete {
        /// Which is missing.
        frame: &'static str,
        /// How many others came.
        frames: u64,
        /// How long the stream was.
        bytes: usize,
    },
    /// The image sent more records than came.
    #[error("the image sent {sent} records, {heard} came")]
    Lost {
        /// What its last frame says.
        sent: u64,
        /// How many came.
        heard: u64,
    },
    /// The image was done with fewer modules than it got, or with more.
    #[error("the image got {modules} modules and reported {found} runs")]
    Reports {
        /// What it got.
        modules: usize,
        /// What it reported.
        found: usize,
    },
}

impl QemuError {
    /// What the machine had printed before it failed; empty where it didn't come that far.
    pub fn console(&self) -> &str {
        match self {
            Self::TimeLimit { console, .. }
            | Self::Reset { console, .. }
            | Self::Refused { console, .. }
            | Self::Failed { console } => console,
            _ => "",
        }
    }

    /// True where the image refused to go on because a busy host disturbed every measurement of its clocks.
    pub fn is_disturbance(&self) -> bool {
        matches!(self, Self::Refused { console, .. } if console.contains("every attempt was disturbed"))
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// What is wrong with the placement that an image reports.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Misplaced {
    /// The experiment places no pages, or the report has none.
    #[error("nothing was placed by color or bank")]
    Nothing,
    /// The colors can't be told.
    #[error("{0}")]
    Map(MapError),
    /// One page frame holds two pages.
    #[error("page frame {frame} holds a page of {place} and another one")]
    Twice {
        /// The frame.
        frame: u64,
        /// Who has it beside another.
        place: MemoryUser,
    },
    /// Pages lie elsewhere, and nobody borrowed them.
    #[error("{pages} pages lie in colors or banks that are not their owners', and {borrowed} were borrowed")]
    Elsewhere {
        /// Pages.
        pages: u64,
        /// What the image counted as borrowed.
        borrowed: u64,
    },
}

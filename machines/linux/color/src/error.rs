//! Why a program could not be colored.

use solo_model::{Bank, Color};
use std::io;

/// Why nothing was colored, or not everything could be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ColorError {
    /// A color that the map does not have.
    #[error("there is no {color}: the map tells {colors} colors apart, numbered from 0")]
    NoSuchColor {
        /// The color asked for.
        color: Color,
        /// How many there are.
        colors: u16,
    },
    /// A bank that the map does not have.
    #[error("there is no {bank}: the map tells {banks} banks apart, numbered from 0")]
    NoSuchBank {
        /// The bank asked for.
        bank: Bank,
        /// How many there are.
        banks: u16,
    },
    /// Colors and banks share address bits, and none of these colors meets one of these banks.
    #[error(
        "no frame is of one of these colors and in one of these banks: both are chosen by the same address bits"
    )]
    NoSuchFrames,
    /// The map is for pages of another size.
    #[error("the map is for pages of {map} bytes, this machine's have {machine}")]
    PageSize {
        /// The map's pages, in bytes.
        map: u64,
        /// The machine's, in bytes.
        machine: u64,
    },
    /// The kernel does not say which frame a page is in.
    #[error("/proc/self/pagemap does not show page frames: this takes root or CAP_SYS_ADMIN")]
    FramesHidden,
    /// A facility of the kernel is missing or refused.
    #[error("{what} is refused or missing here")]
    Refused {
        /// What was asked of the kernel.
        what: &'static str,
        /// Its answer.
        source: io::Error,
    },
    /// Too few frames of the right kind were free.
    #[error("only {found} of {wanted} right page frames were found among {searched} free ones")]
    TooFewFrames {
        /// Right frames that were found.
        found: u64,
        /// How many were wanted.
        wanted: u64,
        /// Frames that were looked at.
        searched: u64,
    },
    /// The program could not be started.
    #[error("the program cannot be executed")]
    NoProgram {
        /// The kernel's answer.
        source: io::Error,
    },
    /// A program of another kind of processor mode.
    #[error("a 32-bit program: only 64-bit programs are followed")]
    NotSixtyFour,
    /// This machine's kind is not supported.
    #[error("programs are colored on x86-64 only")]
    Architecture,
}

impl ColorError {
    pub(crate) fn refused(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Refused { what, source }
    }
}

//! Many boots in a row: does the machine come to its end each time?
//!
//! A boot that hangs meets its time limit and is an error; so is one that resets, panics, or, under the instruction
//! clock, reports anything else than the boots of the same kind before it.

use crate::error::QemuError;
use crate::host::Image;
use crate::machine::{Accelerator, Board, Machine};
use solo_bare::frame::InstructionSet;
use solo_bare::module::{BootOptions, Module};
use std::time::{Duration, Instant};

/// A boot that came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Boot<'m> {
    /// Which one, from 0.
    pub number: usize,
    /// On which machine.
    pub machine: &'m Machine,
    /// How long the emulator ran, in time of the host.
    pub took: Duration,
    /// The image refused to go on, because a busy host disturbed every measurement of its clocks. That is no hang; it is
    /// counted.
    pub disturbed: bool,
}

/// Why a soak ended before its last boot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SoakError {
    /// A boot failed.
    #[error("boot {number} on {machine} failed: {source}")]
    Failed {
        /// Which one, from 0.
        number: usize,
        /// On which machine, in words.
        machine: String,
        /// Why.
        #[source]
        source: Box<QemuError>,
    },
    /// Two boots of one kind under the instruction clock reported different things.
    #[error("boot {number} on {machine} has digest {found}, the ones before had {expected}")]
    Differs {
        /// Which one, from 0.
        number: usize,
        /// On which machine, in words.
        machine: String,
        /// The digest of the first boot of this kind.
        expected: String,
        /// The digest of this one.
        found: String,
    },
}

/// The machines that a soak boots by turns: all boards of an instruction set, 1 to 8 cores, one host thread for all of them and one
/// for each. Not under KVM: there clocks are measured against time that a busy host takes away.
pub fn machines(instruction_set: InstructionSet) -> Vec<Machine> {
    let (plain, other) = match instruction_set {
        InstructionSet::X86_64 => (Board::Microvm, Board::Q35),
        InstructionSet::Arm64 => (Board::Virt, Board::Virt),
    };
    let machine =
        |board, accelerator, cores| Machine { board, accelerator, ..Machine::default() }.with_cores(cores);
    vec![
        machine(plain, Accelerator::InstructionClock, 1),
        machine(plain, Accelerator::Parallel, 2),
        machine(other, Accelerator::InstructionClock, 2),
        machine(plain, Accelerator::Parallel, 4),
        machine(plain, Accelerator::InstructionClock, 8),
        machine(other, Accelerator::Parallel, 2),
        machine(plain, Accelerator::InstructionClock, 4),
        machine(plain, Accelerator::Parallel, 8),
    ]
}

/// Boots `image` so many times on `machines` by turns, each time up to the end of the tests of the machine's parts
/// (timers, requests between all cores, context switch). Calls `each` after every boot.
///
/// # Errors
/// At the first boot that does not go well, but for clocks that were disturbed.
pub fn run(
    image: &Image,
    machines: &[Machine],
    boots: usize,
    mut each: impl FnMut(Boot<'_>),
) -> Result<(), SoakError> {
    let mut digests: Vec<Option<String>> = vec![None; machines.len()];
    for number in 0..boots {
        let Some(kind) = number.checked_rem(machines.len()) else { return Ok(()) };
        let machine = &machines[kind];
        let instruction_clock = machine.accelerator == Accelerator::InstructionClock;
        let options = BootOptions { instruction_clock, ..BootOptions::default() };
        let begin = Instant::now();
        let failed = |error: QemuError| SoakError::Failed {
            number,
            machine: machine.to_string(),
            source: Box::new(error),
        };
        let report = match machine.run_module(image, &Module { options, experiment: None }) {
            Err(error) if !instruction_clock && error.is_disturbance() => {
                each(Boot { number, machine, took: begin.elapsed(), disturbed: true });
                continue;
            }
            other => other.map_err(failed)?,
        };
        if instruction_clock {
            let expected = digests[kind].get_or_insert_with(|| report.digest.clone()).clone();
            if expected != report.digest {
                let machine = machine.to_string();
                return Err(SoakError::Differs { number, machine, expected, found: report.digest });
            }
        }
        each(Boot { number, machine, took: begin.elapsed(), disturbed: false });
    }
    Ok(())
}

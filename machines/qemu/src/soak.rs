//! Many boots in a row: does the machine come to its end each time?
//!
//! A boot that hangs meets its time limit and is an error; so is one that resets, panics, or, under the instruction
//! clock, reports anything else than the boots of the same kind before it.

use crate::error::QemuError;
use crate::host::{Host, Image};
use crate::machine::{Accelerator, Board, Machine};
use solo_x86_64::module::{Module, Options};
use std::time::{Duration, Instant};

/// A boot that went well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Boot<'m> {
    /// Which one, from 0.
    pub number: usize,
    /// On which machine.
    pub machine: &'m Machine,
    /// How long the emulator ran, in time of the host.
    pub took: Duration,
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

/// The machines that a soak boots by turns: both boards, 1 to 8 cores, one host thread for all of them and one for
/// each; with the processor itself where the host has it.
pub fn machines() -> Vec<Machine> {
    let machine =
        |board, accelerator, cores| Machine { board, accelerator, ..Machine::default() }.with_cores(cores);
    let mut machines = vec![
        machine(Board::Microvm, Accelerator::InstructionClock, 1),
        machine(Board::Microvm, Accelerator::Parallel, 2),
        machine(Board::Q35, Accelerator::InstructionClock, 2),
        machine(Board::Microvm, Accelerator::Parallel, 4),
        machine(Board::Microvm, Accelerator::InstructionClock, 8),
        machine(Board::Q35, Accelerator::Parallel, 2),
        machine(Board::Microvm, Accelerator::InstructionClock, 4),
        machine(Board::Microvm, Accelerator::Parallel, 8),
    ];
    if Host::kvm().is_ok() {
        // A hypervisor inside of another may emulate every instruction of ring 0.
        let limit = Duration::from_secs(240);
        machines.push(Machine { limit, ..machine(Board::Microvm, Accelerator::Kvm, 2) });
    }
    machines
}

/// Boots `image` so many times on `machines` by turns, each time up to the end of the tests of the machine's parts
/// (timers, requests between all cores, context switch). Calls `each` after every boot.
///
/// # Errors
/// At the first boot that does not go well.
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
        let options = Options { instruction_clock, ..Options::default() };
        let begin = Instant::now();
        let report = machine.run_module(image, &Module { options, experiment: None }).map_err(|error| {
            SoakError::Failed { number, machine: machine.to_string(), source: Box::new(error) }
        })?;
        if instruction_clock {
            let expected = digests[kind].get_or_insert_with(|| report.digest.clone()).clone();
            if expected != report.digest {
                let machine = machine.to_string();
                return Err(SoakError::Differs { number, machine, expected, found: report.digest });
            }
        }
        each(Boot { number, machine, took: begin.elapsed() });
    }
    Ok(())
}

//! Programs that are linked with the kernel: how they are built for bare metal, and booted.

use crate::elf::{Elf, Symbols};
use crate::error::QemuError;
use crate::host::{Host, Image};
use crate::machine::{Accelerator, Machine};
use crate::needs::Needs;
use crate::report::BootReport;
use solo_bare::frame::InstructionSet;
use solo_bare::module::{BootOptions, Module};
use std::path::Path;

/// The most cores of a program, all of which are started.
const CORES: u8 = 8;
/// The memory of the machine: each of 32 colors holds a thirty-second of it.
const MEMORY_MIB: u32 = 512;

/// How a compiler makes an image of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramBuild {
    /// The compiler's target.
    pub target: &'static str,
    /// The compiler's flags, for the whole program.
    pub flags: Vec<String>,
}

/// A program as the emulator takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramImage {
    image: Image,
    symbols: Symbols,
}

impl Host {
    /// How a program is built for this host's emulator.
    pub fn program_build(&self) -> ProgramBuild {
        let needs = Needs::of(self.instruction_set());
        let script = self.sources().join(needs.folder).join("link.ld");
        let script = script.canonicalize().unwrap_or(script);
        let mut flags = vec!["-Crelocation-model=static".to_owned(), "-Cforce-frame-pointers=yes".to_owned()];
        let link =
            [format!("-T{}", script.to_string_lossy()), "--build-id=none".to_owned(), "-no-pie".to_owned()];
        flags.extend(link.map(|argument| format!("-Clink-arg={argument}")));
        if self.instruction_set() == InstructionSet::X86_64 {
            flags.push("-Clink-arg=-zmax-page-size=4096".to_owned());
        }
        ProgramBuild { target: needs.target, flags }
    }

    /// The image of a program that a compiler has linked as [`Self::program_build`] says.
    ///
    /// # Errors
    /// [`QemuError::Io`] where it can't be read, or where plain bytes can't be written beside it.
    pub fn program_image(&self, linked: &Path) -> Result<ProgramImage, QemuError> {
        let bytes = std::fs::read(linked).map_err(QemuError::io("cannot read the linked program"))?;
        let elf = Elf::new(&bytes).ok_or_else(|| QemuError::NoProgram(linked.to_owned()))?;
        let path = match self.instruction_set() {
            InstructionSet::X86_64 => linked.to_owned(),
            // Its loader takes plain bytes.
            InstructionSet::Arm64 => {
                let plain = elf.plain().ok_or_else(|| QemuError::NoProgram(linked.to_owned()))?;
                let path = linked.with_extension("img");
                std::fs::write(&path, plain).map_err(QemuError::io("cannot write the image"))?;
                path
            }
        };
        Ok(ProgramImage { image: Image::at(path, self.instruction_set()), symbols: elf.symbols() })
    }
}

impl ProgramImage {
    /// Boots the program on a machine of 8 cores under the instruction clock, until the caller wants it to stop.
    ///
    /// # Errors
    /// If it doesn't come to its end.
    pub fn run(&self, limit: std::time::Duration, stop: &dyn Fn() -> bool) -> Result<BootReport, QemuError> {
        let machine = Machine { memory_mib: MEMORY_MIB, limit, ..Machine::of(self.image.instruction_set()) };
        let instruction_clock = machine.accelerator == Accelerator::InstructionClock;
        let options = BootOptions { instruction_clock, ..BootOptions::default() };
        let module = Module { options, experiment: None };
        machine.with_cores(CORES).boot_module(&self.image, &module, stop)
    }

    /// The function that an instruction lies in.
    pub fn function_at(&self, instruction: u64) -> Option<String> {
        self.symbols.at(instruction)
    }
}

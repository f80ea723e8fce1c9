//! The emulated computer.

use crate::error::Missing;
use crate::needs::Needs;
use crate::pi;
use solo_bare::frame::InstructionSet;
use solo_bare::wire::WIRE_ADDRESS;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The mainboard.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Board {
    /// Intel's Q35 with PCI Express, as PCs of 2009 had it.
    Q35,
    /// No PCI, the least firmware: boots fastest.
    #[default]
    Microvm,
    /// QEMU's board for 64-bit Arm, with a GICv3.
    Virt,
    /// The Raspberry Pi 4 Model B, whose four cores and 2 GiB are what they are; QEMU has it from version 9.0 on.
    RaspberryPi4,
}

impl Board {
    /// What its cores execute.
    pub const fn instruction_set(self) -> InstructionSet {
        match self {
            Self::Q35 | Self::Microvm => InstructionSet::X86_64,
            Self::Virt | Self::RaspberryPi4 => InstructionSet::Arm64,
        }
    }

    /// The one on which runs of an instruction set boot.
    pub const fn of(instruction_set: InstructionSet) -> Self {
        match instruction_set {
            InstructionSet::X86_64 => Self::Microvm,
            InstructionSet::Arm64 => Self::Virt,
        }
    }
}

/// What QEMU calls the Raspberry Pi 4.
const PI: &str = "raspi4b";

/// The processor of [`Board::Virt`], where none is named: with counters, as all that QEMU knows from Cortex-A53 on.
const ARM: &str = "cortex-a57";
/// Its generic timer ticks once a nanosecond, as finely as the instruction clock.
const ARM_CLOCK: &str = "cntfrq=1000000000";
/// The processor of the Raspberry Pi 4, as QEMU calls its kind.
const PI_PROCESSOR: &str = "cortex-a72-arm-cpu";

/// What executes the instructions.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Accelerator {
    /// QEMU's translator, one core after the other, one nanosecond for each instruction: exact and repeatable,
    /// without cache or pipeline.
    #[default]
    InstructionClock,
    /// QEMU's translator, each core in a thread of the host: real interleavings.
    Parallel,
    /// The processor itself.
    Kvm,
}

/// What a PC begins with, before the medium's loader.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Firmware {
    /// The PC's first one, which QEMU brings.
    #[default]
    Bios,
    /// That of today's PCs, as OVMF has it.
    Uefi,
}

/// OVMF as Debian lays it.
pub(crate) const OVMF: &str = "/usr/share/ovmf/OVMF.fd";

/// What the processor's own interrupt controller offers where the accelerator has it. QEMU's translator has neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalApic {
    /// Registers that are model-specific ones, identities of 32 bits.
    pub x2apic: bool,
    /// A timer that compares the time stamp counter.
    pub tsc_deadline: bool,
}

impl Default for LocalApic {
    fn default() -> Self {
        Self { x2apic: true, tsc_deadline: true }
    }
}

/// What an emulated computer starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start<'s> {
    /// The image with a boot module, and a device tree for a board that has none of itself, by the emulator's own loader.
    Files { image: &'s Path, module: &'s Path, tree: Option<&'s Path> },
    /// Whatever its firmware finds on a CD.
    Medium(&'s Path),
}

/// An emulated computer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The mainboard.
    pub board: Board,
    /// What executes the instructions.
    pub accelerator: Accelerator,
    /// What starts a medium.
    pub firmware: Firmware,
    /// QEMU's name of the processor, with properties; `None` for what it emulates of itself. Under KVM it is the host's.
    pub processor: Option<String>,
    /// What the processor's interrupt controller may offer.
    pub local_apic: LocalApic,
    /// How many cores, 1 to 16.
    pub cores: u8,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Wires for devices, two network devices each: at most [`Machine::MOST_WIRES`], of [`Board::Virt`] alone.
    pub wires: u8,
    /// Whether the emulator answers the calls by which an image on 64-bit Arm sends frames and ends. Else it does as on a board: frames
    /// take the serial line, and the machine is switched off.
    pub semihosting: bool,
    /// When to give up, in time of the host, without the time for which the host lets the emulator wait.
    pub limit: Duration,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InstructionClock => "instruction clock",
            Self::Parallel => "parallel",
            Self::Kvm => "KVM",
        })
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            board: Board::default(),
            accelerator: Accelerator::default(),
            firmware: Firmware::default(),
            processor: None,
            local_apic: LocalApic::default(),
            cores: 1,
            memory_mib: 256,
            wires: 0,
            semihosting: true,
            limit: Duration::from_secs(60),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let board = match self.board {
            Board::Q35 => "q35",
            Board::Microvm => "microvm",
            Board::Virt => "virt",
            Board::RaspberryPi4 => PI,
        };
        write!(f, "{board}, {}, {} cores", self.accelerator, self.cores)
    }
}

impl Machine {
    /// The board has places for 32 devices.
    pub const MOST_WIRES: u8 = 16;

    /// The machine on which runs of an instruction set boot, with one core.
    pub fn of(instruction_set: InstructionSet) -> Self {
        Self { board: Board::of(instruction_set), ..Self::default() }
    }

    /// The Raspberry Pi 4.
    pub fn pi() -> Self {
        Self { board: Board::RaspberryPi4, cores: pi::CORES, ..Self::default() }
    }

    /// Looks for an emulator that has one.
    ///
    /// # Errors
    /// [`Missing::Qemu`] without any, [`Missing::Pi`].
    pub fn look_for_pi() -> Result<(), Missing> {
        let needs = Needs::of(InstructionSet::Arm64);
        let mut command = Command::new(needs.emulator);
        let known = command.args(["-machine", "help"]).stdin(Stdio::null()).output();
        let known = known.map_err(|_| Missing::Qemu(InstructionSet::Arm64))?.stdout;
        let has = String::from_utf8_lossy(&known).lines().any(|line| line.split(' ').next() == Some(PI));
        if has { Ok(()) } else { Err(Missing::Pi) }
    }

    /// The same machine with `cores` cores.
    #[must_use]
    pub fn with_cores(self, cores: u8) -> Self {
        Self { cores, ..self }
    }

    /// Wires that the board has places for.
    fn wires_there(&self) -> u8 {
        if self.board == Board::Virt { self.wires.min(Self::MOST_WIRES) } else { 0 }
    }

    /// Cores and memory, which some boards have as they are.
    fn add_processors(&self, add: &mut impl FnMut(&[&str])) {
        let processor = self.processor.as_deref();
        match self.board {
            Board::RaspberryPi4 => return add(&["-global", &format!("{PI_PROCESSOR}.{ARM_CLOCK}")]),
            Board::Virt => add(&["-cpu", &format!("{},{ARM_CLOCK}", processor.unwrap_or(ARM))]),
            Board::Q35 | Board::Microvm if self.accelerator == Accelerator::Kvm => {}
            Board::Q35 | Board::Microvm => {
                processor.into_iter().for_each(|processor| add(&["-cpu", processor]))
            }
        }
        add(&["-smp", &self.cores.to_string(), "-m", &format!("{}M", self.memory_mib)]);
    }

    /// QEMU's arguments. Frames leave on standard output, text on standard error; from a medium both on standard error, for a
    /// PC has no debug console.
    pub(crate) fn arguments(&self, start: Start<'_>) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
        add(&match self.board {
            Board::Q35 => ["-machine", "q35"],
            Board::Microvm => ["-machine", "microvm,pit=on,pic=on,rtc=on,isa-serial=on"],
            Board::Virt => ["-machine", "virt,gic-version=3"],
            Board::RaspberryPi4 => ["-machine", PI],
        });
        match self.accelerator {
            Accelerator::InstructionClock => {
                add(&["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]);
                add(&["-rtc", "clock=vm,base=2026-01-01"]);
            }
            Accelerator::Parallel => add(&["-accel", "tcg,thread=multi"]),
            Accelerator::Kvm => {
                let mut processor = String::from("host,arch-capabilities=off");
                let offers =
                    [("x2apic", self.local_apic.x2apic), ("tsc-deadline", self.local_apic.tsc_deadline)];
                let withheld = offers.iter().filter(|(_, offered)| !offered);
                withheld.for_each(|(feature, _)| processor.extend([",", feature, "=off"]));
                add(&["-accel", "kvm", "-cpu", &processor]);
            }
        }
        self.add_processors(&mut add);
        (0..self.wires_there()).for_each(|wire| add_wire(wire, &mut add));
        let frames = ["-chardev", "stdio,id=frames,signal=off"];
        match (self.board, start) {
            (Board::Virt | Board::RaspberryPi4, _) => {
                add(&frames);
                // The image calls where its arguments say so.
                if self.semihosting {
                    add(&["-semihosting-config", "enable=on,target=native,chardev=frames"]);
                    add(&["-append", "semihosting"]);
                }
            }
            (_, Start::Files { .. }) => {
                add(&frames);
                add(&["-device", "isa-debug-exit,iobase=0xf4,iosize=2"]);
                add(&["-device", "isa-debugcon,iobase=0xe9,chardev=frames"]);
            }
            (_, Start::Medium(_)) => {
                add(&["-device", "isa-debug-exit,iobase=0xf4,iosize=2"]);
                if self.firmware == Firmware::Uefi {
                    add(&["-bios", OVMF]);
                }
            }
        }
        add(&["-chardev", "file,id=console,path=/dev/stderr", "-serial", "chardev:console"]);
        let files = match start {
            Start::Files { image, module, tree } => {
                [Some(("-kernel", image)), Some(("-initrd", module)), tree.map(|tree| ("-dtb", tree))]
            }
            Start::Medium(path) => [Some(("-cdrom", path)), None, None],
        };
        for (option, path) in files.into_iter().flatten() {
            arguments.push(option.into());
            arguments.push(path.into());
        }
        arguments
    }
}

/// Two network devices on a hub of their own. What is sent leaves 10 us after the device was told, by the machine's clock, in the thread of its
/// processor: else it would leave when the host finds time for it.
fn add_wire(wire: u8, add: &mut impl FnMut(&[&str])) {
    if wire == 0 {
        // Registers of Virtio 1.
        add(&["-global", "virtio-mmio.force-legacy=false"]);
    }
    let [first, second, third, fourth] = WIRE_ADDRESS;
    for end in 0..2 {
        add(&["-netdev", &format!("hubport,id=w{wire}e{end},hubid={wire}")]);
        let address = format!("{first:02x}:{second:02x}:{third:02x}:{fourth:02x}:{wire:02x}:{end:02x}");
        add(&[
            "-device",
            &format!("virtio-net-device,netdev=w{wire}e{end},mac={address},tx=timer,x-txtimer=10000"),
        ]);
    }
}

//! What each instruction set takes: an emulator, a target of the compiler, an image.

use solo_bare::frame::InstructionSet;

/// What it takes to run the image of an instruction set.
pub(crate) struct Needs {
    /// The emulator's program.
    pub(crate) emulator: &'static str,
    /// The Debian package that brings it.
    pub(crate) package: &'static str,
    /// The compiler's target.
    pub(crate) target: &'static str,
    /// The crate of the image.
    pub(crate) crate_name: &'static str,
    /// Its folder.
    pub(crate) folder: &'static str,
    /// Its program.
    pub(crate) program: &'static str,
    /// Names the image's file, where it lies neither beside the program nor among the sources.
    pub(crate) variable: &'static str,
    /// What the image's file is called beside the program. Cargo lays a program of the host's own by the image's name there,
    /// which does not boot: so the image has an ending.
    pub(crate) beside: &'static str,
}

impl Needs {
    pub(crate) const fn of(instruction_set: InstructionSet) -> Self {
        match instruction_set {
            InstructionSet::X86_64 => Self {
                emulator: "qemu-system-x86_64",
                package: "qemu-system-x86",
                target: "x86_64-unknown-none",
                crate_name: "solo-x86_64",
                folder: "machines/x86_64",
                program: "solo-rtos",
                variable: "SOLO_IMAGE",
                beside: "solo-rtos.elf",
            },
            InstructionSet::Arm64 => Self {
                emulator: "qemu-system-aarch64",
                package: "qemu-system-arm",
                target: "aarch64-unknown-none-softfloat",
                crate_name: "solo-aarch64",
                folder: "machines/aarch64",
                program: "solo-rtos-arm64",
                variable: "SOLO_IMAGE_ARM64",
                beside: "solo-rtos-arm64.img",
            },
        }
    }

    /// The command that builds the image, for messages.
    pub(crate) fn build(&self) -> String {
        let Self { crate_name, program, target, .. } = self;
        format!("cargo build --release -p {crate_name} --bin {program} --target {target}")
    }
}

//! The image, its loader and a boot module on a medium that a PC boots from.

use crate::error::{Missing, QemuError};
use crate::host::Image;
use crate::machine::OVMF;
use crate::report::{self, BootReport};
use solo_bare::frame::InstructionSet;
use solo_bare::module::{Module, checksum};
use solo_store::{Output, StoreError};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What GRUB does, without asking anybody.
const MENU: &str = "multiboot2 /boot/solo-rtos\nmodule2 /boot/experiment\nboot\n";

/// What it takes to make a medium.
const TOOLS: [&str; 3] = ["grub-mkrescue", "xorriso", "mformat"];

/// Where GRUB's own parts for a PC's first firmware lie.
const FOR_BIOS: &str = "/usr/lib/grub/i386-pc";

/// Where those for UEFI lie: a medium has both where both are there.
const FOR_UEFI: &str = "/usr/lib/grub/x86_64-efi";

/// An image of a CD that a PC boots, from a disc or, copied as it is, from a memory stick.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Medium {
    path: PathBuf,
}

impl Medium {
    /// Looks for what it takes to make one.
    ///
    /// # Errors
    /// [`Missing::Grub`], whose message says what would mend it.
    pub fn look() -> Result<(), Missing> {
        let present = |tool: &&str| {
            let mut command = Command::new(tool);
            command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok()
        };
        let missing = TOOLS.into_iter().find(|tool| !present(tool));
        match missing.or((!Path::new(FOR_BIOS).is_dir()).then_some(FOR_BIOS)) {
            Some(missing) => Err(Missing::Grub(missing)),
            None => Ok(()),
        }
    }

    /// True where a medium made here boots by UEFI as well.
    pub fn has_uefi() -> bool {
        Path::new(FOR_UEFI).is_dir()
    }

    /// Looks for what it takes to boot one by UEFI here.
    ///
    /// # Errors
    /// [`Missing::Grub`] or [`Missing::Uefi`].
    pub fn look_for_uefi() -> Result<(), Missing> {
        Self::look()?;
        match [FOR_UEFI, OVMF].into_iter().find(|path| !Path::new(path).exists()) {
            Some(missing) => Err(Missing::Uefi(missing)),
            None => Ok(()),
        }
    }

    /// Writes a medium that boots `image` with `modules`, which run one after another.
    ///
    /// # Errors
    /// Without GRUB's tools, or where a file can't be written.
    pub fn write(image: &Image, modules: &[Module], path: impl Into<PathBuf>) -> Result<Self, QemuError> {
        Self::look()?;
        let path = path.into();
        let packed = modules.iter().map(Module::pack).collect::<Result<Vec<_>, _>>()?;
        let folder = tempfile::tempdir().map_err(QemuError::io("cannot make a temporary folder"))?;
        let tree = folder.path().join("tree");
        let boot = tree.join("boot");
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(boot.join("grub"))?;
            std::fs::copy(image.path(), boot.join("solo-rtos"))?;
            std::fs::write(boot.join("experiment"), packed.concat())?;
            std::fs::write(boot.join("grub/grub.cfg"), MENU)
        };
        write().map_err(QemuError::io("cannot write the files of the medium"))?;
        // What did not go well leaves nothing at `path`.
        let made = folder.path().join("medium.iso");
        let mut grub = Command::new("grub-mkrescue");
        grub.arg("-o").arg(&made).arg(&tree).stdin(Stdio::null());
        let output = grub.output().map_err(QemuError::io("cannot start grub-mkrescue"))?;
        if !output.status.success() {
            return Err(QemuError::Medium(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let mut made = File::open(&made).map_err(QemuError::io("cannot read the medium that was made"))?;
        let mut output = Output::create(&path).map_err(QemuError::Unwritable)?;
        let copied = std::io::copy(&mut made, &mut output);
        copied.map_err(|source| {
            QemuError::Unwritable(StoreError::Io { operation: "write", path: path.clone(), source })
        })?;
        drop(output.commit().map_err(QemuError::Unwritable)?);
        Ok(Self { path })
    }

    /// What a machine that booted `module` alone said on its serial line.
    ///
    /// # Errors
    /// If it ran something else or executes other instructions, or something of what it said is missing or damaged.
    pub fn heard(
        module: &Module,
        instruction_set: InstructionSet,
        serial: &str,
    ) -> Result<BootReport, QemuError> {
        let report = report::last(BootReport::heard(serial)?)?;
        let executes = report.hello.hardware.instruction_set;
        if executes != instruction_set {
            return Err(QemuError::OtherMachine { expected: instruction_set, found: executes });
        }
        let (expected, found) = (checksum(&module.pack()?), report.hello.module);
        if expected == found { Ok(report) } else { Err(QemuError::Other { expected, found }) }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

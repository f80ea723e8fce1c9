//! What this host has: an emulator, a compiler for bare metal, the image.

use crate::error::{Missing, QemuError};
use crate::needs::Needs;
use solo_bare::frame::InstructionSet;
use solo_model::Criterion;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A host that can run the image of an instruction set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    instruction_set: InstructionSet,
    /// The emulator's version line.
    pub emulator: String,
    workspace: PathBuf,
    /// The image, where one was built before.
    built: Option<PathBuf>,
}

/// The bootable image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    path: PathBuf,
    instruction_set: InstructionSet,
}

impl Image {
    /// The one in this file.
    pub(crate) const fn at(path: PathBuf, instruction_set: InstructionSet) -> Self {
        Self { path, instruction_set }
    }

    /// What it executes.
    pub const fn instruction_set(&self) -> InstructionSet {
        self.instruction_set
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Host {
    /// Looks for what it takes to build and run the image for x86-64.
    ///
    /// # Errors
    /// As for [`Self::look_for`].
    pub fn look() -> Result<Self, Missing> {
        Self::look_for(InstructionSet::X86_64)
    }

    /// Looks for what it takes to build and run the image for an instruction set.
    ///
    /// # Errors
    /// [`Missing`], whose message says what would mend it: the reason to skip a test, and the line of
    /// `solo doctor`.
    pub fn look_for(instruction_set: InstructionSet) -> Result<Self, Missing> {
        let needs = Needs::of(instruction_set);
        let version = first_line(Command::new(needs.emulator).arg("--version"));
        let emulator = version.ok_or(Missing::Qemu(instruction_set))?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let named = std::env::var_os(needs.variable);
        let built = built(&needs, named.as_deref(), std::env::current_exe().ok().as_deref())?;
        let host = Self { instruction_set, emulator, workspace, built };
        if host.built.is_some() { Ok(host) } else { host.with_compiler() }
    }

    /// What it runs images of.
    pub const fn instruction_set(&self) -> InstructionSet {
        self.instruction_set
    }

    /// Where Solocore's sources lie.
    pub(crate) fn sources(&self) -> &Path {
        &self.workspace
    }

    /// Looks for what it takes to build and run programs that are linked with the kernel: as [`Self::look_for`], whether an image
    /// lies ready or not.
    ///
    /// # Errors
    /// As there.
    pub fn look_for_programs(instruction_set: InstructionSet) -> Result<Self, Missing> {
        let needs = Needs::of(instruction_set);
        let version = first_line(Command::new(needs.emulator).arg("--version"));
        let emulator = version.ok_or(Missing::Qemu(instruction_set))?;
        let (workspace, built) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), None);
        Self { instruction_set, emulator, workspace, built }.with_compiler()
    }

    /// Looks for sources and a compiler for them.
    fn with_compiler(self) -> Result<Self, Missing> {
        let needs = Needs::of(self.instruction_set);
        if !self.workspace.join(needs.folder).join("link.ld").is_file() {
            return Err(Missing::Sources(self.instruction_set, self.workspace));
        }
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let libraries =
            rustc.args(["--print", "target-libdir", "--target", needs.target]).current_dir(&self.workspace);
        let installed = first_line(libraries).is_some_and(|path| Path::new(&path).is_dir());
        if installed { Ok(self) } else { Err(Missing::Target(self.instruction_set)) }
    }

    /// True where the emulator can use the processor itself.
    ///
    /// # Errors
    /// [`Missing::Kvm`] with the reason.
    pub fn kvm() -> Result<(), Missing> {
        let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
        device.map(drop).map_err(|error| Missing::Kvm(error.to_string()))
    }

    /// True where an image lies ready, so that [`build_image`](Self::build_image) builds none.
    pub fn has_image(&self) -> bool {
        self.built.is_some()
    }

    /// The image that was built before, where there is one; else builds it, which is quick where nothing has changed.
    /// Builds have a target folder of their own, so that they don't wait for a build that waits for them.
    ///
    /// # Errors
    /// [`QemuError::Build`] with the compiler's words.
    pub fn build_image(&self) -> Result<Image, QemuError> {
        if let Some(path) = &self.built {
            return Ok(Image { path: path.clone(), instruction_set: self.instruction_set });
        }
        self.build(&self.workspace.join("target/rtos"), &[])
    }

    /// An image that knows these criteria alone, and is smaller for it; built from the sources, whatever lies ready.
    ///
    /// # Errors
    /// As [`Self::build_image`].
    pub fn build_image_of(&self, criteria: &[Criterion]) -> Result<Image, QemuError> {
        self.build(
            &self.workspace.join("target/rtos-of-criteria"),
            &[("SOLO_CRITERIA", &*names_of(criteria))],
        )
    }

    /// The image for the Raspberry Pi 4, which knows these criteria alone, or all where none is named; built from the sources, whatever
    /// lies ready.
    ///
    /// # Errors
    /// As [`Self::build_image`].
    pub fn build_image_for_pi(&self, criteria: &[Criterion]) -> Result<Image, QemuError> {
        let wishes = [("SOLO_BOARD", "raspberry-pi-4"), ("SOLO_CRITERIA", &*names_of(criteria))];
        self.build(&self.workspace.join("target/rtos-of-pi"), &wishes)
    }

    /// Builds the image with these wishes, which it reads from its environment.
    fn build(&self, folder: &Path, wishes: &[(&str, &str)]) -> Result<Image, QemuError> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let needs = Needs::of(self.instruction_set);
        cargo.args(["build", "--release", "--package", needs.crate_name, "--bin", needs.program]);
        cargo.args(["--target", needs.target, "--target-dir"]).arg(folder);
        for name in ["SOLO_CRITERIA", "SOLO_BOARD", "SOLO_SYMBOLS"] {
            cargo.env_remove(name);
        }
        cargo.envs(wishes.iter().copied());
        // Settings of a build that this one runs inside of are not meant for it.
        cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").current_dir(&self.workspace);
        let output = cargo.output().map_err(QemuError::io("cannot start cargo"))?;
        if !output.status.success() {
            return Err(QemuError::Build(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let path = folder.join(needs.target).join("release").join(needs.program);
        Ok(Image { path, instruction_set: self.instruction_set })
    }
}

/// As images are told criteria.
fn names_of(criteria: &[Criterion]) -> String {
    criteria.iter().map(|criterion| criterion.name()).collect::<Vec<_>>().join(",")
}

/// The image that `named` names, else the one that lies beside `program`.
fn built(needs: &Needs, named: Option<&OsStr>, program: Option<&Path>) -> Result<Option<PathBuf>, Missing> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        let path = PathBuf::from(named);
        return if path.is_file() { Ok(Some(path)) } else { Err(Missing::Image(needs.variable, path)) };
    }
    Ok(program.map(|program| program.with_file_name(needs.beside)).filter(|path| path.is_file()))
}

/// The first line that a command prints, if it succeeds.
fn first_line(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned();
    output.status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_the_one_named_or_the_one_beside_the_program() {
        let needs = Needs::of(InstructionSet::X86_64);
        let built = |named: Option<&OsStr>, program: Option<&Path>| built(&needs, named, program);
        let folder = tempfile::tempdir().unwrap();
        let (program, beside) = (folder.path().join("solo"), folder.path().join(needs.beside));
        std::fs::write(folder.path().join("solo-rtos"), "the host's own program, as Cargo builds it")
            .unwrap();
        assert_eq!(built(None, Some(&program)), Ok(None));
        std::fs::write(&beside, "image").unwrap();
        assert_eq!(built(None, Some(&program)), Ok(Some(beside.clone())));
        assert_eq!(built(Some(OsStr::new("")), Some(&program)), Ok(Some(beside)));
        let other = folder.path().join("other");
        assert_eq!(
            built(Some(other.as_os_str()), Some(&program)),
            Err(Missing::Image(needs.variable, other.clone()))
        );
        std::fs::write(&other, "image").unwrap();
        assert_eq!(built(Some(other.as_os_str()), Some(&program)), Ok(Some(other)));
    }
}

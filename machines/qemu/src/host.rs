//! What this host has: an emulator, a compiler for bare metal, the image.

use crate::error::{Missing, QemuError};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The emulator's program.
pub(crate) const EMULATOR: &str = "qemu-system-x86_64";
const TARGET: &str = "x86_64-unknown-none";

/// A host that can run the image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// The emulator's version line.
    pub emulator: String,
    workspace: PathBuf,
    /// The image, where one was built before.
    built: Option<PathBuf>,
}

/// Names the image's file, where it lies neither beside the program nor among the sources.
pub(crate) const IMAGE_VARIABLE: &str = "SOLO_IMAGE";

/// What the image's file is called beside the program. Cargo lays a program `solo-rtos` of the host's own there, which
/// does not boot: so the image has an ending.
pub(crate) const IMAGE_NAME: &str = "solo-rtos.elf";

/// The bootable image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    path: PathBuf,
}

impl Image {
    /// An image that was built elsewhere.
    pub(crate) fn from_file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Host {
    /// Looks for what it takes to build and run the image.
    ///
    /// # Errors
    /// [`Missing`], whose message says what would mend it: the reason to skip a test, and the line of
    /// `solo doctor`.
    pub fn look() -> Result<Self, Missing> {
        let emulator = first_line(Command::new(EMULATOR).arg("--version")).ok_or(Missing::Qemu)?;
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let built =
            built(std::env::var_os(IMAGE_VARIABLE).as_deref(), std::env::current_exe().ok().as_deref())?;
        if built.is_some() {
            return Ok(Self { emulator, workspace, built });
        }
        if !workspace.join("machines/x86_64/link.ld").is_file() {
            return Err(Missing::Sources(workspace));
        }
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        let libraries = rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(&workspace);
        let installed = first_line(libraries).is_some_and(|path| Path::new(&path).is_dir());
        if installed { Ok(Self { emulator, workspace, built }) } else { Err(Missing::Target) }
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
            return Ok(Image::from_file(path));
        }
        let folder = self.workspace.join("target/rtos");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--release", "--package", "solo-x86_64", "--bin", "solo-rtos"]);
        cargo.args(["--target", TARGET, "--target-dir"]).arg(&folder);
        // Settings of a build that this one runs inside of are not meant for it.
        cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").current_dir(&self.workspace);
        let output = cargo.output().map_err(QemuError::io("cannot start cargo"))?;
        if !output.status.success() {
            return Err(QemuError::Build(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(Image { path: folder.join(TARGET).join("release/solo-rtos") })
    }
}

/// The image that `named` names, else the one that lies beside `program`.
fn built(named: Option<&OsStr>, program: Option<&Path>) -> Result<Option<PathBuf>, Missing> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        let path = PathBuf::from(named);
        return if path.is_file() { Ok(Some(path)) } else { Err(Missing::Image(path)) };
    }
    Ok(program.map(|program| program.with_file_name(IMAGE_NAME)).filter(|path| path.is_file()))
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
        let folder = tempfile::tempdir().unwrap();
        let (program, beside) = (folder.path().join("solo"), folder.path().join(IMAGE_NAME));
        std::fs::write(folder.path().join("solo-rtos"), "the host's own program, as Cargo builds it")
            .unwrap();
        assert_eq!(built(None, Some(&program)), Ok(None));
        std::fs::write(&beside, "image").unwrap();
        assert_eq!(built(None, Some(&program)), Ok(Some(beside.clone())));
        assert_eq!(built(Some(OsStr::new("")), Some(&program)), Ok(Some(beside)));
        let other = folder.path().join("other");
        assert_eq!(built(Some(other.as_os_str()), Some(&program)), Err(Missing::Image(other.clone())));
        std::fs::write(&other, "image").unwrap();
        assert_eq!(built(Some(other.as_os_str()), Some(&program)), Ok(Some(other)));
    }
}

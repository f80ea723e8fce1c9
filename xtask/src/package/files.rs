//! Where each file of the package lies once it is installed.

use crate::{beat, setup};
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tree that becomes the package.
pub(super) struct Layout(PathBuf);

/// The program's own folder: images are found beside it.
const HOME: &str = "usr/lib/solocore";
const DOCUMENTS: &str = "usr/share/doc/solocore";

/// What the program starts when it is told to: nothing of it is needed to simulate and to prove.
const RECOMMENDS: &str = "qemu-system-x86, qemu-system-arm, valgrind";
/// What `solo pack` writes bootable media with.
const SUGGESTS: &str = "grub-common, grub-pc-bin, grub-efi-amd64-bin, xorriso, mtools";

const DESCRIPTION: &str =
    "Description: real-time tasks on multicores: see why deadlines are missed, make them hold
 Solocore runs scenarios of real-time tasks on a deterministic simulated
 multicore, on stock Linux and on its own small kernel under QEMU, with the
 same policy code. It shows what tasks do to each other through caches, DRAM
 banks and bandwidth, isolates them, and proves bounds.
";

impl Layout {
    /// An empty tree.
    pub(super) fn anew(root: &Path) -> Result<Self> {
        clear(root)?;
        Ok(Self(root.to_path_buf()))
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    pub(super) fn program(&self, program: &Path) -> Result<()> {
        self.file(program, &format!("{HOME}/solo"), 0o755)?;
        let commands = self.folder("usr/bin")?;
        symlink("../lib/solocore/solo", commands.join("solo")).context("cannot link usr/bin/solo")
    }

    /// An image lies beside the program, by the name that the program looks for.
    pub(super) fn image(&self, image: &setup::BootImage, built: &Path) -> Result<()> {
        self.file(built, &format!("{HOME}/{}", image.beside), 0o644)
    }

    pub(super) fn manuals(&self, program: &Path) -> Result<()> {
        let pages = self.folder("usr/share/man/man1")?;
        beat::run("manual pages", Command::new(program).arg("man").arg(&pages))?;
        for page in sorted(&pages)? {
            compress(&page)?;
        }
        Ok(())
    }

    pub(super) fn completions(&self, program: &Path) -> Result<()> {
        for (shell, place) in [
            ("bash", "usr/share/bash-completion/completions/solo"),
            ("zsh", "usr/share/zsh/vendor-completions/_solo"),
            ("fish", "usr/share/fish/vendor_completions.d/solo.fish"),
        ] {
            let output = Command::new(program).args(["completions", shell]).output()?;
            if !output.status.success() {
                bail!("solo completions {shell}: {}", String::from_utf8_lossy(&output.stderr));
            }
            self.text(place, &output.stdout)?;
        }
        Ok(())
    }

    /// Licences, what changed, and the scenarios to begin with.
    pub(super) fn documents(&self, sources: &Path) -> Result<()> {
        let mut rights = String::from("Solocore is licensed under Apache-2.0 or MIT, at your option.\n");
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            rights += &format!("\n{name}\n\n{}", fs::read_to_string(sources.join(name)).context(name)?);
        }
        self.text(&format!("{DOCUMENTS}/copyright"), rights.as_bytes())?;
        for name in ["README.md", "CAVEATS.md"] {
            self.file(&sources.join(name), &format!("{DOCUMENTS}/{name}"), 0o644)?;
        }
        let changes = format!("{DOCUMENTS}/changelog");
        self.file(&sources.join("CHANGELOG.md"), &changes, 0o644)?;
        compress(&self.0.join(&changes))?;
        for scenario in sorted(&sources.join("scenarios"))? {
            if scenario.extension().is_some_and(|kind| kind == "toml") {
                let name = scenario.file_name().unwrap_or_default().to_string_lossy().into_owned();
                self.file(&scenario, &format!("{DOCUMENTS}/examples/{name}"), 0o644)?;
            }
        }
        Ok(())
    }

    /// Services: none is started by being installed.
    pub(super) fn units(&self, folder: &Path) -> Result<()> {
        for unit in sorted(folder)? {
            let name = unit.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.file(&unit, &format!("usr/lib/systemd/system/{name}"), 0o644)?;
        }
        Ok(())
    }

    pub(super) fn bill(&self, bill: &Path) -> Result<()> {
        self.file(bill, &format!("{DOCUMENTS}/bill-of-materials.cdx.json"), 0o644)
    }

    pub(super) fn control(&self, version: &str) -> Result<()> {
        let kibibytes = size(&self.0)? / 1024;
        let control = format!(
            "Package: solocore\nVersion: {version}\nArchitecture: amd64\nMaintainer: Solocore <solocore@localhost>\n\
             Installed-Size: {kibibytes}\nRecommends: {RECOMMENDS}\nSuggests: {SUGGESTS}\nSection: science\n\
             Priority: optional\nHomepage: {}\n{DESCRIPTION}",
            env!("CARGO_PKG_REPOSITORY")
        );
        self.text("DEBIAN/control", control.as_bytes())
    }

    /// Gives everything one time.
    pub(super) fn dated(&self, seconds: &str) -> Result<()> {
        let mut touch = Command::new("find");
        touch.arg(&self.0).args([
            "-exec",
            "touch",
            "--no-dereference",
            "--date",
            &format!("@{seconds}"),
            "{}",
            "+",
        ]);
        beat::run("dating files", &mut touch)
    }

    fn folder(&self, place: &str) -> Result<PathBuf> {
        let path = self.0.join(place);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    fn file(&self, from: &Path, place: &str, mode: u32) -> Result<()> {
        let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        self.text(place, &content)?;
        fs::set_permissions(self.0.join(place), fs::Permissions::from_mode(mode)).context("cannot set rights")
    }

    fn text(&self, place: &str, content: &[u8]) -> Result<()> {
        let path = self.0.join(place);
        self.folder(&path.parent().unwrap_or(&path).to_string_lossy())?;
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Packs what is laid out; owners are root, times the given one.
pub(super) fn pack(layout: &Layout, package: &Path, seconds: &str) -> Result<()> {
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "-Zxz", "--build"]).arg(layout.root()).arg(package);
    beat::run("packing", deb.env("SOURCE_DATE_EPOCH", seconds))
}

/// Makes an empty folder, whatever was there.
pub(super) fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

fn compress(file: &Path) -> Result<()> {
    beat::run("compressing", Command::new("gzip").args(["--best", "--no-name", "--force"]).arg(file))
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The bytes of all files below a folder.
fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in sorted(folder)? {
        let about = fs::symlink_metadata(&path)?;
        bytes += if about.is_dir() { size(&path)? } else { about.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        crate::root().join("target/tests-of-packages").join(format!("{name}-{}", std::process::id()))
    }

    #[test]
    fn images_lie_beside_the_program_by_the_names_it_looks_for() {
        let needs = fs::read_to_string(crate::root().join("machines/qemu/src/needs.rs")).unwrap();
        let looked_for: Vec<String> = needs
            .lines()
            .filter_map(|line| line.trim().strip_prefix("beside: \""))
            .map(|rest| rest.trim_end_matches("\",").to_owned())
            .collect();
        assert_eq!(looked_for, setup::BOOT_IMAGES.map(|image| image.beside));
    }

    #[test]
    fn what_is_laid_out_twice_is_packed_alike() {
        if !setup::present("dpkg-deb") {
            println!("skipped: packing twice: no dpkg-deb");
            return;
        }
        let place = folder("twice");
        let packed = |name: &str| {
            let layout = Layout::anew(&place.join("root")).unwrap();
            layout.text("usr/share/doc/solocore/copyright", b"rights").unwrap();
            layout.text("usr/lib/solocore/solo", b"program").unwrap();
            layout.control("0.1.0+20260101.abc").unwrap();
            layout.dated("1700000000").unwrap();
            let package = place.join(name);
            pack(&layout, &package, "1700000000").unwrap();
            fs::read(package).unwrap()
        };
        let first = packed("first.deb");
        assert!(first == packed("second.deb"), "packed at another time, the package has other bytes");
        fs::remove_dir_all(&place).unwrap();
    }
}

//! The Debian package: the static program, the boot images beside it, manual pages, completions, units, and what it is made of.
//!
//! Everything is laid out under `target/package` and packed by dpkg-deb. Two builds of one commit at one place give the same
//! bytes: times are the commit's, owners are root, and the order is sorted.

mod files;
mod trial;

use crate::{beat, cargo, dependencies, root, setup, statically};
use anyhow::{Context, Result, bail};
use files::Layout;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built, and from what.
struct Source {
    /// The commit, shortened.
    commit: String,
    /// When it was made, in seconds.
    seconds: String,
    /// The package's version: the program's, the day and the commit.
    version: String,
}

/// Builds the package; with `twice`, again from nothing, and compares; with `trial`, installs it in a Debian of its own and uses
/// it there. The code to exit with.
pub(crate) fn run(twice: bool, trial: bool) -> Result<i32> {
    if !setup::present("dpkg-deb") {
        println!("skipped: the package: no dpkg-deb, which Debian has");
        return Ok(0);
    }
    let package = build()?;
    println!("{}", package.display());
    if twice && !same_again(&package)? {
        println!("FAILED: a second build of the same commit has other bytes");
        return Ok(1);
    }
    if trial { trial::run(&package) } else { Ok(0) }
}

/// Whether a build from nothing gives the same bytes.
fn same_again(package: &Path) -> Result<bool> {
    let first = fs::read(package)?;
    for built in [
        format!("target/{}", statically::TARGET),
        "target/static".to_owned(),
        "target/package/images".to_owned(),
    ] {
        let _ = fs::remove_dir_all(root().join(built));
    }
    let again = build()?;
    println!("{}, built again from nothing", again.display());
    Ok(fs::read(again)? == first)
}

fn build() -> Result<PathBuf> {
    let source = source()?;
    let folder = root().join("target/package");
    let layout = Layout::anew(&folder.join("root"))?;
    let program = statically::program()?;
    layout.program(&program)?;
    for image in &setup::BOOT_IMAGES {
        layout.image(image, &boot_image(image)?)?;
    }
    layout.manuals(&program)?;
    layout.completions(&program)?;
    layout.documents(&root())?;
    layout.units(&root().join("xtask/package"))?;
    if let Some(bill) = bill_of_materials(&folder, &source)? {
        layout.bill(&bill)?;
    }
    layout.control(&source.version)?;
    pack(&layout, &folder, &source)
}

/// Which commit this is.
fn source() -> Result<Source> {
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12"])?;
    let seconds = git(&["log", "-1", "--format=%ct"])?;
    let day = git(&["log", "-1", "--format=%cd", "--date=format:%Y%m%d"])?;
    let version = format!("{}+{day}.{}", env!("CARGO_PKG_VERSION"), commit.replace('-', "."));
    Ok(Source { commit, seconds, version })
}

fn git(words: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(root()).args(words).output().context("cannot start git")?;
    if !output.status.success() {
        bail!(
            "git {words:?}: {}; a package says its commit, so it is built in a clone",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Builds the image that an instruction set boots.
fn boot_image(image: &setup::BootImage) -> Result<PathBuf> {
    let setup::BootImage { package, program, target, .. } = image;
    if !setup::compiles_for(target) {
        beat::run("the compiler's libraries", Command::new("rustup").args(["target", "add", target]))?;
    }
    // Apart from those that tests boot: nobody debugs the packaged one.
    let folder = root().join("target/package/images");
    let mut build = cargo(&["build", "--release", "--locked", "--package", package, "--bin", program]);
    build.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_STRIP", "debuginfo");
    beat::run(&format!("building {program}"), build.args(["--target", target, "--target-dir"]).arg(&folder))?;
    Ok(folder.join(target).join("release").join(program))
}

/// What the program is made of, as CycloneDX. The tool writes beside every crate: it gets sources of its own.
fn bill_of_materials(folder: &Path, source: &Source) -> Result<Option<PathBuf>> {
    const INSTALL: &str = "cargo install --locked cargo-cyclonedx";
    let works = cargo(&["cyclonedx", "--version"]).output().is_ok_and(|output| output.status.success());
    if !works {
        println!("skipped: the bill of materials: no cargo-cyclonedx (`{INSTALL}`)");
        return Ok(None);
    }
    let sources = folder.join("sources");
    files::clear(&sources)?;
    let archive = folder.join("sources.tar");
    let mut pack = Command::new("git");
    pack.current_dir(root()).args(["archive", "--output"]).arg(&archive).arg("HEAD");
    beat::run("copying the sources", &mut pack)?;
    beat::run("unpacking them", Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&sources))?;
    let mut bill = cargo(&["cyclonedx", "-qq", "--format", "json", "--spec-version", "1.5"]);
    bill.args(["--target", statically::TARGET, "--override-filename", "bill", "--manifest-path"]);
    bill.arg(sources.join("solo/Cargo.toml")).env("SOURCE_DATE_EPOCH", &source.seconds);
    beat::run("writing the bill of materials", &mut bill)?;
    Ok(Some(sources.join("solo/bill.json")))
}

/// Packs what is laid out.
fn pack(layout: &Layout, folder: &Path, source: &Source) -> Result<PathBuf> {
    let package = folder.join(format!("solocore_{}_amd64.deb", source.version));
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.path().extension().is_some_and(|kind| kind == "deb") {
            fs::remove_file(entry.path())?;
        }
    }
    layout.dated(&source.seconds)?;
    files::pack(layout, &package, &source.seconds)?;
    if source.commit.ends_with("-dirty") {
        println!("note: the sources differ from their commit; the version says so");
    }
    if !dependencies::judge(&mut |reason| println!("skipped: {reason}"))? {
        bail!("a dependency may not be passed on: see above");
    }
    Ok(package)
}

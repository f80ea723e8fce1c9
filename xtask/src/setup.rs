//! Programs that tests use beside Rust, and how to get them.

use crate::beat;
use anyhow::Result;
use std::path::Path;
use std::process::{Command, Stdio};

/// A program, or a folder of its parts, and the Debian package that brings it.
struct Tool {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

const TOOLS: [Tool; 10] = [
    Tool { program: "clang", package: "clang", why: "programs in C on bare metal" },
    Tool { program: "valgrind", package: "valgrind", why: "recording real programs" },
    Tool { program: "qemu-system-x86_64", package: "qemu-system-x86", why: "booting the bare-metal machine" },
    Tool {
        program: "qemu-system-aarch64",
        package: "qemu-system-arm",
        why: "booting bare metal on 64-bit Arm",
    },
    Tool { program: "grub-mkrescue", package: "grub-common", why: BOOT },
    Tool { program: "/usr/lib/grub/i386-pc", package: "grub-pc-bin", why: BOOT },
    Tool { program: "/usr/lib/grub/x86_64-efi", package: "grub-efi-amd64-bin", why: BOOT },
    Tool { program: "/usr/share/ovmf/OVMF.fd", package: "ovmf", why: BOOT },
    Tool { program: "xorriso", package: "xorriso", why: BOOT },
    Tool { program: "mformat", package: "mtools", why: BOOT },
];

const BOOT: &str = "booting the bare-metal machine as a PC does";

/// A boot image, which only its own target compiles.
pub(crate) struct BootImage {
    pub(crate) package: &'static str,
    pub(crate) program: &'static str,
    pub(crate) target: &'static str,
    /// What its file is called beside the program, where `solo` looks for it.
    pub(crate) beside: &'static str,
}

/// All of them.
pub(crate) const BOOT_IMAGES: [BootImage; 2] = [
    BootImage {
        package: "solo-x86_64",
        program: "solo-rtos",
        target: "x86_64-unknown-none",
        beside: "solo-rtos.elf",
    },
    BootImage {
        package: "solo-aarch64",
        program: "solo-rtos-arm64",
        target: "aarch64-unknown-none-softfloat",
        beside: "solo-rtos-arm64.img",
    },
];

pub(crate) fn present(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).exists();
    }
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

/// Installs what is missing where that is possible; what stays missing makes tests skip, with a reason.
pub(crate) fn prepare() -> Result<()> {
    let missing: Vec<&Tool> = TOOLS.iter().filter(|tool| !present(tool.program)).collect();
    if !missing.is_empty() {
        let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
        if is_root() && present("apt-get") {
            eprintln!("installing {}, without what they merely recommend", packages.join(", "));
            install(&packages)?;
        } else {
            for tool in &missing {
                eprintln!("missing {}: tests of {} will be skipped", tool.program, tool.why);
            }
            eprintln!("to run them, as root: apt-get install {}", packages.join(" "));
        }
    }
    BOOT_IMAGES.iter().for_each(|image| add_target(image.target));
    Ok(())
}

/// Installs packages, where that is possible.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    if !is_root() || !present("apt-get") {
        anyhow::bail!("as root: apt-get install {}", packages.join(" "));
    }
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}

fn apt(arguments: &[&str]) -> Result<()> {
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").args(arguments).stdout(Stdio::null());
    if let Err(error) = beat::run(&format!("apt-get {}", arguments[0]), &mut apt) {
        eprintln!("{error:#}; tests that need it will be skipped");
    }
    Ok(())
}

/// The standard library for `target` is installed.
pub(crate) fn compiles_for(target: &str) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = rustc.args(["--print", "target-libdir", "--target", target]).stderr(Stdio::null()).output();
    output.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Without rustup or without network the tests on bare metal skip and say so.
fn add_target(target: &str) {
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !added {
        eprintln!("rustup target add {target} failed: tests on bare metal will be skipped");
    }
}

#[cfg(test)]
mod tests {
    use super::compiles_for;

    #[test]
    fn only_installed_targets_can_be_compiled_for() {
        let about = std::process::Command::new("rustc").arg("-vV").output().unwrap();
        let about = String::from_utf8(about.stdout).unwrap();
        let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        assert!(compiles_for(host) && !compiles_for("no-such-target"));
    }
}

//! A guest with sched_ext: `solo guard --back-end sched-ext` and `solo run --on linux --scheduler sched-ext` checked on kernels that take schedulers, and on one that takes none.
//!
//! The kernels are Debian's, fetched once and known by their hashes. The archive drops a package when the next one comes: what is
//! no longer there is a reason to skip.

use super::{Verdicts, initrd, verdicts};
use crate::apart::MIRROR;
use crate::{cargo, run, setup, target};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Where Debian's libelf.a and libz.a are.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";
const PATIENCE: Duration = Duration::from_secs(900);

/// Programs and libraries beside Rust, and the Debian packages that bring them.
const TOOLS: [(&str, &str); 4] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("clang", "clang"),
    ("/usr/lib/x86_64-linux-gnu/libelf.a", "libelf-dev"),
    ("/usr/lib/x86_64-linux-gnu/libz.a", "zlib1g-dev"),
];

/// A kernel, and what is to be found about it.
struct Kernel {
    release: &'static str,
    package: &'static str,
    sha256: &'static str,
    /// A word for the guest on the kernel's command line.
    word: &'static str,
}

const KERNELS: [Kernel; 3] = [
    Kernel {
        release: "7.2.13",
        package: "linux-binary-7.2.13+deb14-cloud-amd64_7.2.13-1_amd64.deb",
        sha256: "03e41f1c34c16583462f029e81944a85ebcdb78098c258dedfa1cfdd680a27f8",
        word: "",
    },
    Kernel {
        release: "6.18.15",
        package: "linux-image-6.18.15+deb13-cloud-amd64_6.18.15-1~bpo13+1_amd64.deb",
        sha256: "5a507681ea8c978d02265a7fec2f02c9588fb48b54b7f71edc1059e86007f3ec",
        word: "",
    },
    // Its types were written by a pahole that left the hidden arguments in.
    Kernel {
        release: "7.2.12",
        package: "linux-binary-7.2.12+deb13-cloud-amd64_7.2.12-1~bpo13+1_amd64.deb",
        sha256: "aa6720823145e351d3c817c95fe58d89995a2bcba4978ad2418c36a1c272f795",
        word: " solo.malformed",
    },
];

fn folder() -> PathBuf {
    target().join("guest-x86")
}

impl Kernel {
    fn image(&self) -> PathBuf {
        folder().join(format!("vmlinuz-{}", self.release))
    }

    /// Fetches it, once.
    fn prepare(&self) -> Result<()> {
        if self.image().exists() {
            return Ok(());
        }
        let archive = folder().join(self.package);
        if !self.is_whole(&archive) {
            let address = format!("{MIRROR}/pool/main/l/linux-signed-amd64/{}", self.package);
            run(Command::new("curl").args(["-sSf", "--max-time", "300", "-o"]).arg(&archive).arg(address))?;
        }
        if !self.is_whole(&archive) {
            bail!("{} is not the package of this hash", archive.display());
        }
        let unpacked = folder().join(self.release);
        run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&unpacked))?;
        let image = find(&unpacked).with_context(|| format!("no kernel in {}", archive.display()))?;
        fs::rename(image, self.image())?;
        fs::remove_dir_all(unpacked)?;
        Ok(())
    }

    fn is_whole(&self, archive: &Path) -> bool {
        let sum = Command::new("sha256sum").arg(archive).output();
        sum.is_ok_and(|sum| sum.stdout.starts_with(self.sha256.as_bytes()))
    }
}

/// The kernel below a folder: old packages have it in `boot`, new ones beside its modules.
fn find(folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        match entry.file_type().ok()? {
            kind if kind.is_dir() => find(&path),
            kind if kind.is_file() && entry.file_name().to_string_lossy().starts_with("vmlinuz") => {
                Some(path)
            }
            _ => None,
        }
    })
}

pub(super) fn prepared() -> bool {
    KERNELS.iter().any(|kernel| kernel.image().exists()) && TOOLS.iter().all(|(part, _)| setup::present(part))
}

pub(super) fn check(words: &str) -> Result<i32> {
    fs::create_dir_all(folder())?;
    let missing: Vec<_> = TOOLS.iter().filter(|(part, _)| !setup::present(part)).collect();
    let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
    if !missing.is_empty()
        && let Err(error) = setup::install(&packages)
    {
        println!("skipped: x86 guest: apt-get install {}: {error:#}", packages.join(" "));
        return Ok(0);
    }
    let initrd = build()?;
    let (mut all, mut booted) = (Verdicts::default(), false);
    for kernel in &KERNELS {
        match kernel.prepare() {
            Ok(()) => {
                let one = boot(kernel, &initrd, words)?;
                (all.held, all.failed, booted) = (all.held + one.held, all.failed + one.failed, true);
            }
            Err(error) => println!("skipped: x86 guest with Linux {}: {error:#}", kernel.release),
        }
    }
    Ok(if booted { all.code() } else { 0 })
}

/// The program with its scheduler and its checker, in an initial file system.
fn build() -> Result<PathBuf> {
    let solo = ["--package", "solo", "--no-default-features", "--features", "sched-ext"];
    for words in [&solo[..], &["--package", "solo-scx", "--example", "guest"]] {
        let mut build = cargo(&["build", "--target", TARGET]);
        build
            .args(words)
            .env("LIBBPF_SYS_LIBRARY_PATH", LIBRARIES)
            .env("RUSTFLAGS", "-C target-feature=+crt-static");
        run(&mut build)?;
    }
    let built = target().join(TARGET).join("debug");
    let mut files = Vec::new();
    for (name, from) in [("init", built.join("examples/guest")), ("solo", built.join("solo"))] {
        let stripped = folder().join(name);
        run(Command::new("strip").arg("-o").arg(&stripped).arg(from))?;
        files.push((name, stripped));
    }
    let path = folder().join("initrd");
    initrd(&path, &files)?;
    Ok(path)
}

/// Under the instruction clock: what the host does beside it does not make the guest late.
fn boot(kernel: &Kernel, initrd: &Path, words: &str) -> Result<Verdicts> {
    let mut guest = Command::new("qemu-system-x86_64");
    guest
        .args(["-cpu", "Nehalem", "-smp", "2", "-m", "512", "-nographic", "-no-reboot", "-nic", "none"])
        .args(["-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off", "-kernel"])
        .arg(kernel.image())
        .arg("-initrd")
        .arg(initrd)
        .arg("-append")
        .arg(format!("console=ttyS0 quiet panic=-1 rdinit=/init{}{words}", kernel.word));
    verdicts(&format!("x86 guest with Linux {}", kernel.release), guest, PATIENCE)
}

//! Compiles the .c files of src for the machine that Cargo builds for: with clang, which compiles for all of them, or with the
//! compiler that the variable CC names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What code without an operating system is compiled with: no C library, no floating point.
const BARE: [&str; 4] = ["-ffreestanding", "-fno-stack-protector", "-fno-pic", "-fno-asynchronous-unwind-tables"];

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let target = variable("TARGET");
    let machine: &[&str] = match target.as_str() {
        "x86_64-unknown-none" => &["--target=x86_64-unknown-none", "-mno-red-zone", "-mno-mmx", "-mno-sse"],
        "aarch64-unknown-none-softfloat" => &["--target=aarch64-unknown-none", "-mgeneral-regs-only"],
        _ => &["-fPIC", "-fexceptions"],
    };
    let bare: &[&str] = if target.contains("-none") { &BARE } else { &[] };
    let compiler = env::var("CC").unwrap_or("clang".into());
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rerun-if-changed=src");
    for source in sources(Path::new("src")) {
        let object = Path::new(&variable("OUT_DIR")).join(source.with_extension("o").file_name().expect("a file"));
        let mut compile = Command::new(&compiler);
        compile.args(["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-fno-omit-frame-pointer"]);
        compile.args(machine).args(bare).arg("-I").arg(variable("DEP_SOLO_APP_INCLUDE"));
        compile.arg("-c").arg(&source).arg("-o").arg(&object);
        match compile.status() {
            Ok(status) if status.success() => println!("cargo::rustc-link-arg-bins={}", object.display()),
            Ok(_) => panic!("{} does not compile, see above", source.display()),
            Err(error) => panic!("{compiler} can't be started: {error}; as root on Debian: apt-get install clang"),
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder src");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "c"));
    files.sort();
    files
}

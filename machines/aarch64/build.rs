//! Links the boot image at its fixed address, as the plain bytes that loaders of 64-bit Arm take; as an ELF file with its symbols where
//! `SOLO_SYMBOLS` is set, for tests that look at its object code. A build for the host needs nothing.

/// The machines that an image can be for, and where their RAM begins.
const BOARDS: [(&str, &str); 2] = [("virt", "0x40000000"), ("raspberry-pi-4", "0")];

fn main() {
    println!("cargo::rerun-if-changed=link.ld");
    println!("cargo::rerun-if-changed=src/port/entry.s");
    println!("cargo::rerun-if-env-changed=SOLO_BOARD");
    println!("cargo::rerun-if-env-changed=SOLO_SYMBOLS");
    println!("cargo::rustc-check-cfg=cfg(solo_board, values(\"virt\", \"raspberry-pi-4\"))");
    let named = std::env::var("SOLO_BOARD").unwrap_or_default();
    let (board, ram) = match BOARDS.iter().find(|(name, _)| *name == named) {
        Some(board) => *board,
        None if named.is_empty() => BOARDS[0],
        None => panic!("SOLO_BOARD names something else than a board: virt, raspberry-pi-4"),
    };
    println!("cargo::rustc-cfg=solo_board=\"{board}\"");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| String::from("."));
    let memory = format!("--defsym=ram_start={ram}");
    let format = if std::env::var_os("SOLO_SYMBOLS").is_some() { "elf" } else { "binary" };
    let format = format!("--oformat={format}");
    for argument in [&format!("-T{here}/link.ld"), &memory, "--build-id=none", &format, "-no-pie"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}

//! Links the boot image at its fixed address. A build for the host needs nothing.

fn main() {
    println!("cargo::rerun-if-changed=link.ld");
    println!("cargo::rerun-if-changed=src/port/boot/entry.s");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("none") {
        return;
    }
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| String::from("."));
    for argument in [&format!("-T{here}/link.ld"), "--build-id=none", "-zmax-page-size=4096", "-no-pie"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}

//! Tells the build of a program where the header lies: `DEP_SOLO_APP_INCLUDE`.

fn main() {
    println!("cargo::metadata=include={}/include", env!("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=include");
}

//! The boot image: the real-time kernel on bare 64-bit Arm.
//!
//! ```text
//! cargo build --release --package solo-aarch64 --target aarch64-unknown-none-softfloat
//! ```
//!
//! `solo-qemu` builds it, starts it under QEMU and decodes what it reports.
#![cfg_attr(target_os = "none", no_std, no_main)]

/// What the port does once its boot core and heap are prepared: runs the boot modules.
#[cfg(target_os = "none")]
#[unsafe(no_mangle)]
fn solo_main(module: Option<&'static [u8]>, heap_bytes: u64) -> ! {
    solo_aarch64::start(module, heap_bytes)
}

/// On a host the image is only a name: `solo-qemu` builds it for its own target.
#[cfg(not(target_os = "none"))]
fn main() {
    println!(
        "the boot image is built for aarch64-unknown-none-softfloat and started by `solo run --on rtos-arm64`"
    );
}

//! The boot image: the real-time kernel on bare x86-64.
//!
//! ```text
//! cargo build --release --package solo-x86_64 --target x86_64-unknown-none
//! ```
//!
//! `solo-qemu` builds it, starts it under QEMU and decodes what it reports.
#![cfg_attr(target_os = "none", no_std, no_main)]

/// What the port does once its boot core and heap are prepared: runs the boot modules.
#[cfg(target_os = "none")]
#[unsafe(no_mangle)]
fn solo_main(module: Option<&'static [u8]>, heap_bytes: u64) -> ! {
    solo_x86_64::start(module, heap_bytes)
}

/// On a host the image is only a name: `solo-qemu` builds it for its own target.
#[cfg(not(target_os = "none"))]
fn main() {
    println!("the boot image is built for x86_64-unknown-none and started by `solo run --on rtos`");
}

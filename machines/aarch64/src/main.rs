//! The boot image: the real-time kernel on bare 64-bit Arm.
//!
//! ```text
//! cargo build --release --package solo-aarch64 --target aarch64-unknown-none-softfloat
//! ```
//!
//! `solo-qemu` builds it, starts it under QEMU and decodes what it reports.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
mod arch;
#[cfg(target_os = "none")]
mod boot;
#[cfg(target_os = "none")]
mod clock;
#[cfg(target_os = "none")]
mod console;
#[cfg(target_os = "none")]
mod cores;
#[cfg(target_os = "none")]
mod counters;
#[cfg(target_os = "none")]
mod interrupts;
#[cfg(target_os = "none")]
mod memory;
#[cfg(target_os = "none")]
mod port;
#[cfg(target_os = "none")]
mod provoke;
#[cfg(target_os = "none")]
mod report;

/// On a host the image is only a name: `solo-qemu` builds it for its own target.
#[cfg(not(target_os = "none"))]
fn main() {
    println!(
        "the boot image is built for aarch64-unknown-none-softfloat and started by `solo run --on rtos-arm64`"
    );
}

//! Input and output ports.

use core::arch::asm;

/// Writes a byte to a port.
///
/// # Safety
/// The device behind the port must not reach into memory that Rust owns because of it.
#[inline(always)]
pub unsafe fn write(port: u16, value: u8) {
    // SAFETY: the caller vouches for the device.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags)) };
}

/// Writes bytes to a port, one after the other.
///
/// # Safety
/// As for [`write`].
pub unsafe fn write_all(port: u16, bytes: &[u8]) {
    // SAFETY: reads exactly the slice's bytes; the caller vouches for the device.
    unsafe {
        asm!("rep outsb", in("dx") port, inout("rsi") bytes.as_ptr() => _, inout("rcx") bytes.len() => _,
            options(readonly, nostack, preserves_flags));
    }
}

/// Reads a byte from a port.
///
/// # Safety
/// As for [`write`].
#[inline(always)]
pub unsafe fn read(port: u16) -> u8 {
    let value: u8;
    // SAFETY: the caller vouches for the device.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack, preserves_flags)) };
    value
}

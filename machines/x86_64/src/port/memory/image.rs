//! The image on other page frames: code, constants and data of the kernel, where it has a color of its own.
//!
//! Addresses stay what they are. The frames behind them change, all at once as far as any core can tell:
//!
//! ```text
//!   1. the boot core copies page after page to its new frame, and sets the entries, without a write to memory
//!      in between: what it would write might be on a page that has been copied already
//!   2. it forgets its translations, asks the others, which rest and write nothing, to do the same, and waits for them
//!   3. the frames of before are nobody's
//! ```
//!
//! The page tables of the identity are walked by their physical addresses and stay where the loader put them.

use super::tables;
use crate::port::arch::{X86, apic, registers};
use core::arch::asm;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use solo_bare::isa::Isa;
use solo_bare::paging::Move;
use solo_bare::rtos::cores;

/// Asks a core that rests to forget its translations.
pub const FORGET_VECTOR: u8 = 0xf8;

/// The cores that have forgotten theirs since they were asked.
static FORGOTTEN: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    static image_start: u8;
    static image_end: u8;
}

/// The addresses of the image without the page tables in its midst.
pub fn pieces() -> [Range<u64>; 2] {
    let (start, end) = ((&raw const image_start) as u64, (&raw const image_end) as u64);
    let tables = tables::identity_tables();
    [start..tables.start, tables.end..end]
}

/// See [`solo_bare::paging::Paging::exchange`].
///
/// # Safety
/// As there.
pub unsafe fn exchange(moves: &[Move]) {
    if moves.is_empty() {
        return;
    }
    // SAFETY: nothing is written but the new frames and the entries; everything else stays in registers. The new frame of
    // the page that is executed, and of the stack, hold what the old ones held.
    unsafe {
        asm!(
            "pushfq",
            "cli",
            "2:",
            "mov rsi, [r8]",
            "mov rdi, [r8 + 8]",
            "mov ecx, 512",
            "rep movsq",
            "add r8, 32",
            "dec r9",
            "jnz 2b",
            "3:",
            "mov rsi, [r10 + 16]",
            "mov rdi, [r10 + 24]",
            "mov [rsi], rdi",
            "add r10, 32",
            "dec r11",
            "jnz 3b",
            "mov rax, cr3",
            "mov cr3, rax",
            "popfq",
            inout("r8") moves.as_ptr() => _,
            inout("r9") moves.len() => _,
            inout("r10") moves.as_ptr() => _,
            inout("r11") moves.len() => _,
            out("rax") _, out("rcx") _, out("rsi") _, out("rdi") _,
        );
    }
    FORGOTTEN.store(0, Ordering::Release);
    apic::send_to_others(FORGET_VECTOR);
    while FORGOTTEN.load(Ordering::Acquire) + 1 < cores::count() {
        X86::pause();
    }
}

/// This core, which rests, forgets its translations. Nothing may be written to the image before.
pub fn forget() {
    registers::flush_translations();
    FORGOTTEN.fetch_add(1, Ordering::AcqRel);
}

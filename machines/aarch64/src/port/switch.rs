//! The context switch.

use core::arch::naked_asm;

use solo_bare::context::Context;

/// A thread that begins at `entry` on an empty stack that ends at `stack_end`.
///
/// # Safety
/// The 96 bytes below `stack_end` must be writable and nobody else's; `stack_end` must be a multiple of 16.
pub unsafe fn begin(entry: extern "C" fn() -> !, stack_end: u64) -> Context {
    // What `switch` loads, from the stack pointer up: x19 to x29, then where to return to. The frame pointer is zero, which ends
    // walks along them.
    let words = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, entry as usize as u64];
    let top = (stack_end - size_of_val(&words) as u64) as *mut [u64; 12];
    // SAFETY: the caller vouches for the stack.
    unsafe { top.write(words) };
    Context::at(top as u64)
}

/// Leaves the running thread in `save` and goes on where `load` was left. Returns when somebody else
/// switches back.
///
/// # Safety
/// `load` must have been left by `switch` or made by [`begin`] and not been loaded since; `save` must
/// stay valid until it has been written. Interrupts must be kept out.
#[unsafe(naked)]
pub unsafe extern "C" fn switch(save: *mut Context, load: Context) {
    naked_asm!(
        "stp x19, x20, [sp, #-96]!",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "mov x2, sp",
        "str x2, [x0]",
        "mov sp, x1",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp x19, x20, [sp], #96",
        "ret",
    )
}

/// Goes on at `entry` with an empty stack that ends at `stack_end`, and never comes back.
///
/// # Safety
/// Nobody may use the stack, and nothing on the stack that is left may be needed any more.
#[unsafe(naked)]
pub unsafe extern "C" fn restart(stack_end: u64, entry: extern "C" fn() -> !) -> ! {
    naked_asm!("msr daifset, #2", "mov sp, x0", "mov x29, xzr", "blr x1", "brk #1")
}

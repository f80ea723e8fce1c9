//! The context switch.

use core::arch::naked_asm;

pub use solo_bare::context::Context;

/// A thread that begins at `entry` on an empty stack that ends at `stack_end`.
///
/// # Safety
/// The 64 bytes below `stack_end` must be writable and nobody else's; `stack_end` must be a multiple of 16.
pub unsafe fn begin(entry: extern "C" fn() -> !, stack_end: u64) -> Context {
    // What `switch` pops, from the stack pointer up: six registers, then where to return to; above it a
    // zero that ends walks along the frame pointers and aligns the stack as after a call.
    let words = [0, 0, 0, 0, 0, 0, entry as usize as u64, 0];
    let top = (stack_end - size_of_val(&words) as u64) as *mut [u64; 8];
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
pub unsafe extern "sysv64" fn switch(save: *mut Context, load: Context) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}

/// Goes on at `entry` with an empty stack that ends at `stack_end`, and never comes back.
///
/// # Safety
/// Nobody may use the stack, and nothing on the stack that is left may be needed any more.
#[unsafe(naked)]
pub unsafe extern "sysv64" fn restart(stack_end: u64, entry: extern "C" fn() -> !) -> ! {
    naked_asm!("cli", "mov rsp, rdi", "xor ebp, ebp", "call rsi", "ud2")
}

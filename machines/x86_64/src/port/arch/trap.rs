//! Where interrupts and exceptions arrive.

use core::arch::global_asm;

/// Divide error.
pub const DIVIDE_ERROR: u8 = 0;
/// Non-maskable interrupt.
pub const NON_MASKABLE: u8 = 2;
/// Invalid opcode.
pub const INVALID_OPCODE: u8 = 6;
/// Double fault.
pub const DOUBLE_FAULT: u8 = 8;
/// General protection fault.
pub const GENERAL_PROTECTION: u8 = 13;
/// Page fault.
pub const PAGE_FAULT: u8 = 14;
/// Machine check.
pub const MACHINE_CHECK: u8 = 18;
/// The first vector that is not an exception of the processor.
pub const FIRST_INTERRUPT: u8 = 32;

/// What the processor and the stub pushed.
#[derive(Debug)]
#[repr(C)]
pub struct TrapFrame {
    /// rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15.
    pub general: [u64; 15],
    /// Which interrupt or exception.
    pub vector: u64,
    /// The exception's error code, 0 where it has none.
    pub error: u64,
    /// The interrupted instruction.
    pub instruction: u64,
    /// The code segment.
    pub code_segment: u64,
    /// The flags.
    pub flags: u64,
    /// The interrupted stack.
    pub stack: u64,
    /// The stack segment.
    pub stack_segment: u64,
}

/// The name of an exception.
pub const fn exception_name(vector: u8) -> &'static str {
    match vector {
        DIVIDE_ERROR => "divide error",
        1 => "debug exception",
        NON_MASKABLE => "non-maskable interrupt",
        3 => "breakpoint",
        INVALID_OPCODE => "invalid opcode",
        7 => "device not available",
        DOUBLE_FAULT => "double fault",
        10 => "invalid task state",
        11 => "segment not present",
        12 => "stack fault",
        GENERAL_PROTECTION => "general protection fault",
        PAGE_FAULT => "page fault",
        16 => "floating-point error",
        17 => "alignment check",
        MACHINE_CHECK => "machine check",
        _ => "exception",
    }
}

/// The bytes of one stub. The table's label is aligned to it, or every vector would enter another's stub.
const STUB_BYTES: usize = 16;

// Each stub pushes a zero where the processor pushes no error code, and its vector. At the call the stack is
// aligned: the processor aligns it before it pushes five words, and 17 more follow. `trap_dispatch` gets a `TrapFrame`;
// it stands where interrupts are served.
global_asm!(
    ".align 16",
    ".global trap_stubs",
    "trap_stubs:",
    ".set vector, 0",
    ".rept 256",
    ".align 16",
    ".if vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21 || vector == 29 || vector == 30",
    ".else",
    "push 0",
    ".endif",
    "push vector",
    "jmp trap_common",
    ".set vector, vector + 1",
    ".endr",
    "trap_common:",
    "push r15",
    "push r14",
    "push r13",
    "push r12",
    "push r11",
    "push r10",
    "push r9",
    "push r8",
    "push rbp",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push rbx",
    "push rax",
    "mov rdi, rsp",
    "cld",
    "call trap_dispatch",
    "pop rax",
    "pop rbx",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rbp",
    "pop r8",
    "pop r9",
    "pop r10",
    "pop r11",
    "pop r12",
    "pop r13",
    "pop r14",
    "pop r15",
    "add rsp, 16",
    "iretq",
);

unsafe extern "C" {
    static trap_stubs: [u8; 256 * STUB_BYTES];
}

/// The address of a vector's stub.
pub fn stub_address(vector: u8) -> u64 {
    (&raw const trap_stubs) as u64 + (vector as usize * STUB_BYTES) as u64
}

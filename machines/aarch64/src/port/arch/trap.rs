//! Where interrupts and exceptions arrive, and what the processor says of them.

core::arch::global_asm!(include_str!("trap.s"));

/// The registers of whoever was interrupted.
#[derive(Debug)]
#[repr(C)]
pub struct TrapFrame {
    /// x0 to x30.
    pub general: [u64; 31],
    /// The stack pointer.
    pub stack: u64,
    /// The interrupted instruction, or the one to go on at.
    pub instruction: u64,
    /// The state of the processor.
    pub state: u64,
}

/// The class of an exception, from the syndrome.
pub const fn class(syndrome: u64) -> u8 {
    (syndrome >> 26 & 0x3f) as u8
}

/// True for exceptions that name an address.
pub const fn has_address(class: u8) -> bool {
    matches!(class, 0x20..=0x22 | 0x24 | 0x25)
}

/// The name of an exception by its class (Arm ARM, ESR_EL1).
pub const fn name(class: u8) -> &'static str {
    match class {
        0x00 => "undefined instruction",
        0x0e => "illegal state",
        0x20 | 0x21 => "instruction abort",
        0x22 => "misaligned instruction",
        0x24 | 0x25 => "data abort",
        0x26 => "misaligned stack pointer",
        0x3c => "breakpoint",
        _ => "exception",
    }
}

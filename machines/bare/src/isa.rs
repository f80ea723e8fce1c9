//! What the runtime needs of an instruction set: single instructions. A port implements it for one type.

/// Single instructions.
pub trait Isa: Sized + 'static {
    /// True where this core lets interrupts in.
    fn interrupts_enabled() -> bool;

    /// Lets interrupts in.
    fn enable_interrupts();

    /// Keeps interrupts out.
    fn disable_interrupts();

    /// Tells the processor, or an emulator of it, that this core waits for another.
    fn pause();
}

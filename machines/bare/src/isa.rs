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

    /// The clock, in ticks. All cores see the same.
    fn time_stamp() -> u64;

    /// Waits for an interrupt, which is let in; interrupts stay enabled.
    fn wait_for_interrupt();

    /// Stops this core for ever.
    fn stop() -> !;

    /// Executes a loop of two instructions so often.
    fn turn(rounds: u64);
}

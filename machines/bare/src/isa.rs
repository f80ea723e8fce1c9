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

    /// All lines of all caches that this core reaches can be flushed at once. Not on 64-bit Arm: its operations by set and way concern
    /// this core alone, and are for when no other is awake (Arm ARM, D7.5.8).
    const FLUSHES_ALL: bool = false;

    /// The bytes of the lines that [`Self::flush_line`] is for; `None` where this processor has nothing of the kind.
    fn flushed_line() -> Option<u64> {
        None
    }

    /// Writes the line at `address`, which is mapped, back to memory and takes it out of the caches of all cores. It has when this returns.
    fn flush_line(_address: u64) {}

    /// The same with all lines, where that can be done.
    fn flush_all() {}

    /// Executes a loop of two instructions so often.
    fn turn(rounds: u64);
}

//! Where a thread that is not running left off.

/// Its stack pointer. Everything else lies on its stack, in an order that the port's switch knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Context(u64);

impl Context {
    /// No thread left off here yet.
    pub const EMPTY: Self = Self(0);

    /// A thread whose registers lie on its stack from `stack_pointer` up, as the port's switch takes them.
    pub const fn at(stack_pointer: u64) -> Self {
        Self(stack_pointer)
    }
}

//! What the kernel at work needs of an instruction set and the machine around it. A port implements it for its type.

use super::bodies::{Bodies, Hooks, Notes};
use super::cores::Cores;
use super::provoke::Mistakes;
use super::{Ahead, Entries};
use crate::caps::Counting;
use crate::context::Context;
use crate::frame::{Controller, InstructionSet};
use crate::geometry::Geometry;
use crate::lock::SpinLock;
use crate::memory::RunMemory;
use crate::outcome::ImageExit;
use crate::paging::Paging;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::fmt;
use core::sync::atomic::AtomicBool;
use solo_hal::{CounterId, PmuError};
use solo_kernel::Arrival;
use solo_model::{CoreId, EventId, EventTable};

/// An instruction set and its machine. Functions that name no core concern the one that asks.
pub trait Port: Paging + Cores + Line + Mistakes + fmt::Debug {
    /// Where its counters come from.
    type Source: Source;

    /// Whose instructions these are.
    const INSTRUCTION_SET: InstructionSet;

    /// Whether it knows where devices lie that move data by themselves.
    const HAS_DEVICES: bool = false;

    /// What the image keeps once.
    fn shared() -> &'static Shared<Self>;

    /// A thread that begins at `entry` on an empty stack.
    ///
    /// # Safety
    /// The 256 bytes below `stack_end`, a multiple of 16, must be writable and nobody else's.
    unsafe fn begin(entry: extern "C" fn() -> !, stack_end: u64) -> Context;
    /// Leaves the running thread in `save` and goes on where `load` was left; returns when somebody switches back.
    ///
    /// # Safety
    /// `load` must have been left by `switch` or made by [`Port::begin`] and not been loaded since; `save` must stay valid until
    /// it has been written. Interrupts must be kept out.
    unsafe fn switch(save: *mut Context, load: Context);
    /// Goes on at `entry` with an empty stack that ends at `stack_end`, interrupts kept out, and never comes back.
    ///
    /// # Safety
    /// Nobody may use the stack, and nothing on the stack that is left may be needed any more.
    unsafe fn restart(stack_end: u64, entry: extern "C" fn() -> !) -> !;
    /// Where the caller's frame begins: the frame pointer.
    fn frame_pointer() -> u64;

    /// Where registers of virtio devices lie, where it has such.
    fn virtio() -> Vec<u64> {
        Vec::new()
    }
    /// What the processor says of its last level.
    fn last_level() -> Option<Geometry>;
    /// What hands interrupts to the cores.
    fn controller() -> Controller;
}

/// The way out of a machine.
pub trait Line {
    /// Lets a byte of text for people out, whoever else does.
    fn put(byte: u8);
    /// Sends bytes to the host. False where there is no way but the line that text takes.
    fn send(bytes: &[u8]) -> bool;
    /// Ends the emulator, or stops the machine where there is none.
    fn leave(outcome: ImageExit) -> !;
}

/// Where counts come from.
pub trait Source: Copy + Send + fmt::Debug + fmt::Display + 'static {
    /// The counters of one core.
    type Counters: Counters;

    /// What can be had: a model of counters where `modelled`, else what the processor has, which is tried.
    fn find(modelled: bool) -> Option<Self>;
    /// True for a model, which has to be told what happens.
    fn is_model(&self) -> bool;
    /// What it is able to do with the events of `table`.
    fn able(&self, table: &EventTable) -> Counting;
    /// The counters of the core that asks, stopped, with their interrupts let in.
    fn begin(&self) -> Self::Counters;
    /// Keeps the interrupts of this core's counters out.
    fn silence();
    /// What counter 0 of this core holds, which there is: after its overflow, by how many events its interrupt is late.
    fn held_by_first() -> u64;
}

/// The counters of one core, asked by itself. See [`solo_hal::Pmu`] for what they have in common.
#[expect(missing_docs, reason = "as in `solo_hal::Pmu`")]
pub trait Counters: Send + fmt::Debug {
    fn configure(&mut self, counter: CounterId, event: EventId, table: &EventTable) -> Result<(), PmuError>;
    fn read(&self, counter: CounterId) -> Result<u64, PmuError>;
    fn write(&mut self, counter: CounterId, value: u64) -> Result<(), PmuError>;
    fn interrupt_after(&mut self, counter: CounterId, events: u64) -> Result<(), PmuError>;
    /// Lets the counter run, or holds it at its value.
    fn run(&mut self, counter: CounterId, runs: bool) -> Result<(), PmuError>;
    /// An interrupt of the counters: acknowledges it and lets the next one in. Those that have counted what they were asked to,
    /// a bit each.
    fn overflowed(&mut self) -> u32;
    /// Tells a model that `event` has happened once. True where somebody has to interrupt the core for it.
    fn happened(&mut self, event: EventId) -> bool;
}

/// What an image keeps once, for its kernel.
pub struct Shared<P: Port> {
    /// The memory of the run that is under way.
    pub(super) memory: SpinLock<P, Option<RunMemory<P>>>,
    /// The kernel, once [`Self::ready`].
    pub(super) kernel: UnsafeCell<Option<&'static dyn Entries<P>>>,
    pub(super) ready: AtomicBool,
    /// What is to be run.
    pub(super) ahead: SpinLock<P, Ahead>,
    /// Who prints.
    pub(super) console: SpinLock<P, ()>,
    /// The frame that is being sent.
    pub(super) frame: SpinLock<P, Vec<u8>>,
    /// What is done otherwise where the image is a program.
    pub(super) hooks: SpinLock<P, Option<Hooks>>,
    /// What the threads of a program do.
    pub(super) bodies: SpinLock<P, Bodies>,
    /// What they noted.
    pub(super) notes: SpinLock<P, Notes>,
    /// Interrupts of devices that wait for cores.
    pub(super) arrivals: SpinLock<P, Vec<(CoreId, Arrival)>>,
}

// SAFETY: everything is behind a lock but the kernel, which is written while nobody is told to read it.
unsafe impl<P: Port> Sync for Shared<P> {}

impl<P: Port> Shared<P> {
    /// Nothing has begun.
    #[expect(clippy::new_without_default, reason = "for a static, of which there is one")]
    pub const fn new() -> Self {
        Self {
            memory: SpinLock::new(None),
            kernel: UnsafeCell::new(None),
            ready: AtomicBool::new(false),
            ahead: SpinLock::new(Ahead::new()),
            console: SpinLock::new(()),
            frame: SpinLock::new(Vec::new()),
            hooks: SpinLock::new(None),
            bodies: SpinLock::new(Bodies::new()),
            notes: SpinLock::new(Notes::new()),
            arrivals: SpinLock::new(Vec::new()),
        }
    }

    /// What is done otherwise, where the image is a program.
    pub(super) fn hooks(&self) -> Option<Hooks> {
        *self.hooks.lock()
    }
}

impl<P: Port> fmt::Debug for Shared<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

//! What the kernel at work needs of an instruction set and the machine around it. A port implements it for its type.

use super::bodies::{Bodies, Hooks, Notes};
use super::{Ahead, Entries};
use crate::caps::Counting;
use crate::context::Context;
use crate::frame::Hardware;
use crate::geometry::Geometry;
use crate::lock::SpinLock;
use crate::memory::RunMemory;
use crate::module::Fault;
use crate::outcome::ImageExit;
use crate::paging::Paging;
use crate::time::Timebase;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::fmt;
use core::sync::atomic::AtomicBool;
use solo_hal::{CounterId, PmuError};
use solo_kernel::Arrival;
use solo_model::{CoreId, Duration, EventId, EventTable};

/// An interrupt that a core causes on another one, or on itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Schedule anew.
    Reschedule,
    /// A counter has overflowed: for counters that are a model.
    Counter,
    /// The run is over: leave everything.
    Rest,
}

/// An instruction set and its machine. Functions that name no core concern the one that asks.
pub trait Port: Paging + fmt::Debug {
    /// Where its counters come from.
    type Source: Source;

    /// What the image keeps once.
    fn shared() -> &'static Shared<Self>;

    /// The clock, in ticks. All cores see the same.
    fn time_stamp() -> u64;
    /// What its ticks mean.
    fn timebase() -> Timebase;
    /// Measures the clocks; `instructions`: the host promises one tick for each instruction and nanosecond.
    ///
    /// # Errors
    /// A sentence, where they can't be used.
    fn measure_clocks(instructions: bool) -> Result<(), String>;
    /// Lets the timer interrupt once when the clock has come to `tick`, or earlier.
    fn interrupt_at(tick: u64);
    /// Lets the timer interrupt once after `span`, or earlier.
    fn interrupt_after(span: Duration);
    /// Silences the timer.
    fn stop_timer();

    /// The core that asks.
    fn current() -> CoreId;
    /// How many cores have been started.
    fn cores() -> usize;
    /// Starts the others; what the hardware calls those that did not come.
    fn start_others() -> Vec<u64>;
    /// Interrupts `core`.
    fn signal(core: CoreId, signal: Signal);
    /// Interrupts all others.
    fn signal_others(signal: Signal);
    /// Waits for an interrupt, which is let in.
    fn wait_for_interrupt();
    /// Leaves everything that this core was at and calls [`super::come_home`] on its first stack, interrupts kept out.
    fn rest() -> !;
    /// Stops for ever.
    fn stop() -> !;

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
    /// Makes a mistake on purpose, on a stack whose lowest address is `limit`. Returns if the processor let it pass.
    fn provoke(fault: Fault, limit: u64);

    /// Keeps the interrupts of the counters out.
    fn silence_counters();
    /// Executes a loop of two instructions so often.
    fn turn(rounds: u64);
    /// How many events late the last interrupt of counters came that no kernel served.
    fn counter_was_late() -> u64;

    /// Whether it knows where devices lie that move data by themselves.
    const HAS_DEVICES: bool = false;
    /// Where registers of virtio devices lie, where it does.
    fn virtio() -> Vec<u64> {
        Vec::new()
    }
    /// What the processor says of its last level.
    fn last_level() -> Option<Geometry>;
    /// What was found.
    fn hardware() -> Hardware;
    /// Prints text for people, whoever else does.
    fn print(text: fmt::Arguments<'_>);
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
}

/// The counters of one core, asked by itself. See [`solo_hal::Pmu`] for what they have in common.
#[expect(missing_docs, reason = "as in `solo_hal::Pmu`")]
pub trait Counters: Send + fmt::Debug {
    fn configure(&mut self, counter: CounterId, event: EventId, table: &EventTable) -> Result<(), PmuError>;
    fn read(&self, counter: CounterId) -> Result<u64, PmuError>;
    fn write(&mut self, counter: CounterId, value: u64) -> Result<(), PmuError>;
    fn interrupt_after(&mut self, counter: CounterId, events: u64) -> Result<(), PmuError>;
    fn start(&mut self, counter: CounterId) -> Result<(), PmuError>;
    fn stop(&mut self, counter: CounterId) -> Result<(), PmuError>;
    /// An interrupt of the counters: acknowledges it and lets the next one in. The first that has counted what it was asked to.
    fn overflowed(&mut self) -> Option<CounterId>;
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

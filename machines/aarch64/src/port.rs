//! This machine as the kernel at work sees it, and where its cores arrive in Rust.

use crate::arch::{Arm64, gic, registers, switch};
use crate::{boot, clock, console, cores, counters, interrupts, memory, provoke, read_register};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use solo_bare::context::Context;
use solo_bare::frame::{Controller, Hardware, InstructionSet};
use solo_bare::geometry::{self, Geometry};
use solo_bare::module::Fault;
use solo_bare::outcome::ImageExit;
use solo_bare::rtos::{self, Port, Shared, Signal, program};
use solo_bare::say;
use solo_bare::time::Timebase;
use solo_model::platform::Contents;
use solo_model::{Bytes, CoreId, Duration};

static SHARED: Shared<Arm64> = Shared::new();

/// Where the entry code leads the boot core.
#[unsafe(no_mangle)]
extern "C" fn boot_core_main(device_tree: u64) -> ! {
    // SAFETY: the entry code passes on what the loader left.
    let board = match unsafe { boot::read(device_tree) } {
        Ok(board) => board,
        Err(error) => {
            say!(Arm64, "{error}");
            console::leave(ImageExit::Refused)
        }
    };
    console::prepare(&board);
    // SAFETY: nothing but the image and what the loader left is in memory.
    let (module, free) = unsafe { boot::take_memory(&board) };
    let heap_bytes = free.end - free.start;
    // SAFETY: the piece is RAM that neither the image nor the module occupies.
    unsafe { memory::give_to_heap(free) };
    interrupts::expect(board.timer, board.counters);
    if !cores::prepare_boot_core(board) {
        say!(Arm64, "no redistributor of the interrupt controller is this core's");
        console::leave(ImageExit::Refused)
    }
    solo_main(module, heap_bytes)
}

unsafe extern "Rust" {
    /// What the image is for: the program that is linked with the port defines it.
    safe fn solo_main(module: Option<&'static [u8]>, heap_bytes: u64) -> !;
}

/// Runs boot modules. It stands here, where cores arrive too, so that the kernel is in an image once.
pub fn start(module: Option<&'static [u8]>, heap_bytes: u64) -> ! {
    rtos::start::<Arm64>(module, heap_bytes)
}

/// Runs what `declare` says, with the options of the boot module.
pub fn start_program(module: Option<&'static [u8]>, heap_bytes: u64, declare: program::Declare) -> ! {
    program::start::<Arm64>(module, heap_bytes, declare)
}

/// Where the entry code leads each other core, on its own stack.
#[unsafe(no_mangle)]
extern "C" fn other_core_main(core: u64) -> ! {
    let core = CoreId(core as u16);
    cores::arrive(core);
    rtos::wait::<Arm64>(core)
}

const fn interrupt(signal: Signal) -> u32 {
    match signal {
        Signal::Reschedule => gic::RESCHEDULE,
        Signal::Counter => gic::COUNTER,
        Signal::Rest => gic::REST,
    }
}

impl Port for Arm64 {
    type Source = counters::Source;

    #[inline(always)]
    fn shared() -> &'static Shared<Self> {
        &SHARED
    }

    #[inline(always)]
    fn time_stamp() -> u64 {
        registers::time_stamp()
    }

    #[inline(always)]
    fn timebase() -> Timebase {
        clock::timebase()
    }

    fn measure_clocks(instructions: bool) -> Result<(), String> {
        clock::measure(instructions)
    }

    #[inline(always)]
    fn interrupt_at(tick: u64) {
        clock::interrupt_at(tick);
    }

    fn interrupt_after(span: Duration) {
        clock::interrupt_after(span);
    }

    #[inline(always)]
    fn stop_timer() {
        clock::stop_timer();
    }

    #[inline(always)]
    fn current() -> CoreId {
        cores::current()
    }

    fn cores() -> usize {
        cores::count()
    }

    fn start_others() -> Vec<u64> {
        cores::start_others()
    }

    #[inline(always)]
    fn signal(core: CoreId, signal: Signal) {
        gic::send(cores::affinity_of(core), interrupt(signal));
    }

    fn signal_others(signal: Signal) {
        gic::send_to_others(interrupt(signal));
    }

    #[inline(always)]
    fn wait_for_interrupt() {
        registers::wait_for_interrupt();
    }

    fn rest() -> ! {
        cores::rest()
    }

    fn stop() -> ! {
        registers::stop()
    }

    unsafe fn begin(entry: extern "C" fn() -> !, stack_end: u64) -> Context {
        // SAFETY: the caller vouches for the stack.
        unsafe { switch::begin(entry, stack_end) }
    }

    #[inline(always)]
    unsafe fn switch(save: *mut Context, load: Context) {
        // SAFETY: the caller vouches for both.
        unsafe { switch::switch(save, load) };
    }

    fn provoke(fault: Fault, limit: u64) {
        provoke::provoke(fault, limit);
    }

    fn silence_counters() {
        counters::silence();
    }

    fn turn(rounds: u64) {
        counters::turn(rounds);
    }

    fn counter_was_late() -> u64 {
        counters::how_late()
    }

    const HAS_DEVICES: bool = true;

    fn virtio() -> Vec<u64> {
        cores::virtio()
    }

    /// Of the levels that the processor tells of, the outermost that holds data (Arm ARM, CLIDR_EL1, CCSIDR_EL1).
    fn last_level() -> Option<Geometry> {
        let levels = read_register!("clidr_el1");
        let caches = (1..=7u8).filter_map(|level| {
            let holds_data = levels >> (3 * (level - 1)) & 7 >= 2;
            holds_data.then(|| cache(level))
        });
        geometry::last_level(&caches.collect::<Vec<_>>())
    }

    fn hardware() -> Hardware {
        let rate = clock::timebase().rate();
        let affinity = |core| cores::affinity_of(CoreId(core as u16));
        Hardware {
            instruction_set: InstructionSet::Arm64,
            controller: Controller::Gic3,
            identities: (0..cores::count()).map(affinity).collect(),
            clock: rate,
            timer: rate,
        }
    }

    fn print(text: fmt::Arguments<'_>) {
        console::print(text);
    }

    fn send(bytes: &[u8]) -> bool {
        console::send(bytes)
    }

    fn leave(outcome: ImageExit) -> ! {
        console::leave(outcome)
    }
}

/// What the processor says of its data cache of `level`.
fn cache(level: u8) -> Geometry {
    // SAFETY: selects what the next register tells of.
    unsafe { crate::write_register!("csselr_el1", u64::from(level - 1) << 1) };
    registers::synchronize();
    let size = read_register!("ccsidr_el1");
    let (line, ways, sets) = (16 << (size & 7), (size >> 3 & 0x3ff) + 1, (size >> 13 & 0x7fff) + 1);
    let contents = if level == 1 { Contents::Data } else { Contents::Unified };
    Geometry {
        level,
        contents,
        size: Bytes::new(line * ways * sets),
        ways: ways as u16,
        line: Bytes::new(line),
    }
}

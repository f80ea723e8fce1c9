//! This machine as the kernel at work sees it, and where its cores arrive in Rust.

mod arch;
mod clock;
mod console;
mod cores;
mod counters;
mod interrupts;
mod memory;
mod provoke;
mod switch;

pub use arch::Arm64;
pub use counters::Source;

use crate::read_register;
use alloc::vec::Vec;
use arch::registers;
use core::arch::asm;
use core::panic::PanicInfo;
use solo_bare::board::{Board, BoardModel};
use solo_bare::context::Context;
use solo_bare::devicetree::DeviceTree;
use solo_bare::frame::{Controller, InstructionSet};
use solo_bare::geometry::{self, Geometry};
use solo_bare::outcome::ImageExit;
use solo_bare::paging::{PAGE, Paging};
use solo_bare::parts::PartsError;
use solo_bare::rtos::{self, Line, Port, Shared, program, report};
use solo_bare::say;
use solo_model::CoreId;

core::arch::global_asm!(
    include_str!("entry.s"),
    ram = const MODEL.ram().start,
    devices = const MODEL.devices().start,
    is_virt = const matches!(MODEL, BoardModel::Virt) as u8,
);
#[cfg(solo_board = "raspberry-pi-4")]
core::arch::global_asm!(include_str!("raspberry_pi_4/park.s"));

unsafe extern "C" {
    static image_end: u8;
}

static SHARED: Shared<Arm64> = Shared::new();

/// The machine that this image is for: `SOLO_BOARD` when it was built.
const MODEL: BoardModel =
    if cfg!(solo_board = "raspberry-pi-4") { BoardModel::RaspberryPi4 } else { BoardModel::Virt };

/// Where the entry code leads the boot core.
#[unsafe(no_mangle)]
extern "C" fn boot_core_main(device_tree: u64) -> ! {
    // SAFETY: the entry code passes on what the loader left, below 4 GiB.
    let tree = unsafe { DeviceTree::at(device_tree) };
    let board = match tree.map_err(PartsError::Tree).and_then(|tree| Board::find(&tree, MODEL)) {
        Ok(board) => board,
        Err(error) => {
            say!(Arm64, "{error}");
            Arm64::leave(ImageExit::Refused)
        }
    };
    console::prepare(&board);
    // SAFETY: nothing but the image and what the loader left is in memory.
    let (module, free) =
        unsafe { board.parts.take_memory(&((&raw const image_end) as u64..MODEL.ram().end), PAGE) };
    let heap_bytes = free.end - free.start;
    // SAFETY: the piece is RAM that neither the image nor the module occupies.
    unsafe { Arm64::heaps().give(free) };
    interrupts::expect(board.timer, &board.counters);
    if !cores::prepare_boot_core(board) {
        say!(Arm64, "no redistributor of the interrupt controller is this core's");
        Arm64::leave(ImageExit::Refused)
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

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    report::panic::<Arm64>(info)
}

impl Port for Arm64 {
    type Source = Source;

    const INSTRUCTION_SET: InstructionSet = InstructionSet::Arm64;
    const HAS_DEVICES: bool = true;

    #[inline(always)]
    fn shared() -> &'static Shared<Self> {
        &SHARED
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

    unsafe fn restart(stack_end: u64, entry: extern "C" fn() -> !) -> ! {
        // SAFETY: the caller vouches for the stack.
        unsafe { switch::restart(stack_end, entry) }
    }

    #[inline(always)]
    fn frame_pointer() -> u64 {
        let frame_pointer: u64;
        // SAFETY: reads a register.
        unsafe { asm!("mov {}, x29", out(reg) frame_pointer, options(nomem, nostack, preserves_flags)) };
        frame_pointer
    }

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

    fn controller() -> Controller {
        match MODEL {
            BoardModel::Virt => Controller::Gic3,
            BoardModel::RaspberryPi4 => Controller::Gic2,
        }
    }
}

/// What the processor says of its data cache of `level`.
fn cache(level: u8) -> Geometry {
    // SAFETY: selects what the next register tells of.
    unsafe { crate::write_register!("csselr_el1", u64::from(level - 1) << 1) };
    registers::synchronize();
    Geometry::of_ccsidr(level, read_register!("ccsidr_el1"))
}

//! This machine as the kernel at work sees it, and where its cores arrive in Rust.

mod arch;
mod boot;
mod clock;
mod console;
mod cores;
mod counters;
mod interrupts;
mod memory;
mod provoke;

pub use arch::X86;
pub use counters::Source;

use crate::switch;
use arch::apic;
use boot::acpi;
use core::arch::asm;
use core::panic::PanicInfo;
use solo_bare::context::Context;
use solo_bare::cpuid;
use solo_bare::frame::{Controller, InstructionSet};
use solo_bare::geometry::{self, Geometry};
use solo_bare::outcome::ImageExit;
use solo_bare::paging::Paging;
use solo_bare::rtos::{self, Line, Port, Shared, program, report};
use solo_bare::say;
use solo_model::CoreId;

static SHARED: Shared<X86> = Shared::new();

/// Where the entry code leads the boot core.
#[unsafe(no_mangle)]
extern "sysv64" fn boot_core_main(left_behind: u64, magic: u32) -> ! {
    console::prepare();
    // SAFETY: the entry code passes on what the loader left.
    let Some(info) = (unsafe { boot::read(left_behind, magic) }) else {
        say!(X86, "started by neither a PVH nor a Multiboot2 loader");
        X86::leave(ImageExit::Refused)
    };
    let heap_bytes = info.free.end - info.free.start;
    // SAFETY: the piece is RAM that neither the image nor the module occupies.
    unsafe { X86::heaps().give(info.free.clone()) };
    // SAFETY: the loader found the pointer.
    cores::prepare_boot_core(&unsafe { acpi::processors(info.root_pointer) });
    apic::silence_legacy_controllers();
    memory::guard_null();
    solo_main(info.module, heap_bytes)
}

unsafe extern "Rust" {
    /// What the image is for: the program that is linked with the port defines it.
    safe fn solo_main(module: Option<&'static [u8]>, heap_bytes: u64) -> !;
}

/// Runs boot modules. It stands here, where cores arrive too, so that the kernel is in an image once.
pub fn start(module: Option<&'static [u8]>, heap_bytes: u64) -> ! {
    rtos::start::<X86>(module, heap_bytes)
}

/// Runs what `declare` says, with the options of the boot module.
pub fn start_program(module: Option<&'static [u8]>, heap_bytes: u64, declare: program::Declare) -> ! {
    program::start::<X86>(module, heap_bytes, declare)
}

/// Where the trampoline leads each other core, on its own stack.
#[unsafe(no_mangle)]
extern "sysv64" fn other_core_main(core: u32) -> ! {
    let core = CoreId(core as u16);
    cores::arrive(core);
    rtos::wait::<X86>(core)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    report::panic::<X86>(info)
}

impl Port for X86 {
    type Source = Source;

    const INSTRUCTION_SET: InstructionSet = InstructionSet::X86_64;

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
        unsafe { asm!("mov {}, rbp", out(reg) frame_pointer, options(nomem, nostack, preserves_flags)) };
        frame_pointer
    }

    fn last_level() -> Option<Geometry> {
        #[allow(unused_unsafe, reason = "newer compilers take the instruction for safe")]
        let ask = |leaf, index| {
            // SAFETY: every x86-64 processor has the instruction.
            let answer = unsafe { core::arch::x86_64::__cpuid_count(leaf, index) };
            [answer.eax, answer.ebx, answer.ecx, answer.edx]
        };
        geometry::last_level(&cpuid::caches(ask))
    }

    fn controller() -> Controller {
        Controller::LocalApic { x2apic: apic::is_extended(), tsc_deadline: apic::has_deadline() }
    }
}

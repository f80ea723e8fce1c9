//! This machine as the kernel at work sees it, and where its cores arrive in Rust.

use crate::arch::{X86, apic, registers, switch};
use crate::boot::{self, acpi};
use crate::cpuid;
use crate::{clock, console, cores, counters, memory, provoke};
use alloc::string::{String, ToString};
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
use solo_model::{CoreId, Duration};

static SHARED: Shared<X86> = Shared::new();

/// Where the entry code leads the boot core.
#[unsafe(no_mangle)]
extern "sysv64" fn boot_core_main(left_behind: u64, magic: u32) -> ! {
    console::prepare();
    // SAFETY: the entry code passes on what the loader left.
    let Some(info) = (unsafe { boot::read(left_behind, magic) }) else {
        say!(X86, "started by neither a PVH nor a Multiboot2 loader");
        console::leave(ImageExit::Refused)
    };
    let heap_bytes = info.free.end - info.free.start;
    // SAFETY: the piece is RAM that neither the image nor the module occupies.
    unsafe { memory::give_to_heap(info.free.clone()) };
    // SAFETY: the loader found the pointer.
    cores::expect(unsafe { acpi::processors(info.root_pointer) });
    cores::prepare_boot_core();
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
extern "sysv64" fn other_core_main(identity: u32) -> ! {
    rtos::wait::<X86>(cores::arrive(identity))
}

const fn vector(signal: Signal) -> u8 {
    match signal {
        Signal::Reschedule => apic::RESCHEDULE_VECTOR,
        Signal::Counter => apic::COUNTER_VECTOR,
        Signal::Rest => apic::REST_VECTOR,
    }
}

impl Port for X86 {
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
        clock::measure(instructions).map_err(|error| error.to_string())
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
        apic::stop_timer();
    }

    #[inline(always)]
    fn current() -> CoreId {
        cores::current()
    }

    fn cores() -> usize {
        cores::count()
    }

    fn start_others() -> Vec<u64> {
        cores::start_others().into_iter().map(u64::from).collect()
    }

    #[inline(always)]
    fn signal(core: CoreId, signal: Signal) {
        apic::send(cores::identity_of(core), vector(signal));
    }

    fn signal_others(signal: Signal) {
        apic::send_to_others(vector(signal));
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
        apic::silence_counters();
    }

    fn turn(rounds: u64) {
        counters::turn(rounds);
    }

    fn counter_was_late() -> u64 {
        counters::how_late()
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

    fn hardware() -> Hardware {
        let rates = clock::rates();
        let identity = |core| u64::from(cores::identity_of(CoreId(core as u16)));
        Hardware {
            instruction_set: InstructionSet::X86_64,
            controller: Controller::LocalApic {
                x2apic: apic::is_extended(),
                tsc_deadline: apic::has_deadline(),
            },
            identities: (0..cores::count()).map(identity).collect(),
            clock: rates.tsc,
            timer: rates.timer,
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

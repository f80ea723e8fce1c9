//! From the first instruction in Rust to the last.

use crate::arch::{apic, registers};
use crate::boot::{self, acpi};
use crate::clock::{self, Rates};
use crate::console::{self, leave};
use crate::sync::SpinLock;
use crate::{cores, memory, provoke, rtos, say, selftest};
use alloc::string::String;
use alloc::vec::Vec;
use solo_bare::frame::{End, Hello, ImageMessage};
use solo_bare::module::{self, Module, Provocation};
use solo_bare::outcome::ImageExit;
use solo_model::CoreId;

/// What is to be run, the next one last.
static AHEAD: SpinLock<Vec<Module>> = SpinLock::new(Vec::new());

/// Where the entry code leads the boot core.
#[unsafe(no_mangle)]
extern "sysv64" fn boot_core_main(left_behind: u64, magic: u32) -> ! {
    console::prepare();
    // SAFETY: the entry code passes on what the loader left.
    let Some(info) = (unsafe { boot::read(left_behind, magic) }) else {
        say!("started by neither a PVH nor a Multiboot2 loader");
        leave(ImageExit::Refused)
    };
    let heap_bytes = info.free.end - info.free.start;
    // SAFETY: the piece is RAM that neither the image nor the module occupies.
    unsafe { memory::give_to_heap(info.free.clone()) };
    // SAFETY: the loader found the pointer.
    let identities = unsafe { acpi::processors(info.root_pointer) };
    cores::prepare_boot_core(come_home);
    apic::silence_legacy_controllers();
    memory::guard_null();
    let (modules, checksum) = unpack(info.module);
    let options = modules[0].options;
    let rates = clock::measure(options.instruction_clock).unwrap_or_else(|error| {
        say!("{error}");
        leave(ImageExit::Refused)
    });
    match options.provoke {
        Some(Provocation::Kernel(fault)) => provoke::provoke(fault, 0),
        Some(Provocation::Frame(number)) => console::damage(number),
        Some(Provocation::Thread { .. }) | None => {}
    }
    start_cores(&identities);
    greet(heap_bytes, rates, checksum);
    AHEAD.lock().extend(modules.into_iter().rev());
    go_on()
}

/// Where the trampoline leads each other core, on its own stack.
#[unsafe(no_mangle)]
extern "sysv64" fn other_core_main(identity: u32) -> ! {
    wait(cores::arrive(identity))
}

/// Runs the modules that are ahead, on the boot core.
fn go_on() -> ! {
    loop {
        let mut ahead = AHEAD.lock();
        let (module, is_last) = (ahead.pop(), ahead.is_empty());
        drop(ahead);
        let Some(Module { options, experiment }) = module else { leave(ImageExit::Done) };
        if let Some(experiment) = experiment {
            rtos::run(experiment, options, is_last);
        }
        selftest::run();
        console::send(&ImageMessage::End(End {
            at: clock::now(),
            records: 0,
            dropped: 0,
            latest_settled_ns: 0,
        }));
    }
}

/// `core` has left a run that is over.
fn come_home(core: CoreId) -> ! {
    rtos::rests(core);
    wait(core)
}

/// Where a core waits for what it is to do: it arrives here at its start and after each run.
fn wait(core: CoreId) -> ! {
    loop {
        registers::disable_interrupts();
        if !rtos::is_over() {
            if let Some(entries) = rtos::entries() {
                entries.begin(core)
            }
        } else if core == CoreId(0) && rtos::all_rest() {
            rtos::clear_away();
            go_on()
        }
        registers::wait_for_interrupt();
    }
}

/// The modules, and their checksum.
fn unpack(bytes: Option<&[u8]>) -> (Vec<Module>, u32) {
    let Some(bytes) = bytes else {
        say!("no boot module: nothing to run");
        leave(ImageExit::Refused)
    };
    let modules = Module::unpack_all(bytes).unwrap_or_else(|error| {
        say!("{error}");
        leave(ImageExit::Refused)
    });
    (modules, module::checksum(bytes))
}

fn start_cores(identities: &[u32]) {
    let missing = cores::start_others(identities);
    if !missing.is_empty() {
        say!("processors that did not start, by their local APIC: {missing:?}");
        leave(ImageExit::Faulted)
    }
}

fn greet(heap_bytes: u64, rates: Rates, module: u32) {
    let apic_ids: Vec<u32> =
        (0..cores::count()).map(|core| cores::identity_of(CoreId(core as u16))).collect();
    say!(
        "{} cores by {} {apic_ids:?}, time stamps at {}, {} at {}, {} MiB of memory",
        apic_ids.len(),
        if apic::is_extended() { "x2APIC" } else { "local APIC" },
        rates.tsc,
        if apic::has_deadline() { "timer by deadlines" } else { "timer" },
        rates.timer,
        heap_bytes >> 20,
    );
    let version = String::from(env!("CARGO_PKG_VERSION"));
    console::send(&ImageMessage::Hello(Hello {
        version,
        module,
        apic_ids,
        x2apic: apic::is_extended(),
        tsc_deadline: apic::has_deadline(),
        tsc: rates.tsc,
        timer: rates.timer,
        heap_bytes,
    }));
}

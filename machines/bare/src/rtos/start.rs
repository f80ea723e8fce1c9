//! From a machine that is up to the last of its runs.

use super::clock::timebase;
use super::console::{damage, send};
use super::cores;
use super::port::Port;
use super::provoke::provoke;
use super::{all_rest, clear_away, entries, is_over, run, selftest};
use crate::frame::{End, Hardware, Hello, ImageMessage};
use crate::module::{self, BootOptions, Module, Provocation};
use crate::outcome::ImageExit;
use crate::say;
use alloc::string::String;
use alloc::vec::Vec;
use solo_model::CoreId;

/// Runs the boot modules in `bytes` on a machine whose boot core is prepared, the heap too, with `heap_bytes`.
pub fn start<P: Port>(bytes: Option<&[u8]>, heap_bytes: u64) -> ! {
    let (modules, checksum) = unpack::<P>(bytes);
    begin::<P>(&modules[0].options, heap_bytes, checksum);
    P::shared().ahead.lock().extend(modules.into_iter().rev());
    go_on::<P>()
}

/// Brings the clocks and the other cores up, and greets the host.
pub(super) fn begin<P: Port>(options: &BootOptions, heap_bytes: u64, checksum: u32) {
    if let Err(error) = P::measure_clocks(options.instruction_clock) {
        say!(P, "{error}");
        P::leave(ImageExit::Refused)
    }
    match options.provoke {
        Some(Provocation::Kernel(fault)) => provoke::<P>(fault, 0),
        Some(Provocation::Frame(number)) => damage(number),
        Some(Provocation::Thread { .. }) | None => {}
    }
    let missing = cores::start_others::<P>();
    if !missing.is_empty() {
        say!(P, "processors that did not start, as the hardware calls them: {missing:?}");
        P::leave(ImageExit::Faulted)
    }
    greet::<P>(heap_bytes, checksum);
}

/// Runs the modules that are ahead, on the boot core.
pub(super) fn go_on<P: Port>() -> ! {
    loop {
        let mut ahead = P::shared().ahead.lock();
        let (module, is_last) = (ahead.pop(), ahead.is_empty());
        drop(ahead);
        let Some(Module { options, experiment }) = module else { P::leave(ImageExit::Done) };
        if let Some(experiment) = experiment {
            run::<P>(experiment, options, is_last);
        }
        selftest::run::<P>();
        send::<P>(&ImageMessage::End(End {
            at: timebase().instant(P::time_stamp()),
            records: 0,
            dropped: 0,
            latest_settled_ns: 0,
        }));
    }
}

/// Where a core waits for what it is to do: it arrives here at its start and after each run.
pub fn wait<P: Port>(core: CoreId) -> ! {
    loop {
        P::disable_interrupts();
        if !is_over() {
            if let Some(entries) = entries::<P>() {
                entries.begin(core)
            }
        } else if core == CoreId(0) && all_rest() {
            clear_away::<P>();
            go_on::<P>()
        }
        P::wait_for_interrupt();
    }
}

/// The modules, and their checksum.
pub(super) fn unpack<P: Port>(bytes: Option<&[u8]>) -> (Vec<Module>, u32) {
    let Some(bytes) = bytes else {
        say!(P, "no boot module: nothing to run");
        P::leave(ImageExit::Refused)
    };
    let modules = Module::unpack_all(bytes).unwrap_or_else(|error| {
        say!(P, "{error}");
        P::leave(ImageExit::Refused)
    });
    (modules, module::checksum(bytes))
}

fn greet<P: Port>(heap_bytes: u64, module: u32) {
    let hardware = Hardware {
        instruction_set: P::INSTRUCTION_SET,
        controller: P::controller(),
        identities: (0..cores::count()).map(|core| cores::identity_of(CoreId(core as u16))).collect(),
        clock: timebase().rate(),
        timer: P::timer_rate(),
    };
    say!(
        P,
        "{} cores by {} {:?}, time stamps at {}, timer at {}, {} MiB of memory",
        hardware.identities.len(),
        hardware.controller,
        hardware.identities,
        hardware.clock,
        hardware.timer,
        heap_bytes >> 20,
    );
    let version = String::from(env!("CARGO_PKG_VERSION"));
    send::<P>(&ImageMessage::Hello(Hello { version, module, hardware, heap_bytes }));
}

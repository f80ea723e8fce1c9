//! Which core this is, and how the others come up.

use crate::port::arch::{Arm64, firmware, gic, registers};
use crate::read_register;
use alloc::vec::Vec;
use solo_bare::board::Board;
use solo_bare::lock::SpinLock;
use solo_bare::rtos::cores::{self, Cores, Signal, identity_of, stack_end_of};
use solo_model::CoreId;

/// What of a core's first stack is for exceptions: see `take_stacks` in `entry.s`.
const EXCEPTION_BYTES: u64 = 8 << 10;

/// The parts of the machine.
static BOARD: SpinLock<Arm64, Option<Board>> = SpinLock::new(None);

unsafe extern "C" {
    static boot_stack_end: u8;
    fn other_core_entry() -> !;
}

/// Where registers of virtio devices lie.
pub fn virtio() -> Vec<u64> {
    BOARD.lock().as_ref().map(|board| board.parts.virtio.to_vec()).unwrap_or_default()
}

/// Prepares the boot core, which is core 0, of `board`. False where its interrupt controller can't be found. The others follow in
/// the order of the device tree.
pub fn prepare_boot_core(board: Board) -> bool {
    cores::expect(registers::affinity(), board.parts.cores.iter().copied());
    firmware::expect(&board);
    gic::prepare(&board);
    *BOARD.lock() = Some(board);
    arrive(CoreId(0))
}

/// Prepares `core`, which asks. False where its part of the interrupt controller can't be found.
pub fn arrive(core: CoreId) -> bool {
    let enabled = BOARD.lock().as_ref().is_some_and(gic::enable);
    if enabled {
        cores::arrived(core);
    }
    enabled
}

impl Cores for Arm64 {
    const STACK_BYTES: usize = 72 << 10;
    const COUNT_TOGETHER: bool = true;

    #[inline(always)]
    fn current() -> CoreId {
        CoreId(read_register!("tpidr_el1") as u16)
    }

    fn start_others(count: usize) {
        let entry = other_core_entry as unsafe extern "C" fn() -> ! as usize as u64;
        // The entry code reads without caches where each stack ends.
        registers::publish();
        for core in 1..count as u16 {
            firmware::start_core(identity_of(CoreId(core)), entry, core.into());
        }
    }

    #[inline(always)]
    fn signal(core: CoreId, signal: Signal) {
        gic::send(identity_of(core), signal);
    }

    fn signal_others(signal: Signal) {
        gic::send_to_others(signal);
    }

    fn first_stack_end(core: CoreId) -> u64 {
        let end = if core == CoreId(0) { &raw const boot_stack_end as u64 } else { stack_end_of(core) };
        end - EXCEPTION_BYTES
    }
}

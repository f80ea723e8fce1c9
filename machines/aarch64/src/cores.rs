//! Which cores there are, which one this is, and how the others come up.

use crate::arch::{Arm64, firmware, gic, registers, switch};
use crate::board::Board;
use crate::{clock, read_register};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use solo_bare::agenda::MOST_CORES;
use solo_bare::lock::SpinLock;
use solo_bare::rtos;
use solo_model::{CoreId, Duration};

const STACK_BYTES: usize = 72 << 10;
/// What of it is for exceptions: see `take_stacks` in `entry.s`.
const EXCEPTION_BYTES: u64 = 8 << 10;
/// How many milliseconds the others may take to come.
const PATIENCE: usize = 1000;

/// The end of the stack on which each core but the boot core begins, for the entry code.
#[unsafe(no_mangle)]
static other_core_stacks: [AtomicU64; MOST_CORES] = [const { AtomicU64::new(0) }; MOST_CORES];

static AFFINITIES: [AtomicU64; MOST_CORES] = [const { AtomicU64::new(0) }; MOST_CORES];
static ARRIVED: [AtomicBool; MOST_CORES] = [const { AtomicBool::new(false) }; MOST_CORES];
static COUNT: AtomicUsize = AtomicUsize::new(1);
/// The parts of the machine.
static BOARD: SpinLock<Arm64, Option<Board>> = SpinLock::new(None);

unsafe extern "C" {
    static boot_stack_end: u8;
    fn other_core_entry() -> !;
}

/// How many cores there are.
pub fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// The core that asks.
#[inline(always)]
pub fn current() -> CoreId {
    CoreId(read_register!("tpidr_el1") as u16)
}

/// Where registers of virtio devices lie.
pub fn virtio() -> Vec<u64> {
    BOARD.lock().as_ref().map(|board| board.virtio.to_vec()).unwrap_or_default()
}

/// The affinity of a core.
#[inline(always)]
pub fn affinity_of(core: CoreId) -> u64 {
    AFFINITIES[core.index()].load(Ordering::Relaxed)
}

/// Prepares the boot core, which is core 0, of `board`. False where its interrupt controller can't be found.
pub fn prepare_boot_core(board: Board) -> bool {
    AFFINITIES[0].store(registers::affinity(), Ordering::Release);
    gic::prepare(&board);
    let enabled = gic::enable(&board);
    *BOARD.lock() = Some(board);
    enabled
}

/// Starts the other cores of the board, in the order of its device tree after the boot core. Returns those that did not come
/// within a second.
pub fn start_others() -> Vec<u64> {
    let (own, board) = (affinity_of(CoreId(0)), BOARD.lock().clone());
    let Some(board) = board else { return Vec::new() };
    let others = board.cores.iter().copied().filter(|&affinity| affinity != own);
    let others: Vec<u64> = others.take(MOST_CORES - 1).collect();
    COUNT.store(others.len() + 1, Ordering::Release);
    for (index, &affinity) in others.iter().enumerate() {
        AFFINITIES[index + 1].store(affinity, Ordering::Release);
        let stack: &'static mut [u128] = Box::leak(alloc::vec![0u128; STACK_BYTES / 16].into());
        other_core_stacks[index + 1].store(stack.as_mut_ptr_range().end as u64, Ordering::Release);
        registers::publish();
        let entry = other_core_entry as unsafe extern "C" fn() -> ! as usize as u64;
        firmware::start_core(board.firmware, affinity, entry, index as u64 + 1);
    }
    let arrived = |index: usize| ARRIVED[index + 1].load(Ordering::Acquire);
    for _ in 0..PATIENCE {
        if (0..others.len()).all(arrived) {
            break;
        }
        clock::wait(Duration::from_millis(1));
    }
    let missing = others.iter().enumerate().filter(|&(index, _)| !arrived(index));
    missing.map(|(_, &affinity)| affinity).collect()
}

/// Prepares `core`, which asks.
pub fn arrive(core: CoreId) {
    let enabled = BOARD.lock().as_ref().is_some_and(gic::enable);
    ARRIVED[core.index()].store(enabled, Ordering::Release);
}

/// Leaves everything that this core was at, on whatever stack, and lets it go home on its own first one, with interrupts
/// kept out.
pub fn rest() -> ! {
    let end = match current() {
        CoreId(0) => &raw const boot_stack_end as u64,
        core => other_core_stacks[core.index()].load(Ordering::Relaxed),
    };
    // SAFETY: nothing on the stack that is left will be gone back to, nor on the core's first one.
    unsafe { switch::restart(end - EXCEPTION_BYTES, resting) }
}

extern "C" fn resting() -> ! {
    rtos::come_home::<Arm64>(current())
}

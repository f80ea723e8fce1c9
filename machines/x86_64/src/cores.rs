//! Which cores there are, which one this is, and how the others come up.

use crate::arch::registers::{self, msr};
use crate::arch::switch;
use crate::arch::tables::{self, InterruptTable};
use crate::arch::{X86, apic};
use crate::clock;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use solo_bare::lock::SpinLock;
use solo_bare::rtos;
use solo_model::{CoreId, Duration};

/// The most cores that the image runs on.
pub const MOST_CORES: usize = 16;
const STACK_BYTES: usize = 64 << 10;
const TRAMPOLINE_PAGE: u8 = 8;

/// The stack on which each core but the boot core begins. Read by the trampoline before it has a stack.
#[unsafe(no_mangle)]
static mut other_core_stacks: [u64; MOST_CORES] = [0; MOST_CORES];

/// The identity of each core's local APIC; what is no identity for those that are not expected. The trampoline looks
/// its own up.
#[unsafe(no_mangle)]
static core_identities: [AtomicU32; MOST_CORES] = [const { AtomicU32::new(u32::MAX) }; MOST_CORES];
static COUNT: AtomicUsize = AtomicUsize::new(1);
static ARRIVED: [AtomicBool; MOST_CORES] = [const { AtomicBool::new(false) }; MOST_CORES];
static TABLE: AtomicUsize = AtomicUsize::new(0);
/// The identities that firmware told of.
static EXPECTED: SpinLock<X86, Vec<u32>> = SpinLock::new(Vec::new());

/// What a core keeps in its GS segment.
#[repr(C)]
struct Own {
    core: u64,
}

unsafe extern "C" {
    static trampoline_start: u8;
    static trampoline_end: u8;
    static boot_stack_end: u8;
}

/// How many cores there are.
pub fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

/// The core that asks.
#[inline(always)]
pub fn current() -> CoreId {
    let core: u64;
    // SAFETY: the GS base points to this core's `Own` from before interrupts are let in.
    unsafe {
        core::arch::asm!("mov {}, gs:[0]", out(reg) core, options(readonly, nostack, preserves_flags));
    }
    CoreId(core as u16)
}

/// The local APIC identity of a core.
#[inline(always)]
pub fn identity_of(core: CoreId) -> u32 {
    core_identities[core.index()].load(Ordering::Relaxed)
}

/// Keeps the identities of the cores that firmware told of.
pub fn expect(identities: Vec<u32>) {
    *EXPECTED.lock() = identities;
}

/// Prepares the boot core: segments, interrupts, its local APIC. It is core 0.
pub fn prepare_boot_core() {
    apic::choose();
    let table: &'static InterruptTable = Box::leak(Box::new(InterruptTable::new()));
    TABLE.store(ptr::from_ref(table).expose_provenance(), Ordering::Release);
    prepare(0, table);
    core_identities[0].store(apic::identity(), Ordering::Release);
    ARRIVED[0].store(true, Ordering::Release);
}

fn prepare(core: usize, table: &'static InterruptTable) {
    tables::load_segments();
    table.load();
    let own: &'static Own = Box::leak(Box::new(Own { core: core as u64 }));
    // SAFETY: the register exists on every x86-64 processor, and nothing else uses the segment.
    unsafe { registers::write_msr(msr::GS_BASE, ptr::from_ref(own) as u64) };
    apic::enable();
}

/// Starts the other cores that are expected, in that order after the boot core. Returns those that did not come within a
/// second.
pub fn start_others() -> Vec<u32> {
    let (own, identities) = (apic::identity(), core::mem::take(&mut *EXPECTED.lock()));
    let others = identities.iter().copied().filter(|&identity| identity != own && apic::reaches(identity));
    let others: Vec<u32> = others.take(MOST_CORES - 1).collect();
    for (index, &identity) in others.iter().enumerate() {
        core_identities[index + 1].store(identity, Ordering::Release);
        let stack: &'static mut [u128] = Box::leak(alloc::vec![0u128; STACK_BYTES / 16].into());
        // SAFETY: nobody reads the table before the cores are started below.
        unsafe { other_core_stacks[index + 1] = stack.as_mut_ptr_range().end as u64 };
    }
    if others.is_empty() {
        return others;
    }
    // SAFETY: the page of the trampoline is RAM below 1 MiB that the image doesn't use otherwise, and large
    // enough for its few bytes.
    unsafe {
        let (start, end) = (&raw const trampoline_start, &raw const trampoline_end);
        let target = (usize::from(TRAMPOLINE_PAGE) << 12) as *mut u8;
        ptr::copy_nonoverlapping(start, target, end.offset_from_unsigned(start));
    }
    COUNT.store(others.len() + 1, Ordering::Release);
    let arrived = |index: usize| ARRIVED[index].load(Ordering::Acquire);
    let all_came = || (0..=others.len()).all(arrived);
    apic::start_others(TRAMPOLINE_PAGE, clock::wait, all_came);
    for _ in 0..1000 {
        if all_came() {
            break;
        }
        clock::wait(Duration::from_millis(1));
    }
    let missing = others.iter().enumerate().filter(|(index, _)| !arrived(index + 1));
    missing.map(|(_, &identity)| identity).collect()
}

/// Prepares the core of this identity, which asks: the trampoline has led it to its own stack. Which one it is.
pub fn arrive(identity: u32) -> CoreId {
    let position = core_identities.iter().position(|known| known.load(Ordering::Acquire) == identity);
    let Some(core) = position else { registers::stop() };
    let table = ptr::with_exposed_provenance::<InterruptTable>(TABLE.load(Ordering::Acquire));
    // SAFETY: the boot core leaked the table and stored its address before it started this core.
    prepare(core, unsafe { &*table });
    ARRIVED[core].store(true, Ordering::Release);
    CoreId(core as u16)
}

/// Leaves everything that this core was at, on whatever stack, and lets it go home on its own first one, with interrupts
/// kept out.
pub fn rest() -> ! {
    let core = current();
    let end = match core {
        CoreId(0) => &raw const boot_stack_end as u64,
        // SAFETY: the table has not changed since the cores were started.
        _ => unsafe { other_core_stacks[core.index()] },
    };
    // SAFETY: nothing on the stack that is left will be gone back to, nor on the core's first one.
    unsafe { switch::restart(end, resting) }
}

extern "C" fn resting() -> ! {
    rtos::come_home::<X86>(current())
}

//! Which core this is, and how the others come up.

use crate::port::arch::registers::{self, msr};
use crate::port::arch::tables::{self, InterruptTable};
use crate::port::arch::{X86, apic};
use alloc::boxed::Box;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use solo_bare::rtos::clock;
use solo_bare::rtos::cores::{self, Cores, Signal, identity_of, stack_end_of};
use solo_model::CoreId;

/// Where the others begin: the number of a page below 1 MiB.
const TRAMPOLINE_PAGE: u8 = 8;

static TABLE: AtomicUsize = AtomicUsize::new(0);

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

/// Prepares the boot core: segments, interrupts, its local APIC. It is core 0; the others follow in the order in which firmware
/// tells of their APICs' `identities`.
pub fn prepare_boot_core(identities: &[u32]) {
    apic::choose();
    let table: &'static InterruptTable = Box::leak(Box::new(InterruptTable::new()));
    TABLE.store(ptr::from_ref(table).expose_provenance(), Ordering::Release);
    prepare(CoreId(0), table);
    let reached = identities.iter().copied().filter(|&identity| apic::reaches(identity));
    cores::expect(apic::identity().into(), reached.map(u64::from));
}

fn prepare(core: CoreId, table: &'static InterruptTable) {
    tables::load_segments();
    table.load();
    let own: &'static Own = Box::leak(Box::new(Own { core: core.0.into() }));
    // SAFETY: the register exists on every x86-64 processor, and nothing else uses the segment.
    unsafe { registers::write_msr(msr::GS_BASE, ptr::from_ref(own) as u64) };
    apic::enable();
    cores::arrived(core);
}

/// Prepares `core`, which asks: the trampoline has led it to its own stack.
pub fn arrive(core: CoreId) {
    let table = ptr::with_exposed_provenance::<InterruptTable>(TABLE.load(Ordering::Acquire));
    // SAFETY: the boot core leaked the table and stored its address before it started this core.
    prepare(core, unsafe { &*table });
}

/// The vector of a signal.
#[inline(always)]
const fn vector(signal: Signal) -> u8 {
    match signal {
        Signal::Reschedule => apic::RESCHEDULE_VECTOR,
        Signal::Counter => apic::COUNTER_VECTOR,
        Signal::Rest => apic::REST_VECTOR,
        Signal::Stop => apic::STOP_VECTOR,
    }
}

impl Cores for X86 {
    const STACK_BYTES: usize = 64 << 10;

    #[inline(always)]
    fn current() -> CoreId {
        let core: u64;
        // SAFETY: the GS base points to this core's `Own` from before interrupts are let in.
        unsafe {
            core::arch::asm!("mov {}, gs:[0]", out(reg) core, options(readonly, nostack, preserves_flags));
        }
        CoreId(core as u16)
    }

    /// All at once: those that are not expected stop.
    fn start_others(_: usize) {
        // SAFETY: the page of the trampoline is RAM below 1 MiB that the image doesn't use otherwise, and large
        // enough for its few bytes.
        unsafe {
            let (start, end) = (&raw const trampoline_start, &raw const trampoline_end);
            let target = (usize::from(TRAMPOLINE_PAGE) << 12) as *mut u8;
            ptr::copy_nonoverlapping(start, target, end.offset_from_unsigned(start));
        }
        apic::start_others(TRAMPOLINE_PAGE, clock::wait::<Self>, cores::all_came);
    }

    #[inline(always)]
    fn signal(core: CoreId, signal: Signal) {
        apic::send(identity_of(core) as u32, vector(signal));
    }

    fn signal_others(signal: Signal) {
        apic::send_to_others(vector(signal));
    }

    fn first_stack_end(core: CoreId) -> u64 {
        if core == CoreId(0) { &raw const boot_stack_end as u64 } else { stack_end_of(core) }
    }
}

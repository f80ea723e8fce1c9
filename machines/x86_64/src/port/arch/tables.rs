//! Segment, task state and interrupt tables.

use crate::port::arch::trap;
use alloc::boxed::Box;
use core::arch::asm;
use core::mem::size_of;

/// The stacks that certain exceptions switch to, whatever the stack pointer was: numbers as the processor
/// counts them, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ExceptionStack {
    /// Non-maskable interrupts.
    NonMaskable = 1,
    /// Double faults.
    DoubleFault = 2,
    /// Machine checks.
    MachineCheck = 3,
    /// Mistakes: a thread that has used up its stack, or lost it, makes one where there is no stack.
    Mistake = 4,
}

const EXCEPTION_STACKS: usize = 4;
const EXCEPTION_STACK_BYTES: usize = 16 << 10;

/// The code segment of the image.
pub const CODE_SELECTOR: u16 = 0x08;
const DATA_SELECTOR: u16 = 0x10;
const TASK_SELECTOR: u16 = 0x20;

#[repr(C, packed(4))]
struct TaskState {
    _reserved: u32,
    privilege_stacks: [u64; 3],
    _reserved_2: u64,
    exception_stacks: [u64; 7],
    _reserved_3: u64,
    _reserved_4: u16,
    io_map: u16,
}

#[repr(C, align(16))]
struct Segments([u64; 6]);

/// An entry of the interrupt table (Intel SDM volume 3, 6.14.1).
#[derive(Clone, Copy)]
#[repr(C)]
struct Gate {
    offset_low: u16,
    selector: u16,
    stack: u8,
    kind: u8,
    offset_middle: u16,
    offset_high: u32,
    _reserved: u32,
}

#[repr(C, packed)]
struct TablePointer {
    limit: u16,
    base: u64,
}

/// The interrupt table that all cores share.
pub struct InterruptTable(Box<[Gate; 256]>);

impl InterruptTable {
    /// A table in which every vector leads to its stub.
    pub fn new() -> Self {
        Self(Box::new(core::array::from_fn(|vector| {
            let offset = trap::stub_address(vector as u8);
            Gate {
                offset_low: offset as u16,
                selector: CODE_SELECTOR,
                stack: stack_of(vector as u8).map_or(0, |stack| stack as u8),
                kind: 0x8e, // present, interrupt gate: interrupts stay out
                offset_middle: (offset >> 16) as u16,
                offset_high: (offset >> 32) as u32,
                _reserved: 0,
            }
        })))
    }

    /// Lets this core use the table.
    pub fn load(&'static self) {
        let pointer =
            TablePointer { limit: (size_of::<Gate>() * 256 - 1) as u16, base: self.0.as_ptr() as u64 };
        // SAFETY: the table lives for ever and every gate leads to a stub.
        unsafe { asm!("lidt [{}]", in(reg) &raw const pointer, options(readonly, nostack, preserves_flags)) };
    }
}

/// Which exceptions must not rely on the current stack.
fn stack_of(vector: u8) -> Option<ExceptionStack> {
    match vector {
        trap::NON_MASKABLE => Some(ExceptionStack::NonMaskable),
        trap::DOUBLE_FAULT => Some(ExceptionStack::DoubleFault),
        trap::MACHINE_CHECK => Some(ExceptionStack::MachineCheck),
        0..trap::FIRST_INTERRUPT => Some(ExceptionStack::Mistake),
        _ => None,
    }
}

/// Gives this core its own segments, task state and exception stacks. They live for ever.
pub fn load_segments() {
    let mut exception_stacks = [0; 7];
    for slot in exception_stacks.iter_mut().take(EXCEPTION_STACKS) {
        let stack: &'static mut [u128] = Box::leak(alloc::vec![0u128; EXCEPTION_STACK_BYTES / 16].into());
        *slot = stack.as_mut_ptr_range().end as u64;
    }
    let state: &'static TaskState = Box::leak(Box::new(TaskState {
        _reserved: 0,
        privilege_stacks: [0; 3],
        _reserved_2: 0,
        exception_stacks,
        _reserved_3: 0,
        _reserved_4: 0,
        io_map: size_of::<TaskState>() as u16,
    }));
    let base = &raw const *state as u64;
    let limit = size_of::<TaskState>() as u64 - 1;
    let task_low = limit | (base & 0xff_ffff) << 16 | 0x89 << 40 | (base >> 24 & 0xff) << 56;
    let segments: &'static Segments = Box::leak(Box::new(Segments([
        0,
        0x00af_9a00_0000_ffff,
        0x00cf_9200_0000_ffff,
        0x00cf_9a00_0000_ffff,
        task_low,
        base >> 32,
    ])));
    let pointer =
        TablePointer { limit: (size_of::<Segments>() - 1) as u16, base: &raw const *segments as u64 };
    // SAFETY: the table lives for ever, and its code and data segments are those that are in use.
    unsafe {
        asm!(
            "lgdt [{pointer}]",
            "push {code}",
            "lea {t}, [rip + 2f]",
            "push {t}",
            "retfq",
            "2:",
            "mov ds, {data:x}", "mov es, {data:x}", "mov ss, {data:x}",
            "ltr {task:x}",
            pointer = in(reg) &raw const pointer,
            code = in(reg) u64::from(CODE_SELECTOR),
            data = in(reg) u64::from(DATA_SELECTOR),
            task = in(reg) u64::from(TASK_SELECTOR),
            t = out(reg) _,
        );
    }
}

/// Leaves this core only the first `vectors` gates: with 9, an exception above ends in the double fault; with
/// none, it resets the machine.
pub fn shorten_interrupt_table(vectors: u16) {
    let mut pointer = TablePointer { limit: 0, base: 0 };
    // SAFETY: not safe at all, and that is what it is for: a test of what is made of it.
    unsafe {
        asm!("sidt [{}]", in(reg) &raw mut pointer, options(nostack, preserves_flags));
        pointer.limit = (vectors * size_of::<Gate>() as u16).saturating_sub(1);
        asm!("lidt [{}]", in(reg) &raw const pointer, options(readonly, nostack, preserves_flags));
    }
}

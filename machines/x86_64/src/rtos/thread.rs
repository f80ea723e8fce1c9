//! What a thread does, and where interrupts and faults find it.

use super::{INSIDE, NOBODY, OCCUPANTS, Rtos, fault_name, mediators, thread_of};
use crate::arch::trap::{self, TrapFrame};
use crate::arch::{apic, registers};
use crate::rtos::finish::Death;
use crate::{cores, memory, provoke, say};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, Ordering};
use solo_bare::module::{Fault, Provocation};
use solo_kernel::Criterion;
use solo_model::{Bytes, CoreId, Duration, EventId, JobIndex, TaskId, ThreadId};
use solo_workload::Op;

/// An interrupt that enters the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// The core's timer.
    Timer,
    /// A reschedule request.
    Request,
    /// A counter of the core.
    Counter,
}

/// The kernel under any criterion.
pub trait Entries {
    /// `core` begins; it comes back when it is idle.
    fn begin(&self, core: CoreId) -> !;
    /// An interrupt arrived.
    fn interrupt(&self, interrupt: Interrupt);
    /// What the thread does that has just been given a core for the first time.
    fn body(&self) -> !;
    /// True where `stack` is not within what is the thread's own of its stack.
    fn overflows(&self, thread: ThreadId, stack: u64) -> bool;
    /// The thread on this core made a mistake: from here on it ends.
    fn kill(&self, thread: ThreadId, vector: u8, frame: &mut TrapFrame);
    /// The thread on this core ends.
    fn die(&self) -> !;
}

static mut PUBLISHED: Option<&'static dyn Entries> = None;
static READY: AtomicBool = AtomicBool::new(false);

/// Lets interrupts, faults and other cores find the kernel.
pub(super) fn publish(entries: &'static dyn Entries) {
    // SAFETY: written once, by the boot core, before anybody is told to read it.
    unsafe { PUBLISHED = Some(entries) };
    READY.store(true, Ordering::Release);
}

/// Takes the kernel of a run that is over away, with its threads.
pub fn clear_away() {
    if READY.swap(false, Ordering::AcqRel) {
        // SAFETY: all cores rest on their own stacks: nobody is in the kernel, nor on a stack of its threads. It was
        // leaked as a box, and is published once.
        unsafe {
            if let Some(entries) = PUBLISHED {
                PUBLISHED = None;
                drop(Box::from_raw(core::ptr::from_ref(entries).cast_mut()));
            }
        }
        memory::finish_run();
    }
}

/// The kernel, once there is one.
pub fn entries() -> Option<&'static dyn Entries> {
    // SAFETY: written before `READY`, and never again.
    if READY.load(Ordering::Acquire) { unsafe { PUBLISHED } } else { None }
}

/// The thread whose stack `core` is on.
#[inline]
pub fn occupant(core: CoreId) -> Option<ThreadId> {
    thread_of(OCCUPANTS[core.index()].load(Ordering::Relaxed))
}

/// True where the thread on this core, interrupted with its stack pointer at `stack`, leaves the kernel no room.
#[inline]
pub fn overflows(stack: u64) -> bool {
    match (entries(), occupant(cores::current())) {
        (Some(entries), Some(thread)) => entries.overflows(thread, stack),
        _ => false,
    }
}

/// Ends the thread that made a mistake. False where it was no thread, or one inside of the kernel.
pub fn kill(vector: u8, frame: &mut TrapFrame) -> bool {
    let core = cores::current();
    let (Some(entries), Some(thread)) = (entries(), occupant(core)) else { return false };
    if INSIDE[core.index()].load(Ordering::Relaxed) {
        return false;
    }
    entries.kill(thread, vector, frame);
    true
}

/// Where a thread begins, with the kernel's lock held on its behalf.
pub(super) extern "sysv64" fn entry() -> ! {
    match entries() {
        Some(entries) => entries.body(),
        None => unreachable!("a thread without a kernel"),
    }
}

/// Where a thread goes on after its fault, on its own stack from the top.
extern "sysv64" fn death() -> ! {
    match entries() {
        Some(entries) => entries.die(),
        None => unreachable!("a thread without a kernel"),
    }
}

impl<C: Criterion> Entries for Rtos<C> {
    fn begin(&self, core: CoreId) -> ! {
        // The stacks of these threads have guards where those of the run before had none.
        registers::flush_translations();
        if self.exists(core) {
            self.begin_in_turn(core);
        }
        loop {
            registers::wait_for_interrupt();
        }
    }

    fn interrupt(&self, interrupt: Interrupt) {
        if !self.exists(cores::current()) {
            return;
        }
        if self.settled { self.interrupt_in_order() } else { self.interrupt_now(interrupt) }
    }

    fn body(&self) -> ! {
        let thread = occupant(cores::current()).unwrap_or(ThreadId(NOBODY));
        self.arrive();
        registers::enable_interrupts();
        if let Some(lack) = &self.threads.lacks[thread.index()] {
            self.give_up(thread, format_args!("no memory for buffer {}: {}", lack.buffer, lack.error));
        }
        loop {
            let job = self.job(thread);
            self.provoke(thread, job);
            self.do_job(thread, job);
            self.call(|kernel, machine, core, now| kernel.wait_next(machine, core, now));
        }
    }

    fn overflows(&self, thread: ThreadId, stack: u64) -> bool {
        !self.threads.stacks.own(thread.index()).contains(&stack)
    }

    fn kill(&self, thread: ThreadId, vector: u8, frame: &mut TrapFrame) {
        let address = (vector == trap::PAGE_FAULT).then(registers::fault_address);
        let overflow =
            address.and_then(|address| self.threads.stacks.guards(address)) == Some(thread.index());
        let fault = fault_name(vector, overflow);
        let core = cores::current();
        let death =
            Death { at: mediators::now(), core, thread, fault, instruction: frame.instruction, address };
        say!(
            "thread of task {} ended on {core}: {fault} at {:#x}",
            self.threads.names[thread.index()],
            frame.instruction
        );
        self.deaths.lock().push(death);
        // The thread goes on in its own death, on a stack that is as empty as after a call.
        frame.instruction = death_entry();
        frame.stack = self.threads.stacks.end(thread.index()) - 8;
        frame.general[6] = 0;
    }

    fn die(&self) -> ! {
        self.call(|kernel, machine, core, now| kernel.exit(machine, core, now));
        unreachable!("a thread that has ended goes on")
    }
}

fn death_entry() -> u64 {
    death as extern "sysv64" fn() -> ! as usize as u64
}

impl<C: Criterion> Rtos<C> {
    fn job(&self, thread: ThreadId) -> JobIndex {
        let (guard, core) = self.enter_kernel();
        let job = guard.kernel.job(thread).unwrap_or_default();
        self.exit_kernel(guard, core);
        job
    }

    fn provoke(&self, thread: ThreadId, job: JobIndex) {
        if let Some(Provocation::Thread { task, job: when, fault }) = self.options.provoke
            && (task, when) == (TaskId(thread.0), job.0)
        {
            if let Fault::Demand(bytes) = fault
                && let Err(error) = self.threads.demand(thread, Bytes::new(bytes.into()))
            {
                self.give_up(thread, format_args!("{error}"));
            }
            provoke::provoke(fault, self.threads.stacks.limit(thread.index()));
        }
    }

    /// The thread, which asks, ends for want of memory.
    fn give_up(&self, thread: ThreadId, reason: core::fmt::Arguments<'_>) -> ! {
        let (at, core) = (mediators::now(), cores::current());
        say!("thread of task {} ended on {core}: {reason}", self.threads.names[thread.index()]);
        let fault = "memory exhausted";
        self.deaths.lock().push(Death { at, core, thread, fault, instruction: 0, address: None });
        self.die()
    }

    fn do_job(&self, thread: ThreadId, job: JobIndex) {
        // SAFETY: the thread asks for its own program, and lets go of it before it asks again.
        let program = unsafe { self.threads.program(thread) };
        program.begin_job(job);
        while let Some(operation) = program.next() {
            match operation {
                Op::Compute(span) => self.compute(thread, span),
                Op::Access(access) if self.modelled => {
                    self.tell_counters();
                    self.threads.touch(&access, |span| self.compute(thread, span));
                }
                Op::Access(access) => self.threads.touch(&access, |span| self.compute(thread, span)),
                Op::Acquire(lock) => {
                    self.call(|kernel, machine, core, now| kernel.acquire(machine, core, now, lock));
                }
                Op::Release(lock) => {
                    self.call(|kernel, machine, core, now| kernel.release(machine, core, now, lock));
                }
                Op::Sleep(length) => {
                    self.call(|kernel, machine, core, now| kernel.sleep(machine, core, now, length));
                }
            }
        }
    }

    /// Tells the counters' model that a line comes from memory; where that is an overflow, the core is interrupted as by
    /// its counters.
    fn tell_counters(&self) {
        let (mut guard, core) = self.enter_kernel();
        if guard.machine.happened(core, EventId::LLC_MISSES) {
            apic::send(cores::identity_of(core), apic::COUNTER_VECTOR);
        }
        self.exit_kernel(guard, core);
    }

    fn compute(&self, thread: ThreadId, span: Duration) {
        if self.settled {
            self.compute_in_order(thread, span);
        } else {
            self.threads.compute(thread, span);
        }
    }
}

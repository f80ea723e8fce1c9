//! What a thread does, and where interrupts and faults find it.

use super::threads::spin;
use super::{Call, Common, INSIDE, NOBODY, OCCUPANTS, Rtos, fault_name, mediators, thread_of};
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
    /// The thread on this core has just been given a core for the first time.
    fn arrived(&self);
    /// The job of `thread`, which asks.
    fn job(&self, thread: ThreadId) -> JobIndex;
    /// The thread on this core asks something of the kernel.
    fn call(&self, call: Call);
    /// Settled clock: `thread`, which asks, is to compute for `span`.
    fn promise(&self, thread: ThreadId, span: Duration);
    /// The thread on this core reads or writes a line of memory: the model of counters hears of it.
    fn touched(&self);
    /// What is the same under all criteria.
    fn common(&self) -> &Common;
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
pub fn running_thread(core: CoreId) -> Option<ThreadId> {
    thread_of(OCCUPANTS[core.index()].load(Ordering::Relaxed))
}

/// True where the thread on this core, interrupted with its stack pointer at `stack`, leaves the kernel no room.
#[inline]
pub fn overflows(stack: u64) -> bool {
    match (entries(), running_thread(cores::current())) {
        (Some(entries), Some(thread)) => {
            !entries.common().threads.stacks.own(thread.index()).contains(&stack)
        }
        _ => false,
    }
}

/// Ends the thread that made a mistake. False where it was no thread, or one inside of the kernel.
pub fn kill(vector: u8, frame: &mut TrapFrame) -> bool {
    let core = cores::current();
    let (Some(entries), Some(thread)) = (entries(), running_thread(core)) else { return false };
    if INSIDE[core.index()].load(Ordering::Relaxed) {
        return false;
    }
    end_in_death(entries.common(), thread, vector, frame);
    true
}

/// `thread` on this core made a mistake: from here on it ends.
fn end_in_death(common: &Common, thread: ThreadId, vector: u8, frame: &mut TrapFrame) {
    let address = (vector == trap::PAGE_FAULT).then(registers::fault_address);
    let overflow = address.and_then(|address| common.threads.stacks.guards(address)) == Some(thread.index());
    let fault = fault_name(vector, overflow);
    let core = cores::current();
    let death = Death { at: mediators::now(), core, thread, fault, instruction: frame.instruction, address };
    say!(
        "thread of task {} ended on {core}: {fault} at {:#x}",
        common.threads.names[thread.index()],
        frame.instruction
    );
    common.deaths.lock().push(death);
    // The thread goes on in its own death, on a stack that is as empty as after a call.
    frame.instruction = death_entry();
    frame.stack = common.threads.stacks.end(thread.index()) - 8;
    frame.general[6] = 0;
}

/// Where a thread begins, with the kernel's lock held on its behalf.
pub(super) extern "sysv64" fn entry() -> ! {
    let Some(entries) = entries() else { unreachable!("a thread without a kernel") };
    entries.arrived();
    let thread = running_thread(cores::current()).unwrap_or(ThreadId(NOBODY));
    Body { entries, common: entries.common(), thread }.live()
}

/// Where a thread goes on after its fault, on its own stack from the top.
extern "sysv64" fn death() -> ! {
    match entries() {
        Some(entries) => die(entries),
        None => unreachable!("a thread without a kernel"),
    }
}

fn death_entry() -> u64 {
    death as extern "sysv64" fn() -> ! as usize as u64
}

/// The thread on this core ends.
fn die(entries: &dyn Entries) -> ! {
    entries.call(Call::Exit);
    unreachable!("a thread that has ended goes on")
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
        if self.common.settled { self.interrupt_in_order() } else { self.interrupt_now(interrupt) }
    }

    fn arrived(&self) {
        self.arrive();
        registers::enable_interrupts();
    }

    fn job(&self, thread: ThreadId) -> JobIndex {
        let (guard, core) = self.enter_kernel();
        let job = guard.kernel.job(thread).unwrap_or_default();
        self.exit_kernel(guard, core);
        job
    }

    fn call(&self, call: Call) {
        if self.common.settled { self.call_in_order(call) } else { self.call_now(call) }
    }

    fn promise(&self, thread: ThreadId, span: Duration) {
        self.promise(thread, span);
    }

    fn touched(&self) {
        let (mut guard, core) = self.enter_kernel();
        if guard.machine.happened(core, EventId::LLC_MISSES) {
            // An overflow: the core is interrupted as by its counters.
            apic::send(cores::identity_of(core), apic::COUNTER_VECTOR);
        }
        self.exit_kernel(guard, core);
    }

    fn common(&self) -> &Common {
        &self.common
    }
}

/// What a thread does.
struct Body<'r> {
    entries: &'r dyn Entries,
    common: &'r Common,
    thread: ThreadId,
}

impl Body<'_> {
    /// One job after the other.
    fn live(&self) -> ! {
        if let Some(missing) = &self.common.threads.missing[self.thread.index()] {
            self.give_up(format_args!("no memory for buffer {}: {}", missing.buffer, missing.error));
        }
        loop {
            let job = self.entries.job(self.thread);
            self.provoke(job);
            self.do_job(job);
            self.entries.call(Call::WaitNext);
        }
    }

    fn provoke(&self, job: JobIndex) {
        if let Some(Provocation::Thread { task, job: when, fault }) = self.common.options.provoke
            && (task, when) == (TaskId(self.thread.0), job.0)
        {
            if let Fault::Demand(bytes) = fault
                && let Err(error) = self.common.threads.demand(self.thread, Bytes::new(bytes.into()))
            {
                self.give_up(format_args!("{error}"));
            }
            provoke::provoke(fault, self.common.threads.stacks.limit(self.thread.index()));
        }
    }

    /// It ends for want of memory.
    fn give_up(&self, reason: core::fmt::Arguments<'_>) -> ! {
        let (at, core, thread) = (mediators::now(), cores::current(), self.thread);
        say!("thread of task {} ended on {core}: {reason}", self.common.threads.names[thread.index()]);
        let fault = "memory exhausted";
        self.common.deaths.lock().push(Death { at, core, thread, fault, instruction: 0, address: None });
        die(self.entries)
    }

    fn do_job(&self, job: JobIndex) {
        // SAFETY: the thread asks for its own program, and lets go of it before it asks again.
        let program = unsafe { self.common.threads.program(self.thread) };
        program.begin_job(job);
        while let Some(operation) = program.next() {
            match operation {
                Op::Compute(span) => self.compute(span),
                Op::Access(access) => {
                    if self.common.modelled {
                        self.entries.touched();
                    }
                    self.common.threads.touch(&access, |span| self.compute(span));
                }
                Op::Acquire(lock) => self.entries.call(Call::Acquire(lock)),
                Op::Release(lock) => self.entries.call(Call::Release(lock)),
                Op::Sleep(length) => self.entries.call(Call::Sleep(length)),
            }
        }
    }

    /// Under the settled clock it may be preempted meanwhile or not: it has computed when its time has come.
    fn compute(&self, span: Duration) {
        let threads = &self.common.threads;
        if !self.common.settled {
            return threads.compute(self.thread, span);
        }
        self.entries.promise(self.thread, span);
        loop {
            let left = threads.finish(self.thread).since(mediators::now());
            if left.is_zero() {
                return;
            }
            spin(left.get());
        }
    }
}

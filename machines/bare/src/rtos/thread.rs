//! What a thread does, and where interrupts and faults find it.

use super::cores::Signal;
use super::finish::Death;
use super::mediators;
use super::port::{Port, Source};
use super::provoke::provoke;
use super::threads::spin;
use super::turns;
use super::{
    Call, Common, Entries, INSIDE, Interrupt, NOBODY, OCCUPANTS, Rtos, is_at_rest, run_memory, thread_of,
};
use crate::module::{Fault, Provocation};
use crate::say;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
use solo_kernel::Criterion;
use solo_model::work::Flush;
use solo_model::{Bytes, CoreId, Duration, EventId, JobIndex, TaskId, ThreadId};
use solo_workload::Op;

/// Interrupts of timers that came while there was no kernel: the machine's test waits for them.
pub(super) static TIMER_INTERRUPTS: AtomicU64 = AtomicU64::new(0);
/// Reschedule requests that came while there was none.
pub(super) static RESCHEDULE_INTERRUPTS: AtomicU64 = AtomicU64::new(0);
/// Interrupts of counters that came while there was none.
pub(super) static COUNTER_INTERRUPTS: AtomicU64 = AtomicU64::new(0);

/// Lets interrupts, faults and other cores find the kernel.
pub(super) fn publish<P: Port>(entries: &'static dyn Entries<P>) {
    // SAFETY: written by the boot core, before anybody is told to read it.
    unsafe { *P::shared().kernel.get() = Some(entries) };
    P::shared().ready.store(true, Ordering::Release);
}

/// Takes the kernel of a run that is over away, with its threads.
pub(super) fn clear_away<P: Port>() {
    if P::shared().ready.swap(false, Ordering::AcqRel) {
        // SAFETY: all cores rest on their own stacks: nobody is in the kernel, nor on a stack of its threads. It was
        // leaked as a box, and is published once.
        unsafe {
            if let Some(entries) = (*P::shared().kernel.get()).take() {
                drop(Box::from_raw(core::ptr::from_ref(entries).cast_mut()));
            }
        }
        run_memory::finish::<P>();
    }
}

/// The kernel, once there is one.
#[inline]
pub(super) fn entries<P: Port>() -> Option<&'static dyn Entries<P>> {
    let shared = P::shared();
    // SAFETY: written before `ready`, and not while that is.
    if shared.ready.load(Ordering::Acquire) { unsafe { *shared.kernel.get() } } else { None }
}

/// What counter 0 held when the last interrupt of counters came that no kernel serves: how late it was.
pub(super) static LATE: AtomicU64 = AtomicU64::new(0);

/// A counter of this core has interrupted: before it is acknowledged and served.
#[inline(always)]
pub fn counters_interrupt<P: Port>() {
    if !P::shared().ready.load(Ordering::Acquire) {
        LATE.store(P::Source::held_by_first(), Ordering::Relaxed);
    }
}

/// Hands an interrupt, which has been acknowledged, to the kernel, or counts it while there is none: the kernel may go on in
/// another thread, which must be interruptible.
#[inline]
pub fn serve<P: Port>(interrupt: Interrupt) {
    // One that was pending when the core came to rest finds it there: the kernel of that run may be about to go.
    match entries::<P>().filter(|_| !is_at_rest(P::current())) {
        Some(entries) => entries.interrupt(interrupt),
        None => {
            let count = match interrupt {
                Interrupt::Timer => &TIMER_INTERRUPTS,
                Interrupt::Request => &RESCHEDULE_INTERRUPTS,
                Interrupt::Counter => &COUNTER_INTERRUPTS,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The thread whose stack `core` is on.
#[inline]
pub(super) fn running_thread(core: CoreId) -> Option<ThreadId> {
    thread_of(OCCUPANTS[core.index()].load(Ordering::Relaxed))
}

/// True where the thread on this core, interrupted with its stack pointer at `stack`, leaves the kernel no room.
#[inline]
pub fn overflows<P: Port>(stack: u64) -> bool {
    match (entries::<P>(), running_thread(P::current())) {
        (Some(entries), Some(thread)) => {
            !entries.common().threads.stacks.own(thread.index()).contains(&stack)
        }
        _ => false,
    }
}

/// What stopped a thread, or the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The processor's name for it.
    pub name: &'static str,
    /// The instruction that did it.
    pub instruction: u64,
    /// The address that could not be reached, where that was it.
    pub address: Option<u64>,
}

impl Mistake {
    /// The same; a jump to where nothing is tells the one who called in place of its instruction, where that is known.
    #[must_use]
    pub fn told_by(self, caller: impl FnOnce() -> Option<u64>) -> Self {
        if self.address != Some(self.instruction) {
            return self;
        }
        Self { name: "jump to nowhere", instruction: caller().unwrap_or(self.instruction), ..self }
    }
}

/// Where a thread goes on after its mistake, in its own death. Entry code may read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Afterlife {
    /// The instruction.
    pub instruction: u64,
    /// The end of its stack, which is as empty as at its beginning.
    pub stack_end: u64,
}

impl Afterlife {
    /// None: the thread goes on where it was.
    pub const NONE: Self = Self { instruction: 0, stack_end: 0 };
}

/// What the overflow of a stack is called, whatever the processor made of it.
pub const STACK_OVERFLOW: &str = "stack overflow";

/// Ends the thread that made a mistake. `None` where it was no thread, or one inside of the kernel.
pub fn kill<P: Port>(mistake: &Mistake) -> Option<Afterlife> {
    let core = P::current();
    let (entries, thread) = (entries::<P>()?, running_thread(core)?);
    if INSIDE[core.index()].load(Ordering::Relaxed) {
        return None;
    }
    let Mistake { name, instruction, address } = *mistake;
    let stacks = &entries.common().threads.stacks;
    let overflow = address.and_then(|address| stacks.guards(address)) == Some(thread.index());
    let fault = Cow::Borrowed(if overflow { STACK_OVERFLOW } else { name });
    Some(end_in_death(entries.common(), thread, fault, instruction, address))
}

/// Ends the thread of a program that panicked. `None` where it was none, or one inside of the kernel.
pub(super) fn panicked<P: Port>(info: &core::panic::PanicInfo<'_>) -> Option<Afterlife> {
    P::shared().hooks()?;
    let place = info.location().map_or(String::new(), |place| {
        alloc::format!(" at {}:{}:{}", place.file(), place.line(), place.column())
    });
    end_for::<P>(Cow::Owned(alloc::format!("panic{place}: {}", info.message())), 0)
}

/// Ends the thread on this core for `fault`, as [`kill`] does.
pub(super) fn end_for<P: Port>(fault: Cow<'static, str>, instruction: u64) -> Option<Afterlife> {
    let core = P::current();
    let (entries, thread) = (entries::<P>()?, running_thread(core)?);
    let inside = INSIDE[core.index()].load(Ordering::Relaxed);
    (!inside).then(|| end_in_death(entries.common(), thread, fault, instruction, None))
}

/// `thread` on this core made a mistake: from here on it ends.
fn end_in_death<P: Port>(
    common: &Common<P>,
    thread: ThreadId,
    fault: Cow<'static, str>,
    instruction: u64,
    address: Option<u64>,
) -> Afterlife {
    let core = P::current();
    say!(
        P,
        "thread of task {} ended on {core}: {fault} at {instruction:#x}",
        common.threads.names[thread.index()]
    );
    let death = Death { at: mediators::now::<P>(), core, thread, fault, instruction, address };
    common.deaths.lock().push(death);
    // The thread goes on in its own death, on a stack that is as empty as after a call.
    let instruction = in_death::<P> as extern "C" fn() -> ! as usize as u64;
    Afterlife { instruction, stack_end: common.threads.stacks.end(thread.index()) }
}

/// Where threads of this image begin.
#[inline(never)] // once, not for each criterion
pub(super) fn beginning<P: Port>() -> extern "C" fn() -> ! {
    P::shared().hooks().map_or(entry::<P>, |hooks| hooks.entry)
}

/// Where a thread begins, with the kernel's lock held on its behalf.
pub(super) extern "C" fn entry<P: Port>() -> ! {
    let Some(entries) = entries::<P>() else { unreachable!("a thread without a kernel") };
    entries.arrived();
    let thread = running_thread(P::current()).unwrap_or(ThreadId(NOBODY));
    Body { entries, common: entries.common(), thread }.live()
}

/// Where a thread goes on after its fault, on its own stack from the top.
pub(super) extern "C" fn in_death<P: Port>() -> ! {
    match entries::<P>() {
        Some(entries) => die(entries),
        None => unreachable!("a thread without a kernel"),
    }
}

/// The thread on this core ends.
pub(super) fn die<P: Port>(entries: &dyn Entries<P>) -> ! {
    entries.call(Call::Exit);
    unreachable!("a thread that has ended goes on")
}

impl<P: Port, C: Criterion> Entries<P> for Rtos<P, C> {
    fn begin(&self, core: CoreId) -> ! {
        // The stacks of these threads have guards where those of the run before had none.
        P::forget_translations();
        if self.exists(core) {
            self.begin_in_turn(core);
        }
        loop {
            P::wait_for_interrupt();
        }
    }

    fn interrupt(&self, interrupt: Interrupt) {
        if !self.exists(P::current()) {
            return;
        }
        if self.common.settled { self.interrupt_in_order() } else { self.interrupt_now(interrupt) }
    }

    fn arrived(&self) {
        self.arrive();
        P::enable_interrupts();
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
            P::signal(core, Signal::Counter);
        }
        self.exit_kernel(guard, core);
    }

    fn common(&self) -> &Common<P> {
        &self.common
    }
}

/// What a thread does.
struct Body<'r, P: Port> {
    entries: &'r dyn Entries<P>,
    common: &'r Common<P>,
    thread: ThreadId,
}

impl<P: Port> Body<'_, P> {
    /// One job after the other.
    fn live(&self) -> ! {
        if let Some(missing) = &self.common.threads.missing[self.thread.index()] {
            self.give_up(format_args!("no memory for buffer {}: {}", missing.buffer, missing.error));
        }
        loop {
            let job = self.entries.job(self.thread);
            self.provoke(job);
            self.do_job(job);
            self.common.threads.end_job(self.thread);
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
            provoke::<P>(fault, self.common.threads.stacks.limit(self.thread.index()));
        }
    }

    /// It ends for want of memory.
    fn give_up(&self, reason: core::fmt::Arguments<'_>) -> ! {
        let (at, core, thread) = (mediators::now::<P>(), P::current(), self.thread);
        say!(P, "thread of task {} ended on {core}: {reason}", self.common.threads.names[thread.index()]);
        self.common.threads.end_job(self.thread);
        let fault = Cow::Borrowed("memory exhausted");
        self.common.deaths.lock().push(Death { at, core, thread, fault, instruction: 0, address: None });
        die(self.entries)
    }

    fn do_job(&self, job: JobIndex) {
        // SAFETY: the thread asks for its own program, and lets go of it before it asks again.
        let program = unsafe { self.common.threads.program(self.thread) };
        program.begin_job(job);
        while let Some(operation) = program.next() {
            match operation {
                // All cores are of one kind here.
                Op::Compute(span) | Op::Execute { on_reference: span, .. } => self.compute(span),
                Op::Access(access) => {
                    if self.common.modelled {
                        self.entries.touched();
                    }
                    self.common.threads.touch(&access, |span| self.compute(span));
                    if turns::are_kept::<P>() {
                        // Cores that keep account of their turns have short ones.
                        P::pause();
                    }
                }
                Op::Acquire(lock) => self.entries.call(Call::Acquire(lock)),
                Op::Release(lock) => self.entries.call(Call::Release(lock)),
                Op::Sleep(length) => self.entries.call(Call::Sleep(length)),
                Op::Allocate { buffer, size, color } => {
                    if let Err(error) = self.common.threads.take(self.thread, buffer, size, color) {
                        self.give_up(format_args!("{error}"));
                    }
                }
                Op::Free(buffer) => self.common.threads.give_back(buffer),
                Op::Flush(Flush::All) => P::flush_all(),
                Op::Flush(Flush::Buffer(buffer)) => self.common.threads.flush(buffer),
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
            let left = threads.finish(self.thread).since(mediators::now::<P>());
            if left.is_zero() {
                return;
            }
            spin::<P>(left.get());
        }
    }
}

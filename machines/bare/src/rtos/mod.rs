//! The kernel at work: threads on stacks, interrupts that enter the kernel, switches that are carried out.
//!
//! The kernel comes in parts that share nothing: one for each scheduling domain, or for several where their tasks use the same
//! locks (`Kernel::in_parts`). A lock around each keeps its cores apart: from the entry into the kernel until the stack of the
//! old thread has been left, so that no other core can go on with a thread whose registers are not saved. A core waits at most
//! for the entries of the cores of its part before it. No entry takes the locks of two parts, but the one that ends the run:
//!
//! ```text
//!   a core holds its part and ends the run. Had another core ended it? ── yes ─▶ gives its part back and rests
//!        │ no
//!        ▼
//!   takes the other parts one after the other: who holds one is about to give it back, or finds the run over and gives it back
//! ```
//!
//! Under the settled clock all cores act in one order anyway, and the kernel is in one part.
//!
//! ```text
//!   thread: compute, touch memory          interrupt: timer, reschedule request
//!        | acquire, release, wait_next          |
//!        v                                      v
//!       call --------> lock, time ---------> act: the kernel decides --> Switch
//!                                                |  Stay: unlock, return
//!                                                |  To, Idle: exchange stacks; the new context unlocks
//! ```

mod bodies;
pub mod clock;
pub mod console;
pub mod cores;
mod devices;
mod finish;
mod mediators;
mod order;
pub mod port;
mod prepare;
pub mod program;
mod provoke;
pub mod report;
mod run_memory;
mod selftest;
mod shares;
mod start;
mod task_memory;
mod thread;
mod threads;
pub mod turns;
mod walk;

pub use clock::Clock;
pub use cores::{Cores, Signal};
pub use port::{Counters, Line, Port, Shared, Source};
pub use provoke::Mistakes;
pub use selftest::{LOOP_ROUNDS, counts_a_loop};
pub use start::{start, wait};
pub use thread::{Afterlife, Mistake, STACK_OVERFLOW, counters_interrupt, kill, overflows, serve};
pub use walk::word_at;

use crate::agenda::{Kind, MOST_CORES};
use crate::context::Context;
use crate::known;
use crate::lock::{Guard, SpinLock};
use crate::module::{BootOptions, Module};
use crate::outcome::ImageExit;
use crate::rest::Rest;
use crate::say;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use finish::{Death, Goal};
use mediators::Mediators;
use prepare::{Prepared, words};
use solo_hal::CounterId;
use solo_kernel::{Arrival, Criterion, Kernel, Switch, Visitor};
use solo_model::{CoreId, Duration, Experiment, Instant, JobIndex, LockId, TaskId, ThreadId};
use thread::{clear_away, entries, running_thread};
use threads::Threads;

const NOBODY: u32 = u32::MAX;

/// The thread whose stack each core is on.
static OCCUPANTS: [AtomicU32; MOST_CORES] = [const { AtomicU32::new(NOBODY) }; MOST_CORES];
/// The cores that are inside of the kernel.
static INSIDE: [AtomicBool; MOST_CORES] = [const { AtomicBool::new(false) }; MOST_CORES];

/// Whether the run is over, and which cores have left it.
static REST: Rest<MOST_CORES> = Rest::new();

/// Requests to the kernel's heap before the run began: none follow until its end.
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// True from the end of a run until the next begins.
fn is_over() -> bool {
    REST.is_over()
}

/// This core is asked to leave everything. One that is asked late finds the next run under way, or is at rest.
pub fn asked_to_rest<P: Port>() {
    if must_leave::<P>() {
        rest::<P>()
    }
}

/// Leaves everything that this core was at, on whatever stack, and lets it go home on its own first one, with interrupts kept out.
fn rest<P: Port>() -> ! {
    let end = P::first_stack_end(P::current());
    // SAFETY: nothing on the stack that is left will be gone back to, nor on the core's first one.
    unsafe { P::restart(end, come_home::<P>) }
}

/// This core has left a run that is over.
extern "C" fn come_home<P: Port>() -> ! {
    let core = P::current();
    rests::<P>(core);
    wait::<P>(core)
}

/// True where the run is over and this core has not left it yet.
fn must_leave<P: Port>() -> bool {
    REST.must_leave(P::current())
}

/// `core` has left everything and is on its own stack.
fn rests<P: Port>(core: CoreId) {
    P::stop_timer();
    P::Source::silence();
    OCCUPANTS[core.index()].store(NOBODY, Ordering::Relaxed);
    INSIDE[core.index()].store(false, Ordering::Relaxed);
    REST.rest(core);
    if core != CoreId(0) {
        // The boot core looks whether all rest.
        P::signal(CoreId(0), Signal::Reschedule);
    }
}

/// True from when `core` has come to rest after a run until the next run.
#[inline]
fn is_at_rest(core: CoreId) -> bool {
    REST.is_at_rest(core)
}

/// True where the run is over and all cores rest.
fn all_rest() -> bool {
    REST.all_rest(cores::count())
}

/// The kernel under one criterion, and all that its machine needs. Its code is in the image once for each criterion: what
/// does not ask the kernel itself is elsewhere.
struct Rtos<P: Port, C> {
    /// The parts of the kernel, each behind its lock.
    parts: Vec<SpinLock<P, State<P, C>>>,
    /// The part of each core.
    part_of: [u8; MOST_CORES],
    /// The machine's time is zero: core 0 has begun.
    begun: AtomicBool,
    /// Parts whose tasks have not done their jobs yet, where jobs end the run.
    goals_left: AtomicU32,
    common: Common<P>,
}

/// What is the same under all criteria.
pub struct Common<P: Port> {
    threads: Threads<P>,
    deaths: SpinLock<P, Vec<Death>>,
    options: BootOptions,
    settled: bool,
    /// Pages are placed by color or bank.
    colored: bool,
    /// Counters are a model, which has to be told what happens.
    modelled: bool,
    /// Each core keeps account of its turns, since one count of instructions is all that the emulator has.
    counts_turns: bool,
    /// How many cores the experiment uses.
    cores: usize,
    /// Nothing is run afterwards.
    is_last: bool,
}

/// What is to be run, the next one last.
type Ahead = Vec<Module>;

/// Why a core enters the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    /// It begins.
    Start,
    /// Its timer has come to its time.
    Timer,
    /// Another core asks it to decide anew.
    Request,
    /// A counter of it overflowed.
    Counter(CounterId),
    /// A device interrupts it, to release a sporadic task.
    Device(Arrival),
    /// Its thread asks for something.
    Call(Call),
}

/// What a thread asks of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// It has finished its job.
    WaitNext,
    /// It wants a lock.
    Acquire(LockId),
    /// It gives a lock back.
    Release(LockId),
    /// It leaves its core for so long.
    Sleep(Duration),
    /// It wants a job of a sporadic task, after so long.
    Trigger(TaskId, Duration),
    /// It ends.
    Exit,
}

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
pub trait Entries<P: Port> {
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
    fn common(&self) -> &Common<P>;
}

/// What a lock protects.
struct State<P: Port, C> {
    kernel: Kernel<C>,
    machine: Mediators<P>,
    contexts: Vec<Context>,
    idle: [Context; MOST_CORES],
    /// Settled clock: what is left of the computation of a thread that has no core.
    left: Vec<Duration>,
    goal: Goal,
    /// The goal was reached.
    done: bool,
    /// Entries into this part.
    entries: EntryCounts,
    /// Settled clock: the longest time after its instant at which an event was served.
    latest: Duration,
}

/// How often cores entered a part, and how often they waited for another one.
#[derive(Clone, Copy, Default, Debug)]
struct EntryCounts {
    all: u64,
    waited: u64,
    /// From the first look at the lock to having it, in ticks.
    longest_ticks: u64,
}

/// Runs an experiment to its end, on all cores, under the criterion that it names. The image ends with the last run.
fn run<P: Port>(experiment: Experiment, options: BootOptions, is_last: bool) -> ! {
    struct Start<'e, P>(&'e Experiment, BootOptions, bool, core::marker::PhantomData<P>);
    impl<P: Port> Visitor for Start<'_, P> {
        type Output = Result<&'static dyn Entries<P>, alloc::string::String>;
        fn visit<C: Criterion>(self) -> Self::Output {
            if !const { known::knows(C::NAME) } {
                let named = known::named().unwrap_or_default();
                return Err(alloc::format!("this image was built for {named}, and not for {}", C::NAME));
            }
            let rtos: &'static Rtos<P, C> = Box::leak(Box::new(Rtos::new(self.0, self.1, self.2)?));
            Ok(rtos)
        }
    }
    let criterion = experiment.policy.criterion;
    let entries = solo_kernel::dispatch(
        criterion,
        Start(&experiment, options, is_last, core::marker::PhantomData::<P>),
    );
    let entries = entries.and_then(|entries| match P::heaps().close_system() {
        0 => Ok(entries),
        missing => Err(alloc::format!("the kernel's color holds {missing} bytes less than the kernel needs")),
    });
    drop(experiment);
    match entries {
        Ok(entries) => {
            P::disable_interrupts();
            REST.begin();
            turns::begin(entries.common().counts_turns);
            REQUESTS.store(P::heaps().requests(), Ordering::Relaxed);
            thread::publish(entries);
            P::signal_others(Signal::Reschedule);
            entries.begin(CoreId(0))
        }
        Err(reason) => {
            say!(P, "refused: {reason}");
            P::leave(ImageExit::Refused)
        }
    }
}

impl<P: Port, C: Criterion> Rtos<P, C> {
    fn new(
        experiment: &Experiment,
        options: BootOptions,
        is_last: bool,
    ) -> Result<Self, alloc::string::String> {
        let (prepared, config) = Prepared::of(experiment, options, is_last)?;
        let entry = thread::beginning::<P>();
        let kernels = if prepared.is_whole() {
            Kernel::new(config, &prepared.caps).map(|whole| alloc::vec![whole])
        } else {
            Kernel::in_parts(config, &prepared.caps)
        };
        let kernels: Vec<Kernel<C>> = kernels.map_err(|refusal| words(&refusal))?;
        let mut part_of = [0; MOST_CORES];
        let mut parts = Vec::with_capacity(kernels.len());
        let mut goals = 0;
        let released = |task: TaskId| {
            let core = |part: &Kernel<C>| {
                part.alarm_core(ThreadId(task.0)).filter(|core| part.own().contains(*core))
            };
            kernels.iter().find_map(core)
        };
        let mut machines = Vec::with_capacity(kernels.len());
        for part in &kernels {
            machines.push(prepared.mediators(experiment, part.own(), &released)?);
        }
        for (mut kernel, machine) in kernels.into_iter().zip(machines) {
            kernel.count_from(Instant::ZERO);
            kernel.own().iter().for_each(|core| part_of[core.index()] = parts.len() as u8);
            let goal = prepared.goal.of_part(&kernel);
            goals += u32::from(!goal.is_empty());
            parts.push(SpinLock::new(State {
                goal,
                machine,
                kernel,
                contexts: prepared.common.threads.contexts(entry),
                idle: [Context::EMPTY; MOST_CORES],
                left: alloc::vec![Duration::ZERO; experiment.tasks.len()],
                done: false,
                entries: EntryCounts::default(),
                latest: Duration::ZERO,
            }));
        }
        let (begun, goals_left) = (AtomicBool::new(false), AtomicU32::new(goals));
        Ok(Self { parts, part_of, begun, goals_left, common: prepared.common })
    }

    /// The part of the kernel that `core` enters. A thread that asks may be moved to another core meanwhile, of the same part.
    fn part(&self, core: CoreId) -> &SpinLock<P, State<P, C>> {
        &self.parts[usize::from(self.part_of[core.index()])]
    }

    /// Enters the kernel: nobody else is in its part until [`Self::exit_kernel`] or [`Self::act`].
    fn enter_kernel(&self) -> (Guard<'_, P, State<P, C>>, CoreId) {
        let stamp = P::time_stamp();
        let (mut guard, waited) = self.part(P::current()).lock_and_tell();
        let core = P::current();
        if is_over() {
            // The core waited here while another ended the run.
            self.leave_for_ever(guard);
        }
        guard.entries.all += 1;
        if waited {
            guard.entries.waited += 1;
            guard.entries.longest_ticks = guard.entries.longest_ticks.max(P::time_stamp() - stamp);
        }
        INSIDE[core.index()].store(true, Ordering::Relaxed);
        if let Some(thread) = running_thread(core) {
            // Here and not above, where the thread could still be moved to a core that has executed less.
            let own = if turns::are_kept::<P>() { turns::own::<P>(core) } else { stamp };
            self.common.threads.times[thread.index()].leave(own);
        }
        (guard, core)
    }

    /// Gives the part back and rests: the run is over.
    fn leave_for_ever(&self, guard: Guard<'_, P, State<P, C>>) -> ! {
        let part = self.part(P::current());
        let _ = guard.forget();
        // SAFETY: the guard was forgotten, and this core does nothing more with the kernel.
        unsafe { part.release_forgotten() };
        rest::<P>()
    }

    fn exit_kernel(&self, guard: Guard<'_, P, State<P, C>>, core: CoreId) {
        if let Some(thread) = running_thread(core) {
            self.common.threads.times[thread.index()].resume(turns::clock::<P>());
        }
        INSIDE[core.index()].store(false, Ordering::Relaxed);
        drop(guard);
    }

    /// Lets the kernel decide about `core` at `now` and carries the decision out. Returns when the context that
    /// called goes on, perhaps on another core; the kernel has been left then.
    fn act(&self, mut guard: Guard<'_, P, State<P, C>>, core: CoreId, now: Instant, entry: Entry) {
        let state = &mut *guard;
        state.machine.enter(now);
        let decision = decide(&mut state.kernel, &mut state.machine, core, now, entry);
        if !state.done && state.goal.reached(&state.kernel) {
            state.done = true;
            if self.goals_left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.finish(guard, now);
            }
        }
        let old = running_thread(core);
        let new = match decision {
            Switch::Stay => old,
            Switch::To(thread) => Some(thread),
            Switch::Idle => None,
        };
        if self.common.settled {
            self.settle(state, core, now, old, new);
        }
        if new == old {
            return self.exit_kernel(guard, core);
        }
        OCCUPANTS[core.index()].store(new.map_or(NOBODY, |thread| thread.0), Ordering::Relaxed);
        let load = new.map_or(state.idle[core.index()], |thread| state.contexts[thread.index()]);
        let save = match old {
            Some(thread) => &raw mut state.contexts[thread.index()],
            None => &raw mut state.idle[core.index()],
        };
        state.machine.begin_switch(core);
        let interrupts = guard.forget();
        // SAFETY: the context was left by `switch` under this lock, or never begun; the kernel gave its thread to
        // this core only. `save` lies in the state, which lives for ever. Interrupts are kept out.
        unsafe { P::switch(save, load) };
        self.arrive();
        if interrupts {
            P::enable_interrupts();
        }
    }

    /// The first thing in a context that was switched to: the stack of the other has been left.
    #[inline(always)] // looking the part up and saving registers for that is not the switch's
    fn arrive(&self) {
        let stamp = if self.common.options.probes { P::time_stamp() } else { 0 };
        self.leave_after_switch(stamp);
    }

    /// Gives back the part that this core has held since before the switch, which was over at tick `stamp`.
    #[inline(never)]
    fn leave_after_switch(&self, stamp: u64) {
        let core = P::current();
        // SAFETY: this core holds the lock: it took it before it switched to this context.
        unsafe {
            let part = self.part(core);
            part.force().machine.end_switch(core, stamp);
            if let Some(thread) = running_thread(core) {
                self.common.threads.times[thread.index()].resume(turns::clock::<P>());
            }
            INSIDE[core.index()].store(false, Ordering::Relaxed);
            part.release_forgotten();
        }
    }

    /// `core` begins, when it is its turn.
    fn begin_in_turn(&self, core: CoreId) {
        loop {
            let (mut guard, _) = self.enter_kernel();
            let next = guard
                .machine
                .agenda
                .next()
                .filter(|_| core == CoreId(0) || self.begun.load(Ordering::Acquire));
            if next.is_some_and(|event| event.kind == Kind::Start && event.core == core) {
                if core == CoreId(0) {
                    mediators::set_now::<P>(Instant::ZERO);
                    self.begun.store(true, Ordering::Release);
                }
                guard.machine.agenda.ahead(core).start = false;
                guard.machine.begin_counters(core);
                guard.machine.program(core);
                let now = if self.common.settled { Instant::ZERO } else { mediators::now::<P>() };
                return self.act(guard, core, now, Entry::Start);
            }
            self.exit_kernel(guard, core);
            P::pause();
        }
    }

    /// An interrupt under the running clock.
    fn interrupt_now(&self, interrupt: Interrupt) {
        let (mut guard, core) = self.enter_kernel();
        if guard.machine.agenda.ahead(core).start {
            // The request that woke the core so that it begins.
            return self.exit_kernel(guard, core);
        }
        let now = mediators::now::<P>();
        if now >= guard.machine.agenda.end() {
            self.finish(guard, now);
        }
        if P::HAS_DEVICES && guard.machine.looks_at_devices(core) <= now {
            guard.machine.serve_devices(core, now);
        }
        match interrupt {
            Interrupt::Request => {
                guard.machine.arrived(core, now);
                let arrival = if P::HAS_DEVICES { devices::take::<P>(core) } else { None };
                let entry = arrival.map_or(Entry::Request, Entry::Device);
                self.act(guard, core, now, entry);
            }
            Interrupt::Counter => match guard.machine.overflowed(core) {
                Some(counter) => self.act(guard, core, now, Entry::Counter(counter)),
                None => self.exit_kernel(guard, core),
            },
            Interrupt::Timer if guard.machine.agenda.ahead(core).timer.is_some_and(|at| at <= now) => {
                guard.machine.agenda.ahead(core).timer = None;
                if core == CoreId(0) || guard.machine.looks_at_devices(core) < Instant::MAX {
                    // The kernel may need no further interrupt; the end of the run and devices do.
                    guard.machine.program(core);
                }
                self.act(guard, core, now, Entry::Timer);
            }
            // Early: the time was longer than the timer holds, or it had been programmed for another.
            Interrupt::Timer => {
                guard.machine.program(core);
                self.exit_kernel(guard, core);
            }
        }
    }

    /// The thread on this core asks something of the kernel.
    fn call_now(&self, call: Call) {
        let (guard, core) = self.enter_kernel();
        let now = mediators::now::<P>();
        if now >= guard.machine.agenda.end() {
            self.finish(guard, now);
        }
        self.act(guard, core, now, Entry::Call(call));
    }

    fn exists(&self, core: CoreId) -> bool {
        // The experiment may want fewer cores than the machine has.
        core.index() < self.common.cores
    }
}

/// What the kernel decides about `core`, which enters it at `now`.
#[inline(always)] // one path from the entry to the switch
fn decide<P: Port, C: Criterion>(
    kernel: &mut Kernel<C>,
    machine: &mut Mediators<P>,
    core: CoreId,
    now: Instant,
    entry: Entry,
) -> Switch {
    match entry {
        Entry::Start => kernel.start(machine, core, now),
        Entry::Timer => kernel.timer(machine, core, now),
        Entry::Request => kernel.ipi(machine, core, now),
        Entry::Counter(counter) => kernel.overflow(machine, core, now, counter),
        Entry::Device(arrival) if P::HAS_DEVICES => kernel.device(machine, core, now, arrival),
        Entry::Device(_) => Switch::Stay,
        Entry::Call(Call::WaitNext) => kernel.wait_next(machine, core, now),
        Entry::Call(Call::Acquire(lock)) => kernel.acquire(machine, core, now, lock),
        Entry::Call(Call::Release(lock)) => kernel.release(machine, core, now, lock),
        Entry::Call(Call::Sleep(length)) => kernel.sleep(machine, core, now, length),
        Entry::Call(Call::Trigger(task, after)) => kernel.trigger(machine, core, now, task, now + after),
        Entry::Call(Call::Exit) => kernel.exit(machine, core, now),
    }
}

/// The thread of a number that stands for one or nobody.
fn thread_of(number: u32) -> Option<ThreadId> {
    (number != NOBODY).then_some(ThreadId(number))
}

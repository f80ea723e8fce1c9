//! Where threads are, and how Linux schedules them: what was decided last is carried out by a few system calls.

use crate::cpus::CpuCores;
use crate::host::Host;
use crate::sched;
use crate::sync::Semaphore;
use solo_model::{CoreId, CoreSet, TaskClass, TaskId};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// A thread that has no number yet.
const NO_THREAD: u32 = 0;

/// What a thread waits on until it is chosen.
pub(super) struct Seat {
    /// The kernel's number of it, once it is there.
    thread: AtomicU32,
    turn: Semaphore,
}

impl Seat {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { thread: AtomicU32::new(NO_THREAD), turn: Semaphore::new(0)? })
    }

    /// The calling thread takes it.
    pub(super) fn take(&self) {
        self.thread.store(sched::thread(), Ordering::Release);
    }

    pub(super) fn is_taken(&self) -> bool {
        self.thread() != NO_THREAD
    }

    pub(super) fn thread(&self) -> u32 {
        self.thread.load(Ordering::Acquire)
    }

    /// Waits until it is called, or a while.
    pub(super) fn wait(&self) {
        let _ = self.turn.wait();
    }

    /// Calls who waits, or is about to.
    pub(super) fn call(&self) {
        self.turn.give();
    }
}

/// How Linux schedules a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// As it began.
    Unknown,
    /// SCHED_FIFO, above all who are not chosen.
    Chosen,
    /// SCHED_FIFO, below all who are.
    Preempted,
    /// SCHED_OTHER: chosen, and of best effort.
    ChosenOther,
    /// SCHED_IDLE.
    PreemptedOther,
}

/// A thread as Linux has it.
#[derive(Clone, Copy, Debug)]
struct Placed {
    how: How,
    core: Option<CoreId>,
    /// It waits on its seat, or is about to.
    waits: bool,
}

/// All threads as Linux has them.
pub(super) struct Placing {
    placed: Vec<Placed>,
    /// The CPU of each core.
    cpus: Vec<Option<usize>>,
    /// Priorities of who was preempted and of who is chosen.
    preempted: i32,
    chosen: i32,
}

/// What is decided of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decided {
    /// It runs on this core, and is as urgent as tasks of this class.
    Runs(CoreId, TaskClass),
    /// It has work to do, and no core.
    Waits(TaskClass),
    /// It has nothing to do.
    Rests,
}

impl Placing {
    /// The host's highest priority stays free for the clock.
    pub(super) fn new(tasks: usize, cores: CoreSet, host: &Host, on: &CpuCores) -> Self {
        let cpu = |core: usize| on.cpus(CoreSet::only(CoreId(core as u16))).first().copied();
        let most = cores.iter().last().map_or(0, |core| core.index() + 1);
        let (lowest, highest) = host.priorities;
        Self {
            placed: vec![Placed { how: How::Unknown, core: None, waits: false }; tasks],
            cpus: (0..most).map(cpu).collect(),
            preempted: lowest,
            chosen: highest - 1,
        }
    }

    /// A thread is about to wait on its seat.
    pub(super) fn waits(&mut self, task: TaskId) {
        self.placed[task.index()].waits = true;
    }

    /// Carries out what is decided of a thread. `calls` is who asks: it waits next if it is not chosen.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn carry_out(
        &mut self,
        task: TaskId,
        decided: Decided,
        asks: bool,
        seat: &Seat,
    ) -> io::Result<()> {
        let placed = &mut self.placed[task.index()];
        match decided {
            Decided::Rests => Ok(()),
            // It goes on computing where nobody else wants to.
            Decided::Waits(class) if !placed.waits && !asks => match class {
                TaskClass::BestEffort => self.turn_into(task, How::PreemptedOther, seat),
                TaskClass::Hard | TaskClass::Soft => self.turn_into(task, How::Preempted, seat),
            },
            Decided::Waits(_) => Ok(()),
            Decided::Runs(core, class) => {
                if placed.core != Some(core) {
                    let cpu = self.cpus.get(core.index()).copied().flatten();
                    sched::allow_of(seat.thread(), cpu.as_slice())?;
                    placed.core = Some(core);
                }
                let calls = std::mem::take(&mut placed.waits);
                let how = match class {
                    TaskClass::BestEffort => How::ChosenOther,
                    TaskClass::Hard | TaskClass::Soft => How::Chosen,
                };
                let turned = self.turn_into(task, how, seat);
                if calls {
                    seat.call();
                }
                turned
            }
        }
    }

    fn turn_into(&mut self, task: TaskId, how: How, seat: &Seat) -> io::Result<()> {
        let placed = &mut self.placed[task.index()];
        if placed.how == how {
            return Ok(());
        }
        let thread = seat.thread();
        match how {
            How::Unknown => Ok(()),
            How::Chosen => sched::fifo_of(thread, self.chosen),
            How::Preempted => sched::fifo_of(thread, self.preempted),
            How::ChosenOther => sched::other_of(thread),
            How::PreemptedOther => sched::idle_of(thread),
        }?;
        placed.how = how;
        Ok(())
    }
}

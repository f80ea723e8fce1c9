//! A program and all that it starts, in right frames.
//!
//! ```text
//!   exec ─▶ a new memory: its mappings registered, what is there already brought over
//!   mmap, brk, mremap ─▶ the new range registered; files become copies that are read page by page
//!   fork ─▶ the child's pages copied at once, so that no write of either makes the kernel copy one
//!   end ─▶ every page looked up
//! ```

use crate::adopt::Adopter;
use crate::error::ColorError;
use crate::outcome::{Ended, Outcome, Program};
use crate::pool::Pool;
use crate::space::{Painter, Shared, SpaceId};
use crate::sys::{Cpus, Faults, Urgent, share_memory};
use crate::tracee::{self, Call, News, Stop, Tracee};
use crate::wish::Wish;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a program that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a program, and all that it starts, in right frames; returns when the last of them has ended. `attend` is asked some
/// times a second: when it breaks, the program is asked to end, and 2 s later killed. When this process is killed, the
/// kernel kills them.
///
/// # Errors
/// If the kernel hides page frames or refuses user faults, if too few frames are right, or if there is no such program.
pub fn run(
    command: &[OsString],
    wish: Wish,
    attend: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Result<Outcome, ColorError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(ColorError::Architecture);
    }
    if !crate::sys::shows_frames().map_err(ColorError::refused("/proc/self/pagemap"))? {
        return Err(ColorError::FramesHidden);
    }
    Faults::of_this_process().map_err(ColorError::refused("userfaultfd"))?;
    // The process is made while this thread is still on all of its CPUs.
    let held = tracee::start(command).map_err(ColorError::refused("a new process"))?;
    let root = held.thread;
    let before = Cpus::of_this_thread().map_err(ColorError::refused("the CPUs of a thread"))?;
    let one = Cpus::current();
    let outcome = on(one, || {
        let shared = Shared::new(Painter::new(Pool::new(wish)?)?)?;
        root.seize().map_err(ColorError::refused("following a process (ptrace)"))?;
        let mut failed = held.release().map_err(ColorError::refused("a new process"))?;
        let done = AtomicBool::new(false);
        let followed = std::thread::scope(|scope| {
            scope.spawn(|| {
                on(one, || {
                    answer(&shared, root, &done, attend);
                    Ok(())
                })
            });
            let followed = Follower::new(&shared, root).follow();
            done.store(true, Ordering::Release);
            shared.ring();
            followed
        });
        let (ended, programs) = followed?;
        if let Some(source) = tracee::failure(&mut failed) {
            return Err(ColorError::NoProgram { source });
        }
        let painter = shared.lock();
        let (without_frame, searched) = (painter.without_frame(), painter.pool().share());
        Ok(Outcome { ended, programs, without_frame, searched })
    });
    let _ = before.keep();
    if outcome.is_err() {
        tracee::signal(root.0, libc::SIGKILL);
        let _ = tracee::wait(root.0, true);
    }
    outcome
}

/// Does something on one CPU, before ordinary threads where this thread may: the frame that is given back there is the one that
/// is handed out there, unless somebody comes between.
fn on<T>(cpus: Cpus, what: impl FnOnce() -> Result<T, ColorError>) -> Result<T, ColorError> {
    cpus.keep().map_err(ColorError::refused("the CPUs of a thread"))?;
    let urgent = Urgent::begin();
    let done = what();
    drop(urgent);
    done
}

/// Answers faults until all have ended; ends the program when the caller wants that.
fn answer(shared: &Shared, root: Tracee, done: &AtomicBool, attend: &(dyn Fn() -> ControlFlow<()> + Sync)) {
    let mut asked: Option<Instant> = None;
    shared.answer_faults(&mut || {
        if done.load(Ordering::Acquire) {
            return ControlFlow::Break(());
        }
        match asked {
            None if attend().is_break() => {
                tracee::signal(root.0, libc::SIGTERM);
                asked = Some(Instant::now());
            }
            Some(when) if when.elapsed() > GRACE => tracee::signal(root.0, libc::SIGKILL),
            _ => {}
        }
        ControlFlow::Continue(())
    });
}

/// What a thread is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    /// It runs, or will.
    Running,
    /// It is inside of a call that changes its memory.
    Call(Call),
    /// It is inside of `exec`, as another program.
    Exec,
    /// It is inside of `fork`, and the child has pages of its own.
    Fork,
}

/// A thread that is followed.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// `None` before its memory is known: its program has not begun.
    space: Option<SpaceId>,
    process: i32,
    doing: Doing,
}

/// Follows all threads.
struct Follower<'s> {
    adopter: Adopter<'s>,
    root: Tracee,
    threads: BTreeMap<Tracee, Thread>,
    /// New threads that have stopped before their parents told of them.
    unannounced: BTreeSet<Tracee>,
    /// News that came while a thread was waited for.
    later: VecDeque<News>,
    programs: Vec<Program>,
    ended: Ended,
    refusal: Option<ColorError>,
}

impl<'s> Follower<'s> {
    fn new(shared: &'s Shared, root: Tracee) -> Self {
        let first = Thread { space: None, process: root.0, doing: Doing::Running };
        Self {
            adopter: Adopter::new(shared),
            root,
            threads: BTreeMap::from([(root, first)]),
            unannounced: BTreeSet::new(),
            later: VecDeque::new(),
            programs: Vec::new(),
            ended: Ended::Exited(0),
            refusal: None,
        }
    }

    /// Until nobody is left.
    fn follow(mut self) -> Result<(Ended, Vec<Program>), ColorError> {
        loop {
            let news = match self.later.pop_front() {
                Some(news) => Some(news),
                None => tracee::wait(-1, true).map_err(ColorError::refused("waiting for a process"))?,
            };
            match news {
                None => {}
                Some(News::Nobody) => break,
                Some(News::Ended(thread, how)) => {
                    if thread == self.root.0 {
                        self.ended = how;
                    }
                    self.threads.remove(&Tracee(thread));
                }
                // A thread that is gone or killed meanwhile refuses; its end is told separately.
                Some(News::Stopped(thread, stop)) => {
                    if let Err(error) = self.stopped(Tracee(thread), stop) {
                        self.give_up(error);
                        let _ = Tracee(thread).go_on(0);
                    }
                }
            }
        }
        match self.refusal {
            Some(refusal) => Err(refusal),
            None => Ok((self.ended, self.programs)),
        }
    }

    /// What can not be colored is not run uncolored.
    fn give_up(&mut self, error: io::Error) {
        if error.raw_os_error() != Some(libc::ESRCH) && self.refusal.is_none() {
            self.refusal = Some(ColorError::Refused { what: "coloring a program's memory", source: error });
            tracee::signal(self.root.0, libc::SIGKILL);
        }
    }

    fn stopped(&mut self, thread: Tracee, stop: Stop) -> io::Result<()> {
        match stop {
            Stop::Signal(signal) => self.signaled(thread, signal),
            // What the program's user stopped stays so; a new thread and one that was asked to stop go on.
            Stop::Halted(libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU)
                if self.knows(thread) =>
            {
                thread.listen()
            }
            // Its parent has not told of it yet: it waits for that.
            Stop::Halted(_) if !self.knows(thread) => {
                self.unannounced.insert(thread);
                Ok(())
            }
            Stop::Halted(_) => thread.go_on(0),
            Stop::Calls => {
                let call = thread.system_call()?;
                self.set(thread, Doing::Call(call));
                thread.go_on_to_call()
            }
            Stop::Became => self.became(thread),
            Stop::AtACall => self.at_a_call(thread),
            Stop::Started => self.started(thread),
            Stop::Ends => self.ends(thread),
        }
    }

    /// A signal goes on to the program; a knock means that there is something to mend.
    fn signaled(&mut self, thread: Tracee, signal: i32) -> io::Result<()> {
        if !thread.is_knocked(signal)? {
            return thread.go_on(signal);
        }
        if let Some(space) = self.threads.get(&thread).and_then(|known| known.space) {
            self.mend(thread, space)?;
        }
        thread.go_on(0)
    }

    fn knows(&self, thread: Tracee) -> bool {
        self.threads.contains_key(&thread)
    }

    fn set(&mut self, thread: Tracee, doing: Doing) {
        if let Some(known) = self.threads.get_mut(&thread) {
            known.doing = doing;
        }
    }

    /// A process has become another program: all its other threads are gone.
    fn became(&mut self, thread: Tracee) -> io::Result<()> {
        let former = Tracee(thread.message()? as i32);
        let space = self.threads.remove(&former).and_then(|known| known.space);
        let others = self.threads.iter().filter(|(_, known)| known.process == thread.0);
        let others: Vec<Tracee> = others.map(|(other, _)| *other).collect();
        let spaces: Vec<SpaceId> =
            others.iter().filter_map(|other| self.threads.remove(other)?.space).collect();
        for space in spaces.into_iter().chain(space) {
            self.leave(space);
        }
        self.threads.insert(thread, Thread { space: None, process: thread.0, doing: Doing::Exec });
        thread.go_on_to_call()
    }

    fn at_a_call(&mut self, thread: Tracee) -> io::Result<()> {
        let Some(known) = self.threads.get(&thread).copied() else { return thread.go_on(0) };
        self.set(thread, Doing::Running);
        match known.doing {
            Doing::Running => {}
            Doing::Exec => {
                if !thread.is_sixty_four()? {
                    self.refusal.get_or_insert(ColorError::NotSixtyFour);
                    tracee::signal(self.root.0, libc::SIGKILL);
                    return thread.go_on(0);
                }
                let space = self.adopter.executed(thread)?;
                if let Some(known) = self.threads.get_mut(&thread) {
                    known.space = Some(space);
                }
            }
            // Other threads may have written meanwhile, into copies of the kernel's choice.
            Doing::Fork => {
                if let Some(space) = known.space {
                    self.sweep(thread, space)?;
                }
            }
            Doing::Call(call) => {
                if let (Some(space), Some(value)) = (known.space, thread.returned()?) {
                    self.adopter.called(thread, space, call, value)?;
                    self.mend(thread, space)?;
                }
            }
        }
        thread.go_on(0)
    }

    /// A thread or process was started.
    fn started(&mut self, parent: Tracee) -> io::Result<()> {
        let child = Tracee(parent.message()? as i32);
        let Some(known) = self.threads.get(&parent).copied() else { return parent.go_on(0) };
        let is_thread = std::fs::metadata(format!("/proc/{}/task/{}", known.process, child.0)).is_ok();
        let process = if is_thread { known.process } else { child.0 };
        let mut thread = Thread { space: known.space, process, doing: Doing::Running };
        self.halt(child)?;
        if let Some(space) = known.space.filter(|_| !is_thread && !share_memory(parent.0, child.0)) {
            thread.space = Some(self.adopter.forked(child, space)?);
        }
        self.threads.insert(child, thread);
        child.go_on(0)?;
        if known.space.is_some_and(|space| thread.space != Some(space)) {
            self.set(parent, Doing::Fork);
            return parent.go_on_to_call();
        }
        parent.go_on(0)
    }

    /// Waits until a new thread has stopped.
    fn halt(&mut self, child: Tracee) -> io::Result<()> {
        if self.unannounced.remove(&child) {
            return Ok(());
        }
        match tracee::wait(child.0, true)? {
            Some(News::Stopped(_, Stop::Halted(_))) => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }

    /// A thread ends. With the last one of a program, its pages are looked up.
    fn ends(&mut self, thread: Tracee) -> io::Result<()> {
        if let Some(known) = self.threads.remove(&thread) {
            let same = |other: &&Thread| other.process == known.process;
            if let Some(space) = known.space {
                if self.threads.values().filter(same).count() == 0 && self.adopter.is_of(space, known.process)
                {
                    let program = self.adopter.survey(space, known.process, thread);
                    self.programs.extend(program.ok());
                }
                self.leave(space);
            }
        }
        thread.go_on(0)
    }

    /// A memory that nobody lives in any more is forgotten.
    fn leave(&mut self, space: SpaceId) {
        if self.threads.values().all(|thread| thread.space != Some(space)) {
            self.adopter.forget(space);
        }
    }

    /// Brings pages that came into wrong frames into right ones. `thread` stands still.
    fn mend(&mut self, thread: Tracee, space: SpaceId) -> io::Result<()> {
        let pages = self.adopter.to_mend(space);
        if pages.is_empty() {
            return Ok(());
        }
        self.alone(thread, space, |adopter| adopter.bring_over(thread, space, &pages))
    }

    /// Brings every page of a memory that is in a wrong frame into a right one. `thread` stands still.
    fn sweep(&mut self, thread: Tracee, space: SpaceId) -> io::Result<()> {
        let single = self.threads.values().filter(|thread| thread.space == Some(space)).count() == 1;
        if single {
            return self.mend(thread, space);
        }
        self.alone(thread, space, |adopter| adopter.bring_wrong_over(thread, space))
    }

    /// Does something while all other threads of a memory stand still. Where one of them can not be made to (it waits for a
    /// child that shares its memory), nothing is done: what is wrong is told at the end.
    fn alone(
        &mut self,
        thread: Tracee,
        space: SpaceId,
        what: impl FnOnce(&mut Adopter<'s>) -> io::Result<()>,
    ) -> io::Result<()> {
        let others =
            self.threads.iter().filter(|(other, known)| **other != thread && known.space == Some(space));
        let others: Vec<Tracee> = others.map(|(other, _)| *other).collect();
        let mut still = Vec::new();
        let mut all = true;
        for other in others {
            match self.stand_still(other)? {
                Stands::Halted => still.push(other),
                Stands::Otherwise => {}
                Stands::No => all = false,
            }
        }
        let done = if all { what(&mut self.adopter) } else { Ok(()) };
        for other in still {
            other.go_on(0)?;
        }
        done
    }

    fn stand_still(&mut self, thread: Tracee) -> io::Result<Stands> {
        /// How long a thread may take.
        const PATIENCE: Duration = Duration::from_millis(50);
        let queued = |news: &News| matches!(news, News::Stopped(other, _) if *other == thread.0);
        if self.later.iter().any(queued) || thread.interrupt().is_err() {
            return Ok(Stands::Otherwise);
        }
        let begun = Instant::now();
        loop {
            match tracee::wait(thread.0, false)? {
                Some(News::Stopped(_, Stop::Halted(libc::SIGTRAP))) => return Ok(Stands::Halted),
                Some(News::Nobody) => return Ok(Stands::Otherwise),
                // It stands for another reason, and stops once more for ours when it goes on.
                Some(news) => {
                    self.later.push_back(news);
                    return Ok(Stands::Otherwise);
                }
                None if begun.elapsed() > PATIENCE => return Ok(Stands::No),
                None => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}

/// Whether a thread stands still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stands {
    /// Because it was asked to.
    Halted,
    /// For a reason of its own, which is handled later; or it is gone.
    Otherwise,
    /// It goes on.
    No,
}

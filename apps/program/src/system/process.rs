//! As a process of Linux: each thread is a thread of Linux, released by absolute timers, ordered by SCHED_FIFO; or, where a simulator has
//! started the process, one that goes on when its turn comes in simulated time.

use super::{Code, make_codes};
use crate::memory::AllocationError;
use solo_bare::frame::{End, ImageMessage, Killed, Note, REPORT_VARIABLE, Refusal};
use solo_bare::rtos::program::Declared;
use solo_model::text::{Printable, Unnumbered};
use solo_model::{Bytes, CoreId, Duration, Experiment, Instant, LockId, Record, TaskId};
use solo_perf::group::{Group, Start, Whom};
use solo_perf::resolve::Attr;
use solo_threads::program::{self as threads, Ended, refuse_simulated, run_simulated};
use solo_threads::simulated::CALLS_VARIABLE;
use solo_threads::{Host, Ran, ThreadsError};
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// The most notes that are kept.
const MOST_NOTES: usize = 1 << 14;

static NOTES: Mutex<(Vec<Note>, u64)> = Mutex::new((Vec::new(), 0));

/// As many cores as a program on the simulated machine may name: one for each thread.
const SIMULATED_CORES: usize = crate::limits::MOST_THREADS;

/// Runs what `declare` says, as threads of this process, and tells what became of it; or lets a simulator run it.
pub fn start(declare: fn(usize) -> Result<Declared, String>) -> ExitCode {
    if let Some(path) = std::env::var_os(CALLS_VARIABLE) {
        let served = match declare(SIMULATED_CORES) {
            Ok(Declared { experiment, bodies }) => run_simulated(Path::new(&path), &experiment, bodies),
            Err(reason) => refuse_simulated(Path::new(&path), reason),
        };
        return served.map_or_else(|error| complain(&error.to_string()), |()| ExitCode::SUCCESS);
    }
    let host = Host::look();
    let Declared { experiment, bodies } = match declare(host.cpus.len()) {
        Ok(declared) => declared,
        Err(reason) => return refuse(Refusal::Declared(reason)),
    };
    notes().0.reserve_exact(MOST_NOTES);
    // Here pages have no colors: threads take what memory there is.
    let mut plain = experiment.clone();
    plain.isolation.memory = None;
    let (ran, ended) = match threads::run_program(&plain, &host, bodies, &|| false) {
        Ok(ran) => ran,
        Err(ThreadsError::Lacks(lack)) => {
            return refuse(Refusal::Lacks(format!("threads of this Linux can't do that: {lack}")));
        }
        Err(error) => return refuse(Refusal::Lacks(error.to_string())),
    };
    let (notes, dropped) = std::mem::take(&mut *notes());
    let Some(path) = std::env::var_os(REPORT_VARIABLE) else {
        tell(&experiment, &ran, &ended, &notes);
        return ExitCode::SUCCESS;
    };
    match write(Path::new(&path), &messages(experiment, ran, ended, notes, dropped)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error),
    }
}

/// Tells why there is no run: who started the process by hand, or who wants its report.
fn refuse(refusal: Refusal) -> ExitCode {
    let (Refusal::Declared(reason) | Refusal::Lacks(reason)) = &refusal;
    let status = complain(reason);
    if let Some(path) = std::env::var_os(REPORT_VARIABLE)
        && let Err(error) = write(Path::new(&path), &[ImageMessage::Refused(refusal)])
    {
        return complain(&error);
    }
    status
}

fn complain(reason: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "solo: refused: {reason}");
    ExitCode::FAILURE
}

/// Writes messages as the image of a kernel would send them.
fn write(path: &Path, messages: &[ImageMessage]) -> Result<(), String> {
    let mut bytes = Vec::new();
    for message in messages {
        message.append_to(&mut bytes).map_err(|error| error.to_string())?;
    }
    let written = std::fs::write(path, bytes);
    written.map_err(|error| format!("{} can't be written: {}", Printable(path.display()), Unnumbered(&error)))
}

fn notes() -> std::sync::MutexGuard<'static, (Vec<Note>, u64)> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The run as the image of a kernel would tell it.
fn messages(
    experiment: Experiment,
    ran: Ran,
    ended: Vec<Ended>,
    notes: Vec<Note>,
    dropped: u64,
) -> Vec<ImageMessage> {
    let (end, records) = (ran.end, ran.records.len() as u64);
    let mut messages = vec![ImageMessage::Program(Box::new(experiment))];
    messages.extend(ran.records.into_iter().map(ImageMessage::Record));
    messages.extend(ended.into_iter().map(|Ended { at, task, why }| {
        ImageMessage::Killed(Killed { at, core: CoreId(0), task, fault: why, instruction: 0, address: None })
    }));
    messages.extend(notes.into_iter().map(ImageMessage::Note));
    messages.extend((dropped > 0).then_some(ImageMessage::NotesDropped(dropped)));
    messages.push(ImageMessage::End(End { at: end, records, dropped: 0, latest_settled_ns: 0 }));
    messages
}

/// Tells of the run on standard output, for who started the program by hand.
fn tell(experiment: &Experiment, ran: &Ran, ended: &[Ended], notes: &[Note]) {
    let mut out = std::io::stdout().lock();
    let name = |task: TaskId| experiment.tasks.get(task.index()).map_or("?", |task| &task.name);
    for (index, task) in experiment.tasks.iter().enumerate() {
        let own = |record: &&Record| matches!(record, Record::Job(job) if job.task.index() == index);
        let late = |record: &&Record| matches!(record, Record::Job(job) if job.deadline.is_some_and(|deadline| job.finish > deadline));
        let (jobs, misses) =
            (ran.records.iter().filter(own).count(), ran.records.iter().filter(own).filter(late).count());
        let _ = writeln!(out, "{}: {jobs} jobs, {misses} deadlines missed", Printable(&task.name));
    }
    for Ended { at, task, why } in ended {
        let _ = writeln!(out, "{} ended at {at}: {}", Printable(name(*task)), Printable(why));
    }
    for Note { at, task, name: what, value } in notes {
        let _ = writeln!(out, "{at} {} {} {value}", Printable(name(*task)), Printable(what));
    }
}

pub(crate) fn wait_next() {
    threads::wait_next();
}

pub(crate) fn trigger(task: TaskId, after: Duration) {
    threads::trigger(task, after);
}

pub(crate) fn acquire(lock: LockId) {
    threads::acquire(lock);
}

pub(crate) fn release(lock: LockId) {
    threads::release(lock);
}

pub(crate) fn pause() {
    threads::pause();
}

pub(crate) fn compute(length: Duration) {
    threads::compute(length);
}

pub(crate) fn simulated_cost(cost: Duration) {
    threads::simulated_cost(cost);
}

pub(crate) fn sleep(length: Duration) {
    threads::sleep(length);
}

pub(crate) fn now() -> Instant {
    threads::now()
}

pub(crate) fn record(name: &'static str, value: u64) {
    if threads::note(name, value) {
        return;
    }
    let Some(task) = threads::this_task() else { return };
    let note = Note { at: now(), task, name: name.to_owned(), value };
    let (kept, dropped) = &mut *notes();
    if kept.len() < MOST_NOTES { kept.push(note) } else { *dropped += 1 }
}

/// The number of the thread that asks.
pub(crate) fn this_thread() -> Option<usize> {
    threads::this_task().map(TaskId::index)
}

/// Ends the thread that asks.
pub(crate) fn end(why: &'static str) -> ! {
    threads::end(why.to_owned())
}

/// Bytes of the heap of a color, as on bare metal: a program that fits there fits here.
const HEAP: u64 = 64 << 10;
/// Bytes of each group's heap that are in use, by the group.
static USED: Mutex<[u64; HEAPS]> = Mutex::new([0; HEAPS]);
/// A group for each thread with a color, and one for all others.
const HEAPS: usize = crate::limits::MOST_THREADS + 1;

/// Memory that was had.
#[derive(Debug)]
pub(crate) struct Memory {
    bytes: Box<[u8]>,
    group: usize,
}

impl Memory {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        used[self.group] = used[self.group].saturating_sub(self.bytes.len() as u64);
    }
}

pub(crate) fn allocate(group: Option<u16>, size: Bytes) -> Result<Memory, AllocationError> {
    let group = usize::from(group.unwrap_or(0)).min(HEAPS - 1);
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let nothing = AllocationError::Exhausted { wanted: size.get(), free: HEAP.saturating_sub(used[group]) };
    if size.get() > HEAP.saturating_sub(used[group]) {
        return Err(nothing);
    }
    let (mut bytes, length) = (Vec::new(), size.get() as usize);
    bytes.try_reserve_exact(length).map_err(|_| nothing)?;
    bytes.resize(length, 0);
    used[group] += size.get();
    Ok(Memory { bytes: bytes.into_boxed_slice(), group })
}

// By the kernel's own numbers (PERF_TYPE_HARDWARE).
make_codes! {
    Instructions = 0, 1, 0;
    Cycles = 1, 0, 0;
    LastLevelMisses = 2, 3, 0;
}

/// A counter of the thread, where the kernel lends one.
pub(crate) struct Counter<C> {
    group: Group,
    counted: u64,
    code: PhantomData<C>,
}

impl<C> std::fmt::Debug for Counter<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counter").field("counted", &self.counted).finish()
    }
}

impl<C: Code> Counter<C> {
    pub(crate) fn find() -> Option<Self> {
        // What this process counts is not what the simulated machine would.
        if threads::is_simulated() {
            return None;
        }
        let attr = Attr { config: [u64::from(C::EVENT.0), 0, 0], exclude_kernel: true, ..Attr::default() };
        let group = Group::open(&[(0, attr)], Whom::Thread(0), Start::Stopped).ok()?;
        Some(Self { group, counted: 0, code: PhantomData })
    }

    pub(crate) fn start(&mut self) {
        // What the kernel lent it does not take back.
        let _ = self.group.enable();
    }

    pub(crate) fn read(&mut self) -> u64 {
        if let Ok(reading) = self.group.advance() {
            self.counted += reading.counts.first().copied().unwrap_or(0);
        }
        self.counted
    }
}

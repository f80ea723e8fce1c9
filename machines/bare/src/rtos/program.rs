//! Programs: threads whose body is code on a stack of its own, in place of a list of steps.
//!
//! A program is linked with the kernel. It declares what it consists of as an [`Experiment`], as a scenario does, and a body for
//! each task; from there on all is as in any other run: the same admission, kernel, policies and records. What is done otherwise
//! goes through one table of functions ([`Hooks`]), so that an image which runs boot modules holds none of it.
//!
//! ```text
//!   solo_main ─▶ start: clocks, cores ─▶ declare ─▶ experiment ─▶ run, as of a boot module
//!                                               └─▶ bodies, by thread       a thread begins at `entry` in place of `thread::entry`
//! ```

pub use super::bodies::Body;
use super::bodies::Hooks;
use super::console::send;
use super::cores;
use super::port::Port;
use super::start::{begin, go_on, unpack};
use super::task_memory::Region;
use super::thread::{die, end_for, entries, running_thread};
use super::{Call, mediators};
use crate::frame::{ImageMessage, Note, Refusal};
use crate::module::{BootOptions, Module};
use crate::outcome::ImageExit;
use crate::say;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use solo_isolate::frames::GroupId;
use solo_isolate::heap::HeapError;
use solo_model::{Bytes, Duration, Experiment, Instant, TaskId, ThreadId};

/// The most notes that are kept until the end of a run.
const MOST_NOTES: usize = 1 << 14;

/// What a program consists of.
pub struct Declared {
    /// Tasks, locks and colors, and the end of the run.
    pub experiment: Experiment,
    /// The body of each task.
    pub bodies: Vec<Body>,
}

/// Says what a program consists of, on a machine with so many cores; or why it can't be run here.
pub type Declare = fn(usize) -> Result<Declared, String>;

/// Runs a program on a machine whose boot core is prepared, the heap too, with `heap_bytes`. The first boot module has the
/// options; without one the clock is taken as it is.
pub fn start<P: Port>(bytes: Option<&[u8]>, heap_bytes: u64, declare: Declare) -> ! {
    let (options, checksum) = match bytes {
        Some(_) => {
            let (modules, checksum) = unpack::<P>(bytes);
            (modules[0].options, checksum)
        }
        None => (BootOptions::default(), 0),
    };
    begin::<P>(&options, heap_bytes, checksum);
    let Declared { experiment, bodies } = declare(cores::count()).unwrap_or_else(|reason| {
        say!(P, "refused: {reason}");
        send::<P>(&ImageMessage::Refused(Refusal::Declared(reason)));
        P::leave(ImageExit::Refused)
    });
    let shared = P::shared();
    *shared.hooks.lock() = Some(Hooks { entry: entry::<P>, tell: tell::<P> });
    *shared.bodies.lock() = bodies.into_iter().map(Some).collect();
    shared.notes.lock().kept.reserve_exact(MOST_NOTES);
    send::<P>(&ImageMessage::Program(Box::new(experiment.clone())));
    shared.ahead.lock().push(Module { options, experiment: Some(experiment) });
    go_on::<P>()
}

/// Where a thread of a program begins, with the kernel's lock held on its behalf.
extern "C" fn entry<P: Port>() -> ! {
    let Some(entries) = entries::<P>() else { unreachable!("a thread without a kernel") };
    entries.arrived();
    let body = this_thread::<P>().and_then(|thread| {
        let mut bodies = P::shared().bodies.lock();
        bodies.get_mut(thread.index()).and_then(Option::take)
    });
    if let Some(body) = body {
        body();
    }
    die(entries)
}

/// Tells the host what was noted.
fn tell<P: Port>() {
    let mut notes = P::shared().notes.lock();
    for (at, thread, name, value) in core::mem::take(&mut notes.kept) {
        let (task, name) = (TaskId(thread.0), String::from(name));
        send::<P>(&ImageMessage::Note(Note { at, task, name, value }));
    }
    if notes.dropped > 0 {
        send::<P>(&ImageMessage::NotesDropped(notes.dropped));
    }
}

/// The thread that asks; `None` outside of threads.
#[inline]
pub fn this_thread<P: Port>() -> Option<ThreadId> {
    running_thread(P::current())
}

/// The thread that asks enters the kernel. Before the run nothing happens.
#[inline]
pub fn call<P: Port>(call: Call) {
    if let Some(entries) = entries::<P>() {
        entries.call(call);
    }
}

/// Computes until the thread that asks has used so much more of a core.
pub fn compute<P: Port>(length: Duration) {
    if let Some((thread, entries)) = this_thread::<P>().zip(entries::<P>()) {
        entries.common().threads.compute(thread, length);
    }
}

/// The time since the beginning of the run.
#[inline]
pub fn now<P: Port>() -> Instant {
    mediators::now::<P>()
}

/// Keeps a number for the report. Without a place it is counted.
pub fn note<P: Port>(name: &'static str, value: u64) {
    let (Some(thread), at) = (this_thread::<P>(), now::<P>()) else { return };
    let mut notes = P::shared().notes.lock();
    if notes.kept.len() < notes.kept.capacity() {
        notes.kept.push((at, thread, name, value));
    } else {
        notes.dropped += 1;
    }
}

/// Memory of the colors of `group`, or of the thread that asks where that is `None`.
///
/// # Errors
/// If that heap has no such block.
pub fn allocate<P: Port>(group: Option<GroupId>, size: Bytes) -> Result<Piece<P>, HeapError> {
    let nothing = HeapError::Exhausted { color: solo_model::Color(0), wanted: size, free: Bytes::ZERO };
    let (thread, entries) = this_thread::<P>().zip(entries::<P>()).ok_or(nothing)?;
    let mut heaps = entries.common().threads.heaps().lock();
    let group = group.unwrap_or_else(|| heaps.group(thread));
    let region = heaps.allocate_in(thread, group, Bytes::new(size.get().max(1)))?;
    drop(heaps);
    // SAFETY: the heap gave the bytes to nobody else; their pages are mapped.
    unsafe { region.byte(0).write_bytes(0, region.length as usize) };
    Ok(Piece { region, machine: PhantomData })
}

/// Gives back what [`allocate`] gave, by the address of its first byte. Where no block begins at `address`, the thread that asks ends.
pub fn release<P: Port>(address: u64) {
    let Some(entries) = entries::<P>() else { return };
    let released = entries.common().threads.heaps().lock().release_at(address);
    if released.is_err() {
        end::<P>(Cow::Owned(alloc::format!(
            "no block of memory begins at {address:#x}: it was given back before"
        )));
    }
}

/// Ends the thread that asks for a mistake that the report names.
pub fn end<P: Port>(reason: Cow<'static, str>) -> ! {
    match (end_for::<P>(reason, 0), entries::<P>()) {
        // What is left on the stack is never gone back to.
        (Some(_), Some(entries)) => die(entries),
        _ => panic!("outside of threads nobody can end"),
    }
}

/// Memory of a heap of colors, the owner's until this goes: then it is given back. Zeros at the beginning.
#[derive(Debug)]
pub struct Piece<P: Port> {
    region: Region,
    machine: PhantomData<P>,
}

impl<P: Port> Piece<P> {
    /// The memory.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the heap gave these bytes to this value alone, which has written them; their pages are mapped until the run ends.
        unsafe { core::slice::from_raw_parts(self.region.byte(0), self.region.length as usize) }
    }

    /// The memory, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut(self.region.byte(0), self.region.length as usize) }
    }
}

impl<P: Port> Drop for Piece<P> {
    fn drop(&mut self) {
        release::<P>(self.region.base);
    }
}

//! What a program consists of: the part of the header that `solo_declare` calls.

use crate::pointers::{behind, literal, value};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{c_char, c_void};
use solo_app::{
    Criterion, Duration, Mutex, Periodic, Program, Protocol, Scope, Semaphore, Sporadic, Thread, Trigger,
};

/// What a thread does.
#[cfg(not(target_os = "none"))]
type Body = unsafe extern "C-unwind" fn(*mut c_void);
#[cfg(target_os = "none")]
type Body = unsafe extern "C" fn(*mut c_void);

/// What a thread is declared with, and what is wrong with it.
pub(crate) struct Parameters {
    thread: Released,
    wrong: Vec<String>,
}

#[derive(Clone)]
enum Released {
    Periodically(Periodic),
    Once(Thread),
    Asked(Sporadic),
}

/// Changes what is behind the pointer; a null pointer changes nothing.
macro_rules! change {
    ($parameters:ident, $thread:ident => $changed:expr) => {
        if let Some(parameters) = behind($parameters) {
            parameters.thread = match parameters.thread.clone() {
                Released::Periodically($thread) => Released::Periodically($changed),
                Released::Once($thread) => Released::Once($changed),
                Released::Asked($thread) => Released::Asked($changed),
            };
        }
    };
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_jobs(program: *mut Program, jobs: u64) {
    if let Some(program) = behind(program) {
        program.jobs(jobs);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_run_for(program: *mut Program, time_ns: u64) {
    if let Some(program) = behind(program) {
        program.run_for(Duration::new(time_ns));
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_policy(program: *mut Program, scope: u32, criterion: *const c_char) {
    let Some(program) = behind(program) else { return };
    let name = literal(criterion);
    let found = Criterion::ALL.into_iter().find(|criterion| criterion.name() == name);
    let scope = match scope {
        0 => Some(Scope::Partitioned),
        1 => Some(Scope::Global),
        _ => None,
    };
    match (scope, found) {
        (Some(scope), Some(criterion)) => program.policy(scope, criterion),
        (None, _) => {
            program.refuse("solo_policy: the scope is neither SOLO_PARTITIONED nor SOLO_GLOBAL".into())
        }
        (_, None) => {
            let known: Vec<&str> = Criterion::ALL.iter().map(|criterion| criterion.name()).collect();
            program.refuse(format!("solo_policy: no criterion `{name}`: there are {}", known.join(", ")));
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_new_semaphore(
    program: *mut Program,
    name: *const c_char,
    units: u32,
) -> *mut Semaphore {
    let Some(program) = behind(program) else { return core::ptr::null_mut() };
    Box::into_raw(Box::new(program.semaphore(literal(name), units)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_new_mutex(
    program: *mut Program,
    name: *const c_char,
    protocol: u32,
) -> *mut Mutex {
    let Some(program) = behind(program) else { return core::ptr::null_mut() };
    let name = literal(name);
    let protocol = match protocol {
        0 => Protocol::Plain,
        1 => Protocol::Inheritance,
        2 => Protocol::Ceiling,
        _ => {
            program.refuse(format!("mutex `{name}`: no protocol {protocol}: there are SOLO_PLAIN, SOLO_INHERITANCE and SOLO_CEILING"));
            Protocol::Plain
        }
    };
    Box::into_raw(Box::new(program.mutex(name, protocol)))
}

fn parameters(thread: Released) -> *mut Parameters {
    Box::into_raw(Box::new(Parameters { thread, wrong: Vec::new() }))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_periodic(period_ns: u64) -> *mut Parameters {
    parameters(Released::Periodically(Periodic::new(Duration::new(period_ns))))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_once() -> *mut Parameters {
    parameters(Released::Once(Thread::new()))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_deadline(parameters: *mut Parameters, deadline_ns: u64) {
    let Some(parameters) = behind(parameters) else { return };
    let deadline = Duration::new(deadline_ns);
    parameters.thread = match parameters.thread.clone() {
        Released::Periodically(thread) => Released::Periodically(thread.deadline(deadline)),
        Released::Once(thread) => Released::Once(thread.soft(deadline)),
        Released::Asked(thread) => Released::Asked(thread.deadline(deadline)),
    };
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_sporadic(distance_ns: u64) -> *mut Parameters {
    parameters(Released::Asked(Sporadic::new(Duration::new(distance_ns))))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_offset(parameters: *mut Parameters, offset_ns: u64) {
    let Some(parameters) = behind(parameters) else { return };
    match parameters.thread.clone() {
        Released::Periodically(thread) => {
            parameters.thread = Released::Periodically(thread.offset(Duration::new(offset_ns)));
        }
        Released::Once(_) | Released::Asked(_) => {
            parameters.wrong.push("solo_offset is for threads of solo_periodic".into());
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_soft(parameters: *mut Parameters) {
    let Some(parameters) = behind(parameters) else { return };
    match parameters.thread.clone() {
        Released::Periodically(thread) => parameters.thread = Released::Periodically(thread.soft()),
        Released::Asked(thread) => parameters.thread = Released::Asked(thread.soft()),
        Released::Once(_) => {
            parameters.wrong.push("solo_soft is for threads of solo_periodic and solo_sporadic".into());
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_best_effort(parameters: *mut Parameters) {
    change!(parameters, thread => thread.best_effort());
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_priority(parameters: *mut Parameters, priority: u32) {
    change!(parameters, thread => thread.priority(priority));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_wcet(parameters: *mut Parameters, wcet_ns: u64) {
    change!(parameters, thread => thread.wcet(Duration::new(wcet_ns)));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_core(parameters: *mut Parameters, core: u16) {
    change!(parameters, thread => thread.core(core));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_color(parameters: *mut Parameters, color: u16) {
    change!(parameters, thread => thread.color(color));
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_uses_semaphore(
    parameters: *mut Parameters,
    semaphore: *const Semaphore,
) {
    match value(semaphore) {
        Some(semaphore) => change!(parameters, thread => thread.uses(semaphore)),
        None => lacks(parameters, "solo_uses_semaphore: the semaphore is NULL"),
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_uses_mutex(parameters: *mut Parameters, mutex: *const Mutex) {
    match value(mutex) {
        Some(mutex) => change!(parameters, thread => thread.uses(mutex)),
        None => lacks(parameters, "solo_uses_mutex: the mutex is NULL"),
    }
}

fn lacks(parameters: *mut Parameters, why: &str) {
    if let Some(parameters) = behind(parameters) {
        parameters.wrong.push(why.into());
    }
}

/// A body and what it is called with. C says that the argument may be used by another thread than the one that declares.
struct Role(Body, *mut c_void);

// SAFETY: see above; only the thread that is declared calls it.
unsafe impl Send for Role {}

impl Role {
    fn run(self) {
        // SAFETY: C declared the body for this argument.
        unsafe { (self.0)(self.1) };
    }
}

/// Declares a thread; what asks for its jobs, where that is how it is released.
fn declared(
    program: *mut Program,
    name: *const c_char,
    parameters: *mut Parameters,
    body: Option<Body>,
    argument: *mut c_void,
) -> Option<Trigger> {
    let program = behind(program)?;
    let name = literal(name);
    let (Some(body), false) = (body, parameters.is_null()) else {
        program.refuse(format!("thread `{name}`: its parameters or its body are NULL"));
        return None;
    };
    // SAFETY: the header says that it comes from solo_periodic, solo_once or solo_sporadic, and is used up here.
    let Parameters { thread, wrong } = *unsafe { Box::from_raw(parameters) };
    wrong.into_iter().for_each(|why| program.refuse(format!("thread `{name}`: {why}")));
    let role = Role(body, argument);
    match thread {
        Released::Periodically(periodic) => program.thread(name, periodic, move || role.run()),
        Released::Once(once) => program.thread(name, once, move || role.run()),
        Released::Asked(sporadic) => return Some(program.sporadic(name, sporadic, move || role.run())),
    }
    None
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_thread(
    program: *mut Program,
    name: *const c_char,
    parameters: *mut Parameters,
    body: Option<Body>,
    argument: *mut c_void,
) {
    if declared(program, name, parameters, body, argument).is_some()
        && let Some(program) = behind(program)
    {
        program
            .refuse(format!("thread `{}`: nobody can ask for it; use solo_sporadic_thread", literal(name)));
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn solo_sporadic_thread(
    program: *mut Program,
    name: *const c_char,
    parameters: *mut Parameters,
    body: Option<Body>,
    argument: *mut c_void,
) -> *mut Trigger {
    if let Some(trigger) = declared(program, name, parameters, body, argument) {
        return Box::into_raw(Box::new(trigger));
    }
    if let Some(program) = behind(program) {
        program.refuse(format!("thread `{}`: its parameters are not of solo_sporadic", literal(name)));
    }
    core::ptr::null_mut()
}

//! Which CPUs a thread may use, how it is scheduled, and what it has used: system calls behind safe functions.
#![allow(unsafe_code)]

use solo_model::Duration;
use std::io;

/// Keeps the calling thread on one CPU.
///
/// # Errors
/// What the kernel says, for example that there is no such CPU.
pub fn keep_on(cpu: usize) -> io::Result<()> {
    allow(&[cpu])
}

/// Lets the calling thread use these CPUs and no others.
///
/// # Errors
/// What the kernel says, for example that there is none of these CPUs.
pub fn allow(cpus: &[usize]) -> io::Result<()> {
    // Zero is who asks.
    allow_of(0, cpus)
}

/// Lets the thread of this number, as the kernel knows it, use these CPUs and no others.
///
/// # Errors
/// As [`allow`]; `ESRCH` where the thread has ended.
pub(crate) fn allow_of(thread: u32, cpus: &[usize]) -> io::Result<()> {
    // SAFETY: all zeros is the empty set, positions are kept within it, and the kernel only reads it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|&cpu| libc::CPU_SET(cpu % (8 * size_of::<libc::cpu_set_t>()), &mut set));
        libc::sched_setaffinity(thread as libc::pid_t, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    checked(result)
}

/// The CPUs that the calling thread may use, ascending.
pub fn cpus() -> Vec<usize> {
    // SAFETY: the kernel fills in the set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: the positions lie within the set.
    (0..8 * size_of::<libc::cpu_set_t>()).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Puts the calling thread under SCHED_FIFO.
///
/// # Errors
/// What the kernel says, for example that it may not.
pub fn fifo(priority: i32) -> io::Result<()> {
    scheduler(libc::SCHED_FIFO, priority)
}

/// Puts a thread of this number, as the kernel knows it, under SCHED_FIFO.
///
/// # Errors
/// What the kernel says: `ESRCH` where the thread has ended.
pub(crate) fn fifo_of(thread: u32, priority: i32) -> io::Result<()> {
    scheduler_of(thread, libc::SCHED_FIFO, priority)
}

/// Puts a thread of this number back under SCHED_OTHER.
///
/// # Errors
/// As [`fifo_of`].
pub(crate) fn other_of(thread: u32) -> io::Result<()> {
    scheduler_of(thread, libc::SCHED_OTHER, 0)
}

/// Puts a thread of this number under SCHED_IDLE: it runs where nobody else does.
///
/// # Errors
/// As [`fifo_of`].
pub(crate) fn idle_of(thread: u32) -> io::Result<()> {
    scheduler_of(thread, libc::SCHED_IDLE, 0)
}

/// Puts the calling thread under SCHED_RR.
///
/// # Errors
/// As [`fifo`].
pub(crate) fn round_robin(priority: i32) -> io::Result<()> {
    scheduler(libc::SCHED_RR, priority)
}

/// What `sched_setattr` takes (Linux's `struct sched_attr` as of 3.14).
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Puts the calling thread under SCHED_DEADLINE: it may run for `runtime` in each `period`, by `deadline` after it is ready.
///
/// # Errors
/// What the kernel says: `EBUSY` where it has given away as much as it may, `EPERM` where the thread may not run on all CPUs.
pub fn deadline(runtime: Duration, deadline: Duration, period: Duration) -> io::Result<()> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_DEADLINE as u32,
        flags: 0,
        nice: 0,
        priority: 0,
        runtime: runtime.get(),
        deadline: deadline.get(),
        period: period.get(),
    };
    // SAFETY: the kernel only reads a structure of the size that it states.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    checked(result as libc::c_int)
}

/// Puts the calling thread back under SCHED_OTHER.
///
/// # Errors
/// None is known: giving priority up is always allowed.
pub fn other() -> io::Result<()> {
    scheduler(libc::SCHED_OTHER, 0)
}

/// Puts the calling thread under a policy of real-time priorities.
///
/// Asks the kernel itself: the C library of static programs refuses, because POSIX means the process and Linux the thread. The
/// kernel's `sched_param` is a priority and nothing else.
pub(crate) fn scheduler(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // Zero is who asks.
    scheduler_of(0, policy, priority)
}

fn scheduler_of(thread: u32, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: the kernel only reads the priority.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const priority) };
    checked(result as libc::c_int)
}

/// The priorities of SCHED_FIFO, lowest and highest.
pub fn priorities() -> (i32, i32) {
    // SAFETY: no pointers.
    unsafe {
        (libc::sched_get_priority_min(libc::SCHED_FIFO), libc::sched_get_priority_max(libc::SCHED_FIFO))
    }
}

/// Keeps the pages of the process in memory, where that is allowed.
pub fn keep_in_memory() {
    // SAFETY: changes nothing but whether pages may be given away.
    unsafe { libc::mlockall(libc::MCL_CURRENT) };
}

/// Ends [`keep_in_memory`].
pub(crate) fn release_memory() {
    // SAFETY: as above.
    unsafe { libc::munlockall() };
}

/// Nanoseconds of a CPU that the calling thread has used.
pub(crate) fn used() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for the call; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// How often another thread has taken the CPU of the calling one.
pub(crate) fn preempted() -> u64 {
    // SAFETY: all zeros is a valid structure, which the kernel fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

/// The CPU of the calling thread at this moment.
pub fn cpu() -> u32 {
    // SAFETY: no pointers.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// The kernel's number of the calling thread.
pub(crate) fn thread() -> u32 {
    // SAFETY: no pointers.
    u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

/// Bytes of memory that this machine has, and that nobody uses: 0 where the kernel does not say.
pub(crate) fn memory() -> u64 {
    // SAFETY: no pointers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_AVPHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(size).unwrap_or(0))
}

/// Sleeps until an instant of the monotonic clock, in nanoseconds.
pub fn sleep_until(at: u64) {
    let until = libc::timespec { tv_sec: (at / 1_000_000_000) as _, tv_nsec: (at % 1_000_000_000) as _ };
    // SAFETY: the kernel only reads the time; no remainder is asked for. Where a signal ends it early, callers look again.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const until,
            std::ptr::null_mut(),
        )
    };
}

fn checked(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
